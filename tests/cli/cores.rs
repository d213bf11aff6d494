//! `tidings cores` on a real machine, without changing it: what it plans, shows and refuses, and a
//! program in a role, by journals that are written here.
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

/// A journal of roles by affinities, with these changes; its folder.
fn journal(place: &Workplace, application: &str, changes: &[&str]) -> String {
    let folder = place.path().join("journal");
    fs::create_dir(&folder).expect("room");
    let header = format!(
        "{{\"version\":1,\"machine\":\"m\",\"boot\":\"b\",\"way\":{{\"way\":\"affinities\"}},\
         \"application\":\"{application}\",\"service\":\"1023\"}}\n"
    );
    let complete = "{\"change\":\"complete\"}";
    let lines: Vec<&str> = changes.iter().copied().chain([complete]).collect();
    fs::write(folder.join("journal"), header + &lines.join("\n") + "\n").expect("room");
    folder.to_str().expect("a plain path").to_owned()
}

/// The last core that this process may use.
fn own_core() -> String {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let cores = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let last = cores.expect("Linux says it").trim().rsplit([',', '-']).next();
    last.expect("one at least").to_owned()
}

#[test]
fn a_program_in_a_role_runs_on_its_cores_with_its_own_exit_code() {
    let (place, core) = (Workplace::new(), own_core());
    let journal = journal(&place, &core, &[]);
    let run = |arguments: &[&str]| {
        let all = [&["cores", "--journal", &journal, "run", "--role", "application"], arguments];
        place.tidings(&all.concat()).output().expect("it starts")
    };
    let script = "sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status; exit 7";
    let output = run(&["--", "sh", "-c", script]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(7), format!("{core}\n")));
    let output = run(&["--", "/nowhere/program"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    // Before all others it does not run: this test may run there, and would wait for ever.
    let output = run(&["--fifo", "1", "--", "true"]);
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("--fifo: "), "{said}");
    assert!(said.contains(&format!("may run on core {core}")), "{said}");
}

#[test]
fn what_another_program_has_changed_is_shown_with_its_value_and_left() {
    const KNOB: &str = "/proc/sys/vm/stat_interval";
    let place = Workplace::new();
    let change = format!(
        "{{\"change\":\"value\",\"path\":\"{KNOB}\",\"form\":\"text\",\"before\":\"77776\",\
         \"after\":\"77777\",\"interrupt\":null}}"
    );
    let journal = journal(&place, "0", &[&change]);
    let run = |arguments: &[&str]| {
        let all = [&["cores", "--journal", &journal], arguments].concat();
        let output = place.tidings(&all).output().expect("it starts");
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let now = fs::read_to_string(KNOB).expect("Linux");
    let now = now.trim();
    let (code, shown, _) = run(&["status"]);
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("by another program") && shown.contains("77777"), "{shown}");
    let (_, shown, _) = run(&["status", "--json"]);
    let status: Value = serde_json::from_str(&shown).expect("an object");
    assert_eq!(status["knobs"][0]["state"], "drifted", "{shown}");
    if rustix::process::geteuid().is_root() {
        let (code, said, _) = run(&["undo"]);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("(set here: `77777`, before: `77776`)"), "{said}");
        assert_eq!(fs::read_to_string(KNOB).expect("Linux").trim(), now);
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
