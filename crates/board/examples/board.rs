//! Prints each node that the board of this machine's agent knows, with its age; or the named ones.
//!
//! `cargo run -p tidings-board --example board -- [NAME...]`

use std::io::{self, Write as _};
use std::time::Duration;

use tidings_board::{Board, BoardError, Snapshot, agent_dir, board_path, now_ns};

fn main() -> Result<(), BoardError> {
    let board = Board::open(&board_path(&agent_dir()), Duration::from_secs(5))?;
    let mut out = io::stdout().lock();
    let names: Vec<String> = std::env::args().skip(1).collect();
    for name in &names {
        if let Some(entry) = board.entry(name)? {
            let _ = writeln!(out, "{name} {} {:?}", entry.state.name(), entry.age(now_ns()));
        }
    }
    if names.is_empty() {
        let mut snapshot = Snapshot::new();
        board.snapshot(&mut snapshot)?;
        for node in snapshot.entries() {
            let _ = writeln!(out, "{} {} {:?}", node.name, node.state.name(), node.age);
        }
    }
    Ok(())
}
