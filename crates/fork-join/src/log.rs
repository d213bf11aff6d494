//! Logs: what each worker took from whom, and when it had nothing, as a trace of the schedule.
//!
//! A worker notes a steal, that it has nothing, and that it goes on with a frame of its own whose
//! other half has come back. A fork that nobody steals notes nothing, and a victim notes nothing
//! either: thieves say when they took what, and one process has one clock, so that gifts are found
//! when the trace is made.
//!
//! Invariants: a worker notes the end of a stolen job before it says that the job has ended; so
//! when a call into the pool returns, all that belongs to it is noted. A log has at most [`MOST`]
//! entries; beyond them it only counts.
//!
//! Source: Lifflander, Krishnamoorthy, Kalé, "Steal tree", PLDI 2013, for what is noted; steps are
//! not counted here, so such a trace is drawn and not run again.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tidings_steal::Trace;
use tidings_steal::queue::Want;
use tidings_steal::trace::{Event, File};

/// The most entries of a worker: a MiB.
const MOST: usize = 1 << 16;

/// What a worker did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    /// It took a job from this worker.
    Took(u32),
    /// It has nothing.
    Idle,
    /// It begins what came from outside, or goes on with a frame of its own.
    Went,
}

/// The entries of one worker, with nanoseconds since the pool was made.
#[derive(Debug, Default)]
struct Written {
    entries: Vec<(u64, Entry)>,
    dropped: u64,
}

/// The logs of all workers.
#[derive(Debug)]
pub(crate) struct Logs {
    began: Instant,
    is_on: bool,
    of_worker: Box<[Mutex<Written>]>,
}

/// Workers noted more than their logs hold: there is no trace. The logs are empty now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLong {
    /// The entries that were not kept.
    pub dropped: u64,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} steals and pauses more than a log holds ({MOST} a thread): trace a shorter part",
            self.dropped
        )
    }
}

impl core::error::Error for TooLong {}

impl Logs {
    pub(crate) fn new(workers: usize, is_on: bool) -> Self {
        let of_worker = (0..workers).map(|_| Mutex::default()).collect();
        Self { began: Instant::now(), is_on, of_worker }
    }

    fn written(&self, worker: usize) -> MutexGuard<'_, Written> {
        self.of_worker[worker].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what a worker did now.
    pub(crate) fn note(&self, worker: usize, entry: Entry) {
        if !self.is_on {
            return;
        }
        let at_ns = self.began.elapsed().as_nanos() as u64;
        let mut written = self.written(worker);
        if written.entries.len() < MOST {
            written.entries.push((at_ns, entry));
        } else {
            written.dropped += 1;
        }
    }

    /// Takes what was noted since it was taken last.
    pub(crate) fn take(&self) -> Result<File, TooLong> {
        let workers = 0..self.of_worker.len();
        let all: Vec<_> = workers.map(|at| core::mem::take(&mut *self.written(at))).collect();
        let dropped = all.iter().map(|written| written.dropped).sum();
        if dropped > 0 {
            return Err(TooLong { dropped });
        }
        let all: Vec<_> = all.into_iter().map(|written| written.entries).collect();
        Ok(file(&all))
    }
}

/// The times at which a worker's jobs were taken, and by whom.
fn gifts(all: &[Vec<(u64, Entry)>], victim: u32) -> Vec<(u64, u32)> {
    let of_thief = |(thief, its): (u32, &Vec<(u64, Entry)>)| {
        let taken = its.iter().filter(|(_, entry)| *entry == Entry::Took(victim));
        taken.map(|&(at, _)| (at, thief)).collect::<Vec<_>>()
    };
    let mut gifts: Vec<_> = (0..).zip(all).flat_map(of_thief).collect();
    gifts.sort_unstable();
    gifts
}

/// The trace of all workers.
fn file(all: &[Vec<(u64, Entry)>]) -> File {
    let began = all.iter().filter_map(|its| its.first()).map(|(at, _)| *at).min().unwrap_or(0);
    let traces = (0..).zip(all).map(|(worker, its)| trace(its, &gifts(all, worker), began));
    File { program: 0, traces: traces.collect() }
}

/// The trace of one worker, from its own entries and the times at which others took from it.
fn trace(its: &[(u64, Entry)], gifts: &[(u64, u32)], began: u64) -> Trace {
    let mut trace = Trace::new(0);
    let mut note = |at: u64, event| trace.note(0, at.saturating_sub(began) / 1000, event);
    note(began, Event::Idle);
    let (mut gifts, mut numbers) = (gifts.iter().peekable(), BTreeMap::new());
    for (place, &(at, entry)) in its.iter().enumerate() {
        match entry {
            Entry::Took(from) => {
                let next = numbers.entry(from).or_insert(0);
                note(at, Event::Got { from, number: *next });
                *next += 1;
            }
            Entry::Went => {
                // An end of work has a time, and what follows begins at that.
                note(at, Event::Idle);
                note(at, Event::Joined { number: 0 });
            }
            Entry::Idle => {
                note(at, Event::Idle);
                continue;
            }
        }
        // A thief notes a steal after it: what it took was there before this worker had nothing,
        // even if the note is later, up to when the worker has something again.
        let again = its[place + 1..].iter().find(|(_, entry)| *entry != Entry::Idle);
        while let Some((_, to)) = gifts.next_if(|(at, _)| again.is_none_or(|again| *at < again.0)) {
            note(at, Event::Gave { to: *to, want: Want::HALF });
        }
    }
    trace
}

#[cfg(test)]
mod tests {
    use tidings_steal::trace::{Statistics, Tree};

    use super::*;

    fn tree(all: &[Vec<(u64, Entry)>]) -> Tree {
        let (_, events) = File::decode(&file(all).encode()).unwrap();
        Tree::of(&events).unwrap()
    }

    #[test]
    fn a_steal_that_is_noted_late_is_of_the_phase_in_which_it_was() {
        use Entry::{Idle, Took, Went};
        // The first waits for what the second took, before that has noted it.
        let first = vec![(5_000, Went), (9_000, Idle), (30_000, Went), (40_000, Idle)];
        let second = vec![(12_000, Took(0)), (25_000, Idle), (32_000, Took(0)), (35_000, Idle)];
        let tree = tree(&[first, second]);
        let shape: Vec<_> =
            tree.phases.iter().map(|phase| (phase.worker, phase.parent, phase.time_us)).collect();
        let expected = [
            (0, None, (0, 0)),
            (0, None, (0, 4)),
            (0, None, (25, 35)),
            (1, None, (0, 0)),
            (1, Some(1), (7, 20)),
            (1, Some(2), (27, 30)),
        ];
        assert_eq!(shape, expected);
        assert_eq!(tree.phases[1].gifts, 1);
        let Statistics { steals, depth, .. } = tree.statistics;
        assert_eq!((steals, depth), (2, 1));
    }

    #[test]
    fn a_log_that_is_full_says_so_and_begins_anew() {
        let logs = Logs::new(1, true);
        (0..MOST + 3).for_each(|_| logs.note(0, Entry::Idle));
        assert_eq!(logs.take().unwrap_err(), TooLong { dropped: 3 });
        logs.note(0, Entry::Went);
        assert_eq!(logs.take().unwrap().traces.len(), 1);
    }
}
