//! Blocks over a store and TCP: processes that join, leave and end, and what is wrong with a block.
//!
//! Each process is a `Blocks` with a listener and connections of its own. One that is dropped ends
//! as a killed process does: its sockets are closed, its session is kept no more.

#![allow(clippy::unwrap_used, reason = "all of it is tests")]

#[path = "../examples/block.rs"]
mod example;

use std::sync::Arc;
use std::time::Duration;

use tidings_blocks::counter::Counter;
use tidings_blocks::histogram::{Histogram, quantile};
use tidings_blocks::log::DistributedLog;
use tidings_blocks::map::DistributedMap;
use tidings_blocks::record::{self, Present};
use tidings_blocks::table::Kinds;
use tidings_blocks::{BlockId, Node, Ref};
use tidings_primitives::{Key, KeyRing};
use tidings_tasks::blocks::{Blocks, BlocksError, Settings};
use tidings_tasks::net::Credentials;
use tidings_tasks::store::Store;
use tidings_tasks::store::memory::Memory;
use tokio::task::JoinSet;

fn kinds() -> Kinds {
    let counting = Kinds::default().with(Counter).with(Histogram);
    counting.with(DistributedMap { parts: 16 }).with(DistributedLog)
}

/// Silence alone ends nobody here: a machine that is busy is no reason.
fn settings() -> Settings {
    Settings { session_ttl: Duration::from_secs(600), ..Settings::here("test") }
}

fn memory() -> Arc<dyn Store> {
    Arc::new(Memory::default())
}

async fn join(store: &Arc<dyn Store>) -> Blocks {
    Blocks::join(store.clone(), kinds(), settings()).await.unwrap()
}

async fn joined(store: &Arc<dyn Store>, count: usize) -> Vec<Blocks> {
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(join(store).await);
    }
    for blocks in &all {
        until(blocks, count).await;
    }
    all
}

/// Until so many take part, as this process sees it.
async fn until(blocks: &Blocks, count: usize) {
    blocks.view().wait_for(|view| view.nodes.len() == count).await.unwrap();
}

async fn map(blocks: &Blocks) -> Ref<DistributedMap> {
    blocks.open("m").await.unwrap()
}

#[tokio::test]
async fn what_all_have_counted_is_in_the_sum() {
    let store = memory();
    let all = joined(&store, 4).await;
    for (at, blocks) in (1..).zip(&all) {
        let count: Ref<Counter> = blocks.open("c").await.unwrap();
        count.add(at);
        let values: Ref<Histogram> = blocks.open("h").await.unwrap();
        values.record(at);
    }
    let count: Ref<Counter> = all[2].open("c").await.unwrap();
    let sum = count.sum().await.unwrap();
    assert_eq!((&sum.counts[..], sum.nodes, sum.lost), (&[10][..], 4, 0));
    let values: Ref<Histogram> = all[0].open("h").await.unwrap();
    assert_eq!(quantile(&values.sum().await.unwrap().counts, 0.5), Some(2));
}

#[tokio::test]
async fn a_node_that_leaves_passes_its_counts_on() {
    let store = memory();
    let mut all = joined(&store, 3).await;
    for blocks in &all {
        blocks.open::<Counter>("c").await.unwrap().add(5);
    }
    // All have a representative that hears of it.
    let count: Ref<Counter> = all[0].open("c").await.unwrap();
    assert_eq!(count.sum().await.unwrap().counts, [15]);
    all.pop().unwrap().leave().await;
    until(&all[0], 2).await;
    let sum = count.sum().await.unwrap();
    assert_eq!((&sum.counts[..], sum.lost), (&[15][..], 0));
}

#[tokio::test]
async fn two_that_open_a_name_at_once_have_the_same_block() {
    let store = memory();
    let all = joined(&store, 2).await;
    let (one, other) = tokio::join!(all[0].open::<Counter>("c"), all[1].open::<Counter>("c"));
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(one.id(), other.id());
    let again: Ref<Counter> = all[1].get(one.id()).await.unwrap();
    again.add(1);
    other.add(2);
    assert_eq!(one.sum().await.unwrap().counts, [3]);
}

#[tokio::test]
async fn what_is_wrong_with_a_block_is_said() {
    let store = memory();
    let all = joined(&store, 2).await;
    let count: Ref<Counter> = all[0].open("c").await.unwrap();
    let why = all[1].open::<Histogram>("c").await.unwrap_err().to_string();
    assert!(why.contains("is a `counter`, and no `histogram`"), "{why}");
    let why = all[1].get::<Counter>(BlockId(4_711)).await.unwrap_err().to_string();
    assert!(why.contains("there is no block with the id 4711"), "{why}");
    let why = all[1].open::<Counter>("").await.unwrap_err().to_string();
    assert!(why.contains("1 to 255 bytes"), "{why}");
    count.add(1);
    assert_eq!(count.sum().await.unwrap().nodes, 2);
}

#[tokio::test]
async fn a_process_with_another_key_is_not_let_in() {
    let store = memory();
    let all = joined(&store, 1).await;
    let ring = KeyRing::new(&[Key::from_bytes([7; 32])]).unwrap();
    let own = Credentials { ring, cluster: "test".to_owned() };
    let stranger = Settings { own, ..settings() };
    // It can write the store, so it is in the view; but nobody takes a message of it.
    let stranger = Blocks::join(store.clone(), kinds(), stranger).await.unwrap();
    until(&all[0], 2).await;
    let count: Ref<Counter> = all[0].open("c").await.unwrap();
    let mut sum = count.sum();
    drop(stranger);
    assert_eq!(sum.now(), None);
    let record = record::change(
        store.get(&[record::view()]).await.unwrap().records[0].as_ref(),
        [all[0].node()],
    );
    // A person, or its session, ends it.
    store.commit(record.unwrap().0).await.unwrap();
    let sum = sum.await.unwrap();
    assert_eq!((sum.nodes, sum.lost), (1, 1));
}

#[tokio::test]
async fn a_process_that_is_shut_out_is_told() {
    let store = memory();
    let all = joined(&store, 2).await;
    let count: Ref<Counter> = all[1].open("c").await.unwrap();
    count.add(1);
    let seen = store.get(&[record::view()]).await.unwrap();
    let change = record::change(seen.records[0].as_ref(), [all[0].node()]);
    store.commit(change.unwrap().0).await.unwrap();
    let mut view = all[1].view();
    // It ends with the process that it is about.
    while view.changed().await.is_ok() {}
    assert!(count.sum().await.is_err());
}

#[tokio::test]
async fn a_process_that_is_silent_is_lost_when_its_session_ends() {
    let store = memory();
    let all = joined(&store, 1).await;
    // It says that it would take part, and nothing more: nobody was ever connected with it.
    let session = store.open_session(Duration::from_secs(2)).await.unwrap();
    let present = Present { host: "h".to_owned(), address: "127.0.0.1:1".to_owned() };
    store.commit(record::come(Node(session.0), &present, session)).await.unwrap();
    let mut view = all[0].view();
    let kept = async {
        let mut often = tokio::time::interval(Duration::from_millis(50));
        loop {
            often.tick().await;
            store.keep_session(session).await.unwrap();
        }
    };
    tokio::select! {
        () = kept => {}
        seen = view.wait_for(|view| view.has(Node(session.0))) => drop(seen.unwrap()),
    }
    view.wait_for(|view| !view.has(Node(session.0))).await.unwrap();
}

/// Calls go on from several processes while one after the other ends and others join.
#[tokio::test]
async fn a_map_serves_on_while_processes_end_and_join() {
    let store = memory();
    let mut all = joined(&store, 3).await;
    let stays = map(&all[0]).await;
    let mut writers = JoinSet::new();
    let (stop, stopped) = tokio::sync::watch::channel(false);
    for writer in 0..4_u8 {
        let (stays, stopped) = (stays.clone(), stopped.clone());
        writers.spawn(async move {
            let mut count = 0_u64;
            while !*stopped.borrow() || count < 10 {
                count += 1;
                stays.put(&[writer], &count.to_be_bytes()).await.unwrap();
                let read = stays.get(&[writer]).await.unwrap().unwrap();
                assert_eq!(read, count.to_be_bytes());
            }
            (writer, count)
        });
    }
    for round in 0..3_u8 {
        all.push(join(&store).await);
        for blocks in &all {
            until(blocks, 4).await;
        }
        // Each part answers in this view: what is in it is on two sides, of which one ends.
        stays.count().await.unwrap();
        for key in 0..50 {
            map(&all[3]).await.put(&[100, round, key], &[key]).await.unwrap();
        }
        drop(all.remove(1));
        for blocks in &all {
            until(blocks, 3).await;
        }
        for key in 0..50 {
            let read = map(&all[2]).await.get(&[100, round, key]).await.unwrap();
            assert_eq!(read, Some(vec![key]));
        }
    }
    stop.send_replace(true);
    while let Some(ended) = writers.join_next().await {
        let (writer, count) = ended.unwrap();
        let read = map(&all[2]).await.get(&[writer]).await.unwrap();
        assert_eq!(read, Some(count.to_be_bytes().to_vec()));
    }
    assert_eq!(stays.lost_parts(), 0);
    assert_eq!(stays.count().await.unwrap(), 4 + 3 * 50);
}

#[tokio::test]
async fn a_log_has_the_entries_of_all_in_one_order() {
    let store = memory();
    let all = joined(&store, 3).await;
    for (at, blocks) in (0..9_u8).zip(all.iter().cycle()) {
        let log: Ref<DistributedLog> = blocks.open("l").await.unwrap();
        assert_eq!(log.append(&[at]).await.unwrap(), u64::from(at));
    }
    let log: Ref<DistributedLog> = all[1].open("l").await.unwrap();
    let read = log.read(4).await.unwrap();
    assert_eq!((read.first, read.entries.len(), read.end), (4, 5, 9));
    log.trim(7).await.unwrap();
    assert_eq!(log.read(0).await.unwrap().first, 7);
    let entry = vec![0; tidings_blocks::log::MAX_ENTRY_BYTES + 1];
    let why = log.append(&entry).await.unwrap_err().to_string();
    assert!(why.contains("at most 524288 are possible"), "{why}");
}

#[tokio::test]
async fn without_a_store_nobody_joins() {
    let closed = Memory::default();
    closed.close();
    let error = Blocks::join(Arc::new(closed), kinds(), settings()).await.unwrap_err();
    assert!(matches!(error, BlocksError::Store(_)), "{error}");
}

/// It ends when each of its processes has the least cost.
#[test]
fn the_block_of_fifty_lines_tells_all_processes_the_least_cost() {
    example::main().unwrap();
}
