//! How a service treats its sessions and queues, as whoever starts it has chosen.

use std::path::PathBuf;
use std::time::Duration;

use tidings_board::{agent_dir, board_path};
use tidings_tasks_core::detector::Detector;

/// How a service treats its sessions and queues.
#[derive(Clone, Debug)]
pub struct Options {
    /// The time after which a silent session has ended.
    pub session_ttl: Duration,
    /// What decides that a silent session has ended, within that time.
    pub detector: Detector,
    /// The time in which a peer whose connection has closed may come back.
    pub reconnect: Duration,
    /// The tasks of one queue that have not ended; a submission waits while there are more.
    pub queue_capacity: usize,
    /// Commits on their way at a time. One lets requests gather; more are for a store that is far.
    pub pipeline: usize,
    /// Bytes of payloads of waiting tasks that are kept in memory.
    pub cached_bytes: usize,
    /// The board of this host's agent, which says which hosts are dead and which do well; without
    /// one the sessions alone decide.
    pub board: Option<PathBuf>,
    /// Where blobs lie of a store that has no folder of its own: a folder that all who use the
    /// store share. Whoever serves the store frees what no task needs any more.
    pub blobs: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            session_ttl: Duration::from_secs(3),
            detector: Detector::Session,
            reconnect: Duration::from_millis(100),
            queue_capacity: 1_000_000,
            pipeline: 1,
            cached_bytes: 64 << 20,
            board: Some(board_path(&agent_dir())),
            blobs: None,
        }
    }
}
