//! Batches over HTTP: those whose id or label begins with a text, or the newest ones; one of them; cancelling it.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{MethodRouter, get, post};
use puzzled_queue::{BatchId, IdError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::dead::Door;
use crate::api::problem::Problem;
use crate::looks::Looks;
use crate::snapshot::Batch;

/// Most batches of one answer.
const COUNT_MAX: usize = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listing {
    #[serde(default)]
    q: String,
    count: Option<usize>,
}

/// `GET /api/batches`.
pub(crate) fn list(looks: Looks) -> MethodRouter {
    get(answer).with_state(looks)
}

/// `GET /api/batches/ID`.
pub(crate) fn show(looks: Looks) -> MethodRouter {
    get(answer_show).with_state(looks)
}

/// `POST /api/batches/ID/cancel`.
pub(crate) fn cancel(door: Door) -> MethodRouter {
    post(answer_cancel).with_state(door)
}

async fn answer_show(State(looks): State<Looks>, Path(id): Path<String>) -> Result<Json<Batch>, Problem> {
    Ok(Json(looks.batch(batch_id(&id)?).await?))
}

async fn answer_cancel(
    State(door): State<Door>,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    door.access.check_program(&headers)?;
    Ok(Json(json!({"cancelled": door.queue.cancel(batch_id(&id)?).await?})))
}

/// The batch that a path names.
pub(crate) fn batch_id(text: &str) -> Result<BatchId, Problem> {
    text.parse().map_err(|error: IdError| Problem::new(StatusCode::BAD_REQUEST, error.to_string()))
}

async fn answer(
    State(looks): State<Looks>,
    query: Result<Query<Listing>, QueryRejection>,
) -> Result<Json<Vec<Batch>>, Problem> {
    let Query(Listing { q, count }) = query?;
    Ok(Json(looks.batches(&q, count.unwrap_or(20).min(COUNT_MAX)).await?))
}
