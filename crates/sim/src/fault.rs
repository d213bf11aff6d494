//! Faults: what affects nodes and the paths between them, as a scenario says it.
//!
//! A scenario says how many nodes and when; chance says which (`plan.rs`).

use serde::{Deserialize, Serialize};
use tidings_gossip::Window;

use crate::scenario::error::{ScenarioError, require};
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
        /// Units until they restart, empty and with a higher incarnation; never, if omitted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restart_after: Option<f64>,
    },
    /// Nodes pause, all at once, and go on with what they knew.
    Pause {
        /// When.
        at: f64,
        /// For how long.
        units: f64,
        /// How many.
        #[serde(with = "text")]
        nodes: Window,
        /// Others, drawn again, do so at this interval in units after; never again, if omitted.
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
    /// Nodes crash one by one, at random moments, and restart.
    Churn {
        /// From when on.
        at: f64,
        /// For how long.
        units: f64,
        /// How many crash in a unit, on average.
        crashes_per_unit: f64,
        /// Units until one that crashed restarts.
        down_units: f64,
    },
    /// Not a fault but a change: the last nodes of the cluster are no members before. Then they
    /// start, and all nodes receive the longer roster.
    Grow {
        /// When.
        at: f64,
        /// How many come.
        #[serde(with = "text")]
        nodes: Window,
    },
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

    /// How many nodes it affects at once.
    pub(crate) fn nodes(&self) -> Option<Window> {
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
