//! Apart: the tasks in hand that the host's next death may stop, by host.
//!
//! Poison takes along what its host has in hand. If these tasks are tried together again and again,
//! they are lost as often as the poison, and nothing tells them from it. So where one more loss
//! stops a task, it is tried on no host together with another that was lost on the same hosts
//! ([`Class::stays_apart`]): if its host dies then, it was not that one. Tasks that have been lost
//! less often are not held up.
//!
//! What counts is a host, not a session: poison may end all that runs there.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::class::Class;
use crate::retry::Last;

use super::slots::Hold;

/// The classes of such tasks, one for each task.
#[derive(Debug, Default)]
pub(super) struct Apart(BTreeMap<Arc<str>, Vec<Arc<Class>>>);

impl Apart {
    /// The class of a task in hand, if it is one of those that are counted here.
    pub(super) fn of(hold: &Hold) -> Option<Arc<Class>> {
        (hold.class.last != Last::Nowhere).then(|| hold.class.clone())
    }

    /// A host has one less of them, and one more.
    pub(super) fn replace(
        &mut self,
        host: &Arc<str>,
        before: Option<Arc<Class>>,
        after: Option<Arc<Class>>,
    ) {
        let classes = self.0.entry(host.clone()).or_default();
        let at = before.and_then(|before| classes.iter().position(|one| *one == before));
        at.map(|at| classes.swap_remove(at));
        classes.extend(after);
        if classes.is_empty() {
            self.0.remove(host);
        }
    }

    /// Those of a host.
    pub(super) fn on(&self, host: &str) -> &[Arc<Class>] {
        self.0.get(host).map_or(&[], Vec::as_slice)
    }

    /// No host has any.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
