//! The clock of a service.

use std::time::{SystemTime, UNIX_EPOCH};

use tidings_primitives::Instant;

/// The service's own clock: monotonic, and when it began.
pub(super) struct Clock {
    began: tokio::time::Instant,
    pub(super) epoch_ms: u64,
}

impl Clock {
    pub(super) fn new() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { began: tokio::time::Instant::now(), epoch_ms: since.as_millis() as u64 }
    }

    pub(super) fn now(&self) -> Instant {
        Instant::EPOCH + self.began.elapsed()
    }

    pub(super) fn moment(&self, at: Instant) -> tokio::time::Instant {
        self.began + at.saturating_since(Instant::EPOCH)
    }
}

/// Waits until then; for ever, if there is no such moment.
pub(super) async fn sleep_until(until: Option<tokio::time::Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => core::future::pending().await,
    }
}
