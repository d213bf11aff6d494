//! Who a node is, and what it says of itself.

use crate::address::Address;
use crate::entry::{Incarnation, NodeId};
use crate::error::PayloadTooLong;
use crate::membership::Member;
use crate::wire::ask::Card;
use crate::wire::extension::Extension;

/// A node's name and address, and its next payload.
pub(super) struct Own {
    id: NodeId,
    name: Box<str>,
    address: Address,
    /// The incarnation that this life began with.
    first_incarnation: Incarnation,
    payload: Vec<u8>,
    /// The most bytes of a payload.
    room: usize,
    left: bool,
}

impl Own {
    /// `me` under its id, in a life that begins with `incarnation`.
    pub(super) fn of(me: &Member, id: NodeId, incarnation: Incarnation, room: usize) -> Self {
        Self {
            id,
            name: me.name.as_str().into(),
            address: me.address,
            first_incarnation: incarnation,
            payload: Vec::with_capacity(room),
            room,
            left: false,
        }
    }

    #[inline]
    pub(super) fn id(&self) -> NodeId {
        self.id
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn address(&self) -> Address {
        self.address
    }

    /// What others are shown of it.
    pub(super) fn card(&self) -> Card<'_> {
        Card { name: &self.name, address: self.address }
    }

    pub(super) fn move_to(&mut self, address: Address) {
        self.address = address;
    }

    /// What its next entry says.
    pub(super) fn payload(&self) -> &[u8] {
        &self.payload
    }

    pub(super) fn publish(&mut self, payload: &[u8]) -> Result<(), PayloadTooLong> {
        self.must_fit(payload)?;
        self.payload.clear();
        self.payload.extend_from_slice(payload);
        Ok(())
    }

    /// Refuses a payload that is longer than the cluster's.
    pub(super) fn must_fit(&self, payload: &[u8]) -> Result<(), PayloadTooLong> {
        let (given, room) = (payload.len(), self.room);
        if given > room { Err(PayloadTooLong { given, room }) } else { Ok(()) }
    }

    /// Lets its next payloads have so many bytes at most.
    pub(super) fn set_room(&mut self, room: usize) {
        self.room = room;
    }

    /// Whether it has said farewell.
    pub(super) fn has_left(&self) -> bool {
        self.left
    }

    pub(super) fn leave(&mut self) {
        self.left = true;
    }

    /// Whether a datagram may have been made for this life of this node: it says so, or does not
    /// say, or its sender had heard nothing of this node.
    pub(super) fn is_meant(&self, said: &Extension) -> bool {
        said.receiver.is_none_or(|receiver| {
            let held = receiver.incarnation;
            held == <_>::default() || held >= self.first_incarnation
        })
    }
}
