//! The invariants of a store's records, and which of them are broken.
//!
//! | of | what must hold |
//! |---|---|
//! | each key | it is one that this version writes, and its record can be read; its revision is one that the store has had |
//! | a task | it has ended or not, never both; its tries are counted up; one that is done has a worker that has done it |
//! | a blob that a task names | it is there |
//! | a semaphore | each acquisition is in it once |
//! | a tuple | it is within the bounds of tuples; a task that has pulled it runs by that try |
//! | an input in another part | that part was told who waits |
//! | a part | if it has records, somebody has had its role |
//!
//! Nothing is changed. Memory grows with the number of parts, not with that of tasks.

use std::collections::{BTreeMap, BTreeSet};

use tidings_tasks_core::id::{Part, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::ledger::Page;
use tidings_tasks_core::record::{Failure, Finished, MAX_FAILURES, Outcome, State, Task, decode};
use tidings_tasks_core::retry::Cause;
use tidings_tasks_core::semaphore::{Grant, Semaphore};
use tidings_tasks_core::transaction::{Key, Revision};

use crate::blobs::{Blobs, Handle};
use crate::payloads::stand_in;
use crate::store::{Lost, Store};
use crate::work::{Report, What, Work};

use super::{Content, Pages};

/// The faults that are named; the others are counted.
pub const MAX_NAMED: usize = 1_000;

/// What is wrong with a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Where it is.
    pub key: Key,
    /// In words.
    pub what: String,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// Tasks that have not ended.
    pub live: u64,
    /// Tasks that have ended.
    pub ended: u64,
    /// Tasks that wait for the completion of their parent to count.
    pub staged: u64,
    /// Semaphores.
    pub semaphores: u64,
    /// Tuples.
    pub tuples: u64,
    /// Keys of tasks' own.
    pub own: u64,
    /// Blobs that tasks name, each time that one is named.
    pub blobs: u64,
    /// What is wrong, the first [`MAX_NAMED`] of all.
    pub faults: Vec<Fault>,
    /// How much is wrong.
    pub faults_total: u64,
    /// Parts with records, and whether somebody has had the role.
    parts: BTreeMap<Part, bool>,
}

/// Checks all records. Without a folder of blobs none is there.
///
/// # Errors
/// The store cannot be reached.
pub async fn check(store: &dyn Store, blobs: Option<&Blobs>) -> Result<Found, Lost> {
    let mut found = Found::default();
    let mut pages = Pages::all(store);
    while let Some(page) = pages.next().await? {
        let live = found.page(&page, blobs);
        found.ended_too(store, &live).await?;
        found.claims_of_none(store, &page).await?;
        found.untold(store, &page).await?;
    }
    let without: Vec<Part> =
        found.parts.iter().filter(|(_, has_role)| !**has_role).map(|(part, _)| *part).collect();
    for part in without {
        found.fault(keys::role(part), "the part has records, but nobody has had its role");
    }
    Ok(found)
}

impl Found {
    fn fault(&mut self, key: Key, what: impl Into<String>) {
        self.faults_total += 1;
        if self.faults.len() < MAX_NAMED {
            self.faults.push(Fault { key, what: what.into() });
        }
    }

    /// Looks at a page; returns the tasks on it that have not ended.
    fn page(&mut self, page: &Page, blobs: Option<&Blobs>) -> Vec<(Part, TaskId)> {
        let mut live = Vec::new();
        for record in &page.records {
            let key = || record.key.clone();
            if record.revision == Revision(0) || record.revision > page.revision {
                let (own, last) = (record.revision.0, page.revision.0);
                self.fault(key(), format!("revision {own}, but the store is at {last}"));
            }
            match Content::of(record) {
                Err(what) => self.fault(key(), what),
                Ok(Content::Role(part, _)) => drop(self.parts.insert(part, true)),
                Ok(Content::Counted(part, _) | Content::Past(part, _)) => {
                    self.parts.entry(part).or_default();
                }
                Ok(Content::Staged(part, _, staged)) => {
                    self.parts.entry(part).or_default();
                    for (_, task) in &staged.tasks {
                        self.staged += 1;
                        self.faults_of(&record.key, faults_of_task(task));
                        self.missing(&record.key, blobs, named_by_payload(&task.payload));
                    }
                }
                Ok(Content::Own) => self.own += 1,
                Ok(Content::Semaphore(part, _, semaphore)) => {
                    self.semaphores += 1;
                    self.parts.entry(part).or_default();
                    self.faults_of(&record.key, faults_of_semaphore(&semaphore));
                }
                Ok(Content::Tuple(part, _, stored)) => {
                    self.tuples += 1;
                    self.parts.entry(part).or_default();
                    stored.tuple.check().unwrap_or_else(|what| self.fault(key(), what));
                }
                Ok(Content::Task(part, id, task)) => {
                    self.live += 1;
                    self.parts.entry(part).or_default();
                    live.push((part, id));
                    self.faults_of(&record.key, faults_of_task(&task));
                    self.missing(&record.key, blobs, named_by_payload(&task.payload));
                }
                Ok(Content::Finished(part, _, finished)) => {
                    self.ended += 1;
                    self.parts.entry(part).or_default();
                    self.faults_of(&record.key, faults_of_finished(&finished));
                    let named = named_by_payload(&finished.task.payload);
                    let result = named_by_result(&finished);
                    self.missing(
                        &record.key,
                        blobs,
                        named.and_then(|mut named| {
                            named.extend(result?);
                            Ok(named)
                        }),
                    );
                }
                Ok(_) => {} // it is enough that they can be read
            }
        }
        live
    }

    fn faults_of(&mut self, key: &Key, faults: Vec<&'static str>) {
        for what in faults {
            self.fault(key.clone(), what);
        }
    }

    /// Names blobs that are not there.
    fn missing(&mut self, key: &Key, blobs: Option<&Blobs>, named: Result<Vec<Handle>, String>) {
        match named {
            Err(what) => self.fault(key.clone(), what),
            Ok(named) => {
                for handle in named {
                    self.blobs += 1;
                    if !blobs.is_some_and(|blobs| blobs.has(&handle)) {
                        self.fault(
                            key.clone(),
                            format!("it names blob {handle}, which is not there"),
                        );
                    }
                }
            }
        }
    }

    /// Names those of some live tasks that have ended as well.
    async fn ended_too(&mut self, store: &dyn Store, live: &[(Part, TaskId)]) -> Result<(), Lost> {
        let ended: Vec<Key> = live.iter().map(|(part, id)| keys::finished(*part, *id)).collect();
        if ended.is_empty() {
            return Ok(());
        }
        for record in store.get(&ended).await?.records.into_iter().flatten() {
            self.fault(record.key, "the task has ended, and has not ended as well");
        }
        Ok(())
    }
}

impl Found {
    /// Names those tuples of a page that are claimed by a try of a task which does not run.
    async fn claims_of_none(&mut self, store: &dyn Store, page: &Page) -> Result<(), Lost> {
        for record in &page.records {
            let Ok(Content::Tuple(part, _, stored)) = Content::of(record) else { continue };
            let Some((id, attempt)) = stored.claim.and_then(|claim| claim.task) else { continue };
            let task = store.get(&[keys::task(part, id)]).await?.records.pop().flatten();
            let task = task.and_then(|task| decode::<Task>(&task).ok());
            if task.is_none_or(|task| task.running(attempt).is_none()) {
                let what = "a try of a task has pulled it, and does not run";
                self.fault(record.key.clone(), what);
            }
        }
        Ok(())
    }
}

impl Found {
    /// Names those tasks of a page that wait for one of another part, which was not told so.
    async fn untold(&mut self, store: &dyn Store, page: &Page) -> Result<(), Lost> {
        for record in &page.records {
            let Ok(Content::Task(part, _, task)) = Content::of(record) else { continue };
            let letter = |(input, of): &(TaskId, Part)| keys::wanted(*of, *input, part);
            let letters: Vec<Key> = task.abroad.iter().map(letter).collect();
            if letters.is_empty() {
                continue;
            }
            let told = store.get(&letters).await?.records;
            if told.iter().any(Option::is_none) {
                let what = "it waits for a task of another part, which was not told so";
                self.fault(record.key.clone(), what);
            }
        }
        Ok(())
    }
}

fn faults_of_task(task: &Task) -> Vec<&'static str> {
    let attempts: Vec<_> = task.failures.iter().map(|failure| failure.attempt).collect();
    // What failed for want of an input was not tried once more.
    let is_new = |pair: &[Failure]| {
        pair[0].attempt < pair[1].attempt
            || pair[0].attempt == pair[1].attempt && pair[1].cause == Cause::Input
    };
    let faults = [
        (task.queue.is_empty(), "it has no queue"),
        (task.state.is_running() && task.attempt.0 == 0, "it runs before its first try"),
        (task.failures.len() > MAX_FAILURES, "it has more failures than a record keeps"),
        (attempts.iter().any(|attempt| *attempt > task.attempt), "a try that never was has failed"),
        (!task.failures.windows(2).all(is_new), "its failures are not in order"),
        (task.is_waiting() && task.inputs.is_empty(), "it waits for nothing"),
    ];
    faults.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| what).collect()
}

fn faults_of_finished(finished: &Finished) -> Vec<&'static str> {
    let is_done = matches!(finished.outcome, Outcome::Done(_));
    let mut faults = faults_of_task(&finished.task);
    if finished.task.state != State::Ready {
        faults.push("it has ended, and is with a worker or waits");
    }
    if is_done != finished.done_by.is_some() {
        faults.push("it is done by nobody, or somebody has done what is not done");
    }
    if finished.outcome == Outcome::Failed && finished.task.failures.is_empty() {
        faults.push("it has failed without a failure");
    }
    faults
}

fn faults_of_semaphore(semaphore: &Semaphore) -> Vec<&'static str> {
    let mut seen = BTreeSet::new();
    let all = semaphore.held.iter().chain(&semaphore.waiting);
    let twice = all.clone().any(|grant: &Grant| !seen.insert((&grant.holder, grant.call)));
    let faults = [
        (twice, "one acquisition is in it twice"),
        (all.clone().any(|grant| grant.permits == 0), "an acquisition of no permit is in it"),
    ];
    faults.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| what).collect()
}

/// The blobs that a payload names: what it stands for, or the code of a call.
fn named_by_payload(payload: &[u8]) -> Result<Vec<Handle>, String> {
    if let Some(handle) = stand_in(payload).map_err(|error| error.to_string())? {
        return Ok(vec![handle]);
    }
    // What is no work is data.
    Ok(match Work::from_payload(payload) {
        Ok(Work { what: What::Call { code, .. }, .. }) => code.into_iter().collect(),
        _ => Vec::new(),
    })
}

/// The blobs beside the store that a result names: what it stands for, or outputs. Those that stay
/// on nodes are not there.
fn named_by_result(finished: &Finished) -> Result<Vec<Handle>, String> {
    let Outcome::Done(result) = &finished.outcome else { return Ok(Vec::new()) };
    if finished.kept.is_some() {
        return Ok(Vec::new());
    }
    if let Some(handle) = stand_in(result).map_err(|error| error.to_string())? {
        return Ok(vec![handle]);
    }
    // What is no report is the result of an item of data.
    Ok(Report::from_result(result).map_or(Vec::new(), |report| {
        [report.stdout.blob, report.stderr.blob].into_iter().flatten().collect()
    }))
}

#[cfg(test)]
mod tests {
    use tidings_tasks_core::id::{Attempt, Epoch};
    use tidings_tasks_core::message::{Call, Submission};
    use tidings_tasks_core::record::{Reign, Staged, encode};
    use tidings_tasks_core::retry::Tally;
    use tidings_tasks_core::transaction::Transaction;

    use super::*;
    use crate::payloads::MARK;
    use crate::store::memory::Memory;

    const PART: Part = Part(0);

    fn task() -> Task {
        let submitted = Submission::new(TaskId::of("t", 0), "jobs", b"data".to_vec());
        Task {
            queue: submitted.queue,
            group: submitted.group,
            priority: 0,
            sequence: 1,
            payload: submitted.payload,
            retry: submitted.retry,
            attempt: Attempt(0),
            state: State::Ready,
            failures: Vec::new(),
            cancelled: false,
            submitted_ms: 1,
            tally: Tally::default(),
            need: submitted.need,
            filter: String::new(),
            inputs: Vec::new(),
            copies: 0,
            made: 0,
            abroad: Vec::new(),
        }
    }

    fn cancelled() -> Finished {
        Finished {
            outcome: Outcome::Cancelled,
            task: task(),
            ended_ms: 2,
            done_by: None,
            kept: None,
        }
    }

    async fn checked(records: Vec<(Key, Vec<u8>)>, blobs: Option<&Blobs>) -> Found {
        let (store, mut all) = (Memory::default(), Transaction::default());
        for (key, value) in records {
            all.put(key, value);
        }
        store.commit(all).await.unwrap();
        check(&store, blobs).await.unwrap()
    }

    fn role() -> (Key, Vec<u8>) {
        let name = || "c".to_owned();
        let reign =
            Reign { epoch: Epoch(1), coordinator: name(), host: name(), address: String::new() };
        (keys::role(PART), encode(&reign))
    }

    #[tokio::test]
    async fn a_part_is_told_who_waits_for_its_tasks() {
        let [id, input] = [0, 1].map(|number| TaskId::of("t", number));
        let waits = Task { abroad: vec![(input, Part(1))], ..task() };
        let records = vec![role(), (keys::task(PART, id), encode(&waits))];
        let found = checked(records.clone(), None).await;
        assert_eq!(found.faults_total, 1);
        assert!(found.faults[0].what.contains("was not told"), "{:?}", found.faults);
        let letter = (keys::wanted(Part(1), input, PART), b"1".to_vec());
        let stated = (keys::parts(), b"2".to_vec());
        let found = checked([records, vec![letter, stated]].concat(), None).await;
        assert_eq!(found.faults, []);
    }

    #[tokio::test]
    async fn what_is_as_it_should_be_has_no_fault() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::open(&folder.path().join("blobs")).unwrap();
        let handle = blobs.put(&vec![1; 20_000]).unwrap();
        let long = Task { payload: [MARK, &encode(&handle)].concat(), ..task() };
        let grant = |call| Grant { holder: "h".to_owned(), call: Call(call), permits: 1 };
        let semaphore = Semaphore { permits: 1, held: vec![grant(1)], waiting: vec![grant(2)] };
        let staged = Staged { tasks: vec![(TaskId::of("t", 3), long.clone())] };
        let parent = TaskId::of("t", 1);
        let records = vec![
            role(),
            (keys::fence(PART), 1_u64.to_be_bytes().to_vec()),
            (keys::children(PART, parent), b"1".to_vec()),
            (keys::staged(PART, parent, 0), encode(&staged)),
            (keys::task(PART, TaskId::of("t", 1)), encode(&long)),
            (keys::finished(PART, TaskId::of("t", 2)), encode(&cancelled())),
            (keys::semaphore(PART, "s"), encode(&semaphore)),
            (keys::effect(b"sum/3").unwrap(), b"42".to_vec()),
        ];
        let found = checked(records, Some(&blobs)).await;
        assert_eq!(found.faults, []);
        let counts = (found.live, found.ended, found.staged, found.blobs);
        assert_eq!(counts, (1, 1, 1, 2));
        assert_eq!((found.semaphores, found.own), (1, 1));
    }

    #[tokio::test]
    async fn each_broken_invariant_is_named_with_its_place() {
        let id = TaskId::of("t", 1);
        let (live, ended) = (keys::task(PART, id), keys::finished(PART, id));
        let handle = Handle::of(b"gone");
        let gone = Task { payload: [MARK, &encode(&handle)].concat(), ..task() };
        let done = Finished { outcome: Outcome::Done(Vec::new()), ..cancelled() };
        let failed = Finished { outcome: Outcome::Failed, ..cancelled() };
        let one = Grant { holder: "h".to_owned(), call: Call(1), permits: 1 };
        let twice = Semaphore { permits: 1, held: vec![one.clone()], waiting: vec![one] };
        let semaphore = keys::semaphore(PART, "s");
        let odd = Key::new(*b"odd").unwrap();
        let cases = [
            (vec![role(), (odd, vec![])], "its key is none"),
            (vec![role(), (live.clone(), b"\xff".to_vec())], "unexpected"),
            (
                vec![
                    role(),
                    (live.clone(), encode(&task())),
                    (ended.clone(), encode(&cancelled())),
                ],
                "has not ended as well",
            ),
            (vec![(live.clone(), encode(&task()))], "nobody has had its role"),
            (vec![role(), (live, encode(&gone))], "which is not there"),
            (vec![role(), (ended.clone(), encode(&done))], "done by nobody"),
            (vec![role(), (ended, encode(&failed))], "without a failure"),
            (vec![role(), (semaphore, encode(&twice))], "in it twice"),
        ];
        for (records, what) in cases {
            let found = checked(records, None).await;
            assert_eq!(found.faults_total, 1, "{what}: {:?}", found.faults);
            assert!(found.faults[0].what.contains(what), "{what}: {:?}", found.faults);
        }
    }
}
