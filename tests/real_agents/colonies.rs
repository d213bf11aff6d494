//! Colonies of real agents: three of three, on loopback.
//!
//! Nodes `aN`, `bN` and `cN` are of the colonies 1, 2 and 3. Each has the address of the first node
//! of every colony, its own included.

use std::net::UdpSocket;
use std::process::Command;

use rustix::process::Signal;
use tidings_control::{ClientError, Colonies, ErrorKind, Nodes};
use tidings_experiment::agents::{Cluster, programs};

const COLONIES: [(u32, [&str; 3]); 3] =
    [(1, ["a1", "a2", "a3"]), (2, ["b1", "b2", "b3"]), (3, ["c1", "c2", "c3"])];

/// All names, with their colonies.
fn all() -> impl Iterator<Item = (&'static str, u32)> {
    COLONIES.iter().flat_map(|(colony, names)| names.iter().map(|name| (*name, *colony)))
}

/// Starts all nine. The first of each colony get each other's addresses by a reload, since the
/// kernel chooses the ports; the others by flags.
fn colonies(cluster: &mut Cluster) {
    let mut seeds = Vec::new();
    for (colony, names) in COLONIES {
        let file = cluster.write(&format!("{}.toml", names[0]), "");
        cluster.start(names[0], &["--config", &file, "--colony", &colony.to_string()]);
        seeds.push(format!("{colony}@{}", cluster.agent(names[0]).status().address));
    }
    for (_, names) in COLONIES {
        cluster.write(&format!("{}.toml", names[0]), &format!("colony_seed = {seeds:?}\n"));
        cluster.agent(names[0]).signal(Signal::HUP);
    }
    for (colony, names) in COLONIES {
        for name in &names[1..] {
            start(cluster, name, colony, &seeds);
        }
    }
}

fn start(cluster: &mut Cluster, name: &str, colony: u32, seeds: &[String]) {
    let colony = colony.to_string();
    let mut flags = vec!["--colony", &colony];
    flags.extend(seeds.iter().flat_map(|seed| ["--colony-seed", seed]));
    cluster.start(name, &flags);
}

fn picture(cluster: &Cluster, name: &str) -> Colonies {
    cluster.agent(name).client().colonies().expect("a started agent answers")
}

/// Fresh nodes of each colony as `name` sees them; `None` until it knows all of them.
fn fresh(cluster: &Cluster, name: &str) -> Option<Vec<u32>> {
    let report = picture(cluster, name).colonies;
    report.iter().map(|colony| Some(colony.aggregate.as_ref()?.fresh)).collect()
}

fn until_all_know(cluster: &Cluster, names: &[(&'static str, u32)], expected: [u32; 3]) {
    for (name, _) in names {
        cluster.until(&format!("{name} knows {expected:?} nodes"), |cluster| {
            fresh(cluster, name).filter(|fresh| *fresh == expected).map(drop)
        });
    }
}

/// Runs `tidings` with the agent `name`; its exit code, and both of its outputs.
fn tidings(cluster: &Cluster, name: &str, arguments: &[&str]) -> (Option<i32>, [String; 2]) {
    let mut command = Command::new(programs().join("tidings"));
    command.arg("--runtime-dir").arg(cluster.agent(name).runtime_dir()).args(arguments);
    let output = command.output().expect("tidings starts");
    let texts = [output.stdout, output.stderr];
    (output.status.code(), texts.map(|text| String::from_utf8(text).expect("text")))
}

fn names(nodes: &Nodes) -> Vec<&str> {
    nodes.nodes.iter().map(|node| node.name.as_str()).collect()
}

#[test]
fn every_agent_knows_every_colony_and_still_does_when_a_representative_dies() {
    let mut cluster = Cluster::new();
    colonies(&mut cluster);
    let everybody: Vec<_> = all().collect();
    until_all_know(&cluster, &everybody, [3, 3, 3]);
    for (name, colony) in all() {
        // An agent that had no processor for a while is not fresh meanwhile.
        let report = cluster.until(&format!("{name} has 9 nodes in total"), |cluster| {
            let report = picture(cluster, name);
            (report.total.nodes == 9 && report.total.readings["cores"].nodes == 9).then_some(report)
        });
        assert_eq!((report.colony, report.total_colonies), (Some(colony), 3));
        let cores = &report.total.readings["cores"];
        assert!(cores.min > 0.0 && !cores.histogram.is_empty(), "{cores:?}");
        let numbers: Vec<_> = report.colonies.iter().map(|colony| colony.colony).collect();
        assert_eq!(numbers, [Some(1), Some(2), Some(3)]);
        let status = cluster.agent(name).status();
        assert_eq!((status.colony, status.colonies, status.colonies_heard), (Some(colony), 3, 3));
        assert_eq!(status.members, 3, "members are those of the own colony");
    }

    let visit = cluster.agent("a2").client().visit(3).expect("colony 3 is up");
    assert_eq!((visit.colony, names(&visit)), (Some(3), vec!["c1", "c2", "c3"]));
    assert!(visit.nodes.iter().all(|node| node.cores.is_some()), "{visit:?}");
    let columns = ["nodes", "--colony", "3", "--columns", "name"];
    let (code, [table, _]) = tidings(&cluster, "b3", &columns);
    assert_eq!((code, table.as_str()), (Some(0), "name\nc1\nc2\nc3\n"));
    let (code, [table, _]) = tidings(&cluster, "b3", &["colonies", "--readings", "cores"]);
    let firsts: Vec<_> = table.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!((code, firsts), (Some(0), vec!["colony", "1", "2", "3", "all"]), "{table}");
    let own = cluster.agent("a2").client().visit(1).expect("its own");
    assert_eq!(names(&own), ["a1", "a2", "a3"]);

    // The node of colony 1 that has called most is a representative; b1 is the address that all
    // have.
    let caller =
        ["a1", "a2", "a3"].into_iter().max_by_key(|name| cluster.agent(name).counter("calls_sent"));
    let dead = [caller.expect("three"), "b1"];
    for name in dead {
        cluster.agent(name).signal(Signal::KILL);
        assert_eq!(cluster.end(name), None, "killed by the signal");
    }
    let left: Vec<_> = all().filter(|(name, _)| !dead.contains(name)).collect();
    // The dead are stale after 64 units: if every agent left has an aggregate of their colonies
    // with that count, the aggregate was made after their end.
    until_all_know(&cluster, &left, [2, 2, 3]);
    let status = cluster.agent(left[0].0).status();
    let oldest_ms = status.colony_age_max_ms.expect("two other colonies are known");
    assert!(oldest_ms < 64.0 * status.interval_ms, "{oldest_ms} ms");
}

#[test]
fn a_colony_that_is_down_is_found_when_it_starts() {
    let mut cluster = Cluster::new();
    let free = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = free.local_addr().expect("bound").to_string();
    let seed = format!("2@{address}");
    cluster.start("a1", &["--colony", "1", "--colony-seed", &seed]);
    cluster.until("a1 has called in vain", |cluster| {
        (cluster.agent("a1").counter("calls_sent") > 8).then_some(())
    });
    cluster.until("a1 logs that no colony has answered", |cluster| {
        let reported = |line: &String| line.contains("these colonies with seeds are not known yet");
        cluster.agent("a1").log().iter().any(reported).then_some(())
    });
    let report = picture(&cluster, "a1");
    assert!(report.colonies[1].aggregate.is_none() && report.total_colonies == 1, "{report:?}");
    drop(free);
    cluster.start("b1", &["--colony", "2", "--listen", &address]);
    // b1 has no address: a caller introduces itself.
    for name in ["a1", "b1"] {
        cluster.until(&format!("{name} knows the other colony"), |cluster| {
            fresh(cluster, name).filter(|fresh| *fresh == [1, 1]).map(drop)
        });
    }
}

#[test]
fn a_visit_without_a_result_reports_why() {
    let mut cluster = Cluster::new();
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let seed = format!("2@{}", silent.local_addr().expect("bound"));
    cluster.start("a1", &["--colony", "1", "--colony-seed", &seed]);
    cluster.until("a1 knows an address of colony 2", |cluster| {
        (cluster.agent("a1").status().colonies == 2).then_some(())
    });
    cluster.start("plain", &[]);
    for (name, colony, kind, part) in [
        ("a1", 7, ErrorKind::NotFound, "no colony 7 is known here, in colony 1"),
        ("a1", 2, ErrorKind::Unanswered, "colony 2 does not answer"),
        ("plain", 2, ErrorKind::NotFound, "this agent is in no colony"),
    ] {
        let refused = cluster.agent(name).client().visit(colony).expect_err("nobody to ask");
        let ClientError::Refused(report) = refused else { panic!("{refused}") };
        assert_eq!(report.kind, kind, "{report}");
        assert!(report.message.contains(part), "{report}");
        let expected = if kind == ErrorKind::NotFound { 4 } else { 1 };
        let (code, [_, said]) =
            tidings(&cluster, name, &["nodes", "--colony", &colony.to_string()]);
        assert!(code == Some(expected) && said.contains(part), "{code:?}: {said}");
    }
    let report = picture(&cluster, "plain");
    assert_eq!((report.colony, report.colonies.len(), report.total.nodes), (None, 1, 1));
}

#[test]
fn a_seed_of_another_colony_does_not_make_two_colonies_one() {
    let mut cluster = Cluster::new();
    cluster.start("a1", &["--colony", "1"]);
    cluster.join("b1", "a1", &["--colony", "2"]);
    cluster.until("a1 has dropped what b1 asked it", |cluster| {
        (cluster.agent("a1").counter("dropped_cluster") >= 3).then_some(())
    });
    for name in ["a1", "b1"] {
        assert_eq!(cluster.agent(name).status().members, 1, "{name} knows only itself");
    }
    cluster.until("b1 logs that no seed answers", |cluster| {
        let reported = |line: &String| line.contains("no seed answers") && line.contains("colony");
        cluster.agent("b1").log().iter().any(reported).then_some(())
    });
}
