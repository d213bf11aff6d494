//! Hosts: what the board of an agent says of deaths.
//!
//! The agent of this host knows of every node of its cluster whether it lives, seconds after it
//! died, whether or not this process speaks with anything there. A worker whose host is dead is
//! dead.
//!
//! Invariants: a host that was dead when it was first looked at is no news, since its worker has
//! joined since; if more hosts die at a time than live, it is this one that is cut off, and none of
//! them is news. Where there is no board, or its agent does not write, nothing is known.

use std::path::PathBuf;
use std::time::Duration;

use tidings_board::{Board, State};

use crate::pulse::Watch;

/// An agent that has not written for so long says nothing.
const LIMIT: Duration = Duration::from_secs(30);

/// Deaths of hosts, by a board.
#[derive(Debug)]
pub struct Hosts {
    path: PathBuf,
    /// The name of the node on which each worker runs.
    names: Vec<String>,
    board: Option<Board>,
    /// Whether each was dead at the last look; nothing before the first.
    were_dead: Option<Vec<bool>>,
}

impl Hosts {
    /// The board at `path`, which need not be there yet. `names[number]` is the name of the node on
    /// which that worker runs; several may run on one.
    pub fn new(path: PathBuf, names: Vec<String>) -> Self {
        Self { path, names, board: None, were_dead: None }
    }

    /// The states of all, if a board says them.
    fn states(&mut self) -> Option<Vec<Option<State>>> {
        if self.board.as_ref().is_none_or(|board| board.check().is_err()) {
            self.board = Board::open(&self.path, LIMIT).ok();
        }
        let board = self.board.as_ref()?;
        let state = |name: &String| Some(board.entry(name).ok()?.map(|entry| entry.state));
        self.names.iter().map(state).collect()
    }
}

impl Watch for Hosts {
    fn dead(&mut self) -> Vec<u32> {
        let Some(states) = self.states() else { return Vec::new() };
        let dead: Vec<bool> = states.iter().map(|state| *state == Some(State::Dead)).collect();
        let before = self.were_dead.replace(dead.clone()).unwrap_or_else(|| dead.clone());
        let new = |at: &usize| dead[*at] && !before[*at];
        let news: Vec<usize> = (0..dead.len()).filter(new).collect();
        let alive = states.iter().filter(|state| **state == Some(State::Alive)).count();
        if news.len() > 1 && news.len() > alive {
            self.were_dead = Some(before);
            return Vec::new();
        }
        news.into_iter().map(|at| at as u32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_board::{News, Outline, Writer, now_ns};

    struct Agent {
        writer: Writer,
        _directory: tempfile::TempDir,
        path: PathBuf,
    }

    fn news(state: State) -> News<'static> {
        News { state, node_id: 1, incarnation: 1, sequence: 1, birth_ns: now_ns(), payload: &[] }
    }

    impl Agent {
        fn of(states: &[State]) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("board");
            let outline = Outline {
                cluster: "test".to_owned(),
                observer: "n0".to_owned(),
                slots: 8,
                payload_bytes: 8,
                payload_schema: 0,
                unit: Duration::from_millis(256),
            };
            let mut writer = Writer::create(&path, &outline).unwrap();
            for (slot, state) in states.iter().enumerate() {
                writer.seat(slot, &format!("n{slot}"), b"127.0.0.1:1", &news(*state)).unwrap();
            }
            writer.beat(now_ns());
            Self { writer, _directory: directory, path }
        }

        fn says(&mut self, slot: usize, state: State) {
            self.writer.update(slot, &news(state)).unwrap();
            self.writer.beat(now_ns());
        }

        fn hosts(&self, names: &[&str]) -> Hosts {
            Hosts::new(self.path.clone(), names.iter().map(ToString::to_string).collect())
        }
    }

    #[test]
    fn a_death_is_said_once_for_all_workers_of_the_host() {
        let mut agent = Agent::of(&[State::Alive; 3]);
        let mut hosts = agent.hosts(&["n0", "n1", "n2", "n1"]);
        assert!(hosts.dead().is_empty());
        agent.says(1, State::Suspected);
        assert!(hosts.dead().is_empty());
        agent.says(1, State::Dead);
        assert_eq!(hosts.dead(), [1, 3]);
        assert!(hosts.dead().is_empty());
    }

    #[test]
    fn who_was_dead_before_is_no_news_until_it_has_lived() {
        let mut agent = Agent::of(&[State::Alive, State::Dead, State::Alive]);
        let mut hosts = agent.hosts(&["n0", "n1", "n2"]);
        assert!(hosts.dead().is_empty());
        agent.says(1, State::Alive);
        assert!(hosts.dead().is_empty());
        agent.says(1, State::Dead);
        assert_eq!(hosts.dead(), [1]);
    }

    #[test]
    fn deaths_of_most_are_not_believed_until_others_live() {
        let mut agent = Agent::of(&[State::Alive; 4]);
        let mut hosts = agent.hosts(&["n0", "n1", "n2", "n3"]);
        assert!(hosts.dead().is_empty());
        for slot in 1..4 {
            agent.says(slot, State::Dead);
        }
        assert!(hosts.dead().is_empty());
        agent.says(1, State::Alive);
        agent.says(2, State::Alive);
        assert_eq!(hosts.dead(), [3]);
    }

    #[test]
    fn without_a_board_nothing_is_known_until_there_is_one() {
        let mut nowhere = Hosts::new("/nowhere/board".into(), vec!["n0".to_owned()]);
        assert!(nowhere.dead().is_empty());
        let agent = Agent::of(&[State::Alive]);
        nowhere.path = agent.path.clone();
        assert_eq!(nowhere.states(), Some(vec![Some(State::Alive)]));
        let mut strangers = agent.hosts(&["of another cluster"]);
        assert_eq!(strangers.states(), Some(vec![None]));
    }
}
