//! What goes wrong in a cluster of hosts: lost, late and doubled datagrams, cuts, kills, stops,
//! restarts, moves, clocks that are set, disks that are full, processors that others use.
//!
//! Every agent runs in a network namespace of its own, with an address of its own, so that nothing
//! but datagrams over a (virtual) wire connects them. After each fault every live pair must know
//! each other again, and nobody who lives may count as dead. studies/faults/README.md is the list.

mod addresses;
mod class;
mod clocks;
mod disks;
mod families;
mod keys;
mod kills;
mod lateness;
mod lengths;
mod peers;
mod proxy;
mod starved;
mod versions;

use rustix::process::Signal;
use tidings_control::State;
use tidings_experiment::agents::{Site, name};
use tidings_experiment::hosts::Hosts;

const HOSTS: usize = 16;

/// Agents on hosts, each of which knows all.
fn site() -> Site {
    Site::new(Hosts::new(HOSTS), &[])
}

fn all() -> Vec<usize> {
    (1..=HOSTS).collect()
}

fn all_but(host: usize) -> Vec<usize> {
    all().into_iter().filter(|&other| other != host).collect()
}

#[test]
fn a_third_of_all_datagrams_lost_kills_nobody() {
    let site = site();
    for percent in [10, 30] {
        for host in all() {
            site.hosts.lose(host, percent);
        }
        site.pass_rounds(1, 60);
        site.until_all_know(&all());
    }
    site.assert_nobody_died(&all());
    site.assert_nothing_damaged(&all());
}

#[test]
fn two_halves_that_declared_each_other_dead_reunite() {
    let site = site();
    let (one, two): (Vec<usize>, Vec<usize>) = all().iter().partition(|&&host| host <= HOSTS / 2);
    for &host in &one {
        site.hosts.deafen(host, two.iter().copied());
    }
    for &host in &two {
        site.hosts.deafen(host, one.iter().copied());
    }
    site.until_held(&one, HOSTS, State::Dead);
    site.until_held(&two, 1, State::Dead);
    site.until_all_know(&one);
    site.hosts.heal();
    site.until_all_know(&all());
}

#[test]
fn a_host_that_receives_nothing_is_alive_again_when_it_receives() {
    let site = site();
    site.hosts.deafen(5, all_but(5).into_iter());
    site.pass_rounds(1, 100);
    site.hosts.heal();
    site.until_all_know(&all());
    site.until_all_know(&all_but(5));
}

#[test]
fn the_killed_are_dead_to_all_and_live_again_with_the_next_start() {
    let mut site = site();
    for host in [4, 9] {
        site.kill(host);
        site.until_held(&all_but(host), host, State::Dead);
        site.start(host);
        site.until_all_know(&all());
    }
}

#[test]
fn a_seed_that_is_dead_at_the_start_holds_nobody_up() {
    let mut site = Site::dark(Hosts::new(HOSTS), &[]);
    for host in all_but(1) {
        site.start(host);
    }
    site.until_all_know(&all_but(1));
    site.start(1);
    site.until_all_know(&all());
}

#[test]
fn a_paused_node_is_declared_dead_and_refutes_it() {
    let site = site();
    site.agent(7).signal(Signal::STOP);
    site.until_held(&all_but(7), 7, State::Dead);
    site.agent(7).signal(Signal::CONT);
    site.until_all_know(&all());
}

#[test]
fn a_rolling_restart_loses_nobody() {
    let mut site = site();
    for host in 1..=HOSTS {
        assert_eq!(site.cluster.stop(&name(host)), Some(0));
        site.start(host);
    }
    site.until_all_know(&all());
    assert_eq!(site.count(&all(), "deaths_declared"), 0, "who says goodbye is not dead");
}
