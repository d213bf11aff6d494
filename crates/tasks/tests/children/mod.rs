//! Children: what has to die, or to have little space, is this program again, asked for one "test"
//! that does nothing unless it was started by [`child`].

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of it")]

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
