//! Records a node's own readings, a row a unit of time, off the board of its agent.
//!
//! The board has what the agent published, as its payload has it, so a recording is what other
//! nodes receive. It is looked at eight times a unit; a unit that is missed all the same is seen by
//! its sequence. Rows go to a writer as they come, so that whoever ends the recorder, by Ctrl-C or
//! otherwise, has what was recorded until then.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tidings_board::{Board, BoardError, board_path};
use tidings_gossip::payload::PayloadError;
use tidings_sim::readings::recording::{Lines, MAX_ROWS, Row};

/// Looks at the board in a unit of time.
const LOOKS: u32 = 8;

/// For how long a live agent may be silent.
pub const SILENCE: Duration = Duration::from_secs(10);

/// Why a recording ended early. What was recorded until then is written.
#[derive(Debug)]
pub enum RecordError {
    /// There is no board of a live agent.
    Board(BoardError),
    /// The board does not hold the readings of its own agent.
    Payload(PayloadError),
    /// The agent was restarted: its sequences begin again.
    Restarted,
    /// The unit of time is no whole number of milliseconds, which the file states it in.
    Unit(Duration),
    /// What is recorded cannot be written.
    Write(io::Error),
}

impl std::fmt::Display for RecordError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Board(error) => write!(f, "{error}"),
            Self::Payload(error) => write!(f, "the agent's own entry: {error}"),
            Self::Restarted => write!(f, "the agent was restarted: record again"),
            Self::Unit(unit) => {
                write!(f, "a unit of {unit:?} is no whole number of ms: set `interval` to one")
            }
            Self::Write(error) => write!(f, "the recording cannot be written: {error}"),
        }
    }
}

impl std::error::Error for RecordError {}

/// Records `units` rows of the agent whose runtime directory this is, fewer if `stops` is set.
/// Gives the number of rows.
///
/// # Errors
/// [`RecordError`]; the rows until then are written.
pub fn record(
    runtime_dir: &Path,
    units: usize,
    stops: &AtomicBool,
    to: &mut dyn Write,
) -> Result<usize, RecordError> {
    let board = Board::open(&board_path(runtime_dir), SILENCE).map_err(RecordError::Board)?;
    let unit = board.unit();
    let unit_ms = u32::try_from(unit.as_millis()).unwrap_or(0);
    if unit_ms == 0 || Duration::from_millis(u64::from(unit_ms)) != unit {
        return Err(RecordError::Unit(unit));
    }
    let (mut lines, head) = Lines::begin(unit_ms);
    to.write_all(head.as_bytes()).map_err(RecordError::Write)?;
    let name = board.observer().to_owned();
    let (mut rows, mut life, mut last) = (0, None, 0);
    while rows < units.min(MAX_ROWS) && !stops.load(Ordering::Relaxed) {
        let entry = board.entry(&name).map_err(RecordError::Board)?;
        if let Some(entry) = entry.filter(|entry| entry.sequence != last) {
            if *life.get_or_insert(entry.incarnation) != entry.incarnation {
                return Err(RecordError::Restarted);
            }
            if let Some(state) = entry.readings().map_err(RecordError::Payload)? {
                last = entry.sequence;
                let row = Row { sequence: last, numbers: state.numbers() };
                let text = lines.row(&row).as_bytes();
                to.write_all(text).and_then(|()| to.flush()).map_err(RecordError::Write)?;
                rows += 1;
            }
        }
        thread::park_timeout(unit / LOOKS);
    }
    Ok(rows)
}
