//! The host: one process among those that take part, as a state machine.
//!
//! Its driver passes in what was posted here ([`Host::take`]), what has arrived ([`Host::receive`])
//! and each view that it sees ([`Host::enter`]); after any of these it takes out what is to be sent
//! and which blocks are to be looked up, until there is nothing left. It promises that what is sent
//! arrives once and in order, or the peer is lost ([`line`](crate::line)).
//!
//! Invariants:
//! * A handler runs to completion before another begins; what a process sends to itself is handled
//!   after that.
//! * A handler hears of a node before that node's first message, and nothing of a node that is
//!   lost. Views are entered in the order of their numbers.
//! * A message for a block that has no representative here makes one, once its record is known. If
//!   there can be none, the sender is told why.
//! * What waits is bounded: [`MAX_EARLY`] messages.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::block::{Handler, Outbox, Posted};
use crate::envelope::{Body, Envelope, Refusal};
use crate::id::{BlockId, Node};
use crate::record::Made;
use crate::table::Table;
use crate::view::View;

/// Messages that wait for a record, or for the view that has their sender. More are dropped: a peer
/// that sends so many to a process that cannot know it yet is none.
pub const MAX_EARLY: usize = 65_536;

/// A process that takes part.
pub struct Host {
    own: Node,
    table: Arc<Table>,
    view: View,
    /// All that were ever in a view.
    known: BTreeSet<Node>,
    handlers: BTreeMap<BlockId, Box<dyn Handler>>,
    /// What waits for the record of its block, or for its representative.
    early: BTreeMap<BlockId, Vec<(Node, Body)>>,
    /// What waits for a view with its sender.
    strange: Vec<Envelope>,
    early_count: usize,
    transmits: VecDeque<Envelope>,
    lookups: VecDeque<BlockId>,
    /// What this process sends to itself.
    own_messages: VecDeque<(BlockId, Vec<u8>)>,
    dropped: u64,
}

impl Host {
    /// A process that is in no view yet.
    pub fn new(own: Node, table: Arc<Table>) -> Self {
        Self {
            own,
            table,
            view: View::default(),
            known: BTreeSet::new(),
            handlers: BTreeMap::new(),
            early: BTreeMap::new(),
            strange: Vec::new(),
            early_count: 0,
            transmits: VecDeque::new(),
            lookups: VecDeque::new(),
            own_messages: VecDeque::new(),
            dropped: 0,
        }
    }

    /// Who takes part, as far as this process knows.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Whether this process was in a view, and is in it no more: it is lost, and never comes back.
    pub fn is_lost(&self) -> bool {
        self.known.contains(&self.own) && !self.view.has(self.own)
    }

    /// Whether a process was lost, as far as this one knows.
    pub fn has_lost(&self, node: Node) -> bool {
        self.known.contains(&node) && !self.view.has(node)
    }

    /// Messages that were dropped, since they came from no node or too many waited.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The next message for another process.
    pub fn poll_transmit(&mut self) -> Option<Envelope> {
        self.transmits.pop_front()
    }

    /// The next block whose record is to be read, for [`Host::found`].
    pub fn poll_lookup(&mut self) -> Option<BlockId> {
        self.lookups.pop_front()
    }

    /// Takes what was posted in this process.
    pub fn take(&mut self, posted: Posted) {
        if self.is_lost() {
            return; // and whoever waits for an answer hears that there is none
        }
        match posted {
            Posted::Made(id, handler) => self.begin(id, handler),
            Posted::Call(id, call) => {
                self.run(id, |handler, out| handler.called(call, out));
            }
        }
        self.settle();
    }

    /// Takes a message that has arrived.
    pub fn receive(&mut self, envelope: Envelope) {
        if envelope.to != self.own || self.is_lost() {
            self.dropped += 1;
        } else if self.view.has(envelope.from) {
            self.deliver(envelope.block, envelope.from, envelope.body);
            self.settle();
        } else if self.known.contains(&envelope.from) || self.early_count >= MAX_EARLY {
            self.dropped += 1;
        } else {
            self.early_count += 1;
            self.strange.push(envelope);
        }
    }

    /// Enters a view; one that is not later than the present one changes nothing.
    pub fn enter(&mut self, view: View) {
        if view.number <= self.view.number {
            return;
        }
        let before = core::mem::replace(&mut self.view, view);
        self.known.extend(&self.view.nodes);
        if self.is_lost() {
            self.end();
            return;
        }
        let but = |nodes: &[Node], view: &View| -> Vec<Node> {
            nodes.iter().copied().filter(|node| !view.has(*node)).collect()
        };
        let lost = but(&before.nodes, &self.view);
        let joined = but(&self.view.nodes, &before);
        let ids: Vec<BlockId> = self.handlers.keys().copied().collect();
        for id in ids {
            self.tell(id, &lost, &joined);
        }
        self.settle();
        for envelope in core::mem::take(&mut self.strange) {
            self.early_count -= 1;
            self.receive(envelope);
        }
    }

    /// What the store has of a block.
    pub fn found(&mut self, id: BlockId, made: Option<&Made>) {
        let entered = match made {
            Some(made) => self.table.enter(id, made),
            None => Err(Refusal::Unknown(id)),
        };
        match entered {
            // The representative comes by what it posts.
            Ok(()) => drop(self.table.use_first(id)),
            Err(refusal) => self.refuse(id, &refusal),
        }
        self.settle();
    }

    /// Tells all handlers that this process is about to leave.
    pub fn leave(&mut self) {
        let ids: Vec<BlockId> = self.handlers.keys().copied().collect();
        for id in ids {
            self.run(id, |handler, out| handler.leaving(out));
        }
        self.settle();
    }

    fn begin(&mut self, id: BlockId, handler: Box<dyn Handler>) {
        self.handlers.insert(id, handler);
        let nodes = self.view.nodes.clone();
        if self.view.number > 0 {
            self.tell(id, &[], &nodes);
        }
        for (from, body) in self.early.remove(&id).unwrap_or_default() {
            self.early_count -= 1;
            if self.view.has(from) {
                self.deliver(id, from, body);
            }
        }
    }

    fn tell(&mut self, id: BlockId, lost: &[Node], joined: &[Node]) {
        self.run(id, |handler, out| {
            for node in lost {
                handler.node_lost(*node, out);
            }
            for node in joined {
                handler.node_joined(*node, out);
            }
            handler.view_entered(out);
        });
    }

    /// Passes a body to the handler of a block, or lets it wait until there is one.
    fn deliver(&mut self, id: BlockId, from: Node, body: Body) {
        if self.handlers.contains_key(&id) {
            self.run(id, |handler, out| match body {
                Body::Message(message) => handler.received(from, &message, out),
                Body::Refused(refusal) => handler.refused(from, &refusal, out),
            });
        } else if matches!(body, Body::Refused(_)) || self.early_count >= MAX_EARLY {
            self.dropped += 1;
        } else {
            self.early_count += 1;
            let waiting = self.early.entry(id).or_default();
            waiting.push((from, body));
            if waiting.len() == 1 && !self.table.use_first(id) {
                self.lookups.push_back(id);
            }
        }
    }

    /// Tells those who have sent something to a block why it cannot arrive.
    fn refuse(&mut self, id: BlockId, refusal: &Refusal) {
        let waiting = self.early.remove(&id).unwrap_or_default();
        self.early_count -= waiting.len();
        for (to, _) in waiting {
            let (from, body) = (self.own, Body::Refused(refusal.clone()));
            self.transmits.push_back(Envelope { from, to, block: id, body });
        }
    }

    /// Runs a handler to completion.
    fn run(&mut self, id: BlockId, what: impl FnOnce(&mut dyn Handler, &mut Outbox<'_>)) {
        let Some(handler) = self.handlers.get_mut(&id) else { return };
        let mut out = Outbox::new(self.own, &self.view);
        what(handler.as_mut(), &mut out);
        for (to, message) in out.into_sent() {
            if to == self.own {
                self.own_messages.push_back((id, message));
            } else {
                let (from, body) = (self.own, Body::Message(message));
                self.transmits.push_back(Envelope { from, to, block: id, body });
            }
        }
    }

    /// Handles what this process has sent to itself.
    fn settle(&mut self) {
        while let Some((id, message)) = self.own_messages.pop_front() {
            let own = self.own;
            self.run(id, |handler, out| handler.received(own, &message, out));
        }
    }

    /// This process takes part no more: nobody is answered.
    fn end(&mut self) {
        self.handlers.clear();
        self.early.clear();
        self.strange.clear();
        self.transmits.clear();
        self.own_messages.clear();
        self.early_count = 0;
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Host({} in view {})", self.own, self.view.number)
    }
}
