//! Where shared blobs lie: in memory, in a folder for each user and store.
//!
//! One folder has the blobs of one store: what no tuple of that store names is freed. All of a
//! user's programs that use a store by one address have one folder, so any of them serves what
//! another has put.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::holder;
use crate::blobs::{BlobError, Handle};
use crate::store::address::Address;

/// The environment variable that names the folder of all such folders.
pub const FOLDER: &str = "TIDINGS_SHARED";

/// What the folders begin with of stores that are in the memory of one process.
const OWN: &str = "own-";

/// A folder that goes with its process, as its store does.
#[derive(Debug)]
pub(super) struct Passing(PathBuf);

impl Passing {
    /// The folder of a store, if that is in the memory of this process.
    pub(super) fn of(address: &Address, folder: &Path) -> Option<Self> {
        matches!(address, Address::Memory).then(|| Self(folder.to_owned()))
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        // What cannot be removed is when another process begins.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The folder of the shared blobs of a store: below `$TIDINGS_SHARED`, else below
/// `/dev/shm/tidings-UID`, else below the folder for temporary files. What is above it is made, for
/// this user alone.
///
/// # Errors
/// It cannot be made, or others may change it.
pub fn usual(address: &Address) -> Result<PathBuf, BlobError> {
    let named = env::var_os(FOLDER).map(PathBuf::from).filter(|path| path.is_absolute());
    let root = named.unwrap_or_else(|| {
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_owned() } else { env::temp_dir() };
        place.join(format!("tidings-{}", rustix::process::geteuid().as_raw()))
    });
    below(&root, address)
}

fn below(root: &Path, address: &Address) -> Result<PathBuf, BlobError> {
    make(root).map_err(|error| BlobError::file(root, &error))?;
    sweep(root);
    let name = match address {
        Address::Memory => format!("{OWN}{}", random()?),
        Address::File(file) => {
            let file = fs::canonicalize(file).unwrap_or_else(|_| file.clone());
            of_text(&format!("file:{}", file.display()))
        }
        other => of_text(&other.to_string()),
    };
    Ok(root.join(name))
}

fn of_text(address: &str) -> String {
    Handle::of(address.as_bytes()).hex()[..16].to_owned()
}

fn random() -> Result<String, BlobError> {
    crate::client::random_name().map_err(|error| BlobError::file(Path::new(OWN), &error))
}

/// Makes a folder for this user alone, and takes none that another may change.
fn make(root: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(root) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = fs::symlink_metadata(root)?;
    let is_own = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    let of_others = found.mode() & 0o077;
    if is_own && of_others == 0 {
        return Ok(());
    }
    let why = format!("it is no folder that you alone may use; name another one with {FOLDER}");
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// Removes what processes that were killed have left of stores that have gone with them.
fn sweep(root: &Path) {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(OWN)) {
        // One that begins just now has no file yet by which it could be told from what is left.
        let is_new = entry
            .metadata()
            .and_then(|found| found.modified())
            .is_ok_and(|made| made.elapsed().map_or(true, |age| age < super::GRACE));
        if !is_new && !holder::is_used(&entry.path()) {
            // What cannot be removed may be the next time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn each_store_has_a_folder_of_its_own() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().join("shared");
        let of = |text: &str| below(&root, &text.parse().unwrap()).unwrap();
        assert_eq!(of("file:/no/such/file"), of("file:/no/such/file"));
        assert_ne!(of("file:/no/such/file"), of("file:/no/such/other"));
        assert_ne!(of("tcp://node1:7000"), of("tcp://node2:7000"));
        assert_ne!(of("memory:"), of("memory:"));
        assert_eq!(root.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_folder_that_others_may_change_is_not_used() {
        let root = tempfile::tempdir().unwrap();
        let open = root.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o770)).unwrap();
        let error = below(&open, &Address::Memory).unwrap_err().to_string();
        assert!(error.contains("that you alone may use"), "{error}");
        let link = root.path().join("link");
        std::os::unix::fs::symlink(&open, &link).unwrap();
        assert!(below(&link, &Address::Memory).is_err());
    }
}
