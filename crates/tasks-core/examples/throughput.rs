//! What a task costs the machine alone: submitted, assigned and completed in groups of 64, with a
//! store that acknowledges at once and keeps nothing.
//!
//! `cargo run --release -p tidings-tasks-core --example throughput`

use tidings_primitives::Instant;
use tidings_tasks_core::coordinator::{Coordinator, Reply, Settings};
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::ledger::Page;
use tidings_tasks_core::message::{Call, Message, Peer, Request, Submission};
use tidings_tasks_core::transaction::Revision;

const GROUP: u64 = 64;
const ROUNDS: u64 = 5_000;

fn submission(number: u64) -> Submission {
    let group = "me".to_owned();
    Submission { group, ..Submission::new(TaskId::of("t", number), "jobs", [1; 100]) }
}

/// Lets the store acknowledge all, and returns what was assigned.
fn settle(coordinator: &mut Coordinator, revision: &mut u64) -> Vec<Request> {
    let now = Instant::EPOCH;
    while let Some((ticket, _)) = coordinator.poll_commit() {
        *revision += 1;
        coordinator.handle_commit(now, ticket, Ok(Revision(*revision)));
    }
    let mut completions = Vec::new();
    while let Some((_, message)) = coordinator.poll_message() {
        if let Message::Assign { task, attempt, .. } = message {
            let (result, children, effects) = (vec![1; 8], Vec::new(), Vec::new());
            completions.push(Request::Complete {
                task,
                attempt,
                result,
                children,
                effects,
                puts: Vec::new(),
            });
        }
    }
    completions
}

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it measures the machine from outside"
)]
fn main() {
    let now = Instant::EPOCH;
    let mut coordinator = Coordinator::new(Settings::in_memory(), now);
    while let Some((ticket, _)) = coordinator.poll_read() {
        let page = Page { records: Vec::new(), revision: Revision(1), next: None };
        coordinator.handle_read(now, ticket, Reply::Page(page));
    }
    let (name, host) = ("w".to_owned(), "h".to_owned());
    coordinator.handle_request(
        now,
        Peer(1),
        Call(0),
        Request::Join { name, host, holding: vec![] },
    );
    let offer = Request::Offer {
        queues: vec![],
        slots: GROUP as u32,
        resources: Vec::new(),
        ahead: 0,
        full: None,
    };
    coordinator.handle_request(now, Peer(1), Call(1), offer);
    let (mut revision, mut call) = (1, 1);
    let start = std::time::Instant::now();
    for round in 0..ROUNDS {
        let tasks = (round * GROUP..(round + 1) * GROUP).map(submission).collect();
        coordinator.handle_request(now, Peer(2), Call(round), Request::Submit { tasks });
        for request in settle(&mut coordinator, &mut revision) {
            call += 1;
            coordinator.handle_request(now, Peer(1), Call(call), request);
        }
        settle(&mut coordinator, &mut revision);
    }
    let each = start.elapsed().as_nanos() / u128::from(ROUNDS * GROUP);
    assert_eq!(coordinator.counters().done, ROUNDS * GROUP);
    println!("{each} ns a task in groups of {GROUP}");
}
