//! The plan: which nodes fail when, drawn from the faults of a scenario before the run begins.
//!
//! It can be printed: a list of actions, each at its time.

use core::fmt;

use crate::chance::{Chance, Purpose, stream};
use crate::clock::Clock;
use crate::fault::Fault;
use crate::scenario::Scenario;

/// One step of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// This node ends.
    Crash(u32),
    /// This node restarts, if it is down.
    Restart(u32),
    /// This node pauses.
    Pause(u32),
    /// This node goes on.
    Resume(u32),
    /// The partition with this number begins.
    Cut(u32),
    /// It ends.
    Heal(u32),
    /// The cluster has this many members from now on.
    Grow(u32),
}

/// Which nodes a partition cuts off.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// The nodes cut off, ascending.
    pub nodes: Vec<u32>,
    /// Whether they still hear the others.
    pub one_way: bool,
}

/// Everything that was drawn before the run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// Each node's clock.
    pub clocks: Vec<Clock>,
    /// What happens when, in microseconds of true time, ascending.
    pub actions: Vec<(i64, Action)>,
    /// The partitions that actions speak of.
    pub partitions: Vec<Partition>,
}

impl Plan {
    /// Draws clocks and faults of a checked scenario.
    pub fn draw(scenario: &Scenario) -> Self {
        let mut plan = Self { clocks: draw_clocks(scenario), ..Self::default() };
        let mut chance = stream(scenario.seed, Purpose::Faults);
        let all = scenario.cluster.nodes as usize;
        for fault in &scenario.faults {
            let affected = fault.nodes().map_or(0, |nodes| nodes.entries(all));
            let affected = chance.sample(affected, all).into_iter().map(|n| n as u32).collect();
            plan.add(scenario, fault, affected, &mut chance);
            if let Fault::Pause { at, units, nodes, every: Some(every) } = *fault {
                let again = (1..).map(|turn| at + every * f64::from(turn));
                for at in again.take_while(|&at| at < f64::from(scenario.all_units())) {
                    let affected = chance.sample(nodes.entries(all), all).into_iter();
                    let affected = affected.map(|n| n as u32).collect();
                    let fault = Fault::Pause { at, units, nodes, every: None };
                    plan.add(scenario, &fault, affected, &mut chance);
                }
            }
        }
        plan.actions.sort_by_key(|&(micros, _)| micros);
        plan
    }

    /// How often a node ends.
    pub(crate) fn crashes(&self) -> usize {
        self.actions.iter().filter(|(_, action)| matches!(action, Action::Crash(_))).count()
    }

    fn add(&mut self, scenario: &Scenario, fault: &Fault, nodes: Vec<u32>, chance: &mut Chance) {
        let unit = scenario.cluster.interval.as_micros() as f64;
        let micros = |units: f64| (units * unit) as i64;
        match *fault {
            Fault::Crash { at, restart_after, .. } => {
                for node in nodes {
                    self.actions.push((micros(at), Action::Crash(node)));
                    if let Some(after) = restart_after {
                        self.actions.push((micros(at + after), Action::Restart(node)));
                    }
                }
            }
            Fault::Pause { at, units, .. } => {
                for node in nodes {
                    self.actions.push((micros(at), Action::Pause(node)));
                    self.actions.push((micros(at + units), Action::Resume(node)));
                }
            }
            Fault::Partition { at, units, one_way, .. } => {
                let number = self.partitions.len() as u32;
                self.partitions.push(Partition { nodes, one_way });
                self.actions.push((micros(at), Action::Cut(number)));
                self.actions.push((micros(at + units), Action::Heal(number)));
            }
            Fault::Grow { at, .. } => {
                let members = scenario.members_at(at);
                self.actions.push((micros(at), Action::Grow(members)));
            }
            Fault::Churn { at, units, crashes_per_unit, down_units } => {
                let end = (at + units).min(f64::from(scenario.all_units()));
                let mut now = at + chance.exponential(1.0 / crashes_per_unit);
                while now < end {
                    let node = chance.below(scenario.cluster.nodes as usize) as u32;
                    self.actions.push((micros(now), Action::Crash(node)));
                    self.actions.push((micros(now + down_units), Action::Restart(node)));
                    now += chance.exponential(1.0 / crashes_per_unit);
                }
            }
        }
    }
}

fn draw_clocks(scenario: &Scenario) -> Vec<Clock> {
    let mut chance = stream(scenario.seed, Purpose::Clocks);
    let offset = scenario.clocks.offset.as_micros() as f64;
    let drift = scenario.clocks.drift_ppm * 1_000.0;
    (0..scenario.cluster.nodes)
        .map(|_| Clock {
            offset_micros: chance.either_side(offset) as i64,
            drift_ppb: chance.either_side(drift) as i64,
        })
        .collect()
}

impl fmt::Display for Plan {
    /// One line for each clock that is wrong, each partition and each action.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (node, clock) in self.clocks.iter().enumerate() {
            if *clock != Clock::default() {
                let Clock { offset_micros, drift_ppb } = clock;
                writeln!(f, "clock of node {node}: offset {offset_micros} us, {drift_ppb} ppb")?;
            }
        }
        for (number, Partition { nodes, one_way }) in self.partitions.iter().enumerate() {
            let ways = if *one_way { "one-way" } else { "two-way" };
            writeln!(f, "partition {number} ({ways}) cuts off nodes {nodes:?}")?;
        }
        for (micros, action) in &self.actions {
            writeln!(f, "at {micros} us: {action}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crash(node) => write!(f, "crash of node {node}"),
            Self::Restart(node) => write!(f, "restart of node {node}"),
            Self::Pause(node) => write!(f, "pause of node {node}"),
            Self::Resume(node) => write!(f, "node {node} goes on"),
            Self::Cut(partition) => write!(f, "partition {partition} begins"),
            Self::Heal(partition) => write!(f, "partition {partition} ends"),
            Self::Grow(members) => write!(f, "the cluster grows to {members} nodes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAULTS: &str = "
        [cluster]
        nodes = 50
        [clocks]
        offset = \"100ms\"
        [[fault]]
        kind = \"crash\"
        at = 20
        nodes = \"10%\"
        restart_after = 5
        [[fault]]
        kind = \"churn\"
        at = 30
        units = 100
        crashes_per_unit = 2.0
        down_units = 3
        [[fault]]
        kind = \"partition\"
        at = 10
        units = 5
        nodes = \"25\"
        one_way = true
    ";

    fn plan(seed: u64) -> Plan {
        let mut scenario = Scenario::parse(FAULTS).expect("a scenario");
        scenario.seed = seed;
        scenario.check().expect("possible");
        Plan::draw(&scenario)
    }

    #[test]
    fn a_plan_is_drawn_from_the_seed_alone_and_in_the_order_of_time() {
        assert_eq!(plan(1), plan(1));
        assert_ne!(plan(1), plan(2));
        let plan = plan(1);
        assert!(plan.actions.is_sorted_by_key(|&(micros, _)| micros));
        assert_eq!(plan.partitions[0].nodes.len(), 25);
        assert_eq!(plan.actions[0], (2_560_000, Action::Cut(0)));
        // 200 crashes on average, standard deviation 14: 100 is seven of them away.
        let crashes = plan.actions.iter().filter(|(_, a)| matches!(a, Action::Crash(_))).count();
        assert!((100..300).contains(&crashes), "{crashes} crashes");
        assert_eq!(plan.to_string().lines().count(), 50 + 1 + plan.actions.len());
    }

    #[test]
    fn impossible_faults_are_refused_with_their_number() {
        for (text, part) in [
            ("kind = \"crash\"\nat = 500\nnodes = \"1\"", "fault 1: at is 500"),
            ("kind = \"crash\"\nat = 5\nnodes = \"129\"", "fault 1: nodes is 129"),
            ("kind = \"pause\"\nat = 5\nnodes = \"1\"\nunits = -2", "fault 1: units is -2"),
            (
                "kind = \"churn\"\nat = 5\nunits = 9\ncrashes_per_unit = 0\ndown_units = 1",
                "crashes_per_unit is 0",
            ),
        ] {
            let scenario = Scenario::parse(&format!("[[fault]]\n{text}")).expect("well formed");
            let message = scenario.check().expect_err("impossible").to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
