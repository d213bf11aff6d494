//! Whether the fence stands.

use super::ticket::Ticket;

/// Whether the fence is to be written. Nothing is read before it is, and it is written once nothing
/// else is on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fencing {
    /// It stands.
    No,
    /// It is to be written.
    Wanted,
    /// That is on its way.
    Sent(Ticket),
}

impl Fencing {
    /// Lets it be written.
    pub(super) fn want(&mut self) {
        *self = Self::Wanted;
    }

    /// Whether it stands.
    pub(super) fn is_done(self) -> bool {
        self == Self::No
    }

    /// Whether this is the commit that writes it.
    pub(super) fn is_sent(self, ticket: Ticket) -> bool {
        self == Self::Sent(ticket)
    }
}
