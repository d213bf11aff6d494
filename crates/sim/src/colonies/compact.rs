//! One colony in rows of births: the rules of strategy `grid` and of calls, without datagrams.
//!
//! A member's row holds the birth of each member's entry it knows, and the birth of each other
//! colony's aggregate. Layout, pace and representation are the core's own. Other colonies are here
//! as far as they matter: whether a node that is called is up, and which nodes it would name.
//!
//! Where it differs from the full mode: messages arrive at once; ages are exact; all aggregates are
//! of one size; an answer is lost as a whole; the members that a reply names are drawn among those
//! that were up lately, whoever answers; and a reply's bytes are counted in the caller's colony.

use core::cmp::Reverse;
use core::ops::{ControlFlow, Range};
use std::collections::BinaryHeap;

use tidings_gossip::colony::representation::{LATE_UNITS, Representation, silent_units};
use tidings_gossip::dissemination::layout::{
    Budget, Freight, Layout, PULLS_AT_ONCE, STRAY_UNITS, looks_in, next_look_micros,
    next_round_micros,
};
use tidings_gossip::dissemination::puller::{MARGIN_UNITS, Pull, Puller, pick_relay};
use tidings_gossip::dissemination::pusher::Pusher;
use tidings_gossip::wire::OVERHEAD_BYTES;
use tidings_gossip::wire::call::{MAX_CALL_BYTES, REPLY_HEAD_BYTES};
use tidings_gossip::wire::pull::COLONIES_BYTES;
use tidings_gossip::wire::record::HEAD_BYTES;
use tidings_gossip::wire::window::PREAMBLE_BYTES;

use super::tally::{Ages, Outcome, Traffic};
use super::uptime::Outage;
use super::{START, UNIT, World};
use crate::chance::{Chance, Purpose, lateness};
use crate::row;
use crate::sample;
use crate::trace::Trace;

/// Bytes of a contact: an IPv4 address with a port, and its length.
pub(super) const CONTACT_BYTES: usize = 7;
/// Contacts in a reply and in a push, and in the answer to a pull.
const REPLY_CONTACTS: usize = 3;
/// Contacts a member keeps of a colony.
const CONTACTS: usize = 4;
/// Bytes a call leaves for an aggregate to have grown.
const GROWTH_BYTES: usize = 24;
/// Calls made again after the first, at most.
const MAX_REPEATS: u8 = 3;
/// Bytes of a datagram beside the body.
const SEAL_BYTES: usize = OVERHEAD_BYTES - PREAMBLE_BYTES;
/// Ages that go into a histogram at each sample, about: members take turns.
const AGES_COUNTED: usize = 1 << 16;
/// No contact.
const NOBODY: u32 = u32::MAX;

/// One member, beside what it knows.
#[derive(Clone, Default)]
struct Member {
    puller: Puller,
    pusher: Pusher,
    rounds: u32,
    round_start: i64,
    next_round: i64,
    life: u32,
    up: bool,
    /// Calls that were not answered, by the place of the colony, with their repeats.
    open: Vec<(usize, u8)>,
    bytes: u64,
}

/// A colony under way.
pub(super) struct CompactColony<'a> {
    world: &'a World,
    colony: usize,
    first_node: usize,
    members: usize,
    others: usize,
    /// Births of entries, a row a member.
    entries: Vec<i32>,
    /// Births of aggregates, a row a member.
    aggregates: Vec<i32>,
    /// Of each member the contacts in each colony of its row, the latest first.
    contacts: Vec<[u32; CONTACTS]>,
    most_in_row: usize,
    nodes: Vec<Member>,
    layout: Layout,
    representation: Representation,
    budget: Budget,
    /// What rides along in truth.
    freight: Freight,
    /// When in a unit members look, in sixteenths.
    looks: &'static [u8],
    fresh: i64,
    silent: i64,
    chance: Chance,
    wakes: BinaryHeap<Reverse<(i64, u32, u32)>>,
    outages: &'a [Outage],
    /// Crashes and starts: tick, member, whether it starts.
    actions: Vec<(i64, usize, bool)>,
    next_action: usize,
    scratch: Vec<i32>,
    traffic: Traffic,
    trace: Trace,
}

impl<'a> CompactColony<'a> {
    /// A colony with all members up, at the start, knowing nobody's news.
    pub(super) fn of(world: &'a World, colony: usize) -> Self {
        let nodes = world.nodes_of(colony);
        let (members, others) = (nodes.len(), world.colonies() - 1);
        let (layout, budget) = (world.layout(members), world.budget(members));
        let representation = Representation::of(others, layout.rows());
        let most_in_row = others.div_ceil(layout.rows()) + 1;
        let record_bytes = HEAD_BYTES + CONTACT_BYTES + world.aggregate_bytes;
        let outages = world.uptime.of_nodes(nodes.clone());
        let member = |outage: &Outage| outage.node as usize - nodes.start;
        let both = |o: &Outage| [(o.down, member(o), false), (o.up, member(o), true)];
        let mut actions: Vec<_> = outages.iter().flat_map(both).collect();
        actions.sort_unstable();
        let interval = world.scenario.interval.as_micros() as i64;
        let ticks = |units: f64| (units * UNIT as f64) as i64;
        let mut run = Self {
            world,
            colony,
            first_node: nodes.start,
            members,
            others,
            entries: vec![0; members * members],
            aggregates: vec![0; members * others],
            contacts: vec![[NOBODY; CONTACTS]; members * most_in_row],
            most_in_row,
            nodes: vec![Member::default(); members],
            fresh: ticks(layout.fresh_units()),
            silent: ticks(silent_units(layout.push_units)),
            layout,
            representation,
            budget,
            freight: world.scenario.freight(others, record_bytes),
            looks: looks_in(interval),
            chance: Chance::of(world.scenario.seed, Purpose::Node(colony as u32, u32::MAX - 1)),
            wakes: BinaryHeap::with_capacity(members),
            outages,
            actions,
            next_action: 0,
            scratch: Vec::new(),
            traffic: Traffic::default(),
            trace: Trace::default(),
        };
        (0..members).for_each(|member| run.start(member, START));
        run
    }

    /// Bytes that a colony under way takes, about.
    pub(super) fn memory_bytes(members: u64, colonies: u64, rows: u64) -> u64 {
        let histograms = 4 << 20;
        members * (4 * members + 4 * colonies + 16 * rows + 512) + histograms
    }

    /// Runs to the last sample; `None` if it was broken off.
    pub(super) fn run(mut self, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> Option<Outcome> {
        let scenario = &self.world.scenario;
        let mut outcome = Outcome { colonies: 1, ..Outcome::default() };
        for unit in 1..=scenario.all_units() {
            if unit == scenario.warmup_units + 1 {
                self.traffic = Traffic::default();
                self.nodes.iter_mut().for_each(|node| node.bytes = 0);
            }
            let now = START + sample::time(unit, UNIT);
            self.advance(now);
            if unit > scenario.warmup_units {
                self.sample(unit, now, &mut outcome);
            }
            // Whole units are counted, wherever in them the samples lie.
            self.advance(START + i64::from(unit) * UNIT);
            if go_on().is_break() {
                return None;
            }
        }
        outcome.traffic = self.traffic;
        outcome.traffic.bytes_most = self.nodes.iter().map(|node| node.bytes).max().unwrap_or(0);
        outcome.aggregate_bytes = (self.world.aggregate_bytes as u64, 1);
        let mut trace = self.trace;
        trace.fold(outcome.traffic.bytes);
        outcome.trace = trace.value();
        Some(outcome)
    }

    /// Does everything that is due up to `end`.
    fn advance(&mut self, end: i64) {
        loop {
            let wake = self.wakes.peek().map_or(i64::MAX, |Reverse((at, ..))| *at);
            let action = self.actions.get(self.next_action).map_or(i64::MAX, |(at, ..)| *at);
            if wake.min(action) > end {
                return;
            }
            if action <= wake {
                let (at, member, starts) = self.actions[self.next_action];
                self.next_action += 1;
                if starts {
                    self.start(member, at);
                } else {
                    self.nodes[member].up = false;
                }
            } else if let Some(Reverse((at, member, life))) = self.wakes.pop() {
                let node = &self.nodes[member as usize];
                if node.up && node.life == life {
                    let next = self.wake(at, member as usize);
                    self.wakes.push(Reverse((next, member, life)));
                }
            }
        }
    }

    /// Starts a member, empty: it was told of two members of every other colony.
    fn start(&mut self, member: usize, now: i64) {
        self.entries[member * self.members..][..self.members].fill(0);
        self.aggregates[member * self.others..][..self.others].fill(0);
        self.entries[member * self.members + member] = now as i32;
        let row = self.layout.row_of(member);
        for place in self.representation.colonies_of(row) {
            let first = self.world.nodes_of(self.colony_at(place)).start as u32;
            *self.contacts_of(member, place) = [first, first + 1, NOBODY, NOBODY];
        }
        let rows = self.layout.rows();
        let first_row = self.chance.below(rows);
        let costs = self.costs();
        let node = &mut self.nodes[member];
        let (life, bytes) = (node.life + 1, node.bytes);
        *node = Member { life, up: true, bytes, ..Member::default() };
        node.puller.restart(rows, first_row, costs);
        let first = now + self.chance.below(UNIT as usize) as i64;
        self.nodes[member].next_round = first;
        self.wakes.push(Reverse((first, member as u32, life)));
    }

    /// Bytes of a pull and of its answer, as members plan them.
    fn costs(&self) -> (usize, usize) {
        let rows = self.layout.rows();
        let (entries, records) = (self.members.div_ceil(rows), self.others.div_ceil(rows));
        let planned = self.world.freight();
        let answer = self.budget.packed(entries, records, &planned).1;
        (self.budget.pull_bytes() + COLONIES_BYTES, answer)
    }

    /// The number among all of the colony in a place among the others.
    fn colony_at(&self, place: usize) -> usize {
        place + usize::from(place >= self.colony)
    }

    fn contacts_of(&mut self, member: usize, place: usize) -> &mut [u32; CONTACTS] {
        let row = self.layout.row_of(member);
        let within = place - self.representation.colonies_of(row).start;
        &mut self.contacts[member * self.most_in_row + within]
    }

    fn is_lost(&mut self) -> bool {
        self.chance.happens(self.world.scenario.loss)
    }

    /// Counts what a member sends.
    fn sent(&mut self, member: usize, datagrams: usize, bytes: usize) {
        self.traffic.datagrams += datagrams as u64;
        self.traffic.bytes += bytes as u64;
        self.nodes[member].bytes += bytes as u64;
    }

    fn received(&mut self, now: i64, from: usize, to: usize, news: usize) {
        self.trace.fold(now as u64);
        self.trace.fold(((from as u64) << 40) | ((to as u64) << 16) | news as u64);
    }

    /// What a member does when it wakes: its round, or a look in between; when it wakes next.
    fn wake(&mut self, now: i64, member: usize) -> i64 {
        let unit_bytes = self.budget.unit_bytes();
        let node = &mut self.nodes[member];
        if now >= node.next_round {
            node.round_start = if node.rounds == 0 { now } else { node.next_round };
            node.next_round = next_round_micros(now, UNIT);
            node.puller.earn(unit_bytes);
            let round = node.rounds;
            node.rounds += 1;
            self.round(now, member, round);
            self.begin_calls(now, member);
        } else {
            self.look(now, member);
        }
        let node = &self.nodes[member];
        let next = next_look_micros(self.looks, node.round_start, UNIT, now);
        let next = next.filter(|&at| at < node.next_round);
        let wanted = node.puller.wants_look() || !node.open.is_empty();
        let due = next.filter(|_| wanted).unwrap_or(node.next_round);
        due + lateness(self.first_node + member, due, UNIT)
    }

    /// Pulls, and repeats what was not answered.
    fn look(&mut self, now: i64, member: usize) {
        let mut answers = Vec::new();
        for _ in 0..PULLS_AT_ONCE {
            let Some(pull) = self.nodes[member].puller.next_pull() else { break };
            answers.extend(self.pull(now, member, pull));
        }
        let puller = &mut self.nodes[member].puller;
        puller.looked();
        // A member has sent all its requests before the first answer comes; of an answer of several
        // datagrams the first answers, the rest is spent.
        for (relay, first, rest) in answers {
            puller.answered(relay, first, now);
            puller.spend(rest);
        }
        let open = core::mem::take(&mut self.nodes[member].open);
        for (place, repeats) in open {
            if repeats < MAX_REPEATS {
                self.call(now, member, place, repeats + 1);
            }
        }
    }

    /// Pushes to the own row and, now and then, a window to anybody.
    fn round(&mut self, now: i64, member: usize, round: u32) {
        self.entries[member * self.members + member] = now as i32;
        let node = &mut self.nodes[member];
        let mates: Vec<usize> = node.pusher.round(&self.layout, member).collect();
        let bytes = self.budget.window_bytes(1);
        node.puller.spend(mates.len() * bytes);
        for mate in mates {
            self.sent(member, 1, bytes);
            if !self.is_lost() && self.nodes[mate].up {
                let held = &mut self.entries[mate * self.members + member];
                *held = (*held).max(now as i32);
                self.received(now, member, mate, 1);
            }
        }
        if round % STRAY_UNITS == member as u32 % STRAY_UNITS {
            self.stray(now, member);
        }
    }

    /// A datagram of the newest entries to a random member.
    fn stray(&mut self, now: i64, member: usize) {
        let entries = self.budget.datagram_entries.min(self.budget.window_entries);
        let bytes = self.budget.window_bytes(entries);
        self.nodes[member].puller.spend(bytes);
        self.sent(member, 1, bytes);
        let to = self.chance.below(self.members - 1);
        let to = to + usize::from(to >= member);
        if self.is_lost() || !self.nodes[to].up {
            return;
        }
        let newest = self.row_of(member);
        let births = &self.entries[newest.clone()];
        let threshold = newest_from(births, now as i32, entries, &mut self.scratch);
        let into = to * self.members..(to + 1) * self.members;
        let news = take(&mut self.entries, newest, into, threshold - 1);
        self.received(now, member, to, news);
    }

    fn row_of(&self, member: usize) -> Range<usize> {
        member * self.members..(member + 1) * self.members
    }

    /// Asks a member of a row, and takes what it answers: who it was, the bytes of the first
    /// datagram, and those of the rest.
    fn pull(&mut self, now: i64, member: usize, pull: Pull) -> Option<(u32, usize, usize)> {
        let mates = self.layout.members_of(pull.row);
        let births = &self.entries[self.row_of(member)][mates.clone()];
        let fresh = now - self.fresh;
        let chance = &mut self.chance;
        let is_fresh = |at: usize| mates.start + at != member && i64::from(births[at]) > fresh;
        let relay = mates.start + pick_relay(mates.len(), is_fresh, |n| chance.below(n));
        if relay == member {
            return None;
        }
        let puller = &mut self.nodes[member].puller;
        puller.asked(pull, relay as u32);
        let since = puller.last_answer(pull.row).map_or(0, |at| at - MARGIN_UNITS * UNIT);
        let since = since.max(0) as i32;
        let colonies = self.representation.colonies_of(pull.row);
        let none = colonies.start == self.others && pull.row > 0;
        let more = if none { 0 } else { COLONIES_BYTES };
        self.sent(member, 1, self.budget.pull_bytes() + more);
        if self.is_lost() || !self.nodes[relay].up {
            return None;
        }
        let at = |row: usize, width: usize, range: &Range<usize>| {
            row * width + range.start..row * width + range.end
        };
        let entries = &self.entries[at(relay, self.members, &mates)];
        let entries = entries.iter().filter(|&&birth| birth > since).count();
        let records = &self.aggregates[at(relay, self.others, &colonies)];
        let records = records.iter().filter(|&&birth| birth > since).count();
        let (datagrams, bytes) = self.budget.packed(entries, records, &self.freight);
        self.sent(relay, datagrams, bytes);
        if self.is_lost() {
            return None;
        }
        let (from, to) = (at(relay, self.members, &mates), at(member, self.members, &mates));
        let mut news = take(&mut self.entries, from, to, since);
        let (from, to) = (at(relay, self.others, &colonies), at(member, self.others, &colonies));
        news += take(&mut self.aggregates, from, to, since);
        self.received(now, relay, member, news);
        let first = if datagrams > 1 { self.first_bytes(entries, records) } else { bytes };
        Some((relay as u32, first, bytes - first))
    }

    /// Bytes of the first datagram of an answer that takes several.
    fn first_bytes(&self, entries: usize, records: usize) -> usize {
        let entries = entries.min(self.budget.datagram_entries);
        let room = self.freight.room_bytes.saturating_sub(entries * self.budget.entry_bytes);
        let records = records.min(room / self.freight.record_bytes);
        self.budget.packed(entries, records, &self.freight).1
    }

    /// Calls the colonies that a member represents.
    fn begin_calls(&mut self, now: i64, member: usize) {
        self.nodes[member].open.clear();
        let row = self.layout.row_of(member);
        let mates = self.layout.members_of(row);
        for place in self.representation.colonies_of(row) {
            let births = &self.entries[self.row_of(member)][mates.clone()];
            let me = member - mates.start;
            let is_fresh = |at: usize| at == me || i64::from(births[at]) > now - self.silent;
            let [first, second] =
                self.representation.representatives(row, place, mates.len(), is_fresh);
            let birth = i64::from(self.aggregates[member * self.others + place]);
            let late = birth == 0 || birth < now - LATE_UNITS * UNIT;
            if first == Some(me) || (second == Some(me) && late) {
                self.call(now, member, place, 0);
            }
        }
    }

    /// Calls a colony, and pushes what it answers to the row.
    fn call(&mut self, now: i64, member: usize, place: usize, repeats: u8) {
        let known = *self.contacts_of(member, place);
        let count = known.iter().filter(|&&contact| contact != NOBODY).count();
        let contact = known[self.chance.below(count)];
        let aggregate = self.world.aggregate_bytes;
        let record = HEAD_BYTES + REPLY_CONTACTS * CONTACT_BYTES + aggregate;
        let held = self.aggregates[member * self.others + place] > 0 && repeats == 0;
        let grown = REPLY_HEAD_BYTES + record + GROWTH_BYTES;
        let call = SEAL_BYTES + if held { grown } else { MAX_CALL_BYTES };
        self.nodes[member].puller.spend(2 * call);
        self.sent(member, 1, call);
        self.traffic.calls += 1;
        let arrived = !self.is_lost() && self.world.uptime.is_up(contact as usize, now);
        if arrived {
            self.traffic.datagrams += 1;
            self.traffic.bytes += (SEAL_BYTES + REPLY_HEAD_BYTES + record) as u64;
        }
        if !arrived || self.is_lost() {
            self.traffic.calls_failed += 1;
            self.nodes[member].open.push((place, repeats));
            return;
        }
        let named = self.named_by(place, now);
        let latest = [contact, named[0], named[1], named[2]];
        self.aggregates[member * self.others + place] = now as i32;
        meet(self.contacts_of(member, place), &latest);
        self.push_record(now, member, place, &latest[..REPLY_CONTACTS]);
    }

    /// Members of a colony that one of them would name: up, or down since not long ago.
    fn named_by(&mut self, place: usize, now: i64) -> [u32; REPLY_CONTACTS] {
        let nodes = self.world.nodes_of(self.colony_at(place));
        core::array::from_fn(|_| {
            let node = nodes.start + self.chance.below(nodes.len());
            let lately = self.world.uptime.was_up(node, now, self.fresh);
            if lately { node as u32 } else { NOBODY }
        })
    }

    fn push_record(&mut self, now: i64, member: usize, place: usize, contacts: &[u32]) {
        let mates = self.layout.members_of(self.layout.row_of(member));
        let aggregate = self.world.aggregate_bytes;
        let bytes = OVERHEAD_BYTES + HEAD_BYTES + REPLY_CONTACTS * CONTACT_BYTES + aggregate;
        self.nodes[member].puller.spend((mates.len() - 1) * bytes);
        for mate in mates.filter(|&mate| mate != member) {
            self.sent(member, 1, bytes);
            if !self.is_lost() && self.nodes[mate].up {
                self.aggregates[mate * self.others + place] = now as i32;
                meet(self.contacts_of(mate, place), contacts);
                self.received(now, member, mate, 1);
            }
        }
    }

    /// Reads the rows of all members that are up: the ages of others that are up, and of all other
    /// colonies' aggregates.
    fn sample(&mut self, unit: u32, now: i64, outcome: &mut Outcome) {
        let down: Vec<usize> = (0..self.members).filter(|&m| !self.nodes[m].up).collect();
        let up = self.members - down.len();
        outcome.node_units += up as u64;
        outcome.lacking_entries = 0;
        outcome.lacking_aggregates = 0;
        let turns = (self.members * self.members.max(self.others)).div_ceil(AGES_COUNTED);
        let mut masked = vec![0; self.members];
        for holder in (0..self.members).filter(|&holder| self.nodes[holder].up) {
            masked.copy_from_slice(&self.entries[self.row_of(holder)]);
            masked[holder] = 0;
            for &origin in &down {
                masked[origin] = 0;
            }
            let aggregates = &self.aggregates[holder * self.others..][..self.others];
            let counted = (holder + unit as usize) % turns == 0;
            let known = add(&mut outcome.entries, &masked, now, counted);
            outcome.lacking_entries += (up - 1 - known) as u64;
            let known = add(&mut outcome.aggregates, aggregates, now, counted);
            outcome.lacking_aggregates += (self.others - known) as u64;
        }
        debug_assert!(self.outages.len() * 2 == self.actions.len(), "each is a crash and a start");
    }
}

/// Adds a row of births to the ages; returns how many are known.
fn add(ages: &mut Ages, births: &[i32], now: i64, counted: bool) -> usize {
    let sum = row::sum(births);
    ages.add(sum, now);
    if counted {
        ages.count(births, now);
    }
    sum.known
}

/// The birth from which on a row's newest `window` births lie; 1 if there are no more than that.
fn newest_from(births: &[i32], now: i32, window: usize, scratch: &mut Vec<i32>) -> i32 {
    let mut span = UNIT as i32 / 8;
    while row::count_from(births, (now - span).max(1)) < window {
        if span >= now {
            return 1;
        }
        span = span.saturating_mul(2);
    }
    let from = (now - span).max(1);
    scratch.clear();
    scratch.extend(births.iter().filter(|&&birth| birth >= from));
    *scratch.select_nth_unstable_by(window - 1, |a, b| b.cmp(a)).1
}

/// Takes births after `since` from one range to another of the same length; how many were news.
fn take(births: &mut [i32], from: Range<usize>, to: Range<usize>, since: i32) -> usize {
    let mut news = 0;
    for (from, to) in from.zip(to) {
        let sent = births[from];
        if sent > since && sent > births[to] {
            births[to] = sent;
            news += 1;
        }
    }
    news
}

/// Puts the latest contacts before those that are known, each once.
fn meet(contacts: &mut [u32; CONTACTS], latest: &[u32]) {
    let known = *contacts;
    *contacts = [NOBODY; CONTACTS];
    let mut count = 0;
    for &contact in latest.iter().chain(&known) {
        if contact != NOBODY && count < CONTACTS && !contacts.contains(&contact) {
            contacts[count] = contact;
            count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_births_are_those_a_sort_finds() {
        let mut chance = Chance::of(3, Purpose::Network);
        let now = 40 * UNIT as i32;
        for _ in 0..500 {
            let births: Vec<i32> =
                (0..=chance.below(90)).map(|_| chance.below(now as usize) as i32).collect();
            let window = 1 + chance.below(20);
            let mut known: Vec<i32> = births.iter().copied().filter(|&birth| birth > 0).collect();
            known.sort_unstable_by(|a, b| b.cmp(a));
            let expected = known.get(window - 1).copied().unwrap_or(1);
            assert_eq!(newest_from(&births, now, window, &mut Vec::new()), expected);
        }
    }

    #[test]
    fn the_latest_contacts_go_first_each_once() {
        let mut contacts = [4, 5, NOBODY, NOBODY];
        meet(&mut contacts, &[7, NOBODY, 4]);
        assert_eq!(contacts, [7, 4, 5, NOBODY]);
        meet(&mut contacts, &[1, 2, 3]);
        assert_eq!(contacts, [1, 2, 3, 7]);
    }
}
