//! Notices: what a node has for its driver beside datagrams: events, and who has changed.

use std::collections::VecDeque;

use crate::changes::Changes;
use crate::event::Event;

/// Events kept for a driver that does not fetch them; the oldest give way.
const MAX_EVENTS: usize = 256;

/// What the driver has not fetched yet.
pub(super) struct Notices {
    events: VecDeque<Event>,
    /// Whose news was not handed out yet; `None` if nobody wants to know.
    changes: Option<Changes>,
}

impl Notices {
    pub(super) fn new() -> Self {
        Self { events: VecDeque::with_capacity(MAX_EVENTS), changes: None }
    }

    /// Notes an event; `false` if the oldest had to give way.
    pub(super) fn event(&mut self, event: Event) -> bool {
        let room = self.events.len() < MAX_EVENTS;
        if !room {
            self.events.pop_front();
        }
        self.events.push_back(event);
        room
    }

    /// The oldest event.
    pub(super) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Begins to note who changes.
    pub(super) fn note_changes(&mut self) {
        self.changes = Some(Changes::default());
    }

    /// Where to note who changes, if anybody wants to know.
    #[inline]
    pub(super) fn changes(&mut self) -> Option<&mut Changes> {
        self.changes.as_mut()
    }
}
