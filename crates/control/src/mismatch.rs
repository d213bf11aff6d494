//! What an agent says of nodes that it does not understand, and of a check of one.

use serde::{Deserialize, Serialize};

/// Another node with which this one cannot gossip, since the two are configured differently.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MismatchReport {
    /// Where its datagrams came from, `IP:PORT`. Anybody can forge it.
    pub address: String,
    /// The name of the member with its id, if one is known. Anybody can forge it.
    pub name: Option<String>,
    /// What differs: `version`, `cluster`, `key`, `payload`, `roster`, `name`, `clock` or `seal`.
    pub difference: String,
    /// Who drops: `here`, this node drops what comes from there; `there`, that node says that it
    /// drops what comes from here.
    pub dropped: String,
    /// Datagrams that have shown it since the agent noticed it.
    pub datagrams: u64,
    /// How long ago the last one came, in milliseconds.
    pub last_ms: u64,
    /// The same in words, with the remedy.
    pub text: String,
}

/// What lies between this node and another: what an operator asked to be tried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Checkup {
    /// What was asked for.
    pub host: String,
    /// The address that was tried, `IP:PORT`; `None` if there is none.
    pub address: Option<String>,
    /// What was tried, in this order.
    pub findings: Vec<Finding>,
}

/// The result of one thing that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was tried: `address`, `port`, `firewall`, `version`, `cluster`, `key`, `roster`,
    /// `name`, `payload`, `clock`, `membership`, `mtu`.
    pub of: String,
    /// How it went.
    pub verdict: Verdict,
    /// In words, with the remedy if it is in the way.
    pub text: String,
}

/// How something that was tried went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is right.
    Ok,
    /// It is in the way.
    Wrong,
    /// It may be in the way: it cannot be told from what else there may be.
    Unclear,
}

impl Checkup {
    /// Whether nothing was found to be in the way.
    pub fn is_clear(&self) -> bool {
        self.findings.iter().all(|finding| finding.verdict == Verdict::Ok)
    }
}
