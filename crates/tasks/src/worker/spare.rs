//! Spares: a process of a runtime that waits for a slot, so that one that is lost is replaced at
//! once.
//!
//! A process takes a while until it takes calls, Python a third of a second with what it imports.
//! For so long a slot did nothing whose process was killed. So a worker has one process more of a
//! runtime than its slots, which has read its program and waits. A slot that needs a process takes
//! it, and tells it that it has a slot now ([`ToRuntime::Slot`]); then another one is started.
//!
//! Invariants: there is at most one for each runtime, of runtimes only that say that they can wait
//! ([`FromRuntime::Ready`]). None is started in a worker that has just begun, so that a few short
//! calls never pay for one, nor where the host has little memory left ([`LEAST_BYTES`]). One that
//! waits wakes nobody, and has no slot, no task and no code of a task.
//!
//! [`FromRuntime::Ready`]: crate::runtime::FromRuntime::Ready

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::runtime::ToRuntime;

use super::kept::Kept;

/// The memory that a host has left at least where one is started: some twenty times what a process
/// of Python takes.
pub(super) const LEAST_BYTES: u64 = 512 << 20;

/// How long none is tried again after one could not be started, or memory was short.
const AGAIN: Duration = Duration::from_secs(30);

/// The processes that wait, by the names of their runtimes.
#[derive(Debug)]
pub(super) struct Spares {
    /// How long after the first process of a runtime its spare one is started; none: never.
    after: Option<Duration>,
    places: Mutex<BTreeMap<String, Place>>,
}

/// The place of a runtime's one.
#[derive(Debug)]
enum Place {
    /// None is there, and none is started before this.
    Empty(Instant),
    /// Somebody starts one.
    Starting,
    Waiting(Box<Kept>),
}

impl Spares {
    pub(super) fn new(after: Option<Duration>) -> Self {
        Self { after, places: Mutex::default() }
    }

    /// A process of this runtime has said that it can wait.
    pub(super) fn can_wait(&self, runtime: &str, now: Instant) {
        let Some(at) = self.after.and_then(|after| now.checked_add(after)) else { return };
        self.places().entry(runtime.to_owned()).or_insert(Place::Empty(at));
    }

    /// Whether one is to be started now: earlier where a process has just got nothing to do, so
    /// that its start is in nobody's way. Whoever is told so puts it, or that there is none.
    pub(super) fn is_due(&self, runtime: &str, now: Instant, is_idle: bool) -> bool {
        let soon = if is_idle { now + self.after.unwrap_or_default() / 2 } else { now };
        match self.places().get_mut(runtime) {
            Some(place @ Place::Empty(_)) => {
                let is_due = matches!(place, Place::Empty(at) if *at <= soon);
                if is_due {
                    *place = Place::Starting;
                }
                is_due
            }
            Some(Place::Starting | Place::Waiting(_)) | None => false,
        }
    }

    /// The one that was due; none if there can be none now.
    pub(super) fn put(&self, runtime: &str, kept: Option<Kept>, now: Instant) {
        let again = || Place::Empty(now + AGAIN);
        let place = kept.map_or_else(again, |kept| Place::Waiting(kept.into()));
        self.places().insert(runtime.to_owned(), place);
    }

    /// The one that waits, if it is there and lives: it has this slot now, and is told so.
    pub(super) fn take(&self, runtime: &str, slot: u32, now: Instant) -> Option<Kept> {
        let mut kept = {
            let mut places = self.places();
            let place = places.get_mut(runtime)?;
            match mem::replace(place, Place::Empty(now)) {
                Place::Waiting(kept) => kept,
                other => {
                    *place = other;
                    return None;
                }
            }
        };
        // It may have been killed while it waited.
        (kept.is_alive() && kept.link.say(&ToRuntime::Slot { slot }).is_ok()).then_some(*kept)
    }

    /// Ends all that wait.
    pub(super) fn end(&self) {
        self.places().clear();
    }

    fn places(&self) -> MutexGuard<'_, BTreeMap<String, Place>> {
        // Each change of it is one call, so it is whole even if a holder panicked.
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_due_a_while_after_a_process_that_can_wait() {
        let (now, after) = (Instant::now(), Duration::from_secs(2));
        let spares = Spares::new(Some(after));
        assert!(!spares.is_due("python", now + 2 * after, true), "none has said that it can wait");
        spares.can_wait("python", now);
        spares.can_wait("python", now + after);
        assert!(!spares.is_due("python", now, true));
        assert!(!spares.is_due("python", now + after / 2, false));
        assert!(spares.is_due("python", now + after / 2, true));
        assert!(!spares.is_due("python", now + after, false), "somebody starts it");
        assert!(spares.take("python", 0, now).is_none());
    }

    #[test]
    fn where_none_can_be_started_it_is_tried_later() {
        let now = Instant::now();
        let spares = Spares::new(Some(Duration::ZERO));
        spares.can_wait("python", now);
        assert!(spares.is_due("python", now, false));
        spares.put("python", None, now);
        assert!(!spares.is_due("python", now + AGAIN / 2, true));
        assert!(spares.is_due("python", now + AGAIN, false));
    }

    #[test]
    fn without_a_time_there_is_none() {
        let (now, spares) = (Instant::now(), Spares::new(None));
        spares.can_wait("python", now);
        assert!(!spares.is_due("python", now + Duration::from_secs(3_600), true));
    }
}
