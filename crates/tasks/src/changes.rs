//! Changes of users' keys, told as they come.
//!
//! A peer asks for what has changed after a revision, is answered as soon as there is something,
//! and asks again from there. So nothing is queued for it here, and another that serves the store
//! later can answer the same request. The coordinator has no part in it: the store has a history
//! of its own, and what that no longer holds, the peer finds by reading the keys.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tidings_tasks_core::keys;
use tidings_tasks_core::message::{Answer, Call, Message, Peer, Refusal};
use tidings_tasks_core::transaction::{Key, Revision};
use tidings_tasks_core::view::{KeyChange, MAX_LISTED_BYTES};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::frame::MAX_FRAME_BYTES;
use crate::store::{Batch, Lost, Store, WatchError};

/// The requests of one peer that wait at a time.
const MAX_WAITING: usize = 64;

/// The bytes of a change beside its key and value, at most.
const CHANGE_BYTES: usize = 32;

/// The wait before a peer asks again that was not answered by the store.
const AGAIN: Duration = Duration::from_millis(500);

/// Who waits for changes. Dropped, it answers nobody any more.
#[derive(Default)]
pub(crate) struct Watches(BTreeMap<Peer, JoinSet<()>>);

impl Watches {
    /// Answers a request over its connection as soon as there is an answer.
    pub(crate) fn begin(
        &mut self,
        (peer, call, connection): (Peer, Call, mpsc::Sender<Message>),
        prefix: Vec<u8>,
        after: Option<u64>,
        store: &Arc<dyn Store>,
    ) {
        let waiting = self.0.entry(peer).or_default();
        while waiting.try_join_next().is_some() {}
        let has_room = waiting.len() < MAX_WAITING;
        let store = store.clone();
        waiting.spawn(async move {
            let answer = match keys::effects(&prefix) {
                _ if !has_room => Answer::Refused(Refusal::Invalid(too_many())),
                None => Answer::Refused(Refusal::Invalid(too_long())),
                Some(prefix) => changes(&*store, &prefix, after).await,
            };
            // It may have gone.
            let _ = connection.send(Message::Answer(call, answer)).await;
        });
    }

    /// A peer has gone.
    pub(crate) fn end(&mut self, peer: Peer) {
        self.0.remove(&peer);
    }
}

async fn changes(store: &dyn Store, prefix: &Key, after: Option<u64>) -> Answer {
    let told = match after {
        None => present(store).await.map(|at| Answer::Changed(Some(Vec::new()), at)),
        Some(after) => next(store, prefix, Revision(after)).await,
    };
    if let Ok(answer) = told {
        return answer;
    }
    tokio::time::sleep(AGAIN).await;
    Answer::Refused(Refusal::Elsewhere)
}

async fn next(store: &dyn Store, prefix: &Key, after: Revision) -> Result<Answer, Lost> {
    let batch = match store.watch(prefix.as_bytes(), after).await {
        Ok(mut watch) => watch.next().await,
        Err(error) => Err(error),
    };
    let told = match batch {
        Ok(batch) => told(batch),
        Err(WatchError::Compacted(_)) => None,
        Err(WatchError::Lost(why)) => return Err(Lost(why)),
    };
    match told {
        Some((changes, seen)) => Ok(Answer::Changed(Some(changes), seen.0)),
        None => Ok(Answer::Changed(None, present(store).await?)),
    }
}

/// The last revision of the store.
async fn present(store: &dyn Store) -> Result<u64, Lost> {
    Ok(store.get(&[]).await?.revision.0)
}

/// As many of the changes as one answer carries, and up to where these are all; none if not even
/// those of the first revision are.
fn told(batch: Batch) -> Option<(Vec<KeyChange>, Revision)> {
    let (mut changes, mut bytes) = (Vec::<KeyChange>::new(), 0);
    for event in batch.events {
        let last = changes.last().map(|last| Revision(last.revision));
        if let Some(last) = last.filter(|&last| bytes > MAX_LISTED_BYTES && last < event.revision) {
            return fits(bytes).then_some((changes, last));
        }
        let Some(own) = keys::own_of(&event.key) else { continue };
        bytes += CHANGE_BYTES + own.len() + event.value.as_ref().map_or(0, |value| value.len());
        changes.push(KeyChange {
            key: own.to_vec().into(),
            value: event.value.map(|value| value.into_vec().into()),
            revision: event.revision.0,
        });
    }
    fits(bytes).then_some((changes, batch.revision))
}

fn fits(bytes: usize) -> bool {
    bytes < MAX_FRAME_BYTES as usize - CHANGE_BYTES
}

fn too_many() -> String {
    format!("{MAX_WAITING} requests of this process wait for changes: no more are possible")
}

fn too_long() -> String {
    format!("a key has 1 to {} bytes", keys::MAX_EFFECT_KEY_BYTES)
}

#[cfg(test)]
mod tests {
    use tidings_tasks_core::transaction::Event;

    use super::*;

    fn batch(revisions: &[u64], bytes: usize) -> Batch {
        let key = keys::effect(b"key").unwrap();
        let event = |&revision: &u64| Event {
            key: key.clone(),
            value: Some(vec![0; bytes].into()),
            revision: Revision(revision),
        };
        Batch { events: revisions.iter().map(event).collect(), revision: Revision(9) }
    }

    #[test]
    fn an_answer_ends_between_revisions() {
        let (changes, seen) = told(batch(&[1, 2, 2, 3], 10)).unwrap();
        assert_eq!((changes.len(), seen), (4, Revision(9)));
        let half = MAX_LISTED_BYTES / 2;
        let (changes, seen) = told(batch(&[1, 2, 2, 3], half)).unwrap();
        assert_eq!((changes.len(), seen), (3, Revision(2)), "two are too many, at one revision");
        assert_eq!(told(batch(&[1, 1, 1, 1], half)), None, "longer than any answer");
    }
}
