//! What a session has in hand, where it has tasks of several parts: of which part each is, and what
//! it takes of what the session offers.
//!
//! In a store of one part nothing is noted here: its coordinator alone knows.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tidings_tasks_core::id::{Attempt, Part, TaskId};
use tidings_tasks_core::message::{Answer, Refusal};
use tidings_tasks_core::resources::{Amount, Need};
use tokio::sync::Notify;

/// A try of a task.
pub(super) type Key = (TaskId, Attempt);

/// The tries that a session has in hand.
#[derive(Debug, Default)]
pub(super) struct Held {
    tries: Mutex<Tries>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Tries {
    by_key: BTreeMap<Key, Try>,
    /// How many have begun, by part.
    begun: BTreeMap<Part, u64>,
}

#[derive(Debug)]
struct Try {
    part: Part,
    need: Need,
    /// Whether its end was told: it takes nothing any more.
    ends: bool,
}

/// What the tries of some parts take.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Taken {
    pub(super) count: u32,
    pub(super) resources: BTreeMap<String, Amount>,
}

impl Held {
    /// The session was given a try of a task of this part.
    pub(super) fn begins(&self, key: Key, part: Part, need: Need) {
        let mut tries = self.lock();
        tries.by_key.insert(key, Try { part, need, ends: false });
        *tries.begun.entry(part).or_default() += 1;
        drop(tries);
        self.changed.notify_one();
    }

    /// How it has ended is being told.
    pub(super) fn ends(&self, key: Key) {
        if let Some(one) = self.lock().by_key.get_mut(&key) {
            one.ends = true;
            self.changed.notify_one();
        }
    }

    /// What was told of its end is answered: it is not in hand any more, unless that was refused
    /// for what it said, and it is to end in another way.
    pub(super) fn answered(&self, key: Key, answer: &Answer) {
        let mut tries = self.lock();
        match (answer, tries.by_key.get_mut(&key)) {
            (Answer::Refused(refusal), Some(one)) if !is_over(refusal) => one.ends = false,
            _ => drop(tries.by_key.remove(&key)),
        }
    }

    /// Of which part a try in hand is.
    pub(super) fn part_of(&self, key: Key) -> Option<Part> {
        self.lock().by_key.get(&key).map(|one| one.part)
    }

    /// Of which part a task is that is in hand, whichever try of it.
    pub(super) fn part_of_task(&self, task: TaskId) -> Option<Part> {
        let tries = self.lock();
        let of_task = (task, Attempt(0))..=(task, Attempt(u32::MAX));
        tries.by_key.range(of_task).next().map(|(_, one)| one.part)
    }

    /// How many tries of a part have begun.
    pub(super) fn begun(&self, part: Part) -> u64 {
        self.lock().begun.get(&part).copied().unwrap_or_default()
    }

    /// What tries of other parts than this one take.
    pub(super) fn beside(&self, part: Part) -> Taken {
        let tries = self.lock();
        let others = tries.by_key.values().filter(|one| one.part != part && !one.ends);
        others.fold(Taken::default(), |mut taken, one| {
            taken.count += 1;
            for (name, amount) in one.need.iter() {
                let sum = taken.resources.entry(name.to_owned()).or_default();
                *sum = sum.saturating_add(amount);
            }
            taken
        })
    }

    /// Waits until something begins or ends. Of what happened since the last time, it tells once.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Tries> {
        // Each change of it is whole even if a holder panicked: none is of use without the other.
        self.tries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a try is over whose end was refused so.
fn is_over(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Superseded | Refusal::NoTask | Refusal::NoSession)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_other_parts_take_is_left_to_them_until_it_ends() {
        let held = Held::default();
        let key = |number| (TaskId::of("t", number), Attempt(1));
        let need = |cpus| Need::new([("cpus".to_owned(), cpus)]).unwrap();
        for (number, part) in [(1, 0), (2, 1), (3, 1)] {
            held.begins(key(number), Part(part), need(1_000 * number));
        }
        let taken = held.beside(Part(0));
        assert_eq!((taken.count, taken.resources["cpus"]), (2, 5_000));
        assert_eq!(held.beside(Part(1)).count, 1);
        held.ends(key(3));
        assert_eq!(held.beside(Part(0)).resources["cpus"], 2_000);
        assert_eq!(held.part_of(key(3)), Some(Part(1)));
        held.answered(key(3), &Answer::Refused(Refusal::Full("full".to_owned())));
        assert_eq!(held.beside(Part(0)).resources["cpus"], 5_000);
        held.answered(key(3), &Answer::Done);
        assert_eq!((held.part_of(key(3)), held.begun(Part(1))), (None, 2));
    }
}
