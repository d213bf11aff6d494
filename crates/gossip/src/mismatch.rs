//! Mismatches: nodes that drop each other's datagrams, since they are configured differently.
//!
//! A node with another key, cluster name or payload size understands nobody, and nobody
//! understands it. Both sides can know: who drops a datagram notes where it came from and why, and
//! says so to its sender by a [reject](crate::wire::reject).
//!
//! Nothing here is authentic. Addresses can be forged, and so can rejects by who sees the datagrams
//! pass. So a mismatch is shown and logged, and nothing else follows from it.
//!
//! Invariants: the table holds at most [`ROWS`] rows; the one that is silent for longest gives way.
//! Of what is new about a row at most one event comes within [`SAID_EVERY`].

use core::time::Duration;

use tidings_primitives::time::Instant;

use crate::address::Address;
use crate::entry::NodeId;

/// Rows of the table.
pub const ROWS: usize = 16;
/// How long a mismatch counts as present after the last datagram that shows it.
pub const PRESENT: Duration = Duration::from_secs(60);
/// How long after an event about a row the next one comes, if the mismatch goes on.
pub const SAID_EVERY: Duration = Duration::from_secs(600);

/// What differs between two nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Difference {
    /// The version of the format.
    Version = 1,
    /// The cluster's name, or the colony.
    Cluster = 2,
    /// The key: it is not on the ring of who drops.
    Key = 3,
    /// The size of the payloads, or their schema.
    Payload = 4,
    /// The roster of who drops does not name the sender.
    Roster = 5,
    /// Both have the same name.
    Name = 6,
    /// The clocks: the sender's incarnation lies too far ahead.
    Clock = 7,
    /// The seal does not hold: damaged on the way, forged, or another key with the same number.
    Seal = 8,
}

impl Difference {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Version,
        Self::Cluster,
        Self::Key,
        Self::Payload,
        Self::Roster,
        Self::Name,
        Self::Clock,
        Self::Seal,
    ];

    /// The one with this number on the wire.
    pub(crate) fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|one| *one as u8 == number)
    }

    /// The word for it in reports and metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Version => "version",
            Self::Cluster => "cluster",
            Self::Key => "key",
            Self::Payload => "payload",
            Self::Roster => "roster",
            Self::Name => "name",
            Self::Clock => "clock",
            Self::Seal => "seal",
        }
    }
}

/// Who drops the datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// This node drops what comes from there.
    Here,
    /// They say that they drop what comes from here.
    There,
}

/// A mismatch with another node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// Where datagrams came from.
    pub address: Address,
    /// What differs.
    pub difference: Difference,
    /// Who drops.
    pub side: Side,
    /// The id that the sender gave itself, if it could be read. Not authentic.
    pub id: Option<NodeId>,
    /// Datagrams that show it: those dropped, or rejects that came.
    pub count: u64,
    /// When the last one came.
    pub last: Instant,
    /// When the last event about it was made.
    said: Instant,
    /// When the last reject was sent to there.
    pub(crate) rejected: Option<Instant>,
}

/// The table.
#[derive(Debug, Default)]
pub(crate) struct Mismatches(Vec<Mismatch>);

impl Mismatches {
    /// Notes one more datagram that shows a mismatch; returns its row, and whether it deserves an
    /// event.
    pub(crate) fn note(
        &mut self,
        now: Instant,
        address: Address,
        (difference, side): (Difference, Side),
        id: Option<NodeId>,
    ) -> (&mut Mismatch, bool) {
        let is_same =
            |row: &Mismatch| (row.address, row.difference, row.side) == (address, difference, side);
        if let Some(at) = self.0.iter().position(is_same) {
            let row = &mut self.0[at];
            let again = now.saturating_since(row.said) >= SAID_EVERY;
            (row.count, row.last, row.id) = (row.count + 1, now, id.or(row.id));
            if again {
                row.said = now;
            }
            return (row, again);
        }
        if self.0.len() == ROWS {
            let oldest = (0..ROWS).min_by_key(|&at| self.0[at].last).unwrap_or_default();
            self.0.swap_remove(oldest);
        }
        self.0.push(Mismatch {
            address,
            difference,
            side,
            id,
            count: 1,
            last: now,
            said: now,
            rejected: None,
        });
        let at = self.0.len() - 1;
        (&mut self.0[at], true)
    }

    /// Those that are present.
    pub(crate) fn present(&self, now: Instant) -> impl Iterator<Item = &Mismatch> {
        self.0.iter().filter(move |row| now.saturating_since(row.last) < PRESENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u8) -> Address {
        Address::from_bytes(&[number]).expect("one byte is an address")
    }

    const KEY: (Difference, Side) = (Difference::Key, Side::Here);

    #[test]
    fn a_row_is_counted_and_deserves_an_event_now_and_then() {
        let (mut table, now) = (Mismatches::default(), Instant::EPOCH);
        let (row, event) = table.note(now, address(1), KEY, None);
        assert!(row.count == 1 && event);
        let (row, event) = table.note(now, address(1), KEY, Some(NodeId(3)));
        assert_eq!((row.count, row.id, event), (2, Some(NodeId(3)), false));
        let there = (Difference::Key, Side::There);
        assert!(table.note(now, address(1), there, None).1, "the other side is another row");
        assert!(table.note(now + SAID_EVERY, address(1), KEY, None).1, "it goes on");
        assert_eq!(table.present(now + SAID_EVERY).count(), 1, "the other one is over");
    }

    #[test]
    fn the_row_that_is_silent_for_longest_gives_way() {
        let mut table = Mismatches::default();
        for number in 0..=ROWS as u8 {
            let now = Instant::from_micros(i64::from(number));
            table.note(now, address(number), KEY, None);
        }
        let mut held: Vec<u8> =
            table.present(Instant::EPOCH).map(|row| row.address.as_bytes()[0]).collect();
        held.sort_unstable();
        assert_eq!(held, (1..=ROWS as u8).collect::<Vec<_>>());
    }

    #[test]
    fn each_difference_has_its_number_and_word() {
        for one in Difference::ALL {
            assert_eq!(Difference::of_number(one as u8), Some(one));
            assert!(!one.word().is_empty());
        }
        assert_eq!(Difference::of_number(0), None);
        assert_eq!(Difference::of_number(9), None);
    }
}
