//! The dashboard's pages in a real browser, as a person uses them.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use crate::browser::{Browser, Key, Options, audit};
use crate::dashboard::{Dashboard, status};
use crate::servers::{Server, poll};
use crate::support::Ours;

/// What a browser says of a server that is away, which is what the test wants.
const AWAY: &[&str] = &["net::ERR_", "Failed to load resource"];

/// A queue with a folder for files.
struct Bed {
    redis: Server,
    folder: TempDir,
}

impl Bed {
    fn start() -> Self {
        Self {
            redis: Server::start(&["--appendonly", "yes", "--maxmemory", "1gb"]),
            folder: TempDir::new().expect("temporary folder"),
        }
    }

    fn dashboard(&self, settings: &[&str]) -> Dashboard {
        let dashboard = Dashboard::start(self.folder.path(), &self.redis.url(), settings);
        poll("the first reading", || (dashboard.get("/api/snapshot").1["stale"].is_null()).then_some(()));
        dashboard
    }

    /// A worker of one thread that serves these kinds.
    fn worker(&self, kinds: &str) -> Ours {
        let arguments =
            ["worker", "--threads", "1", "--listen", "", "--kinds", kinds, "--set", "log.level=error"];
        Ours::start(self.folder.path(), &self.redis.url(), &arguments)
    }

    /// Submits lines, and gives the id of their batch.
    fn submit(&self, label: &str, task: &str, lines: &str) -> String {
        static FILES: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let file = self.folder.path().join(format!("{}.txt", FILES.fetch_add(1, Ordering::Relaxed)));
        fs::write(&file, lines).expect("a file");
        let words = ["submit", "-q", "--task", task, "--label", label, &file.display().to_string()]
            .map(str::to_owned);
        let output =
            Ours::output(self.folder.path(), &self.redis.url(), &words.each_ref().map(String::as_str));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// A batch of which three jobs fail.
    fn failures(&self, label: &str) -> String {
        self.submit(label, "echo.fault", "a\npanic\nb\npanic\npanic\n")
    }
}

/// Sudokus of the test data, repeated.
fn sudokus(times: usize) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/magictour_top1465.txt"))
        .expect("test data")
        .repeat(times)
}

/// Waits until an element's text is as wanted.
#[track_caller]
fn wait_text(browser: &Browser, css: &str, is_wanted: impl Fn(&str) -> bool) -> String {
    browser.wait_for(&format!("the text of {css}"), |browser| {
        browser.texts(css).into_iter().next().filter(|text| is_wanted(text))
    })
}

#[track_caller]
fn no_complaints(browser: &Browser) {
    assert_eq!(browser.console_errors(&[]), Vec::<String>::new());
}

#[test]
fn figures_move_while_a_batch_runs_and_nobody_touches_the_page() {
    let bed = Bed::start();
    let dashboard = bed.dashboard(&[]);
    let browser = Browser::start(Options::default());
    browser.goto(&dashboard.page(""));
    assert!(browser.text(".warnings").contains("no worker is alive"), "{}", browser.text(".warnings"));
    let mut batch = String::new();
    for _ in 0..3 {
        batch = bed.submit("moving", "sudoku.solve", &sudokus(200));
    }
    wait_text(&browser, "#waiting", |text| text == "879,000");
    let _worker = bed.worker("sudoku");
    let mut seen = Vec::new();
    browser.wait_for("three figures that differ", |browser| {
        let figure = (browser.text("#waiting"), browser.text("#rate"));
        if !seen.contains(&figure) && figure.1 != "0" {
            seen.push(figure);
        }
        (seen.len() >= 3).then_some(())
    });
    assert!(!browser.exists(".warnings .bad"), "{:?}", browser.texts(".warnings"));
    browser.goto(&dashboard.page(&format!("batches/{batch}")));
    wait_text(&browser, "#percent", |text| text == "100 %");
    let account = browser.text(".account");
    assert!(
        account.starts_with("293,000 submitted = 293,000 done + 0 failed") && account.ends_with("balanced"),
        "{account}"
    );
    browser.goto(&dashboard.page(""));
    // Everything is done, and what was solved is in the last minute.
    wait_text(&browser, "#minute", |text| text != "0");
    wait_text(&browser, "#rate", |text| text == "0");
    assert!(audit::chatter(&browser, 4) == 0, "a screen reader is told of every second");
    no_complaints(&browser);
}

#[test]
fn the_page_comes_back_after_the_dashboard_and_after_redis_were_gone() {
    let mut bed = Bed::start();
    let mut dashboard = bed.dashboard(&[]);
    let browser = Browser::start(Options::default());
    browser.goto(&dashboard.page(""));
    bed.submit("before", "echo", "a\nb\n");
    wait_text(&browser, "#waiting", |text| text == "2");
    no_complaints(&browser);

    dashboard.process.kill();
    wait_text(&browser, "#state", |text| text.starts_with("Stale since"));
    assert!(browser.exists("body.stale"), "old figures look like new ones");
    let address = dashboard.address.clone();
    let dashboard = Dashboard::start_at(bed.folder.path(), &bed.redis.url(), &address, &[]);
    wait_text(&browser, "#state", str::is_empty);
    bed.submit("between", "echo", "c\n");
    wait_text(&browser, "#waiting", |text| text == "3");

    bed.redis.kill();
    let said = wait_text(&browser, "#stale", |text| text.contains("ago"));
    assert!(said.contains("the queue cannot be read"), "{said}");
    assert!(browser.text(".warnings").contains("cannot be reached"), "{}", browser.text(".warnings"));
    assert_eq!(browser.text("#waiting"), "3", "the last figures stay");
    // Who comes now sees it as well, and is not left without a page.
    let (head, body) = dashboard.raw("GET", "/", "", "");
    assert!(status(&head) == 200 && String::from_utf8_lossy(&body).contains("cannot be reached"));
    assert_eq!(status(&dashboard.raw("GET", "/batches", "", "").0), 503);

    bed.redis.start_again();
    browser.wait_for("fresh figures", |browser| (!browser.exists("#stale")).then_some(()));
    bed.submit("after", "echo", "d\n");
    wait_text(&browser, "#waiting", |text| text == "4");
    assert_eq!(browser.console_errors(AWAY), Vec::<String>::new());
}

#[test]
fn a_person_searches_reads_downloads_and_cancels_a_batch() {
    const HOSTILE: &str = "<script>document.title='taken'</script><b>& \"quoted\"";
    let bed = Bed::start();
    let dashboard = bed.dashboard(&[]);
    let _worker = bed.worker("echo");
    bed.submit("nightly", "echo", "x\n");
    let hostile = bed.submit(HOSTILE, "echo.fault", "a\n\nb,\"c\"\nlast\n");
    let waiting = bed.submit("never done", "slide.solve", "23415x768\n23415x768\n");
    let browser = Browser::start(Options::default());
    browser.goto(&dashboard.page("batches"));
    browser.wait_for("three batches", |browser| (browser.texts("tbody tr").len() == 3).then_some(()));
    browser.type_into("#q", "<SCRIPT>" + Key::Enter);
    browser.wait_for("the one that was searched", |browser| {
        (browser.url().contains("q=") && browser.texts("tbody tr").len() == 1).then_some(())
    });
    assert_eq!(browser.text("tbody th a"), HOSTILE, "a label is text and nothing else");
    assert_eq!(browser.attribute("#q", "value").as_deref(), Some("<SCRIPT>"));
    browser.click("tbody th a");
    wait_text(&browser, "#percent", |text| text == "100 %");
    assert!(browser.text("h1").starts_with(HOSTILE), "{}", browser.text("h1"));
    assert_eq!(browser.script("return document.title"), json!(format!("Batch {HOSTILE} \u{b7} puzzled")));

    for (extension, expected) in
        [("txt", "a\n"), ("csv", "index,outcome,answer\n0,solved,a\n"), ("ndjson", "{\"job\":\"")]
    {
        browser.click(&format!("a[href$='results.{extension}']"));
        let text =
            fs::read_to_string(browser.wait_for_download(&format!(".{extension}"))).expect("a download");
        assert!(text.starts_with(expected) && text.contains("last"), "{extension}: {text}");
    }
    assert!(browser.wait_for_download(".txt").file_name().is_some_and(|name| {
        let name = name.to_string_lossy();
        name.starts_with("puzzled-script-document-title-taken-script-") && name.contains(&hostile[28..])
    }));

    browser.goto(&dashboard.page(&format!("batches/{waiting}")));
    assert_eq!(browser.text("h1 .state"), "running");
    browser.click("#cancelling summary");
    browser.click("#cancelling button");
    wait_text(&browser, "h1 .state", |text| text == "cancelled");
    assert_eq!(browser.text("#said"), "Cancelled: 2 jobs.");
    assert!(!browser.exists("#cancelling"), "there is nothing left to cancel");
    no_complaints(&browser);

    // What is not there is said so, in a page.
    let (head, body) = dashboard.raw("GET", "/batches/01997e60-5bd0-7cc1-8d1e-3b1f0a2c4d5e", "", "");
    assert!(status(&head) == 404 && String::from_utf8_lossy(&body).contains("there is no batch"), "{head}");
    let (head, body) = dashboard.raw("GET", "/batches/%3Cscript%3E", "", "");
    assert!(status(&head) == 400 && !String::from_utf8_lossy(&body).contains("<script>alert"), "{head}");
    assert_eq!(status(&dashboard.raw("GET", &format!("/batches/{hostile}/results.xml"), "", "").0), 404);
}

#[test]
fn dead_letters_are_retried_and_dropped_one_by_one_selected_and_all() {
    let bed = Bed::start();
    let dashboard = bed.dashboard(&[]);
    let worker = bed.worker("echo");
    let (first, second) = (bed.failures("first"), bed.failures("second"));
    poll("six letters", || (dashboard.get("/api/dead").1["kept"] == 6).then_some(()));
    // What is tried again waits from here on.
    drop(worker);
    let browser = Browser::start(Options::default());
    browser.goto(&dashboard.page("dead"));
    let rows = |count: usize| {
        browser.wait_for(&format!("{count} letters"), |browser| {
            (browser.texts("tbody tr").len() == count).then_some(())
        });
    };
    rows(6);
    browser.click(&format!("#h-{first}\\.1 summary"));
    assert!(browser.text(&format!("#d-{first}\\.1")).contains("panic"));
    // Opened, it stays so while the page lives on.
    let reading = || dashboard.get("/api/snapshot").1["time_ms"].as_u64().expect("a time");
    let now = reading();
    poll("two readings", || (reading() > now + 2_000).then_some(()));
    assert!(browser.exists(&format!("#h-{first}\\.1[open]")));

    browser.click(&format!("#d-{first}\\.1 button.quiet"));
    wait_text(&browser, "#said", |text| text == "Dropped: 1 job.");
    rows(5);
    browser.click(&format!("#d-{first}\\.3 .row-actions button:not(.quiet)"));
    wait_text(&browser, "#said", |text| text.starts_with("Submitted again: 1 job"));
    rows(4);
    browser.click(&format!("#d-{first}\\.4 input"));
    browser.click(&format!("#d-{second}\\.1 input"));
    browser.click("button[formaction='dead/retry?of=selected']");
    wait_text(&browser, "#said", |text| text.starts_with("Submitted again: 2 jobs"));
    rows(2);
    assert_eq!(dashboard.get("/api/snapshot").1["totals"]["waiting"], 3);

    browser.type_into("#reason", "nothing like it" + Key::Enter);
    browser.wait_for("the filter", |browser| browser.url().contains("reason=nothing").then_some(()));
    assert!(browser.text(".empty").contains("like that"));
    browser.goto(&dashboard.page(&format!("dead?batch={second}")));
    rows(2);
    browser.click("#all summary");
    assert_eq!(browser.text("#all summary"), "All 2 that match\u{2026}");
    browser.click("button[formaction^='dead/drop?of=all']");
    wait_text(&browser, "#said", |text| text == "Dropped: 2 jobs.");
    assert!(browser.text(".empty").contains("None."));
    // Nothing selected is said so, and drops nothing.
    bed.worker("echo");
    no_complaints(&browser);
}

#[test]
fn a_puzzle_that_somebody_pastes_is_solved_through_the_queue() {
    const PUZZLE: &str = "000000010400000000020000000000050407008000300001090000300400200050100000000806000";
    let bed = Bed::start();
    let dashboard = bed.dashboard(&[]);
    let browser = Browser::start(Options::default());
    browser.goto(&dashboard.page("try"));
    browser.type_into("#puzzle", "23415x768");
    browser.click("button[formaction='try']");
    // Nobody works: it says so, and shows the answer as soon as somebody does.
    wait_text(&browser, "#answer", |text| text.contains("waits for a worker"));
    let _worker = bed.worker("sudoku,slide");
    let answer = wait_text(&browser, "#answer", |text| !text.contains("waits") && !text.contains("has it"));
    assert!(answer.bytes().all(|byte| b"lrud".contains(&byte)) && answer.len() % 2 == 1, "{answer}");

    browser.clear("#puzzle");
    browser.type_into("#puzzle", PUZZLE);
    browser.click("button[formaction='try']");
    let answer = wait_text(&browser, "#answer", |text| text.len() == 81);
    assert!(answer.contains('8') && !answer.contains('0'), "{answer}");
    assert_eq!(browser.text("#outcome"), "solved");
    let facts = browser.text(".facts");
    assert!(
        ["Solved in", "Waited", "There and back", "Worker"].iter().all(|fact| facts.contains(fact)),
        "{facts}"
    );
    assert_eq!(
        browser.script("return document.getElementById('puzzle').value"),
        json!(PUZZLE),
        "it can be changed and tried again"
    );

    for kind in ["sudoku", "slide"] {
        browser.click(&format!("button[formaction='try?random={kind}']"));
        browser.wait_for("a random puzzle", |browser| {
            let puzzle = browser.script("return document.getElementById('puzzle').value");
            (puzzle != json!(PUZZLE) && browser.texts("#outcome") == ["solved"]).then_some(())
        });
    }
    browser.goto(&dashboard.page("try"));
    browser.type_into("#puzzle", PUZZLE.replace('8', "z").as_str());
    browser.click("button[formaction='try']");
    let problem = wait_text(&browser, "#problem", |text| !text.is_empty());
    assert!(problem.contains("column 39") && problem.contains('z'), "{problem}");
    let kept = browser.script("return document.getElementById('puzzle').value");
    assert_eq!(kept, json!(PUZZLE.replace('8', "z")), "what was typed is not lost");
    no_complaints(&browser);
}

#[test]
fn without_javascript_all_is_there_and_can_be_done() {
    let bed = Bed::start();
    let dashboard = bed.dashboard(&[]);
    let _worker = bed.worker("sudoku");
    let batch = bed.submit("plain", "slide.solve", "23415x768\n");
    let browser = Browser::start(Options { script: false, ..Options::default() });
    browser.wait_for("the batch", |browser| {
        browser.goto(&dashboard.page(""));
        (browser.text("#waiting") == "1").then_some(())
    });
    assert!(browser.text("footer").contains("Refresh"), "{}", browser.text("footer"));
    browser.click("footer noscript a");
    browser.click(&format!("#b-{batch} th a"));
    browser.click("#cancelling summary");
    browser.click("#cancelling button");
    assert_eq!(browser.text("#said"), "Cancelled: 1 job.");
    browser.goto(&dashboard.page("try"));
    browser.click("button[formaction='try?random=sudoku']");
    assert_eq!(browser.text("#outcome"), "solved");
    assert_eq!(audit::structure(&browser), Vec::<String>::new());
    no_complaints(&browser);
}

#[test]
fn a_token_locks_every_action_until_it_is_given() {
    let bed = Bed::start();
    let worker = bed.worker("echo");
    let batch = bed.failures("dead");
    let dashboard = bed.dashboard(&["--set", "dashboard.token=open sesame"]);
    poll("three letters", || (dashboard.get("/api/dead").1["kept"] == 3).then_some(()));
    drop(worker);
    let browser = Browser::start(Options::default());
    browser.goto(&dashboard.page("dead"));
    browser.wait_for("the letters", |browser| (browser.texts("tbody tr").len() == 3).then_some(()));
    assert!(!browser.exists("main button[form=act]"), "what may not be done is not offered");
    browser.click("a.pill");
    browser.type_into("#token", "open sesam");
    browser.click("button[formaction=unlock]");
    assert_eq!(browser.text("#problem"), "This is not the token.");
    assert_eq!(browser.console_errors(&["401"]), Vec::<String>::new());
    browser.type_into("#token", "open sesame");
    browser.click("button[formaction=unlock]");
    browser.wait_for("the front page", |browser| (!browser.exists("a.pill")).then_some(()));
    browser.goto(&dashboard.page("dead"));
    browser.click(&format!("#d-{batch}\\.1 button.quiet"));
    wait_text(&browser, "#said", |text| text == "Dropped: 1 job.");
    browser.goto(&dashboard.page("unlock"));
    browser.click("button[formaction=lock]");
    browser.wait_for("a locked page", |browser| browser.exists("a.pill").then_some(()));
    no_complaints(&browser);

    // One that only shows offers nothing, and takes nothing.
    let shown = bed.dashboard(&["--set", "dashboard.read_only=true"]);
    browser.goto(&shown.page("dead"));
    browser.wait_for("the letters", |browser| (browser.texts("tbody tr").len() == 2).then_some(()));
    assert!(!browser.exists("main button[form=act]") && browser.text(".pill") == "read only");
    browser.goto(&shown.page("try"));
    assert!(browser.text(".lead").contains("only shows"));
    no_complaints(&browser);
}

#[test]
fn a_form_of_another_site_changes_nothing() {
    let bed = Bed::start();
    let dashboard = bed.dashboard(&[]);
    let batch = bed.submit("mine", "echo", "a\n");
    let (head, body) = dashboard.raw("GET", "/", "", "");
    let page = String::from_utf8_lossy(&body).into_owned();
    let cookie = head
        .split("set-cookie: ")
        .nth(1)
        .and_then(|rest| rest.split(';').next())
        .expect("a cookie")
        .to_owned();
    let secret = cookie.split_once('=').expect("a value").1.to_owned();
    assert!(page.contains(&secret), "the page's own form repeats it");
    let policy = head
        .split("content-security-policy: ")
        .nth(1)
        .and_then(|rest| rest.lines().next())
        .expect("a policy");
    for rule in [
        "default-src 'none'",
        "script-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
    ] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("unsafe") && head.contains("x-content-type-options: nosniff"), "{head}");
    let live = page.split("id=\"live\"").nth(1).expect("what is live");
    assert!(!live.contains(&secret), "what everybody is sent holds nobody's secret");

    let path = format!("/batches/{batch}/cancel");
    let origin = format!("Origin: http://{}\r\n", dashboard.address);
    let send = |headers: &str, body: &str| status(&dashboard.raw("POST", &path, headers, body).0);
    let (with_cookie, form) = (format!("Cookie: {cookie}\r\n"), format!("form={secret}"));
    assert_eq!(send(&format!("{with_cookie}Origin: http://evil.example\r\n"), &form), 403);
    assert_eq!(send(&format!("{with_cookie}Sec-Fetch-Site: cross-site\r\n{origin}"), &form), 403);
    assert_eq!(send(&with_cookie, &form), 403, "no word of where it is from");
    assert_eq!(send(&format!("{with_cookie}{origin}"), "form="), 403);
    assert_eq!(send(&origin, &form), 403, "a secret that this browser was not given");
    assert_eq!(
        send(&format!("{with_cookie}{origin}X-Forwarded-For: 10.1.1.1\r\n"), &form),
        403,
        "through a proxy, without a token"
    );
    assert_eq!(dashboard.get(&format!("/api/batches/{batch}")).1["waiting"], 1, "after all that");
    assert_eq!(send(&format!("{with_cookie}{origin}"), &form), 303);
    poll("the end of the batch", || {
        (dashboard.get(&format!("/api/batches/{batch}")).1["state"] == "cancelled").then_some(())
    });
}

/// Viewers who stay, read by one thread.
struct Crowd {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<u64>>,
}

impl Crowd {
    fn gather(address: &str, paths: &[&str], count: usize) -> Self {
        let viewer = |path: &&str| {
            let mut stream = TcpStream::connect(address).expect("the port is open");
            let request =
                format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAccept: text/event-stream\r\n\r\n");
            stream.write_all(request.as_bytes()).expect("a request can be sent");
            stream.set_nonblocking(true).expect("a socket");
            stream
        };
        let mut streams: Vec<TcpStream> = paths.iter().cycle().take(count).map(viewer).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let told = stop.clone();
        let thread = std::thread::spawn(move || {
            let (mut buffer, mut bytes) = (vec![0; 1 << 16], 0);
            while !told.load(Ordering::Relaxed) {
                for stream in &mut streams {
                    while let Ok(read @ 1..) = stream.read(&mut buffer) {
                        bytes += read as u64;
                    }
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            bytes
        });
        Self { stop, thread: Some(thread) }
    }

    /// Bytes that all were sent.
    fn leave(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().expect("a thread").join().expect("the crowd")
    }
}

#[test]
fn redis_is_read_as_often_for_two_hundred_viewers_as_for_one() {
    let bed = Bed::start();
    let dashboard = bed.dashboard(&[]);
    let batch = bed.submit("watched", "echo", "a\nb\n");
    let commands = || {
        let stats = bed.redis.text(&["INFO", "stats"]);
        let line =
            stats.lines().find_map(|line| line.strip_prefix("total_commands_processed:")).expect("a count");
        line.trim().parse::<u64>().expect("a number")
    };
    let number = || dashboard.get("/api/snapshot").1["time_ms"].as_u64().expect("a time");
    // Commands of about five readings.
    let spent = || {
        let (start, before) = (number(), commands());
        poll("five readings", || (number() >= start + 5_000).then_some(()));
        (commands() - before) as f64 / ((number() - start) as f64 / 1_000.0)
    };
    let one_batch = format!("/batches/{batch}");
    let paths = ["/", "/batches", "/workers", "/dead", &one_batch, "/batches?q=wat"];
    let few = Crowd::gather(&dashboard.address, &paths, paths.len());
    let by_few = spent();
    assert!(few.leave() > 0);
    let many = Crowd::gather(&dashboard.address, &paths, 200);
    let by_many = spent();
    let bytes = many.leave();
    assert!(bytes > 200 * 4 * 1_000, "{bytes} bytes: not everybody was served");
    assert!(by_many < by_few * 1.5, "{by_few:.1} commands a second became {by_many:.1}");
}

#[test]
fn events_pass_proxies_and_the_first_paint_is_one_small_request() {
    let bed = Bed::start();
    let dashboard = bed.dashboard(&[]);
    for i in 0..30 {
        bed.submit(&format!("batch number {i}"), "echo", "a\n");
    }
    for path in ["/", "/batches", "/workers", "/dead", "/try"] {
        let (head, body) = dashboard.raw("GET", path, "Accept-Encoding: gzip\r\n", "");
        assert!(head.contains("content-encoding: gzip"), "{head}");
        assert!(body.len() < 50_000, "{path}: {} bytes", body.len());
        let (_, body) = dashboard.raw("GET", path, "", "");
        let page = String::from_utf8_lossy(&body).into_owned();
        // What a browser must have before it paints stands in the page; nothing is asked of anybody else.
        assert!(
            !page.contains("rel=\"stylesheet\"") && !page.contains("//cdn") && page.contains("defer"),
            "{path}"
        );
        for address in page.split(['"', '\'']).filter(|word| word.starts_with("http")) {
            assert!(address.starts_with("http://www.w3.org/"), "{path} names {address}");
        }
        assert!(
            !page.contains("href=\"/") && !page.contains("src=\"/"),
            "{path} would not work below a path of a proxy's"
        );
    }
    let mut stream = TcpStream::connect(&dashboard.address).expect("the port is open");
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAccept-Encoding: gzip\r\n\r\n")
        .expect("sent");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket");
    let (mut text, mut buffer) = (String::new(), [0; 4096]);
    while text.matches("event: page").count() < 2 {
        let read = stream.read(&mut buffer).expect("events");
        assert!(read > 0, "{text}");
        text += &String::from_utf8_lossy(&buffer[..read]);
    }
    let head = text.split("\r\n\r\n").next().expect("a head").to_ascii_lowercase();
    assert!(head.contains("content-type: text/event-stream") && !head.contains("content-encoding"), "{head}");
    assert!(head.contains("x-accel-buffering: no") && head.contains("cache-control: no-cache"), "{head}");
}

/// Every view, both themes, both widths: looked at as a person with a screen reader, a keyboard or bad eyes would, and
/// photographed. `make screenshots` keeps the pictures, and lets the queue run for some minutes before.
#[test]
fn every_view_is_for_everybody_in_both_themes_and_on_a_phone() {
    let bed = Bed::start();
    let keep = std::env::var_os("SCREENSHOTS").map(PathBuf::from);
    let folder = keep.clone().unwrap_or_else(|| bed.folder.path().join("img"));
    fs::create_dir_all(&folder).expect("a folder");
    let dashboard = bed.dashboard(&[]);
    let _workers = [bed.worker("sudoku,slide,echo"), bed.worker("sudoku")];
    bed.submit("Tiles for the museum", "slide.solve", &"23415x768\n8672543x1\n12345687x\n".repeat(500));
    bed.submit("Readers' letters", "sudoku.solve", "not a puzzle\n1234\n..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9\n");
    bed.failures("New engine, first try");
    poll("the letters", || (dashboard.get("/api/dead").1["kept"] == 3).then_some(()));
    // For the pictures: work that comes and goes for some minutes.
    let (begun, minutes) = (Instant::now(), if keep.is_some() { 5 } else { 0 });
    for turn in 0.. {
        if begun.elapsed() >= Duration::from_secs(60 * minutes) {
            break;
        }
        let label = ["Weekly magazine", "Newspaper", "Training set"][turn % 3];
        bed.submit(label, "sudoku.solve", &sudokus(40 + 30 * (turn % 4)));
        bed.submit("Ratings for the annual", "sudoku.rate", &sudokus(1));
        std::thread::sleep(Duration::from_secs(10));
    }
    // And work that lasts while they are taken.
    let batch = bed.submit("Ratings, the whole archive", "sudoku.rate", &sudokus(12 * minutes as usize + 1));
    for (width, size) in [(1440, "wide"), (390, "phone")] {
        for (dark, theme) in [(false, "light"), (true, "dark")] {
            let browser = Browser::start(Options { dark, width, ..Options::default() });
            let shoot = |name: &str| {
                let problems = audit::all(&browser);
                assert_eq!(problems, Vec::<String>::new(), "{name}, {size}, {theme}");
                browser.screenshot(&folder.join(format!("{name}-{size}-{theme}.png")));
            };
            for (name, path) in [
                ("now", String::new()),
                ("batches", "batches".to_owned()),
                ("batch", format!("batches/{batch}")),
                ("workers", "workers".to_owned()),
                ("dead", "dead".to_owned()),
            ] {
                browser.goto(&dashboard.page(&path));
                shoot(name);
            }
            browser.goto(&dashboard.page("try"));
            browser.click("button[formaction='try?random=sudoku']");
            wait_text(&browser, "#outcome", |text| text == "solved");
            shoot("try");
            no_complaints(&browser);
        }
    }
}
