//! The participant: a worker whose phases survive deaths, and the contract with its world.
//!
//! A world is what moves messages and runs tasks, as for a worker of `tidings-steal`.
//! 1. All participants make the same arrays in the same order ([`Participant::create`]), and enter
//!    each phase with the same plan ([`Participant::begin`]).
//! 2. While no task runs the world calls [`Participant::next_task`] after each input, and runs the
//!    task of the number that this returns. The task may read what does not change in the phase; it
//!    ends with [`Participant::finished`] and what it adds, and does nothing else that counts. If
//!    its round ended meanwhile, that says [`OutsideTask`](crate::FinishError) and drops it.
//! 3. The world gives what arrives to [`Participant::receive`], whether or not a task runs, and who
//!    has died to [`Participant::died`]. It believes no byte before [`Message::decode`] has.
//! 4. After each of these it takes all of [`Participant::poll_output`]. Messages between two
//!    participants may overtake each other; none is lost but by the death of one of them. Nothing
//!    that the world takes may be dropped while both live.
//! 5. It sleeps until there is a message or [`Participant::next_deadline`].
//! 6. Who is declared dead is dead: if it lives all the same, its phase ends as
//!    [`Ending::Expelled`](crate::Ending), and it has to stop. Deaths are told at any time, also
//!    between phases. The world need not tell all in the same order, or at the same time.
//!
//! A death while the end of a phase is on its way can end it as
//! [`Ending::Refused`](crate::Ending) at one participant and as complete at others, who know of the
//! loss from the next phase on. So that one enters the next phase as they do, or the world has all
//! say how theirs ended before it returns.
//!
//! After the phase each owner reads its blocks ([`Participant::block`]).
//!
//! A phase is rounds, each of them a phase of the worker. A round ends when no task is left and
//! nothing is due. If nobody died in it, all is held. Otherwise another follows: each owner knows
//! what it misses, tells the owner of a task's first output, and that one runs the task.
//!
//! Invariants: a contribution that was acknowledged is held by its owner and the copy; a copy holds
//! nothing that its owner does not; so what one death leaves is what was not acknowledged. What a
//! message says never makes a participant panic.

mod contributions;
mod deaths;
mod due;
mod intake;
mod rounds;
mod selective;
mod tasks;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use tidings_primitives::Instant;
use tidings_steal::Worker;
use tidings_steal::view::View;

use crate::array::{Array, Arrays};
use crate::blocks::Blocks;
use crate::ledger::Ledger;
use crate::locations::{Locations, Ticket};
use crate::message::{Body, Message};
use crate::output::{Counters, Output, Refusal};
use crate::placement::holders;
use crate::plan::{Mark, Place, Plan};
use crate::scheme::Scheme;
use due::Due;

/// How participants are configured: the same at all of them.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// How they steal. Retention is off: who begins with which tasks follows from their numbers.
    pub steal: tidings_steal::Config,
    /// What is done when a death is learnt of.
    pub scheme: Scheme,
    /// Contributions of one participant on their way, at which it takes no more tasks.
    pub most_pending: usize,
}

impl Config {
    /// The usual configuration.
    pub fn new(steal: tidings_steal::Config, scheme: Scheme) -> Self {
        Self { steal, scheme, most_pending: 64 }
    }
}

/// What a task adds to a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contribution {
    /// To this one, which the task has declared.
    pub place: Place,
    /// This, element by element.
    pub words: Vec<u64>,
}

/// A contribution of this participant that is not acknowledged.
#[derive(Debug)]
struct Pending {
    index: u32,
    words: Vec<u64>,
    /// To which owner it went.
    sent_to: u32,
}

/// A contribution that this owner holds and its copy not yet, as far as is known.
#[derive(Debug)]
struct Forward {
    index: u32,
    /// Who waits for it to be acknowledged.
    senders: Vec<u32>,
}

/// A worker whose phases survive deaths.
#[derive(Debug)]
pub struct Participant {
    me: u32,
    scheme: Scheme,
    most_pending: usize,
    worker: Worker,
    /// Who lives, as far as all that follows from it was done.
    view: View,
    /// Who lived when the phase began.
    began_with: View,
    arrays: Arrays,
    blocks: Blocks,
    plan: Option<Arc<dyn Plan>>,
    name: String,
    round: u32,
    /// The first round of the phase.
    first_round: u32,
    is_within: bool,
    is_stopping: bool,
    is_expelled: bool,
    running: Option<Ticket>,
    pending: BTreeMap<Mark, Pending>,
    forwards: BTreeMap<Mark, Forward>,
    /// Who waits until the new copy of a block has it.
    after_block: BTreeMap<u32, Vec<(u32, Mark)>>,
    due: BTreeSet<Due>,
    /// Tasks that this participant has started in the round since they are missing.
    started: BTreeSet<u64>,
    /// Tasks of which owners were asked, and have not said that something is missing.
    asked: BTreeSet<u64>,
    /// Numbers of lists and questions.
    number: u32,
    locations: Locations,
    refusals: BTreeSet<Refusal>,
    /// Messages of the next round.
    early: VecDeque<(u32, Message)>,
    outputs: VecDeque<Output>,
    counters: Counters,
    now: Instant,
}

impl Participant {
    /// The participant numbered `me` of `workers`; `seed` is the same for all.
    ///
    /// # Panics
    /// If there is no such participant.
    pub fn new(me: u32, workers: u32, config: &Config, seed: u64) -> Self {
        let steal = tidings_steal::Config { retain: false, ..config.steal };
        Self {
            me,
            scheme: config.scheme,
            most_pending: config.most_pending.max(1),
            worker: Worker::new(me, workers, &steal, seed),
            view: View::new(workers),
            began_with: View::new(workers),
            arrays: Arrays::default(),
            blocks: Blocks::default(),
            plan: None,
            name: String::new(),
            round: 0,
            first_round: 0,
            is_within: false,
            is_stopping: false,
            is_expelled: false,
            running: None,
            pending: BTreeMap::new(),
            forwards: BTreeMap::new(),
            after_block: BTreeMap::new(),
            due: BTreeSet::new(),
            started: BTreeSet::new(),
            asked: BTreeSet::new(),
            number: 0,
            locations: Locations::default(),
            refusals: BTreeSet::new(),
            early: VecDeque::new(),
            outputs: VecDeque::new(),
            counters: Counters::default(),
            now: Instant::EPOCH,
        }
    }

    /// Makes an array of zeros, between phases; its number, or `None` if there is no room for it.
    pub fn create(&mut self, array: Array) -> Option<u16> {
        let (first, words) = (self.arrays.blocks(), array.words);
        let number = self.arrays.add(array)?;
        // Others may not know of all deaths yet: as if they happened now.
        let all = View::new(self.view.workers());
        for index in first..self.arrays.blocks() {
            let was_copy = self.copy_in(index, &all) == Some(self.me);
            if was_copy || self.owner(index) == self.me {
                self.blocks.begin(index, words, Ledger::default());
            }
            if self.view != all {
                self.house(index, &all);
            }
        }
        self.pump();
        Some(number)
    }

    /// Sets all elements of an array to zero when the next phase begins. All do so.
    pub fn zero(&mut self, array: u16) {
        self.arrays.zero(array);
    }

    /// The elements of a block, if this participant owns it.
    ///
    /// # Errors
    /// If the block is lost.
    pub fn block(&self, place: Place) -> Result<Option<&[u64]>, Refusal> {
        let Some(index) = self.arrays.index(place) else { return Ok(None) };
        if self.owner(index) != self.me {
            return Ok(None);
        }
        if self.blocks.is_lost(index) {
            return Err(self.refusal(place, 0));
        }
        Ok(self.blocks.words(index))
    }

    /// Who owns a block and who has its copy; `None` if there is no such block.
    pub fn holders(&self, place: Place) -> Option<(u32, Option<u32>)> {
        let index = self.arrays.index(place)?;
        Some((self.owner(index), self.copy_at(index)))
    }

    /// What is to be done next.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When to call [`Participant::next_task`] although nothing has come.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.worker.next_deadline().filter(|_| !self.is_full())
    }

    /// Whether the task that runs was started again, after a death.
    pub fn is_again(&self) -> bool {
        self.running.is_some_and(Ticket::is_again)
    }

    /// What it has done.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The worker within: what it counts, knows and has left to do.
    pub fn worker(&self) -> &Worker {
        &self.worker
    }

    fn owner(&self, index: u32) -> u32 {
        holders(index, &self.view).0
    }

    fn copy_at(&self, index: u32) -> Option<u32> {
        self.copy_in(index, &self.view)
    }

    /// Who has the copy of a block where these live, if its array has copies.
    fn copy_in(&self, index: u32, view: &View) -> Option<u32> {
        let array = self.arrays.get(self.arrays.place(index)?.array)?;
        holders(index, view).1.filter(|_| array.copied)
    }

    /// Whether as many contributions are on their way as may be.
    fn is_full(&self) -> bool {
        self.pending.len() >= self.most_pending
    }

    fn send(&mut self, to: u32, body: Body) {
        let dead = self.view.dead().to_vec();
        let message = Message { round: self.round, dead, body };
        self.outputs.push_back(Output::Send { to, message });
    }

    /// The round does not end before this has come.
    fn expect(&mut self, due: Due) {
        if self.due.insert(due) && self.is_within {
            self.worker.hold(1);
        }
    }

    /// This has come; whether it was due.
    fn settle(&mut self, due: Due) -> bool {
        let was_due = self.due.remove(&due);
        if was_due && self.is_within {
            self.worker.release(1);
        }
        was_due
    }

    fn refusal(&self, place: Place, missing: u64) -> Refusal {
        let array = self.arrays.get(place.array);
        let name = array.map_or_else(String::new, |array| array.name.clone());
        Refusal { place, array: name, copied: array.is_some_and(|array| array.copied), missing }
    }
}
