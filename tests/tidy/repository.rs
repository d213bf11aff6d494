//! The repository as the rules see it: its files, their text, the help that its binaries print.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is built, fetched or generated here, and so not a source.
const NOT_SOURCES: [&str; 5] = ["target", ".git", "fuzz/corpus", "fuzz/artifacts", "__pycache__"];

/// The folder with the workspace's Cargo.toml.
pub(crate) fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("the tests package lies in the repository").to_owned()
}

/// All source files, relative to the root, sorted.
pub(crate) fn files() -> Vec<String> {
    let mut found = Vec::new();
    walk(&root(), Path::new(""), &mut found);
    found.sort();
    found
}

/// The source files whose name ends so.
pub(crate) fn files_ending(suffix: &str) -> Vec<String> {
    files().into_iter().filter(|file| file.ends_with(suffix)).collect()
}

/// The text of a file of the repository.
pub(crate) fn text(file: &str) -> String {
    read_if_there(file).unwrap_or_else(|| panic!("{file} is missing or is not text: write it"))
}

/// The text of a file; the empty text for a folder or a picture; `None` for what is not there.
pub(crate) fn read_if_there(file: &str) -> Option<String> {
    let path = root().join(file);
    let without_text = path.is_dir() || path.extension().is_some_and(|ending| ending == "png");
    if without_text && path.exists() { Some(String::new()) } else { fs::read_to_string(path).ok() }
}

/// Whether a file of the repository may be run.
pub(crate) fn is_executable(file: &str) -> bool {
    fs::metadata(root().join(file)).is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

/// What `tidings ARGS --help` prints; `None` if it refuses.
pub(crate) fn help_of_tidings(args: &[&str]) -> Option<String> {
    let binary = binaries().join("tidings");
    let output = Command::new(&binary).args(args).arg("--help").output().unwrap_or_else(|error| {
        panic!("{}: {error}; `make test` builds it and sets TIDINGS_BIN_DIR", binary.display())
    });
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Where the binaries are: `TIDINGS_BIN_DIR`, else beside this test's own folder.
fn binaries() -> PathBuf {
    env::var_os("TIDINGS_BIN_DIR").map_or_else(
        || {
            let test = env::current_exe().expect("a running test has a path");
            let profile = test.parent().and_then(Path::parent);
            profile.expect("cargo puts tests into PROFILE/deps").to_owned()
        },
        PathBuf::from,
    )
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<String>) {
    let entries = fs::read_dir(root.join(folder)).expect("a folder of the repository is readable");
    for entry in entries {
        let entry = entry.expect("a folder of the repository is readable");
        let relative = folder.join(entry.file_name());
        if NOT_SOURCES.iter().any(|skipped| relative.ends_with(skipped)) {
            continue;
        }
        if entry.file_type().expect("a listed file has a type").is_dir() {
            walk(root, &relative, found);
        } else {
            found.push(relative.to_string_lossy().into_owned());
        }
    }
}
