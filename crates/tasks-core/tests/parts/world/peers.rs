//! What workers and the clients of a graph do and hear.

use tidings_tasks_core::id::Attempt;
use tidings_tasks_core::message::{Answer, Message, Peer, Refusal};
use tidings_tasks_core::retry::Cause;

use super::*;
use crate::seat::CLIENT;

impl World {
    pub(super) fn send(&mut self, at: usize, peer: Peer, request: Request) -> Call {
        let call = Call(self.number());
        self.seats[at].to.push_back((peer, call, request));
        call
    }

    /// Sends what is to be sent again until it is answered.
    fn ask(&mut self, at: usize, peer: Peer, request: Request) -> Call {
        let call = self.send(at, peer, request.clone());
        self.seats[at].calls.insert(call, (peer, request));
        call
    }

    pub(super) fn join(&mut self, at: usize) {
        for request in self.seats[at].join() {
            self.send(at, WORKER, request);
        }
    }

    /// Connections of a part are new, of this peer or all: what was not answered is asked again.
    pub(super) fn reconnect(&mut self, at: usize, of: Option<Peer>) {
        let seat = &mut self.seats[at];
        let is_it = |peer: Peer| of.is_none_or(|of| of == peer);
        seat.to.retain(|(peer, ..)| !is_it(*peer));
        seat.from.retain(|(peer, _)| !is_it(*peer));
        self.join(at);
        let calls = self.seats[at].calls.clone().into_iter();
        for (call, (peer, request)) in calls.filter(|(_, (peer, _))| is_it(*peer)) {
            self.seats[at].to.push_back((peer, call, request));
        }
    }

    /// Requests reach a coordinator, and messages its peers.
    pub(super) fn deliver(&mut self, at: usize) {
        for _ in 0..self.chance.below(12) {
            let seat = &mut self.seats[at];
            let Some((peer, call, request)) = seat.to.pop_front() else { break };
            seat.reigning.coordinator.handle_request(self.now, peer, call, request);
        }
        self.poll(at);
        for _ in 0..self.chance.below(12) {
            let Some((_, message)) = self.seats[at].from.pop_front() else { break };
            self.hear(at, message);
        }
    }

    fn hear(&mut self, at: usize, message: Message) {
        match message {
            Message::Assign { task, attempt, .. } => {
                self.seats[at].hand.entry((task, attempt)).or_default();
            }
            Message::Stop { task, attempt } => self.report(at, (task, attempt), Cause::Returned),
            Message::Ended => {
                self.seats[at].hand.clear();
                self.seats[at].calls.retain(|_, (peer, _)| *peer == CLIENT);
                self.join(at);
            }
            Message::Answer(call, answer) => self.answered(at, call, &answer),
        }
    }

    fn answered(&mut self, at: usize, call: Call, answer: &Answer) {
        let Some((peer, request)) = self.seats[at].calls.remove(&call) else { return };
        if *answer == Answer::Refused(Refusal::Elsewhere) {
            self.seats[at].calls.insert(call, (peer, request.clone()));
            return self.seats[at].to.push_back((peer, call, request));
        }
        match request {
            Request::Complete { task, attempt, .. } | Request::Fail { task, attempt, .. } => {
                self.seats[at].hand.remove(&(task, attempt));
            }
            Request::Submit { tasks } => {
                let ids = tasks.into_iter().map(|task| task.id).collect();
                self.asked.remove(&call);
                self.submit_answered(ids, answer);
            }
            Request::Forget { .. } => assert!(matches!(answer, Answer::Forgotten(_)), "{answer:?}"),
            other => panic!("{other:?}: {answer:?}"),
        }
    }

    fn submit_answered(&mut self, ids: Vec<TaskId>, answer: &Answer) {
        match answer {
            Answer::Submitted(_) => self.submitted.extend(ids),
            Answer::Refused(Refusal::Invalid(reason)) => {
                let inputs = ids.iter().flat_map(|id| &self.graph.nodes[id].inputs);
                let mut gone = inputs.filter(|input| !self.store.knows(**input));
                assert!(gone.next().is_some(), "{reason}");
                self.refused.extend(ids);
            }
            other => panic!("{other:?}"),
        }
    }

    /// A worker goes on with one of its tries.
    pub(super) fn work(&mut self, at: usize) {
        let open = self.seats[at].hand.iter().filter(|(_, report)| report.is_none());
        let open: Vec<_> = open.map(|(of, _)| *of).collect();
        let Some(of) = self.chance.pick(&open) else { return };
        let cause = if self.graph.nodes[&of.0].fails { Cause::Error } else { Cause::Lost };
        if cause == Cause::Error {
            return self.report(at, of, cause);
        }
        let (task, attempt) = of;
        let (result, children, effects) = (Vec::new(), Vec::new(), Vec::new());
        let request =
            Request::Complete { task, attempt, result, children, effects, puts: Vec::new() };
        self.seats[at].hand.insert(of, Some(request.clone()));
        self.ask(at, WORKER, request);
    }

    fn report(&mut self, at: usize, of: (TaskId, Attempt), cause: Cause) {
        let Some(None) = self.seats[at].hand.get(&of) else { return };
        let (text, detail) = (format!("{cause:?}"), Vec::new());
        let request = Request::Fail { task: of.0, attempt: of.1, cause, text, detail };
        self.seats[at].hand.insert(of, Some(request.clone()));
        self.ask(at, WORKER, request);
    }

    /// Some tasks of one part are submitted whose inputs are, or are with them.
    pub(super) fn submit(&mut self) {
        let at = self.chance.below(self.seats.len());
        let part = self.seats[at].part;
        let most = 1 + self.chance.below(6);
        let asked: BTreeSet<TaskId> = self.asked.values().flatten().copied().collect();
        let mut some: Vec<TaskId> = Vec::new();
        for id in self.graph.order.clone() {
            let node = &self.graph.nodes[&id];
            if node.inputs.iter().any(|input| self.refused.contains(input)) {
                self.refused.insert(id);
                continue;
            }
            let is_new = !self.submitted.contains(&id) && !self.refused.contains(&id);
            let is_there = |input| self.submitted.contains(input) || some.contains(input);
            let is_free = is_new && !asked.contains(&id) && node.part == part;
            if is_free && some.len() < most && node.inputs.iter().all(is_there) {
                some.push(id);
            }
        }
        if some.is_empty() {
            return;
        }
        let tasks = some.iter().map(|id| self.graph.submission(*id)).collect();
        let call = self.ask(at, CLIENT, Request::Submit { tasks });
        self.asked.insert(call, some);
    }

    /// A client wants to forget some tasks, whether they are needed or not.
    pub(super) fn forget(&mut self) {
        let at = self.chance.below(self.seats.len());
        let part = self.seats[at].part;
        let of_part = |id: &TaskId| self.graph.nodes[id].part == part;
        let all: Vec<TaskId> = self.submitted.iter().copied().filter(of_part).collect();
        let tasks: Vec<TaskId> = all.into_iter().filter(|_| self.chance.happens(0.3)).collect();
        if !tasks.is_empty() {
            self.ask(at, CLIENT, Request::Forget { tasks });
        }
    }
}
