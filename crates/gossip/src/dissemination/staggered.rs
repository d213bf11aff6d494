//! Strategy `staggered`: windows by a timetable that all nodes compute alike; see `timetable.rs`.
//!
//! A node without a wall clock, or whose clock or members are not those of the others, does as
//! `uniform` does.

use tidings_primitives::time::Instant;

use super::context::{Disseminate, Scene};
use super::timetable::{Agreement, Timetable};
use crate::entry::NodeId;
use crate::wire::window::Marks;

/// The timetable's round a node sends in next, and whether it fits the others'.
#[derive(Default)]
pub(super) struct Staggered {
    agreement: Agreement,
    round: Option<i64>,
}

fn timetable(scene: &Scene<'_>) -> Timetable {
    Timetable::of(scene.membership.len(), scene.unit_micros(), u64::from(scene.cluster) << 32)
}

impl Disseminate for Staggered {
    fn round(&mut self, scene: &mut Scene<'_>) {
        let window = scene.budget.window_entries;
        if let Some(round) = self.round.take() {
            let target = timetable(scene).target(round, scene.own_index());
            let id = scene.membership.order().get(target).copied();
            let member = id.filter(|id| scene.membership.is_target(*id));
            if let Some(record) = member.and_then(|id| scene.membership.get(id)) {
                scene.send(record, window, Marks::BY_TIMETABLE);
                return;
            }
        }
        scene.send_to_any(window, Marks::NONE);
    }

    fn next_round(&mut self, scene: &mut Scene<'_>) -> Option<Instant> {
        let offset = scene.wall_offset?;
        let (table, index) = (timetable(scene), scene.own_index());
        let wall = scene.now.as_micros().saturating_add(offset);
        let (round, at) = self.agreement.next_departure(&table, wall, index)?;
        self.round = Some(round);
        Some(Instant::from_micros(at.saturating_sub(offset)))
    }

    fn received(&mut self, scene: &mut Scene<'_>, sender: NodeId, marks: Marks, _bytes: usize) {
        let Some(offset) = scene.wall_offset.filter(|_| marks.has(Marks::BY_TIMETABLE)) else {
            return;
        };
        let Ok(index) = scene.membership.order().binary_search(&sender) else { return };
        let wall = scene.now.as_micros().saturating_add(offset);
        self.agreement.note(timetable(scene).fits(wall, index, scene.own_index()));
    }
}
