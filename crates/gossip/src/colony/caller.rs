//! Calls: what a representative has asked of other colonies, and not been answered yet.
//!
//! A call names a token that nobody else can know; an answer is taken only if it has the token of
//! an open call. A call that is not answered by the next look is made again to another address, a
//! few times; what is still open at the next round is forgotten.

use std::collections::VecDeque;

use super::id::ColonyId;
use crate::address::Address;

/// Calls open at a time, at most: a representative of more colonies leaves some for a unit.
const MAX_OPEN: usize = 64;
/// Calls made again after the first, at most.
pub const MAX_REPEATS: u8 = 3;
/// Addresses of members that a reply names, and that a push passes on.
pub const REPLY_CONTACTS: usize = 3;
/// Bytes by which an aggregate may have grown since the last one and still is answered at once.
pub const GROWTH_BYTES: usize = 24;

/// A call to be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Call {
    pub(crate) colony: ColonyId,
    pub(crate) to: Address,
    pub(crate) token: u64,
    /// How often it was made before.
    pub(crate) repeats: u8,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    call: Call,
    /// Whether it was there already when the node looked last.
    late: bool,
}

/// One node's calls.
#[derive(Default)]
pub(crate) struct Caller {
    due: VecDeque<Call>,
    open: Vec<Open>,
}

impl Caller {
    /// Begins a round: what is open from the last one is given up.
    pub(crate) fn begin(&mut self) {
        self.due.clear();
        self.open.clear();
    }

    /// Makes a call; `false` if too many are open.
    pub(crate) fn call(&mut self, call: Call) -> bool {
        let room = self.open.len() < MAX_OPEN;
        if room {
            self.due.push_back(call);
            self.open.push(Open { call, late: false });
        }
        room
    }

    /// The next call to be sent.
    pub(crate) fn next_due(&mut self) -> Option<Call> {
        self.due.pop_front()
    }

    /// A call that is late, and may be made once more: it is no longer open.
    pub(crate) fn next_late(&mut self) -> Option<Call> {
        while let Some(at) = self.open.iter().position(|open| open.late) {
            let Open { call, .. } = self.open.swap_remove(at);
            if call.repeats < MAX_REPEATS {
                return Some(call);
            }
        }
        None
    }

    /// Whether any call is open.
    pub(crate) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Ends a look: what is open now is late at the next one.
    pub(crate) fn looked(&mut self) {
        self.open.iter_mut().for_each(|open| open.late = true);
    }

    /// An answer with this token came from a member of `colony`; whether it was asked for.
    pub(crate) fn answered(&mut self, token: u64, colony: ColonyId) -> bool {
        let is_it = |open: &Open| (open.call.token, open.call.colony) == (token, colony);
        let found = self.open.iter().position(is_it);
        found.map(|at| self.open.swap_remove(at)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(token: u64, repeats: u8) -> Call {
        let to = Address::from_bytes(&[1]).expect("one byte is an address");
        Call { colony: ColonyId(5), to, token, repeats }
    }

    #[test]
    fn only_an_open_call_is_answered_and_once() {
        let mut caller = Caller::default();
        assert!(caller.call(call(7, 0)));
        assert_eq!(caller.next_due(), Some(call(7, 0)));
        assert!(!caller.answered(8, ColonyId(5)), "another token");
        assert!(!caller.answered(7, ColonyId(6)), "another colony");
        assert!(caller.answered(7, ColonyId(5)));
        assert!(!caller.answered(7, ColonyId(5)), "answered already");
    }

    #[test]
    fn late_calls_are_repeated_a_few_times_and_given_up_at_the_next_round() {
        let mut caller = Caller::default();
        caller.call(call(1, 0));
        assert_eq!(caller.next_late(), None, "it may still be answered");
        caller.looked();
        assert_eq!(caller.next_late(), Some(call(1, 0)));
        caller.call(call(2, MAX_REPEATS));
        caller.looked();
        assert_eq!(caller.next_late(), None, "often enough");
        caller.call(call(3, 0));
        caller.begin();
        assert_eq!((caller.next_due(), caller.answered(3, ColonyId(5))), (None, false));
        assert!((0..=MAX_OPEN).map(|n| caller.call(call(n as u64, 0))).any(|made| !made));
    }
}
