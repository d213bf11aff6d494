//! What the author of a block writes: its interface, its handler, and how both are made.
//!
//! The *interface* is what programs call, from any thread, and what they get by
//! [`Ref`](crate::Ref): a type of its own, or a trait object where the implementation depends on
//! the place. It answers at once, from what lies here; what it cannot know here it asks its handler
//! by a [call](Here::call), and returns a [`Reply`](crate::Reply).
//!
//! The *handler* is what representatives are to each other. It gets calls, messages and changes of
//! the view, one at a time, and writes messages. Between two representatives each message arrives
//! once and in order, unless one of them is lost, which the other is told by
//! [`Handler::node_lost`]. It never waits: what takes long is posted to somebody else.

use core::any::Any;
use std::sync::Arc;

use crate::envelope::Refusal;
use crate::id::{BlockId, Node};
use crate::view::View;

/// A kind of block, with what all blocks of that kind in this program share.
///
/// What a kind is here is said where it is registered ([`Kinds`](crate::table::Kinds)). So programs
/// at different places may register different types of the same kind, version and interface, such
/// as one that has the content and one that asks others for it: callers see no difference.
pub trait Block: Send + Sync + 'static {
    /// Its name, in the store and for people: at most 64 bytes.
    const KIND: &'static str;

    /// Rises when representatives of different versions would not understand each other.
    const VERSION: u32;

    /// What programs call.
    type Interface: ?Sized + Send + Sync + 'static;

    /// Makes the representative of this process, on first use: by a call, or by a message of
    /// another. It takes no part before it returns, and is made once.
    fn represent(&self, here: Here) -> (Box<Self::Interface>, Box<dyn Handler>);
}

/// What makes the representatives of a kind at some place: the kind itself, or another with the
/// same interface ([`Kinds::by_place`](crate::table::Kinds::by_place)).
pub trait Represent<I: ?Sized>: Send + Sync {
    /// As [`Block::represent`].
    fn represent(&self, here: Here) -> (Box<I>, Box<dyn Handler>);
}

impl<B: Block> Represent<B::Interface> for B {
    fn represent(&self, here: Here) -> (Box<B::Interface>, Box<dyn Handler>) {
        Block::represent(self, here)
    }
}

/// How a process has the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reach {
    /// It has it open itself.
    #[default]
    Direct,
    /// It speaks through a process that has.
    Through,
}

/// What representatives are to each other.
pub trait Handler: Send {
    /// What the interface of this process cannot answer alone: what it has posted.
    fn called(&mut self, call: Box<dyn Any + Send>, out: &mut Outbox<'_>);

    /// A message of another representative. Nothing is to be believed of it but who has sent it.
    fn received(&mut self, from: Node, message: &[u8], out: &mut Outbox<'_>);

    /// A message found no representative there.
    fn refused(&mut self, _by: Node, _why: &Refusal, _out: &mut Outbox<'_>) {}

    /// A process takes part. All that do are reported first, this one too.
    fn node_joined(&mut self, _node: Node, _out: &mut Outbox<'_>) {}

    /// A process takes part no more, and never again. No message of it comes any more.
    fn node_lost(&mut self, _node: Node, _out: &mut Outbox<'_>) {}

    /// All changes of a view were told.
    fn view_entered(&mut self, _out: &mut Outbox<'_>) {}

    /// This process is about to leave. What is sent now still arrives.
    fn leaving(&mut self, _out: &mut Outbox<'_>) {}
}

/// What a representative knows of where it is.
#[derive(Clone)]
pub struct Here {
    /// This process.
    pub node: Node,
    /// The block.
    pub block: BlockId,
    /// The view in which it was made: no earlier one had a copy of anything.
    pub since: u64,
    /// How this process has the store.
    pub reach: Reach,
    /// Takes what is for the host.
    pub outlet: Arc<dyn Outlet>,
}

impl Here {
    /// Posts a call to the handler, from any thread. If too many wait, or the process takes no part
    /// any more, it is dropped, and with it the asker that it has.
    pub fn call(&self, call: impl Any + Send) {
        self.outlet.post(Posted::Call(self.block, Box::new(call)));
    }
}

impl core::fmt::Debug for Here {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Here({} of block {})", self.node, self.block)
    }
}

/// Takes what is for the host of this process, from any thread, and never waits.
pub trait Outlet: Send + Sync {
    /// Passes it on, or drops it if there is no place for it.
    fn post(&self, posted: Posted);
}

/// What is for the host.
pub enum Posted {
    /// A representative was made.
    Made(BlockId, Box<dyn Handler>),
    /// A call for a handler.
    Call(BlockId, Box<dyn Any + Send>),
}

/// What a handler knows while it runs, and where it writes.
pub struct Outbox<'a> {
    pub(crate) own: Node,
    pub(crate) view: &'a View,
    pub(crate) sent: Vec<(Node, Vec<u8>)>,
}

impl<'a> Outbox<'a> {
    /// An empty one: what a driver passes to a handler, and what a test passes to its own.
    pub fn new(own: Node, view: &'a View) -> Self {
        Self { own, view, sent: Vec::new() }
    }

    /// What was sent.
    pub fn into_sent(self) -> Vec<(Node, Vec<u8>)> {
        self.sent
    }

    /// This process.
    pub fn own(&self) -> Node {
        self.own
    }

    /// Who takes part.
    pub fn view(&self) -> &'a View {
        self.view
    }

    /// Sends a message to the representative of the block in a process, this one too. To one that
    /// takes no part nothing is sent.
    pub fn send(&mut self, to: Node, message: Vec<u8>) {
        if self.view.has(to) {
            self.sent.push((to, message));
        }
    }

    /// Sends a message to all others.
    pub fn send_to_others(&mut self, message: &[u8]) {
        let own = self.own;
        self.sent.extend(self.view.others(own).map(|node| (node, message.to_vec())));
    }
}
