//! Statements: what is pulled from spaces, read and put there.
//!
//! What a statement wants is looked for among the tuples in memory. What it finds is changing from
//! then on, so nobody else finds it; its commit requires that each tuple is as it was. What finds
//! nothing waits in the same step, and is looked at again when a tuple comes that it may be for.
//! Nobody polls.
//!
//! Fairness: of those that wait for a tuple, the one that came first gets it, and of several
//! tuples the oldest goes first. A statement with several ins reserves nothing: it is done once all
//! of them are there at a time.
//!
//! What is pulled is claimed, and there again when the owner of the claim ends: a session as
//! permits are given back, the try of a task in the commit by which it ends. A task that is done
//! consumes its claims in that commit.

use core::time::Duration;
use std::sync::Arc;

use crate::id::{Attempt, TaskId};
use crate::message::{Answer, Call, Message, Peer, Place, Refusal, Request};
use crate::transaction::Revision;
use crate::tuple::{Claim, Matched, Past, Statement, Stored, Tuple};
use crate::view::MAX_LISTED;

use super::Coordinator;
use super::change::{Altered, Change};
use super::exchange::{Exchange, SlotKey};
use super::parked::Obstacle;
use super::spaces::{Fate, Owner};
use super::waiting::Waiter;

/// The slots of one session.
const MAX_SLOTS: u16 = 1_024;

/// The claims of one try of a task: they end in one commit.
const MAX_CLAIMS: usize = 16;

impl Coordinator {
    /// A statement is to be done, or waits.
    pub(super) fn execute(
        &mut self,
        peer: Peer,
        call: Call,
        place: Place,
        statement: Box<Statement>,
    ) {
        let Some(name) = self.sessions.get(peer).map(|session| session.name.clone()) else {
            return self.refuse(peer, call, Refusal::NoSession);
        };
        let slot = (name, place.slot);
        if self.spaces.is_changing(&slot) {
            let request = Request::Execute { place, statement };
            return self.parked.push(Obstacle::Slot(slot), (peer, call, request));
        }
        match self.admit(&slot, place, &statement) {
            Ok(None) => {}
            Ok(Some(answer)) => return self.tell_surely(peer, call, answer),
            Err(refusal) => return self.refuse_surely(peer, call, refusal),
        }
        let Some(found) = self.spaces.find(&statement) else {
            return self.wait_for_tuples((peer, call), slot, place, statement);
        };
        if let Some(turn) = self.spaces.waiting.of_slot(&slot) {
            self.spaces.waiting.remove(turn); // it is repeated, over another connection
        }
        self.exchange((peer, call), slot, place, &statement, &found);
    }

    /// Whether a statement can be done at all; its answer, if it was done before.
    fn admit(
        &self,
        slot: &SlotKey,
        place: Place,
        statement: &Statement,
    ) -> Result<Option<Answer>, Refusal> {
        statement.check().map_err(Refusal::Invalid)?;
        self.check_route(statement)?;
        if place.slot >= MAX_SLOTS {
            let reason = format!("slot {}; a session has {MAX_SLOTS}", place.slot);
            return Err(Refusal::Invalid(reason));
        }
        match self.spaces.past(slot) {
            Some(past) if past.sequence == place.sequence => {
                return Ok(Some(Answer::Matched(past.found.clone())));
            }
            Some(past) if past.sequence.checked_add(1) == Some(place.sequence) => {}
            None if place.sequence > 0 => return Err(Refusal::Lapsed),
            None if statement.alters() || !statement.ins.is_empty() => {
                let reason = "statement 0 of a slot only opens it";
                return Err(Refusal::Invalid(reason.to_owned()));
            }
            None => {}
            Some(past) => {
                let (last, own) = (past.sequence, place.sequence);
                let reason = format!("statement {own} of a slot whose last one was {last}");
                return Err(Refusal::Invalid(reason));
            }
        }
        let owner = self.owner(slot, statement)?;
        if !statement.settled.iter().all(|one| self.spaces.has(&owner, one.number)) {
            return Err(Refusal::NoClaim);
        }
        Ok(None)
    }

    /// With what the claims of a statement end, if that is there and may have so many.
    fn owner(&self, slot: &SlotKey, statement: &Statement) -> Result<Owner, Refusal> {
        let Some((task, attempt)) = statement.owner else {
            return Ok(Owner::Session(slot.0.clone()));
        };
        if self.settings.parts > 1 && self.table.get(task).is_none() {
            let reason = format!(
                "task {task} has ended, or is in another part of the store than these tuples: let \
                 tasks pull from spaces of their queue (NAME@QUEUE), or pull outside of tasks"
            );
            return Err(Refusal::Invalid(reason));
        }
        let running = self.table.get(task).and_then(|entry| entry.task.as_ref());
        if running.is_none_or(|task| task.running(attempt).is_none()) {
            return Err(Refusal::Superseded);
        }
        let owner = Owner::Task(task, attempt);
        if statement.claims() + self.spaces.count_of(&owner) > MAX_CLAIMS {
            let reason = format!("a task has at most {MAX_CLAIMS} claims at a time");
            return Err(Refusal::Invalid(reason));
        }
        Ok(owner)
    }

    /// A statement has found what it wants, and is done.
    fn exchange(
        &mut self,
        (peer, call): (Peer, Call),
        slot: SlotKey,
        place: Place,
        statement: &Statement,
        found: &[u64],
    ) {
        let matched: Vec<Matched> =
            found.iter().filter_map(|number| self.matched(*number)).collect();
        let tuples: Vec<&Tuple> = matched.iter().map(|one| &one.tuple).collect();
        let puts = statement.puts(&tuples).map_err(Refusal::Invalid);
        let puts = match puts.and_then(|puts| self.check_room(&puts).map(|()| puts)) {
            Ok(puts) => puts,
            Err(refusal) => return self.refuse_surely(peer, call, refusal),
        };
        let answer = Answer::Matched(matched.clone());
        if !statement.alters() && place.sequence > 0 {
            return self.tell_surely(peer, call, answer);
        }
        let claim = (!statement.consumes)
            .then(|| Claim { holder: slot.0.to_string(), task: statement.owner });
        let mut exchange = self.taken(statement, found, claim.as_ref());
        let spaces = statement.outs.iter().map(|out| out.space.as_str().into());
        self.add_tuples(&mut exchange, spaces.zip(puts));
        exchange.past = Some((slot, Past { sequence: place.sequence, found: matched }));
        let mut change = Change {
            messages: vec![(peer, Message::Answer(call, answer))],
            origin: Some((peer, call)),
            exchange: Some(Box::new(exchange)),
            ..Change::default()
        };
        change.tasks.extend(statement.owner.and_then(|(task, _)| self.as_it_is(task)));
        self.stage(change);
    }

    /// What a statement reads, pulls and settles.
    fn taken(&self, statement: &Statement, found: &[u64], claim: Option<&Claim>) -> Exchange {
        let mut exchange = Exchange::default();
        for (one, number) in statement.ins.iter().zip(found) {
            if one.is_pulled {
                let to = claim.cloned().map_or(Fate::Gone, Fate::Claimed);
                exchange.tuples.extend(self.spaces.altered(*number, to));
            } else if let Some((space, _, revision)) = self.spaces.get(*number) {
                exchange.read.push((space.clone(), *number, revision));
            }
        }
        for one in &statement.settled {
            let to = if one.is_gone { Fate::Gone } else { Fate::Free };
            exchange.tuples.extend(self.spaces.altered(one.number, to));
        }
        exchange
    }

    fn matched(&self, number: u64) -> Option<Matched> {
        let (_, tuple, _) = self.spaces.get(number)?;
        Some(Matched { number, tuple: tuple.clone() })
    }

    /// A task that runs, unaltered: a change with it excludes any other of the task.
    fn as_it_is(&self, id: TaskId) -> Option<Altered> {
        let entry = self.table.get(id)?;
        Some(Altered::to(id, Some(entry.revision), entry.task.clone()))
    }

    /// A statement waits, if it has time.
    fn wait_for_tuples(
        &mut self,
        (peer, call): (Peer, Call),
        slot: SlotKey,
        place: Place,
        statement: Box<Statement>,
    ) {
        if statement.wait_ms == Some(0) {
            return self.tell_surely(peer, call, Answer::NoMatch);
        }
        let until =
            statement.wait_ms.map(|ms| self.now + Duration::from_millis(ms.min(MAX_WAIT_MS)));
        self.spaces.waiting.insert(Waiter { peer, call, slot, place, statement, until });
    }

    /// A statement is no longer wanted.
    pub(super) fn give_up_wait(&mut self, peer: Peer, call: Call, place: Place) {
        let Some(name) = self.sessions.get(peer).map(|session| session.name.clone()) else {
            return self.refuse(peer, call, Refusal::NoSession);
        };
        let slot = (name, place.slot);
        if let Some(waiter) =
            self.spaces.waiting.of_slot(&slot).and_then(|turn| self.spaces.waiting.remove(turn))
        {
            self.answer(waiter.peer, waiter.call, Answer::NoMatch);
        }
        if self.spaces.is_changing(&slot) {
            let request = Request::GiveUp { place };
            return self.parked.push(Obstacle::Slot(slot), (peer, call, request));
        }
        let past = self.spaces.past(&slot).filter(|past| past.sequence == place.sequence);
        let answer = past.map_or(Answer::NoMatch, |past| Answer::Matched(past.found.clone()));
        self.tell_surely(peer, call, answer);
    }

    /// An exchange was committed.
    pub(super) fn exchanged(&mut self, exchange: Exchange, revision: Revision) {
        let numbers: Vec<u64> = exchange.tuples.iter().map(|altered| altered.number).collect();
        let slot = exchange.slot().cloned();
        self.spaces.end(exchange, revision);
        self.settle_exchange(&numbers, slot);
    }

    /// An exchange does not happen.
    pub(super) fn undo_exchange(&mut self, exchange: &Exchange) {
        self.spaces.undo(exchange);
        let numbers: Vec<u64> = exchange.tuples.iter().map(|altered| altered.number).collect();
        self.settle_exchange(&numbers, exchange.slot().cloned());
    }

    /// Some tuples and a slot are no longer changing: those that wait for them are served, and what
    /// is held by a session that has ended meanwhile is there again.
    fn settle_exchange(&mut self, numbers: &[u64], slot: Option<SlotKey>) {
        if let Some(slot) = slot {
            let name = slot.0.clone();
            self.parked.note(Obstacle::Slot(slot));
            self.release_if_absent(&name, None);
        }
        for &number in numbers {
            self.offer_tuple(number);
        }
    }

    /// A tuple is there: the first that waits for it gets it.
    fn offer_tuple(&mut self, number: u64) {
        if !self.spaces.is_free(number) {
            return;
        }
        let Some((space, tuple, _)) = self.spaces.get(number) else { return };
        for turn in self.spaces.waiting.that_may_want(space, tuple) {
            if !self.spaces.is_free(number) {
                return;
            }
            let Some(waiter) = self.spaces.waiting.get(turn) else { continue };
            let ins = &waiter.statement.ins;
            let may = ins.iter().any(|one| self.spaces.matches(number, &one.space, &one.template));
            if !may || self.spaces.find(&waiter.statement).is_none() {
                continue;
            }
            let Some(waiter) = self.spaces.waiting.remove(turn) else { continue };
            self.execute_again(waiter);
        }
    }

    /// A statement that has waited can be done, unless its task is changing just now.
    fn execute_again(&mut self, Waiter { peer, call, place, statement, .. }: Waiter) {
        let request = Request::Execute { place, statement };
        match (self.obstacle(&request), request) {
            (Some(obstacle), request) => self.parked.push(obstacle, (peer, call, request)),
            (None, Request::Execute { place, statement }) => {
                self.execute(peer, call, place, statement);
            }
            (None, _) => {}
        }
    }

    /// The time of some that wait is over.
    pub(super) fn end_waits(&mut self) {
        for turn in self.spaces.waiting.ended(self.now) {
            if let Some(waiter) = self.spaces.waiting.remove(turn) {
                self.tell_surely(waiter.peer, waiter.call, Answer::NoMatch);
            }
        }
    }

    /// A peer is gone: nobody waits for it. It asks again if it comes back.
    pub(super) fn forget_waits(&mut self, peer: Peer) {
        for turn in self.spaces.waiting.of_peer(peer) {
            self.spaces.waiting.remove(turn);
        }
    }

    /// What waits is to be asked again, of this coordinator, once it has read all.
    pub(super) fn park_waits(&mut self) {
        for Waiter { peer, call, place, statement, .. } in self.spaces.waiting.take() {
            let request = Request::Execute { place, statement };
            self.parked.push(Obstacle::Recovery, (peer, call, request));
        }
    }

    /// What waits is to be asked of another coordinator.
    pub(super) fn refuse_waits(&mut self) {
        for waiter in self.spaces.waiting.take() {
            self.refuse(waiter.peer, waiter.call, Refusal::Elsewhere);
        }
    }

    /// A session has ended: what it had pulled is there again.
    pub(super) fn release_claims(&mut self, name: &Arc<str>) {
        self.release_if_absent(name, Some(name));
    }

    /// The time in which sessions may come back after a recovery is over.
    pub(super) fn release_absent_claims(&mut self) {
        for name in self.spaces.holders() {
            self.release_if_absent(&name, None);
        }
    }

    /// Gives back what a session that has ended holds, unless it may come back, as all may but the
    /// one that is `gone`. What is changing is looked at again later.
    fn release_if_absent(&mut self, name: &Arc<str>, gone: Option<&Arc<str>>) {
        let may_come_back = gone != Some(name) && self.absent.may_come_back();
        if self.sessions.named(name).is_some() || may_come_back {
            return;
        }
        self.free(&Owner::Session(name.clone()));
        for slot in self.spaces.slots_of(name) {
            self.stage_exchange(Exchange { dropped: Some(slot), ..Exchange::default() });
        }
    }

    /// Has tuples and last statements as they were read.
    pub(super) fn take_spaces(
        &mut self,
        tuples: Vec<(Arc<str>, u64, Stored, Revision)>,
        pasts: Vec<(SlotKey, Past)>,
    ) {
        for (space, number, stored, revision) in tuples {
            // No coordinator uses a number twice.
            if self.spaces.get(number).is_some() {
                self.counters.unreadable += 1;
                continue;
            }
            self.spaces.insert(space, number, stored, revision);
        }
        for (slot, past) in pasts {
            self.spaces.insert_past(slot, past);
        }
        // The end of a try settles its claims in one commit: so there are none of others.
        for (task, attempt) in self.spaces.tries() {
            let running = self.table.get(task).and_then(|entry| entry.task.as_ref());
            if running.is_some_and(|task| task.running(attempt).is_some()) {
                continue;
            }
            self.free(&Owner::Task(task, attempt));
        }
    }

    /// Gives back all that one has pulled.
    fn free(&mut self, owner: &Owner) {
        for number in self.spaces.of(owner) {
            let tuples = self.spaces.altered(number, Fate::Free).into_iter().collect();
            self.stage_exchange(Exchange { tuples, ..Exchange::default() });
        }
    }

    fn stage_exchange(&mut self, exchange: Exchange) {
        self.stage(Change { exchange: Some(Box::new(exchange)), ..Change::default() });
    }

    /// A try of a task ends by a change: what it had pulled is gone if the task is done, else there
    /// again, in the same commit.
    pub(super) fn end_claims(
        &mut self,
        change: &mut Change,
        (id, attempt): (TaskId, Attempt),
        is_done: bool,
    ) {
        for turn in self.spaces.waiting.of_task(id) {
            if let Some(waiter) = self.spaces.waiting.remove(turn) {
                self.refuse(waiter.peer, waiter.call, Refusal::Superseded);
            }
        }
        let to = if is_done { Fate::Gone } else { Fate::Free };
        let numbers = self.spaces.of(&Owner::Task(id, attempt));
        let altered = numbers.into_iter().filter_map(|one| self.spaces.altered(one, to.clone()));
        let tuples: Vec<_> = altered.collect();
        if !tuples.is_empty() {
            change.exchange.get_or_insert_with(Box::default).tuples.extend(tuples);
        }
    }

    /// Shows a page of spaces.
    pub(super) fn show_spaces(&mut self, peer: Peer, call: Call, from: Option<&str>, limit: u32) {
        let limit = limit.clamp(1, MAX_LISTED) as usize;
        let (views, next) = self.spaces.views(from.unwrap_or_default(), limit);
        self.answer(peer, call, Answer::Spaces(views, next));
    }

    /// Shows a page of tuples.
    pub(super) fn show_tuples(
        &mut self,
        (peer, call): (Peer, Call),
        space: &str,
        from: Option<u64>,
        limit: u32,
    ) {
        let limit = limit.clamp(1, MAX_LISTED) as usize;
        let (views, next) = self.spaces.tuples(space, from.unwrap_or_default(), limit);
        self.answer(peer, call, Answer::Tuples(views, next));
    }

    /// Says something of what this coordinator knows, once a commit has shown that it has the part.
    fn tell_surely(&mut self, peer: Peer, call: Call, answer: Answer) {
        let messages = vec![(peer, Message::Answer(call, answer))];
        self.stage(Change { messages, origin: Some((peer, call)), ..Change::default() });
    }
}

/// The longest time for which a statement waits that has a limit: a hundred years.
const MAX_WAIT_MS: u64 = 100 * 365 * 24 * 3_600 * 1_000;
