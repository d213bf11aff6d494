//! The ages of all pairs of a site, read from the boards: looking costs the agents nothing.

#![expect(clippy::missing_panics_doc, reason = "a measurement without agents is none")]

use std::time::Duration;

use tidings_board::{Board, BoardError, Snapshot, State, board_path};

use super::site::Site;

/// Boards are read however long their agents have been silent: that is what is looked at.
const ANY_SILENCE: Duration = Duration::from_secs(24 * 3_600);
/// How often a board is tried whose agent a quota stops in the midst of an entry; a try takes
/// a fifth of a second.
const TRIES: u32 = 50;

/// The boards of some hosts, read as one.
#[derive(Debug)]
pub struct Boards {
    boards: Vec<Board>,
    snapshot: Snapshot,
}

/// What all of them showed at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// The age of news of a node at another, on average over all pairs, in milliseconds.
    pub age_avg_ms: f64,
    /// The oldest news of all pairs, in milliseconds.
    pub age_max_ms: f64,
    /// Pairs in which one does not hold the other as alive.
    pub estranged: usize,
}

impl Boards {
    /// The boards of these hosts of a site, whose agents run.
    pub fn of(site: &Site, hosts: &[usize]) -> Self {
        let open = |&host: &usize| {
            let path = board_path(site.agent(host).runtime_dir());
            Board::open(&path, ANY_SILENCE).expect("a running agent has a board")
        };
        Self { boards: hosts.iter().map(open).collect(), snapshot: Snapshot::new() }
    }

    /// Reads all of them.
    pub fn look(&mut self) -> Look {
        let (mut sum_ms, mut age_max_ms, mut heard, mut estranged) = (0.0, 0.0_f64, 0, 0);
        let others = self.boards.len() - 1;
        for board in &self.boards {
            copy(board, &mut self.snapshot);
            let mut alive = 0;
            for entry in self.snapshot.entries().filter(|entry| entry.name != board.observer()) {
                let lives = matches!(entry.state, State::Alive | State::Suspected);
                let Some(age) = entry.age.filter(|_| lives) else { continue };
                let age_ms = age.as_secs_f64() * 1e3;
                (sum_ms, age_max_ms) = (sum_ms + age_ms, age_max_ms.max(age_ms));
                (heard, alive) = (heard + 1, alive + 1);
            }
            estranged += others.saturating_sub(alive);
        }
        Look { age_avg_ms: sum_ms / f64::from(heard), age_max_ms, estranged }
    }

    /// The round in which the first of the hosts is, by its own entry; it starts over with a life.
    pub fn round(&self) -> u32 {
        let board = &self.boards[0];
        let own = board.entry(board.observer()).expect("its agent has not left");
        own.expect("a node is on its own board").sequence
    }
}

fn copy(board: &Board, snapshot: &mut Snapshot) {
    for _ in 0..TRIES {
        match board.snapshot(snapshot) {
            Err(BoardError::Unfinished { .. }) => {}
            result => return result.expect("its agent has not left"),
        }
    }
    panic!("an agent is stopped in the midst of an entry");
}
