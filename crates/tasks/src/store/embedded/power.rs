//! Losses of power: what a disk holds then is what was synced, and any part of what was written
//! since.
//!
//! All calls of redb to its file are recorded. A disk after a loss of power is made from them: all
//! up to the last sync before the loss, and of the writes after it some, in pages, chosen by a
//! seed. What was acknowledged before the loss must be in it, and nothing by half.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use tidings_primitives::Chance;
use tidings_tasks_core::transaction::{Key, Revision, Transaction};

use super::disk::Call;
use super::holder::Holder;
use super::{Embedded, file};
use crate::store::Store as _;

/// What the disk writes as a whole, in bytes.
const SECTOR_BYTES: usize = 512;
const CLIENTS: u64 = 6;
const STEPS: u64 = 12;

fn key(name: &str, client: u64) -> Key {
    Key::new(format!("{name}/{client}").into_bytes()).unwrap()
}

/// Both halves of a step, at one revision, and now and then much more.
fn step(client: u64, number: u64) -> Transaction {
    let mut step = Transaction::default();
    step.put(key("left", client), number.to_be_bytes());
    step.put(key("right", client), number.to_be_bytes());
    if (client + number) % 5 == 0 {
        step.put(key("large", client), vec![number as u8; 30_000]);
    }
    step
}

/// An acknowledged commit, and how many calls there were when it was acknowledged.
struct Acknowledged {
    client: u64,
    number: u64,
    revision: Revision,
    calls: usize,
}

/// Works on a store; the calls to its file, and what was acknowledged when.
async fn work(path: &Path) -> (Vec<Call>, Vec<Acknowledged>) {
    let holder = Holder::of(path).unwrap();
    let opened = file::open(path, "test").unwrap();
    let disk = opened.disk.clone();
    let store = Arc::new(Embedded::start(path, holder, opened).unwrap());
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (store, disk) = (store.clone(), disk.clone());
            crate::spawn::spawn(async move {
                let mut acknowledged = Vec::new();
                for number in 1..=STEPS {
                    let revision = store.commit(step(client, number)).await.unwrap();
                    let calls = disk.calls();
                    acknowledged.push(Acknowledged { client, number, revision, calls });
                }
                acknowledged
            })
        })
        .collect();
    let mut acknowledged = Vec::new();
    for client in clients {
        acknowledged.extend(client.await.unwrap());
    }
    (disk.recorded(), acknowledged)
}

/// Writes to `path` what the disk may hold if the power fails after so many calls.
fn lose_power(calls: &[Call], path: &Path, chance: &mut Chance) {
    let synced = calls.iter().rposition(|call| *call == Call::Sync).map_or(0, |last| last + 1);
    let mut options = OpenOptions::new();
    let file = options.create(true).truncate(true).write(true).open(path).unwrap();
    for (number, call) in calls.iter().enumerate() {
        match call {
            Call::Sync => {}
            Call::SetLen(len) => {
                if number < synced || chance.bits() % 2 == 0 {
                    file.set_len(*len).unwrap();
                }
            }
            Call::Write(offset, bytes) => {
                for (sector, bytes) in bytes.chunks(SECTOR_BYTES).enumerate() {
                    let at = offset + (sector * SECTOR_BYTES) as u64;
                    if number < synced || chance.bits() % 2 == 0 {
                        file.write_all_at(bytes, at).unwrap();
                    }
                }
            }
        }
    }
}

async fn check(path: &Path, acknowledged: &[Acknowledged], calls: usize) {
    let store = Embedded::open(path, "test").unwrap();
    for client in 0..CLIENTS {
        let found = store.get(&[key("left", client), key("right", client)]).await.unwrap();
        let [left, right] = &found.records[..] else { panic!("two were asked for") };
        let half = left.as_ref().map(|left| (&left.value, left.revision));
        assert_eq!(half, right.as_ref().map(|right| (&right.value, right.revision)));
        let promised = acknowledged.iter().filter(|one| one.client == client && one.calls <= calls);
        let Some(last) = promised.max_by_key(|one| one.number) else { continue };
        let (value, revision) = half.expect("it was acknowledged");
        assert!(value[..] >= last.number.to_be_bytes()[..] && revision >= last.revision);
        assert!(found.revision >= last.revision);
    }
    store.commit(step(0, 1)).await.unwrap();
}

#[tokio::test]
async fn what_was_acknowledged_survives_losses_of_power() {
    let folder = tempfile::tempdir().unwrap();
    let (calls, acknowledged) = work(&folder.path().join("store")).await;
    // Before the second sync or so there is no store yet: it has another name.
    let made = acknowledged.iter().map(|one| one.calls).min().unwrap();
    for seed in 0..60 {
        let mut chance = Chance::new(seed);
        let lost = made + chance.bits() as usize % (calls.len() - made + 1);
        let path = folder.path().join(format!("lost {seed}"));
        lose_power(&calls[..lost], &path, &mut chance);
        check(&path, &acknowledged, lost).await;
    }
}
