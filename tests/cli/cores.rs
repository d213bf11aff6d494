//! `tidings cores` on a real machine, without changing it: what it plans, and what it refuses.
//!
//! That roles are set and undone is tested in `crates/cores/tests`, on machines made for it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use serde_json::Value;

use crate::programs::{Workplace, built, text};

/// A user with no privilege.
const NOBODY: u32 = 65534;

/// How many cores are switched on.
fn online() -> usize {
    let cores = fs::read_to_string("/sys/devices/system/cpu/online").expect("Linux");
    let count = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<usize>().expect("a number");
        number(last) - number(first) + 1
    };
    cores.split(',').map(count).sum()
}

#[test]
fn a_plan_has_a_role_for_each_core_and_its_file_is_read_again() {
    let place = Workplace::new();
    let file = place.path().join("roles");
    let file = file.to_str().expect("a plain path");
    let output = place.tidings(&["cores", "plan", "--json", "--output", file]).output();
    let output = output.expect("it starts");
    if online() == 1 {
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("this machine has one core"), "{output:?}");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let plan: Value = serde_json::from_slice(&output.stdout).expect("an object");
    let cores = plan["cores"].as_array().expect("cores");
    assert_eq!(cores.len(), online());
    let with = |role: &str| cores.iter().filter(|core| core["role"] == role).count();
    assert!(with("application") > 0 && with("service") > 0, "{plan}");
    assert!(plan["knobs"].as_array().is_some_and(|knobs| knobs.len() >= 5), "{plan}");
    let written = fs::read_to_string(file).expect("it was written");
    let application = plan["roles"]["application"].as_str().expect("a list");
    assert!(written.contains(&format!("application = \"{application}\"")), "{written}");
}

#[test]
fn a_machine_without_roles_has_nothing_to_show_use_or_undo() {
    let place = Workplace::new();
    let journal = place.path().join("journal");
    let journal = journal.to_str().expect("a plain path");
    let run = |arguments: &[&str]| {
        let all = [&["cores", "--journal", journal], arguments].concat();
        let output = place.tidings(&all).output().expect("it starts");
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    assert_eq!(run(&["status"]).0, Some(0));
    assert_eq!(run(&["status"]).1, "no roles are set\n");
    let (code, _, said) = run(&["run", "--role", "application", "--", "true"]);
    assert!(code == Some(4) && said.contains("no roles are set here"), "{said}");
    if rustix::process::geteuid().is_root() {
        let (code, _, said) = run(&["undo"]);
        assert!(code == Some(4) && said.contains("no roles are set here"), "{said}");
        let (code, _, said) = run(&["apply", "--application", "1023"]);
        assert!(code == Some(2) && !said.is_empty(), "{said}");
        let other = place.path().join("roles");
        let roles = "machine = \"another\"\napplication = \"1\"\nservice = \"0\"\n";
        fs::write(&other, roles).expect("room");
        let (code, _, said) = run(&["apply", "--roles", other.to_str().expect("a plain path")]);
        assert!(code == Some(2) && said.contains("for the machine another"), "{said}");
        assert_eq!(run(&["status"]).1, "no roles are set\n");
    }
}

#[test]
fn without_root_nothing_is_set() {
    let place = Workplace::new();
    let copy = place.path().join("tidings");
    fs::copy(built("tidings"), &copy).expect("room for a copy");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    for action in ["apply", "undo"] {
        let mut command = Command::new(&copy);
        command.args(["cores", action, "--journal", "/nowhere"]);
        if rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().expect("it starts");
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("by root: run it with sudo"), "{output:?}");
    }
}
