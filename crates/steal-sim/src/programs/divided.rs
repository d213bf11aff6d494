//! Lists that tasks divide: a task has a range of a list, and leaves one half to a task of its own
//! until one entry is left. So a list is a program that spawns, by either policy.
//!
//! Help first, a task spawns both halves and ends. Work first, the left half runs next, and the
//! task goes on with the right one.

use std::ops::Range;

use tidings_steal::{Done, Frame};

use super::Program;

/// What a task takes that divides a range, and one with an empty entry.
const LEAST_NS: u64 = 1000;

/// What becomes of a child.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// It waits in the queue.
    HelpFirst,
    /// It runs next.
    WorkFirst,
}

/// A list of entries, in blocks of the same number for each worker.
#[derive(Clone, Debug)]
pub struct Divided {
    /// What all entries before one take, and at the end what all do.
    before_ns: Vec<u64>,
    workers: u32,
    order: Order,
}

impl Divided {
    /// Of entries with these costs.
    pub fn new(costs_ns: &[u64], workers: u32, order: Order) -> Self {
        let mut before_ns = vec![0];
        let mut sum = 0;
        before_ns.extend(costs_ns.iter().map(|cost| {
            sum += LEAST_NS.max(*cost);
            sum
        }));
        Self { before_ns, workers, order }
    }

    fn work_ns(&self, range: &Range<u32>) -> u64 {
        self.before_ns[range.end as usize] - self.before_ns[range.start as usize]
    }

    fn frame(&self, range: &Range<u32>) -> Frame {
        let mut state = [0; 8];
        state[..4].copy_from_slice(&range.start.to_le_bytes());
        state[4..].copy_from_slice(&range.end.to_le_bytes());
        Frame::new(0, self.work_ns(range), &state).expect("eight bytes fit any slot")
    }
}

fn range_of(frame: &Frame) -> Option<Range<u32>> {
    let (start, rest) = frame.state.bytes().split_first_chunk()?;
    Some(u32::from_le_bytes(*start)..u32::from_le_bytes(*rest.first_chunk()?))
}

impl Program for Divided {
    fn tasks(&self, worker: u32, _iteration: u32) -> Vec<Frame> {
        let (entries, workers) = (self.listed() as u64, u64::from(self.workers));
        let begin = |worker: u64| (worker * entries / workers) as u32;
        let range = begin(worker.into())..begin(u64::from(worker) + 1);
        if range.is_empty() { Vec::new() } else { vec![self.frame(&range)] }
    }

    fn cost_ns(&self, frame: &Frame, _iteration: u32) -> i64 {
        let own = self.number(frame).map(|entry| entry as u32..entry as u32 + 1);
        own.map_or(LEAST_NS, |entry| self.work_ns(&entry)) as i64
    }

    fn run(&mut self, frame: &Frame, spawn: &mut dyn FnMut(Frame)) -> Done {
        let Some(range) = range_of(frame).filter(|range| range.len() > 1) else {
            return Done::Nothing;
        };
        let middle = u32::midpoint(range.start, range.end);
        let [one, other] = [range.start..middle, middle..range.end].map(|half| self.frame(&half));
        match self.order {
            Order::HelpFirst => {
                spawn(other);
                spawn(one);
                Done::Nothing
            }
            Order::WorkFirst => Done::ChildFirst { child: one, then: other },
        }
    }

    fn number(&self, frame: &Frame) -> Option<usize> {
        let range = range_of(frame).filter(|range| range.len() == 1)?;
        Some(range.start as usize)
    }

    fn listed(&self) -> usize {
        self.before_ns.len() - 1
    }
}
