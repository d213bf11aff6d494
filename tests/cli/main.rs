//! The command `tidings` as a user runs it: real programs, real agents, exit codes and output.
//!
//! Every test has a temporary directory of its own, which is also `TMPDIR` of what it starts. Tests
//! wait for a line of output or for the end of a process, never for a time.

mod completions;
mod cores;
mod demo;
mod doctor;
mod guides;
mod misuse;
mod programs;
mod sim;
mod terminal;

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use programs::{Workplace, text};

#[test]
fn without_an_agent_the_code_is_3_and_the_message_has_the_remedy() {
    let place = Workplace::new();
    for arguments in
        [&["nodes"][..], &["show", "n1"], &["colonies"], &["status"], &["publish", "a=1"], &["top"]]
    {
        let output = place.tidings(arguments).output().expect("tidings starts");
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        let message = text(&output.stderr);
        assert!(message.starts_with("tidings: no agent answers at "), "{message}");
        assert!(message.contains("start one with `tidings agent`"), "{message}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn wrong_usage_exits_with_2_before_any_request() {
    let place = Workplace::new();
    for (arguments, message) in [
        (&["nodes", "--where", "lod1 < 2"][..], "tidings: --where: no column `lod1`; the nearest"),
        (&["nodes", "--sort", "load1:down"], "tidings: --sort load1:down: the direction is"),
        (&["nodes", "--columns", "nam"], "tidings: no column `nam`; the nearest is `name`"),
        (&["colonies", "--readings", "load5"], "tidings: --readings: aggregates have no `load5`"),
        (&["nodes", "--colony", "x"], "tidings: invalid value 'x' for '--colony"),
        (&["publish", "gpu"], "tidings: `gpu` has no `=`"),
        (&["publish", "a key=1"], "tidings: the user metric's key \"a key\" must be"),
        (&["publish", "gpu=1", "job=a\u{7}"], "tidings: the value of job holds a control"),
        (&["nodes", "--where", "name =~ n[1-"], "tidings: --where: character 5 of the hostlist"),
        (&["demo", "--nodes", "513"], "tidings: --nodes 513: a demo runs 2 to 512 agents"),
        (&["demo", "--nodes", "1"], "tidings: --nodes 1: a demo runs 2 to 512 agents"),
        (&["demo", "--interval", "1us"], "tidings: interval is out of range"),
        (&["demo", "--window", "0%"], "tidings: invalid value '0%' for '--window"),
        (&["demo", "--seconds", "0"], "tidings: invalid value '0' for '--seconds"),
        (&["nodes", "--where", "age < 5"], "tidings: --where: `5` has no unit; write for example"),
        (&["pick", "--need", "mem=16"], "tidings: --need: `16` has no unit; write for example"),
        (&["help", "nonsense"], "tidings: unrecognized subcommand 'nonsense'"),
        (&["nonsense"], "tidings: unrecognized subcommand 'nonsense'"),
    ] {
        let output = place.tidings(arguments).output().expect("tidings starts");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.starts_with(message), "{arguments:?}: {said}");
    }
    place.assert_empty();
}

#[test]
fn help_and_version_are_words_too() {
    let place = Workplace::new();
    for (words, option) in [
        (&["help"][..], &["--help"][..]),
        (&["help", "nodes"], &["nodes", "--help"]),
        (&["help", "queue", "put"], &["queue", "put", "--help"]),
        (&["help", "agent"], &["agent", "--help"]),
        (&["version"], &["--version"]),
    ] {
        let said = |arguments: &[&str]| {
            let output = place.tidings(arguments).output().expect("tidings starts");
            (output.status.code(), text(&output.stdout))
        };
        assert_eq!(said(words), said(option), "{words:?}");
        assert_eq!(said(words).0, Some(0), "{words:?}");
    }
}

#[test]
fn a_key_is_private_and_never_overwritten_by_default() {
    let place = Workplace::new();
    let path = place.path().join("cluster.key");
    let generate = || place.tidings(&["keys", "generate", "--output"]).arg(&path).output();
    assert!(generate().expect("tidings starts").status.success());
    let mode = fs::metadata(&path).expect("the key file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let key = fs::read_to_string(&path).expect("the key file");
    assert_eq!(key.trim_end().len(), 44);
    let again = generate().expect("tidings starts");
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("exists"), "{}", text(&again.stderr));
    assert_eq!(fs::read_to_string(&path).expect("the key file"), key);
}

#[test]
fn completions_name_the_sub_commands() {
    let place = Workplace::new();
    for shell in ["bash", "zsh", "fish"] {
        let output = place.tidings(&["completions", shell]).output().expect("tidings starts");
        assert!(output.status.success());
        let script = text(&output.stdout);
        for word in ["demo", "nodes", "completions", "where"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let place = Workplace::new();
    for arguments in [&["completions", "bash"][..], &["--help"], &["keys", "generate"]] {
        let (reader, writer) = UnixStream::pair().expect("two sockets");
        drop(reader);
        let mut command = place.tidings(arguments);
        let output = command.stdout(Stdio::from(OwnedFd::from(writer))).stderr(Stdio::piped());
        let output = output.spawn().and_then(std::process::Child::wait_with_output);
        let output = output.expect("tidings starts");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn agent_becomes_the_agent_program_with_every_argument() {
    let place = Workplace::new();
    let tidings = place.install("#!/bin/sh\necho \"dir=$TIDINGS_RUNTIME_DIR\" \"$@\"\nexit 7\n");
    let mut command = place.command(&tidings);
    command.args(["--runtime-dir", "/x", "agent", "--help", "--runtime-dir", "/y"]);
    let output = command.output().expect("tidings starts");
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(text(&output.stdout), "dir=/x --help --runtime-dir /y\n");
}

#[test]
fn a_missing_agent_program_is_named_with_the_remedy() {
    let place = Workplace::new();
    let tidings = place.install_alone();
    symlink("nowhere", tidings.with_file_name("tidings-agent")).expect("a link that leads nowhere");
    for arguments in [&["agent"][..], &["demo"]] {
        let mut command = place.command(&tidings);
        let output = command.args(arguments).env("PATH", "").output().expect("tidings starts");
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.starts_with("tidings: no program tidings-agent, neither beside"),
            "{message}"
        );
    }
}
