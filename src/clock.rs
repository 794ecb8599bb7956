//! The one place that looks at the clock: for the manifest of a run, whose times are no result.

use std::time::{Duration, Instant, SystemTime};

/// Started when a run starts.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    started: Instant,
    started_unix_seconds: u64,
}

impl Stopwatch {
    /// Starts now.
    #[expect(clippy::disallowed_methods, reason = "the manifest says when a run was made and how long it took")]
    pub fn start() -> Stopwatch {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Stopwatch { started: Instant::now(), started_unix_seconds: since_1970.as_secs() }
    }

    /// Seconds since 1970 (UTC) at the start.
    pub fn started_unix_seconds(&self) -> u64 {
        self.started_unix_seconds
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }
}
