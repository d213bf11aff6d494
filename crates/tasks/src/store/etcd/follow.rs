//! Watching: every change once, in order, also across connections.
//!
//! A stream of changes ends with its connection. The next one begins at the revision that was seen
//! last, inclusive, and what was seen is dropped. That it is included has a reason: etcd tells a
//! watcher that it is too late if its first revision is *before* the one that was compacted, and
//! deletions *at* that revision may be gone too (etcd before 3.4.34 and 3.5.15).
//!
//! Progress reports of etcd are not used: before 3.4.25 and 3.5.8 they could overtake changes.

use std::time::Duration;

use async_trait::async_trait;
use tidings_tasks_core::transaction::{Event, Revision};
use tokio::time::{sleep, timeout};

use super::call::Stream;
use super::client::{Client, RANGE, Repeat};
use super::failure::Failure;
use super::proto::{self, DELETED, Range, RangeAnswer, WatchCreate, Watched};
use super::space::Space;
use super::transaction::number;
use crate::store::{Batch, Watch, WatchError};

/// The wait before a stream that broke is opened again.
const AGAIN: Duration = Duration::from_millis(20);

/// Streams in a row that may break without a change before the watcher is told.
const BREAKS: u32 = 20;

/// How long a server may take to say how much was compacted. It looks every 0.1 s.
const COMPACTED: Duration = Duration::from_secs(5);

/// A watcher of the keys with one prefix.
pub(super) struct Follower {
    client: Client,
    space: Space,
    prefix: Box<[u8]>,
    /// All changes up to here were given out.
    seen: Revision,
    stream: Option<Stream<Watched>>,
    /// Changes of an answer whose last piece has not come.
    held: Vec<Event>,
    breaks: u32,
}

impl Follower {
    /// Watches from a revision on.
    pub(super) async fn begin(
        client: Client,
        space: Space,
        prefix: &[u8],
        after: Revision,
    ) -> Result<Self, WatchError> {
        let (prefix, held) = (prefix.into(), Vec::new());
        let mut follower =
            Self { client, space, prefix, seen: after, stream: None, held, breaks: 0 };
        follower.stream = Some(follower.open().await?);
        Ok(follower)
    }

    /// The first revision of a stream. 0 would mean the present one; 1 is that of an empty etcd.
    fn first(&self) -> i64 {
        number(self.seen).max(1)
    }

    async fn open(&self) -> Result<Stream<Watched>, WatchError> {
        let (key, range_end) = self.space.beginning(&self.prefix);
        let start_revision = self.first();
        let request = WatchCreate { key, range_end, start_revision, fragment: true };
        let stream = self.client.watch(request).await.map_err(lost)?;
        // A server notices only later that a watcher is too late. Reading as of then tells at once.
        let range = Range { revision: self.first(), ..self.space.anything() };
        match self.client.call::<_, RangeAnswer>(RANGE, range, Repeat::Always).await {
            Ok(_) | Err(Failure::Future) => Ok(stream),
            Err(Failure::Compacted) => Err(compacted(stream).await),
            Err(failure) => Err(lost(failure)),
        }
    }

    /// Takes an answer. Returns the changes of the revisions that are complete.
    fn take(&mut self, answer: Watched) -> Result<Option<Batch>, WatchError> {
        if answer.canceled {
            return Err(ended(answer));
        }
        let news = answer.events.into_iter().filter_map(|event| change(&self.space, event));
        let seen = self.seen;
        self.held.extend(news.filter(|event| event.revision > seen));
        let Some(last) = self.held.last().map(|event| event.revision) else { return Ok(None) };
        let before_last = self.held.partition_point(|event| event.revision < last);
        let whole = if answer.fragment { before_last } else { self.held.len() };
        let events: Vec<_> = self.held.drain(..whole).collect();
        let Some(revision) = events.last().map(|event| event.revision) else { return Ok(None) };
        (self.seen, self.breaks) = (revision, 0);
        Ok(Some(Batch { events, revision }))
    }
}

#[async_trait]
impl Watch for Follower {
    async fn next(&mut self) -> Result<Batch, WatchError> {
        loop {
            let Some(stream) = &mut self.stream else {
                sleep(AGAIN).await;
                self.stream = Some(self.open().await?);
                continue;
            };
            match stream.message().await {
                Ok(Some(answer)) => {
                    if let Some(batch) = self.take(answer)? {
                        return Ok(batch);
                    }
                }
                broken => {
                    (self.stream, self.breaks) = (None, self.breaks + 1);
                    self.held.clear();
                    if self.breaks > BREAKS {
                        let why = broken.err().map(Failure::why);
                        let why = why.unwrap_or_else(|| "it ends each watch".into());
                        return Err(WatchError::Lost(why));
                    }
                }
            }
        }
    }
}

fn change(space: &Space, event: proto::Event) -> Option<Event> {
    let kv = event.kv?;
    let revision = Revision(u64::try_from(kv.mod_revision).ok()?);
    let value = (event.kind != DELETED).then(|| kv.value.into());
    Some(Event { key: space.own(&kv.key)?, value, revision })
}

fn lost(failure: Failure) -> WatchError {
    WatchError::Lost(failure.why())
}

/// Why a server ends a watch.
fn ended(answer: Watched) -> WatchError {
    match u64::try_from(answer.compact_revision) {
        Ok(revision @ 1..) => WatchError::Compacted(Revision(revision)),
        _ => WatchError::Lost(answer.cancel_reason),
    }
}

/// Waits until the server says how much was compacted.
async fn compacted(mut stream: Stream<Watched>) -> WatchError {
    let told = async {
        while let Ok(Some(answer)) = stream.message().await {
            if answer.canceled {
                return ended(answer);
            }
        }
        WatchError::Lost("the stream has ended".into())
    };
    let silent = |_| WatchError::Lost("history is gone, and it does not say how much".into());
    timeout(COMPACTED, told).await.unwrap_or_else(silent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::etcd::proto::KeyValue;

    fn follower() -> Follower {
        let client = Client::new(&["localhost:1".into()]).unwrap();
        let (space, prefix, held) = (Space::new("t"), (*b"k/").into(), Vec::new());
        Follower { client, space, prefix, seen: Revision(4), stream: None, held, breaks: 3 }
    }

    fn event(name: &str, mod_revision: i64) -> proto::Event {
        let key = format!("t//k/k/{name}").into_bytes();
        proto::Event { kind: 0, kv: Some(KeyValue { key, mod_revision, value: vec![1] }) }
    }

    fn answer(fragment: bool, events: Vec<proto::Event>) -> Watched {
        Watched { fragment, events, ..Watched::default() }
    }

    #[tokio::test]
    async fn what_was_seen_before_a_break_is_dropped() {
        let mut follower = follower();
        assert_eq!(follower.take(answer(false, vec![event("a", 4)])), Ok(None));
        let batch = follower.take(answer(false, vec![event("a", 4), event("b", 5)]));
        let batch = batch.unwrap().unwrap();
        assert_eq!((batch.events.len(), batch.revision), (1, Revision(5)));
        assert_eq!(follower.breaks, 0);
    }

    #[tokio::test]
    async fn pieces_of_one_revision_come_together() {
        let mut follower = follower();
        let first = follower.take(answer(true, vec![event("a", 5), event("a", 6)]));
        assert_eq!(first.unwrap().unwrap().revision, Revision(5));
        assert_eq!(follower.take(answer(true, vec![event("b", 6)])), Ok(None));
        let last = follower.take(answer(false, vec![event("c", 6), event("d", 7)]));
        let last = last.unwrap().unwrap();
        assert_eq!((last.events.len(), last.revision), (4, Revision(7)));
    }

    #[tokio::test]
    async fn a_watcher_that_is_too_late_is_told_how_much_is_gone() {
        let late = Watched { canceled: true, compact_revision: 9, ..Watched::default() };
        assert_eq!(follower().take(late), Err(WatchError::Compacted(Revision(9))));
        let cancel_reason = "permission denied".to_owned();
        let refused = Watched { canceled: true, cancel_reason, ..Watched::default() };
        assert_eq!(follower().take(refused), Err(WatchError::Lost("permission denied".into())));
    }
}
