//! A window of version 3: which entry goes in which form.
//!
//! An entry goes by a base where its receiver holds that, as an inventory says; by a *step* to it
//! where the receiver holds the base before; with its base where it holds neither; and whole where
//! that is no longer. An own entry that is pushed goes by its base, and by a step to it, or with
//! it, while that is young, so that a receiver that missed it gets it again; every 16 pushes or
//! more it takes the base along, so that one that asks for nothing has it in the end. What is all
//! new is pushed whole then: its base saves little.
//!
//! Invariants: each form fits into a datagram that holds a whole entry; what is written is of the
//! base that the vector holds when it is written, which the name or the digest says.

use tidings_primitives::time::Instant;

use super::bases::{Base, Bases, Name};
use super::change;
use super::form::{AGREED_HEAD_BYTES, HEAD_BYTES};
use super::writer::{Body, Item};
use crate::age;
use crate::entry::NodeId;
use crate::vector::{OWN, Vector};
use crate::wire::inventory::Inventory;
use crate::wire::size::PREAMBLE_BYTES;
use crate::wire::window::{Format, Marks};

/// Pushes in which an entry takes its base along: a receiver may have missed it.
const YOUNG_PUSHES: u32 = 4;
/// Every how many pushes of 64 bytes it does later on: a receiver may have come later, and ask for
/// nothing. Longer payloads go along less often by as much.
const REPEAT_PUSHES: u32 = 16;
const REPEATED_BYTES: usize = 64;
/// Bits that most entries take at most beside name and change, and what all do.
const AGE_AND_DISTANCE_BITS: usize = 40;
const MAX_AGE_AND_DISTANCE_BITS: usize = 80;
/// Bits of a name, and whether its base comes along.
const NAME_BITS: usize = 81;
/// Bits that a step takes beside the change, at most, and whether there is one.
const STEP_BITS: usize = 32;

/// In which form an entry goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// By a base on which both agree.
    Agreed,
    /// By a step from such a base.
    AgreedStep,
    /// Whole, and a base.
    OwnBase,
    /// Whole.
    Whole,
    /// By a base that is named.
    Named,
    /// By a step from such a base.
    NamedStep,
    /// By a base that is named, and comes along.
    WithBase,
}

impl Form {
    /// In which group it goes; they lie in this order, agreed ones first, since what comes along
    /// with others changes which bases the receiver holds.
    pub(crate) const fn group(self) -> u8 {
        match self {
            Self::Agreed | Self::AgreedStep => 0,
            Self::OwnBase => 1,
            Self::Whole => 2,
            Self::Named => 3,
            Self::NamedStep => 4,
            Self::WithBase => 5,
        }
    }

    const fn steps(self) -> bool {
        matches!(self, Self::AgreedStep | Self::NamedStep)
    }

    const fn has_base(self) -> bool {
        matches!(self, Self::OwnBase | Self::WithBase)
    }
}

/// Bases as a node holds them: in the order of the ids of its members.
pub(crate) struct Held<'a> {
    pub(crate) vector: &'a Vector,
    /// Ids of all members, ascending.
    pub(crate) members: &'a [NodeId],
}

impl Bases for Held<'_> {
    fn base(&self, id: NodeId) -> Option<Base<'_>> {
        self.vector.base(self.vector.slot(id)?)
    }

    fn base_from(&self, id: NodeId) -> Option<Base<'_>> {
        let start = self.members.partition_point(|&other| other < id);
        self.members[start..].iter().find_map(|&id| self.base(id))
    }
}

/// Who gets a window, as far as is known what he holds.
#[derive(Clone, Copy)]
pub(crate) enum Receiver<'a> {
    /// One that said which bases it holds of these members, which stand in the order of ids.
    Asked(&'a [NodeId], &'a Inventory),
    /// A member of the own row, which gets the own entry every so many units, one or more.
    RowMate(u32),
}

/// A window that is written.
pub(crate) struct Window<'a> {
    pub(crate) vector: &'a Vector,
    pub(crate) format: Format,
    /// Bytes of the largest body.
    pub(crate) room: usize,
    pub(crate) receiver: Receiver<'a>,
}

impl Window<'_> {
    /// In which form the entry in `slot` goes.
    pub(crate) fn form(&self, slot: u32) -> Form {
        let entry = self.vector.at(slot);
        let payload_bytes = usize::from(self.format.payload_bytes);
        let base = self.vector.base(slot).filter(|base| says_no_more(base, payload_bytes));
        let Some(base) = base.filter(|_| !entry.stamp.is_last()) else { return Form::Whole };
        let distance = entry.stamp.sequence() - base.name.sequence;
        let change = change::bits(base.payload, &entry.payload[..payload_bytes]);
        let with_base = if distance == 0 { Form::OwnBase } else { Form::WithBase };
        let form = match self.receiver {
            Receiver::Asked(members, inventory) => match members.binary_search(&entry.id) {
                Ok(at) if inventory.has(at, base.name) => Form::Agreed,
                Ok(at) if self.steps_pay(slot, change, |from| inventory.has(at, from)) => {
                    Form::AgreedStep
                }
                _ => with_base,
            },
            Receiver::RowMate(_) if slot != OWN => Form::Whole,
            Receiver::RowMate(units) => {
                let (units, sequence) = (units.max(1), entry.stamp.sequence());
                let is_young = distance / units < YOUNG_PUSHES;
                let goes_along = takes_base_along(sequence / units, payload_bytes);
                let steps = is_young && self.steps_pay(slot, NAME_BITS + change, |_| true);
                match (is_young, goes_along) {
                    (true, false) if steps => Form::NamedStep,
                    (true, _) => with_base,
                    _ if change > 8 * payload_bytes => Form::Whole,
                    (_, true) => Form::WithBase,
                    _ => Form::Named,
                }
            }
        };
        let fits = match form {
            Form::OwnBase | Form::Whole | Form::AgreedStep | Form::NamedStep => true,
            Form::Agreed | Form::Named => {
                let name = if form == Form::Named { NAME_BITS } else { 0 };
                name + AGE_AND_DISTANCE_BITS + change <= 8 * self.format.entry_bytes()
            }
            // Longer than a whole entry by the change, once: the next ones are by this base.
            Form::WithBase => {
                let bits = NAME_BITS + MAX_AGE_AND_DISTANCE_BITS + change;
                let bytes = PREAMBLE_BYTES + HEAD_BYTES + bits.div_ceil(8) + payload_bytes;
                bytes <= self.room
            }
        };
        if fits { form } else { Form::Whole }
    }

    /// Whether an entry whose change and name take so many bits goes by a step to its base in fewer
    /// bytes than whole, from a base that the receiver holds.
    fn steps_pay(&self, slot: u32, bits: usize, is_held: impl Fn(Name) -> bool) -> bool {
        let payload_bytes = usize::from(self.format.payload_bytes);
        let from = self.vector.base_before(slot).filter(|from| says_no_more(from, payload_bytes));
        let Some((base, from)) = self.vector.base(slot).zip(from) else { return false };
        if !is_held(from.name) {
            return false;
        }
        let step = change::bits(from.payload, &base.payload[..payload_bytes]);
        STEP_BITS + AGE_AND_DISTANCE_BITS + bits + step <= 8 * self.format.entry_bytes()
    }

    /// Writes the body of a datagram: as many of the entries in `slots`, in these forms, as fit;
    /// those born before `oldest` are passed over. Returns the bytes written (0 if no entry was),
    /// how many slots were dealt with, and entries and bases written.
    pub(crate) fn encode(
        &self,
        buffer: &mut [u8],
        (marks, now, oldest): (Marks, Instant, Instant),
        (slots, forms): (&[u32], &[Form]),
    ) -> Written {
        let mut written = Written::default();
        let Some(mut body) = Body::begin(buffer, self.format, marks) else { return written };
        let is_sent =
            |slot: &u32| self.vector.holds(*slot) && self.vector.at(*slot).birth >= oldest;
        while let Some(&form) = forms.get(written.slots) {
            let is_alike = |other: &&Form| other.group() == form.group();
            let run = forms[written.slots..].iter().take_while(is_alike).count();
            let forms = &forms[written.slots..written.slots + run];
            let run = &slots[written.slots..written.slots + run];
            let some = run.iter().copied().zip(forms.iter().copied());
            let some = some.filter(|(slot, _)| is_sent(slot));
            let (wanted, count) = self.group(&mut body, form, now, some.clone());
            written.entries += count;
            written.bases += if form.has_base() { count } else { 0 };
            written.steps += some.take(count).filter(|(_, form)| form.steps()).count();
            if count == wanted {
                written.slots += run.len();
                continue;
            }
            let last = run.iter().enumerate().filter(|(_, slot)| is_sent(slot)).nth(count);
            written.slots += last.map_or(run.len(), |(at, _)| at);
            if count == 0 && written.entries == 0 {
                written.slots += 1; // not even a datagram of its own holds it
                continue;
            }
            // A long group is cut at 255 entries; another may follow it.
            if body.room() <= HEAD_BYTES + AGREED_HEAD_BYTES || count == 0 {
                break;
            }
        }
        written.bytes = body.finish();
        written
    }

    /// Writes a group; returns how many entries there are for it, and how many were written.
    fn group(
        &self,
        body: &mut Body<'_>,
        form: Form,
        now: Instant,
        slots: impl Iterator<Item = (u32, Form)> + Clone,
    ) -> (usize, usize) {
        let items = slots.clone().filter_map(|(slot, form)| self.item(slot, form, now));
        match form {
            Form::OwnBase | Form::Whole => {
                let entries = slots.map(|(slot, _)| self.vector.at(slot));
                (entries.clone().count(), body.whole(entries, now, form == Form::OwnBase))
            }
            Form::Named | Form::NamedStep | Form::WithBase => {
                let with_base = form == Form::WithBase;
                let count = body.named(items.clone().map(|item| (item, with_base)));
                (items.count(), count)
            }
            Form::Agreed | Form::AgreedStep => {
                let Some(first) = items.clone().next() else { return (0, 0) };
                let first = first.base.name.id;
                let places = items.clone().scan(None, |before, item| {
                    let id = item.base.name.id;
                    let last = before.replace(id);
                    Some((item, last.map_or(0, |last| self.held_between(last, id))))
                });
                (items.count(), body.agreed(first, places))
            }
        }
    }

    fn item(&self, slot: u32, form: Form, now: Instant) -> Option<Item<'_>> {
        let entry = self.vector.at(slot);
        let payload = &entry.payload[..usize::from(self.format.payload_bytes)];
        let base = self.vector.base(slot).filter(|base| says_no_more(base, payload.len()))?;
        let from = if form.steps() { Some(self.vector.base_before(slot)?) } else { None };
        Some(Item { stamp: entry.stamp, age: age::encode(now, entry.birth), payload, base, from })
    }

    /// How many bases the receiver holds of members between two.
    fn held_between(&self, before: NodeId, id: NodeId) -> u32 {
        let Receiver::Asked(members, inventory) = self.receiver else { return 0 };
        let start = members.partition_point(|&other| other <= before);
        let end = members.partition_point(|&other| other < id);
        (start..end).filter(|&at| inventory.has_any(at)).count() as u32
    }
}

/// What came of a window that was written.
#[derive(Clone, Copy, Default)]
pub(crate) struct Written {
    pub(crate) bytes: usize,
    pub(crate) slots: usize,
    pub(crate) entries: usize,
    pub(crate) bases: usize,
    pub(crate) steps: usize,
}

/// Whether the base goes along with an entry that so many pushes may have followed.
fn takes_base_along(pushes: u32, payload_bytes: usize) -> bool {
    let longer = payload_bytes.div_ceil(REPEATED_BYTES).max(1) as u32;
    pushes % (REPEAT_PUSHES * longer) == 0
}

/// Whether a base says nothing behind so many bytes: there is no room for more in a datagram.
fn says_no_more(base: &Base<'_>, payload_bytes: usize) -> bool {
    base.payload.get(payload_bytes..).is_none_or(|rest| rest.iter().all(|&byte| byte == 0))
}
