//! Gossip among the ranks of real MPI programs, and of one on a simulated torus.
//!
//! Four ranks share two cores here, so nothing is said of times: what is checked is that every rank
//! knows every other, that every message that was sent is received, and that too much to do is shed
//! and counted.

use serde_json::Value;

use crate::toolchain::{Mpi, done, place, run, said};

fn report(mpi: Mpi, ranks: usize, arguments: &[&str]) -> Value {
    let directory = place();
    let text = done(mpi.launcher(ranks, directory.path()).arg(mpi.gossip()).args(arguments));
    let line = text.lines().find(|line| line.starts_with('{'));
    let line = line.unwrap_or_else(|| panic!("no report: {text}"));
    serde_json::from_str(line).expect("the report is JSON")
}

/// What must hold of every run.
fn holds(report: &Value, ranks: u64) {
    assert_eq!(report["ranks"], ranks, "{report}");
    assert_eq!(report["never_heard_pairs"], 0, "{report}");
    assert_eq!(report["messages_sent"], report["messages_received"], "{report}");
    assert!(report["age_avg_units"].as_f64() > Some(0.0), "{report}");
    assert!(report["age_max_units"].as_f64() >= report["age_avg_units"].as_f64(), "{report}");
}

fn ranks_know_each_other(mpi: Mpi) {
    for strategy in ["uniform", "grid"] {
        let arguments = ["--interval", "8", "--warmup", "0.5", "--seconds", "0.3"];
        let report = report(mpi, 4, &[&arguments[..], &["--strategy", strategy]].concat());
        holds(&report, 4);
        assert_eq!(report["mode"], "polite");
        assert_eq!(report["strategy"], strategy);
    }
}

#[test]
fn ranks_of_open_mpi_know_each_other() {
    ranks_know_each_other(Mpi::Open);
}

#[test]
fn ranks_of_mpich_know_each_other() {
    ranks_know_each_other(Mpi::Mpich);
}

/// A window each 0.1 ms is more than these cores can do: messages are dropped and counted, units
/// passed over, and at the end not one is missing.
fn overload_is_shed(mpi: Mpi) {
    let heavy = ["--interval", "0.1", "--entry", "1024", "--window", "100%", "--slots", "1"];
    let short = ["--busy", "--warmup", "0.2", "--seconds", "0.3"];
    let report = report(mpi, 4, &[&heavy[..], &short].concat());
    holds(&report, 4);
    assert_eq!(report["mode"], "busy");
    let shed = |counter: &str| report[counter].as_u64().expect("a count");
    assert!(shed("messages_dropped") + shed("rounds_skipped") > 0, "{report}");
}

#[test]
fn overload_under_open_mpi_is_shed_and_counted() {
    overload_is_shed(Mpi::Open);
}

#[test]
fn overload_under_mpich_is_shed_and_counted() {
    overload_is_shed(Mpi::Mpich);
}

#[test]
fn sixty_four_ranks_gossip_on_a_simulated_torus() {
    let arguments = ["--interval", "64", "--warmup", "7.68", "--seconds", "1.28"];
    let report = report(Mpi::Simulated, 64, &arguments);
    holds(&report, 64);
    assert_eq!(report["messages_dropped"], 0, "{report}");
    // The paper's algorithm: 64 nodes, 20 %, some 7 units (DESIGN.md: 7.8 at 128 nodes).
    let age = report["age_avg_units"].as_f64().expect("a number");
    assert!((6.0..8.5).contains(&age), "{report}");
}

#[test]
fn wrong_command_lines_are_refused() {
    let directory = place();
    let refused = |ranks, arguments: &[&str], complaint: &str| {
        let mut command = Mpi::Mpich.launcher(ranks, directory.path());
        let output = run(command.arg(Mpi::Mpich.gossip()).args(arguments));
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        let complaint = format!("tidings-mpi-gossip: {complaint}");
        assert!(said(&output).contains(&complaint), "{}", said(&output));
    };
    refused(2, &["--interval", "0"], "--interval cannot be '0'; see --help");
    refused(2, &["--window", "120%"], "--window cannot be '120%'; see --help");
    refused(2, &["--strategy", "best"], "--strategy cannot be 'best'; see --help");
    refused(2, &["--entry"], "--entry is no option, or lacks a value; see --help");
    refused(2, &["more"], "'more' is no option; see --help");
    refused(1, &[], "gossip takes two ranks or more");
}
