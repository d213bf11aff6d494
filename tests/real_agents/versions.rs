//! Agents that write different versions of the datagrams: they change one at a time, and back.

use tidings_experiment::agents::Cluster;

use super::KEYS;

const NAMES: [&str; 5] = ["n1", "n2", "n3", "n4", "n5"];

/// Starts an agent on the address that it had, or that it gets.
fn start(cluster: &mut Cluster, name: &str, address: &str, seed: &str, version: &str) {
    let keys = cluster.path().join("keys").display().to_string();
    let flags = ["--keys", &keys, "--listen", address, "--seed", seed, "--wire-version", version];
    cluster.start(name, &flags);
}

/// Waits until all know all, and each has received the versions that the others write and read.
fn until_spoken(cluster: &Cluster, written: u8, read: u8) {
    cluster.until_known(&NAMES, NAMES.len());
    cluster.until("all have received from all", |cluster| {
        let heard = NAMES.iter().all(|name| {
            let status = cluster.agent(name).status();
            let lowest = (status.wire_written_lowest, status.wire_read_lowest);
            status.wire_heard as usize == NAMES.len() - 1 && lowest == (Some(written), Some(read))
        });
        heard.then_some(())
    });
}

/// Restarts the agents one after the other, each with the other version; all know all after each.
fn roll(cluster: &mut Cluster, addresses: &[String], version: &str) {
    for (at, name) in NAMES.into_iter().enumerate() {
        assert_eq!(cluster.stop(name), Some(0));
        let seed = &addresses[(at + 1) % NAMES.len()];
        start(cluster, name, &addresses[at], seed, version);
        cluster.until_known(&NAMES, NAMES.len());
    }
}

#[test]
fn a_cluster_changes_its_version_node_by_node_and_back() {
    let mut cluster = Cluster::new();
    cluster.write("keys", KEYS[0]);
    let mut addresses = Vec::new();
    for name in NAMES {
        let seed = addresses.first().map_or("127.0.0.1:1", |first: &String| first);
        start(&mut cluster, name, "127.0.0.1:0", seed, "1");
        addresses.push(cluster.agent(name).status().address);
    }
    until_spoken(&cluster, 1, 1);
    roll(&mut cluster, &addresses, "2");
    until_spoken(&cluster, 2, 2);
    roll(&mut cluster, &addresses, "1");
    until_spoken(&cluster, 1, 1);
    for name in NAMES {
        let counters = cluster.agent(name).status().counters;
        let refused = ["version", "malformed", "corrupt", "excess", "schema"];
        for why in refused {
            assert_eq!(counters[&format!("dropped_{why}")], 0, "{name}: {why}");
        }
        assert_eq!(counters["deaths_declared"], 0, "{name}");
    }
}
