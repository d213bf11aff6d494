//! Real agents that sign their entries: who holds the cluster's key speaks for itself alone.

use std::process::Command;

use rustix::process::Signal;
use tidings_control::State;
use tidings_experiment::agents::{Cluster, programs};

use super::KEYS;

/// Room for readings, a metric and a signature.
const ROOM: [&str; 2] = ["--payload-bytes", "136"];

/// The flags with which a node signs as `name`, and its line of the list.
fn identity(cluster: &Cluster, name: &str) -> (Vec<String>, String) {
    let file = cluster.path().join(format!("{name}.identity"));
    let mut command = Command::new(programs().join("tidings"));
    command.args(["keys", "identity", "--name", name]).arg(&file);
    let output = command.output().expect("built");
    assert!(output.status.success(), "{output:?}");
    let flags = vec!["--identity".to_owned(), file.display().to_string()];
    (flags, String::from_utf8(output.stdout).expect("a line"))
}

/// Starts a node with the cluster's key, and these flags.
fn start(cluster: &mut Cluster, name: &str, seed: Option<&str>, flags: &[String]) {
    let keys = cluster.write("keys", KEYS[0]);
    let own = ["--keys", &keys, ROOM[0], ROOM[1]].map(str::to_owned);
    let all: Vec<&str> = own.iter().chain(flags).map(String::as_str).collect();
    match seed {
        Some(seed) => cluster.join(name, seed, &all),
        None => cluster.start(name, &all),
    };
}

fn refused(cluster: &Cluster, name: &str) -> u64 {
    cluster.agent(name).counter("entries_unsigned")
}

#[test]
fn a_holder_of_the_key_is_no_member_until_it_has_a_line() {
    let mut cluster = Cluster::new();
    let made = ["n1", "n2", "n3"].map(|name| identity(&cluster, name));
    let list = cluster.write("identities", &format!("{}{}", made[0].1, made[1].1));
    let listed = ["--identities".to_owned(), list];
    let flags = |at: usize| [&made[at].0[..], &listed].concat();
    start(&mut cluster, "n1", None, &flags(0));
    start(&mut cluster, "n2", Some("n1"), &flags(1));
    cluster.until_known(&["n1", "n2"], 2);
    // It signs, and asks for no signatures itself.
    start(&mut cluster, "n3", Some("n1"), &made[2].0);
    cluster.until("n1 refuses n3, and says so", |cluster| {
        let said = "it lacks the signature of the node";
        let logged = cluster.agent("n1").log().iter().any(|line| line.contains(said));
        (refused(cluster, "n1") > 0 && logged).then_some(())
    });
    assert!(cluster.agent("n1").node("n3").is_none());
    cluster.write("identities", &made.each_ref().map(|(_, line)| line.as_str()).concat());
    for name in ["n1", "n2"] {
        cluster.agent(name).signal(Signal::HUP);
    }
    cluster.until("n1 and n2 take n3", |cluster| {
        let takes = |name: &str| {
            let node = cluster.agent(name).node("n3");
            node.is_some_and(|node| node.state == State::Alive && node.cores.is_some())
        };
        (takes("n1") && takes("n2")).then_some(())
    });
}

#[test]
fn nobody_has_the_name_of_another() {
    let mut cluster = Cluster::new();
    let made = ["n1", "n2", "thief"].map(|name| identity(&cluster, name));
    let list = cluster.write("identities", &made.each_ref().map(|(_, line)| &line[..]).concat());
    let listed = ["--identities".to_owned(), list];
    start(&mut cluster, "n1", None, &[&made[0].0[..], &listed].concat());
    start(&mut cluster, "n2", Some("n1"), &[&made[1].0[..], &listed].concat());
    cluster.until_known(&["n1", "n2"], 2);
    cluster.agent("n2").signal(Signal::KILL);
    cluster.end("n2");
    cluster.until("n2 is dead", |cluster| {
        let node = cluster.agent("n1").node("n2")?;
        (node.state == State::Dead).then_some(())
    });
    // Another takes the name of the dead, with a secret of its own.
    start(&mut cluster, "n2", Some("n1"), &made[2].0);
    cluster.until("n1 refuses it", |cluster| (refused(cluster, "n1") > 2).then_some(()));
    assert_eq!(cluster.agent("n1").node("n2").expect("known").state, State::Dead);
}

#[test]
fn what_cannot_be_is_said_before_the_start() {
    let cluster = Cluster::new();
    let [(own, line), (_, other)] = ["n1", "n2"].map(|name| identity(&cluster, name));
    let room = ROOM.map(str::to_owned);
    let check = |flags: &[String]| {
        let flags: Vec<&str> = flags.iter().map(String::as_str).chain(["--check"]).collect();
        let output = cluster.command_on(&[], "n1", &flags).output().expect("built");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).expect("text")
    };
    let with_list = |text: &str| {
        let list = ["--identities".to_owned(), cluster.write("identities", text)];
        check(&[&own[..], &room, &list].concat())
    };
    let missing = with_list(&other);
    assert!(missing.contains("does not name n1: the others would refuse"), "{missing}");
    assert!(missing.contains(&format!("its line is\ntidings-agent: {line}")), "{missing}");
    let another = with_list(&other.replacen("n2", "n1", 1));
    assert!(another.contains("has another public key of n1"), "{another}");
    let rubbish = with_list("n1 rubbish");
    assert!(rubbish.contains("identities: line 1: not a public key"), "{rubbish}");
    let many = with_list(
        &(0..9_000).map(|n| line.replacen("n1", &format!("n{n}"), 1)).collect::<String>(),
    );
    assert!(many.contains("names 9000 nodes, more than max_nodes = 4096"), "{many}");
    let small = check(&own);
    assert!(small.contains("set payload_bytes to 110 or more"), "{small}");
    let alone = check(&["--identities".to_owned(), cluster.write("identities", &line)]);
    assert!(alone.contains("identities are given without an identity"), "{alone}");
    let none = cluster.write("none", "rubbish");
    let none = check(&[&["--identity".to_owned(), none][..], &room].concat());
    assert!(none.contains("is open to others") || none.contains("not the secret"), "{none}");
}
