//! Redis's clock as seen from here: entry ids carry its time, and waiting is measured against it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Own clock plus a measured offset.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    offset_ms: AtomicI64,
}

impl Clock {
    /// Notes what Redis's clock just said.
    pub(crate) fn set(&self, server_ms: u64) {
        self.offset_ms.store(signed(server_ms) - signed(own_ms()), Ordering::Relaxed);
    }

    /// Redis's time now, ms since 1970.
    pub(crate) fn server_ms(&self) -> u64 {
        u64::try_from(signed(own_ms()) + self.offset_ms.load(Ordering::Relaxed)).unwrap_or(0)
    }
}

pub(crate) fn own_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn signed(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}
