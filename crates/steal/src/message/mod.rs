//! Messages between workers: active messages, which their receiver acts upon when they arrive.
//!
//! Each names its phase by number. One of a phase that has ended is answered with its end, if its
//! sender may wait for that; one of the next is kept until the receiver has entered it. What is
//! counted (reports, rounds and the agreement on what to begin with) carries who is dead as the
//! sender knows it, as sums of different views cannot be added.
//!
//! Bytes: [`Message::encode`] and [`Message::decode`], in `codec`.

mod codec;

use crate::frame::Frame;
use crate::queue::Want;

pub(crate) use codec::{FRAME_BYTES, get_frame, put_frame};
pub use codec::{MAX_FRAMES, MAX_MESSAGE_BYTES};

/// What one worker says to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The number of the phase.
    pub phase: u32,
    /// What it says.
    pub body: Body,
}

/// What a message says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// A thief asks for tasks, and waits.
    Steal {
        /// What it wants at most.
        want: Want,
    },
    /// A thief asks to be sent tasks whenever there are some, and sleeps.
    Lifeline,
    /// Tasks for a thief.
    Given {
        /// Whether it slept.
        lifeline: bool,
        /// How long the victim is still busy, in nanoseconds, as predicted.
        left_ns: u64,
        /// Which of the victim's gifts of the phase to this thief it is, from 0.
        number: u32,
        /// Which gift to this thief of the last phase of the name it is again, if it is one.
        again: Option<u32>,
        /// The tasks, oldest first.
        frames: Vec<Frame>,
    },
    /// There is nothing for the thief.
    Refused {
        /// How long the victim is still busy, in nanoseconds, as predicted.
        left_ns: u64,
    },
    /// A task that a finish waits for is done, with all that it spawned.
    Joined {
        /// The finish's number at the receiver.
        number: u32,
    },
    /// To the parent: what a subtree was given and has kept of the phase before.
    Entered(Counted<Lists>),
    /// From the root: what to begin with.
    Seed(Counted<Seeding>),
    /// To the parent: the sums of a subtree, whose workers are idle or have been.
    Report(Counted<Sums>),
    /// From the root: is this still so?
    Confirm(Counted<u64>),
    /// To the parent: the sums of a subtree, all of which were asked in this round.
    Confirmed(Counted<(u64, Sums)>),
    /// The phase has ended, with these sums.
    End(Counted<Sums>),
    /// Who is dead: the receiver did not know of all.
    Dead(Vec<u32>),
}

/// Something that is only meaningful among the workers that live.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counted<T> {
    /// Who is dead, in order.
    pub dead: Vec<u32>,
    /// What is said.
    pub what: T,
}

/// Sums over workers of what each has counted since the phase began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sums {
    /// Tasks that arose, and those that came from workers that died.
    pub made: u64,
    /// Tasks that ran, and those that went to workers that died.
    pub gone: u64,
    /// Tasks that went to workers that died.
    pub lost: u64,
    /// Finishes that wait.
    pub waiting: u64,
    /// Deaths in this phase, each as often as workers have learnt of it.
    pub deaths: u64,
}

impl Sums {
    /// The sums of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            made: self.made.wrapping_add(other.made),
            gone: self.gone.wrapping_add(other.gone),
            lost: self.lost.wrapping_add(other.lost),
            waiting: self.waiting.wrapping_add(other.waiting),
            deaths: self.deaths.wrapping_add(other.deaths),
        }
    }
}

/// A list of tasks, by what does not depend on their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct List {
    /// How many there are.
    pub tasks: u64,
    /// The sum of their hashes.
    pub fingerprint: u64,
}

impl List {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            tasks: self.tasks.wrapping_add(other.tasks),
            fingerprint: self.fingerprint.wrapping_add(other.fingerprint),
        }
    }
}

/// What the workers of a subtree could begin with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lists {
    /// What they were given.
    pub given: List,
    /// What they ran in the phase of the same name before.
    pub kept: List,
    /// How many of them have no such phase.
    pub first: u32,
    /// How many of them had another number of workers then.
    pub other: u32,
}

impl Lists {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            given: self.given.plus(other.given),
            kept: self.kept.plus(other.kept),
            first: self.first.saturating_add(other.first),
            other: self.other.saturating_add(other.other),
        }
    }

    /// What to begin with, all workers together.
    pub fn seeding(&self) -> Seeding {
        if self.first > 0 {
            Seeding::First
        } else if self.other > 0 {
            Seeding::OtherWorkers
        } else if self.given.tasks != self.kept.tasks {
            Seeding::OtherNumber
        } else if self.given.fingerprint != self.kept.fingerprint {
            Seeding::OtherTasks
        } else {
            Seeding::Retained
        }
    }
}

/// What a phase begins with: what each worker ran before, or what it was given, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seeding {
    /// What each ran in the phase of this name before.
    Retained,
    /// What each was given: retention was not asked for.
    Given,
    /// What each was given: there was no phase of this name before.
    First,
    /// What each was given: other workers took part then.
    OtherWorkers,
    /// What each was given: there were more tasks then, or fewer.
    OtherNumber,
    /// What each was given: there were as many tasks then, but others.
    OtherTasks,
}
