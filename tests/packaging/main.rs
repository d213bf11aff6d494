//! The Debian package and what it installs, made and installed into a directory of its own.
//!
//! `dpkg` installs below a temporary root, so nothing of this machine is changed. The
//! units are checked by `systemd-analyze`, the man pages are read by `man`. What the service does
//! is tried on [machines](machine) with a systemd of their own.

mod embedded;
mod first_day;
mod formats;
mod machine;
mod rpms;
mod service;
mod upgrade;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use tempfile::TempDir;
use tidings_experiment::agents::programs;

/// The repository's root.
fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests lie in the repository")
}

fn run(program: impl AsRef<Path>, arguments: &[&str]) -> Output {
    let program = program.as_ref();
    let mut command = Command::new(program);
    // Programs with all their symbols take long to compress.
    command.env("DPKG_DEB_COMPRESSOR_TYPE", "none").env("LC_ALL", "C.UTF-8");
    let output = command.args(arguments).current_dir(repository()).output();
    output.unwrap_or_else(|error| panic!("{}: {error}", program.display()))
}

fn text_of(program: impl AsRef<Path>, arguments: &[&str]) -> String {
    let output = run(&program, arguments);
    let (out, err) = (&output.stdout, String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{} {arguments:?}: {err}", program.as_ref().display());
    String::from_utf8_lossy(out).into_owned()
}

/// The package of the programs under test, made once.
fn package() -> &'static Path {
    static PACKAGE: OnceLock<PathBuf> = OnceLock::new();
    PACKAGE.get_or_init(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("package");
        let _ = fs::remove_dir_all(&directory); // of an earlier run
        let binaries = programs().display().to_string();
        text_of("packaging/build-deb", &[&binaries, &directory.display().to_string()]);
        let made = fs::read_dir(directory).expect("made").filter_map(Result::ok);
        let deb = made.map(|entry| entry.path()).find(|path| path.extension().is_some());
        deb.expect("a package was made")
    })
}

/// The package as the revision of that number, compressed, and without the library of tasks: in its
/// hundreds of objects lintian looks for minutes, and a machine would hold it in memory.
fn light(directory: &Path, revision: &str) -> PathBuf {
    lightened(package(), directory, revision)
}

/// The same of another package than that of this tree, which keeps its version.
fn lightened(package: &Path, directory: &Path, revision: &str) -> PathBuf {
    let (tree, deb) = (directory.join("tree"), directory.join(format!("tidings-{revision}.deb")));
    let [tree_text, deb_text] = [&tree, &deb].map(|path| path.display().to_string());
    text_of("dpkg-deb", &["--raw-extract", &package.display().to_string(), &tree_text]);
    let library = "usr/lib/libtidings_tasks_c.a";
    fs::remove_file(tree.join(library)).expect("part of the package");
    let change = |file: &str, rule: &dyn Fn(&str) -> String| {
        let file = tree.join("DEBIAN").join(file);
        let text = fs::read_to_string(&file).expect("part of the package");
        fs::write(file, rule(&text)).expect("an own directory");
    };
    fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(tree.join("DEBIAN/md5sums"))
        .expect("ours");
    change("md5sums", &|text| {
        let kept = text.lines().filter(|line| !line.ends_with(library));
        kept.flat_map(|line| [line, "\n"]).collect()
    });
    let version = env!("CARGO_PKG_VERSION");
    let (made, wanted) = (format!("{version}-1\n"), format!("{version}-{revision}\n"));
    change("control", &|text| text.replacen(&made, &wanted, 1));
    let build = ["-Zgzip", "-z1", "--root-owner-group", "--build", &tree_text, &deb_text];
    text_of("dpkg-deb", &build);
    fs::remove_dir_all(tree).expect("an own directory");
    deb
}

/// Whether a program is without what only debuggers read.
fn is_stripped(program: &Path) -> bool {
    let path = program.display().to_string();
    let sections = text_of("objdump", &["--section-headers", &path]);
    assert!(sections.contains(".text"), "{path} is a program: {sections}");
    let symbols = text_of("objdump", &["--syms", &path]);
    !sections.contains(".debug_info") && symbols.contains("no symbols")
}

/// Files that the package has.
const FILES: [&str; 39] = [
    "usr/lib/systemd/system/tidings-agent.service",
    "usr/lib/systemd/system/tidings-worker@.service",
    "usr/lib/sysusers.d/tidings.conf",
    "usr/include/tidings.h",
    "usr/include/tidings_node.h",
    "usr/include/tidings_pick.h",
    "usr/include/tidings_publish.h",
    "usr/include/tidings_readings.h",
    "usr/include/tidings_tasks.h",
    "usr/include/tidings_tasks.f90",
    "usr/include/tidings_tasks_flows.f90",
    "usr/include/tidings_tasks_tuples.f90",
    "usr/lib/libtidings_node.a",
    "usr/lib/libtidings_tasks_c.a",
    "usr/share/man/man1/tidings.1.gz",
    "usr/share/man/man1/tidings-agent.1.gz",
    "usr/share/man/man1/tidings-nodes.1.gz",
    "usr/share/bash-completion/completions/tidings",
    "usr/share/bash-completion/completions/tidings-agent",
    "usr/share/doc/tidings/copyright",
    "usr/include/tidings_wire.h",
    "usr/lib/tmpfiles.d/tidings.conf",
    "usr/share/doc/tidings/changelog.gz",
    "usr/share/doc/tidings/changelog.Debian.gz",
    "usr/share/doc/tidings/README.md",
    "usr/share/doc/tidings/protocol.md",
    "usr/share/doc/tidings/concepts/threats.md",
    "usr/share/doc/tidings/guides/debian.md",
    "usr/share/doc/tidings/guides/upgrade.md",
    "usr/share/doc/tidings/reference/collectors.md",
    "usr/share/doc/tidings/reference/config.md",
    "usr/share/doc/tidings/examples/agent.toml",
    "usr/share/doc/tidings/examples/board.c",
    "usr/share/doc/tidings/examples/embedding/udp.c",
    "usr/share/doc/tidings/examples/hooks/webhook.py",
    "usr/share/doc/tidings/examples/slurm/tidings-node-state",
    "usr/share/doc/tidings/examples/prometheus/tidings-alerts.yml",
    "usr/share/doc/tidings/examples/prometheus/grafana-cluster.json",
    "usr/share/doc/tidings/examples/prometheus/grafana-dashboard.json",
];

#[test]
fn the_package_installs_and_removes_and_keeps_the_configuration() {
    let directory = TempDir::new().expect("a temporary directory");
    let deb = package().display().to_string();
    let root = directory.path().join("root");
    let admin = root.join("var/lib/dpkg");
    for place in ["info", "updates"] {
        fs::create_dir_all(admin.join(place)).expect("an own directory");
    }
    for file in ["status", "available"] {
        fs::write(admin.join(file), "").expect("an own directory");
    }
    let dpkg = |arguments: &[&str]| {
        let root = format!("--root={}", root.display());
        let force = "--force-not-root,script-chrootless,depends,bad-path";
        let log = format!("--log={}", directory.path().join("log").display());
        let all = [&[root.as_str(), force, &log], arguments].concat();
        text_of("/usr/bin/dpkg", &all)
    };
    dpkg(&["--install", &deb]);
    let version = format!("tidings {}", env!("CARGO_PKG_VERSION"));
    assert_eq!(text_of(root.join("usr/bin/tidings"), &["--version"]).trim(), version);
    let check = run(
        root.join("usr/bin/tidings-agent"),
        &["--config", &root.join("etc/tidings/agent.toml").display().to_string(), "--check"],
    );
    let said = String::from_utf8_lossy(&check.stderr).into_owned();
    assert!(said.contains("key"), "beyond loopback only with a key: {said}");
    for program in ["usr/bin/tidings", "usr/bin/tidings-agent"] {
        assert!(is_stripped(&root.join(program)), "{program} is to be stripped");
    }
    for file in FILES {
        assert!(root.join(file).is_file(), "{file} is missing");
    }
    let configured = root.join("etc/tidings/agent.toml");
    fs::write(&configured, "cluster = \"mine\"\n").expect("installed above");
    dpkg(&["--force-confold", "--install", &deb]);
    assert_eq!(fs::read_to_string(&configured).expect("kept"), "cluster = \"mine\"\n");
    dpkg(&["--remove", "tidings"]);
    assert!(configured.exists() && !root.join("usr/bin/tidings").exists());
    dpkg(&["--purge", "tidings"]);
    assert!(!configured.exists());
}

/// The text of a unit, which systemd accepts under a name with our program in place of the
/// installed one.
fn accepted_unit(file: &str, name: &str, program: &str) -> String {
    let directory = TempDir::new().expect("a temporary directory");
    let text = fs::read_to_string(repository().join("packaging/systemd").join(file));
    let text = text.expect("part of the repository");
    let built = programs().join(program).display().to_string();
    let unit = directory.path().join(name);
    let here = text.replace(&format!("/usr/bin/{program} "), &format!("{built} "));
    fs::write(&unit, here).expect("an own directory");
    let verified = run("systemd-analyze", &["verify", "--man=no", &unit.display().to_string()]);
    let complaints = String::from_utf8_lossy(&verified.stderr).into_owned();
    let own: Vec<_> = complaints.lines().filter(|line| line.contains("tidings")).collect();
    assert!(verified.status.success() && own.is_empty(), "{own:?}");
    text
}

#[test]
fn systemd_accepts_the_agents_unit_and_it_is_sandboxed() {
    let unit = "tidings-agent.service";
    let text = accepted_unit(unit, unit, "tidings-agent");
    for line in [
        "User=tidings",
        "ProtectSystem=strict",
        "NoNewPrivileges=yes",
        "SystemCallFilter=sched_setaffinity sched_setscheduler setpriority",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is missing");
    }
}

/// A worker ends in good order only if it alone is asked, and is given the time for it.
#[test]
fn systemd_accepts_the_workers_unit_which_lets_tasks_end() {
    let name = "tidings-worker@alice.service";
    let text = accepted_unit("tidings-worker@.service", name, "tidings");
    for line in ["User=%i", "KillMode=mixed", "Delegate=yes"] {
        assert!(text.lines().any(|found| found == line), "{line} is missing");
    }
}

#[test]
fn every_man_page_can_be_read() {
    let directory = TempDir::new().expect("a temporary directory");
    let pages = directory.path().display().to_string();
    let mut written = text_of(programs().join("tidings"), &["manuals", &pages]);
    let agent = directory.path().join("tidings-agent.1");
    fs::write(&agent, text_of(programs().join("tidings-agent"), &["--manual"])).expect("ours");
    written += &agent.display().to_string();
    for page in written.lines() {
        let read = run("man", &["--warnings", "-l", page]);
        let complaints = String::from_utf8_lossy(&read.stderr).into_owned();
        assert!(read.status.success() && complaints.is_empty(), "{page}: {complaints}");
        assert!(String::from_utf8_lossy(&read.stdout).contains("SYNOPSIS"), "{page}");
    }
}

#[test]
fn bash_accepts_the_completions() {
    for (program, arguments) in [
        ("tidings", ["completions", "bash"].as_slice()),
        ("tidings-agent", ["--completions", "bash"].as_slice()),
    ] {
        let script = text_of(programs().join(program), arguments);
        text_of("bash", &["-n", "-c", &script]);
        assert!(script.contains("complete -F"), "{program}");
    }
}
