//! Curried calls: a call that is made ready once and then fired by writing one cache line.
//!
//! A [`Routine`] has all of a call but its bytes: the descriptor, which it owns, so that nobody
//! closes it; the address; the flags; for more than a line takes, a buffer. What can be wrong with
//! them is found when the routine is made. A [`Post`] has routines and a lane to the service:
//! [`Post::fire`] writes the number of the routine and up to [`INLINE_BYTES`] into one line and
//! returns; the service makes the call.
//!
//! Invariants: what one post fires is sent in that order; a socket whose buffer is full holds the
//! lane up, nothing is dropped by us, and in the end the caller is refused ([`FireError::Full`]);
//! each call is done once, and has a [`Ticket`] by which its result is read.
//!
//! Source: FOX, section 2.1, "customized, per-process system calls".

use std::io;
use std::sync::Arc;

use crate::error::{FireError, LaneError};
use crate::lane::{CALL_WORDS, Caller, INLINE_BYTES, Outcome};
use crate::memory::{Life, Memory};
use crate::routine::Routine;
use crate::service::{Handler, Seat, Service, error_in};

/// How many lines before its turn a line is taken from the service's core: as long as that takes,
/// so many calls may be fired in a row.
const AHEAD: usize = 8;

/// A call that was fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// What became of a call that was fired.
#[derive(Debug)]
pub enum Progress {
    /// It is waiting, or running.
    Pending,
    /// It is done: how many bytes were taken, or the error.
    Done(io::Result<usize>),
    /// It is done, and so many were fired since that its result is gone; had it failed, it is
    /// counted in [`Post::failures`].
    Passed,
    /// The service ended before it was run; it will not be.
    Lost,
}

/// Routines, and a lane to the service that runs them.
pub struct Post {
    routines: Vec<Known>,
    way: Path,
}

/// What the caller has of a routine.
struct Known {
    takes: usize,
    buffer: Option<crate::routine::Buffer>,
    /// The number of its last call, and one.
    last: u64,
}

enum Path {
    Shipped { memory: Arc<Memory>, caller: Caller },
    InPlace { handler: Routines, results: Vec<u64>, at: u64, failures: (u64, u64) },
}

/// The service's end: runs a routine by its number.
struct Routines(Vec<Routine>);

impl Handler for Routines {
    fn run(&mut self, words: &[u64; CALL_WORDS]) -> Option<u64> {
        let (routine, length) = ((words[0] >> 32) as usize, words[0] as u32 as usize);
        // Our own caller checks both before it fires.
        let Some(routine) = self.0.get_mut(routine) else { return Some(error(libc::EINVAL)) };
        let mut bytes = [0; INLINE_BYTES];
        for (to, word) in bytes.chunks_exact_mut(8).zip(&words[1..]) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        match routine.run(&bytes[..length.min(INLINE_BYTES)], length) {
            Ok(taken) => Some(taken as u64),
            // Full, or interrupted: this call stays the next.
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => None,
            Err(other) => Some(error(other.raw_os_error())),
        }
    }
}

fn error(number: i32) -> u64 {
    i64::from(-number) as u64
}

impl Service {
    /// A post for these routines, with a lane of so many lines, a power of two: as many calls may
    /// be on their way.
    ///
    /// # Errors
    /// If there is no such lane, or none left.
    pub fn post(&self, lines: usize, routines: Vec<Routine>) -> Result<Post, LaneError> {
        let known = routines.iter().map(|routine| Known {
            takes: routine.takes(),
            buffer: routine.buffer(),
            last: 0,
        });
        let known = known.collect();
        let way = match self.open(lines, Routines(routines))? {
            Seat::Shipped(memory) => Path::Shipped { memory, caller: Caller::default() },
            Seat::InPlace(handler) => {
                Path::InPlace { handler, results: vec![0; lines], at: 0, failures: (0, 0) }
            }
        };
        Ok(Post { routines: known, way })
    }
}

impl Post {
    /// Fires a routine with bytes, of which the line takes [`INLINE_BYTES`]. In place it returns
    /// when the call is done.
    ///
    /// # Errors
    /// If nothing was fired.
    #[inline]
    pub fn fire(&mut self, routine: usize, bytes: &[u8]) -> Result<Ticket, FireError> {
        let routines = self.routines.len();
        let known = self.routines.get(routine);
        let known = known.ok_or(FireError::NoRoutine { routine, routines })?;
        let most = if known.buffer.is_some() { 0 } else { known.takes };
        if bytes.len() > most {
            return Err(FireError::TooLong { bytes: bytes.len(), most });
        }
        let mut words = [0; CALL_WORDS];
        words[0] = (routine as u64) << 32 | bytes.len() as u64;
        let mut line = [0; INLINE_BYTES];
        line[..bytes.len()].copy_from_slice(bytes);
        for (word, from) in words[1..].iter_mut().zip(line.chunks_exact(8)) {
            let mut eight = [0; 8];
            eight.copy_from_slice(from);
            *word = u64::from_le_bytes(eight);
        }
        self.send(&words)
    }

    /// Writes into the buffer of a routine that has one, and fires it with as many of its first
    /// bytes as `write` says.
    ///
    /// # Errors
    /// If nothing was fired; the buffer may have changed.
    pub fn fire_buffer(
        &mut self,
        routine: usize,
        write: impl FnOnce(&mut [u8]) -> usize,
    ) -> Result<Ticket, FireError> {
        let routines = self.routines.len();
        let known = self.routines.get(routine);
        let known = known.ok_or(FireError::NoRoutine { routine, routines })?;
        let buffer = known.buffer.clone().ok_or(FireError::TooLong { bytes: 0, most: 0 })?;
        if let Some(last) = known.last.checked_sub(1) {
            match self.progress(Ticket(last)) {
                Progress::Pending => return Err(FireError::InUse { routine }),
                Progress::Lost => return Err(FireError::Ended),
                Progress::Done(_) | Progress::Passed => {}
            }
        }
        let length = {
            let mut bytes = crate::routine::locked(&buffer);
            let most = bytes.len();
            let length = write(&mut bytes);
            if length > most {
                return Err(FireError::TooLong { bytes: length, most });
            }
            length
        };
        let mut words = [0; CALL_WORDS];
        words[0] = (routine as u64) << 32 | length as u64;
        let ticket = self.send(&words)?;
        self.routines[routine].last = ticket.0 + 1;
        Ok(ticket)
    }

    #[inline]
    fn send(&mut self, words: &[u64; CALL_WORDS]) -> Result<Ticket, FireError> {
        match &mut self.way {
            Path::Shipped { memory, caller } => {
                if memory.life() == Life::Ended {
                    return Err(FireError::Ended);
                }
                let lane = memory.lane();
                let number = caller.fire(lane, words).ok_or(FireError::Full)?;
                // The service wrote to the lines ahead when it answered their last calls.
                if lane.lines.len() > 2 * AHEAD {
                    let ahead = (number as usize + AHEAD) & (lane.lines.len() - 1);
                    crate::kernel::fetch_for_writing(&lane.lines[ahead]);
                }
                Ok(Ticket(number))
            }
            Path::InPlace { handler, results, at, failures } => {
                let Some(result) = handler.run(words) else { return Err(FireError::Full) };
                if let Some(error) = error_in(result) {
                    *failures = (failures.0 + 1, error);
                }
                let slot = *at as usize & (results.len() - 1);
                results[slot] = result;
                *at += 1;
                Ok(Ticket(*at - 1))
            }
        }
    }

    /// What became of a call.
    pub fn progress(&self, ticket: Ticket) -> Progress {
        let outcome = match &self.way {
            Path::Shipped { memory, caller } => {
                // First whether it lives: after its end no result comes.
                let life = memory.life();
                let outcome = caller.outcome(memory.lane(), ticket.0);
                if outcome == Outcome::Pending && life == Life::Ended {
                    return Progress::Lost;
                }
                outcome
            }
            Path::InPlace { results, at, .. } if ticket.0 < *at => {
                if *at - ticket.0 > results.len() as u64 {
                    Outcome::Passed
                } else {
                    Outcome::Done(results[ticket.0 as usize & (results.len() - 1)])
                }
            }
            Path::InPlace { .. } => Outcome::Pending,
        };
        match outcome {
            Outcome::Pending => Progress::Pending,
            Outcome::Passed => Progress::Passed,
            Outcome::Done(result) => Progress::Done(match error_in(result) {
                Some(error) => Err(io::Error::from_raw_os_error(error as i32)),
                None => Ok(result as usize),
            }),
        }
    }

    /// Waits until a call is done, and no longer; a full socket may take its time.
    pub fn wait(&self, ticket: Ticket) -> Progress {
        let mut pause = crate::pause::Pause::default();
        loop {
            match self.progress(ticket) {
                Progress::Pending => pause.once(),
                other => return other,
            }
        }
    }

    /// How many calls failed since the post was made, and how the last of them did.
    pub fn failures(&self) -> (u64, Option<io::Error>) {
        let (count, last) = match &self.way {
            Path::Shipped { memory, .. } => memory.failures(),
            Path::InPlace { failures, .. } => *failures,
        };
        (count, (count > 0).then(|| io::Error::from_raw_os_error(last as i32)))
    }
}
