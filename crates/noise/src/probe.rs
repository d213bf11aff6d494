//! The loop that is disturbed.
//!
//! A unit of work, the clock, a unit of work, the clock: a step that takes longer than a unit
//! usually does by the threshold is a gap. The work of a quantum is counted on the way, and a
//! quantum that passed within a gap is kept as one without work, so quanta lie on a grid.
//!
//! The probe disturbs itself only where it keeps a sample. It reads the clock before and after, so
//! that time is neither work nor gap, and it is reported. Nothing is allocated while it runs, and
//! where a queue is full a sample is dropped and counted: the probe never waits.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use crate::clock::now_ns;
use crate::samples::{Gap, Quantum};
use crate::settings::Method;

/// Rounds of arithmetic in a unit: some 100 ns.
const ROUNDS: u32 = 48;
/// Steps that say how long one usually takes, in parts: the least median counts, because nothing
/// that disturbs makes a step shorter.
const CALIBRATION: [usize; 2] = [16, 512];

/// What the loop is given.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    /// What a quantum is.
    pub method: Method,
    /// When it ends, by the clock.
    pub end_ns: u64,
    /// The length of a quantum.
    pub quantum_ns: u64,
    /// The work of a quantum of fixed work.
    pub work_units: u64,
    /// What a gap takes at least.
    pub threshold_ns: u64,
}

/// Where samples go.
#[derive(Debug)]
pub struct Queues {
    /// Quanta.
    pub quanta: SyncSender<Quantum>,
    /// Gaps.
    pub gaps: SyncSender<Gap>,
}

/// What the probe knows of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "what it spent on its own work")]
pub struct Own {
    /// When the loop began.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// What a step usually takes.
    pub step_ns: u64,
    /// What it spent keeping samples.
    pub own_ns: u64,
    /// Samples that were dropped because a queue was full.
    pub dropped: u64,
}

/// One unit of work: arithmetic in which each round needs the one before it.
#[inline]
fn work(rounds: u32, seed: u64) -> u64 {
    let mut state = seed | 1;
    for _ in 0..rounds {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}

fn rounds_of(method: Method) -> u32 {
    if method == Method::Gaps { 0 } else { ROUNDS }
}

/// What a step usually takes on this core.
pub fn usual_step_ns(method: Method) -> u64 {
    let rounds = rounds_of(method);
    let [parts, steps] = CALIBRATION;
    let median = |_| {
        let mut last = now_ns();
        let mut taken: Vec<u64> = (0..steps)
            .map(|step| {
                black_box(work(rounds, black_box(step as u64)));
                let now = now_ns();
                now - std::mem::replace(&mut last, now)
            })
            .collect();
        taken.sort_unstable();
        taken[steps / 2]
    };
    (0..parts).map(median).min().unwrap_or(0)
}

/// The quantum that runs.
struct Running {
    begin_ns: u64,
    units: u64,
    lost_ns: u64,
}

impl Running {
    fn ended(&mut self, at_ns: u64) -> Quantum {
        let quantum = Quantum {
            begin_ns: self.begin_ns,
            length_ns: at_ns - self.begin_ns,
            units: std::mem::take(&mut self.units),
            lost_ns: std::mem::take(&mut self.lost_ns),
        };
        self.begin_ns = at_ns;
        quantum
    }
}

/// Runs until the end or until `stop` is set.
pub fn run(given: Loop, step_ns: u64, queues: &Queues, stop: &AtomicBool) -> Own {
    let rounds = rounds_of(given.method);
    let limit_ns = step_ns + given.threshold_ns;
    let begin_ns = now_ns();
    let mut own = Own { begin_ns, step_ns, ..Own::default() };
    let mut running = Running { begin_ns, units: 0, lost_ns: 0 };
    let mut last = begin_ns;
    loop {
        black_box(work(rounds, black_box(last)));
        let now = now_ns();
        running.units += 1;
        let taken_ns = now - last;
        let is_gap = taken_ns > limit_ns;
        let is_over = match given.method {
            Method::Fwq => running.units >= given.work_units,
            Method::Ftq | Method::Gaps => now >= running.begin_ns + given.quantum_ns,
        };
        if !(is_gap || is_over) {
            last = now;
            continue;
        }
        let gap =
            Gap { begin_ns: last, step_ns: taken_ns, lost_ns: taken_ns.saturating_sub(step_ns) };
        if is_gap {
            own.dropped += u64::from(queues.gaps.try_send(gap).is_err());
        }
        own.dropped += account(given, &mut running, is_gap.then_some(gap), is_over, now, queues);
        last = now_ns();
        own.own_ns += last - now;
        if is_over && (now >= given.end_ns || stop.load(Ordering::Relaxed)) {
            own.end_ns = now;
            return own;
        }
        if is_over && given.method == Method::Fwq {
            running.begin_ns = last;
        }
    }
}

/// Puts a gap into the quanta that it lies in, and passes on those that are over; how many were
/// dropped.
fn account(
    given: Loop,
    running: &mut Running,
    gap: Option<Gap>,
    is_over: bool,
    now: u64,
    queues: &Queues,
) -> u64 {
    let mut dropped = 0;
    let mut pass = |quantum| dropped += u64::from(queues.quanta.try_send(quantum).is_err());
    let lost_from = gap.map_or(now, |gap| now - gap.lost_ns);
    let lost_until =
        |running: &Running, until: u64| until.saturating_sub(lost_from.max(running.begin_ns));
    if given.method == Method::Fwq {
        running.lost_ns += lost_until(running, now);
        if is_over {
            pass(running.ended(now));
        }
        return dropped;
    }
    while now >= running.begin_ns + given.quantum_ns {
        let end = running.begin_ns + given.quantum_ns;
        running.lost_ns += lost_until(running, end);
        pass(running.ended(end));
    }
    running.lost_ns += lost_until(running, now);
    dropped
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, sync_channel};

    fn queues() -> (Queues, Receiver<Quantum>, Receiver<Gap>) {
        let (quanta, quanta_out) = sync_channel(1_000);
        let (gaps, gaps_out) = sync_channel(1_000);
        (Queues { quanta, gaps }, quanta_out, gaps_out)
    }

    fn given(method: Method) -> Loop {
        Loop { method, end_ns: 0, quantum_ns: 100, work_units: 10, threshold_ns: 50 }
    }

    #[test]
    fn a_gap_over_several_quanta_is_split_at_their_ends() {
        let (queues, quanta, _) = queues();
        let mut running = Running { begin_ns: 1_000, units: 4, lost_ns: 5 };
        let gap = Gap { begin_ns: 1_040, step_ns: 300, lost_ns: 290 };
        let dropped = account(given(Method::Ftq), &mut running, Some(gap), true, 1_340, &queues);
        let quanta: Vec<Quantum> = quanta.try_iter().collect();
        let told: Vec<[u64; 4]> =
            quanta.iter().map(|q| [q.begin_ns, q.length_ns, q.units, q.lost_ns]).collect();
        assert_eq!(told, [[1_000, 100, 4, 55], [1_100, 100, 0, 100], [1_200, 100, 0, 100]]);
        assert_eq!((running.begin_ns, running.lost_ns, dropped), (1_300, 40, 0));
        let lost: u64 = quanta.iter().map(|q| q.lost_ns).sum::<u64>() + running.lost_ns;
        assert_eq!(lost, 5 + gap.lost_ns, "nothing is counted twice or not at all");
    }

    #[test]
    fn a_quantum_of_fixed_work_is_as_long_as_it_takes() {
        let (queues, quanta, _) = queues();
        let mut running = Running { begin_ns: 1_000, units: 9, lost_ns: 0 };
        let gap = Gap { begin_ns: 1_500, step_ns: 80, lost_ns: 70 };
        account(given(Method::Fwq), &mut running, Some(gap), false, 1_580, &queues);
        running.units += 1;
        account(given(Method::Fwq), &mut running, None, true, 2_000, &queues);
        let quantum = quanta.try_recv().expect("one is over");
        assert_eq!((quantum.length_ns, quantum.units, quantum.lost_ns), (1_000, 10, 70));
    }

    #[test]
    fn a_full_queue_drops_and_counts() {
        let (quanta, _quanta) = sync_channel(1);
        let (gaps, _gaps) = sync_channel(1);
        let mut running = Running { begin_ns: 0, units: 0, lost_ns: 0 };
        let queues = Queues { quanta, gaps };
        let dropped = account(given(Method::Gaps), &mut running, None, true, 350, &queues);
        assert_eq!(dropped, 2);
    }

    #[test]
    fn the_loop_accounts_for_all_of_its_time() {
        for method in [Method::Ftq, Method::Gaps, Method::Fwq] {
            let (queues, quanta, gaps) = queues();
            let step_ns = usual_step_ns(method);
            let given = Loop {
                method,
                end_ns: now_ns() + 20_000_000,
                quantum_ns: 1_000_000,
                work_units: 1_000,
                threshold_ns: 500,
            };
            let own = run(given, step_ns, &queues, &AtomicBool::new(false));
            let lengths: u64 = quanta.try_iter().map(|quantum| quantum.length_ns).sum();
            assert!(own.end_ns >= given.end_ns, "{method:?}");
            assert!(lengths <= own.end_ns - own.begin_ns, "{method:?}: {lengths} {own:?}");
            for gap in gaps.try_iter() {
                assert!(gap.lost_ns > 500 && gap.step_ns >= gap.lost_ns, "{method:?}: {gap:?}");
                assert!(gap.begin_ns >= own.begin_ns && gap.end_ns() <= own.end_ns);
            }
        }
    }

    #[test]
    fn it_stops_when_it_is_asked_to() {
        let (queues, _quanta, _gaps) = queues();
        let given = Loop { end_ns: u64::MAX, quantum_ns: 100_000, ..given(Method::Ftq) };
        let own = run(given, 100, &queues, &AtomicBool::new(true));
        assert!(own.end_ns > own.begin_ns);
    }
}
