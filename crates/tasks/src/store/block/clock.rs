//! The clock of a store in a block: it ends sessions that nobody keeps.
//!
//! Each process that uses the store has one, and that of the owner is answered. It ends a session
//! by naming how often that was kept as far as it has seen: if it was kept since, or another clock
//! knows better, nothing happens. So two clocks at a time, or one that stood still, cost a call.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tidings_blocks::Ref;
use tidings_blocks::store::{Beat, DistributedStore, Op, Sessions};
use tidings_tasks_core::transaction::Session;

use crate::store::lease::Leases;

/// The longest time that a clock waits for a session to be kept.
const LONGEST_TTL: Duration = Duration::from_secs(30 * 24 * 3_600);

#[derive(Default)]
struct Clock {
    leases: Leases,
    seen: BTreeMap<Session, Beat>,
}

/// Ends sessions in time, as long as this process takes part.
pub(super) async fn run(block: Ref<DistributedStore>) {
    let (mut clock, mut known) = (Clock::default(), None);
    loop {
        let asked = block.sessions(known);
        let due = clock.leases.plan();
        let sessions = match (due, known) {
            // Something new comes, or it is time to look at all.
            (Some(due), Some(_)) => tokio::select! {
                sessions = asked => sessions,
                () = tokio::time::sleep_until(due.into()) => {
                    known = None;
                    continue;
                }
            },
            _ => asked.await,
        };
        let Ok(sessions) = sessions else { return };
        known = Some(sessions.opened);
        for (session, keeps) in clock.look(sessions, Instant::now()) {
            // Whatever comes of it is seen the next time.
            let _ = block.call(Op::Expire(session, keeps)).await;
        }
    }
}

impl Clock {
    /// Takes what there is now; the sessions whose time is over, and how often they were kept.
    fn look(&mut self, now: Sessions, at: Instant) -> Vec<(Session, u64)> {
        for session in self.seen.keys().filter(|session| !now.beats.contains_key(session)) {
            let _ = self.leases.close(*session); // it was there
            self.leases.ended(&[*session]);
        }
        for (&session, beat) in &now.beats {
            match self.seen.get(&session) {
                Some(seen) if seen.keeps == beat.keeps => {}
                Some(_) => drop(self.leases.keep(session, at)), // it was there
                None => self.leases.open(session, ttl(*beat), at),
            }
        }
        self.seen = now.beats;
        self.leases.expire(at);
        let ending = self.leases.ending();
        self.leases.ended(&ending);
        // One that goes on all the same is as one that is new.
        ending
            .iter()
            .filter_map(|session| Some((*session, self.seen.remove(session)?.keeps)))
            .collect()
    }
}

fn ttl(beat: Beat) -> Duration {
    Duration::from_millis(beat.ttl_ms).min(LONGEST_TTL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(all: &[(u64, u64)]) -> Sessions {
        let beat = |keeps| Beat { ttl_ms: 1_000, keeps };
        let beats = all.iter().map(|(session, keeps)| (Session(*session), beat(*keeps))).collect();
        Sessions { opened: 0, beats }
    }

    #[test]
    fn a_session_ends_when_it_was_not_kept_for_its_time() {
        let (mut clock, begin) = (Clock::default(), Instant::now());
        let after = |ms| begin + Duration::from_millis(ms);
        assert!(clock.look(sessions(&[(1, 0), (2, 0)]), begin).is_empty());
        assert!(clock.look(sessions(&[(1, 0), (2, 5), (3, 0)]), after(900)).is_empty());
        assert_eq!(clock.leases.plan(), Some(after(1_000)));
        let ends = clock.look(sessions(&[(1, 0), (2, 5), (3, 0)]), after(1_000));
        assert_eq!(ends, [(Session(1), 0)]);
        // It was kept just then: it has all its time again, as one that is gone has none.
        assert!(clock.look(sessions(&[(1, 1), (2, 5)]), after(1_100)).is_empty());
        assert_eq!(clock.leases.plan(), Some(after(1_900)));
        assert_eq!(clock.look(sessions(&[(1, 1), (2, 5)]), after(1_900)), [(Session(2), 5)]);
    }
}
