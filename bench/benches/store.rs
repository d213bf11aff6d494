//! What does a commit to the embedded store cost, beside redb alone and beside writing its bytes?
//!
//! A commit is what completes a task: five conditions and five writes, of a task, its result, two
//! children of 200 bytes and a semaphore, among 50,000 tasks. So many are under way at once: 1, 8
//! or 64, each of which waits for its acknowledgement before the next. Tasks come *in order* of
//! their keys, as where keys begin with a time, or *scattered*, as where keys are hashes: then
//! hardly two share a page, and there is a page to write for each key. Per repetition the same
//! number of commits is done by
//! * *redb alone*: one thread that knows all of them in advance, and syncs after each 1, 8 or 64,
//!   without threads, queues, events or sessions;
//! * *write and fdatasync*: their keys and values appended to a file, synced as often. No store
//!   could do with less.
//!
//! The comparison with redb alone is unfair to the store where 64 are under way: its groups are
//! those that come together while the disk syncs, so there are more of them. Below one commit a
//! group the numbers are those of the disk: name it when you report them.
//!
//! With `--bench` it also times the opening of a store of a million tasks after a crash.

#![allow(clippy::disallowed_methods, reason = "a benchmark is where a clock belongs")]

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use redb::{ReadableTable as _, TableDefinition};
use tidings_bench::{Comparison, compare};
use tidings_tasks::store::Store as _;
use tidings_tasks::store::embedded::{Embedded, LIMITS};
use tidings_tasks_core::transaction::{Expect, Key, Transaction, Write};
use tokio::runtime::{Builder, Runtime};

const TASKS: usize = 50_000;
const RECORDS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("records");
/// What each key of a completion begins with, and the bytes of its value.
const PARTS: [(&str, usize); 5] = [("t", 120), ("d", 60), ("c", 200), ("e", 200), ("s", 30)];

fn main() {
    // `cargo test` runs this too, without `--bench`: one small pass then keeps it from rotting.
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    let full = has("--bench");
    let (tasks, repetitions) = if full { (TASKS, 100) } else { (500, 2) };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary folder");
    let mut contest = Contest::new(folder.path(), tasks);
    let mut all = Vec::new();
    for order in [Order::InOrder, Order::Scattered] {
        for in_flight in [1, 8, 64] {
            all.extend(contest.compare(order, in_flight, repetitions));
        }
    }
    let mut out = std::io::stdout().lock();
    let mut say = |line: &str| drop(writeln!(out, "{line}"));
    for comparison in &all {
        let json = || serde_json::to_string(comparison).unwrap_or_default();
        say(&if has("--json") { json() } else { comparison.line() });
    }
    drop(contest);
    if full {
        say(&reopened(folder.path(), 1_000_000));
    }
}

/// Commits a group of transactions in another way.
type Reference<'a> = &'a dyn Fn(&[Transaction]);

/// Which tasks come one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    InOrder,
    Scattered,
}

fn key(part: &str, task: usize) -> Key {
    Key::new(format!("{part}/{task:016x}").into_bytes()).expect("it is short")
}

/// The completion of one task.
fn completion(task: usize, expect: Expect) -> Transaction {
    let mut transaction = Transaction::default();
    for (part, bytes) in PARTS {
        transaction.expect(key(part, task), expect);
        transaction.put(key(part, task), vec![task as u8; bytes]);
    }
    transaction
}

/// The store and its references, each holding the same tasks.
struct Contest {
    runtime: Runtime,
    store: Arc<Embedded>,
    redb: redb::Database,
    file: File,
    tasks: usize,
    next: usize,
}

impl Contest {
    fn new(folder: &Path, tasks: usize) -> Self {
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        let store = Arc::new(filled(&runtime, &folder.join("store"), tasks));
        let redb = redb::Database::create(folder.join("redb")).expect("a file can be made");
        let all: Vec<_> = (0..tasks).map(|task| completion(task, Expect::Absent)).collect();
        commit_alone(&redb, &all);
        let file = File::create(folder.join("file")).expect("a file can be made");
        Self { runtime, store, redb, file, tasks, next: 0 }
    }

    fn compare(&mut self, order: Order, in_flight: usize, repetitions: usize) -> Vec<Comparison> {
        let order_name = if order == Order::InOrder { "in order" } else { "scattered" };
        let question = format!("{} commits {order_name}, {in_flight} in flight", 4 * in_flight);
        let (redb, file) = (&self.redb, &self.file);
        let mut all = Vec::new();
        let references: [(&str, Reference<'_>); 2] = [
            ("redb alone", &|group| commit_alone(redb, group)),
            ("write and fdatasync", &|group| append(file, group)),
        ];
        for (name, reference) in references {
            // More than are timed: some warm up.
            let batches: Vec<_> = (0..repetitions * 2)
                .map(|_| batch(&mut self.next, self.tasks, order, in_flight))
                .collect();
            let (mut others, mut own) = (batches.clone().into_iter(), batches.into_iter());
            all.push(compare(
                &question,
                name,
                repetitions,
                || others.next().iter().flat_map(|all| all.chunks(in_flight)).for_each(reference),
                || commit_all(&self.runtime, &self.store, own.next(), in_flight),
            ));
        }
        all
    }
}

/// Completions of the tasks that come next: four groups.
fn batch(next: &mut usize, tasks: usize, order: Order, in_flight: usize) -> Vec<Transaction> {
    let first = *next;
    *next += 4 * in_flight;
    let step = if order == Order::InOrder { 1 } else { 7_919 };
    let chosen = (first..*next).map(|task| task * step % tasks);
    chosen.map(|task| completion(task, Expect::Present)).collect()
}

/// A store that holds so many tasks.
fn filled(runtime: &Runtime, path: &Path, tasks: usize) -> Embedded {
    let store = Embedded::open(path, "bench").expect("a file can be made");
    let at_once = LIMITS.operations / (2 * PARTS.len());
    for first in (0..tasks).step_by(at_once) {
        let mut all = Transaction::default();
        for task in first..tasks.min(first + at_once) {
            all.writes.extend(completion(task, Expect::Absent).writes);
        }
        runtime.block_on(store.commit(all)).expect("there is space");
    }
    store
}

/// Commits all, so many at a time.
fn commit_all(
    runtime: &Runtime,
    store: &Arc<Embedded>,
    all: Option<Vec<Transaction>>,
    in_flight: usize,
) {
    let mut all = all.unwrap_or_default();
    runtime.block_on(async {
        let mut clients = Vec::new();
        while !all.is_empty() {
            let own = all.split_off(all.len() - 4.min(all.len()));
            let store = store.clone();
            clients.push(tokio::spawn(async move {
                for transaction in own {
                    store.commit(transaction).await.expect("nothing is against it");
                }
            }));
        }
        assert_eq!(clients.len(), in_flight);
        for client in clients {
            client.await.expect("it ends");
        }
    });
}

/// Checks and writes a group with one sync.
fn commit_alone(database: &redb::Database, group: &[Transaction]) {
    let transaction = database.begin_write().expect("there is one writer");
    let mut table = transaction.open_table(RECORDS).expect("it is the same each time");
    for one in group {
        for (key, expect) in &one.conditions {
            let found = table.get(key.as_bytes()).expect("it can be read").is_some();
            assert_eq!(found, *expect == Expect::Present);
        }
        for write in &one.writes {
            let Write::Put { key, value, .. } = write else { continue };
            table.insert(key.as_bytes(), &value[..]).expect("it can be written");
        }
    }
    drop(table);
    transaction.commit().expect("there is space");
}

/// Appends the bytes of a group, and syncs.
fn append(mut file: &File, group: &[Transaction]) {
    let mut bytes = Vec::new();
    for write in group.iter().flat_map(|one| &one.writes) {
        let Write::Put { key, value, .. } = write else { continue };
        bytes.extend(key.as_bytes());
        bytes.extend(&value[..]);
    }
    file.write_all(&bytes).expect("there is space");
    file.sync_data().expect("it can be synced");
}

/// How long a store that was not closed takes to open: that of a copy, made while it is held.
fn reopened(folder: &Path, tasks: usize) -> String {
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    let (path, copy) = (folder.join("million"), folder.join("copy"));
    let store = Embedded::open(&path, "bench").expect("a file can be made");
    for first in (0..tasks).step_by(10_000) {
        let mut all = Transaction::default();
        for task in first..first + 10_000 {
            all.put(key("t", task), vec![task as u8; 120]);
        }
        runtime.block_on(store.commit(all)).expect("there is space");
    }
    std::fs::copy(&path, &copy).expect("there is space for two");
    let bytes = std::fs::metadata(&copy).expect("it is there").len();
    drop(store);
    let time = |path: &Path| {
        let begin = Instant::now();
        drop(Embedded::open(path, "bench").expect("it can be repaired"));
        begin.elapsed().as_secs_f64() * 1e3
    };
    let (crashed, closed) = (time(&copy), time(&path));
    format!(
        "open {tasks} tasks, {bytes} bytes: after a crash {crashed:.0} ms, closed {closed:.0} ms"
    )
}
