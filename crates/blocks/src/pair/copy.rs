//! One copy of a part: its state, and the answers that may have to be given again.

use std::collections::BTreeMap;

use minicbor::{Decode, Encode};

use super::said::{Answered, Logged, Stand};
use crate::id::Node;

/// What a part holds. Its calls are applied in the same order to each copy, so what they do may
/// depend on the state alone.
pub trait State: Default + Send + 'static {
    /// A call.
    type Op: Encode<()> + for<'b> Decode<'b, ()> + Clone + Send + 'static;
    /// What it returns.
    type Answer: Encode<()> + for<'b> Decode<'b, ()> + Clone + Send + 'static;

    /// Does what a call says.
    fn apply(&mut self, op: &Self::Op) -> Self::Answer;

    /// Whether a call changes nothing, so that it can be done twice.
    fn is_read(op: &Self::Op) -> bool;

    /// What was later than this may be lost. Returns whether it is something else from now on, for
    /// a state that says nothing rather than what is older.
    fn lose(&mut self) -> bool {
        false
    }

    /// All of it, in pieces of at most 256 KiB and one thing more.
    fn pages(&self) -> Vec<Vec<u8>>;

    /// Adds a piece to what is there; `false` if it is none.
    fn restore(&mut self, page: &[u8]) -> bool;
}

/// A copy.
pub(super) struct Copy<S: State> {
    pub(super) stand: Stand,
    pub(super) state: S,
    answered: BTreeMap<Node, BTreeMap<u64, S::Answer>>,
}

impl<S: State> Default for Copy<S> {
    fn default() -> Self {
        Self { stand: Stand::default(), state: S::default(), answered: BTreeMap::new() }
    }
}

impl<S: State> Copy<S> {
    /// The answer that was given to a call already, if it was applied.
    pub(super) fn answer(&self, client: Node, number: u64) -> Option<&S::Answer> {
        self.answered.get(&client)?.get(&number)
    }

    /// Applies the next call.
    pub(super) fn apply(&mut self, logged: &Logged<S::Op>) -> S::Answer {
        self.stand.count = logged.count;
        let answer = self.state.apply(&logged.op);
        if !S::is_read(&logged.op) {
            let answered = self.answered.entry(logged.client).or_default();
            *answered = answered.split_off(&logged.below);
            answered.insert(logged.number, answer.clone());
        }
        answer
    }

    /// Nobody asks for the answers of these any more.
    pub(super) fn forget(&mut self, is_there: impl Fn(Node) -> bool) {
        self.answered.retain(|client, _| is_there(*client));
    }

    /// What another copy needs besides the state.
    pub(super) fn answered(&self) -> Answered<S::Answer> {
        let all = self.answered.iter();
        let of = |answers: &BTreeMap<u64, S::Answer>| {
            answers.iter().map(|(number, answer)| (*number, answer.clone())).collect()
        };
        all.map(|(client, answers)| (*client, of(answers))).collect()
    }

    /// A copy of what another process has sent.
    pub(super) fn of(state: S, stand: Stand, answered: Answered<S::Answer>) -> Self {
        let answered = answered.into_iter();
        let answered = answered.map(|(client, all)| (client, all.into_iter().collect())).collect();
        Self { stand, state, answered }
    }
}
