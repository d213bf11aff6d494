//! Events: what a node notices about others, for logs and subscribers.

use crate::address::Address;
use crate::colony::id::ColonyId;
use crate::entry::Incarnation;
use crate::mismatch::{Difference, Side};

/// Something worth telling. Names are those of the nodes concerned.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The first entry about a member has arrived.
    Joined(String),
    /// A member has begun a later incarnation: it restarted, or overtook false news of itself.
    Restarted(String, Incarnation),
    /// A member is silent, and neither this node nor those it asked got an answer.
    Suspected(String),
    /// A member that was suspected lives.
    Cleared(String),
    /// A member was declared dead in this incarnation, by this node or another.
    Died(String, Incarnation),
    /// A member has said farewell.
    Left(String),
    /// A member that had left, or was dead, is back.
    Returned(String, Incarnation),
    /// Nothing was heard of a member for `forget_after`, or it was gone and another needed its
    /// place; its entry is no longer there.
    Forgotten(String),
    /// Others have declared this node dead; it lives on with this incarnation.
    Outlived(Incarnation),
    /// News of this node arrived that it did not write in this life; it now has this incarnation.
    Refuted(Incarnation),
    /// There is no room for a node of this name: all of `max_nodes` members live.
    NoRoom(String),
    /// A node, of this name where that is known, has an incarnation that cannot be: it is refused.
    Implausible(String, Incarnation),
    /// An entry about a node of this name lacks the signature that it needs; who sent it.
    Unsigned(String, Address),
    /// This node and another, whose name this is, have the same node id.
    IdCollision(String),
    /// A node whose datagrams are dropped here, or that drops those of this one, since the two are
    /// configured differently; [`Node::mismatches`](crate::Node::mismatches) has more.
    Mismatch(Address, Difference, Side),
    /// A visit to a colony has ended; whether with all that was to be seen there.
    Visited(ColonyId, bool),
}
