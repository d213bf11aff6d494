//! A colony under way: what its members know, what is due when, and what is sampled.

use core::cmp::Reverse;
use core::ops::{ControlFlow, Range};
use std::collections::BinaryHeap;

use tidings_gossip::colony::representation::{Representation, silent_units};
use tidings_gossip::dissemination::layout::{Budget, Layout, RecordTraffic, looks_in};
use tidings_gossip::dissemination::puller::Puller;
use tidings_gossip::dissemination::pusher::Pusher;
use tidings_gossip::wire::pull::COLONIES_BYTES;
use tidings_gossip::wire::record::{HEAD_BYTES, MAX_CONTACTS};

use super::contacts::{Contacts, NOBODY, meet};
use super::watch::Watch;
use crate::chance::{Chance, Purpose, stream};
use crate::colonies::ages::Ages;
use crate::colonies::death_times::DeathTimes;
use crate::colonies::tally::{Outcome, Traffic};
use crate::colonies::uptime::Outage;
use crate::colonies::world::World;
use crate::row::{self, START, UNIT};
use crate::sample;
use crate::trace::Trace;

/// Bytes of a contact: an IPv4 address with a port, and its length.
pub(super) const CONTACT_BYTES: usize = 7;
/// Ages that go into a histogram at each sample, about: members take turns.
const AGES_COUNTED: usize = 1 << 16;

/// One member, beside what it knows.
#[derive(Clone, Default)]
pub(super) struct Member {
    pub(super) puller: Puller,
    pub(super) pusher: Pusher,
    pub(super) rounds: u32,
    pub(super) round_start: i64,
    pub(super) next_round: i64,
    pub(super) next_look: i64,
    pub(super) life: u32,
    pub(super) up: bool,
    /// Calls that were not answered, by the place of the colony, with their repeats.
    pub(super) open: Vec<(usize, u8)>,
    pub(super) bytes: u64,
}

/// A colony under way.
pub(in crate::colonies) struct CompactColony<'a> {
    pub(super) world: &'a World,
    pub(super) colony: usize,
    pub(super) first_node: usize,
    pub(super) members: usize,
    pub(super) others: usize,
    /// Births of entries, a row a member; below 0 those of tombstones.
    pub(super) entries: Vec<i32>,
    /// Births of aggregates, a row a member.
    pub(super) aggregates: Vec<i32>,
    /// Of each member the contacts in each colony of its row, the latest first.
    pub(super) contacts: Vec<Contacts>,
    pub(super) most_in_row: usize,
    pub(super) nodes: Vec<Member>,
    pub(super) layout: Layout,
    pub(super) representation: Representation,
    pub(super) budget: Budget,
    /// What rides along in truth.
    pub(super) record_traffic: RecordTraffic,
    /// When in a unit members look, in sixteenths.
    pub(super) looks: &'static [u8],
    pub(super) fresh: i64,
    pub(super) silent: i64,
    pub(super) chance: Chance,
    pub(super) wakes: BinaryHeap<Reverse<(i64, u32, u32)>>,
    pub(super) outages: &'a [Outage],
    /// Crashes and starts: tick, member, whether it starts.
    pub(super) actions: Vec<(i64, usize, bool)>,
    pub(super) next_action: usize,
    pub(super) scratch: Vec<i32>,
    pub(super) traffic: Traffic,
    /// What finds out who has died, if anything does.
    pub(super) watch: Option<Watch>,
    pub(super) trace: Trace,
}

impl<'a> CompactColony<'a> {
    /// A colony with all members up, at the start, knowing nobody's news.
    pub(in crate::colonies) fn of(world: &'a World, colony: usize) -> Self {
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
            contacts: vec![[NOBODY; MAX_CONTACTS]; members * most_in_row],
            most_in_row,
            nodes: vec![Member::default(); members],
            fresh: ticks(layout.fresh_units()),
            silent: ticks(silent_units(layout.push_units)),
            layout,
            representation,
            budget,
            record_traffic: world.scenario.record_traffic(others, record_bytes),
            looks: looks_in(interval),
            chance: stream(world.scenario.seed, Purpose::Node(colony as u32, u32::MAX - 1)),
            wakes: BinaryHeap::with_capacity(members),
            outages,
            actions,
            next_action: 0,
            scratch: Vec::new(),
            traffic: Traffic::default(),
            watch: world
                .scenario
                .death_after()
                .map(|after| Watch::of(members, world.scenario.interval.into(), after)),
            trace: Trace::default(),
        };
        (0..members).for_each(|member| run.start(member, START));
        run
    }

    /// Runs to the last sample; `None` if it was broken off.
    pub(in crate::colonies) fn run(
        mut self,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Option<Outcome> {
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
        outcome.deaths = self.deaths();
        outcome.aggregate_bytes = (self.world.aggregate_bytes as u64, 1);
        let mut trace = self.trace;
        trace.fold(outcome.traffic.bytes);
        outcome.trace = trace.value();
        Some(outcome)
    }

    /// What became known of deaths.
    fn deaths(&self) -> DeathTimes {
        let Some(watch) = self.watch.as_ref() else { return DeathTimes::default() };
        let times = DeathTimes::of(&watch.obituaries, &self.lives_up(), &self.world.scenario);
        DeathTimes { suspicions: watch.suspicions, probes: watch.probes, ..times }
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
                    self.crash(member, at);
                }
            } else if let Some(Reverse((at, member, life))) = self.wakes.pop() {
                let node = &self.nodes[member as usize];
                if node.up && node.life == life {
                    let next = self.wake(at, member as usize);
                    self.flush(at);
                    self.wakes.push(Reverse((next, member, life)));
                }
            }
        }
    }

    /// Starts a member, empty: it knows two members of every other colony.
    fn start(&mut self, member: usize, now: i64) {
        self.entries[member * self.members..][..self.members].fill(0);
        self.aggregates[member * self.others..][..self.others].fill(0);
        self.entries[member * self.members + member] = now as i32;
        let row = self.layout.row_of(member);
        for place in self.representation.colonies_of(row) {
            let first = self.world.nodes_of(self.colony_at(place)).start as u32;
            let contacts = self.contacts_of(member, place);
            *contacts = [NOBODY; MAX_CONTACTS];
            meet(contacts, &[first, first + 1]);
        }
        let rows = self.layout.rows();
        let first_row = self.chance.below(rows);
        self.restart_watch(member, now, self.layout.members_of(first_row).start);
        let costs = self.costs();
        let node = &mut self.nodes[member];
        let (life, bytes) = (node.life + 1, node.bytes);
        *node = Member { life, up: true, bytes, ..Member::default() };
        node.puller.restart(rows, first_row, costs);
        let first = now + self.chance.below(UNIT as usize) as i64;
        self.nodes[member].next_round = first;
        self.wakes.push(Reverse((first, member as u32, life)));
    }

    fn crash(&mut self, member: usize, now: i64) {
        self.nodes[member].up = false;
        let lives = self.lives_up();
        if let Some(watch) = self.watch.as_mut() {
            let incarnation = watch.lives.present(member);
            watch.obituaries.crashed(member, incarnation, now, lives);
        }
    }

    /// The lives of all members, 0 of those that are down.
    pub(super) fn lives_up(&self) -> Vec<u32> {
        self.nodes.iter().map(|node| if node.up { node.life } else { 0 }).collect()
    }

    /// A member is about to begin a life.
    fn restart_watch(&mut self, member: usize, now: i64, offset: usize) {
        let lives = self.lives_up();
        if let Some(watch) = self.watch.as_mut() {
            watch.obituaries.restarts(member, &lives);
            watch.start(member, now, offset);
        }
    }

    /// Bytes of a pull and of its answer, as members plan them.
    fn costs(&self) -> (usize, usize) {
        let rows = self.layout.rows();
        let (entries, records) = (self.members.div_ceil(rows), self.others.div_ceil(rows));
        let planned = self.world.record_traffic();
        let answer = self.budget.packed(entries, records, &planned).1;
        (self.budget.pull_bytes(0) + COLONIES_BYTES, answer)
    }

    /// The number among all of the colony in a place among the others.
    pub(super) fn colony_at(&self, place: usize) -> usize {
        place + usize::from(place >= self.colony)
    }

    pub(super) fn contacts_of(&mut self, member: usize, place: usize) -> &mut Contacts {
        let row = self.layout.row_of(member);
        let within = place - self.representation.colonies_of(row).start;
        &mut self.contacts[member * self.most_in_row + within]
    }

    pub(super) fn is_lost(&mut self) -> bool {
        self.chance.happens(self.world.scenario.loss)
    }

    /// Counts what a member sends.
    pub(super) fn sent(&mut self, member: usize, datagrams: usize, bytes: usize) {
        self.traffic.datagrams += datagrams as u64;
        self.traffic.bytes += bytes as u64;
        self.nodes[member].bytes += bytes as u64;
    }

    pub(super) fn received(&mut self, now: i64, from: usize, to: usize, news: usize) {
        self.trace.fold(now as u64);
        self.trace.fold(((from as u64) << 40) | ((to as u64) << 16) | news as u64);
    }

    pub(super) fn row_of(&self, member: usize) -> Range<usize> {
        member * self.members..(member + 1) * self.members
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
            if self.watch.is_some() {
                // Who has restarted may be held as dead: what is held of it is as old as that.
                for birth in &mut masked {
                    *birth = birth.abs();
                }
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
