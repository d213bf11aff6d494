//! Permits: calls that a process has ahead, and which of them it has not begun.
//!
//! They are the bytes of a pipe, one for each call that was sent ahead. The process takes one
//! before it begins such a call; the worker takes back as many as are left, and as many calls, the
//! last ones, will not begin. Nothing is asked of the process, which may be busy or dead.
//!
//! Invariant: calls begin in the order in which they were sent, so a number says which.

use std::io;
use std::os::fd::OwnedFd;

use rustix::pipe::PipeFlags;

/// The most that are there at a time: a pipe has room for them.
pub(super) const MOST: usize = 256;

/// The worker's ends of the pipe.
#[derive(Debug)]
pub(super) struct Permits {
    reading: OwnedFd,
    writing: OwnedFd,
}

impl Permits {
    /// None, and the end for the process.
    ///
    /// # Errors
    /// No more descriptors can be had.
    pub(super) fn new() -> io::Result<(Self, OwnedFd)> {
        let (reading, writing) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let there = reading.try_clone()?;
        Ok((Self { reading, writing }, there))
    }

    /// So many more calls may begin, at most. Returns how many: none where the pipe is full.
    pub(super) fn give(&self, most: usize) -> usize {
        if most == 0 {
            return 0;
        }
        rustix::io::write(&self.writing, &[0; MOST][..most.min(MOST)]).unwrap_or(0)
    }

    /// Takes back those that are left, at most so many. Returns how many these were.
    pub(super) fn take_back(&self, most: usize) -> usize {
        let mut bytes = [0; MOST];
        rustix::io::read(&self.reading, &mut bytes[..most.min(MOST)]).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_permit_is_taken_once() {
        let (permits, there) = Permits::new().unwrap();
        assert_eq!(permits.take_back(3), 0);
        assert_eq!([permits.give(1), permits.give(3), permits.give(0)], [1, 3, 0]);
        assert_eq!(rustix::io::read(&there, &mut [0; 1]).unwrap(), 1);
        assert_eq!([permits.take_back(2), permits.take_back(9)], [2, 1]);
        assert!(rustix::io::read(&there, &mut [0; 1]).is_err());
    }

    #[test]
    fn no_more_are_given_than_a_pipe_has_room_for() {
        let (permits, _there) = Permits::new().unwrap();
        assert_eq!(permits.give(MOST + 1), MOST);
        let given = (0..).map(|_| permits.give(MOST)).take_while(|given| *given > 0);
        assert!(given.sum::<usize>() >= MOST, "a pipe has room for more than one process's calls");
        assert_eq!(permits.give(1), 0);
        assert_eq!(permits.take_back(MOST), MOST);
    }
}
