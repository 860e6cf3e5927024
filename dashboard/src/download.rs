//! Results of a batch as a file: streamed, so that a billion of them need no more memory than one chunk.

use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use futures_util::stream;
use puzzled_queue::{BatchStatus, Error, Follow, Format, Formatter};

use crate::api::batches::batch_id;
use crate::api::problem::Problem;
use crate::web::{Web, guard};

/// Text handed over at once, about.
const BLOCK_BYTES: usize = 128 * 1024;

/// Letters of a label in the name of a file.
const NAME_CHARS: usize = 40;

/// `GET /batches/ID/results.EXTENSION`: what there is, in input order, up to the first job without an outcome.
pub(crate) fn results(web: &Web) -> MethodRouter {
    let web = web.clone();
    get(async move |Path((id, file)): Path<(String, String)>, headers: HeaderMap| {
        let mut response = match answer(&web, &id, &file).await {
            Ok(response) => response,
            Err(problem) => web.problem(&headers, "../../", &problem),
        };
        guard(response.headers_mut());
        response
    })
}

async fn answer(web: &Web, id: &str, file: &str) -> Result<Response, Problem> {
    let id = batch_id(id)?;
    let named = |format: &Format| file.strip_prefix("results.") == Some(format.extension());
    let format = Format::ALL.into_iter().find(named).ok_or_else(|| {
        Problem::new(StatusCode::NOT_FOUND, "there are results.txt, results.ndjson and results.csv")
    })?;
    let status = web.looks.queue.status(id).await?;
    let mut reader = web.looks.queue.follow(id, 0).await?;
    // What is wrong with the whole must be said before the file begins.
    let first = match reader.next_ready().await {
        Err(error @ Error::Collected(_)) => return Err(Problem::new(StatusCode::GONE, error.to_string())),
        first => first?,
    };
    let formatter = Formatter::new(format, id);
    let mut text = Vec::new();
    formatter.begin(&mut text);
    let mut file = File { reader, formatter, text, is_over: false };
    match first {
        Some(part) => file.write(&part),
        None => file.is_over = true,
    }
    let body = stream::try_unfold(file, File::next);
    let headers = [
        (header::CONTENT_TYPE, format.media_type().to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{}\"", name(&status, format))),
    ];
    Ok((headers, Body::from_stream(body)).into_response())
}

struct File {
    reader: Follow,
    formatter: Formatter,
    text: Vec<u8>,
    is_over: bool,
}

impl File {
    fn write(&mut self, part: &puzzled_queue::Part) {
        for (place, outcome) in part.outcomes.iter().enumerate() {
            self.formatter.write(part.first + place as u64, None, outcome, &mut self.text);
        }
    }

    /// The next block. An error ends the connection before its time, so that a browser calls the download failed and not short.
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, Error> {
        while !self.is_over && self.text.len() < BLOCK_BYTES {
            match self.reader.next_ready().await {
                Ok(Some(part)) => self.write(&part),
                Ok(None) => self.is_over = true,
                Err(error) => {
                    tracing::warn!(%error, "a download broke off");
                    return Err(error);
                }
            }
        }
        if self.text.is_empty() {
            return Ok(None);
        }
        let block = Bytes::from(std::mem::take(&mut self.text));
        Ok(Some((block, self)))
    }
}

/// `puzzled-nightly-run-3c9a51f2.csv`; letters of the label that every file system takes.
fn name(status: &BatchStatus, format: Format) -> String {
    let mut label = String::new();
    for c in status.label.chars().take(NAME_CHARS) {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' => label.push(c),
            _ if !label.is_empty() && !label.ends_with('-') => label.push('-'),
            _ => {}
        }
    }
    let label = label.trim_end_matches('-');
    let id = status.id.to_string();
    let part = if status.finished() || status.cancelled { "" } else { "-unfinished" };
    let dash = if label.is_empty() { "" } else { "-" };
    format!("puzzled{dash}{label}-{}{part}.{}", &id[28..], format.extension())
}
