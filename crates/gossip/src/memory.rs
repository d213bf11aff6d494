//! What a node needs of memory at most, known before it takes any.
//!
//! Everything a node holds is bounded by its configuration: an entry for each place of the vector,
//! a record for each member there is room for, and queues of fixed length. What only some nodes
//! need (names of full length, members by seeds that came and were forgotten, a visit) is counted
//! for all. The sum is a bound on what the allocator gives out, held by a test that counts it.

use core::mem::size_of;

use crate::calendar;
use crate::colony::bases::BASE_MEMORY_BYTES;
use crate::colony::table::RECORD_MEMORY_BYTES;
use crate::colony::visit::SEEN_BYTES;
use crate::config::{Capacity, Config};
use crate::id_table;
use crate::membership::Record;
use crate::urgent::MAX_URGENT;
use crate::vector::Meta;
use crate::vector::base_store::{BASES, SLOT_BYTES};
use crate::vector::last::Last;
use crate::wire::ask::MAX_NAME_BYTES;

/// Bytes of a name, as allocators give out room.
const NAME_BYTES: usize = (MAX_NAME_BYTES + 1).next_multiple_of(16);
/// Bytes of the stamp kept of a node that was forgotten, in a tree whose leaves may be half empty.
const GRAVE_BYTES: usize = 40;
/// Bytes of numbers kept of each member: orders, lists of places, marks of changes, a row's state,
/// each in a list that may have grown to twice what it holds; and a roster while it is replaced.
const NUMBERS_BYTES: usize = 2 * (4 + 4 + 4 + 5 + 16) + 160;
/// Bytes of queues of fixed length: events, orders, pending answers, probes, doubts.
const QUEUES_BYTES: usize = 512 << 10;

impl Config {
    /// Bytes that a node with this configuration takes at most, whatever arrives.
    pub fn memory_bound_bytes(&self) -> u64 {
        let nodes = self.max_nodes as usize;
        let payload_bytes = usize::from(self.payload_room());
        let entries = match self.capacity {
            Capacity::Full => nodes,
            Capacity::Bounded(entries) => entries as usize,
        };
        let bases = if self.sends_changes() { SLOT_BYTES + BASES * payload_bytes } else { 0 };
        let an_entry = size_of::<Meta>()
            + size_of::<Last>()
            + calendar::SLOT_BYTES
            + payload_bytes
            + bases
            + 8;
        let vector = id_table::bytes(entries) + entries * an_entry + calendar::FIXED_BYTES;
        let a_member = size_of::<Option<Record>>() + NAME_BYTES + GRAVE_BYTES + NUMBERS_BYTES;
        let members = id_table::bytes(nodes) + nodes * a_member;
        let colonies = self.colony.map_or(0, |colony| {
            let seen = 2 * SEEN_BYTES + NAME_BYTES + payload_bytes.next_multiple_of(16) + 16;
            let base = if self.sends_changes() { BASE_MEMORY_BYTES } else { 0 };
            colony.max_colonies as usize * (RECORD_MEMORY_BYTES + base) + nodes * seen
        });
        let window = (entries + 2 * MAX_URGENT) * size_of::<u32>();
        (vector + members + colonies + window + QUEUES_BYTES) as u64
    }
}
