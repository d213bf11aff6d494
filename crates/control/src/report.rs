//! What an agent answers: its own condition, the age of its picture, and the picture itself.
//!
//! Every quantity carries its unit in its name. A reading that a machine lacks is `null`, never a
//! zero: a node without temperature sensors is not at 0 °C.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::mismatch::MismatchReport;

/// The agent's own condition and configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// The cluster's name.
    pub cluster: String,
    /// The colony's number; `None` in a cluster without colonies.
    pub colony: Option<u32>,
    /// Colonies known, this node's included; 0 in a cluster without colonies.
    pub colonies: usize,
    /// Those of them of which there is an aggregate.
    pub colonies_heard: usize,
    /// The age of the oldest aggregate of another colony, in milliseconds; `None` without any.
    pub colony_age_max_ms: Option<f64>,
    /// This node's name.
    pub name: String,
    /// The address that this node announces to the others, `IP:PORT`.
    pub address: String,
    /// Where the HTTP endpoint listens, `IP:PORT`; `None` when it is off.
    pub http: Option<String>,
    /// Where monitoring on other machines is answered, `IP:PORT`; `None` when that is off.
    #[serde(default)]
    pub scrape: Option<String>,
    /// Where readers find the board; `None` when it is off, or could not be made.
    pub board: Option<String>,
    /// Whether the board lies in memory; on a disk, the agent may wait for write-back.
    pub board_in_memory: Option<bool>,
    /// The agent's version.
    pub version: String,
    /// The agent's process number.
    pub pid: u32,
    /// One unit of time, in milliseconds: how often the node sends.
    pub interval_ms: f64,
    /// How many entries one round carries at the cluster's present size.
    pub window_entries: u32,
    /// The window as configured: `20%`, a number of entries, or the age it follows.
    pub window: String,
    /// The age that the window follows, in milliseconds, if it follows one.
    pub age_target_ms: Option<f64>,
    /// The share of entries that must meet it; `None`: their average must.
    pub age_target_quantile: Option<f64>,
    /// Whether the entries have met it lately; `None` if it is not known.
    pub age_target_kept: Option<bool>,
    /// How the node picks whom to send to.
    pub strategy: String,
    /// Bytes of payload in this node's entry, the same in the whole cluster unless it is being
    /// changed.
    pub payload_bytes: u16,
    /// Bytes of the longest payload that this node reads.
    pub payload_bytes_most: u16,
    /// Bytes of payload in the entries that it sends: more while it holds longer ones of others.
    pub payload_bytes_sent: u16,
    /// Bytes that one entry takes in a datagram, its payload included.
    pub entry_bytes: u32,
    /// How the node learnt of its peers.
    pub mode: Mode,
    /// Whether datagrams are sealed with a cluster key.
    pub encrypted: bool,
    /// How many keys the key ring holds; 0 without encryption.
    pub keys: usize,
    /// Their fingerprints, that of the key that seals first.
    #[serde(default)]
    pub key_fingerprints: Vec<String>,
    /// What is wrong with the agent; `None` while it does its work in time.
    #[serde(default)]
    pub ill: Option<String>,
    /// The version of the datagrams that this node writes.
    pub wire_version: u8,
    /// The lowest and the highest version that it reads.
    pub wire_versions_read: [u8; 2],
    /// Living members that have sent a datagram in their present incarnation.
    pub wire_heard: u32,
    /// The lowest version that one of them wrote last; `None` without any.
    pub wire_written_lowest: Option<u8>,
    /// The lowest among the highest versions that each is known to read; `None` without any. A node
    /// that writes version 1 cannot say more than that it reads version 1.
    pub wire_read_lowest: Option<u8>,
    /// Seconds since the agent started.
    pub uptime_s: f64,
    /// Nodes that belong to the cluster as this node sees it, itself included.
    pub members: usize,
    /// Members whose entry this node has had at least once, itself included.
    pub known: usize,
    /// How many members are in each state.
    pub states: States,
    /// How many members there should be, from `min_members`, the roster, the last life of this
    /// node, or its seeds; `None` if nothing says so.
    pub expected: Option<u32>,
    /// Whether no other node is alive here although others are expected.
    pub alone: bool,
    /// Names of seeds and of the roster that cannot be resolved yet.
    pub unresolved: usize,
    /// Nodes with which this one cannot gossip, seen in the last minute.
    pub mismatches: Vec<MismatchReport>,
    /// Average age of the known entries of other nodes, in milliseconds.
    pub age_avg_ms: f64,
    /// Age of the oldest known entry of another node, in milliseconds.
    pub age_max_ms: f64,
    /// `age_avg_ms` in units of time.
    pub age_avg_units: f64,
    /// `age_max_ms` in units of time.
    pub age_max_units: f64,
    /// Processor time the agent has used since it started, in seconds.
    pub cpu_seconds: f64,
    /// Resident memory of the agent, in bytes.
    pub rss_bytes: u64,
    /// What its memory never exceeds, in bytes, the board included.
    pub memory_bound_bytes: u64,
    /// Every counter of the core and of the agent, by name.
    pub counters: BTreeMap<String, u64>,
}

/// How a node learns of its peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// From a list that everybody has.
    Roster,
    /// By asking a few known addresses.
    #[default]
    Seeds,
}

/// How old the agent's picture is, and what it has cost so far. Cheap, for polling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ages {
    /// This node's name.
    pub name: String,
    /// The agent's monotonic clock when the answer was made, in milliseconds since it started.
    pub now_ms: f64,
    /// Nodes that belong to the cluster as this node sees it, itself included.
    pub members: usize,
    /// Members whose entry this node has had at least once, itself included.
    pub known: usize,
    /// Average age of the known entries of other nodes, in milliseconds.
    pub age_avg_ms: f64,
    /// Age of the oldest known entry of another node, in milliseconds.
    pub age_max_ms: f64,
    /// Rounds the node has sent.
    pub rounds: u64,
    /// Datagrams the node has sent.
    pub datagrams_sent: u64,
    /// Bytes of UDP payload the node has sent.
    pub bytes_sent: u64,
    /// Processor time the agent has used since it started, in seconds.
    pub cpu_seconds: f64,
    /// Resident memory of the agent, in bytes.
    pub rss_bytes: u64,
    /// Seconds since the agent started.
    pub uptime_s: f64,
    /// Seconds from the agent's start until it first knew every member of the largest membership
    /// it has known in full; `None` while that is itself alone. Measured to 1/16 of a unit in
    /// clusters of up to 512 nodes. A node that joins by seeds meets the others one after the
    /// other, so the value grows until it has met all.
    pub first_full_view_s: Option<f64>,
}

/// The whole picture as one node sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_field_names,
    reason = "the JSON name of the list, `.nodes[]` to its readers"
)]
pub struct Nodes {
    /// The cluster's name.
    pub cluster: String,
    /// The colony whose nodes these are; `None` in a cluster without colonies.
    pub colony: Option<u32>,
    /// The name of the node whose picture this is.
    pub observer: String,
    /// One unit of time, in milliseconds.
    pub interval_ms: f64,
    /// One report per member, the observer's own included, in the order of their names.
    pub nodes: Vec<NodeReport>,
}

/// Whether a node takes part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// There is an entry of the node, which has neither left nor died. Its age says how recent the
    /// entry is.
    Alive,
    /// The same, but it has not answered this agent's probes, nor others', for a while.
    Suspected,
    /// The node was declared dead, by this agent or another.
    Dead,
    /// The node left.
    Left,
    /// The node belongs to the cluster, but no entry of it has come yet.
    #[default]
    Unheard,
}

impl State {
    /// All of them, those that take part first.
    pub const ALL: [Self; 5] =
        [Self::Alive, Self::Suspected, Self::Dead, Self::Left, Self::Unheard];

    /// As it is written in the protocol and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alive => "alive",
            Self::Suspected => "suspected",
            Self::Dead => "dead",
            Self::Left => "left",
            Self::Unheard => "unheard",
        }
    }

    /// Whether the node has neither left nor died: one that does not answer has not died yet.
    pub fn is_alive(self) -> bool {
        matches!(self, Self::Alive | Self::Suspected)
    }
}

/// How many members are in each state, as this node sees them; itself is alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct States {
    /// Alive, this node among them.
    pub alive: u32,
    /// Silent, and probed.
    pub suspected: u32,
    /// Declared dead.
    pub dead: u32,
    /// They have said farewell.
    pub left: u32,
    /// Known by name; nothing was heard of them yet.
    pub unheard: u32,
}

impl States {
    /// Each state with its number, in the order of [`State::ALL`].
    pub fn each(self) -> [(State, u32); 5] {
        let Self { alive, suspected, dead, left, unheard } = self;
        let counts = [alive, suspected, dead, left, unheard];
        std::array::from_fn(|at| (State::ALL[at], counts[at]))
    }
}

/// What is known of one node. The readings of one that has left or died are its last. They are
/// `None` where the machine lacks them, where the node has not been heard, and where the cluster's
/// payload leaves no room for them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeReport {
    /// The node's name.
    pub name: String,
    /// The address that the node announces, `IP:PORT`; empty when not known yet.
    pub address: String,
    /// Whether it takes part.
    pub state: State,
    /// The age of its entry, in milliseconds; `None` when unheard. That of a dead node began when
    /// it was first in doubt.
    pub age_ms: Option<f64>,
    /// The age of the readings, in milliseconds: that of the entry, and more if the node has left
    /// or died, whose last readings stay. `None` where it is not known.
    pub readings_age_ms: Option<f64>,
    /// The node's incarnation: it grows with every restart. 0 when unheard.
    pub incarnation: u32,
    /// The node's own round in which it made the entry, or the last that is known of it if it has
    /// left or died. `None` where none is known.
    pub sequence: Option<u32>,
    /// Logical processors.
    pub cores: Option<u32>,
    /// Load average over one minute.
    pub load1: Option<f64>,
    /// Load average over five minutes.
    pub load5: Option<f64>,
    /// Load average over fifteen minutes.
    pub load15: Option<f64>,
    /// Share of the processors' time that was not idle since the last reading, in per cent.
    pub cpu_busy_percent: Option<f64>,
    /// Memory in the machine.
    pub mem_total_bytes: Option<u64>,
    /// Memory that a new program could have without swapping.
    pub mem_available_bytes: Option<u64>,
    /// Swap space in the machine.
    pub swap_total_bytes: Option<u64>,
    /// Swap space in use.
    pub swap_used_bytes: Option<u64>,
    /// Share of the last ten seconds in which some task waited for a processor (PSI), in per cent.
    pub psi_cpu_percent: Option<f64>,
    /// Share of the last ten seconds in which some task waited for memory (PSI), in per cent.
    pub psi_memory_percent: Option<f64>,
    /// Share of the last ten seconds in which some task waited for I/O (PSI), in per cent.
    pub psi_io_percent: Option<f64>,
    /// Bytes read from disks a second.
    pub disk_read_bytes_s: Option<u64>,
    /// Bytes written to disks a second.
    pub disk_write_bytes_s: Option<u64>,
    /// Bytes received from networks a second, loopback left out.
    pub net_rx_bytes_s: Option<u64>,
    /// Bytes sent to networks a second, loopback left out.
    pub net_tx_bytes_s: Option<u64>,
    /// The hottest sensor, in degrees Celsius.
    pub temperature_c: Option<f64>,
    /// Power drawn by the processor packages (RAPL), in watts.
    pub power_w: Option<f64>,
    /// Seconds since the machine booted.
    pub uptime_s: Option<u64>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// What users published on that node, by key.
    pub user: BTreeMap<String, String>,
}

/// Confirms a `publish`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Published {
    /// The key that was set, or withdrawn when `ttl_s` is 0.
    pub key: String,
    /// Seconds until the value is withdrawn.
    pub ttl_s: u64,
    /// How many user metrics this node now publishes.
    pub user_metrics: usize,
}

/// Confirms a `publish-all`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PublishedAll {
    /// The keys that were set, or withdrawn when `ttl_s` is 0, in ascending order.
    pub keys: Vec<String>,
    /// Seconds until the values are withdrawn.
    pub ttl_s: u64,
    /// How many user metrics this node now publishes.
    pub user_metrics: usize,
}

/// Confirms a `leave`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Leaving {
    /// The name of the node that leaves.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_reading_is_null_and_comes_back_as_none() {
        let report = NodeReport { name: "n1".to_owned(), load1: Some(0.5), ..Default::default() };
        let text = serde_json::to_string(&report).expect("serialises");
        assert!(text.contains(r#""load1":0.5"#) && text.contains(r#""load5":null"#), "{text}");
        assert_eq!(serde_json::from_str::<NodeReport>(&text).expect("parses"), report);
    }

    #[test]
    fn reports_of_other_versions_are_readable() {
        let text = r#"{"name":"n1","members":3,"a_field_of_tomorrow":[1]}"#;
        let ages: Ages = serde_json::from_str(text).expect("unknown ignored, missing defaulted");
        assert_eq!((ages.name.as_str(), ages.members, ages.known), ("n1", 3, 0));
    }
}
