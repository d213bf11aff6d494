//! What of the roles holds now, and what has drifted.

use std::path::Path;

use serde::Serialize;

use crate::CoresError;
use crate::journal::{self, Change, Header};
use crate::knob::Held;
use crate::machine::Machine;

/// A knob and what has become of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Knob {
    /// The knob.
    pub path: String,
    /// The value that was set.
    pub set: String,
    /// What has become of it.
    #[serde(flatten)]
    pub held: Held,
}

/// Roles that are set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Whose they are.
    #[serde(flatten)]
    pub header: Header,
    /// Whether all was set; if not, setting them was interrupted.
    pub complete: bool,
    /// Every knob and group.
    pub knobs: Vec<Knob>,
}

impl Status {
    /// What the journal says, compared with the machine; nothing if no roles are set.
    ///
    /// # Errors
    /// [`CoresError`] if the journal cannot be read.
    pub fn read(machine: &dyn Machine, folder: &Path) -> Result<Option<Self>, CoresError> {
        let Some((header, changes)) = journal::read(folder)? else { return Ok(None) };
        let complete = changes.contains(&Change::Complete);
        let knob = |change| match change {
            Change::Value(value) => {
                let held = value.held(machine);
                Some(Knob { path: value.path, set: value.after, held })
            }
            Change::Group { path, members } => {
                let there = machine.read(&format!("{path}/{members}")).is_ok();
                let held = if there { Held::Holds } else { Held::Gone };
                Some(Knob { path, set: "a group".to_owned(), held })
            }
            Change::Affinities { .. } | Change::Complete => None,
        };
        Ok(Some(Self { header, complete, knobs: changes.into_iter().filter_map(knob).collect() }))
    }

    /// Knobs that do not have the value that was set.
    pub fn drifted(&self) -> usize {
        self.knobs.iter().filter(|knob| knob.held != Held::Holds).count()
    }
}
