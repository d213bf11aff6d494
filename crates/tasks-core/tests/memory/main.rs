//! The memory of a queued task, counted where it is taken: by the allocator.
//!
//! `cargo test --release -p tidings-tasks-core --test memory -- --nocapture` prints it.

#[allow(dead_code, reason = "the most that was held is of no interest here")]
#[path = "../../../sim/tests/counting/mod.rs"]
mod counting;

use counting::HELD;
use tidings_primitives::Instant;
use tidings_tasks_core::coordinator::{Coordinator, Read, Reply, Settings};
use tidings_tasks_core::id::{Part, TaskId};
use tidings_tasks_core::message::{Call, Peer, Request, Submission};
use tidings_tasks_core::transaction::{Record, Revision};

const TASKS: u64 = 100_000;
const BATCH: u64 = 1_000;
/// The most bytes of a queued task.
const MOST: i64 = 200;

fn submission(number: u64) -> Submission {
    Submission {
        group: format!("user-{}", number % 10).into(),
        delay_ms: number % 2 * 1_000_000,
        ..Submission::new(TaskId::of("t", number), "jobs", [1; 100])
    }
}

/// A coordinator of an empty part.
fn coordinator() -> Coordinator {
    let settings =
        Settings { queue_capacity: 10_000_000, cached_bytes: 1 << 20, ..Settings::in_memory() };
    let mut coordinator = Coordinator::new(settings, Instant::EPOCH);
    while let Some((ticket, read)) = coordinator.poll_read() {
        let reply = match read {
            Read::Scan { .. } => Reply::Page(tidings_tasks_core::ledger::Ledger::default().scan(
                &tidings_tasks_core::keys::tasks(Part(0)),
                None,
                1,
            )),
            Read::Get(_) => Reply::Records(Vec::<Record>::new()),
        };
        coordinator.handle_read(Instant::EPOCH, ticket, reply);
    }
    assert!(coordinator.is_serving());
    coordinator
}

fn commit_all(coordinator: &mut Coordinator, revision: &mut u64) {
    while let Some((ticket, _)) = coordinator.poll_commit() {
        *revision += 1;
        coordinator.handle_commit(Instant::EPOCH, ticket, Ok(Revision(*revision)));
    }
    while coordinator.poll_message().is_some() {}
}

#[test]
fn a_queued_task_takes_less_than_it_may() {
    let mut coordinator = coordinator();
    let (empty, mut revision) = (HELD.get(), 1);
    for batch in 0..TASKS / BATCH {
        let tasks = (batch * BATCH..(batch + 1) * BATCH).map(submission).collect();
        let request = Request::Submit { tasks };
        coordinator.handle_request(Instant::EPOCH, Peer(1), Call(batch), request);
        commit_all(&mut coordinator, &mut revision);
    }
    assert_eq!(coordinator.live(), TASKS as usize);
    let cache = 1 << 20;
    let each = (HELD.get() - empty - cache) / TASKS as i64;
    println!("{each} bytes a queued task, every second one delayed");
    assert!(each <= MOST, "{each} bytes a queued task");
}
