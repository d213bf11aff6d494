//! Addresses: where a store is, as people write it.
//!
//! | address | engine |
//! |---|---|
//! | `file:PATH` | [embedded](super::embedded): a file, which one process holds |
//! | `memory:` | [memory](super::memory): gone with the process |
//! | `etcd://HOST:PORT,...` | not built in yet |

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use super::Store;
use super::embedded::{Embedded, OpenError};
use super::memory::Memory;

/// Where a store is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// In this file.
    File(PathBuf),
    /// In the memory of the process that opens it.
    Memory,
}

/// What is no address.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddressError {
    /// It has none of the known beginnings, or nothing after it.
    #[error("`{0}` is no store: write file:PATH, or memory: for one that ends with its process")]
    Unknown(String),
    /// Servers are not supported yet.
    #[error("`{0}`: stores in etcd are not built in yet; use file:PATH")]
    Etcd(String),
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let unknown = || AddressError::Unknown(text.into());
        let (scheme, rest) = text.split_once(':').ok_or_else(unknown)?;
        match scheme {
            // With two slashes it names a host as well, which can only be this one.
            "file" => {
                let path = rest.strip_prefix("//").unwrap_or(rest);
                let named = !path.is_empty() && !path.ends_with('/');
                let file = || Self::File(Path::new(path).into());
                named.then(file).ok_or_else(unknown)
            }
            "memory" if rest.is_empty() => Ok(Self::Memory),
            "etcd" => Err(AddressError::Etcd(text.into())),
            _ => Err(unknown()),
        }
    }
}

impl Address {
    /// Opens the store of a cluster there, or makes it. Takes long after a crash; other tasks go on
    /// meanwhile.
    ///
    /// # Errors
    /// Nothing has changed.
    pub async fn open(&self, cluster: &str) -> Result<Arc<dyn Store>, OpenError> {
        let path = match self {
            Self::Memory => return Ok(Arc::new(Memory::default())),
            Self::File(path) => path.clone(),
        };
        let cluster = cluster.to_owned();
        let opened = tokio::task::spawn_blocking(move || Embedded::open(&path, &cluster));
        match opened.await {
            Ok(opened) => Ok(Arc::new(opened?)),
            Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_an_engine_and_a_place() {
        let file = |path: &str| Ok(Address::File(path.into()));
        for (text, address) in [
            ("file:tasks", file("tasks")),
            ("file:/var/tasks", file("/var/tasks")),
            ("file:///var/tasks", file("/var/tasks")),
            ("memory:", Ok(Address::Memory)),
        ] {
            assert_eq!(text.parse(), address);
        }
        for text in ["", "tasks", "file:", "file:folder/", "memory:x", "http://a"] {
            assert_eq!(text.parse::<Address>(), Err(AddressError::Unknown(text.into())));
        }
        let etcd = "etcd://a:2379".parse::<Address>().unwrap_err();
        assert!(etcd.to_string().contains("not built in yet"));
    }
}
