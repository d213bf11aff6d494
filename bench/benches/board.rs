//! What does a reader of the board wait, and what does it cost the writer?
//!
//! The writer is a process that every 10 ms decodes and merges a window of 1,638 entries into a
//! vector of 8,192, payloads of 64 bytes, and writes as many slots of its board: more than any
//! agent does. Readers are other processes. The writer has a processor to itself, readers share
//! the others.
//!
//! Asked are: one entry by name, the nodes in random order (caches miss) and 64 of them again and
//! again; a snapshot, beside a memcpy of the same bytes in the same process and run; and the time
//! of the writer's batch with 8 readers, in turns with the same beside 8 readers of a copy of the
//! board that nobody writes, and beside nobody. The copy tells what readers cost because they
//! share memory from what eight busy processes cost on a machine that has too few processors.
//! Readers take a snapshot each second or each 10 ms, or look a thousand names up each 10 ms, or
//! take one snapshot after the other without a pause, which no program has reason to.
//!
//! On two processors all readers share one, so that they disturb the writer one at a time.

use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tidings_bench::steady::{NEWS_SHARE, Received, Steady};
use tidings_board::{Board, Entry, News, Outline, Snapshot, State, Writer, now_ns};

const NODES: usize = 8_192;
const WINDOW: usize = 1_638;
const PAYLOAD_BYTES: usize = 64;
const PERIOD: Duration = Duration::from_millis(10);
const READERS: usize = 8;
/// No sign of life is too old: nobody gives one for the copy.
const LIMIT: Duration = Duration::from_secs(86_400);
/// Where a reader finds the board, and what it is to do.
const PATH: &str = "TIDINGS_BENCH_BOARD";
const ROLE: &str = "TIDINGS_BENCH_ROLE";

fn main() {
    if let Some(path) = std::env::var_os(PATH) {
        read(Path::new(&path), &std::env::var(ROLE).unwrap_or_default());
        return;
    }
    // `cargo test` runs this too, without `--bench`: one small pass then keeps it from rotting.
    let full = std::env::args().any(|argument| argument == "--bench");
    let shared = Path::new("/dev/shm");
    let directory =
        if shared.is_dir() { tempfile::tempdir_in(shared) } else { tempfile::tempdir() };
    let directory = directory.expect("a temporary directory");
    let path = directory.path().join("board");
    let mut writer = Batches::new(&path);
    pin(true);
    let mut out = std::io::stdout().lock();
    let mut say = |line: &str| drop(writeln!(out, "{line}"));
    let role = if full { "measure" } else { "try" };
    for line in writer.run_while(reader(&path, role, true)).lines() {
        say(line);
    }
    let copy = directory.path().join("copy");
    std::fs::copy(&path, &copy).expect("there is room for two");
    let (turns, batches) = if full { (15, 100) } else { (1, 2) };
    for (role, what) in [
        ("second", "with a snapshot each second"),
        ("paced", "with a snapshot each 10 ms"),
        ("entries", "with 1,000 entries each 10 ms"),
        ("busy", "with snapshots without a pause"),
    ] {
        say(&slowdown(&mut writer, [&path, &copy], (role, what), turns, batches));
    }
}

/// A vector, its board, and the windows that come in.
struct Batches {
    steady: Steady,
    received: Received,
    writer: Writer,
    payload: [u8; PAYLOAD_BYTES],
    turn: u32,
    slot: usize,
    next: Instant,
}

impl Batches {
    fn new(path: &Path) -> Self {
        let outline = Outline {
            cluster: "bench".into(),
            observer: name(0),
            slots: NODES,
            payload_bytes: PAYLOAD_BYTES,
            payload_schema: 1,
            unit: PERIOD,
        };
        let mut batches = Self {
            steady: Steady::new(NODES as u32, WINDOW, PAYLOAD_BYTES as u16, 1_452),
            received: Received::default(),
            writer: Writer::create(path, &outline).expect("a file can be made there"),
            payload: [1; PAYLOAD_BYTES],
            turn: 0,
            slot: 0,
            next: Instant::now(),
        };
        for slot in 0..NODES {
            let news = batches.news(slot);
            batches.writer.seat(slot, &name(slot), &[10, 0, 0, 1, 37, 144], &news).expect("fits");
        }
        batches
    }

    fn news(&self, slot: usize) -> News<'static> {
        const PAYLOAD: &[u8] = &[7; PAYLOAD_BYTES];
        News {
            state: State::Alive,
            node_id: slot as u32,
            incarnation: 1,
            sequence: self.turn,
            birth_ns: now_ns(),
            payload: PAYLOAD,
        }
    }

    /// One batch when it is due; how long merging and writing took, in microseconds.
    fn batch(&mut self) -> (f64, f64) {
        self.next = (self.next + PERIOD).max(Instant::now());
        std::thread::sleep(self.next.saturating_duration_since(Instant::now()));
        self.turn += 1;
        self.steady.pass();
        self.steady.receive(&mut self.received, NEWS_SHARE);
        let news = self.news(0);
        let begin = Instant::now();
        black_box(self.steady.merge(&self.received));
        let merged = Instant::now();
        for _ in 0..WINDOW {
            // Another order than that of the slots: a step that is prime to their number.
            self.slot = (self.slot + 3_571) % NODES;
            let news = News { node_id: self.slot as u32, payload: &self.payload, ..news };
            self.writer.update(self.slot, &news).expect("it is seated");
        }
        self.writer.beat(now_ns());
        let end = Instant::now();
        let micros = |duration: Duration| duration.as_secs_f64() * 1e6;
        (micros(merged - begin), micros(end - merged))
    }

    /// Writes on until a reader ends; what it printed.
    fn run_while(&mut self, mut reader: Child) -> String {
        while reader.try_wait().expect("an own child").is_none() {
            self.batch();
        }
        let mut said = String::new();
        if let Some(mut out) = reader.stdout.take() {
            out.read_to_string(&mut said).expect("a reader prints text");
        }
        said
    }
}

/// What happens beside the writer during a measurement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    /// Nothing of ours.
    Nobody,
    /// Eight readers of a copy of the board that nobody writes: they take as much of the machine,
    /// and share no memory with the writer.
    Copy,
    /// Eight readers of the board.
    Board,
}

/// Times of a batch, merging and writing, in each of the surroundings.
type Surroundings = [(f64, f64); 3];

/// The batch with readers of the board, beside the batch with readers of a copy, and without any,
/// in turns. What the readers of a copy cost is the price of a machine with too few processors;
/// what those of the board cost more is the price of sharing memory with them.
fn slowdown(
    writer: &mut Batches,
    paths: [&Path; 2],
    (role, what): (&str, &str),
    turns: usize,
    batches: usize,
) -> String {
    let [board, copy] = paths;
    let mut times = Vec::new();
    for turn in 0..turns {
        let mut order = [Beside::Nobody, Beside::Copy, Beside::Board];
        order.rotate_left(turn % 3);
        let mut three: Surroundings = [(0.0, 0.0); 3];
        for beside in order {
            let path = if beside == Beside::Board { board } else { copy };
            let count = if beside == Beside::Nobody { 0 } else { READERS };
            let mut readers: Vec<Child> = (0..count).map(|_| reader(path, role, false)).collect();
            many(writer, batches / 5); // they open the board
            three[beside as usize] = many(writer, batches);
            for reader in &mut readers {
                reader.kill().expect("an own child");
                reader.wait().expect("an own child");
            }
        }
        times.push(three);
    }
    let whole = |(merging, writing): (f64, f64)| merging + writing;
    let spread_of =
        |of: &dyn Fn(&Surroundings) -> f64, unit| spread(times.iter().map(of).collect(), unit);
    let period_us = PERIOD.as_secs_f64() * 1e6;
    let mut lines = vec![format!("writer, {READERS} readers {what}, {turns} turns:")];
    for (name, at) in [("nobody", 0), ("readers of a copy", 1), ("readers of the board", 2)] {
        let merging = spread_of(&|three| three[at].0, "us");
        let writing = spread_of(&|three| three[at].1, "us");
        lines.push(format!("  beside {name}: merge {merging}; board {writing}"));
    }
    for (name, than) in [("a copy", 1), ("nobody", 0)] {
        let ratio = spread_of(&|three| whole(three[2]) / whole(three[than]), "");
        let more =
            &|three: &Surroundings| 100.0 * (whole(three[2]) - whole(three[than])) / period_us;
        let more = spread_of(more, "%");
        lines.push(format!("  batch / batch beside {name}: {ratio}; added of the period: {more}"));
    }
    lines.join("\n")
}

/// Medians over some batches.
fn many(writer: &mut Batches, batches: usize) -> (f64, f64) {
    let (merging, writing) = (0..batches.max(1)).map(|_| writer.batch()).unzip();
    (median(merging), median(writing))
}

fn reader(path: &Path, role: &str, reports: bool) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("a running program has a path"));
    command.env(PATH, path).env(ROLE, role);
    command.stdout(if reports { Stdio::piped() } else { Stdio::null() });
    command.spawn().expect("it starts")
}

/// The life of a reader.
fn read(path: &Path, role: &str) {
    pin(false);
    let board = Board::open(path, LIMIT).expect("its writer lives");
    let mut snapshot = Snapshot::new();
    let mut again = |pause: Duration| {
        std::thread::sleep(pause);
        board.snapshot(&mut snapshot).is_ok()
    };
    match role {
        "busy" => while again(Duration::ZERO) {},
        "paced" => while again(PERIOD) {},
        "second" => while again(Duration::from_secs(1)) {},
        "entries" => {
            let names: Vec<String> = (0..NODES).map(name).collect();
            let mut entry = Entry::empty();
            for thousand in names.chunks(1_000).cycle() {
                std::thread::sleep(PERIOD);
                if !thousand.iter().all(|name| board.entry_into(name, &mut entry).is_ok()) {
                    return;
                }
            }
        }
        _ => measure(&board, if role == "try" { 5 } else { 2_000 }),
    }
}

fn measure(board: &Board, repetitions: usize) {
    let names: Vec<String> = (0..NODES).map(name).collect();
    for (what, nodes) in [("at random among 8,192", NODES), ("of 64, again and again", 64)] {
        let mut entry = Entry::empty();
        let mut at = 0;
        let mut times = Vec::new();
        for _ in 0..repetitions {
            let begin = Instant::now();
            for _ in 0..1_000 {
                at = (at + 3_571) % nodes;
                let found = board.entry_into(&names[at], &mut entry);
                assert!(found.expect("readable"), "all are members");
                black_box(&entry);
            }
            times.push(begin.elapsed().as_secs_f64() * 1e6); // of a thousand, so each in ns
        }
        println!("one entry by name, {what}: {}", spread(times, "ns"));
    }
    let bytes = NODES * 96;
    let (from, mut to) = (vec![1_u8; bytes], vec![0; bytes]);
    let mut snapshot = Snapshot::new();
    let (mut copies, mut snapshots, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..repetitions {
        let begin = Instant::now();
        black_box(&mut to[..]).copy_from_slice(black_box(&from));
        let between = Instant::now();
        board.snapshot(&mut snapshot).expect("readable");
        let end = Instant::now();
        assert_eq!(snapshot.entries().count(), NODES);
        let micros = |duration: Duration| duration.as_secs_f64() * 1e6;
        copies.push(micros(between - begin));
        snapshots.push(micros(end - between));
        ratios.push(micros(end - between) / micros(between - begin));
    }
    println!("snapshot of 8,192 x 64 B ({bytes} bytes): {}", spread(snapshots, "us"));
    println!("memcpy of as many bytes: {}", spread(copies, "us"));
    println!("snapshot / memcpy: {}", spread(ratios, ""));
}

fn name(n: usize) -> String {
    format!("n{n:04}")
}

/// Binds this process to the writer's processor, or to all others.
fn pin(writer: bool) {
    let Ok(all) = sched_getaffinity(None) else { return };
    let Some(first) = (0..CpuSet::MAX_CPU).find(|&cpu| all.is_set(cpu)) else { return };
    let mut own = CpuSet::new();
    own.set(first);
    let set = if writer { own } else { others(first).unwrap_or(all) };
    let _ = sched_setaffinity(None, &set); // then they share, and the figures say so
}

/// All processors online but one; a reader inherits the writer's, so its own set does not say.
fn others(but: usize) -> Option<CpuSet> {
    let count = std::fs::read_to_string("/sys/devices/system/cpu/online").ok()?;
    let last: usize = count.trim().rsplit(['-', ',']).next()?.parse().ok()?;
    let mut set = CpuSet::new();
    (0..=last).filter(|&cpu| cpu != but).for_each(|cpu| set.set(cpu));
    (set.count() > 0).then_some(set)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn spread(mut values: Vec<f64>, unit: &str) -> String {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share) as usize];
    format!("{:.2} {unit} [{:.2}, {:.2}], 99 % {:.2}", at(0.5), at(0.25), at(0.75), at(0.99))
}
