//! What does a large blob by its handle cost, on the host of its owner and on another one?
//!
//! A blob of 64 MiB that one process has put is got by another:
//!
//! * on the same host, which maps the owner's file. Reference: one copy of it (`memcpy`);
//! * on another host, by name, which fetches it from the owner over TCP, checks its hash, and keeps
//!   it in a file in memory. Reference: plain TCP between two threads, into a buffer that is there
//!   already: no hash, no file, no cipher, which each byte by handle goes through.
//!
//! Both ends are in one process here and go over loopback, so two processors do what four would.

#![allow(clippy::disallowed_methods, reason = "a benchmark is where a clock belongs")]

use std::error::Error;
use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use tidings_bench::{Comparison, compare};
use tidings_primitives::{Key, KeyRing};
use tidings_tasks::handles::{Handles, Held};
use tidings_tasks::member::{Member, Network};
use tidings_tasks::service::Options;
use tidings_tasks::session::Session;
use tidings_tasks::store::address::Address;
use tidings_tasks_core::reign::Candidate;
use tokio::runtime::Runtime;

/// Bytes of a blob.
const BYTES: usize = 64 << 20;

/// The share of plain TCP's rate that is wanted at least.
const WANTED: f64 = 0.8;

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test` runs this too, without `--bench`: one small pass then keeps it from rotting.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let as_json = std::env::args().any(|argument| argument == "--json");
    let (repetitions, bytes) = if is_bench { (15, BYTES) } else { (1, 1 << 20) };
    let shared = Path::new("/dev/shm");
    let root = if shared.is_dir() { shared } else { Path::new(env!("CARGO_TARGET_TMPDIR")) };
    say(&same_host(root, repetitions, bytes)?, bytes, as_json)?;
    say(&other_host(root, repetitions, bytes)?, bytes, as_json)
}

fn say(comparison: &Comparison, bytes: usize, as_json: bool) -> Result<(), Box<dyn Error>> {
    if as_json {
        println!("{}", serde_json::to_string(comparison)?);
        return Ok(());
    }
    println!("{}", comparison.line());
    let rate = |micros: f64| bytes as f64 / micros / 1e3;
    let (own, reference) = (rate(comparison.micros), rate(comparison.reference_micros));
    println!(
        "  {own:.2} GB/s, {:.0} % of the reference's {reference:.2}",
        100.0 / comparison.ratio
    );
    Ok(())
}

/// A runtime of one thread, as the programs have.
fn single() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// A process of a host, and where its blobs are.
struct Party {
    member: Arc<Member>,
    handles: Handles,
    _session: Session,
    _folder: TempDir,
}

impl Party {
    async fn new(
        root: &Path,
        host: &str,
        address: Address,
        ring: KeyRing,
    ) -> Result<Self, Box<dyn Error>> {
        let listen = match &address {
            Address::File(_) => Some("127.0.0.1:0".parse()?),
            _ => None,
        };
        let role = if listen.is_some() { "owner" } else { "reader" };
        let (name, place) = (format!("{role}-{host}"), String::new());
        let candidate =
            Candidate { name: name.clone(), host: host.to_owned(), address: place, session: None };
        let options = Options { board: None, ..Options::default() };
        let network = Network { ring, listen };
        let member = Arc::new(Member::join_over(network, address, "bench", candidate, options));
        let (session, _notices) = Session::open(member.clone(), &name, host);
        let folder = tempfile::tempdir_in(root)?;
        let handles = Handles::begin(&member, &session, host, &folder.path().join("b")).await?;
        Ok(Self { member, handles, _session: session, _folder: folder })
    }
}

/// A process that has blobs, whose runtime has a thread of its own, and another one.
struct Pair {
    runtime: Runtime,
    owner: Party,
    other: Party,
    _store: TempDir,
}

impl Pair {
    fn begin(root: &Path, host: &str) -> Result<Self, Box<dyn Error>> {
        let ring = || KeyRing::new(&[Key::from_bytes([1; 32])]).expect("one key");
        let store = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let file = Address::File(store.path().join("store"));
        let serving = single()?;
        let (owner, at) = serving.block_on(async {
            let owner = Party::new(root, "here", file, ring()).await?;
            let at = owner.member.listens().await;
            Ok::<_, Box<dyn Error>>((owner, at))
        })?;
        // It ends with the program.
        std::thread::spawn(move || serving.block_on(core::future::pending::<()>()));
        let runtime = single()?;
        let other = runtime.block_on(Party::new(root, host, Address::Tcp(at), ring()))?;
        Ok(Self { runtime, owner, other, _store: store })
    }

    /// Puts a blob that no other one is like.
    fn put(&self, number: usize, bytes: usize) -> Result<Held, Box<dyn Error>> {
        let content: Vec<u8> = (0..bytes).map(|at| (at / 7 + number) as u8).collect();
        Ok(self.owner.handles.put(&content)?)
    }

    fn get(&self, held: &Held) -> Held {
        self.runtime.block_on(self.other.handles.get(held.blob())).expect("it can be had")
    }
}

fn same_host(root: &Path, repetitions: usize, bytes: usize) -> Result<Comparison, Box<dyn Error>> {
    let pair = Pair::begin(root, "here")?;
    let held = pair.put(0, bytes)?;
    let mut copy = vec![1; bytes];
    Ok(compare(
        &format!("{} MiB by handle, on the host of its owner", bytes >> 20),
        "memcpy",
        repetitions,
        || {
            copy.copy_from_slice(black_box(&held));
            black_box(&copy);
        },
        || {
            let got = pair.get(&held);
            assert_eq!((got.moved_bytes(), got.len()), (0, bytes));
        },
    ))
}

fn other_host(root: &Path, repetitions: usize, bytes: usize) -> Result<Comparison, Box<dyn Error>> {
    let pair = Pair::begin(root, "there")?;
    let mut wire = Wire::begin(bytes)?;
    // Each is fetched once: then it is there.
    let all = (0..repetitions + repetitions / 10).map(|number| pair.put(number, bytes));
    let all: Vec<Held> = all.collect::<Result<_, _>>()?;
    let mut next = all.iter();
    let compared = compare(
        &format!("{} MiB by handle, on another host", bytes >> 20),
        "plain TCP",
        repetitions,
        || wire.pass(),
        || {
            let got = pair.get(next.next().expect("one for each repetition"));
            assert_eq!((got.moved_bytes(), got.len()), (bytes as u64, bytes));
        },
    );
    Ok(compared.bound(1.0 / WANTED))
}

/// Plain TCP over loopback: a thread sends so many bytes for each byte that it gets.
struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Wire {
    fn begin(bytes: usize) -> Result<Self, Box<dyn Error>> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let stream = TcpStream::connect(listener.local_addr()?)?;
        stream.set_nodelay(true)?;
        let (mut peer, _) = listener.accept()?;
        std::thread::spawn(move || {
            let content = vec![7; bytes];
            // It ends with the other side.
            while peer.read_exact(&mut [0]).is_ok() && peer.write_all(&content).is_ok() {}
        });
        Ok(Self { stream, buffer: vec![1; bytes] })
    }

    fn pass(&mut self) {
        let asked = self.stream.write_all(&[1]);
        asked
            .and_then(|()| self.stream.read_exact(&mut self.buffer))
            .expect("the other side lives");
        black_box(&self.buffer);
    }
}
