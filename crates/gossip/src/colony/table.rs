//! The colony table: one record of every other colony, in the order of their ids.
//!
//! Memory for all records is taken at construction. A record is replaced by one whose aggregate was
//! born later, by the local clock, and by nothing else; addresses that came with it go before those
//! that were known.

use core::time::Duration;

use tidings_primitives::time::Instant;

use super::bases::{Base, ColonyBases};
use super::id::{ColonyId, ColonyIds};
use crate::address::Address;
use crate::aggregate::{Aggregate, MAX_BYTES};
use crate::share::Share;
pub use crate::wire::record::MAX_CONTACTS;
use crate::wire::record::{HEAD_BYTES, WireRecord};

/// What is known of one other colony.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) id: ColonyId,
    /// When its aggregate was made, on the local clock; `None` while there is none.
    pub(crate) birth: Option<Instant>,
    /// What is left of its share of calls.
    pub(crate) calls: Share,
    contacts: [Option<Address>; MAX_CONTACTS],
    aggregate_bytes: usize,
    aggregate: [u8; MAX_BYTES],
}

/// Bytes of memory that each colony takes.
pub const RECORD_MEMORY_BYTES: usize = core::mem::size_of::<Record>();

impl Record {
    fn new(id: ColonyId) -> Self {
        let contacts = [None; MAX_CONTACTS];
        let (calls, aggregate) = (Share::WHOLE, [0; MAX_BYTES]);
        Self { id, birth: None, calls, contacts, aggregate_bytes: 0, aggregate }
    }

    /// The aggregate as it travels; empty while there is none.
    pub(crate) fn aggregate(&self) -> &[u8] {
        &self.aggregate[..self.aggregate_bytes]
    }

    /// Addresses of its members, the latest first.
    pub(crate) fn contacts(&self) -> impl Iterator<Item = Address> + Clone + '_ {
        self.contacts.iter().copied().flatten()
    }

    /// One of its addresses, as `below` draws a number below their number.
    pub(crate) fn contact(&self, below: impl FnOnce(usize) -> usize) -> Option<Address> {
        self.contacts().nth(below(self.contacts().count()))
    }

    /// Puts these addresses before those that are known.
    fn meet(&mut self, latest: impl Iterator<Item = Address>) {
        let known = self.contacts;
        self.contacts = [None; MAX_CONTACTS];
        let mut count = 0;
        for contact in latest.chain(known.into_iter().flatten()) {
            if count < MAX_CONTACTS && !self.contacts.contains(&Some(contact)) {
                self.contacts[count] = Some(contact);
                count += 1;
            }
        }
    }
}

/// What became of a record that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Taken {
    /// It is later than what was held.
    News,
    /// It is not.
    Stale,
    /// It is about the own colony, its aggregate is none, or there is no room.
    Refused,
}

/// The records of all other colonies. See the module's documentation.
pub(crate) struct ColonyTable {
    own: ColonyId,
    records: Vec<Record>,
    /// What changes of the records are told by, where they are.
    bases: ColonyBases,
    capacity: usize,
}

impl ColonyTable {
    /// No colonies yet, and room for `capacity`.
    pub(crate) fn new(own: ColonyId, capacity: usize) -> Self {
        Self { own, records: Vec::with_capacity(capacity), bases: ColonyBases::NONE, capacity }
    }

    /// The same, with room for a base of each.
    pub(crate) fn with_bases(self) -> Self {
        Self { bases: ColonyBases::with_capacity(self.capacity), ..self }
    }

    /// Colonies known.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// All records, ascending by id.
    pub(crate) fn records(&self) -> &[Record] {
        &self.records
    }

    /// Bytes of a record on average, sent whole with a contact; `None` while none is known.
    pub(crate) fn average_bytes(&self) -> Option<usize> {
        let (mut bytes, mut count) = (0, 0);
        for record in self.records.iter().filter(|record| record.birth.is_some()) {
            let contact = record.contacts().next().map_or(0, |own| 1 + own.as_bytes().len());
            bytes += HEAD_BYTES + contact + record.aggregate().len();
            count += 1;
        }
        (count > 0).then(|| bytes / count)
    }

    pub(crate) fn get(&self, id: ColonyId) -> Option<&Record> {
        self.at(id).ok().map(|at| &self.records[at])
    }

    pub(crate) fn get_mut(&mut self, id: ColonyId) -> Option<&mut Record> {
        self.at(id).ok().map(|at| &mut self.records[at])
    }

    /// The records of a range of colonies.
    pub(crate) fn range(&self, ids: ColonyIds) -> &[Record] {
        let start = self.records.partition_point(|record| record.id < ids.first);
        let end = self.records.partition_point(|record| record.id <= ids.last);
        &self.records[start..end.max(start)]
    }

    /// Learns that there are members of a colony at these addresses; `false` if there is no room
    /// for another colony.
    pub(crate) fn introduce(
        &mut self,
        id: ColonyId,
        contacts: impl Iterator<Item = Address>,
    ) -> bool {
        let Some(record) = self.get_or_add(id) else { return false };
        record.meet(contacts);
        true
    }

    /// Each record of a range of colonies, and the base of its colony, if one is held.
    pub(crate) fn with_bases_of(
        &self,
        ids: ColonyIds,
    ) -> impl ExactSizeIterator<Item = (&Record, Option<&Base>)> + Clone {
        let start = self.records.partition_point(|record| record.id < ids.first);
        let records = self.range(ids).iter().enumerate();
        records.map(move |(at, record)| (record, self.bases.get(start + at)))
    }

    /// The base of a colony.
    pub(crate) fn base(&self, id: ColonyId) -> Option<&Base> {
        self.bases.get(self.at(id).ok()?)
    }

    /// Keeps an aggregate that was read as the base of a colony, unless the held one was born
    /// later; returns whether it was kept.
    pub(crate) fn keep_base(&mut self, id: ColonyId, aggregate: &[u8], birth: Instant) -> bool {
        let at = self.at(id).ok();
        at.is_some_and(|at| self.bases.keep(at, (id, aggregate), birth))
    }

    /// Takes the record that a call brought, and makes it a base if it is time. A record is sent to
    /// another member once in `pace` units.
    pub(crate) fn take_reply(&mut self, news: &WireRecord<'_>, birth: Instant, pace: u32) -> Taken {
        let (mut before, mut before_bytes) = ([0; MAX_BYTES], 0);
        if let Some(held) = self.get(news.colony).map(Record::aggregate) {
            before[..held.len()].copy_from_slice(held);
            before_bytes = held.len();
        }
        let taken = self.take(news, birth);
        let at = self.at(news.colony).ok().filter(|_| taken == Taken::News);
        let before = &before[..before_bytes];
        if at.is_some_and(|at| self.bases.is_due(at, pace, news.aggregate, before)) {
            self.keep_base(news.colony, news.aggregate, birth);
        }
        taken
    }

    /// Takes a record whose aggregate was born at `birth`, if that is later than the one held.
    pub(crate) fn take(&mut self, news: &WireRecord<'_>, birth: Instant) -> Taken {
        if news.aggregate.is_empty() || Aggregate::decode(news.aggregate).is_err() {
            return Taken::Refused;
        }
        let Some(record) = self.get_or_add(news.colony) else { return Taken::Refused };
        if record.birth.is_some_and(|held| held >= birth) {
            return Taken::Stale;
        }
        record.birth = Some(birth);
        record.aggregate_bytes = news.aggregate.len();
        record.aggregate[..news.aggregate.len()].copy_from_slice(news.aggregate);
        record.meet(news.contacts());
        Taken::News
    }

    fn get_or_add(&mut self, id: ColonyId) -> Option<&mut Record> {
        let at = match self.at(id) {
            Ok(at) => at,
            Err(_) if id == self.own || self.records.len() >= self.capacity => return None,
            Err(at) => {
                self.records.insert(at, Record::new(id));
                self.bases.make_room(at);
                at
            }
        };
        self.records.get_mut(at)
    }

    fn at(&self, id: ColonyId) -> Result<usize, usize> {
        self.records.binary_search_by_key(&id, |record| record.id)
    }
}

/// What a node knows of another colony.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ColonyView<'a> {
    /// The colony.
    pub id: ColonyId,
    /// How long ago its aggregate was made; `None` while none has arrived.
    pub age: Option<Duration>,
    aggregate: &'a [u8],
}

impl<'a> ColonyView<'a> {
    pub(crate) fn of(record: &'a Record, now: Instant) -> Self {
        let age = record.birth.map(|birth| now.saturating_since(birth));
        Self { id: record.id, age, aggregate: record.aggregate() }
    }

    /// Its aggregate; `None` while none has arrived.
    pub fn aggregate(&self) -> Option<Aggregate> {
        // What is held was readable when it arrived.
        Aggregate::decode(self.aggregate).ok()
    }

    /// The bytes of it, as they travel.
    pub fn aggregate_bytes(&self) -> &'a [u8] {
        self.aggregate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::Contribution;
    use crate::wire::record::write_record;
    use proptest::prelude::*;

    fn address(n: u8) -> Address {
        Address::from_bytes(&[n]).expect("one byte is an address")
    }

    /// Takes a record about colony `id` with `nodes` nodes, born at `birth`.
    fn take(table: &mut ColonyTable, id: u32, nodes: usize, birth: i64) -> Taken {
        let unheard = vec![Contribution::Unheard; nodes];
        let aggregate = Aggregate::of(unheard, Duration::from_secs(1));
        let (mut body, mut buffer) = ([0; MAX_BYTES], [0; 600]);
        let bytes = aggregate.encode(&mut body).expect("few nodes fit");
        let contact = [address(nodes as u8)];
        let head = (ColonyId(id), 0);
        let written = write_record(&mut buffer, head, contact.into_iter(), &body[..bytes]);
        let mut records = crate::wire::record::Records::of(&buffer[..written]);
        let record = records.next().expect("one record").expect("well formed");
        table.take(&record, Instant::from_micros(birth))
    }

    proptest! {
        /// Whatever arrives in whatever order, the latest of each colony is held, once, in order.
        #[test]
        fn the_latest_of_each_colony_is_held(
            news in prop::collection::vec((1u32..12, 1usize..50, 0i64..1000), 0..80),
        ) {
            let mut table = ColonyTable::new(ColonyId(3), 8);
            let mut latest = std::collections::BTreeMap::new();
            for (id, nodes, birth) in news {
                let held: Option<&(i64, usize)> = latest.get(&id);
                let expected = match held {
                    _ if id == 3 => Taken::Refused,
                    None if latest.len() == 8 => Taken::Refused,
                    Some(&(held, _)) if held >= birth => Taken::Stale,
                    _ => Taken::News,
                };
                prop_assert_eq!(take(&mut table, id, nodes, birth), expected);
                if expected == Taken::News {
                    latest.insert(id, (birth, nodes));
                }
            }
            prop_assert!(table.records().is_sorted_by_key(|record| record.id));
            prop_assert_eq!(table.len(), latest.len());
            for (id, (birth, nodes)) in latest {
                let record = table.get(ColonyId(id)).expect("it was taken");
                prop_assert_eq!(record.birth, Some(Instant::from_micros(birth)));
                let view = ColonyView::of(record, Instant::from_micros(birth + 5));
                prop_assert_eq!(view.age, Some(Duration::from_micros(5)));
                let aggregate = view.aggregate().expect("readable");
                prop_assert_eq!(aggregate.unheard(), nodes as u32);
            }
        }
    }

    #[test]
    fn the_latest_contacts_go_first_and_their_number_is_bounded() {
        let mut table = ColonyTable::new(ColonyId(1), 2);
        assert!(table.introduce(ColonyId(2), (0..9).map(address)));
        assert_eq!(take(&mut table, 2, 3, 5), Taken::News);
        let record = table.get(ColonyId(2)).expect("introduced");
        let contacts: Vec<Address> = record.contacts().collect();
        assert_eq!(contacts, [3, 0, 1, 2].map(address));
        assert!(table.introduce(ColonyId(7), std::iter::empty()));
        assert!(!table.introduce(ColonyId(9), std::iter::empty()), "there is room for two");
        assert!(!table.introduce(ColonyId(1), std::iter::empty()), "the own colony is none");
    }

    #[test]
    fn memory_is_taken_at_the_start() {
        let mut table = ColonyTable::new(ColonyId(0), 50);
        let room = table.records.capacity();
        let mut known = (1..100).map(|id| table.introduce(ColonyId(id), std::iter::empty()));
        assert_eq!(known.position(|known| !known), Some(50));
        assert_eq!((table.len(), table.records.capacity()), (50, room));
        const { assert!(RECORD_MEMORY_BYTES <= 640, "the documentation says 0.6 kB") };
    }
}
