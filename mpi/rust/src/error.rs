//! What can go wrong.

use core::ffi::{CStr, c_char, c_int};
use core::fmt;

use crate::sys::{self, StealError};

/// Why a collective call has failed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// Ranks have died in a phase, which the others have ended: what the dead had is missing. More
    /// phases can follow among those that live.
    Lost {
        /// How many have died since the ranks were opened.
        deaths: u32,
        /// The most tasks that they had been sent and did not run.
        tasks: u64,
        /// Finishes whose rest did not run, since what they waited for is missing.
        finishes: u64,
        /// Who has died, in words.
        text: String,
    },
    /// What the library says, with its status.
    Failed {
        /// A status of `tidings_steal_mpi.h`.
        status: i32,
        /// What it means, and what to do.
        text: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost { text, .. } | Self::Failed { text, .. } => f.write_str(text),
        }
    }
}

impl core::error::Error for Error {}

impl Error {
    /// A status without more words.
    pub(crate) fn of(status: c_int) -> Self {
        Self::Failed { status, text: text(status) }
    }

    /// A failure of MPI.
    pub(crate) fn of_mpi(what: &str) -> Self {
        Self::Failed { status: 101, text: format!("MPI has refused a call: {what}") }
    }
}

/// Why a task was not spawned or added. Nothing has changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// A status of `tidings_steal_mpi.h`.
    pub status: i32,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text(self.status))
    }
}

impl core::error::Error for Refused {}

impl Refused {
    pub(crate) fn unless_done(status: c_int) -> Result<(), Self> {
        if status == 0 { Ok(()) } else { Err(Self { status }) }
    }
}

fn text(status: c_int) -> String {
    // SAFETY: it answers a sentence that lives as long as the program.
    let said = unsafe { CStr::from_ptr(sys::tidings_steal_text(status)) };
    said.to_string_lossy().into_owned()
}

impl StealError {
    pub(crate) const NONE: Self = Self { text: [0; 256] };

    /// What it says.
    pub(crate) fn said(&self) -> String {
        let bytes: Vec<u8> =
            self.text.iter().map(|c: &c_char| *c as u8).take_while(|c| *c > 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
