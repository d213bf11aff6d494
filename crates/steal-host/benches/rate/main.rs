//! What a task costs that two processes share, with its result, beside a byte that goes to the
//! other process and back through pipes, and beside the same tasks in order in one process.
//!
//! Each repetition has all of them in turn, so that what else the machine does meets all, and each
//! row is the median with its quartiles. `cargo bench -p tidings-steal-host`; with `cargo test`
//! each runs once.
//!
//! A machine that does something else, too, gives two processes no more of its processors than
//! one; so the time that the processors were busy is measured beside what a clock on the wall says.
//!
//! - `list`: empty tasks at the first worker, each with a number that is its result; what both have
//!   is gathered.
//! - `fib`, `uts`: tasks that spawn tasks, as the applications have them.
//! - `wake`: from a spawn to the beginning of that task in the other process, which sleeps.

#[path = "../../examples/host/travels.rs"]
mod travels;

use std::error::Error;
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tidings_applications::fibonacci::Fibonacci;
use tidings_applications::uts::Tree;
use tidings_applications::uts::trees::named;
use tidings_steal_host::{Body, Done, Frame, Host, PhaseError, Rules, Segment, Task};
use travels::{Travels, alone, on_all};

const JOIN: &str = "TIDINGS_RATE_JOIN";

/// How much is measured: the same in both processes.
#[derive(Clone, Copy)]
struct Sizes {
    repetitions: usize,
    pings: usize,
    tasks: u64,
    fib: u32,
    wakes: usize,
    tree: bool,
}

const WHOLE: Sizes =
    Sizes { repetitions: 21, pings: 2_000, tasks: 50_000, fib: 22, wakes: 20, tree: true };
const ONCE: Sizes =
    Sizes { repetitions: 1, pings: 10, tasks: 1_000, fib: 10, wakes: 2, tree: false };

fn main() -> Result<(), Box<dyn Error>> {
    let sizes = if std::env::args().any(|argument| argument == "--bench") { WHOLE } else { ONCE };
    if let Some(path) = std::env::var_os(JOIN) {
        let mut host = Host::join(Path::new(&path), 2)?;
        for _ in 0..sizes.repetitions {
            answer(sizes.pings)?;
            measure(&mut host, sizes)?;
        }
        return Ok(());
    }
    let path = PathBuf::from(format!("/dev/shm/tidings-steal-rate-{}", std::process::id()));
    let segment = Segment::create(&path, 2, &Rules::default())?;
    let mut other = Command::new(std::env::current_exe()?)
        .args(std::env::args().skip(1))
        .env(JOIN, segment.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut host = Host::join(&path, 2)?;
    let mut rows: Vec<(&str, Vec<f64>)> = Vec::new();
    for _ in 0..sizes.repetitions {
        let ping_us = ping(&mut other, sizes.pings)?;
        let mut measured = vec![("a byte there and back through pipes, µs", vec![ping_us])];
        measured.extend(measure(&mut host, sizes)?);
        measured.push(("list: ratio to the byte", vec![measured[1].1[0] / ping_us]));
        for (name, values) in measured {
            match rows.iter_mut().find(|(known, _)| *known == name) {
                Some((_, all)) => all.extend(values),
                None => rows.push((name, values)),
            }
        }
    }
    drop(host);
    other.wait()?;
    println!("| what | median [quartiles] | largest | measured |\n|---|---|---|---|");
    // On a machine that is busy all tasks of a short pass may be done before anybody could wait.
    for (name, mut values) in rows.into_iter().filter(|(_, values)| !values.is_empty()) {
        values.sort_by(f64::total_cmp);
        let at = |part: usize| values[(values.len() - 1) * part / 4];
        let (low, median, high, most) = (at(1), at(2), at(3), at(4));
        let count = values.len();
        println!("| {name} | {median:.3} [{low:.3}, {high:.3}] | {most:.3} | {count} |");
    }
    Ok(())
}

/// A byte to the other process and back: microseconds each time.
fn ping(other: &mut Child, pings: usize) -> Result<f64, Box<dyn Error>> {
    let to = other.stdin.as_mut().ok_or("a pipe")?;
    let from = other.stdout.as_mut().ok_or("a pipe")?;
    let began = Instant::now();
    for _ in 0..pings {
        to.write_all(&[1])?;
        from.read_exact(&mut [0])?;
    }
    Ok(1e6 * began.elapsed().as_secs_f64() / pings as f64)
}

fn answer(pings: usize) -> std::io::Result<()> {
    let (mut from, mut to) = (std::io::stdin().lock(), std::io::stdout().lock());
    for _ in 0..pings {
        from.read_exact(&mut [0])?;
        to.write_all(&[1])?;
        to.flush()?;
    }
    Ok(())
}

/// What both processes do in each repetition, as it was at this one.
fn measure(host: &mut Host, sizes: Sizes) -> Result<Vec<(&'static str, Vec<f64>)>, PhaseError> {
    let list = list(host, sizes.tasks)?;
    let mut rows = vec![
        ("list: µs a task", vec![list.wall_us]),
        ("list: µs of processors a task", vec![list.processor_us]),
    ];
    let (fib, alone) = beside(host, &Fibonacci(sizes.fib))?;
    rows.push(("fib: µs a task", vec![fib.wall_us]));
    rows.push(("fib: µs of processors a task", vec![fib.processor_us]));
    rows.push(("fib: µs of processors a task, in order", vec![alone.processor_us]));
    if sizes.tree {
        let tree: Tree = named("T1").expect("a tree of that name").tree;
        let (uts, alone) = beside(host, &tree)?;
        rows.push(("UTS T1: µs a task", vec![uts.wall_us]));
        rows.push(("UTS T1: ratio to in order", vec![uts.wall_us / alone.wall_us]));
        let ratio = uts.processor_us / alone.processor_us;
        rows.push(("UTS T1: ratio of processors' time to in order", vec![ratio]));
    }
    rows.push(("wake: µs", wakes(host, sizes.wakes)?));
    Ok(rows)
}

/// What a task takes, in microseconds: from the beginning of all to the end, divided by their
/// number, and of the processors of all processes.
#[derive(Clone, Copy)]
struct Cost {
    wall_us: f64,
    processor_us: f64,
}

/// What has passed since the beginning, on both clocks.
struct Timer {
    began: Instant,
    processor_ns: u64,
}

impl Timer {
    fn begin() -> Self {
        Self { began: Instant::now(), processor_ns: clock_ns(ClockId::ProcessCPUTime) }
    }

    /// Nanoseconds of processors so far.
    fn processor_ns(&self) -> u64 {
        clock_ns(ClockId::ProcessCPUTime) - self.processor_ns
    }

    fn cost(&self, processor_ns: u64, tasks: u64) -> Cost {
        let wall_us = 1e6 * self.began.elapsed().as_secs_f64() / tasks as f64;
        Cost { wall_us, processor_us: 1e-3 * processor_ns as f64 / tasks as f64 }
    }
}

/// Empty tasks with a result.
fn list(host: &mut Host, tasks: u64) -> Result<Cost, PhaseError> {
    fn add(task: &mut Task<'_>, sum: &mut u64) -> Done {
        *sum += u64::from_le_bytes(task.state().try_into().expect("eight bytes"));
        Done::Nothing
    }
    let frame = |at: u64| Frame::new(0, 0, &at.to_le_bytes()).expect("it fits");
    let list = (0..if host.is_first() { tasks } else { 0 }).map(frame).collect();
    host.sync()?;
    let (timer, mut sum) = (Timer::begin(), 0);
    host.phase("list", list, &[add as Body<u64>], &mut sum)?;
    let shown = host.gather(&[sum, timer.processor_ns()])?;
    let all = |at: usize| shown.iter().flatten().map(|words| words[at]).sum();
    let cost = timer.cost(all(1), tasks);
    assert_eq!(all(0), tasks * (tasks - 1) / 2, "each result counts once");
    Ok(cost)
}

/// An application on both, and in order on the first while the other sleeps.
fn beside<A: Travels + Clone>(
    host: &mut Host,
    application: &A,
) -> Result<(Cost, Cost), PhaseError> {
    host.sync()?;
    let timer = Timer::begin();
    let total = on_all(host, application.clone())?;
    let shown = host.gather(&[timer.processor_ns()])?;
    let both = timer.cost(shown.iter().flatten().map(|words| words[0]).sum(), 1);
    let mut in_order = [0; 3];
    if host.is_first() {
        let timer = Timer::begin();
        let (expected, tasks) = black_box(alone(application));
        let Cost { wall_us, processor_us } = timer.cost(timer.processor_ns(), tasks);
        in_order = [tasks, wall_us.to_bits(), processor_us.to_bits()];
        assert_eq!(A::shown(&total), expected);
    }
    let shown = host.gather(&in_order)?;
    let first = shown[host.first() as usize].as_deref().unwrap_or(&in_order);
    let (tasks, wall_us) = (first[0] as f64, f64::from_bits(first[1]));
    let alone = Cost { wall_us, processor_us: f64::from_bits(first[2]) };
    let (wall_us, processor_us) = (both.wall_us / tasks, both.processor_us / tasks);
    Ok((Cost { wall_us, processor_us }, alone))
}

/// The time on a clock, in nanoseconds.
fn clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// From a spawn to its beginning in the other process, which sleeps: microseconds each.
fn wakes(host: &mut Host, wakes: usize) -> Result<Vec<f64>, PhaseError> {
    /// The first waits until the other one sleeps; then both have something to do.
    fn body(task: &mut Task<'_>, woken: &mut Option<u64>) -> Done {
        let wait = |long| {
            let began = Instant::now();
            while began.elapsed() < long {
                std::hint::spin_loop();
            }
        };
        if task.step() == 0 {
            wait(Duration::from_micros(500));
            let stamp = clock_ns(ClockId::Monotonic).to_le_bytes();
            for _ in 0..2 {
                let child = Frame::new(0, 2_000_000, &stamp).expect("it fits");
                let _ = task.spawn(child.at_step(1));
            }
            // The other one gets its answer while this one is still busy.
            wait(Duration::from_micros(500));
            task.progress();
        } else if task.worker() > 0 {
            let stamp = u64::from_le_bytes(task.state().try_into().expect("eight bytes"));
            woken.get_or_insert(clock_ns(ClockId::Monotonic) - stamp);
        }
        Done::Nothing
    }
    let mut all = Vec::new();
    for _ in 0..wakes {
        let mut woken = None;
        let first = Frame::new(0, 0, &[0; 8]).expect("it fits");
        let list = vec![first; usize::from(host.number() == 0)];
        host.phase("wake", list, &[body as Body<Option<u64>>], &mut woken)?;
        let shown = host.gather(&[woken.map_or(0, |ns| ns + 1)])?;
        let woken_ns = shown.iter().flatten().map(|words| words[0]).max().unwrap_or(0);
        if woken_ns > 0 {
            all.push(1e-3 * woken_ns as f64);
        }
    }
    Ok(all)
}
