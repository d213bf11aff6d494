//! Random programs with finishes: what a task does follows from its number alone.
//!
//! A task of a depth may spawn children and go on (help first), let a child run first, or wait for
//! a task in a finish; what follows a finish checks that all below it are done. So a run on any
//! number of workers does what [`Expected`] says, and no finish ends early.

use std::collections::BTreeMap;

use tidings_primitives::chance::mix;
use tidings_steal::{Done, Frame};

use super::Program;

/// A random program.
#[derive(Clone, Debug)]
pub struct Random {
    seed: u64,
    depth: u8,
    /// Tasks that ran, by number, with how often.
    pub ran: BTreeMap<u64, u32>,
    /// For each finish, what has run below it.
    below: BTreeMap<u64, u64>,
    /// Finishes that ended before all below them had run.
    pub early: u64,
    /// Finishes that ended.
    pub ended: u64,
}

/// What a program does, found by running it in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Expected {
    /// Tasks.
    pub tasks: u64,
    /// Finishes.
    pub finishes: u64,
}

/// A task: its number, how deep below it may spawn, and the finishes around it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Task {
    number: u64,
    depth: u8,
    finishes: Vec<u64>,
}

/// What a task does.
enum Shape {
    Leaf,
    HelpFirst(u64),
    WorkFirst,
    Finish,
}

const CONTINUED: u32 = 1;
const FINISHED: u32 = 2;

impl Random {
    /// A program of this seed whose tasks spawn this deep.
    pub fn new(seed: u64, depth: u8) -> Self {
        let (ran, below) = (BTreeMap::new(), BTreeMap::new());
        Self { seed, depth, ran, below, early: 0, ended: 0 }
    }

    /// What a run has to do.
    pub fn expected(&self) -> Expected {
        let mut expected = Expected::default();
        let mut pending = vec![self.root()];
        while let Some(task) = pending.pop() {
            expected.tasks += 1;
            match self.shape(&task) {
                Shape::Leaf => {}
                Shape::HelpFirst(children) => {
                    pending.extend((0..children).map(|child| child_of(&task, child)));
                }
                Shape::WorkFirst => pending.push(child_of(&task, 0)),
                Shape::Finish => {
                    expected.finishes += 1;
                    pending.push(child_of(&task, 0));
                }
            }
        }
        expected
    }

    fn root(&self) -> Task {
        Task { number: mix(self.seed), depth: self.depth, finishes: Vec::new() }
    }

    fn shape(&self, task: &Task) -> Shape {
        let drawn = mix(task.number ^ self.seed.rotate_left(17));
        match drawn % 8 {
            _ if task.depth == 0 => Shape::Leaf,
            0 => Shape::Leaf,
            1..=4 => Shape::HelpFirst(1 + drawn / 8 % 4),
            5 => Shape::WorkFirst,
            _ => Shape::Finish,
        }
    }

    /// How many tasks there are below a finish.
    fn size_below(&self, task: &Task) -> u64 {
        let children = match self.shape(task) {
            Shape::Leaf => 0,
            Shape::HelpFirst(children) => children,
            Shape::WorkFirst | Shape::Finish => 1,
        };
        (0..children).map(|child| 1 + self.size_below(&child_of(task, child))).sum()
    }
}

fn child_of(task: &Task, child: u64) -> Task {
    let number = mix(task.number.wrapping_add(child).wrapping_mul(0x9E37_79B9));
    Task { number, depth: task.depth - 1, finishes: task.finishes.clone() }
}

fn frame_of(task: &Task) -> Frame {
    let mut state = task.number.to_le_bytes().to_vec();
    state.push(task.depth);
    state.extend(task.finishes.iter().flat_map(|finish| finish.to_le_bytes()));
    Frame::new(1, 5_000, &state).expect("a few finishes fit a slot")
}

fn task_of(frame: &Frame) -> Option<Task> {
    let (number, rest) = frame.state.bytes().split_first_chunk()?;
    let (depth, finishes) = rest.split_first()?;
    let finish = |bytes: &[u8]| bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let finishes = finishes.chunks(8).filter_map(finish).collect();
    Some(Task { number: u64::from_le_bytes(*number), depth: *depth, finishes })
}

impl Program for Random {
    fn tasks(&self, worker: u32, _iteration: u32) -> Vec<Frame> {
        if worker == 0 { vec![frame_of(&self.root())] } else { Vec::new() }
    }

    fn cost_ns(&self, frame: &Frame, _iteration: u32) -> i64 {
        1_000 + (mix(u64::from(frame.step) ^ u64::from(frame.state.bytes()[0])) % 20_000) as i64
    }

    fn run(&mut self, frame: &Frame, spawn: &mut dyn FnMut(Frame)) -> Done {
        let Some(task) = task_of(frame) else { return Done::Nothing };
        if frame.step == CONTINUED {
            return Done::Nothing;
        }
        if frame.step == FINISHED {
            self.ended += 1;
            let below = self.below.get(&task.number).copied().unwrap_or(0);
            self.early += u64::from(below != self.size_below(&task));
            return Done::Nothing;
        }
        *self.ran.entry(task.number).or_default() += 1;
        for finish in &task.finishes {
            *self.below.entry(*finish).or_default() += 1;
        }
        match self.shape(&task) {
            Shape::Leaf => Done::Nothing,
            Shape::HelpFirst(children) => {
                (0..children).for_each(|child| spawn(frame_of(&child_of(&task, child))));
                Done::Nothing
            }
            Shape::WorkFirst => Done::ChildFirst {
                child: frame_of(&child_of(&task, 0)),
                then: frame_of(&task).at_step(CONTINUED),
            },
            Shape::Finish => {
                let mut body = child_of(&task, 0);
                body.finishes.push(task.number);
                Done::Finish { body: frame_of(&body), then: frame_of(&task).at_step(FINISHED) }
            }
        }
    }
}
