//! What a worker does: it takes tasks into its slots, and tells how they have ended.
//!
//! A slot is free again when its try has ended; the coordinator is told beside the next one. A
//! worker is given as many tasks as it has asked for: those that its slots do, and a few more if
//! they are short (`pace`). So it goes on with what it has while there is no coordinator.
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
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use crate::session::{Assigned, Notice, Session, SessionEnded};
use crate::work::{What, Work};

use super::call;
use super::command;
use super::ending::{Ending, Order, until};
use super::inputs;
use super::kept::Runtimes;
use super::pace::{PATIENCE, Pace};
use super::settings::Event;
use super::settle;
use super::shared::{Shared, Try};
use super::values;
use super::verdict::Verdict;

/// How long a worker that ends waits for the answers of a coordinator.
const ANSWERS: Duration = Duration::from_secs(3);

/// Why a worker has ended to whose last offer there was no answer.
const UNANSWERED: &str = "no coordinator has answered";

/// Why tasks are given back by a worker that takes no more.
const ENDING: &str = "its worker is ending";

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

/// What has come to its end in the worker.
#[derive(Debug)]
enum Ended {
    /// A try, which is still to be told.
    Try { slot: Slot, key: Key, verdict: Verdict, took: Duration },
    /// What was to be told of one.
    Telling(Key),
}

type Offering = Pin<Box<dyn Future<Output = Result<Answer, SessionEnded>> + Send>>;

/// A worker at work.
pub(super) struct Driver {
    shared: Arc<Shared>,
    session: Session,
    notices: mpsc::Receiver<Notice>,
    words: mpsc::Receiver<Word>,
    tries: JoinSet<Ended>,
    running: BTreeMap<Key, Running>,
    /// Slots that were used before.
    free: Vec<Slot>,
    /// How many slots were ever used.
    used: u32,
    /// Assigned, and there is no slot for it yet.
    waiting: VecDeque<Assigned>,
    /// When that has waited for too long.
    patient_until: Option<Instant>,
    /// Whether what waits is given back when the offer was answered.
    is_returning: bool,
    pace: Pace,
    /// The last offer, if it was not answered yet.
    offering: Option<Offering>,
    word: Option<Word>,
    drained_at: Option<Instant>,
    /// Until when a worker that ends and has nothing in hand waits for the answer to its offer.
    answered_at: Option<Instant>,
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
            patient_until: None,
            is_returning: false,
            pace: Pace::new(),
            offering: None,
            word: None,
            drained_at: None,
            answered_at: None,
            ended_at: None,
        }
    }

    /// Works until it is told to end.
    pub(super) async fn run(mut self) {
        self.offer();
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
            Some(ended) = self.tries.join_next(), if !self.tries.is_empty() => self.ended(ended),
            word = self.words.recv() => match word {
                Some(word) => self.told(word),
                None => return Some("its program has dropped it".to_owned()),
            },
            answer = offered(&mut self.offering) => {
                self.offering = None;
                if let Ok(Answer::Refused(refusal)) = answer {
                    return Some(format!("its offer was refused: {refusal}"));
                }
                if std::mem::take(&mut self.is_returning) {
                    self.return_waiting("other tasks of its worker take long");
                }
            }
            () = until(self.patient_until) => self.return_ahead(),
            () = until(self.drained_at) => self.time_is_up(),
            () = until(self.answered_at), if self.tries.is_empty() => {
                return Some(UNANSWERED.to_owned());
            }
            () = until(self.ended_at) => return Some(UNANSWERED.to_owned()),
        }
        None
    }

    /// Says what it takes: nothing more, if it is to end.
    fn offer(&mut self) {
        let (session, settings) = (self.session.clone(), &self.shared.settings);
        let slots = if self.word.is_some() { 0 } else { settings.slots };
        let ahead = slots.saturating_mul(self.pace.ahead());
        let (queues, resources) = (settings.queues.clone(), settings.resources.clone());
        let request = Request::Offer { queues, slots, resources, ahead };
        self.offering = Some(Box::pin(async move { session.ask(request).await }));
    }

    fn take(&mut self, notice: Notice) {
        match notice {
            Notice::Assigned(assigned) => self.assigned(assigned),
            Notice::Stop(task, attempt) => self.stop((task, attempt)),
            Notice::Lapsed => {
                self.order(Order::Kill);
                self.return_waiting(ENDING);
                self.shared.tell(Event::Lapsed);
            }
        }
    }

    fn assigned(&mut self, assigned: Assigned) {
        if self.word.is_some() {
            return self.give_back(&assigned, ENDING);
        }
        self.waiting.push_back(assigned);
        self.fill();
        if !self.waiting.is_empty() && self.patient_until.is_none() {
            self.patient_until = Some(Instant::now() + PATIENCE);
        }
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
            let waits = !self.waiting.is_empty();
            self.patient_until = waits.then(|| Instant::now() + PATIENCE);
        }
    }

    fn begin(&mut self, mut slot: Slot, assigned: Assigned) {
        let key = (assigned.task, assigned.attempt);
        let (orders, ordered) = watch::channel(None);
        let grace_ms = Arc::new(AtomicU64::new(0));
        self.running.insert(key, Running { orders, grace_ms: grace_ms.clone() });
        let Assigned { task, attempt, queue, payload } = assigned;
        let of = Try { task, attempt, queue, slot: slot.number };
        let shared = self.shared.clone();
        self.tries.spawn(async move {
            let begun = Instant::now();
            let verdict = match read(&shared, payload).await {
                Ok(work) => {
                    grace_ms.store(work.limits.grace_ms.min(MAX_GRACE_MS), Ordering::Relaxed);
                    attempt_it(&shared, &of, &mut slot.runtimes, work, ordered).await
                }
                Err(text) => Verdict::failed(Cause::Error, text),
            };
            Ended::Try { slot, key, verdict, took: begun.elapsed() }
        });
    }

    fn ended(&mut self, ended: Result<Ended, JoinError>) {
        match ended {
            Ok(Ended::Try { slot, key, verdict, took }) => {
                self.free.push(slot);
                // The lowest is used first.
                self.free.sort_by_key(|slot| core::cmp::Reverse(slot.number));
                self.fill();
                self.tell(key, verdict);
                if self.pace.took(took) && self.word.is_none() {
                    self.offer();
                }
            }
            Ok(Ended::Telling(key)) => drop(self.running.remove(&key)),
            Err(error) if error.is_panic() => {
                // A defect: what this worker has is given back by its end.
                std::panic::resume_unwind(error.into_panic());
            }
            Err(_) => {}
        }
    }

    /// Tells how a try has ended.
    fn tell(&mut self, key: Key, verdict: Verdict) {
        let (shared, session) = (self.shared.clone(), self.session.clone());
        self.tries.spawn(async move {
            settle::settle(&shared, &session, key, verdict).await;
            Ended::Telling(key)
        });
    }

    /// A try is not wanted.
    fn stop(&mut self, key: Key) {
        if let Some(running) = self.running.get(&key) {
            running.raise(Order::Stop);
        }
        let is_it = |assigned: &Assigned| (assigned.task, assigned.attempt) == key;
        if let Some(at) = self.waiting.iter().position(is_it) {
            if let Some(assigned) = self.waiting.remove(at) {
                self.give_back(&assigned, "it was no longer wanted");
            }
        }
    }

    fn told(&mut self, word: Word) {
        if self.word >= Some(word) {
            return;
        }
        self.word = Some(word);
        self.answered_at = Some(Instant::now() + ANSWERS);
        self.offer();
        self.return_waiting(ENDING);
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

    /// Tasks have waited for too long: others may do them. They are given back once the
    /// coordinator knows that this worker takes none ahead.
    fn return_ahead(&mut self) {
        self.patient_until = None;
        self.pace.reset();
        self.is_returning = true;
        self.offer();
    }

    /// Gives back what has not begun; the last first, so that the tasks come in their order again.
    fn return_waiting(&mut self, why: &str) {
        self.patient_until = None;
        while let Some(assigned) = self.waiting.pop_back() {
            self.give_back(&assigned, why);
        }
    }

    /// Ends a try that has not begun.
    fn give_back(&mut self, assigned: &Assigned, why: &str) {
        let key = (assigned.task, assigned.attempt);
        self.tell(key, Verdict::failed(Cause::Returned, why));
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
        What::Command { argv, environment, directory, stdin, inputs } => {
            let mut parts = command::Parts { argv, environment, directory, stdin };
            match inputs::fetch(shared, &mut parts, &inputs).await {
                Ok(_folder) => command::run(shared, of, parts, &mut ending).await,
                Err(verdict) => verdict,
            }
        }
        What::Call { runtime, code, body, inputs } => match values::of(shared, &inputs).await {
            Ok(inputs) => {
                let parts = call::Parts { runtime, code, body, inputs };
                call::run(shared, of, runtimes, parts, &mut ending).await
            }
            Err(verdict) => verdict,
        },
    };
    if let Some(report) = &mut verdict.report {
        report.name = work.name;
    }
    verdict
}
