//! What the page's buttons do. Each is a form's POST that a page of ours sent (`access.rs`), and answers by leading back to a page.

use std::fmt;

use axum::extract::{DefaultBodyLimit, Path};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, post};
use bytes::Bytes;
use puzzled_queue::{DeadFilter, DeadLetter, JobId, Queue};
use puzzled_solver::Kind;

use crate::access::{self, Access, FORM_FIELD};
use crate::api::batches::batch_id;
use crate::api::dead;
use crate::api::problem::Problem;
use crate::form::Fields;
use crate::web::{Web, dead_filter, dressed, with_cookie};
use crate::{pages, text, trial};

/// Largest form: a thousand selected jobs, or a puzzle.
const FORM_BYTES_MAX: usize = 256 * 1024;

/// What the last action did, carried in the address of the page it leads to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Said(Option<(&'static str, u64)>);

/// What can be said: the name of the field, and the words before and behind the number.
const SAYINGS: [(&str, &str, &str); 3] = [
    ("retried", "submitted again:", "in a new batch for each task"),
    ("dropped", "dropped:", ""),
    ("cancelled", "cancelled:", ""),
];

impl Said {
    pub(crate) fn read(fields: &Fields) -> Self {
        let said = SAYINGS.iter().find_map(|(name, ..)| Some((*name, fields.get(name).parse().ok()?)));
        Self(said)
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((name, number)) = self.0 else { return Ok(()) };
        let Some((_, before, behind)) = SAYINGS.iter().find(|(known, ..)| *known == name) else {
            return Ok(());
        };
        let jobs = text::counted(number, "job", "jobs");
        let first = before[..1].to_uppercase() + &before[1..];
        write!(f, "{first} {jobs}{}{behind}.", if behind.is_empty() { "" } else { ", " })
    }
}

/// A form that was sent.
struct Sent {
    headers: HeaderMap,
    /// Fields of the address that its button names.
    query: Fields,
    form: Fields,
}

impl Sent {
    /// Checked: it may act.
    fn new(web: &Web, headers: HeaderMap, uri: &Uri, body: &Bytes) -> Result<Self, Problem> {
        let sent = Self { headers, query: Fields::of_query(uri), form: Fields::read(body) };
        web.access.check_form(&sent.headers, sent.form.get(FORM_FIELD))?;
        Ok(sent)
    }
}

impl Web {
    /// `POST /batches/ID/cancel`.
    pub(crate) fn cancel(&self) -> MethodRouter {
        let web = self.clone();
        button(post(async move |Path(id): Path<String>, headers: HeaderMap, uri: Uri, body: Bytes| {
            let done = async {
                Sent::new(&web, headers.clone(), &uri, &body)?;
                let count = web.looks.queue.cancel(batch_id(&id)?).await?;
                tracing::info!(batch = id, count, "cancelled from the dashboard");
                Ok(format!("../{id}?cancelled={count}"))
            };
            web.lead(&headers, "../../", done.await)
        }))
    }

    /// `POST /dead/retry`.
    pub(crate) fn retry(&self) -> MethodRouter {
        let web = self.clone();
        button(post(async move |headers: HeaderMap, uri: Uri, body: Bytes| {
            let done = async {
                let sent = Sent::new(&web, headers.clone(), &uri, &body)?;
                let letters = letters(&web.looks.queue, &sent).await?;
                web.looks.queue.retry_dead(&letters).await?;
                tracing::info!(count = letters.len(), "dead letters retried from the dashboard");
                Ok(format!("../dead?retried={}", letters.len()))
            };
            web.lead(&headers, "../", done.await)
        }))
    }

    /// `POST /dead/drop`.
    pub(crate) fn drop(&self) -> MethodRouter {
        let web = self.clone();
        button(post(async move |headers: HeaderMap, uri: Uri, body: Bytes| {
            let done = async {
                let sent = Sent::new(&web, headers.clone(), &uri, &body)?;
                let letters = letters(&web.looks.queue, &sent).await?;
                let jobs: Vec<JobId> = letters.iter().map(|letter| letter.job).collect();
                let count = web.looks.queue.drop_dead(&jobs).await?;
                tracing::info!(count, "dead letters dropped from the dashboard");
                Ok(format!("../dead?dropped={count}"))
            };
            web.lead(&headers, "../", done.await)
        }))
    }

    /// `POST /try`, and `POST /try?random=KIND`.
    pub(crate) fn attempt(&self) -> MethodRouter {
        let web = self.clone();
        button(post(async move |headers: HeaderMap, uri: Uri, body: Bytes| {
            let done = async {
                let sent = Sent::new(&web, headers.clone(), &uri, &body)?;
                let (puzzle, task) =
                    match Kind::parse(sent.query.get("random")).filter(|kind| kind.is_public()) {
                        Some(kind) => (kind.random(fastrand::u64(..)), String::new()),
                        None => (sent.form.get("puzzle").to_owned(), sent.form.get("task").to_owned()),
                    };
                match trial::read(&puzzle, &task) {
                    Ok(read) => {
                        let job = trial::submit(&web.looks.queue, &web.tries, &puzzle, &task, read).await?;
                        Ok(format!("try?job={job}"))
                    }
                    // The page says what is wrong with it, where it can be mended.
                    Err(_) => Ok(format!("try?{}", pages::query(&[("puzzle", &puzzle), ("task", &task)]))),
                }
            };
            web.lead(&headers, "", done.await)
        }))
    }

    /// `POST /unlock`.
    pub(crate) fn unlock(&self) -> MethodRouter {
        let web = self.clone();
        button(post(async move |headers: HeaderMap, body: Bytes| {
            let form = Fields::read(&body);
            if let Err(problem) = access::check_origin(&headers, form.get(FORM_FIELD)) {
                return web.problem(&headers, "", &problem);
            }
            match web.access.unlock(&headers, form.get("token")) {
                Some(cookie) => with_cookie(see_other("."), Some(cookie)),
                None => {
                    tracing::warn!("somebody tried to unlock the dashboard with a wrong token");
                    let problem = "This is not the token.";
                    web.plain(&headers, StatusCode::UNAUTHORIZED, "Unlock", "", |chrome| {
                        pages::unlock(chrome, problem)
                    })
                }
            }
        }))
    }

    /// `POST /lock`.
    pub(crate) fn lock(&self) -> MethodRouter {
        let web = self.clone();
        button(post(async move |headers: HeaderMap, body: Bytes| {
            match access::check_origin(&headers, Fields::read(&body).get(FORM_FIELD)) {
                Ok(()) => with_cookie(see_other("."), Some(Access::lock(&headers))),
                Err(problem) => web.problem(&headers, "", &problem),
            }
        }))
    }

    fn lead(&self, headers: &HeaderMap, root: &'static str, done: Result<String, Problem>) -> Response {
        match done {
            Ok(place) => see_other(&place),
            Err(problem) => self.problem(headers, root, &problem),
        }
    }
}

/// The letters that a button means: one job, those selected, or all that match.
async fn letters(queue: &Queue, sent: &Sent) -> Result<Vec<DeadLetter>, Problem> {
    let names: Vec<&str> = match sent.query.get("of") {
        "all" => {
            let filter: DeadFilter = dead_filter(&sent.query)?;
            return Ok(queue.dead_letters(&filter, usize::MAX).await?);
        }
        "selected" => sent.form.all("job").collect(),
        one => vec![one],
    };
    if names.is_empty() {
        return Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "nothing is selected: tick some letters first",
        ));
    }
    let mut letters = Vec::with_capacity(names.len());
    for name in &names {
        let job: JobId = name.parse().map_err(|error: puzzled_queue::IdError| {
            Problem::new(StatusCode::BAD_REQUEST, error.to_string())
        })?;
        match queue.dead_letter(job).await? {
            Some(letter) => letters.push(letter),
            // Somebody else has looked after it meanwhile; of many, the rest is still meant.
            None if names.len() > 1 => {}
            None => return Err(dead::none(job)),
        }
    }
    Ok(letters)
}

/// Relative, so that it works below a path of a proxy's choice.
fn see_other(place: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response()
}

fn button(router: MethodRouter) -> MethodRouter {
    dressed(router.layer(DefaultBodyLimit::max(FORM_BYTES_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_said_in_words_and_nothing_else_is() {
        let said = |query: &[u8]| Said::read(&Fields::read(query)).to_string();
        assert_eq!(said(b"retried=1"), "Submitted again: 1 job, in a new batch for each task.");
        assert_eq!(said(b"dropped=2000"), "Dropped: 2,000 jobs.");
        assert_eq!(said(b"cancelled=%3Cb%3E"), "");
        assert_eq!(said(b"hacked=1"), "");
    }
}
