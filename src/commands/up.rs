//! `puzzled up`: a private Redis, workers and the dashboard on this machine, until Ctrl-C.

pub(crate) mod crew;

use std::fmt::Write as _;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use puzzled_queue::{LocalServer, Queue, ServerOptions};
use puzzled_service::{Exit, Shutdown, Url, admin};

use crate::cli::Cli;
use crate::failure::Failure;
use crate::settings::Settings;
use crew::{Crew, WORKERS_DEFAULT};

/// Flags of `puzzled up`.
#[derive(Args, Debug)]
pub(crate) struct UpArgs {
    /// Worker processes; they share the cores.
    #[arg(long, value_name = "N", default_value_t = WORKERS_DEFAULT, value_parser = count)]
    workers: usize,
    /// Keep the data in this folder, in an append-only file [default: a temporary folder, removed at the end].
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Let Redis listen on this loopback port too [default: a Unix socket only].
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Where the dashboard listens; port 0 takes any free one.
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
}

impl UpArgs {
    /// The settings these flags stand for.
    pub(crate) fn flags(&self) -> Vec<(String, String)> {
        self.listen.iter().map(|listen| ("dashboard.listen".to_owned(), listen.clone())).collect()
    }
}

/// Reads a number of workers.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    const WORKERS_MAX: usize = 256;
    match text.parse() {
        Ok(count @ 1..=WORKERS_MAX) => Ok(count),
        _ => Err(format!("expected a number from 1 to {WORKERS_MAX}")),
    }
}

/// Runs until SIGTERM or SIGINT, or until Redis dies.
pub(crate) async fn run(cli: &Cli, args: &UpArgs, settings: &Settings) -> Result<(), Failure> {
    settings.worker.validate()?;
    // One that is merely configured is passed over: the line that `up` prints for other terminals configures it.
    if cli.names_redis() {
        return Err(Failure::new(
            Exit::Usage,
            "`up` starts a Redis of its own; leave out --redis, or run `puzzled worker` and `puzzled dashboard` on that one",
        ));
    }
    let shutdown = signals(settings)?;
    let listener = admin::bind(&settings.dashboard.listen, "dashboard.listen").await?;
    let server = LocalServer::start(&ServerOptions {
        data: args.data.clone(),
        guard: crew::guard()?,
        port: args.port,
        ..ServerOptions::default()
    })
    .await?;
    let mut settings = settings.clone();
    settings.redis.url = Url::new(server.url());
    let queue = Queue::connect(&settings.redis).await?;
    let crew = Crew::start(cli, &settings, args.workers, &shutdown)?;
    let address = listener.as_ref().and_then(|listener| listener.local_addr().ok());
    let dashboard = listener.map(|listener| {
        tokio::spawn(puzzled_dashboard::run(
            listener,
            queue.clone(),
            settings.dashboard.clone(),
            shutdown.clone(),
        ))
    });
    super::print(&summary(args, &settings, server.url(), address))?;

    let died = tokio::select! {
        () = shutdown.draining().cancelled_owned() => false,
        () = death_of(server.url()) => true,
    };
    if died {
        // Nothing can be recorded any more, so there is nothing to wait for.
        shutdown.stop_now();
    }
    crew.ended().await;
    shutdown.stop_now();
    if let Some(dashboard) = dashboard
        && let Ok(Err(error)) = dashboard.await
    {
        tracing::warn!(%error, "the dashboard ended early");
    }
    drop(queue);
    let stopped = server.stop().await;
    if died {
        let advice = match &args.data {
            Some(data) => format!("What was recorded is in {}; start `puzzled up` again.", data.display()),
            None => "Its data is gone with it; with --data DIR it would be kept.".to_owned(),
        };
        return Err(Failure::new(Exit::Redis, format!("the private Redis died. {advice}")));
    }
    stopped.map_err(|e| Failure::new(Exit::Internal, format!("cannot wait for the private Redis: {e}")))
}

/// A shutdown set off by signals.
pub(crate) fn signals(settings: &Settings) -> Result<Shutdown, Failure> {
    Shutdown::on_signals(settings.shutdown.grace())
        .map_err(|e| Failure::new(Exit::Internal, format!("cannot handle signals: {e}")))
}

/// Returns when nobody listens on the private server's socket any more. A server that is only slow, or stopped in a
/// debugger, still has its socket: it is not declared dead.
pub(crate) async fn death_of(url: &str) {
    let socket = PathBuf::from(url.trim_start_matches("redis+unix://"));
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        match UnixStream::connect(&socket) {
            Err(e) if matches!(e.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => {
                return;
            }
            _ => {}
        }
    }
}

fn summary(args: &UpArgs, settings: &Settings, url: &str, dashboard: Option<std::net::SocketAddr>) -> String {
    let threads = Crew::threads(settings, args.workers);
    let mut text = String::from("puzzled is up.\n\n");
    let mut line = |name: &str, value: String| {
        // Writing to a String cannot fail.
        let written = writeln!(text, "  {name:<10} {value}");
        debug_assert!(written.is_ok());
    };
    line(
        "workers",
        format!("{} with {threads} solver thread{} each", args.workers, if threads == 1 { "" } else { "s" }),
    );
    if args.port != 0 {
        line("redis", format!("redis://127.0.0.1:{}, and the socket below", args.port));
    }
    line(
        "data",
        match &args.data {
            Some(data) => format!("{}, kept (append-only file)", data.display()),
            None => "in memory, gone when this ends; keep it with --data DIR".to_owned(),
        },
    );
    if let Some(address) = dashboard {
        line("dashboard", format!("http://{address}/"));
    }
    line("stop", "Ctrl-C: workers finish what they hold, then Redis stops".to_owned());
    text.push_str("\nIn another terminal:\n\n");
    text.push_str(&format!("  export {}={url}\n", puzzled_service::settings::variable("redis.url")));
    text.push_str("  puzzled solve puzzles.txt\n");
    text
}
