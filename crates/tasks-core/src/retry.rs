//! Retries: after which failures a task is tried again, how often, and when.
//!
//! Each cause is counted by itself and each count is finite: a task whose program is wrong is not
//! tried again because a node died before, and none is tried for ever. A task that takes its worker
//! along each time it is tried (*poison*) would end one worker after the other, so losses have a
//! rule of their own: it is stopped after [`Retry::losses`] of them on at least two hosts, which
//! shows that it is not the host. Where there is one host only, twice as many must do. What poison
//! takes along is lost as often as the poison if they are tried together each time: so a task whose
//! next loss may be the last is tried apart from the others that were lost with it ([`Last`]).

use minicbor::{Decode, Encode};

/// The longest wait before a task is tried again, in milliseconds.
pub const MAX_BACKOFF_MS: u64 = 300_000;

/// Why a try of a task has failed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Encode, Decode)]
#[cbor(index_only)]
pub enum Cause {
    /// Its code said so: an exception, an error.
    #[n(0)]
    Error,
    /// Its process ended with an exit status other than 0.
    #[n(1)]
    Exit,
    /// Its process was ended by a signal that its worker had not sent.
    #[n(2)]
    Signal,
    /// It needed more memory than it may have.
    #[n(3)]
    Memory,
    /// It took longer than it may.
    #[n(4)]
    Time,
    /// Its worker, or the worker's host, is gone.
    #[n(5)]
    Lost,
    /// Its worker gave it back unfinished, to end in good order.
    #[n(6)]
    Returned,
    /// A task that it waits for was not done: it has not been tried at all.
    #[n(7)]
    Input,
    /// The output of a task that it reads is no longer to be had: that one is done again first.
    #[n(8)]
    Gone,
}

/// The failures for want of an output after which a task is stopped: who cannot reach a node that
/// others reach would have it made for ever.
pub const MAX_GONE: u16 = 32;

/// How often a task is tried again after a failure of each cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Retry {
    /// After an error of its code.
    #[n(0)]
    pub errors: u16,
    /// After an exit status other than 0.
    #[n(1)]
    pub exits: u16,
    /// After a signal.
    #[n(2)]
    pub signals: u16,
    /// After it had no memory left.
    #[n(3)]
    pub memory: u16,
    /// After it took too long.
    #[n(4)]
    pub times: u16,
    /// The losses after which it is stopped, if they were on two hosts at least (twice as many on
    /// one).
    #[n(5)]
    pub losses: u16,
    /// The wait after its first failure, in milliseconds; it doubles with each further one. After a
    /// loss or a return there is none.
    #[n(6)]
    pub backoff_ms: u32,
}

impl Default for Retry {
    fn default() -> Self {
        Self { errors: 0, exits: 0, signals: 1, memory: 1, times: 0, losses: 3, backoff_ms: 100 }
    }
}

/// What becomes of a task after a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// It is tried again after so many milliseconds.
    Again(u64),
    /// It has failed.
    Stop,
}

/// Where one more loss stops a task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Last {
    /// Nowhere: it was not lost so often yet.
    #[default]
    Nowhere,
    /// On a host other than the one on which it was lost so far.
    Elsewhere,
    /// On any host.
    Anywhere,
}

/// How often a task has failed, by cause.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode)]
#[cbor(map)]
pub struct Tally {
    #[n(0)]
    errors: u16,
    #[n(1)]
    exits: u16,
    #[n(2)]
    signals: u16,
    #[n(3)]
    memory: u16,
    #[n(4)]
    times: u16,
    #[n(5)]
    losses: u16,
    /// Hosts on which it was lost: no more than two, which is all that is asked.
    #[n(6)]
    lost_on: Vec<String>,
    #[cbor(n(7), default)]
    gone: u16,
}

impl Tally {
    /// Counts a failure on a host.
    pub fn count(&mut self, cause: Cause, host: &str) {
        if let Some(count) = self.of(cause) {
            *count = count.saturating_add(1);
        }
        let is_new = cause == Cause::Lost && !self.lost_on.iter().any(|known| known == host);
        if is_new && self.lost_on.len() < 2 {
            self.lost_on.push(host.to_owned());
        }
    }

    /// Hosts on which it was lost.
    pub fn lost_on(&self) -> &[String] {
        &self.lost_on
    }

    /// The failures of all causes but losses.
    fn total(&self) -> u32 {
        let own = [self.errors, self.exits, self.signals, self.memory, self.times];
        own.into_iter().map(u32::from).sum()
    }

    fn of(&mut self, cause: Cause) -> Option<&mut u16> {
        Some(match cause {
            Cause::Error => &mut self.errors,
            Cause::Exit => &mut self.exits,
            Cause::Signal => &mut self.signals,
            Cause::Memory => &mut self.memory,
            Cause::Time => &mut self.times,
            Cause::Lost => &mut self.losses,
            Cause::Gone => &mut self.gone,
            Cause::Returned | Cause::Input => return None,
        })
    }
}

impl Retry {
    /// What becomes of a task that failed by `cause`, which `tally` has counted.
    pub fn next(&self, cause: Cause, tally: &Tally) -> Next {
        let (count, limit) = match cause {
            Cause::Error => (tally.errors, self.errors),
            Cause::Exit => (tally.exits, self.exits),
            Cause::Signal => (tally.signals, self.signals),
            Cause::Memory => (tally.memory, self.memory),
            Cause::Time => (tally.times, self.times),
            Cause::Lost => return self.after_loss(tally),
            Cause::Returned => return Next::Again(0),
            Cause::Gone if tally.gone < MAX_GONE => return Next::Again(0),
            Cause::Gone | Cause::Input => return Next::Stop,
        };
        if count > limit {
            return Next::Stop;
        }
        let doublings = tally.total().saturating_sub(1).min(32);
        Next::Again((u64::from(self.backoff_ms) << doublings).min(MAX_BACKOFF_MS))
    }

    fn after_loss(&self, tally: &Tally) -> Next {
        if u32::from(tally.losses) >= self.enough(tally) { Next::Stop } else { Next::Again(0) }
    }

    /// Where one more loss stops a task.
    pub fn last(&self, tally: &Tally) -> Last {
        let next = u32::from(tally.losses) + 1;
        match tally.lost_on.len() {
            0 => Last::Nowhere,
            _ if next >= self.enough(tally) => Last::Anywhere,
            1 if next >= self.limit() => Last::Elsewhere,
            _ => Last::Nowhere,
        }
    }

    /// The losses that stop a task on the hosts on which it was lost so far.
    fn enough(&self, tally: &Tally) -> u32 {
        if tally.lost_on.len() > 1 { self.limit() } else { 2 * self.limit() }
    }

    fn limit(&self) -> u32 {
        u32::from(self.losses.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(retry: &Retry, failures: &[(Cause, &str)]) -> Next {
        let mut tally = Tally::default();
        for (cause, host) in failures {
            tally.count(*cause, host);
        }
        retry.next(failures.last().unwrap().0, &tally)
    }

    #[test]
    fn causes_are_counted_apart() {
        let retry = Retry { errors: 1, exits: 1, backoff_ms: 10, ..Retry::default() };
        let (error, exit) = ((Cause::Error, "a"), (Cause::Exit, "a"));
        assert_eq!(next(&retry, &[error, exit]), Next::Again(20));
        assert_eq!(next(&retry, &[error, exit, error]), Next::Stop);
    }

    #[test]
    fn waits_double_up_to_a_bound() {
        let retry = Retry { errors: 60, backoff_ms: 10, ..Retry::default() };
        let after = |count| next(&retry, &vec![(Cause::Error, "a"); count]);
        assert_eq!([after(1), after(2), after(3)], [10, 20, 40].map(Next::Again));
        assert_eq!(after(60), Next::Again(MAX_BACKOFF_MS));
        assert_eq!(after(61), Next::Stop);
    }

    #[test]
    fn poison_is_stopped_once_two_hosts_have_shown_it() {
        let retry = Retry::default();
        let (a, b) = ((Cause::Lost, "a"), (Cause::Lost, "b"));
        assert_eq!(next(&retry, &[a, b]), Next::Again(0));
        assert_eq!(next(&retry, &[a, b, a]), Next::Stop);
        let on_one = |count| next(&retry, &vec![a; count]);
        assert_eq!([on_one(3), on_one(5), on_one(6)], [Next::Again(0), Next::Again(0), Next::Stop]);
    }

    #[test]
    fn the_last_loss_is_the_one_that_stops_a_task() {
        let retry = Retry::default();
        let after = |hosts: &[&str]| {
            let mut tally = Tally::default();
            for host in hosts {
                tally.count(Cause::Lost, host);
            }
            retry.last(&tally)
        };
        assert_eq!([after(&[]), after(&["a"])], [Last::Nowhere; 2]);
        assert_eq!([after(&["a"; 2]), after(&["a"; 4])], [Last::Elsewhere; 2]);
        assert_eq!([after(&["a"; 5]), after(&["a", "b"])], [Last::Anywhere; 2]);
    }

    #[test]
    fn an_output_that_is_gone_is_made_again_so_many_times() {
        let gone = |count| next(&Retry::default(), &vec![(Cause::Gone, "a"); count]);
        let last = usize::from(MAX_GONE);
        assert_eq!(
            [gone(1), gone(last - 1), gone(last)],
            [Next::Again(0), Next::Again(0), Next::Stop]
        );
    }

    #[test]
    fn what_is_given_back_is_no_failure() {
        let returned = vec![(Cause::Returned, "a"); 40];
        assert_eq!(next(&Retry::default(), &returned), Next::Again(0));
    }
}
