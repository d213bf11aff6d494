//! Phases that are recovered: what died with its process runs again, and no more.
//!
//! It is the world of `tidings-recovery`: its messages are letters, its deaths those of this
//! process. Arrays lie in the memories of their owners, with a copy elsewhere; tasks declare to
//! which blocks they add, and each contribution is applied once.
//!
//! All make the same arrays and enter the same phases, so each of these is a meeting. What a
//! participant sends because of it goes when all have come: who gets it knows the array.
//!
//! Invariant: who has told others that it came has a participant, so none of its messages is
//! dropped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidings_primitives::Instant as Time;
use tidings_recovery::{
    Array, Config, Contribution, Counters, Ending, FinishError, Output, Participant, Place, Plan,
    Scheme,
};
use tidings_steal::NoBoard;

use super::{Process, Stop, tag_of};
use crate::error::PhaseError;
use crate::letter::{Held, Letter};
use crate::recovery::Recovery;

/// What a phase that was recovered was on this process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recovered {
    /// Who has died since all joined, the same at all who live.
    pub lost: Vec<u32>,
    /// From when all had entered until all had left.
    pub took: Duration,
    /// What this process has done since phases are recovered.
    pub counters: Counters,
}

/// A task that runs; it may run again elsewhere.
#[derive(Debug)]
pub struct Attempt<'a> {
    process: &'a mut Process,
    task: u64,
}

/// What runs the tasks of a plan and says what each adds. `T` is what the process has: what a task
/// changes there counts each time that it runs. After an error this
/// process takes part no more, and others run the task again.
pub type Attempts<T> = fn(&mut Attempt<'_>, &mut T) -> Result<Vec<Contribution>, PhaseError>;

impl Attempt<'_> {
    /// The number of the task in its plan.
    pub fn task(&self) -> u64 {
        self.task
    }

    /// Which worker runs it.
    pub fn worker(&self) -> u32 {
        self.process.number()
    }

    /// Reads a block of an array to which no task of the phase adds, wherever it is. If the process
    /// that has it dies, the one that has it now is asked.
    ///
    /// It answers between its tasks, and this process answers others while it waits.
    ///
    /// # Errors
    /// If there is no such block, it is lost, or this process takes part no more.
    pub fn get(&mut self, place: Place) -> Result<Vec<u64>, PhaseError> {
        self.process.get(place)
    }

    /// Looks for messages and answers them: for tasks longer than others should wait.
    pub fn progress(&mut self) {
        // What is wrong is said again at the end of the task.
        let _ = self.process.turn(Duration::ZERO);
    }
}

impl Process {
    /// From now on arrays can be made, and phases on them are recovered by this scheme. All call
    /// it, between phases, once.
    ///
    /// # Errors
    /// If others do not.
    pub fn recover_by(&mut self, scheme: Scheme) -> Result<(), PhaseError> {
        let config = Config::new(self.rules.config(), scheme);
        let (me, workers) = (self.number(), self.workers());
        let mut participant = Participant::new(me, workers, &config, self.rules.seed);
        for worker in self.assembly.view().dead() {
            participant.died(*worker, Time::EPOCH);
        }
        self.recovery =
            Recovery { participant: Some(participant), waits: true, ..Recovery::default() };
        self.meet_for(tag_of(&("recover", scheme.name())))
    }

    /// Makes an array of zeros; its number. All make the same, between phases.
    ///
    /// # Errors
    /// If there is no room for it, or others do not make it.
    pub fn create(&mut self, array: Array) -> Result<u16, PhaseError> {
        let Array { name, blocks, words, .. } = &array;
        let tag =
            tag_of(&("array", name, blocks, words, format!("{:?}", (array.kind, array.loss))));
        let tag = tag_of(&(tag, array.copied));
        let name = array.name.clone();
        let participant = self.recovery.participant.as_mut().ok_or(PhaseError::NoRecovery)?;
        let number = participant.create(array).ok_or(PhaseError::Array { name })?;
        self.recovery.waits = true;
        self.meet_for(tag)?;
        Ok(number)
    }

    /// All elements of an array are zero when the next phase begins. All call it.
    ///
    /// # Errors
    /// If phases are not recovered.
    pub fn zero(&mut self, array: u16) -> Result<(), PhaseError> {
        let participant = self.recovery.participant.as_mut().ok_or(PhaseError::NoRecovery)?;
        participant.zero(array);
        Ok(())
    }

    /// The elements of a block, `None` if another process has it. Who has which changes with
    /// deaths.
    ///
    /// # Errors
    /// If the block is lost, or phases are not recovered.
    pub fn block(&self, place: Place) -> Result<Option<&[u64]>, PhaseError> {
        let participant = self.recovery.participant.as_ref().ok_or(PhaseError::NoRecovery)?;
        participant.block(place).map_err(|lost| PhaseError::Refused(vec![lost]))
    }

    /// Enters a phase with this plan, and returns when each block holds all that its tasks add,
    /// whoever has died. Name and plan are the same at all.
    ///
    /// # Errors
    /// If blocks are lost ([`PhaseError::Refused`]), a task adds what it has not declared, or
    /// others do not enter this phase: see [`PhaseError`].
    pub fn recovered<T>(
        &mut self,
        name: &str,
        plan: Arc<dyn Plan>,
        run: Attempts<T>,
        user: &mut T,
    ) -> Result<Recovered, PhaseError> {
        if self.recovery.participant.is_none() {
            return Err(PhaseError::NoRecovery);
        }
        let tag = tag_of(&("recovered", name, plan.tasks()));
        self.meet(tag, Vec::new(), Some(self.rules.patience))?;
        let began = Instant::now();
        let time = self.time(began);
        (self.recovery.ending, self.recovery.trouble) = (None, None);
        let participant = self.recovery.participant.as_mut().ok_or(PhaseError::NoRecovery)?;
        participant.begin(name, plan, time).map_err(PhaseError::Begin)?;
        self.perform();
        self.attempt(run, user)?;
        self.meet(tag_of(&"end"), Vec::new(), None)?;
        self.note_lost();
        if let Some(Ending::Refused(lost)) = self.recovery.ending.take() {
            return Err(PhaseError::Refused(lost));
        }
        self.recovery.trouble.take().map_or(Ok(()), Err)?;
        let participant = self.recovery.participant.as_ref();
        let counters = participant.map(Participant::counters).unwrap_or_default();
        Ok(Recovered { lost: self.lost().collect(), took: began.elapsed(), counters })
    }

    /// Reads a block, wherever it is: within phases, where the others look for messages.
    ///
    /// # Errors
    /// As [`Attempt::get`].
    pub fn get(&mut self, place: Place) -> Result<Vec<u64>, PhaseError> {
        let Place { array, block } = place;
        loop {
            self.stopped()?;
            let participant = self.recovery.participant.as_ref().ok_or(PhaseError::NoRecovery)?;
            let holders = participant.holders(place);
            let (owner, _) = holders.ok_or(PhaseError::Block { array, block })?;
            let held = match self.recovery.held(place) {
                Held::Elsewhere if owner != self.number() => self.ask(owner, place)?,
                held => held,
            };
            match held {
                Held::Words(words) => return Ok(words),
                Held::Lost => return Err(PhaseError::LostBlock { array, block }),
                // It is on its way to its new owner.
                Held::Elsewhere => self.rest(None)?,
            }
        }
    }

    /// Asks the owner of a block, and waits until it has answered, or is it no more.
    fn ask(&mut self, owner: u32, place: Place) -> Result<Held, PhaseError> {
        self.recovery.asked = self.recovery.asked.wrapping_add(1);
        self.recovery.answer = None;
        self.post.say(owner, &Letter::Ask { number: self.recovery.asked, place });
        self.post.flush();
        while self.assembly.view().lives(owner) {
            self.rest(None)?;
            self.stopped()?;
            if let Some(held) = self.recovery.answer.take() {
                return Ok(held);
            }
        }
        Ok(Held::Elsewhere)
    }

    /// Runs tasks until all is held.
    fn attempt<T>(&mut self, run: Attempts<T>, user: &mut T) -> Result<(), PhaseError> {
        let poll = Duration::from_micros(u64::from(self.rules.poll_us));
        let mut now = Instant::now();
        let mut look = now;
        while self.recovery.ending.is_none() {
            if now >= look {
                self.turn(Duration::ZERO)?;
                look = now + poll;
            }
            self.stopped()?;
            let time = self.time(now);
            let task =
                self.recovery.participant.as_mut().and_then(|one| one.next_task(time, &NoBoard));
            self.perform();
            if let Some(task) = task {
                let given = run(&mut Attempt { process: self, task }, user);
                let ended = Instant::now();
                let took_ns = ended.saturating_duration_since(now).as_nanos() as u64;
                let given = given.or_else(|error| self.recovery.lost_to(error));
                if let Err(error) = given.and_then(|given| self.finish(given, took_ns, ended)) {
                    // Others miss what it has not added, as if it had died.
                    self.leave();
                    return Err(error);
                }
                now = ended;
                continue;
            }
            if self.recovery.ending.is_none() {
                self.rest(self.next_attempt())?;
            }
            now = Instant::now();
        }
        self.stopped()
    }

    /// A task has ended.
    fn finish(
        &mut self,
        given: Vec<Contribution>,
        took_ns: u64,
        now: Instant,
    ) -> Result<(), PhaseError> {
        let time = self.time(now);
        let Some(participant) = &mut self.recovery.participant else { return Ok(()) };
        let ended = participant.finished(given, took_ns, time);
        self.perform();
        match ended {
            // Its round is over: it runs again if it is missed.
            Ok(()) | Err(FinishError::OutsideTask) => Ok(()),
            Err(error) => Err(PhaseError::Finish(error)),
        }
    }

    fn next_attempt(&self) -> Option<Instant> {
        let due = self.recovery.participant.as_ref()?.next_deadline()?;
        self.origin.checked_add(Duration::from_micros(u64::try_from(due.as_micros()).ok()?))
    }

    /// Does what the participant wants.
    #[inline]
    pub(super) fn perform_recovery(&mut self) {
        while let Some(output) = self.recovery.output() {
            match output {
                Output::Send { to, message } => {
                    self.post.say(to, &Letter::Recover(Box::new(message)));
                }
                Output::Done(Ending::Expelled) => self.end(Stop::Expelled),
                Output::Done(ending) => self.recovery.ending = Some(ending),
            }
        }
    }

    /// Meets all for something of which a participant may have to say more.
    fn meet_for(&mut self, tag: u64) -> Result<(), PhaseError> {
        let met = self.meet(tag, Vec::new(), Some(self.rules.patience));
        self.recovery.waits = false;
        self.perform();
        self.note_lost();
        met
    }
}
