//! A store that another process has open: it does what a store must do, over the network and over
//! the socket of a host, and says what is not known when that process ends.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

#[path = "../examples/place.rs"]
#[allow(dead_code, reason = "it is a program as well")]
mod place;
mod suite;

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use async_trait::async_trait;
use suite::{Place, conform};
use tidings_blocks::block::Reach;
use tidings_primitives::KeyRing;
use tidings_tasks::blocks::{Blocks, Settings};
use tidings_tasks::member::{Member, Network};
use tidings_tasks::net::Credentials;
use tidings_tasks::net::endpoint::Endpoint;
use tidings_tasks::net::listen::{Served, listen};
use tidings_tasks::net::store::offer::Offer;
use tidings_tasks::net::store::remote::RemoteStore;
use tidings_tasks::service::Options;
use tidings_tasks::store::address::Address;
use tidings_tasks::store::memory::Memory;
use tidings_tasks::store::reach::Reached;
use tidings_tasks::store::{Lost, SessionError, Snapshot, Store, Watch, WatchError};
use tidings_tasks_core::ledger::Page;
use tidings_tasks_core::reign::Candidate;
use tidings_tasks_core::transaction::{CommitError, Key, Limits, Revision, Session, Transaction};
use tokio::sync::{OnceCell, mpsc, oneshot};

fn own() -> Credentials {
    Credentials { ring: KeyRing::open("test"), cluster: "test".to_owned() }
}

async fn offered(at: &str, store: Arc<dyn Store>, prefix: &'static [u8]) -> Endpoint {
    let listener = listen(&at.parse().unwrap(), &own(), "here").await.unwrap();
    let place = listener.reached().clone();
    let store = Some(Offer::new(store, prefix));
    tokio::spawn(listener.serve(Served { store, ..Served::default() }));
    place
}

/// A store in the memory of this process, used over TCP.
#[derive(Default)]
struct OverTcp(OnceCell<Endpoint>);

#[async_trait]
impl Place for OverTcp {
    async fn open(&self) -> Arc<dyn Store> {
        let begin = || offered("127.0.0.1:0", Arc::new(Memory::default()), b"");
        let place = self.0.get_or_init(begin).await;
        Arc::new(RemoteStore::at(place, &own()).await.unwrap())
    }

    fn lasts(&self) -> bool {
        true
    }

    fn is_shared(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_store_over_tcp_conforms() {
    assert!(conform(|| Arc::<OverTcp>::default()).await >= 60);
}

fn key(text: &str) -> Key {
    Key::new(text.as_bytes()).unwrap()
}

fn put(text: &str) -> Transaction {
    let mut transaction = Transaction::default();
    transaction.put(key(text), &b"1"[..]);
    transaction
}

/// A process that serves a store, and ends with all its connections.
struct Server(Option<(oneshot::Sender<()>, JoinHandle<()>)>);

impl Server {
    async fn begin(at: &str, store: Arc<dyn Store>) -> (Self, Endpoint) {
        let ((stop, stopped), (told, place)) = (oneshot::channel(), oneshot::channel());
        let at = at.to_owned();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                told.send(offered(&at, store, b"").await).unwrap();
                let _ = stopped.await;
            });
        });
        (Self(Some((stop, thread))), place.await.unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let (stop, thread) = self.0.take().unwrap();
        drop(stop);
        thread.join().unwrap();
    }
}

/// A store that commits, and answers when it is asked no more.
struct Silent {
    store: Memory,
    committed: mpsc::Sender<()>,
}

#[async_trait]
impl Store for Silent {
    async fn commit(&self, transaction: Transaction) -> Result<Revision, CommitError> {
        self.store.commit(transaction).await?;
        self.committed.send(()).await.unwrap();
        core::future::pending().await
    }
    async fn get(&self, keys: &[Key]) -> Result<Snapshot, Lost> {
        self.store.get(keys).await
    }
    async fn scan(&self, from: &Key, end: Option<&Key>, limit: usize) -> Result<Page, Lost> {
        self.store.scan(from, end, limit).await
    }
    async fn watch(&self, prefix: &[u8], after: Revision) -> Result<Box<dyn Watch>, WatchError> {
        self.store.watch(prefix, after).await
    }
    async fn open_session(&self, ttl: Duration) -> Result<Session, SessionError> {
        self.store.open_session(ttl).await
    }
    async fn keep_session(&self, session: Session) -> Result<(), SessionError> {
        self.store.keep_session(session).await
    }
    async fn close_session(&self, session: Session) -> Result<(), SessionError> {
        self.store.close_session(session).await
    }
    async fn compact(&self, before: Revision) -> Result<(), Lost> {
        self.store.compact(before).await
    }
    fn limits(&self) -> Limits {
        self.store.limits()
    }
}

#[tokio::test]
async fn a_commit_whose_answer_is_lost_is_unknown_and_reads_go_on_with_the_next_process() {
    let (committed, mut commits) = mpsc::channel(1);
    let silent = Silent { store: Memory::default(), committed };
    let behind = silent.store.clone();
    let (server, place) = Server::begin("127.0.0.1:0", Arc::new(silent)).await;
    let store = Arc::new(RemoteStore::at(&place, &own()).await.unwrap());
    let mut watch = store.watch(b"", Revision(0)).await.unwrap();
    let asks = store.clone();
    let asked = tokio::spawn(async move { asks.commit(put("a")).await });
    commits.recv().await.unwrap();
    assert_eq!(watch.next().await.unwrap().events.len(), 1);
    drop(server);
    assert_eq!(asked.await.unwrap(), Err(CommitError::Unknown));
    assert!(matches!(watch.next().await, Err(WatchError::Lost(_))));
    // Nobody listens there: nothing is written, and that is known.
    let refused = store.commit(put("b")).await;
    assert!(matches!(refused, Err(CommitError::Lost(_))), "{refused:?}");
    // It is asked again over another connection, of whoever serves there then.
    let (_server, _) = Server::begin(&place.to_string(), Arc::new(behind)).await;
    let found = store.get(&[key("a"), key("b")]).await.unwrap().records;
    assert!(found[0].is_some() && found[1].is_none());
    assert!(store.commit(put("b")).await.is_ok());
}

#[tokio::test]
async fn nothing_is_read_or_written_but_what_is_offered() {
    let memory = Memory::default();
    memory.commit_now(put("a/secret")).unwrap();
    let place = offered("127.0.0.1:0", Arc::new(memory.clone()), b"b/").await;
    let store = RemoteStore::at(&place, &own()).await.unwrap();
    let refused = store.commit(put("c/1")).await.unwrap_err().to_string();
    assert!(refused.contains("c/1 is not offered here, but keys that begin with b/"), "{refused}");
    let mut conditional = put("b/1");
    conditional.expect(key("a/secret"), tidings_tasks_core::transaction::Expect::Present);
    assert!(matches!(store.commit(conditional).await, Err(CommitError::Invalid(_))));
    assert!(store.get(&[key("b/1"), key("a/secret")]).await.is_err());
    assert!(store.scan(&key("a"), None, 10).await.is_err());
    assert!(store.watch(b"", Revision(0)).await.is_err());
    assert!(store.compact(Revision(1)).await.is_err());
    store.commit(put("b/1")).await.unwrap();
    memory.commit_now(put("c/2")).unwrap();
    let page = store.scan(&key("b/"), None, 10).await.unwrap();
    assert_eq!((page.records.len(), page.next), (1, None));
    let mut watch = store.watch(b"b/", Revision(0)).await.unwrap();
    assert_eq!(watch.next().await.unwrap().events.len(), 1);
}

fn holder(file: &Path, listen: Option<Endpoint>) -> Member {
    let name = "holder".to_owned();
    let candidate = Candidate { name, host: "here".into(), address: String::new(), session: None };
    let network = Network { ring: KeyRing::open("test"), listen };
    let address = Address::File(file.into());
    Member::join_over(network, address, "test", candidate, Options::default())
}

#[tokio::test]
async fn a_store_in_a_file_is_reached_through_the_process_that_holds_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store");
    let member = holder(&file, Some("127.0.0.1:0".parse().unwrap()));
    let at = member.listens().await;
    let (near, far) = (Address::File(file.clone()), Address::Tcp(at));
    let (near, far) = (near.reach(&own()).await.unwrap(), far.reach(&own()).await.unwrap());
    assert_eq!((near.by, far.by), (Reach::Through, Reach::Through));
    let made = near.store.commit(put("b/1")).await.unwrap();
    let found = far.store.get(&[key("b/1")]).await.unwrap();
    assert_eq!(found.records[0].as_ref().map(|record| record.revision), Some(made));
    assert!(near.store.commit(put("e/1")).await.is_err());
    member.leave().await;
    drop(member);
    let direct = loop {
        // The lock of the file goes with the holder's last task.
        match Address::File(file.clone()).reach(&own()).await {
            Ok(reached) if reached.by == Reach::Direct => break reached,
            _ => tokio::task::yield_now().await,
        }
    };
    assert!(direct.store.get(&[key("b/1")]).await.unwrap().records[0].is_some());
    let nowhere = Address::Tcp(Endpoint { host: "127.0.0.1".to_owned(), port: 1 });
    let why = nowhere.reach(&own()).await.unwrap_err().to_string();
    assert!(why.contains("does a process that has the store open run there"), "{why}");
}

#[tokio::test]
async fn each_process_uses_the_implementation_for_its_place() {
    let store: Arc<dyn Store> = Arc::new(Memory::default());
    let at = Address::Tcp(offered("127.0.0.1:0", store.clone(), b"b/").await);
    // Silence alone ends nobody here.
    let settings = Settings { session_ttl: Duration::from_secs(600), ..Settings::here("test") };
    let join = async |reached| {
        let blocks = Blocks::join_reached(reached, place::kinds(), settings.clone()).await.unwrap();
        (blocks.open::<place::Known>("settings").await.unwrap(), blocks)
    };
    let (asks, _through) = join(at.reach(&own()).await.unwrap()).await;
    let early = asks.value("photons");
    let direct = || Reached { store: store.clone(), by: Reach::Direct };
    let (knows, first) = join(direct()).await;
    // Where the store is open it is there at once, elsewhere somebody is asked.
    assert_eq!(knows.value("photons").now(), Some(Ok(Some("4000000".to_owned()))));
    assert_eq!(early.await.unwrap().as_deref(), Some("4000000"));
    assert_eq!(asks.value("none").await.unwrap(), None);
    let (_, _second) = join(direct()).await;
    drop((knows, first));
    assert_eq!(asks.value("photons").await.unwrap().as_deref(), Some("4000000"));
}
