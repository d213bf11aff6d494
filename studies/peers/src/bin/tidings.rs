//! Tidings at the work: nodes of the core, each at an endpoint of the agent, on one thread.
//!
//! Nobody wakes a node to look at its picture. Between two turns of a node its picture does not
//! change, so a look is made at the next turn and dated back: the ages are those of its moment.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use clap::Parser;
use tidings_agent::{Clock, DatagramSocket, Endpoint, KernelBuffers};
use tidings_gossip::{Config, Incarnation, Key, KeyRing, Member, Node, Strategy, Window};
use tidings_peers::cost;
use tidings_peers::readings::{Births, Reader, recordings};
use tidings_peers::state::{Origin, STATE_BYTES, StateMaker};
use tidings_peers::tally::Tally;
use tidings_peers::work::{Epoch, Work};

/// What the agent asks of the kernel by default.
const KERNEL: KernelBuffers = KernelBuffers { receive_bytes: 4 << 20, send_bytes: 1 << 20 };

/// Prints what tidings makes of the work, as one JSON object.
#[derive(Parser)]
struct Invocation {
    #[command(flatten)]
    work: Work,
    /// How a unit's window is given away.
    #[arg(long, default_value = "uniform")]
    strategy: String,
    /// Entries a unit: a number, or a share of the nodes.
    #[arg(long, default_value = "20%")]
    window: String,
    /// The most bytes of a datagram.
    #[arg(long, default_value_t = 1400)]
    datagram_bytes: u16,
    /// Nodes say recorded readings, which stay or move a little, instead of new bytes.
    #[arg(long)]
    readings: bool,
    /// The version of the wire format.
    #[arg(long, default_value_t = 1)]
    wire_version: u8,
    /// Without a key: sealed under one that anybody can derive.
    #[arg(long)]
    open: bool,
}

/// What the nodes of a run share.
struct Shared {
    epoch: Epoch,
    /// When looks begin and end, and the time between two, in microseconds.
    looks_us: (u64, u64, u64),
    seen: Mutex<Seen>,
}

/// What was seen of all nodes.
struct Seen {
    tally: Tally,
    /// Datagrams and bytes sent by each node so far.
    sent: Vec<(u64, u64)>,
    /// When the entries of each node were born, where their states do not tell.
    births: Option<Vec<Births>>,
}

/// What a node says.
enum Speech {
    New(StateMaker),
    Recorded(Box<Reader>),
}

impl Speech {
    fn bytes(&mut self, birth_us: u64) -> anyhow::Result<[u8; STATE_BYTES]> {
        match self {
            Self::New(maker) => Ok(maker.bytes(birth_us)),
            Self::Recorded(reader) => reader.bytes(),
        }
    }
}

impl Shared {
    /// The tasks run on one thread, so nobody ever waits for this.
    fn seen<T>(&self, then: impl FnOnce(&mut Seen) -> T) -> T {
        then(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn main() -> anyhow::Result<()> {
    let invocation = Invocation::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run(invocation))
}

async fn run(invocation: Invocation) -> anyhow::Result<()> {
    let work = invocation.work.clone();
    let (epoch, before_kib) = (Epoch::start(), cost::resident_kib());
    let endpoints = endpoints(&invocation)?;
    let begin_us = epoch.now_us() + work.warmup.as_micros() as u64;
    let end_us = begin_us + work.measure.as_micros() as u64;
    let births = invocation.readings.then(|| vec![Births::default(); work.nodes]);
    let seen = Seen { tally: Tally::new(work.unit_us()), sent: vec![(0, 0); work.nodes], births };
    let looks_us = (begin_us, end_us, (work.unit_us() / work.looks) as u64);
    let shared = Arc::new(Shared { epoch, looks_us, seen: Mutex::new(seen) });
    let recordings = if invocation.readings { recordings()? } else { &[] };
    for (number, endpoint) in endpoints.into_iter().enumerate() {
        let speech = if invocation.readings {
            Speech::Recorded(Box::new(Reader::new(recordings, number, work.seed)?))
        } else {
            Speech::New(StateMaker::new(number, work.seed))
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let ended = gossip(number, endpoint, speech, &shared).await;
            eprintln!("node {number} ended: {ended:?}");
        });
    }
    let key = if invocation.open { "open" } else { "keyed" };
    let said = if invocation.readings { " readings" } else { "" };
    let variant = format!("{} {}{said} {key}", invocation.strategy, invocation.window);
    let sum = |seen: &mut Seen| seen.sent.iter().fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    let sent = || shared.seen(sum);
    let tally = || shared.seen(|seen| seen.tally.clone());
    let look = || std::future::ready(()); // the nodes do it
    let report = work.observe(("tidings", &variant), before_kib, sent, look, tally).await;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

/// One node's life: gossip, and the looks that have become due.
async fn gossip(
    number: usize,
    mut endpoint: Endpoint,
    mut speech: Speech,
    shared: &Shared,
) -> anyhow::Result<()> {
    let (mut look_us, end_us, step_us) = shared.looks_us;
    loop {
        endpoint.ready().await?;
        let now_us = shared.epoch.now_us();
        while look_us <= now_us.min(end_us) {
            look(number, &endpoint, look_us, shared);
            look_us += step_us;
        }
        endpoint.receive();
        let birth_us = shared.epoch.now_us();
        if endpoint.is_due() {
            endpoint.node_mut().publish(&speech.bytes(birth_us)?)?;
        }
        endpoint.advance();
        note_birth(number, &endpoint, birth_us, shared);
        let counters = endpoint.node().counters();
        shared.seen(|seen| seen.sent[number] = (counters.datagrams_sent, counters.bytes_sent));
    }
}

/// Notes when the own entry was born, where its state does not tell.
fn note_birth(number: usize, endpoint: &Endpoint, birth_us: u64, shared: &Shared) {
    let node = endpoint.node();
    shared.seen(|seen| {
        let Some(births) = seen.births.as_mut() else { return };
        let own = node.entry(node.name(), endpoint.now());
        if let Some(sequence) = own.and_then(|own| own.sequence) {
            births[number].note(sequence, birth_us);
        }
    });
}

/// Counts the ages that all that node `number` knows of the others had at `at_us`.
fn look(number: usize, endpoint: &Endpoint, at_us: u64, shared: &Shared) {
    let node = endpoint.node();
    let others = node.entries(endpoint.now()).filter(|view| view.id != node.id());
    shared.seen(|seen| {
        let Seen { tally, births, .. } = seen;
        let births_us = others.map(|view| {
            if let Some(births) = births.as_ref() {
                let other: usize = view.name.strip_prefix('n')?.parse().ok()?;
                return births.get(other)?.of(view.sequence?);
            }
            let origin = Origin::of_bytes(view.payload)?;
            debug_assert_ne!(origin.node, number, "the state of another");
            Some(origin.birth_us)
        });
        tally.look(at_us, births_us);
    });
}

/// The nodes, each on a socket of its own, with the roster of all.
fn endpoints(invocation: &Invocation) -> anyhow::Result<Vec<Endpoint>> {
    let (work, clock) = (&invocation.work, Clock::start());
    let config = config(invocation)?;
    let keys = if invocation.open {
        KeyRing::open(&config.cluster)
    } else {
        KeyRing::new(&[Key::from_bytes([0x5A; 32])]).context("one key is a ring")?
    };
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let sockets: Vec<DatagramSocket> = (0..work.nodes)
        .map(|_| DatagramSocket::bind(anywhere, true, config.datagram_bytes, KERNEL))
        .collect::<Result<_, _>>()?;
    let member = |(number, socket): (usize, &DatagramSocket)| {
        let address = socket.local_address()?.into();
        anyhow::Ok(Member { name: format!("n{number}"), address })
    };
    let roster: Vec<Member> = sockets.iter().enumerate().map(member).collect::<Result<_, _>>()?;
    let node = |(number, socket): (usize, DatagramSocket)| {
        let (config, keys, me) = (config.clone(), keys.clone(), roster[number].clone());
        let seed = work.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(number as u64);
        let node = Node::new(config, keys, me, &roster, Incarnation::new(1), seed, clock.now())?;
        Ok(Endpoint::new(node, clock, socket)?)
    };
    sockets.into_iter().enumerate().map(node).collect()
}

fn config(invocation: &Invocation) -> anyhow::Result<Config> {
    let mut config = Config::default();
    config.interval = invocation.work.interval;
    config.window = invocation.window.parse::<Window>()?;
    config.strategy = invocation.strategy.parse::<Strategy>()?;
    config.payload_bytes = STATE_BYTES as u16;
    config.wire_version = invocation.wire_version;
    config.datagram_bytes = invocation.datagram_bytes;
    config.forget_after = config.forget_after.max(config.interval * 64);
    Ok(config)
}
