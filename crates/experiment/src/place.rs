//! The directory of a run: made for it, with a sign that it is the lab's, and gone after it.
//!
//! A lab that is killed leaves the directory of its run behind, and its processes, whose launcher
//! waits for them still. Both are cleared away when the campaign goes on.
//!
//! Invariants: what has not the lab's sign is left alone, whatever it is called; a link is never
//! followed, neither as a directory nor inside of one.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::run::end_all_in;

/// What the names of these directories begin with.
const PREFIX: &str = "run-";
/// The sign: an empty file in each of them.
const SIGN: &str = ".tidings-lab-run";

/// Makes the directory of a run in the folder of a campaign.
///
/// # Errors
/// What the system says; nothing is left behind.
pub fn make(folder: &Path) -> io::Result<TempDir> {
    let place = TempDir::with_prefix_in(PREFIX, folder)?;
    File::create_new(place.path().join(SIGN))?;
    Ok(place)
}

/// What a lab that was killed has left.
#[derive(Debug, PartialEq, Eq)]
pub struct Left {
    /// The directory of its run.
    pub path: PathBuf,
    /// How many processes of that run were ended.
    pub ended: usize,
    /// Why the directory is there still, if it is.
    pub refused: Option<String>,
}

/// Clears away what labs that were killed have left in a folder, of which no other makes use now.
/// Processes have this long to end by themselves.
///
/// # Errors
/// What the system says if the folder cannot be read.
pub fn clear(folder: &Path, farewell: Option<Duration>) -> io::Result<Vec<Left>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let is_named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        // The kind of the entry itself: that of a link is a link.
        if is_named && entry.file_type()?.is_dir() && is_signed(&path) {
            let ended = end_all_in(&path, farewell);
            let refused = fs::remove_dir_all(&path).err().map(|error| error.to_string());
            all.push(Left { path, ended, refused });
        }
    }
    Ok(all)
}

fn is_signed(path: &Path) -> bool {
    path.join(SIGN).symlink_metadata().is_ok_and(|sign| sign.is_file())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_has_the_sign_goes_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let elsewhere = tempfile::tempdir().expect("a temporary directory");
        fs::write(elsewhere.path().join(SIGN), "").expect("ours");
        fs::write(elsewhere.path().join("kept"), "").expect("ours");
        let own = make(folder.path()).expect("there is room").keep();
        symlink(elsewhere.path(), own.join("inside")).expect("ours");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("run-tables")).expect("ours");
        fs::write(at("run-notes"), "").expect("ours");
        symlink(elsewhere.path(), at("run-linked")).expect("ours");
        fs::create_dir(at("run-sign")).expect("ours");
        symlink(elsewhere.path().join(SIGN), at("run-sign").join(SIGN)).expect("ours");
        let left = clear(folder.path(), None).expect("it can be read");
        assert_eq!(left, [Left { path: own.clone(), ended: 0, refused: None }]);
        assert!(!own.exists());
        for name in ["run-tables", "run-notes", "run-linked", "run-sign"] {
            assert!(at(name).symlink_metadata().is_ok(), "{name}");
        }
        assert!(elsewhere.path().join("kept").exists(), "what a link led to");
        assert_eq!(clear(folder.path(), None).expect("it can be read"), []);
    }
}
