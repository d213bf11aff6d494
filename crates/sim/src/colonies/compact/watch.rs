//! The watch over a colony: what its members keep to find out who has died, and what came of it.
//!
//! Each member has the core's own [`Detection`], and of each entry the core's [`Silence`]; what a
//! vector and an outbox are to them in a node, rows of births and a list of posts are here.

use core::time::Duration;

use tidings_gossip::Instant;
use tidings_gossip::detector::{Detection, Silence};
use tidings_gossip::urgent::Urgent;

use super::lives::Lives;
use crate::deaths::Obituaries;
use crate::row::{START, UNIT_SHIFT};

/// Ticks as the instants of a node, whose waits are bounded in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    unit_micros: i64,
}

impl Clock {
    pub(super) fn unit(self) -> Duration {
        Duration::from_micros(self.unit_micros as u64)
    }

    /// How long so many ticks are.
    pub(super) fn span(self, ticks: i64) -> Duration {
        Duration::from_micros(((ticks.max(0) * self.unit_micros) >> UNIT_SHIFT) as u64)
    }

    pub(super) fn instant(self, tick: i64) -> Instant {
        Instant::from_micros(((tick - START) * self.unit_micros) >> UNIT_SHIFT)
    }

    /// The first tick that is not before an instant.
    pub(super) fn tick(self, at: Instant) -> i64 {
        START + ((at.as_micros() << UNIT_SHIFT) + self.unit_micros - 1).div_euclid(self.unit_micros)
    }
}

/// What one member keeps.
pub(super) struct Watcher {
    pub(super) detection: Detection,
    /// Whose tombstones go first in its windows.
    pub(super) urgent: Urgent,
    /// Those of them that go along in this round.
    pub(super) first: Vec<usize>,
    /// Deaths that it reports at once: to whom, and whose.
    pub(super) posts: Vec<(usize, usize)>,
    /// Where its looks begin: entries lie in a vector as they were heard first, row by row.
    pub(super) offset: usize,
    /// Members that it holds as dead.
    pub(super) dead: usize,
}

/// A colony's watch.
pub(super) struct Watch {
    pub(super) clock: Clock,
    death_after: Duration,
    pub(super) lives: Lives,
    /// Habits, a row a member.
    pub(super) silences: Vec<Silence>,
    pub(super) watchers: Vec<Watcher>,
    /// Members that may have something to send.
    pub(super) senders: Vec<usize>,
    pub(super) obituaries: Obituaries,
    /// Members suspected, over all members.
    pub(super) suspicions: u64,
    /// Probes sent, for others too.
    pub(super) probes: u64,
}

impl Watch {
    /// Of so many members, none of which has begun yet.
    pub(super) fn of(members: usize, unit: Duration, death_after: Duration) -> Self {
        let clock = Clock { unit_micros: unit.as_micros() as i64 };
        let mut watch = Self {
            clock,
            death_after,
            lives: Lives::of(members),
            silences: vec![Silence::default(); members * members],
            watchers: Vec::with_capacity(members),
            senders: Vec::new(),
            obituaries: Obituaries::default(),
            suspicions: 0,
            probes: 0,
        };
        watch.watchers.extend((0..members).map(|_| watch_of(clock, death_after, START, 0)));
        watch
    }

    /// A member begins a life, and knows nobody's habits; `offset`: where its looks begin.
    pub(super) fn start(&mut self, member: usize, now: i64, offset: usize) {
        let members = self.watchers.len();
        self.silences[member * members..][..members].fill(Silence::default());
        self.lives.begin(member, now);
        self.watchers[member] = watch_of(self.clock, self.death_after, now, offset);
    }

    /// When a member has something to do about a doubt.
    pub(super) fn due(&self, member: usize) -> Option<i64> {
        self.watchers[member].detection.due().map(|at| self.clock.tick(at))
    }

    /// A member has received something of another.
    pub(super) fn hear(&mut self, now: i64, member: usize) {
        self.watchers[member].detection.hear(self.clock.instant(now));
    }

    /// A member has received a window of another that it had not asked for.
    pub(super) fn pushed(&mut self, now: i64, from: usize, to: usize) {
        let at = self.clock.instant(now);
        let detection = &mut self.watchers[to].detection;
        detection.hear(at);
        detection.pushed(id_of(from), at);
    }

    /// Others that a member sends to.
    pub(super) fn targets(&self, member: usize) -> usize {
        self.watchers.len() - 1 - self.watchers[member].dead
    }
}

fn watch_of(clock: Clock, death_after: Duration, now: i64, offset: usize) -> Watcher {
    Watcher {
        detection: Detection::new(clock.instant(now), clock.unit(), Some(death_after)),
        urgent: Urgent::default(),
        first: Vec::new(),
        posts: Vec::new(),
        offset,
        dead: 0,
    }
}

/// A member's id is its place: members stand in the order of ids.
pub(super) fn id_of(member: usize) -> tidings_gossip::NodeId {
    tidings_gossip::NodeId(member as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::UNIT;

    #[test]
    fn who_wakes_at_a_tick_is_not_before_its_instant() {
        let clock = Clock { unit_micros: 256_000 };
        assert_eq!(clock.instant(START + UNIT), Instant::from_micros(256_000));
        assert_eq!(clock.span(UNIT / 4), Duration::from_millis(64));
        for micros in [0, 1, 63_999, 64_000, 255_999, 28_160_001] {
            let at = Instant::from_micros(micros);
            let tick = clock.tick(at);
            assert!(clock.instant(tick) >= at && clock.instant(tick - 1) <= at, "{micros}");
        }
    }
}
