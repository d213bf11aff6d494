//! Following the inbox of a part: what the coordinators of other parts write there.
//!
//! A store of one part has none, and nothing is followed.

use std::sync::Arc;
use std::time::Duration;

use tidings_tasks_core::id::Part;
use tidings_tasks_core::keys;
use tidings_tasks_core::transaction::{Event, Revision};

use crate::store::{Store, Watch, WatchError};

/// The wait before a store is asked again that could not be reached.
const AGAIN: Duration = Duration::from_millis(100);

/// What is new in an inbox.
pub(super) enum News {
    /// These changes, in their order.
    Changes(Vec<Event>),
    /// Some were missed. What comes from now on is told.
    Missed,
}

/// An inbox that is followed.
pub(super) struct Inbox {
    store: Arc<dyn Store>,
    part: Part,
    watch: Option<Box<dyn Watch>>,
    /// From where it is followed, if that is not the present.
    after: Option<Revision>,
    has_missed: bool,
}

impl Inbox {
    /// That of a part, after its coordinator has got the role.
    pub(super) fn after(store: Arc<dyn Store>, part: Part, role: Revision) -> Self {
        Self { store, part, watch: None, after: Some(role), has_missed: false }
    }

    /// The next news. May be dropped at any time: nothing is lost.
    pub(super) async fn next(&mut self) -> News {
        loop {
            if let Some(watch) = &mut self.watch {
                if self.has_missed {
                    self.has_missed = false;
                    return News::Missed;
                }
                match watch.next().await {
                    Ok(batch) => return News::Changes(batch.events),
                    Err(_) => self.lose(),
                }
            } else if let Err(error) = self.begin().await {
                if matches!(error, WatchError::Compacted(_)) {
                    self.lose();
                }
                tokio::time::sleep(AGAIN).await;
            }
        }
    }

    fn lose(&mut self) {
        (self.watch, self.after, self.has_missed) = (None, None, true);
    }

    async fn begin(&mut self) -> Result<(), WatchError> {
        let after = match self.after {
            Some(after) => after,
            None => self.store.get(&[keys::bell(self.part)]).await?.revision,
        };
        self.watch = Some(self.store.watch(keys::inbox(self.part).as_bytes(), after).await?);
        Ok(())
    }
}

/// The next news of an inbox, if there is one.
pub(super) async fn next(inbox: &mut Option<Inbox>) -> News {
    match inbox {
        Some(inbox) => inbox.next().await,
        None => core::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use tidings_tasks_core::id::TaskId;
    use tidings_tasks_core::transaction::{Key, Transaction};

    use super::*;
    use crate::store::memory::Memory;

    const PART: Part = Part(1);

    async fn write(store: &dyn Store, key: Key) -> Revision {
        let mut transaction = Transaction::default();
        transaction.put(key, *b"1");
        store.commit(transaction).await.unwrap()
    }

    async fn keys_of(inbox: &mut Inbox) -> Vec<Key> {
        match inbox.next().await {
            News::Changes(events) => events.into_iter().map(|event| event.key).collect(),
            News::Missed => panic!("nothing was missed"),
        }
    }

    #[tokio::test]
    async fn what_comes_after_the_role_is_told() {
        let store: Arc<dyn Store> = Arc::new(Memory::default());
        let letter = keys::wanted(PART, TaskId::of("t", 1), Part(0));
        write(&*store, keys::bell(PART)).await;
        let role = write(&*store, keys::role(PART)).await;
        let mut inbox = Inbox::after(store.clone(), PART, role);
        write(&*store, letter.clone()).await;
        write(&*store, keys::bell(Part(2))).await;
        assert_eq!(keys_of(&mut inbox).await, [letter]);
        write(&*store, keys::bell(PART)).await;
        assert_eq!(keys_of(&mut inbox).await, [keys::bell(PART)]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_held_any_more_was_missed_and_the_rest_is_told() {
        let store: Arc<dyn Store> = Arc::new(Memory::default());
        let role = write(&*store, keys::role(PART)).await;
        write(&*store, keys::bell(PART)).await;
        let last = write(&*store, keys::bell(PART)).await;
        store.compact(last).await.unwrap();
        let mut inbox = Inbox::after(store.clone(), PART, role);
        assert!(matches!(inbox.next().await, News::Missed));
        write(&*store, keys::bell(PART)).await;
        assert_eq!(keys_of(&mut inbox).await, [keys::bell(PART)]);
    }
}
