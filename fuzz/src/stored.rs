//! What a coordinator of tasks leaves in its store.
//!
//! The tests of `tasks-core` that a coordinator stands up to any requests have this module too.

use tidings_tasks_core::id::Part;
use tidings_tasks_core::keys;
use tidings_tasks_core::ledger::Ledger;
use tidings_tasks_core::record::{Finished, Task};
use tidings_tasks_core::semaphore::Semaphore;
use tidings_tasks_core::transaction::Key;

/// Each record of the part can be read, and no task both is to be done and has ended.
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
}
