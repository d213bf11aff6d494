//! The worker: one state machine for each thread, process or rank, and the contract with its world.
//!
//! A world is what moves messages and runs tasks: threads, processes of a host, MPI, a simulator.
//! 1. It calls [`Worker::begin`] on each worker with that worker's tasks.
//! 2. While no task runs it calls [`Worker::next_task`] after each input, and runs what that
//!    returns: it may [`Worker::spawn`], and ends with [`Worker::finished`].
//! 3. It gives what arrives to [`Worker::receive`], whether or not a task runs; and who has died,
//!    to [`Worker::died`]. Where there is a board it calls [`Worker::news`] once a unit of time,
//!    and [`Worker::shed`] if it sends messages while a task runs.
//! 4. After each of these it takes all of [`Worker::poll_output`]. Messages between two workers
//!    may overtake each other; none is lost but by the death of one of them.
//! 5. It sleeps until there is a message or [`Worker::next_deadline`].
//!
//! Between phases it may have tasks go from worker to worker ([`Worker::balance`]).
//!
//! A phase begins at a worker when it calls `begin`, and ends at all when nothing is left at any.
//! So all have to enter it: who does not keeps the others in it, as in any collective call.
//!
//! Invariants: a task is in one queue, runs at one worker or is in one message; what a message says
//! never makes a worker panic; after the end of a phase its queue is empty and it is silent.

mod balance;
mod beside;
mod came;
mod census;
mod dead;
mod guided;
mod intake;
mod replay;
mod search;
mod shelf;
mod tasks;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tidings_primitives::Instant;

use crate::census::Census;
use crate::config::Config;
use crate::counters::Counters;
use crate::finish::Finishes;
use crate::frame::{Frame, Scope, TooLarge};
use crate::guide::Guide;
use crate::message::{Body, Counted, List, Message, Seeding, Sums};
use crate::output::{BeginError, Output};
use crate::queue::Queue;
use crate::retention::{Agreement, Retention};
use crate::trace::{Script, Trace};
use crate::victims::Victims;
use crate::view::View;

use came::Came;

pub use balance::Balancing;
pub use tasks::Done;

/// Where a worker is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Between phases.
    Outside,
    /// It waits for what to begin with.
    Entering,
    /// In a phase.
    Within,
    /// The others consider it dead.
    Expelled,
}

/// What a worker without tasks does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Search {
    /// It may choose a victim.
    Ready,
    /// It has asked one.
    Asked(u32),
    /// It chooses again then.
    Paused(Instant),
    /// Its neighbours know that it has nothing; it chooses again then, if ever.
    Asleep(Option<Instant>),
}

/// The task that runs.
#[derive(Debug)]
struct Running {
    scope: Scope,
    /// The task of the list, if that is retained.
    listed: Option<Frame>,
    predicted_ns: u64,
}

/// One worker.
#[derive(Debug)]
pub struct Worker {
    me: u32,
    config: Config,
    stage: Stage,
    /// The phase that it is in or was in last; the first is 1.
    phase: u32,
    view: View,
    queue: Queue,
    running: Option<Running>,
    finishes: Finishes,
    census: Census,
    retention: Retention,
    given: Vec<Frame>,
    agreement: Option<Agreement>,
    seeding: Seeding,
    /// When the phase began here.
    began: Instant,
    /// Whether all tasks that were seen in the phase are those of its list.
    listed: bool,
    search: Search,
    victims: Victims,
    /// Thieves whose lifelines end here.
    sleepers: VecDeque<u32>,
    /// Where this worker's lifelines end.
    lifelines: BTreeSet<u32>,
    /// How the last phase ended.
    ended: Option<(u32, Counted<Sums>)>,
    /// Messages of the next phase.
    early: VecDeque<(u32, Message)>,
    outputs: VecDeque<Output>,
    counters: Counters,
    measured_ns: u64,
    predicted_ns: u64,
    /// The steps that it had gone when the phase began.
    steps_before: u64,
    /// The gifts of the phase, by thief.
    gifts: BTreeMap<u32, u32>,
    trace: Trace,
    /// What it is to do again.
    script: Option<Script>,
    /// With what it began, if that is retained.
    begins: List,
    /// Whom it gave tasks in the last phase of the name.
    guide: Option<Guide>,
    /// What came again while it had something else.
    held: VecDeque<Came>,
}

impl Worker {
    /// The worker numbered `me` of `workers`; `seed` is the same for all.
    ///
    /// # Panics
    /// If there is no such worker.
    pub fn new(me: u32, workers: u32, config: &Config, seed: u64) -> Self {
        assert!(me < workers, "worker {me} of {workers}");
        let (config, view) = (config.bounded(), View::new(workers));
        Self {
            me,
            config,
            stage: Stage::Outside,
            phase: 0,
            queue: Queue::new(config.sharing.overhead_ns),
            running: None,
            finishes: Finishes::new(me),
            census: Census::new(me, &view),
            retention: Retention::default(),
            given: Vec::new(),
            agreement: None,
            seeding: Seeding::Given,
            began: Instant::EPOCH,
            listed: true,
            search: Search::Ready,
            victims: Victims::new(me, config.selection, seed),
            sleepers: VecDeque::new(),
            lifelines: BTreeSet::new(),
            ended: None,
            early: VecDeque::new(),
            outputs: VecDeque::new(),
            counters: Counters::default(),
            measured_ns: 0,
            predicted_ns: 0,
            steps_before: 0,
            gifts: BTreeMap::new(),
            trace: Trace::default(),
            script: None,
            begins: List::default(),
            guide: None,
            held: VecDeque::new(),
            view,
        }
    }

    /// Enters the next phase with these tasks. The name is the same at all workers; phases of one
    /// name are iterations of one computation.
    ///
    /// # Errors
    /// If a task exceeds a slot, a phase is running, or others consider this worker dead.
    pub fn begin(&mut self, name: &str, tasks: Vec<Frame>, now: Instant) -> Result<(), BeginError> {
        match self.stage {
            Stage::Outside => {}
            Stage::Expelled => return Err(BeginError::Expelled),
            Stage::Entering | Stage::Within => return Err(BeginError::WithinPhase),
        }
        tasks.iter().try_for_each(|task| self.fits(task)).map_err(BeginError::TooLarge)?;
        self.phase += 1;
        self.census = Census::new(self.me, &self.view);
        self.search = Search::Ready;
        (self.began, self.listed) = (now, true);
        (self.steps_before, self.gifts) = (self.steps_of_all(), BTreeMap::new());
        self.given = tasks;
        for task in &mut self.given {
            task.scope = Scope::LIST;
        }
        if self.config.retain {
            self.stage = Stage::Entering;
            let lists = self.retention.enter(name, &self.given, self.view.live());
            self.agreement = Some(Agreement::new(self.me, &self.view, lists));
            self.agree();
        } else {
            self.seed(Seeding::Given);
        }
        for (from, message) in core::mem::take(&mut self.early) {
            self.receive(from, message, now);
        }
        Ok(())
    }

    /// What is to be done next.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When to call [`Worker::next_task`] although nothing has come.
    pub fn next_deadline(&self) -> Option<Instant> {
        match self.search {
            Search::Paused(then) | Search::Asleep(Some(then)) => Some(then),
            Search::Ready | Search::Asked(_) | Search::Asleep(None) => None,
        }
        .filter(|_| self.is_idle())
    }

    /// How long it is still busy with what can be stolen, in nanoseconds of its own time: what a
    /// board says of it.
    pub fn remaining_ns(&self) -> u64 {
        let work = u128::from(self.queue.work_ns());
        if self.predicted_ns == 0 {
            return self.queue.work_ns();
        }
        let pace = work * u128::from(self.measured_ns) / u128::from(self.predicted_ns);
        pace.clamp(work / 16, work * 16) as u64
    }

    /// The predicted work that takes this worker so long.
    fn at_own_pace(&self, ns: u64) -> u64 {
        if ns == u64::MAX || self.measured_ns == 0 {
            return ns;
        }
        let ns = u128::from(ns);
        let work = ns * u128::from(self.predicted_ns) / u128::from(self.measured_ns);
        work.clamp(ns / 16, ns * 16) as u64
    }

    /// What it has done.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Who lives, as it knows.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Whether it waits for the answer of a victim.
    pub fn asked(&self) -> Option<u32> {
        match self.search {
            Search::Asked(victim) if self.is_idle() => Some(victim),
            _ => None,
        }
    }

    /// Whether it is in a phase and has nothing to do.
    pub fn is_idle(&self) -> bool {
        self.stage == Stage::Within && self.running.is_none() && self.queue.is_empty()
    }

    fn send(&mut self, to: u32, body: Body) {
        let message = Message { phase: self.phase, body };
        self.outputs.push_back(Output::Send { to, message });
    }

    fn counted<T>(&self, what: T) -> Counted<T> {
        Counted { dead: self.view.dead().to_vec(), what }
    }

    fn fits(&self, task: &Frame) -> Result<(), TooLarge> {
        let (bytes, slot_bytes) = (task.state.bytes().len(), self.config.slot_bytes);
        if bytes > slot_bytes { Err(TooLarge { bytes, slot_bytes }) } else { Ok(()) }
    }
}
