//! What a task of a graph costs the machine alone: layers of 64 tasks, each of which waits for two
//! of the layer before; submitted a layer at a time, 32 layers ahead of what is done, with a store
//! that acknowledges at once and keeps nothing. Beside it the same tasks without inputs.
//!
//! `cargo run --release -p tidings-tasks-core --example dataflow`

use std::collections::VecDeque;

use tidings_primitives::Instant;
use tidings_tasks_core::coordinator::{Coordinator, Reply, Settings};
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::ledger::Page;
use tidings_tasks_core::message::{Call, Message, Peer, Request, Submission};
use tidings_tasks_core::transaction::Revision;

const WIDTH: u64 = 64;
const LAYERS: u64 = 5_000;
const AHEAD: u64 = 32;

/// A task, behind two of the layer before if it is to be.
fn submission(number: u64, is_graph: bool) -> Submission {
    let id = |number| TaskId::of("t", number);
    let before = number.checked_sub(WIDTH).filter(|_| is_graph);
    let inputs = before.map(|at| vec![id(at), id(at / WIDTH * WIDTH + (at + 1) % WIDTH)]);
    let group = "me".into();
    let inputs = inputs.unwrap_or_default();
    Submission { group, inputs, ..Submission::new(id(number), "jobs", [1; 100]) }
}

struct Machine {
    coordinator: Coordinator,
    revision: u64,
    call: u64,
    assigned: VecDeque<Request>,
}

impl Machine {
    fn new() -> Self {
        let coordinator = Coordinator::new(Settings::in_memory(), Instant::EPOCH);
        let mut machine = Self { coordinator, revision: 1, call: 0, assigned: VecDeque::new() };
        machine.settle();
        let (name, host) = ("w".to_owned(), "h".to_owned());
        machine.ask(1, Request::Join { name, host, holding: vec![] });
        let (slots, resources) = (2 * WIDTH as u32, Vec::new());
        machine.ask(1, Request::Offer { queues: vec![], slots, resources, ahead: 0, full: None });
        machine
    }

    fn ask(&mut self, peer: u64, request: Request) {
        self.call += 1;
        let call = Call(self.call);
        self.coordinator.handle_request(Instant::EPOCH, Peer(peer), call, request);
    }

    /// Lets the store acknowledge all, and have nothing.
    fn settle(&mut self) {
        let now = Instant::EPOCH;
        while let Some((ticket, _)) = self.coordinator.poll_read() {
            let page = Page { records: Vec::new(), revision: Revision(1), next: None };
            self.coordinator.handle_read(now, ticket, Reply::Page(page));
        }
        while let Some((ticket, _)) = self.coordinator.poll_commit() {
            self.revision += 1;
            self.coordinator.handle_commit(now, ticket, Ok(Revision(self.revision)));
        }
        while let Some((_, message)) = self.coordinator.poll_message() {
            if let Message::Assign { task, attempt, .. } = message {
                let (result, children, effects) = (vec![1; 8], Vec::new(), Vec::new());
                let done = Request::Complete {
                    task,
                    attempt,
                    result,
                    children,
                    effects,
                    puts: Vec::new(),
                };
                self.assigned.push_back(done);
            }
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it measures the machine from outside"
)]
fn measure(is_graph: bool) {
    let mut machine = Machine::new();
    let start = std::time::Instant::now();
    let (mut layer, mut done) = (0, 0);
    while done < WIDTH * LAYERS {
        while layer < LAYERS && layer * WIDTH < done + AHEAD * WIDTH {
            let numbers = layer * WIDTH..(layer + 1) * WIDTH;
            let tasks = numbers.map(|number| submission(number, is_graph)).collect();
            machine.ask(2, Request::Submit { tasks });
            machine.settle(); // an input has to be there before
            layer += 1;
        }
        machine.settle();
        for _ in 0..machine.assigned.len().min(WIDTH as usize) {
            let Some(request) = machine.assigned.pop_front() else { break };
            machine.ask(1, request);
            done += 1;
        }
        machine.settle();
    }
    let each = start.elapsed().as_nanos() / u128::from(WIDTH * LAYERS);
    assert_eq!(machine.coordinator.counters().done, WIDTH * LAYERS);
    println!("{each} ns a task {}", if is_graph { "with two inputs" } else { "without inputs" });
}

fn main() {
    measure(false);
    measure(true);
}
