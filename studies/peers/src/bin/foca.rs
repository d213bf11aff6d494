//! foca at the work: each node one task that owns the state machine, its socket and its timers.
//!
//! The state travels as a custom broadcast, a newer one of a node in the place of the older. It is
//! made anew just before the node gossips.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Parser;
use foca::{
    AccumulatingRuntime, BroadcastHandler, Config, Foca, Invalidates, PostcardCodec, Timer,
};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tidings_peers::cost::{self, Sent};
use tidings_peers::state::{Origin, StateMaker};
use tidings_peers::tally::Tally;
use tidings_peers::work::{Epoch, Work};
use tokio::net::UdpSocket;
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep_until};

/// Prints what foca makes of the work, as one JSON object.
#[derive(Parser)]
struct Invocation {
    #[command(flatten)]
    work: Work,
}

/// When each node was born last, as one of them knows.
type Births = Rc<RefCell<BTreeMap<usize, u64>>>;

/// Takes states in: passes on what is newer than what it holds.
struct States(Births);

/// Which state a broadcast is.
struct Key(Origin);

impl Invalidates for Key {
    fn invalidates(&self, other: &Self) -> bool {
        self.0.node == other.0.node && self.0.birth_us > other.0.birth_us
    }
}

impl BroadcastHandler<SocketAddr> for States {
    type Key = Key;
    type Error = Infallible;

    fn receive_item(
        &mut self,
        state: &[u8],
        _: Option<&SocketAddr>,
    ) -> Result<Option<Key>, Infallible> {
        let Some(origin) = Origin::of_bytes(state) else { return Ok(None) };
        let mut births = self.0.borrow_mut();
        let held_us = births.entry(origin.node).or_default();
        let newer = origin.birth_us > *held_us;
        *held_us = origin.birth_us.max(*held_us);
        Ok(newer.then_some(Key(origin)))
    }
}

/// One node with all that it needs.
struct Agent {
    foca: Foca<SocketAddr, PostcardCodec, StdRng, States>,
    outputs: AccumulatingRuntime<SocketAddr>,
    socket: UdpSocket,
    timers: BinaryHeap<Reverse<(Instant, Timer<SocketAddr>)>>,
    maker: StateMaker,
    epoch: Epoch,
    sent: Rc<Sent>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let Invocation { work } = Invocation::parse();
    LocalSet::new().run_until(run(work)).await
}

async fn run(work: Work) -> anyhow::Result<()> {
    let (epoch, sent, before_kib) =
        (Epoch::start(), Rc::new(Sent::default()), cost::resident_kib());
    let (addresses, mut all) = (work.addresses()?, Vec::new());
    for (number, phase) in work.phases().into_iter().enumerate() {
        let births = Births::default();
        all.push(Rc::clone(&births));
        let agent = agent(&work, (number, addresses[number]), births, epoch, &sent).await?;
        let (every, seed) = (work.interval, addresses[0]);
        tokio::task::spawn_local(async move {
            let ended = agent.run(Instant::now() + phase, every, seed).await;
            eprintln!("node {number} ended: {ended:?}");
        });
    }
    let tally = RefCell::new(Tally::new(work.unit_us()));
    let look = || {
        for (number, births) in all.iter().enumerate() {
            let births = births.borrow();
            let others = (0..work.nodes).filter(|other| *other != number);
            let births_us = others.map(|other| births.get(&other).copied());
            tally.borrow_mut().look(epoch.now_us(), births_us);
        }
        std::future::ready(())
    };
    let result = || tally.borrow().clone();
    let report = work.observe(("foca", ""), before_kib, || sent.so_far(), look, result).await;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

async fn agent(
    work: &Work,
    (number, address): (usize, SocketAddr),
    births: Births,
    epoch: Epoch,
    sent: &Rc<Sent>,
) -> anyhow::Result<Agent> {
    let size = u32::try_from(work.nodes).ok().and_then(NonZeroU32::new).context("no nodes")?;
    let mut config = Config::new_lan(size);
    if let Some(gossip) = &mut config.periodic_gossip {
        gossip.frequency = work.interval;
    }
    let chance = StdRng::seed_from_u64(work.seed << 16 | number as u64);
    Ok(Agent {
        foca: Foca::with_custom_broadcast(address, config, chance, PostcardCodec, States(births)),
        outputs: AccumulatingRuntime::new(),
        socket: UdpSocket::bind(address).await?,
        timers: BinaryHeap::new(),
        maker: StateMaker::new(number, work.seed),
        epoch,
        sent: Rc::clone(sent),
    })
}

impl Agent {
    /// Joins at `start` through `seed` and gossips until something breaks.
    async fn run(
        mut self,
        start: Instant,
        every: Duration,
        seed: SocketAddr,
    ) -> anyhow::Result<()> {
        sleep_until(start).await;
        if *self.foca.identity() != seed {
            self.foca.announce(seed, &mut self.outputs)?;
        }
        let mut buffer = vec![0; 1500];
        loop {
            self.put_out();
            let next = self.timers.peek().map_or_else(|| Instant::now() + every, |next| next.0.0);
            tokio::select! {
                arrived = self.socket.recv_from(&mut buffer) => {
                    let datagram = &buffer[..arrived?.0];
                    let _ = self.foca.handle_data(datagram, &mut self.outputs); // it may be stale
                }
                () = sleep_until(next) => self.fire()?,
            }
        }
    }

    /// Sends and arms what the state machine asks for.
    fn put_out(&mut self) {
        while let Some((to, datagram)) = self.outputs.to_send() {
            if self.socket.try_send_to(&datagram, to).is_ok() {
                self.sent.count(datagram.len());
            }
        }
        let now = Instant::now();
        while let Some((after, timer)) = self.outputs.to_schedule() {
            self.timers.push(Reverse((now + after, timer)));
        }
        while self.outputs.to_notify().is_some() {}
    }

    /// Hands the state machine the timers that are due.
    fn fire(&mut self) -> anyhow::Result<()> {
        let now = Instant::now();
        while self.timers.peek().is_some_and(|next| next.0.0 <= now) {
            let Some(Reverse((_, timer))) = self.timers.pop() else { break };
            if matches!(timer, Timer::PeriodicGossip(_)) {
                self.foca.add_broadcast(&self.maker.bytes(self.epoch.now_us()))?;
            }
            let _ = self.foca.handle_timer(timer, &mut self.outputs); // it may be of the past
        }
        Ok(())
    }
}
