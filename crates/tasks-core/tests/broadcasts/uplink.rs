//! Uplinks: what a host sends to others at a time shares its bandwidth, piece by piece.

use core::time::Duration;
use std::collections::VecDeque;

/// The time of one copy over a link that has nothing else to do: 64 MiB at 1 Gbit/s.
pub(crate) const COPY: Duration = Duration::from_millis(512);

/// The pieces of a blob.
pub(crate) const PIECES: u32 = 16;

/// A copy on its way.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub(crate) number: u64,
    /// The host that gets it, in which of its lives.
    pub(crate) to: (usize, u64),
    pub(crate) left: u32,
}

/// What a host sends, in turns.
#[derive(Debug, Default)]
pub(crate) struct Uplink {
    pub(crate) transfers: VecDeque<Transfer>,
    pub(crate) is_sending: bool,
}

impl Uplink {
    /// Begins another one. Returns whether the link was idle.
    pub(crate) fn begin(&mut self, transfer: Transfer) -> bool {
        self.transfers.push_back(transfer);
        !core::mem::replace(&mut self.is_sending, true)
    }

    /// A piece was sent. Returns the transfer that has ended by that, and whether there is more to
    /// send.
    pub(crate) fn sent(&mut self) -> (Option<Transfer>, bool) {
        let mut ended = None;
        if let Some(mut transfer) = self.transfers.pop_front() {
            transfer.left -= 1;
            if transfer.left == 0 {
                ended = Some(transfer);
            } else {
                self.transfers.push_back(transfer);
            }
        }
        self.is_sending = !self.transfers.is_empty();
        (ended, self.is_sending)
    }
}
