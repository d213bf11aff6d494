//! Strategy `staggered`: windows by a timetable that all nodes compute alike; see `timetable.rs`.
//!
//! A node without a wall clock, or whose clock or members are not those of the others, does as
//! `uniform` does.

use tidings_primitives::time::Instant;

use super::context::{Context, Disseminate};
use super::timetable::{Agreement, Timetable};
use crate::entry::NodeId;
use crate::wire::window::Marks;

/// The timetable's round a node sends in next, and whether it fits the others'.
#[derive(Default)]
pub(super) struct Staggered {
    agreement: Agreement,
    round: Option<i64>,
}

fn timetable(context: &Context<'_>) -> Timetable {
    Timetable::of(context.membership.len(), context.unit_micros(), u64::from(context.cluster) << 32)
}

impl Disseminate for Staggered {
    fn round(&mut self, context: &mut Context<'_>) {
        let window = context.budget.window_entries;
        if let Some(round) = self.round.take() {
            let target = timetable(context).target(round, context.own_index());
            let id = context.membership.order().get(target).copied();
            let member = id.filter(|id| context.membership.is_target(*id));
            if let Some(record) = member.and_then(|id| context.membership.get(id)) {
                context.send(record, window, Marks::BY_TIMETABLE);
                return;
            }
        }
        context.send_to_any(window, Marks::NONE);
    }

    fn next_round(&mut self, context: &mut Context<'_>) -> Option<Instant> {
        let offset = context.wall_offset?;
        let (table, index) = (timetable(context), context.own_index());
        let wall = context.now.as_micros().saturating_add(offset);
        let (round, at) = self.agreement.next_departure(&table, wall, index)?;
        self.round = Some(round);
        Some(Instant::from_micros(at.saturating_sub(offset)))
    }

    fn received(&mut self, context: &mut Context<'_>, sender: NodeId, marks: Marks, _bytes: usize) {
        let Some(offset) = context.wall_offset.filter(|_| marks.has(Marks::BY_TIMETABLE)) else {
            return;
        };
        let Ok(index) = context.membership.order().binary_search(&sender) else { return };
        let wall = context.now.as_micros().saturating_add(offset);
        self.agreement.note(timetable(context).fits(wall, index, context.own_index()));
    }
}
