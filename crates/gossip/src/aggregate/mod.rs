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
//! it was made; its holder adds the time since. What is counted of a node ([`Contribution`])
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

mod change;
mod nodes;
mod reading;
mod sketch;
mod summary;
mod wire;

pub use nodes::{Aggregate, Contribution};
pub use reading::Reading;
pub use summary::{Bin, Summary};
pub use wire::{AggregateError, MAX_BYTES, MAX_NODES, SCHEMA, SCHEMA_DEAD};

#[cfg(test)]
mod tests;
