//! What nodes and the client do and hear.

use super::*;

impl World {
    pub(super) fn hear(&mut self, peer: Peer, message: Message) {
        let Some(at) = self.nodes.iter().position(|node| node.is_up && node.peer == peer) else {
            if let Message::Answer(call, answer) = message {
                self.hear_client(call, answer);
            }
            return;
        };
        match message {
            Message::Assign { task, attempt, .. } => {
                self.nodes[at].hand.entry((task, attempt)).or_default();
            }
            Message::Stop { task, attempt } => self.fail(at, (task, attempt), Cause::Returned),
            Message::Ended => {
                let node = &mut self.nodes[at];
                node.hand.clear();
                node.calls.clear();
                self.connect(at);
            }
            Message::Answer(_, Answer::Joined(_)) => self.joined(at),
            Message::Answer(call, answer) => self.answered(at, call, answer),
        }
    }

    pub(super) fn hear_client(&mut self, call: Call, answer: Answer) {
        match answer {
            Answer::Refused(Refusal::Elsewhere) if self.submitted && self.store.effects() == 0 => {
                self.client(Request::Submit { tasks: self.graph.submissions() });
            }
            Answer::Refused(refusal @ Refusal::Invalid(_)) => panic!("{refusal}"),
            Answer::Fetched(finished, reached) => {
                let Some(id) = self.asked.remove(&call) else { return };
                if finished.kept.is_some()
                    && !reached.iter().any(|one| self.value_at(one, id).is_some())
                {
                    self.totals.demanded += 1;
                    self.wanted.insert(id);
                    self.client(Request::Lost { task: id, attempt: finished.task.attempt });
                }
            }
            _ => {}
        }
    }

    pub(super) fn fail(&mut self, at: usize, of: (TaskId, Attempt), cause: Cause) {
        if let Some(hand) = self.nodes[at].hand.get_mut(&of).filter(|hand| !hand.is_over) {
            hand.is_over = true;
            self.send(at, failure(of, cause), Some(of));
        }
    }

    pub(super) fn answered(&mut self, at: usize, call: Call, answer: Answer) {
        let node = &mut self.nodes[at];
        let Some((request, Some(of))) = node.calls.remove(&call) else { return };
        if matches!(answer, Answer::Refused(Refusal::Elsewhere)) {
            return self.send(at, request, Some(of));
        }
        match request {
            Request::Complete { .. } | Request::CompleteKept { .. } | Request::Fail { .. } => {
                node.hand.remove(&of);
            }
            Request::Fetch { task } => self.fetched(at, of, task, answer),
            Request::Depots { .. } => {
                let Answer::Depots(others) = answer else { panic!("{answer:?}") };
                self.complete_kept(at, of, &others);
            }
            _ => {}
        }
    }

    /// A value in a depot, if its node is up and has it.
    pub(super) fn value_at(&self, reached: &Reached, id: TaskId) -> Option<u64> {
        let there = |node: &&Node| node.is_up && node.depot() == reached.depot;
        self.nodes.iter().find(there)?.content.get(&id).copied()
    }

    pub(super) fn fetched(
        &mut self,
        at: usize,
        of: (TaskId, Attempt),
        input: TaskId,
        answer: Answer,
    ) {
        let own = self.nodes[at].content.get(&input).copied();
        let (value, lost) = match answer {
            Answer::Fetched(finished, reached) => {
                let Outcome::Done(result) = &finished.outcome else { panic!("{finished:?}") };
                if finished.kept.is_none() {
                    let bytes = result[..].try_into().expect("8 bytes");
                    (Some(u64::from_be_bytes(bytes)), None)
                } else {
                    let there = reached.iter().find_map(|one| self.value_at(one, input));
                    self.totals.fetched += u64::from(own.is_none() && there.is_some());
                    (own.or(there), Some(finished.task.attempt))
                }
            }
            Answer::Refused(Refusal::State(_) | Refusal::Superseded) => (own, None),
            other => panic!("{other:?}"),
        };
        let Some(hand) = self.nodes[at].hand.get_mut(&of).filter(|hand| !hand.is_over) else {
            return;
        };
        hand.waits = false;
        if let Some(value) = value {
            hand.read.push(value);
            return;
        }
        if let Some(attempt) = lost {
            self.send(at, Request::Lost { task: input, attempt }, Some(of));
        }
        self.totals.gone += 1;
        self.fail(at, of, Cause::Gone);
    }

    /// A node goes on with one of its tries.
    pub(super) fn work(&mut self, at: usize) {
        let node = &self.nodes[at];
        let free = |(_, hand): &(_, &Hand)| !hand.is_over && !hand.waits;
        let hands: Vec<_> = node.hand.iter().filter(free).map(|(of, _)| *of).collect();
        let Some(of) = self.chance.pick(&hands).filter(|_| node.is_up) else { return };
        let inputs = self.graph.inputs(of.0);
        let hand = self.nodes[at].hand.get_mut(&of).expect("it is in hand");
        hand.waits = true;
        match inputs.get(hand.read.len()) {
            Some(input) => self.send(at, Request::Fetch { task: *input }, Some(of)),
            None if self.chance.happens(0.6) => hand.waits = false, // it takes long
            None => self.complete(at, of),
        }
    }

    pub(super) fn complete(&mut self, at: usize, of: (TaskId, Attempt)) {
        let Some(task) = self.graph.tasks.get(&of.0) else {
            return self.done(at, of, vec![0], None); // a child
        };
        let own: u64 = of.0.to_string().bytes().map(u64::from).sum();
        let value = combined(own, self.nodes[at].hand[&of].read.iter().copied());
        assert_eq!(value, task.value, "{}", of.0);
        match task.copies {
            0 => self.done(at, of, value.to_be_bytes().to_vec(), None),
            copies => {
                self.nodes[at].content.insert(of.0, value);
                let own = self.nodes[at].depot();
                let (count, task) = (copies - 1, Some(of.0));
                self.send(at, Request::Depots { own, count, task }, Some(of));
            }
        }
    }

    pub(super) fn complete_kept(&mut self, at: usize, of: (TaskId, Attempt), others: &[Reached]) {
        let (mut depots, value) = (vec![self.nodes[at].depot()], self.nodes[at].content[&of.0]);
        for other in others {
            let there = |node: &&mut Node| node.is_up && node.depot() == other.depot;
            if let Some(node) = self.nodes.iter_mut().find(there) {
                node.content.insert(of.0, value);
                depots.push(other.depot.clone());
                self.totals.copies += 1;
            }
        }
        let result = of.1.0.to_be_bytes().to_vec();
        self.done(at, of, result, Some(Kept { bytes: value % 5_000_000, depots }));
    }

    pub(super) fn done(
        &mut self,
        at: usize,
        of: (TaskId, Attempt),
        result: Vec<u8>,
        kept: Option<Kept>,
    ) {
        let Some(hand) = self.nodes[at].hand.get_mut(&of).filter(|hand| !hand.is_over) else {
            return;
        };
        hand.is_over = true;
        let ((task, attempt), children) = (of, self.graph.children(of.0));
        let effects = Graph::effects(task);
        let request = match kept {
            None => {
                Request::Complete { task, attempt, result, children, effects, puts: Vec::new() }
            }
            Some(kept) => Request::CompleteKept {
                task,
                attempt,
                result,
                children,
                effects,
                kept,
                puts: Vec::new(),
            },
        };
        self.send(at, request, Some(of));
    }
}
