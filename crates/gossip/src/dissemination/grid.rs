//! Strategy `grid`: the own entry to the own row, and requests for all rows in turn.
//!
//! See `layout.rs` for why, `puller.rs` for when. Whatever becomes of the rows, every few units a
//! datagram of the newest entries goes to a random member, as in `uniform`: news of a node that its
//! row cannot hear still spreads.

use core::time::Duration;

use tidings_primitives::time::Instant;

use super::context::{Context, Disseminate, Ids, Order, What};
use super::layout::{
    Budget, Changes, Layout, PULLS_AT_ONCE, STRAY_UNITS, looks_in, next_round_micros,
};
use super::puller::{MARGIN_UNITS, Pull, Puller, pick_relay};
use super::pusher::Pusher;
use super::windows::Uniform;
use crate::colony::representation::Representation;
use crate::entry::NodeId;
use crate::urgent;
use crate::wire::window::Marks;

/// One node's part in the grid.
#[derive(Default)]
pub(super) struct Grid {
    layout: Option<Layout>,
    /// The members, the own place among them, the window, the other colonies and what changes take:
    /// what the layout is for.
    made_for: (usize, usize, usize, usize, Option<Changes>),
    puller: Puller,
    pusher: Pusher,
    rounds: u32,
}

impl Grid {
    /// The layout of the members as they are now; `None` for a node alone.
    fn layout(&mut self, context: &mut Context<'_>) -> Option<Layout> {
        let members = context.membership.len();
        if members < 2 {
            return None;
        }
        let own = context.own_index();
        let colonies = context.colonies.map_or(0, |(_, record_traffic)| record_traffic.colonies);
        let Budget { window_entries, changes, .. } = context.budget;
        let asked_for = (members, own, window_entries, colonies, changes);
        if self.layout.is_some() && self.made_for == asked_for {
            return self.layout;
        }
        let layout = match &context.colonies {
            Some((_, record_traffic)) => {
                Layout::of_colony(members, &context.budget, record_traffic)
            }
            None => Layout::of(members, &context.budget),
        };
        // Who joins or leaves shifts the rows a little: go on about where the turn was.
        let first = match self.layout {
            Some(before) => self.puller.next_row() * layout.rows() / before.rows(),
            None => context.chance.below(layout.rows()),
        };
        let entries = members.div_ceil(layout.rows());
        let pull = context.budget.pull_bytes(entries);
        let costs = match &context.colonies {
            Some((_, record_traffic)) => {
                let records = record_traffic.colonies.div_ceil(layout.rows());
                let answer = context.budget.packed(entries, records, record_traffic).1;
                (pull + context.budget.colonies_bytes(records), answer)
            }
            None => (pull, context.budget.answer(entries).0),
        };
        self.puller.restart(layout.rows(), first, costs);
        (self.layout, self.made_for) = (Some(layout), asked_for);
        self.layout
    }

    /// Asks a member of a row for what came to be there since its last answer.
    fn pull(&mut self, context: &mut Context<'_>, layout: &Layout, pull: Pull) {
        let members = &context.membership.order()[layout.members_of(pull.row)];
        let unit = context.unit_micros();
        let fresh = context.now.before((layout.fresh_units() * unit as f64) as u64);
        let (membership, vector) = (context.membership, context.vector);
        let is_fresh = |at: usize| {
            let id = members[at];
            membership.is_target(id) && vector.get(id).is_some_and(|entry| entry.birth > fresh)
        };
        let relay = members[pick_relay(members.len(), is_fresh, |n| context.chance.below(n))];
        let (Some(&first), Some(&last)) = (members.first(), members.last()) else { return };
        let Some(record) = membership.get(relay).filter(|_| membership.is_target(relay)) else {
            // It has left, or is this node. If that is all the row, there is nothing to ask for.
            return;
        };
        let since = self.puller.last_answer(pull.row);
        let age =
            since.map(|at| (context.now.as_micros() - at + MARGIN_UNITS * unit).max(0) as u64);
        self.puller.asked(pull, relay.0);
        let colonies = context.colonies.and_then(|(table, _)| {
            let representation = Representation::of(table.len(), layout.rows());
            representation.ids_of(pull.row, |at| table.records()[at].id)
        });
        let what = What::Pull(Ids { first, last, colonies }, age);
        context.orders.push_back(Order::to(record, what, Marks::NONE));
    }
}

/// Orders the own entry for these members, by their places; how many it goes to.
fn push(context: &mut Context<'_>, mates: impl Iterator<Item = usize>) -> usize {
    let before = context.orders.len();
    for mate in mates {
        let id = context.membership.order()[mate];
        let record = context.membership.get(id).filter(|_| context.membership.is_target(id));
        if let Some(record) = record {
            context.send(record, 1, Marks::NONE);
        }
    }
    context.orders.len() - before
}

impl Disseminate for Grid {
    fn round(&mut self, context: &mut Context<'_>) {
        let Some(layout) = self.layout(context) else { return };
        let carried = context.colonies.map_or(0, |(_, own)| own.charged(&layout, &context.budget));
        self.puller.earn(context.budget.unit_bytes() - carried);
        let (own, membership) = (context.own_index(), context.membership);
        let lives = |mate: usize| membership.is_target(membership.order()[mate]);
        let mates = self.pusher.round(&layout, own, lives);
        let pushes = push(context, mates);
        self.puller.spend(pushes * context.budget.push_bytes());
        // Nodes differ in the round in which they stray.
        if self.rounds % STRAY_UNITS == context.id.0 % STRAY_UNITS {
            let entries = context.budget.datagram_entries.min(context.budget.window_entries);
            context.send_to_any(entries, Marks::NONE);
            self.puller.spend(context.budget.window_bytes(entries));
        }
        self.rounds = self.rounds.wrapping_add(1);
    }

    fn looks(&self, unit: Duration) -> &'static [u8] {
        looks_in(crate::time::micros(unit))
    }

    fn wants_look(&self) -> bool {
        self.puller.wants_look()
    }

    fn look(&mut self, context: &mut Context<'_>) {
        let Some(layout) = self.layout(context) else { return };
        for _ in 0..PULLS_AT_ONCE {
            let Some(pull) = self.puller.next_pull() else { break };
            self.pull(context, &layout, pull);
        }
        self.puller.looked();
    }

    fn next_round(&mut self, context: &mut Context<'_>) -> Option<Instant> {
        let offset = context.wall_offset?;
        let wall = context.now.as_micros().saturating_add(offset);
        let next = next_round_micros(wall, context.unit_micros());
        Some(Instant::from_micros(next.saturating_sub(offset)))
    }

    /// Others hear of it when they ask for the row, so the whole row must know.
    fn farewell(&mut self, context: &mut Context<'_>) {
        let Some(layout) = self.layout(context) else { return };
        let own = context.own_index();
        let row = layout.members_of(layout.row_of(own));
        push(context, row.filter(|mate| *mate != own));
        Uniform.farewell(context);
    }

    fn urgent_entries(&self, window_entries: usize) -> usize {
        urgent::most_in_pushes(window_entries)
    }

    fn layout(&self) -> Option<Layout> {
        self.layout
    }

    fn received(&mut self, context: &mut Context<'_>, sender: NodeId, marks: Marks, bytes: usize) {
        if marks.has(Marks::ANSWER) {
            let now = context.now.as_micros();
            if self.puller.answered(sender.0, bytes, now).is_none() {
                // A further datagram of an answer, or one that came late.
                self.puller.spend(bytes);
            }
        }
    }
}
