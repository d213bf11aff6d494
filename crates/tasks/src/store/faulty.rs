//! A store that fails as real ones do, by a seed or at a given call: to test what stands on stores.
//!
//! It stands before another store. Each call, of the store or of a watch, has a number, from 1 on
//! in the order in which they begin, and may meet a [`Fault`]. A watch that meets one is over. A
//! test that runs once and reads [`Faulty::calls`] can then run again for each call and each fault.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tidings_primitives::Chance;
use tidings_tasks_core::ledger::Page;
use tidings_tasks_core::transaction::{CommitError, Key, Limits, Revision, Session, Transaction};

use super::{Batch, Lost, SessionError, Snapshot, Store, Watch, WatchError};

/// What happens to one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// It is done, and its answer is lost. ([`CommitError::Unknown`], or the `Lost` of the call.)
    AnswerLost,
    /// It is not done, and its answer is lost: nobody can tell it from the former.
    CallLost,
    /// The store is known not to have done it: `Lost`.
    Refused,
    /// It waits for [`LATE`] before it is done, and is answered.
    Delayed,
    /// Its answer is lost at once. A commit is done all the same, [`LATE`] later; another call is
    /// not done.
    Late,
}

/// How late a call is that meets [`Fault::Delayed`] or [`Fault::Late`]: later than a session ends
/// that nobody keeps.
pub const LATE: Duration = Duration::from_secs(5);

/// How often what happens.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    /// What happens to calls of given numbers.
    pub at: BTreeMap<u64, Fault>,
    /// Answers lost of 1,000 calls, after they were done.
    pub answers_lost: u32,
    /// Calls lost of 1,000.
    pub calls_lost: u32,
    /// Calls refused of 1,000.
    pub refused: u32,
    /// The longest delay before a call and before its answer, each drawn evenly. It is waited for
    /// in the time of the runtime.
    pub delay_max: Duration,
}

/// A store that fails. The clones are one store.
#[derive(Clone)]
pub struct Faulty {
    inner: Arc<dyn Store>,
    chance: Arc<Drawn>,
}

/// What happens, shared by a store and its watches.
struct Drawn {
    faults: Faults,
    state: Mutex<State>,
}

struct State {
    generator: Chance,
    calls: u64,
}

/// What one call meets.
struct Fate {
    fault: Option<Fault>,
    delays: [Duration; 2],
}

impl Drawn {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fate(&self) -> Fate {
        let mut state = self.lock();
        state.calls += 1;
        let calls = state.calls;
        let mut below = |bound: u64| state.generator.bits() % bound.max(1);
        let longest = self.faults.delay_max.as_nanos() as u64 + 1;
        let delays = [below(longest), below(longest)].map(Duration::from_nanos);
        let drawn = below(1_000) as u32;
        let mut until = 0;
        let rates = [
            (Fault::AnswerLost, self.faults.answers_lost),
            (Fault::CallLost, self.faults.calls_lost),
            (Fault::Refused, self.faults.refused),
        ];
        let by_chance = rates.into_iter().find_map(|(fault, rate)| {
            until += rate;
            (drawn < until).then_some(fault)
        });
        Fate { fault: self.faults.at.get(&calls).copied().or(by_chance), delays }
    }
}

impl Faulty {
    /// A store that fails at random, the same way for the same seed and order of calls.
    pub fn new(inner: Arc<dyn Store>, faults: Faults, seed: u64) -> Self {
        let generator = Chance::new(seed);
        let state = Mutex::new(State { generator, calls: 0 });
        Self { inner, chance: Arc::new(Drawn { faults, state }) }
    }

    /// How many calls there were.
    pub fn calls(&self) -> u64 {
        self.chance.lock().calls
    }

    /// Makes a call, or not, and passes the answer on, or not.
    async fn call<T, E>(
        &self,
        fate: Fate,
        call: impl Future<Output = Result<T, E>>,
        unknown: impl FnOnce() -> E,
        refused: impl FnOnce(String) -> E,
    ) -> Result<T, E> {
        let Fate { fault, delays: [before, after] } = fate;
        wait(before).await;
        match fault {
            None => {
                let answer = call.await;
                wait(after).await;
                answer
            }
            Some(Fault::AnswerLost) => {
                let _ = call.await;
                wait(after).await;
                Err(unknown())
            }
            Some(Fault::Delayed) => {
                wait(LATE).await;
                call.await
            }
            Some(Fault::CallLost | Fault::Late) => Err(unknown()),
            Some(Fault::Refused) => Err(refused("a fault was injected".into())),
        }
    }
}

async fn wait(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

fn no_answer() -> Lost {
    Lost("no answer: a fault was injected".into())
}

/// A watch that breaks.
struct FaultyWatch {
    watch: Box<dyn Watch>,
    chance: Arc<Drawn>,
}

#[async_trait]
impl Watch for FaultyWatch {
    async fn next(&mut self) -> Result<Batch, WatchError> {
        let Fate { fault, delays: [before, _] } = self.chance.fate();
        wait(before).await;
        if fault == Some(Fault::Delayed) {
            wait(LATE).await;
        }
        match fault {
            // No delay comes after it: a batch must not get lost with a future that is dropped.
            None | Some(Fault::Delayed) => self.watch.next().await,
            Some(_) => Err(no_answer().into()),
        }
    }
}

#[async_trait]
impl Store for Faulty {
    async fn commit(&self, transaction: Transaction) -> Result<Revision, CommitError> {
        let fate = self.chance.fate();
        if fate.fault == Some(Fault::Late) {
            let (inner, late) = (self.inner.clone(), transaction.clone());
            crate::spawn::spawn(async move {
                wait(LATE).await;
                inner.commit(late).await
            });
        }
        let call = self.inner.commit(transaction);
        self.call(fate, call, || CommitError::Unknown, CommitError::Lost).await
    }

    async fn get(&self, keys: &[Key]) -> Result<Snapshot, Lost> {
        self.call(self.chance.fate(), self.inner.get(keys), no_answer, Lost).await
    }

    async fn scan(&self, from: &Key, end: Option<&Key>, limit: usize) -> Result<Page, Lost> {
        self.call(self.chance.fate(), self.inner.scan(from, end, limit), no_answer, Lost).await
    }

    async fn watch(&self, prefix: &[u8], after: Revision) -> Result<Box<dyn Watch>, WatchError> {
        let call = self.inner.watch(prefix, after);
        let watch =
            self.call(self.chance.fate(), call, || no_answer().into(), WatchError::Lost).await?;
        Ok(Box::new(FaultyWatch { watch, chance: self.chance.clone() }))
    }

    async fn open_session(&self, ttl: Duration) -> Result<Session, SessionError> {
        let call = self.inner.open_session(ttl);
        self.call(self.chance.fate(), call, || no_answer().into(), SessionError::Lost).await
    }

    async fn keep_session(&self, session: Session) -> Result<(), SessionError> {
        let call = self.inner.keep_session(session);
        self.call(self.chance.fate(), call, || no_answer().into(), SessionError::Lost).await
    }

    async fn close_session(&self, session: Session) -> Result<(), SessionError> {
        let call = self.inner.close_session(session);
        self.call(self.chance.fate(), call, || no_answer().into(), SessionError::Lost).await
    }

    async fn compact(&self, before: Revision) -> Result<(), Lost> {
        self.call(self.chance.fate(), self.inner.compact(before), no_answer, Lost).await
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }
}
