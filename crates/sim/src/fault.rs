//! Faults: what befalls nodes and the paths between them, and the plan drawn from it.
//!
//! A scenario says how many nodes and when; chance says which. All of it is drawn before the run
//! begins, into a [`Plan`] that can be printed: a list of actions, each at its time.

use core::fmt;

use serde::{Deserialize, Serialize};
use tidings_gossip::Window;

use crate::chance::{Chance, Purpose};
use crate::clock::Clock;
use crate::scenario::{Scenario, ScenarioError, require};
use crate::text;

/// The most actions that churn may lead to.
const MAX_ACTIONS: f64 = 1e6;

/// Something that happens to nodes. Times are in units of time from the run's start; `nodes` is a
/// number or a share of them, drawn at random.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Fault {
    /// Nodes end without a word, all at once.
    Crash {
        /// When.
        at: f64,
        /// How many.
        #[serde(with = "text")]
        nodes: Window,
        /// Units until they start anew, empty and with a higher incarnation; never, if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restart_after: Option<f64>,
    },
    /// Nodes stand still, all at once, and go on with what they knew.
    Pause {
        /// When.
        at: f64,
        /// For how long.
        units: f64,
        /// How many.
        #[serde(with = "text")]
        nodes: Window,
        /// Others, drawn anew, do so every so many units after; never again, if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        every: Option<f64>,
    },
    /// Nothing passes between some nodes and the rest.
    Partition {
        /// When.
        at: f64,
        /// For how long.
        units: f64,
        /// How many nodes are cut off.
        #[serde(with = "text")]
        nodes: Window,
        /// Only what the cut-off nodes send is lost; they hear the others.
        #[serde(default)]
        one_way: bool,
    },
    /// Nodes crash one by one, at random moments, and start anew.
    Churn {
        /// From when on.
        at: f64,
        /// For how long.
        units: f64,
        /// How many crash in a unit, on average.
        crashes_per_unit: f64,
        /// Units until one that crashed starts anew.
        down_units: f64,
    },
    /// Not a fault but a change: the last nodes of the cluster are no members before. Then they
    /// start, and all nodes are told the longer roster.
    Grow {
        /// When.
        at: f64,
        /// How many come.
        #[serde(with = "text")]
        nodes: Window,
    },
}

/// One step of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// This node ends.
    Crash(u32),
    /// This node starts anew, if it is down.
    Restart(u32),
    /// This node stands still.
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

impl Fault {
    /// Checks the values; `place` says where the fault stands, `end` when the run ends.
    pub(crate) fn check(&self, place: &str, nodes: u32, end: f64) -> Result<(), ScenarioError> {
        let during = |name: &str, given: f64, ok: bool, range: String| {
            require(ok, &format!("{place}: {name}"), given, range)
        };
        let (Self::Crash { at, .. }
        | Self::Pause { at, .. }
        | Self::Partition { at, .. }
        | Self::Churn { at, .. }
        | Self::Grow { at, .. }) = *self;
        during("at", at, (0.0..end).contains(&at), format!("0 to {end}, the run's end"))?;
        let lasts = |name: &str, units: f64| {
            let ok = units > 0.0 && units <= 1e6;
            during(name, units, ok, "above 0 and up to 1000000 units".into())
        };
        match *self {
            Self::Crash { restart_after: Some(units), .. } => lasts("restart_after", units)?,
            Self::Crash { .. } | Self::Grow { .. } => {}
            Self::Pause { units, every: Some(every), .. } => {
                lasts("units", units)?;
                let least = units.max(end / MAX_ACTIONS);
                during("every", every, every > least, format!("above {least} units"))?;
            }
            Self::Pause { units, .. } | Self::Partition { units, .. } => lasts("units", units)?,
            Self::Churn { units, crashes_per_unit, down_units, .. } => {
                lasts("units", units)?;
                lasts("down_units", down_units)?;
                let most = MAX_ACTIONS / units.min(end);
                let ok = crashes_per_unit > 0.0 && crashes_per_unit <= most;
                let range = format!("above 0 and up to {most}");
                during("crashes_per_unit", crashes_per_unit, ok, range)?;
            }
        }
        match self.nodes().or(self.newcomers()) {
            Some(Window::Entries(some)) => {
                let range = format!("at most {nodes}, the number of nodes");
                require(some <= nodes, &format!("{place}: nodes"), some, range)
            }
            _ => Ok(()),
        }
    }

    /// How many nodes it befalls at once.
    fn nodes(&self) -> Option<Window> {
        match *self {
            Self::Crash { nodes, .. }
            | Self::Pause { nodes, .. }
            | Self::Partition { nodes, .. } => Some(nodes),
            Self::Churn { .. } | Self::Grow { .. } => None,
        }
    }

    /// How many nodes come with it.
    fn newcomers(&self) -> Option<Window> {
        match *self {
            Self::Grow { nodes, .. } => Some(nodes),
            _ => None,
        }
    }
}

impl Plan {
    /// Draws clocks and faults of a checked scenario.
    pub fn draw(scenario: &Scenario) -> Self {
        let mut plan = Self { clocks: draw_clocks(scenario), ..Self::default() };
        let mut chance = Chance::of(scenario.seed, Purpose::Faults);
        let all = scenario.cluster.nodes as usize;
        for fault in &scenario.faults {
            let befallen = fault.nodes().map_or(0, |nodes| nodes.entries(all));
            let befallen = chance.sample(befallen, all).into_iter().map(|n| n as u32).collect();
            plan.add(scenario, fault, befallen, &mut chance);
            if let Fault::Pause { at, units, nodes, every: Some(every) } = *fault {
                let again = (1..).map(|turn| at + every * f64::from(turn));
                for at in again.take_while(|&at| at < f64::from(scenario.all_units())) {
                    let befallen = chance.sample(nodes.entries(all), all).into_iter();
                    let befallen = befallen.map(|n| n as u32).collect();
                    let fault = Fault::Pause { at, units, nodes, every: None };
                    plan.add(scenario, &fault, befallen, &mut chance);
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
    let mut chance = Chance::of(scenario.seed, Purpose::Clocks);
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
