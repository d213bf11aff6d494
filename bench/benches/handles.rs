//! What does a large blob by its handle cost, on the host of its owner and on another one?
//!
//! A blob of 64 MiB that one process has put is got by another:
//!
//! * on the same host, which maps the owner's file. Reference: one copy of it (`memcpy`);
//! * on another host, by name, which fetches it from the owner over TCP, sealed with the cluster's
//!   key, and keeps it in a file in memory. References: plain TCP between two threads into a buffer
//!   that is there already, without a cipher and a file; and the same into a new file in memory.
//!   Both ends are in one process and go over loopback, so two processors do what four would, and
//!   no network is as fast;
//! * what each stage of that costs on one processor: sealing, opening, hashing, and writing to a
//!   new file in memory. Reference: one copy of the bytes (`memcpy`);
//! * over a link of 1, 2.5 and 10 Gbit/s between two network namespaces. Reference: plain TCP over
//!   that link. Without root these are left out, and the program says so.

#![allow(clippy::disallowed_methods, reason = "a benchmark is where a clock belongs")]

use std::error::Error;
use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, mpsc};

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use tempfile::TempDir;
use tidings_bench::link::{End, Link};
use tidings_bench::{Comparison, compare};
use tidings_primitives::seal::{HEAD_BYTES, TAG_BYTES};
use tidings_primitives::{Key, KeyRing};
use tidings_tasks::blobs::Handle;
use tidings_tasks::handles::{Handles, Held};
use tidings_tasks::member::{Member, Network};
use tidings_tasks::service::Options;
use tidings_tasks::session::Session;
use tidings_tasks::store::address::Address;
use tidings_tasks_core::reign::Candidate;
use tokio::runtime::Runtime;

/// Bytes of a blob.
const BYTES: usize = 64 << 20;

/// Bytes of a record of a sealed stream.
const RECORD_BYTES: usize = 64 << 10;

/// Bytes that plain TCP writes to a file at a time.
const PIECE_BYTES: usize = 256 << 10;

/// The rates of links, in Mbit/s, and how often each is measured.
const LINKS: [(u32, usize); 3] = [(1_000, 5), (2_500, 7), (10_000, 15)];

/// The share of plain TCP's rate that is wanted at least.
const WANTED: f64 = 0.8;

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test` runs this too, without `--bench`: one small pass then keeps it from rotting.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let as_json = std::env::args().any(|argument| argument == "--json");
    let (repetitions, bytes) = if is_bench { (15, BYTES) } else { (1, 1 << 20) };
    let shared = Path::new("/dev/shm");
    let root = if shared.is_dir() { shared } else { Path::new(env!("CARGO_TARGET_TMPDIR")) };
    // `-- far` leaves out what goes over no network.
    let far_alone = std::env::args().any(|argument| argument == "far");
    if !far_alone {
        say(&same_host(root, repetitions, bytes)?, bytes, as_json)?;
        for stage in stages(root, repetitions, bytes) {
            say(&stage, bytes, as_json)?;
        }
    }
    for kept in [Kept::Buffer, Kept::NewFile] {
        let name = format!("{} MiB by handle, on another host", bytes >> 20);
        say(&other_host(root, &name, repetitions, bytes, kept, None)?, bytes, as_json)?;
    }
    for (mbit, repetitions) in LINKS {
        let link = match Link::lay(mbit) {
            Ok(link) => Arc::new(link),
            Err(why) => {
                eprintln!("left out: links of a given rate, which need root and iproute2 ({why})");
                break;
            }
        };
        let repetitions = if is_bench { repetitions } else { 1 };
        let name = format!("{} MiB by handle, over {mbit} Mbit/s", bytes >> 20);
        say(&over(&link, root, &name, repetitions, bytes)?, bytes, as_json)?;
    }
    Ok(())
}

/// The comparison over a link: this is the reader's end, in a thread of its own.
fn over(
    link: &Arc<Link>,
    root: &Path,
    name: &str,
    repetitions: usize,
    bytes: usize,
) -> Result<Comparison, Box<dyn Error>> {
    let measure = || {
        link.enter(End::Far)?;
        other_host(root, name, repetitions, bytes, Kept::Buffer, Some(link))
    };
    std::thread::scope(|scope| {
        let measured = scope.spawn(|| measure().map_err(|error| error.to_string())).join();
        Ok(measured.map_err(|_| "the reader's end has panicked")??)
    })
}

/// Runs at the owner's end of a link, in a thread that goes on with what this returns.
fn at_owner<T: Send + 'static, F: FnOnce() + Send + 'static>(
    link: Option<&Arc<Link>>,
    begin: impl FnOnce() -> Result<(T, F), Box<dyn Error>> + Send + 'static,
) -> Result<T, Box<dyn Error>> {
    let (link, (telling, told)) = (link.cloned(), mpsc::sync_channel(1));
    // It ends with the program.
    std::thread::spawn(move || {
        let entered = link.map_or(Ok(()), |link| link.enter(End::Near));
        match entered.map_err(Into::into).and_then(|()| begin()) {
            Ok((made, go_on)) => {
                // Whoever has started it waits for it.
                let _ = telling.send(Ok(made));
                go_on();
            }
            Err(error) => drop(telling.send(Err(error.to_string()))),
        }
    });
    Ok(told.recv()??)
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
        listen: Option<&str>,
    ) -> Result<Self, Box<dyn Error>> {
        let listen = listen.map(|at| format!("{at}:0").parse()).transpose()?;
        let role = if listen.is_some() { "owner" } else { "reader" };
        let (name, place) = (format!("{role}-{host}"), String::new());
        let candidate =
            Candidate { name: name.clone(), host: host.to_owned(), address: place, session: None };
        let options = Options { board: None, ..Options::default() };
        let network = Network { ring: ring(), listen };
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
    fn begin(root: &Path, host: &str, link: Option<&Arc<Link>>) -> Result<Self, Box<dyn Error>> {
        let store = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let (file, root_of_owner) = (Address::File(store.path().join("store")), root.to_owned());
        let at = link.map_or("127.0.0.1", |_| End::Near.address());
        let (owner, at) = at_owner(link, move || {
            let serving = single()?;
            let begun = serving.block_on(async {
                let owner = Party::new(&root_of_owner, "here", file, Some(at)).await?;
                let at = owner.member.listens().await;
                Ok::<_, Box<dyn Error>>((owner, at))
            })?;
            Ok((begun, move || serving.block_on(core::future::pending::<()>())))
        })?;
        let runtime = single()?;
        let other = runtime.block_on(Party::new(root, host, Address::Tcp(at), None))?;
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
    let pair = Pair::begin(root, "here", None)?;
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

/// What each byte from another host goes through besides the network, a stage at a time.
fn stages(root: &Path, repetitions: usize, bytes: usize) -> Vec<Comparison> {
    let content: Vec<u8> = (0..bytes).map(|at| (at / 7) as u8).collect();
    let mut copy = vec![1; bytes];
    let mut stage = |name: &str, run: &mut dyn FnMut()| {
        let copying = || {
            copy.copy_from_slice(black_box(&content));
            black_box(&copy);
        };
        compare(&format!("{} MiB, {name}", bytes >> 20), "memcpy", repetitions, copying, run)
    };
    // As `tidings_tasks::net` seals the records of a connection.
    let cipher = UnboundKey::new(&AES_256_GCM, &[1; 32]).expect("a key has 32 bytes");
    let cipher = LessSafeKey::new(cipher);
    let nonce = || Nonce::assume_unique_for_key([0; NONCE_LEN]);
    let mut frame = vec![0; HEAD_BYTES + RECORD_BYTES + TAG_BYTES];
    let records = || content.chunks_exact(RECORD_BYTES);
    let sealing = stage("copied and sealed", &mut || {
        for record in records() {
            let (head, rest) = frame.split_at_mut(HEAD_BYTES);
            let (body, tag) = rest.split_at_mut(RECORD_BYTES);
            body.copy_from_slice(record);
            let sealed = cipher.seal_in_place_separate_tag(nonce(), Aad::from(head), body);
            tag.copy_from_slice(sealed.expect("it is short").as_ref());
        }
    });
    let sealed = frame.clone();
    let opening = stage("copied and opened", &mut || {
        for _ in records() {
            frame.copy_from_slice(&sealed);
            let (head, rest) = frame.split_at_mut(HEAD_BYTES);
            assert!(cipher.open_in_place(nonce(), Aad::from(head), rest).is_ok());
        }
    });
    let hashing = stage("hashed", &mut || {
        black_box(Handle::of(&content));
    });
    let writing = stage("written to a new file in memory", &mut || {
        let mut file = tempfile::tempfile_in(root).expect("a folder in memory");
        let written = content.chunks(PIECE_BYTES).try_for_each(|piece| file.write_all(piece));
        written.expect("there is room");
    });
    vec![sealing, opening, hashing, writing]
}

fn ring() -> KeyRing {
    KeyRing::new(&[Key::from_bytes([1; 32])]).expect("one key")
}

fn other_host(
    root: &Path,
    name: &str,
    repetitions: usize,
    bytes: usize,
    kept: Kept,
    link: Option<&Arc<Link>>,
) -> Result<Comparison, Box<dyn Error>> {
    let pair = Pair::begin(root, "there", link)?;
    let mut wire = Wire::begin(bytes, link)?;
    // Each is fetched once: then it is there.
    let all = (0..repetitions + repetitions / 10).map(|number| pair.put(number, bytes));
    let all: Vec<Held> = all.collect::<Result<_, _>>()?;
    let mut next = all.iter();
    let compared = compare(
        name,
        kept.name(),
        repetitions,
        || match kept {
            Kept::Buffer => wire.pass(),
            Kept::NewFile => wire.pass_into_file(root),
        },
        || {
            let got = pair.get(next.next().expect("one for each repetition"));
            assert_eq!((got.moved_bytes(), got.len()), (bytes as u64, bytes));
        },
    );
    Ok(compared.bound(1.0 / WANTED))
}

/// Where plain TCP has the bytes.
#[derive(Clone, Copy)]
enum Kept {
    /// In a buffer that is there already.
    Buffer,
    /// In a new file in memory.
    NewFile,
}

impl Kept {
    fn name(self) -> &'static str {
        match self {
            Self::Buffer => "plain TCP",
            Self::NewFile => "plain TCP into a new file",
        }
    }
}

/// Plain TCP: a thread sends so many bytes for each byte that it gets.
struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Wire {
    fn begin(bytes: usize, link: Option<&Arc<Link>>) -> Result<Self, Box<dyn Error>> {
        let at = link.map_or("127.0.0.1", |_| End::Near.address());
        let at = at_owner(link, move || {
            let listener = TcpListener::bind((at, 0))?;
            let at = listener.local_addr()?;
            let send = move || {
                let (mut peer, _) = listener.accept().expect("somebody comes");
                let content = vec![7; bytes];
                // It ends with the other side.
                while peer.read_exact(&mut [0]).is_ok() && peer.write_all(&content).is_ok() {}
            };
            Ok((at, send))
        })?;
        let stream = TcpStream::connect(at)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![1; bytes] })
    }

    fn pass(&mut self) {
        let asked = self.stream.write_all(&[1]);
        asked
            .and_then(|()| self.stream.read_exact(&mut self.buffer))
            .expect("the other side lives");
        black_box(&self.buffer);
    }

    /// The same, by way of a buffer that the processor's caches hold.
    fn pass_into_file(&mut self, folder: &Path) {
        let mut pass = || {
            let mut file = tempfile::tempfile_in(folder)?;
            self.stream.write_all(&[1])?;
            let mut left = self.buffer.len();
            while left > 0 {
                let piece = &mut self.buffer[..left.min(PIECE_BYTES)];
                self.stream.read_exact(piece)?;
                file.write_all(piece)?;
                left -= piece.len();
            }
            Ok::<_, std::io::Error>(())
        };
        pass().expect("the other side lives, and there is room");
    }
}
