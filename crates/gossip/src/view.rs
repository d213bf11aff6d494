//! Views: what a node shows of a member to a reader.

use core::time::Duration;

use crate::address::Address;
use crate::entry::{EntryState, NodeId};

/// What a node knows about a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryView<'a> {
    /// The member's id.
    pub id: NodeId,
    /// Its name.
    pub name: &'a str,
    /// Where its datagrams go.
    pub address: Address,
    /// Whether it lives, has left, or was never heard of.
    pub state: EntryState,
    /// Its incarnation; 0 if unheard.
    pub incarnation: u32,
    /// The sequence of the last news that it made itself; `None` if none was held here.
    pub sequence: Option<u32>,
    /// How old the entry is; `None` if unheard. That of a dead node began with the doubt.
    pub age: Option<Duration>,
    /// How old the payload is: as the entry, and older if the node has left or died; `None` if that
    /// is not known.
    pub payload_age: Option<Duration>,
    /// What it says of itself, or said last; empty if unheard.
    pub payload: &'a [u8],
}
