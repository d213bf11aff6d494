//! The embedded engine and its file: who may open it, and what is left after a kill or without
//! space.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

mod children;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use tidings_tasks::store::Store;
use tidings_tasks::store::embedded::{Embedded, OpenError};
use tidings_tasks_core::transaction::{CommitError, Expect, Key, Revision, Transaction};

use children::{child, child_on_a_disk, folder_of_child, lines};

fn key(name: impl AsRef<str>) -> Key {
    Key::new(name.as_ref().as_bytes()).unwrap()
}

fn put(name: &str, value: impl AsRef<[u8]>) -> Transaction {
    let mut transaction = Transaction::default();
    transaction.put(key(name), value.as_ref());
    transaction
}

fn open(path: &Path) -> Embedded {
    Embedded::open(path, "test").expect("nobody else holds it")
}

fn refusal(path: &Path, cluster: &str) -> OpenError {
    Embedded::open(path, cluster).err().expect("it cannot be opened")
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

#[test]
fn a_second_holder_is_refused_with_the_pid_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let mut holder = child("child_that_holds", folder.path());
    lines(&mut holder, "holds").next().expect("it opens the store");
    let refused = refusal(&path, "test");
    assert_eq!(refused, OpenError::Held { path: path.clone(), pid: Some(holder.id()) });
    let said = refused.to_string();
    assert!(said.contains(&format!("held by process {}", holder.id())), "{said}");
    holder.kill().unwrap();
    holder.wait().unwrap();
    let own = open(&path);
    let said = refusal(&path, "test").to_string();
    assert!(said.contains("this process"), "{said}");
    drop(own);
    open(&path);
}

#[test]
fn child_that_holds() {
    let Some(folder) = folder_of_child() else { return };
    let _store = open(&folder.join("store"));
    println!("holds");
    loop {
        std::thread::park();
    }
}

#[test]
fn a_store_is_its_owners_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    drop(open(&path));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_store_of_another_cluster_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    drop(open(&path));
    let said = refusal(&path, "other").to_string();
    assert!(said.contains("the store of cluster `test`, not `other`"), "{said}");
    open(&path);
}

#[test]
fn a_store_of_another_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    drop(open(&path));
    let later = redb::Database::create(&path).unwrap();
    let transaction = later.begin_write().unwrap();
    let table = redb::TableDefinition::<&str, &[u8]>::new("metadata");
    let number = &7_u64.to_be_bytes()[..];
    transaction.open_table(table).unwrap().insert("tidings format", number).unwrap();
    transaction.commit().unwrap();
    drop(later);
    let refused = refusal(&path, "test");
    assert!(matches!(refused, OpenError::Format { found: 7, .. }), "{refused}");
    assert!(refused.to_string().contains("export"), "{refused}");
}

#[test]
fn what_is_no_store_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    fs::write(&path, "this is a diary\n".repeat(1_000)).unwrap();
    assert_eq!(refusal(&path, "test"), OpenError::NoStore { path: path.clone() });
    assert_eq!(fs::read_to_string(&path).unwrap(), "this is a diary\n".repeat(1_000));
    let path = folder.path().join("other");
    let other = redb::Database::create(&path).unwrap();
    let transaction = other.begin_write().unwrap();
    transaction.open_table(redb::TableDefinition::<u64, u64>::new("theirs")).unwrap();
    transaction.commit().unwrap();
    drop(other);
    assert_eq!(refusal(&path, "test"), OpenError::NoStore { path });
    let path = folder.path().join("none/store");
    assert!(matches!(refusal(&path, "test"), OpenError::File { .. }));
}

#[test]
fn a_store_that_was_cut_off_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    drop(open(&path));
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(file.metadata().unwrap().len() / 3).unwrap();
    let refused = refusal(&path, "test");
    assert!(matches!(refused, OpenError::Damaged { .. }), "{refused}");
}

#[tokio::test]
async fn an_empty_file_becomes_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    fs::write(&path, "").unwrap();
    fs::write(folder.path().join("store.new"), "left by a crash while it was made").unwrap();
    open(&path).commit(put("a", "1")).await.unwrap();
    assert!(open(&path).get(&[key("a")]).await.unwrap().records[0].is_some());
}

#[tokio::test]
async fn those_who_conflict_within_a_group_fail_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&folder.path().join("store")));
    let claims: Vec<_> = (0..200)
        .map(|number| {
            let (store, task) = (store.clone(), number % 100);
            let mut claim = put(&format!("task/{task}"), [0]);
            claim.expect(key(format!("task/{task}")), Expect::Absent);
            tokio::spawn(async move { store.commit(claim).await })
        })
        .collect();
    let mut revisions = Vec::new();
    for claim in claims {
        match claim.await.unwrap() {
            Ok(revision) => revisions.push(revision.0),
            Err(error) => assert!(matches!(error, CommitError::Conflict { .. }), "{error}"),
        }
    }
    revisions.sort_unstable();
    assert!(revisions.into_iter().eq(1..=100));
}

/// Clients of the child that is killed.
const CLIENTS: u64 = 8;

#[test]
fn what_was_acknowledged_survives_kills() {
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged: BTreeMap<u64, (u64, Revision)> = BTreeMap::new();
    let mut last = Revision(0);
    for round in 0..20_u64 {
        // A number of acknowledgements that differs in each round, from hardly any to many.
        let kill_at = (round * 0x9e37_79b9) % 400 + 1;
        let mut writer = child("child_that_is_killed", folder.path());
        let mut count = 0;
        for line in lines(&mut writer, "acknowledged ") {
            let numbers: Vec<u64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
            let [client, number, revision] = numbers[..] else { panic!("{line}") };
            assert!(Revision(revision) > last, "revisions rise across restarts");
            acknowledged.insert(client, (number, Revision(revision)));
            count += 1;
            if count == kill_at {
                writer.kill().unwrap();
            }
        }
        writer.wait().unwrap();
        assert!(count >= kill_at, "it worked until it was killed");
        last = runtime().block_on(check(&open(&folder.path().join("store")), &acknowledged));
    }
}

/// All that was acknowledged is there, and nothing by half; the last revision.
async fn check(store: &Embedded, acknowledged: &BTreeMap<u64, (u64, Revision)>) -> Revision {
    let names = |client: u64| [key(format!("left/{client}")), key(format!("right/{client}"))];
    let mut last = Revision(0);
    for client in 0..CLIENTS {
        let snapshot = store.get(&names(client)).await.unwrap();
        last = last.max(snapshot.revision);
        let [left, right] = &snapshot.records[..] else { panic!("two were asked for") };
        let value = left.as_ref().map(|left| (&left.value, left.revision));
        assert_eq!(value, right.as_ref().map(|right| (&right.value, right.revision)));
        let Some(&(number, revision)) = acknowledged.get(&client) else { continue };
        let (value, found) = value.expect("it was acknowledged");
        let value = u64::from_be_bytes(value[..8].try_into().unwrap());
        assert!(value >= number && found >= revision);
        // Each step left a record of its own; each had the one before as its condition.
        let steps: Vec<Key> =
            (1..=value).map(|step| key(format!("step/{client}/{step}"))).collect();
        let steps = store.get(&steps).await.unwrap().records;
        let steps: Vec<Revision> = steps.into_iter().map(|step| step.unwrap().revision).collect();
        assert!(steps.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(steps[number as usize - 1], revision);
        let next = key(format!("step/{client}/{}", value + 1));
        assert_eq!(store.get(&[next]).await.unwrap().records, [None]);
    }
    assert!(acknowledged.values().all(|&(_, revision)| revision <= last));
    last
}

#[test]
fn child_that_is_killed() {
    let Some(folder) = folder_of_child() else { return };
    let store = Arc::new(open(&folder.join("store")));
    runtime().block_on(async {
        let clients: Vec<_> =
            (0..CLIENTS).map(|client| tokio::spawn(count_on(store.clone(), client))).collect();
        for client in clients {
            client.await.unwrap();
        }
    });
}

/// Counts from where the last one was killed; prints each acknowledgement.
async fn count_on(store: Arc<Embedded>, client: u64) {
    let left = key(format!("left/{client}"));
    let found = store.get(std::slice::from_ref(&left)).await.unwrap().records.remove(0);
    let mut at = found.as_ref().map(|found| found.revision);
    let mut number =
        found.map_or(0, |found| u64::from_be_bytes(found.value[..8].try_into().unwrap()));
    loop {
        number += 1;
        let mut value = number.to_be_bytes().to_vec();
        value.resize(8 + (number as usize * 37) % 3_000, 1);
        let mut step = put(&format!("step/{client}/{number}"), []);
        step.put(left.clone(), &value[..]);
        step.put(key(format!("right/{client}")), &value[..]);
        step.expect(left.clone(), at.map_or(Expect::Absent, Expect::At));
        let revision = store.commit(step).await.unwrap();
        at = Some(revision);
        let mut out = std::io::stdout().lock();
        writeln!(out, "acknowledged {client} {number} {}", revision.0).unwrap();
    }
}

#[test]
fn a_full_disk_loses_nothing_and_heals() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = child_on_a_disk("child_that_fills_its_disk", folder.path(), "6m");
    let last = lines(&mut writer, "done ").last();
    assert!(writer.wait().unwrap().success());
    assert_eq!(last.as_deref(), Some("all is there"));
}

#[test]
fn child_that_fills_its_disk() {
    let Some(folder) = folder_of_child() else { return };
    let (path, ballast) = (folder.join("store"), folder.join("ballast"));
    fs::write(&ballast, vec![1; 2 << 20]).unwrap();
    let store = open(&path);
    runtime().block_on(async {
        let first = fill(&store, 0).await;
        fs::remove_file(&ballast).unwrap();
        let second = fill(&store, first).await;
        assert!(second > first, "it goes on");
        drop(store);
        fs::remove_file(folder.join("store.space")).unwrap_err();
        holds(&open(&path), second).await;
        println!("done all is there");
    });
}

/// Writes values until there is no space, reads on without, and is refused again; how many there
/// are.
async fn fill(store: &Embedded, mut count: u64) -> u64 {
    let refused = loop {
        match store.commit(put(&format!("value/{count:06}"), vec![count as u8; 20_000])).await {
            Ok(_) => count += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, CommitError::Full(_)), "{refused}");
    holds(store, count).await;
    let again = store.commit(put("more", vec![1; 100_000])).await.unwrap_err();
    assert!(matches!(again, CommitError::Full(_)), "{again}");
    holds(store, count).await;
    count
}

async fn holds(store: &Embedded, count: u64) {
    let (mut from, mut found) = (key("value/"), 0);
    loop {
        let page = store.scan(&from, Some(&key("value0")), 1_000).await.unwrap();
        for record in page.records {
            assert!(record.value.len() == 20_000 && record.value[0] == found as u8);
            found += 1;
        }
        let Some(next) = page.next else { break };
        from = next;
    }
    assert_eq!(found, count);
}

#[tokio::test]
async fn the_file_does_not_grow_with_what_is_overwritten_or_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = Arc::new(open(&path));
    let mut sizes = Vec::new();
    for round in 0..8_u64 {
        let clients: Vec<_> = (0..64).map(|client| churn(store.clone(), client, round)).collect();
        let clients: Vec<_> = clients.into_iter().map(tokio::spawn).collect();
        for client in clients {
            client.await.unwrap();
        }
        sizes.push(fs::metadata(&path).unwrap().len());
    }
    // What is written in one round would fill the file several times.
    assert!(sizes[7] <= 2 * sizes[0], "{sizes:?}");
}

/// Tasks that come and go: each is made, changed and deleted.
async fn churn(store: Arc<Embedded>, client: u64, round: u64) {
    for number in 0..20 {
        let name = format!("task/{client}/{}", round * 20 + number);
        store.commit(put(&name, [1; 500])).await.unwrap();
        store.commit(put(&name, [2; 500])).await.unwrap();
        let mut last = Transaction::default();
        last.delete(key(name));
        store.commit(last).await.unwrap();
    }
}
