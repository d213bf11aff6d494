//! Writing: groups of entries, each in as few bytes as its receiver's bases allow.

use tidings_primitives::time::Instant;

use super::bases::{Base, Digest, Name};
use super::bits::{BitWriter, Code, order_for};
use super::change::Differences;
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
    /// Whether some entry is from an earlier base.
    has_steps: bool,
}

impl Heading {
    /// Of entries that name their bases.
    fn of_named<'a>(items: impl Iterator<Item = Item<'a>>) -> Self {
        Self::of(items, |_| 0)
    }

    /// Of entries whose bases are agreed on. Bases may be old, and of about one time.
    fn of_agreed<'a>(items: impl Iterator<Item = Item<'a>>) -> Self {
        Self::of(items, |least| u16::try_from(least).unwrap_or(u16::MAX))
    }

    /// Leaves out of all distances what is made of the least one.
    fn of<'a>(items: impl Iterator<Item = Item<'a>>, left_out: impl Fn(u32) -> u16) -> Self {
        let (mut least_age, mut least_distance) = (u16::MAX, u32::MAX);
        let (mut ages, mut distances, mut count, mut has_steps) = (0, 0, 0u64, false);
        for item in items {
            let distance = item.distance();
            least_age = least_age.min(item.age);
            least_distance = least_distance.min(distance);
            ages += u64::from(item.age);
            distances += u64::from(distance);
            count += 1;
            has_steps |= item.from.is_some();
        }
        let least_distance = left_out(least_distance);
        let order = |sum: u64, least: u16| order_for(sum - count * u64::from(least), count);
        Self {
            least_age,
            age_order: order(ages, least_age),
            least_distance,
            distance_order: order(distances, least_distance),
            has_steps,
        }
    }

    fn put(self, bits: &mut BitWriter<'_>, item: &Item<'_>) {
        bits.put_number(item.distance() - u32::from(self.least_distance), self.distance_order);
        bits.put_number(u32::from(item.age - self.least_age), self.age_order);
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
    differences: Differences,
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
        let payload_bytes = usize::from(format.payload_bytes);
        Some(Self { writer, payload_bytes, count: 0, differences: Differences::new() })
    }

    /// Writes as many of the items as fit, each with its name and, where it is wanted, its base;
    /// returns how many. Either all are from an earlier base or none, and if so no base is wanted.
    pub fn named<'i>(&mut self, items: impl Iterator<Item = (Item<'i>, bool)> + Clone) -> usize {
        let items = items.take(MAX_ENTRIES);
        let heading = Heading::of_named(items.clone().map(|(item, _)| item));
        let Some(room) = self.writer.rest().get_mut(HEAD_BYTES..) else { return 0 };
        let all_bytes = room.len();
        let mut bits = BitWriter::new(room);
        let (mut bases, mut count) = (0, 0);
        for (item, with_base) in items.clone() {
            let before = bits.place();
            put_named(&mut bits, heading, (&item, with_base), &mut self.differences);
            let with = bases + usize::from(with_base);
            if bits.place().bytes() + with * self.payload_bytes > all_bytes {
                bits.go_back(before);
                break;
            }
            (bases, count) = (with, count + 1);
        }
        let bit_bytes = bits.finish();
        if count == 0 {
            return 0;
        }
        let kind = if heading.has_steps { NAMED_STEPS } else { NAMED };
        let bytes = bit_bytes + bases * self.payload_bytes;
        self.writer.put(&heading.bytes(kind, bytes, count, bases));
        self.writer.take(bit_bytes);
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
        let head_bytes = HEAD_BYTES + AGREED_HEAD_BYTES;
        let Some(room) = self.writer.rest().get_mut(head_bytes..) else { return 0 };
        let all_bytes = room.len();
        let mut bits = BitWriter::new(room);
        let (mut count, mut digest) = (0, Digest::new());
        for (item, skipped) in items {
            let before = bits.place();
            put_agreed(&mut bits, heading, (&item, skipped), &mut self.differences);
            if bits.place().bytes() > all_bytes {
                bits.go_back(before);
                break;
            }
            count += 1;
            digest.add(item.held());
        }
        let bit_bytes = bits.finish();
        if count == 0 {
            return 0;
        }
        let kind = if heading.has_steps { AGREED_STEPS } else { AGREED };
        self.writer.put(&heading.bytes(kind, AGREED_HEAD_BYTES + bit_bytes, count, 0));
        self.writer.put(&first.0.to_le_bytes());
        self.writer.put(&digest.finish());
        self.writer.put(&heading.least_distance.to_le_bytes());
        self.writer.take(bit_bytes);
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
fn put_step(
    bits: &mut BitWriter<'_>,
    from: &Base<'_>,
    item: &Item<'_>,
    differences: &mut Differences,
) {
    bits.put_number(item.base.name.sequence - from.name.sequence - 1, STEP_ORDER);
    differences.put(bits, from.payload, &item.base.payload[..item.payload.len()]);
}

fn put_named(
    bits: &mut BitWriter<'_>,
    heading: Heading,
    (item, with_base): (&Item<'_>, bool),
    differences: &mut Differences,
) {
    let Name { id, incarnation, sequence } = item.held();
    bits.put(Code::new(id.0, ID_BITS));
    bits.put(Code::new(incarnation.get(), INCARNATION_BITS));
    bits.put(Code::new(sequence, SEQUENCE_BITS));
    match &item.from {
        Some(from) => put_step(bits, from, item, differences),
        None => bits.put(Code::new(u32::from(with_base), 1)),
    }
    heading.put(bits, item);
    differences.put(bits, item.base.payload, item.payload);
}

#[inline]
fn put_agreed(
    bits: &mut BitWriter<'_>,
    heading: Heading,
    (item, skipped): (&Item<'_>, u32),
    differences: &mut Differences,
) {
    bits.put_number(skipped, 0);
    if heading.has_steps {
        bits.put(Code::new(u32::from(item.from.is_some()), 1));
    }
    if let Some(from) = &item.from {
        put_step(bits, from, item, differences);
    }
    heading.put(bits, item);
    differences.put(bits, item.base.payload, item.payload);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::delta::plain;
    use crate::entry::Incarnation;

    const LIFE: Incarnation = Incarnation::new(3);
    const BYTES: usize = 40;

    /// What an item is made of: payload, base and the base before, distance, age, bases passed over
    /// and whether the base comes along.
    type Parts = ([Vec<u8>; 3], (u32, u16), u32, bool);

    fn parts() -> impl Strategy<Value = Parts> {
        let bytes = || prop::collection::vec(prop_oneof![9 => Just(0u8), 1 => any::<u8>()], BYTES);
        let payloads = [bytes(), bytes(), bytes()];
        (payloads, (0u32..300, any::<u16>()), 0u32..5, any::<bool>())
    }

    fn item(at: usize, parts: &Parts, has_step: bool) -> (Item<'_>, u32, bool) {
        let ([payload, base, before], (distance, age), skipped, with_base) = parts;
        let name = |sequence| Name { id: NodeId(at as u32), incarnation: LIFE, sequence };
        let from = Base { name: name(60), payload: before };
        let item = Item {
            stamp: Stamp::new(LIFE, 100 + distance),
            age: *age,
            payload,
            base: Base { name: name(100), payload: base },
            from: has_step.then_some(from),
        };
        (item, *skipped, *with_base)
    }

    /// The bits of one entry behind what says by which base it is.
    fn plain_entry(bits: &mut plain::Bits, heading: Heading, item: &Item<'_>) {
        let distance = item.distance() - u32::from(heading.least_distance);
        bits.put_number(distance, heading.distance_order);
        bits.put_number(u32::from(item.age - heading.least_age), heading.age_order);
        bits.put_change(item.base.payload, item.payload);
    }

    fn plain_step(bits: &mut plain::Bits, item: &Item<'_>) {
        if let Some(from) = item.from {
            bits.put_number(item.base.name.sequence - from.name.sequence - 1, STEP_ORDER);
            bits.put_change(from.payload, item.base.payload);
        }
    }

    /// A body in which are as many entries as fit, and the bytes that it has.
    fn body(room: usize, write: impl FnOnce(&mut Body<'_>) -> usize) -> (usize, Vec<u8>) {
        let format = Format { schema: 1, payload_bytes: BYTES as u16 };
        let mut buffer = vec![0xA5; room];
        let mut body = Body::begin(&mut buffer, format, Marks::ANSWER).expect("it is long enough");
        let count = write(&mut body);
        let bytes = body.finish();
        buffer.truncate(bytes);
        (count, buffer)
    }

    proptest! {
        /// As many entries as fit, each whole, whatever was tried behind them.
        #[test]
        fn agreed_entries_have_the_bits_that_the_tables_say(
            all in prop::collection::vec((parts(), any::<bool>()), 1..30), room in 14usize..500,
        ) {
            let items = || all.iter().enumerate().map(|(at, (parts, has_step))| {
                let (item, skipped, _) = item(at, parts, *has_step);
                (item, skipped)
            });
            let (count, bytes) = body(room, |body| body.agreed(NodeId(0), items()));
            let heading = Heading::of_agreed(items().map(|(item, _)| item));
            let head_bytes = PREAMBLE_BYTES + HEAD_BYTES + AGREED_HEAD_BYTES;
            let (mut bits, mut fit, mut told) = (plain::Bits::default(), 0, Vec::new());
            for (item, skipped) in items() {
                bits.put_number(skipped, 0);
                if heading.has_steps {
                    bits.put(u32::from(item.from.is_some()), 1);
                }
                plain_step(&mut bits, &item);
                plain_entry(&mut bits, heading, &item);
                if head_bytes + bits.bytes().len() > room {
                    break;
                }
                (fit, told) = (fit + 1, bits.bytes());
            }
            prop_assert_eq!(count, fit);
            if count > 0 {
                prop_assert_eq!(&bytes[head_bytes..], told);
            } else {
                prop_assert!(bytes.is_empty());
            }
        }

        #[test]
        fn named_entries_have_the_bits_that_the_tables_say(
            all in prop::collection::vec(parts(), 1..30),
            has_steps in any::<bool>(),
            room in 14usize..700,
        ) {
            let items = || all.iter().enumerate().map(|(at, parts)| {
                let (item, _, with_base) = item(at, parts, has_steps);
                (item, with_base && !has_steps)
            });
            let (count, bytes) = body(room, |body| body.named(items()));
            let heading = Heading::of_named(items().map(|(item, _)| item));
            let head_bytes = PREAMBLE_BYTES + HEAD_BYTES;
            let (mut bits, mut bases) = (plain::Bits::default(), Vec::new());
            let (mut fit, mut told) = (0, Vec::new());
            for (item, with_base) in items() {
                let name = item.held();
                bits.put(name.id.0, 32);
                bits.put(LIFE.get(), 24);
                bits.put(name.sequence, 24);
                if has_steps {
                    plain_step(&mut bits, &item);
                } else {
                    bits.put(u32::from(with_base), 1);
                }
                plain_entry(&mut bits, heading, &item);
                bases.extend_from_slice(if with_base { item.base.payload } else { &[] });
                if head_bytes + bits.bytes().len() + bases.len() > room {
                    break;
                }
                (fit, told) = (fit + 1, [bits.bytes(), bases.clone()].concat());
            }
            prop_assert_eq!(count, fit);
            if count > 0 {
                prop_assert_eq!(&bytes[head_bytes..], told);
            } else {
                prop_assert!(bytes.is_empty());
            }
        }
    }
}
