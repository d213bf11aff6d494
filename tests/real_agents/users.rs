//! Ordinary users of the machine: they may read, and only the operator's group may change anything.
//!
//! These tests run as root, as CI does: each program is started as another user.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tidings_control::{reading_socket_path, socket_path};
use tidings_experiment::agents::{Cluster, programs};

/// The user nobody, and a group that nobody else has here.
const NOBODY: u32 = 65_534;
const OPERATORS: u32 = 64_321;

/// A copy of `tidings` that every user may execute, in a folder that every user may enter.
fn installed(cluster: &Cluster) -> PathBuf {
    fs::set_permissions(cluster.path(), fs::Permissions::from_mode(0o711)).expect("ours");
    let copy = cluster.path().join("tidings");
    let mut install = Command::new("install");
    install.args(["-m", "755"]).arg(programs().join("tidings")).arg(&copy);
    assert!(install.status().expect("coreutils are there").success());
    copy
}

/// `tidings` as this user and group, and no other.
fn run_as(program: &Path, group: u32, directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.uid(NOBODY).gid(group).env("TIDINGS_RUNTIME_DIR", directory).args(arguments);
    command.current_dir("/").output().expect("it can be executed")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

#[test]
fn every_user_reads_and_the_operators_group_changes() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    cluster.join("n2", "n1", &[]);
    cluster.until_known(&["n1"], 2);
    let program = installed(&cluster);
    let directory = cluster.agent("n1").runtime_dir().to_owned();
    for arguments in [
        &["nodes"][..],
        &["show", "n2"],
        &["status"],
        &["pick"],
        &["top"],
        &["nodes", "--where", "cores > 0"],
    ] {
        let output = run_as(&program, NOBODY, &directory, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    }
    // On a loaded machine rounds may be late, and then it is not well.
    cluster.until("who is nobody reads that n1 is well", |_| {
        run_as(&program, NOBODY, &directory, &["health"]).status.success().then_some(())
    });
    let status = said(&run_as(&program, NOBODY, &directory, &["status"]));
    let socket = reading_socket_path(&directory).display().to_string();
    assert!(status.lines().any(|line| line.ends_with(&socket)), "{status}");
    let refused = run_as(&program, NOBODY, &directory, &["publish", "gpu=3"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("this is for the operator"), "{}", said(&refused));
    chown(socket_path(&directory), None, Some(OPERATORS)).expect("root may");
    let published = run_as(&program, OPERATORS, &directory, &["publish", "gpu=3"]);
    assert!(published.status.success(), "{}", said(&published));
}

#[test]
fn a_setting_keeps_strangers_out() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &["--readers", "group"]);
    let program = installed(&cluster);
    let directory = cluster.agent("n1").runtime_dir().to_owned();
    let refused = run_as(&program, NOBODY, &directory, &["status"]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(said(&refused).contains("may not be opened by this user"), "{}", said(&refused));
    for socket in [socket_path(&directory), reading_socket_path(&directory)] {
        chown(socket, None, Some(OPERATORS)).expect("root may");
    }
    assert!(run_as(&program, OPERATORS, &directory, &["status"]).status.success());
}

/// The umask of whoever starts the agent changes nothing of who may read.
#[test]
fn the_directory_has_its_mode_whatever_the_umask() {
    let mut cluster = Cluster::new();
    let place = ["sh", "-c", "umask 077 && exec \"$@\"", "sh"].map(str::to_owned);
    let directory = cluster.start_on(&place, "n1", &["--board", "on"]).runtime_dir().to_owned();
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o755);
    let board = directory.join("board");
    cluster.until("there is a board", |_| board.exists().then_some(()));
    assert_eq!(mode(&board), 0o644);
    assert_eq!(mode(&reading_socket_path(&directory)), 0o666);
}

/// A user who watches again and again takes places from himself.
#[test]
fn watchers_of_one_user_keep_nobody_else_out() {
    let mut cluster = Cluster::new();
    cluster.start("n1", &[]);
    let program = installed(&cluster);
    let directory = cluster.agent("n1").runtime_dir().to_owned();
    let watch = || {
        let mut command = Command::new(&program);
        command.uid(NOBODY).gid(NOBODY).env("TIDINGS_RUNTIME_DIR", &directory).arg("watch");
        command.current_dir("/").stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().expect("it can be executed")
    };
    let mut watchers: Vec<Child> = (0..17).map(|_| watch()).collect();
    let refused = cluster.until("one is refused", |_| {
        watchers.iter_mut().position(|one| one.try_wait().expect("a child").is_some())
    });
    let refused = watchers.remove(refused).wait_with_output().expect("it has ended");
    assert!(said(&refused).contains("watchers are there already"), "{}", said(&refused));
    let _own = cluster.agent("n1").client().watch().expect("there is a place for root");
    cluster.until("one of the others has given way", |_| {
        watchers.iter_mut().any(|one| one.try_wait().expect("a child").is_some()).then_some(())
    });
    for mut watcher in watchers {
        let _ = watcher.kill(); // it may have ended
        let _ = watcher.wait();
    }
}
