//! Who may change the queue through the dashboard: whoever knows its token.

use axum::http::{HeaderMap, StatusCode, header};
use puzzled_service::Secret;
use subtle::ConstantTimeEq;

use crate::problem::Problem;

/// The token, or none: then nobody may.
#[derive(Clone, Debug)]
pub(crate) struct Token(pub(crate) Secret);

impl Token {
    /// Whether a request may change the queue. A header that no form and no link of another site can send, so a browser that
    /// is led here does no harm.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Problem> {
        if self.0.is_empty() {
            let detail = "this dashboard only shows: set dashboard.token to let it act";
            return Err(Problem::new(StatusCode::FORBIDDEN, detail));
        }
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
        if bool::from(given.as_bytes().ct_eq(self.0.expose().as_bytes())) {
            Ok(())
        } else {
            Err(Problem::new(StatusCode::UNAUTHORIZED, "send `Authorization: Bearer` with dashboard.token"))
        }
    }
}
