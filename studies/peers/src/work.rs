//! The parameters and the phases of a run: warm up, then look at all pictures a few times a unit.

use std::future::Future;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use clap::Args;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::cost;
use crate::report::Report;
use crate::tally::Tally;

/// What every program takes.
#[derive(Clone, Debug, Args)]
pub struct Work {
    /// Nodes in the process.
    #[arg(long, default_value_t = 64)]
    pub nodes: usize,
    /// The unit of time: each node makes its state anew, and gossips, once.
    #[arg(long, default_value = "256ms", value_parser = humantime::parse_duration)]
    pub interval: Duration,
    /// How long the nodes run before measuring begins.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    pub warmup: Duration,
    /// How long is measured.
    #[arg(long, default_value = "9s", value_parser = humantime::parse_duration)]
    pub measure: Duration,
    /// Looks at all pictures in a unit. No whole number, so that they fall on all its phases.
    #[arg(long, default_value_t = 2.3)]
    pub looks: f64,
    /// What phases, states and choices are drawn from.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// The clock of the process: microseconds from 1.
#[derive(Clone, Copy, Debug)]
pub struct Epoch(Instant);

impl Epoch {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Microseconds since the start, and one.
    pub fn now_us(self) -> u64 {
        self.0.elapsed().as_micros() as u64 + 1
    }
}

/// What was so when measuring began.
#[derive(Debug)]
struct Mark {
    at: Instant,
    cpu_s: f64,
    sent: (u64, u64),
}

impl Mark {
    fn set(sent: (u64, u64)) -> Self {
        Self { at: Instant::now(), cpu_s: cost::cpu_s(), sent }
    }
}

impl Work {
    /// The unit in microseconds.
    pub fn unit_us(&self) -> f64 {
        self.interval.as_secs_f64() * 1e6
    }

    /// A phase of the unit for each node, drawn from the seed.
    pub fn phases(&self) -> Vec<Duration> {
        let mut chance = SmallRng::seed_from_u64(self.seed);
        (0..self.nodes).map(|_| self.interval.mul_f64(chance.random())).collect()
    }

    /// An address on loopback for each node. They were free a moment ago.
    ///
    /// # Errors
    /// When the system has no more.
    pub fn addresses(&self) -> std::io::Result<Vec<SocketAddr>> {
        let held: Vec<UdpSocket> =
            (0..self.nodes).map(|_| UdpSocket::bind("127.0.0.1:0")).collect::<Result<_, _>>()?;
        held.iter().map(UdpSocket::local_addr).collect()
    }

    /// Warms up, then calls `look` a few times a unit and returns what was measured meanwhile.
    /// `sent` tells the datagrams and bytes sent so far. `before_kib` is the memory without nodes.
    pub async fn observe<F: Future<Output = ()>>(
        &self,
        (peer, variant): (&str, &str),
        before_kib: u64,
        sent: impl Fn() -> (u64, u64),
        mut look: impl FnMut() -> F,
        tally: impl FnOnce() -> Tally,
    ) -> Report {
        let load_1m = cost::load_1m();
        tokio::time::sleep(self.warmup).await;
        let mark = Mark::set(sent());
        let mut looks = tokio::time::interval(self.interval.div_f64(self.looks));
        while mark.at.elapsed() < self.measure {
            looks.tick().await;
            look().await;
        }
        let measured_s = mark.at.elapsed().as_secs_f64();
        let (cpu_s, sent) = (cost::cpu_s() - mark.cpu_s, sent());
        let per_node_s = 1.0 / (self.nodes as f64 * measured_s);
        let added_kib = cost::resident_kib().saturating_sub(before_kib);
        let tally = tally();
        Report {
            peer: peer.to_owned(),
            variant: variant.to_owned(),
            nodes: self.nodes,
            interval_ms: self.unit_us() / 1e3,
            warmup_s: self.warmup.as_secs_f64(),
            measured_s,
            looks: tally.looks(),
            missing_share: tally.missing_share(),
            age_avg_units: tally.average_units(),
            age_p99_units: tally.quantile_units(0.99),
            age_max_units: tally.max_units(),
            bytes_per_node_s: (sent.1 - mark.sent.1) as f64 * per_node_s,
            datagrams_per_node_s: (sent.0 - mark.sent.0) as f64 * per_node_s,
            cpu_s_per_node_s: cpu_s * per_node_s,
            looking_s_per_node_s: tally.looking_s() * per_node_s,
            resident_kib_per_node: added_kib as f64 / self.nodes as f64,
            load_1m,
        }
    }
}
