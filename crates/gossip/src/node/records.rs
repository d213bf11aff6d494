//! Records of other colonies: passed on within a row, taken in, and written behind entries.

use tidings_primitives::time::Instant;

use super::machine::Node;
use super::pieces::RecordsLeft;
use crate::age;
use crate::colony::id::ColonyId;
use crate::colony::table::Taken;
use crate::dissemination::context::{Order, What};
use crate::wire::record::{Records, write_record};
use crate::wire::window::Marks;

impl Node {
    pub(super) fn count_record(&mut self, taken: Taken) {
        match taken {
            Taken::News => self.counters.records_news += 1,
            Taken::Stale => {}
            Taken::Refused => self.counters.records_refused += 1,
        }
    }

    /// Orders a record for the members of the own row.
    pub(super) fn push_record(&mut self, colony: ColonyId) {
        let Some(layout) = self.strategy.layout() else { return };
        let order = self.membership.order();
        let row = layout.members_of(layout.row_of(order.partition_point(|&id| id < self.own.id())));
        // Members may have come or gone since the layout was made.
        let row = &order[row.start.min(order.len())..row.end.min(order.len())];
        for &id in row.iter().filter(|&&id| id != self.own.id()) {
            let record = self.membership.get(id).filter(|_| self.membership.is_target(id));
            let Some(record) = record else { continue };
            let order = Order::to(record, What::Record(colony), Marks::RECORDS);
            self.outbox.orders().push_back(order);
        }
    }

    /// Takes the records behind the entries of a window, which were seen to be well formed.
    pub(super) fn take_records(&mut self, now: Instant, marks: Marks, bytes: &[u8]) {
        let received = self.counters.records_received;
        for record in Records::of(bytes).map_while(Result::ok) {
            let Some(colony) = self.colony.as_mut() else { break };
            let taken = colony.table.take(&record, now.before(record.age_micros));
            self.count_record(taken);
            self.counters.records_received += 1;
        }
        self.count_records(marks, bytes.len(), self.counters.records_received - received);
    }

    /// Counts the records of a datagram, if that is of an answer.
    pub(super) fn count_records(&mut self, marks: Marks, bytes: usize, records: u64) {
        if marks.has(Marks::ANSWER) {
            self.counters.answer_records_received += records;
            self.counters.answer_record_bytes_received += bytes as u64;
        }
    }

    /// Writes those records of a range to `body` that fit; returns the bytes, and steps the range.
    pub(super) fn write_records(
        &self,
        now: Instant,
        left: &mut Option<RecordsLeft>,
        body: &mut [u8],
    ) -> (usize, u64) {
        let (Some(colony), Some(range)) = (&self.colony, left.as_mut()) else { return (0, 0) };
        let (mut bytes, mut count) = (0, 0);
        for record in colony.table.range(range.ids) {
            let Some(birth) = record.birth.filter(|&birth| birth > range.since) else { continue };
            let head = (record.id, age::encode(now, birth));
            let contacts = record.contacts().take(range.contacts);
            let written = write_record(&mut body[bytes..], head, contacts, record.aggregate());
            if written == 0 {
                range.ids.first = record.id;
                return (bytes, count);
            }
            bytes += written;
            count += 1;
        }
        *left = None;
        (bytes, count)
    }
}
