//! What a worker does: it takes tasks into its slots, and tells how they have ended.
//!
//! A slot that has something to do has a lane (`lane`), which is given the next tasks too, if they
//! are short (`pace`) and its process takes them; what a lane has not begun comes back when it
//! is asked. An end is reported to the coordinator beside the next task. A worker is given as many
//! tasks as it has asked for, so it goes on with what it has while there is no coordinator.
//!
//! Invariant: what is assigned is failed or completed exactly once, whatever happens in between.

mod pause;
mod sharing;

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::retry::Cause;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use crate::session::{Assigned, Notice, Session, SessionEnded};
use crate::spawn::boxed;

use super::ending::{Order, until};
use super::given::{Content, Key, Say, Slot, Todo, Told};
use super::pace::Pace;
use super::room::Short;
use super::settings::Event;
use super::settle;
use super::shared::Shared;
use super::verdict::Verdict;

use pause::Pause;

/// How long a worker that ends waits for the answers of a coordinator.
const ANSWERS: Duration = Duration::from_secs(3);

/// Why a worker has ended to whose last offer there was no answer.
const UNANSWERED: &str = "no coordinator has answered";

/// Why tasks are given back by a worker that takes no more.
const ENDING: &str = "its worker is ending";

/// Why one is given back that is cancelled.
const UNWANTED: &str = "it was no longer wanted";

/// What lanes have told and the driver has not heard, at most.
const TOLD: usize = 1_024;

/// What a lane was told and has not heard, at most.
const SAID: usize = 256;

/// What a worker is told by its program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Word {
    /// Take no more, and end when all is done or time is up.
    Drain,
    /// End now.
    Stop,
}

/// A try that a lane has.
#[derive(Debug)]
struct Running {
    orders: watch::Sender<Option<Order>>,
    /// Known once it begins.
    grace_ms: Arc<AtomicU64>,
    slot: u32,
    copies: u32,
}

/// A slot that has something to do.
#[derive(Debug)]
struct Busy {
    says: mpsc::Sender<Say>,
    /// The tries that it has.
    count: usize,
    /// How many its process takes ahead; none while what runs takes long.
    takes: usize,
    is_late: bool,
    /// Whether it was asked for what it has not begun.
    is_asked: bool,
}

/// What has come to its end in the worker.
#[derive(Debug)]
enum Ended {
    /// A lane, which has told all.
    Lane,
    /// What was to be told of a try.
    Telling(Key),
    /// The same, but there is no room for its result.
    NoRoom(Key, Short),
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
    /// Lanes, by slot.
    busy: BTreeMap<u32, Busy>,
    heard: mpsc::Receiver<Told>,
    telling: mpsc::Sender<Told>,
    /// Slots that were used before.
    free: Vec<Slot>,
    /// How many slots were ever used.
    used: u32,
    /// Assigned, and there is no lane for it yet.
    waiting: VecDeque<Todo>,
    /// When that has waited for too long.
    patient_until: Option<Instant>,
    /// While this host has no room.
    pause: Pause,
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
        let (telling, heard) = mpsc::channel(TOLD);
        Self {
            shared: Arc::new(shared),
            session,
            notices,
            words,
            tries: JoinSet::new(),
            running: BTreeMap::new(),
            busy: BTreeMap::new(),
            heard,
            telling,
            free: Vec::new(),
            used: 0,
            waiting: VecDeque::new(),
            patient_until: None,
            pause: Pause::default(),
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
            let is_done = self.is_idle() && self.offering.is_none();
            if self.word.is_some() && is_done {
                break "it was told to end".to_owned();
            }
            if let Some(reason) = self.step().await {
                break reason;
            }
        };
        drop(self.tries);
        self.shared.spares.end();
        let leaving = self.session.ask(Request::Leave);
        // Without a coordinator the session ends by itself.
        let _ = tokio::time::timeout(ANSWERS, leaving).await;
        self.shared.tell(Event::Closed(reason));
    }

    /// Whether nothing runs, and nothing is to be told.
    fn is_idle(&self) -> bool {
        self.tries.is_empty() && self.busy.is_empty()
    }

    /// Takes what comes next. Returns why the worker ends, if it does.
    async fn step(&mut self) -> Option<String> {
        tokio::select! {
            notice = self.notices.recv() => match notice {
                Some(notice) => self.take_all(notice),
                None => return Some(why_closed(self.session.clone()).await),
            },
            Some(told) = self.heard.recv() => self.hear_all(told),
            Some(ended) = self.tries.join_next(), if !self.tries.is_empty() => {
                self.ended(ended);
                while let Some(ended) = self.tries.try_join_next() {
                    self.ended(ended);
                }
            }
            word = self.words.recv() => match word {
                Some(word) => self.told(word),
                None => return Some("its program has dropped it".to_owned()),
            },
            answer = offered(&mut self.offering) => {
                self.offering = None;
                if let Ok(Answer::Refused(refusal)) = answer {
                    return Some(format!("its offer was refused: {refusal}"));
                }
                self.return_held();
                if std::mem::take(&mut self.is_returning) {
                    self.return_waiting("its worker has other tasks that take long, or no room");
                }
            }
            () = self.pause.over() => self.has_room(),
            () = until(self.patient_until) => self.return_ahead(),
            () = until(self.drained_at) => self.time_is_up(),
            () = until(self.answered_at), if self.is_idle() => {
                return Some(UNANSWERED.to_owned());
            }
            () = until(self.ended_at) => return Some(UNANSWERED.to_owned()),
        }
        None
    }

    /// Says what it takes: nothing more, if it is to end.
    fn offer(&mut self) {
        let (session, settings) = (self.session.clone(), &self.shared.settings);
        let takes_none = self.word.is_some() || self.pause.is_on();
        let slots = if takes_none { 0 } else { settings.slots };
        let ahead = slots.saturating_mul(self.pace.ahead());
        let (queues, resources) = (settings.queues.clone(), settings.resources.clone());
        let request = Request::Offer { queues, slots, resources, ahead, full: self.pause.said() };
        self.offering = Some(Box::pin(async move { session.ask(request).await }));
    }

    /// Takes a notice and those that have come with it: to look at all else in between takes longer
    /// than to take one.
    fn take_all(&mut self, first: Notice) {
        self.take(first);
        for _ in 0..TOLD {
            let Ok(notice) = self.notices.try_recv() else { break };
            self.take(notice);
        }
    }

    /// Hears what a lane tells, and what has come with it.
    fn hear_all(&mut self, first: Told) {
        self.hear(first);
        for _ in 0..TOLD {
            let Ok(told) = self.heard.try_recv() else { break };
            self.hear(told);
        }
    }

    fn take(&mut self, notice: Notice) {
        match notice {
            Notice::Assigned(assigned) => self.assigned(assigned),
            Notice::Stop(task, attempt) => self.end((task, attempt), Order::Stop),
            Notice::Lapsed(lapse) => {
                lapse.tries.iter().for_each(|key| self.end(*key, Order::Kill));
                self.shared.tell(Event::Lapsed);
            }
        }
    }

    fn assigned(&mut self, assigned: Assigned) {
        let Assigned { task, attempt, queue, payload, copies } = assigned;
        let todo = Todo { task, attempt, queue, copies, content: Content::Payload(payload) };
        if self.word.is_some() {
            return self.give_back(&todo, ENDING);
        }
        self.waiting.push_back(todo);
        self.fill();
        if !self.waiting.is_empty() && self.patient_until.is_none() {
            self.patient_until = Some(Instant::now() + self.pace.patience());
        }
    }

    fn ended(&mut self, ended: Result<Ended, JoinError>) {
        match ended {
            Ok(Ended::Telling(key)) => drop(self.running.remove(&key)),
            Ok(Ended::NoRoom(key, short)) => self.no_room(key, short),
            Err(error) if error.is_panic() => {
                // A defect: what this worker has is given back by its end.
                std::panic::resume_unwind(error.into_panic());
            }
            // A lane has told all before.
            Ok(Ended::Lane) | Err(_) => {}
        }
    }

    /// Tells how a try has ended.
    fn tell(&mut self, key: Key, mut verdict: Verdict) {
        if let Some(short) = verdict.short.take() {
            return self.no_room(key, short);
        }
        let (shared, session) = (self.shared.clone(), self.session.clone());
        let copies = self.running.get(&key).map_or(0, |running| running.copies);
        self.tries.spawn(boxed(async move {
            match settle::settle(&shared, &session, (key, copies), verdict).await {
                None => Ended::Telling(key),
                Some(short) => Ended::NoRoom(key, short),
            }
        }));
    }

    /// There is no room for a try.
    fn no_room(&mut self, key: Key, short: Short) {
        let Some(short) = self.pause.hold(key, short) else {
            return self.return_held();
        };
        if self.word.is_none() && !self.pause.is_on() {
            self.shared.tell(Event::NoRoom(short.said()));
            self.pause.begin(short);
            self.ask_back();
        }
        self.is_returning = true;
        self.offer();
    }

    /// There is room again.
    fn has_room(&mut self) {
        self.pause.end();
        self.is_returning = false;
        self.shared.tell(Event::Room);
        self.offer();
        self.fill();
    }

    /// Gives back what found no room.
    fn return_held(&mut self) {
        for (key, verdict) in self.pause.held() {
            self.tell(key, verdict);
        }
    }

    /// Ends a try that nobody wants.
    fn end(&mut self, key: Key, order: Order) {
        if let Some(running) = self.running.get(&key) {
            running.raise(order);
            // It may lie with its process, and not have begun.
            if let Some(busy) = self.busy.get_mut(&running.slot).filter(|busy| busy.count > 1) {
                busy.is_asked = busy.says.try_send(Say::Back).is_ok();
            }
        }
        if let Some(at) = self.waiting.iter().position(|todo| todo.key() == key) {
            if let Some(todo) = self.waiting.remove(at) {
                self.give_back(&todo, UNWANTED);
            }
        }
    }

    fn told(&mut self, word: Word) {
        if self.word >= Some(word) {
            return;
        }
        self.word = Some(word);
        self.pause.end();
        self.answered_at = Some(Instant::now() + ANSWERS);
        self.offer();
        self.ask_back();
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
        while let Some(todo) = self.waiting.pop_back() {
            self.give_back(&todo, why);
        }
    }

    /// Ends a try that has not begun.
    fn give_back(&mut self, todo: &Todo, why: &str) {
        self.tell(todo.key(), Verdict::failed(Cause::Returned, why));
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
