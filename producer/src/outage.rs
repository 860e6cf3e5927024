//! Patience with Redis: how long to go on trying, and one warning however many calls fail.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use puzzled_queue::Error;

use crate::events::{Event, Report};

/// An outage as a whole process sees it.
pub(crate) struct Outage {
    patience: Duration,
    report: Report,
    /// Since when each party has failed.
    since: Mutex<[Option<Instant>; 2]>,
}

/// Who calls Redis. Reads may work while writes fail, so each counts its own time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Party {
    Sender = 0,
    Collector = 1,
}

impl Outage {
    pub(crate) fn new(patience: Duration, report: Report) -> Self {
        Self { patience, report, since: Mutex::new([None; 2]) }
    }

    /// A call failed. Gives the error back when it is not worth trying again, or patience is over.
    pub(crate) fn failed(&self, party: Party, error: Error) -> Result<(), Error> {
        if !error.is_transient() {
            return Err(error);
        }
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = since.iter().all(Option::is_none);
        let begun = *since[party as usize].get_or_insert_with(Instant::now);
        if begun.elapsed() >= self.patience {
            return Err(error);
        }
        if is_first {
            (self.report)(Event::Outage(&error));
        }
        Ok(())
    }

    /// A call succeeded.
    pub(crate) fn worked(&self, party: Party) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        if since[party as usize].take().is_some() && since.iter().all(Option::is_none) {
            (self.report)(Event::OutageOver);
        }
    }
}

/// Growing pauses between attempts.
#[derive(Debug)]
pub(crate) struct Backoff(Duration);

impl Backoff {
    const FIRST: Duration = Duration::from_millis(10);
    const LONGEST: Duration = Duration::from_millis(500);

    pub(crate) fn new() -> Self {
        Self(Self::FIRST)
    }

    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).min(Self::LONGEST);
        pause
    }

    pub(crate) fn reset(&mut self) {
        self.0 = Self::FIRST;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn an_outage_is_told_once_and_ends_once() {
        let told = Arc::new(AtomicU32::new(0));
        let report: Report = {
            let told = told.clone();
            Arc::new(move |event| {
                told.fetch_add(if matches!(event, Event::Outage(_)) { 1 } else { 100 }, Ordering::Relaxed);
            })
        };
        let busy = || Error::ReadOnly("here".to_owned());
        let outage = Outage::new(Duration::from_secs(3600), report.clone());
        for party in [Party::Sender, Party::Collector, Party::Sender] {
            assert!(outage.failed(party, busy()).is_ok());
        }
        outage.worked(Party::Sender);
        assert_eq!(told.load(Ordering::Relaxed), 1);
        outage.worked(Party::Collector);
        outage.worked(Party::Collector);
        assert_eq!(told.load(Ordering::Relaxed), 101);
        let final_error = Error::Malformed(String::new());
        assert!(outage.failed(Party::Sender, final_error).is_err());
        assert!(Outage::new(Duration::ZERO, report).failed(Party::Sender, busy()).is_err());
    }
}
