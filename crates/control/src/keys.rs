//! Which keys the nodes of a cluster hold, by their fingerprints.

use serde::{Deserialize, Serialize};

use crate::report::State;

/// What every member says of its keys, asked of all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeyReport {
    /// The cluster's name.
    pub cluster: String,
    /// The colony of the nodes: others are not asked; `None` in a cluster without colonies.
    pub colony: Option<u32>,
    /// The node whose agent has asked.
    pub observer: String,
    /// Whether it has a key: without one it asks nobody.
    pub encrypted: bool,
    /// How many members there should be, if that is known.
    pub expected: Option<u32>,
    /// The members that it knows, itself among them, in the order of their names.
    pub nodes: Vec<NodeKeys>,
}

/// What one node says of its keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeKeys {
    /// Its name.
    pub name: String,
    /// Its address, `IP:PORT`.
    pub address: String,
    /// Its state, as the observer holds it.
    pub state: State,
    /// How it has answered.
    pub answer: KeyAnswer,
    /// The fingerprints of the keys that it accepts, that of the key that it seals with first.
    pub keys: Vec<String>,
}

/// How a node has answered the question for its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyAnswer {
    /// With its keys.
    Known,
    /// Without them: its release is older than this question.
    Unsaid,
    /// It cannot open what the observer seals, or is configured differently otherwise.
    Rejected,
    /// Not at all.
    Silent,
    /// It was not asked: it is dead or has left.
    NotAsked,
}
