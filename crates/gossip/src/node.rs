//! The node: one state machine, the same in the agent, over MPI and in a simulator.
//!
//! A [`Node`] does no input or output. Its driver passes in time, datagrams and commands, and takes
//! out datagrams, the next timeout and events:
//!
//! 1. *inputs*: [`Node::handle_timeout`], [`Node::handle_datagram`], and the commands
//!    [`Node::publish`], [`Node::speak_for`], [`Node::join`], [`Node::leave`], [`Node::set_keys`],
//!    [`Node::set_roster`];
//! 2. after any input call [`Node::poll_transmit`] until it returns `None`, and
//!    [`Node::poll_event`] likewise;
//! 3. then sleep until [`Node::poll_timeout`] or the next datagram.
//!
//! A driver that shows the members to others keeps up with [`Node::poll_change`].
//!
//! Every call that names the present takes it from one monotonic clock of the driver.
//!
//! Each unit of time, at its own phase of the unit, a node makes its own entry anew with age 0,
//! lets all others age, and has its strategy order what is sent to whom (`dissemination.rs`). What
//! it receives it stamps with the arrival and takes wherever it is newer. Beside that it only
//! catches up (`catch_up.rs`) and says farewell.
//!
//! Invariants: outputs are a function of configuration, seed and the sequence of inputs. What is
//! known of an origin never goes back. A unit costs O(window). Nothing that arrives makes a call
//! fail or panic; what is refused is counted.

mod changed;
mod colonies;
mod detection;
mod outgoing;
mod receive;
mod versions;

use std::collections::VecDeque;

use tidings_primitives::Chance;
use tidings_primitives::seal::KeyRing;
use tidings_primitives::time::{Instant, micros};

use crate::address::Address;
use crate::age::Ages;
use crate::age_keeper::AgeKeeper;
use crate::catch_up::CatchUp;
use crate::changes::Changes;
use crate::colony::{Colony, RECORD_BYTES};
use crate::config::{Capacity, Config};
use crate::counters::Counters;
use crate::detector::{self, Detector, Doubt};
use crate::dissemination::layout::{Budget, Freight, next_look_micros};
use crate::dissemination::scene::{Disseminate, Scene};
use crate::entry::{EntryState, Incarnation, NodeId, Stamp};
use crate::error::{ConfigError, PayloadTooLong};
use crate::event::Event;
use crate::membership::{Member, Membership, Record};
use crate::share::{Paces, Share};
use crate::urgent::Urgent;
use crate::vector::Vector;
pub use crate::view::EntryView;
use crate::wire::ask::is_name;
use crate::wire::header;
use crate::wire::overhead_bytes;
use crate::wire::window::Format;
pub use changed::Change;
use detection::MAX_WAITING;
use outgoing::{Outbox, Pieces};
pub use versions::VersionsHeard;

/// Events kept for a driver that does not fetch them; the oldest give way.
const MAX_EVENTS: usize = 256;
/// Members looked at for forgetting in each unit of time.
const FORGET_CHECKS: usize = 32;
/// An instant that no clock reaches.
const NEVER: Instant = Instant::from_micros(i64::MAX);

/// Datagrams to send: `buffer[..bytes]`, in pieces of `segment_bytes`, the last maybe shorter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// Where all of them go.
    pub to: Address,
    /// Bytes written.
    pub bytes: usize,
    /// Bytes of each datagram but the last.
    pub segment_bytes: usize,
}

/// One node of a cluster, without its clock and its network. See the module's documentation.
///
/// It cannot be cloned: two copies would seal different datagrams with one nonce.
pub struct Node {
    config: Config,
    format: Format,
    keys: KeyRing,
    id: NodeId,
    name: Box<str>,
    address: Address,
    with_cards: bool,
    cluster: u32,
    salt: u64,
    sealed: u64,
    /// The incarnation that this life began with.
    first_incarnation: Incarnation,
    /// How fast the shares of others fill.
    paces: Paces,
    /// What is left of the share of all who are no members, or not in their present life.
    strangers: Share,
    vector: Vector,
    membership: Membership,
    seeds: Vec<Address>,
    chance: Chance,
    strategy: Box<dyn Disseminate>,
    /// What the wall clock shows beyond the driver's, in microseconds, if it was told.
    wall_offset: Option<i64>,
    catch_up: CatchUp,
    /// Who is silent, and whether it is dead; `None` if nobody is to be declared dead.
    detector: Option<Detector>,
    /// Refusals looked into in this round.
    refusals: u32,
    /// Deaths that were told at once in this round.
    hurried: u32,
    /// Members that were told in this round that they are taken for dead.
    warned: u32,
    /// What there is beyond the vector; `None` in a cluster without colonies.
    colony: Option<Colony>,
    urgent: Urgent,
    payload: Vec<u8>,
    next_round: Instant,
    /// Chooses the window, if an age is to be kept.
    age_keeper: Option<AgeKeeper>,
    /// When the present round was due.
    round_start: Instant,
    /// When the strategy looks again before the next round; far ahead if it does not.
    next_look: Instant,
    left: bool,
    /// Numbers the datagrams that arrived, modulo 2³² and without 0.
    arrival: u32,
    pieces: Pieces,
    outbox: Outbox,
    events: VecDeque<Event>,
    /// Whose news was not handed out yet; `None` if nobody wants to know.
    changes: Option<Changes>,
    counters: Counters,
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
        let full = config.capacity == Capacity::Full;
        let unit = micros(config.interval) as u64;
        let format = Format { schema: config.payload_schema, payload_bytes: config.payload_bytes };
        let capacity = match config.capacity {
            Capacity::Full => max_nodes,
            Capacity::Bounded(entries) => entries as usize,
        };
        let own = (id, Stamp::new(incarnation, 0));
        let with_cards = roster.is_empty();
        let node = Self {
            vector: Vector::new(capacity, usize::from(config.payload_bytes), unit, own, now),
            membership: Membership::new(max_nodes),
            catch_up: CatchUp::new(config.catch_up && (full || with_cards)),
            cluster: header::cluster_hash(&config.cluster),
            salt: chance.bits() & header::MAX_48,
            next_round: Instant::from_micros(now.as_micros() + chance.below(unit as usize) as i64),
            round_start: now,
            age_keeper: config.age_target.map(AgeKeeper::of),
            next_look: NEVER,
            strategy: config.strategy.begin(),
            wall_offset: None,
            pieces: Pieces::new(capacity),
            urgent: Urgent::default(),
            detector: config.death_after.map(|after| Detector::new(now, config.interval, after)),
            refusals: 0,
            hurried: 0,
            warned: 0,
            colony: config.colony.map(Colony::of),
            payload: Vec::with_capacity(usize::from(config.payload_bytes)),
            id,
            name: me.name.as_str().into(),
            address: me.address,
            with_cards,
            sealed: 0,
            first_incarnation: incarnation,
            paces: Paces::of(config.interval, detector::wait(config.interval)),
            strangers: Share::WHOLE,
            seeds: Vec::new(),
            left: false,
            arrival: 0,
            outbox: Outbox::default(),
            events: VecDeque::with_capacity(MAX_EVENTS),
            changes: None,
            counters: Counters::default(),
            config,
            format,
            keys,
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
        if self.detector.is_some() {
            self.outbox.knocks.reserve(MAX_WAITING);
        }
        let alone = [me];
        self.admit(if self.with_cards { &alone } else { roster }, now)?;
        if let Some(own) = self.membership.get_mut(self.id) {
            // Its own card is of each life it may come to have.
            own.address_of = Incarnation::MAX;
        }
        Ok(self)
    }

    /// Sets what the node says of itself from its next round on; a shorter text is padded with
    /// zeros.
    ///
    /// # Errors
    /// If it is longer than the cluster's payloads.
    pub fn publish(&mut self, payload: &[u8]) -> Result<(), PayloadTooLong> {
        self.must_fit(payload)?;
        self.payload.clear();
        self.payload.extend_from_slice(payload);
        Ok(())
    }

    fn must_fit(&self, payload: &[u8]) -> Result<(), PayloadTooLong> {
        let (given, room) = (payload.len(), usize::from(self.config.payload_bytes));
        if given > room { Err(PayloadTooLong { given, room }) } else { Ok(()) }
    }

    /// Names nodes to ask for the members. Until another is known the node asks them again and
    /// again, later now and then, so that a cluster that fell apart grows together.
    pub fn join(&mut self, seeds: &[Address]) {
        self.seeds.clear();
        self.seeds.extend(seeds.iter().filter(|&&seed| seed != self.address));
        self.catch_up.gained();
    }

    /// Says that the node is at another address from now on. A card is of an incarnation, so it
    /// begins a new one, which is returned; `None` where nothing changes: it is there already, has
    /// left, or belongs to a roster, which says where its members are.
    pub fn move_to(&mut self, address: Address, now: Instant) -> Option<Incarnation> {
        if !self.with_cards || self.left || address == self.address {
            return None;
        }
        let incarnation = self.vector.own().stamp.incarnation().next()?;
        self.vector.advance(now);
        self.address = address;
        if let Some(own) = self.membership.get_mut(self.id) {
            own.address = address;
        }
        self.seeds.retain(|&seed| seed != address);
        self.vector.renew_own(Stamp::new(incarnation, 0), &self.payload);
        self.card_changed(self.id);
        // Whom it asks learns of the move from its card.
        self.catch_up.gained();
        Some(incarnation)
    }

    /// Says farewell: makes the node's last entry and sends it to a few members. No round comes
    /// afterwards: call [`Node::poll_transmit`] until it returns `None`, then drop the node.
    pub fn leave(&mut self, now: Instant) {
        if self.left {
            return;
        }
        self.vector.advance(now);
        self.left = true;
        let incarnation = self.vector.own().stamp.incarnation();
        self.vector.renew_own(Stamp::left(incarnation), &[]);
        self.changed(self.id);
        self.outbox.asks.clear();
        self.begin_sending();
        self.play(now, |strategy, scene| strategy.farewell(scene));
    }

    /// Says what the wall clock shows, in microseconds since 1970 or any other time that all nodes
    /// of the cluster share. Strategy `staggered` needs it, and to be told again when the clock was
    /// set; it may be wrong, which costs freshness and nothing else.
    pub fn set_clock(&mut self, now: Instant, wall_micros: i64) {
        self.wall_offset = Some(wall_micros.saturating_sub(now.as_micros()));
    }

    /// Replaces the keys. Datagrams already made stay as they are.
    pub fn set_keys(&mut self, keys: KeyRing) {
        self.keys = keys;
    }

    /// Replaces the roster: new members are added, missing ones removed with their entries.
    ///
    /// # Errors
    /// As [`Node::new`]; also if the node joins by seeds. Nothing is changed then.
    pub fn set_roster(&mut self, roster: &[Member], now: Instant) -> Result<(), ConfigError> {
        if self.with_cards {
            return Err(ConfigError::NoRoster);
        }
        let now = self.vector.advance(now);
        self.admit(roster, now)
    }

    /// Does what is due at `now`: the rounds of the units that have begun.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.vector.advance(now);
        if self.left || now < self.poll_timeout() {
            return;
        }
        self.look_at_ages(now);
        if now < self.next_round {
            if now >= self.next_look {
                self.play(now, |strategy, scene| strategy.look(scene));
                self.look_at_calls(now);
            }
        } else {
            let unit = micros(self.config.interval);
            let late = now.saturating_since(self.next_round);
            self.judge_itself(now, late);
            let behind = (now.as_micros() - self.next_round.as_micros()) / unit;
            self.round_start = Instant::from_micros(self.next_round.as_micros() + behind * unit);
            self.counters.rounds_skipped += behind as u64;
            self.round(now);
            let next = self.play(now, |strategy, scene| strategy.next_round(scene));
            self.next_round = next.unwrap_or(self.round_start + self.config.interval);
        }
        self.look_at_doubts(now);
        self.next_look = self.look_after(now);
    }

    /// A round comes so much later than was due: if this node stood still, the others did not.
    fn judge_itself(&mut self, now: Instant, late: core::time::Duration) {
        let Some(detector) = self.detector.as_mut() else { return };
        if detector.health.round(now, late, self.config.interval) {
            detector.begin_anew(now);
            self.all_changed();
        }
    }

    /// When the strategy looks next in this round.
    fn look_after(&self, now: Instant) -> Instant {
        let (looks, unit) = (self.strategy.looks(self.config.interval), self.config.interval);
        let round = self.round_start.as_micros();
        let next = next_look_micros(looks, round, micros(unit), now.as_micros());
        let next = next.map(Instant::from_micros).filter(|&at| at < self.next_round);
        next.unwrap_or(NEVER)
    }

    /// When [`Node::handle_timeout`] wants to be called; far ahead after [`Node::leave`].
    pub fn poll_timeout(&self) -> Instant {
        if self.left {
            return NEVER;
        }
        // What was asked for may be here by now.
        let looks = self.strategy.wants_look() || self.awaits_colonies();
        let due = if looks { self.next_round.min(self.next_look) } else { self.next_round };
        self.detector.as_ref().and_then(Detector::due).map_or(due, |doubt| due.min(doubt))
    }

    /// The next event not yet fetched.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The node's id.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// The node's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its parameters.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its present incarnation.
    pub fn incarnation(&self) -> Incarnation {
        self.vector.own().stamp.incarnation()
    }

    /// Entries in its present windows.
    pub fn window_entries(&self) -> usize {
        let members = self.membership.targets() + 1;
        let chosen = self.age_keeper.as_ref().and_then(|keeper| keeper.window_entries(members));
        chosen.unwrap_or_else(|| self.config.window.entries(members))
    }

    /// Whether its entries have lately been as young as [`Config::age_target`] says; `None` without
    /// a target, and until enough was seen after the start; it is judged anew every 26 units.
    pub fn keeps_age(&self) -> Option<bool> {
        self.age_keeper.as_ref().and_then(AgeKeeper::kept)
    }

    /// Chooses the window anew for the age to be kept, if there is one and something has changed.
    fn choose_window(&mut self, now: Instant) {
        let (members, interval) = (self.membership.targets() + 1, self.config.interval);
        let means = (self.config.strategy, self.budget());
        if let Some(keeper) = self.age_keeper.as_mut() {
            keeper.choose(now, members, interval, means);
        }
    }

    /// Looks at the ages if an age is to be kept and it is time. Nothing has come since that
    /// time: the ages were what they are now, but for what has passed.
    fn look_at_ages(&mut self, now: Instant) {
        let Some(keeper) = self.age_keeper.as_mut() else { return };
        let Some((at, mut seen)) = keeper.due(now, self.config.interval) else { return };
        for record in self.membership.iter_targets() {
            if let Some(entry) = self.vector.get(record.id) {
                seen.count(at.saturating_since(entry.birth));
            }
        }
        keeper.note(&seen, self.config.interval);
    }

    /// What may be sent in a unit, and what things cost.
    fn budget(&self) -> Budget {
        let entry_bytes = self.format.entry_bytes();
        let frame_bytes = overhead_bytes(self.config.wire_version);
        let room = usize::from(self.config.datagram_bytes) - frame_bytes;
        Budget {
            entry_bytes,
            frame_bytes,
            datagram_entries: (room / entry_bytes).max(1),
            window_entries: self.window_entries(),
        }
    }

    /// What it has done and refused.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What it knows about every member, in the order of ids.
    pub fn entries(&self, now: Instant) -> impl Iterator<Item = EntryView<'_>> {
        self.membership.order().iter().filter_map(move |&id| self.view(id, now))
    }

    /// What it knows about the member called `name`.
    pub fn entry(&self, name: &str, now: Instant) -> Option<EntryView<'_>> {
        let view = self.view(NodeId::of_name(name, self.config.id_salt), now)?;
        (view.name == name).then_some(view)
    }

    /// Members that have not left, this node among them; [`Node::ages`] says it after a walk.
    pub fn members(&self) -> u32 {
        self.membership.targets() as u32 + 1
    }

    /// How complete and how fresh the vector is.
    pub fn ages(&self, now: Instant) -> Ages {
        let (mut known, mut total, mut age_max) = (0u32, 0u128, core::time::Duration::ZERO);
        for record in self.membership.iter_targets() {
            let Some(entry) = self.vector.get(record.id) else { continue };
            let age = now.saturating_since(entry.birth);
            known += 1;
            total += age.as_micros();
            age_max = age_max.max(age);
        }
        let mean = total / u128::from(known.max(1));
        Ages {
            members: self.members(),
            known: known + 1,
            age_avg: core::time::Duration::from_micros(mean as u64),
            age_max,
        }
    }

    /// One unit's work.
    fn round(&mut self, now: Instant) {
        self.counters.rounds += 1;
        let own = self.vector.own().stamp;
        // After 2⁴⁸ units the last stamp is repeated: it cannot be exceeded.
        self.vector.renew_own(own.next().unwrap_or(own), &self.payload);
        self.changed(self.id);
        self.forget(now);
        self.choose_window(now);
        self.begin_ask();
        self.begin_sending();
        self.look_for_silence(now);
        self.play(now, |strategy, scene| strategy.round(scene));
        self.begin_calls(now);
        self.look_at_calls(now);
    }

    /// Gives up what the last round has not sent yet, and picks the farewells for this one.
    fn begin_sending(&mut self) {
        self.counters.entries_unsent += self.outbox.give_up(&mut self.pieces);
        let first = self.urgent.take(self.strategy.urgent_entries(self.window_entries()));
        self.pieces.set_first(first, &self.vector);
    }

    /// Lets the strategy act on what there is now.
    fn play<R>(
        &mut self,
        now: Instant,
        act: impl FnOnce(&mut dyn Disseminate, &mut Scene<'_>) -> R,
    ) -> R {
        let budget = self.budget();
        let colonies = self.colony.as_ref().map(|colony| {
            let room_bytes = usize::from(self.config.datagram_bytes) - budget.frame_bytes;
            let (colonies, record_bytes) = (colony.outlook.len(), RECORD_BYTES);
            (&colony.outlook, Freight { colonies, record_bytes, room_bytes })
        });
        let mut scene = Scene {
            now,
            unit: self.config.interval,
            id: self.id,
            membership: &self.membership,
            vector: &self.vector,
            chance: &mut self.chance,
            budget,
            cluster: self.cluster,
            wall_offset: self.wall_offset,
            orders: &mut self.outbox.orders,
            colonies,
        };
        act(&mut *self.strategy, &mut scene)
    }

    /// Decides whether to ask others for what this node lacks, and whom.
    fn begin_ask(&mut self) {
        let alone = self.membership.targets() == 0;
        let complete = !self.with_cards && self.vector.len() >= self.membership.len();
        let asks = if complete { 0 } else { self.catch_up.due(alone) };
        self.outbox.asks.clear();
        for _ in 0..asks {
            let at = self.chance.below(self.membership.targets());
            let member = self.membership.target(at).map(|record| record.address);
            let seed = self.chance.pick(&self.seeds);
            let try_seed = alone || self.chance.below(8) == 0;
            let other = if try_seed { seed.or(member) } else { member };
            let to = self.catch_up.take_bearer().or(other);
            self.outbox.asks.extend(to.filter(|to| !self.outbox.asks.contains(to)));
        }
    }

    /// Forgets members of which nothing was heard for too long, a few candidates a unit.
    fn forget(&mut self, now: Instant) {
        let oldest = now - self.config.forget_after;
        for _ in 0..FORGET_CHECKS.min(self.membership.places()) {
            let place = self.outbox.next_place(self.membership.places());
            let Some(record) = self.membership.in_place(place) else { continue };
            let id = record.id;
            let entry = self.vector.get(id);
            let birth = entry.map_or(record.last_birth, |entry| entry.birth);
            if birth >= oldest || id == self.id || (!self.with_cards && entry.is_none()) {
                continue;
            }
            let floor = entry.map_or(record.floor, |entry| entry.stamp.above());
            let name = record.name.to_string();
            self.changed(id);
            self.vector.remove(id);
            if self.with_cards {
                self.membership.bury(id, floor);
            } else {
                self.membership.raise_floor(id, floor);
                self.membership.set_target(id, true);
            }
            self.counters.members_forgotten += 1;
            self.emit(Event::Forgotten(name));
        }
    }

    /// Makes the membership the one the list gives, itself included; or changes nothing.
    fn admit(&mut self, list: &[Member], now: Instant) -> Result<(), ConfigError> {
        let roster = check_roster(list, &self.config)?;
        if !list.iter().any(|member| *member.name == *self.name) {
            return Err(ConfigError::NotInRoster(self.name.to_string()));
        }
        let gone: Vec<NodeId> = self
            .membership
            .order()
            .iter()
            .copied()
            .filter(|id| roster.binary_search_by_key(id, |(id, _)| *id).is_err())
            .collect();
        for id in gone {
            self.changed(id);
            self.vector.remove(id);
            self.membership.remove(id);
        }
        self.membership.reserve(roster.len());
        for (id, member) in roster {
            let card = (member.name.as_str(), member.address);
            let added = self.membership.add(id, card, Incarnation::default(), now);
            debug_assert!(added.is_ok(), "a checked roster fits and has no collisions");
            if let Some(record) = self.membership.get_mut(id) {
                record.address = member.address;
            }
            let left = self.vector.get(id).is_some_and(|entry| entry.stamp.is_last());
            self.membership.set_target(id, id != self.id && !left);
            self.card_changed(id);
        }
        self.catch_up.gained();
        Ok(())
    }

    /// Notes an event, at the price of the oldest if nobody fetches them.
    fn emit(&mut self, event: Event) {
        if let Event::Suspected(name) | Event::Cleared(name) = &event {
            self.changed(NodeId::of_name(name, self.config.id_salt));
        }
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
            self.counters.dropped_events += 1;
        }
        self.events.push_back(event);
    }

    fn suspects(&self, id: NodeId) -> bool {
        let doubt = self.detector.as_ref().and_then(|detector| detector.doubt(id));
        doubt.is_some_and(Doubt::is_suspicion)
    }

    fn view(&self, id: NodeId, now: Instant) -> Option<EntryView<'_>> {
        self.membership.get(id).map(|record| self.view_of(record, now))
    }

    fn view_of<'a>(&'a self, record: &'a Record, now: Instant) -> EntryView<'a> {
        let id = record.id;
        let entry = self.vector.get(id);
        let stamp = entry.map_or(Stamp::default(), |entry| entry.stamp);
        EntryView {
            id,
            name: &record.name,
            address: record.address,
            state: match entry {
                None => EntryState::Unheard,
                Some(_) if stamp.is_left() => EntryState::Left,
                Some(_) if stamp.is_dead() => EntryState::Dead,
                Some(_) if self.suspects(id) => EntryState::Suspected,
                Some(_) => EntryState::Alive,
            },
            incarnation: stamp.incarnation().get(),
            sequence: stamp.sequence(),
            age: entry.map(|entry| now.saturating_since(entry.birth)),
            payload: entry.map_or(&[], |entry| entry.payload),
        }
    }
}

/// The members with their ids, ascending, if they fit and are distinct.
fn check_roster<'a>(
    list: &'a [Member],
    config: &Config,
) -> Result<Vec<(NodeId, &'a Member)>, ConfigError> {
    if list.len() > config.max_nodes as usize {
        return Err(ConfigError::TooManyNodes { nodes: list.len(), max_nodes: config.max_nodes });
    }
    if let Some(member) = list.iter().find(|member| !is_name(&member.name)) {
        return Err(ConfigError::Name(member.name.clone()));
    }
    let roster = with_ids(list, config.id_salt);
    let Some(pair) = roster.windows(2).find(|pair| pair[0].0 == pair[1].0) else {
        return Ok(roster);
    };
    let (first, second) = (pair[0].1.name.clone(), pair[1].1.name.clone());
    if first == second {
        return Err(ConfigError::DuplicateName(first));
    }
    let free = |salt: &u32| with_ids(list, *salt).windows(2).all(|pair| pair[0].0 != pair[1].0);
    let salt = (0..1000).find(free).unwrap_or_default();
    Err(ConfigError::IdCollision { first, second, salt })
}

fn with_ids(list: &[Member], salt: u32) -> Vec<(NodeId, &Member)> {
    let mut roster: Vec<_> = list.iter().map(|m| (NodeId::of_name(&m.name, salt), m)).collect();
    roster.sort_by_key(|&(id, _)| id);
    roster
}
