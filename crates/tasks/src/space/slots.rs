//! Slots: the numbers of a session's statements with one coordinator.
//!
//! In each slot there is one statement at a time. So a statement that is sent again, since its
//! answer was lost, is known to the coordinator by slot and number, and is not done twice. There
//! are as many slots as statements are on their way at a time.
//!
//! Invariant: a slot is idle only when the answer to its last statement, or to the withdrawal of
//! that, has come.

use std::sync::{Arc, Mutex, PoisonError};

use tidings_tasks_core::id::{Attempt, Part, TaskId};
use tidings_tasks_core::message::{Answer, Place, Refusal, Request};
use tidings_tasks_core::tuple::{Settled, Statement};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::{SpaceError, answer_of};
use crate::session::{Session, SessionEnded};

/// The statements of one session at a time; more wait for one to be done.
const MAX_SLOTS: usize = 512;

/// The slots of a session with the coordinator of a part.
#[derive(Debug)]
pub(super) struct Slots {
    session: Session,
    part: Part,
    idle: Mutex<Idle>,
    free: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Idle {
    places: Vec<Place>,
    /// How many slots there are.
    made: u16,
}

/// A slot, for one statement.
pub(super) struct Turn {
    slots: Arc<Slots>,
    /// The next statement.
    place: Place,
    /// What was asked and not answered.
    asked: Option<Asked>,
    permit: Option<OwnedSemaphorePermit>,
}

/// A statement whose answer has not come.
struct Asked {
    alters: bool,
    claims: bool,
    owner: Option<(TaskId, Attempt)>,
}

impl Slots {
    pub(super) fn new(session: Session, part: Part) -> Self {
        let free = Arc::new(Semaphore::new(MAX_SLOTS));
        Self { session, part, idle: Mutex::default(), free }
    }

    /// An idle slot, opened if it is new.
    pub(super) async fn turn(self: &Arc<Self>) -> Result<Turn, SpaceError> {
        // It is never closed.
        let permit = self.free.clone().acquire_owned().await.ok();
        let place = self.idle(|idle| {
            idle.places.pop().unwrap_or_else(|| {
                idle.made += 1;
                Place { slot: idle.made - 1, sequence: 0 }
            })
        });
        let mut turn = Turn { slots: self.clone(), place, asked: None, permit };
        if place.sequence == 0 {
            answer_of(turn.ask(Statement::default()).await?)?;
        }
        Ok(turn)
    }

    async fn ask(&self, request: Request) -> Result<Answer, SessionEnded> {
        self.session.ask_part(self.part, request).await
    }

    fn idle<T>(&self, change: impl FnOnce(&mut Idle) -> T) -> T {
        // Each change is whole.
        change(&mut self.idle.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Turn {
    /// The answer to a statement.
    pub(super) async fn ask(&mut self, statement: Statement) -> Result<Answer, SpaceError> {
        let alters = statement.alters() || self.place.sequence == 0;
        let (claims, owner) = (statement.claims() > 0, statement.owner);
        self.asked = Some(Asked { alters, claims, owner });
        let (place, statement) = (self.place, Box::new(statement));
        let answer = self.slots.ask(Request::Execute { place, statement }).await;
        self.asked = None;
        let answer = answer?;
        self.answered(alters, &answer);
        Ok(answer)
    }

    /// Counts a statement that was done.
    fn answered(&mut self, alters: bool, answer: &Answer) {
        match answer {
            Answer::Matched(_) if alters => self.place.sequence += 1,
            // The session was opened anew, and has no slots.
            Answer::Refused(Refusal::Lapsed) => self.place.sequence = 0,
            _ => {}
        }
    }

    /// Withdraws a statement whose answer nobody waits for; what it has claimed is there again.
    async fn withdraw(mut self, asked: Asked) {
        let place = self.place;
        let Ok(answer) = self.slots.ask(Request::GiveUp { place }).await else { return };
        self.answered(asked.alters, &answer);
        let Answer::Matched(found) = answer else { return };
        if asked.claims {
            let back = |number| Settled { number, is_gone: false };
            let settled = found.into_iter().map(|one| back(one.number)).collect();
            let statement = Statement { settled, owner: asked.owner, ..Statement::default() };
            // A session that has ended has given them back.
            let _ = self.ask(statement).await;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(asked) = self.asked.take() else {
            let place = self.place;
            return self.slots.idle(|idle| idle.places.push(place));
        };
        // Without a runtime the session is ending, and with it what waits.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (slots, place, permit) = (self.slots.clone(), self.place, self.permit.take());
        let turn = Self { slots, place, asked: None, permit };
        runtime.spawn(turn.withdraw(asked));
    }
}
