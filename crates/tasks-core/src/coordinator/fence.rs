//! The fence: a commit of which nothing is known happens before all is read again, or never.
//!
//! The answer to a commit may get lost while the commit is still on its way: it may happen after
//! this coordinator has read what its part holds, and then a new task would lie in the store of
//! which nobody knows. So each commit requires the fence as it was written last, and before all is
//! read again it is written anew: whatever comes later than that fails.
//!
//! It is a key of its own, and not the role, since a role that is written means that another
//! coordinator has it.

use crate::keys;
use crate::transaction::{CommitError, Expect, Revision, Transaction};

use super::Coordinator;
use super::commit::{FULL, LOST};
use super::fencing::Fencing;
use super::ticket::Ticket;

impl Coordinator {
    /// The transaction that writes it.
    pub(super) fn poll_fence(&mut self) -> Option<(Ticket, Transaction)> {
        if self.fencing != Fencing::Wanted || !self.in_flight.is_empty() {
            return None;
        }
        let (part, mut transaction) = (self.settings.part, Transaction::default());
        transaction.expect(keys::role(part), Expect::At(self.settings.role));
        transaction.put(keys::fence(part), self.settings.epoch.0.to_be_bytes());
        let ticket = self.next_ticket();
        self.fencing = Fencing::Sent(ticket);
        Some((ticket, transaction))
    }

    /// The store's answer to that.
    pub(super) fn fenced(&mut self, answer: &Result<Revision, CommitError>) {
        self.fencing = Fencing::Wanted;
        match answer {
            Ok(revision) => (self.fence, self.fencing) = (*revision, Fencing::No),
            Err(CommitError::Conflict { .. }) => self.depose(Vec::new()),
            Err(CommitError::Unknown) => {}
            Err(CommitError::Full(_)) => self.hold_until = Some(self.now + FULL),
            Err(CommitError::Lost(_) | CommitError::Invalid(_)) => {
                self.hold_until = Some(self.now + LOST);
            }
        }
    }
}
