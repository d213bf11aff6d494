//! The world: what happens in which order.

mod peers;

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tidings_primitives::{Chance, Instant};
use tidings_tasks_core::coordinator::{Read, Reply, Ticket};
use tidings_tasks_core::id::{Part, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::message::{Call, Request};
use tidings_tasks_core::transaction::{CommitError, Revision, Transaction};

use crate::checked::Checked;
use crate::graph::Graph;
use crate::seat::{Reigning, Seat, WORKER, reign};
use crate::totals::Totals;

/// The steps in which something may go wrong, and those after which all must have ended.
const FAULTS: u32 = 2_500;
const STEPS: u32 = 80_000;

/// What is on its way to the store, or back.
enum Deed {
    Commit(Ticket, Transaction),
    Committed(Ticket, Result<Revision, CommitError>),
    Read(Ticket, Read),
    Answer(Ticket, Reply),
}

pub(crate) struct World {
    chance: Chance,
    now: Instant,
    graph: Graph,
    store: Checked,
    seats: Vec<Seat>,
    /// Coordinators that do not know yet that they were replaced.
    stale: Vec<(usize, Reigning)>,
    /// What is on its way, of which reign of which part.
    deeds: Vec<(usize, u64, Deed)>,
    /// Commits that were given up, and may happen yet.
    late: Vec<(usize, Transaction)>,
    last: u64,
    beat: Instant,
    may_fail: bool,
    /// Each so many-th call of the store kills who made it.
    crash_every: Option<u64>,
    calls: u64,
    operations: usize,
    /// Tasks of which it is known that they are submitted, and those that were refused.
    submitted: BTreeSet<TaskId>,
    refused: BTreeSet<TaskId>,
    asked: BTreeMap<Call, Vec<TaskId>>,
    totals: Totals,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let parts = 2 + chance.below(3) as u16;
        let graph = Graph::new(&mut chance, parts);
        let mut store = Checked { parts, ..Checked::default() };
        let operations = [14, 40, 5_000][chance.below(3)];
        let now = Instant::EPOCH;
        let seats = (0..parts).map(|part| Seat {
            part: Part(part),
            epoch: 1,
            reigning: reign(&mut store.ledger, (Part(part), parts), (1, 0), operations, now),
            to: VecDeque::new(),
            from: VecDeque::new(),
            hand: BTreeMap::new(),
            calls: BTreeMap::new(),
        });
        let crash_every = chance.happens(0.5).then(|| 5 + chance.below(60) as u64);
        let mut world = Self {
            seats: seats.collect(),
            chance,
            now,
            graph,
            store,
            stale: Vec::new(),
            deeds: Vec::new(),
            late: Vec::new(),
            last: 0,
            beat: now,
            may_fail: true,
            crash_every,
            calls: 0,
            operations,
            submitted: BTreeSet::new(),
            refused: BTreeSet::new(),
            asked: BTreeMap::new(),
            totals: Totals::default(),
        };
        for at in 0..world.seats.len() {
            world.join(at);
        }
        world
    }

    pub(crate) fn run(mut self) -> Totals {
        let mut steps = 0;
        while !self.is_over() {
            steps += 1;
            self.may_fail = steps < FAULTS;
            assert!(steps < STEPS, "{}", self.what_is_left());
            self.step();
        }
        self.check();
        self.totals
    }

    fn is_over(&self) -> bool {
        let all = self.submitted.len() + self.refused.len() == self.graph.order.len();
        let has_ended = |id: &TaskId| self.store.ended.contains_key(id);
        all && self.submitted.iter().all(has_ended)
            && self.late.is_empty()
            && self.store.letters().is_empty()
            && self.seats.iter().all(|seat| seat.reigning.coordinator.is_settled())
    }

    fn what_is_left(&self) -> String {
        let live = self.seats.iter().map(|seat| self.store.live(seat.part));
        let live: Vec<_> = live.flatten().map(|(id, task)| (id, task.state)).collect();
        format!("no end: {live:?}, letters {:?}", self.store.letters())
    }

    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn step(&mut self) {
        let time = 1 + self.chance.below(20) as u64;
        self.pass(Duration::from_millis(time));
        let at = self.chance.below(self.seats.len());
        match self.chance.below(100) {
            0..55 | 94..97 => self.do_next(),
            55..65 => self.follow(at),
            65..75 => self.deliver(at),
            75..85 => self.work(at),
            85..93 => self.submit(),
            93 => self.forget(),
            _ if self.may_fail => self.fault(at),
            _ => {}
        }
        for at in 0..self.seats.len() {
            self.poll(at);
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        for seat in &mut self.seats {
            let coordinator = &mut seat.reigning.coordinator;
            if coordinator.poll_timeout().is_some_and(|due| due <= self.now) {
                coordinator.handle_timeout(self.now);
            }
        }
        if self.now.saturating_since(self.beat) > crate::seat::TTL / 8 {
            self.beat = self.now;
            for at in 0..self.seats.len() {
                self.send(at, WORKER, Request::Heartbeat);
            }
        }
    }

    /// Takes out what coordinators have to say.
    fn poll(&mut self, at: usize) {
        let seat = &mut self.seats[at];
        take_out(&mut seat.reigning, |deed, of| self.deeds.push((at, of, deed)));
        while let Some(message) = seat.reigning.coordinator.poll_message() {
            seat.from.push_back(message);
        }
        for (at, stale) in &mut self.stale {
            take_out(stale, |deed, of| self.deeds.push((*at, of, deed)));
            while stale.coordinator.poll_message().is_some() {}
        }
        self.stale.retain(|(_, stale)| !stale.coordinator.is_deposed());
        let deposed = seat.reigning.coordinator.is_deposed();
        assert!(!deposed, "nobody has taken the part from the one who has it");
    }

    /// One of what is on its way arrives.
    fn do_next(&mut self) {
        if !self.late.is_empty() && self.chance.happens(0.1) {
            let (at, transaction) = self.late.remove(self.chance.below(self.late.len()));
            let part = self.seats[at].part;
            drop(self.store.commit(part, &transaction, &mut self.totals));
        }
        if self.deeds.is_empty() {
            return;
        }
        let (at, of, deed) = self.deeds.swap_remove(self.chance.below(self.deeds.len()));
        match deed {
            Deed::Commit(ticket, transaction) => self.commit((at, of), ticket, transaction),
            Deed::Read(ticket, read) => {
                let reply = self.read(&read);
                self.deeds.push((at, of, Deed::Answer(ticket, reply)));
                self.store_call(at, of);
            }
            Deed::Committed(ticket, answer) => {
                let now = self.now;
                if let Some(one) = self.reigning(at, of) {
                    one.coordinator.handle_commit(now, ticket, answer);
                }
            }
            Deed::Answer(ticket, reply) => {
                let now = self.now;
                if let Some(one) = self.reigning(at, of) {
                    one.coordinator.handle_read(now, ticket, reply);
                }
            }
        }
    }

    fn reigning(&mut self, at: usize, of: u64) -> Option<&mut Reigning> {
        let stale = self.stale.iter_mut().map(|(_, one)| one);
        let own = core::iter::once(&mut self.seats[at].reigning);
        stale.chain(own).find(|one| one.number == of)
    }

    fn commit(&mut self, (at, of): (usize, u64), ticket: Ticket, transaction: Transaction) {
        let part = self.seats[at].part;
        let fate = if self.may_fail { self.chance.below(60) } else { usize::MAX };
        let answer = match fate {
            0 => Err(CommitError::Unknown), // it never happens
            1 => {
                self.totals.late += 1;
                self.late.push((at, transaction));
                Err(CommitError::Unknown)
            }
            2 => {
                drop(self.store.commit(part, &transaction, &mut self.totals));
                Err(CommitError::Unknown)
            }
            _ => self.store.commit(part, &transaction, &mut self.totals),
        };
        self.totals.unknown += u64::from(fate < 3);
        if let Err(CommitError::Conflict { key, .. }) = &answer {
            self.totals.rung += u64::from(*key == keys::bell(part));
        }
        self.deeds.push((at, of, Deed::Committed(ticket, answer)));
        self.store_call(at, of);
    }

    fn read(&mut self, read: &Read) -> Reply {
        if self.may_fail && self.chance.happens(0.01) {
            return Reply::Lost;
        }
        let ledger = &self.store.ledger;
        match read {
            Read::Get(keys) => {
                Reply::Records(keys.iter().filter_map(|key| ledger.get(key)).collect())
            }
            Read::Scan { from, end, limit } => {
                Reply::Page(ledger.scan(from, end.as_ref(), (*limit).min(5)))
            }
        }
    }

    fn store_call(&mut self, at: usize, of: u64) {
        self.calls += 1;
        let dies = self.crash_every.is_some_and(|every| self.calls % every == 0);
        if dies && self.may_fail && self.seats[at].reigning.number == of {
            self.succeed(at, false);
        }
    }

    /// A coordinator sees some more of its inbox.
    fn follow(&mut self, at: usize) {
        let seat = &mut self.seats[at];
        let inbox = keys::inbox(seat.part);
        let one = &mut seat.reigning;
        let events = self.store.ledger.changes(inbox.as_bytes(), one.seen).expect("none is gone");
        let some = if self.may_fail { 1 + self.chance.below(4) } else { usize::MAX };
        let Some(last) = events.get(some.min(events.len()).wrapping_sub(1)) else { return };
        // Never a part of a revision.
        let events: Vec<_> =
            events.iter().take_while(|event| event.revision <= last.revision).cloned().collect();
        one.seen = last.revision;
        one.coordinator.handle_inbox(self.now, &events);
    }

    fn fault(&mut self, at: usize) {
        match self.chance.below(10) {
            0 | 1 => self.succeed(at, false),
            2 | 3 => self.succeed(at, true),
            4 | 5 => {
                self.totals.missed += 1;
                let one = &mut self.seats[at].reigning;
                one.seen = self.store.ledger.revision();
                one.coordinator.handle_inbox_lost(self.now);
            }
            6 => {
                self.seats[at].reigning.coordinator.handle_gone(self.now, WORKER);
                self.reconnect(at, Some(WORKER));
            }
            _ => {}
        }
    }

    /// Another coordinator takes a part, whether the one before has died or goes on.
    fn succeed(&mut self, at: usize, goes_on: bool) {
        self.totals.reigns += 1;
        let number = self.number();
        let seat = &mut self.seats[at];
        seat.epoch += 1;
        let of = (seat.part, self.store.parts);
        let ledger = &mut self.store.ledger;
        let next = reign(ledger, of, (seat.epoch, number), self.operations, self.now);
        let before = core::mem::replace(&mut seat.reigning, next);
        if goes_on {
            self.totals.stale += 1;
            self.stale.push((at, before));
        }
        self.reconnect(at, None);
    }

    /// All has ended as it must.
    fn check(&mut self) {
        for id in &self.submitted {
            let (is_done, must) = (self.store.ended[id], self.graph.is_done(*id));
            assert_eq!(is_done, must, "{id}: whether it is done, and must be");
            self.totals.tasks += 1;
            self.totals.across += self.graph.across(*id).count() as u64;
            let mut failed = self.graph.across(*id).filter(|input| !self.graph.is_done(*input));
            self.totals.doomed_across += u64::from(failed.next().is_some());
        }
        self.totals.refused += self.refused.len() as u64;
    }
}

fn take_out(one: &mut Reigning, mut push: impl FnMut(Deed, u64)) {
    while let Some((ticket, read)) = one.coordinator.poll_read() {
        push(Deed::Read(ticket, read), one.number);
    }
    while let Some((ticket, transaction)) = one.coordinator.poll_commit() {
        push(Deed::Commit(ticket, transaction), one.number);
    }
}
