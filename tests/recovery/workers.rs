//! A worker's host: what it had in hand runs elsewhere, and what it says later does not count.

use crate::account::{Account, names};
use crate::cluster::Cluster;
use crate::gates::Gates;
use crate::host::{self, Fault};
use crate::site::{Site, WORKERS};

/// The host to which it happens.
const HOST: usize = WORKERS[1];

fn survives(site: &mut Site, fault: Fault) {
    let mut cluster = Cluster::new(site, "workers");
    let (mut gates, names) = (Gates::of(&cluster), names(12));
    let run = cluster.run(&names);
    let in_hand = gates.until_busy().remove(&HOST).unwrap();
    assert!(cluster.strike(HOST, fault));
    if fault == Fault::Cut {
        // They end there, and nobody can be told.
        gates.open(HOST);
        cluster.until("the tasks that are cut off have ended", |cluster| {
            let wrote = cluster.place.lines("wrote");
            let own = wrote.iter().filter(|line| line.ends_with(&host::name(HOST))).count();
            (own == in_hand.len()).then_some(())
        });
    }
    WORKERS.into_iter().filter(|&host| host != HOST).for_each(|host| gates.open(host));
    let mut account = Account::default();
    cluster.complete(&mut account, &names, run);
    for task in &in_hand {
        assert!(account.attempt(task) > 1, "{task} was with the host that is {fault:?}");
    }
    if fault != Fault::Cut {
        gates.open(HOST);
    }
    cluster.mend(HOST);
    if fault == Fault::Cut {
        cluster.until("the results that came late are counted", |cluster| {
            (cluster.picture()?["superseded"].as_u64()? > 0).then_some(())
        });
    }
    cluster.check(&mut account, &names);
}

#[test]
fn over_tcp_tasks_of_a_killed_host_run_elsewhere() {
    survives(&mut Site::of_file(), Fault::Killed);
}

#[test]
fn over_tcp_tasks_of_a_host_without_power_run_elsewhere() {
    survives(&mut Site::of_file(), Fault::Dark);
}

#[test]
fn over_tcp_results_of_a_host_that_was_cut_off_are_refused() {
    survives(&mut Site::of_file(), Fault::Cut);
}

#[test]
fn over_tcp_tries_of_a_frozen_host_do_not_count_when_it_thaws() {
    survives(&mut Site::of_file(), Fault::Frozen);
}

#[test]
fn over_etcd_tasks_of_a_killed_host_run_elsewhere() {
    survives(&mut Site::of_etcd(), Fault::Killed);
}

#[test]
fn over_etcd_tasks_of_a_host_without_power_run_elsewhere() {
    survives(&mut Site::of_etcd(), Fault::Dark);
}

#[test]
fn over_etcd_results_of_a_host_that_was_cut_off_are_refused() {
    survives(&mut Site::of_etcd(), Fault::Cut);
}

#[test]
fn over_etcd_tries_of_a_frozen_host_do_not_count_when_it_thaws() {
    survives(&mut Site::of_etcd(), Fault::Frozen);
}

#[test]
fn with_agents_tasks_of_a_dead_host_run_elsewhere() {
    survives(&mut Site::of_file().with_agents(), Fault::Dark);
}
