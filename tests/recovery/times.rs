//! How long it takes until a task begins elsewhere, from the moment at which something happens.
//! Times are printed (`--nocapture`) and never asserted: machines of tests are late.
//!
//! `TIDINGS_RECOVERY_TIMES=40 cargo test -p tidings-tests --test recovery times -- --nocapture
//! --test-threads=1` measures each 40 times; a test does once. With `TIDINGS_RECOVERY_ROWS=FILE`
//! each time is appended to a file as a row, which `studies/task-deaths/run` makes its table of.

use std::fs::OpenOptions;
use std::io::Write as _;
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

fn measure(store: &str, mut site: Site, target: Target) {
    let repeats = std::env::var("TIDINGS_RECOVERY_TIMES").ok().and_then(|n| n.parse().ok());
    let agents = if site.has_agents() { "yes" } else { "no" };
    for fault in FAULTS {
        let mut times = Vec::new();
        for number in 1..=repeats.unwrap_or(1) {
            let time =
                once(&mut site, &format!("times-{target:?}-{fault:?}-{number}"), target, fault);
            let elsewhere_s = time.as_secs_f64();
            note(&format!("{store},{agents},{target:?},{fault:?},{number},{elsewhere_s:.3}"));
            times.push(time);
        }
        times.sort_unstable();
        let quantile = |percent: usize| times[(times.len() * percent).div_ceil(100) - 1];
        println!(
            "{store}, agents: {agents}, {target:?} {fault:?}: {} times, median {:.2?}, p95 {:.2?}, \
             longest {:.2?}",
            times.len(),
            quantile(50),
            quantile(95),
            quantile(100)
        );
    }
}

/// Appends a row to the file of rows, if one is wanted.
fn note(row: &str) {
    if let Some(path) = std::env::var_os("TIDINGS_RECOVERY_ROWS") {
        let mut rows = OpenOptions::new().create(true).append(true).open(path).unwrap();
        writeln!(rows, "{row}").unwrap();
    }
}

#[test]
fn of_a_worker_over_tcp() {
    measure("file", Site::of_file(), Target::Worker);
}

#[test]
fn of_a_worker_over_tcp_with_agents() {
    measure("file", Site::of_file().with_agents(), Target::Worker);
}

#[test]
fn of_a_worker_over_etcd_with_agents() {
    measure("etcd", Site::of_etcd().with_agents(), Target::Worker);
}

#[test]
fn of_a_coordinator() {
    measure("etcd", Site::of_etcd(), Target::Coordinator);
}

#[test]
fn of_the_leader_of_an_etcd() {
    measure("etcd", Site::of_etcd(), Target::Leader);
}

#[test]
fn of_the_leader_of_an_etcd_with_quick_elections() {
    measure("quick etcd", Site::of_quick_etcd(), Target::Leader);
}
