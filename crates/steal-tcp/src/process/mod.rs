//! A process as one of a job's workers: joining, meeting the others, and looking for mail.
//!
//! A process meets all others when a phase begins, when it ends, and to show each other words: it
//! says what for, and waits until it is decided that all who live have come (`assembly`). While it
//! waits it takes in messages, so who is behind is never held up by who is ahead.
//!
//! **Deaths.** Who finds that another one is dead, by the end of its connection, by its silence or
//! by a [`Watch`], tells all others and hears that one no more; its last word to it is that it is
//! dead. So who was only stopped or cut off learns that it has no part in this any more.
//!
//! Invariants: who is dead stays dead, at all who live. Who leaves by an error or a panic is to the
//! others as one that has died.

mod phase;
mod recovered;
mod task;

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use tidings_primitives::Instant as Time;
use tidings_steal::{Counters, Ending, Lost, Output, Seeding, Worker};

use crate::assembly::{Assembly, Step};
use crate::error::{JoinError, PhaseError};
use crate::join::{Joined, join};
use crate::letter::Letter;
use crate::post::{News, Post};
use crate::pulse::{Pulse, Watch};
use crate::recovery::Recovery;
use crate::rules::{Job, Place, Rules, SHOWN_WORDS};
use crate::vigil::Vigil;

pub use phase::Phase;
pub use recovered::{Attempt, Attempts, Recovered};
pub use task::{Body, Task};

/// A process as a worker.
#[derive(Debug)]
pub struct Process {
    place: Place,
    rules: Rules,
    worker: Worker,
    recovery: Recovery,
    assembly: Assembly,
    vigil: Vigil,
    /// When to look for silence.
    watches: Instant,
    /// The beginning of its clock.
    origin: Instant,
    /// When it was found to have been stopped.
    late: Instant,
    /// Of whose end the program knows.
    reported: Vec<bool>,
    /// Who is dead by silence alone.
    silent: BTreeSet<u32>,
    /// Who did not come, as who decides says.
    missing: Option<Vec<u32>>,
    ending: Option<Ending>,
    seeding: Seeding,
    /// Why it takes part no more.
    stop: Option<Stop>,
    refused: u64,
    pulse: Pulse,
    post: Post,
}

/// Why a process takes part no more.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Stop {
    Expelled,
    CutOff(Vec<u32>),
    Left,
}

impl Process {
    /// Joins a job: waits until all its workers are connected with each other. Worker 0 listens
    /// where all meet; another one has a listener at any port that the others can reach.
    ///
    /// # Errors
    /// If there can be no such job, others cannot be reached, refuse this process, or do not join.
    pub fn join(
        place: Place,
        listener: TcpListener,
        job: &Job,
        rules: &Rules,
    ) -> Result<Self, JoinError> {
        Self::start(place, join(place, listener, job, rules)?, rules, None)
    }

    /// The same, with somebody who knows of deaths from elsewhere.
    ///
    /// # Errors
    /// As [`Process::join`].
    pub fn join_watched(
        place: Place,
        listener: TcpListener,
        job: &Job,
        rules: &Rules,
        watch: Box<dyn Watch>,
    ) -> Result<Self, JoinError> {
        Self::start(place, join(place, listener, job, rules)?, rules, Some(watch))
    }

    fn start(
        place: Place,
        joined: Joined,
        rules: &Rules,
        watch: Option<Box<dyn Watch>>,
    ) -> Result<Self, JoinError> {
        let Joined { post, refused } = joined;
        let Place { number: me, workers, .. } = place;
        let waker = post.waker()?;
        let watch = watch.map(|watch| (watch, waker));
        let pulse = Pulse::begin(post.lines(), rules.beat, rules.silence, watch)?;
        let mut process = Self {
            place,
            rules: *rules,
            worker: Worker::new(me, workers, &rules.config(), rules.seed),
            recovery: Recovery::default(),
            assembly: Assembly::new(me, workers),
            vigil: Vigil::new(rules.silence),
            watches: Instant::now() + rules.silence,
            origin: Instant::now(),
            late: Instant::now(),
            reported: vec![false; workers as usize],
            silent: BTreeSet::new(),
            missing: None,
            ending: None,
            seeding: Seeding::Given,
            stop: None,
            refused,
            pulse,
            post,
        };
        process.sync()?;
        Ok(process)
    }

    /// The number of this worker.
    pub fn number(&self) -> u32 {
        self.place.number
    }

    /// How many workers there were at first.
    pub fn workers(&self) -> u32 {
        self.place.workers
    }

    /// Who has died, as phases and other meetings have said, in order: the same at all who live.
    pub fn lost(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.workers()).filter(|worker| self.reported[*worker as usize])
    }

    /// The first of those who live: one for what one of them has to do.
    pub fn first(&self) -> u32 {
        let lives = |worker: &u32| !self.reported[*worker as usize];
        (0..self.workers()).find(lives).unwrap_or(self.number())
    }

    /// Whether that is this worker.
    pub fn is_first(&self) -> bool {
        self.first() == self.number()
    }

    /// The rules of the job.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// What this worker has done since it joined.
    pub fn counters(&self) -> Counters {
        self.worker.counters()
    }

    /// How many connections were refused while it joined: strangers, other jobs, other keys.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Meets all others and shows them `words`, at most [`SHOWN_WORDS`]; what each shows, by
    /// number, `None` for those of whom it was said before that they are lost. All show the same
    /// number of words.
    ///
    /// # Errors
    /// If there are too many, others do not come or come for something else, or have died without
    /// showing what they had. After that, those who live can gather again.
    pub fn gather(&mut self, words: &[u64]) -> Result<Vec<Option<Vec<u64>>>, PhaseError> {
        if words.len() > SHOWN_WORDS {
            return Err(PhaseError::TooManyWords { words: words.len() });
        }
        let tag = tag_of(&("gather", words.len()));
        self.meet(tag, words.to_vec(), Some(self.rules.patience))?;
        if self.note_lost() {
            let workers = self.lost().collect();
            return Err(PhaseError::Lost(Lost { workers, sent: 0, finishes: 0 }));
        }
        let decision = self.assembly.decision();
        Ok(decision.map_or_else(Vec::new, |decision| decision.shown.clone()))
    }

    /// Meets all others: after it, each sees what all have done before it.
    ///
    /// # Errors
    /// As [`Process::gather`].
    pub fn sync(&mut self) -> Result<(), PhaseError> {
        self.gather(&[]).map(|_| ())
    }

    /// Comes to the next meeting and waits until it is decided, the same at all.
    fn meet(
        &mut self,
        tag: u64,
        words: Vec<u64>,
        patience: Option<Duration>,
    ) -> Result<(), PhaseError> {
        self.stopped()?;
        self.missing = None;
        self.assembly.come(tag, words);
        self.perform();
        // Who decides knows who is missing, and says so to those who wait a little longer.
        let patience = patience.filter(|_| self.workers() > 1).map(|patience| {
            let decides = self.assembly.missing().is_some();
            if decides { patience } else { patience + patience / 4 }
        });
        let until = patience.and_then(|patience| Instant::now().checked_add(patience));
        while self.assembly.decision().is_none() {
            self.rest(until)?;
            self.stopped()?;
            let is_late = until.is_some_and(|until| until <= Instant::now());
            if self.assembly.decision().is_none() && (is_late || self.missing.is_some()) {
                return Err(self.alone());
            }
        }
        self.settle()
    }

    /// Leaves, as others have not come.
    fn alone(&mut self) -> PhaseError {
        if let Some(missing) = self.assembly.missing() {
            self.post.say_all(&Letter::Missing(missing.clone()));
            self.missing = Some(missing);
        }
        let missing = self.missing.take().unwrap_or_else(|| vec![self.assembly.first()]);
        self.leave();
        PhaseError::Alone { missing, patience: self.rules.patience }
    }

    /// A meeting is decided: who is dead is, and all have come for the same.
    fn settle(&mut self) -> Result<(), PhaseError> {
        let Some(decision) = self.assembly.decision().cloned() else { return Ok(()) };
        self.learn(&decision.dead, &[]);
        self.perform();
        self.stopped()?;
        let view = self.assembly.view();
        self.vigil.met((0..view.workers()).filter(|worker| view.lives(*worker)));
        let Some(differing) = decision.differing else { return Ok(()) };
        let other = if differing == self.number() { decision.by } else { differing };
        self.leave();
        Err(PhaseError::Different { other })
    }

    /// Notes who has died before it came to the last meeting; whether anybody is new. All who live
    /// find the same, as it was decided.
    fn note_lost(&mut self) -> bool {
        let Some(decision) = self.assembly.decision() else { return false };
        let mut is_news = false;
        for worker in &decision.dead {
            let has_come = decision.shown[*worker as usize].is_some();
            if !has_come {
                is_news |= !core::mem::replace(&mut self.reported[*worker as usize], true);
            }
        }
        is_news
    }

    /// Whether it takes part no more.
    fn stopped(&self) -> Result<(), PhaseError> {
        match &self.stop {
            None => Ok(()),
            Some(Stop::Left) => Err(PhaseError::Ended),
            Some(Stop::Expelled) => Err(PhaseError::Expelled),
            Some(Stop::CutOff(silent)) => {
                let (silent, silence) = (silent.clone(), self.rules.silence);
                Err(PhaseError::CutOff { silent, silence })
            }
        }
    }

    /// Sleeps until something comes, somebody may have been silent for too long, or it is time.
    fn rest(&mut self, until: Option<Instant>) -> Result<(), PhaseError> {
        let until = until.map_or(self.watches, |until| until.min(self.watches));
        self.turn(until.saturating_duration_since(Instant::now()))
    }

    /// Takes in what has come, or comes within this time, and what follows from that.
    fn turn(&mut self, wait: Duration) -> Result<(), PhaseError> {
        let began = Instant::now();
        self.post.wait(Some(wait))?;
        let now = Instant::now();
        if now.saturating_duration_since(began + wait) > self.rules.silence / 2 {
            // This process was stopped: the others may have been, too.
            self.late = now;
        }
        let watches = now >= self.watches;
        if watches {
            // Nobody is silent whose words only were not read yet.
            self.post.wait(Some(Duration::ZERO))?;
        }
        let time = self.time(now);
        while let Some((from, news)) = self.post.next() {
            match news {
                News::Letter(letter) => self.take(from, letter, time),
                News::End => self.learn(&[from], &[]),
            }
        }
        let dead = self.pulse.dead();
        self.learn(&dead, &[]);
        if watches {
            self.watch(now);
        }
        self.perform();
        Ok(())
    }

    fn take(&mut self, from: u32, letter: Letter, time: Time) {
        match letter {
            Letter::Steal(message) => {
                self.worker.receive(from, message, time);
                // It carries who is dead, too.
                if self.worker.view().live() != self.assembly.view().live() {
                    let dead = self.worker.view().dead().to_vec();
                    self.learn(&dead, &[]);
                }
            }
            Letter::Recover(message) => {
                self.recovery.receive(from, *message, time);
                self.learn(&self.recovery.dead(self.assembly.view()), &[]);
            }
            Letter::Ask { number, place } => {
                let held = self.recovery.held(place);
                self.post.say(from, &Letter::Answer { number, held });
            }
            Letter::Answer { number, held } => self.recovery.answered(number, held),
            Letter::Came(came) => self.assembly.came(from, came),
            Letter::Decided(decision) => self.assembly.decided(from, decision),
            Letter::Missing(missing) => self.missing = Some(missing),
            Letter::Dead { dead, silent } => self.learn(&dead, &silent),
            Letter::Beat | Letter::Roster(_) => {}
        }
    }

    /// Looks who has been silent for too long.
    fn watch(&mut self, now: Instant) {
        let (view, heard) = (self.assembly.view(), self.post.heard());
        let others = |worker: &u32| *worker != self.number() && view.lives(*worker);
        let heard = || {
            let others = (0..self.workers()).filter(others);
            others.map(|worker| (worker, heard[worker as usize]))
        };
        let silent = self.vigil.who(now, self.pulse.late().max(self.late), heard());
        self.watches = self.vigil.next(now, heard().map(|(_, at)| at));
        self.learn(&silent, &silent);
    }

    /// These are dead, some by their silence, as far as that was not known.
    fn learn(&mut self, dead: &[u32], silent: &[u32]) {
        if self.stop.is_some() {
            return;
        }
        if dead.contains(&self.number()) {
            return self.end(Stop::Expelled);
        }
        let lives = |worker: &&u32| self.assembly.view().lives(**worker);
        let news: Vec<u32> = dead.iter().filter(lives).copied().collect();
        if news.is_empty() {
            return;
        }
        for worker in &news {
            self.worker.died(*worker);
            self.assembly.died(*worker);
            self.recovery.died(*worker, self.time(Instant::now()));
            if silent.contains(worker) {
                self.silent.insert(*worker);
                self.vigil.lost(*worker);
            }
        }
        let dead = self.assembly.view().dead().to_vec();
        let silent = self.silent.iter().copied().collect();
        let letter = Letter::Dead { dead, silent };
        for worker in news {
            self.post.part(worker, &letter);
        }
        self.post.say_all(&letter);
        if let Some(silent) = self.vigil.cut_off() {
            self.end(Stop::CutOff(silent));
        }
    }

    /// Does what the worker and the assembly want.
    #[inline]
    fn perform(&mut self) {
        while let Some(output) = self.worker.poll_output() {
            match output {
                Output::Send { to, message } => self.post.say(to, &Letter::Steal(message)),
                Output::Seeded(seeding) => self.seeding = seeding,
                Output::PhaseDone(Ending::Expelled) => self.end(Stop::Expelled),
                Output::PhaseDone(ending) => self.ending = Some(ending),
                // Nothing is done again here.
                Output::Diverged(_) => {}
            }
        }
        self.perform_recovery();
        while let Some(step) = self.assembly.step() {
            match step {
                Step::Came(to, came) => self.post.say(to, &Letter::Came(came)),
                Step::Decided(to, decision) => self.post.say(to, &Letter::Decided(decision)),
            }
        }
        self.post.flush();
    }

    /// Takes part no more.
    fn end(&mut self, stop: Stop) {
        if self.stop.is_none() {
            self.stop = Some(stop);
            self.post.leave();
        }
    }

    fn leave(&mut self) {
        self.end(Stop::Left);
    }

    /// A moment on the worker's clock.
    #[inline]
    fn time(&self, now: Instant) -> Time {
        Time::from_micros(now.saturating_duration_since(self.origin).as_micros() as i64)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.leave();
    }
}

/// A number that is the same for the same things, in all programs of one release.
fn tag_of(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}
