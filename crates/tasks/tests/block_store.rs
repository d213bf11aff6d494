//! A store in the memory of processes: it does what a store must do, and loses nothing when the
//! process that owns it, or the one that has it too, is killed.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

mod children;
mod suite;

use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use children::{child, folder_of_child, lines};
use suite::{Place, conform};
use tidings_blocks::pair::Placing;
use tidings_blocks::store::DistributedStore;
use tidings_blocks::table::Kinds;
use tidings_tasks::blocks::{Blocks, Settings};
use tidings_tasks::net::listen::{Served, listen};
use tidings_tasks::net::store::offer::Offer;
use tidings_tasks::store::Store;
use tidings_tasks::store::address::Address;
use tidings_tasks::store::block::BlockStore;
use tidings_tasks::store::memory::Memory;
use tidings_tasks_core::transaction::{Expect, Key, Revision, Session, Transaction};
use tokio::sync::{OnceCell, watch};

/// Silence alone ends nobody here: a machine that is busy is no reason.
fn settings() -> Settings {
    Settings { session_ttl: Duration::from_secs(600), ..Settings::here("test") }
}

fn kinds() -> Kinds {
    Kinds::default().with(DistributedStore)
}

async fn joined(views: &Arc<dyn Store>) -> Arc<Blocks> {
    Arc::new(Blocks::join(views.clone(), kinds(), settings()).await.unwrap())
}

/// Three processes, each of which may be asked.
struct OfThree(Vec<(Arc<Blocks>, BlockStore)>);

impl OfThree {
    async fn begin() -> Self {
        let views: Arc<dyn Store> = Arc::new(Memory::default());
        let mut all = Vec::new();
        for _ in 0..3 {
            let blocks = joined(&views).await;
            let store = BlockStore::open(blocks.clone(), "s").await.unwrap();
            all.push((blocks, store));
        }
        Self(all)
    }
}

#[derive(Default)]
struct InMemories(OnceCell<OfThree>);

#[async_trait]
impl Place for InMemories {
    async fn open(&self) -> Arc<dyn Store> {
        let all = self.0.get_or_init(OfThree::begin).await;
        Arc::new(BlockStore::open(all.0[2].0.clone(), "s").await.unwrap())
    }

    fn lasts(&self) -> bool {
        true
    }

    fn is_shared(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_store_in_memories_conforms() {
    assert!(conform(|| Arc::<InMemories>::default()).await >= 60);
}

#[tokio::test]
async fn a_store_whose_processes_are_all_gone_does_not_begin_again() {
    let views: Arc<dyn Store> = Arc::new(Memory::default());
    let blocks = joined(&views).await;
    let store = BlockStore::open(blocks.clone(), "s").await.unwrap();
    store.commit(write("a")).await.unwrap();
    let node = blocks.node();
    drop((blocks, store));
    // Nobody is left who could find out that it has ended.
    views.close_session(Session(node.0)).await.unwrap();
    let blocks = joined(&views).await;
    let mut view = blocks.view();
    view.wait_for(|view| view.nodes.len() == 1).await.unwrap();
    let store = BlockStore::open(blocks.clone(), "s").await.unwrap();
    let why = store.get(&[]).await.unwrap_err().to_string();
    assert!(why.contains("all of it was lost with the processes that had it"), "{why}");
    assert!(store.commit(write("b")).await.is_err());
    let other = BlockStore::open(blocks, "another").await.unwrap();
    other.commit(write("b")).await.unwrap();
}

fn write(name: &str) -> Transaction {
    let mut transaction = Transaction::default();
    transaction.expect(Key::new(name.as_bytes()).unwrap(), Expect::Absent);
    transaction.put(Key::new(name.as_bytes()).unwrap(), name.as_bytes());
    transaction
}

/// A child: has its share until it is killed. It reaches the store of the views by another process.
#[tokio::test]
async fn a_process_with_its_share() {
    let Some(folder) = folder_of_child() else { return };
    let address = std::fs::read_to_string(folder.join("address")).unwrap();
    let reached = address.parse::<Address>().unwrap().reach(&settings().own).await.unwrap();
    let blocks = Blocks::join_reached(reached, kinds(), settings()).await.unwrap();
    let blocks = Arc::new(blocks);
    let store = BlockStore::open(blocks.clone(), "s").await.unwrap();
    store.get(&[]).await.unwrap();
    println!("node {}", blocks.node());
    core::future::pending::<()>().await;
}

/// A child that is killed when it is dropped.
struct Mortal(Child, u64);

impl Drop for Mortal {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

async fn started(folder: &Path) -> Mortal {
    let mut child = child("a_process_with_its_share", folder);
    let mut told = lines(&mut child, "node ");
    let node = tokio::task::spawn_blocking(move || told.next()).await.unwrap().unwrap();
    Mortal(child, node.parse().unwrap())
}

#[tokio::test]
async fn nothing_is_lost_when_owner_or_backup_are_killed_while_others_write() {
    let views: Arc<dyn Store> = Arc::new(Memory::default());
    let own = settings();
    let listener = listen(&own.listen, &own.own, "here").await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let address = format!("tcp://{}", listener.reached());
    std::fs::write(folder.path().join("address"), address).unwrap();
    let offer = Some(Offer::of_blocks(views.clone()));
    tokio::spawn(listener.serve(Served { store: offer, ..Served::default() }));
    let blocks = joined(&views).await;
    let store = Arc::new(BlockStore::open(blocks.clone(), "s").await.unwrap());
    let mut others = Vec::new();
    for _ in 0..3 {
        others.push(started(folder.path()).await);
    }
    let (stop, stopped) = watch::channel(false);
    let shared = store.clone();
    let writer = tokio::spawn(async move {
        let mut acknowledged = Vec::new();
        while !*stopped.borrow() {
            let name = format!("k/{}", acknowledged.len());
            acknowledged.push(shared.commit(write(&name)).await.unwrap());
        }
        acknowledged
    });
    let mut roles = [0, 0];
    for _ in 0..6 {
        let mut view = blocks.view();
        let nodes = view.wait_for(|view| view.nodes.len() == 4).await.unwrap().nodes.clone();
        // It is answered in this view, so it has two copies in it.
        store.get(&[]).await.unwrap();
        let placing = Placing::of(0, &nodes).unwrap();
        let role = usize::from(placing.owner == blocks.node());
        let victim = [Some(placing.owner), placing.backup][role].unwrap();
        roles[role] += 1;
        others.retain(|child| child.1 != victim.0);
        store.get(&[]).await.unwrap();
        view.wait_for(|view| !view.has(victim)).await.unwrap();
        others.push(started(folder.path()).await);
    }
    stop.send_replace(true);
    let acknowledged: Vec<Revision> = writer.await.unwrap();
    assert!(roles[0] > 0 && acknowledged.len() > 6, "{roles:?}, {}", acknowledged.len());
    assert!(acknowledged.windows(2).all(|pair| pair[0] < pair[1]));
    for (number, revision) in acknowledged.iter().enumerate() {
        let key = Key::new(format!("k/{number}").into_bytes()).unwrap();
        let found = store.get(&[key]).await.unwrap().records.pop().flatten().unwrap();
        assert_eq!(found.revision, *revision);
    }
}
