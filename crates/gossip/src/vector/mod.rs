//! The vector: what one node knows about all nodes, one entry each, ordered by age.
//!
//! Two arrays lie side by side: what merging and choosing look at (origin, stamp, birth: 32 bytes
//! an entry), and the payloads, which are touched only when copied. A `Calendar` keeps the order
//! by age. Entries are held by *birth*, the instant on the local clock at which they were made, so
//! that ageing costs nothing: the age is the present less the birth.
//!
//! The vector has room for a fixed number of entries. If that is fewer than there are nodes, it
//! keeps the newest.
//!
//! Invariants: memory is taken at construction; an entry's stamp never decreases while it is held;
//! slot 0 is the node's own entry and is never evicted. How entries enter: `vector/merge.rs`. A
//! farewell or a tombstone leaves the payload before it in place, and what it was in `last`. What
//! changes are measured by: `vector/bases.rs`.

pub(crate) mod base_store;
mod bases;
pub mod last;
mod lengths;
pub mod merge;

use core::ops::Range;

use tidings_primitives::time::Instant;

use crate::calendar::Calendar;
use crate::detector::{STEPS_PER_UNIT, Silence};
use crate::entry::{NodeId, Stamp};
use crate::id_table::IdTable;
use base_store::BaseStore;
use last::Last;
use lengths::Lengths;

/// The slot of the node's own entry.
pub(crate) const OWN: u32 = 0;
/// The birth of what lies in a slot that holds nothing: older than anything.
const VACANT: Instant = Instant::from_micros(i64::MIN);
const CACHE_LINE_BYTES: usize = 64;

/// What is known of an entry without its payload: half a cache line, so that a merge loads one.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Meta {
    id: NodeId,
    /// The datagram that last spoke of this entry, to notice an origin that occurs twice in one.
    spoken_of: u32,
    stamp: Stamp,
    birth: Instant,
    /// Where the calendar keeps it.
    place: u32,
    /// How old entries about this origin grow before the next comes.
    silence: Silence,
}

impl Meta {
    /// An entry that is not in the calendar yet.
    #[inline]
    fn new(id: NodeId, spoken_of: u32, stamp: Stamp, birth: Instant) -> Self {
        Self { id, spoken_of, stamp, birth, place: 0, silence: Silence::default() }
    }
}

/// One entry, borrowed from a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The node the entry is about.
    pub id: NodeId,
    /// How new it is.
    pub stamp: Stamp,
    /// When it was made, on the local clock.
    pub birth: Instant,
    /// What the origin says of itself, zeros behind it; as long as the vector has room for.
    pub payload: &'a [u8],
}

/// One entry a node, newest first at hand.
pub struct Vector {
    table: IdTable,
    meta: Vec<Meta>,
    /// All payloads, slot by slot, from `payloads_start` on.
    payloads: Vec<u8>,
    /// Where the first cache line of `payloads` begins: aligned payloads are copied faster.
    payloads_start: usize,
    payload_bytes: usize,
    lengths: Lengths,
    /// What others measure changes by, if the node sends and reads such.
    bases: Option<BaseStore>,
    calendar: Calendar,
    /// Of each slot, what came before a farewell or a tombstone.
    last: Vec<Last>,
    /// Slots below `meta.len()` that hold nothing.
    vacant: Vec<u32>,
    capacity: usize,
    /// Steps of a peak age in a microsecond, times 2³².
    steps_per_micro: u64,
    now: Instant,
}

impl Vector {
    /// A vector of `capacity` entries with room for payloads of `payload_bytes`, holding the own
    /// entry.
    ///
    /// `unit_micros` is the unit of time, which sets how finely births are binned.
    pub fn new(
        capacity: usize,
        payload_bytes: usize,
        unit_micros: u64,
        own: (NodeId, Stamp),
        now: Instant,
    ) -> Self {
        let capacity = capacity.max(1);
        let payloads = vec![0; capacity * payload_bytes + CACHE_LINE_BYTES];
        let payloads_start = payloads.as_ptr().align_offset(CACHE_LINE_BYTES).min(CACHE_LINE_BYTES);
        let mut vector = Self {
            table: IdTable::with_capacity(capacity),
            meta: Vec::with_capacity(capacity),
            payloads,
            payloads_start,
            payload_bytes,
            lengths: Lengths::of(payload_bytes),
            bases: None,
            calendar: Calendar::new(capacity, unit_micros, now),
            last: Vec::with_capacity(capacity),
            vacant: Vec::with_capacity(capacity),
            capacity,
            steps_per_micro: (STEPS_PER_UNIT << 32) / unit_micros.max(STEPS_PER_UNIT),
            now,
        };
        vector.put(Meta::new(own.0, 0, own.1, now), &[]);
        vector
    }

    /// The same, whose [`longest`](Self::longest) payload has no more than so many bytes yet.
    pub(crate) fn with_longest(self, payload_bytes: usize) -> Self {
        debug_assert!(self.len() == 1, "it holds no more than the own entry, which is empty");
        Self { lengths: Lengths::of(payload_bytes.min(self.payload_bytes)), ..self }
    }

    /// Entries held, the own one included.
    pub fn len(&self) -> usize {
        self.meta.len() - self.vacant.len()
    }

    /// Whether there are no entries; never so, since the own one is always held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most entries it holds.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The addresses of its large arrays: payloads, and what is known of each node. They stay where
    /// they are, for as many entries as it can hold.
    pub fn extents(&self) -> [Range<usize>; 2] {
        let payloads = self.payloads.as_ptr() as usize;
        let meta = self.meta.as_ptr() as usize;
        let meta_bytes = self.meta.capacity() * size_of::<Meta>();
        [payloads..payloads + self.payloads.len(), meta..meta + meta_bytes]
    }

    /// The entry about `id`.
    pub fn get(&self, id: NodeId) -> Option<Entry<'_>> {
        self.table.get(id).map(|slot| self.at(slot))
    }

    /// The node's own entry.
    pub fn own(&self) -> Entry<'_> {
        self.at(OWN)
    }

    /// The entry in `slot`, one of those that [`Vector::newest`] names.
    #[inline]
    pub fn at(&self, slot: u32) -> Entry<'_> {
        let Meta { id, stamp, birth, .. } = self.meta[slot as usize];
        Entry { id, stamp, birth, payload: &self.payloads[self.payload_range(slot)] }
    }

    /// The slot of the entry about `id`.
    pub(crate) fn slot(&self, id: NodeId) -> Option<u32> {
        self.table.get(id)
    }

    /// All entries, the own one first, otherwise in no order.
    pub fn iter(&self) -> impl Iterator<Item = Entry<'_>> {
        (0..self.meta.len() as u32).filter(|&slot| self.holds(slot)).map(|slot| self.at(slot))
    }

    /// Appends the slots of the `count` newest entries to `slots`: O(count), whatever is held.
    pub fn newest(&self, count: usize, slots: &mut Vec<u32>) {
        self.calendar.newest(count, slots, |slot| self.meta[slot as usize].birth);
    }

    /// Lets time pass. Instants never go back: an earlier `now` is taken as the latest seen.
    pub fn advance(&mut self, now: Instant) -> Instant {
        if now > self.now {
            self.now = now;
            self.calendar.advance(now);
        }
        self.now
    }

    /// Replaces the own entry by news born now.
    pub fn renew_own(&mut self, stamp: Stamp, payload: &[u8]) {
        self.renew(OWN, stamp, self.now, payload);
    }

    /// Makes the entry about `id` a tombstone of the incarnation it is of, born at `since`, or when
    /// the entry was if that is later.
    pub(crate) fn bury(&mut self, id: NodeId, since: Instant) {
        if let Some(slot) = self.table.get(id).filter(|&slot| slot != OWN) {
            let meta = &self.meta[slot as usize];
            let stamp = Stamp::dead(meta.stamp.incarnation()).max(meta.stamp);
            let birth = since.clamp(meta.birth, self.now);
            self.end(slot, stamp, birth);
        }
    }

    /// The age of what was born at `birth`, in steps of [`Silence`].
    #[inline]
    fn age_steps(&self, birth: Instant) -> u64 {
        let micros = self.now.as_micros().saturating_sub(birth.as_micros()).max(0) as u64;
        ((u128::from(micros) * u128::from(self.steps_per_micro)) >> 32) as u64
    }

    /// Forgets the entry about `id`, unless it is the own one.
    pub fn remove(&mut self, id: NodeId) {
        if let Some(slot) = self.table.get(id).filter(|&slot| slot != OWN) {
            let birth = core::mem::replace(&mut self.meta[slot as usize].birth, VACANT);
            self.take_out(slot, birth);
            self.table.remove(id);
            self.vacant.push(slot);
        }
    }

    /// Bytes of a payload behind which there are only zeros, in all of them.
    #[inline]
    pub fn longest(&self) -> usize {
        self.lengths.longest()
    }

    /// Makes the [`longest`](Self::longest) so many at least, and no more unless an entry needs it.
    pub fn set_least(&mut self, payload_bytes: usize) {
        self.lengths.set_least(payload_bytes.min(self.payload_bytes));
    }

    /// Looks at some payloads, to notice when the longest are gone.
    pub(crate) fn look_at_lengths(&mut self, count: usize) {
        let Self { lengths, meta, payloads, payloads_start, payload_bytes, .. } = self;
        lengths.look(count, meta.len(), |slot| {
            let start = *payloads_start + slot as usize * *payload_bytes;
            let holds = meta[slot as usize].birth != VACANT;
            holds.then(|| &payloads[start..start + *payload_bytes])
        });
    }

    /// Slots that hold an entry, or have held one: all below this number.
    pub(crate) fn slots(&self) -> usize {
        self.meta.len()
    }

    /// φ of the silence of the origin in `slot`: how surely it is not chance.
    pub(crate) fn phi(&self, slot: u32) -> f64 {
        let meta = &self.meta[slot as usize];
        meta.silence.phi(self.age_steps(meta.birth))
    }

    /// Whether `slot` holds an entry; slots named earlier may have been emptied since.
    #[inline]
    pub(crate) fn holds(&self, slot: u32) -> bool {
        self.meta[slot as usize].birth != VACANT
    }

    /// Replaces the entry in `slot` by newer news of the same origin.
    #[inline]
    fn renew(&mut self, slot: u32, stamp: Stamp, birth: Instant, payload: &[u8]) {
        self.restamp(slot, stamp, birth);
        self.write_payload(slot, payload);
    }

    /// Gives the entry in `slot` another stamp and birth, and leaves its payload.
    #[inline]
    fn restamp(&mut self, slot: u32, stamp: Stamp, birth: Instant) {
        let meta = &mut self.meta[slot as usize];
        debug_assert!(stamp >= meta.stamp, "a merge never lowers knowledge");
        let born_before = core::mem::replace(&mut meta.birth, birth);
        meta.stamp = stamp;
        if !self.calendar.same_day(born_before, birth) {
            self.take_out(slot, born_before);
            self.meta[slot as usize].place = self.calendar.insert(slot, birth);
        }
    }

    /// Puts an entry about an origin not yet held into a free slot; the caller saw that there is
    /// one.
    fn put(&mut self, meta: Meta, payload: &[u8]) {
        let slot = if let Some(slot) = self.vacant.pop() {
            self.meta[slot as usize] = meta;
            self.last[slot as usize] = Last::default();
            if let Some(bases) = self.bases.as_mut() {
                bases.forget(slot);
            }
            slot
        } else {
            self.meta.push(meta);
            self.last.push(Last::default());
            self.meta.len() as u32 - 1
        };
        self.table.insert(meta.id, slot);
        self.meta[slot as usize].place = self.calendar.insert(slot, meta.birth);
        self.write_payload(slot, payload);
    }

    /// Takes the entry in `slot`, born at `birth`, out of the calendar.
    #[inline]
    fn take_out(&mut self, slot: u32, birth: Instant) {
        let place = self.meta[slot as usize].place;
        let moved = self.calendar.remove(place, birth);
        self.meta[moved as usize].place = place;
    }

    #[inline]
    fn payload_range(&self, slot: u32) -> core::ops::Range<usize> {
        let start = self.payloads_start + slot as usize * self.payload_bytes;
        start..start + self.payload_bytes
    }

    #[inline]
    fn write_payload(&mut self, slot: u32, payload: &[u8]) {
        self.lengths.note(payload);
        let range = self.payload_range(slot);
        let room = &mut self.payloads[range];
        if payload.len() == room.len() {
            room.copy_from_slice(payload);
        } else {
            // It may be short, as those of nodes that use fewer bytes: what it does not fill is
            // zero.
            let filled = payload.len().min(room.len());
            room[..filled].copy_from_slice(&payload[..filled]);
            room[filled..].fill(0);
        }
    }
}
