//! Writing: groups of entries, each in as few bytes as its receiver's bases allow.

use tidings_primitives::time::Instant;

use super::bases::{Base, Digest, Name};
use super::bits::{BitWriter, Count, Sink, order_for};
use super::change;
use super::form::{
    AGREED, AGREED_HEAD_BYTES, AGREED_STEPS, HEAD_BYTES, ID_BITS, INCARNATION_BITS, MAX_ENTRIES,
    MAX_SKIPPED, MAX_SPAN, NAMED, NAMED_STEPS, SEQUENCE_BITS, STEP_ORDER, WHOLE, WHOLE_BASES,
    WHOLE_HEAD_BYTES,
};
use crate::entry::{NodeId, Stamp};
use crate::vector::Entry;
use crate::wire::body::Writer;
use crate::wire::size::{ENTRY_OVERHEAD_BYTES, PREAMBLE_BYTES};
use crate::wire::window::{Format, Marks, write_entry};

/// An entry to be written. Its bases are of the same origin and incarnation, and not later.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// How new it is.
    pub stamp: Stamp,
    /// Its age, as [`age::encode`](crate::age::encode) has it.
    pub age: u16,
    /// What it says.
    pub payload: &'a [u8],
    /// What its origin measures it by.
    pub base: Base<'a>,
    /// An earlier base, if the receiver holds that instead: the other, which has at least the bytes
    /// of the payload then, is told as a change by it.
    pub from: Option<Base<'a>>,
}

impl Item<'_> {
    fn distance(&self) -> u32 {
        let base = self.base.name;
        debug_assert!(self.stamp.incarnation() == base.incarnation, "a base of its life");
        self.stamp.sequence() - base.sequence
    }

    /// The base that its receiver is to hold.
    fn held(&self) -> Name {
        self.from.map_or(self.base.name, |from| from.name)
    }
}

/// What is common to the entries of a group.
#[derive(Clone, Copy)]
struct Heading {
    least_age: u16,
    age_order: u32,
    /// What is left out of all distances.
    least_distance: u16,
    distance_order: u32,
}

impl Heading {
    /// Of entries that name their bases.
    fn of<'a>(items: impl Iterator<Item = Item<'a>> + Clone) -> Self {
        Self::with_least_distance(0, items)
    }

    /// Of entries whose bases are agreed on. Bases may be old, and of about one time.
    fn of_agreed<'a>(items: impl Iterator<Item = Item<'a>> + Clone) -> Self {
        let least = items.clone().map(|item| item.distance()).min().unwrap_or(0);
        Self::with_least_distance(u16::try_from(least).unwrap_or(u16::MAX), items)
    }

    fn with_least_distance<'a>(
        least_distance: u16,
        items: impl Iterator<Item = Item<'a>> + Clone,
    ) -> Self {
        let least_age = items.clone().map(|item| item.age).min().unwrap_or(0);
        let (mut ages, mut distances, mut count) = (0, 0, 0);
        for item in items {
            ages += u64::from(item.age - least_age);
            distances += u64::from(item.distance() - u32::from(least_distance));
            count += 1;
        }
        Self {
            least_age,
            age_order: order_for(ages, count),
            least_distance,
            distance_order: order_for(distances, count),
        }
    }

    fn put(self, sink: &mut impl Sink, item: &Item<'_>) {
        sink.put_number(item.distance() - u32::from(self.least_distance), self.distance_order);
        sink.put_number(u32::from(item.age - self.least_age), self.age_order);
    }

    fn bytes(self, kind: u8, bytes: usize, count: usize, bases: usize) -> [u8; HEAD_BYTES] {
        let [low, high] = (bytes as u16).to_le_bytes();
        let [age_low, age_high] = self.least_age.to_le_bytes();
        let orders = self.age_order as u8 | ((self.distance_order as u8) << 4);
        [kind, low, high, count as u8, bases as u8, age_low, age_high, orders]
    }
}

/// The body of a datagram that is being written.
pub struct Body<'a> {
    writer: Writer<'a>,
    payload_bytes: usize,
    count: usize,
}

impl<'a> Body<'a> {
    /// Begins a body; `None` if the buffer is too short for any entry.
    pub fn begin(buffer: &'a mut [u8], format: Format, marks: Marks) -> Option<Self> {
        if buffer.len() < PREAMBLE_BYTES + HEAD_BYTES {
            return None;
        }
        let mut writer = Writer::new(buffer);
        writer.put(&[format.schema, marks.to_byte()]);
        writer.put(&format.payload_bytes.to_le_bytes());
        writer.put(&[0, 0]);
        Some(Self { writer, payload_bytes: usize::from(format.payload_bytes), count: 0 })
    }

    /// Writes as many of the items as fit, each with its name and, where it is wanted, its base;
    /// returns how many. Either all are from an earlier base or none, and if so no base is wanted.
    pub fn named<'i>(&mut self, items: impl Iterator<Item = (Item<'i>, bool)> + Clone) -> usize {
        let items = items.take(MAX_ENTRIES);
        let has_steps = items.clone().next().is_some_and(|(item, _)| item.from.is_some());
        let kind = if has_steps { NAMED_STEPS } else { NAMED };
        let heading = Heading::of(items.clone().map(|(item, _)| item));
        let (mut bits, mut bases, mut count) = (0, 0, 0);
        for (item, with_base) in items.clone() {
            let mut one = Count(bits);
            put_named(&mut one, heading, &item, with_base);
            let with = bases + usize::from(with_base);
            let bytes = HEAD_BYTES + one.0.div_ceil(8) + with * self.payload_bytes;
            if bytes > self.writer.room() {
                break;
            }
            (bits, bases, count) = (one.0, with, count + 1);
        }
        if count == 0 {
            return 0;
        }
        let bit_bytes = bits.div_ceil(8);
        let bytes = bit_bytes + bases * self.payload_bytes;
        self.writer.put(&heading.bytes(kind, bytes, count, bases));
        let mut written = BitWriter::new(self.writer.take(bit_bytes));
        for (item, with_base) in items.clone().take(count) {
            put_named(&mut written, heading, &item, with_base);
        }
        written.finish();
        for (item, _) in items.take(count).filter(|(_, with_base)| *with_base) {
            let fits = item.base.copy_to(self.writer.take(self.payload_bytes));
            debug_assert!(fits, "the format is long enough for all bases");
        }
        self.count += count;
        count
    }

    /// Writes as many of the items as fit by places in a list that the receiver has too: of its
    /// bases in the order of their ids, the first of which is that of `first`. With each item comes
    /// how many of the list lie between it and the one before. Returns how many were written.
    pub fn agreed<'i>(
        &mut self,
        first: NodeId,
        items: impl Iterator<Item = (Item<'i>, u32)> + Clone,
    ) -> usize {
        let mut places = 0;
        let items = items.take(MAX_ENTRIES).take_while(move |(_, skipped)| {
            places += 1 + *skipped;
            *skipped <= MAX_SKIPPED && places <= MAX_SPAN
        });
        let heading = Heading::of_agreed(items.clone().map(|(item, _)| item));
        let has_steps = items.clone().any(|(item, _)| item.from.is_some());
        let (mut bits, mut count, mut digest) = (0, 0, Digest::new());
        for (item, skipped) in items.clone() {
            let mut one = Count(bits);
            put_agreed(&mut one, (heading, has_steps), &item, skipped);
            if HEAD_BYTES + AGREED_HEAD_BYTES + one.0.div_ceil(8) > self.writer.room() {
                break;
            }
            (bits, count) = (one.0, count + 1);
            digest.add(item.held());
        }
        if count == 0 {
            return 0;
        }
        let bit_bytes = bits.div_ceil(8);
        let kind = if has_steps { AGREED_STEPS } else { AGREED };
        self.writer.put(&heading.bytes(kind, AGREED_HEAD_BYTES + bit_bytes, count, 0));
        self.writer.put(&first.0.to_le_bytes());
        self.writer.put(&digest.finish());
        self.writer.put(&heading.least_distance.to_le_bytes());
        let mut written = BitWriter::new(self.writer.take(bit_bytes));
        for (item, skipped) in items.take(count) {
            put_agreed(&mut written, (heading, has_steps), &item, skipped);
        }
        written.finish();
        self.count += count;
        count
    }

    /// Writes as many whole entries as fit, as of `now`; with `are_bases` each is a base of its
    /// own. Their payloads have at least the bytes of the format. Returns how many were written.
    pub fn whole<'i>(
        &mut self,
        entries: impl Iterator<Item = Entry<'i>>,
        now: Instant,
        are_bases: bool,
    ) -> usize {
        let entry_bytes = ENTRY_OVERHEAD_BYTES + self.payload_bytes;
        let fit = self.writer.room().saturating_sub(WHOLE_HEAD_BYTES) / entry_bytes;
        let mut entries = entries.take(fit.min(MAX_ENTRIES)).peekable();
        if entries.peek().is_none() {
            return 0;
        }
        let (head_at, mut count) = (self.writer.len(), 0);
        let kind = if are_bases { WHOLE_BASES } else { WHOLE };
        self.writer.take(WHOLE_HEAD_BYTES).fill(0);
        for entry in entries {
            write_entry(self.writer.take(entry_bytes), &entry, now);
            count += 1;
        }
        self.writer.patch_u16(head_at, u16::from_le_bytes([kind, count as u8]));
        self.count += count;
        count
    }

    /// Bytes that are free.
    pub(crate) fn room(&self) -> usize {
        self.writer.room()
    }

    /// Ends it; returns its bytes, 0 if it has no entry.
    pub fn finish(mut self) -> usize {
        self.writer.patch_u16(4, self.count as u16);
        if self.count == 0 { 0 } else { self.writer.len() }
    }
}

/// Writes what makes the base of an entry of an earlier one.
fn put_step(sink: &mut impl Sink, from: &Base<'_>, item: &Item<'_>) {
    sink.put_number(item.base.name.sequence - from.name.sequence - 1, STEP_ORDER);
    change::put(sink, from.payload, &item.base.payload[..item.payload.len()]);
}

fn put_named(sink: &mut impl Sink, heading: Heading, item: &Item<'_>, with_base: bool) {
    let Name { id, incarnation, sequence } = item.held();
    sink.put(id.0, ID_BITS);
    sink.put(incarnation.get(), INCARNATION_BITS);
    sink.put(sequence, SEQUENCE_BITS);
    match &item.from {
        Some(from) => put_step(sink, from, item),
        None => sink.put(u32::from(with_base), 1),
    }
    heading.put(sink, item);
    change::put(sink, item.base.payload, item.payload);
}

fn put_agreed(
    sink: &mut impl Sink,
    (heading, has_steps): (Heading, bool),
    item: &Item<'_>,
    skipped: u32,
) {
    sink.put_number(skipped, 0);
    if has_steps {
        sink.put(u32::from(item.from.is_some()), 1);
    }
    if let Some(from) = &item.from {
        put_step(sink, from, item);
    }
    heading.put(sink, item);
    change::put(sink, item.base.payload, item.payload);
}
