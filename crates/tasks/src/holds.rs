//! Holds: which tasks a process has submitted, and whose records are of use to it still.
//!
//! A task of which nobody else knows the id is forgotten once its outcome was told, and all tasks
//! of this process that read its result have ended. If the output of one of these stays on nodes,
//! which may be lost, so that it is done again, its inputs are held as long as it is.
//!
//! Invariant: a task that is held here was not forgotten, and will not be until it is released. So
//! a program holds an input before it submits who reads it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidings_tasks_core::id::TaskId;

/// The tasks of a process. Its clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Holds(Arc<Mutex<BTreeMap<TaskId, Held>>>);

#[derive(Debug, Default)]
struct Held {
    /// Whether its record stays in any case.
    keep: bool,
    /// How often it is held.
    uses: u32,
    /// Whether its outcome was told.
    has_ended: bool,
    /// Why it was not submitted.
    refused: Option<Arc<str>>,
    /// What it holds itself: until it has ended, or as long as it is held, if it may be done again.
    inputs: Vec<TaskId>,
    may_come_again: bool,
}

impl Holds {
    /// A task is on its way. It takes over the holds of its inputs. `may_come_again`: its output
    /// stays on nodes.
    pub fn begin(&self, task: TaskId, keep: bool, may_come_again: bool, inputs: Vec<TaskId>) {
        let mut all = self.all();
        let held = all.entry(task).or_default();
        held.keep |= keep;
        held.has_ended = false;
        held.may_come_again |= may_come_again;
        held.inputs.extend(inputs);
    }

    /// Keeps the record of a task until it is released. False if it is told already, or unknown.
    #[must_use]
    pub fn hold(&self, task: TaskId) -> bool {
        let mut all = self.all();
        let Some(held) = all.get_mut(&task) else { return false };
        held.uses += 1;
        true
    }

    /// A task is held once less. Returns the tasks that are to be forgotten.
    #[must_use]
    pub fn release(&self, task: TaskId) -> Vec<TaskId> {
        release(&mut self.all(), vec![task])
    }

    /// A task has ended, or was `refused`. Returns the tasks that are to be forgotten; none at all
    /// if that is known.
    pub fn end(&self, task: TaskId, refused: Option<&str>) -> Option<Vec<TaskId>> {
        let mut all = self.all();
        let held = all.get_mut(&task).filter(|held| !held.has_ended)?;
        held.has_ended = true;
        // It may be there all the same.
        held.keep |= refused.is_some();
        held.refused = refused.map(Arc::from);
        held.uses += 1;
        let inputs = &mut held.inputs;
        let mut ended = if held.may_come_again { Vec::new() } else { core::mem::take(inputs) };
        ended.push(task);
        Some(release(&mut all, ended))
    }

    /// Why one of some inputs is none.
    pub fn refused(&self, inputs: &[TaskId]) -> Option<(TaskId, Arc<str>)> {
        let all = self.all();
        let refused = |input: &TaskId| Some((*input, all.get(input)?.refused.clone()?));
        inputs.iter().find_map(refused)
    }

    /// The tasks that have not ended.
    pub fn pending(&self) -> Vec<TaskId> {
        let all = self.all();
        all.iter().filter(|(_, held)| !held.has_ended).map(|(task, _)| *task).collect()
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<TaskId, Held>> {
        // It is whole even if a holder panicked: nothing in between can.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Releases tasks, and what those hold that nobody holds any more. Returns which are to be
/// forgotten.
fn release(all: &mut BTreeMap<TaskId, Held>, mut tasks: Vec<TaskId>) -> Vec<TaskId> {
    let mut over = Vec::new();
    tasks.reverse();
    while let Some(task) = tasks.pop() {
        let Some(held) = all.get_mut(&task) else { continue };
        held.uses = held.uses.saturating_sub(1);
        if held.uses == 0 && held.has_ended {
            let Held { keep, inputs, .. } = all.remove(&task).unwrap_or_default();
            over.extend((!keep).then_some(task));
            tasks.extend(inputs);
        }
    }
    over
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> TaskId {
        TaskId::of("t", number)
    }

    #[test]
    fn a_task_is_forgotten_when_those_that_read_it_have_ended() {
        let holds = Holds::default();
        holds.begin(id(1), false, false, Vec::new());
        assert!(holds.hold(id(1)) && holds.hold(id(1)) && !holds.hold(id(2)));
        holds.begin(id(2), false, false, vec![id(1)]);
        holds.begin(id(3), true, false, vec![id(1)]);
        assert_eq!(holds.end(id(1), None), Some(Vec::new()));
        assert_eq!(holds.end(id(1), None), None, "it is told once");
        assert!(holds.hold(id(1)), "its record is there still");
        assert_eq!(holds.end(id(3), None), Some(Vec::new()), "its record stays");
        assert_eq!(holds.end(id(2), None), Some(vec![id(2)]));
        assert_eq!(holds.release(id(1)), [id(1)]);
        assert!(!holds.hold(id(1)));
        assert!(holds.pending().is_empty() && holds.all().is_empty());
    }

    /// What may be lost is done again from its inputs, so these stay as long as it does.
    #[test]
    fn inputs_of_what_may_come_again_stay_as_long_as_it_does() {
        let holds = Holds::default();
        holds.begin(id(1), false, true, Vec::new());
        assert!(holds.hold(id(1)));
        holds.begin(id(2), false, true, vec![id(1)]);
        assert!(holds.hold(id(2)));
        holds.begin(id(3), false, false, vec![id(2)]);
        assert_eq!(holds.end(id(1), None), Some(Vec::new()));
        assert_eq!(holds.end(id(2), None), Some(Vec::new()), "its reader has not ended");
        assert_eq!(holds.end(id(3), None), Some(vec![id(2), id(1), id(3)]));
        assert!(holds.all().is_empty());
    }

    #[test]
    fn who_reads_a_task_that_was_refused_is_told() {
        let holds = Holds::default();
        holds.begin(id(1), false, false, Vec::new());
        assert!(holds.hold(id(1)));
        assert_eq!(holds.end(id(1), Some("no such queue")), Some(Vec::new()));
        let (input, why) = holds.refused(&[id(2), id(1)]).unwrap();
        assert_eq!((input, &*why), (id(1), "no such queue"));
        assert_eq!(holds.release(id(1)), [], "nobody knows whether it is there");
    }
}
