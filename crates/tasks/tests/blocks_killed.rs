//! Processes that share a map over a real etcd and are killed, one after the other.
//!
//! `TIDINGS_MAP_KEYS=1000000 cargo test --workspace --locked --test blocks_killed` has a million
//! keys, and takes some minutes.

#![cfg(feature = "etcd")]
#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

mod children;
mod servers;

use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use children::{child, folder_of_child, lines};
use servers::Servers;
use tidings_blocks::Ref;
use tidings_blocks::map::DistributedMap;
use tidings_blocks::table::Kinds;
use tidings_tasks::blocks::{Blocks, Settings};
use tidings_tasks::store::address::Address;
use tokio::task::JoinSet;

/// Calls on their way at a time.
const CALLERS: usize = 64;

/// How many keys the map has.
fn keys() -> u32 {
    std::env::var("TIDINGS_MAP_KEYS").map_or(300, |keys| keys.parse().unwrap())
}

/// Takes part in the store that the folder names. Silence alone ends nobody here.
async fn join(folder: &Path) -> Blocks {
    let address = std::fs::read_to_string(folder.join("address")).unwrap();
    let store = address.parse::<Address>().unwrap().open("test").await.unwrap();
    let kinds = Kinds::default().with(DistributedMap { parts: 16 });
    let settings = Settings { session_ttl: Duration::from_secs(60), ..Settings::here("test") };
    Blocks::join(Arc::clone(&store), kinds, settings).await.unwrap()
}

async fn map(blocks: &Blocks) -> Ref<DistributedMap> {
    blocks.open("m").await.unwrap()
}

/// A child: has its share until it is killed.
#[tokio::test]
async fn a_process_with_its_share() {
    let Some(folder) = folder_of_child() else { return };
    let blocks = join(&folder).await;
    map(&blocks).await.count().await.unwrap();
    println!("node {}", blocks.node());
    core::future::pending::<()>().await;
}

/// A child that is killed when it is dropped.
struct Mortal(Child);

impl Drop for Mortal {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

async fn started(folder: &Path) -> Mortal {
    let mut child = Mortal(child("a_process_with_its_share", folder));
    let mut told = lines(&mut child.0, "node ");
    tokio::task::spawn_blocking(move || told.next()).await.unwrap().unwrap();
    child
}

async fn until(blocks: &Blocks, count: usize) {
    blocks.view().wait_for(|view| view.nodes.len() == count).await.unwrap();
}

/// Calls the map for each key, some at a time.
async fn for_each_key<F: Future<Output = ()> + Send>(
    map: &Ref<DistributedMap>,
    call: impl Fn(Ref<DistributedMap>, u32) -> F + Copy + Send + 'static,
) {
    let mut callers = JoinSet::new();
    for first in 0..CALLERS as u32 {
        let map = map.clone();
        callers.spawn(async move {
            for key in (first..keys()).step_by(CALLERS) {
                call(map.clone(), key).await;
            }
        });
    }
    while let Some(ended) = callers.join_next().await {
        ended.unwrap();
    }
}

async fn check(map: &Ref<DistributedMap>) {
    for_each_key(map, |map, key| async move {
        let value = map.get(&key.to_be_bytes()).await.unwrap();
        assert_eq!(value, Some(vec![key as u8; 100]), "key {key}");
    })
    .await;
    assert_eq!((map.count().await.unwrap(), map.lost_parts()), (keys().into(), 0));
}

#[tokio::test]
async fn a_map_loses_nothing_when_one_process_after_the_other_is_killed() {
    let servers = Servers::start(1);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("address"), servers.address("blocks")).unwrap();
    let own = join(folder.path()).await;
    let shared = map(&own).await;
    let mut others = vec![started(folder.path()).await, started(folder.path()).await];
    for_each_key(&shared, |map, key| async move {
        map.put(&key.to_be_bytes(), &[key as u8; 100]).await.unwrap();
    })
    .await;
    for _ in 0..3 {
        others.push(started(folder.path()).await);
        until(&own, 4).await;
        // Each part answers in this view, so each has two copies in it.
        check(&shared).await;
        // Calls are on their way while one dies.
        let (serving, killed) = (shared.clone(), others.remove(0));
        let checked = tokio::spawn(async move { check(&serving).await });
        tokio::task::spawn_blocking(move || drop(killed)).await.unwrap();
        checked.await.unwrap();
        until(&own, 3).await;
    }
}
