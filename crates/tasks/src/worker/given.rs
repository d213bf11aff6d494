//! What a driver and its lanes tell each other: tasks in one direction, how they end in the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::name::Name;
use tidings_tasks_core::retry::Cause;
use tokio::sync::{mpsc, watch};

use crate::work::Work;

use super::ending::Order;
use super::kept::Runtimes;
use super::shared::Shared;
use super::verdict::{self, Verdict};

/// The longest grace that is waited for when a worker ends.
const MAX_GRACE_MS: u64 = 3_600_000;

/// Which try.
pub(super) type Key = (TaskId, Attempt);

/// A place for one task at a time.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) number: u32,
    pub(super) runtimes: Runtimes,
}

/// A try that has not begun.
#[derive(Debug)]
pub(super) struct Todo {
    pub(super) task: TaskId,
    pub(super) attempt: Attempt,
    pub(super) queue: Name,
    pub(super) copies: u32,
    pub(super) content: Content,
}

/// What is to be done.
#[derive(Debug)]
pub(super) enum Content {
    /// As it came.
    Payload(Vec<u8>),
    /// As it was read.
    Work(Work),
}

impl Todo {
    pub(super) fn key(&self) -> Key {
        (self.task, self.attempt)
    }
}

/// A try with what the driver tells it, and what it is told of it.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) todo: Todo,
    pub(super) orders: watch::Receiver<Option<Order>>,
    /// Set once it begins.
    pub(super) grace_ms: Arc<AtomicU64>,
    /// When it has taken so long, what lies behind it is to come back.
    pub(super) patience: Duration,
}

impl Given {
    /// It begins: this is what is waited for when its worker ends.
    pub(super) fn begins(grace_ms: &AtomicU64, limit_ms: u64) {
        grace_ms.store(limit_ms.min(MAX_GRACE_MS), Ordering::Relaxed);
    }
}

/// What a lane is told.
#[derive(Debug)]
pub(super) enum Say {
    /// This comes next.
    Next(Box<Given>),
    /// What has not begun is to come back.
    Back,
}

/// What a lane tells.
#[derive(Debug)]
pub(super) enum Told {
    /// It takes so many tasks ahead.
    Takes(u32, usize),
    /// A try has ended.
    Ended { slot: u32, key: Key, verdict: Verdict, took: Duration },
    /// These have not begun. With `is_late` what runs takes long.
    Back { slot: u32, all: Vec<Todo>, is_late: bool },
    /// It is at its end, with what it was told last.
    Free(Slot, mpsc::Receiver<Say>),
}

/// How a lane and the driver hear of each other.
pub(super) struct Ear {
    pub(super) slot: u32,
    pub(super) says: mpsc::Receiver<Say>,
    pub(super) told: mpsc::Sender<Told>,
}

impl Ear {
    pub(super) async fn tell(&self, told: Told) {
        // Without a driver the worker has ended.
        let _ = self.told.send(told).await;
    }

    pub(super) async fn ended(&self, key: Key, verdict: Verdict, took: Duration) {
        self.tell(Told::Ended { slot: self.slot, key, verdict, took }).await;
    }
}

/// The work in what is to be done, or why there is none.
pub(super) async fn read(shared: &Shared, content: Content) -> Result<Work, Verdict> {
    let payload = match content {
        Content::Payload(payload) => payload,
        Content::Work(work) => return Ok(work),
    };
    let whole = shared.payloads.whole(payload).await;
    let whole = whole.map_err(|error| verdict::not_read(&error, error.to_string()))?;
    Work::from_payload(&whole).map_err(|error| Verdict::failed(Cause::Error, error.to_string()))
}
