//! How a role stops: two tokens, two signals, one deadline. This file ends no process and no task; it only says
//! when to.
//!
//! ```text
//! running --first SIGTERM or SIGINT--> draining --second signal, or the grace period is over--> stop now
//! ```
//!
//! **Draining**: claim and accept nothing new; finish what is in hand; flush results; then return. A role that is
//! done returns at once, it does not wait for the grace period. **Stop now**: hand back what is unfinished (that
//! spends no attempt) and return within about a second, finished or not. Both are idempotent, and *stop now*
//! implies *draining*. A role killed before either loses nothing: its leases expire.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

/// How long a drain may take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShutdownConfig {
    /// Milliseconds from the first signal until unfinished work is handed back. Default 25,000, which fits into
    /// the 30 s that Kubernetes gives a pod. 0 means: hand back at the first signal.
    pub grace_ms: u64,
}

impl Default for ShutdownConfig {
    fn default() -> Self {
        Self { grace_ms: 25_000 }
    }
}

impl ShutdownConfig {
    /// The grace period as a duration.
    #[must_use]
    pub fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }
}

/// The stop of one process, shared by all its loops. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Shutdown(Arc<Stages>);

#[derive(Debug)]
struct Stages {
    draining: CancellationToken,
    stop_now: CancellationToken,
    signal: OnceLock<&'static str>,
}

impl Shutdown {
    /// A shutdown that only [`drain`](Self::drain) and [`stop_now`](Self::stop_now) set off: for tests, and for
    /// roles composed inside another. Call it within a tokio runtime, where the grace period is timed.
    #[must_use]
    pub fn manual(grace: Duration) -> Self {
        let shutdown = Self(Arc::new(Stages {
            draining: CancellationToken::new(),
            stop_now: CancellationToken::new(),
            signal: OnceLock::new(),
        }));
        tokio::spawn(shutdown.clone().end_of_grace(grace));
        shutdown
    }

    /// A shutdown set off by SIGTERM and SIGINT. The handlers are in place when this returns, and stay for the
    /// life of the process: from here on a signal no longer kills it.
    ///
    /// # Errors
    /// When the system refuses a signal handler. Call it within a tokio runtime.
    pub fn on_signals(grace: Duration) -> io::Result<Self> {
        let signals = Signals::listen()?;
        let shutdown = Self::manual(grace);
        tokio::spawn(shutdown.clone().follow(signals, grace));
        Ok(shutdown)
    }

    /// Starts draining. Calling it again changes nothing.
    pub fn drain(&self) {
        self.0.draining.cancel();
    }

    /// Ends the drain: unfinished work is handed back. Calling it again changes nothing.
    pub fn stop_now(&self) {
        self.0.draining.cancel();
        self.0.stop_now.cancel();
    }

    /// Cancelled when draining starts. Cancelling the returned token stops nobody else.
    #[must_use]
    pub fn draining(&self) -> CancellationToken {
        self.0.draining.child_token()
    }

    /// Cancelled when the drain must end. Cancelling the returned token stops nobody else.
    #[must_use]
    pub fn stopping_now(&self) -> CancellationToken {
        self.0.stop_now.child_token()
    }

    /// Whether draining has started.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.0.draining.is_cancelled()
    }

    /// Whether the drain is over.
    #[must_use]
    pub fn is_stopping_now(&self) -> bool {
        self.0.stop_now.is_cancelled()
    }

    /// The first signal that came, such as `"SIGTERM"`; none when the process stops for another reason.
    #[must_use]
    pub fn signal(&self) -> Option<&'static str> {
        self.0.signal.get().copied()
    }

    async fn end_of_grace(self, grace: Duration) {
        self.0.draining.cancelled().await;
        // The biased order keeps a grace of zero honest and a second signal from being logged as a deadline.
        tokio::select! {
            biased;
            () = self.0.stop_now.cancelled() => {}
            () = tokio::time::sleep(grace) => {
                if !grace.is_zero() {
                    tracing::warn!(grace_ms = millis(grace), "the grace period is over: handing back unfinished work");
                }
                self.stop_now();
            }
        }
    }

    async fn follow(self, mut signals: Signals, grace: Duration) {
        let first = signals.next().await;
        // Only this task sets it, once.
        self.0.signal.get_or_init(|| first);
        tracing::info!(signal = first, grace_ms = millis(grace), "draining: finishing what is in hand");
        self.drain();
        let second = signals.next().await;
        tracing::warn!(signal = second, "second signal: handing back unfinished work");
        self.stop_now();
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> &'static str {
        match tokio::signal::ctrl_c().await {
            Ok(()) => "Ctrl-C",
            // Without a handler the system's default applies: Ctrl-C kills the process.
            Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn draining_turns_into_stop_now_after_the_grace_period() {
        let shutdown = Shutdown::manual(Duration::from_secs(10));
        let (draining, now) = (shutdown.draining(), shutdown.stopping_now());
        assert!(!draining.is_cancelled() && !now.is_cancelled());

        let start = tokio::time::Instant::now();
        shutdown.drain();
        shutdown.drain();
        draining.cancelled().await;
        assert!(!shutdown.is_stopping_now());
        now.cancelled().await;
        assert_eq!(start.elapsed().as_secs(), 10);
        assert_eq!(shutdown.signal(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn no_grace_means_stop_now_at_once() {
        let shutdown = Shutdown::manual(Duration::ZERO);
        let start = tokio::time::Instant::now();
        shutdown.drain();
        shutdown.stopping_now().cancelled().await;
        assert!(start.elapsed() < Duration::from_millis(10));
    }

    #[tokio::test]
    async fn stop_now_implies_draining_and_a_handed_out_token_stops_nobody_else() {
        let shutdown = Shutdown::manual(NEVER);
        shutdown.draining().cancel();
        shutdown.stopping_now().cancel();
        assert!(!shutdown.is_draining() && !shutdown.is_stopping_now());
        shutdown.stop_now();
        assert!(shutdown.is_draining() && shutdown.draining().is_cancelled());
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn the_first_signal_drains_and_the_second_stops() {
        use rustix::process::{Signal, getpid, kill_process};
        let shutdown = Shutdown::on_signals(NEVER).unwrap();
        kill_process(getpid(), Signal::TERM).unwrap();
        shutdown.draining().cancelled().await;
        assert_eq!(shutdown.signal(), Some("SIGTERM"));
        assert!(!shutdown.is_stopping_now());
        kill_process(getpid(), Signal::INT).unwrap();
        shutdown.stopping_now().cancelled().await;
        assert_eq!(shutdown.signal(), Some("SIGTERM"));
    }
}
