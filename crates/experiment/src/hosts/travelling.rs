//! Packets on their way, by the time at which they arrive.
//!
//! Links differ in how long they are, so a packet that left later may be due earlier.
//!
//! Invariants: what leaves first arrives first, of all that is due at one time; so packets of a
//! link keep their order, since all of them travel equally long. There are [`ROOM`] at most.

use std::collections::BTreeMap;
use std::time::Instant;

/// Packets that may travel at one time.
const ROOM: usize = 65_536;

/// A packet that travels.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Packet {
    /// The port at which it left.
    pub(super) from: usize,
    pub(super) content: Box<[u8]>,
}

/// All that travel.
#[derive(Debug, Default)]
pub(super) struct Travelling {
    packets: BTreeMap<(Instant, u64), Packet>,
    /// Numbers them.
    departed: u64,
}

impl Travelling {
    /// A packet leaves that is due then; one that finds no room is dropped.
    pub(super) fn depart(&mut self, due: Instant, from: usize, content: &[u8]) {
        if self.packets.len() < ROOM {
            self.departed += 1;
            let packet = Packet { from, content: content.into() };
            self.packets.insert((due, self.departed), packet);
        }
    }

    /// When the next one arrives.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.packets.first_key_value().map(|((due, _), _)| *due)
    }

    /// The next one, if it is due by now.
    pub(super) fn arrived(&mut self, now: Instant) -> Option<Packet> {
        self.next_due().filter(|due| *due <= now)?;
        self.packets.pop_first().map(|(_, packet)| packet)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn all_by(travelling: &mut Travelling, now: Instant) -> Vec<(usize, u8)> {
        std::iter::from_fn(|| travelling.arrived(now))
            .map(|own| (own.from, own.content[0]))
            .collect()
    }

    #[test]
    fn a_short_link_is_not_behind_a_long_one_and_each_keeps_its_order() {
        let (mut travelling, begin) = (Travelling::default(), Instant::now());
        for number in 0..3 {
            travelling.depart(begin + 5 * MILLISECOND, 0, &[number]);
            travelling.depart(begin + MILLISECOND, 2, &[number]);
        }
        assert_eq!(travelling.next_due(), Some(begin + MILLISECOND));
        assert_eq!(travelling.arrived(begin), None, "no packet is early");
        let early = all_by(&mut travelling, begin + 4 * MILLISECOND);
        assert_eq!(early, [(2, 0), (2, 1), (2, 2)]);
        assert_eq!(travelling.next_due(), Some(begin + 5 * MILLISECOND));
        assert_eq!(all_by(&mut travelling, begin + 5 * MILLISECOND), [(0, 0), (0, 1), (0, 2)]);
        assert_eq!(travelling.next_due(), None);
    }

    #[test]
    fn what_finds_no_room_is_dropped_and_the_rest_arrives() {
        let (mut travelling, begin) = (Travelling::default(), Instant::now());
        (0..ROOM + 2).for_each(|_| travelling.depart(begin, 0, &[7]));
        assert_eq!(all_by(&mut travelling, begin).len(), ROOM);
    }
}
