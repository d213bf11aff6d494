//! Messages between participants.
//!
//! Each carries who is dead as its sender knows it: its receiver knows at least as much before it
//! acts on what is said. Contributions, what is missing and questions are of a *round*: one of the
//! next round is kept until the receiver has entered it, one of an earlier round is dropped, since
//! a round ends only when nothing of it is on its way.
//!
//! Bytes: [`Message::encode`] and [`Message::decode`], in `codec`.

mod codec;

use crate::locations::Ticket;
use crate::plan::{Mark, Place};

pub use codec::{MAX_LISTED, MAX_MESSAGE_BYTES};

/// What one participant says to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The round in which it was sent.
    pub round: u32,
    /// Who is dead, in order.
    pub dead: Vec<u32>,
    /// What it says.
    pub body: Body,
}

/// What a message says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// What a worker says to a worker.
    Steal(tidings_steal::Message),
    /// To an owner, and from it to the copy: a contribution.
    Add {
        /// To this block.
        place: Place,
        /// This one.
        mark: Mark,
        /// What is added; nothing where all of it is zero.
        words: Vec<u64>,
    },
    /// A contribution is held here, and by the copy if this is the owner.
    Added {
        /// This one.
        mark: Mark,
    },
    /// To a new copy: a block as its owner has it.
    Block {
        /// This block.
        place: Place,
        /// What it is; nothing where it is lost.
        content: Option<Content>,
    },
    /// The copy has the block.
    Taken {
        /// This block.
        place: Place,
    },
    /// To the owner of their first output: tasks of which something is missing.
    Missing {
        /// Which of the sender's messages of this kind it is.
        number: u32,
        /// The tasks.
        tasks: Vec<u64>,
    },
    /// What was missing is known here.
    Noted {
        /// The number of the message.
        number: u32,
    },
    /// To the home of tasks and its backup: they are there.
    Moved {
        /// With this worker.
        to: u32,
        /// The tasks.
        tickets: Vec<Ticket>,
    },
    /// To an owner: which of these are missing?
    Ask {
        /// Which of the sender's questions it is.
        number: u32,
        /// Contributions to blocks that the receiver owns.
        wanted: Vec<(Place, Mark)>,
    },
    /// To one who asked.
    Answer {
        /// The number of the question.
        number: u32,
        /// Tasks of which something is missing.
        missing: Vec<u64>,
    },
    /// A block is lost: the phase cannot be completed.
    Refusal {
        /// This block.
        place: Place,
        /// How many contributions are missing with it.
        missing: u64,
    },
    /// The refusal is known here.
    Refused {
        /// The block.
        place: Place,
    },
}

/// A block as it travels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Content {
    /// Its elements.
    pub words: Vec<u64>,
    /// Which of the declared contributions it holds.
    pub bits: Vec<u64>,
}
