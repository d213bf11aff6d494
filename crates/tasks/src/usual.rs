//! What is used where nothing is said: the store, the keys, and the names of the cluster and the
//! host.
//!
//! All programs of a user find the same store without an option, whatever language they are
//! written in.

use std::env;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::store::address::{Address, AddressError};

/// The name of the cluster to which a store belongs.
pub const CLUSTER: &str = "tidings";

/// The environment variable that names the store.
pub const STORE: &str = "TIDINGS_STORE";

/// The environment variable that names the cluster's key file.
pub const KEYS: &str = "TIDINGS_KEYS";

/// Why there is no store where nothing is said. Nothing has changed but folders that were made.
#[derive(Debug, thiserror::Error)]
pub enum UsualError {
    /// The environment variable holds no address.
    #[error("{STORE}: {0}")]
    Address(#[from] AddressError),
    /// The environment variable is no text.
    #[error("{STORE} is no text in UTF-8: write file:PATH")]
    Text,
    /// There is no home to put it in.
    #[error("neither {STORE} nor HOME is set: name the store with {STORE}=file:PATH")]
    NoHome,
    /// The folder cannot be made.
    #[error("{} cannot be made ({source}): name another place with {STORE}=file:PATH", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// The store that `TIDINGS_STORE` names; else the file `tidings/tasks` in the folder of this user's
/// state (`$XDG_STATE_HOME`, else `~/.local/state`), which is made if need be, for this user only.
///
/// # Errors
/// Neither can be had.
pub fn store() -> Result<Address, UsualError> {
    match named(env::var_os(STORE))? {
        Some(address) => Ok(address),
        None => in_state(env::var_os("XDG_STATE_HOME"), env::var_os("HOME")),
    }
}

/// The cluster's key file that `TIDINGS_KEYS` names, if it names one.
pub fn keys() -> Option<PathBuf> {
    env::var_os(KEYS).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The name of this host: that of its agent's node, whose board is at this path; without an agent
/// that of the system.
pub fn host(board: &Path) -> String {
    match tidings_nodes::board::nodes(board) {
        Ok(nodes) => nodes.observer,
        Err(_) => rustix::system::uname().nodename().to_string_lossy().into_owned(),
    }
}

/// Where copies of blobs of other hosts lie: `tidings/blobs` in the folder of this user's caches
/// (`$XDG_CACHE_HOME`, else `~/.cache`), else in the folder for temporary files. All of it but
/// `blobs` is made, for this user only.
pub fn cache() -> PathBuf {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    let folder = caches.unwrap_or_else(env::temp_dir).join("tidings");
    // If it cannot be made, those who put something there find out.
    let _ = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    folder.join("blobs")
}

/// The store that is named, if one is.
fn named(text: Option<OsString>) -> Result<Option<Address>, UsualError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let text = text.into_string().map_err(|_| UsualError::Text)?;
    Ok(Some(text.parse()?))
}

fn in_state(state: Option<OsString>, home: Option<OsString>) -> Result<Address, UsualError> {
    let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
    let state = state
        .and_then(absolute)
        .or_else(|| home.and_then(absolute).map(|home| home.join(".local/state")))
        .ok_or(UsualError::NoHome)?;
    let path = state.join("tidings");
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
    made.map_err(|source| UsualError::Folder { path: path.clone(), source })?;
    Ok(Address::File(path.join("tasks")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_store_lies_in_the_folder_of_the_users_state() {
        let folder = tempfile::tempdir().unwrap();
        let text = |path: &str| Some(folder.path().join(path).into_os_string());
        let file = |path: &str| Address::File(folder.path().join(path));
        assert_eq!(in_state(text("state"), text("home")).unwrap(), file("state/tidings/tasks"));
        assert_eq!(in_state(None, text("h")).unwrap(), file("h/.local/state/tidings/tasks"));
        assert_eq!(
            in_state(Some("s".into()), text("h")).unwrap(),
            file("h/.local/state/tidings/tasks")
        );
        let mode = folder.path().join("state/tidings").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(matches!(in_state(None, None), Err(UsualError::NoHome)));
    }

    #[test]
    fn a_name_in_the_environment_comes_first_and_must_be_an_address() {
        assert_eq!(named(Some("file:/x".into())).unwrap(), Some(Address::File("/x".into())));
        assert_eq!(named(Some("".into())).unwrap(), None);
        let error = named(Some("/x".into())).unwrap_err().to_string();
        assert!(error.starts_with("TIDINGS_STORE: `/x` is no store"), "{error}");
    }
}
