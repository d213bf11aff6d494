//! `tidings sim` as a user runs it: repeatable figures, errors before the run, a clean stop.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::programs::{Workplace, text};

/// The output of a run: the object, and the text before it.
fn simulate(place: &Workplace, arguments: &[&str]) -> (Value, String) {
    let mut command = place.tidings(&["sim", "run", "--json"]);
    let output = command.args(arguments).output().expect("tidings starts");
    let said = text(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    (serde_json::from_slice(&output.stdout).expect("one JSON object"), said)
}

#[test]
fn the_scriptable_form_gives_every_figure_and_the_same_ones_again() {
    let place = Workplace::new();
    let arguments = [
        "--nodes",
        "64",
        "--window",
        "20%",
        "--units",
        "30",
        "--warmup",
        "20",
        "--strategy",
        "uniform",
        "--loss",
        "0.1",
        "--seed",
        "7",
        "--mode",
    ];
    for mode in ["full", "compact"] {
        let arguments = [&arguments[..], &[mode]].concat();
        let (report, said) = simulate(&place, &arguments);
        for figure in [
            "age_avg_units",
            "age_max_units",
            "age_p50_units",
            "age_p90_units",
            "age_p99_units",
            "age_highest_units",
            "never_heard_pairs",
            "messages",
            "entries_sent",
            "bytes",
            "news_share",
            "wall_s",
        ] {
            assert!(report[figure].is_number(), "{mode}: {figure} in {report}");
        }
        assert_eq!(report["messages"], 64 * 30);
        assert_eq!(report["parameters"]["network"]["loss"], 0.1);
        assert!(said.starts_with("seed 7\nparameters {"), "{said}");
        let (again, _) = simulate(&place, &arguments);
        assert_eq!(report["trace_hash"], again["trace_hash"]);
        assert_eq!(report["age_avg_units"], again["age_avg_units"]);
    }
}

#[test]
fn random_draws_are_printed_before_the_run() {
    let place = Workplace::new();
    let file = place.path().join("crash.toml");
    let scenario = "units = 20\nwarmup_units = 5\n[cluster]\nnodes = 10\n[clocks]\noffset = \"1s\"
        [[fault]]\nkind = \"crash\"\nat = 8\nnodes = \"3\"\n";
    fs::write(&file, scenario).expect("the file is ours");
    let (report, said) = simulate(&place, &["--scenario", file.to_str().expect("a plain name")]);
    assert_eq!(said.matches("clock of node").count(), 10, "{said}");
    assert_eq!(said.matches("crash of node").count(), 3, "{said}");
    assert_eq!(report["nodes_up"], 7);
    assert_eq!(report["checks"]["understated_ages"], 0);
}

#[test]
fn impossible_parameters_are_rejected_before_the_run() {
    let place = Workplace::new();
    let file = place.path().join("odd.toml");
    fs::write(&file, "[network]\nlatencies = \"1ms\"\n").expect("the file is ours");
    let file = file.to_str().expect("a plain name");
    for (arguments, part) in [
        (&["--loss", "1.5"][..], "tidings: loss is 1.5: it must be a probability, 0 to 1"),
        (&["--nodes", "0"], "tidings: nodes is 0: it must be at least 2"),
        (&["--nodes", "50", "--window", "51"], "tidings: window is 51: it must be at most 50"),
        (&["--nodes", "500000"], "need about "),
        (&["--mode", "compact", "--latency", "1ms"], "tidings: latency: the compact mode"),
        (&["--scenario", file], "unknown field `latencies`"),
        (&["--runs", "0"], "invalid value '0'"),
        (&["--runs", "3", "--loss", "2"], "tidings: loss is 2: it must be a probability"),
        (&["--latency", "fast"], "invalid value 'fast'"),
        (&["--strategy", "best"], "invalid value 'best'"),
    ] {
        let mut command = place.tidings(&["sim", "run"]);
        let output = command.args(arguments).output().expect("tidings starts");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(part) && output.stdout.is_empty(), "{arguments:?}: {said}");
    }
}

#[test]
fn several_runs_give_their_means_and_one_line_per_run() {
    let place = Workplace::new();
    let file = place.path().join("tables/runs.csv");
    let file = file.to_str().expect("a plain name");
    let size = ["--nodes", "32", "--units", "10", "--warmup", "10", "--seed", "5"];
    let alone = |seed| simulate(&place, &[&size[..6], &["--seed", seed]].concat()).0;
    let (one, other) = (alone("5"), alone("6"));
    let (both, said) = simulate(&place, &[&size[..], &["--runs", "2", "--csv", file]].concat());
    assert!(said.starts_with("seeds 5 to 6\nparameters {"), "{said}");
    let age = |report: &Value| report["age_avg_units"].as_f64().expect("a number");
    assert!((age(&both) - f64::midpoint(age(&one), age(&other))).abs() < 1e-12);
    // The standard error of two draws is half of their difference.
    let error = both["standard_errors"]["age_avg_units"].as_f64().expect("a number");
    assert!((error - (age(&one) - age(&other)).abs() / 2.0).abs() < 1e-12, "{error}");
    assert_eq!(both["trace_hashes"][1], other["trace_hash"]);
    assert_eq!((&both["runs"], &both["complete"]), (&Value::from(2), &Value::from(true)));
    assert_eq!(both["parameters"]["seed"], 5);
    let lines = fs::read_to_string(file).expect("it was written");
    assert_eq!(lines.lines().count(), 3, "{lines}");
    let manifest = fs::read_to_string(file.replace(".csv", ".manifest.json"));
    let manifest: Value = serde_json::from_str(&manifest.expect("it was written")).expect("JSON");
    let (run, facts) = (&manifest["runs"][0], &manifest["facts"]);
    assert_eq!((&run["seed"], &facts["runs"]), (&Value::from(5), &Value::from(2)));
    assert!(run["commit"].is_string() && run["machine"]["kernel"].is_string(), "{manifest}");
    let (again, _) = simulate(&place, &[&size[..], &["--runs", "1"]].concat());
    assert_eq!(again["trace_hash"], one["trace_hash"], "one run is printed as it always was");
}

#[test]
fn an_unwritable_place_is_found_before_the_run() {
    let place = Workplace::new();
    for arguments in [
        &["run", "--units", "7900", "--csv", "/proc/none/runs.csv"][..],
        &["run", "--units", "7900", "--runs", "9", "--csv", "/proc/none/runs.csv"],
        &["figure2", "--output", "/proc/none"],
        &["ages", "--output", "/proc/none"],
        &["failures", "--output", "/proc/none"],
    ] {
        let output = place.tidings(&[&["sim"], arguments].concat()).output();
        let output = output.expect("tidings starts");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.starts_with("tidings: /proc/none: "), "{arguments:?}: {said}");
    }
}

#[test]
fn tables_follow_from_their_seed_and_have_a_manifest() {
    let place = Workplace::new();
    for (name, arguments, lines) in [
        ("ages", &["--nodes", "48,64"][..], 1 + 2 * 8),
        ("failures", &["--nodes", "48", "--strategy", "uniform"], 1 + 7),
    ] {
        let folder = place.path().join(name);
        let folder = folder.to_str().expect("a plain name");
        let command = [&["sim", name, "--seed", "3"], arguments].concat();
        let printed = place.tidings(&command).output().expect("tidings starts");
        assert!(printed.status.success(), "{}", text(&printed.stderr));
        let written = place.tidings(&[&command[..], &["--output", folder]].concat()).output();
        let written = written.expect("tidings starts");
        assert!(written.status.success() && written.stdout.is_empty());
        let table = fs::read_to_string(format!("{folder}/{name}.csv")).expect("it was written");
        assert_eq!(table, text(&printed.stdout), "{name}");
        assert_eq!(table.lines().count(), lines, "{table}");
        let manifest = fs::read_to_string(format!("{folder}/{name}.manifest.json"));
        let manifest: Value = serde_json::from_str(&manifest.expect("written")).expect("JSON");
        let run = &manifest["runs"][0];
        assert_eq!(run["seed"], 3);
        let command = run["command"].as_str().expect("the command");
        assert!(command.contains(&format!("tidings sim {name} --seed 3 --nodes ")), "{command}");
        assert!(!command.contains(folder), "{command}");
    }
}

#[test]
fn impossible_tables_are_rejected_before_the_run() {
    let place = Workplace::new();
    for (arguments, part) in [
        (&["ages", "--strategy", "best"][..], "invalid value 'best'"),
        (&["failures", "--strategy", "uniform,best"], "invalid value 'best'"),
        (&["ages", "--nodes", "1024,0"], "tidings: nodes is 0: it must be at least 2"),
        (&["failures", "--nodes", "1"], "tidings: nodes is 1: it must be at least 2"),
        (&["failures", "--nodes", "500000"], "need about "),
        (&["failures", "--nodes", ""], "invalid value ''"),
    ] {
        let output = place.tidings(&[&["sim"], arguments].concat()).output();
        let output = output.expect("tidings starts");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(part) && output.stdout.is_empty(), "{arguments:?}: {said}");
    }
}

#[test]
fn ctrl_c_ends_a_table_and_leaves_no_partial_file() {
    let place = Workplace::new();
    let folder = place.path().join("tables");
    let arguments = ["sim", "failures", "--output", folder.to_str().expect("a plain name")];
    let mut child = place.tidings(&arguments).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut said = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    said.read_line(&mut line).expect("it says its seed first, when signals are caught already");
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    said.read_to_string(&mut line).expect("it complains in text");
    assert_eq!(child.wait().expect("it is a child").code(), Some(1), "{line}");
    assert!(line.contains("tidings: stopped; ") && line.contains(" of 112 runs"), "{line}");
    assert_eq!(fs::read_dir(&folder).expect("it was made").count(), 0);
}

#[test]
fn ctrl_c_ends_several_runs_with_those_that_are_done() {
    let place = Workplace::new();
    let arguments = ["sim", "run", "--nodes", "128", "--units", "7900", "--runs", "200"];
    let mut command = place.tidings(&arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("tidings starts");
    let mut said = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    said.read_line(&mut line).expect("it says its seeds first, when signals are caught already");
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    said.read_to_string(&mut line).expect("it complains in text");
    let output = child.wait_with_output().expect("it is a child");
    assert_eq!(output.status.code(), Some(1), "{line}");
    assert!(line.contains("tidings: stopped; ") && line.contains(" of 200 runs"), "{line}");
}

#[test]
fn ctrl_c_ends_a_run_with_what_was_measured() {
    let place = Workplace::new();
    let mut command = place.tidings(&["sim", "run", "--json", "--nodes", "128", "--units", "7900"]);
    command.args(["--warmup", "0"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("tidings starts");
    let mut said = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    said.read_line(&mut line).expect("it says its seed first, when signals are caught already");
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    said.read_to_string(&mut line).expect("it complains in text");
    let output = child.wait_with_output().expect("it is a child");
    assert_eq!(output.status.code(), Some(1), "{line}");
    assert!(line.contains("tidings: stopped; "), "{line}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(report["complete"], false);
}

#[test]
fn colonies_give_every_figure_and_reject_impossible_parameters() {
    let place = Workplace::new();
    let arguments = ["--nodes", "300", "--units", "5", "--warmup", "10", "--churn", "50"];
    let run = |more: &[&str]| {
        let mut command = place.tidings(&["sim", "colonies", "--json", "--seed", "7"]);
        command.args(more).output().expect("tidings starts")
    };
    for mode in ["compact", "full"] {
        let output = run(&[&arguments[..], &["--mode", mode]].concat());
        let said = text(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(said.starts_with("seed 7\nparameters {"), "{said}");
        let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
        for figure in [
            "age_avg_units",
            "aggregate_age_avg_units",
            "aggregate_age_p99_units",
            "node_unit_bytes",
            "node_memory_bytes",
            "wall_s",
        ] {
            assert!(report[figure].is_number(), "{mode}: {figure} in {report}");
        }
        assert_eq!(report["complete"], true);
        let crashes = report["crashes"].as_u64().expect("a number");
        assert_eq!(said.matches(" is down from ").count() as u64, crashes, "{said}");
    }
    for (wrong, part) in [
        (["--nodes", "0"], "nodes is 0"),
        (["--loss", "1.5"], "loss is 1.5"),
        (["--colony-nodes", "3"], "colony-nodes is 3"),
        (["--memory-limit", "1"], "memory_limit_mib is 1"),
    ] {
        let output = run(&wrong);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(part) && output.stdout.is_empty(), "{said}");
    }
}
