//! How much of a file system is free for users.

use std::path::Path;

use tidings_gossip::payload::MAX_KEY_BYTES;

use super::outcome::{Outcome, metrics};

/// What the name of a metric begins with.
const PREFIX: &str = "fs.";

/// The share, in per cent, of the file system that `path` lies on.
pub(super) fn read(path: &Path) -> Outcome {
    let system = rustix::fs::statvfs(path)
        .map_err(|error| format!("{} cannot be looked at ({error})", path.display()))?;
    Ok(metrics([(&key(path), percent(system.f_bavail, system.f_blocks))]))
}

/// Rounded down, so that 0 is shown where there may be none.
fn percent(free: u64, all: u64) -> Option<u64> {
    u64::try_from(u128::from(free) * 100 / u128::from(all.max(1))).ok().filter(|_| all > 0)
}

/// `fs.` and the path with `_` for what stands in no name: `fs.scratch`, `fs.data_home`.
fn key(path: &Path) -> String {
    let text = path.to_string_lossy().to_ascii_lowercase();
    let trimmed = text.trim_matches('/');
    let is_plain = |c: &char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.-".contains(*c);
    let name: String = trimmed
        .chars()
        .map(|c| if is_plain(&c) { c } else { '_' })
        .take(MAX_KEY_BYTES - PREFIX.len())
        .collect();
    format!("{PREFIX}{}", if name.is_empty() { "root" } else { &name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_share_is_that_of_the_system() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let read = read(folder.path()).expect("it is there");
        let [(name, value)] = &read.into_iter().collect::<Vec<_>>()[..] else { panic!("one") };
        assert!(name.starts_with("fs.tmp") || name.starts_with("fs."), "{name}");
        assert!(value.parse::<u64>().expect("a number") <= 100, "{value}");
        let gone = super::read(&folder.path().join("none")).expect_err("no such path");
        assert!(gone.contains("none cannot be looked at"), "{gone}");
    }

    #[test]
    fn names_and_shares_are_as_documented() {
        let long = format!("/{}", "x".repeat(60));
        for (path, name) in [
            ("/", "fs.root"),
            ("/scratch", "fs.scratch"),
            ("/Data/home dir/", "fs.data_home_dir"),
            (&long, &format!("fs.{}", "x".repeat(29))),
        ] {
            assert_eq!(key(Path::new(path)), name);
        }
        assert_eq!((percent(37, 100), percent(1, 200), percent(7, 0)), (Some(37), Some(0), None));
        assert_eq!(percent(u64::MAX, u64::MAX), Some(100));
    }
}
