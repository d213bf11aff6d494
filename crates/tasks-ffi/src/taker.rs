//! Takers: the tasks of one queue that a process claims, in a session of their own.
//!
//! Threads of the program wait at a condition variable. A task of the runtime, the pump, offers as
//! many slots as are wanted, hears what is assigned, and gives back what nobody wants.

use core::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidings_tasks::items;
use tidings_tasks::session::{Assigned, Notice, Session, SessionEnded};
use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::resources::Amount;
use tidings_tasks_core::retry::Cause;
use tokio::sync::{Notify, mpsc};

use crate::slots::{Key, Slots};
use crate::status::Trouble;

/// The tasks of one queue.
#[derive(Debug)]
pub(crate) struct Taker {
    pub(crate) session: Session,
    state: Mutex<State>,
    /// A task has come, or none will come any more.
    arrived: Condvar,
    /// The slots may be others than those that were offered.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    slots: Slots,
    /// Why no task will come any more.
    ended: Option<String>,
}

type Offering = Pin<Box<dyn Future<Output = Result<Answer, SessionEnded>> + Send>>;

impl Taker {
    /// Needs a runtime of tokio, in which the pump runs until the session ends.
    pub(crate) fn begin(
        queue: &str,
        resources: Vec<(String, Amount)>,
        session: Session,
        notices: mpsc::Receiver<Notice>,
    ) -> Arc<Self> {
        let (state, arrived, changed) = Default::default();
        let taker = Arc::new(Self { session, state, arrived, changed });
        let (queue, offering, offered) = (queue.to_owned(), None, 0);
        let pump = Pump { taker: taker.clone(), queue, resources, offering, offered };
        tokio::spawn(pump.run(notices));
        taker
    }

    /// The next task, and what says later whether it is still wanted. `None` if none has come in
    /// this time.
    pub(crate) fn claim(
        &self,
        wait: Option<Duration>,
    ) -> Result<Option<(Assigned, Arc<AtomicBool>)>, Trouble> {
        let until = wait.and_then(|wait| Instant::now().checked_add(wait));
        let mut state = self.lock();
        state.slots.ask();
        self.changed.notify_one();
        loop {
            if let Some(taken) = state.slots.take() {
                return Ok(Some(taken));
            }
            let now = Instant::now();
            let rest = until.map(|until| until.saturating_duration_since(now));
            if state.ended.is_some() || rest == Some(Duration::ZERO) {
                state.slots.give_up(now);
                self.changed.notify_one();
                let ended = state.ended.clone();
                return ended.map_or(Ok(None), |reason| Err(Trouble::store(reason)));
            }
            state = match rest {
                None => self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(rest) => {
                    let waited = self.arrived.wait_timeout(state, rest);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// A try is no longer in hand: its slot is for the next one.
    pub(crate) fn end(&self, key: Key) {
        self.lock().slots.end(key, Instant::now());
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is whole, even if its thread panicked after it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives tasks back that nobody here wants.
    fn give_back(self: &Arc<Self>, tasks: impl IntoIterator<Item = Assigned>) {
        for Assigned { task, attempt, .. } in tasks {
            let session = self.session.clone();
            let text = "the process that it was given to did not want it".to_owned();
            let request =
                Request::Fail { task, attempt, cause: Cause::Returned, text, detail: Vec::new() };
            // Without a session it is given back by the session's end.
            tokio::spawn(async move { drop(session.ask(request).await) });
        }
    }
}

/// What speaks for a taker.
struct Pump {
    taker: Arc<Taker>,
    queue: String,
    /// What is offered beside slots.
    resources: Vec<(String, Amount)>,
    /// An offer that was not answered yet, and what it says.
    offering: Option<Offering>,
    offered: u32,
}

impl Pump {
    async fn run(mut self, mut notices: mpsc::Receiver<Notice>) {
        let reason = loop {
            let kept_until = self.offer();
            tokio::select! {
                notice = notices.recv() => match notice {
                    Some(notice) => self.take(notice),
                    None => break why_ended(&self.taker.session).await,
                },
                answer = answer(&mut self.offering) => {
                    self.offering = None;
                    match answer {
                        Ok(Answer::Refused(refusal)) => break refusal.to_string(),
                        Ok(_) => {}
                        Err(error) => break error.to_string(),
                    }
                }
                () = self.taker.changed.notified() => {}
                () = until(kept_until) => {
                    let unwanted = self.taker.lock().slots.expire(Instant::now());
                    self.taker.give_back(unwanted);
                }
            }
        };
        self.taker.lock().ended = Some(reason);
        self.taker.arrived.notify_all();
    }

    /// Offers what is wanted, one offer at a time. Returns until when it is.
    fn offer(&mut self) -> Option<Instant> {
        let (wanted, kept_until) = {
            let state = self.taker.lock();
            (state.slots.wanted(), state.slots.kept_until())
        };
        if self.offering.is_none() && wanted != self.offered {
            self.offered = wanted;
            let session = self.taker.session.clone();
            let offer = items::offer_with(&self.queue, wanted, &self.resources);
            self.offering = Some(Box::pin(async move { session.ask(offer).await }));
        }
        kept_until
    }

    fn take(&self, notice: Notice) {
        match notice {
            Notice::Assigned(assigned) => {
                let unwanted = self.taker.lock().slots.arrive(assigned);
                self.taker.arrived.notify_one();
                self.taker.give_back(unwanted);
            }
            Notice::Stop(task, attempt) => {
                let unwanted = self.taker.lock().slots.stop((task, attempt));
                self.taker.give_back(unwanted);
            }
            Notice::Lapsed(lapse) => {
                for key in lapse.tries {
                    let unwanted = self.taker.lock().slots.lapse(key);
                    self.taker.give_back(unwanted);
                }
            }
        }
    }
}

/// Why a session that tells nothing any more has ended.
async fn why_ended(session: &Session) -> String {
    match session.ask(Request::Heartbeat).await {
        Err(error) => error.to_string(),
        Ok(_) => "the session tells nothing any more".to_owned(),
    }
}

async fn answer(offering: &mut Option<Offering>) -> Result<Answer, SessionEnded> {
    match offering {
        Some(offering) => offering.await,
        None => core::future::pending().await,
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment.into()).await,
        None => core::future::pending().await,
    }
}
