//! The dashboard's API, asked over HTTP.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::servers::{Server, poll};
use crate::support::Ours;

/// A dashboard, and where it listens.
pub(crate) struct Dashboard {
    pub(crate) address: String,
    pub(crate) process: Ours,
}

impl Dashboard {
    pub(crate) fn start(folder: &Path, url: &str, settings: &[&str]) -> Self {
        Self::start_at(folder, url, "127.0.0.1:0", settings)
    }

    pub(crate) fn start_at(folder: &Path, url: &str, listen: &str, settings: &[&str]) -> Self {
        let arguments = [&["dashboard", "--listen", listen], settings].concat();
        let child = Ours::command(folder, url, &arguments).stderr(Stdio::piped()).spawn();
        let mut process = Ours(child.expect("puzzled starts"));
        let mut lines = BufReader::new(process.0.stderr.take().expect("stderr")).lines();
        let line =
            lines.find_map(|line| line.ok().filter(|line| line.contains("address="))).expect("an address");
        // What it says later must not block it.
        std::thread::spawn(move || lines.for_each(drop));
        let (_, rest) = line.split_once("address=").expect("an address");
        let address = rest.split(' ').next().expect("an address").to_owned();
        Self { address, process }
    }

    /// The address of a page.
    pub(crate) fn page(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// Head and body as they came.
    pub(crate) fn raw(&self, method: &str, path: &str, headers: &str, body: &str) -> (String, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.address).expect("the port is open");
        let (length, host) = (body.len(), &self.address);
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("a request can be sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
        (String::from_utf8_lossy(&answer[..end]).into_owned(), answer[end + 4..].to_vec())
    }

    /// Status and body.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, Value) {
        let (head, body) = self.raw(method, path, headers, body);
        (status(&head), serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        self.ask("GET", path, "", "")
    }

    fn post(&self, path: &str, token: &str, body: &Value) -> (u16, Value) {
        let headers = format!("Content-Type: application/json\r\nAuthorization: Bearer {token}\r\n");
        self.ask("POST", path, &headers, &body.to_string())
    }
}

/// Status of an answer.
pub(crate) fn status(head: &str) -> u16 {
    head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status")
}

#[test]
fn dead_letters_over_http_are_read_by_all_and_changed_by_the_token() {
    let redis = Server::start(&["--appendonly", "yes"]);
    let folder = TempDir::new().expect("temporary folder");
    let (folder, url) = (folder.path(), redis.url());
    let input = folder.join("jobs.txt");
    fs::write(&input, "a\npanic\nb\npanic\npanic\n").expect("a file");
    let arguments = ["worker", "--threads", "1", "--listen", "", "--kinds", "echo", "--set", "log.level=off"];
    let _worker = Ours::start(folder, &url, &arguments);
    let output =
        Ours::output(folder, &url, &["submit", "-q", "--task", "echo.fault", &input.display().to_string()]);
    let batch = String::from_utf8_lossy(&output.stdout).trim().to_owned();

    let open = Dashboard::start(folder, &url, &["--set", "dashboard.token=open sesame"]);
    let letters = |dashboard: &Dashboard, count: u64| {
        poll("dead letters", || {
            let (status, answer) = dashboard.get("/api/dead");
            (status == 200 && answer["kept"] == count).then_some(answer)
        })
    };
    let answer = letters(&open, 3);
    assert_eq!(answer["letters"].as_array().map(Vec::len), Some(3), "{answer}");
    let job = format!("{batch}.1");
    let (status, letter) = open.get(&format!("/api/dead/{job}"));
    assert_eq!((status, &letter["puzzle"], &letter["job"]), (200, &json!("panic"), &json!(job)));
    assert_eq!(open.get("/api/dead?reason=nothing-like-it").1["letters"], json!([]));
    assert_eq!(open.get("/api/dead?count=1").1["letters"].as_array().map(Vec::len), Some(1));
    assert_eq!(open.get(&format!("/api/dead/{batch}.0")).0, 404);
    assert_eq!(open.get("/api/dead/nonsense").0, 400);
    assert_eq!(open.get("/api/dead?batch=nonsense").0, 400);

    // Without the token, in one that only shows, or with less than JSON, nothing changes.
    let all = json!({"all": true});
    let closed = Dashboard::start(folder, &url, &["--set", "dashboard.read_only=true"]);
    for path in ["/api/dead/retry", "/api/dead/drop"] {
        assert_eq!(closed.post(path, "", &all).0, 403);
        assert_eq!(open.post(path, "open sesam", &all).0, 401);
        assert_eq!(open.ask("POST", path, "Content-Type: application/json\r\n", "{\"all\": true}").0, 401);
        assert_eq!(open.post(path, "open sesame", &json!({})).0, 422, "which?");
        assert_eq!(
            open.post(path, "open sesame", &json!({"all": true, "task": "echo.fault"})).0,
            422,
            "which?"
        );
        assert_eq!(open.post(path, "open sesame", &json!({"al": true})).0, 422);
        assert_eq!(open.post(path, "open sesame", &json!({"jobs": [format!("{batch}.0")]})).0, 404);
        let form = "Content-Type: text/plain\r\nAuthorization: Bearer open sesame\r\n";
        assert_eq!(open.ask("POST", path, form, "{\"all\": true}").0, 415);
        assert_eq!(open.get(path).0, 405);
    }
    letters(&closed, 3);

    let (status, answer) = open.post("/api/dead/drop", "open sesame", &json!({"jobs": [job]}));
    assert_eq!((status, answer), (200, json!({"dropped": 1})));
    // Those that are tried again fail again, in a batch of their own.
    let (status, answer) = open.post("/api/dead/retry", "open sesame", &json!({"batch": batch}));
    assert_eq!((status, &answer["retried"]), (200, &json!(2)), "{answer}");
    let again = answer["batches"][0].as_str().expect("an id").to_owned();
    let answer = letters(&open, 2);
    let of = |letter: &Value| letter["job"].as_str().is_some_and(|job| job.starts_with(&again));
    assert!(answer["letters"].as_array().is_some_and(|letters| letters.iter().all(of)), "{answer}");
    assert_eq!(open.post("/api/dead/drop", "open sesame", &all).1, json!({"dropped": 2}));
    letters(&open, 0);
}

#[test]
fn batches_over_http_are_found_by_their_label() {
    let redis = Server::start(&["--appendonly", "yes"]);
    let folder = TempDir::new().expect("temporary folder");
    let (folder, url) = (folder.path(), redis.url());
    let input = folder.join("jobs.txt");
    fs::write(&input, "a\nb\n").expect("a file");
    let submit = |label: &str| {
        let arguments = ["submit", "-q", "--task", "echo", "--label", label, &input.display().to_string()]
            .map(str::to_owned);
        let output = Ours::output(folder, &url, &arguments.each_ref().map(String::as_str));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let (first, second) = (submit("Nightly & <one>"), submit("nightly two"));
    let dashboard = Dashboard::start(folder, &url, &[]);
    let ids = |path: &str| {
        let (status, answer) = dashboard.get(path);
        assert_eq!(status, 200, "{answer}");
        let ids = answer.as_array().expect("a list").iter().map(|batch| batch["id"].clone());
        ids.collect::<Vec<_>>()
    };
    poll("the first reading", || (dashboard.get("/api/batches").0 == 200).then_some(()));
    assert_eq!(ids("/api/batches"), [json!(second), json!(first)], "newest first");
    assert_eq!(ids("/api/batches?count=1"), [json!(second)]);
    assert_eq!(ids("/api/batches?q=NIGHTLY%20%26%20%3Cone"), [json!(first)]);
    assert_eq!(ids(&format!("/api/batches?q={second}")), [json!(second)]);
    assert_eq!(ids("/api/batches?q=weekly"), [json!(null); 0]);
    assert_eq!(dashboard.get("/api/batches?query=x").0, 400, "a misspelt filter is no filter");
}
