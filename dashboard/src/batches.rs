//! Batches over HTTP: those whose id or label begins with a text, or the newest ones.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::routing::{MethodRouter, get};
use puzzled_queue::Queue;
use serde::Deserialize;

use crate::problem::Problem;
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
pub(crate) fn list(queue: Queue) -> MethodRouter {
    get(answer).with_state(queue)
}

async fn answer(
    State(queue): State<Queue>,
    query: Result<Query<Listing>, QueryRejection>,
) -> Result<Json<Vec<Batch>>, Problem> {
    let Query(Listing { q, count }) = query?;
    let count = count.unwrap_or(20).min(COUNT_MAX);
    let found = if q.is_empty() { queue.recent(count).await? } else { queue.search(&q, count).await? };
    Ok(Json(found.iter().map(Batch::from).collect()))
}
