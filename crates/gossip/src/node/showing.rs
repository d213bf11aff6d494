//! What a node shows: itself, its members and how fresh the news of them is.

use core::time::Duration;

use tidings_primitives::time::Instant;

use super::machine::Node;
use crate::age::Ages;
use crate::config::Config;
use crate::counters::Counters;
use crate::entry::{EntryState, Incarnation, NodeId, Stamp};
use crate::event::Event;
use crate::membership::Record;
use crate::view::EntryView;

impl Node {
    /// The next event not yet fetched.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.notices.next_event()
    }

    /// The node's id.
    pub fn id(&self) -> NodeId {
        self.own.id()
    }

    /// The node's name.
    pub fn name(&self) -> &str {
        self.own.name()
    }

    /// Its parameters.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its present incarnation.
    pub fn incarnation(&self) -> Incarnation {
        self.vector.own().stamp.incarnation()
    }

    /// What it has done and refused.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What it knows about every member, in the order of ids.
    pub fn entries(&self, now: Instant) -> impl Iterator<Item = EntryView<'_>> {
        self.membership.order().iter().filter_map(move |&id| self.view(id, now))
    }

    /// What it knows about the member called `name`.
    pub fn entry(&self, name: &str, now: Instant) -> Option<EntryView<'_>> {
        let view = self.view(NodeId::of_name(name, self.config.id_salt), now)?;
        (view.name == name).then_some(view)
    }

    /// The same, where the caller keeps the member's id: without hashing a name.
    pub fn entry_of(&self, id: NodeId, now: Instant) -> Option<EntryView<'_>> {
        self.view(id, now)
    }

    /// The addresses of the large arrays of its vector, which stay where they are as long as it
    /// lives: for advice to the operating system about their pages.
    pub fn extents(&self) -> [core::ops::Range<usize>; 2] {
        self.vector.extents()
    }

    /// Members that have not left, this node among them; [`Node::ages`] says it after a walk.
    pub fn members(&self) -> u32 {
        self.membership.targets() as u32 + 1
    }

    /// How complete and how fresh the vector is.
    pub fn ages(&self, now: Instant) -> Ages {
        let (mut known, mut total, mut age_max) = (0u32, 0u128, Duration::ZERO);
        for record in self.membership.iter_targets() {
            let Some(entry) = self.vector.get(record.id) else { continue };
            let age = now.saturating_since(entry.birth);
            known += 1;
            total += age.as_micros();
            age_max = age_max.max(age);
        }
        let mean = total / u128::from(known.max(1));
        Ages {
            members: self.members(),
            known: known + 1,
            age_avg: Duration::from_micros(mean as u64),
            age_max,
        }
    }

    pub(super) fn view(&self, id: NodeId, now: Instant) -> Option<EntryView<'_>> {
        self.membership.get(id).map(|record| self.view_of(record, now))
    }

    pub(super) fn view_of<'a>(&'a self, record: &'a Record, now: Instant) -> EntryView<'a> {
        let id = record.id;
        let entry = self.vector.get(id);
        let stamp = entry.map_or(Stamp::default(), |entry| entry.stamp);
        let age = entry.map(|entry| now.saturating_since(entry.birth));
        let (sequence, payload_age) = match age {
            Some(age) if stamp.is_last() => {
                let last = self.vector.last(id);
                (last.sequence(), last.behind().map(|behind| age + behind))
            }
            _ => (age.map(|_| stamp.sequence()), age),
        };
        EntryView {
            id,
            name: &record.name,
            address: record.address,
            state: match entry {
                None => EntryState::Unheard,
                Some(_) if stamp.is_left() => EntryState::Left,
                Some(_) if stamp.is_dead() => EntryState::Dead,
                Some(_) if self.detection.suspects(id) => EntryState::Suspected,
                Some(_) => EntryState::Alive,
            },
            incarnation: stamp.incarnation().get(),
            sequence,
            age,
            payload_age,
            payload: entry.map_or(&[], |entry| entry.payload),
        }
    }
}
