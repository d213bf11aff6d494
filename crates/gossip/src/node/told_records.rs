//! Records of other colonies as changes by bases: to members that read version 3.
//!
//! A pull says which bases its sender holds of the colonies that it asks for. So an answer has by
//! its base what both hold; with its base what the receiver lacks; and whole what a change would
//! hardly shorten. A push of what a call brought goes by its base, with it while that is young:
//! a member of the row that missed it asks for its row, and has it then.
//!
//! Invariants: nothing is kept of receivers; what is taken is an aggregate that a member of its
//! colony made, or the record is passed over and counted.

use tidings_primitives::time::{Instant, micros};

use super::machine::Node;
use super::pieces::RecordsLeft;
use crate::age;
use crate::aggregate::MAX_BYTES;
use crate::colony::bases::{Base, change, changed};
use crate::colony::id::{ColonyId, ColonyIds};
use crate::colony::name::NAME_BYTES;
use crate::colony::table::{ColonyTable, Record, Taken};
use crate::counters::Dropped;
use crate::dissemination::context::{Order, What};
use crate::wire::inventory::Inventory;
use crate::wire::record::WireRecord;
use crate::wire::told_record::{Told, ToldRecords, ToldWriter};
use crate::wire::window::Marks;

/// Units for which a base goes along with each push.
const YOUNG_UNITS: i64 = 2;
/// What a change may take of its aggregate, in quarters, for its base to go along: a base that
/// saves little is not worth its bytes.
const WORTH_QUARTERS: usize = 3;

/// Who gets records, as far as is known what he holds.
#[derive(Clone, Copy)]
enum Receiver<'a> {
    /// One that said which bases it holds of the colonies of a range, or did not.
    Asked(Option<&'a Inventory>),
    /// A member of the own row, which has been sent what was made up to an instant.
    RowMate(Instant),
}

impl Receiver<'_> {
    /// Whether it holds the base of the colony that is `at`-th in the range.
    fn holds(self, at: usize, base: &Base) -> bool {
        match self {
            Self::Asked(said) => {
                said.is_some_and(|said| said.has_mark(at, |salt| base.name.mark(salt)))
            }
            Self::RowMate(sent) => base.birth <= sent,
        }
    }
}

impl Node {
    /// Which bases it holds of the colonies in a range, for a pull that asks for them.
    pub(super) fn colony_inventory(&self, ids: ColonyIds) -> Inventory {
        let Some(colony) = &self.colony else { return Inventory::NONE };
        let held = colony.table.with_bases_of(ids);
        if held.clone().all(|(_, base)| base.is_none()) {
            return Inventory::NONE;
        }
        let salt = self.counters.pulls_sent as u8;
        let mark = |base: Option<&Base>| base.map_or(0, |base| base.name.mark(salt));
        Inventory::of_marks(salt, held.map(|(record, base)| (record.id.0, mark(base))))
    }

    /// Writes those records of a range to `body` that fit, in the forms that the receiver of
    /// `order` reads; returns the bytes and the records, and steps the range. With `is_alone`
    /// nothing else is in the datagram: what does not fit then goes whole, which is the shortest
    /// without a base.
    pub(super) fn write_told_records(
        &mut self,
        now: Instant,
        (order, is_alone): (&Order, bool),
        left: &mut Option<RecordsLeft>,
        body: &mut [u8],
    ) -> (usize, u64) {
        let (Some(colony), Some(range)) = (&self.colony, left.as_mut()) else { return (0, 0) };
        let sent = now.before((YOUNG_UNITS * micros(self.config.interval)) as u64);
        let (ids, receiver) = receiver(&colony.table, order, (range.ids, sent));
        let (mut records, mut count, first) = (ToldWriter::new(body), 0, range.ids.first);
        for (at, (record, base)) in colony.table.with_bases_of(ids).enumerate() {
            let birth = record.birth.filter(|&birth| record.id >= first && birth > range.since);
            let Some(birth) = birth else { continue };
            let mut push = |told| {
                let head = (record.id, age::encode(now, birth));
                let contacts = record.contacts().take(range.contacts);
                records.push(head, contacts, told, base.map(|base| base.name)).then_some(told)
            };
            let mut room = [0; MAX_BYTES];
            let holds = base.is_some_and(|base| receiver.holds(at, base));
            let mut written = push(told(record, (base, holds), now, &mut room));
            if written.is_none() && is_alone && count == 0 {
                written = push(Told::Whole { aggregate: record.aggregate(), is_base: false });
            }
            let Some(written) = written else {
                range.ids.first = record.id;
                return (records.finish(), count);
            };
            let has_base =
                matches!(written, Told::Whole { is_base: true, .. } | Told::WithBase { .. });
            self.counters.record_bases_sent += u64::from(has_base);
            let is_change = !matches!(written, Told::Whole { .. });
            self.counters.records_changed_sent += u64::from(is_change);
            count += 1;
        }
        *left = None;
        (records.finish(), count)
    }

    /// Refuses what are no records of version 3, or come where there are no colonies.
    pub(super) fn must_be_told_records(&self, records: &[u8]) -> Result<(), Dropped> {
        ToldRecords::of(records).try_for_each(|record| record.map(drop))?;
        if self.colony.is_none() && !records.is_empty() {
            return Err(Dropped::Malformed);
        }
        Ok(())
    }

    /// Takes the records behind the entries of a window of version 3, which were seen to be well
    /// formed.
    pub(super) fn take_told_records(&mut self, now: Instant, marks: Marks, bytes: &[u8]) {
        let Some(colony) = &self.colony else { return };
        let records = ToldRecords::of(bytes);
        let name = |id: ColonyId| colony.table.base(id).map(|base| base.name);
        let are_agreed_on = records.clone().are_by(name);
        let received = self.counters.records_received;
        for (record, told) in records.map_while(Result::ok) {
            self.counters.records_received += 1;
            match self.take_told(now, &record, told, are_agreed_on) {
                Some(taken) => self.count_record(taken),
                None => self.counters.records_disagreed += 1,
            }
        }
        self.count_records(marks, bytes.len(), self.counters.records_received - received);
    }

    /// Takes one of them, and its base if that came along; `None` if it is by one that is not held.
    fn take_told(
        &mut self,
        now: Instant,
        record: &WireRecord<'_>,
        told: Told<'_>,
        are_agreed_on: bool,
    ) -> Option<Taken> {
        let table = &mut self.colony.as_mut()?.table;
        let (mut room, birth) = ([0; MAX_BYTES], now.before(record.age_micros));
        let (aggregate, base) = match told {
            Told::Whole { aggregate, is_base } => {
                (Some(aggregate), is_base.then_some((aggregate, birth)))
            }
            Told::Change(change) => {
                let base = table.base(record.colony).filter(|_| are_agreed_on)?;
                let bytes = changed(base.aggregate(), change, &mut room);
                (bytes.map(|bytes| &room[..bytes]), None)
            }
            Told::WithBase { base, base_age, change } => {
                let bytes = changed(base, change, &mut room);
                let base_birth = now.before(age::decode_micros(base_age));
                (bytes.map(|bytes| &room[..bytes]), Some((base, base_birth)))
            }
        };
        let Some(aggregate) = aggregate else { return Some(Taken::Refused) };
        let taken = table.take(&record.with(aggregate), birth);
        if let Some((base, birth)) = base.filter(|_| taken != Taken::Refused) {
            let is_kept = table.keep_base(record.colony, base, birth);
            self.counters.record_bases_taken += u64::from(is_kept);
        }
        Some(taken)
    }
}

/// Who gets the records of an order, and of which colonies it may have said what it holds.
fn receiver<'a>(
    table: &ColonyTable,
    order: &'a Order,
    (ids, sent): (ColonyIds, Instant),
) -> (ColonyIds, Receiver<'a>) {
    let What::Changes(asked, _, [_, said]) = &order.what else {
        return (ids, Receiver::RowMate(sent));
    };
    let ids = asked.colonies.unwrap_or(ids);
    let all = table.range(ids).iter().map(|record| record.id.0);
    (ids, Receiver::Asked(said.is_of_ids(all).then_some(said)))
}

/// How a record is told to one that holds its base, or does not.
fn told<'a>(
    record: &'a Record,
    (base, holds): (Option<&'a Base>, bool),
    now: Instant,
    room: &'a mut [u8; MAX_BYTES],
) -> Told<'a> {
    let aggregate = record.aggregate();
    let whole = |is_base| Told::Whole { aggregate, is_base };
    let Some(base) = base else { return whole(false) };
    if !holds && base.aggregate() == aggregate {
        return whole(true);
    }
    let Some(bytes) = change(base.aggregate(), aggregate, room) else { return whole(false) };
    let change = &room[..bytes];
    if holds && bytes + NAME_BYTES <= aggregate.len() {
        Told::Change(change)
    } else if !holds && 4 * bytes <= WORTH_QUARTERS * aggregate.len() {
        let base_age = age::encode(now, base.birth);
        Told::WithBase { base: base.aggregate(), base_age, change }
    } else {
        whole(false)
    }
}
