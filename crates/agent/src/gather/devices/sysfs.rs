//! Files of the kernel that hold a number, in folders of devices.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// No file with a number is longer.
const NUMBER_BYTES: u64 = 64;

/// The number in a file; `None` where it is missing, unreadable or none.
pub(super) fn number(path: &Path) -> Option<u64> {
    let mut text = String::new();
    File::open(path).ok()?.take(NUMBER_BYTES).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// What lies in a folder, in order, if its name is meant; nothing if there is none.
pub(super) fn folders(folder: &Path, is_meant: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_meant(name)).collect();
    names.sort_unstable();
    names.into_iter().map(|name| folder.join(name)).collect()
}

/// Whether a name is this word and a number, as `card0`.
pub(super) fn is_numbered(name: &str, word: &str) -> bool {
    let number = name.strip_prefix(word).unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// The sum of numbers; `None` if there is none.
pub(super) fn sum(numbers: impl IntoIterator<Item = Option<u64>>) -> Option<u64> {
    numbers.into_iter().flatten().fold(None, |sum, number| {
        let so_far: u64 = sum.unwrap_or_default();
        Some(so_far.saturating_add(number))
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Files below a new root, as `(path, text)`.
    pub(in super::super) fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a temporary directory");
        for (path, text) in files {
            let path = root.path().join(path);
            let folder = path.parent().expect("below the root");
            std::fs::create_dir_all(folder).expect("writable");
            std::fs::write(&path, text).expect("writable");
        }
        root
    }

    #[test]
    fn only_numbers_are_read() {
        let root = tree(&[("a", "12\n"), ("b", "n/a\n"), ("c", "-3\n"), ("d", "")]);
        let read = |name| number(&root.path().join(name));
        assert_eq!(
            [read("a"), read("b"), read("c"), read("d"), read("e")],
            [Some(12), None, None, None, None]
        );
        assert_eq!(sum([Some(1), None, Some(u64::MAX)]), Some(u64::MAX));
        assert_eq!(sum([None, None]), None);
        assert!(is_numbered("card12", "card") && !is_numbered("card0-DP-1", "card"));
        assert!(!is_numbered("card", "card"));
    }
}
