//! What a reader gets: one node's entry, whole.

use std::time::Duration;

#[cfg(feature = "readings")]
use tidings_gossip::payload::{NodeState, PayloadError};

use crate::layout::{self, halves};

/// What the writer's node knows about a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum State {
    /// A member of which no entry has arrived yet, or none is kept.
    Unheard,
    /// Its newest entry is an ordinary one; the age says how old it is.
    Alive,
    /// It is silent, and has not answered probes yet.
    Suspected,
    /// It was declared dead.
    Dead,
    /// It left.
    Left,
}

impl State {
    /// The number that stands for it in a slot; 0 is a slot without a node.
    pub const fn code(self) -> u32 {
        match self {
            Self::Unheard => 1,
            Self::Alive => 2,
            Self::Suspected => 3,
            Self::Dead => 4,
            Self::Left => 5,
        }
    }

    /// The state that a number stands for.
    pub const fn of_code(code: u32) -> Option<Self> {
        Some(match code {
            1 => Self::Unheard,
            2 => Self::Alive,
            3 => Self::Suspected,
            4 => Self::Dead,
            5 => Self::Left,
            _ => return None,
        })
    }

    /// Its name, as the command line prints it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unheard => "unheard",
            Self::Alive => "alive",
            Self::Suspected => "suspected",
            Self::Dead => "dead",
            Self::Left => "left",
        }
    }
}

/// One node's entry, as it was at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// What is known of the node.
    pub state: State,
    /// The node's id.
    pub node_id: u32,
    /// Its incarnation; 0 if unheard.
    pub incarnation: u32,
    /// Its sequence; 0 if unheard.
    pub sequence: u32,
    /// When the entry was made: nanoseconds on this machine's `CLOCK_MONOTONIC`, the same for all
    /// processes. Meaningless if unheard.
    pub birth_ns: i64,
    /// The node's payload, as long as all payloads of the cluster.
    pub payload: Vec<u8>,
}

impl Entry {
    /// An entry to be filled by [`Board::entry_into`](crate::Board::entry_into).
    pub fn empty() -> Self {
        Self {
            state: State::Unheard,
            node_id: 0,
            incarnation: 0,
            sequence: 0,
            birth_ns: 0,
            payload: Vec::new(),
        }
    }

    /// What the payload says: load, memory and the like, each with its unit in its name, and what
    /// users publish. `None` if the node was not heard.
    ///
    /// # Errors
    /// If the payload is not that of an agent, or breaks a rule of its schema.
    #[cfg(feature = "readings")]
    pub fn readings(&self) -> Result<Option<NodeState>, PayloadError> {
        let heard = self.state != State::Unheard;
        heard.then(|| NodeState::decode(&self.payload)).transpose()
    }

    /// How old the entry is at `now_ns`, see [`now_ns`](crate::now_ns); `None` if unheard.
    pub fn age(&self, now_ns: i64) -> Option<Duration> {
        age(self.state, self.birth_ns, now_ns)
    }

    /// Reads the words of a slot's head; `false` if the slot has no node, `None` if no writer
    /// writes such a state.
    #[inline]
    pub(crate) fn take_head(&mut self, head: &Head) -> Option<bool> {
        let (code, node_id) = halves(head.state);
        if code == 0 {
            return Some(false);
        }
        self.state = State::of_code(code)?;
        self.node_id = node_id;
        (self.incarnation, self.sequence) = halves(head.stamp);
        self.birth_ns = head.birth_ns as i64;
        Some(true)
    }
}

pub(crate) fn age(state: State, birth_ns: i64, now_ns: i64) -> Option<Duration> {
    let age_ns = u64::try_from(now_ns.saturating_sub(birth_ns)).unwrap_or(0);
    (state != State::Unheard).then(|| Duration::from_nanos(age_ns))
}

/// A slot's head as words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) state: u64,
    pub(crate) stamp: u64,
    pub(crate) birth_ns: u64,
}

impl Head {
    /// Reads the head of a slot; meaningless unless its version agrees.
    #[inline]
    pub(crate) fn read<W: crate::sequence::Word>(slot: &[W]) -> Self {
        Self {
            state: slot[layout::slot::STATE].get(),
            stamp: slot[layout::slot::STAMP].get(),
            birth_ns: slot[layout::slot::BIRTH_NS].get(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_states_stand_for_each_other() {
        let states: Vec<State> = (0..9).filter_map(State::of_code).collect();
        assert_eq!(states.len(), 5);
        assert!(states.iter().all(|state| State::of_code(state.code()) == Some(*state)));
    }

    #[cfg(feature = "readings")]
    #[test]
    fn an_entry_has_the_readings_of_its_payload() {
        let mut state = NodeState { cores: Some(16), load1: Some(0.5), ..NodeState::default() };
        state.user.insert("gpu".to_owned(), "3".to_owned());
        let mut payload = vec![0; 64];
        state.encode(&mut payload).expect("it fits");
        let entry = Entry { state: State::Alive, payload, ..Entry::empty() };
        assert_eq!(entry.readings(), Ok(Some(state)));
        assert_eq!(Entry { state: State::Unheard, ..entry.clone() }.readings(), Ok(None));
        let short = Entry { payload: vec![0; 8], ..entry };
        assert_eq!(short.readings(), Err(PayloadError::TooSmall { bytes: 8 }));
    }

    #[test]
    fn an_entry_born_in_the_future_has_no_age_yet() {
        let entry = Entry { state: State::Alive, birth_ns: 50, ..Entry::empty() };
        assert_eq!(entry.age(80), Some(Duration::from_nanos(30)));
        assert_eq!(entry.age(20), Some(Duration::ZERO));
        assert_eq!(Entry::empty().age(20), None);
    }
}
