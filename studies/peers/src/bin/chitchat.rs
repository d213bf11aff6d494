//! chitchat at the work: its own server and UDP transport, the state in one key of text.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chitchat::transport::{RecvOutcome, SendOutcome, Socket, Transport, UdpTransport};
use chitchat::{
    Chitchat, ChitchatConfig, ChitchatEnvelope, ChitchatHandle, ChitchatId, FailureDetectorConfig,
    ProtocolVersion, spawn_chitchat,
};
use clap::{Parser, ValueEnum};
use tidings_peers::cost::{self, Sent};
use tidings_peers::state::{Origin, StateMaker};
use tidings_peers::tally::Tally;
use tidings_peers::work::{Epoch, Work};
use tokio::sync::Mutex;
use tokio::time::{MissedTickBehavior, interval, sleep};

/// The key of the state.
const KEY: &str = "state";

/// As chitchat's own tests and Quickwit have it.
const GRACE: Duration = Duration::from_secs(15 * 60);

/// Prints what chitchat makes of the work, as one JSON object.
#[derive(Parser)]
struct Invocation {
    #[command(flatten)]
    work: Work,
    /// The form of the digest on the wire.
    #[arg(long, default_value = "v1")]
    protocol: Protocol,
}

#[derive(Clone, Copy, ValueEnum)]
enum Protocol {
    /// In full.
    V0,
    /// Compressed.
    V1,
}

/// The library's own transport, with what it sends counted.
struct Counted(Arc<Sent>);

struct CountedSocket {
    socket: Box<dyn Socket>,
    sent: Arc<Sent>,
}

#[async_trait]
impl Transport for Counted {
    async fn open(&self, address: SocketAddr) -> anyhow::Result<Box<dyn Socket>> {
        let socket = UdpTransport.open(address).await?;
        Ok(Box::new(CountedSocket { socket, sent: Arc::clone(&self.0) }))
    }
}

#[async_trait]
impl Socket for CountedSocket {
    fn local_addr(&self) -> anyhow::Result<SocketAddr> {
        self.socket.local_addr()
    }

    async fn send(
        &mut self,
        to: SocketAddr,
        envelope: ChitchatEnvelope,
    ) -> anyhow::Result<SendOutcome> {
        let outcome = self.socket.send(to, envelope).await?;
        self.sent.count(outcome.num_bytes_sent);
        Ok(outcome)
    }

    async fn recv(&mut self) -> anyhow::Result<RecvOutcome> {
        self.socket.recv().await
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Invocation { work, protocol } = Invocation::parse();
    let (epoch, sent, before_kib) =
        (Epoch::start(), Arc::new(Sent::default()), cost::resident_kib());
    let nodes = start(&work, protocol, epoch, &sent).await?;
    let pictures: Vec<Arc<Mutex<Chitchat>>> = nodes.iter().map(ChitchatHandle::chitchat).collect();
    let ids: Vec<ChitchatId> = nodes.iter().map(|node| node.chitchat_id().clone()).collect();
    let tally = Arc::new(Mutex::new(Tally::new(work.unit_us())));
    let look =
        || -> Pin<Box<dyn Future<Output = ()>>> { Box::pin(look(&pictures, &ids, &tally, epoch)) };
    let variant = match protocol {
        Protocol::V0 => "V0",
        Protocol::V1 => "V1",
    };
    let result = || tally.try_lock().expect("no look is under way any more").clone();
    let report =
        work.observe(("chitchat", variant), before_kib, || sent.so_far(), look, result).await;
    println!("{}", serde_json::to_string(&report)?);
    std::process::exit(0) // a hundred servers need not say goodbye
}

/// Counts what every node knows.
async fn look(
    pictures: &[Arc<Mutex<Chitchat>>],
    ids: &[ChitchatId],
    tally: &Mutex<Tally>,
    epoch: Epoch,
) {
    for (number, picture) in pictures.iter().enumerate() {
        let picture = picture.lock().await;
        let others = ids.iter().enumerate().filter(|(other, _)| *other != number);
        let births_us = others.map(|(_, id)| {
            let text = picture.node_state(id)?.get(KEY)?;
            Origin::of_text(text).map(|origin| origin.birth_us)
        });
        tally.lock().await.look(epoch.now_us(), births_us);
    }
}

/// Starts every node at its own phase of the unit; each knows the first few as seeds.
async fn start(
    work: &Work,
    protocol: Protocol,
    epoch: Epoch,
    sent: &Arc<Sent>,
) -> anyhow::Result<Vec<ChitchatHandle>> {
    let addresses = work.addresses()?;
    let seeds: Vec<String> = addresses.iter().take(3).map(ToString::to_string).collect();
    let mut starting = Vec::new();
    for (number, phase) in work.phases().into_iter().enumerate() {
        let config = ChitchatConfig {
            chitchat_id: ChitchatId::new(format!("n{number}"), 1, addresses[number]),
            cluster_id: "peers".to_owned(),
            gossip_interval: work.interval,
            listen_addr: addresses[number],
            seed_nodes: seeds.clone(),
            failure_detector_config: FailureDetectorConfig::default(),
            marked_for_deletion_grace_period: GRACE,
            catchup_callback: None,
            extra_liveness_predicate: None,
            protocol_version: match protocol {
                Protocol::V0 => ProtocolVersion::V0,
                Protocol::V1 => ProtocolVersion::V1,
            },
        };
        let (sent, every) = (Arc::clone(sent), work.interval);
        let maker = StateMaker::new(number, work.seed);
        starting.push(tokio::spawn(async move {
            sleep(phase).await;
            let node = spawn_chitchat(config, Vec::new(), &Counted(sent)).await?;
            tokio::spawn(renew(node.chitchat(), maker, every, epoch));
            anyhow::Ok(node)
        }));
    }
    let mut nodes = Vec::new();
    for node in starting {
        nodes.push(node.await??);
    }
    Ok(nodes)
}

/// Makes one node's state anew every unit.
async fn renew(node: Arc<Mutex<Chitchat>>, mut maker: StateMaker, every: Duration, epoch: Epoch) {
    let mut units = interval(every);
    units.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        units.tick().await;
        let text = maker.text(epoch.now_us());
        node.lock().await.self_node_state().set(KEY, text);
    }
}
