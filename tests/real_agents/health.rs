//! Health: what an agent says of itself, whatever strangers do, and why it is not well.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;

use rustix::process::Signal;
use tidings_control::{State, reading_socket_path};
use tidings_experiment::agents::Cluster;

use super::company::{tidings, until_health};
use super::pages::page;

/// What `tidings health` exits with, and says.
fn health(cluster: &Cluster, name: &str) -> (Option<i32>, String) {
    tidings(cluster, name, &["health"])
}

/// More than have a place: a Slurm that asks for health would drain the node if it waited for them.
#[test]
fn strangers_who_do_nothing_keep_nobody_from_asking() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--http", "127.0.0.1:0"]);
    let address = cluster.agent("n1").status().http.expect("asked for");
    let mut slow: Vec<_> = (0..64)
        .map(|_| {
            let mut slow = TcpStream::connect(&address).expect("it listens");
            slow.write_all(b"GET /metrics HTTP/1.1\r\nHo").expect("it reads");
            slow.set_nonblocking(true).expect("a socket");
            slow
        })
        .collect();
    let socket = reading_socket_path(cluster.agent("n1").runtime_dir());
    let idle: Vec<_> = (0..40).map(|_| UnixStream::connect(&socket).expect("it listens")).collect();
    for _ in 0..8 {
        // A loaded machine may make the agent late, and so ill; it says so.
        let (head, body) = page(&address, "/healthz");
        let answers = head.starts_with("http/1.1 200") || head.starts_with("http/1.1 503");
        assert!(answers && !body.is_empty(), "{head} {body}");
        let (code, said) = health(&cluster, "n1");
        assert!(code == Some(0) || said.contains(body.trim()), "{code:?} {said} {body}");
    }
    // The answers did not wait for the ends of all the slow ones.
    let waits = |slow: &mut TcpStream| {
        slow.read(&mut [0; 64]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    };
    assert!(slow.iter_mut().any(waits), "none is left");
    drop(idle);
}

#[test]
fn a_seed_at_which_nobody_is_makes_a_node_ill() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--seed", "127.0.0.1:1"]);
    until_health(&cluster, "n1", 1, |said| said.contains("alone: "));
}

#[test]
fn a_check_names_the_seed_that_does_not_resolve() {
    let cluster = Cluster::new();
    let flags = ["--seed", "nobody.invalid:9616", "--check"];
    let output = cluster.command_on(&[], "n1", &flags).output().expect("built");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let note = "note: the seed nobody.invalid:9616";
    assert!(said.contains(note) && said.contains("a running agent tries again"), "{said}");
}

/// What starts a program with a clock so far ahead, and becomes it, so that it can be killed.
fn ahead(by: &str) -> Vec<String> {
    let mut command = Command::new("faketime");
    let output = command.args(["-f", by, "printenv", "LD_PRELOAD"]).output();
    let library = String::from_utf8(output.expect("faketime is installed").stdout).expect("a path");
    let variables = [format!("LD_PRELOAD={}", library.trim()), format!("FAKETIME={by}")];
    ["env".to_owned()].into_iter().chain(variables).collect()
}

/// Its last life had a clock that was three years ahead. That of the other one, half as far, lets
/// it believe this.
#[test]
fn a_node_that_cannot_exceed_what_others_hold_is_ill_and_says_why() {
    let mut cluster = Cluster::new();
    cluster.start_on(&ahead("+547d"), "n1", &[]);
    let seed = cluster.agent("n1").status().address;
    cluster.start_on(&ahead("+1095d"), "n2", &["--seed", &seed]);
    cluster.until_known(&["n1", "n2"], 2);
    cluster.agent("n2").signal(Signal::KILL);
    cluster.end("n2");
    cluster.until("n2 is dead", |cluster| {
        let node = cluster.agent("n1").node("n2")?;
        (node.state == State::Dead).then_some(())
    });
    cluster.join("n2", "n1", &[]);
    until_health(&cluster, "n2", 1, |said| said.contains("which it cannot exceed"));
}
