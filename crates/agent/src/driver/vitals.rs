//! Is the agent healthy, and when did it first know all members?
//!
//! Both follow from the loop's events; checking costs a walk over the members, so it is done a few
//! times per unit, in a large cluster less often, and not at all while there are no more members
//! than have been seen in full.

use std::time::Duration;

use tidings_gossip::{Instant, Node};

/// How many intervals the round may lag before the agent counts as unhealthy.
const LAG_INTERVALS: u32 = 3;

/// Checks for the full view in each unit of time, while the cluster is small.
const LOOKS_PER_UNIT: u32 = 16;

/// Members for which a check costs as little as for none.
const SMALL_CLUSTER: u32 = 512;

/// The agent's health.
#[derive(Debug)]
pub(super) struct Vitals {
    interval: Duration,
    last_round: Option<Instant>,
    lateness: Duration,
    next_look: Instant,
    full_view: Option<(u32, Instant)>,
}

impl Vitals {
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval,
            last_round: None,
            lateness: Duration::ZERO,
            next_look: Instant::EPOCH,
            full_view: None,
        }
    }

    /// Records that a round was made at `now`, `lateness` after it was due.
    pub(super) fn round(&mut self, now: Instant, lateness: Duration) {
        self.last_round = Some(now);
        self.lateness = lateness;
    }

    /// Checks whether all members are known, if it is time to.
    pub(super) fn look(&mut self, now: Instant, node: &Node) {
        if now < self.next_look || node.members() <= self.largest_view() {
            return;
        }
        let ages = node.ages(now);
        self.note(now, ages.members, ages.known);
        let pause = self.interval / LOOKS_PER_UNIT;
        self.next_look = now + pause * (1 + ages.members / SMALL_CLUSTER);
    }

    /// A full view counts when it is of more members than any before.
    fn note(&mut self, now: Instant, members: u32, known: u32) {
        if known >= members && members > self.largest_view() {
            self.full_view = Some((members, now));
        }
    }

    /// Members of the largest view seen in full; a node alone sees itself.
    fn largest_view(&self) -> u32 {
        self.full_view.map_or(1, |(members, _)| members)
    }

    /// Seconds from the start to the first full view of the largest membership seen in full.
    pub(super) fn first_full_view_s(&self) -> Option<f64> {
        self.full_view.map(|(_, at)| at.as_micros() as f64 / 1e6)
    }

    /// Whether the agent does its work, or what is wrong.
    pub(super) fn health(&self, now: Instant) -> Result<(), String> {
        let Some(last) = self.last_round else {
            return Err("no round has been sent yet".to_owned());
        };
        let most = self.interval * LAG_INTERVALS;
        let silence = now.saturating_since(last);
        if silence > most + self.interval {
            return Err(format!(
                "the last round was sent {} ms ago, with an interval of {} ms",
                silence.as_millis(),
                self.interval.as_millis()
            ));
        }
        if self.lateness > most {
            return Err(format!(
                "the last round was sent {} ms late, with an interval of {} ms",
                self.lateness.as_millis(),
                self.interval.as_millis()
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Instant {
        Instant::from_micros(ms * 1000)
    }

    #[test]
    fn an_agent_is_healthy_while_its_rounds_come_in_time() {
        let mut vitals = Vitals::new(Duration::from_millis(100));
        assert_eq!(vitals.health(at(5)), Err("no round has been sent yet".to_owned()));
        vitals.round(at(50), Duration::ZERO);
        assert_eq!(vitals.health(at(60)), Ok(()));
        assert_eq!(vitals.health(at(450)), Ok(()));
        let ill = "the last round was sent 401 ms ago, with an interval of 100 ms";
        assert_eq!(vitals.health(at(451)), Err(ill.to_owned()));
        vitals.round(at(500), Duration::from_millis(350));
        let ill = "the last round was sent 350 ms late, with an interval of 100 ms";
        assert_eq!(vitals.health(at(501)), Err(ill.to_owned()));
        vitals.round(at(600), Duration::ZERO);
        assert_eq!(vitals.health(at(601)), Ok(()));
    }

    #[test]
    fn the_full_view_is_of_the_largest_membership() {
        let mut vitals = Vitals::new(Duration::from_millis(100));
        vitals.note(at(1), 1, 1);
        assert_eq!(vitals.first_full_view_s(), None, "alone is not a view");
        vitals.note(at(100), 2, 2);
        vitals.note(at(200), 5, 3);
        vitals.note(at(300), 5, 5);
        vitals.note(at(400), 5, 5);
        assert_eq!(vitals.first_full_view_s(), Some(0.3));
        vitals.note(at(500), 3, 3);
        vitals.note(at(600), 5, 5);
        assert_eq!(vitals.first_full_view_s(), Some(0.3), "seen before");
    }
}
