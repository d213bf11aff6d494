//! What a hook tells of a node.

use clap::ValueEnum;
use serde::Serialize;
use tidings_control::Change;

/// What has happened to a node, or to the observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// It was declared dead
    Dead,
    /// It was dead or had left, and is back
    Back,
    /// It left
    Left,
    /// It is new
    Joined,
    /// It has begun a later incarnation
    Restarted,
    /// Nothing was heard of it for long, and it is forgotten
    Forgotten,
    /// It does not answer
    Suspected,
    /// It was suspected and answers
    Cleared,
    /// The observer knows no other node that is alive, for five seconds
    Alone,
    /// The observer was alone and is no more
    Accompanied,
    /// The condition of --when holds for it, and did not before
    Met,
    /// It held, and no longer does
    Unmet,
}

impl Kind {
    /// All of them that the environment of a program names.
    pub(super) fn all() -> &'static [Self] {
        Self::value_variants()
    }

    /// Whether it is about the readings of a node, not about its state.
    pub(super) fn is_of_readings(self) -> bool {
        matches!(self, Self::Met | Self::Unmet)
    }

    /// The event of a notice that is about a node.
    pub(super) fn of(change: Change) -> Option<Self> {
        Some(match change {
            Change::Joined => Self::Joined,
            Change::Suspected => Self::Suspected,
            Change::Cleared => Self::Cleared,
            Change::Dead => Self::Dead,
            Change::Back => Self::Back,
            Change::Left => Self::Left,
            Change::Restarted => Self::Restarted,
            Change::Forgotten => Self::Forgotten,
            Change::Missed | Change::Other => return None,
        })
    }

    /// The environment variable with the nodes of this event.
    pub(super) fn variable(self) -> String {
        let name = self.to_possible_value().map(|value| value.get_name().to_ascii_uppercase());
        format!("TIDINGS_{}", name.unwrap_or_default())
    }
}

/// One line of a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Event {
    /// What has happened.
    #[serde(rename = "event")]
    pub(super) kind: Kind,
    /// To which node.
    pub(super) name: String,
    /// The node whose agent has noticed it.
    pub(super) observer: String,
    /// In which of its incarnations; 0 where that is not known.
    pub(super) incarnation: u32,
    /// When it was noticed, by the observer's wall clock, in milliseconds since 1970.
    pub(super) time_ms: u64,
    /// How many events of this node have come together in this one.
    pub(super) changes: u32,
}
