//! Nodes from the board: what the agent knows, without asking it.
//!
//! A board is read as the agent would answer, with the same fields; only the colony is not on it.
//! It serves where the control socket is not open to this user, where the agent has no time, and
//! where the agent should not be disturbed. A file that is not a live board is rejected.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tidings_board::{Board, BoardError, Seen, Snapshot, State as Seat};
use tidings_control::{NodeReport, Nodes, State};
use tidings_gossip::{Address, payload};

/// The oldest heartbeat that is accepted, unless the agent's unit of time is long.
const LIMIT: Duration = Duration::from_secs(5);
/// The same in units of time: there is one in each.
const LIMIT_UNITS: u32 = 8;
/// How often a board may be replaced while it is read.
const TIMES: usize = 3;

/// The nodes on the board at `path`, in the order of their names.
///
/// # Errors
/// See [`BoardError`].
pub fn nodes(path: &Path) -> Result<Nodes, BoardError> {
    let mut read = read_once(path);
    for _ in 1..TIMES {
        let Err(BoardError::Replaced { .. }) = read else { break };
        read = read_once(path);
    }
    read
}

fn read_once(path: &Path) -> Result<Nodes, BoardError> {
    let board = Board::open(path, Duration::MAX)?;
    let limit = LIMIT.max(board.unit().saturating_mul(LIMIT_UNITS));
    let board = board.with_limit(limit);
    let mut snapshot = Snapshot::new();
    board.snapshot(&mut snapshot)?;
    let schema = board.payload_schema();
    let mut nodes: Vec<NodeReport> =
        snapshot.entries().map(|entry| report(&entry, schema)).collect();
    nodes.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(Nodes {
        cluster: board.cluster().to_owned(),
        observer: board.observer().to_owned(),
        interval_ms: board.unit().as_secs_f64() * 1e3,
        nodes,
        ..Nodes::default()
    })
}

fn report(entry: &Seen<'_>, schema: u32) -> NodeReport {
    let address = Address::from_bytes(entry.address).map(SocketAddr::try_from);
    let age_ms = entry.age.map(|age| age.as_secs_f64() * 1e3);
    let lives = matches!(entry.state, Seat::Alive | Seat::Suspected);
    let known = NodeReport {
        name: entry.name.to_owned(),
        address: address.and_then(Result::ok).map_or(String::new(), |one| one.to_string()),
        state: match entry.state {
            Seat::Alive => State::Alive,
            Seat::Suspected => State::Suspected,
            Seat::Dead => State::Dead,
            Seat::Left => State::Left,
            _ => State::Unheard,
        },
        age_ms,
        // The board has one time a node: of one that is gone, when it was first in doubt or left.
        readings_age_ms: age_ms.filter(|_| lives),
        incarnation: entry.incarnation,
        sequence: Some(entry.sequence).filter(|&sequence| lives || sequence > 0),
        ..NodeReport::default()
    };
    if schema == u32::from(payload::SCHEMA) { known.with_payload(entry.payload) } else { known }
}
