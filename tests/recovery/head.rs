//! The host whose process serves the store: in an etcd another one takes over, of a file only
//! another process of the same host can. Workers keep what they have done until somebody takes it.

use crate::account::{Account, names};
use crate::cluster::Cluster;
use crate::gates::Gates;
use crate::host::Fault;
use crate::site::{CLIENT, HEAD, Site};

/// Another host coordinates while the one that did is not there, which changes nothing later. That
/// is the head, unless it was so late already that it was replaced.
fn is_replaced(fault: Fault) {
    let mut site = Site::of_etcd();
    let mut cluster = Cluster::new(&mut site, "head");
    let (mut gates, names) = (Gates::of(&cluster), names(18));
    let run = cluster.run(&names);
    gates.until_busy();
    let first = cluster.until("a host coordinates", Cluster::coordinator);
    assert!(cluster.strike(first, fault));
    gates.open_all();
    cluster.until("another host coordinates", |cluster| {
        cluster.coordinator().filter(|&host| host != first)
    });
    if first == CLIENT {
        cluster.mend(first); // the run is there
    }
    let mut account = Account::default();
    cluster.complete(&mut account, &names, run);
    cluster.mend(first);
    cluster.check(&mut account, &names);
}

#[test]
fn a_coordinator_whose_host_is_killed_is_replaced() {
    is_replaced(Fault::Killed);
}

#[test]
fn a_coordinator_whose_host_has_no_power_is_replaced() {
    is_replaced(Fault::Dark);
}

#[test]
fn a_coordinator_whose_host_is_cut_off_is_replaced() {
    is_replaced(Fault::Cut);
}

#[test]
fn a_coordinator_whose_host_is_frozen_is_replaced() {
    is_replaced(Fault::Frozen);
}

/// Nobody can serve the file while its host is not there; then all goes on.
fn is_waited_for(fault: Fault) {
    let mut site = Site::of_file();
    let mut cluster = Cluster::new(&mut site, "head");
    let (mut gates, names) = (Gates::of(&cluster), names(18));
    let run = cluster.run(&names);
    let in_hand: usize = gates.until_busy().values().map(Vec::len).sum();
    assert!(cluster.strike(HEAD, fault));
    gates.open_all();
    cluster.until("all that workers have in hand has ended", |cluster| {
        (cluster.place.lines("wrote").len() >= in_hand).then_some(())
    });
    cluster.mend(HEAD);
    let mut account = Account::default();
    cluster.complete(&mut account, &names, run);
    cluster.check(&mut account, &names);
}

#[test]
fn a_holder_whose_host_is_killed_is_waited_for() {
    is_waited_for(Fault::Killed);
}

#[test]
fn a_holder_whose_host_has_no_power_is_waited_for() {
    is_waited_for(Fault::Dark);
}

#[test]
fn a_holder_whose_host_is_cut_off_is_waited_for() {
    is_waited_for(Fault::Cut);
}

#[test]
fn a_holder_whose_host_is_frozen_is_waited_for() {
    is_waited_for(Fault::Frozen);
}

#[test]
fn a_holder_that_is_killed_is_replaced_by_another_process_of_its_host() {
    let mut site = Site::of_file();
    let mut cluster = Cluster::new(&mut site, "head");
    let (mut gates, names) = (Gates::of(&cluster), names(18));
    let run = cluster.run(&names);
    gates.until_busy();
    cluster.replace_holder();
    gates.open_all();
    let mut account = Account::default();
    cluster.complete(&mut account, &names, run);
    cluster.check(&mut account, &names);
}
