//! How long it takes until a task begins elsewhere, from the moment at which something happens.
//! Times are printed (`--nocapture`) and never asserted: machines of tests are late.
//!
//! `TIDINGS_RECOVERY_TIMES=40 cargo test -p tidings-tests --test recovery times -- --nocapture
//! --test-threads=1` measures each 40 times; a test does once.

use std::time::{Duration, Instant};

use crate::account::{Account, names};
use crate::cluster::Cluster;
use crate::gates::Gates;
use crate::host::{FAULTS, Fault};
use crate::site::{CLIENT, HEAD, Site, WORKERS};

/// The host whose task is waited for.
const HOST: usize = WORKERS[1];

/// To what it happens.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// A worker: until its task begins on another host.
    Worker,
    /// The coordinator: until any task begins that nobody had in hand.
    Coordinator,
    /// The server that leads the etcd: the same.
    Leader,
}

fn once(site: &mut Site, name: &str, target: Target, fault: Fault) -> Duration {
    let mut cluster = Cluster::new(site, name);
    let mut gates = Gates::of(&cluster);
    let is_worker = matches!(target, Target::Worker);
    let names = names(if is_worker { 6 } else { 12 });
    let run = cluster.run(&names);
    gates.until_busy();
    if is_worker {
        // One slot of another host is free.
        gates.open(WORKERS[0]);
        cluster.until("a task ends", |cluster| {
            (!cluster.place.lines("wrote").is_empty()).then_some(())
        });
    }
    let host = match target {
        Target::Worker => HOST,
        // Where the run is, nothing would begin until that is mended.
        Target::Coordinator => cluster.until("a host coordinates", |cluster| {
            cluster.coordinator().map(|host| if host == CLIENT { HEAD } else { host })
        }),
        Target::Leader => cluster.until("a server leads", |cluster| cluster.site.leader()),
    };
    let begun = Instant::now();
    assert!(cluster.strike(host, fault));
    if !matches!(target, Target::Worker) {
        gates.open_all();
    }
    gates.next();
    let time = begun.elapsed();
    gates.open_all();
    let mut account = Account::default();
    cluster.complete(&mut account, &names, run);
    cluster.check(&mut account, &names);
    time
}

fn measure(kind: &str, mut site: Site, target: Target) {
    let repeats = std::env::var("TIDINGS_RECOVERY_TIMES").ok().and_then(|n| n.parse().ok());
    for fault in FAULTS {
        let name = |number: usize| format!("times-{target:?}-{fault:?}-{number}");
        let all = 0..repeats.unwrap_or(1);
        let mut times: Vec<Duration> =
            all.map(|number| once(&mut site, &name(number), target, fault)).collect();
        times.sort_unstable();
        let quantile = |percent: usize| times[(times.len() * percent).div_ceil(100) - 1];
        println!(
            "{kind}, {target:?} {fault:?}: {} times, median {:.2?}, p95 {:.2?}, longest {:.2?}",
            times.len(),
            quantile(50),
            quantile(95),
            quantile(100)
        );
    }
}

#[test]
fn of_a_worker_over_tcp() {
    measure("TCP", Site::of_file(), Target::Worker);
}

#[test]
fn of_a_worker_over_tcp_with_agents() {
    measure("TCP with agents", Site::of_file().with_agents(), Target::Worker);
}

#[test]
fn of_a_worker_over_etcd_with_agents() {
    measure("etcd with agents", Site::of_etcd().with_agents(), Target::Worker);
}

#[test]
fn of_a_coordinator() {
    measure("etcd", Site::of_etcd(), Target::Coordinator);
}

#[test]
fn of_the_leader_of_an_etcd() {
    measure("etcd", Site::of_etcd(), Target::Leader);
}
