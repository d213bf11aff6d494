//! The aggregate of a set of nodes: what each contributes, how it is counted, and what it says.

use core::time::Duration;

use super::reading::{self, Reading};
use super::sketch::Sketch;
use super::summary::Summary;
use crate::age::STEP_MICROS;
use crate::entry::EntryState;
use crate::quantity;
use crate::view::EntryView;

/// What one node contributes to an aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contribution<'a> {
    /// An entry is held, and it is no farewell.
    Alive {
        /// Its age.
        age: Duration,
        /// What the node says of itself; the default schema, version 1.
        payload: &'a [u8],
    },
    /// It said farewell.
    Left,
    /// It was declared dead.
    Dead,
    /// No entry is held.
    Unheard,
}

impl<'a> From<EntryView<'a>> for Contribution<'a> {
    fn from(view: EntryView<'a>) -> Self {
        match (view.state, view.age) {
            (EntryState::Alive | EntryState::Suspected, Some(age)) => {
                Self::Alive { age, payload: view.payload }
            }
            (EntryState::Left, _) => Self::Left,
            (EntryState::Dead, _) => Self::Dead,
            _ => Self::Unheard,
        }
    }
}

/// Counts, ages and readings of a set of nodes. See the module's documentation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Aggregate {
    pub(super) fresh: u32,
    pub(super) stale: u32,
    pub(super) left: u32,
    pub(super) dead: u32,
    pub(super) unheard: u32,
    /// Sum of the ages of the fresh, in steps of [`STEP_MICROS`].
    pub(super) age_steps: u64,
    /// The largest of them, as the wire has it.
    pub(super) age_max: u16,
    pub(super) sketches: [Sketch; reading::COUNT],
}

impl Aggregate {
    /// The aggregate of these nodes, in one pass. Entries of at least the age `stale_after` are
    /// counted as stale; neither their ages nor their readings are taken in.
    pub fn of<'a, C: Into<Contribution<'a>>>(
        nodes: impl IntoIterator<Item = C>,
        stale_after: Duration,
    ) -> Self {
        let mut aggregate = Self::default();
        for node in nodes {
            aggregate.add(node.into(), stale_after);
        }
        aggregate
    }

    /// Takes in one node more.
    #[inline]
    pub fn add(&mut self, node: Contribution<'_>, stale_after: Duration) {
        match node {
            Contribution::Alive { age, payload } if age < stale_after => self.hear(age, payload),
            Contribution::Alive { .. } => self.stale = self.stale.saturating_add(1),
            Contribution::Left => self.left = self.left.saturating_add(1),
            Contribution::Dead => self.dead = self.dead.saturating_add(1),
            Contribution::Unheard => self.unheard = self.unheard.saturating_add(1),
        }
    }

    /// Takes in all that `other` says of **other** nodes. Merging what one colony said twice counts
    /// its nodes twice.
    pub fn merge(&mut self, other: &Self) {
        self.fresh = self.fresh.saturating_add(other.fresh);
        self.stale = self.stale.saturating_add(other.stale);
        self.left = self.left.saturating_add(other.left);
        self.dead = self.dead.saturating_add(other.dead);
        self.unheard = self.unheard.saturating_add(other.unheard);
        self.age_steps = self.age_steps.saturating_add(other.age_steps);
        self.age_max = self.age_max.max(other.age_max);
        for (sketch, other) in self.sketches.iter_mut().zip(&other.sketches) {
            sketch.merge(other);
        }
    }

    /// Nodes alive whose entry was younger than the bound.
    pub fn fresh(&self) -> u32 {
        self.fresh
    }

    /// Nodes alive whose entry was not younger than the bound.
    pub fn stale(&self) -> u32 {
        self.stale
    }

    /// Nodes that said farewell.
    pub fn left(&self) -> u32 {
        self.left
    }

    /// Nodes that were declared dead. An aggregate that a node of version 0.1 has made counts them
    /// among those that left.
    pub fn dead(&self) -> u32 {
        self.dead
    }

    /// Nodes of which no entry was held.
    pub fn unheard(&self) -> u32 {
        self.unheard
    }

    /// All nodes, whatever their state.
    pub fn nodes(&self) -> u32 {
        let counts = [self.fresh, self.stale, self.left, self.dead, self.unheard];
        counts.into_iter().fold(0, u32::saturating_add)
    }

    /// Mean age of the fresh nodes' entries when the aggregate was made; `None` without any.
    pub fn age_avg(&self) -> Option<Duration> {
        let steps = self.age_steps.checked_div(u64::from(self.fresh))?;
        let rest = self.age_steps % u64::from(self.fresh);
        let micros = rest * STEP_MICROS / u64::from(self.fresh);
        Some(Duration::from_micros(steps.saturating_mul(STEP_MICROS).saturating_add(micros)))
    }

    /// The largest of these ages, rounded up as on the wire.
    pub fn age_max(&self) -> Option<Duration> {
        let micros = quantity::decode(self.age_max) * STEP_MICROS;
        (self.fresh > 0).then_some(Duration::from_micros(micros))
    }

    /// What the fresh nodes say of one reading.
    pub fn summary(&self, reading: Reading) -> Summary<'_> {
        Summary::of(reading, &self.sketches[reading as usize])
    }

    #[inline]
    fn hear(&mut self, age: Duration, payload: &[u8]) {
        let micros = u64::try_from(age.as_micros()).unwrap_or(u64::MAX);
        let age = quantity::encode_ceil(micros.div_ceil(STEP_MICROS));
        self.fresh = self.fresh.saturating_add(1);
        self.age_steps = self.age_steps.saturating_add(quantity::decode(age));
        self.age_max = self.age_max.max(age);
        let codes = reading::codes(payload);
        for ((reading, code), sketch) in Reading::ALL.iter().zip(codes).zip(&mut self.sketches) {
            if let Some(code) = code {
                sketch.insert(code, reading.steps(code));
            }
        }
    }
}
