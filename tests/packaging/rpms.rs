//! The RPM packages, made once for each release, and on a machine: installed, upgraded and erased,
//! with what their scriptlets do.
//!
//! The rpm is Debian's, and its database, the machine's own, knows no other package. So what the
//! packages require is not looked at (`--nodeps`), and triggers of other packages, by which
//! distributions with RPM handle sysusers.d, do not run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;
use tidings_experiment::agents::{KEY, programs};
use tidings_experiment::hosts::Hosts;

use crate::machine::Machine;
use crate::{repository, text_of};

const UNIT: &str = "tidings-agent";
const CONFIGURATION: &str = "/etc/tidings/agent.toml";

/// Makes the packages as a distribution does that adds these letters to a release.
fn make(directory: &Path, distribution: &str) -> Vec<PathBuf> {
    let (home, out) = (directory.join("home"), directory.join("rpm"));
    fs::create_dir_all(&home).expect("an own directory");
    // Programs with all their symbols take long to compress.
    let macros = format!("%dist {distribution}\n%_binary_payload w1.gzdio\n");
    fs::write(home.join(".rpmmacros"), macros).expect("an own directory");
    let mut build = Command::new("packaging/build-rpm");
    build.arg(programs()).arg(&out).env("HOME", &home).current_dir(repository());
    let output = build.output().expect("part of the repository");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut made: Vec<PathBuf> =
        fs::read_dir(&out).expect("made").flatten().map(|entry| entry.path()).collect();
    made.sort();
    assert_eq!(made.len(), 2, "{made:?}");
    made
}

/// The packages of the first release.
pub(crate) fn first() -> &'static [PathBuf] {
    static PACKAGES: OnceLock<Vec<PathBuf>> = OnceLock::new();
    PACKAGES.get_or_init(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rpms");
        let _ = fs::remove_dir_all(&directory); // of an earlier run
        make(&directory, ".1")
    })
}

/// Calls rpm with packages of this machine.
fn rpm(machine: &Machine, action: &str, packages: &[PathBuf]) {
    let files: Vec<String> = packages.iter().map(|package| machine.share(package)).collect();
    let files = files.iter().map(String::as_str);
    let words = ["rpm", action, "--nodeps", "--force-debian"];
    machine.text(&words.into_iter().chain(files).collect::<Vec<_>>());
}

fn property(machine: &Machine, name: &str) -> String {
    machine.text(&["systemctl", "show", "--value", "--property", name, UNIT])
}

/// Those of the files that the machine has.
fn left(machine: &Machine, files: &[&str]) -> String {
    let look = "for file; do [ ! -e \"$file\" ] || echo \"$file\"; done";
    machine.text(&[&["sh", "-c", look, "look"], files].concat())
}

#[test]
fn an_rpm_is_installed_restarts_its_agent_at_an_upgrade_and_leaves_what_is_ours() {
    let directory = TempDir::new().expect("a temporary directory");
    let (old, new) = (first(), make(directory.path(), ".2"));
    let hosts = Hosts::new(1);
    let machine = Machine::boot(&hosts, 1);
    let listed = text_of("rpm", &["-qpl", &old[0].display().to_string()]);
    let devel = text_of("rpm", &["-qpl", &old[1].display().to_string()]);
    let files: Vec<&str> = listed.lines().chain(devel.lines()).collect();
    assert_eq!(left(&machine, &files), "", "nothing of it is here before");
    assert!(!machine.run(&["getent", "passwd", "tidings"]).status.success(), "nor its user");

    rpm(&machine, "--install", old);
    let groups = machine.text(&["id", "--name", "--groups", "tidings"]);
    assert_eq!(groups, "tidings tidings-energy\n", "%pre makes the user");
    machine.text(&["rpm", "--verify", "--nodeps", "tidings", "tidings-devel"]);
    machine.write("/etc/tidings/cluster.key", KEY);
    let ours = "name = \"ours\"\n";
    machine.write("/shared/agent.toml", ours);
    machine.text(&["cp", "--no-preserve=mode", "/shared/agent.toml", CONFIGURATION]);
    machine.text(&["systemctl", "enable", "--now", UNIT]);
    assert_eq!(machine.text(&["systemctl", "is-active", UNIT]), "active\n");
    let before = property(&machine, "MainPID");

    rpm(&machine, "--upgrade", &new);
    let installed = machine.text(&["rpm", "--query", "tidings", "tidings-devel"]);
    assert!(installed.lines().all(|line| line.contains("-1.2.")), "{installed}");
    assert_eq!(machine.text(&["systemctl", "is-active", UNIT]), "active\n");
    assert_ne!(property(&machine, "MainPID"), before, "%postun restarts what runs");
    assert_eq!(property(&machine, "NeedDaemonReload"), "no\n", "%post has systemd read the unit");
    assert_eq!(machine.text(&["cat", CONFIGURATION]), ours);

    machine.text(&["rpm", "--erase", "tidings", "tidings-devel"]);
    let active = machine.run(&["systemctl", "is-active", UNIT]);
    assert_ne!(active.status.code(), Some(0), "%preun stops it");
    let link = "/etc/systemd/system/multi-user.target.wants/tidings-agent.service";
    assert!(!machine.run(&["test", "-L", link]).status.success(), "nothing is left enabled");
    assert_eq!(left(&machine, &files), "/etc/tidings\n", "the key is ours");
    let saved = format!("{CONFIGURATION}.rpmsave");
    assert_eq!(machine.text(&["cat", &saved]), ours);
}
