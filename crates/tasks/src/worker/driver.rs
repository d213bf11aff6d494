//! What a worker does: it takes tasks into its slots, and tells how they have ended.
//!
//! A slot is free again once the coordinator knows how its try has ended. So a worker goes on with
//! what it has while there is no coordinator, and takes nothing beyond its slots.
//!
//! Invariant: what is assigned is failed or completed exactly once, whatever happens in between.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::retry::Cause;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::session::{Assigned, Notice, Session, SessionEnded};
use crate::work::{What, Work};

use super::call;
use super::command;
use super::ending::{Ending, Order, until};
use super::kept::Runtimes;
use super::settings::Event;
use super::settle;
use super::shared::{Shared, Try};
use super::verdict::Verdict;

/// How long a worker that ends waits for the answers of a coordinator.
const ANSWERS: Duration = Duration::from_secs(3);

/// The longest grace that is waited for when a worker ends.
const MAX_GRACE_MS: u64 = 3_600_000;

/// What a worker is told by its program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Word {
    /// Take no more, and end when all is done or time is up.
    Drain,
    /// End now.
    Stop,
}

/// Which try.
type Key = (TaskId, Attempt);

/// A place for one task at a time.
#[derive(Debug)]
struct Slot {
    number: u32,
    runtimes: Runtimes,
}

/// A try that runs.
#[derive(Debug)]
struct Running {
    orders: watch::Sender<Option<Order>>,
    /// Known once its work was read.
    grace_ms: Arc<AtomicU64>,
}

type Offering = Pin<Box<dyn Future<Output = Result<Answer, SessionEnded>> + Send>>;

/// A worker at work.
pub(super) struct Driver {
    shared: Arc<Shared>,
    session: Session,
    notices: mpsc::Receiver<Notice>,
    words: mpsc::Receiver<Word>,
    tries: JoinSet<Option<(Slot, Key)>>,
    running: BTreeMap<Key, Running>,
    /// Slots that were used before.
    free: Vec<Slot>,
    /// How many slots were ever used.
    used: u32,
    /// Assigned before the slot was free here: the coordinator knows of an end earlier.
    waiting: VecDeque<Assigned>,
    /// An offer that was not answered yet.
    offering: Option<Offering>,
    word: Option<Word>,
    drained_at: Option<Instant>,
    ended_at: Option<Instant>,
}

impl Driver {
    pub(super) fn new(
        shared: Shared,
        session: Session,
        notices: mpsc::Receiver<Notice>,
        words: mpsc::Receiver<Word>,
    ) -> Self {
        Self {
            shared: Arc::new(shared),
            session,
            notices,
            words,
            tries: JoinSet::new(),
            running: BTreeMap::new(),
            free: Vec::new(),
            used: 0,
            waiting: VecDeque::new(),
            offering: None,
            word: None,
            drained_at: None,
            ended_at: None,
        }
    }

    /// Works until it is told to end.
    pub(super) async fn run(mut self) {
        self.offer(self.shared.settings.slots);
        let reason = loop {
            let is_done = self.tries.is_empty() && self.offering.is_none();
            if self.word.is_some() && is_done {
                break "it was told to end".to_owned();
            }
            if let Some(reason) = self.step().await {
                break reason;
            }
        };
        drop(self.tries);
        let leaving = self.session.ask(Request::Leave);
        // Without a coordinator the session ends by itself.
        let _ = tokio::time::timeout(ANSWERS, leaving).await;
        self.shared.tell(Event::Closed(reason));
    }

    /// Takes what comes next. Returns why the worker ends, if it does.
    async fn step(&mut self) -> Option<String> {
        tokio::select! {
            notice = self.notices.recv() => match notice {
                Some(notice) => self.take(notice),
                None => return Some(why_closed(self.session.clone()).await),
            },
            ended = self.tries.join_next(), if !self.tries.is_empty() => self.ended(ended),
            word = self.words.recv() => match word {
                Some(word) => self.told(word),
                None => return Some("its program has dropped it".to_owned()),
            },
            answer = offered(&mut self.offering) => {
                self.offering = None;
                if let Ok(Answer::Refused(refusal)) = answer {
                    return Some(format!("its offer was refused: {refusal}"));
                }
            }
            () = until(self.drained_at) => self.time_is_up(),
            () = until(self.ended_at) => return Some("no coordinator has answered".to_owned()),
        }
        None
    }

    fn offer(&mut self, slots: u32) {
        let session = self.session.clone();
        let (queues, resources) =
            (self.shared.settings.queues.clone(), self.shared.settings.resources.clone());
        let request = Request::Offer { queues, slots, resources };
        self.offering = Some(Box::pin(async move { session.ask(request).await }));
    }

    fn take(&mut self, notice: Notice) {
        match notice {
            Notice::Assigned(assigned) => self.assigned(assigned),
            Notice::Stop(task, attempt) => self.stop((task, attempt)),
            Notice::Lapsed => {
                self.order(Order::Kill);
                self.return_waiting();
                self.shared.tell(Event::Lapsed);
            }
        }
    }

    fn assigned(&mut self, assigned: Assigned) {
        if self.word.is_some() {
            let verdict = Verdict::failed(Cause::Returned, "its worker is ending");
            return self.give_back(&assigned, verdict);
        }
        self.waiting.push_back(assigned);
        self.fill();
    }

    /// Begins what waits, as far as slots are free.
    fn fill(&mut self) {
        while !self.waiting.is_empty() {
            let slot = self.free.pop().or_else(|| {
                let slot = Slot { number: self.used, runtimes: Runtimes::new() };
                (self.used < self.shared.settings.slots).then_some(slot)
            });
            let Some(slot) = slot else { return };
            self.used = self.used.max(slot.number + 1);
            if let Some(assigned) = self.waiting.pop_front() {
                self.begin(slot, assigned);
            }
        }
    }

    fn begin(&mut self, mut slot: Slot, assigned: Assigned) {
        let key = (assigned.task, assigned.attempt);
        let (orders, ordered) = watch::channel(None);
        let grace_ms = Arc::new(AtomicU64::new(0));
        self.running.insert(key, Running { orders, grace_ms: grace_ms.clone() });
        let Assigned { task, attempt, queue, payload } = assigned;
        let of = Try { task, attempt, queue, slot: slot.number };
        let (shared, session) = (self.shared.clone(), self.session.clone());
        self.tries.spawn(async move {
            let verdict = match read(&shared, payload).await {
                Ok(work) => {
                    grace_ms.store(work.limits.grace_ms.min(MAX_GRACE_MS), Ordering::Relaxed);
                    attempt_it(&shared, &of, &mut slot.runtimes, work, ordered).await
                }
                Err(text) => Verdict::failed(Cause::Error, text),
            };
            settle::settle(&shared, &session, key, verdict).await;
            Some((slot, key))
        });
    }

    fn ended(&mut self, ended: Option<Result<Option<(Slot, Key)>, tokio::task::JoinError>>) {
        match ended {
            Some(Ok(Some((slot, key)))) => {
                self.running.remove(&key);
                self.free.push(slot);
                // The lowest is used first.
                self.free.sort_by_key(|slot| core::cmp::Reverse(slot.number));
                self.fill();
            }
            Some(Err(error)) if error.is_panic() => {
                // A defect: what this worker has is given back by its end.
                std::panic::resume_unwind(error.into_panic());
            }
            _ => {}
        }
    }

    /// A try is not wanted.
    fn stop(&mut self, key: Key) {
        if let Some(running) = self.running.get(&key) {
            running.raise(Order::Stop);
        }
        let is_it = |assigned: &Assigned| (assigned.task, assigned.attempt) == key;
        if let Some(at) = self.waiting.iter().position(is_it) {
            if let Some(assigned) = self.waiting.remove(at) {
                let verdict = Verdict::failed(Cause::Returned, "it was no longer wanted");
                self.give_back(&assigned, verdict);
            }
        }
    }

    fn told(&mut self, word: Word) {
        if self.word >= Some(word) {
            return;
        }
        self.word = Some(word);
        self.offer(0);
        self.return_waiting();
        match word {
            Word::Drain => {
                self.drained_at = Instant::now().checked_add(self.shared.settings.drain);
            }
            Word::Stop => {
                self.order(Order::Kill);
                self.drained_at = None;
                self.ended_at = Some(Instant::now() + ANSWERS);
            }
        }
    }

    /// What runs is asked to end.
    fn time_is_up(&mut self) {
        self.drained_at = None;
        let graces = self.running.values().map(|running| running.grace_ms.load(Ordering::Relaxed));
        let grace = Duration::from_millis(graces.max().unwrap_or(0));
        self.ended_at = Some(Instant::now() + grace + ANSWERS);
        self.order(Order::Return);
    }

    fn order(&mut self, order: Order) {
        for running in self.running.values() {
            running.raise(order);
        }
    }

    fn return_waiting(&mut self) {
        while let Some(assigned) = self.waiting.pop_front() {
            self.give_back(&assigned, Verdict::failed(Cause::Returned, "its worker is ending"));
        }
    }

    /// Ends a try that has not begun.
    fn give_back(&mut self, assigned: &Assigned, verdict: Verdict) {
        let (shared, session) = (self.shared.clone(), self.session.clone());
        let key = (assigned.task, assigned.attempt);
        self.tries.spawn(async move {
            settle::settle(&shared, &session, key, verdict).await;
            None
        });
    }
}

async fn why_closed(session: Session) -> String {
    match session.ask(Request::Heartbeat).await {
        Err(ended) => ended.to_string(),
        Ok(_) => "the session has ended".to_owned(),
    }
}

impl Running {
    /// Gives an order, unless a later one was given.
    fn raise(&self, order: Order) {
        self.orders.send_if_modified(|last| {
            let is_later = *last < Some(order);
            if is_later {
                *last = Some(order);
            }
            is_later
        });
    }
}

/// Waits for the answer to an offer; for ever if there is none to wait for.
async fn offered(offering: &mut Option<Offering>) -> Result<Answer, SessionEnded> {
    match offering {
        Some(offering) => offering.await,
        None => core::future::pending().await,
    }
}

/// The work in a payload, or why there is none.
async fn read(shared: &Shared, payload: Vec<u8>) -> Result<Work, String> {
    let whole = shared.payloads.whole(payload).await.map_err(|error| error.to_string())?;
    Work::from_payload(&whole).map_err(|error| error.to_string())
}

async fn attempt_it(
    shared: &Shared,
    of: &Try,
    runtimes: &mut Runtimes,
    work: Work,
    orders: watch::Receiver<Option<Order>>,
) -> Verdict {
    let (task, attempt, slot) = (of.task, of.attempt, of.slot);
    let _running = shared.running.during(task, attempt);
    shared.tell(Event::Started { task, attempt, slot, name: work.name.clone() });
    let mut ending = Ending::new(work.limits, orders);
    let mut verdict = match work.what {
        What::Command { argv, environment, directory, stdin } => {
            let parts = command::Parts { argv, environment, directory, stdin };
            command::run(shared, of, parts, &mut ending).await
        }
        What::Call { runtime, code, body } => {
            let parts = call::Parts { runtime, code, body };
            call::run(shared, of, runtimes, parts, &mut ending).await
        }
    };
    if let Some(report) = &mut verdict.report {
        report.name = work.name;
    }
    verdict
}
