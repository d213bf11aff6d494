//! One operation of the core or the board, at a size, for whoever counts instructions.
//!
//! `scaling.toml` at the root of the repository states how the operations must grow: selection and
//! merge with the window and not with the nodes, a read of the board with neither. `make
//! expectations` runs this program under callgrind, which counts what happens inside of
//! [`counted`] (`--toggle-collect`) and nothing of what is made ready before. The input is the
//! steady state of [`tidings_bench::steady`], drawn from a fixed seed, so counts repeat.
//!
//! `--fault sort` is for the test that a fault is found: each operation then brings the whole
//! vector into the order of ages, as a selection without a calendar would.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use tidings_bench::steady::{NEWS_SHARE, Received, Steady};
use tidings_board::{Board, Entry, News, Outline, State, Writer, now_ns};

const USAGE: &str = "usage: growth select|merge|read --nodes N --window W [--fault sort]";
/// How many windows are counted: a single one may be a lucky one.
const REPETITIONS: usize = 8;
/// How many entries of the board are read: names differ in how long their search takes.
const READS: usize = 256;
const PAYLOAD_BYTES: usize = 64;
const DATAGRAM_BYTES: usize = 1_452;
/// A writer that is done is taken for alive this long.
const LIMIT: Duration = Duration::from_secs(86_400);

/// What is asked for on the command line.
struct Asked {
    operation: String,
    nodes: usize,
    window: usize,
    sorts: bool,
}

impl Asked {
    fn of(words: impl Iterator<Item = String>) -> Option<Self> {
        let mut asked = Self { operation: String::new(), nodes: 0, window: 0, sorts: false };
        let mut words = words.peekable();
        asked.operation = words.next()?;
        while let Some(option) = words.next() {
            let value = words.next()?;
            match option.as_str() {
                "--nodes" => asked.nodes = value.parse().ok()?,
                "--window" => asked.window = value.parse().ok()?,
                "--fault" => asked.sorts = value == "sort",
                _ => return None,
            }
        }
        (asked.window > 0 && asked.nodes > asked.window).then_some(asked)
    }

    fn run(&self) -> Result<(), Box<dyn Error>> {
        match self.operation.as_str() {
            "select" => self.select(),
            "merge" => self.merge(),
            "read" => return self.read(),
            _ => return Err(USAGE.into()),
        }
        Ok(())
    }

    fn steady(&self) -> Steady {
        Steady::new(self.nodes as u32, self.window, PAYLOAD_BYTES as u16, DATAGRAM_BYTES)
    }

    /// Picks the newest entries of a vector, as each round does.
    fn select(&self) {
        let mut steady = self.steady();
        let mut received = Received::default();
        let mut slots = Vec::with_capacity(self.nodes);
        for _ in 0..REPETITIONS {
            steady.pass();
            steady.receive(&mut received, NEWS_SHARE);
            steady.merge(&received);
            slots.clear();
            counted(|| {
                steady.vector.newest(self.window, &mut slots);
                self.fault(&steady);
            });
            assert_eq!(slots.len(), self.window, "a steady vector has entries enough");
        }
    }

    /// Decodes a window that came in, and merges it.
    fn merge(&self) {
        let mut steady = self.steady();
        let mut received = Received::default();
        for _ in 0..REPETITIONS {
            steady.pass();
            steady.receive(&mut received, NEWS_SHARE);
            counted(|| {
                black_box(steady.merge(&received));
                self.fault(&steady);
            });
        }
    }

    /// Reads entries of the board by name, one after the other.
    fn read(&self) -> Result<(), Box<dyn Error>> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("board");
        let _writer = self.written(&path)?;
        let board = Board::open(&path, LIMIT)?;
        let steady = self.sorts.then(|| self.steady());
        let mut entry = Entry::empty();
        board.entry_into(&name(0), &mut entry)?; // what only a first read does is not counted
        for turn in 0..READS {
            let wanted = name((turn * 3_571) % self.nodes);
            let mut found = Ok(false);
            counted(|| {
                found = board.entry_into(&wanted, &mut entry);
                if let Some(steady) = &steady {
                    self.fault(steady);
                }
            });
            assert!(found?, "{wanted} is a member");
        }
        Ok(())
    }

    /// A board with all nodes.
    fn written(&self, path: &Path) -> Result<Writer, Box<dyn Error>> {
        let outline = Outline {
            cluster: "growth".into(),
            observer: name(0),
            slots: self.nodes,
            payload_bytes: PAYLOAD_BYTES,
            payload_schema: 1,
            unit: Duration::from_secs(1),
        };
        let mut writer = Writer::create(path, &outline)?;
        for slot in 0..self.nodes {
            let news = News {
                state: State::Alive,
                node_id: slot as u32,
                incarnation: 1,
                sequence: 1,
                birth_ns: now_ns(),
                payload: &[7; PAYLOAD_BYTES],
            };
            writer.seat(slot, &name(slot), &[10, 0, 0, 1, 37, 144], &news)?;
        }
        writer.beat(now_ns());
        Ok(writer)
    }

    /// The seeded fault, where it is asked for.
    fn fault(&self, steady: &Steady) {
        if self.sorts {
            let mut births: Vec<_> = steady.vector.iter().map(|entry| entry.birth).collect();
            births.sort_by(|one, other| other.cmp(one));
            black_box(births);
        }
    }
}

/// What is counted: callgrind is told this name.
#[inline(never)]
fn counted(operation: impl FnOnce()) {
    operation();
}

/// Names without an order: those of a row of numbers meet in the table of the board, more at some
/// sizes than at others.
fn name(node: usize) -> String {
    format!("n{:08x}", (node as u32).wrapping_mul(0x9E37_79B1))
}

fn main() -> Result<(), Box<dyn Error>> {
    Asked::of(std::env::args().skip(1)).ok_or(USAGE)?.run()
}
