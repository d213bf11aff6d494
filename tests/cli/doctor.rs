//! `tidings doctor` on a real machine, as root if the test is, and as a user without a privilege.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use serde_json::Value;

use crate::programs::{Workplace, built, text};

/// A user with no privilege.
const NOBODY: u32 = 65534;

/// Verdicts by mechanism, after checking that counts and the exit code are those of the findings.
fn examined(mut command: Command) -> BTreeMap<String, String> {
    let output = command.output().expect("tidings starts");
    let report: Value = serde_json::from_slice(&output.stdout).expect("an object");
    let word = |of: &Value, field: &str| of[field].as_str().expect("a text").to_owned();
    let findings = report["findings"].as_array().expect("findings");
    let found: BTreeMap<String, String> =
        findings.iter().map(|one| (word(one, "mechanism"), word(one, "verdict"))).collect();
    for verdict in ["works", "degraded", "not"] {
        let count = found.values().filter(|of| *of == verdict).count();
        assert_eq!(report[verdict].as_u64(), Some(count as u64), "{verdict}");
    }
    let all_work = found.values().all(|verdict| verdict == "works");
    assert_eq!(output.status.code(), Some(i32::from(!all_work)), "{}", text(&output.stderr));
    for one in findings {
        assert_eq!(one["remedy"].is_null(), one["verdict"] == "works", "{one}");
        let found = word(one, "found");
        assert!(!found.contains("without a word") && !found.contains("signal"), "{one}");
    }
    found
}

/// What an attempt could leave behind or turn.
fn surroundings() -> Vec<String> {
    let mut seen = Vec::new();
    // Not the interfaces: other tests make some at the same time.
    for path in ["/proc/sys/vm/stat_interval", "/proc/sys/vm/nr_hugepages"] {
        seen.push(fs::read_to_string(path).unwrap_or_default());
    }
    let mask = fs::read_to_string("/sys/devices/virtual/workqueue/cpumask");
    seen.push(mask.unwrap_or_default());
    for folder in fs::read_dir("/proc/irq").into_iter().flatten().filter_map(Result::ok) {
        let list = fs::read_to_string(folder.path().join("smp_affinity_list"));
        seen.push(format!("{:?} {:?}", folder.file_name(), list.ok()));
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("Linux");
    let places = mounts.lines().filter_map(|line| line.split(' ').nth(4)).map(str::to_owned);
    seen.extend(places.clone().filter(|place| place.contains("tracing")));
    for place in places.filter(|place| place.contains("cgroup")) {
        let groups = fs::read_dir(place).into_iter().flatten().filter_map(Result::ok);
        let names = groups.filter_map(|group| group.file_name().into_string().ok());
        // Those of processes that live are of another doctor, which another test may run.
        let of_dead = |number: &str| fs::metadata(format!("/proc/{number}")).is_err();
        seen.extend(names.filter(|name| name.strip_prefix("tidings-doctor-").is_some_and(of_dead)));
    }
    seen.sort();
    seen
}

#[test]
fn each_mechanism_is_tried_and_nothing_is_left() {
    let (place, before) = (Workplace::new(), surroundings());
    let listed = text(&place.tidings(&["doctor", "--list"]).output().expect("it starts").stdout);
    let names: Vec<&str> =
        listed.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 30, "{listed}");
    let found = examined(place.tidings(&["doctor", "--json"]));
    assert_eq!(found.len(), names.len());
    assert!(names.iter().all(|name| found.contains_key(*name)), "{found:?}");
    // What no machine that runs these tests lacks.
    for name in ["affinity", "fixed-address", "shared-memory"] {
        assert_ne!(found[name], "not", "{name}");
    }
    assert_eq!(surroundings(), before);
}

#[test]
fn without_a_privilege_it_says_what_is_missing() {
    if !rustix::process::geteuid().is_root() {
        return; // the test above is this one then
    }
    let place = Workplace::new();
    // The folder of programs may be closed to others.
    let copy = place.path().join("tidings");
    fs::copy(built("tidings"), &copy).expect("room for a copy");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let mut command = Command::new(&copy);
    command.args(["doctor", "--json"]).uid(NOBODY).gid(NOBODY);
    let found = examined(command);
    for name in ["workqueues", "statistics", "interrupts"] {
        assert_eq!(found[name], "not", "{name}");
    }
    assert_ne!(found["fixed-address"], "not");
}

#[test]
fn only_those_asked_for_are_tried() {
    let place = Workplace::new();
    let found = examined(place.tidings(&["doctor", "--json", "--only", "affinity,shared-memory"]));
    assert_eq!(found.keys().collect::<Vec<_>>(), ["affinity", "shared-memory"]);
    let refused = place.tidings(&["doctor", "--only", "iouring"]).output().expect("it starts");
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("the nearest are io-uring"), "{refused:?}");
}
