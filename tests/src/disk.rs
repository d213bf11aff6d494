//! A disk so small that a test can fill it.
//!
//! It is a file system in memory, mounted on a directory of the test's own, and goes with the
//! [`Disk`]. Wants root, as hosts do.

#![expect(clippy::missing_panics_doc, reason = "this is test code: every method asserts")]

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};

/// The file that takes all the room.
const BALLAST: &str = "ballast";
/// What a file system in memory gives away at a time.
const PAGE: [u8; 4_096] = [0; 4_096];

/// A small disk.
#[derive(Debug)]
pub struct Disk {
    path: PathBuf,
}

impl Disk {
    /// Mounts a disk of so many KiB at `path`, which is made.
    pub fn at(path: &Path, kib: u32) -> Self {
        fs::create_dir_all(path).expect("the test's own directory is writable");
        let options = format!("size={kib}k,mode=0755");
        let mounted =
            mount(Some("tmpfs"), path, Some("tmpfs"), MsFlags::empty(), Some(options.as_str()));
        mounted.expect("root may mount a file system in memory");
        Self { path: path.to_owned() }
    }

    /// Gives the disk another size, in KiB.
    pub fn resize(&self, kib: u32) {
        let options = format!("size={kib}k,mode=0755");
        let nothing: Option<&str> = None;
        mount(nothing, &self.path, nothing, MsFlags::MS_REMOUNT, Some(options.as_str()))
            .expect("it is mounted");
    }

    /// Takes all the room there is left.
    pub fn fill(&self) {
        let ballast = OpenOptions::new().create(true).append(true).open(self.path.join(BALLAST));
        let mut ballast = ballast.expect("a name takes no room");
        loop {
            match ballast.write_all(&PAGE) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => return,
                Err(error) => panic!("a disk that is not full refuses to be: {error}"),
            }
        }
    }

    /// Gives the room back.
    pub fn free(&self) {
        fs::remove_file(self.path.join(BALLAST)).expect("it was filled");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = umount2(&self.path, MntFlags::MNT_DETACH); // whoever has files there may keep them
    }
}
