//! Compaction: old history is given back, so that etcd stays as fast as it began.
//!
//! etcd keeps each version of each key until somebody compacts. Version 3.4, left alone, slowed
//! from 1,143 to 83 commits a second. Whoever commits sees the revisions pass by: every so many, or
//! so often, all before the last such moment is given up. So history reaches back by one such
//! distance at least, and watchers that are not very slow find what they need. The history is that
//! of the whole etcd, also where other stores lie in it; they lose no values by it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tidings_tasks_core::transaction::Revision;
use tokio::time::Instant;

/// Revisions between two compactions.
const REVISIONS: u64 = 10_000;

/// The time between two compactions, where there are fewer revisions.
const TIME: Duration = Duration::from_secs(60);

/// When, and where, the last one was asked for.
#[derive(Default)]
pub(super) struct Compaction(Mutex<Option<(Instant, Revision)>>);

impl Compaction {
    /// A commit had this revision. Returns up to where history can be given up now, if it is time.
    pub(super) fn committed(&self, revision: Revision, now: Instant) -> Option<Revision> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, before) = *last.get_or_insert((now, revision));
        let is_due =
            revision.0.saturating_sub(before.0) >= REVISIONS || now.duration_since(at) >= TIME;
        if is_due {
            *last = Some((now, revision));
        }
        (is_due && revision > before).then_some(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_reaches_back_to_the_last_compaction() {
        let (compaction, begin) = (Compaction::default(), Instant::now());
        assert_eq!(compaction.committed(Revision(7), begin), None);
        assert_eq!(compaction.committed(Revision(10_006), begin), None);
        assert_eq!(compaction.committed(Revision(10_007), begin), Some(Revision(7)));
        assert_eq!(compaction.committed(Revision(10_009), begin + TIME / 2), None);
        assert_eq!(compaction.committed(Revision(10_010), begin + TIME), Some(Revision(10_007)));
        // Answers may come in another order than commits.
        assert_eq!(compaction.committed(Revision(10_008), begin + TIME), None);
    }
}
