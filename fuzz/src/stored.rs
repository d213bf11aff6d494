//! What a coordinator of tasks leaves in its store.
//!
//! The tests of `tasks-core` that a coordinator stands up to any requests have this module too.

use tidings_tasks_core::id::Part;
use tidings_tasks_core::keys;
use tidings_tasks_core::ledger::Ledger;
use tidings_tasks_core::record::{Finished, Task};
use tidings_tasks_core::semaphore::Semaphore;
use tidings_tasks_core::transaction::Key;
use tidings_tasks_core::tuple::{Past, Stored};

/// Each record of the part can be read, no task both is to be done and has ended, and each task
/// that has pulled a tuple runs.
pub fn check(ledger: &Ledger, part: Part) {
    let all = |from: Key| ledger.scan(&from, from.after_prefix().as_ref(), usize::MAX).records;
    for record in all(keys::tasks(part)) {
        minicbor::decode::<Task>(&record.value).expect("a task");
        let id = keys::id_of(&record.key).expect("an id");
        assert_eq!(ledger.get(&keys::finished(part, id)), None, "{id} has ended");
    }
    for record in all(keys::all_finished(part)) {
        minicbor::decode::<Finished>(&record.value).expect("how a task has ended");
    }
    for record in all(keys::semaphores(part)) {
        minicbor::decode::<Semaphore>(&record.value).expect("a semaphore");
    }
    for record in all(keys::tuples(part)) {
        let stored = minicbor::decode::<Stored>(&record.value).expect("a tuple");
        stored.tuple.check().expect("within its bounds");
        let Some((id, attempt)) = stored.claim.and_then(|claim| claim.task) else { continue };
        let task = ledger.get(&keys::task(part, id)).expect("the task that has pulled it");
        let task = minicbor::decode::<Task>(&task.value).expect("a task");
        assert!(task.running(attempt).is_some(), "{id} has pulled a tuple, and does not run");
    }
    for record in all(keys::pasts(part)) {
        minicbor::decode::<Past>(&record.value).expect("a statement that was done");
    }
}
