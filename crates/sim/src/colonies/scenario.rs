//! What a run of colonies depends on, checked before anything is simulated.

use core::time::Duration;

use serde::Serialize;
use tidings_gossip::Window;
use tidings_gossip::colony::RECORD_BYTES;
use tidings_gossip::dissemination::layout::{Budget, Layout, RecordTraffic};
use tidings_gossip::wire::extension::Versions;
use tidings_gossip::wire::{ENTRY_OVERHEAD_BYTES, OVERHEAD_BYTES};

use crate::memory;
use crate::scenario::error::{ScenarioError, require};
use crate::scenario::{IP_UDP_BYTES, Mode};
use crate::span::Span;
use crate::text;

/// The smallest colony: less than a row is none.
const LEAST_COLONY_NODES: usize = 8;
/// The largest: an aggregate is of no more.
const MOST_COLONY_NODES: usize = 8_192;
/// The most nodes in all.
const MAX_NODES: u32 = 10_000_000;
/// The longest run, warm-up included, in units.
const MAX_UNITS: u32 = 4_000;
const MIB: u64 = 1 << 20;

/// A run of colonies.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ColoniesScenario {
    /// Full: real nodes; compact: rows of births.
    pub mode: Mode,
    /// The random seed all chance comes from.
    pub seed: u64,
    /// Nodes in all.
    pub nodes: u32,
    /// Nodes of a colony, about; 0: the best.
    pub colony_nodes: u32,
    /// Units of time that are measured.
    pub units: u32,
    /// Units of time before the first sample.
    pub warmup_units: u32,
    /// The unit of time.
    #[serde(with = "text")]
    pub interval: Span,
    /// What a node may send a unit: the bytes of this window, of its colony's entries.
    #[serde(with = "text")]
    pub window: Window,
    /// Bytes of payload in an entry.
    pub payload_bytes: u16,
    /// Largest IP packet that passes.
    pub mtu_bytes: u16,
    /// Probability that a datagram is lost.
    pub loss: f64,
    /// Per cent of the nodes that crash in a minute, and restart, empty.
    pub churn_percent_per_minute: f64,
    /// Units until a node that crashed restarts.
    pub down_units: f64,
    /// Time without proof of life after which a node is declared dead; zero: no node is.
    #[serde(with = "text", skip_serializing_if = "Span::is_zero")]
    pub death_after: Span,
    /// Versions of the datagrams' format that nodes write, alternating by their numbers.
    #[serde(skip_serializing_if = "is_usual")]
    pub wire_versions: Vec<u8>,
    /// Per cent of the nodes that say other readings in a unit than before.
    #[serde(skip_serializing_if = "is_zero")]
    pub news_percent: f64,
    /// A run that needs more than this is refused, in MiB.
    pub memory_limit_mib: u64,
    /// How many colonies are simulated at a time, for the estimate of memory: no figure depends on
    /// it.
    #[serde(skip_serializing)]
    pub threads: u32,
}

fn is_usual(versions: &[u8]) -> bool {
    versions == [1]
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

impl Default for ColoniesScenario {
    fn default() -> Self {
        Self {
            mode: Mode::Compact,
            seed: 1,
            nodes: 10_000,
            colony_nodes: 0,
            units: 50,
            warmup_units: 60,
            interval: Span::from_micros(256_000),
            window: Window::Entries(204),
            payload_bytes: 64,
            mtu_bytes: 1_428,
            loss: 0.0,
            churn_percent_per_minute: 0.0,
            down_units: 64.0,
            death_after: Span::ZERO,
            wire_versions: vec![1],
            news_percent: 0.0,
            memory_limit_mib: 8_192,
            threads: 1,
        }
    }
}

impl ColoniesScenario {
    /// Bytes of a datagram, at most.
    pub fn datagram_bytes(&self) -> u16 {
        self.mtu_bytes.saturating_sub(IP_UDP_BYTES)
    }

    /// Units of time from the start to the last sample.
    pub fn all_units(&self) -> u32 {
        self.warmup_units.saturating_add(self.units)
    }

    /// How many colonies there are, once their size is known: two at least.
    pub fn colonies(&self) -> usize {
        (self.nodes as usize / (self.colony_nodes as usize).max(1)).max(2)
    }

    /// After how long without proof of life a node is declared dead, if any is.
    pub(super) fn death_after(&self) -> Option<Duration> {
        (!self.death_after.is_zero()).then(|| self.death_after.into())
    }

    /// Crashes in a unit of time, in all colonies together.
    pub(super) fn crashes_per_unit(&self) -> f64 {
        let minutes = self.interval.as_micros() as f64 / 60e6;
        f64::from(self.nodes) * self.churn_percent_per_minute / 100.0 * minutes
    }

    /// Checks every value and the memory the run would need.
    ///
    /// # Errors
    /// The first thing that stands in the way; see [`ScenarioError`].
    pub fn check(&self) -> Result<(), ScenarioError> {
        let least = 2 * LEAST_COLONY_NODES as u32;
        let range = format!("{least} to {MAX_NODES}");
        require((least..=MAX_NODES).contains(&self.nodes), "nodes", self.nodes, range)?;
        let most = (self.nodes / 2).min(MOST_COLONY_NODES as u32);
        let colony = self.colony_nodes;
        let ok = colony == 0 || (LEAST_COLONY_NODES as u32..=most).contains(&colony);
        require(ok, "colony-nodes", colony, format!("{LEAST_COLONY_NODES} to {most}"))?;
        require(self.units >= 1, "units", self.units, "at least 1")?;
        let (all, range) = (self.all_units(), format!("at most {MAX_UNITS}"));
        require(all <= MAX_UNITS, "warmup + units", all, range)?;
        let interval = self.interval.as_micros();
        let ok = (1_000..=3_600_000_000).contains(&interval);
        require(ok, "interval", self.interval, "1ms to 1h")?;
        require((0.0..=1.0).contains(&self.loss), "loss", self.loss, "a probability, 0 to 1")?;
        let churn = self.churn_percent_per_minute;
        require((0.0..=1_000.0).contains(&churn), "churn", churn, "0 to 1000 % a minute")?;
        let down = self.down_units;
        require(down > 0.0 && down <= 1e4, "down-units", down, "above 0 and up to 10000 units")?;
        let death = self.death_after;
        let ok = death.is_zero() || (10_000..=3_600_000_000).contains(&death.as_micros());
        require(ok, "death-after", death, "0, or 10ms to 1h")?;
        self.check_versions()?;
        let payload = self.payload_bytes;
        require((44..=512).contains(&payload), "payload-bytes", payload, "44 to 512")?;
        let mtu = self.mtu_bytes;
        require((1_052..=65_535).contains(&mtu), "mtu", mtu, "1052 to 65535")?;
        self.check_memory()
    }

    /// Checks what only real nodes do: they write versions, and say other readings.
    fn check_versions(&self) -> Result<(), ScenarioError> {
        let (read, written) = (Versions::READ, &self.wire_versions);
        let is_compact = self.mode == Mode::Compact;
        let spoken = |&version: &u8| {
            (read.lowest..=read.highest).contains(&version) && (!is_compact || version == 1)
        };
        let known = !written.is_empty() && written.iter().all(spoken);
        let all = format!("versions from {} to {}", read.lowest, read.highest);
        let range = if is_compact { "1 in compact mode".to_owned() } else { all };
        require(known, "wire-versions", format!("{written:?}"), range)?;
        let (news, most) = (self.news_percent, if is_compact { 0.0 } else { 100.0 });
        let range = if is_compact { "0 in compact mode" } else { "0 to 100 %" };
        require((0.0..=most).contains(&news), "news", news, range)
    }

    /// Bytes that the run needs, about.
    pub fn memory_bytes(&self) -> u64 {
        let mut sized = self.clone();
        if sized.colony_nodes == 0 {
            sized.colony_nodes = sized.best_colony_nodes();
        }
        let (nodes, colonies) = (u64::from(self.nodes), sized.colonies() as u64);
        let members = nodes.div_ceil(colonies);
        let crashes = self.crashes_per_unit() * f64::from(self.all_units());
        let plan = crashes as u64 * 24;
        let run = match self.mode {
            Mode::Compact => {
                let rows = members.div_ceil(4);
                let mut colony = memory::compact_colony_bytes(members, colonies, rows);
                if !self.death_after.is_zero() {
                    colony += memory::compact_watch_bytes(members);
                }
                u64::from(self.threads.max(1)) * colony
            }
            Mode::Full => {
                let pair = memory::FULL_PAIR_BYTES + u64::from(self.payload_bytes);
                let records = tidings_gossip::colony::table::RECORD_MEMORY_BYTES as u64;
                let node = members * pair + colonies * records + memory::FULL_NODE_BYTES;
                nodes.saturating_mul(node)
            }
        };
        run.saturating_add(plan).saturating_add(16 * MIB)
    }

    fn check_memory(&self) -> Result<(), ScenarioError> {
        let estimate_mib = self.memory_bytes().div_ceil(MIB);
        let limit_mib = self.memory_limit_mib;
        if estimate_mib <= limit_mib {
            return Ok(());
        }
        let (mode, remedy) = match self.mode {
            Mode::Full => ("full", ", use the compact mode"),
            Mode::Compact => ("compact", " in a colony"),
        };
        Err(ScenarioError::Memory { nodes: self.nodes, mode, estimate_mib, limit_mib, remedy })
    }

    /// What a member of a colony of so many may send.
    pub(crate) fn budget(&self, members: usize) -> Budget {
        let entry_bytes = usize::from(self.payload_bytes) + ENTRY_OVERHEAD_BYTES;
        Budget {
            entry_bytes,
            frame_bytes: OVERHEAD_BYTES,
            datagram_entries: (self.room_bytes() / entry_bytes).max(1),
            window_entries: self.window.entries(members),
            changes: None,
        }
    }

    /// Records that ride along.
    pub(crate) fn record_traffic(&self, colonies: usize, record_bytes: usize) -> RecordTraffic {
        let room_bytes = self.room_bytes();
        RecordTraffic { colonies, record_bytes, average_bytes: [record_bytes; 2], room_bytes }
    }

    fn room_bytes(&self) -> usize {
        usize::from(self.datagram_bytes()) - OVERHEAD_BYTES
    }

    /// The size of colonies that makes aggregates youngest: the smaller colonies are, the more of
    /// them there are, and the larger, the more entries go with each aggregate.
    pub fn best_colony_nodes(&self) -> u32 {
        let nodes = self.nodes as usize;
        let age = |&members: &usize| {
            let record_traffic = self.record_traffic(nodes.div_ceil(members) - 1, RECORD_BYTES);
            let budget = self.budget(members);
            let layout = Layout::of_colony(members, &budget, &record_traffic);
            record_traffic.age_units(&layout, &budget).unwrap_or(f64::INFINITY)
        };
        let most = (nodes / 2).min(MOST_COLONY_NODES);
        let next = |&members: &usize| Some((members + 1).max(members * 21 / 20));
        let sizes = core::iter::successors(Some(LEAST_COLONY_NODES), next);
        let sizes = sizes.take_while(|&members| members <= most);
        let best = sizes.min_by(|a, b| age(a).total_cmp(&age(b)));
        best.unwrap_or(nodes / 2) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_values_are_refused_by_name() {
        type Breakage = fn(&mut ColoniesScenario);
        let broken: [(Breakage, &str); 14] = [
            (|s| s.nodes = 0, "nodes is 0"),
            (|s| s.colony_nodes = 7, "colony-nodes is 7"),
            (|s| s.colony_nodes = 5_001, "colony-nodes is 5001: it must be 8 to 5000"),
            (|s| s.units = 0, "units is 0"),
            (|s| s.loss = 1.5, "loss is 1.5"),
            (|s| s.churn_percent_per_minute = -1.0, "churn is -1"),
            (|s| s.payload_bytes = 9, "payload-bytes is 9"),
            (|s| s.death_after = Span::from_micros(9), "death-after is 9us"),
            (|s| s.mtu_bytes = 500, "mtu is 500"),
            (|s| s.wire_versions = vec![1, 3], "wire-versions is [1, 3]: it must be 1 in compact"),
            (|s| (s.mode, s.wire_versions) = (Mode::Full, vec![9]), "wire-versions is [9]"),
            (|s| s.news_percent = 1.0, "news is 1: it must be 0 in compact mode"),
            (|s| (s.mode, s.news_percent) = (Mode::Full, 101.0), "news is 101"),
            (|s| (s.mode, s.nodes) = (Mode::Full, 1_000_000), "use the compact mode"),
        ];
        ColoniesScenario::default().check().expect("the default is possible");
        for (breakage, part) in broken {
            let mut scenario = ColoniesScenario::default();
            breakage(&mut scenario);
            let message = scenario.check().expect_err("impossible").to_string();
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn a_run_that_would_not_fit_is_refused_with_the_estimate() {
        let mut scenario = ColoniesScenario { nodes: 1_000_000, ..ColoniesScenario::default() };
        scenario.check().expect("one colony at a time fits");
        scenario.memory_limit_mib = 20;
        let message = scenario.check().expect_err("too large").to_string();
        assert!(message.contains("memory_limit_mib is 20"), "{message}");
    }
}
