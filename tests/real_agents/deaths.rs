//! Deaths and false ones: killed, stopped and restarted agents, as the others see them.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::{JoinHandle, spawn};

use rustix::process::{Pid, Signal};
use tidings_control::{Change, ClientError, NodeReport, State, Watch};
use tidings_experiment::agents::{Cluster, programs};

const NAMES: [&str; 5] = ["n1", "n2", "n3", "n4", "n5"];

fn five(flags: &[&str]) -> Cluster {
    let mut cluster = Cluster::new();
    cluster.start("n1", flags);
    for name in &NAMES[1..] {
        cluster.join(name, "n1", flags);
    }
    cluster.until_known(&NAMES, 5);
    cluster.until("all have heard all others themselves", |cluster| {
        let heard = |name: &&str| cluster.agent(name).status().wire_heard == 4;
        NAMES.iter().all(heard).then_some(())
    });
    cluster
}

/// Waits until all of `observers` have `about` in this state.
fn until_seen(cluster: &Cluster, observers: &[&str], about: &str, state: State) {
    cluster.until(&format!("{about} is {state:?} for {observers:?}"), |cluster| {
        let seen = |name: &&str| {
            let nodes = cluster.agent(name).client().nodes().expect("answered").nodes;
            nodes.iter().any(|node| node.name == about && node.state == state)
        };
        observers.iter().all(seen).then_some(())
    });
}

fn logged(cluster: &Cluster, name: &str, text: &str) -> bool {
    cluster.agent(name).log().iter().any(|line| line.contains(text))
}

/// Silence does not matter here: `death_after` is far longer than the test's timeout.
#[test]
fn a_killed_agent_is_dead_by_its_hosts_refusal_and_alive_when_it_is_back() {
    let flags = ["--death-after", "1h"];
    let mut cluster = five(&flags);
    cluster.agent("n5").signal(Signal::KILL);
    assert_eq!(cluster.end("n5"), None);
    until_seen(&cluster, &NAMES[..4], "n5", State::Dead);
    assert!(NAMES[..4].iter().all(|name| cluster.agent(name).counter("probes_sent") > 0));
    cluster.join("n5", "n1", &flags);
    until_seen(&cluster, &NAMES, "n5", State::Alive);
    cluster.until("its return is logged", |cluster| {
        NAMES[..4].iter().all(|name| logged(cluster, name, "node returned")).then_some(())
    });
}

/// What the agent `name` shows of a node that is dead, all of which may come a moment later.
fn dead_with_readings(cluster: &Cluster, name: &str, about: &str) -> NodeReport {
    cluster.until(&format!("{name} shows {about} dead"), |cluster| {
        let node = cluster.agent(name).node(about)?;
        (node.state == State::Dead && node.cores.is_some()).then_some(node)
    })
}

/// The last readings of a dead node stay with their age, its sequence is one that it had, and it is
/// counted apart from those that left.
#[test]
fn what_a_dead_node_said_last_stays_and_it_has_not_left() {
    let mut cluster = five(&[]);
    let last = cluster.until("n1 has readings of n5", |cluster| {
        cluster.agent("n1").node("n5").filter(|node| node.cores.is_some())
    });
    cluster.agent("n5").signal(Signal::KILL);
    assert_eq!(cluster.end("n5"), None);
    cluster.agent("n4").signal(Signal::TERM);
    assert_eq!(cluster.end("n4"), Some(0));
    until_seen(&cluster, &NAMES[..3], "n5", State::Dead);
    until_seen(&cluster, &NAMES[..3], "n4", State::Left);
    for name in &NAMES[..3] {
        let node = dead_with_readings(&cluster, name, "n5");
        assert_eq!((node.cores, node.kernel), (last.cores, last.kernel.clone()), "{name}");
        let sequence = node.sequence.expect("news of it was held");
        // Others may have heard less of it than n1, of which `last` is.
        let is_later = *name != "n1" || Some(sequence) >= last.sequence;
        assert!(is_later && sequence < 1_000_000, "{name}: {sequence}");
        assert!(node.readings_age_ms >= node.age_ms, "{name}: {:?}", node.readings_age_ms);
        let total = cluster.agent(name).client().colonies().expect("answered").total;
        assert_eq!((total.nodes, total.dead, total.left), (5, 1, 1), "{name}");
    }
    let said = |arguments: &[&str]| {
        let mut command = Command::new(programs().join("tidings"));
        command.arg("--runtime-dir").arg(cluster.agent("n1").runtime_dir()).args(arguments);
        let output = command.output().expect("tidings starts");
        (output.status.code(), String::from_utf8(output.stdout).expect("text"))
    };
    // The board has them, too, and no condition takes them for news.
    let columns = ["--columns", "name,cores,sequence", "--where", "state == dead"];
    for from in [&["nodes"][..], &["nodes", "--board"]] {
        let (code, text) = said(&[from, &columns].concat());
        let row: Vec<&str> = text.lines().nth(1).expect("a row").split_whitespace().collect();
        assert_eq!((code, row[0]), (Some(0), "n5"));
        assert_eq!(row[1].parse().ok(), last.cores, "{text}");
        assert!(row[2].parse().is_ok_and(|sequence: u32| sequence < 1_000_000), "{text}");
    }
    assert_eq!(said(&["nodes", "--where", "name == n5 and cores > 0"]).0, Some(4));
}

#[test]
fn a_stopped_agent_is_declared_dead_and_refutes_it() {
    let cluster = five(&["--death-after", "300ms"]);
    cluster.agent("n5").signal(Signal::STOP);
    until_seen(&cluster, &NAMES[..4], "n5", State::Dead);
    cluster.agent("n5").signal(Signal::CONT);
    until_seen(&cluster, &NAMES[..4], "n5", State::Alive);
    cluster.until("it detected that itself", |cluster| {
        logged(cluster, "n5", "others have declared this node dead").then_some(())
    });
    assert_eq!(cluster.agent("n5").counter("deaths_outlived"), 1);
    until_seen(&cluster, &["n5"], "n1", State::Alive);
}

/// The events that a watcher reads up to this event of a node.
fn read_until(watch: &mut Watch, change: Change, name: &str) -> Vec<Change> {
    let mut seen = Vec::new();
    while seen.last() != Some(&change) {
        let notice = watch.next_notice().expect("the agent goes on");
        assert!(notice.time_ms > 1_600_000_000_000, "{notice:?}");
        if notice.name.as_deref() == Some(name) {
            assert!(notice.incarnation.is_some_and(|life| life > 0), "{notice:?}");
            seen.push(notice.event);
        }
    }
    seen
}

#[test]
fn a_watcher_gets_death_return_and_farewell() {
    let flags = ["--death-after", "1h"];
    let mut cluster = five(&flags);
    let mut watch = cluster.agent("n1").client().watch().expect("there is room");
    assert_eq!(watch.observer, "n1");
    cluster.agent("n5").signal(Signal::KILL);
    cluster.end("n5");
    let seen = read_until(&mut watch, Change::Dead, "n5");
    assert!(
        seen.iter().all(|change| matches!(change, Change::Suspected | Change::Dead)),
        "{seen:?}"
    );
    cluster.join("n5", "n1", &flags);
    assert_eq!(read_until(&mut watch, Change::Back, "n5"), [Change::Back]);
    cluster.agent("n4").signal(Signal::TERM);
    assert_eq!(read_until(&mut watch, Change::Left, "n4"), [Change::Left]);
    // The agent's own end ends the watch.
    cluster.agent("n1").signal(Signal::TERM);
    let end = std::iter::repeat_with(|| watch.next_notice()).find_map(Result::err);
    assert!(matches!(end, Some(ClientError::Closed { .. })), "{end:?}");
}

/// `tidings watch` of agent n1, whose output is read through a pipe.
fn watch_of(cluster: &Cluster) -> Child {
    let mut command = Command::new(programs().join("tidings"));
    command.arg("--runtime-dir").arg(cluster.agent("n1").runtime_dir()).arg("watch");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("tidings starts")
}

#[test]
fn the_command_ends_with_ctrl_c_and_when_its_pipe_is_closed() {
    let flags = ["--death-after", "1h"];
    let mut cluster = five(&flags);
    let (mut one, mut other) = (watch_of(&cluster), watch_of(&cluster));
    let readers = [&mut one, &mut other].map(|child| {
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        spawn(move || {
            let reported = |line: &String| line.contains(r#""event":"dead","name":"n5""#);
            assert!(lines.by_ref().map_while(Result::ok).any(|line| reported(&line)));
            lines
        })
    });
    // The commands may begin to watch after a death: then they get the next one.
    while !readers.iter().all(JoinHandle::is_finished) {
        cluster.agent("n5").signal(Signal::KILL);
        cluster.end("n5");
        until_seen(&cluster, &["n1"], "n5", State::Dead);
        cluster.join("n5", "n1", &flags);
        until_seen(&cluster, &["n1"], "n5", State::Alive);
    }
    let lines = readers.map(|reader| reader.join().expect("its death is reported"));
    rustix::process::kill_process(Pid::from_child(&one), Signal::INT).expect("it runs");
    assert_eq!(one.wait().expect("it ends").code(), Some(0));
    // No more events come: only the pipe is closed.
    drop(lines);
    let ended = other.wait_with_output().expect("it ends");
    assert_eq!((ended.status.code(), ended.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn a_node_that_leaves_has_left_and_is_not_dead() {
    let mut cluster = five(&["--death-after", "1h"]);
    cluster.agent("n5").signal(Signal::TERM);
    assert_eq!(cluster.end("n5"), Some(0));
    until_seen(&cluster, &NAMES[..4], "n5", State::Left);
    assert!(NAMES[..4].iter().all(|name| cluster.agent(name).counter("deaths_declared") == 0));
}
