//! The admin port of every role: `/livez`, `/readyz`, `/metrics`, and whatever else the role adds.
//! It serves and reports; it decides nothing. Meant for a private network: no TLS, no login.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use prometheus::Registry;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::metrics;

/// How long an answer under way may take once shutdown has begun: a feed that never ends must not hold the process.
const GOODBYE: Duration = Duration::from_secs(1);

/// Where the admin port listens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdminConfig {
    /// `host:port`; port 0 takes any free one. Empty, the default here, means off; each role sets its own default.
    pub listen: String,
}

/// Whether the role can do its work now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// It can.
    Ready,
    /// It cannot, for this reason: one line for a person.
    NotReady(String),
}

/// What a role adds to the admin port.
#[derive(Debug, Clone, Default)]
pub struct Routes {
    router: Router,
    listed: Vec<(&'static str, &'static str)>,
}

impl Routes {
    /// Nothing added.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds a route; `about` says in a few words what it shows. A role that adds `/` replaces the list of routes.
    ///
    /// # Panics
    /// When the path is taken: `/livez`, `/readyz`, `/metrics`, or one added before.
    #[must_use]
    pub fn add(mut self, path: &'static str, about: &'static str, handler: MethodRouter) -> Self {
        self.router = self.router.route(path, handler);
        self.listed.push((path, about));
        self
    }
}

/// Why the admin port, or another of ours, could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another process has the port.
    #[error(
        "{setting} = {listen:?}: the address is in use; set {setting} to a free port, or to port 0 for any"
    )]
    InUse {
        /// The setting to change.
        setting: String,
        /// Its value.
        listen: String,
    },
    /// Anything else: no such address here, no permission, not `host:port`.
    #[error("{setting} = {listen:?}: cannot listen there ({source}); set {setting} to host:port")]
    Other {
        /// The setting to change.
        setting: String,
        /// Its value.
        listen: String,
        /// What the system says.
        source: io::Error,
    },
}

/// Opens `listen` (`host:port`), or nothing when it is empty. `setting` is the key to name in an error, such as
/// `worker.admin.listen`.
///
/// # Errors
/// When the address cannot be listened on; the message says which setting to change.
pub async fn bind(listen: &str, setting: &str) -> Result<Option<TcpListener>, BindError> {
    if listen.is_empty() {
        return Ok(None);
    }
    let (setting, listen) = (setting.to_owned(), listen.to_owned());
    match TcpListener::bind(&listen).await {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(BindError::InUse { setting, listen }),
        Err(source) => Err(BindError::Other { setting, listen, source }),
    }
}

/// Serves until `shutdown` is cancelled; then answers under way get one second.
///
/// # Errors
/// When the listener fails for good.
pub async fn serve(
    listener: TcpListener,
    routes: Routes,
    registry: Registry,
    ready: watch::Receiver<Readiness>,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let server = axum::serve(listener, router(routes, registry, ready))
        .with_graceful_shutdown(shutdown.clone().cancelled_owned());
    tokio::select! {
        served = async { server.await } => served,
        () = async { shutdown.cancelled().await; tokio::time::sleep(GOODBYE).await } => Ok(()),
    }
}

/// The admin port's router, for [`serve`] and for tests without a socket.
pub fn router(routes: Routes, registry: Registry, ready: watch::Receiver<Readiness>) -> Router {
    const OURS: [(&str, &str); 3] = [
        ("/livez", "200 while the process runs, whatever Redis does"),
        ("/readyz", "200 when it can work, else 503 and the reason"),
        ("/metrics", "Prometheus metrics"),
    ];
    let listed: Vec<_> = OURS.into_iter().chain(routes.listed.iter().copied()).collect();
    let paths = listed.iter().map(|(path, _)| *path).collect::<Vec<_>>().join(" ");
    let nowhere = format!("no such page; there are: {paths}\n");
    let mut router = routes
        .router
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(async move || readiness(&ready)))
        .route("/metrics", get(async move || scrape(&registry)));
    if !listed.iter().any(|(path, _)| *path == "/") {
        let index: String = listed
            .iter()
            .map(|(path, about)| {
                format!(
                    "{path}  {about}
"
                )
            })
            .collect();
        router = router.route("/", get(async move || index));
    }
    router.fallback(async move || (StatusCode::NOT_FOUND, nowhere)).method_not_allowed_fallback(async || {
        Ok::<_, Infallible>((StatusCode::METHOD_NOT_ALLOWED, "read only: GET or HEAD\n"))
    })
}

fn readiness(ready: &watch::Receiver<Readiness>) -> Response {
    match &*ready.borrow() {
        Readiness::Ready => "ready\n".into_response(),
        Readiness::NotReady(reason) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response()
        }
    }
}

fn scrape(registry: &Registry) -> Response {
    match metrics::encode(registry) {
        Ok(text) => ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tower::ServiceExt;

    use super::*;

    struct Admin {
        ready: watch::Sender<Readiness>,
        router: Router,
    }

    fn admin(routes: Routes) -> Admin {
        let registry = Registry::new();
        let counter = prometheus::IntCounter::new("puzzled_x_total", "X.").unwrap();
        registry.register(Box::new(counter)).unwrap();
        let (ready, receiver) = watch::channel(Readiness::NotReady("connecting to Redis".to_owned()));
        Admin { ready, router: router(routes, registry, receiver) }
    }

    /// Status, content type and body.
    async fn ask(admin: &Admin, method: &str, path: &str) -> (u16, String, String) {
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let response = admin.router.clone().oneshot(request).await.unwrap();
        let content_type =
            response.headers().get("content-type").map(|value| value.to_str().unwrap().to_owned());
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, content_type.unwrap_or_default(), String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn alive_whatever_redis_does_and_ready_only_when_told() {
        let admin = admin(Routes::none());
        assert_eq!(ask(&admin, "GET", "/livez").await.0, 200);
        let (status, _, body) = ask(&admin, "GET", "/readyz").await;
        assert_eq!((status, body.as_str()), (503, "connecting to Redis\n"));
        admin.ready.send_replace(Readiness::Ready);
        let (status, _, body) = ask(&admin, "GET", "/readyz").await;
        assert_eq!((status, body.as_str()), (200, "ready\n"));
        admin.ready.send_replace(Readiness::NotReady("draining".to_owned()));
        assert_eq!(ask(&admin, "GET", "/readyz").await.0, 503);
        assert_eq!(ask(&admin, "GET", "/livez").await.0, 200);
    }

    #[tokio::test]
    async fn metrics_come_as_text_0_0_4() {
        let (status, content_type, body) = ask(&admin(Routes::none()), "GET", "/metrics").await;
        assert_eq!((status, content_type.as_str()), (200, "text/plain; version=0.0.4; charset=utf-8"));
        assert!(body.contains("\npuzzled_x_total 0\n"), "{body}");
    }

    #[tokio::test]
    async fn only_reading_is_allowed() {
        let admin = admin(Routes::none());
        for path in ["/", "/livez", "/metrics"] {
            let (status, _, body) = ask(&admin, "HEAD", path).await;
            assert_eq!((status, body.as_str()), (200, ""), "HEAD {path}");
            for method in ["POST", "PUT", "DELETE"] {
                let (status, _, body) = ask(&admin, method, path).await;
                assert_eq!((status, body.as_str()), (405, "read only: GET or HEAD\n"), "{method} {path}");
            }
        }
    }

    #[tokio::test]
    async fn a_wrong_path_is_told_the_right_ones() {
        let routes = Routes::none().add("/api/queue", "the queue as JSON", get(async || "{}"));
        let admin = admin(routes);
        let (status, _, body) = ask(&admin, "GET", "/metrisc").await;
        assert_eq!(
            (status, body.as_str()),
            (404, "no such page; there are: /livez /readyz /metrics /api/queue\n")
        );
        assert_eq!(
            ask(&admin, "GET", "/api/queue").await,
            (200, "text/plain; charset=utf-8".into(), "{}".into())
        );
        let (status, _, index) = ask(&admin, "GET", "/").await;
        assert_eq!((status, index.lines().last().unwrap()), (200, "/api/queue  the queue as JSON"));
    }

    #[tokio::test]
    async fn a_role_may_have_its_own_front_page() {
        let admin = admin(Routes::none().add("/", "the dashboard", get(async || "hello")));
        assert_eq!(ask(&admin, "GET", "/").await.2, "hello");
    }

    #[tokio::test]
    async fn a_real_socket_serves_and_stops_even_with_a_connection_open() {
        let listener = bind("127.0.0.1:0", "admin.listen").await.unwrap().unwrap();
        let address = listener.local_addr().unwrap();
        let (_ready, receiver) = watch::channel(Readiness::Ready);
        let stop = CancellationToken::new();
        let never = get(async || std::future::pending::<&'static str>().await);
        let routes = Routes::none().add("/never", "an answer that never comes", never);
        let server = tokio::spawn(serve(listener, routes, Registry::new(), receiver, stop.clone()));

        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("ready\n"), "{answer}");

        let mut stuck = TcpStream::connect(address).await.unwrap();
        stuck.write_all(b"GET /never HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        stop.cancel();
        tokio::time::timeout(Duration::from_secs(20), server).await.unwrap().unwrap().unwrap();
    }

    #[tokio::test]
    async fn an_address_that_cannot_be_had_names_the_setting() {
        assert!(bind("", "admin.listen").await.unwrap().is_none());
        let taken = bind("127.0.0.1:0", "admin.listen").await.unwrap().unwrap();
        let listen = taken.local_addr().unwrap().to_string();
        let error = bind(&listen, "worker.admin.listen").await.unwrap_err();
        assert!(matches!(error, BindError::InUse { .. }));
        assert!(error.to_string().contains("set worker.admin.listen to a free port"), "{error}");
        let error = bind("nonsense", "admin.listen").await.unwrap_err().to_string();
        assert!(error.contains("admin.listen = \"nonsense\"") && error.contains("host:port"), "{error}");
    }
}
