//! Gossip next to an application on a simulated machine: it runs, its messages have their full
//! size, and it slows the application down by as much as it sends.

use std::fs;

use serde_json::Value;

use crate::toolchain::{self, Mpi, object, place, root, run, said};

const NODES: usize = 16;

/// Runs an application next to gossip, or next to sleeping ranks; its object, and the gossip's.
fn beside(words: &str) -> (Value, Option<Value>) {
    let directory = place();
    let path = |name: &str| directory.path().join(name);
    let mut make = std::process::Command::new("python3");
    make.arg("-B").arg(root().join("mpi/platforms/make.py")).args(["torus", "--nodes", "16"]);
    make.args(["--ranks-per-node", "3"]).arg("--output").arg(path("torus.xml"));
    assert!(run(make.arg("--hosts").arg(path("hosts"))).status.success());
    let mut command = std::process::Command::new("smpirun");
    command.args(["-no-privatize", "-n", &(3 * NODES).to_string(), "--log=root.thres:error"]);
    command.args(["--cfg=smpi/simulate-computation:no", "--cfg=smpi/test:0"]);
    command.arg("-platform").arg(path("torus.xml")).arg("-hostfile").arg(path("hosts"));
    command.arg(Mpi::Simulated.application("beside")).arg("--report").arg(path("report.json"));
    let output = run(command.args(words.split(' ')).current_dir(directory.path()));
    assert!(output.status.success(), "{words}: {}", said(&output));
    let result = object(&String::from_utf8_lossy(&output.stdout)).expect("an object");
    let report = fs::read_to_string(path("report.json")).ok();
    (result, report.map(|text| serde_json::from_str(&text).expect("JSON")))
}

#[test]
fn gossip_runs_beside_an_application_with_messages_of_full_size() {
    let (application, report) =
        beside("--interval 2 --window 50% --entry 1024 fft --model --log2 26 --shape 2,2,2,2");
    assert_eq!(application["ranks"], NODES as u64);
    let report = report.expect("the gossip reports");
    let share = |name: &str| report[name].as_f64().expect("a number");
    let count = |name: &str| report[name].as_u64().expect("a count");
    assert_eq!((count("ranks"), count("payload_bytes")), (16, 1024));
    assert_eq!(count("messages_sent"), count("messages_received"), "{report}");
    assert_eq!(count("messages_dropped"), 0, "{report}");
    // 12 bytes and the payload for each entry, 50 of the datagram and 8 of the frame.
    let wire = 58 * count("messages_sent") + (12 + 1024) * count("entries_sent");
    assert_eq!(count("bytes_made"), wire, "{report}");
    assert!((1.0..12.0).contains(&share("age_avg_units")), "{report}");
    // 0.35 µs for each entry that is made or merged.
    assert!((0.0005..0.01).contains(&share("busy_share")), "{report}");
}

#[test]
fn the_more_gossip_sends_the_slower_the_transform() {
    let words = "fft --model --log2 26 --shape 2,2,2,2";
    let seconds = |gossip: &str| {
        let (application, _) = beside(&format!("{gossip} {words}"));
        application["seconds"].as_f64().expect("a number")
    };
    let (alone, again) = (seconds("--idle"), seconds("--idle"));
    assert_eq!(alone.to_bits(), again.to_bits(), "virtual time is exact: {alone} and {again}");
    let some = seconds("--interval 1 --window 25% --entry 1024");
    let much = seconds("--interval 0.2 --window 100% --entry 1024");
    assert!(alone < some && some < much, "{alone}, {some}, {much}");
}

#[test]
fn the_proxy_computes_the_same_beside_gossip() {
    let words = "proxy --blocks 16 --steps 4 --model";
    let (alone, nothing) = beside(&format!("--idle {words}"));
    assert!(nothing.is_none(), "who sleeps has nothing to report");
    let (accompanied, report) = beside(&format!("--interval 0.5 {words}"));
    assert_eq!(alone["checksum"], accompanied["checksum"]);
    assert!(report.is_some());
}

#[test]
fn wrong_command_lines_are_refused() {
    let program = Mpi::Simulated.application("beside");
    let refused = |ranks, words: &str, complaint: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        toolchain::refused(Mpi::Simulated, &program, ranks, &words, complaint);
    };
    refused(6, "--idle", "no application is named: fft, ptrans or proxy");
    refused(7, "--idle fft", "7 ranks are not three a node");
    refused(3, "fft", "gossip takes two nodes or more");
    refused(6, "--entry-us x fft", "--entry-us cannot be 'x'");
    refused(6, "--interval 0 fft", "--interval cannot be '0'");
    refused(6, "--idle fft --fast", "fft: '--fast' is no option");
}
