//! Boards of real agents, read from other processes: in Rust, in C, as C++.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use rustix::process::Signal;
use tidings_board::{Board, BoardError, Snapshot, State, board_path, now_ns};
use tidings_control::{NodeReport, Nodes};
use tidings_experiment::agents::{Cluster, programs};
use tidings_gossip::payload::NodeState;

const LIMIT: Duration = Duration::from_secs(600);
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn open(cluster: &Cluster, name: &str) -> Board {
    let path = board_path(cluster.agent(name).runtime_dir());
    cluster.until("the agent has had its first turn", |_| Board::open(&path, LIMIT).ok())
}

fn states(board: &Board) -> Vec<(String, State)> {
    let mut snapshot = Snapshot::new();
    board.snapshot(&mut snapshot).expect("readable");
    let mut states: Vec<_> = snapshot.entries().map(|e| (e.name.to_owned(), e.state)).collect();
    states.sort_by(|one, other| one.0.cmp(&other.0));
    states
}

/// Compiles the example for C with all warnings as errors.
fn compile(cluster: &Cluster, compiler: &str, language: &[&str]) -> PathBuf {
    let program = cluster.path().join(format!("board-{compiler}"));
    let source = ["-I", "crates/board/include", "examples/board.c", "-o"];
    let mut command = Command::new(compiler);
    command.args(language).args(["-O2", "-Wall", "-Wextra", "-Werror"]).args(source).arg(&program);
    let output = command.current_dir(ROOT).output().expect("the compiler is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

fn run(program: &Path, path: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.arg("--path").arg(path).args(words).output().expect("it was just compiled")
}

#[test]
fn a_board_shows_what_its_agent_knows() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    cluster.join("n2", "n1", &[]);
    cluster.until_known(&["n1", "n2"], 2);
    let board = open(&cluster, "n1");
    assert_eq!((board.cluster(), board.observer()), ("tidings", "n1"));
    assert_eq!((board.unit(), board.payload_schema()), (Duration::from_millis(20), 1));
    let entry = cluster.until("n1's board has readings of n2", |_| {
        let entry = board.entry("n2").expect("readable")?;
        let readings = NodeState::decode(&entry.payload).expect("the default schema");
        readings.cores.is_some().then_some(entry)
    });
    assert_eq!(entry.state, State::Alive);
    assert!(entry.age(now_ns()).expect("heard") < LIMIT);
    let reported = cluster.agent("n1").node("n2").expect("a member").incarnation;
    assert_eq!(Some(entry.incarnation), reported.into());
    cluster.until("its entries are renewed", |_| {
        let later = board.entry("n2").expect("readable").expect("a member");
        (later.sequence > entry.sequence).then_some(())
    });
    let alive = |name: &str| (name.to_owned(), State::Alive);
    assert_eq!(states(&board), [alive("n1"), alive("n2")]);
    assert_eq!(board.entry("n3").expect("readable"), None);

    cluster.stop("n2");
    cluster.until("n2 has left", |_| {
        let left = ("n2".to_owned(), State::Left);
        (states(&board) == [alive("n1"), left]).then_some(())
    });
}

#[test]
fn c_and_cpp_read_the_board_of_a_live_agent() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    cluster.join("a-node-with-a-long-name", "n1", &[]);
    cluster.until_known(&["n1", "a-node-with-a-long-name"], 2);
    let path = board_path(cluster.agent("n1").runtime_dir());
    let c = compile(&cluster, "cc", &["-std=c11", "-pedantic"]);
    let cpp = compile(&cluster, "c++", &["-x", "c++", "-std=c++17"]);
    let board = open(&cluster, "n1");
    for program in [&c, &cpp] {
        let said = run(program, &path, &["--limit", "600"]);
        let said = String::from_utf8(said.stdout).expect("text");
        let mut nodes: Vec<&str> = said.lines().filter_map(|line| line.split(' ').next()).collect();
        nodes.sort_unstable();
        assert_eq!(nodes, ["a-node-with-a-long-name", "n1"], "{said}");
        let one = run(program, &path, &["--limit", "600", "a-node-with-a-long-name"]);
        let one = String::from_utf8(one.stdout).expect("text");
        let life = board.entry("a-node-with-a-long-name").expect("readable").expect("a member");
        let begins = format!("a-node-with-a-long-name alive {}.", life.incarnation);
        assert!(one.starts_with(&begins) && one.contains(" cores="), "{one}");
        let stranger = run(program, &path, &["--limit", "600", "n7"]);
        assert!(!stranger.status.success());
        assert!(String::from_utf8_lossy(&stranger.stderr).contains("no such node"));
    }
}

/// For every error in a file, the reader in C exits with a message that names it.
#[test]
fn c_refuses_what_is_not_a_live_board() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    let path = open(&cluster, "n1").path().to_owned();
    let c = compile(&cluster, "cc", &["-std=c11"]);
    let good = fs::read(&path).expect("all may read it");
    let bad = cluster.path().join("bad");
    let refused = |bytes: &[u8], what: &str| {
        fs::write(&bad, bytes).expect("the test's own directory is writable");
        let output = run(&c, &bad, &["--limit", "600"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{what}: {said}");
        assert!(said.contains(what) && said.contains(&bad.display().to_string()), "{said}");
    };
    refused(b"", "this is not a board");
    refused(b"#!/bin/sh\nexit 1\n", "this is not a board");
    refused(&good[..300], "cut off");
    refused(&good[..good.len() - 8], "cut off");
    for (at, value, what) in [
        (8, 2, "layout version 2, this reader knows version 1"),
        (16, 1, "damaged"),
        (24, u64::MAX, "damaged"),
        (48, 7, "damaged"),
        (64, u64::MAX, "damaged"),
        (256, 2, "has ended"),
        (256, 3, "replaced"),
        (256, 9, "damaged"),
        (384, 0, "silent for too long"),
        (384, i64::MAX as u64, "damaged"),
        (512, 1, "while writing an entry"),
        (520, 77, "damaged"),
        (512 + 64 * 96, u64::MAX, "damaged"),
    ] {
        let mut changed = good.clone();
        changed[at..at + 8].copy_from_slice(&u64::to_le_bytes(value));
        if at == 384 && value == 0 {
            // The machine may have started less than 600 s ago.
            let before = now_ns() - 700_000_000_000;
            changed[at..at + 8].copy_from_slice(&before.to_le_bytes());
        }
        refused(&changed, what);
    }
    let missing = run(&c, &cluster.path().join("missing"), &[]);
    assert!(String::from_utf8_lossy(&missing.stderr).contains("is an agent running here"));
}

fn nodes_on(board: &[&str], runtime_dir: &Path) -> (Option<i32>, String, String) {
    let mut command = Command::new(programs().join("tidings"));
    command.args(["nodes", "--runtime-dir"]).arg(runtime_dir).arg("--board").args(board);
    let output = command.output().expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// The agent is stopped meanwhile, so that it cannot have been asked; its unit is so long that it
/// does not count as dead soon.
#[test]
fn nodes_are_listed_from_the_board_without_the_agent() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--interval", "2s"]);
    let runtime_dir = cluster.agent("n1").runtime_dir().to_owned();
    let answered = cluster.until("it has read its machine", |cluster| {
        let node = cluster.agent("n1").node("n1").filter(|node| node.cores.is_some())?;
        let shown = open(cluster, "n1").entry("n1").expect("readable")?;
        (Some(shown.sequence) == node.sequence).then_some(node)
    });
    let board = board_path(&runtime_dir);
    let status = cluster.agent("n1").status();
    assert_eq!(status.board, Some(board.display().to_string()));
    assert!(status.board_in_memory.is_some());
    cluster.agent("n1").signal(Signal::STOP);
    let (code, said, errors) = nodes_on(&["--json"], &runtime_dir);
    assert_eq!(code, Some(0), "{errors}");
    let read: Nodes = serde_json::from_str(&said).expect("as documented");
    assert_eq!((read.observer.as_str(), read.nodes.len()), ("n1", 1));
    let (age_ms, readings_age_ms) = (answered.age_ms, answered.readings_age_ms);
    let same = NodeReport { age_ms, readings_age_ms, ..read.nodes[0].clone() };
    assert_eq!(same, answered, "whatever the agent says, but the ages");
    let path = board.display().to_string();
    let (code, said, _) = nodes_on(&[&path, "--where", "name == n1"], Path::new("/none"));
    assert!(code == Some(0) && said.contains("\nn1 "), "{said}");
    let (code, ..) = nodes_on(&[&path, "--where", "name == n2"], Path::new("/none"));
    assert_eq!(code, Some(4));
    cluster.agent("n1").signal(Signal::CONT);
}

/// Exit codes are those of docs/reference/exit-codes.md.
#[test]
fn nodes_of_a_file_that_is_not_a_live_board_are_rejected() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    let good = fs::read(open(&cluster, "n1").path()).expect("all may read it");
    let bad = cluster.path().join("bad");
    let path = bad.display().to_string();
    let refused = |bytes: &[u8], code: i32, what: &str| {
        fs::write(&bad, bytes).expect("the test's own directory is writable");
        let (ended, said, errors) = nodes_on(&[&path], Path::new("/none"));
        assert_eq!((ended, said.as_str()), (Some(code), ""), "{what}: {errors}");
        assert!(errors.contains(what) && errors.contains(&path), "{errors}");
    };
    let with = |at: usize, value: u64| {
        let mut changed = good.clone();
        changed[at..at + 8].copy_from_slice(&value.to_le_bytes());
        changed
    };
    refused(b"#!/bin/sh\nexit 1\n", 1, "is not a board");
    refused(&good[..good.len() - 8], 1, "is cut off");
    refused(&with(8, 2 | 512 << 32), 1, "layout version 2");
    refused(&with(24, u64::MAX), 1, "is damaged");
    refused(&with(256, 2), 3, "its agent has ended");
    refused(&with(256, 3), 3, "has been replaced");
    refused(&with(384, (now_ns() - 6_000_000_000) as u64), 3, "with a limit of 5.0 s");
    fs::remove_file(&bad).expect("an own file");
    let (code, _, errors) = nodes_on(&[], cluster.path());
    assert_eq!(code, Some(3), "{errors}");
    assert!(errors.contains("is an agent running here"), "{errors}");
}

/// If the runtime directory is on a disk, the board is in shared memory, and is removed with the
/// agent; after a crash the next agent removes it.
#[test]
fn a_board_is_removed_on_leaving_and_replaced_after_a_crash() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--board", "on"]);
    let path = board_path(cluster.agent("n1").runtime_dir());
    let board = open(&cluster, "n1");
    let mode = fs::metadata(&path).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
    cluster.agent("n1").signal(Signal::KILL);
    assert_eq!(cluster.end("n1"), None);
    let left = fs::canonicalize(&path).expect("nobody has removed it");
    board.check().expect("nobody can say yet");
    cluster.until("its silence shows", |_| {
        let soon = Board::open(&path, Duration::ZERO);
        matches!(soon, Err(BoardError::DeadWriter { .. })).then_some(())
    });

    cluster.start("n1", &["--board", "on"]);
    let again = cluster.until("there is another", |cluster| {
        let again = open(cluster, "n1");
        (again.writer_pid() != board.writer_pid()).then_some(again)
    });
    let now = fs::canonicalize(&path).expect("there is a new one");
    assert!(now == left || !left.exists(), "the old one takes memory");
    assert_eq!(cluster.stop("n1"), Some(0));
    assert!(matches!(again.check(), Err(BoardError::Left { .. })));
    assert!(!path.exists() && !path.is_symlink() && !now.exists());
}

#[test]
fn an_agent_whose_board_cannot_be_written_logs_that_and_continues() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--board", "/proc/self/board"]);
    cluster.until("it logs that", |cluster| {
        let log = cluster.agent("n1").log();
        log.iter().any(|line| line.contains("there is no board; the agent continues")).then_some(())
    });
    cluster.join("n2", "n1", &["--board", "off"]);
    cluster.until_known(&["n1", "n2"], 2);
    let off = board_path(cluster.agent("n2").runtime_dir());
    assert!(!off.exists(), "it is off");
    let error = Board::open(&off, LIMIT).expect_err("there is none").to_string();
    assert!(error.contains("is an agent running here, with `board` not off"), "{error}");
    let lines = cluster.agent("n1").log().iter().filter(|line| line.contains("no board")).count();
    assert_eq!(lines, 1, "once, not with each datagram");
}
