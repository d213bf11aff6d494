//! The length of payloads in a cluster of hosts, changed by a signal to each agent in turn, while
//! datagrams are lost.

use rustix::process::Signal;
use tidings_experiment::agents::{Cluster, KEY};
use tidings_experiment::hosts::Hosts;

const HOSTS: usize = 6;

fn name(host: usize) -> String {
    format!("h{host:02}")
}

fn all_know(cluster: &Cluster) {
    cluster.until("all know all", |cluster| {
        let knows_all = |host| {
            let status = cluster.agent(&name(host)).status();
            status.known == HOSTS && status.members == HOSTS && status.age_max_ms < 3_000.0
        };
        (1..=HOSTS).all(knows_all).then_some(())
    });
}

fn until_seen(cluster: &Cluster, of: usize, note: &str) {
    cluster.until(&format!("all see the note of {}", name(of)), |cluster| {
        let sees = |host| {
            let report = cluster.agent(&name(host)).node(&name(of));
            report.is_some_and(|node| node.user.get("note").is_some_and(|value| value == note))
        };
        (1..=HOSTS).all(sees).then_some(())
    });
}

/// Gives all agents this length, one after the other; all know all in between.
fn change(cluster: &Cluster, from: u16, to: u16) {
    for host in 1..=HOSTS {
        cluster.write("agent.toml", &file(to));
        cluster.agent(&name(host)).signal(Signal::HUP);
        cluster.until("it is applied", |cluster| {
            (cluster.agent(&name(host)).status().payload_bytes == to).then_some(())
        });
        if to > from {
            let note = long(host);
            let mut client = cluster.agent(&name(host)).client();
            client.publish("note", &note, 3600).expect("there is room now");
            until_seen(cluster, host, &note);
        }
        all_know(cluster);
    }
}

fn file(payload_bytes: u16) -> String {
    format!("payload_bytes = {payload_bytes}\npayload_bytes_most = 256\n")
}

fn long(host: usize) -> String {
    format!("{host}").repeat(150)
}

#[test]
fn the_size_of_payloads_is_changed_and_back_without_a_restart() {
    let (mut cluster, hosts) = (Cluster::new(), Hosts::new(HOSTS));
    let keys = cluster.write("keys", KEY);
    let config = cluster.write("agent.toml", &file(64));
    let seed = format!("{}:9616", Hosts::address(1));
    for host in 1..=HOSTS {
        let listen = format!("{}:9616", Hosts::address(host));
        let mut flags = vec!["--config", &config, "--listen", &listen, "--keys", &keys];
        flags.extend(["--interval", "64ms", "--seed", &seed]);
        cluster.start_on(&hosts.on(host), &name(host), &flags);
    }
    all_know(&cluster);
    (1..=HOSTS).for_each(|host| hosts.lose(host, 10));
    change(&cluster, 64, 256);
    // A length that what is published does not fit in is not taken.
    cluster.write("agent.toml", &file(64));
    cluster.agent(&name(1)).signal(Signal::HUP);
    cluster.until("the remedy is logged", |cluster| {
        let kept = |line: &String| line.contains("first withdraw some of what is published");
        cluster.agent(&name(1)).log().iter().any(kept).then_some(())
    });
    for host in 1..=HOSTS {
        let mut client = cluster.agent(&name(host)).client();
        client.publish("note", "", 0).expect("withdrawing always works");
    }
    change(&cluster, 256, 64);
    cluster.until("all send short payloads again", |cluster| {
        let sent = |host| cluster.agent(&name(host)).status().payload_bytes_sent;
        (1..=HOSTS).all(|host| sent(host) == 64).then_some(())
    });
    for host in 1..=HOSTS {
        let counters = cluster.agent(&name(host)).status().counters;
        for counter in ["dropped_schema", "dropped_malformed", "deaths_declared"] {
            assert_eq!(counters[counter], 0, "{}: {counter}", name(host));
        }
    }
}
