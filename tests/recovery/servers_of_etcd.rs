//! Hosts of an etcd: two of three servers go on, whatever happens to the one that leads.

use crate::account::{Account, names};
use crate::cluster::Cluster;
use crate::gates::Gates;
use crate::host::Fault;
use crate::site::Site;

fn goes_on_without_its_leader(fault: Fault) {
    let mut site = Site::of_etcd();
    let mut cluster = Cluster::new(&mut site, "servers");
    let (mut gates, names) = (Gates::of(&cluster), names(18));
    let run = cluster.run(&names);
    gates.until_busy();
    let leader = cluster.until("a server leads", |cluster| cluster.site.leader());
    assert!(cluster.strike(leader, fault));
    gates.open_all();
    let mut account = Account::default();
    cluster.complete(&mut account, &names, run);
    cluster.mend(leader);
    cluster.check(&mut account, &names);
}

#[test]
fn an_etcd_whose_leader_is_killed_with_its_host() {
    goes_on_without_its_leader(Fault::Killed);
}

#[test]
fn an_etcd_whose_leader_has_no_power() {
    goes_on_without_its_leader(Fault::Dark);
}

#[test]
fn an_etcd_whose_leader_is_cut_off() {
    goes_on_without_its_leader(Fault::Cut);
}

#[test]
fn an_etcd_whose_leader_is_frozen() {
    goes_on_without_its_leader(Fault::Frozen);
}
