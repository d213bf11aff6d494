//! Locations: where tasks are that were stolen, as those who gave them say.
//!
//! Each task has a *home*, the worker that began with it, and this worker's backup, the next one in
//! the ring. Who gives a task to a thief tells both. So when workers die, the home, or its backup
//! if the home is dead, knows which of its tasks were with them.
//!
//! A task carries how often it was given, and notices may overtake each other: the one with the
//! larger number is the later one. A task that is started again has a larger number than all of the
//! time before.

use std::collections::BTreeMap;
use std::ops::Range;

use tidings_steal::{Frame, TooLarge};

/// Versions between one start of a task and the next.
const STARTS: u32 = 1 << 12;

/// Starts between one round and the next.
const ROUNDS: u32 = 1 << 8;

/// A task on its way: its number, and how often it was given.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ticket {
    /// The task.
    pub task: u64,
    /// The number of its last move.
    pub version: u32,
}

impl Ticket {
    /// It, as a worker keeps it.
    ///
    /// # Errors
    /// Never: twelve bytes fit.
    pub fn frame(self, work_ns: u64) -> Result<Frame, TooLarge> {
        let mut state = [0; 12];
        state[..8].copy_from_slice(&self.task.to_le_bytes());
        state[8..].copy_from_slice(&self.version.to_le_bytes());
        Frame::new(0, work_ns, &state)
    }

    /// The ticket of a frame, if it is one.
    pub fn of(frame: &Frame) -> Option<Self> {
        let (task, version) = frame.state.bytes().split_first_chunk::<8>()?;
        let version = <[u8; 4]>::try_from(version).ok()?;
        Some(Self { task: u64::from_le_bytes(*task), version: u32::from_le_bytes(version) })
    }

    /// Whether the task was started again: what it began with has less than one start.
    pub fn is_again(self) -> bool {
        self.version >= STARTS
    }

    /// It after one more move.
    #[must_use]
    pub fn moved(self) -> Self {
        Self { version: self.version.wrapping_add(1), ..self }
    }
}

/// Where a task is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Location {
    /// With this worker.
    pub worker: u32,
    /// Since this move.
    pub version: u32,
}

/// Where tasks are that are not where they began.
#[derive(Debug, Default)]
pub struct Locations(BTreeMap<u64, Location>);

impl Locations {
    /// Nothing has moved.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// A task is there, unless something later is known.
    pub fn note(&mut self, ticket: Ticket, worker: u32) {
        let later = Location { worker, version: ticket.version };
        let known = self.0.entry(ticket.task).or_insert(later);
        if known.version < later.version {
            *known = later;
        }
    }

    /// Where a task is, if it has moved.
    pub fn get(&self, task: u64) -> Option<Location> {
        self.0.get(&task).copied()
    }

    /// The tasks of these that have moved.
    pub fn of(&self, tasks: Range<u64>) -> impl Iterator<Item = (u64, Location)> + '_ {
        self.0.range(tasks).map(|(task, location)| (*task, *location))
    }

    /// The ticket with which a task is started again in a round; rounds are numbered from 0. Who
    /// starts it need not know of its earlier starts.
    pub fn restart(&self, task: u64, round: u32) -> Ticket {
        let version = self.get(task).map_or(0, |known| known.version);
        let start = (version / STARTS + 1).max(round.wrapping_mul(ROUNDS));
        Ticket { task, version: start.wrapping_mul(STARTS) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_comes_back_from_its_frame() {
        let ticket = Ticket { task: u64::MAX - 1, version: 7 };
        assert_eq!(Ticket::of(&ticket.frame(5).unwrap()), Some(ticket));
        assert_eq!(Ticket::of(&Frame::new(0, 5, &[0; 11]).unwrap()), None);
        assert_eq!(Ticket::of(&Frame::new(0, 5, &[0; 13]).unwrap()), None);
    }

    /// From the home to 3, then to 5, then started again at 1: whatever arrives in which order.
    #[test]
    fn the_last_move_counts_in_whatever_order_notices_come() {
        let ticket = Ticket { task: 9, version: 0 };
        let again = Ticket { task: 9, version: STARTS };
        let moves = [(ticket.moved(), 3), (ticket.moved().moved(), 5), (again, 1)];
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut locations = Locations::default();
            for at in order {
                let (ticket, worker) = moves[at];
                locations.note(ticket, worker);
            }
            assert_eq!(locations.get(9), Some(Location { worker: 1, version: STARTS }));
            assert_eq!(locations.restart(9, 0).version, 2 * STARTS);
            assert!(locations.restart(9, 0).is_again() && !ticket.moved().is_again());
        }
    }

    #[test]
    fn tasks_of_a_home_are_found_by_their_numbers() {
        let mut locations = Locations::default();
        for task in [1, 4, 6, 9] {
            locations.note(Ticket { task, version: 1 }, 2);
        }
        let found: Vec<u64> = locations.of(4..9).map(|(task, _)| task).collect();
        assert_eq!(found, [4, 6]);
        assert_eq!(locations.restart(5, 0), Ticket { task: 5, version: STARTS });
        assert_eq!(locations.restart(4, 1), Ticket { task: 4, version: ROUNDS * STARTS });
    }
}
