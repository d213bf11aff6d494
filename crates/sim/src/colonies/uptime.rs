//! Who is up when: outages of all nodes, drawn before the run.
//!
//! Crashes come at random moments and affect random nodes; each is followed by a start, after a
//! fixed time. A crash that affects a node that is down changes nothing.

use core::fmt;

use super::scenario::ColoniesScenario;
use crate::chance::{Purpose, stream};
use crate::row::{START, UNIT};

/// One node is down from a tick until another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Outage {
    /// Which node, among all.
    pub node: u32,
    /// The tick of the crash.
    pub down: i64,
    /// The tick of the start.
    pub up: i64,
}

/// All outages of a run, by node, then by time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Uptime {
    outages: Vec<Outage>,
}

impl Uptime {
    /// Draws the outages of a scenario.
    pub(super) fn draw(scenario: &ColoniesScenario) -> Self {
        let mut chance = stream(scenario.seed, Purpose::Faults);
        let mut outages = Vec::new();
        let (rate, end) = (scenario.crashes_per_unit(), f64::from(scenario.all_units()));
        let ticks = |units: f64| (units * UNIT as f64) as i64;
        if rate > 0.0 {
            let mut now = chance.exponential(1.0 / rate);
            while now < end {
                let node = chance.below(scenario.nodes as usize) as u32;
                let down = START + ticks(now);
                outages.push(Outage { node, down, up: down + ticks(scenario.down_units) });
                now += chance.exponential(1.0 / rate);
            }
        }
        Self::of(outages)
    }

    /// These outages; of those of one node that overlap, the first.
    fn of(mut outages: Vec<Outage>) -> Self {
        outages.sort_unstable();
        outages.dedup_by(|later, kept| later.node == kept.node && later.down <= kept.up);
        Self { outages }
    }

    /// The outages of a range of nodes, by node, then by time.
    pub fn of_nodes(&self, nodes: core::ops::Range<usize>) -> &[Outage] {
        let at = |node: usize| self.outages.partition_point(|outage| (outage.node as usize) < node);
        &self.outages[at(nodes.start)..at(nodes.end)]
    }

    /// Whether a node is up at a tick.
    pub fn is_up(&self, node: usize, now: i64) -> bool {
        let outages = self.of_nodes(node..node + 1);
        !outages.iter().any(|outage| (outage.down..outage.up).contains(&now))
    }

    /// Whether a node was up at some moment of the last `ticks`: another may not have noticed yet
    /// that it is down.
    pub fn was_up(&self, node: usize, now: i64, ticks: i64) -> bool {
        let outages = self.of_nodes(node..node + 1);
        !outages.iter().any(|outage| outage.down <= now - ticks && now < outage.up)
    }

    /// All of them.
    pub fn outages(&self) -> &[Outage] {
        &self.outages
    }
}

impl fmt::Display for Uptime {
    /// One line an outage, with its time in units from the start.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = |tick: i64| (tick - START) as f64 / UNIT as f64;
        for Outage { node, down, up } in &self.outages {
            writeln!(f, "node {node} is down from {:.3} to {:.3}", units(*down), units(*up))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outages_of_a_node_do_not_overlap_and_bound_its_uptime() {
        let outage = |node, down, up| Outage { node, down, up };
        let uptime = Uptime::of(vec![
            outage(7, 50, 60),
            outage(7, 10, 20),
            outage(3, 5, 9),
            outage(7, 15, 25),
        ]);
        assert_eq!(uptime.outages(), [outage(3, 5, 9), outage(7, 10, 20), outage(7, 50, 60)]);
        let up = |now| uptime.is_up(7, now);
        assert_eq!([9, 10, 19, 20, 55].map(up), [true, false, false, true, false]);
        assert!(uptime.was_up(7, 15, 6) && !uptime.was_up(7, 15, 5) && uptime.is_up(8, 15));
        assert_eq!(uptime.of_nodes(4..8).len(), 2);
        assert_eq!(uptime.to_string().lines().count(), 3);
    }

    /// 10,000 nodes, 6 % a minute, 256 ms: 2.56 crashes a unit, 282 in 110 units; standard
    /// deviation 17, the bounds are six of them away.
    #[test]
    fn so_many_crash_as_the_scenario_says() {
        let scenario =
            ColoniesScenario { churn_percent_per_minute: 6.0, ..ColoniesScenario::default() };
        let crashes = Uptime::draw(&scenario).outages().len();
        assert!((180..384).contains(&crashes), "{crashes}");
        assert_eq!(Uptime::draw(&ColoniesScenario::default()), Uptime::default());
    }
}
