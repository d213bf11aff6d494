//! The side without the store: an engine whose calls another process does.
//!
//! It connects when it is first used, and again whenever it is used after its connection has ended.
//! What was asked and not answered then: what changes nothing is asked once more, and of a commit
//! it is unknown whether it was done. The connection is driven by the runtime in which it was
//! opened, so calls may be made from any.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex as Shared, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use minicbor::bytes::ByteVec;
use tidings_tasks_core::ledger::Page;
use tidings_tasks_core::transaction::{CommitError, Key, Limits, Revision, Session, Transaction};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::said::{Ask, HELLO, Number, Say};
use crate::frame;
use crate::net::endpoint::Endpoint;
use crate::net::{Credentials, connect};
use crate::store::{Batch, Lost, SessionError, Snapshot, Store, Watch, WatchError};

/// Calls that wait to be written.
const CALLS: usize = 64;

/// The time in which a call is answered. A process that is frozen keeps its connections.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes of one batch of changes, which a store that is right never has: commits are far smaller.
const MAX_BATCH_BYTES: usize = 64 << 20;

/// What is said where an answer does not fit its question.
const ODD: &str = "it answers what was not asked: use programs of one version";

type Reading = Box<dyn AsyncRead + Send + Unpin>;
type Writing = Box<dyn AsyncWrite + Send + Unpin>;

/// A store that another process has open.
#[derive(Debug)]
pub struct RemoteStore {
    way: Way,
    limits: Limits,
    runtime: Handle,
    line: Mutex<Option<mpsc::Sender<Asked>>>,
}

/// The way to that process.
#[derive(Clone, Debug)]
enum Way {
    Network(Endpoint, Credentials),
    /// The socket of this host.
    Socket(PathBuf),
}

/// A call, and where its answer is expected.
type Asked = (Ask, oneshot::Sender<Say>);

/// Calls that were written, by their numbers.
type Waiting = Shared<BTreeMap<Number, oneshot::Sender<Say>>>;

/// Why there is no answer.
#[derive(Debug)]
enum Broken {
    /// It was not asked.
    Before(String),
    /// It may have been done.
    After,
}

impl Broken {
    fn why(self) -> String {
        match self {
            Self::Before(why) => why,
            Self::After => "the connection has ended before the answer".to_owned(),
        }
    }
}

impl RemoteStore {
    /// The store that is offered at a place of the network. Needs a runtime of tokio with time and
    /// I/O, which drives its connections.
    ///
    /// # Errors
    /// Nobody offers one there, or lets this process in.
    pub async fn at(place: &Endpoint, own: &Credentials) -> Result<Self, Lost> {
        Self::open(Way::Network(place.clone(), own.clone())).await
    }

    /// The store that is offered at a socket of this host, otherwise the same.
    ///
    /// # Errors
    /// Nobody offers one there.
    pub async fn behind(socket: PathBuf) -> Result<Self, Lost> {
        Self::open(Way::Socket(socket)).await
    }

    async fn open(way: Way) -> Result<Self, Lost> {
        let limits = Limits {
            operations: 0,
            bytes: 0,
            durability: tidings_tasks_core::transaction::Durability::Volatile,
        };
        let mut store = Self { way, limits, runtime: Handle::current(), line: Mutex::default() };
        store.limits = match store.ask(Ask::Limits).await {
            Ok(Say::Limits(limits)) => limits,
            other => return Err(Lost(odd(other))),
        };
        Ok(store)
    }

    /// Asks something that may be asked again.
    async fn ask(&self, ask: Ask) -> Result<Say, Broken> {
        match self.call(ask.clone()).await {
            Err(Broken::After) => self.call(ask).await,
            other => other,
        }
    }

    async fn call(&self, ask: Ask) -> Result<Say, Broken> {
        let line = self.line().await.map_err(Broken::Before)?;
        let (answer, said) = oneshot::channel();
        if line.send((ask, answer)).await.is_err() {
            return Err(Broken::After);
        }
        match tokio::time::timeout(PATIENCE, said).await {
            Ok(Ok(say)) => Ok(say),
            _ => Err(Broken::After),
        }
    }

    /// The connection that there is, or a new one.
    async fn line(&self) -> Result<mpsc::Sender<Asked>, String> {
        let mut line = self.line.lock().await;
        if let Some(present) = line.as_ref().filter(|present| !present.is_closed()) {
            return Ok(present.clone());
        }
        let (reading, writing) = self.connect().await?;
        let (sender, asked) = mpsc::channel(CALLS);
        self.runtime.spawn(drive(reading, writing, asked));
        *line = Some(sender.clone());
        Ok(sender)
    }

    async fn connect(&self) -> Result<(Reading, Writing), String> {
        let way = self.way.clone();
        let connecting = self.runtime.spawn(async move { way.open().await });
        connecting.await.unwrap_or_else(|_| Err("this process ends".to_owned()))
    }
}

impl Way {
    async fn open(self) -> Result<(Reading, Writing), String> {
        match self {
            Self::Network(at, own) => {
                let opened = connect::open(&at, &own, HELLO).await;
                let (reading, writing) = opened.map_err(|error| error.to_string())?;
                Ok((Box::new(reading), Box::new(writing)))
            }
            Self::Socket(path) => {
                let opened = greeted(&path).await;
                let stream = opened.map_err(|error| format!("{}: {error}", path.display()))?;
                let (reading, writing) = stream.into_split();
                Ok((Box::new(BufReader::new(reading)), Box::new(writing)))
            }
        }
    }
}

async fn greeted(path: &std::path::Path) -> io::Result<UnixStream> {
    let mut stream = UnixStream::connect(path).await?;
    let greeting = frame::greet(&mut stream, HELLO);
    tokio::time::timeout(PATIENCE, greeting).await??;
    Ok(stream)
}

/// Writes calls and takes answers until the connection ends, or nobody calls any more. Those that
/// wait for an answer then get none.
async fn drive(reading: Reading, writing: Writing, asked: mpsc::Receiver<Asked>) {
    let unanswered = Waiting::default();
    tokio::select! {
        ended = take_answers(reading, &unanswered) => drop(ended),
        ended = write_calls(writing, asked, &unanswered) => drop(ended),
    }
}

async fn take_answers(mut reading: Reading, unanswered: &Waiting) -> io::Result<()> {
    let mut buffer = Vec::new();
    while let Some((number, say)) = frame::read::<(Number, Say)>(&mut reading, &mut buffer).await? {
        let asker = unanswered.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        if let Some(asker) = asker {
            // Whoever has asked may have given up.
            let _ = asker.send(say);
        }
    }
    Ok(())
}

async fn write_calls(
    mut writing: Writing,
    mut asked: mpsc::Receiver<Asked>,
    unanswered: &Waiting,
) -> io::Result<()> {
    let (mut buffer, mut number) = (Vec::new(), 0);
    while let Some((ask, asker)) = asked.recv().await {
        buffer.clear();
        number += 1;
        if let Err(error) = frame::append(&mut buffer, &(number, ask)) {
            let _ = asker.send(Say::Lost(error.to_string()));
            continue;
        }
        unanswered.lock().unwrap_or_else(PoisonError::into_inner).insert(number, asker);
        writing.write_all(&buffer).await?;
        writing.flush().await?;
    }
    Ok(())
}

/// Why a call was not answered as it was asked.
fn odd(said: Result<Say, Broken>) -> String {
    match said {
        Ok(Say::Lost(why)) => why,
        Ok(_) => ODD.to_owned(),
        Err(broken) => broken.why(),
    }
}

fn session_error(said: Result<Say, Broken>) -> SessionError {
    match said {
        Ok(Say::Ended(session)) => SessionError::Ended(session),
        other => SessionError::Lost(odd(other)),
    }
}

#[async_trait]
impl Store for RemoteStore {
    async fn commit(&self, transaction: Transaction) -> Result<Revision, CommitError> {
        if let Some(refusal) = self.limits.refusal(&transaction) {
            return Err(CommitError::Invalid(refusal));
        }
        match self.call(Ask::Commit(transaction)).await {
            Ok(Say::Commit(result)) => result,
            Ok(Say::Lost(why)) | Err(Broken::Before(why)) => Err(CommitError::Lost(why)),
            Ok(_) | Err(Broken::After) => Err(CommitError::Unknown),
        }
    }

    async fn get(&self, keys: &[Key]) -> Result<Snapshot, Lost> {
        match self.ask(Ask::Get(keys.to_vec())).await {
            Ok(Say::Records(records, revision)) if records.len() == keys.len() => {
                Ok(Snapshot { records, revision })
            }
            other => Err(Lost(odd(other))),
        }
    }

    async fn scan(&self, from: &Key, end: Option<&Key>, limit: usize) -> Result<Page, Lost> {
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        match self.ask(Ask::Scan { from: Some(from.clone()), end: end.cloned(), limit }).await {
            Ok(Say::Page(page)) => Ok(page),
            other => Err(Lost(odd(other))),
        }
    }

    async fn watch(&self, prefix: &[u8], after: Revision) -> Result<Box<dyn Watch>, WatchError> {
        let (mut reading, mut writing) = self.connect().await.map_err(WatchError::Lost)?;
        let ask = Ask::Watch(ByteVec::from(prefix.to_vec()), after);
        let begun = self.runtime.spawn(async move {
            let mut buffer = Vec::new();
            frame::append(&mut buffer, &(0, ask))?;
            writing.write_all(&buffer).await?;
            writing.flush().await?;
            let said = hear(&mut reading, &mut buffer).await?;
            Ok::<_, io::Error>((said, reading, writing))
        });
        let begun = begun.await.map_err(|_| WatchError::Lost("this process ends".to_owned()))?;
        let (said, reading, writing) = begun.map_err(|error| gone(&error))?;
        if said != Say::Done {
            return Err(over(said));
        }
        let (batches, coming) = mpsc::channel(1);
        self.runtime.spawn(follow(reading, writing, batches));
        Ok(Box::new(RemoteWatch(coming)))
    }

    async fn open_session(&self, ttl: Duration) -> Result<Session, SessionError> {
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        match self.call(Ask::Open(ttl_ms)).await {
            Ok(Say::Session(session)) => Ok(session),
            other => Err(session_error(other)),
        }
    }

    async fn keep_session(&self, session: Session) -> Result<(), SessionError> {
        match self.ask(Ask::Keep(session)).await {
            Ok(Say::Done) => Ok(()),
            other => Err(session_error(other)),
        }
    }

    async fn close_session(&self, session: Session) -> Result<(), SessionError> {
        match self.call(Ask::Close(session)).await {
            Ok(Say::Done) => Ok(()),
            other => Err(session_error(other)),
        }
    }

    async fn compact(&self, before: Revision) -> Result<(), Lost> {
        match self.ask(Ask::Compact(before)).await {
            Ok(Say::Done) => Ok(()),
            other => Err(Lost(odd(other))),
        }
    }

    fn limits(&self) -> Limits {
        self.limits
    }
}

/// Changes as they come by a connection of their own.
struct RemoteWatch(mpsc::Receiver<Result<Batch, WatchError>>);

#[async_trait]
impl Watch for RemoteWatch {
    async fn next(&mut self) -> Result<Batch, WatchError> {
        let gone = || Err(WatchError::Lost("the watch is over".to_owned()));
        self.0.recv().await.unwrap_or_else(gone)
    }
}

/// Passes batches on, one at a time, until either side ends.
async fn follow(
    mut reading: Reading,
    // As long as it is there the other side goes on.
    _writing: Writing,
    batches: mpsc::Sender<Result<Batch, WatchError>>,
) {
    let (mut buffer, mut events, mut bytes) = (Vec::new(), Vec::new(), 0);
    loop {
        let said = tokio::select! {
            said = hear(&mut reading, &mut buffer) => said,
            () = batches.closed() => return,
        };
        let batch = match said {
            Ok(Say::Changes(more, revision)) => {
                bytes += buffer.len();
                if bytes > MAX_BATCH_BYTES {
                    return;
                }
                events.extend(more);
                let Some(revision) = revision else { continue };
                bytes = 0;
                Ok(Batch { events: std::mem::take(&mut events), revision })
            }
            Ok(other) => Err(over(other)),
            Err(error) => Err(gone(&error)),
        };
        let is_over = batch.is_err();
        if batches.send(batch).await.is_err() || is_over {
            return;
        }
    }
}

async fn hear(reading: &mut Reading, buffer: &mut Vec<u8>) -> io::Result<Say> {
    let said: Option<(Number, Say)> = frame::read(reading, buffer).await?;
    said.map(|(_, say)| say).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

fn over(said: Say) -> WatchError {
    match said {
        Say::Compacted(revision) => WatchError::Compacted(revision),
        other => WatchError::Lost(odd(Ok(other))),
    }
}

fn gone(error: &io::Error) -> WatchError {
    WatchError::Lost(error.to_string())
}
