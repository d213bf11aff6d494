//! Leases: until when each session lasts if its holder says nothing more.
//!
//! Only the holder of the store measures time here, on its own clock that never goes back. Holders
//! of sessions keep them without waiting for the disk, so a slow disk ends no session. A store that
//! stood still (a stopped process, a frozen machine) could not have heard anybody: when it finds
//! itself late it gives every session its whole time again instead of ending all of them at once.
//!
//! Nothing that must be right rests on this: a session that ends too early or too late costs time,
//! while epochs and attempt numbers within transactions decide what counts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tidings_tasks_core::transaction::Session;

use super::SessionError;

/// How late the store may look at the leases before it takes the delay to be its own.
const LATE: Duration = Duration::from_millis(250);

/// How long one session lasts.
#[derive(Clone, Copy, Debug)]
struct Lease {
    ttl: Duration,
    deadline: Instant,
}

/// The sessions that have not ended.
#[derive(Debug, Default)]
pub(super) struct Leases {
    lasting: BTreeMap<Session, Lease>,
    /// Those that have ended, but whose keys are still there.
    ending: BTreeSet<Session>,
    /// When the store meant to look next.
    planned: Option<Instant>,
}

impl Leases {
    /// A session begins.
    pub(super) fn open(&mut self, session: Session, ttl: Duration, now: Instant) {
        self.lasting.insert(session, Lease { ttl, deadline: now + ttl });
    }

    /// A holder is alive.
    pub(super) fn keep(&mut self, session: Session, now: Instant) -> Result<(), SessionError> {
        let lease = self.lasting.get_mut(&session).ok_or(SessionError::Ended(session))?;
        lease.deadline = now + lease.ttl;
        Ok(())
    }

    /// Whether a session has not ended.
    pub(super) fn lasts(&self, session: Session) -> bool {
        self.lasting.contains_key(&session)
    }

    /// A session ends before its time.
    pub(super) fn close(&mut self, session: Session) -> Result<(), SessionError> {
        self.lasting.remove(&session).ok_or(SessionError::Ended(session))?;
        self.ending.insert(session);
        Ok(())
    }

    /// Moves the sessions whose time is over to those that end.
    pub(super) fn expire(&mut self, now: Instant) {
        let late = self.planned.is_some_and(|planned| now > planned + LATE);
        self.planned = None;
        if late {
            for lease in self.lasting.values_mut() {
                lease.deadline = lease.deadline.max(now + lease.ttl);
            }
        }
        let over = |lease: &Lease| lease.deadline <= now;
        let expired = self.lasting.iter().filter(|(_, lease)| over(lease)).map(|(&id, _)| id);
        self.ending.extend(expired);
        self.lasting.retain(|_, lease| !over(lease));
    }

    /// The sessions that have ended but whose keys are still there.
    pub(super) fn ending(&self) -> Vec<Session> {
        self.ending.iter().copied().collect()
    }

    /// Their keys are gone.
    pub(super) fn ended(&mut self, sessions: &[Session]) {
        for session in sessions {
            self.ending.remove(session);
        }
    }

    /// When the first session ends if nobody keeps it: then the store looks again.
    pub(super) fn plan(&mut self) -> Option<Instant> {
        self.planned = self.lasting.values().map(|lease| lease.deadline).min();
        self.planned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_secs(4);

    fn two(now: Instant) -> Leases {
        let mut leases = Leases::default();
        leases.open(Session(1), TTL, now);
        leases.open(Session(2), TTL, now);
        leases
    }

    #[test]
    fn a_session_ends_unless_it_is_kept() {
        let begin = Instant::now();
        let mut leases = two(begin);
        leases.keep(Session(2), begin + TTL / 2).unwrap();
        assert_eq!(leases.plan(), Some(begin + TTL));
        leases.expire(begin + TTL);
        assert_eq!(leases.ending(), [Session(1)]);
        assert_eq!(leases.keep(Session(1), begin), Err(SessionError::Ended(Session(1))));
        assert_eq!(leases.plan(), Some(begin + TTL / 2 + TTL));
        leases.ended(&[Session(1)]);
        assert!(leases.ending().is_empty() && leases.lasts(Session(2)));
    }

    #[test]
    fn a_store_that_stood_still_ends_no_session_for_it() {
        let begin = Instant::now();
        let mut leases = two(begin);
        let planned = leases.plan().unwrap();
        let woken = planned + Duration::from_secs(10);
        leases.expire(woken);
        assert!(leases.ending().is_empty());
        assert_eq!(leases.plan(), Some(woken + TTL));
        leases.expire(woken + TTL);
        assert_eq!(leases.ending(), [Session(1), Session(2)]);
    }

    #[test]
    fn a_session_is_closed_once() {
        let mut leases = two(Instant::now());
        leases.close(Session(1)).unwrap();
        assert_eq!(leases.close(Session(1)), Err(SessionError::Ended(Session(1))));
        assert_eq!(leases.ending(), [Session(1)]);
    }
}
