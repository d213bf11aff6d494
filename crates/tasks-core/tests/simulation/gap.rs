//! Gaps: times without a dispatch while tasks wait.

use core::time::Duration;

use tidings_primitives::Instant;

/// What was dispatched, and how long nothing was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Gaps {
    /// The last dispatch, if tasks were left that any worker may have at once.
    since: Option<Instant>,
    pub(crate) longest: Duration,
    pub(crate) dispatches: u64,
    /// Coordinators that were killed.
    pub(crate) kills: u32,
}

impl Gaps {
    /// A task is dispatched, and some are left or not.
    pub(crate) fn dispatched(&mut self, now: Instant, is_left: bool) {
        let gap = self.since.map_or(Duration::ZERO, |since| now.saturating_since(since));
        self.longest = self.longest.max(gap);
        self.since = is_left.then_some(now);
        self.dispatches += 1;
    }
}
