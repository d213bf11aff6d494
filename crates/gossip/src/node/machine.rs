//! The machine: all that a node keeps, in rooms of their own.
//!
//! What belongs to one room alone is that room's method, in the room's file; where several meet, it
//! is a method of the node. Only `versions.rs` and `showing.rs` do nothing but look.

use tidings_primitives::Chance;
use tidings_primitives::seal::KeyRing;
use tidings_primitives::time::{Instant, micros};

use super::checks::Checks;
use super::forgetting::Forgetting;
use super::intake::Intake;
use super::lives::Lives;
use super::meeting::Meeting;
use super::notices::Notices;
use super::outbox::Outbox;
use super::own::Own;
use super::rhythm::Rhythm;
use super::room::Room;
use super::sealer::Sealer;
use super::trials::Trials;
use super::verifier::Signing;
use crate::age_keeper::AgeKeeper;
use crate::catch_up::CatchUp;
use crate::colony::{Colony, RECORD_BYTES};
use crate::config::{Capacity, Config};
use crate::counters::Counters;
use crate::delta::Origin;
use crate::detector;
use crate::detector::Detection;
use crate::dissemination::context::Disseminate;
use crate::entry::{Incarnation, NodeId, Stamp};
use crate::entry_cost::Costs;
use crate::error::ConfigError;
use crate::membership::{Member, Membership};
use crate::share::Paces;
use crate::vector::Vector;
use crate::wire::window::{Format, Reads};

/// One node of a cluster, without its clock and its network. See the module's documentation.
///
/// It cannot be cloned: two copies would seal different datagrams with one nonce.
pub struct Node {
    pub(super) config: Config,
    /// Which payloads it reads.
    pub(super) reads: Reads,
    /// Whether members are learnt from cards, not from a roster.
    pub(super) with_cards: bool,
    pub(super) own: Own,
    pub(super) sealer: Sealer,
    /// What it signs with, if it does.
    pub(super) signing: Option<Box<Signing>>,
    pub(super) vector: Vector,
    /// Chooses its bases, if it sends changes.
    pub(super) origin: Option<Box<Origin>>,
    /// What entries and records take in answers.
    pub(super) costs: Costs,
    pub(super) membership: Membership,
    pub(super) chance: Chance,
    pub(super) strategy: Box<dyn Disseminate>,
    pub(super) rhythm: Rhythm,
    /// Whether it asks others for entries.
    pub(super) asks: bool,
    pub(super) catch_up: CatchUp,
    pub(super) detection: Detection,
    pub(super) intake: Intake,
    pub(super) lives: Lives,
    pub(super) meeting: Meeting,
    pub(super) checks: Checks,
    pub(super) trials: Trials,
    pub(super) room: Room,
    pub(super) outbox: Outbox,
    pub(super) forgetting: Forgetting,
    /// What there is beyond the vector; `None` in a cluster without colonies.
    pub(super) colony: Option<Colony>,
    /// Chooses the window, if an age is to be kept.
    pub(super) age_keeper: Option<AgeKeeper>,
    pub(super) notices: Notices,
    pub(super) counters: Counters,
}

impl Node {
    /// A node that knows nobody's news but its own.
    ///
    /// `roster` names all members, `me` among them; if it is empty, members are learnt from seeds
    /// (see [`Node::join`]). `incarnation` must exceed that of the node's earlier lives. `seed`
    /// determines every random choice; outside of simulations it must be fresh and unpredictable,
    /// since it also keeps the nonces of one life apart from those of another. The first round
    /// comes at a random phase within one unit from `now`.
    ///
    /// # Errors
    /// If a parameter is out of range, or the roster lacks this node, is too large, or collides.
    pub fn new(
        config: Config,
        keys: KeyRing,
        me: Member,
        roster: &[Member],
        incarnation: Incarnation,
        seed: u64,
        now: Instant,
    ) -> Result<Self, ConfigError> {
        config.validate()?;
        let mut chance = Chance::new(seed);
        let id = NodeId::of_name(&me.name, config.id_salt);
        let max_nodes = config.max_nodes as usize;
        let payload_bytes = usize::from(config.payload_bytes);
        let payload_room = usize::from(config.payload_room());
        let (interval, unit) = (config.interval, micros(config.interval) as u64);
        let full = config.capacity == Capacity::Full;
        let capacity = match config.capacity {
            Capacity::Full => max_nodes,
            Capacity::Bounded(entries) => entries as usize,
        };
        let own_entry = (id, Stamp::new(incarnation, 0));
        let with_cards = roster.is_empty();
        let paces = Paces::of(interval, detector::wait(interval));
        let colony = config.colony.map(|colony| colony.id);
        let vector = Vector::new(capacity, payload_room, unit, own_entry, now);
        let changes = config.sends_changes();
        let node = Self {
            reads: config.reads(),
            with_cards,
            own: Own::of(&me, id, incarnation, payload_bytes),
            vector: if changes { vector.with_bases() } else { vector }.with_longest(payload_bytes),
            origin: changes.then(|| Box::new(Origin::new(id, payload_room))),
            costs: Costs::new(RECORD_BYTES),
            membership: Membership::new(max_nodes),
            // The salt is the first draw of a life, the phase the second.
            sealer: Sealer::new(keys, &config.cluster, colony, chance.bits()),
            signing: None,
            rhythm: Rhythm::new(interval, now, chance.below(unit as usize) as i64),
            asks: true,
            strategy: config.strategy.begin(),
            catch_up: CatchUp::new(config.catch_up && (full || with_cards)),
            detection: Detection::new(now, interval, config.death_after),
            intake: Intake::new(paces),
            lives: Lives::new(),
            meeting: Meeting::new(paces.reject),
            checks: Checks::new(paces.check),
            trials: Trials::default(),
            room: Room::new(now),
            outbox: Outbox::new(capacity),
            forgetting: Forgetting::new(id, !with_cards),
            colony: config.colony.map(|colony| Colony::of(colony, changes)),
            age_keeper: config.age_target.map(AgeKeeper::of),
            notices: Notices::new(),
            counters: Counters::default(),
            config,
            chance,
        };
        node.begin(me, roster, now)
    }

    /// Takes what memory is known to be needed, and takes in the members.
    fn begin(mut self, me: Member, roster: &[Member], now: Instant) -> Result<Self, ConfigError> {
        if self.with_cards {
            // Lists that grow would hold two copies of themselves at times.
            self.membership.reserve(self.config.max_nodes as usize);
        }
        let alone = [me];
        self.admit(if self.with_cards { &alone } else { roster }, now)?;
        if let Some(own) = self.membership.get_mut(self.own.id()) {
            // Its own card is of each life it may come to have.
            own.address_of = Incarnation::MAX;
        }
        Ok(self)
    }

    /// What payloads are in the datagrams that it writes: as long as the longest that it holds.
    #[inline]
    pub(super) fn format(&self) -> Format {
        let payload_bytes = self.vector.longest() as u16;
        Format { schema: self.config.payload_schema, payload_bytes }
    }
}
