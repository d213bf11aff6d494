//! How much faster do cores count at a representative each than at one atomic, to 64 cores?
//!
//! What two cores of this machine do is measured: additions alone and together, and how long a
//! line takes from one core to the other. With more cores it is the model of `lines.rs` with these
//! costs, and with transfers as long as on larger machines.
//!
//! Each measurement is the least of many short ones: what else the machine does makes them longer
//! only.

#![allow(clippy::disallowed_methods, reason = "what measures has a clock and threads")]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::hint::{black_box, spin_loop};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::thread;
use std::time::Instant;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::{Map, Value};
use tidings_blocks::block::{Outlet, Posted};
use tidings_blocks::counter::Counter;
use tidings_blocks::record::Made;
use tidings_blocks::table::{Kinds, Table};
use tidings_blocks::{Block as _, BlockId, Node, Ref};
use tidings_studies::lines::{Came, Costs, Counted, count};
use tidings_studies::table::{self, Made as MadeTable};

/// How many repetitions, and how many additions or passes each has.
struct Plan {
    repetitions: usize,
    additions: u64,
    passes: u64,
    /// The time that is simulated, in picoseconds.
    simulated: u64,
}

const MEASURED: Plan =
    Plan { repetitions: 400, additions: 50_000, passes: 2_000, simulated: 20_000_000_000 };
const TINY: Plan = Plan { repetitions: 2, additions: 500, passes: 20, simulated: 100_000_000 };

/// The cores of the model.
const CORES: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// How long transfers take elsewhere, in nanoseconds: within a socket, and between two.
const ELSEWHERE: [u64; 3] = [50, 100, 200];

/// Sums a second.
const SUMS: [u64; 2] = [0, 10_000];

const SECOND: u64 = 1_000_000_000_000;

fn main() -> ExitCode {
    table::make("counters", "studies/counter-lines/run", None, |is_measured| {
        Ok::<_, Infallible>(made(if is_measured { &MEASURED } else { &TINY }))
    })
}

/// What two cores do, in nanoseconds.
#[derive(Clone, Copy)]
struct Two {
    /// An addition of a core alone: to the counter, to the atomic.
    counter: f64,
    atomic: f64,
    /// The time of two cores for an addition of each.
    counter_both: f64,
    atomic_both: f64,
    /// A line on its way from one to the other, which has waited for it.
    transfer: f64,
}

fn made(plan: &Plan) -> MadeTable {
    let two = measured(plan);
    let fitted = fitted(two, plan.simulated);
    let mut table = "source,transfer_ns,keeps,cores,counted,sums_per_s,adds_per_us\n".to_owned();
    for (cores, counter, atomic) in
        [(1.0, two.counter, two.atomic), (2.0, two.counter_both, two.atomic_both)]
    {
        for (counted, time) in [("apart", counter), ("together", atomic)] {
            let (transfer, rate) = (two.transfer, cores * 1e3 / time);
            let _ = writeln!(table, "measured,{transfer:.1},,{cores},{counted},0,{rate:.2}");
        }
    }
    let elsewhere = ELSEWHERE.map(|transfer| transfer as f64);
    for transfer in [two.transfer].into_iter().chain(elsewhere) {
        for keeps in [fitted, 0.0] {
            for cores in CORES {
                for (counted, sums, rate) in modelled(two, transfer, keeps, cores, plan.simulated) {
                    let _ = writeln!(
                        table,
                        "model,{transfer:.1},{keeps:.3},{cores},{counted},{sums},{rate:.2}"
                    );
                }
            }
        }
    }
    (table, facts(two, fitted))
}

/// What the model's cores add in a microsecond, at one line and at lines of their own.
fn modelled(
    two: Two,
    transfer: f64,
    keeps: f64,
    cores: usize,
    simulated: u64,
) -> Vec<(&'static str, u64, f64)> {
    let rate = |add, counted| {
        per_us(count(costs(add, transfer, keeps), cores, counted, simulated), simulated)
    };
    let apart = SUMS.map(|sums| {
        let interval = (sums > 0).then(|| SECOND / sums);
        ("apart", sums, rate(two.counter, Counted::Apart(interval)))
    });
    let together = ("together", 0, rate(two.atomic, Counted::Together));
    apart.into_iter().chain([together]).collect()
}

fn facts(two: Two, keeps: f64) -> Map<String, Value> {
    let named = [
        ("counter_ns", two.counter),
        ("atomic_ns", two.atomic),
        ("counter_both_ns", two.counter_both),
        ("atomic_both_ns", two.atomic_both),
        ("transfer_ns", two.transfer),
        ("keeps_share", keeps),
    ];
    let rounded = |value: f64| Value::from((value * 1e3).round() / 1e3);
    named.into_iter().map(|(name, value)| (name.to_owned(), rounded(value))).collect()
}

/// Costs of so many nanoseconds, and the share of a transfer in which the owner goes on.
fn costs(add: f64, transfer: f64, keeps: f64) -> Costs {
    let picoseconds = |nanoseconds: f64| ((nanoseconds * 1e3) as u64).max(1);
    Costs {
        add: picoseconds(add),
        transfer: picoseconds(transfer),
        keeps: (transfer * keeps * 1e3) as u64,
    }
}

fn per_us(came: Came, picoseconds: u64) -> f64 {
    came.adds as f64 * 1e6 / picoseconds as f64
}

/// The share of a transfer in which the owner goes on, so that two cores of the model add as often
/// to one line as two of this machine do; 0 or 1 if none of them does.
fn fitted(two: Two, simulated: u64) -> f64 {
    let wanted = 2e3 / two.atomic_both;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..20 {
        let share = f64::midpoint(low, high);
        let came = count(costs(two.atomic, two.transfer, share), 2, Counted::Together, simulated);
        if per_us(came, simulated) < wanted { low = share } else { high = share }
    }
    high
}

fn measured(plan: &Plan) -> Two {
    let table = Table::new(Kinds::default().with(Counter), Node(1), Arc::new(Nowhere));
    let named = ("counted".to_owned(), Counter::KIND.to_owned());
    let made = Made { name: named.0, kind: named.1, version: Counter::VERSION, since: 0 };
    table.enter(BlockId(1), &made).expect("the kind is known");
    let counter: Ref<Counter> = table.get::<Counter>(BlockId(1)).expect("it was entered").clone();
    let atomic = Apart(AtomicU64::new(0));
    let to_counter = || black_box(&counter).add(1);
    let to_atomic = || {
        black_box(&atomic.0).fetch_add(1, Relaxed);
    };
    Two {
        counter: least(plan, 1, &to_counter),
        atomic: least(plan, 1, &to_atomic),
        counter_both: least(plan, 2, &to_counter),
        atomic_both: least(plan, 2, &to_atomic),
        transfer: transfer(plan),
    }
}

/// On a line of its own, and the one that processors fetch with it.
#[repr(align(128))]
struct Apart(AtomicU64);

/// Where handlers of blocks go: nobody asks one.
struct Nowhere;

impl Outlet for Nowhere {
    fn post(&self, posted: Posted) {
        drop(posted);
    }
}

/// The least time, in nanoseconds, in which so many threads, on a processor each, add once.
fn least(plan: &Plan, threads: usize, add: &(impl Fn() + Sync)) -> f64 {
    let time = on_processors(threads, plan.repetitions, &|_| {
        for _ in 0..plan.additions {
            add();
        }
    });
    time / plan.additions as f64
}

/// The least time, in nanoseconds, of a line from one processor to another: it goes to and fro.
fn transfer(plan: &Plan) -> f64 {
    let line = Apart(AtomicU64::new(0));
    let round = AtomicUsize::new(0);
    let time = on_processors(2, plan.repetitions, &|thread| {
        let first = 2 * plan.passes * (round.fetch_add(1, Relaxed) / 2) as u64;
        for pass in (first + thread as u64..first + 2 * plan.passes).step_by(2) {
            while line.0.load(Acquire) != pass {
                spin_loop();
            }
            line.0.store(pass + 1, Release);
        }
    });
    time / (2 * plan.passes) as f64
}

/// The least time, in nanoseconds, until all threads have done something that they begin together.
/// Each keeps to a processor of its own, if there are as many.
fn on_processors(threads: usize, repetitions: usize, work: &(impl Fn(usize) + Sync)) -> f64 {
    let arrived = AtomicUsize::new(0);
    let allowed = allowed();
    let mut times: BTreeMap<usize, Vec<(Instant, Instant)>> = BTreeMap::new();
    thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|thread| {
                let (arrived, allowed) = (&arrived, &allowed);
                scope.spawn(move || {
                    keep_to(allowed, thread);
                    let once = |repetition| {
                        // Whoever sleeps here would begin later than the others.
                        arrived.fetch_add(1, Release);
                        while arrived.load(Acquire) < (repetition + 1) * threads {
                            spin_loop();
                        }
                        let begun = Instant::now();
                        work(thread);
                        (begun, Instant::now())
                    };
                    (0..repetitions).map(once).collect::<Vec<_>>()
                })
            })
            .collect();
        for (thread, handle) in handles.into_iter().enumerate() {
            times.insert(thread, handle.join().expect("it does not panic"));
        }
    });
    let spent: Vec<Spent> = (0..repetitions)
        .map(|at| Spent::of(&times.values().map(|times| times[at]).collect::<Vec<_>>()))
        .collect();
    let least = |together: bool| {
        let chosen = spent.iter().filter(|one| !together || one.is_together());
        chosen.map(|one| one.whole).fold(f64::INFINITY, f64::min)
    };
    // Those that worked one after the other have not met.
    if least(true).is_finite() { least(true) } else { least(false) }
}

/// What a repetition took, in nanoseconds.
struct Spent {
    whole: f64,
    /// From the first thread's begin to the last one's.
    skew: f64,
}

impl Spent {
    fn of(threads: &[(Instant, Instant)]) -> Self {
        let first = threads.iter().map(|(begun, _)| *begun).min().expect("there is a thread");
        let last = threads.iter().map(|(begun, _)| *begun).max().expect("there is a thread");
        let ended = threads.iter().map(|(_, ended)| *ended).max().expect("there is a thread");
        let nanoseconds = |to: Instant| (to - first).as_nanos() as f64;
        Self { whole: nanoseconds(ended), skew: nanoseconds(last) }
    }

    fn is_together(&self) -> bool {
        self.skew * 50.0 < self.whole
    }
}

/// The processors that this process may use.
fn allowed() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_default();
    (0..CpuSet::MAX_CPU).filter(|processor| set.is_set(*processor)).collect()
}

fn keep_to(allowed: &[usize], thread: usize) {
    let Some(processor) = allowed.get(thread) else { return };
    let mut set = CpuSet::new();
    set.set(*processor);
    let _ = sched_setaffinity(None, &set); // it then runs where the kernel likes
}
