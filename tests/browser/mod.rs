//! A Chromium of a test's own, used as a person would. It knows no page of ours: what makes any page a good one stands in
//! `audit.rs`, and that all of it can fail is shown in `harness.rs`.

pub(crate) mod audit;
mod harness;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
pub(crate) use thirtyfour::Key;
use thirtyfour::common::capabilities::chromium::ChromiumLikeCapabilities;
use thirtyfour::error::{WebDriverErrorInner, WebDriverResult};
use thirtyfour::support::base64_decode;
use thirtyfour::{By, ChromeCapabilities, LoggingPrefsLogLevel, TypingData, WebDriver, WebElement};
use tokio::runtime::Runtime;

/// How long anything here may take on a slow machine.
const DEADLINE: Duration = Duration::from_secs(60);
/// How long a browser may take to end by itself before it is killed.
const QUIT: Duration = Duration::from_secs(10);

/// Where all talk with drivers happens. One for all browsers: a session outlives any call, and so do its connections.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));

/// Functions about the page that is open, for scripts of ours to begin with.
const PAGE: &str = include_str!("page.js");

/// Chromium's flags. It shows pages of ours alone, and as root or in a container it has no sandbox to offer.
const FLAGS: &[&str] = &[
    "--headless=new",
    "--no-sandbox",
    "--hide-scrollbars",
    "--no-first-run",
    "--no-default-browser-check",
    // Containers give /dev/shm some 64 MB, and many have no GPU.
    "--disable-dev-shm-usage",
    "--disable-gpu",
    // Nothing asks the Internet, and no keyring is asked for.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--password-store=basic",
    "--use-mock-keychain",
    // A page that nobody looks at is as quick as any other.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
];

/// Who looks at the page, and on what.
#[derive(Clone, Copy)]
pub(crate) struct Options {
    /// Prefers a dark colour scheme.
    pub(crate) dark: bool,
    /// Lets the page's own scripts run; [`Browser::script`] works either way.
    pub(crate) script: bool,
    /// Of the viewport, in CSS pixels.
    pub(crate) width: u32,
    /// Of the viewport, in CSS pixels.
    pub(crate) height: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { dark: false, script: true, width: 1440, height: 900 }
    }
}

/// A browser with one tab and a profile of its own, both gone when it is dropped.
///
/// What it cannot do fails the test; what is not there yet is waited for.
pub(crate) struct Browser {
    // In this order: a session whose driver is dead is not waited for, and nobody writes to the folder any more.
    _driver: Driver,
    session: WebDriver,
    folder: TempDir,
}

impl Browser {
    #[track_caller]
    pub(crate) fn start(options: Options) -> Self {
        let folder = TempDir::new().expect("temporary folder");
        let downloads = folder.path().join("downloads");
        fs::create_dir(&downloads).expect("a folder");
        let driver = Driver::start(folder.path());
        let session = RUNTIME.block_on(async {
            let mut wishes = ChromeCapabilities::new();
            wishes.set_binary(&program(CHROMIUM).display().to_string())?;
            wishes.set_browser_log_level(LoggingPrefsLogLevel::All)?;
            wishes.add_arg(&format!("--user-data-dir={}", folder.path().join("profile").display()))?;
            FLAGS.iter().try_for_each(|flag| wishes.add_arg(flag))?;
            wishes.add_experimental_option(
                "prefs",
                json!({"download.default_directory": downloads, "download.prompt_for_download": false}),
            )?;
            WebDriver::new(format!("http://127.0.0.1:{}", driver.port), wishes).await
        });
        let session = session.unwrap_or_else(|error| panic!("Chromium did not start: {error}"));
        let browser = Self { _driver: driver, session, folder };
        let Options { dark, script, width, height } = options;
        let scheme = if dark { "dark" } else { "light" };
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        browser.cdp("Emulation.setEmulatedMedia", json!({"features": [feature]}));
        browser.cdp("Emulation.setScriptExecutionDisabled", json!({"value": !script}));
        // A window has a smallest width, this has none.
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        browser.cdp("Emulation.setDeviceMetricsOverride", metrics);
        browser
    }

    /// Opens a page and waits until it is loaded.
    #[track_caller]
    pub(crate) fn goto(&self, url: &str) {
        self.ask(self.session.goto(url));
    }

    #[track_caller]
    pub(crate) fn reload(&self) {
        self.ask(self.session.refresh());
    }

    #[track_caller]
    pub(crate) fn url(&self) -> String {
        self.ask(self.session.current_url()).to_string()
    }

    /// The page as it stands now, as HTML.
    #[track_caller]
    pub(crate) fn source(&self) -> String {
        self.ask(self.session.source())
    }

    /// What the first match shows, once there is one.
    #[track_caller]
    pub(crate) fn text(&self, css: &str) -> String {
        self.wait_for(css, |browser| browser.texts(css).into_iter().next())
    }

    /// What each match shows now; nothing, where it is hidden.
    #[track_caller]
    pub(crate) fn texts(&self, css: &str) -> Vec<String> {
        let texts = self.of_each(css, "e.checkVisibility() ? (e.innerText ?? e.textContent).trim() : ''");
        texts.into_iter().map(|text| text.unwrap_or_default()).collect()
    }

    #[track_caller]
    pub(crate) fn exists(&self, css: &str) -> bool {
        !self.of_each(css, "''").is_empty()
    }

    /// An attribute of the first match, once there is one.
    #[track_caller]
    pub(crate) fn attribute(&self, css: &str, name: &str) -> Option<String> {
        let value = format!("e.getAttribute({})", json!(name));
        self.wait_for(css, |browser| browser.of_each(css, &value).into_iter().next())
    }

    /// Clicks the first match, once it is there and nothing covers it.
    #[track_caller]
    pub(crate) fn click(&self, css: &str) {
        self.act(css, async |element| element.click().await);
    }

    /// Types into the first match, a text or also keys: `"nightly" + Key::Enter`.
    #[track_caller]
    pub(crate) fn type_into(&self, css: &str, text: impl Into<TypingData>) {
        let text = text.into().to_string();
        self.act(css, async |element| element.send_keys(&*text).await);
    }

    /// Empties a field.
    #[track_caller]
    pub(crate) fn clear(&self, css: &str) {
        self.act(css, async |element| element.clear().await);
    }

    /// Presses keys together, wherever the focus is: `Key::Tab`, or `Key::Shift + Key::Tab`.
    #[track_caller]
    pub(crate) fn press(&self, keys: impl Into<TypingData>) {
        let keys = keys.into().as_vec();
        let down = keys.iter().fold(self.session.action_chain(), |chain, &key| chain.key_down(key));
        let up = keys.iter().rev().fold(down, |chain, &key| chain.key_up(key));
        self.ask(up.perform());
    }

    #[track_caller]
    pub(crate) fn press_tab(&self) {
        self.press(Key::Tab);
    }

    /// The element that has the focus, in words: `a#id.class "its text"`; `body` if none has.
    #[track_caller]
    pub(crate) fn focused(&self) -> String {
        let told = self.page_script("return describe(document.activeElement ?? document.body)");
        told.as_str().unwrap_or_default().to_owned()
    }

    /// Runs the body of a function in the page, whatever its policy, and gives what it returns.
    #[track_caller]
    pub(crate) fn script(&self, js: &str) -> Value {
        self.ask(self.session.execute(js, [])).json().clone()
    }

    /// The same, with the functions of `page.js` at hand.
    #[track_caller]
    fn page_script(&self, js: &str) -> Value {
        self.script(&format!("{PAGE}\n{js}"))
    }

    /// Looks again and again until there is something.
    #[track_caller]
    pub(crate) fn wait_for<T>(&self, what: &str, mut look: impl FnMut(&Self) -> Option<T>) -> T {
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            if Instant::now() > deadline {
                let shown = self.script("return document.body?.innerText ?? ''");
                let shown = shown.as_str().unwrap_or_default();
                panic!("waited in vain for {what} at {}, which shows:\n{shown}", self.url());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What the console was told of errors since the last call, but for entries with one of these phrases.
    ///
    /// Scripts that failed, what the page's policy refused, and requests without an answer are all there.
    #[track_caller]
    pub(crate) fn console_errors(&self, expected: &[&str]) -> Vec<String> {
        let entries = self.ask(self.session.browser_log()).into_iter();
        let errors = entries.filter(|entry| entry.level == "SEVERE").map(|entry| entry.message);
        errors.filter(|message| !expected.iter().any(|phrase| message.contains(phrase))).collect()
    }

    /// The whole page as a PNG, also what lies below the viewport.
    #[track_caller]
    pub(crate) fn screenshot(&self, path: &Path) {
        let clip = self.script(
            "return {x: 0, y: 0, scale: 1, width: innerWidth, \
             height: Math.max(innerHeight, document.documentElement.scrollHeight)}",
        );
        let wish = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
        let taken = self.cdp("Page.captureScreenshot", wish);
        let png = base64_decode(taken["data"].as_str().unwrap_or_default()).expect("base64");
        fs::write(path, png).expect("a picture can be written");
    }

    /// Where downloads go.
    pub(crate) fn download_folder(&self) -> PathBuf {
        self.folder.path().join("downloads")
    }

    /// The finished download with this in its name.
    #[track_caller]
    pub(crate) fn wait_for_download(&self, name_part: &str) -> PathBuf {
        self.wait_for(&format!("a download of {name_part}"), |browser| {
            let files = fs::read_dir(browser.download_folder()).expect("a folder").flatten();
            let names: Vec<_> = files.map(|file| (file.path(), file.file_name())).collect();
            let named = |name: &std::ffi::OsString, part: &str| name.to_string_lossy().contains(part);
            let unfinished = names.iter().any(|(_, name)| named(name, ".crdownload"));
            let found = names.into_iter().find(|(_, name)| named(name, name_part) && !unfinished);
            found.map(|(path, _)| path)
        })
    }

    /// A command of the DevTools protocol.
    #[track_caller]
    fn cdp(&self, method: &str, parameters: Value) -> Value {
        self.ask(self.session.cdp().send_raw(method, parameters))
    }

    /// In one script, so that no match can go between finding it and looking at it.
    #[track_caller]
    fn of_each(&self, css: &str, value: &str) -> Vec<Option<String>> {
        let css = json!(css);
        let told = self.script(&format!("return [...document.querySelectorAll({css})].map(e => {value})"));
        serde_json::from_value(told).expect("texts")
    }

    /// Does something to the first match as soon as it lets itself.
    #[track_caller]
    fn act(&self, css: &str, act: impl AsyncFn(WebElement) -> WebDriverResult<()>) {
        self.wait_for(&format!("{css} to be usable"), |browser| {
            let done = RUNTIME.block_on(async { act(browser.session.find(By::Css(css)).await?).await });
            match done.as_ref().map_err(|error| &**error) {
                Ok(()) => Some(()),
                Err(
                    WebDriverErrorInner::NoSuchElement(_)
                    | WebDriverErrorInner::StaleElementReference(_)
                    | WebDriverErrorInner::ElementClickIntercepted(_)
                    | WebDriverErrorInner::ElementNotInteractable(_),
                ) => None,
                Err(error) => panic!("{css}: {error}"),
            }
        });
    }

    #[track_caller]
    fn ask<T>(&self, asked: impl Future<Output = WebDriverResult<T>>) -> T {
        RUNTIME.block_on(asked).unwrap_or_else(|error| panic!("{error}"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked to, Chromium waits for its own children, which leaves no zombies. The driver's end takes the rest.
        let quit = self.session.clone().quit();
        drop(RUNTIME.block_on(async { tokio::time::timeout(QUIT, quit).await }));
    }
}

/// A chromedriver and all that it started, as a process group of their own.
struct Driver {
    process: Child,
    port: u16,
}

impl Driver {
    #[track_caller]
    fn start(folder: &Path) -> Self {
        // The shell kills its group, itself included, once nobody holds the other end of its input: when this is
        // dropped, and also when the tests are killed.
        let mut process = Command::new("sh")
            .args(["-c", r#""$0" --port=0 & exec >/dev/null; cat; kill -KILL 0"#])
            .arg(program(CHROMEDRIVER))
            .env("TMPDIR", folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell starts");
        let mut lines = BufReader::new(process.stdout.take().expect("stdout")).lines();
        // The port stands after these words alone, and a driver that ends instead closes its output.
        let port = lines.find_map(|line| {
            let line = line.ok()?;
            let (_, port) = line.split_once("successfully on port ")?;
            port.trim_end_matches('.').parse().ok()
        });
        // What it says later must not block it.
        std::thread::spawn(move || lines.for_each(drop));
        let driver = Self { process, port: port.unwrap_or_default() };
        assert_ne!(driver.port, 0, "chromedriver did not say which port it listens on");
        driver
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        drop(self.process.wait());
    }
}

const CHROMIUM: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const CHROMEDRIVER: &[&str] = &["chromedriver"];

#[track_caller]
fn program(names: &[&str]) -> PathBuf {
    puzzled_service::programs::find(names).unwrap_or_else(|| {
        panic!(
            "{} is not on PATH, and browser tests need both chromium and chromedriver: `make test` installs them \
             (on Debian by `apt-get install chromium chromium-driver`)",
            names[0]
        )
    })
}
