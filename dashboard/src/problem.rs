//! Errors as problem details (RFC 9457).

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use puzzled_queue::Error;
use serde_json::json;

/// An error for whoever asked: what is wrong and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    detail: String,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into() }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let title = self.status.canonical_reason().unwrap_or("error");
        let body = json!({"title": title, "status": self.status.as_u16(), "detail": self.detail});
        (self.status, [(header::CONTENT_TYPE, "application/problem+json")], Json(body)).into_response()
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::NoBatch(_) | Error::NoJob(_) | Error::NoName(_) => StatusCode::NOT_FOUND,
            Error::Refused { .. } => StatusCode::FORBIDDEN,
            error if error.is_transient() => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        Self::new(rejection.status(), rejection.body_text())
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Self::new(rejection.status(), rejection.body_text())
    }
}
