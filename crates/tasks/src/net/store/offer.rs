//! The side that has the store: it does for clients what they ask, with the keys that it offers.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tidings_tasks_core::transaction::{
    CommitError, Event, Key, Limits, Revision, Transaction, Write,
};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use super::said::{Ask, FRAME_BYTES, Number, Say, bytes_of};
use crate::frame;
use crate::spawn::boxed;
use crate::store::{SessionError, Store, Watch, WatchError};

/// Calls of one connection that are done at a time. Others are not read meanwhile.
const CALLS: usize = 64;

/// Records of one page.
const PAGE: usize = 4_096;

/// The longest time for which a session lasts that nobody keeps.
const LONGEST_TTL: Duration = Duration::from_secs(24 * 3_600);

/// A store that others may use, and the keys of it that they may use.
#[derive(Clone)]
pub struct Offer {
    store: Arc<dyn Store>,
    prefix: &'static [u8],
}

impl Offer {
    /// The keys that begin with a prefix: all, if that is empty.
    pub fn new(store: Arc<dyn Store>, prefix: &'static [u8]) -> Self {
        Self { store, prefix }
    }

    /// The keys of building blocks.
    pub fn of_blocks(store: Arc<dyn Store>) -> Self {
        Self::new(store, tidings_blocks::record::PREFIX)
    }

    /// Serves a client until it goes.
    pub(crate) async fn serve(
        self,
        reading: impl AsyncRead + Unpin + Send,
        writing: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        let (says, said) = mpsc::channel(CALLS);
        tokio::select! {
            ended = self.hear(BufReader::new(reading), says) => ended,
            ended = write(writing, said) => ended,
        }
    }

    async fn hear(
        self,
        mut reading: impl AsyncRead + Unpin + Send,
        says: mpsc::Sender<(Number, Say)>,
    ) -> io::Result<()> {
        let (mut buffer, places) = (Vec::new(), Arc::new(Semaphore::new(CALLS)));
        // What is asked by a client that goes is not done further.
        let mut calls = JoinSet::new();
        while let Some((number, ask)) = frame::read(&mut reading, &mut buffer).await? {
            if let Ask::Watch(prefix, after) = ask {
                return tokio::select! {
                    () = self.follow(&prefix, after, number, &says) => Ok(()),
                    // It says nothing more: whatever comes is its end.
                    ended = frame::read::<(Number, Ask)>(&mut reading, &mut buffer) => {
                        ended.map(drop)
                    }
                };
            }
            let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
            let (offer, says) = (self.clone(), says.clone());
            calls.spawn(boxed(async move {
                let said = offer.answer(ask).await;
                drop(place);
                let _ = says.send((number, said)).await;
            }));
            while calls.try_join_next().is_some() {}
        }
        Ok(())
    }

    async fn answer(&self, ask: Ask) -> Say {
        match ask {
            Ask::Limits => Say::Limits(self.limits()),
            Ask::Commit(transaction) => Say::Commit(self.commit(transaction).await),
            Ask::Get(keys) => match self.get(&keys).await {
                Ok(said) => said,
                Err(why) => Say::Lost(why),
            },
            Ask::Scan { from: Some(from), end, limit } => self.scan(&from, end, limit).await,
            Ask::Open(ttl_ms) => {
                let ttl = Duration::from_millis(ttl_ms.max(1)).min(LONGEST_TTL);
                match self.store.open_session(ttl).await {
                    Ok(session) => Say::Session(session),
                    Err(error) => error.into(),
                }
            }
            Ask::Keep(session) => done(self.store.keep_session(session).await),
            Ask::Close(session) => done(self.store.close_session(session).await),
            Ask::Compact(before) if self.prefix.is_empty() => {
                match self.store.compact(before).await {
                    Ok(()) => Say::Done,
                    Err(lost) => Say::Lost(lost.0),
                }
            }
            Ask::Compact(_) => Say::Lost("changes are forgotten by whoever holds it".to_owned()),
            Ask::Scan { from: None, .. } | Ask::Watch(..) => {
                Say::Lost("this is asked in another way: use programs of one version".to_owned())
            }
        }
    }

    /// What the store can carry, as far as a frame can.
    fn limits(&self) -> Limits {
        let limits = self.store.limits();
        Limits {
            operations: limits.operations.min(PAGE),
            bytes: limits.bytes.min(FRAME_BYTES),
            ..limits
        }
    }

    async fn commit(&self, transaction: Transaction) -> Result<Revision, CommitError> {
        let conditions = transaction.conditions.iter().map(|(key, _)| key);
        let mut keys = conditions.chain(transaction.writes.iter().map(Write::key));
        if let Some(key) = keys.find(|key| !self.has(key)) {
            return Err(CommitError::Invalid(self.foreign(key)));
        }
        if let Some(refusal) = self.limits().refusal(&transaction) {
            return Err(CommitError::Invalid(refusal));
        }
        self.store.commit(transaction).await
    }

    async fn get(&self, keys: &[Key]) -> Result<Say, String> {
        if let Some(key) = keys.iter().find(|key| !self.has(key)) {
            return Err(self.foreign(key));
        }
        let found = self.store.get(keys).await.map_err(|lost| lost.0)?;
        Ok(Say::Records(found.records, found.revision))
    }

    async fn scan(&self, from: &Key, end: Option<Key>, limit: u32) -> Say {
        // What is asked beyond the keys that are offered is not there.
        let beyond = Key::new(self.prefix).ok().and_then(|prefix| prefix.after_prefix());
        let end = match (end, beyond) {
            (Some(end), Some(beyond)) => Some(end.min(beyond)),
            (end, beyond) => end.or(beyond),
        };
        if !self.has(from) {
            return Say::Lost(self.foreign(from));
        }
        let limit = (limit as usize).clamp(1, PAGE);
        match self.store.scan(from, end.as_ref(), limit).await {
            Ok(page) => Say::Page(page.cut(FRAME_BYTES)),
            Err(lost) => Say::Lost(lost.0),
        }
    }

    /// Tells each change, until the client or the watch ends.
    async fn follow(
        &self,
        prefix: &[u8],
        after: Revision,
        number: Number,
        says: &mpsc::Sender<(Number, Say)>,
    ) {
        let ended = match self.watch(prefix, after).await {
            Ok(mut watch) => {
                if says.send((number, Say::Done)).await.is_err() {
                    return;
                }
                loop {
                    match watch.next().await {
                        Ok(batch) => {
                            for said in pieces(batch.events, batch.revision) {
                                if says.send((number, said)).await.is_err() {
                                    return;
                                }
                            }
                        }
                        Err(error) => break error,
                    }
                }
            }
            Err(error) => error,
        };
        let _ = says.send((number, ended.into())).await;
        // Until it is written, and the client goes.
        says.closed().await;
    }

    async fn watch(&self, prefix: &[u8], after: Revision) -> Result<Box<dyn Watch>, WatchError> {
        if !prefix.starts_with(self.prefix) {
            let prefix = prefix.escape_ascii();
            return Err(WatchError::Lost(format!("keys `{prefix}` are not offered here")));
        }
        self.store.watch(prefix, after).await
    }

    fn has(&self, key: &Key) -> bool {
        key.as_bytes().starts_with(self.prefix)
    }

    fn foreign(&self, key: &Key) -> String {
        format!(
            "{key} is not offered here, but keys that begin with {}",
            self.prefix.escape_ascii()
        )
    }
}

impl std::fmt::Debug for Offer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Offer(`{}`)", self.prefix.escape_ascii())
    }
}

/// The changes of a batch, in pieces that frames have place for.
fn pieces(events: Vec<Event>, revision: Revision) -> Vec<Say> {
    let (mut pieces, mut piece, mut bytes) = (Vec::new(), Vec::new(), 0);
    for event in events {
        if bytes >= FRAME_BYTES {
            pieces.push(Say::Changes(std::mem::take(&mut piece), None));
            bytes = 0;
        }
        // Each takes some bytes besides.
        bytes += bytes_of(&event.key, event.value.as_deref()) + 32;
        piece.push(event);
    }
    pieces.push(Say::Changes(piece, Some(revision)));
    pieces
}

fn done(result: Result<(), SessionError>) -> Say {
    match result {
        Ok(()) => Say::Done,
        Err(error) => error.into(),
    }
}

impl From<SessionError> for Say {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Ended(session) => Self::Ended(session),
            SessionError::Lost(why) => Self::Lost(why),
        }
    }
}

impl From<WatchError> for Say {
    fn from(error: WatchError) -> Self {
        match error {
            WatchError::Compacted(revision) => Self::Compacted(revision),
            WatchError::Lost(why) => Self::Lost(why),
        }
    }
}

/// Writes what is said. In the place of what is too long for a frame goes why.
async fn write(
    mut writing: impl AsyncWrite + Unpin,
    mut said: mpsc::Receiver<(Number, Say)>,
) -> io::Result<()> {
    let mut buffer = Vec::new();
    while let Some((number, say)) = said.recv().await {
        buffer.clear();
        if let Err(error) = frame::append(&mut buffer, &(number, say)) {
            frame::append(&mut buffer, &(number, Say::Lost(error.to_string())))?;
        }
        writing.write_all(&buffer).await?;
        writing.flush().await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Key {
        Key::new(format!("k{number}").into_bytes()).unwrap()
    }

    #[test]
    fn a_batch_is_whole_when_its_last_piece_has_come() {
        let event = |number| Event {
            key: key(number),
            value: Some(vec![0; 900 << 10].into()),
            revision: Revision(4),
        };
        let events: Vec<Event> = (0..7).map(event).collect();
        let pieces = pieces(events.clone(), Revision(4));
        let (last, others) = pieces.split_last().unwrap();
        assert!(others.iter().all(|piece| matches!(piece, Say::Changes(_, None))));
        assert!(matches!(last, Say::Changes(_, Some(Revision(4)))));
        let together = pieces.iter().flat_map(|piece| match piece {
            Say::Changes(events, _) => events.clone(),
            _ => Vec::new(),
        });
        assert!(together.eq(events));
        assert_eq!(pieces.len(), 3);
    }
}
