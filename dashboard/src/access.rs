//! Who may change the queue through the dashboard, and how a request shows that it is theirs.
//!
//! | settings | who may |
//! |---|---|
//! | `read_only` | nobody |
//! | `token` | whoever knows it: a browser that was unlocked with it, a program that sends it |
//! | neither, on a loopback address | everybody on this machine, if asked by this machine's own name and not through a proxy |
//! | neither, on any other address | nobody |
//!
//! A form must come from a page of ours: it repeats the secret of a cookie that other sites can neither read nor set, and the
//! browser says that it stems from here. The name is looked at because a site may let its own name lead to 127.0.0.1.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode, header};
use puzzled_service::Secret;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use uuid::Uuid;

use crate::api::problem::Problem;
use crate::config::Config;

/// Holds what an unlocked browser shows: an image of the token, so that it outlives a restart and ends with the token.
const SESSION_COOKIE: &str = "puzzled_session";
/// Holds what a form must repeat.
const FORM_COOKIE: &str = "puzzled_form";
/// The field of a form that repeats it.
pub(crate) const FORM_FIELD: &str = "form";

/// What whoever asks may do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Permit {
    /// Everything.
    Act,
    /// Everything, once unlocked with the token.
    Locked,
    /// Only look.
    Look,
}

enum Policy {
    Nobody { why: &'static str },
    Local,
    Token { token: Secret, session: String },
}

/// The rule of this dashboard.
#[derive(Clone)]
pub(crate) struct Access(Arc<Policy>);

impl Access {
    pub(crate) fn new(config: &Config, address: SocketAddr) -> Self {
        Self(Arc::new(if config.read_only {
            Policy::Nobody { why: "this dashboard only shows: dashboard.read_only is set" }
        } else if !config.token.is_empty() {
            let session = session_of(&config.token);
            Policy::Token { token: config.token.clone(), session }
        } else if address.ip().is_loopback() {
            Policy::Local
        } else {
            Policy::Nobody {
                why: "this dashboard only shows: it listens to other machines, and dashboard.token is not set",
            }
        }))
    }

    /// What the sender of these headers may do.
    pub(crate) fn permit(&self, headers: &HeaderMap) -> Permit {
        match &*self.0 {
            Policy::Nobody { .. } => Permit::Look,
            Policy::Local if is_local(headers) => Permit::Act,
            Policy::Local => Permit::Look,
            Policy::Token { session, .. } => {
                let given = cookie(headers, SESSION_COOKIE).unwrap_or_default();
                if is_same(given, session) { Permit::Act } else { Permit::Locked }
            }
        }
    }

    /// Whether a program may act: it sends the token, or is on this machine where none is set.
    pub(crate) fn check_program(&self, headers: &HeaderMap) -> Result<(), Problem> {
        match &*self.0 {
            Policy::Token { token, .. } => {
                let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
                let given = given.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
                if is_same(given, token.expose()) {
                    return Ok(());
                }
                let detail = "send `Authorization: Bearer` with dashboard.token";
                Err(Problem::new(StatusCode::UNAUTHORIZED, detail))
            }
            // A page of another site may send some requests, and then says where it is from.
            Policy::Local if headers.contains_key(header::ORIGIN) && !is_from_here(headers) => Err(foreign()),
            _ => self.refusal(self.permit(headers)),
        }
    }

    /// Whether a form may act: its sender may, and it comes from a page of ours.
    pub(crate) fn check_form(&self, headers: &HeaderMap, repeated: &str) -> Result<(), Problem> {
        check_origin(headers, repeated)?;
        self.refusal(self.permit(headers))
    }

    /// The cookie of an unlocked browser, if this is the token.
    pub(crate) fn unlock(&self, headers: &HeaderMap, given: &str) -> Option<String> {
        match &*self.0 {
            Policy::Token { token, session } if is_same(given, token.expose()) => {
                Some(set_cookie(headers, SESSION_COOKIE, session))
            }
            _ => None,
        }
    }

    /// The cookie that locks a browser again.
    pub(crate) fn lock(headers: &HeaderMap) -> String {
        set_cookie(headers, SESSION_COOKIE, "") + "; Max-Age=0"
    }

    fn refusal(&self, permit: Permit) -> Result<(), Problem> {
        let (status, detail) = match (permit, &*self.0) {
            (Permit::Act, _) => return Ok(()),
            (Permit::Locked, _) => (StatusCode::UNAUTHORIZED, "unlock the dashboard with its token first"),
            (Permit::Look, Policy::Nobody { why }) => (StatusCode::FORBIDDEN, *why),
            (Permit::Look, _) => (
                StatusCode::FORBIDDEN,
                "without dashboard.token it can be acted through from this machine alone, under the name localhost or 127.0.0.1 and without a proxy; set dashboard.token",
            ),
        };
        Err(Problem::new(status, detail))
    }
}

/// What the forms of a page repeat: the browser's, or a new one with the cookie that sets it.
pub(crate) fn form_secret(headers: &HeaderMap) -> (String, Option<String>) {
    match cookie(headers, FORM_COOKIE).filter(|text| Uuid::try_parse(text).is_ok()) {
        Some(known) => (known.to_owned(), None),
        None => {
            let fresh = Uuid::new_v4().to_string();
            let cookie = set_cookie(headers, FORM_COOKIE, &fresh);
            (fresh, Some(cookie))
        }
    }
}

/// Whether a form comes from a page of ours.
pub(crate) fn check_origin(headers: &HeaderMap, repeated: &str) -> Result<(), Problem> {
    if !is_from_here(headers) {
        return Err(foreign());
    }
    let known = cookie(headers, FORM_COOKIE).unwrap_or_default();
    if known.is_empty() || !is_same(repeated, known) {
        let detail =
            "this form is not of a page that this browser was given: reload the page, and allow it cookies";
        return Err(Problem::new(StatusCode::FORBIDDEN, detail));
    }
    Ok(())
}

fn foreign() -> Problem {
    Problem::new(StatusCode::FORBIDDEN, "this was sent by a page of another site; nothing was changed")
}

/// Whether a browser says that this stems from a page of ours. A proxy may have changed the Host; no page can.
fn is_from_here(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match (text("sec-fetch-site"), text("origin")) {
        (Some(site), _) => site == "same-origin",
        (None, Some(origin)) => {
            let host = origin.split_once("://").map(|(_, host)| host);
            host.is_some() && (host == text("host") || host == text("x-forwarded-host"))
        }
        (None, None) => false,
    }
}

/// Whether somebody on this machine asks, under this machine's own name and not through a proxy, which others may reach.
fn is_local(headers: &HeaderMap) -> bool {
    const PROXIES: [&str; 5] = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address: Option<IpAddr> = name.trim_start_matches('[').trim_end_matches(']').parse().ok();
    let is_ours = match address {
        Some(address) => address.is_loopback(),
        None => name == "localhost" || name.ends_with(".localhost"),
    };
    is_ours && PROXIES.iter().all(|name| !headers.contains_key(*name))
}

fn session_of(token: &Secret) -> String {
    let hash =
        Sha256::new().chain_update("puzzled dashboard session ").chain_update(token.expose()).finalize();
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_same(given: &str, known: &str) -> bool {
    bool::from(given.as_bytes().ct_eq(known.as_bytes()))
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Other sites' requests come without it, scripts cannot read it, and where the way is encrypted it goes no other.
fn set_cookie(headers: &HeaderMap, name: &str, value: &str) -> String {
    let is_secure = headers.get("x-forwarded-proto").is_some_and(|proto| proto == "https");
    format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{}", if is_secure { "; Secure" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn access(token: &str, read_only: bool, address: &str) -> Access {
        let config = Config { token: Secret::new(token), read_only, ..Config::default() };
        Access::new(&config, address.parse().unwrap())
    }

    #[test]
    fn who_may_act_follows_from_the_settings_and_the_way_the_request_came() {
        let here = headers(&[("host", "127.0.0.1:8081")]);
        let check = |access: Access, headers: &HeaderMap, expected| {
            assert_eq!(access.permit(headers), expected, "{headers:?}");
        };
        check(access("", false, "127.0.0.1:1"), &here, Permit::Act);
        check(access("", true, "127.0.0.1:1"), &here, Permit::Look);
        check(access("t", true, "127.0.0.1:1"), &here, Permit::Look);
        check(access("t", false, "127.0.0.1:1"), &here, Permit::Locked);
        check(access("", false, "0.0.0.0:1"), &here, Permit::Look);
        for host in ["localhost", "localhost:80", "puzzled.localhost:80", "[::1]:80", "127.1.2.3"] {
            check(access("", false, "[::1]:1"), &headers(&[("host", host)]), Permit::Act);
        }
        for host in ["", "evil.example", "evil.example:8081", "127.0.0.1.evil.example", "10.0.0.1:80"] {
            check(access("", false, "127.0.0.1:1"), &headers(&[("host", host)]), Permit::Look);
        }
        let proxied = headers(&[("host", "127.0.0.1:8081"), ("x-forwarded-for", "10.1.1.1")]);
        check(access("", false, "127.0.0.1:1"), &proxied, Permit::Look);
    }

    #[test]
    fn the_token_unlocks_a_browser_and_its_cookie_does_not_tell_it() {
        let access = access("open sesame", false, "0.0.0.0:1");
        assert_eq!(access.unlock(&HeaderMap::new(), "open sesam"), None);
        let cookie = access.unlock(&headers(&[("x-forwarded-proto", "https")]), "open sesame").unwrap();
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict; Secure"), "{cookie}");
        assert!(!cookie.contains("sesame"));
        let sent = cookie.split(';').next().unwrap();
        assert_eq!(access.permit(&headers(&[("cookie", &format!("a=b; {sent}"))])), Permit::Act);
        assert_eq!(access.permit(&headers(&[("cookie", &sent[..sent.len() - 1])])), Permit::Locked);
    }

    #[test]
    fn a_form_counts_only_from_a_page_of_ours() {
        let access = access("", false, "127.0.0.1:1");
        let (secret, set) = form_secret(&HeaderMap::new());
        assert!(set.unwrap().contains(&secret));
        let cookie = format!("{FORM_COOKIE}={secret}");
        let check = |more: &[(&'static str, &str)], repeated: &str, is_good: bool| {
            let sent = [&[("host", "127.0.0.1:8081"), ("cookie", cookie.as_str())], more].concat();
            assert_eq!(access.check_form(&headers(&sent), repeated).is_ok(), is_good, "{more:?}");
        };
        check(&[("sec-fetch-site", "same-origin")], &secret, true);
        check(&[("origin", "http://127.0.0.1:8081")], &secret, true);
        check(&[("origin", "http://127.0.0.1:8081")], "", false);
        check(&[("origin", "http://127.0.0.1:8081")], "5f3c1d1e-0000-4000-8000-000000000000", false);
        check(&[("origin", "http://evil.example")], &secret, false);
        check(&[("origin", "null")], &secret, false);
        check(&[("sec-fetch-site", "cross-site")], &secret, false);
        check(&[("sec-fetch-site", "same-site"), ("origin", "http://127.0.0.1:8081")], &secret, false);
        check(&[], &secret, false);
        let nobody = headers(&[("host", "127.0.0.1:8081"), ("sec-fetch-site", "same-origin")]);
        assert!(access.check_form(&nobody, "").is_err(), "no cookie, nothing to repeat");
    }
}
