//! `tidings demo` from its start to its end, and the other commands asking one of its agents.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::programs::{Workplace, text, wait_for_end};

/// A demo that runs, with its output.
pub(crate) struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    /// Starts a demo of three agents and waits until it shows its first line of figures, when all
    /// of them have been started.
    pub(crate) fn start(place: &Workplace) -> Self {
        let mut command = place.tidings(&["demo", "--paper", "--nodes", "3", "--interval", "20ms"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the demo starts");
        let stdout = child.stdout.take().expect("it is piped");
        let mut running = Self { child, output: BufReader::new(stdout) };
        running.wait_for_line(|line| line.trim_start().starts_with("elapsed_s"));
        running.wait_for_line(|_| true);
        running
    }

    fn wait_for_line(&mut self, wanted: impl Fn(&str) -> bool) {
        let mut line = String::new();
        while line.is_empty() || !wanted(&line) {
            line.clear();
            let bytes = self.output.read_line(&mut line).expect("the demo prints text");
            assert!(bytes > 0, "the demo has ended");
        }
    }

    /// Waits until every agent knows all three nodes.
    pub(crate) fn wait_for_full_view(&mut self) {
        self.wait_for_line(|line| line.split_whitespace().nth(2) == Some("3"));
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the demo runs");
    }

    /// The exit code and what was still printed.
    pub(crate) fn end(mut self) -> (Option<i32>, String, String) {
        let (mut out, mut err) = (String::new(), String::new());
        self.output.read_to_string(&mut out).expect("the demo prints text");
        let mut stderr = self.child.stderr.take().expect("it is piped");
        stderr.read_to_string(&mut err).expect("the demo complains in text");
        (self.child.wait().expect("it is a child").code(), out, err)
    }
}

/// The first agent's runtime directory.
pub(crate) fn seed(place: &Workplace) -> PathBuf {
    let homes = fs::read_dir(place.path()).expect("the temporary directory");
    let mut homes = homes.map(|entry| entry.expect("readable").path());
    let is_home = |path: &PathBuf| path.to_string_lossy().contains("tidings-demo-");
    homes.find(is_home).expect("the demo's directory").join("n01")
}

#[test]
fn the_scriptable_form_measures_and_leaves_nothing_behind() {
    let place = Workplace::new();
    let output = place.tidings(&["demo", "--nodes", "5", "--seconds", "3", "--json"]).output();
    let output = output.expect("tidings starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    let number = |name: &str| report[name].as_f64().unwrap_or_else(|| panic!("{name}: {report}"));
    assert!((number("nodes") - 5.0).abs() < 1e-9 && (number("known_min") - 5.0).abs() < 1e-9);
    assert!((number("interval_ms") - 256.0).abs() < 1e-9);
    assert!((number("window_entries") - 1.0).abs() < 1e-9, "20 % of five");
    assert!(number("entry_bytes") >= 64.0);
    assert!(number("first_full_view_s") < number("seconds"));
    assert!(0.0 < number("age_avg_units") && number("age_avg_units") <= number("age_max_units"));
    for cost in ["messages_per_node_s", "bytes_per_node_s", "rss_mib_per_node", "samples"] {
        assert!(number(cost) > 0.0, "{cost}: {report}");
    }
    assert!(number("cpu_percent_per_node") >= 0.0 && number("observer_cpu_percent") >= 0.0);
    assert_eq!(report["warmed_up"], false, "three seconds are too short");
    let ages = &report["spread"]["age_avg_units"];
    assert!(ages["min"].as_f64() <= ages["max"].as_f64(), "{report}");
    assert_eq!(place.processes(), []);
    place.assert_empty();
}

#[test]
fn an_interrupted_demo_ends_its_agents_and_prints_its_figures() {
    for signal in [Signal::INT, Signal::TERM] {
        let place = Workplace::new();
        let demo = Running::start(&place);
        assert_eq!(place.processes().len(), 3);
        demo.signal(signal);
        let (code, out, err) = demo.end();
        assert_eq!((code, err.as_str()), (Some(0), ""), "{signal:?}");
        let summary = out.lines().last().expect("a summary");
        assert!(summary.starts_with("3 agents for "), "{out}");
        assert_eq!(place.processes(), []);
        place.assert_empty();
    }
}

#[test]
fn a_killed_demo_ends_its_agents_too() {
    let place = Workplace::new();
    let demo = Running::start(&place);
    let agents = place.processes();
    assert_eq!(agents.len(), 3);
    demo.signal(Signal::KILL);
    let (code, ..) = demo.end();
    assert_eq!(code, None);
    wait_for_end(&agents);
}

#[test]
fn a_demo_with_a_closed_pipe_ends_quietly() {
    let place = Workplace::new();
    let mut demo = Running::start(&place);
    drop(demo.output);
    let mut err = String::new();
    let mut stderr = demo.child.stderr.take().expect("it is piped");
    stderr.read_to_string(&mut err).expect("the demo complains in text");
    assert_eq!(demo.child.wait().expect("it is a child").code(), Some(0), "{err}");
    assert_eq!(err, "");
    place.assert_empty();
}

#[test]
fn an_agent_that_ends_at_its_start_is_shown_with_its_log() {
    let place = Workplace::new();
    let tidings = place.install("#!/bin/sh\necho 'the port is in use' >&2\nexit 2\n");
    let mut command = place.command(&tidings);
    let output = command.args(["demo", "--nodes", "3"]).output().expect("tidings starts");
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(message.starts_with("tidings: agent n01 has ended (exit status: 2)"), "{message}");
    assert!(message.contains("\n  the port is in use\n"), "{message}");
    assert_eq!(place.contents(), ["bin"]);
}

#[test]
fn the_other_commands_ask_an_agent() {
    let place = Workplace::new();
    let mut demo = Running::start(&place);
    demo.wait_for_full_view();
    let seed = seed(&place);
    let ask = |arguments: &[&str]| {
        let mut command = place.tidings(&["--runtime-dir"]);
        let output = command.arg(&seed).args(arguments).output().expect("tidings starts");
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    a_table_is_plain(&ask);
    conditions_pick(&ask);
    single_nodes_are_shown(&ask);
    the_agent_reports_its_status(&ask);
    demo.signal(Signal::INT);
    demo.end();
}

type Ask<'a> = dyn Fn(&[&str]) -> (Option<i32>, String, String) + 'a;

fn a_table_is_plain(ask: &Ask<'_>) {
    for command in ["nodes", "top"] {
        let (code, out, _) =
            ask(&[command, "--columns", "name,state,cores", "--sort", "name:desc"]);
        let names: Vec<_> = out.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!((code, names), (Some(0), vec!["name", "n03", "n02", "n01"]), "{out}");
        assert!(!out.contains('\u{1b}'), "{out}");
    }
}

fn conditions_pick(ask: &Ask<'_>) {
    let (code, out, _) = ask(&["nodes", "--json", "--where", "name =~ 'n0?' and not name == n02"]);
    assert_eq!(code, Some(0));
    let nodes: Value = serde_json::from_str(&out).expect("one JSON object");
    let names: Vec<_> = nodes["nodes"].as_array().expect("a list").iter().collect();
    assert_eq!(names.len(), 2, "{out}");
    let (code, _, err) = ask(&["nodes", "--where", "name == n99"]);
    assert_eq!(code, Some(4));
    assert_eq!(err, "tidings: none of 3 nodes meets `name == n99`\n");
}

fn single_nodes_are_shown(ask: &Ask<'_>) {
    let (code, out, _) = ask(&["show", "n02"]);
    assert_eq!(code, Some(0));
    assert!(out.lines().any(|line| line.starts_with("mem_available_bytes ")), "{out}");
    let (code, out, err) = ask(&["show", "n9"]);
    assert_eq!((code, out.as_str()), (Some(4), ""));
    assert!(err.starts_with("tidings: no node `n9`, the nearest are n0"), "{err}");
}

fn the_agent_reports_its_status(ask: &Ask<'_>) {
    let (code, out, _) = ask(&["status", "--json"]);
    let status: Value = serde_json::from_str(&out).expect("one JSON object");
    assert_eq!((code, &status["encrypted"]), (Some(0), &Value::Bool(true)));
    let (code, out, _) = ask(&["publish", "gpu=3", "job=alpha", "--for", "90s"]);
    assert_eq!(code, Some(0));
    assert_eq!(out, "published gpu=3 for 1m 30s\npublished job=alpha for 1m 30s\n");
    let long = format!("note={}", "x".repeat(200));
    let (code, out, err) = ask(&["publish", "gpu=4", &long]);
    assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
    let (code, _, err) = ask(&["nodes", "--where", "user.gpu == 4"]);
    assert_eq!(code, Some(4), "nothing of what is refused is published: {err}");
    let (code, _, err) = ask(&["publish", "a key=1"]);
    assert_eq!(code, Some(2));
    assert!(err.starts_with("tidings: "), "{err}");
}
