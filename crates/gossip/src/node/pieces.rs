//! A window on its way, piece by piece: which entries and records it has, and how far it was sent.

use tidings_primitives::time::Instant;

use crate::colony::caller::REPLY_CONTACTS;
use crate::colony::id::ColonyIds;
use crate::delta::window::Form;
use crate::dissemination::context::{Ids, Order, What};
use crate::dissemination::layout::MAX_ROW;
use crate::entry::NodeId;
use crate::urgent::MAX_URGENT;
use crate::vector::{OWN, Vector};

/// Entries in the answer to a pull, at most.
const MAX_ROW_ENTRIES: usize = 2 * MAX_ROW;

/// Records that are still to go behind the entries of a window.
#[derive(Clone, Copy)]
pub(super) struct RecordsLeft {
    /// Of which colonies.
    pub(super) ids: ColonyIds,
    /// Those whose aggregates were born after this.
    pub(super) since: Instant,
    /// With so many addresses each.
    pub(super) contacts: usize,
}

/// A window on its way: the slots picked for it, and how far it was sent.
pub(super) struct Pieces {
    slots: Vec<u32>,
    /// The form of each, in windows of changes.
    forms: Vec<Form>,
    next: usize,
    /// To whom it goes, and as what.
    order: Option<Order>,
    /// What goes behind its entries.
    records: Option<RecordsLeft>,
    /// What the slots were picked for: entries, and the number of the last arrival then.
    picked: Option<(usize, u32)>,
    /// Farewells that go first in each window of this round, by slots.
    first: Vec<u32>,
}

impl Pieces {
    /// None yet, and room for any window of a vector of `capacity` entries.
    pub(super) fn new(capacity: usize) -> Self {
        let slots = Vec::with_capacity(capacity + MAX_URGENT + 1);
        let first = Vec::with_capacity(MAX_URGENT);
        let forms = Vec::with_capacity(MAX_ROW_ENTRIES + 1);
        Self { slots, forms, next: 0, order: None, records: None, picked: None, first }
    }

    /// Sets which entries go first in all windows from now on.
    pub(super) fn set_first(&mut self, ids: impl Iterator<Item = NodeId>, vector: &Vector) {
        self.first.clear();
        self.first.extend(ids.filter_map(|id| vector.slot(id)).filter(|&slot| slot != OWN));
        self.picked = None;
    }

    /// Takes up an order, and picks the slots for it unless they are those of the last one.
    pub(super) fn begin(
        &mut self,
        order: Order,
        vector: &Vector,
        members: &[NodeId],
        arrival: u32,
    ) {
        (self.order, self.next, self.records) = (Some(order), 0, None);
        match order.what {
            What::Newest(entries) => {
                if self.picked != Some((entries, arrival)) {
                    self.pick_newest(vector, entries);
                    self.picked = Some((entries, arrival));
                }
            }
            What::Row(ids, since) => {
                self.picked = None;
                self.pick_row(vector, members, ids, since);
                self.records = ids.colonies.map(|ids| RecordsLeft { ids, since, contacts: 1 });
            }
            What::Changes(ids, since, _) => {
                self.picked = None;
                self.pick_row(vector, members, ids, since);
                // Bases are agreed on in the order of ids.
                self.slots.sort_unstable_by_key(|&slot| vector.at(slot).id);
                self.records = ids.colonies.map(|ids| RecordsLeft { ids, since, contacts: 1 });
            }
            What::Record(colony) => {
                self.picked = None;
                self.slots.clear();
                let ids = ColonyIds { first: colony, last: colony };
                let since = Instant::from_micros(i64::MIN);
                self.records = Some(RecordsLeft { ids, since, contacts: REPLY_CONTACTS });
            }
            What::One(id) => {
                self.picked = None;
                self.slots.clear();
                self.slots.extend(vector.slot(id));
            }
            // The outbox writes these itself.
            What::Pull(..) => self.slots.clear(),
        }
    }

    /// Picks the own entry, those that go first, then the newest, `entries` in all or as many as it
    /// takes for the first.
    fn pick_newest(&mut self, vector: &Vector, entries: usize) {
        self.slots.clear();
        // The own entry is among the newest, but farewells before them must not push it out.
        self.slots.push(OWN);
        self.slots.extend_from_slice(&self.first);
        let urgent = self.slots.len();
        let entries = entries.max(urgent);
        vector.newest(entries, &mut self.slots);
        let (first, newest) = self.slots.split_at_mut(urgent);
        let mut end = urgent;
        for at in 0..newest.len() {
            if !first.contains(&newest[at]) {
                newest.swap(end - urgent, at);
                end += 1;
            }
        }
        self.slots.truncate(end.min(entries));
    }

    /// Picks the own entry and those of a range of ids that were born after `since`, or have left:
    /// nobody makes a farewell again.
    fn pick_row(&mut self, vector: &Vector, members: &[NodeId], ids: Ids, since: Instant) {
        self.slots.clear();
        self.slots.push(OWN);
        let start = members.partition_point(|&id| id < ids.first);
        let row = members[start..].iter().take_while(|id| **id <= ids.last);
        let slots = row.filter_map(|&id| vector.slot(id)).filter(|&slot| slot != OWN);
        let wanted = slots.filter(|&slot| {
            let entry = vector.at(slot);
            entry.birth > since || entry.stamp.is_last()
        });
        self.slots.extend(wanted.take(MAX_ROW_ENTRIES));
    }

    /// The order under way.
    pub(super) fn order(&self) -> Option<Order> {
        self.order
    }

    /// Ends the order under way.
    pub(super) fn end(&mut self) {
        self.order = None;
    }

    /// Slots that were not sent yet.
    pub(super) fn left(&self) -> &[u32] {
        &self.slots[self.next..]
    }

    /// Slots that were not sent yet, and the forms in which they go: by ascending groups, and in
    /// each as they were picked.
    pub(super) fn arranged(&mut self, form: impl Fn(u32) -> Form) -> (&[u32], &[Form]) {
        if self.next == 0 {
            let mut all = [(0, 0, 0, Form::Whole); MAX_ROW_ENTRIES + 1];
            self.slots.truncate(all.len());
            for (at, (place, &slot)) in all.iter_mut().zip(&self.slots).enumerate() {
                let form = form(slot);
                *place = (form.group(), at, slot, form);
            }
            let all = &mut all[..self.slots.len()];
            all.sort_unstable_by_key(|&(group, at, ..)| (group, at));
            self.slots.clear();
            self.slots.extend(all.iter().map(|&(_, _, slot, _)| slot));
            self.forms.clear();
            self.forms.extend(all.iter().map(|&(.., form)| form));
        }
        (&self.slots[self.next..], &self.forms[self.next..])
    }

    /// So many more slots were sent, or passed over.
    pub(super) fn advance(&mut self, slots: usize) {
        self.next += slots;
    }

    /// The records that are to follow, once all entries are sent.
    pub(super) fn records(&self) -> Option<RecordsLeft> {
        self.records.filter(|_| self.next >= self.slots.len())
    }

    /// What is left of these records.
    pub(super) fn set_records(&mut self, left: Option<RecordsLeft>) {
        self.records = left;
    }

    /// Whether nothing of the window is left to send.
    pub(super) fn is_through(&self) -> bool {
        self.next >= self.slots.len() && self.records.is_none()
    }

    /// Gives up the order under way; returns how many of its entries were not sent.
    pub(super) fn give_up(&mut self) -> usize {
        let unsent = if self.order.is_some() { self.slots.len() - self.next } else { 0 };
        self.order = None;
        unsent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Address;
    use crate::entry::{Incarnation, Stamp};
    use crate::vector::merge::Arrival;
    use crate::wire::window::Marks;

    fn vector() -> Vector {
        let stamp = Stamp::new(Incarnation::new(1), 1);
        let now = Instant::from_micros(1_000);
        let mut vector = Vector::new(8, 0, 256_000, (NodeId(0), stamp), now);
        for id in 1..6 {
            let stamp = if id == 4 { Stamp::left(Incarnation::new(1)) } else { stamp };
            let birth = Instant::from_micros(i64::from(id));
            let arrival = Arrival { datagram: id, id: NodeId(id), stamp, birth, payload: &[] };
            vector.merge(&arrival, |_| true);
        }
        vector
    }

    fn picked(pieces: &mut Pieces, vector: &Vector, what: What) -> Vec<u32> {
        let members: Vec<NodeId> = (0..8).map(NodeId).collect();
        let to = Address::from_bytes(&[1]).expect("one byte is an address");
        let order = Order { member: NodeId(7), to, what, marks: Marks::NONE };
        pieces.begin(order, vector, &members, 1);
        pieces.slots.iter().map(|&slot| vector.at(slot).id.0).collect()
    }

    #[test]
    fn the_own_entry_and_the_urgent_ones_are_in_every_window_once() {
        let vector = vector();
        for entries in 1..=6 {
            let mut pieces = Pieces::new(8);
            pieces.set_first([NodeId(3), NodeId(0), NodeId(77)].into_iter(), &vector);
            let mut sent = picked(&mut pieces, &vector, What::Newest(entries));
            assert_eq!(sent[..2], [0, 3]);
            assert_eq!(sent.len(), entries.max(2));
            sent.sort_unstable();
            sent.dedup();
            assert_eq!(sent.len(), entries.max(2), "no entry is in a window twice");
        }
        let mut pieces = Pieces::new(8);
        assert_eq!(picked(&mut pieces, &vector, What::Newest(1)), [0]);
    }

    #[test]
    fn a_row_has_what_is_new_in_its_range_and_who_has_left() {
        let vector = vector();
        let mut pieces = Pieces::new(8);
        let ids = Ids { first: NodeId(1), last: NodeId(4), colonies: None };
        let mut row =
            |since| picked(&mut pieces, &vector, What::Row(ids, Instant::from_micros(since)));
        assert_eq!(row(0), [0, 1, 2, 3, 4]);
        assert_eq!(row(2), [0, 3, 4]);
        assert_eq!(row(99), [0, 4]);
    }
}
