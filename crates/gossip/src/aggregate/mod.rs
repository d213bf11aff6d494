//! Aggregates: what a colony is like as a whole, in some 250 bytes.
//!
//! Between colonies no entries travel, only one aggregate a colony: how many of its nodes are alive
//! and how old the news of them is, and of seven readings count, sum, smallest, largest and a
//! sketch that gives quantiles. Any node of a colony makes it from its own vector.
//!
//! The seven are what work is placed by. What there is and what fits: `cores`, `mem_available`.
//! What waits and what is in use: `load1`, `cpu_busy`. What slows work down without being seen in
//! these: `io_pressure`. What is about to be throttled or capped: `temperature`, `power`. Left out
//! are readings that say the same (longer loads, pressure on processors and memory), that mean
//! little without what the node could do (rates, swap, memory in total) or that place no work
//! (uptime).
//!
//! Laws, each held by a test:
//! - the aggregate of some nodes depends on the set of their contributions alone, not on order;
//! - [`Aggregate::merge`] of the aggregates of disjoint sets of nodes is, bit for bit, the
//!   aggregate of their union; so it is commutative and associative, with the empty aggregate as
//!   neutral element;
//! - it is **not** idempotent: merging is for disjoint sets of nodes. Of two aggregates of one
//!   colony the newer replaces the older, as with entries;
//! - a quantile is off by at most half a bin, at most 1/31 of the codes from the smallest to the
//!   largest reading, and [`Summary::quantile_bounds`] says between which values it lies for
//!   certain;
//! - at most [`MAX_BYTES`] on the wire; [`Aggregate::decode`] takes any bytes, and those that it
//!   accepts are the ones that [`Aggregate::encode`] writes.
//!
//! An aggregate takes no memory beyond its own, 1.1 KiB. Its ages are those of the moment at which
//! it was made; whoever holds it adds the time since. What is counted of a node ([`Contribution`])
//! is decided by its age: stale nodes are counted and contribute nothing else. Why this form:
//! docs/decisions/0006-aggregates.md; the bytes: docs/protocol.md, section 7.
//!
//! ```
//! use core::time::Duration;
//! use tidings_gossip::aggregate::{Aggregate, Contribution, MAX_BYTES, Reading};
//! use tidings_gossip::payload::NodeState;
//!
//! // What a node says of itself, as the agent publishes it.
//! let payload = |load1: f64| {
//!     let mut payload = [0; 64];
//!     NodeState { load1: Some(load1), ..Default::default() }.encode(&mut payload)?;
//!     Ok::<_, tidings_gossip::payload::PayloadError>(payload)
//! };
//! let stale_after = Duration::from_secs(60);
//! let heard = |payload| Contribution::Alive { age: Duration::from_secs(2), payload };
//!
//! // Two colonies. With a running node: `Aggregate::of(node.entries(now), stale_after)`.
//! let (idle, busy) = (payload(0.5)?, payload(64.0)?);
//! let east = Aggregate::of([heard(&idle), heard(&busy), Contribution::Unheard], stale_after);
//! let west = Aggregate::of([heard(&busy)], stale_after);
//!
//! // One of them travels; the other node merges it with its own.
//! let mut buffer = [0; MAX_BYTES];
//! let bytes = west.encode(&mut buffer)?;
//! let mut both = east.clone();
//! both.merge(&Aggregate::decode(&buffer[..bytes])?);
//!
//! assert_eq!((both.fresh(), both.unheard()), (3, 1));
//! let load1 = both.summary(Reading::Load1);
//! assert_eq!((load1.count(), load1.sum(), load1.quantile(1.0)), (3, 128.5, Some(64.0)));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

use core::time::Duration;

use crate::age::STEP_MICROS;
use crate::entry::EntryState;
use crate::node::EntryView;
use crate::quantity;

mod reading;
mod sketch;
mod wire;

pub use reading::Reading;
use sketch::Sketch;
pub use wire::{AggregateError, MAX_BYTES, MAX_NODES, SCHEMA};

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
    /// It said farewell, or was declared dead.
    Left,
    /// No entry is held.
    Unheard,
}

impl<'a> From<EntryView<'a>> for Contribution<'a> {
    fn from(view: EntryView<'a>) -> Self {
        match (view.state, view.age) {
            (EntryState::Alive | EntryState::Suspected, Some(age)) => {
                Self::Alive { age, payload: view.payload }
            }
            (EntryState::Left | EntryState::Dead, _) => Self::Left,
            _ => Self::Unheard,
        }
    }
}

/// Counts, ages and readings of a set of nodes. See the module's documentation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Aggregate {
    fresh: u32,
    stale: u32,
    left: u32,
    unheard: u32,
    /// Sum of the ages of the fresh, in steps of [`STEP_MICROS`].
    age_steps: u64,
    /// The largest of them, as the wire has it.
    age_max: u16,
    sketches: [Sketch; reading::COUNT],
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
            Contribution::Unheard => self.unheard = self.unheard.saturating_add(1),
        }
    }

    /// Takes in all that `other` says of **other** nodes. Merging what one colony said twice counts
    /// its nodes twice.
    pub fn merge(&mut self, other: &Self) {
        self.fresh = self.fresh.saturating_add(other.fresh);
        self.stale = self.stale.saturating_add(other.stale);
        self.left = self.left.saturating_add(other.left);
        self.unheard = self.unheard.saturating_add(other.unheard);
        self.age_steps = self.age_steps.saturating_add(other.age_steps);
        self.age_max = self.age_max.max(other.age_max);
        for (sketch, other) in self.sketches.iter_mut().zip(&other.sketches) {
            sketch.merge(other);
        }
    }

    /// Writes it to the start of `out`; returns the bytes written, at most [`MAX_BYTES`].
    ///
    /// # Errors
    /// It is of more than [`MAX_NODES`] nodes, or `out` is too short; `out` is then as it was.
    pub fn encode(&self, out: &mut [u8]) -> Result<usize, AggregateError> {
        wire::encode(self, out)
    }

    /// Reads one from exactly its bytes, whoever wrote them.
    ///
    /// # Errors
    /// Where they are not what [`Aggregate::encode`] writes.
    pub fn decode(bytes: &[u8]) -> Result<Self, AggregateError> {
        wire::decode(bytes)
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

    /// Nodes of which no entry was held.
    pub fn unheard(&self) -> u32 {
        self.unheard
    }

    /// All nodes, whatever their state.
    pub fn nodes(&self) -> u32 {
        let alive = self.fresh.saturating_add(self.stale);
        alive.saturating_add(self.left).saturating_add(self.unheard)
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
        Summary { reading, sketch: &self.sketches[reading as usize] }
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

/// One reading over the fresh nodes of an aggregate that have it. Values are in its unit.
#[derive(Clone, Copy, Debug)]
pub struct Summary<'a> {
    reading: Reading,
    sketch: &'a Sketch,
}

/// How many readings lie from one value to another, both included.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bin {
    /// The smallest value that it can hold.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// Readings in it.
    pub count: u32,
}

impl<'a> Summary<'a> {
    /// Nodes that have the reading.
    pub fn count(&self) -> u32 {
        self.sketch.count()
    }

    /// The sum over these nodes, exact for what their payloads say.
    pub fn sum(&self) -> f64 {
        self.reading.total(self.sketch.sum(), self.sketch.count())
    }

    /// The mean; `None` if no node has the reading.
    pub fn mean(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum() / f64::from(self.count()))
    }

    /// The smallest, exact.
    pub fn min(&self) -> Option<f64> {
        self.sketch.ends().map(|(min, _)| self.reading.value(min))
    }

    /// The largest, exact.
    pub fn max(&self) -> Option<f64> {
        self.sketch.ends().map(|(_, max)| self.reading.value(max))
    }

    /// An estimate of the smallest value that a share `q` (0 to 1) of the nodes do not exceed.
    ///
    /// Off by at most half a bin, and exact for the smallest (`q` = 0) and the largest (1).
    pub fn quantile(&self, q: f64) -> Option<f64> {
        self.sketch.code_at(self.rank(q)).map(|code| self.reading.value(code))
    }

    /// The values between which that quantile lies for certain, both included.
    pub fn quantile_bounds(&self, q: f64) -> Option<(f64, f64)> {
        let (low, high) = self.sketch.codes_at(self.rank(q))?;
        Some((self.reading.value(low), self.reading.value(high)))
    }

    /// The bins in ascending order, from that of the smallest to that of the largest reading.
    pub fn histogram(self) -> impl Iterator<Item = Bin> + 'a {
        self.sketch.used().map(move |bin| {
            let (low, high) = self.sketch.codes_of(bin);
            let (low, high) = (self.reading.value(low), self.reading.value(high));
            Bin { low, high, count: self.sketch.in_bin(bin) }
        })
    }

    /// The rank, from 1 on, of the reading that is the quantile.
    fn rank(&self, q: f64) -> u32 {
        (q.clamp(0.0, 1.0) * f64::from(self.count())).ceil() as u32
    }
}

#[cfg(test)]
mod tests;
