//! The control protocol: how a local program asks a running agent what it knows.
//!
//! An agent listens on a Unix socket, `control.sock`, in its runtime directory. A client writes one
//! JSON object per line and reads one JSON object per line back, in order; a connection may carry
//! any number of requests. Both sides share the types of this crate, so the wire and the code
//! cannot differ; `docs/reference/control.md` gives the same protocol for programs in other
//! languages.
//!
//! * [`Request`]: what may be asked.
//! * [`Status`], [`Ages`], [`Nodes`], [`NodeReport`], [`Published`], [`PublishedAll`], [`Leaving`],
//!   [`Colonies`], [`Picked`], [`Checkup`], [`KeyReport`]: what comes back.
//! * [`ErrorReport`]: what comes back instead when the agent refuses.
//! * [`Watch`], [`Notice`]: what an agent notices of other nodes, reported as it happens.
//! * [`Client`]: a blocking client for commands and tests; [`pick`]: nodes for work in one call.
//! * [`runtime_dir`]: where the socket lies by default.
//!
//! Compatibility: a field may be added to a report at any time, none is removed or changes its
//! meaning within a version of the protocol. Clients ignore fields they do not know.

mod client;
mod colonies;
mod keys;
mod mismatch;
mod picked;
#[cfg(feature = "readings")]
mod readings;
mod reply;
mod report;
mod request;
mod watch;

use std::path::{Path, PathBuf};

pub use client::{
    CHECKUP_TIMEOUT, Client, ClientError, DEFAULT_TIMEOUT, KEYS_TIMEOUT, REPLY_BYTES_MAX,
    VISIT_TIMEOUT, pick,
};
pub use colonies::{AggregateReport, BinReport, Colonies, ColonyReport, ReadingReport};
pub use keys::{KeyAnswer, KeyReport, NodeKeys};
pub use mismatch::{Checkup, Finding, MismatchReport, Verdict};
pub use picked::{Lack, Picked, PickedNode, Shortfall};
pub use reply::{ErrorKind, ErrorReport, Reply};
pub use report::{
    Ages, Leaving, Mode, NodeReport, Nodes, Published, PublishedAll, State, States, Status,
};
pub use request::{Pick, REQUEST_BYTES_MAX, Request, TTL_S_DEFAULT};
pub use tidings_board::{RUNTIME_DIR_VARIABLE, SOCKET_FILE, agent_dir, runtime_dir};
pub use watch::{Change, Notice, Watch, Watching};

/// The name of the socket for those that only read, inside the runtime directory.
pub const READING_SOCKET_FILE: &str = "read.sock";

/// The control socket of the agent whose runtime directory is `runtime_dir`.
pub fn socket_path(runtime_dir: &Path) -> PathBuf {
    runtime_dir.join(SOCKET_FILE)
}

/// The socket of that agent for those that only read.
pub fn reading_socket_path(runtime_dir: &Path) -> PathBuf {
    runtime_dir.join(READING_SOCKET_FILE)
}
