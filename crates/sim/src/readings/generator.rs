//! A generator: readings of many nodes for a simulation, drawn from recordings.
//!
//! Each node replays pieces of recordings, one behind the other: the stationary bootstrap of
//! Politis and Romano (J. Am. Stat. Assoc. 89, 1994). A piece begins at a place drawn uniformly and
//! goes on for a geometrically distributed number of units, around the end of its recording. Within
//! a piece all readings are those of one machine at one time, so that what they have to do with
//! each other and with their past is kept, and nothing is assumed about their distributions. What
//! a node does (a *job*) lasts for many pieces, then it draws another recording.
//!
//! What is not kept: values that no recording has; the size of the machine, which is that of the
//! recordings; dependence over more than a piece; and where two pieces meet readings jump, once in
//! [`PIECE_UNITS`] on average. Uptime is a node's own and grows with time.
//!
//! A unit of a node costs an increment; draws come once a piece. Invariant: what a node does is a
//! function of recordings, seed and the node's number, whatever other nodes are asked for.

use tidings_gossip::payload::{NodeState, Numbers, Reading};

use super::recording::Recording;
use crate::chance::{Chance, Purpose, stream};

/// Units of a piece, on average: two minutes at 256 ms.
pub const PIECE_UNITS: f64 = 512.0;

/// Pieces of a job, on average.
const JOB_PIECES: f64 = 8.0;

/// The longest that a node can be up when a run begins: 100 days.
const MAX_UPTIME_S: f64 = 100.0 * 86_400.0;

/// Recordings to draw from.
#[derive(Debug, Clone, Copy)]
pub struct Generator<'a> {
    recordings: &'a [Recording],
    seed: u64,
}

/// One node's readings, unit by unit.
#[derive(Debug, Clone)]
pub struct Machine<'a> {
    recordings: &'a [Recording],
    recording: &'a Recording,
    at: usize,
    left: u32,
    uptime_s: f64,
    chance: Chance,
}

impl<'a> Generator<'a> {
    /// A generator of what `recordings` have; `None` without a recording.
    pub fn new(recordings: &'a [Recording], seed: u64) -> Option<Self> {
        (!recordings.is_empty()).then_some(Self { recordings, seed })
    }

    /// A node, at its first unit.
    pub fn machine(&self, node: u32) -> Machine<'a> {
        let mut chance = stream(self.seed, Purpose::Readings(node));
        let mut machine = Machine {
            recordings: self.recordings,
            recording: &self.recordings[chance.below(self.recordings.len())],
            at: 0,
            left: 0,
            uptime_s: chance.real() * MAX_UPTIME_S,
            chance,
        };
        machine.begin_piece();
        machine
    }
}

impl Machine<'_> {
    /// Goes on by a unit of time.
    #[inline]
    pub fn advance(&mut self) {
        self.uptime_s += self.recording.unit_s();
        self.at += 1;
        if self.at == self.recording.rows().len() {
            self.at = 0;
        }
        match self.left {
            0 => self.draw(),
            left => self.left = left - 1,
        }
    }

    /// Its readings at this unit.
    #[inline]
    pub fn numbers(&self) -> Numbers {
        let mut numbers = self.recording.rows()[self.at].numbers;
        if let Some(uptime) = &mut numbers[Reading::Uptime.bit()] {
            *uptime = self.uptime_s.floor();
        }
        numbers
    }

    /// The same as a state, which a payload is made of.
    pub fn state(&self) -> NodeState {
        NodeState::of_numbers(&self.numbers())
    }

    #[cold]
    fn draw(&mut self) {
        if self.chance.happens(1.0 / JOB_PIECES) {
            self.recording = &self.recordings[self.chance.below(self.recordings.len())];
        }
        self.begin_piece();
    }

    fn begin_piece(&mut self) {
        self.at = self.chance.below(self.recording.rows().len());
        self.left = self.chance.exponential(PIECE_UNITS) as u32;
    }
}

#[cfg(test)]
mod tests {
    use tidings_gossip::payload::READINGS;

    use super::*;
    use crate::readings::recording::Row;

    /// Two recordings whose loads say which one and which row they are.
    fn recordings() -> Vec<Recording> {
        let row = |kind: u32, at: u32| {
            let mut numbers = [None; READINGS];
            numbers[Reading::Load1.bit()] = Some(f64::from(1_000 * kind + at));
            numbers[Reading::Uptime.bit()] = Some(1.0);
            Row { sequence: at + 1, numbers }
        };
        let rows = |kind| (0..600).map(|at| row(kind, at)).collect();
        (1..3).map(|kind| Recording::new(250, rows(kind)).expect("it is sound")).collect()
    }

    fn loads(seed: u64, node: u32, units: usize) -> Vec<u32> {
        let recordings = recordings();
        let generator = Generator::new(&recordings, seed).expect("there are two");
        let mut machine = generator.machine(node);
        let next = |_| {
            machine.advance();
            machine.state().load1.expect("recorded") as u32
        };
        (0..units).map(next).collect()
    }

    #[test]
    fn a_node_is_a_function_of_seed_and_number() {
        assert_eq!(loads(1, 7, 5_000), loads(1, 7, 5_000));
        assert_ne!(loads(1, 7, 5_000), loads(1, 8, 5_000));
        assert_ne!(loads(1, 7, 5_000), loads(2, 7, 5_000));
    }

    /// Null value: a piece ends after 512 units on average, geometrically, so of 300,000 units some
    /// 585 begin one, with a standard deviation of 24; six of them are rarer than 1 in 10⁸. The
    /// seed is fixed.
    #[test]
    fn pieces_are_as_long_as_stated_and_of_all_recordings() {
        let loads = loads(3, 0, 300_000);
        let follows = |pair: &&[u32]| {
            pair[1] == pair[0] + 1 || (pair[0] % 1_000 == 599 && pair[1] == pair[0] - 599)
        };
        let jumps = loads.len() - 1 - loads.windows(2).filter(follows).count();
        assert!((440..730).contains(&jumps), "{jumps}");
        for kind in [1, 2] {
            let of_kind = loads.iter().filter(|&load| load / 1_000 == kind).count();
            assert!((60_000..240_000).contains(&of_kind), "{of_kind}");
        }
    }

    #[test]
    fn uptime_grows_with_time() {
        let recordings = recordings();
        let mut machine = Generator::new(&recordings, 1).expect("there are two").machine(0);
        let before = machine.state().uptime_s.expect("recorded");
        (0..40_000).for_each(|_| machine.advance());
        assert_eq!(machine.state().uptime_s, Some(before + 10_000));
    }

    #[test]
    fn without_a_recording_there_is_no_generator() {
        assert!(Generator::new(&[], 1).is_none());
    }
}
