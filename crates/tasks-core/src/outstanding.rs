//! Outstanding requests: what a worker or client has asked and was not answered yet.
//!
//! Connections break and coordinators die. Then all that is outstanding is sent again, in its
//! order, to whoever coordinates next: every request may be repeated. An answer that says
//! *elsewhere* leaves its request outstanding.

use std::collections::BTreeMap;

use crate::message::{Answer, Call, Refusal, Request};

/// The requests that were not answered yet.
#[derive(Debug, Default)]
pub struct Outstanding {
    requests: BTreeMap<Call, Request>,
    last: u64,
}

impl Outstanding {
    /// A number for a request that is not sent again.
    pub fn number(&mut self) -> Call {
        self.last += 1;
        Call(self.last)
    }

    /// A new request gets its number.
    pub fn add(&mut self, request: Request) -> Call {
        let call = self.number();
        self.requests.insert(call, request);
        call
    }

    /// An answer has come. Returns whether it ends the request: it does not if it is none of these,
    /// or has to be sent again to another coordinator.
    pub fn answered(&mut self, call: Call, answer: &Answer) -> bool {
        if matches!(answer, Answer::Refused(Refusal::Elsewhere)) {
            return false;
        }
        self.requests.remove(&call).is_some()
    }

    /// All of them, in their order.
    pub fn all(&self) -> impl Iterator<Item = (Call, &Request)> {
        self.requests.iter().map(|(&call, request)| (call, request))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_answered_is_sent_again() {
        let mut outstanding = Outstanding::default();
        let [first, second] = [(); 2].map(|()| outstanding.add(Request::Heartbeat));
        assert!(!outstanding.answered(first, &Answer::Refused(Refusal::Elsewhere)));
        assert!(outstanding.answered(second, &Answer::Done));
        assert!(!outstanding.answered(second, &Answer::Done));
        assert_eq!(outstanding.all().map(|(call, _)| call).collect::<Vec<_>>(), [first]);
        assert_ne!(outstanding.add(Request::Leave), second);
    }
}
