//! A scenario: everything a run depends on, as a TOML file or made by the command line.
//!
//! A scenario is checked as a whole before anything is simulated: unknown keys, impossible values
//! and runs that would need more memory than allowed are refused with the place and the remedy.
//! What passes here can be run, and the same scenario always gives the same run.
//!
//! Times of faults and of the run are in units of time from the run's start.

mod check;
pub(crate) mod error;

use core::time::Duration;

use serde::{Deserialize, Serialize};
use tidings_gossip::config::MAX_DATAGRAM_BYTES;
use tidings_gossip::dissemination::layout::Budget;
use tidings_gossip::wire::{ENTRY_OVERHEAD_BYTES, frame_bytes, overhead_bytes};
use tidings_gossip::{AgeTarget, Config, Strategy, Window};

use crate::fault::Fault;
use crate::latency::Latency;
use crate::span::Span;
use crate::text;
pub use error::ScenarioError;

/// Bytes of the IPv4 and UDP headers of each datagram.
pub(crate) const IP_UDP_BYTES: u16 = 28;

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
    /// What affects them.
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
    /// Versions of the format that nodes write, in turn by their numbers; they read all.
    #[serde(skip_serializing_if = "is_version_1")]
    pub wire_versions: Vec<u8>,
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
    /// Whether hosts of crashed nodes say so to senders (ICMP port unreachable).
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
            wire_versions: vec![1],
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

impl Scenario {
    /// Reads a scenario file. It is not checked yet: see [`Scenario::check`].
    ///
    /// # Errors
    /// [`ScenarioError::Text`], with line and column.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        toml::from_str(text).map_err(|error| ScenarioError::Text(error.to_string()))
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
        let room = usize::from(config.datagram_bytes) - overhead_bytes(config.wire_version);
        Budget {
            entry_bytes,
            frame_bytes: frame_bytes(config.wire_version),
            datagram_entries: (room / entry_bytes).max(1),
            window_entries: self.window_entries(),
            changes: None,
        }
    }

    /// The configuration of every node but for the version it writes, which is that of the first.
    pub fn config(&self) -> Config {
        let mut config = Config::default();
        let room = self
            .network
            .mtu_bytes
            .saturating_sub(IP_UDP_BYTES.into())
            .min(MAX_DATAGRAM_BYTES.into());
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
        config.wire_version = self.cluster.wire_versions.first().copied().unwrap_or_default();
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
}

/// Whether every unit is sampled.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_one(units: &u32) -> bool {
    *units == 1
}

/// Whether all nodes write what all releases read.
fn is_version_1(versions: &[u8]) -> bool {
    versions == [1]
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
            ("[cluster]\nwire_versions = [1, 9]", "wire_versions is [1, 9]: it must be versions"),
            ("[cluster]\nwire_versions = []", "wire_versions is []"),
            ("mode = \"compact\"\n[cluster]\nwire_versions = [1, 2]", "wire_versions: the compact"),
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
