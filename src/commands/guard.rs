//! `puzzled guard -- PROGRAM ARGS..`, hidden: runs a program that must not outlive whoever started the guard.
//!
//! The starter holds the other end of our standard input. Its death closes that, however it died, SIGKILL included,
//! and the guard then ends the program. The kernel's own way (PR_SET_PDEATHSIG) is Linux's alone, and would have to
//! be called between fork and exec, which is unsafe code.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use clap::Args;
use puzzled_service::Exit;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::failure::Failure;

/// How long the program may take to end in order once its owner is gone.
const GOODBYE: Duration = Duration::from_secs(10);

/// Arguments of `puzzled guard`.
#[derive(Args, Debug)]
pub(crate) struct GuardArgs {
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    line: Vec<OsString>,
}

/// Runs the program to its end and gives its exit code; 128 and the signal's number when a signal ended it.
pub(crate) async fn run(args: &GuardArgs) -> Result<u8, Failure> {
    let cannot = |what: &str, e: std::io::Error| Failure::new(Exit::Internal, format!("{what}: {e}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(|e| cannot("cannot handle SIGTERM", e))?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|e| cannot("cannot handle SIGINT", e))?;
    let program = args.line[0].to_string_lossy().into_owned();
    let mut child = Command::new(&args.line[0])
        .args(&args.line[1..])
        .stdin(Stdio::null())
        .spawn()
        .map_err(|e| cannot(&format!("cannot start {program}"), e))?;
    let mut owner_gone = end_of_stdin();
    loop {
        let ended = tokio::select! {
            ended = child.wait() => ended,
            _ = terminate.recv() => { pass_on(&child, Signal::TERM); continue }
            _ = interrupt.recv() => { pass_on(&child, Signal::INT); continue }
            _ = &mut owner_gone => {
                pass_on(&child, Signal::TERM);
                match tokio::time::timeout(GOODBYE, child.wait()).await {
                    Ok(ended) => ended,
                    Err(_) => {
                        pass_on(&child, Signal::KILL);
                        child.wait().await
                    }
                }
            }
        };
        return ended.map(code).map_err(|e| cannot(&format!("cannot wait for {program}"), e));
    }
}

/// Resolves when standard input ends. A plain thread, because nothing can cancel a blocking read: the runtime would
/// wait for it, the end of the process does not.
fn end_of_stdin() -> oneshot::Receiver<()> {
    let (ended, receiver) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let mut ignored = [0; 256];
        while !matches!(stdin.read(&mut ignored), Ok(0) | Err(_)) {}
        drop(ended);
    });
    receiver
}

fn pass_on(child: &Child, signal: Signal) {
    if let Some(pid) = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
        && let Err(error) = kill_process(pid, signal)
    {
        // It ended between the look and the signal; waiting will tell.
        tracing::debug!(%error, "cannot pass a signal on");
    }
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
