//! What can go wrong with a shared address space, with what to do.

use std::io;

use thiserror::Error;

/// Why a space was not made or attached, or is not read as asked. Nothing has changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpaceError {
    /// No space is so large, or so small.
    #[error("a space of {bytes} bytes: take 8 KiB to 64 GiB")]
    Size {
        /// What was asked for.
        bytes: usize,
    },
    /// The system refuses memory for it.
    #[error("{call}: {source}: free some memory, or make a smaller space")]
    Memory {
        /// The system call.
        call: &'static str,
        /// What it says.
        source: io::Error,
    },
    /// No place was free in the maker's memory.
    #[error(
        "none of the {places} places from {first:#x} is free in this process: drop a space, or \
         make this one before the program maps files there"
    )]
    NoPlace {
        /// How many there are.
        places: usize,
        /// Where the first is.
        first: usize,
    },
    /// The place is taken in the process that attaches.
    #[error(
        "{base:#x} is taken in this process, by `{by}`: attach before anything else is mapped, and \
         only one space that was made so"
    )]
    Taken {
        /// The place.
        base: usize,
        /// What is there, as /proc/self/maps has it.
        by: String,
    },
    /// This process was started without a space.
    #[error("{variable} is not set: start this program by one that shares its space with it")]
    NotShared {
        /// What should be.
        variable: &'static str,
    },
    /// What says where the space is does not.
    #[error("`{ticket}` says of no space where it is: pass on what `Space::ticket` says")]
    Ticket {
        /// What was given, at most the first 80 characters.
        ticket: String,
    },
    /// The file of the space cannot be opened any more.
    #[error(
        "the space of process {maker} cannot be opened: start this program by a process that has \
         it open, or while its maker runs, as the same user"
    )]
    Gone {
        /// Its maker.
        maker: u32,
    },
    /// The file is no space, or not the one named.
    #[error("the file that process {maker} names is no sealed space of {bytes} bytes: {remedy}")]
    Foreign {
        /// Its maker.
        maker: u32,
        /// How long it should be.
        bytes: usize,
        /// What to do.
        remedy: &'static str,
    },
    /// There is no room left in it.
    #[error("{words} words do not fit the {left} that are left: make a larger space")]
    Full {
        /// What was asked for.
        words: usize,
        /// What is left.
        left: usize,
    },
    /// No such words are in it.
    #[error("{count} words at {at:#x} are not in the space: follow only addresses that it gave")]
    Outside {
        /// Where.
        at: u64,
        /// How many.
        count: usize,
    },
    /// A view was to be written.
    #[error("this is a view, for reading: attach the space with `Access::Write`")]
    ReadOnly,
}
