//! The semaphores of the part as they were committed, and which of them are changing.

use std::collections::{BTreeMap, BTreeSet};

use crate::semaphore::Semaphore;
use crate::transaction::Revision;

/// A semaphore as it was committed.
#[derive(Debug)]
struct Held {
    semaphore: Semaphore,
    revision: Revision,
    is_changing: bool,
}

/// All semaphores.
#[derive(Debug, Default)]
pub(super) struct Permits {
    by_name: BTreeMap<String, Held>,
    /// New ones whose first commit is on its way.
    arriving: BTreeSet<String>,
}

impl Permits {
    pub(super) fn insert(&mut self, name: String, semaphore: Semaphore, revision: Revision) {
        self.arriving.remove(&name);
        self.by_name.insert(name, Held { semaphore, revision, is_changing: false });
    }

    pub(super) fn set_changing(&mut self, name: &str, is_changing: bool) {
        match self.by_name.get_mut(name) {
            Some(held) => held.is_changing = is_changing,
            None if is_changing => drop(self.arriving.insert(name.to_owned())),
            None => drop(self.arriving.remove(name)),
        }
    }

    pub(super) fn is_changing(&self, name: &str) -> bool {
        self.arriving.contains(name) || self.by_name.get(name).is_some_and(|held| held.is_changing)
    }

    /// The semaphores of which a holder has permits, or waits for some.
    pub(super) fn of(&self, holder: &str) -> Vec<String> {
        let known = self.by_name.iter().filter(|(_, held)| held.semaphore.knows(holder));
        known.map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.by_name.keys().cloned().collect()
    }

    /// All, by name.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &Semaphore)> {
        self.by_name.iter().map(|(name, held)| (name.as_str(), &held.semaphore))
    }

    pub(super) fn get(&self, name: &str) -> Option<(Revision, Semaphore)> {
        self.by_name.get(name).map(|held| (held.revision, held.semaphore.clone()))
    }
}
