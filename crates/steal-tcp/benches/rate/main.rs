//! What a steal and a task cost that two processes share over TCP on loopback, beside a message
//! that goes to the other process and back over a plain connection.
//!
//! Each repetition has all of them in turn, so that what else the machine does meets all, and each
//! row is the median with its quartiles. `cargo bench -p tidings-steal-tcp`; with `cargo test` each
//! runs once.
//!
//! - `ping`: 64 bytes there and back, by calls that wait: the reference.
//! - `meeting`: all come, and it is decided.
//! - `steal`: the other process takes half of up to 128 empty tasks each time, while the first one
//!   is in a task that looks for messages: from the end of what it had to the first of the next.
//! - `list`: empty tasks at the first worker; phase and gathering divided by their number.
//! - `get`: a block of 3.2 KB of the other process, which runs such tasks too.
//! - `UTS`: a node of T1, beside the same in order in one process.

#[path = "../../examples/tcp/travels.rs"]
mod travels;

use std::error::Error;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use tidings_applications::uts::Tree;
use tidings_applications::uts::trees::named;
use tidings_steal_tcp::{
    Array, Attempt, BlockPlace, Body, Contribution, Done, Frame, Job, Key, KeyRing, Kind, Loss,
    PhaseError, Place, Plan, Process, Rules, Scheme, Task,
};
use travels::{Travels, alone, on_all};

const OTHER: &str = "TIDINGS_RATE_OTHER";

/// How much is measured.
#[derive(Clone, Copy)]
struct Sizes {
    repetitions: usize,
    pings: usize,
    meetings: usize,
    steals: usize,
    tasks: u64,
    tree: bool,
}

const WHOLE: Sizes =
    Sizes { repetitions: 21, pings: 2_000, meetings: 200, steals: 20, tasks: 50_000, tree: true };
const ONCE: Sizes =
    Sizes { repetitions: 1, pings: 10, meetings: 2, steals: 1, tasks: 1_000, tree: false };

/// A row of what is measured.
type Row = (&'static str, f64);

fn main() -> Result<(), Box<dyn Error>> {
    let sizes = if std::env::args().any(|argument| argument == "--bench") { WHOLE } else { ONCE };
    if let Ok(addresses) = std::env::var(OTHER) {
        return other(&addresses, sizes);
    }
    let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let (pinged, meeting) = (listen()?, listen()?);
    let (ping_at, meeting_at) = (pinged.local_addr()?, meeting.local_addr()?);
    let mut child = Command::new(std::env::current_exe()?)
        .args(std::env::args().skip(1))
        .env(OTHER, format!("{ping_at} {meeting_at}"))
        .spawn()?;
    let (mut ping_stream, _) = pinged.accept()?;
    ping_stream.set_nodelay(true)?;
    let mut process = join(0, meeting_at, meeting)?;
    let mut rows: Vec<(&str, Vec<f64>)> = Vec::new();
    for _ in 0..sizes.repetitions {
        let ping_us = ping(&mut ping_stream, sizes.pings)?;
        let mut measured = vec![("ping: 64 bytes there and back, µs", ping_us)];
        measured.extend(measure(&mut process, sizes, ping_us)?);
        for (name, value) in measured {
            match rows.iter_mut().find(|(known, _)| *known == name) {
                Some((_, all)) => all.push(value),
                None => rows.push((name, vec![value])),
            }
        }
    }
    drop(process);
    child.wait()?;
    println!("| what | median [quartiles] | largest |\n|---|---|---|");
    for (name, mut values) in rows {
        values.sort_by(f64::total_cmp);
        let at = |part: usize| values[(values.len() - 1) * part / 4];
        println!("| {name} | {:.3} [{:.3}, {:.3}] | {:.3} |", at(2), at(1), at(3), at(4));
    }
    Ok(())
}

/// The other process.
fn other(addresses: &str, sizes: Sizes) -> Result<(), Box<dyn Error>> {
    let (ping_at, meeting_at) = addresses.split_once(' ').ok_or("two addresses")?;
    let mut pings = TcpStream::connect(ping_at)?;
    pings.set_nodelay(true)?;
    let own = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut process = join(1, meeting_at.parse()?, own)?;
    for _ in 0..sizes.repetitions {
        let mut bytes = [0; 64];
        for _ in 0..sizes.pings {
            pings.read_exact(&mut bytes)?;
            pings.write_all(&bytes)?;
        }
        measure(&mut process, sizes, 1.0)?;
    }
    Ok(())
}

fn join(number: u32, meeting: SocketAddr, own: TcpListener) -> Result<Process, Box<dyn Error>> {
    let key = KeyRing::new(&[Key::from_bytes([7; 32])]).ok_or("a key")?;
    let job = Job { name: "rate".to_owned(), key };
    let rules = Rules::default();
    let mut process = Process::join(Place { number, workers: 2, meeting }, own, &job, &rules)?;
    process.recover_by(Scheme::Lazy)?;
    process.create(Array {
        name: "rate".to_owned(),
        blocks: 2,
        words: 400,
        kind: Kind::Doubles,
        copied: false,
        loss: Loss::Refuse,
    })?;
    Ok(process)
}

fn ping(stream: &mut TcpStream, pings: usize) -> std::io::Result<f64> {
    let (began, mut bytes) = (Instant::now(), [0; 64]);
    for _ in 0..pings {
        stream.write_all(&bytes)?;
        stream.read_exact(&mut bytes)?;
    }
    Ok(us_since(began) / pings as f64)
}

/// What both processes do in each repetition, as it was at this one.
fn measure(process: &mut Process, sizes: Sizes, ping_us: f64) -> Result<Vec<Row>, PhaseError> {
    let began = Instant::now();
    for _ in 0..sizes.meetings {
        process.sync()?;
    }
    let meeting_us = us_since(began) / sizes.meetings as f64;
    let steal_us = steal(process, sizes.steals)?;
    let list_us = list(process, sizes.tasks)?;
    let get_us = get(process, sizes.pings)?;
    let mut rows = vec![
        ("meeting of two, µs", meeting_us),
        ("meeting: ratio to the ping", meeting_us / ping_us),
        ("steal, µs", steal_us),
        ("steal: ratio to the ping", steal_us / ping_us),
        ("list: µs a task", list_us),
        ("list: ratio to the ping", list_us / ping_us),
        ("get of 3.2 KB, µs", get_us),
        ("get: ratio to the ping", get_us / ping_us),
    ];
    if sizes.tree {
        rows.extend(tree(process)?);
    }
    Ok(rows)
}

/// What a thief notes.
#[derive(Default)]
struct Thief {
    steals: u64,
    ended: Option<Instant>,
    gaps_us: Vec<f64>,
}

/// The first worker is in a task until the other one has what can be stolen; microseconds from the
/// end of what that one had to the first of the next, the median of all.
fn steal(process: &mut Process, phases: usize) -> Result<f64, PhaseError> {
    fn body(task: &mut Task<'_>, thief: &mut Thief) -> Done {
        if task.step() == 0 && task.worker() == 0 {
            let began = Instant::now();
            while us_since(began) < 1_000.0 {
                task.progress();
            }
        }
        let (now, steals) = (Instant::now(), task.counters().steals);
        if let Some(ended) = thief.ended.filter(|_| steals == thief.steals + 1) {
            thief.gaps_us.push(1e6 * now.saturating_duration_since(ended).as_secs_f64());
        }
        (thief.steals, thief.ended) = (steals, Some(Instant::now()));
        Done::Nothing
    }
    let mut thief = Thief::default();
    for _ in 0..phases {
        // The newest runs first; each counts as so much that half of it is stolen.
        let frame = |step| Frame::new(0, 1_000_000, &[0; 24]).expect("it fits").at_step(step);
        let steps = (0..129).map(|at| u32::from(at < 128));
        let list = if process.is_first() { steps.map(frame).collect() } else { Vec::new() };
        thief.ended = None;
        process.phase("steal", list, &[body as Body<Thief>], &mut thief)?;
    }
    thief.gaps_us.sort_by(f64::total_cmp);
    let median = thief.gaps_us.get(thief.gaps_us.len() / 2).copied().unwrap_or(f64::NAN);
    let shown = process.gather(&[median.to_bits()])?;
    Ok(shown[1].as_ref().map_or(f64::NAN, |words| f64::from_bits(words[0])))
}

/// Empty tasks with a result: microseconds each.
fn list(process: &mut Process, tasks: u64) -> Result<f64, PhaseError> {
    fn add(task: &mut Task<'_>, sum: &mut u64) -> Done {
        *sum += u64::from_le_bytes(task.state().try_into().expect("eight bytes"));
        Done::Nothing
    }
    let frame = |at: u64| Frame::new(0, 0, &at.to_le_bytes()).expect("it fits");
    let list = (0..if process.is_first() { tasks } else { 0 }).map(frame).collect();
    process.sync()?;
    let (began, mut sum) = (Instant::now(), 0);
    process.phase("list", list, &[add as Body<u64>], &mut sum)?;
    let shown = process.gather(&[sum])?;
    let us = us_since(began) / tasks as f64;
    let all: u64 = shown.iter().flatten().map(|words| words[0]).sum();
    assert_eq!(all, tasks * (tasks - 1) / 2, "each result counts once");
    Ok(us)
}

/// Tasks that read what the other process has.
#[derive(Debug)]
struct Gets(usize);

impl Plan for Gets {
    fn tasks(&self) -> u64 {
        self.0 as u64
    }

    fn outputs(&self, _: u64) -> Vec<BlockPlace> {
        Vec::new()
    }
}

/// A block of the other process: microseconds each.
fn get(process: &mut Process, tasks: usize) -> Result<f64, PhaseError> {
    fn read(attempt: &mut Attempt<'_>, all: &mut f64) -> Result<Vec<Contribution>, PhaseError> {
        let (began, other) = (Instant::now(), 1 - attempt.worker());
        let words = attempt.get(BlockPlace { array: 0, block: other })?;
        assert_eq!(words.len(), 400);
        *all += us_since(began);
        Ok(Vec::new())
    }
    let mut all = 0.0;
    process.recovered("get", Arc::new(Gets(tasks)), read, &mut all)?;
    let shown = process.gather(&[all.to_bits()])?;
    let sum: f64 = shown.iter().flatten().map(|words| f64::from_bits(words[0])).sum();
    Ok(sum / tasks as f64)
}

/// A tree on both, and in order on the first while the other sleeps.
fn tree(process: &mut Process) -> Result<Vec<Row>, PhaseError> {
    let tree: Tree = named("T1").expect("a tree of that name").tree;
    process.sync()?;
    let began = Instant::now();
    let total = on_all(process, tree)?;
    let both_us = us_since(began);
    let mut alone_us = both_us;
    if process.is_first() {
        let began = Instant::now();
        let (expected, _) = std::hint::black_box(alone(&tree));
        alone_us = us_since(began);
        assert_eq!(Tree::shown(&total), expected);
    }
    process.sync()?;
    let nodes = total.nodes as f64;
    Ok(vec![
        ("UTS T1: µs a node", both_us / nodes),
        ("UTS T1: ratio to in order", both_us / alone_us),
    ])
}

fn us_since(began: Instant) -> f64 {
    1e6 * began.elapsed().as_secs_f64()
}
