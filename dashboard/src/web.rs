//! Pages over HTTP: each view whole for a browser that asks, and as a stream of events for one that stays.
//!
//! One address serves both: a browser that stays asks for `text/event-stream`.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Request};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use futures_util::stream;
use puzzled_queue::{DeadFilter, JobId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tower_http::compression::CompressionLayer;

use crate::access::{self, Access, Permit};
use crate::actions::Said;
use crate::api::batches::batch_id;
use crate::api::problem::Problem;
use crate::feed::Frame;
use crate::form::Fields;
use crate::looks::Looks;
use crate::pages::{self, Chrome};
use crate::trial::Tries;
use crate::view::{Desk, View};

/// Viewers at once. Each holds a connection and little else, but connections are not free.
const VIEWERS_MAX: usize = 1_000;

/// Proxies end connections on which nothing is said for so long.
const QUIET_MAX: Duration = Duration::from_secs(15);

/// Longest puzzle that an address carries, in characters; the page's form takes no longer one.
const PASTED_CHARS: usize = 4_000;

/// What a stream begins with: come back after a second.
const HELLO: &[u8] = b"retry: 1000\n\n";

/// What the pages share.
#[derive(Clone)]
pub(crate) struct Web {
    pub(crate) looks: Looks,
    pub(crate) tries: Arc<Tries>,
    pub(crate) access: Access,
    desk: Desk,
    frames: watch::Receiver<Arc<Frame>>,
    viewers: Arc<Semaphore>,
    stop: CancellationToken,
}

impl Web {
    pub(crate) fn new(
        looks: Looks,
        access: Access,
        frames: watch::Receiver<Arc<Frame>>,
        stop: CancellationToken,
    ) -> Self {
        let tries: Arc<Tries> = Arc::default();
        let desk = Desk::new(looks.clone(), tries.clone());
        Self { looks, tries, access, desk, frames, viewers: Arc::new(Semaphore::new(VIEWERS_MAX)), stop }
    }

    /// `GET` of a view without a name in its path.
    pub(crate) fn view(&self, view: fn(&Fields) -> Result<View, Problem>) -> MethodRouter {
        let web = self.clone();
        dressed(get(async move |headers: HeaderMap, uri: Uri| {
            let fields = Fields::of_query(&uri);
            web.show(view(&fields), "", &headers, &fields).await
        }))
    }

    /// `GET /batches/ID`.
    pub(crate) fn batch(&self) -> MethodRouter {
        let web = self.clone();
        dressed(get(async move |Path(id): Path<String>, headers: HeaderMap, uri: Uri| {
            web.show(batch_id(&id).map(View::Batch), "../", &headers, &Fields::of_query(&uri)).await
        }))
    }

    /// `GET /unlock`.
    pub(crate) fn unlock_page(&self) -> MethodRouter {
        let web = self.clone();
        dressed(get(async move |headers: HeaderMap| {
            web.plain(&headers, StatusCode::OK, "Unlock", "", |chrome| pages::unlock(chrome, ""))
        }))
    }

    async fn show(
        &self,
        view: Result<View, Problem>,
        root: &'static str,
        headers: &HeaderMap,
        fields: &Fields,
    ) -> Response {
        let view = match view {
            Ok(view) => view,
            Err(problem) => return self.problem(headers, root, &problem),
        };
        let (permit, said) = (self.access.permit(headers), Said::read(fields).to_string());
        let is_stream = headers.get(header::ACCEPT).is_some_and(|kind| kind == "text/event-stream");
        if is_stream {
            return self.stream(view, permit, said);
        }
        let (secret, cookie) = access::form_secret(headers);
        let (status, page) = self.desk.page(&view, &self.frame(), permit, &said, &secret).await;
        with_cookie((status, Html(page)).into_response(), cookie)
    }

    /// A page that says what went wrong.
    pub(crate) fn problem(&self, headers: &HeaderMap, root: &'static str, problem: &Problem) -> Response {
        self.plain(headers, problem.status, problem.title(), root, |chrome| {
            pages::message(chrome, &problem.detail)
        })
    }

    /// A page that is no view.
    pub(crate) fn plain(
        &self,
        headers: &HeaderMap,
        status: StatusCode,
        title: &str,
        root: &'static str,
        page: impl FnOnce(Chrome) -> String,
    ) -> Response {
        let (secret, cookie) = access::form_secret(headers);
        let mut chrome = Chrome::new(title, "", root, &self.frame(), self.access.permit(headers));
        chrome.secret = secret;
        with_cookie((status, Html(page(chrome))).into_response(), cookie)
    }

    /// Every reading as an event, the newest first. A viewer too slow for one gets the next that is there: nothing is kept
    /// for it.
    fn stream(&self, view: View, permit: Permit, said: String) -> Response {
        let Ok(place) = self.viewers.clone().try_acquire_owned() else {
            let detail = "too many people look at once; the page tries again";
            return Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail).into_response();
        };
        let mut frames = self.frames.clone();
        frames.mark_changed();
        let (desk, stop) = (self.desk.clone(), self.stop.clone());
        let viewer = Viewer { view, permit, said, desk, frames, stop, _place: place };
        let hello = stream::iter([Ok::<_, Infallible>(Bytes::from_static(HELLO))]);
        let events = stream::unfold(viewer, async |mut viewer| Some((Ok(viewer.next().await?), viewer)));
        let headers = [
            (header::CONTENT_TYPE, "text/event-stream"),
            // nginx would else keep events back until it has a page of them.
            (header::HeaderName::from_static("x-accel-buffering"), "no"),
        ];
        (headers, Body::from_stream(futures_util::StreamExt::chain(hello, events))).into_response()
    }

    fn frame(&self) -> Arc<Frame> {
        self.frames.borrow().clone()
    }
}

/// Somebody who stays.
struct Viewer {
    view: View,
    permit: Permit,
    said: String,
    desk: Desk,
    frames: watch::Receiver<Arc<Frame>>,
    stop: CancellationToken,
    _place: OwnedSemaphorePermit,
}

impl Viewer {
    /// The next event; `None` when the dashboard stops.
    async fn next(&mut self) -> Option<Bytes> {
        tokio::select! {
            () = self.stop.cancelled() => return None,
            changed = self.frames.changed() => changed.ok()?,
            () = tokio::time::sleep(QUIET_MAX) => return Some(Bytes::from_static(b": quiet\n\n")),
        }
        let frame = self.frames.borrow_and_update().clone();
        Some(self.desk.event(&self.view, &frame, self.permit, &self.said).await)
    }
}

/// `/`.
pub(crate) fn now(_: &Fields) -> Result<View, Problem> {
    Ok(View::Now)
}

/// `/workers`.
pub(crate) fn workers(_: &Fields) -> Result<View, Problem> {
    Ok(View::Workers)
}

/// `/batches`.
pub(crate) fn batches(fields: &Fields) -> Result<View, Problem> {
    Ok(pages::batches_view(fields.get("q"), count(fields)?))
}

/// `/dead`.
pub(crate) fn dead(fields: &Fields) -> Result<View, Problem> {
    let count = count(fields)?.unwrap_or(pages::LETTERS).clamp(1, pages::LETTERS_MAX);
    Ok(View::Dead { filter: dead_filter(fields)?, count })
}

/// `/try`.
pub(crate) fn trial(fields: &Fields) -> Result<View, Problem> {
    let job = match fields.get("job") {
        "" => None,
        job => Some(job.parse::<JobId>().map_err(|error| bad(&error))?),
    };
    let text = |name| fields.get(name).chars().take(PASTED_CHARS).collect();
    Ok(View::Try { job, puzzle: text("puzzle"), task: text("task") })
}

/// The letters that fields mean.
pub(crate) fn dead_filter(fields: &Fields) -> Result<DeadFilter, Problem> {
    let text = |name| Some(fields.get(name).trim().to_owned()).filter(|text| !text.is_empty());
    let batch = text("batch").map(|id| batch_id(&id)).transpose()?;
    Ok(DeadFilter { batch, task: text("task"), reason: text("reason") })
}

fn count(fields: &Fields) -> Result<Option<usize>, Problem> {
    match fields.get("count") {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| bad(&format!("count must be a number, not '{text}'"))),
    }
}

fn bad(error: &dyn std::fmt::Display) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, error.to_string())
}

/// Packs what a page answers, and says what a browser may do with it.
pub(crate) fn dressed(router: MethodRouter) -> MethodRouter {
    router.layer(CompressionLayer::new()).layer(from_fn(async |request: Request, next: Next| {
        let mut response = next.run(request).await;
        guard(response.headers_mut());
        response
    }))
}

/// The headers of everything a browser is given.
pub(crate) fn guard(headers: &mut HeaderMap) {
    let fixed = [
        ("x-content-type-options", "nosniff"),
        // For browsers that do not know frame-ancestors.
        ("x-frame-options", "DENY"),
        // Labels and ids in an address are nobody else's affair; our own forms must say where they come from.
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(policy) = HeaderValue::from_str(&pages::POLICY) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache, no-store"));
}

/// A file of the page itself; its address changes with the version.
pub(crate) fn asset(kind: &'static str, text: &'static str) -> MethodRouter {
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "max-age=3600")];
    dressed(get(async move || (headers, text)))
}

pub(crate) fn with_cookie(mut response: Response, cookie: Option<String>) -> Response {
    if let Some(cookie) = cookie.and_then(|cookie| HeaderValue::from_str(&cookie).ok()) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}
