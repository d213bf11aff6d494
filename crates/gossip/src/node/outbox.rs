//! The outbox: what a node has to send, and in which order.

use std::collections::VecDeque;

use super::pieces::Pieces;
use crate::address::Address;
use crate::dissemination::context::{Order, What};
use crate::entry::NodeId;
use crate::urgent::Urgent;
use crate::vector::Vector;

/// Answers pending at one time; more askers are turned away and ask again.
const MAX_ANSWERS: usize = 16;
/// Windows pending in answer to pulls and half windows at one time; more are not answered.
const MAX_REPLIES: usize = 64;
/// Windows for others for which there is room from the start: more come at a time rarely, and late.
const USUAL_REPLIES: usize = 8;

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

/// A pending answer.
pub(super) struct Offer {
    /// Where it goes.
    pub(super) to: Address,
    /// Who asked.
    pub(super) asker: NodeId,
    /// Bytes of the datagram that asked: the answer must not have more.
    pub(super) bytes: usize,
    /// Whom to tell of. The asker is among them if it must learn of another life of itself, or of
    /// another node with its id.
    pub(super) ids: Vec<NodeId>,
}

/// What is to be sent.
pub(super) struct Outbox {
    /// Whom to ask, at most [`MAX_ASKS`](crate::catch_up::MAX_ASKS) at a time.
    asks: Vec<Address>,
    /// What the strategy ordered.
    orders: VecDeque<Order>,
    /// Windows pending for others.
    replies: VecDeque<Order>,
    /// Answers pending for others.
    offers: VecDeque<Offer>,
    /// Farewells and tombstones, which go first.
    urgent: Urgent,
    /// The window under way.
    window: Pieces,
}

impl Outbox {
    /// Nothing to send, and room for any window of a vector of `capacity` entries.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            asks: Vec::new(),
            orders: VecDeque::new(),
            replies: VecDeque::with_capacity(USUAL_REPLIES),
            offers: VecDeque::new(),
            urgent: Urgent::default(),
            window: Pieces::new(capacity),
        }
    }

    /// Gives up what the last round has not sent, and picks at most `most` farewells for the
    /// windows of this one; returns how many entries were given up.
    pub(super) fn begin_round(&mut self, most: usize, vector: &Vector) -> u64 {
        let entries =
            |order: &Order| if let What::Newest(entries) = order.what { entries } else { 0 };
        let ordered = self.orders.drain(..).map(|order| entries(&order)).sum::<usize>();
        let unsent = self.window.give_up();
        self.window.set_first(self.urgent.take(most), vector);
        (ordered + unsent) as u64
    }

    /// Where the strategy puts its orders.
    pub(super) fn orders(&mut self) -> &mut VecDeque<Order> {
        &mut self.orders
    }

    /// Orders something before all that was ordered.
    pub(super) fn order_first(&mut self, order: Order) {
        self.orders.push_front(order);
    }

    /// Has the entry about a member go first in the next windows of a cluster of `members`.
    pub(super) fn hurry(&mut self, id: NodeId, members: usize) {
        self.urgent.add(id, members);
    }

    /// Stops hurrying the entry about a member.
    pub(super) fn calm(&mut self, id: NodeId) {
        self.urgent.remove(id);
    }

    /// Asks nobody any more.
    pub(super) fn clear_asks(&mut self) {
        self.asks.clear();
    }

    /// Asks `to`, once.
    pub(super) fn ask(&mut self, to: Address) {
        if !self.asks.contains(&to) {
            self.asks.push(to);
        }
    }

    /// Whom to ask next.
    pub(super) fn next_ask(&mut self) -> Option<Address> {
        self.asks.pop()
    }

    /// Queues a window; `false` if too many are pending already.
    pub(super) fn queue_window(&mut self, order: Order) -> bool {
        let room = self.replies.len() < MAX_REPLIES;
        if room {
            self.replies.push_back(order);
        }
        room
    }

    /// Queues an answer; `false` if too many are pending already.
    pub(super) fn queue_offer(&mut self, offer: Offer) -> bool {
        let room = self.offers.len() < MAX_ANSWERS;
        if room {
            self.offers.push_back(offer);
        }
        room
    }

    /// The next pending answer.
    pub(super) fn next_offer(&mut self) -> Option<Offer> {
        self.offers.pop_front()
    }

    /// The window under way.
    pub(super) fn window(&mut self) -> &mut Pieces {
        &mut self.window
    }

    /// The order under way, or the next one, taken up: what is pending for others comes first.
    /// `arrival` numbers the datagram that came last.
    pub(super) fn next_order(
        &mut self,
        vector: &Vector,
        members: &[NodeId],
        arrival: u32,
    ) -> Option<Order> {
        if let Some(order) = self.window.order() {
            return Some(order);
        }
        let order = self.replies.pop_front().or_else(|| self.orders.pop_front())?;
        self.window.begin(order, vector, members, arrival);
        Some(order)
    }
}
