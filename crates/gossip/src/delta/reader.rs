//! Reading: entries out of groups, by the bases that the receiver holds.
//!
//! A body is walked twice. The first walk looks at its form alone and refuses the whole of it, so
//! that nothing of a malformed datagram is used; it needs no base. The second gives one entry after
//! the other, and asks for bases as it goes, so that between two entries the receiver may take the
//! first one in. What the first walk read of the first group it has noted (`notes.rs`): most bodies
//! have one group by bases that are agreed on, and it comes first. Later ones are walked once more,
//! before their first entry.

use super::bases::{Base, Bases, DIGEST_BYTES, Digest, Name};
use super::bits::BitReader;
use super::change::Change;
use super::form::{
    AGREED, AGREED_STEPS, HEAD_BYTES, ID_BITS, INCARNATION_BITS, MAX_ENTRIES, MAX_SKIPPED,
    MAX_SPAN, NAMED, NAMED_STEPS, SEQUENCE_BITS, STEP_ORDER, WHOLE, WHOLE_BASES, WHOLE_HEAD_BYTES,
};
use super::notes::Notes;
use crate::age;
use crate::config::MAX_PAYLOAD_BYTES;
use crate::entry::{Incarnation, NodeId, Stamp};
use crate::wire::body::{BodyError, Reader};
use crate::wire::size::{ENTRY_OVERHEAD_BYTES, PREAMBLE_BYTES};
use crate::wire::window::{Marks, Reads, WireEntry};

/// An entry that was read. Its payload lies in the room that the caller gave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Said<'a> {
    /// The node it is about.
    pub id: NodeId,
    /// How new it is.
    pub stamp: Stamp,
    /// Its age when it was sent, in microseconds.
    pub age_micros: u64,
    /// The sequence of its base, which is of the same life.
    pub base_sequence: u32,
    /// That base, if it came along.
    pub base: Option<&'a [u8]>,
    /// Whether it came as a change by an earlier one: [`Entries::with_base`] has it.
    pub steps: bool,
}

impl<'a> Said<'a> {
    /// A whole entry that is a base.
    fn base(entry: &WireEntry<'a>) -> Self {
        let WireEntry { id, stamp, age_micros, payload } = *entry;
        let (base_sequence, base) = (stamp.sequence(), Some(payload));
        Self { id, stamp, age_micros, base_sequence, base, steps: false }
    }
}

/// What comes next in a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'a> {
    /// An entry.
    Entry(Said<'a>),
    /// A whole entry, of which nothing is said about bases. Its payload lies in the body.
    Whole(WireEntry<'a>),
    /// An entry whose base is not held: nothing is known of what it says.
    NoBase(NodeId),
    /// A group of so many entries, by bases of which others are held.
    Disagreed(u8),
}

/// The entries of a body, in the order in which they lie there.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    groups: Reader<'a>,
    payload_bytes: usize,
    /// Entries in groups that were not begun.
    left: usize,
    group: Option<Group<'a>>,
    /// The bases of a group that sender and receiver agree on: by name, since what is held may
    /// change between two entries.
    agreed: [Name; MAX_ENTRIES],
    /// Of the group that was begun; before that of the first one.
    notes: Notes,
    /// Whether no group was begun.
    is_first: bool,
    /// The base of the last entry, if it came as a change by an earlier one.
    stepped: [u8; MAX_PAYLOAD_BYTES as usize],
}

/// The marks and entries of a received body, and the bytes behind them, which are records if the
/// marks say so. Bytes of any origin are read.
///
/// # Errors
/// If it is not what [`Body`](super::Body) writes, or its payloads are none that are read.
pub fn decode(
    body: &[u8],
    reads: impl Into<Reads>,
) -> Result<(Marks, Entries<'_>, &[u8]), BodyError> {
    let (preamble, groups) =
        body.split_first_chunk::<PREAMBLE_BYTES>().ok_or(BodyError::Malformed)?;
    let [schema, marks, payload_low, payload_high, count_low, count_high] = *preamble;
    let payload_bytes = u16::from_le_bytes([payload_low, payload_high]);
    let format = reads.into().format(schema, payload_bytes)?;
    let (payload_bytes, groups) = (usize::from(format.payload_bytes), Reader(groups));
    if payload_bytes > usize::from(MAX_PAYLOAD_BYTES) {
        return Err(BodyError::Malformed);
    }
    let left = usize::from(u16::from_le_bytes([count_low, count_high]));
    let marks = Marks::from_byte(marks);
    let nobody = Name { id: NodeId(0), incarnation: Incarnation::new(0), sequence: 0 };
    let mut entries = Entries {
        groups,
        payload_bytes,
        left,
        group: None,
        agreed: [nobody; MAX_ENTRIES],
        notes: Notes::new(),
        is_first: true,
        stepped: [0; MAX_PAYLOAD_BYTES as usize],
    };
    let behind = walk(groups, left, payload_bytes, &mut entries.notes);
    let behind = behind.ok_or(BodyError::Malformed)?;
    if !marks.has(Marks::RECORDS) && !behind.is_empty() {
        return Err(BodyError::Malformed);
    }
    Ok((marks, entries, behind))
}

/// Looks at the form of all groups and returns what follows them; `None` if it is wrong somewhere.
/// Notes what the first one says.
fn walk<'a>(
    mut groups: Reader<'a>,
    mut left: usize,
    payload_bytes: usize,
    notes: &mut Notes,
) -> Option<&'a [u8]> {
    let mut notes = Some(notes);
    while left > 0 {
        let mut group = Group::read(&mut groups, payload_bytes)?;
        left = left.checked_sub(usize::from(group.left))?;
        let notes = notes.take();
        if group.whole.is_some() {
            continue; // entries of one length, which is that of the group
        }
        let span = group.walk(payload_bytes, notes)?;
        if span > MAX_SPAN || !group.is_through() {
            return None;
        }
    }
    Some(groups.0)
}

impl<'a> Entries<'a> {
    /// The next entry, whose payload is written to the start of `room`; `None` at the end.
    ///
    /// # Panics
    /// If there is less room than [`Entries::payload_bytes`].
    pub fn next(&mut self, bases: &impl Bases, room: &mut [u8]) -> Option<Step<'a>> {
        let payload = &mut room[..self.payload_bytes];
        if self.group.is_none_or(|group| group.left == 0) {
            if self.left == 0 {
                return None;
            }
            let group = Group::read(&mut self.groups, self.payload_bytes)?;
            self.left = self.left.checked_sub(usize::from(group.left))?;
            let is_first = core::mem::take(&mut self.is_first);
            if !self.agrees(group, is_first, bases) {
                return Some(Step::Disagreed(group.left));
            }
            self.group = Some(group);
        }
        let group = self.group.as_mut()?;
        if let Some(are_bases) = group.whole {
            let entry = group.next_whole(self.payload_bytes)?;
            payload.copy_from_slice(entry.payload);
            return Some(if are_bases {
                Step::Entry(Said::base(&entry))
            } else {
                Step::Whole(entry)
            });
        }
        let at = group.at();
        let spoken = group.next(self.payload_bytes)?;
        let (from, with_base) = match spoken.whose {
            Whose::Named { name, with_base } => (name, with_base),
            Whose::Agreed { .. } => (self.agreed[at], None),
        };
        let sequence = from.sequence + spoken.step.map_or(0, |(units, _)| units);
        let name = Name { sequence, ..from };
        let sent = with_base.map(|payload| Base { name, payload });
        let base = sent.or_else(|| bases.base(name.id).filter(|base| base.name == name));
        // Who has the later base already needs no step to it.
        let step = spoken.step.filter(|_| base.is_none());
        let steps_from = step.and_then(|_| bases.base(name.id).filter(|base| base.name == from));
        let is_known = base.or(steps_from).is_some_and(|base| base.copy_to(payload));
        let last = sequence + spoken.distance;
        let is_after = spoken.step.is_some() || spoken.distance > 0;
        if !is_known || (is_after && last > Stamp::SEQUENCE_MAX) {
            group.bits = self.notes.pass(spoken.change, self.payload_bytes)?;
            return Some(Step::NoBase(name.id));
        }
        if let Some((_, change)) = step {
            change.apply(payload)?;
            self.stepped[..self.payload_bytes].copy_from_slice(payload);
        }
        group.bits = self.notes.apply(spoken.change, payload)?;
        let stamp = Stamp::new(name.incarnation, last);
        let age_micros = age::decode_micros(spoken.age);
        let (id, base_sequence, base) = (name.id, name.sequence, with_base);
        let steps = step.is_some();
        Some(Step::Entry(Said { id, stamp, age_micros, base_sequence, base, steps }))
    }

    /// The entry that was given last, with its base if that came in any form.
    pub fn with_base<'b>(&'b self, said: Said<'b>) -> Said<'b> {
        let stepped = said.steps.then(|| &self.stepped[..self.payload_bytes]);
        Said { base: said.base.or(stepped), ..said }
    }

    /// Whether the bases that a group is by are held, all of them; notes their names.
    fn agrees(&mut self, mut group: Group<'_>, is_first: bool, bases: &impl Bases) -> bool {
        if !is_first {
            self.notes.forget();
        }
        let Some((first, digest)) = group.agreed else { return true };
        if !is_first && group.walk(self.payload_bytes, Some(&mut self.notes)).is_none() {
            return false;
        }
        let (mut from, mut held) = (Some(first), Digest::new());
        let names = &mut self.agreed[..usize::from(group.count)];
        for (name, &skipped) in names.iter_mut().zip(&self.notes.skipped) {
            for _ in 0..=skipped {
                let Some(base) = from.and_then(|id| bases.base_from(id)) else { return false };
                *name = base.name;
                from = base.name.id.0.checked_add(1).map(NodeId);
            }
            held.add(*name);
        }
        held.finish() == digest
    }

    /// Bytes of the payloads.
    pub fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }
}

/// Whose entry it is, and by which base.
#[derive(Clone, Copy, Debug)]
enum Whose<'a> {
    /// The base is named, and may have come along.
    Named { name: Name, with_base: Option<&'a [u8]> },
    /// So many bases lie between this one and the one before.
    Agreed { skipped: u8 },
}

impl Whose<'_> {
    fn skipped(&self) -> u8 {
        match self {
            Whose::Named { .. } => 0,
            Whose::Agreed { skipped } => *skipped,
        }
    }
}

/// What the bits of one entry say.
#[derive(Clone, Copy, Debug)]
struct Spoken<'a> {
    whose: Whose<'a>,
    /// How much later than that its base is, and what that says otherwise.
    step: Option<(u32, Change<'a>)>,
    distance: u32,
    age: u16,
    /// What it says otherwise, which the group is left in front of.
    change: Change<'a>,
}

/// A group of entries.
#[derive(Clone, Copy, Debug)]
struct Group<'a> {
    count: u8,
    /// Entries that were not read yet.
    left: u8,
    least_age: u16,
    age_order: u32,
    least_distance: u16,
    distance_order: u32,
    /// Where bases that are agreed on begin, and their digest.
    agreed: Option<(NodeId, [u8; DIGEST_BYTES])>,
    /// Whether entries may be by later bases.
    has_steps: bool,
    /// Whether whole entries are bases, if it has such.
    whole: Option<bool>,
    bits: BitReader<'a>,
    /// Bases that came along, or whole entries, and were not reached yet.
    bases: Reader<'a>,
}

impl<'a> Group<'a> {
    fn read(groups: &mut Reader<'a>, payload_bytes: usize) -> Option<Self> {
        if let Some(&kind @ (WHOLE | WHOLE_BASES)) = groups.0.first() {
            return Self::read_whole(kind == WHOLE_BASES, groups, payload_bytes);
        }
        let [kind, low, high, count, bases, age_low, age_high, orders] =
            groups.array::<HEAD_BYTES>()?;
        let mut content = Reader(groups.bytes(usize::from(u16::from_le_bytes([low, high])))?);
        let agreed = match (kind, bases) {
            (NAMED, _) | (NAMED_STEPS, 0) => None,
            (AGREED | AGREED_STEPS, 0) => {
                Some((NodeId(content.u32()?), content.array::<DIGEST_BYTES>()?))
            }
            _ => return None,
        };
        let least_distance = match agreed {
            Some(_) => u16::from_le_bytes(content.array()?),
            None => 0,
        };
        let bit_bytes = content.0.len().checked_sub(usize::from(bases) * payload_bytes)?;
        let group = Self {
            count,
            left: count,
            least_age: u16::from_le_bytes([age_low, age_high]),
            age_order: u32::from(orders & 15),
            least_distance,
            distance_order: u32::from(orders >> 4),
            agreed,
            has_steps: matches!(kind, AGREED_STEPS | NAMED_STEPS),
            whole: None,
            bits: BitReader::new(content.bytes(bit_bytes)?),
            bases: content,
        };
        (count > 0).then_some(group)
    }

    /// A group of whole entries.
    fn read_whole(are_bases: bool, groups: &mut Reader<'a>, payload_bytes: usize) -> Option<Self> {
        let [_, count] = groups.array::<WHOLE_HEAD_BYTES>()?;
        let entry_bytes = ENTRY_OVERHEAD_BYTES + payload_bytes;
        let group = Self {
            count,
            left: count,
            least_age: 0,
            age_order: 0,
            least_distance: 0,
            distance_order: 0,
            agreed: None,
            has_steps: false,
            whole: Some(are_bases),
            bits: BitReader::new(&[]),
            bases: Reader(groups.bytes(usize::from(count) * entry_bytes)?),
        };
        (count > 0).then_some(group)
    }

    /// The next of its whole entries.
    fn next_whole(&mut self, payload_bytes: usize) -> Option<WireEntry<'a>> {
        self.left -= 1;
        WireEntry::read(self.bases.bytes(ENTRY_OVERHEAD_BYTES + payload_bytes)?)
    }

    /// Which of its entries is the next.
    fn at(&self) -> usize {
        usize::from(self.count - self.left)
    }

    /// Goes past all entries, and notes what they say where that is wanted; gives how many bases
    /// they go through. `None` if the bits are wrong.
    fn walk(&mut self, payload_bytes: usize, mut notes: Option<&mut Notes>) -> Option<u32> {
        let mut span = 0;
        while self.left > 0 {
            let at = self.at();
            let Spoken { whose, change, .. } = self.next(payload_bytes)?;
            let skipped = whose.skipped();
            span += 1 + u32::from(skipped);
            self.bits = match &mut notes {
                Some(notes) => {
                    notes.skipped[at] = skipped;
                    notes.note(change, payload_bytes)?
                }
                None => change.behind(payload_bytes)?,
            };
        }
        Some(span)
    }

    /// The next entry up to its change, behind which `bits` are then to be moved; `None` if its
    /// bits are wrong.
    fn next(&mut self, payload_bytes: usize) -> Option<Spoken<'a>> {
        let whose = self.whose(payload_bytes)?;
        let (units, change) = self.step(&whose, payload_bytes)?;
        let step = change.map(|change| (units, change));
        let above = self.bits.number(self.distance_order)?;
        let distance = above.checked_add(u32::from(self.least_distance))?;
        let above = u16::try_from(self.bits.number(self.age_order)?).ok()?;
        let age = self.least_age.checked_add(above)?;
        let change = Change::begin(self.bits)?;
        // A base differs in nothing from itself, and nothing comes behind the last sequence.
        let behind = units.checked_add(distance)?;
        let last = match whose {
            Whose::Named { name, .. } => name.sequence.checked_add(behind)?,
            Whose::Agreed { .. } => behind,
        };
        if distance == 0 && change.words > 0 || behind > 0 && last > Stamp::SEQUENCE_MAX {
            return None;
        }
        self.left -= 1;
        Some(Spoken { whose, step, distance, age, change })
    }

    /// How its base is later than one that is held, with 0 units and no change if it is none;
    /// `None` if the bits are wrong.
    fn step(
        &mut self,
        whose: &Whose<'a>,
        payload_bytes: usize,
    ) -> Option<(u32, Option<Change<'a>>)> {
        let is_flagged = matches!(whose, Whose::Agreed { .. });
        if !self.has_steps || is_flagged && self.bits.take(1)? == 0 {
            return Some((0, None));
        }
        let units = self.bits.number(STEP_ORDER)?.checked_add(1)?;
        let change = Change::begin(self.bits)?;
        self.bits = change.behind(payload_bytes)?;
        Some((units, Some(change)))
    }

    fn whose(&mut self, payload_bytes: usize) -> Option<Whose<'a>> {
        if self.agreed.is_some() {
            let skipped = self.bits.number(0).filter(|&skipped| skipped <= MAX_SKIPPED)?;
            // They are at most 255.
            return Some(Whose::Agreed { skipped: skipped as u8 });
        }
        let name = Name {
            id: NodeId(self.bits.take(ID_BITS)?),
            incarnation: Incarnation::new(self.bits.take(INCARNATION_BITS)?),
            sequence: self.bits.take(SEQUENCE_BITS)?,
        };
        let comes_along = !self.has_steps && self.bits.take(1)? == 1;
        let with_base = if comes_along { Some(self.bases.bytes(payload_bytes)?) } else { None };
        Some(Whose::Named { name, with_base })
    }

    /// Whether nothing follows the entry that was read last.
    fn is_through(&self) -> bool {
        self.bases.0.is_empty() && self.bits.rest().is_some_and(<[u8]>::is_empty)
    }
}
