//! Compaction: old history is given back, so that etcd stays as fast as it began.
//!
//! etcd keeps each version of each key until somebody compacts. Version 3.4, left alone, slowed
//! from 1,143 to 83 commits a second. But a compaction looks at every key that there is, not only
//! at those that were written since the last one: of a million keys it took 4 s of a processor, in
//! each server (0.5 s of a quarter of them; etcd 3.4). So, as a collector of garbage, it waits
//! until enough was written since, compared with what the etcd holds: what a write costs by
//! compactions depends no more on the number of keys, and what is given up takes no more than half
//! of the space of what is kept.
//!
//! Whoever commits sees the revisions pass by. All before the moment of the last compaction is
//! given up. So history reaches back by one such distance at least, and watchers that are not very
//! slow find what they need. The history is that of the whole etcd, also where other stores lie in
//! it; they lose no values by it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidings_tasks_core::transaction::{Revision, Transaction};
use tokio::time::Instant;

/// Revisions between two compactions, at least.
const REVISIONS: u64 = 10_000;

/// The time between two compactions, where there are fewer revisions.
const TIME: Duration = Duration::from_secs(60);

/// Revisions after which it is time however little was written: the versions of one key are a list.
const MOST_REVISIONS: u64 = 10 * REVISIONS;

/// What was written since the last one, as a share of what the etcd holds: one of so many parts.
const SHARE: u64 = 2;

/// However much it holds, after so many bytes it is time: there are disks with quotas.
const MOST_BYTES: u64 = 256 << 20;

/// What a key takes beside itself and its value, about.
const KEY_BYTES: usize = 100;

/// When, and where, the last one was asked for, and what was written since.
#[derive(Default)]
pub(super) struct Compaction(Mutex<State>);

#[derive(Default)]
struct State {
    last: Option<(Instant, Revision)>,
    written_bytes: u64,
    /// What is to be written before the next; nothing as long as nobody knows what the etcd holds.
    needed_bytes: u64,
}

impl Compaction {
    /// A commit of so many bytes had this revision. Returns up to where history can be given up
    /// now, if it is time.
    pub(super) fn committed(
        &self,
        revision: Revision,
        bytes: u64,
        now: Instant,
    ) -> Option<Revision> {
        let mut state = self.state();
        state.written_bytes = state.written_bytes.saturating_add(bytes);
        let (at, before) = *state.last.get_or_insert((now, revision));
        let revisions = revision.0.saturating_sub(before.0);
        let is_long = revisions >= REVISIONS || now.duration_since(at) >= TIME;
        let is_much = state.written_bytes >= state.needed_bytes || revisions >= MOST_REVISIONS;
        if !(is_long && is_much) {
            return None;
        }
        (state.last, state.written_bytes) = (Some((now, revision)), 0);
        (revision > before).then_some(before)
    }

    /// So many bytes the etcd holds.
    pub(super) fn holds(&self, bytes: u64) {
        self.state().needed_bytes = (bytes / SHARE).min(MOST_BYTES);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// About how many bytes of history a transaction makes.
pub(super) fn bytes_of(transaction: &Transaction) -> u64 {
    (transaction.bytes() + KEY_BYTES * transaction.writes.len()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_reaches_back_to_the_last_compaction() {
        let (compaction, begin) = (Compaction::default(), Instant::now());
        let committed = |revision, now| compaction.committed(Revision(revision), 1, now);
        assert_eq!(committed(7, begin), None);
        assert_eq!(committed(10_006, begin), None);
        assert_eq!(committed(10_007, begin), Some(Revision(7)));
        assert_eq!(committed(10_009, begin + TIME / 2), None);
        assert_eq!(committed(10_010, begin + TIME), Some(Revision(10_007)));
        // Answers may come in another order than commits.
        assert_eq!(committed(10_008, begin + TIME), None);
    }

    /// Each looked at a million records of tasks that had ended, however few were written: a fifth
    /// of the rate was lost.
    #[test]
    fn the_more_is_held_the_more_is_written_between_two() {
        let (compaction, now) = (Compaction::default(), Instant::now());
        let mut revisions = 1..;
        let mut compactions = |bytes| {
            let each = revisions.by_ref().take(90_000).map(Revision);
            each.filter(|revision| compaction.committed(*revision, bytes, now).is_some()).count()
        };
        assert_eq!(compactions(0), 8, "nobody knows yet");
        compaction.holds(100 << 20);
        assert_eq!(compactions(1_000), 1, "90 MB were written, and 50 MiB are needed");
        compaction.holds(u64::MAX);
        assert_eq!(compactions(10_000), 3, "900 MB were written, and 256 MiB are needed");
        assert_eq!(compactions(0), 1, "by the revisions alone");
    }

    #[test]
    fn where_little_is_written_time_alone_is_no_reason() {
        let (compaction, begin) = (Compaction::default(), Instant::now());
        compaction.holds(1 << 30);
        assert_eq!(compaction.committed(Revision(1), 1_000, begin), None);
        assert_eq!(compaction.committed(Revision(2), 1_000, begin + 10 * TIME), None);
        assert_eq!(
            compaction.committed(Revision(3), 1 << 29, begin + 11 * TIME),
            Some(Revision(1))
        );
    }
}
