//! A scenario: everything a run depends on, as a TOML file or made by the command line.
//!
//! A scenario is checked as a whole before anything is simulated: unknown keys, impossible values
//! and runs that would need more memory than allowed are refused with the place and the remedy.
//! What passes here can be run, and the same scenario always gives the same run.
//!
//! Times of faults and of the run are in units of time from the run's start.

use core::fmt::Display;
use core::time::Duration;

use serde::{Deserialize, Serialize};
use tidings_gossip::dissemination::layout::Budget;
use tidings_gossip::wire::{ENTRY_OVERHEAD_BYTES, OVERHEAD_BYTES};
use tidings_gossip::{AgeTarget, Config, Strategy, Window};

use crate::fault::Fault;
use crate::latency::Latency;
use crate::memory;
use crate::span::Span;
use crate::text;

/// Bytes of the IPv4 and UDP headers of each datagram.
const IP_UDP_BYTES: u32 = 28;
/// The longest run, warm-up included, in units of time: more than a day of 256 ms.
const MAX_UNITS: u32 = 400_000;

/// How nodes are represented.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Every node is a `Node` of the core, with datagrams, clocks and all faults.
    #[default]
    Full,
    /// Every node is a row of births: the same rules at a hundredth of the cost, for what
    /// the rows can express (see [`Scenario::check`]).
    Compact,
}

/// What a run is made of. See the module's documentation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    /// Full or compact.
    pub mode: Mode,
    /// The random seed all chance comes from.
    pub seed: u64,
    /// Units of time that are measured, after the warm-up.
    pub units: u32,
    /// Units of time before the first sample.
    pub warmup_units: u32,
    /// All vectors are read and checked each so many units; reading costs as much as the nodes'
    /// work.
    #[serde(skip_serializing_if = "is_one")]
    pub sample_every: u32,
    /// A run that needs more than this is refused, in MiB.
    pub memory_limit_mib: u64,
    /// The nodes and what they do.
    pub cluster: Cluster,
    /// What lies between them.
    pub network: Network,
    /// How wrong their clocks are.
    pub clocks: Clocks,
    /// What befalls them.
    #[serde(rename = "fault")]
    pub faults: Vec<Fault>,
}

/// The nodes and what they do.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cluster {
    /// How many there are.
    pub nodes: u32,
    /// The unit of time.
    #[serde(with = "text")]
    pub interval: Span,
    /// Entries sent each unit: a number or a share of the nodes.
    #[serde(with = "text")]
    pub window: Window,
    /// The age to keep instead of a window; 0: none.
    #[serde(with = "text", skip_serializing_if = "Span::is_zero")]
    pub age_target: Span,
    /// The share of entries that `age_target` holds for; 0: it holds for their average.
    #[serde(skip_serializing_if = "is_zero")]
    pub age_target_quantile: f64,
    /// To whom they go.
    #[serde(with = "text")]
    pub strategy: Strategy,
    /// Bytes of payload in an entry; at least 8, which carry the entry's birth for the checkers.
    pub payload_bytes: u16,
    /// Whether nodes ask for what they lack, beside the windows.
    pub catch_up: bool,
    /// Time without proof of life after which a node is declared dead; 0: none ever is.
    #[serde(with = "text", skip_serializing_if = "Span::is_zero")]
    pub death_after: Span,
}

/// What lies between the nodes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Network {
    /// How long datagrams travel.
    #[serde(with = "text")]
    pub latency: Latency,
    /// Probability that a datagram is lost.
    pub loss: f64,
    /// Probability that a datagram arrives twice.
    pub duplication: f64,
    /// Probability that a datagram is held back, so that later ones overtake it.
    pub reordering: f64,
    /// The longest time it is held back; each time up to it is as likely.
    #[serde(with = "text")]
    pub reorder_delay: Span,
    /// Largest IP packet that passes; nodes make datagrams that fit.
    pub mtu_bytes: u32,
    /// Bytes a node can send in a second; 0: any number. Later datagrams queue behind earlier.
    pub bandwidth_bytes_s: u64,
    /// Bytes that may queue at a sender; what exceeds them is lost.
    pub queue_bytes: u64,
    /// Whether hosts of crashed nodes say so to whoever sends there (ICMP port unreachable).
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub refuses: bool,
}

/// How wrong the clocks are. Each node draws its own clock, uniformly in both directions.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Clocks {
    /// The largest offset.
    #[serde(with = "text")]
    pub offset: Span,
    /// The largest drift in parts per million.
    pub drift_ppm: f64,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            mode: Mode::Full,
            seed: 1,
            units: 100,
            warmup_units: 60,
            sample_every: 1,
            memory_limit_mib: 8192,
            cluster: Cluster::default(),
            network: Network::default(),
            clocks: Clocks::default(),
            faults: Vec::new(),
        }
    }
}

impl Default for Cluster {
    fn default() -> Self {
        Self {
            nodes: 128,
            interval: Span::from_micros(256_000),
            window: Window::Percent(20.0),
            age_target: Span::ZERO,
            age_target_quantile: 0.0,
            strategy: Strategy::Uniform,
            payload_bytes: 64,
            catch_up: false,
            death_after: Span::ZERO,
        }
    }
}

impl Default for Network {
    fn default() -> Self {
        Self {
            latency: Latency::default(),
            loss: 0.0,
            duplication: 0.0,
            reordering: 0.0,
            reorder_delay: Span::from_micros(1_000),
            mtu_bytes: 65_535,
            bandwidth_bytes_s: 0,
            queue_bytes: 1 << 20,
            refuses: false,
        }
    }
}

/// Why a scenario cannot be run. Nothing was simulated.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The text is no scenario: not TOML, an unknown key, a value of the wrong kind.
    #[error("the scenario cannot be read: {0}")]
    Text(String),
    /// A value lies outside its range.
    #[error("{parameter} is {given}: it must be {range}")]
    OutOfRange {
        /// Where it stands.
        parameter: String,
        /// What was given.
        given: String,
        /// What would do.
        range: String,
    },
    /// The core refuses the configuration.
    #[error("cluster: {0}")]
    Cluster(String),
    /// The run would need too much memory.
    #[error(
        "{nodes} nodes in {mode} mode need about {estimate_mib} MiB, and memory_limit_mib is \
         {limit_mib}: simulate fewer nodes{remedy}, or raise the limit"
    )]
    Memory {
        /// How many nodes.
        nodes: u32,
        /// In which mode.
        mode: &'static str,
        /// What they would need.
        estimate_mib: u64,
        /// What they may use.
        limit_mib: u64,
        /// Whether the other mode would help.
        remedy: &'static str,
    },
    /// The compact mode has no place for this.
    #[error("{parameter}: the compact mode does not know it; use the full mode, or leave it out")]
    NotCompact {
        /// What it does not know.
        parameter: &'static str,
    },
}

/// An [`ScenarioError::OutOfRange`], unless `ok`.
pub(crate) fn require(
    ok: bool,
    parameter: &str,
    given: impl Display,
    range: impl Into<String>,
) -> Result<(), ScenarioError> {
    if ok {
        return Ok(());
    }
    let (parameter, given) = (parameter.to_owned(), format!("{given}"));
    Err(ScenarioError::OutOfRange { parameter, given, range: range.into() })
}

impl Scenario {
    /// Reads a scenario file. It is not checked yet: see [`Scenario::check`].
    ///
    /// # Errors
    /// [`ScenarioError::Text`], with line and column.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        toml::from_str(text).map_err(|error| ScenarioError::Text(error.to_string()))
    }

    /// Checks every value and the memory the run would need.
    ///
    /// # Errors
    /// The first thing that stands in the way; see [`ScenarioError`].
    pub fn check(&self) -> Result<(), ScenarioError> {
        self.check_run()?;
        self.check_network()?;
        let (nodes, end) = (self.cluster.nodes, f64::from(self.all_units()));
        let first = self.members_at(-1.0);
        require(first >= 2, "fault.kind = \"grow\": nodes", nodes - first, "2 less than all")?;
        for (at, fault) in self.faults.iter().enumerate() {
            fault.check(&format!("fault {}", at + 1), nodes, end)?;
        }
        let config = self.config().validate();
        config.map_err(|error| ScenarioError::Cluster(error.to_string()))?;
        if self.mode == Mode::Compact {
            self.check_compact()?;
        }
        memory::check(self)
    }

    /// Units of time from the start to the last sample.
    pub fn all_units(&self) -> u32 {
        self.warmup_units.saturating_add(self.units)
    }

    /// Members of the cluster at this time, in units from the start.
    pub(crate) fn members_at(&self, units: f64) -> u32 {
        let nodes = self.cluster.nodes;
        let later = self.faults.iter().map(|fault| match *fault {
            Fault::Grow { at, nodes: some } if at > units => some.entries(nodes as usize) as u32,
            _ => 0,
        });
        nodes.saturating_sub(later.fold(0, u32::saturating_add))
    }

    /// Entries in a window; the most it may have, if an age is to be kept.
    pub fn window_entries(&self) -> usize {
        if !self.cluster.age_target.is_zero() {
            return self.cluster.nodes as usize;
        }
        self.cluster.window.entries(self.cluster.nodes as usize)
    }

    /// What a node may send in a unit, and what things cost on the wire.
    pub fn budget(&self) -> Budget {
        let config = self.config();
        let entry_bytes = ENTRY_OVERHEAD_BYTES + usize::from(config.payload_bytes);
        let room = usize::from(config.datagram_bytes) - OVERHEAD_BYTES;
        Budget {
            entry_bytes,
            frame_bytes: OVERHEAD_BYTES,
            datagram_entries: (room / entry_bytes).max(1),
            window_entries: self.window_entries(),
        }
    }

    /// The configuration of every node.
    pub fn config(&self) -> Config {
        let mut config = Config::default();
        let room = self.network.mtu_bytes.saturating_sub(IP_UDP_BYTES).min(65_507);
        // Another cluster has another timetable: runs of different seeds shall be independent.
        config.cluster = format!("simulated-{}", self.seed);
        config.interval = Duration::from(self.cluster.interval);
        config.window = self.cluster.window;
        config.age_target = self.age_target();
        config.strategy = self.cluster.strategy;
        config.payload_bytes = self.cluster.payload_bytes;
        config.catch_up = self.cluster.catch_up;
        let death_after = self.cluster.death_after;
        config.death_after = (!death_after.is_zero()).then(|| death_after.into());
        config.max_nodes = self.cluster.nodes.max(2);
        // Nothing is forgotten within a run, however long its unit of time.
        config.forget_after = config.forget_after.max(config.interval * self.all_units());
        config.datagram_bytes = room as u16;
        config
    }

    fn age_target(&self) -> Option<AgeTarget> {
        let Cluster { age_target, age_target_quantile, .. } = self.cluster;
        let quantile = (age_target_quantile != 0.0).then_some(age_target_quantile);
        let wanted = !age_target.is_zero() || quantile.is_some();
        wanted.then_some(AgeTarget { age: age_target.into(), quantile })
    }

    fn check_run(&self) -> Result<(), ScenarioError> {
        let cluster = &self.cluster;
        require(cluster.nodes >= 2, "nodes", cluster.nodes, "at least 2")?;
        require(self.units >= 1, "units", self.units, "at least 1")?;
        let range = format!("at most {MAX_UNITS}");
        let all = self.all_units();
        require(all <= MAX_UNITS, "warmup_units + units", all, range)?;
        let (every, units) = (self.sample_every, self.units);
        let range = format!("1 to units, {units}");
        require((1..=units).contains(&every), "sample_every", every, range)?;
        if let Window::Entries(entries) = cluster.window {
            let range = format!("at most {}, the number of nodes", cluster.nodes);
            require(entries <= cluster.nodes, "window", entries, range)?;
        }
        let payload = cluster.payload_bytes;
        require(payload >= 8, "payload_bytes", payload, "at least 8")?;
        let drift = self.clocks.drift_ppm;
        require((0.0..=10_000.0).contains(&drift), "drift_ppm", drift, "0 to 10000")
    }

    fn check_network(&self) -> Result<(), ScenarioError> {
        let network = &self.network;
        for (parameter, given) in [
            ("loss", network.loss),
            ("duplication", network.duplication),
            ("reordering", network.reordering),
        ] {
            require((0.0..=1.0).contains(&given), parameter, given, "a probability, 0 to 1")?;
        }
        let mtu = network.mtu_bytes;
        require((576..=65_535).contains(&mtu), "mtu_bytes", mtu, "576 to 65535")?;
        let queue = network.queue_bytes;
        let range = format!("at least mtu_bytes, {mtu}");
        require(queue >= u64::from(mtu), "queue_bytes", queue, range)
    }

    /// Refuses what rows of births cannot express.
    fn check_compact(&self) -> Result<(), ScenarioError> {
        let pauses = self.faults.iter().any(|fault| matches!(fault, Fault::Pause { .. }));
        let grows = self.faults.iter().any(|fault| matches!(fault, Fault::Grow { .. }));
        let foreign = [
            ("cluster.age_target", !self.cluster.age_target.is_zero()),
            ("latency", !self.network.latency.is_zero()),
            ("duplication", self.network.duplication > 0.0),
            ("reordering", self.network.reordering > 0.0),
            ("bandwidth_bytes_s", self.network.bandwidth_bytes_s > 0),
            ("clocks.drift_ppm", self.clocks.drift_ppm > 0.0),
            ("catch_up", self.cluster.catch_up),
            ("sample_every", self.sample_every != 1),
            ("cluster.death_after", !self.cluster.death_after.is_zero()),
            ("fault.kind = \"pause\"", pauses),
            ("fault.kind = \"grow\"", grows),
        ];
        match foreign.into_iter().find(|(_, wanted)| *wanted) {
            Some((parameter, _)) => Err(ScenarioError::NotCompact { parameter }),
            None => Ok(()),
        }
    }
}

/// Whether every unit is sampled.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_one(units: &u32) -> bool {
    *units == 1
}

/// Whether a quantity that is optional was left out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        let refused = Scenario::parse(text).and_then(|scenario| scenario.check());
        refused.expect_err("the scenario is impossible").to_string()
    }

    #[test]
    fn the_default_can_be_run_and_reads_from_an_empty_file() {
        assert_eq!(Scenario::parse(""), Ok(Scenario::default()));
        Scenario::default().check().expect("the default is possible");
    }

    #[test]
    fn unknown_keys_are_refused_with_their_line() {
        for text in [
            "seeds = 3",
            "[cluster]\nnode = 3",
            "[network]\nlost = 0.1",
            "[[fault]]\nkind = \"crash\"\nat = 1\nnodes = \"1\"\nwhen = 3",
            "[[fault]]\nkind = \"fire\"\nat = 1",
        ] {
            let message = refusal(text);
            assert!(message.contains("unknown") && message.contains("line"), "{message}");
        }
    }

    #[test]
    fn impossible_values_are_refused_by_name() {
        for (text, part) in [
            ("[network]\nloss = 1.5", "loss is 1.5"),
            ("[network]\nloss = nan", "loss is NaN"),
            ("[cluster]\nnodes = 0", "nodes is 0"),
            ("[cluster]\nnodes = 100\nwindow = \"101\"", "window is 101: it must be at most 100"),
            ("[cluster]\nwindow = \"0%\"", "window"),
            ("[cluster]\ninterval = \"256\"", "no span of time"),
            ("[cluster]\npayload_bytes = 4", "payload_bytes is 4"),
            ("[cluster]\npayload_bytes = 2000", "payload_bytes"),
            ("units = 0", "units is 0"),
            ("units = 410000", "at most 400000"),
            ("units = 9\nsample_every = 10", "sample_every is 10: it must be 1 to units, 9"),
            ("mode = \"compact\"\nsample_every = 2", "sample_every: the compact mode"),
            ("[network]\nmtu_bytes = 100", "mtu_bytes is 100"),
            ("[clocks]\ndrift_ppm = -1.0", "drift_ppm is -1"),
            ("mode = \"compact\"\n[network]\nlatency = \"1ms\"", "latency: the compact mode"),
            ("mode = \"compact\"\n[cluster]\nage_target = \"2s\"", "age_target: the compact mode"),
            ("[cluster]\nage_target = \"20ms\"", "age_target"),
            ("[cluster]\nage_target_quantile = 0.9", "age_target"),
            ("[cluster]\nage_target = \"2s\"\nage_target_quantile = 1.5", "age_target_quantile"),
            ("[[fault]]\nkind = \"grow\"\nat = 9\nnodes = \"127\"", "nodes is 127"),
            ("[[fault]]\nkind = \"grow\"\nat = 900\nnodes = \"9\"", "at is 900"),
        ] {
            let message = refusal(text);
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
