//! Identity: which process it is, in one word, so that a seat is taken by one exchange.
//!
//! Process numbers come again; the number together with the time at which the process began does
//! not. Linux has 22 bits of numbers at most, and 42 bits of its ticks are 1,000 years.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::process::Pid;

const PID_BITS: u32 = 22;

/// A process, never 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity(u64);

impl Identity {
    /// That of this process.
    pub(crate) fn own() -> io::Result<Self> {
        let stat = fs::read_to_string("/proc/self/stat")?;
        let (identity, _) = parse(std::process::id(), &stat)
            .ok_or_else(|| io::Error::other("/proc/self/stat is not what Linux writes"))?;
        Ok(identity)
    }

    /// What a word says; `None` if nothing.
    pub(crate) fn of_word(word: u64) -> Option<Self> {
        (word != 0).then_some(Self(word))
    }

    /// As a word.
    pub(crate) fn word(self) -> u64 {
        self.0
    }

    /// Its process number; 0 if that is none.
    pub(crate) fn pid(self) -> u32 {
        (self.0 & ((1 << PID_BITS) - 1)) as u32
    }

    /// Its process number as the kernel takes it.
    pub(crate) fn number(self) -> Option<Pid> {
        Pid::from_raw(self.pid() as i32)
    }

    /// Whether the process lives: not where it has ended and its parent has not asked for that yet.
    pub(crate) fn lives(self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid()));
        let found = stat.ok().and_then(|stat| parse(self.pid(), &stat));
        found.is_some_and(|(identity, state)| identity == self && !matches!(state, 'Z' | 'X'))
    }
}

/// The identity and state that a line of /proc/PID/stat says. The second field, in parentheses, is
/// a name that may hold anything.
fn parse(pid: u32, stat: &str) -> Option<(Identity, char)> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?.chars().next()?;
    let began: u64 = fields.nth(18)?.parse().ok()?;
    Some((Identity(began << PID_BITS | u64::from(pid)), state))
}

/// The namespace in which this process's numbers mean something.
pub(crate) fn namespace() -> io::Result<u64> {
    Ok(fs::metadata("/proc/self/ns/pid")?.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_one_that_began_at_another_time_does_not() {
        let own = Identity::own().expect("a process");
        assert_eq!(own.pid(), std::process::id());
        assert!(own.lives());
        assert!(!Identity(own.word() + (1 << PID_BITS)).lives());
        assert_eq!((Identity::of_word(0), Identity::of_word(own.word())), (None, Some(own)));
    }

    #[test]
    fn a_name_may_hold_parentheses() {
        assert_eq!(parse(7, "7 (a) S b) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18"), None);
        let stat = "7 (a) S b) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 99 0";
        assert_eq!(parse(7, stat), Some((Identity(99 << PID_BITS | 7), 'R')));
    }

    #[test]
    fn a_child_that_was_not_asked_for_does_not_live() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("sleep");
        let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("its line");
        let (identity, _) = parse(child.id(), &stat).expect("a line");
        assert!(identity.lives());
        child.kill().expect("a child");
        // A descriptor of the process can be read when it has ended.
        let pid = identity.number().expect("a number");
        let ended = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty());
        let ended = ended.expect("a descriptor");
        let mut polled = [rustix::event::PollFd::new(&ended, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut polled, None).expect("a poll");
        assert!(!identity.lives());
        child.wait().expect("a child");
    }
}
