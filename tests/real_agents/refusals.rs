//! What an agent rejects at the start: exit code 2, and a message with the place and the remedy.

use std::process::Output;

use tidings_experiment::agents::Cluster;

fn refusal(output: &Output) -> String {
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    message
}

#[test]
fn a_port_in_use_is_named_with_its_flag() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--http", "127.0.0.1:0"]);
    let status = cluster.agent("n1").status();
    let http = status.http.expect("turned on");
    for (flag, address) in [("--listen", &status.address), ("--http", &http)] {
        let message = refusal(&cluster.refused("n2", &[flag, address]));
        let expected = format!(
            "tidings-agent: {address} is in use by another program: stop it, or choose another \
             with {flag}\n"
        );
        assert_eq!(message, expected);
    }
}

#[test]
fn two_agents_never_share_a_runtime_directory() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    let (pid, runtime_dir) = {
        let agent = cluster.agent("n1");
        (agent.status().pid, agent.runtime_dir().display().to_string())
    };
    let message = refusal(&cluster.refused("n2", &["--name", "n1", "--runtime-dir", &runtime_dir]));
    let expected = format!("another agent (process {pid}) runs with the runtime directory");
    assert!(message.contains(&expected) && message.contains("--runtime-dir"), "{message}");
    assert_eq!(cluster.agent("n1").status().pid, pid, "the first is not disturbed");
}

#[test]
fn an_unwritable_runtime_directory_is_named_with_the_remedy() {
    let cluster = Cluster::new();
    let message = refusal(&cluster.refused("n1", &["--runtime-dir", "/dev/null/tidings"]));
    let expected = "tidings-agent: the runtime directory /dev/null/tidings cannot be written (";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn a_directory_that_anyone_can_write_is_not_a_runtime_directory() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let cluster = Cluster::new();
    let precious = cluster.write("precious", "precious");
    let open = cluster.path().join("n1");
    std::fs::create_dir(&open).expect("a fresh name");
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o1777)).expect("an own directory");
    symlink(&precious, open.join("agent.lock")).expect("writable");
    for flags in [&[][..], &["--check"]] {
        let message = refusal(&cluster.refused("n1", flags));
        assert!(message.contains("is writable by everyone (mode 1777)"), "{message}");
    }
    assert_eq!(std::fs::read_to_string(&precious).expect("still there"), "precious");
}

/// All but the socket for those who only read, and the directory in which it lies.
#[test]
fn files_of_an_agent_are_private() {
    use std::os::unix::fs::PermissionsExt;
    /// What all users may read; the board is there once there is something on it.
    const FOR_READERS: [&str; 2] = ["read.sock", "board"];
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    let directory = cluster.agent("n1").runtime_dir().to_owned();
    let files = std::fs::read_dir(&directory).expect("the runtime directory");
    let modes: Vec<_> = files
        .map(|file| file.expect("readable"))
        .filter(|file| !FOR_READERS.iter().any(|name| file.file_name() == *name))
        .map(|file| (file.file_name(), file.metadata().expect("there").permissions().mode()))
        .collect();
    assert_eq!(modes.len(), 3, "{modes:?}");
    assert!(modes.iter().all(|(_, mode)| mode % 0o10 == 0), "{modes:?}");
    let directory = directory.metadata().expect("there").permissions().mode();
    assert_eq!(directory & 0o777, 0o755);
}

#[test]
fn a_closed_pipe_does_not_panic() {
    use std::os::fd::OwnedFd;
    let cluster = Cluster::new();
    let gone = || {
        let (reader, writer) = std::os::unix::net::UnixStream::pair().expect("two sockets");
        drop(reader);
        OwnedFd::from(writer)
    };
    for (flags, code) in [(&["--check"][..], 0), (&["--check", "--interval", "5"], 2)] {
        let mut agent = cluster.command("n1", flags);
        let ended = agent.stdout(gone()).stderr(gone()).status().expect("the program starts");
        assert_eq!(ended.code(), Some(code), "{flags:?}");
    }
}

#[test]
fn beyond_loopback_only_with_a_key() {
    let cluster = Cluster::new();
    let message = refusal(&cluster.refused("n1", &["--listen", "0.0.0.0:0"]));
    assert!(message.contains("tidings keys generate --output FILE"), "{message}");
    assert!(message.contains("--keys FILE"), "{message}");
}

#[test]
fn a_roster_must_be_sound_and_name_this_node() {
    let cluster = Cluster::new();
    let message = refusal(&cluster.refused("n1", &["--roster", "n1=127.0.0.1:1,n1=127.0.0.1:2"]));
    assert!(message.contains("n1"), "{message}");
    let message = refusal(&cluster.refused("n1", &["--roster", "n2=127.0.0.1:1,n3=127.0.0.1:2"]));
    assert!(message.contains("the roster does not name this node"), "{message}");
}

#[test]
fn check_shows_every_setting_with_its_origin_and_leaves_nothing_behind() {
    let cluster = Cluster::new();
    let config = cluster.write("agent.toml", "window = 204\n");
    let mut command = cluster.command("n1", &["--config", &config, "--check"]);
    command.env("TIDINGS_MTU", "9000").env("TIDINGS_INTERVALL", "1s");
    let output = command.output().expect("the program starts");
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{report}");
    let row = |key: &str| {
        let row = report.lines().find(|line| line.split_whitespace().next() == Some(key));
        let row = row.unwrap_or_else(|| panic!("no {key} in {report}"));
        row.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row("interval"), "20ms flag");
    assert_eq!(row("mtu"), "9000 environment");
    assert_eq!(row("window"), format!("204 {config}:1:10"));
    assert_eq!(row("cluster"), "tidings default");
    assert!(report.contains("TIDINGS_INTERVALL is not a setting and is ignored"), "{report}");
    assert!(report.contains("the configuration is valid"), "{report}");
    assert!(!cluster.path().join("n1").exists());
}

#[test]
fn check_finds_the_errors_that_a_start_would() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    let taken = cluster.agent("n1").status().address;
    let long = cluster.path().join("x".repeat(100)).display().to_string();
    let roster = cluster.write("roster", "n1=127.0.0.1:1\nn2=127.0.0.1:2\nn3=127.0.0.1:3\n");
    for (flags, part) in [
        (&["--check", "--interval", "20"][..], "--interval 20: a duration needs a unit"),
        (&["--check", "--listen", &taken], "is in use by another program"),
        (&["--check", "--runtime-dir", "/dev/null/x"], "cannot be written"),
        (&["--check", "--runtime-dir", &long], "with a shorter path if this one is long"),
        (&["--check", "--keys", "/nowhere/keys"], "/nowhere/keys cannot be read"),
        (&["--check", "--roster", "n3=127.0.0.1:1"], "the roster does not name this node"),
        (&["--check", "--roster", "n[1-9]=x", "--max-nodes", "4"], "one address for a name"),
        (&["--check", "--roster", &roster, "--max-nodes", "2"], "3 nodes exceed max_nodes = 2"),
    ] {
        let message = refusal(&cluster.refused("n2", flags));
        assert!(message.contains(part), "{flags:?}: {message}");
    }
    let output = cluster.refused("n1", &["--check"]);
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "beside a running agent");
    assert!(report.contains("runs with this runtime directory"), "{report}");
}
