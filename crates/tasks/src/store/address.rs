//! Addresses: where a store is, as people write it.
//!
//! | address | engine |
//! |---|---|
//! | `file:PATH` | [embedded]: a file, which one process holds |
//! | `memory:` | [memory](super::memory): gone with the process |
//! | `tcp://HOST:PORT` | that of the process which listens there ([net](crate::net)) |
//! | `etcd://HOST:PORT,.../PREFIX` | [etcd]: its servers, which many processes use |
//! | `block:NAME@ADDRESS` | [block](super::block): the memory of the processes that use it |
//!
//! A program that is built without the feature `etcd` knows the others only.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use super::Store;
use super::embedded::{self, Embedded};
#[cfg(feature = "etcd")]
use super::etcd::{self, Etcd};
use super::memory::Memory;
use crate::net::endpoint::{Endpoint, EndpointError};

/// Where a store is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// In this file.
    File(PathBuf),
    /// In the memory of the process that opens it.
    Memory,
    /// With the process that listens there.
    Tcp(Endpoint),
    /// In this etcd.
    #[cfg(feature = "etcd")]
    Etcd(etcd::Place),
    /// In the memory of the processes that use it.
    Block {
        /// Its name among them.
        name: String,
        /// The store in which they find each other: an etcd, or one that another process has open.
        views: Box<Address>,
    },
}

/// What is no address.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddressError {
    /// It has none of the known beginnings, or nothing after it.
    #[error(
        "`{0}` is no store: write file:PATH, tcp://HOST:PORT, etcd://HOST:PORT/PREFIX, \
         block:NAME@ADDRESS, or memory: for one that ends with its process"
    )]
    Unknown(String),
    /// It names no place on a network.
    #[error("tcp: {0}")]
    Tcp(#[from] EndpointError),
    /// It names no place in an etcd.
    #[cfg(feature = "etcd")]
    #[error("`{0}` is no store in etcd: {1}")]
    Etcd(String, etcd::PlaceError),
    /// It names no store in the memory of processes.
    #[error(
        "`{0}` is no store in memory: write block:NAME@STORE, where its processes find each other \
         in STORE: file:PATH of one that runs here, tcp://HOST:PORT, or etcd://HOST:PORT/PREFIX"
    )]
    Block(String),
    /// The program knows no etcd.
    #[cfg(not(feature = "etcd"))]
    #[error("`{0}`: this program was built without the feature `etcd`; use file:PATH")]
    Etcd(String),
}

/// Why a store was not opened. Nothing has changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] embedded::OpenError),
    /// The etcd cannot be used.
    #[cfg(feature = "etcd")]
    #[error(transparent)]
    Etcd(#[from] etcd::OpenError),
    /// Other processes, or the store in which they find each other, cannot be reached now.
    #[error("{place}: {why}")]
    Apart {
        /// The store.
        place: String,
        /// What was noticed.
        why: String,
    },
    /// It cannot be had.
    #[error("{place}: {why}")]
    Refused {
        /// The store.
        place: String,
        /// Why.
        why: String,
    },
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Memory => f.write_str("memory:"),
            Self::Tcp(at) => write!(f, "tcp://{at}"),
            #[cfg(feature = "etcd")]
            Self::Etcd(place) => place.fmt(f),
            Self::Block { name, views } => write!(f, "block:{name}@{views}"),
        }
    }
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
            "tcp" => {
                let place = rest.strip_prefix("//").ok_or_else(unknown)?;
                Ok(Self::Tcp(place.parse()?))
            }
            "block" => Self::in_memory(rest).ok_or_else(|| AddressError::Block(text.into())),
            "etcd" => Self::in_etcd(text, rest.strip_prefix("//").ok_or_else(unknown)?),
            _ => Err(unknown()),
        }
    }
}

impl Address {
    /// Whether many processes have it open at a time, of which one serves it.
    pub fn is_shared(&self) -> bool {
        match self {
            Self::File(_) | Self::Memory | Self::Tcp(_) => false,
            #[cfg(feature = "etcd")]
            Self::Etcd(_) => true,
            Self::Block { .. } => true,
        }
    }

    /// Whether processes of other hosts may use it by this address.
    pub fn is_of_hosts(&self) -> bool {
        match self {
            Self::File(_) | Self::Memory => false,
            Self::Tcp(_) => true,
            #[cfg(feature = "etcd")]
            Self::Etcd(_) => true,
            Self::Block { views, .. } => views.is_of_hosts(),
        }
    }

    /// Where others are reached on the way to it, as `HOST:PORT`.
    pub(crate) fn ways(&self) -> Vec<String> {
        match self {
            Self::File(_) | Self::Memory => Vec::new(),
            Self::Tcp(at) => vec![at.to_string()],
            #[cfg(feature = "etcd")]
            Self::Etcd(servers) => servers.servers().to_vec(),
            Self::Block { views, .. } => views.ways(),
        }
    }

    fn in_memory(text: &str) -> Option<Self> {
        let (name, views) = text.split_once('@').filter(|(name, _)| !name.is_empty())?;
        let views: Self = views.parse().ok()?;
        // In these nobody finds another process.
        let is_apart = matches!(views, Self::Memory | Self::Block { .. });
        (!is_apart).then(|| Self::Block { name: name.to_owned(), views: Box::new(views) })
    }

    #[cfg(feature = "etcd")]
    fn in_etcd(text: &str, place: &str) -> Result<Self, AddressError> {
        place.parse().map(Self::Etcd).map_err(|error| AddressError::Etcd(text.into(), error))
    }

    #[cfg(not(feature = "etcd"))]
    fn in_etcd(text: &str, _: &str) -> Result<Self, AddressError> {
        Err(AddressError::Etcd(text.into()))
    }

    /// Opens the store of a cluster there, or makes it. Takes long after a crash; other tasks go on
    /// meanwhile.
    ///
    /// # Errors
    /// Nothing has changed. That of another process is not opened: a
    /// [`Member`](crate::member::Member) follows it.
    pub async fn open(&self, cluster: &str) -> Result<Arc<dyn Store>, OpenError> {
        let path = match self {
            Self::Memory => return Ok(Arc::new(Memory::default())),
            Self::File(path) => path.clone(),
            Self::Tcp(at) => {
                let (path, why) = (format!("tcp://{at}").into(), "another process holds it".into());
                return Err(embedded::OpenError::File { path, why }.into());
            }
            #[cfg(feature = "etcd")]
            Self::Etcd(place) => return Ok(Arc::new(Etcd::open(place, cluster).await?)),
            Self::Block { .. } => {
                let why = "only those who take part in it can read it".to_owned();
                return Err(OpenError::Refused { place: self.to_string(), why });
            }
        };
        let cluster = cluster.to_owned();
        let opened = crate::spawn::spawn_blocking(move || Embedded::open(&path, &cluster));
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
        for text in ["file:/var/tasks", "memory:", "tcp://node7:4000"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for text in ["", "tasks", "file:", "file:folder/", "memory:x", "http://a"] {
            assert_eq!(text.parse::<Address>(), Err(AddressError::Unknown(text.into())));
        }
        let etcd = "etcd://a b".parse::<Address>().unwrap_err();
        assert!(matches!(etcd, AddressError::Etcd(..)), "{etcd}");
    }

    #[test]
    fn a_store_in_memory_has_a_name_and_one_in_which_its_processes_meet() {
        for text in ["block:a@tcp://node7:4000", "block:a@file:/var/tasks"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for text in ["a", "@tcp://node7:4000", "a@memory:", "a@block:b@file:c", "a@", "a@b"] {
            let text = format!("block:{text}");
            assert_eq!(text.parse::<Address>(), Err(AddressError::Block(text.clone())));
        }
    }

    #[cfg(feature = "etcd")]
    #[test]
    fn an_etcd_has_a_place_for_each_store() {
        let address = "etcd://a:2379,b/prod".parse::<Address>().unwrap();
        assert_eq!(address, Address::Etcd("a,b:2379/prod".parse().unwrap()));
        assert!(matches!("etcd:a".parse::<Address>(), Err(AddressError::Unknown(_))));
    }
}
