//! The browser and its checks, on pages that are good and bad on purpose: a check that cannot fail is none.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Browser, Key, Options, audit, program};
use crate::servers::poll;

const PHONE: u32 = 390;

const FILES: &[(&str, &str, &str)] = &[
    ("/good", "text/html", include_str!("pages/good.html")),
    ("/bad", "text/html", include_str!("pages/bad.html")),
    ("/favicon.ico", "image/x-icon", ""),
    ("/style.css", "text/css", include_str!("pages/style.css")),
    (
        "/good.js",
        "text/javascript",
        "document.querySelector('#greet').onclick = () => \
           document.querySelector('#status').textContent = 'Hello ' + document.querySelector('#name').value;\
         new EventSource('/events').onmessage = ({ data }) => document.querySelector('#live').textContent = data;",
    ),
    ("/bad.js", "text/javascript", "setInterval(() => document.querySelector('#chatty').textContent++, 100)"),
    ("/events", "text/event-stream", "data: live\n\n"),
    ("/report.csv", "text/csv\r\nContent-Disposition: attachment", "task,jobs\necho,3\n"),
];

/// Serves the files from threads that end with the tests. Its policy is as strict as can be.
fn site() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || drop(answer(stream)));
        }
    });
    format!("http://{address}")
}

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let line = lines.next().transpose()?.unwrap_or_default();
    let path = line.split([' ', '?']).nth(1).unwrap_or_default();
    lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
    let file = FILES.iter().find(|(name, ..)| *name == path);
    let (status, kind, body) =
        file.map_or(("404 Not Found", "text/plain", ""), |(_, kind, body)| ("200 OK", kind, body));
    write!(
        stream,
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Security-Policy: default-src 'none'; \
         style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'\r\n\r\n{body}"
    )?;
    if kind == "text/event-stream" {
        // Events go on until the page is left.
        lines.for_each(drop);
    }
    Ok(())
}

#[test]
fn a_good_page_is_used_and_has_no_problems() {
    let (site, browser) = (site(), Browser::start(Options::default()));
    browser.goto(&format!("{site}/good"));
    assert_eq!(browser.url(), format!("{site}/good"));
    assert_eq!(audit::all(&browser), [""; 0]);

    browser.press_tab();
    assert_eq!(browser.focused(), "a.skip \"To the content\"");
    browser.type_into("#name", "Bob" + Key::Tab);
    browser.clear("#name");
    browser.type_into("#name", "Ada");
    browser.click("#greet");
    assert_eq!(browser.text("#status"), "Hello Ada");
    assert_eq!(browser.texts("th"), ["Task", "Jobs"]);
    assert_eq!(browser.texts("details p"), [""], "what is hidden shows nothing");
    assert_eq!(browser.attribute("#up", "href").as_deref(), Some("#main"));
    assert_eq!(browser.attribute("#up", "class"), None);
    browser.wait_for("an event", |browser| (browser.text("#live") == "live").then_some(()));
    assert!(browser.source().contains("<h1>All is"));
    browser.reload();
    assert_eq!(browser.text("#status"), "nobody");
    assert_eq!(audit::chatter(&browser, 1), 0);
    assert_eq!(browser.console_errors(&[]), [""; 0]);
}

#[test]
fn a_bad_page_has_every_problem() {
    let (site, browser) = (site(), Browser::start(Options::default()));
    browser.goto(&format!("{site}/bad"));
    assert!(audit::chatter(&browser, 2) >= 3);
    let errors = browser.console_errors(&["/missing"]);
    assert!(matches!(&errors[..], [error] if error.contains("Content Security Policy")), "{errors:#?}");
    assert_eq!(browser.console_errors(&[]), [""; 0], "each is told once");
    browser.reload();
    assert!(browser.console_errors(&[]).iter().any(|error| error.contains("/missing.js")));

    let problems = audit::all(&browser);
    let mut rest = problems.clone();
    for expected in [
        "the document has no title",
        "html has no lang",
        "no meta viewport",
        "h3#skips \"Skips a level\": level 3 follows level 1",
        "0 main landmarks",
        "no navigation landmark",
        "th \"Task\": th without scope",
        "button#nameless: button without a name",
        "input#unlabelled: textbox without a name",
        "img#unexplained: im",
        "svg#drawn \"pale\": im",
        "p.grey \"Grey on grey\": contrast 2.10 of #999999 on #dddddd, not 4.5",
        "p.faded \"Faded\": contrast",
        "p.pictured \"On a picture\": a background image",
        "text.pale \"pale\": contrast 1.36 of #dddddd on #ffffff",
        "viewport of 1440: div.wide \"Wide\"",
        "a.blind \"No outline\": nothing shows",
        "a.away \"Out of sight\": has the focus out of sight",
        "button#nameless: has the focus after what stands below it",
    ] {
        let place = rest.iter().position(|problem| problem.contains(expected));
        rest.remove(place.unwrap_or_else(|| panic!("{expected} is not among {problems:#?}")));
    }
    assert_eq!(rest, [""; 0]);
}

#[test]
fn dark_narrow_and_without_scripts_are_what_they_say() {
    let options = Options { dark: true, script: false, width: PHONE, height: 800 };
    let (site, browser) = (site(), Browser::start(options));
    browser.goto(&format!("{site}/good"));
    let seen = browser.script(
        "return [matchMedia('(prefers-color-scheme: dark)').matches, innerWidth, innerHeight, \
         document.scrollingElement.clientWidth]",
    );
    assert_eq!(seen, serde_json::json!([true, PHONE, 800, PHONE]));
    assert_eq!(browser.text("#off"), "Without scripts");
    browser.click("#greet");
    assert_eq!(browser.text("#status"), "nobody");
    assert_eq!(audit::all(&browser), [""; 0]);
    // What is fine on white is not on the black of a dark page.
    browser.script("document.querySelector('a').parentElement.style.color = '#333'");
    assert!(!audit::contrast(&browser).is_empty());

    let path = browser.download_folder().join("page.png");
    browser.screenshot(&path);
    let png = std::fs::read(path).expect("a picture");
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
    assert_eq!(number(16), PHONE);
    assert!(number(20) > 1500, "{} is not the whole page", number(20));
}

#[test]
fn a_download_arrives_with_the_name_of_its_file() {
    let (site, browser) = (site(), Browser::start(Options::default()));
    browser.goto(&format!("{site}/good"));
    assert!(!browser.exists("a[download=nothing]"));
    browser.click("a[download]");
    let file = browser.wait_for_download("report");
    assert_eq!(file, browser.download_folder().join("report.csv"));
    assert_eq!(std::fs::read_to_string(file).expect("a file"), "task,jobs\necho,3\n");
}

#[test]
fn a_browser_ends_with_its_test_and_with_a_panic() {
    let mut folder = None;
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let browser = Browser::start(Options::default());
        folder = Some(browser.folder.path().to_owned());
        assert!(!commands_with(folder.as_deref()).is_empty() || cfg!(not(target_os = "linux")));
        panic!("on purpose");
    }));
    assert!(panicked.is_err());
    poll("the end of all that was started", || commands_with(folder.as_deref()).is_empty().then_some(()));
    assert!(!folder.expect("it started").exists());
}

/// The command lines on this machine that name a folder, where there is a /proc.
fn commands_with(folder: Option<&std::path::Path>) -> Vec<String> {
    let name = folder.expect("it started").display().to_string();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let commands =
        processes.filter_map(|process| std::fs::read_to_string(process.path().join("cmdline")).ok());
    commands.filter(|command| command.contains(&name)).collect()
}

#[test]
fn a_missing_browser_is_a_failure_that_says_what_to_install() {
    let panicked = catch_unwind(|| program(&["no-such-browser"])).expect_err("there is none");
    let said = panicked.downcast_ref::<String>().expect("a sentence");
    assert!(said.contains("no-such-browser is not on PATH"), "{said}");
    assert!(said.contains("apt-get install chromium chromium-driver"), "{said}");
}
