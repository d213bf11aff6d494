//! Tickets: the numbers of transactions and reads.

/// A transaction or read on its way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ticket(pub(super) u64);
