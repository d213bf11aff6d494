//! Requests: which of them can be served now, and by what.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::id::{Attempt, TaskId};
use crate::keys::MAX_NAME_BYTES;
use crate::message::{Answer, Call, MAX_QUEUES, Message, Peer, Refusal, Request, Submission};
use crate::record::beginning;
use crate::resources::{self, Amount};
use crate::retry::Cause;
use crate::view::{MAX_FULL_BYTES, Progress};

use super::Coordinator;
use super::change::Change;
use super::end::{Completion, Fault};
use super::parked::Obstacle;
use super::reading::Purpose;
use super::slots::Hold;
use super::submit::check_name;

impl Coordinator {
    /// Serves a request, or parks it until it can be served.
    pub(super) fn serve(&mut self, peer: Peer, call: Call, request: Request) {
        self.sessions.hear(peer, self.now);
        if let Some(obstacle) = self.obstacle(&request) {
            return self.parked.push(obstacle, (peer, call, request));
        }
        match request {
            Request::Join { name, host, holding } => self.join(peer, call, &name, &host, &holding),
            Request::Heartbeat => self.heartbeat(peer, call),
            Request::Leave => self.leave_session(peer, call),
            Request::Offer { queues, slots, resources, ahead, full } => {
                self.offer(peer, call, (&queues, slots, ahead), (resources, full));
            }
            Request::Submit { tasks } => self.submit(peer, call, tasks),
            Request::Complete { task, attempt, result, children, effects, puts } => {
                let completion = Completion { result, children, effects, puts, kept: None };
                self.complete((peer, call), (task, attempt), completion);
            }
            Request::Fail { task, attempt, cause, text, detail } => {
                self.fail(task, attempt, Fault { cause, text, detail }, Some((peer, call)));
            }
            Request::Cancel { task } => self.cancel(peer, call, task),
            Request::Withdraw { task } => self.withdraw(peer, call, task),
            Request::Revive { task } => self.revive(peer, call, task),
            Request::Wait { task } => self.wait(peer, call, task),
            Request::SetPermits { .. } | Request::Acquire { .. } | Request::Release { .. } => {
                self.serve_permits(peer, call, request);
            }
            Request::Overview => self.overview(peer, call),
            Request::Recent { after } => self.show_recent(peer, call, after),
            Request::Forget { tasks } => self.forget(peer, call, tasks),
            Request::Show { task } => self.show(peer, call, task),
            Request::Explain { task } => self.explain(peer, call, task),
            Request::List { queue, state, from, limit } => {
                self.list((peer, call), (queue, state), from, limit);
            }
            Request::Read { .. }
            | Request::Keys { .. }
            | Request::Write { .. }
            | Request::Changes { .. } => self.serve_keys(peer, call, request),
            Request::Execute { .. }
            | Request::GiveUp { .. }
            | Request::Spaces { .. }
            | Request::Tuples { .. } => self.serve_spaces(peer, call, request),
            Request::Keep { .. }
            | Request::CompleteKept { .. }
            | Request::Fetch { .. }
            | Request::Lost { .. }
            | Request::Depots { .. }
            | Request::Nodes { .. }
            | Request::Unknown { .. }
            | Request::Source { .. }
            | Request::Copied { .. }
            | Request::Locate { .. }
            | Request::Unnamed { .. } => self.serve_outputs(peer, call, request),
            Request::AwaitReady { .. } | Request::Cede { .. } => self.ask_turn(peer, call, request),
            Request::Progress { task, attempt, thousandths, text } => {
                self.take_progress((peer, call), (task, attempt), Progress::new(thousandths, text));
            }
        }
    }

    fn heartbeat(&mut self, peer: Peer, call: Call) {
        if self.sessions.get(peer).is_none() {
            return self.refuse(peer, call, Refusal::NoSession);
        }
        self.sessions.beat(peer, self.now, self.settings.patience());
        self.answer(peer, call, Answer::Done);
    }

    /// How far a try has come that the session does.
    fn take_progress(
        &mut self,
        (peer, call): (Peer, Call),
        of: (TaskId, Attempt),
        progress: Progress,
    ) {
        if self.sessions.set_progress(peer, of, progress) {
            self.answer(peer, call, Answer::Done);
        } else {
            self.refuse(peer, call, Refusal::Superseded);
        }
    }

    /// Serves a request about keys of the users'.
    fn serve_keys(&mut self, peer: Peer, call: Call, request: Request) {
        match request {
            Request::Read { keys } => self.read_keys(peer, call, &keys),
            Request::Keys { prefix, from, limit } => {
                self.list_keys((peer, call), &prefix, from.as_deref().map(Vec::as_slice), limit);
            }
            Request::Write { effects } => self.write_keys(peer, call, effects),
            Request::Changes { .. } => self.refuse(peer, call, Refusal::Invalid(no_history())),
            _ => {}
        }
    }

    /// Serves a request about spaces of tuples.
    fn serve_spaces(&mut self, peer: Peer, call: Call, request: Request) {
        match request {
            Request::Execute { place, statement } => self.execute(peer, call, place, statement),
            Request::GiveUp { place } => self.give_up_wait(peer, call, place),
            Request::Spaces { from, limit } => {
                self.show_spaces(peer, call, from.as_deref(), limit);
            }
            Request::Tuples { space, from, limit } => {
                self.show_tuples((peer, call), &space, from, limit);
            }
            _ => {}
        }
    }

    /// Serves a request about semaphores.
    fn serve_permits(&mut self, peer: Peer, call: Call, request: Request) {
        match request {
            Request::SetPermits { semaphore, permits } => {
                self.set_permits(peer, call, semaphore, permits);
            }
            Request::Acquire { semaphore, permits } => self.acquire(peer, call, semaphore, permits),
            Request::Release { semaphore, acquired } => {
                self.give_back(peer, call, semaphore, acquired);
            }
            _ => {}
        }
    }

    /// Serves a request about outputs that stay on nodes.
    fn serve_outputs(&mut self, peer: Peer, call: Call, request: Request) {
        match request {
            Request::Keep { reached } => self.keep(peer, call, reached),
            Request::CompleteKept { task, attempt, result, children, effects, kept, puts } => {
                let kept = Some(kept);
                let completion = Completion { result, children, effects, puts, kept };
                self.complete((peer, call), (task, attempt), completion);
            }
            Request::Fetch { task } => self.fetch(peer, call, task),
            Request::Lost { task, attempt } => self.lost(peer, call, task, attempt),
            Request::Depots { own, count, .. } => self.name_depots(peer, call, &own, count),
            Request::Nodes { after, known } => self.name_nodes(peer, call, after, known),
            Request::Unknown { tasks } => self.tell_unknown(peer, call, tasks),
            Request::Source { .. } | Request::Copied { .. } => {
                self.serve_copying(peer, call, request);
            }
            Request::Locate { depot } => self.locate(peer, call, depot),
            Request::Unnamed { blobs } => self.tell_unnamed(peer, call, blobs),
            _ => {}
        }
    }

    /// Serves what was parked and can be served now.
    pub(super) fn unpark(&mut self) {
        while self.is_serving() {
            let Some((obstacle, mut asked)) = self.parked.next_changed() else { break };
            while let Some((peer, call, request)) = asked.pop_front() {
                if self.obstacle(&request).as_ref() == Some(&obstacle) {
                    asked.push_front((peer, call, request));
                    break;
                }
                self.serve(peer, call, request);
            }
            self.parked.put_back(obstacle, asked);
        }
    }

    /// What a request has to wait for: something that is changing, or room.
    pub(super) fn obstacle(&self, request: &Request) -> Option<Obstacle> {
        let arriving = |id: TaskId| self.arriving.contains(&id).then_some(Obstacle::Task(id));
        let changing = |id: TaskId| {
            let is_changing = self.table.get(id).is_some_and(|one| one.is_changing);
            arriving(id).or_else(|| is_changing.then_some(Obstacle::Task(id)))
        };
        match request {
            // Whether it is to stop one of them is not known before.
            Request::Join { holding, .. } => holding.iter().find_map(|(id, _)| changing(*id)),
            Request::Heartbeat
            | Request::Leave
            | Request::Offer { .. }
            | Request::Wait { .. }
            | Request::Overview
            | Request::Show { .. }
            | Request::Explain { .. }
            | Request::List { .. }
            | Request::Recent { .. }
            | Request::Read { .. }
            | Request::Keys { .. }
            | Request::Write { .. }
            | Request::Changes { .. }
            | Request::GiveUp { .. }
            | Request::Spaces { .. }
            | Request::Tuples { .. }
            | Request::Keep { .. }
            | Request::Fetch { .. }
            | Request::Lost { .. }
            | Request::Depots { .. }
            | Request::Nodes { .. }
            | Request::Unknown { .. }
            | Request::Locate { .. }
            | Request::Unnamed { .. }
            | Request::Source { .. }
            | Request::Copied { .. }
            | Request::AwaitReady { .. }
            | Request::Cede { .. }
            | Request::Progress { .. } => None,
            // Which slot it is depends on the session.
            Request::Execute { statement, .. } => {
                statement.owner.and_then(|(task, _)| changing(task))
            }
            Request::Submit { tasks } => self.obstacle_of(tasks),
            Request::Complete { task, children, .. }
            | Request::CompleteKept { task, children, .. } => {
                changing(*task).or_else(|| children.iter().find_map(|child| arriving(child.id)))
            }
            Request::Fail { task, .. }
            | Request::Cancel { task }
            | Request::Withdraw { task }
            | Request::Revive { task } => changing(*task),
            Request::Forget { tasks } => tasks.iter().find_map(|task| arriving(*task)),
            Request::SetPermits { semaphore, .. }
            | Request::Acquire { semaphore, .. }
            | Request::Release { semaphore, .. } => {
                let is_changing = self.permits.is_changing(semaphore);
                is_changing.then(|| Obstacle::Semaphore(semaphore.clone()))
            }
        }
    }

    /// What a submission has to wait for.
    fn obstacle_of(&self, tasks: &[Submission]) -> Option<Obstacle> {
        if let Some(queue) = self.full_queue(tasks) {
            return Some(Obstacle::Full(queue.to_owned()));
        }
        self.arriving_of(tasks).map(Obstacle::Task).or_else(|| {
            let has_inputs = tasks.iter().any(|task| !task.inputs.is_empty());
            (has_inputs && self.is_full_of_edges()).then_some(Obstacle::Inputs)
        })
    }

    fn join(
        &mut self,
        peer: Peer,
        call: Call,
        name: &str,
        host: &str,
        holding: &[(TaskId, Attempt)],
    ) {
        if let Err(reason) = check_name("worker or client", name) {
            return self.refuse(peer, call, Refusal::Invalid(reason));
        }
        if host.len() > MAX_NAME_BYTES {
            let reason = format!("the name of a host has at most {MAX_NAME_BYTES} bytes");
            return self.refuse(peer, call, Refusal::Invalid(reason));
        }
        if self.sessions.get(peer).is_some_and(|own| *own.name != *name) {
            self.end_session_by(peer, Cause::Returned, "its worker has another name now");
        }
        let mut running = self.absent.take(name);
        if let Some(other) = self.sessions.named(name) {
            running.extend(self.sessions.close(other).into_iter().flat_map(|old| old.running));
            self.depots.hand_over(other, peer);
            self.broadcasts.hand_over(other, peer);
            if other != peer {
                self.messages.push_back((other, Message::Ended));
            }
        }
        let ttl = self.settings.session_ttl;
        self.sessions.open(peer, name, host, self.now, ttl);
        let told_ms = self.settings.told_term().as_millis() as u64;
        self.answer(
            peer,
            call,
            match self.settings.parts {
                0 | 1 => Answer::Joined(told_ms),
                parts => Answer::JoinedPart(told_ms, parts),
            },
        );
        self.adopt(peer, &running, holding);
    }

    /// A session has the tasks it says it holds, as far as they are its own; what it was given and
    /// does not hold has never reached it.
    fn adopt(
        &mut self,
        peer: Peer,
        running: &BTreeMap<TaskId, Hold>,
        holding: &[(TaskId, Attempt)],
    ) {
        let mut stops = Vec::new();
        for &(id, attempt) in holding {
            match running.get(&id).filter(|hold| hold.attempt == attempt) {
                Some(hold) => {
                    self.sessions.begin(peer, id, Hold { is_told: true, ..hold.clone() });
                }
                None => stops.push((peer, Message::Stop { task: id, attempt })),
            }
        }
        // Nothing is written, but the commit shows that this coordinator has the part: one that was
        // replaced would stop what another has assigned.
        if !stops.is_empty() {
            self.stage(Change { messages: stops, ..Change::default() });
        }
        for (&id, hold) in running {
            let is_held = self.sessions.get(peer).is_some_and(|own| own.running.contains_key(&id));
            // What is changing is looked at when its commit is acknowledged.
            if !is_held && self.table.get(id).is_some_and(|entry| !entry.is_changing) {
                let fault = Fault::new(Cause::Returned, "it has not reached its worker");
                self.fail(id, hold.attempt, fault, None);
            }
        }
    }

    fn leave_session(&mut self, peer: Peer, call: Call) {
        self.end_session_by(peer, Cause::Returned, "its worker has ended in good order");
        self.answer(peer, call, Answer::Done);
    }

    /// A session has ended without a word.
    pub(super) fn end_session(&mut self, peer: Peer, why: &str) {
        self.messages.push_back((peer, Message::Ended));
        self.end_session_by(peer, Cause::Lost, why);
    }

    fn end_session_by(&mut self, peer: Peer, cause: Cause, why: &str) {
        let Some(session) = self.sessions.close(peer) else { return };
        let text = format!("worker {} on {}: {why}", session.name, session.host);
        for (&id, hold) in &session.running {
            // What is changing is looked at when its commit is acknowledged.
            if self.table.get(id).is_some_and(|entry| !entry.is_changing) {
                self.fail(id, hold.attempt, Fault::new(cause, text.clone()), None);
            }
        }
        self.release_holder(&session.name);
        self.forget_waits(peer);
        self.release_claims(&session.name);
        self.end_copying(peer);
        if let Some(depot) = self.depots.close(peer) {
            self.depot_gone(depot);
        }
    }

    fn offer(
        &mut self,
        peer: Peer,
        call: Call,
        (queues, slots, ahead): (&[String], u32, u32),
        (resources, full): (Vec<(String, Amount)>, Option<String>),
    ) {
        if self.sessions.get(peer).is_none() {
            return self.refuse(peer, call, Refusal::NoSession);
        }
        if queues.len() > MAX_QUEUES {
            let reason = format!("{} queues; at most {MAX_QUEUES} are possible", queues.len());
            return self.refuse(peer, call, Refusal::Invalid(reason));
        }
        if let Err(reason) = queues.iter().try_for_each(|queue| check_name("queue", queue)) {
            return self.refuse(peer, call, Refusal::Invalid(reason));
        }
        let resources = match resources::check(resources) {
            Ok(resources) => resources,
            Err(error) => return self.refuse(peer, call, Refusal::Invalid(error.to_string())),
        };
        let queues = queues.iter().map(|queue| Arc::from(queue.as_str())).collect();
        let full = full.map(|why| beginning(&why, MAX_FULL_BYTES).to_owned());
        self.sessions.offer(peer, queues, (slots, ahead), resources, full);
        self.answer_offer(peer, call, slots);
    }

    fn revive(&mut self, peer: Peer, call: Call, id: TaskId) {
        if self.table.get(id).is_some() {
            return self.refuse(peer, call, Refusal::State("not ended".to_owned()));
        }
        self.read_finished(id, Purpose::Revive(id, peer, call));
    }

    fn wait(&mut self, peer: Peer, call: Call, id: TaskId) {
        if self.is_live(id) {
            self.waits.insert(id, peer, call);
        } else {
            self.read_finished(id, Purpose::Outcome(id, peer, call));
        }
    }
}

/// Who serves the coordinator answers from the store's history.
fn no_history() -> String {
    "who serves this part has no history of its keys: read them again".to_owned()
}
