//! Pages that say one thing: what went wrong, and what unlocks.

use askama::Template;

use crate::api::problem::Problem;
use crate::pages::{Chrome, Scene, TEXT_CHARS};
use crate::text;

/// What went wrong.
#[derive(Template)]
#[template(path = "error.html", blocks = ["live"])]
pub(super) struct ErrorPage {
    pub(super) chrome: Chrome,
    pub(super) detail: String,
}

impl ErrorPage {
    pub(super) fn of(scene: &Scene<'_>, problem: &Problem) -> Self {
        Self { chrome: scene.chrome(problem.title()), detail: text::clip(&problem.detail, TEXT_CHARS) }
    }
}

/// Asks for the token.
#[derive(Template)]
#[template(path = "unlock.html", blocks = ["live"])]
pub(super) struct UnlockPage {
    pub(super) chrome: Chrome,
    pub(super) problem: String,
}
