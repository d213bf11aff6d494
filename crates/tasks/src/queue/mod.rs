//! Queues of items, for programs in Rust: put data, claim it, complete it with a result.
//!
//! An item is a task whose work a program does itself, in its own process and code. It lies in the
//! store, so it outlives who put it and who claims it: the item of a process that ends before it
//! has said how it went goes to the next one that claims. Of two that have one item, since the
//! first was silent for too long, one result counts.
//!
//! ```no_run
//! # async fn squares() -> Result<(), Box<dyn std::error::Error>> {
//! use tidings_tasks::client::{Client, Place};
//! use tidings_tasks::queue::{Claims, Queue};
//!
//! let place = Place::of("file:/scratch/me/tasks".parse()?, None)?;
//! let client = Client::open(&place, "squares")?;
//! let queue = Queue::of(&client, "squares");
//! let item = queue.put("12", b"12".to_vec()).await?;
//!
//! let mut claims = Claims::begin(&client, "squares", 4).await?; // here, or in any other process
//! let claimed = claims.next().await?;
//! let number: u64 = std::str::from_utf8(claimed.data())?.parse()?;
//! claimed.complete((number * number).to_string().into_bytes()).await?;
//!
//! assert_eq!(queue.result(item).await?, b"144");
//! # Ok(())
//! # }
//! ```
//!
//! Invariant: an item is completed by at most one of those that claimed it, and each result that
//! [`Queue::result`] returns is durable.

mod claims;
mod error;

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Request, Submission};
use tidings_tasks_core::record::Outcome;

use crate::client::Client;
use crate::items;
use crate::payloads::Payloads;
use crate::session::Session;

pub use claims::{Claimed, Claims};
pub use error::QueueError;

/// A queue, for who puts items and waits for their results. Clones are of the same queue.
#[derive(Clone, Debug)]
pub struct Queue {
    name: String,
    session: Session,
    payloads: Payloads,
}

impl Queue {
    /// A queue of the store of a client. Nobody makes it: it is there while it has items.
    pub fn of(client: &Client, name: &str) -> Self {
        Self::over(client.session.clone(), client.payloads.clone(), name)
    }

    /// The same, for those who have a session and no client.
    pub fn over(session: Session, payloads: Payloads, name: &str) -> Self {
        Self { name: name.to_owned(), session, payloads }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// By what it asks, and where it has what is long.
    pub(crate) fn reach(&self) -> (&Session, &Payloads) {
        (&self.session, &self.payloads)
    }

    /// An item that is known by a key, to be changed before it is [submitted](Self::submit): its
    /// priority, its group, after which failures it is tried again, the items that are to be done
    /// before it.
    pub fn item(&self, key: &str, data: Vec<u8>) -> Submission {
        let id = items::id(&self.name, key);
        Submission { need: items::need(), ..Submission::new(id, &*self.name, data) }
    }

    /// Puts an item. Under a key that is there nothing is added: who was not answered puts it
    /// again. Data may have any length; above 16 KiB it needs a place for blobs.
    ///
    /// # Errors
    /// [`QueueError`]: unless the session has ended, nothing was put.
    pub async fn put(&self, key: &str, data: Vec<u8>) -> Result<TaskId, QueueError> {
        let item = self.item(key, data);
        let id = item.id;
        self.submit(vec![item]).await?;
        Ok(id)
    }

    /// Puts several items, all of them or none.
    ///
    /// # Errors
    /// As of [`Queue::put`].
    pub async fn submit(&self, items: Vec<Submission>) -> Result<(), QueueError> {
        match self.payloads.submit(&self.session, items, &[]).await? {
            Answer::Submitted(_) => Ok(()),
            other => Err(other.into()),
        }
    }

    /// Removes what the store has of items that have ended, with their results.
    ///
    /// # Errors
    /// [`QueueError`]: unless the session has ended, nothing was removed.
    pub async fn forget(&self, items: Vec<TaskId>) -> Result<(), QueueError> {
        QueueError::unless_done(self.session.ask(Request::Forget { tasks: items }).await?)
    }

    /// Waits for the result of an item, of this queue or another one of the store.
    ///
    /// # Errors
    /// [`QueueError::Failed`] or [`QueueError::Cancelled`] if it has none; others if that is
    /// unknown: the item goes on.
    pub async fn result(&self, item: TaskId) -> Result<Vec<u8>, QueueError> {
        let finished = match self.payloads.outcome(&self.session, item).await? {
            Answer::Outcome(finished) => *finished,
            other => return Err(other.into()),
        };
        match finished.outcome {
            Outcome::Done(result) => Ok(result),
            Outcome::Cancelled => Err(QueueError::Cancelled(item)),
            Outcome::Failed => {
                let last = finished.task.failures.last();
                let text = last.map_or_else(String::new, |failure| failure.text.clone());
                Err(QueueError::Failed { item, text })
            }
        }
    }
}
