//! What a strategy sees and may do: the one interface between strategies and the node.
//!
//! A strategy never touches datagrams. It is shown the members, the ages and the time, and places
//! *orders*: a window to this member, a request for those ids to that one. The node turns orders
//! into datagrams when its driver can send, so that what they say is as new as can be.

use core::time::Duration;
use std::collections::VecDeque;

use tidings_primitives::Chance;
use tidings_primitives::time::Instant;

use super::layout::{Budget, Layout, RecordTraffic};
use crate::address::Address;
use crate::colony::id::{ColonyId, ColonyIds};
use crate::colony::table::ColonyTable;
use crate::detector::RELAYS;
use crate::entry::NodeId;
use crate::membership::{Membership, Record};
use crate::urgent;
use crate::vector::Vector;
use crate::wire::inventory::Inventory;
use crate::wire::window::Marks;

/// How a unit's bytes are given away: implemented once for each [`Strategy`](super::Strategy).
pub(crate) trait Disseminate: Send + Sync {
    /// The own entry was just made again: orders what belongs to this round.
    fn round(&mut self, context: &mut Context<'_>);

    /// When after the round [`Disseminate::look`] may be called, in sixteenths of the unit.
    fn looks(&self, _unit: Duration) -> &'static [u8] {
        &[]
    }

    /// Whether anything is to be done at the next look of this round.
    fn wants_look(&self) -> bool {
        false
    }

    /// Orders what is due between rounds.
    fn look(&mut self, _context: &mut Context<'_>) {}

    /// The node leaves, and has made its farewell: orders what tells others.
    fn farewell(&mut self, context: &mut Context<'_>) {
        let entries = context.budget.window_entries.min(context.budget.datagram_entries);
        for _ in 0..context.membership.len().ilog2() + 2 {
            context.send_to_any(entries, Marks::NONE);
        }
        // Who doubts that the node lives asks its successors first.
        for record in context.membership.successors(context.id).take(RELAYS) {
            context.orders.push_back(Order::to(record, What::One(context.id), Marks::NONE));
        }
    }

    /// The most farewells that go along in each window of a round, of so many entries.
    fn urgent_entries(&self, window_entries: usize) -> usize {
        urgent::most(window_entries)
    }

    /// When the next round is, if not a unit after the last.
    fn next_round(&mut self, _context: &mut Context<'_>) -> Option<Instant> {
        None
    }

    /// How members are divided into rows, if they are.
    fn layout(&self) -> Option<Layout> {
        None
    }

    /// A window of `bytes` came from a member, with these marks.
    fn received(
        &mut self,
        _context: &mut Context<'_>,
        _sender: NodeId,
        _marks: Marks,
        _bytes: usize,
    ) {
    }
}

/// What a node shows its strategy.
pub(crate) struct Context<'a> {
    pub(crate) now: Instant,
    pub(crate) unit: Duration,
    pub(crate) id: NodeId,
    pub(crate) membership: &'a Membership,
    pub(crate) vector: &'a Vector,
    pub(crate) chance: &'a mut Chance,
    pub(crate) budget: Budget,
    /// A number of the cluster: others have another.
    pub(crate) cluster: u32,
    /// What the wall clock shows beyond the local one, in microseconds, if there is one.
    pub(crate) wall_offset: Option<i64>,
    pub(crate) orders: &'a mut VecDeque<Order>,
    /// Other colonies, and what their records cost; `None` if the cluster has no colonies.
    pub(crate) colonies: Option<(&'a ColonyTable, RecordTraffic)>,
}

/// What is to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Order {
    pub(crate) member: NodeId,
    pub(crate) to: Address,
    pub(crate) what: What,
    pub(crate) marks: Marks,
}

impl Order {
    /// An order to a member, where it is known to be now.
    pub(crate) fn to(record: &Record, what: What, marks: Marks) -> Self {
        Self { member: record.id, to: record.address, what, marks }
    }
}

/// The content of a datagram, or of some.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// So many of the newest entries, the own one among them.
    Newest(usize),
    /// The entries of a range of ids that were born after an instant.
    Row(Ids, Instant),
    /// The same for one that has said which bases it holds of them, and of the colonies.
    Changes(Ids, Instant, [Inventory; 2]),
    /// A request for a range of ids: entries younger than an age in microseconds, or all.
    Pull(Ids, Option<u64>),
    /// The record of a colony.
    Record(ColonyId),
    /// The entry about one member.
    One(NodeId),
}

/// A range of ids, both ends included, and of colonies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ids {
    pub(crate) first: NodeId,
    pub(crate) last: NodeId,
    /// The colonies whose records go along.
    pub(crate) colonies: Option<ColonyIds>,
}

impl Context<'_> {
    /// Orders a window of the newest entries.
    pub(crate) fn send(&mut self, record: &Record, entries: usize, marks: Marks) {
        self.orders.push_back(Order::to(record, What::Newest(entries), marks));
    }

    /// Orders a window to a random member, if there is one.
    pub(crate) fn send_to_any(&mut self, entries: usize, marks: Marks) {
        let at = self.chance.below(self.membership.targets());
        if let Some(record) = self.membership.target(at) {
            self.send(record, entries, marks);
        }
    }

    /// The own place in the order of ids.
    pub(crate) fn own_index(&self) -> usize {
        self.membership.order().partition_point(|&id| id < self.id)
    }

    /// The unit of time in microseconds.
    pub(crate) fn unit_micros(&self) -> i64 {
        crate::time::micros(self.unit)
    }
}
