//! Colonies: how a node sees a machine that is too large for one vector.
//!
//! A *colony* is a cluster within the cluster: its nodes keep full vectors of each other. Of every
//! other colony a node keeps one record, its aggregate and a few addresses there; all of them are
//! its *colony table*. Records travel as entries do: two members of a row *represent* each foreign
//! colony, *call* a member there each unit, and push what it answers to their row; a node that
//! pulls the row gets its records along with its entries.
//!
//! Representing needs no state. Any member can answer for its colony, from its own vector, and who
//! represents which colony is a function of the members, the colonies known and who is fresh
//! ([`representation`]). If a representative dies, the next one finds itself in its place.
//!
//! In version 3 of the wire records travel as changes by a *base* of each colony, which a
//! representative names (`bases.rs`). Why this form: docs/decisions/0092-aggregates-as-changes.md.
//!
//! What an aggregate does not tell, a *visit* does: the vector of a foreign colony, asked for slice
//! by slice, kept apart from the own one and dropped soon after (`visit.rs`).
//!
//! Invariants: memory is bounded by `max_colonies`, and taken at the start; only what was asked for
//! is taken from another colony; foreign entries never enter the vector. The idea of colonies:
//! Barak, Drezner, Levy, Lieber, Shiloh, "Resilient gossip algorithms for collecting online
//! management information in exascale clusters", CC:PE 27, 2015. Why this form:
//! docs/decisions/0008-colonies.md.

pub(crate) mod bases;
pub mod caller;
pub mod id;
pub(crate) mod name;
pub mod representation;
pub mod table;
pub mod visit;

use std::collections::VecDeque;

use crate::address::Address;
use crate::entry::NodeId;
use crate::share::Share;
use caller::Caller;
pub use id::{ColonyConfig, ColonyId, ColonyIds, MAX_COLONIES};
use table::ColonyTable;
use visit::Visit;

/// Bytes by which a record counts where a layout is planned: an aggregate of some 1,500 nodes, and
/// what goes with it. Members must count alike, whatever they hold.
pub const RECORD_BYTES: usize = 248;
/// The age in units from which an entry counts as stale in its colony's aggregate.
pub const STALE_UNITS: u32 = 64;
/// Answers to other colonies pending at a time, of each kind; more are not given.
const MAX_PENDING: usize = 16;

/// A pending answer to a node of another colony.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingAnswer {
    pub(crate) to: Address,
    pub(crate) token: u64,
    /// Where a slice begins; of no meaning in a reply.
    pub(crate) first: NodeId,
    /// Sealed bytes of the datagram that asked: an answer must not have more.
    pub(crate) room: usize,
}

/// What a node keeps as a member of a colony among others.
pub(crate) struct Colony {
    pub(crate) id: ColonyId,
    pub(crate) table: ColonyTable,
    pub(crate) caller: Caller,
    pub(crate) visit: Option<Visit>,
    pub(crate) replies: VecDeque<PendingAnswer>,
    pub(crate) slices: VecDeque<PendingAnswer>,
    /// What is left of the share of all visitors.
    pub(crate) visits: Share,
}

impl Colony {
    /// Of these colonies; with bases where changes by them are sent.
    pub(crate) fn of(config: ColonyConfig, with_bases: bool) -> Self {
        let table = ColonyTable::new(config.id, config.max_colonies as usize);
        Self {
            id: config.id,
            table: if with_bases { table.with_bases() } else { table },
            caller: Caller::default(),
            visit: None,
            replies: VecDeque::with_capacity(MAX_PENDING),
            slices: VecDeque::with_capacity(MAX_PENDING),
            visits: Share::WHOLE,
        }
    }

    /// Queues an answer; `false` if too many are pending already.
    pub(crate) fn queue(queue: &mut VecDeque<PendingAnswer>, pending: PendingAnswer) -> bool {
        let room = queue.len() < MAX_PENDING;
        if room {
            queue.push_back(pending);
        }
        room
    }
}
