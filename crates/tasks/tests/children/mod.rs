//! Children: what has to die, or to have little space, is this program again, asked for one "test"
//! that does nothing unless it was started by [`child`].

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of it")]

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The folder in which a child works.
const FOLDER: &str = "TIDINGS_TEST_CHILD";

/// Mounts a disk of a size, in the words of mount(8), at a child's folder, for the child alone.
const ON_A_DISK: &str =
    "mount -t tmpfs -o size=\"$0\" small \"$TIDINGS_TEST_CHILD\" && exec \"$@\"";

/// This program, to do one thing only.
pub fn child(of: &str, folder: &Path) -> Child {
    started(Command::new(own()), of, folder)
}

/// The same, on a disk of its own that is small.
pub fn child_on_a_disk(of: &str, folder: &Path, size: &str) -> Child {
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", ON_A_DISK, size]).arg(own());
    started(command, of, folder)
}

/// A child that is killed when this is dropped, and whose input ends then.
pub struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// This program, to do one thing only with a value of the environment, once it has said a word.
pub fn child_that_says(of: &str, value: (&str, &OsStr), word: &str) -> Killed {
    let mut command = Command::new(own());
    command.args(["--exact", of, "--nocapture"]).env(value.0, value.1);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let printed = BufReader::new(child.stdout.take().expect("it is piped"));
    let has = printed.lines().map_while(Result::ok).any(|line| line.contains(word));
    assert!(has, "the process ended before it said: {word}");
    Killed(child)
}

/// The folder of a child; none if this program was not started as one.
pub fn folder_of_child() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

/// Lines of a child after a word.
pub fn lines(child: &mut Child, word: &'static str) -> impl Iterator<Item = String> + use<> {
    let out = BufReader::new(child.stdout.take().expect("it is piped"));
    let lines = out.lines().map_while(Result::ok);
    lines.filter_map(move |line| line.split_once(word).map(|(_, rest)| rest.to_owned()))
}

fn own() -> PathBuf {
    std::env::current_exe().expect("a running program has a path")
}

fn started(mut command: Command, of: &str, folder: &Path) -> Child {
    command.args(["--exact", of, "--nocapture", "--test-threads=1"]).env(FOLDER, folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it can be started")
}
