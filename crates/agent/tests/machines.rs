//! Recorded machines, replayed: two moments of /proc and /sys, a second apart, and what the
//! collector makes of them.
//!
//! `fixtures/machines/NAME/0` and `/1` are the two moments, `expected.txt` is the state at the
//! second. The files replace each other in a temporary directory, in place, as the kernel
//! does it under an open file. A file named `device` stands for the link that /sys has there.
//! After an intended change: `TIDINGS_BLESS=1 cargo test -p tidings-agent --test machines`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tidings_agent::collect::{Collector, Sources};
use tidings_gossip::payload::{FIXED_BYTES, NodeState};

fn machine(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/machines").join(name)
}

/// Writes every file under `from` to its place under `to`, into the same inode if it is there.
fn lay_over(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("the fixture is there") {
        let entry = entry.expect("the fixture can be listed");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a file or a directory").is_dir() {
            std::fs::create_dir_all(&target).expect("the directory is writable");
            lay_over(&entry.path(), &target);
        } else {
            let text = std::fs::read(entry.path()).expect("the fixture is readable");
            std::fs::write(&target, text).expect("the directory is writable");
        }
    }
}

/// The state of a recorded machine at its second moment.
fn replay(name: &str) -> NodeState {
    let root = tempfile::tempdir().expect("a temporary directory");
    let sources = Sources { proc: root.path().join("proc"), sys: root.path().join("sys") };
    let mut collector = Collector::new(&sources);
    lay_over(&machine(name).join("0"), root.path());
    let first = collector.collect(Duration::from_secs(100));
    assert_eq!((first.cpu_busy_percent, first.net_rx_bytes_s, first.power_w), (None, None, None));
    lay_over(&machine(name).join("1"), root.path());
    collector.collect(Duration::from_secs(101))
}

fn assert_golden(name: &str) {
    let state = replay(name);
    let replayed = format!("{state:#?}\n");
    let golden = machine(name).join("expected.txt");
    if std::env::var_os("TIDINGS_BLESS").is_some() {
        std::fs::write(&golden, &replayed).expect("the fixture is writable");
    }
    let expected = std::fs::read_to_string(&golden).expect("the machine has an expected.txt");
    assert_eq!(replayed, expected);
    let mut payload = [0; FIXED_BYTES];
    state.encode(&mut payload).expect("readings fit their places");
}

#[test]
fn a_virtual_machine() {
    assert_golden("virtual-2-cores");
}

#[test]
fn a_large_node_with_sensors_and_power() {
    assert_golden("node-128-cores");
}

#[test]
fn a_bare_container() {
    assert_golden("bare-container");
}

#[test]
fn a_machine_without_any_source_has_an_empty_state() {
    let nowhere = tempfile::tempdir().expect("a temporary directory");
    let sources = Sources { proc: nowhere.path().into(), sys: nowhere.path().into() };
    let mut collector = Collector::new(&sources);
    assert_eq!(collector.collect(Duration::ZERO), NodeState::default());
    assert_eq!(collector.collect(Duration::from_secs(1)), NodeState::default());
}

#[test]
fn this_machine_has_load_memory_and_uptime() {
    let state = Collector::new(&Sources::default()).collect(Duration::ZERO);
    assert!(state.load1.is_some() && state.uptime_s.is_some() && state.cores.is_some());
    assert!(state.mem_available_bytes < state.mem_total_bytes);
}
