//! Settings: how a process takes part.

use std::path::PathBuf;
use std::time::Duration;

use tidings_primitives::KeyRing;

use crate::net::Credentials;
use crate::net::endpoint::Endpoint;

/// How a process takes part.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name of its host, as the board has it.
    pub host: String,
    /// Where it listens; port 0 is any port.
    pub listen: Endpoint,
    /// What it shows to others.
    pub own: Credentials,
    /// The board of this host's agent, which says which hosts are dead. Without one sessions say
    /// so.
    pub board: Option<PathBuf>,
    /// How long it may be silent before it is lost.
    pub session_ttl: Duration,
}

impl Settings {
    /// On this host alone, without a key, at any port.
    pub fn here(cluster: &str) -> Self {
        let ring = KeyRing::open(cluster);
        Self {
            host: "localhost".to_owned(),
            listen: Endpoint { host: "127.0.0.1".to_owned(), port: 0 },
            own: Credentials { ring, cluster: cluster.to_owned() },
            board: None,
            session_ttl: Duration::from_secs(2),
        }
    }
}
