//! Readers of running agents, of every kind at once: what a soak has to endure.
//!
//! Each reader is a thread that goes round the agents, opens what it reads anew each time and
//! closes it again, since that is where descriptors and memory would leak. An agent may be down
//! at any moment: what does not answer is counted and passed over.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tidings_board::{Board, Snapshot, board_path};
use tidings_control::{Client, Pick, socket_path};

/// Where an agent can be read.
#[derive(Clone, Debug)]
pub struct Place {
    /// The directory of its control socket and its board.
    pub runtime_dir: PathBuf,
    /// Its HTTP endpoint, `IP:PORT`.
    pub http: String,
}

/// How often each kind of reading was done, and failed.
#[derive(Debug, Default)]
pub struct Tally {
    done: AtomicU64,
    failed: AtomicU64,
}

/// The readers of a run; they end when they are told, or when this is dropped.
#[derive(Debug)]
pub struct Readers {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    tallies: Vec<(&'static str, Arc<Tally>)>,
}

type Reading = fn(&Place) -> Option<()>;

/// The kinds of reading, and the pause between two.
const KINDS: [(&str, Reading, Duration); 5] = [
    ("metrics", metrics, Duration::from_millis(100)),
    ("pages", nodes_page, Duration::from_millis(400)),
    ("watch", watch, Duration::from_millis(100)),
    ("pick", pick, Duration::from_millis(100)),
    ("board", board, Duration::from_millis(50)),
];

impl Readers {
    /// Starts a reader of each kind over these agents.
    pub fn start(places: &[Place]) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let mut readers = Self { ends, threads: Vec::new(), tallies: Vec::new() };
        for (name, reading, pause) in KINDS {
            let tally = Arc::new(Tally::default());
            readers.tallies.push((name, Arc::clone(&tally)));
            let (places, ends) = (places.to_vec(), Arc::clone(&readers.ends));
            readers.threads.push(thread::spawn(move || {
                for place in places.iter().cycle() {
                    if ends.load(Ordering::Relaxed) {
                        return;
                    }
                    let outcome = reading(place);
                    let count = if outcome.is_some() { &tally.done } else { &tally.failed };
                    count.fetch_add(1, Ordering::Relaxed);
                    thread::park_timeout(pause);
                }
            }));
        }
        readers
    }

    /// What has been read so far: kind, done, failed.
    pub fn tallies(&self) -> Vec<(&'static str, u64, u64)> {
        let count = |tally: &Tally| {
            (tally.done.load(Ordering::Relaxed), tally.failed.load(Ordering::Relaxed))
        };
        let row = |(name, tally): &(&'static str, Arc<Tally>)| {
            let (done, failed) = count(tally);
            (*name, done, failed)
        };
        self.tallies.iter().map(row).collect()
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            let _ = thread.join(); // a reader that panicked has been told of
        }
    }
}

fn metrics(place: &Place) -> Option<()> {
    page(place, "/metrics")
}

fn nodes_page(place: &Place) -> Option<()> {
    page(place, "/v1/nodes").and_then(|()| page(place, "/"))
}

/// Fetches a page to its end.
fn page(place: &Place, path: &str) -> Option<()> {
    let mut stream = TcpStream::connect(&place.http).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    answer.starts_with(b"HTTP/1.1 200").then_some(())
}

/// Watches for a moment, then goes.
fn watch(place: &Place) -> Option<()> {
    let mut stream = UnixStream::connect(socket_path(&place.runtime_dir)).ok()?;
    stream.set_read_timeout(Some(Duration::from_millis(500))).ok()?;
    stream.write_all(b"{\"op\":\"watch\"}\n").ok()?;
    let mut bytes = [0; 4096];
    let read = stream.read(&mut bytes).ok()?;
    let _ = stream.read(&mut bytes); // news, or nothing for half a second
    (read > 0).then_some(())
}

fn pick(place: &Place) -> Option<()> {
    let mut client = Client::connect(&place.runtime_dir).ok()?;
    let policy = "two-choices".to_owned();
    client.pick(Pick { count: 2, cpus: 0.0, mem_bytes: 0, avoid: Vec::new(), policy }).ok()?;
    client.nodes().ok().map(drop)
}

fn board(place: &Place) -> Option<()> {
    let board = Board::open(&board_path(&place.runtime_dir), Duration::from_secs(5)).ok()?;
    board.snapshot(&mut Snapshot::new()).ok().map(drop)
}
