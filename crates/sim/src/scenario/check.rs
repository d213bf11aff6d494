//! The checks of a scenario: what is refused before anything is simulated.

use tidings_gossip::Window;
use tidings_gossip::wire::extension::Versions;
use tidings_gossip::wire::header::CHANGES_VERSION;

use super::error::{ScenarioError, require};
use super::{Mode, Scenario};
use crate::fault::Fault;
use crate::memory;

/// The longest run, warm-up included, in units of time: more than a day of 256 ms.
const MAX_UNITS: u32 = 400_000;

impl Scenario {
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
        let (read, written) = (Versions::READ, &cluster.wire_versions);
        let spoken = |&version: &u8| (read.lowest..=read.highest).contains(&version);
        let known = !written.is_empty() && written.iter().all(spoken);
        let range = format!("versions from {} to {}", read.lowest, read.highest);
        require(known, "wire_versions", format!("{written:?}"), range)?;
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
        let versions = &self.cluster.wire_versions;
        // It has no payloads, and so nothing that could be told as a change.
        let mixed = versions.windows(2).any(|pair| pair[0] != pair[1])
            || versions.iter().any(|&version| version >= CHANGES_VERSION);
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
            ("cluster.wire_versions", mixed),
            ("fault.kind = \"pause\"", pauses),
            ("fault.kind = \"grow\"", grows),
        ];
        match foreign.into_iter().find(|(_, wanted)| *wanted) {
            Some((parameter, _)) => Err(ScenarioError::NotCompact { parameter }),
            None => Ok(()),
        }
    }
}
