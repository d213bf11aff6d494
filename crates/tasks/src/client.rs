//! Clients: what a program that uses a store has of it.
//!
//! A member, which holds the store while nobody else does; a session, which asks and is answered;
//! and a place for payloads that are too long for a record.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tidings_board::{agent_dir, board_path};
use tidings_primitives::{KeyError, KeyRing};
use tidings_tasks_core::detector::Detector;
use tidings_tasks_core::reign::Candidate;
use tokio::sync::mpsc;

use crate::blobs;
use crate::member::{Member, Network};
use crate::net::endpoint::Endpoint;
use crate::payloads::Payloads;
use crate::service::Options;
use crate::session::{Notice, Session};
use crate::store::address::Address;
use crate::usual;

/// A store, how it is reached, and the board by which its tasks are placed.
#[derive(Clone, Debug)]
pub struct Place {
    /// The store.
    pub address: Address,
    /// The file of the cluster's keys, if one was named.
    pub keys: Option<PathBuf>,
    /// The cluster's keys, for stores on other hosts.
    pub ring: KeyRing,
    /// Where processes of other hosts reach this one while it holds the store.
    pub listen: Option<Endpoint>,
    /// Where all blobs of the store lie, if this host can reach that: the folder beside a file; for
    /// an etcd one that all hosts share.
    pub blobs: Option<PathBuf>,
    /// The board of this host's agent.
    pub board: PathBuf,
    /// What decides, while this process serves the store, that a silent session has ended.
    pub detector: Detector,
}

/// Why the cluster's keys cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The file cannot be read.
    #[error("key file {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is no key file.
    #[error("key file {}: {source}", path.display())]
    Ring {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: KeyError,
    },
}

/// A program that uses a store.
#[derive(Debug)]
pub struct Client {
    /// It serves the store while nobody else does.
    pub member: Arc<Member>,
    /// What asks.
    pub session: Session,
    /// Payloads and results that are too long for a record.
    pub payloads: Payloads,
    /// What the session is told: nothing, unless it takes tasks.
    pub notices: mpsc::Receiver<Notice>,
    /// The name of this host.
    pub host: String,
    /// The name of this process's life.
    pub name: String,
}

/// How a member takes part.
type Join = fn(Network, Address, &str, Candidate, Options) -> Member;

impl Place {
    /// A store, with the usual board of this host, and the cluster's keys in a file, if there is
    /// one. Nobody listens for other hosts.
    ///
    /// # Errors
    /// The file cannot be read, or is none.
    pub fn of(address: Address, keys: Option<PathBuf>) -> Result<Self, KeysError> {
        let ring = match &keys {
            Some(path) => read(path)?,
            None => KeyRing::open(usual::CLUSTER),
        };
        let blobs = match &address {
            Address::File(file) => Some(blobs::beside(file)),
            _ => None,
        };
        let board = board_path(&agent_dir());
        let detector = Detector::default();
        Ok(Self { address, keys, ring, listen: None, blobs, board, detector })
    }
}

fn read(path: &Path) -> Result<KeyRing, KeysError> {
    let text = fs::read_to_string(path)
        .map_err(|source| KeysError::File { path: path.to_owned(), source })?;
    KeyRing::parse(&text).map_err(|source| KeysError::Ring { path: path.to_owned(), source })
}

impl Client {
    /// Uses a store as a `role`, such as `run`. Needs a runtime of tokio with time and I/O.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn open(place: &Place, role: &str) -> io::Result<Self> {
        Self::begin(Member::join_over, place, role)
    }

    /// As [`Client::open`], for a moment: in an etcd it serves others only if nobody else does.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn visit(place: &Place, role: &str) -> io::Result<Self> {
        Self::begin(Member::visit_over, place, role)
    }

    fn begin(join: Join, place: &Place, role: &str) -> io::Result<Self> {
        let host = usual::host(&place.board);
        let name = format!("{role}-{host}-{}-{}", std::process::id(), random_name()?);
        Ok(Self::begin_as(join, place, name, host))
    }

    /// Uses a store under a name that no other process has, on a host as the board names it.
    pub fn open_as(place: &Place, name: String, host: String) -> Self {
        Self::begin_as(Member::join_over, place, name, host)
    }

    fn begin_as(join: Join, place: &Place, name: String, host: String) -> Self {
        let candidate = Candidate {
            name: name.clone(),
            host: host.clone(),
            address: String::new(),
            session: None,
        };
        let (board, blobs) = (Some(place.board.clone()), place.blobs.clone());
        let detector = place.detector;
        let options = Options { detector, board, blobs, ..Options::default() };
        let network = Network { ring: place.ring.clone(), listen: place.listen.clone() };
        let address = place.address.clone();
        let address_of = address.clone();
        let member = join(network, address, usual::CLUSTER, candidate, options);
        // Only copies of what lies on other hosts need the folder.
        let is_file = matches!(address_of, Address::File(_) | Address::Memory);
        let cache = if is_file { PathBuf::new() } else { usual::cache() };
        let member = Arc::new(member);
        let payloads = Payloads::of(&member, &cache);
        let (session, notices) = Session::open(Arc::clone(&member), &name, &host);
        Self { member, session, payloads, notices, host, name }
    }
}

/// Eight hexadecimal digits at random.
///
/// # Errors
/// The system gives no random bytes.
pub fn random_name() -> io::Result<String> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes)
        .map_err(|error| io::Error::other(format!("the system gives no random bytes: {error}")))?;
    Ok(format!("{:08x}", u32::from_be_bytes(bytes)))
}
