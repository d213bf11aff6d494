//! Placement: which nodes should get work, by entries that are some seconds old.
//!
//! Every caller sees old entries. Two things follow. Old entries count less: the older an entry,
//! the more its node is taken for an average one ([`Candidate::expected`]). And all callers at one
//! moment see the same idle node: so the choice is random among those that have what is needed (two
//! are drawn, the better one taken), and what was just picked counts as taken until an entry comes
//! that can show it ([`Reservations`]). Without both, a thousand callers send their work to one
//! node, and then to the next: a herd.
//!
//! ```
//! use tidings_placement::{Candidate, Need, Policy, pick};
//! let candidates: Vec<Candidate> = (0..8)
//!     .map(|n| Candidate::idle(&format!("n{n}"), 8.0, 32 << 30).with_busy_cpus(f64::from(n)))
//!     .collect();
//! let need = Need { cpus: 4.0, mem_bytes: 1 << 30 };
//! let picked = pick(&candidates, 3, need, Policy::LeastLoaded, 1)?;
//! assert_eq!(picked, [0, 1, 2]);
//! # Ok::<_, tidings_placement::Unsatisfied>(())
//! ```
//!
//! Invariants: a pick is a function of its arguments, the random seed included; no node is picked
//! twice; no node is picked that is known to lack what is needed.
//!
//! Sources: Mitzenmacher, "The power of two choices in randomized load balancing", 1996, and
//! "How useful is old information?", IEEE TPDS 11(1), 2000; MOSIX's use of its vector.

mod candidate;
mod choice;
mod reservation;
mod shortfall;

pub use candidate::{Candidate, Need};
pub use choice::{Policy, UnknownPolicy, pick};
pub use reservation::Reservations;
pub use shortfall::{Lack, Resource, Unsatisfied};
