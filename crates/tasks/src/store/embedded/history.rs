//! What has changed since the file was opened, for watchers.
//!
//! It is kept in memory only: watchers do not survive the process that holds the store, and those
//! of the next read the keys first. It is bounded by count and bytes; what is older is forgotten,
//! and watchers that needed it are told so.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tidings_tasks_core::ledger::Compacted;
use tidings_tasks_core::transaction::{Event, Revision};

use crate::store::follow::History;

/// Changes that are held, at most, and the bytes of their keys and values.
const MAX_EVENTS: usize = 1 << 18;
const MAX_BYTES: usize = 32 << 20;
/// About how many changes a watcher gets at once.
const BATCH_EVENTS: usize = 1_024;

/// The changes of late.
#[derive(Debug)]
pub(super) struct Recent(Mutex<Held>);

#[derive(Debug)]
struct Held {
    events: VecDeque<Event>,
    bytes: usize,
    revision: Revision,
    compacted: Revision,
}

impl Recent {
    /// Nothing has changed after this revision.
    pub(super) fn since(revision: Revision) -> Self {
        let events = VecDeque::new();
        Self(Mutex::new(Held { events, bytes: 0, revision, compacted: revision }))
    }

    /// The changes up to `revision` are all there.
    pub(super) fn extend(&self, events: Vec<Event>, revision: Revision) {
        let mut held = self.lock();
        held.bytes += events.iter().map(Event::bytes).sum::<usize>();
        held.events.extend(events);
        held.revision = revision;
        while held.events.len() > MAX_EVENTS || held.bytes > MAX_BYTES {
            let Some(oldest) = held.events.front().map(|event| event.revision) else { return };
            held.compact(oldest);
        }
    }

    /// Changes up to here are not known.
    pub(super) fn restart(&self, revision: Revision) {
        let mut held = self.lock();
        held.revision = revision;
        held.compact(revision);
    }

    /// Forgets the changes up to and including `before`.
    pub(super) fn compact(&self, before: Revision) {
        self.lock().compact(before);
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn compact(&mut self, before: Revision) {
        self.compacted = self.compacted.max(before.min(self.revision));
        let gone = self.events.partition_point(|event| event.revision <= self.compacted);
        self.bytes -= self.events.drain(..gone).map(|event| event.bytes()).sum::<usize>();
    }
}

impl History for Recent {
    fn changes(&self, prefix: &[u8], after: Revision) -> Result<(Vec<Event>, Revision), Compacted> {
        let held = self.lock();
        if after < held.compacted {
            return Err(Compacted(held.compacted));
        }
        let first = held.events.partition_point(|event| event.revision <= after);
        let mut events: Vec<Event> = Vec::new();
        for event in held.events.range(first..) {
            let whole = events.last().is_none_or(|last| last.revision < event.revision);
            if events.len() >= BATCH_EVENTS && whole {
                let seen = events.last().map_or(after, |last| last.revision);
                return Ok((events, seen));
            }
            if event.key.as_bytes().starts_with(prefix) {
                events.push(event.clone());
            }
        }
        Ok((events, held.revision))
    }
}

#[cfg(test)]
mod tests {
    use tidings_tasks_core::transaction::Key;

    use super::*;

    fn event(revision: u64, bytes: usize) -> Event {
        let key = Key::new(*b"key").unwrap();
        Event { key, value: Some(vec![0; bytes].into()), revision: Revision(revision) }
    }

    #[test]
    fn it_is_bounded_and_says_what_it_forgot() {
        let recent = Recent::since(Revision(10));
        assert_eq!(recent.changes(b"", Revision(9)), Err(Compacted(Revision(10))));
        for revision in 11..=50 {
            recent.extend(vec![event(revision, 1 << 20)], Revision(revision));
        }
        let Err(Compacted(until)) = recent.changes(b"", Revision(10)) else { panic!("too much") };
        let (events, seen) = recent.changes(b"", until).unwrap();
        assert_eq!((events.len() as u64, seen), (50 - until.0, Revision(50)));
        assert!((25..=32).contains(&events.len()), "{}", events.len());
    }

    #[test]
    fn a_batch_ends_between_revisions() {
        let recent = Recent::since(Revision(0));
        for revision in 1..=3 {
            recent.extend(vec![event(revision, 0); 1_000], Revision(revision));
        }
        let (events, seen) = recent.changes(b"k", Revision(0)).unwrap();
        assert_eq!((events.len(), seen), (2_000, Revision(2)));
        let (events, seen) = recent.changes(b"k", seen).unwrap();
        assert_eq!((events.len(), seen), (1_000, Revision(3)));
        assert_eq!(recent.changes(b"other", Revision(0)), Ok((vec![], Revision(3))));
    }
}
