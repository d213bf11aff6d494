//! Pieces of a run that are simulated on their own.

use core::ops::ControlFlow;

use super::compact::CompactColony;
use super::full::FullColonies;
use super::tally::Outcome;
use super::world::World;
use crate::scenario::{Mode, ScenarioError};

impl World {
    /// Pieces of work that are independent: colonies, or all of them in full mode.
    pub fn pieces(&self) -> usize {
        match self.scenario.mode {
            Mode::Compact => self.colonies(),
            Mode::Full => 1,
        }
    }

    /// Simulates one piece; `go_on` is asked once a unit.
    ///
    /// # Errors
    /// If the core refuses the configuration.
    pub fn simulate(
        &self,
        piece: usize,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<Outcome>, ScenarioError> {
        match self.scenario.mode {
            Mode::Compact => Ok(CompactColony::of(self, piece).run(go_on)),
            Mode::Full => FullColonies::of(self)
                .and_then(|run| run.run(go_on))
                .map_err(|error| ScenarioError::Cluster(error.to_string())),
        }
    }
}
