//! The tasks of hosts that have the blob: numbers, and nodes of the tree that adds them up.

use core::time::Duration;

use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::{Answer, Call, MAX_TASKS, Request, Submission};
use tidings_tasks_core::record::{self, Outcome};
use tidings_tasks_core::resources::Need;
use tidings_tasks_core::retry::Retry;
use tidings_tasks_core::tree::{Node, Tree};

use crate::party::Hand;
use crate::world::{Event, OWNER, World};

/// What the tasks are called.
const NAME: &str = "number";

fn place(level: u32) -> String {
    format!("level-{level}")
}

/// What a task comes to: of every size, so that another order would give another sum.
fn number(index: u64) -> f64 {
    let bits = tidings_primitives::chance::mix(index);
    (bits >> 12) as f64 * 2_f64.powi((bits % 64) as i32 - 32)
}

/// What a node comes to.
fn sum(tree: Tree, node: Node) -> f64 {
    match node.level {
        0 => number(node.index),
        _ => tree.inputs(node).map(|input| sum(tree, input)).sum(),
    }
}

fn value_of(outcome: &Outcome) -> f64 {
    let Outcome::Done(result) = outcome else { panic!("{outcome:?}") };
    f64::from_le_bytes(result[..].try_into().expect("eight bytes"))
}

impl World {
    /// The client submits the tasks and the nodes of the tree, and waits for the whole.
    pub(crate) fn submit(&mut self) {
        let Some(tree) = self.tree else { return };
        let leaves = (0..tree.leaves()).map(|index| Node { level: 0, index });
        let all: Vec<Node> = leaves.chain(tree.nodes()).collect();
        for some in all.chunks(MAX_TASKS) {
            let tasks = some.iter().map(|node| {
                let need = Need::new([(place(node.level), 1_000)]).expect("one need");
                let retry = Retry { losses: u16::MAX, ..Retry::default() };
                let task = tree.task(NAME, *node);
                Submission { need, retry, ..Submission::new(task, "q", record::encode(node)) }
            });
            let tasks = tasks.collect();
            self.ask(OWNER, Request::Submit { tasks });
        }
        self.ask(OWNER, Request::Wait { task: tree.task(NAME, tree.root()) });
    }

    /// A host takes tasks: of each level some.
    pub(crate) fn offer(&mut self, at: usize) {
        if self.tree.is_some() && at != OWNER {
            let resources = (0..4).map(|level| (place(level), 4_000)).collect();
            self.ask(
                at,
                Request::Offer { queues: Vec::new(), slots: 16, resources, ahead: 0, full: None },
            );
        }
    }

    /// A host has a try of a task.
    pub(crate) fn assigned(&mut self, at: usize, task: TaskId, attempt: Attempt, payload: &[u8]) {
        assert!(self.parties[at].depth.is_some(), "it has what its tasks need");
        let tree = self.tree.expect("there are tasks");
        let node: Node = minicbor::decode(payload).expect("a node");
        let inputs: Vec<Node> = tree.inputs(node).collect();
        let hand = Hand { attempt, inputs: vec![None; inputs.len()] };
        self.parties[at].hands.insert(task, hand);
        if node.level == 0 {
            let time = Duration::from_millis(5 + self.chance.below(300) as u64);
            let life = self.parties[at].life;
            return self.after(time, Event::Done(at, life, task, number(node.index)));
        }
        for (place, input) in inputs.into_iter().enumerate() {
            let call = self.ask(at, Request::Wait { task: tree.task(NAME, input) });
            self.parties[at].waits.insert(call, (task, place));
        }
    }

    /// A host has done a task.
    pub(crate) fn done(&mut self, at: usize, task: TaskId, value: f64) {
        let Some(hand) = self.parties[at].hands.get(&task) else { return };
        let (attempt, result) = (hand.attempt, value.to_le_bytes().to_vec());
        let (children, effects, puts) = (Vec::new(), Vec::new(), Vec::new());
        self.ask(at, Request::Complete { task, attempt, result, children, effects, puts });
        self.parties[at].hands.remove(&task);
    }

    /// An input has ended; of the client the whole.
    pub(crate) fn outcome(&mut self, at: usize, call: Call, answer: &Answer) {
        let Answer::Outcome(finished) = answer else { panic!("{answer:?}") };
        let value = value_of(&finished.outcome);
        if at == OWNER {
            let tree = self.tree.expect("there are tasks");
            let expected = sum(tree, tree.root());
            assert_eq!(value.to_bits(), expected.to_bits(), "the sum is {value}, not {expected}");
            self.is_collected = true;
            return;
        }
        let party = &mut self.parties[at];
        let Some((task, place)) = party.waits.remove(&call) else { return };
        let Some(hand) = party.hands.get_mut(&task) else { return };
        hand.inputs[place] = Some(value);
        let inputs: Option<Vec<f64>> = hand.inputs.iter().copied().collect();
        if let Some(inputs) = inputs {
            self.done(at, task, inputs.iter().sum());
        }
    }
}
