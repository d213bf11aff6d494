//! The engine etcd beside real servers: it does what a store must do, and loses nothing when
//! servers die.

#![cfg(feature = "etcd")]
#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

mod servers;
mod suite;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use async_trait::async_trait;
use servers::Servers;
use suite::concurrent::{Operation, assert_linearizable};
use suite::{Place, conform};
use tidings_tasks::store::address::{Address, OpenError};
use tidings_tasks::store::etcd::{Etcd, Examined, OpenError as EtcdError, examine};
use tidings_tasks::store::{Store, WatchError};
use tidings_tasks_core::transaction::{CommitError, Expect, Key, Revision, Transaction};
use tokio::sync::watch;

/// A prefix of its own in an etcd that all cases share.
struct Below {
    servers: Arc<Servers>,
    prefix: String,
}

#[async_trait]
impl Place for Below {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.servers.open(&self.prefix).await)
    }

    fn lasts(&self) -> bool {
        true
    }

    fn is_shared(&self) -> bool {
        true
    }
}

async fn conforms(servers: Servers) {
    let (servers, used) = (Arc::new(servers), AtomicU32::new(0));
    let place = || {
        let prefix = format!("case/{}", used.fetch_add(1, Ordering::Relaxed));
        Arc::new(Below { servers: servers.clone(), prefix }) as Arc<dyn Place>
    };
    assert!(conform(place).await >= 60);
}

#[tokio::test]
async fn one_server_conforms() {
    conforms(Servers::start(1)).await;
}

#[tokio::test]
async fn three_servers_conform() {
    conforms(Servers::start(3)).await;
}

#[tokio::test]
async fn a_store_is_that_of_one_cluster() {
    let servers = Servers::start(1);
    servers.open("a").await;
    let place = servers.place("a");
    let refused = Etcd::open(&place, "another").await.err();
    assert!(matches!(refused, Some(EtcdError::Cluster { .. })), "{refused:?}");
    // What others have written there is not taken over.
    let puts = servers.ask(0, &["put", "b//store", "hello"]);
    assert_eq!(puts.trim(), "OK");
    let refused = Address::Etcd(servers.place("b")).open("test").await.err();
    assert!(matches!(refused, Some(OpenError::Etcd(EtcdError::NoStore { .. }))), "{refused:?}");
    servers.open("c").await;
    assert!(servers.ask(0, &["get", "c//store"]).contains("cluster test"));
}

#[tokio::test]
async fn a_store_of_another_version_is_refused_as_it_is() {
    let servers = Servers::start(1);
    let written = "tidings format 2\ncluster test\nwhat this program does not know\n";
    servers.ask(0, &["put", "a//store", written]);
    let refused = Etcd::open(&servers.place("a"), "test").await.err();
    assert!(matches!(refused, Some(EtcdError::Format { found: 2, .. })), "{refused:?}");
    assert!(servers.ask(0, &["get", "a//store"]).contains(written.trim_end()));
}

#[tokio::test]
async fn stores_in_one_etcd_do_not_meet() {
    let servers = Servers::start(1);
    let (one, other) = (servers.open("a").await, servers.open("a/k").await);
    let mut write = Transaction::default();
    write.put(key("same"), *b"one");
    one.commit(write).await.unwrap();
    assert_eq!(other.get(&[key("same")]).await.unwrap().records, [None]);
    let page = other.scan(&key("\0"), None, 10).await.unwrap();
    assert_eq!((page.records, page.next), (Vec::new(), None));
}

#[tokio::test]
async fn without_servers_nothing_is_opened() {
    let mut servers = Servers::start(1);
    let place = servers.place("a");
    servers.kill(0);
    let refused = Etcd::open(&place, "test").await.err();
    assert!(matches!(refused, Some(EtcdError::Unreachable { .. })), "{refused:?}");
}

#[tokio::test]
async fn a_commit_without_a_connection_is_known_to_have_failed() {
    let mut servers = Servers::start(1);
    let store = servers.open("a").await;
    servers.kill(0);
    let mut write = Transaction::default();
    write.put(key("a"), *b"1");
    // The first may use the connection that has just broken.
    let first = store.commit(write.clone()).await;
    assert!(matches!(first, Err(CommitError::Unknown | CommitError::Lost(_))), "{first:?}");
    let second = store.commit(write).await;
    assert!(matches!(second, Err(CommitError::Lost(_))), "{second:?}");
}

/// Whether a fault with these words was found.
fn is_said(found: &Examined, words: &str) -> bool {
    found.faults.iter().any(|fault| fault.contains(words))
}

/// Version 3.4 has no such option.
#[tokio::test]
async fn an_etcd_that_does_not_sync_is_refused_where_there_is_one() {
    const UNSYNCED: &str = "--unsafe-no-fsync";
    if !Servers::has_option(UNSYNCED) {
        Servers::start(1).open("a").await;
        return;
    }
    let mut servers = Servers::start_with(1, &[UNSYNCED]);
    let place = servers.place("a");
    let refused = Etcd::open(&place, "test").await.err();
    assert!(matches!(refused, Some(EtcdError::Unsynced { .. })), "{refused:?}");
    assert!(refused.unwrap().to_string().contains(UNSYNCED));
    assert!(is_said(&examine(&place).await, UNSYNCED));
    servers.kill(0);
    servers.restart_with(0, &[]);
    servers.open("a").await;
}

#[tokio::test]
async fn a_full_etcd_refuses_what_is_put_and_goes_on_once_it_has_space() {
    let mut servers = Servers::start_with(1, &["--quota-backend-bytes", "16777216"]);
    let store = servers.open("a").await;
    let fill = |number: u32| key(&format!("fill/{number}"));
    let mut written = 0;
    let refused = loop {
        assert!(written < 400, "an etcd of 16 MiB has taken 200");
        let mut write = Transaction::default();
        write.put(fill(written), vec![7; 512 << 10]);
        match store.commit(write).await {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
    };
    let has_remedy = matches!(&refused, CommitError::Full(why) if why.contains("alarm disarm"));
    assert!(has_remedy, "{refused:?}");
    let found = examine(&servers.place("a")).await;
    assert!(is_said(&found, "NOSPACE") && is_said(&found, "quota-backend-bytes"), "{found:?}");
    assert_eq!(found.commits, None, "none can be made");
    let found = store.get(&[fill(written - 1), fill(written)]).await.unwrap().records;
    assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false]);
    servers.kill(0);
    servers.restart_with(0, &["--quota-backend-bytes", "1073741824"]);
    servers.ask(0, &["alarm", "disarm"]);
    let mut write = Transaction::default();
    write.put(fill(0), *b"1");
    // The first may use the connection to the server that was killed.
    let again = store.commit(write.clone()).await.is_err();
    assert!(!again || store.commit(write).await.is_ok());
}

/// Clients of the counter.
const CLIENTS: usize = 4;

/// Increments between two events.
const ROUND: u64 = 50;

/// What happened to one client's increments.
#[derive(Default)]
struct Increments {
    /// What they made of the counter, and at which revision.
    acknowledged: Vec<(u64, Revision)>,
    unknown: u64,
}

/// Counts until `done`, and tells how many increments of all clients were acknowledged.
async fn count(
    store: Arc<Etcd>,
    acknowledged: Arc<watch::Sender<u64>>,
    done: watch::Receiver<bool>,
) -> Increments {
    let mut increments = Increments::default();
    while !*done.borrow() {
        let Ok(mut found) = store.get(&[key("count")]).await else { continue };
        let found = found.records.remove(0);
        let next = found.as_ref().map_or(0, |found| number(&found.value)) + 1;
        let mut write = Transaction::default();
        let expect = found.map_or(Expect::Absent, |found| Expect::At(found.revision));
        write.expect(key("count"), expect);
        write.put(key("count"), next.to_be_bytes());
        write.put(key(&format!("step/{next}")), next.to_be_bytes());
        match store.commit(write).await {
            Ok(revision) => {
                increments.acknowledged.push((next, revision));
                acknowledged.send_modify(|count| *count += 1);
            }
            Err(CommitError::Conflict { .. } | CommitError::Lost(_)) => {}
            Err(CommitError::Unknown) => increments.unknown += 1,
            Err(error) => panic!("{error}"),
        }
    }
    increments
}

/// Sees the counter's values one after the other, up to `last`.
async fn see_all(store: Arc<Etcd>, begin: Revision, last: watch::Receiver<u64>) -> u64 {
    let mut changes = store.watch(b"count", begin).await.unwrap();
    let mut seen = 0;
    while seen != *last.borrow() {
        match changes.next().await {
            Ok(batch) => {
                for event in batch.events {
                    seen += 1;
                    assert_eq!(number(&event.value.unwrap()), seen);
                }
            }
            Err(error) => panic!("{}", WatchError::to_string(&error)),
        }
    }
    seen
}

#[tokio::test]
async fn nothing_is_lost_while_servers_die() {
    let servers = Arc::new(Mutex::new(Servers::start(3)));
    let place = servers.lock().unwrap().place("count");
    let store = Arc::new(Etcd::open(&place, "test").await.unwrap());
    let begin = store.get(&[]).await.unwrap().revision;
    let (acknowledged, mut news) = watch::channel(0);
    let (acknowledged, (stop, done)) = (Arc::new(acknowledged), watch::channel(false));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| tokio::spawn(count(store.clone(), acknowledged.clone(), done.clone())))
        .collect();
    let (end, last) = watch::channel(u64::MAX);
    let watcher = tokio::spawn(see_all(store.clone(), begin, last));
    for victim in ["leader", "leader", "any"] {
        more(&mut news).await;
        let number = off(&servers, move |servers| {
            let number = if victim == "leader" { leader(servers) } else { 0 };
            servers.kill(number);
            number
        })
        .await;
        more(&mut news).await;
        off(&servers, move |servers| servers.restart(number)).await;
    }
    more(&mut news).await;
    stop.send_replace(true);
    let (mut all, mut unknown) = (Vec::new(), 0);
    for client in clients {
        let increments = client.await.unwrap();
        all.extend(increments.acknowledged);
        unknown += increments.unknown;
    }
    let value = number(&value(&store, "count").await.unwrap().value);
    let known = all.len() as u64;
    assert!((known..=known + unknown).contains(&value), "{known} + {unknown}: {value}");
    for (step, revision) in all {
        let found = self::value(&store, &format!("step/{step}")).await;
        assert_eq!(found.map(|found| found.revision), Some(revision), "increment {step}");
    }
    // One more change, so that the watcher looks whether it has seen all.
    end.send_replace(value + 1);
    let mut write = Transaction::default();
    write.put(key("count"), (value + 1).to_be_bytes());
    store.commit(write).await.unwrap();
    assert_eq!(watcher.await.unwrap(), value + 1);
}

/// What one client did with a register.
#[derive(Default)]
struct Register {
    history: Vec<Operation>,
    /// What it found, and at which revision that was written.
    found: Vec<(Revision, Vec<u8>)>,
    /// Writes of which nobody said whether they were made: when they began, and of what.
    unknown: Vec<(Instant, Vec<u8>)>,
}

/// Reads and writes a register until `done`, and says how many operations of all clients ended.
async fn read_and_write(
    store: Arc<Etcd>,
    client: u8,
    ended: Arc<watch::Sender<u64>>,
    done: watch::Receiver<bool>,
) -> Register {
    let mut register = Register::default();
    for round in 0_u32.. {
        if *done.borrow() {
            break;
        }
        let (begin, writes) = (Instant::now(), (round + u32::from(client)) % 3 == 0);
        let (revision, value) = if writes {
            let value = [&[client][..], &round.to_be_bytes()].concat();
            let mut write = Transaction::default();
            write.put(key("register"), value.clone());
            match store.commit(write).await {
                Ok(revision) => (revision, Some(value)),
                Err(CommitError::Unknown) => {
                    register.unknown.push((begin, value));
                    continue;
                }
                Err(CommitError::Lost(_)) => continue,
                Err(error) => panic!("{error}"),
            }
        } else {
            let Ok(mut snapshot) = store.get(&[key("register")]).await else { continue };
            let found = snapshot.records.remove(0);
            let found = found.map(|record| (record.revision, record.value.into_vec()));
            register.found.extend(found.clone());
            (snapshot.revision, found.map(|(_, value)| value))
        };
        let end = Some(Instant::now());
        register.history.push(Operation { begin, end, revision, value, writes });
        ended.send_modify(|count| *count += 1);
    }
    register
}

/// Of writes without an answer those that somebody has seen, at the revision at which they were
/// made. What nobody has seen explains nothing.
fn made_after_all(registers: &[Register]) -> Vec<Operation> {
    let found: BTreeMap<&[u8], Revision> = registers
        .iter()
        .flat_map(|register| &register.found)
        .map(|(revision, value)| (&**value, *revision))
        .collect();
    let unknown = registers.iter().flat_map(|register| &register.unknown);
    let made = unknown.filter_map(|(begin, value)| Some((begin, value, *found.get(&**value)?)));
    made.map(|(&begin, value, revision)| {
        let value = Some(value.clone());
        Operation { begin, end: None, revision, value, writes: true }
    })
    .collect()
}

/// A leader that is stopped does not know that there is another one, and answers when it goes on.
#[tokio::test]
async fn a_register_is_linearizable_while_servers_die_and_are_silent() {
    let servers = Arc::new(Mutex::new(Servers::start(3)));
    let place = servers.lock().unwrap().place("register");
    let (ended, mut news) = watch::channel(0);
    let (ended, (stop, done)) = (Arc::new(ended), watch::channel(false));
    let mut clients = Vec::new();
    for client in 0..8 {
        // Each with connections of its own, so that some are to the server to which it happens.
        let store = Arc::new(Etcd::open(&place, "test").await.unwrap());
        let working = read_and_write(store, client, ended.clone(), done.clone());
        clients.push(tokio::spawn(working));
    }
    for is_killed in [false, true, false] {
        more(&mut news).await;
        let number = off(&servers, move |servers| {
            let number = leader(servers);
            if is_killed {
                servers.kill(number);
            } else {
                servers.freeze(number);
            }
            number
        })
        .await;
        more(&mut news).await;
        off(
            &servers,
            move |servers| {
                if is_killed { servers.restart(number) } else { servers.thaw(number) }
            },
        )
        .await;
    }
    more(&mut news).await;
    stop.send_replace(true);
    let mut registers = Vec::new();
    for client in clients {
        registers.push(client.await.unwrap());
    }
    let mut history = made_after_all(&registers);
    history.extend(registers.into_iter().flat_map(|register| register.history));
    assert_linearizable(&history);
}

/// Waits until so many more increments were acknowledged.
async fn more(news: &mut watch::Receiver<u64>) {
    let until = *news.borrow() + ROUND;
    news.wait_for(|count| *count >= until).await.unwrap();
}

/// The server that leads, once there is one.
fn leader(servers: &Servers) -> usize {
    core::iter::repeat_with(|| servers.leader()).find_map(|found| found).unwrap()
}

/// Does something with the servers beside the clients.
async fn off<T: Send + 'static>(
    servers: &Arc<Mutex<Servers>>,
    what: impl FnOnce(&mut Servers) -> T + Send + 'static,
) -> T {
    let servers = servers.clone();
    tokio::task::spawn_blocking(move || what(&mut servers.lock().unwrap())).await.unwrap()
}

async fn value(store: &Etcd, name: &str) -> Option<tidings_tasks_core::transaction::Record> {
    store.get(&[key(name)]).await.unwrap().records.remove(0)
}

fn key(name: &str) -> Key {
    Key::new(name.as_bytes()).unwrap()
}

fn number(value: &[u8]) -> u64 {
    u64::from_be_bytes(value.try_into().unwrap())
}
