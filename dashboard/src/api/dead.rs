//! Dead letters over HTTP: list, show, retry, drop. Reading is free; not everybody may change the queue (`access.rs`).

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{MethodRouter, get, post};
use puzzled_queue::{BatchId, DeadFilter, DeadLetter, JobId, Queue};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::access::Access;
use crate::api::problem::Problem;

/// Most letters of one answer.
const COUNT_MAX: usize = 1_000;

/// What the handlers share.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) queue: Queue,
    pub(crate) access: Access,
}

/// `GET /api/dead`.
pub(crate) fn list(door: Door) -> MethodRouter {
    get(answer_list).with_state(door)
}

/// `GET /api/dead/BATCH.INDEX`.
pub(crate) fn show(door: Door) -> MethodRouter {
    get(answer_show).with_state(door)
}

/// `POST /api/dead/retry`.
pub(crate) fn retry(door: Door) -> MethodRouter {
    post(answer_retry).with_state(door)
}

/// `POST /api/dead/drop`.
pub(crate) fn drop(door: Door) -> MethodRouter {
    post(answer_drop).with_state(door)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listing {
    batch: Option<BatchId>,
    task: Option<String>,
    reason: Option<String>,
    count: Option<usize>,
}

/// Letters by name, by filter, or all.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Chosen {
    jobs: Vec<JobId>,
    batch: Option<BatchId>,
    task: Option<String>,
    reason: Option<String>,
    all: bool,
}

impl Chosen {
    /// The letters meant. Naming none is an error, so that nobody drops all by leaving a word out.
    async fn letters(self, queue: &Queue) -> Result<Vec<DeadLetter>, Problem> {
        let filter = DeadFilter { batch: self.batch, task: self.task, reason: self.reason };
        let ways = [!self.jobs.is_empty(), filter != DeadFilter::default(), self.all];
        if ways.into_iter().filter(|way| *way).count() != 1 {
            let detail =
                "say which, in one way: jobs (a list of job ids), a filter (batch, task, reason), or all";
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail));
        }
        if self.jobs.is_empty() {
            return Ok(queue.dead_letters(&filter, usize::MAX).await?);
        }
        let mut letters = Vec::with_capacity(self.jobs.len());
        for job in self.jobs {
            letters.push(queue.dead_letter(job).await?.ok_or_else(|| none(job))?);
        }
        Ok(letters)
    }
}

async fn answer_list(
    State(door): State<Door>,
    query: Result<Query<Listing>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let Query(Listing { batch, task, reason, count }) = query?;
    let filter = DeadFilter { batch, task, reason };
    let letters = door.queue.dead_letters(&filter, count.unwrap_or(20).min(COUNT_MAX)).await?;
    Ok(Json(json!({"kept": door.queue.dead_count().await?, "letters": letters})))
}

async fn answer_show(State(door): State<Door>, Path(job): Path<String>) -> Result<Json<DeadLetter>, Problem> {
    let job: JobId =
        job.parse().map_err(|error| Problem::new(StatusCode::BAD_REQUEST, format!("{error}")))?;
    Ok(Json(door.queue.dead_letter(job).await?.ok_or_else(|| none(job))?))
}

async fn answer_retry(
    State(door): State<Door>,
    headers: HeaderMap,
    body: Result<Json<Chosen>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    door.access.check_program(&headers)?;
    let letters = body?.0.letters(&door.queue).await?;
    let batches = door.queue.retry_dead(&letters).await?;
    let ids: Vec<String> = batches.iter().map(|batch| batch.id.to_string()).collect();
    Ok(Json(json!({"retried": letters.len(), "batches": ids})))
}

async fn answer_drop(
    State(door): State<Door>,
    headers: HeaderMap,
    body: Result<Json<Chosen>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    door.access.check_program(&headers)?;
    let letters = body?.0.letters(&door.queue).await?;
    let jobs: Vec<JobId> = letters.iter().map(|letter| letter.job).collect();
    Ok(Json(json!({"dropped": door.queue.drop_dead(&jobs).await?})))
}

pub(crate) fn none(job: JobId) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, format!("there is no dead letter of job {job}; /api/dead lists them"))
}
