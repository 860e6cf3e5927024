//! What the operating system knows of this process: memory, CPU time, open files. Linux only (read from
//! `/proc/self`, no crate needed); elsewhere there is no reading, and the metrics are absent rather than zero.

/// One reading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reading {
    pub(crate) resident_bytes: u64,
    pub(crate) cpu_seconds: f64,
    pub(crate) open_fds: u64,
    pub(crate) threads: u64,
}

/// Reads now, or `None` where the system does not say.
#[cfg(target_os = "linux")]
pub(crate) fn read() -> Option<Reading> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The directory handle that counts is itself open while it counts.
    let open_fds = std::fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1);
    Some(Reading {
        resident_bytes: status_field(&status, "VmRSS:")?.checked_mul(1024)?,
        cpu_seconds: cpu_seconds(&stat)?,
        open_fds: u64::try_from(open_fds).ok()?,
        threads: status_field(&status, "Threads:")?,
    })
}

/// Reads now, or `None` where the system does not say.
#[cfg(not(target_os = "linux"))]
pub(crate) fn read() -> Option<Reading> {
    None
}

#[cfg(any(test, target_os = "linux"))]
fn status_field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// User and system time of `/proc/self/stat`. The second field, the program's name, may hold spaces and brackets,
/// so the counting starts behind its last bracket. The kernel shows user space 100 ticks a second on every Linux.
#[cfg(any(test, target_os = "linux"))]
fn cpu_seconds(stat: &str) -> Option<f64> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some((f64::from(user) + f64::from(system)) / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_behind_an_awkward_program_name() {
        let stat = "7 (a ) 1 (b) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(status_field("Name:\tx\nVmRSS:\t  1234 kB\nThreads:\t5\n", "VmRSS:"), Some(1234));
        assert_eq!((cpu_seconds(""), status_field("", "VmRSS:")), (None, None));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_memory_threads_and_files() {
        let reading = read().unwrap();
        assert!(
            reading.resident_bytes > 100_000 && reading.threads >= 1 && reading.open_fds >= 3,
            "{reading:?}"
        );
    }
}
