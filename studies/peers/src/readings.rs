//! Recorded readings: what nodes of Tidings say where their states are not random.
//!
//! The recordings are those of studies/readings, of which each node replays pieces, settled within
//! the documented tolerances as an agent does it. They do not tell when a state was born, so the
//! program remembers that by the sequence of the entry.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use tidings_gossip::payload::{Settled, Tolerances};
use tidings_sim::readings::generator::Machine;
use tidings_sim::readings::{Generator, Recording};

use crate::state::STATE_BYTES;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../readings");
/// What distinguishes a recording from other tables.
const FORM: &str = "# tidings readings";
/// Entries of a node that are remembered: a quarter of an hour at 256 ms.
const REMEMBERED: usize = 4096;

/// All recordings, for as long as the process lives.
///
/// # Errors
/// If one cannot be read, or there is none.
pub fn recordings() -> anyhow::Result<&'static [Recording]> {
    let files = fs::read_dir(Path::new(FOLDER)).context(FOLDER)?;
    let mut names: Vec<_> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    names.retain(|name| name.extension().is_some_and(|end| end == "csv"));
    names.sort();
    let mut recordings = Vec::new();
    for name in names {
        let text = fs::read_to_string(&name).with_context(|| name.display().to_string())?;
        if text.starts_with(FORM) {
            recordings.push(Recording::parse(&text)?);
        }
    }
    Ok(recordings.leak())
}

/// What one node reads of itself.
#[derive(Debug)]
pub struct Reader {
    machine: Machine<'static>,
    settled: Settled,
    tolerances: Tolerances,
}

impl Reader {
    /// The reader of node `node` in a run with `seed`.
    ///
    /// # Errors
    /// If there is no recording.
    pub fn new(recordings: &'static [Recording], node: usize, seed: u64) -> anyhow::Result<Self> {
        let generator = Generator::new(recordings, seed).context("there is no recording")?;
        let machine = generator.machine(node as u32);
        Ok(Self { machine, settled: Settled::default(), tolerances: Tolerances::default() })
    }

    /// The state of the next unit.
    ///
    /// # Errors
    /// If it has no room.
    pub fn bytes(&mut self) -> anyhow::Result<[u8; STATE_BYTES]> {
        let mut state = [0; STATE_BYTES];
        self.machine.advance();
        self.settled.encode(&self.tolerances, &self.machine.state(), &mut state)?;
        Ok(state)
    }
}

/// When the entries of one node were born, by their sequences.
#[derive(Clone, Debug, Default)]
pub struct Births(VecDeque<(u32, u64)>);

impl Births {
    /// An entry of this sequence was born at `birth_us`, unless it is known already.
    pub fn note(&mut self, sequence: u32, birth_us: u64) {
        if self.0.back().is_some_and(|(last, _)| *last >= sequence) {
            return;
        }
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back((sequence, birth_us));
    }

    /// When the entry of this sequence was born.
    pub fn of(&self, sequence: u32) -> Option<u64> {
        let at = self.0.binary_search_by_key(&sequence, |(sequence, _)| *sequence).ok()?;
        Some(self.0[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_states_stay_more_often_than_they_change() {
        let recordings = recordings().expect("the study has recordings");
        let mut reader = Reader::new(recordings, 3, 1).expect("there are some");
        let states: Vec<_> = (0..400).map(|_| reader.bytes().expect("it has room")).collect();
        let changed = states.windows(2).filter(|pair| pair[0] != pair[1]).count();
        assert!((10..200).contains(&changed), "{changed}");
    }

    #[test]
    fn births_are_found_by_sequences_as_long_as_they_are_remembered() {
        let mut births = Births::default();
        for sequence in 0..5_000 {
            births.note(2 * sequence, u64::from(sequence));
            births.note(2 * sequence, 9);
        }
        let found = [9_998, 9_997, 0].map(|sequence| births.of(sequence));
        assert_eq!(found, [Some(4_999), None, None]);
    }
}
