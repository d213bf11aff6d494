//! The responder: words of memory that messages change, in the best way that this machine has.
//!
//! | [`Way`] | who does it | what it takes |
//! |---|---|---|
//! | soft interrupt | a program of XDP, on the core that has the frame; no task is scheduled | CAP_BPF, CAP_NET_ADMIN, IPv4 |
//! | spinning | a thread with a socket, which never sleeps | a core of its own |
//! | blocking | a thread with a socket | nothing |
//!
//! The memory, the messages, the counters and what is done for them are the same. The address is
//! bound in each of them, so that no other program gets it.

use std::io;
use std::net::{SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::net::if_::if_nametoindex;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::bpf::{self, Mapped};
use super::error::ActiveError;
use super::layout::{COUNTERS, Ledger, MOST_WORDS, SESSIONS, WORDS_AT, session_at, whole};
use super::message::{MESSAGE_BYTES, MOST_MERGED};
use super::programs::responder;
use super::session::Session;
use super::table::{Verdict, serve};

/// Who does what messages ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// A program in the soft interrupt.
    SoftInterrupt {
        /// In the driver, before the kernel has made a packet of the frame.
        native: bool,
    },
    /// A thread that spins, for the reason given.
    Spinning(String),
    /// A thread that sleeps until a message comes, for the reason given.
    Blocking(String),
}

/// What a responder is to be.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The interface on which messages come.
    pub interface: String,
    /// The address and port that they are for.
    pub address: SocketAddrV4,
    /// How many words they may change, a power of two.
    pub words: usize,
    /// Whether the program is to be in the driver. A virtual interface is served better without.
    pub native: bool,
    /// The core of a thread that responds; `None` leaves that to the system.
    pub core: Option<usize>,
}

/// A responder; with its end no message is done any more.
#[derive(Debug)]
pub struct Responder {
    way: Way,
    memory: Arc<Mapped>,
    words: usize,
    address: SocketAddrV4,
    socket: Arc<UdpSocket>,
    serving: Serving,
}

/// What has to end with a responder.
#[derive(Debug)]
enum Serving {
    /// The link detaches the program when it is closed; the program is for test runs.
    Program {
        program: OwnedFd,
        _link: OwnedFd,
    },
    Thread {
        end: Arc<AtomicBool>,
        thread: Option<JoinHandle<()>>,
    },
}

/// How long a thread sleeps at most before it looks whether it is to end.
const SLEEP: Duration = Duration::from_millis(100);

/// How a thread waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Spins,
    Sleeps,
}

impl Responder {
    /// The best that can be had here: in the soft interrupt, else a thread that spins, else, where
    /// this process may use one core only, one that sleeps.
    ///
    /// # Errors
    /// If there is none at all: no such interface, address or size, or no memory.
    pub fn best(settings: &Settings) -> Result<Self, ActiveError> {
        let why = match Self::soft_interrupt(settings) {
            Ok(responder) => return Ok(responder),
            Err(error @ ActiveError::Kernel { .. }) => error.to_string(),
            Err(other) => return Err(other),
        };
        let cores = sched_getaffinity(None).map_or(1, |cores| cores.count());
        if cores < 2 {
            let why = format!("{why}; and there is no core to spin on beside the caller's");
            return Self::thread(settings, Waiting::Sleeps, why);
        }
        Self::thread(settings, Waiting::Spins, why)
    }

    /// A program in the soft interrupt.
    ///
    /// # Errors
    /// [`ActiveError::Kernel`] if programs cannot be loaded or attached here.
    pub fn soft_interrupt(settings: &Settings) -> Result<Self, ActiveError> {
        let (socket, words) = begin(settings)?;
        let SocketAddr::V4(address) = local(settings, &socket)? else {
            return Err(refused(settings)(io::ErrorKind::InvalidInput.into()));
        };
        let interface = index_of(&settings.interface)?;
        let kernel = |call| move |source| ActiveError::Kernel { call, source };
        if cfg!(target_endian = "big") {
            let source = io::Error::from(io::ErrorKind::Unsupported);
            return Err(kernel("messages are little-endian, this machine is not")(source));
        }
        let bytes = 8 * whole(words);
        let map = bpf::value(bytes).map_err(kernel("BPF_MAP_CREATE"))?;
        let memory = Mapped::of(map.as_fd(), bytes).map_err(kernel("mmap of a map"))?;
        let code = responder(address, words, map.as_raw_fd());
        let program = bpf::load("tidings_respond", &code).map_err(kernel("BPF_PROG_LOAD"))?;
        let native = settings.native;
        let link = bpf::attach(program.as_fd(), interface, native);
        let link = link.map_err(kernel("BPF_LINK_CREATE of XDP"))?;
        Ok(Self {
            way: Way::SoftInterrupt { native },
            memory: Arc::new(memory),
            words,
            address,
            socket: Arc::new(socket),
            serving: Serving::Program { program, _link: link },
        })
    }

    /// A thread that spins, also where it shares its core with its callers.
    ///
    /// # Errors
    /// If there is no such address or size, no memory or no thread.
    pub fn spinning(settings: &Settings) -> Result<Self, ActiveError> {
        Self::thread(settings, Waiting::Spins, "it was asked for".to_owned())
    }

    /// A thread that sleeps until a message comes.
    ///
    /// # Errors
    /// As for [`Responder::spinning`].
    pub fn blocking(settings: &Settings) -> Result<Self, ActiveError> {
        Self::thread(settings, Waiting::Sleeps, "it was asked for".to_owned())
    }

    fn thread(settings: &Settings, waiting: Waiting, why: String) -> Result<Self, ActiveError> {
        let (socket, words) = begin(settings)?;
        let SocketAddr::V4(address) = local(settings, &socket)? else {
            return Err(refused(settings)(io::ErrorKind::InvalidInput.into()));
        };
        let memory = Mapped::private(8 * whole(words));
        let memory = memory.map_err(|source| ActiveError::System { call: "mmap", source })?;
        let (memory, socket) = (Arc::new(memory), Arc::new(socket));
        let waits = match waiting {
            Waiting::Spins => socket.set_nonblocking(true),
            Waiting::Sleeps => socket.set_read_timeout(Some(SLEEP)),
        };
        waits.map_err(|source| ActiveError::System { call: "a socket's waiting", source })?;
        let end = Arc::<AtomicBool>::default();
        let theirs = (Arc::clone(&memory), Arc::clone(&socket), Arc::clone(&end));
        let core = settings.core;
        let thread = std::thread::Builder::new()
            .name("tidings-respond".into())
            .spawn(move || {
                bind_to(core);
                respond(&theirs.0, words, &theirs.1, &theirs.2);
            })
            .map_err(|source| ActiveError::Thread { source })?;
        let way = match waiting {
            Waiting::Spins => Way::Spinning(why),
            Waiting::Sleeps => Way::Blocking(why),
        };
        let serving = Serving::Thread { end, thread: Some(thread) };
        Ok(Self { way, memory, words, address, socket, serving })
    }

    /// Who does what messages ask.
    pub fn way(&self) -> &Way {
        &self.way
    }

    /// Where messages are to be sent.
    pub fn address(&self) -> SocketAddrV4 {
        self.address
    }

    /// The words that messages change. The process may change them too, atomically, but for those
    /// that merges are sent for: a merge may overwrite what the process writes at the same time.
    pub fn words(&self) -> &[AtomicU64] {
        &self.memory.words()[WORDS_AT..][..self.words]
    }

    /// What was counted so far.
    pub fn ledger(&self) -> Ledger {
        let words = self.memory.words();
        Ledger::of(|counter| words[COUNTERS + counter].load(Ordering::Acquire))
    }

    /// How many messages of a session were done.
    pub fn done_of(&self, session: &Session) -> u64 {
        let at = session_at(usize::from(session.number) % SESSIONS) + 1;
        self.memory.words()[at].load(Ordering::Acquire)
    }

    /// Opens a session, for one caller.
    ///
    /// # Errors
    /// If all are open.
    pub fn open(&self) -> Result<Session, ActiveError> {
        let words = self.memory.words();
        let key = crate::kernel::random()
            .map_err(|source| ActiveError::System { call: "getrandom", source })?;
        let taken = Ordering::AcqRel;
        for number in 0..SESSIONS {
            let place = &words[session_at(number)];
            if place.compare_exchange(0, key, taken, Ordering::Relaxed).is_ok() {
                return Ok(Session { number: number as u16, key, address: self.address });
            }
        }
        Err(ActiveError::TooManySessions)
    }

    /// Runs the program in the soft interrupt on a frame that did not come, which it may change:
    /// what it returns, and the nanoseconds it took. For tests and measurements.
    ///
    /// # Errors
    /// If this responder is a thread, or the kernel does not run it.
    pub fn try_frame(&self, frame: &mut [u8]) -> Result<(u32, u32), ActiveError> {
        let call = "BPF_PROG_TEST_RUN";
        let Serving::Program { program, .. } = &self.serving else {
            return Err(ActiveError::Kernel { call, source: io::ErrorKind::Unsupported.into() });
        };
        bpf::run(program.as_fd(), frame).map_err(|source| ActiveError::Kernel { call, source })
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        let Serving::Thread { end, thread } = &mut self.serving else { return };
        end.store(true, Ordering::Release);
        // One that sleeps is woken by a datagram that is no message, or wakes after a while.
        let _ = self.socket.send_to(&[], self.address);
        if let Some(thread) = thread.take() {
            let _ = thread.join();
        }
    }
}

fn refused(settings: &Settings) -> impl Fn(io::Error) -> ActiveError {
    let address = settings.address;
    move |source| ActiveError::Address { address, source }
}

fn local(settings: &Settings, socket: &UdpSocket) -> Result<SocketAddr, ActiveError> {
    socket.local_addr().map_err(refused(settings))
}

/// The socket that has the address, and how many words.
fn begin(settings: &Settings) -> Result<(UdpSocket, usize), ActiveError> {
    let words = settings.words;
    if !words.is_power_of_two() || words > MOST_WORDS {
        return Err(ActiveError::Words { words });
    }
    if settings.address.ip().is_unspecified() {
        // Frames are for one address; and callers have to know one.
        return Err(refused(settings)(io::ErrorKind::InvalidInput.into()));
    }
    let socket = UdpSocket::bind(settings.address).map_err(refused(settings))?;
    Ok((socket, words))
}

pub(super) fn index_of(interface: &str) -> Result<u32, ActiveError> {
    if_nametoindex(interface).map_err(|source| ActiveError::Interface {
        interface: interface.to_owned(),
        source: source.into(),
    })
}

/// Where it cannot be, the thread runs where the system has it.
fn bind_to(core: Option<usize>) {
    let Some(core) = core.filter(|&core| core < CpuSet::MAX_CPU) else { return };
    let mut own = CpuSet::new();
    own.set(core);
    let _ = sched_setaffinity(None, &own);
}

fn respond(memory: &Mapped, words: usize, socket: &UdpSocket, end: &AtomicBool) {
    let mut bytes = [0; MESSAGE_BYTES + 8 * MOST_MERGED + 1];
    while !end.load(Ordering::Acquire) {
        let Ok((length, from)) = socket.recv_from(&mut bytes) else {
            std::hint::spin_loop(); // nothing came, or a caller's port is closed
            continue;
        };
        let message = &mut bytes[..length];
        if serve(memory.words(), words, message) == Verdict::Answered {
            // An answer that is not sent is asked for again.
            let _ = socket.send_to(message, from);
        }
    }
}
