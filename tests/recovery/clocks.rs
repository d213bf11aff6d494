//! Wall clocks that are set by an hour, to and fro, on the host of the coordinator and on that of a
//! worker, while tasks are in hand: nothing goes by them.

use std::collections::BTreeMap;

use tidings_tests::clock::{Clock, TRUE};

use crate::account::{Account, names};
use crate::cluster::Cluster;
use crate::gates::Gates;
use crate::host::{self, Fault};
use crate::place::Place;
use crate::site::{HEAD, Site, WORKERS};

const AHEAD: &str = "+3600";
const BACK: &str = "-3600";

/// The hosts whose clocks are set.
const SET: [usize; 2] = [HEAD, WORKERS[1]];

fn place(site: &Site) -> Place {
    site.servers.as_ref().map_or_else(Place::with_disk, |etcd| Place::of(etcd.address("clocks")))
}

fn costs_nothing(site: &mut Site) {
    let place = place(site);
    let clocks =
        SET.map(|host| (host, Clock::at(place.path(&format!("clock.{}", host::name(host))))));
    let before = clocks.iter().map(|(host, clock)| (*host, clock.words())).collect();
    let mut cluster = Cluster::at(site, place, before);
    let (mut gates, names) = (Gates::of(&cluster), names(24));
    let run = cluster.run(&names);
    let in_hand: BTreeMap<_, _> = gates.until_busy();
    for shift in [AHEAD, BACK, AHEAD, TRUE] {
        for (_, clock) in &clocks {
            clock.set(shift);
        }
        // The coordinator answers after it has seen that, and has nobody lost.
        let picture = cluster.until("the coordinator answers", Cluster::picture);
        assert_eq!(picture["lost"], 0, "after {shift}: {picture}");
    }
    for (_, clock) in &clocks {
        clock.set(BACK);
    }
    gates.open_all();
    let mut account = Account::default();
    cluster.complete(&mut account, &names, run);
    for task in in_hand.values().flatten() {
        assert_eq!(account.attempt(task), 1, "{task} was in hand when clocks were set");
    }
    cluster.check(&mut account, &names);
}

#[test]
fn over_tcp_clocks_that_are_set_by_an_hour_cost_nothing() {
    costs_nothing(&mut Site::of_file());
}

#[test]
fn over_etcd_clocks_that_are_set_by_an_hour_cost_nothing() {
    costs_nothing(&mut Site::of_etcd());
}

/// The next coordinator goes by another clock than the one that it replaces.
#[test]
fn a_coordinator_whose_clock_was_an_hour_ahead_is_replaced() {
    let mut site = Site::of_etcd();
    let place = place(&site);
    let clock = Clock::at(place.path("clock"));
    clock.set(AHEAD);
    let before = BTreeMap::from([(HEAD, clock.words())]);
    let mut cluster = Cluster::at(&mut site, place, before);
    let (mut gates, names) = (Gates::of(&cluster), names(18));
    let run = cluster.run(&names);
    gates.until_busy();
    assert!(cluster.strike(HEAD, Fault::Killed));
    gates.open_all();
    let mut account = Account::default();
    cluster.complete(&mut account, &names, run);
    cluster.check(&mut account, &names);
}
