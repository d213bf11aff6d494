//! The limit: as many datagrams of the same size as another sends, and nothing else.
//!
//! Nodes keep no picture but the last state that each other node sent itself, and a datagram is
//! neither sealed nor sorted: what is left is the kernel's loopback and waking up. All nodes are
//! plain sockets on one thread and wake together, twice a unit, as those of `grid` do.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use clap::Parser;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tidings_peers::cost;
use tidings_peers::state::{Origin, STATE_BYTES, StateMaker};
use tidings_peers::tally::Tally;
use tidings_peers::work::{Epoch, Work};
use tokio::net::UdpSocket;
use tokio::task::LocalSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

/// Prints what bare datagrams cost, as one JSON object.
#[derive(Parser)]
struct Invocation {
    #[command(flatten)]
    work: Work,
    /// Datagrams that a node sends in a unit, each to a node drawn by lot.
    #[arg(long, default_value_t = 18.0)]
    datagrams: f64,
    /// Bytes of a datagram, at least those of a state.
    #[arg(long, default_value_t = 254)]
    bytes: usize,
}

/// What the nodes of a run share; they run on one thread.
struct Shared {
    epoch: Epoch,
    addresses: Vec<SocketAddr>,
    /// Datagrams of half a unit, and bytes of each.
    datagrams: f64,
    bytes: usize,
    half: Duration,
    start: Instant,
    sent: Cell<(u64, u64)>,
    /// `births_us[a][b]`: when the last state that b sent to a was made.
    births_us: RefCell<Vec<Vec<Option<u64>>>>,
}

fn main() -> anyhow::Result<()> {
    let invocation = Invocation::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, run(invocation))
}

async fn run(invocation: Invocation) -> anyhow::Result<()> {
    let (work, before_kib) = (invocation.work, cost::resident_kib());
    let bytes = invocation.bytes.max(STATE_BYTES);
    let shared = Rc::new(Shared {
        epoch: Epoch::start(),
        addresses: work.addresses()?,
        datagrams: invocation.datagrams / 2.0,
        bytes,
        half: work.interval / 2,
        start: Instant::now(),
        sent: Cell::default(),
        births_us: RefCell::new(vec![vec![None; work.nodes]; work.nodes]),
    });
    for number in 0..work.nodes {
        let socket = UdpSocket::bind(shared.addresses[number]).await?;
        let chance = SmallRng::seed_from_u64(work.seed.wrapping_add(number as u64));
        let maker = StateMaker::new(number, work.seed);
        tokio::task::spawn_local(live(number, socket, maker, chance, Rc::clone(&shared)));
    }
    let tally = RefCell::new(Tally::new(work.unit_us()));
    let look = || {
        let (now_us, mut tally) = (shared.epoch.now_us(), tally.borrow_mut());
        for (node, births_us) in shared.births_us.borrow().iter().enumerate() {
            let others = births_us.iter().enumerate().filter(|(other, _)| *other != node);
            tally.look(now_us, others.map(|(_, birth_us)| *birth_us));
        }
        std::future::ready(())
    };
    let variant = format!("{:.1} of {bytes} B", invocation.datagrams);
    let sent = || shared.sent.get();
    let tally = || tally.borrow().clone();
    let report = work.observe(("bare", &variant), before_kib, sent, look, tally).await;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// One node: takes what arrives, and sends its share every half unit.
async fn live(
    number: usize,
    socket: UdpSocket,
    mut maker: StateMaker,
    mut chance: SmallRng,
    shared: Rc<Shared>,
) {
    let mut turns = interval_at(shared.start + shared.half, shared.half);
    turns.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let (mut owed, mut buffer) = (0.0, vec![0; 2048]);
    loop {
        tokio::select! {
            _ = turns.tick() => {
                owed += shared.datagrams;
                let mut datagram = maker.bytes(shared.epoch.now_us()).to_vec();
                datagram.resize(shared.bytes, 0);
                while owed >= 1.0 {
                    owed -= 1.0;
                    let to = shared.addresses[chance.random_range(0..shared.addresses.len())];
                    send(&socket, &datagram, to, &shared);
                }
            }
            readable = socket.readable() => {
                if readable.is_ok() {
                    take_all(number, &socket, &mut buffer, &shared);
                }
            }
        }
    }
}

/// Sends one datagram; one that the kernel does not take is lost.
fn send(socket: &UdpSocket, datagram: &[u8], to: SocketAddr, shared: &Shared) {
    if socket.try_send_to(datagram, to).is_ok() {
        let (datagrams, bytes) = shared.sent.get();
        shared.sent.set((datagrams + 1, bytes + datagram.len() as u64));
    }
}

/// Takes all that has arrived.
fn take_all(number: usize, socket: &UdpSocket, buffer: &mut [u8], shared: &Shared) {
    while let Ok((length, _)) = socket.try_recv_from(buffer) {
        let state = buffer[..length].get(..STATE_BYTES);
        if let Some(origin) = state.and_then(Origin::of_bytes) {
            shared.births_us.borrow_mut()[number][origin.node] = Some(origin.birth_us);
        }
    }
}
