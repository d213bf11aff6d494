//! A wall clock that a test sets, for programs that are started with words before their command.
//!
//! libfaketime stands between a program and the clock, for the wall clock alone: the monotonic one
//! goes on, as it does where somebody sets the date.

#![expect(clippy::missing_panics_doc, reason = "this is test code: every method asserts")]

use std::fs;
use std::path::{Path, PathBuf};

/// Nothing is added to what the machine's clock says.
pub const TRUE: &str = "+0";

/// A clock in a file.
#[derive(Debug)]
pub struct Clock(PathBuf);

impl Clock {
    /// A clock that is read from the file at `path`, which is made, and is right.
    pub fn at(path: PathBuf) -> Self {
        let clock = Self(path);
        clock.set(TRUE);
        clock
    }

    /// Sets it, from now on, so many seconds ahead (`+3600`) or back (`-3600`): the file is
    /// replaced, never half written.
    pub fn set(&self, shift: &str) {
        let beside = self.0.with_extension("next");
        fs::write(&beside, format!("{shift}\n")).expect("the test's own directory is writable");
        fs::rename(&beside, &self.0).expect("the test's own directory is writable");
    }

    /// The words before a command that goes by it, in mounts of its own.
    pub fn words(&self) -> Vec<String> {
        // What the library keeps in shared memory goes with the mounts of the host.
        let alone = r#"mount -t tmpfs none /dev/shm && exec "$@""#;
        let mut words = ["sh", "-c", alone, "sh", "env"].map(str::to_owned).to_vec();
        words.extend([
            format!("LD_PRELOAD={}", library().display()),
            format!("FAKETIME_TIMESTAMP_FILE={}", self.0.display()),
            "FAKETIME_NO_CACHE=1".to_owned(),
            "FAKETIME_DONT_FAKE_MONOTONIC=1".to_owned(),
            "DONT_FAKE_MONOTONIC=1".to_owned(),
        ]);
        words
    }
}

/// libfaketime, for programs with threads.
fn library() -> PathBuf {
    let of = |folder: fs::DirEntry| folder.path().join("faketime/libfaketimeMT.so.1");
    let folders = fs::read_dir(Path::new("/usr/lib")).expect("every system has it");
    let found = folders.filter_map(Result::ok).map(of).find(|path| path.exists());
    found.expect("libfaketime is missing: install Debian's package faketime")
}
