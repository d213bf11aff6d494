//! What a driver that shows the members to others has to look at again.

use tidings_primitives::time::Instant;

use super::machine::Node;
use crate::entry::NodeId;
use crate::event::Event;
use crate::view::EntryView;

/// A member that changed, or a place that has none any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change<'a> {
    /// A number below [`Config::max_nodes`](crate::Config::max_nodes), the member's for as long as
    /// it is one; another may have it afterwards.
    pub place: u32,
    /// Whether another member may have the place now, or its address may be another.
    pub card: bool,
    /// What is known of the member now; `None` if nobody has the place.
    pub entry: Option<EntryView<'a>>,
}

impl Node {
    /// Begins to note who changes, for [`Node::poll_change`], with all members to begin with. From
    /// then on a change costs a look-up, and the caller must keep polling: what is noted
    /// takes five bytes a member, no more.
    pub fn note_changes(&mut self) {
        self.notices.note_changes();
        self.all_changed();
    }

    /// A member that changed since it was handed out last, in no order; `None` when there is none,
    /// or [`Node::note_changes`] was never called.
    #[inline]
    pub fn poll_change(&mut self, now: Instant) -> Option<Change<'_>> {
        let (place, card) = self.notices.changes()?.take()?;
        let record = self.membership.in_place(place as usize);
        Some(Change { place, card, entry: record.map(|record| self.view_of(record, now)) })
    }

    /// Notes that the entry of a member has changed, or that it is about to be removed.
    #[inline]
    pub(super) fn changed(&mut self, id: NodeId) {
        self.note(id, false);
    }

    /// Notes that a member came, or moved.
    pub(super) fn card_changed(&mut self, id: NodeId) {
        self.note(id, true);
    }

    pub(super) fn all_changed(&mut self) {
        let Some(changes) = self.notices.changes() else { return };
        let places = self.membership.places();
        changes.reserve(places);
        (0..places as u32).for_each(|place| changes.note(place, true));
    }

    #[inline]
    fn note(&mut self, id: NodeId, card: bool) {
        let Some(changes) = self.notices.changes() else { return };
        if let Some(place) = self.membership.place(id) {
            changes.note(place, card);
        }
    }

    /// Notes an event, at the price of the oldest if nobody fetches them.
    pub(super) fn emit(&mut self, event: Event) {
        if let Event::Suspected(name) | Event::Cleared(name) = &event {
            self.changed(NodeId::of_name(name, self.config.id_salt));
        }
        let room = self.notices.event(event);
        self.counters.dropped_events += u64::from(!room);
    }
}
