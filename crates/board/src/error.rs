//! What can be wrong with a board: each message names the file and what to do.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a board cannot be read. Nothing read from it was used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoardError {
    /// The file cannot be opened or mapped.
    #[error(
        "the board {} cannot be read ({source}): is an agent running here, with `board` not off, \
         and the same runtime directory?", path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not a board.
    #[error(
        "{} is not a board: it does not begin with TIDBOARD; name the file that the agent writes, \
         `board` in its runtime directory", path.display()
    )]
    NotABoard {
        /// The file.
        path: PathBuf,
    },
    /// The file has a layout that this reader does not know.
    #[error(
        "the board {} has layout version {found}, this reader knows version {}: use the reader \
         that came with the agent", path.display(), crate::layout::VERSION
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The file is shorter than it must be.
    #[error(
        "the board {} is cut off: {bytes} bytes of {wanted}; it is not one that an agent wrote, or \
         a copy that failed: name the file in the agent's runtime directory", path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Bytes that it has.
        bytes: u64,
        /// Bytes that it must have.
        wanted: u64,
    },
    /// A number in it is impossible.
    #[error(
        "the board {} is damaged: {what}; restart the agent, which rewrites it", path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
    /// The writer has not updated its heartbeat for too long.
    #[error(
        "the board {} is old: its writer, process {pid}, gave its last heartbeat {} ago, \
         with a limit of {}; check that the agent runs, or restart it",
        path.display(), seconds(*silence), seconds(*limit)
    )]
    DeadWriter {
        /// The file.
        path: PathBuf,
        /// The writer's process number, in its own namespace.
        pid: u32,
        /// Since the last heartbeat.
        silence: Duration,
        /// The limit that the reader set.
        limit: Duration,
    },
    /// The writer has ended normally.
    #[error(
        "the board {} is closed: its agent has ended, or stopped writing it; check that it runs, \
         and reopen the board",
        path.display()
    )]
    Left {
        /// The file.
        path: PathBuf,
    },
    /// The writer has made another file.
    #[error(
        "the board {} has been replaced by another file of that name: reopen it", path.display()
    )]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// The writer stopped while writing an entry.
    #[error(
        "the board {}: its writer, process {pid}, stopped while writing an entry; try \
         again, or check whether the agent is stopped", path.display()
    )]
    Unfinished {
        /// The file.
        path: PathBuf,
        /// The writer's process number, in its own namespace.
        pid: u32,
    },
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// Why a board cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The file cannot be made. A file that was there before is still there.
    #[error(
        "the board {} of {bytes} bytes cannot be written ({source}): make room there, name another \
         file with board, or turn it off with board = \"off\"", path.display()
    )]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Bytes that it would have.
        bytes: usize,
        /// What the system said.
        source: io::Error,
    },
    /// No board has this shape. Nothing was written.
    #[error("a board cannot have {slots} slots for payloads of {payload_bytes} bytes")]
    Shape {
        /// Slots that were asked for.
        slots: usize,
        /// Bytes of a payload.
        payload_bytes: usize,
    },
    /// There is no such slot, or it is empty. Nothing was written.
    #[error("slot {slot} is beyond the {slots} of the board, or that slot is empty")]
    Slot {
        /// The slot.
        slot: usize,
        /// Slots of the board.
        slots: usize,
    },
    /// A name of more than 63 bytes, an address of more than 23, or a payload of another length
    /// than the board's. Nothing was written.
    #[error("the {what} of slot {slot} does not fit: {bytes} bytes")]
    Length {
        /// Which of the three.
        what: &'static str,
        /// The slot.
        slot: usize,
        /// Its bytes.
        bytes: usize,
    },
}
