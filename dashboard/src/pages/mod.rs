//! The pages: figures into words, words into templates. Pure: what was read comes in, markup goes out.
//!
//! One file a view, beside its template in `templates/`. What is live (the block `live` of each template) is the same for all who may
//! do the same; the secret of a form stands outside it.

mod batch;
mod batches;
mod chrome;
mod dead;
mod message;
mod now;
mod trial;
mod workers;

use std::fmt;
use std::sync::{Arc, LazyLock};

use askama::filters::HtmlSafe;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use puzzled_solver::OutcomeKind;
use sha2::{Digest, Sha256};

use crate::access::Permit;
use crate::api::problem::Problem;
use crate::feed::Frame;
use crate::text;
use crate::trial::TriedPuzzle;
use crate::view::{Answer, View};

pub(crate) use batches::view as batches_view;
pub(crate) use chrome::Chrome;
pub(crate) use dead::{COUNT as LETTERS, COUNT_MAX as LETTERS_MAX};

/// The script of the page.
pub(crate) const SCRIPT: &str = include_str!("../../assets/live.js");
/// The picture in the browser's tab.
pub(crate) const ICON: &str = include_str!("../../assets/favicon.svg");

/// The style sheet, in the page itself so that the first request shows it whole.
#[derive(Clone, Copy)]
pub(crate) struct Style;

const STYLE: &str = include_str!("../../assets/style.css");

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(STYLE)
    }
}

impl HtmlSafe for Style {}

/// What a browser may do with a page: run the one script of ours, use the one style sheet that has this hash, ask nobody else.
pub(crate) static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; script-src 'self'; style-src 'sha256-{hash}'; img-src 'self'; connect-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
});

/// Longest foreign text of a table's cell, in characters.
const CELL_CHARS: usize = 120;
/// Longest foreign text that has a place of its own, in characters: a 25x25 board with room to spare.
const TEXT_CHARS: usize = 2_000;

/// Everything that decides how a page looks.
pub(crate) struct Scene<'a> {
    pub(crate) view: &'a View,
    pub(crate) answer: &'a Result<Arc<Answer>, Problem>,
    pub(crate) frame: &'a Frame,
    pub(crate) permit: Permit,
    /// What the last action did; empty for nothing.
    pub(crate) said: &'a str,
    /// What forms of a whole page repeat.
    pub(crate) secret: &'a str,
    /// What is known of the try that is shown.
    pub(crate) tried: Option<TriedPuzzle>,
}

impl Scene<'_> {
    /// What stands around the content.
    fn chrome(&self, title: &str) -> Chrome {
        let (current, root) = chrome::place_of(self.view);
        let mut chrome = Chrome::new(title, current, root, self.frame, self.permit);
        self.secret.clone_into(&mut chrome.secret);
        self.said.clone_into(&mut chrome.said);
        chrome.is_live = true;
        chrome
    }
}

/// The whole page, or its live part alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Whole,
    Live,
}

/// Renders a page struct; a template that fails to write is a bug, and a string takes everything.
macro_rules! render {
    ($page:expr, $extent:expr) => {{
        let page = $page;
        let written = match $extent {
            Extent::Whole => askama::Template::render(&page),
            Extent::Live => askama::Template::render(&page.as_live()),
        };
        written.expect("a string takes every text")
    }};
}

/// A whole page.
pub(crate) fn whole(scene: &Scene<'_>) -> String {
    compose(scene, Extent::Whole)
}

/// The live part of a page.
pub(crate) fn live(scene: &Scene<'_>) -> String {
    compose(scene, Extent::Live)
}

fn compose(scene: &Scene<'_>, extent: Extent) -> String {
    let answer = match scene.answer {
        Ok(answer) => answer,
        Err(problem) => return render!(message::ErrorPage::of(scene, problem), extent),
    };
    match (scene.view, &**answer) {
        (View::Now, _) => render!(now::NowPage::of(scene), extent),
        (View::Workers, _) => render!(workers::WorkersPage::of(scene), extent),
        (View::Batches { q, count }, Answer::Batches(batches)) => {
            render!(batches::BatchesPage::of(scene, q, *count, batches), extent)
        }
        (View::Batch(_), Answer::Batch { batch, failures }) => {
            render!(batch::BatchPage::of(scene, batch, &failures.found), extent)
        }
        (View::Dead { filter, count }, Answer::Dead { letters, kept, .. }) => {
            render!(dead::DeadPage::of(scene, filter, *count, letters, *kept), extent)
        }
        (View::Try { .. }, Answer::Try(state)) => render!(trial::TryPage::of(scene, Some(state)), extent),
        (View::Try { .. }, _) => render!(trial::TryPage::of(scene, None), extent),
        (view, answer) => unreachable!("{answer:?} is no answer to {view:?}"),
    }
}

/// A page that says one thing.
pub(crate) fn message(chrome: Chrome, detail: &str) -> String {
    render!(message::ErrorPage { chrome, detail: text::clip(detail, TEXT_CHARS) }, Extent::Whole)
}

/// The page that asks for the token.
pub(crate) fn unlock(chrome: Chrome, problem: &str) -> String {
    render!(message::UnlockPage { chrome, problem: problem.to_owned() }, Extent::Whole)
}

/// Jobs of one outcome, in a legend.
struct Part {
    class: &'static str,
    name: &'static str,
    count: String,
}

/// The class and the name for people of an outcome.
fn look_of(kind: OutcomeKind) -> (&'static str, &'static str) {
    match kind {
        OutcomeKind::Solved => ("o-solved", "solved"),
        OutcomeKind::NoSolution => ("o-no_solution", "no solution"),
        OutcomeKind::Multiple => ("o-multiple", "multiple"),
        OutcomeKind::Invalid => ("o-invalid", "invalid"),
        OutcomeKind::TimedOut => ("o-timed_out", "timed out"),
        OutcomeKind::Cancelled => ("o-cancelled", "cancelled"),
        OutcomeKind::Failed => ("o-failed", "failed"),
    }
}

/// The outcomes there are, of counts by their names; or all of them.
fn parts(counts: impl Fn(OutcomeKind) -> u64, all: bool) -> Vec<Part> {
    let kinds = OutcomeKind::ALL.into_iter().filter(|kind| all || counts(*kind) > 0);
    kinds
        .map(|kind| {
            let (class, name) = look_of(kind);
            Part { class, name, count: text::count(counts(kind)) }
        })
        .collect()
}

/// A percent-encoded query of fields that are not empty.
pub(crate) fn query(fields: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(fields.iter().filter(|(_, value)| !value.is_empty()));
    query.finish()
}
