//! What is left in a store, and whether it agrees with what processes knew before they died.

use std::collections::{BTreeMap, BTreeSet};

use tidings_tasks::store::Store;
use tidings_tasks_core::id::{Part, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::record::{Finished, Outcome, Reign, decode};
use tidings_tasks_core::semaphore::Semaphore;
use tidings_tasks_core::transaction::{Key, Record};

use crate::computation::{submissions, tasks};

/// What is left in a store.
pub(crate) struct End {
    /// Each task that has ended: how, and with which attempt.
    results: BTreeMap<TaskId, (Outcome, u32)>,
    effects: usize,
    /// Who holds permits, and who waits for some.
    held: Vec<String>,
    waiting: usize,
    /// Tasks that have not ended, and children that are none yet.
    rest: usize,
    /// The epoch of the last coordinator.
    reigns: u64,
}

impl End {
    pub(crate) async fn of(store: &dyn Store) -> Self {
        let part = Part(0);
        let of_task = |record: Record| {
            let finished: Finished = decode(&record).unwrap();
            let id = keys::id_of(&record.key).expect("it ends with its id");
            (id, (finished.outcome, finished.task.attempt.0))
        };
        let finished = records(store, &keys::all_finished(part)).await;
        let semaphores = records(store, &keys::semaphores(part)).await;
        let semaphores: Vec<Semaphore> =
            semaphores.iter().map(|record| decode(record).unwrap()).collect();
        let held = semaphores.iter().flat_map(|it| &it.held).map(|grant| grant.holder.clone());
        let effects = keys::effects(b"").expect("it is short");
        let role = records(store, &keys::role(part)).await;
        let live = records(store, &keys::tasks(part)).await.len();
        Self {
            results: finished.into_iter().map(of_task).collect(),
            effects: records(store, &effects).await.len(),
            held: held.collect(),
            waiting: semaphores.iter().map(|it| it.waiting.len()).sum(),
            rest: live + records(store, &keys::all_staged(part)).await.len(),
            reigns: decode::<Reign>(&role[0]).unwrap().epoch.0,
        }
    }

    /// How many coordinators there were, one after the other.
    pub(crate) fn reigns(&self) -> u64 {
        self.reigns
    }

    /// All is done once, and all that a process knew is so, by the notes of all of them.
    pub(crate) fn check(&self, notes: &str, case: &str) {
        let expected: BTreeSet<TaskId> = tasks().into_iter().collect();
        let done: BTreeSet<TaskId> = self.results.keys().copied().collect();
        assert_eq!(done, expected, "{case}: tasks that have ended");
        assert_eq!((self.effects, self.rest), (expected.len(), 0), "{case}: effects, unended");
        // That of a process that has stopped for longer than its session has come back.
        let is_held = self.held.len() == 1 || (is_frozen(case) && self.held.is_empty());
        assert!(is_held && self.waiting == 0, "{case}: permits of {:?}", self.held);
        let are_clients = self.held.iter().all(|holder| holder.starts_with("client"));
        assert!(are_clients, "{case}: permits of {:?}", self.held);
        let all_done =
            self.results.values().all(|(outcome, _)| matches!(outcome, Outcome::Done(_)));
        assert!(all_done, "{case}: {:?}", self.results);
        self.check_notes(notes, case);
    }

    fn check_notes(&self, notes: &str, case: &str) {
        let attempts: BTreeMap<String, u32> =
            self.results.iter().map(|(id, (_, attempt))| (id.to_string(), *attempt)).collect();
        let (mut done, mut submitted) = (BTreeSet::new(), 0);
        for line in notes.lines() {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["submitted", new] => {
                    // One that has stopped may hear last that all were new.
                    submitted += new.parse::<usize>().unwrap();
                    assert!(submitted <= submissions().len(), "{case}: submissions were lost");
                }
                // One that goes on may begin what it was given before it stopped: its result is
                // refused.
                ["begun", task] => {
                    assert!(is_frozen(case) || !done.contains(task), "{case}: {task} ran again");
                }
                ["done", task, attempt] => {
                    let stored = attempts[task].to_string();
                    assert_eq!(stored, attempt, "{case}: the result of {task} was lost");
                    done.insert(task);
                }
                // Its session had ended meanwhile, and another worker had the task.
                ["refused", _, "Refused(Superseded)"] if is_frozen(case) => {}
                _ => panic!("{case}: {line}"),
            }
        }
    }
}

/// Whether a process has stopped, and gone on when others had done all.
fn is_frozen(case: &str) -> bool {
    case.contains("Frozen")
}

async fn records(store: &dyn Store, prefix: &Key) -> Vec<Record> {
    let page = store.scan(prefix, prefix.after_prefix().as_ref(), 1_000).await.unwrap();
    assert!(page.next.is_none(), "it is small");
    page.records
}
