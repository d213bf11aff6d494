//! What has not been told yet: of each node the newest event of its state, and the newest of its
//! readings.

use std::collections::BTreeMap;

use super::event::Event;

/// The node of an event, and whether it is about readings.
type About = (String, bool);

/// Events by what they are about.
#[derive(Debug, Default)]
pub(super) struct Pending(BTreeMap<About, Event>);

fn about(event: &Event) -> About {
    (event.name.clone(), event.kind.is_of_readings())
}

impl Pending {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an event, in the place of an earlier one about the same.
    pub(super) fn add(&mut self, mut event: Event) {
        let about = about(&event);
        if let Some(before) = self.0.get(&about) {
            event.changes = event.changes.saturating_add(before.changes);
        }
        self.0.insert(about, event);
    }

    /// Takes so many at most, by name.
    pub(super) fn take(&mut self, most: usize) -> Vec<Event> {
        let Some(next) = self.0.keys().nth(most).cloned() else {
            return std::mem::take(&mut self.0).into_values().collect();
        };
        let rest = self.0.split_off(&next);
        std::mem::replace(&mut self.0, rest).into_values().collect()
    }

    /// Takes back what could not be told, except where a node has newer events.
    pub(super) fn give_back(&mut self, events: Vec<Event>) {
        for event in events {
            let about = about(&event);
            match self.0.get_mut(&about) {
                Some(newer) => newer.changes = newer.changes.saturating_add(event.changes),
                None => drop(self.0.insert(about, event)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::Kind;
    use super::*;

    fn event(name: &str, kind: Kind) -> Event {
        let (name, observer) = (name.to_owned(), "n1".to_owned());
        Event { kind, name, observer, incarnation: 1, time_ms: 7, changes: 1 }
    }

    #[test]
    fn a_node_that_comes_and_goes_takes_one_place() {
        let mut pending = Pending::default();
        for _ in 0..1_000 {
            pending.add(event("n2", Kind::Dead));
            pending.add(event("n2", Kind::Back));
        }
        let all = pending.take(10);
        assert_eq!((all.len(), all[0].kind, all[0].changes), (1, Kind::Back, 2_000));
        assert!(pending.is_empty());
    }

    #[test]
    fn a_reading_takes_no_place_of_a_death() {
        let mut pending = Pending::default();
        for kind in [Kind::Dead, Kind::Met, Kind::Back, Kind::Unmet] {
            pending.add(event("n2", kind));
        }
        let kinds: Vec<Kind> = pending.take(10).iter().map(|event| event.kind).collect();
        assert_eq!(kinds, [Kind::Back, Kind::Unmet]);
    }

    #[test]
    fn what_could_not_be_told_gives_way_to_what_is_newer() {
        let mut pending = Pending::default();
        pending.add(event("n2", Kind::Dead));
        pending.add(event("n3", Kind::Dead));
        let batch = pending.take(10);
        pending.add(event("n3", Kind::Back));
        pending.give_back(batch);
        let told: Vec<_> =
            pending.take(10).into_iter().map(|one| (one.name, one.kind, one.changes)).collect();
        let expected = [("n2".to_owned(), Kind::Dead, 1), ("n3".to_owned(), Kind::Back, 2)];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_batch_has_no_more_than_was_asked_for() {
        let mut pending = Pending::default();
        for number in 0..25 {
            pending.add(event(&format!("n{number:02}"), Kind::Dead));
        }
        let sizes: Vec<usize> = (0..4).map(|_| pending.take(10).len()).collect();
        assert_eq!(sizes, [10, 10, 5, 0]);
    }
}
