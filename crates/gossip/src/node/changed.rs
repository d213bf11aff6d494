//! What a driver that shows the members to others has to look at again.

use tidings_primitives::time::Instant;

use super::{EntryView, Node};
use crate::changes::Changes;
use crate::entry::NodeId;

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
    /// then on a change costs a look-up, and whoever called this must keep polling: what is noted
    /// takes five bytes a member, no more.
    pub fn note_changes(&mut self) {
        self.changes = Some(Changes::default());
        self.all_changed();
    }

    /// A member that changed since it was handed out last, in no order; `None` when there is none,
    /// or [`Node::note_changes`] was never called.
    #[inline]
    pub fn poll_change(&mut self, now: Instant) -> Option<Change<'_>> {
        let (place, card) = self.changes.as_mut()?.take()?;
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
        let Some(changes) = self.changes.as_mut() else { return };
        let places = self.membership.places();
        changes.reserve(places);
        (0..places as u32).for_each(|place| changes.note(place, true));
    }

    #[inline]
    fn note(&mut self, id: NodeId, card: bool) {
        let Some(changes) = self.changes.as_mut() else { return };
        if let Some(place) = self.membership.place(id) {
            changes.note(place, card);
        }
    }
}
