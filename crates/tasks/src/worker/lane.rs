//! Lanes: what a slot does from when it is given a task until it has none.
//!
//! A command has a lane for itself. Calls of one runtime follow each other in one (`series`), and
//! the driver adds to it while it runs.

use std::sync::Arc;

use tidings_tasks_core::retry::Cause;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::work::{What, Work};

use super::call::{Call, Called};
use super::command;
use super::ending::{Ending, Order};
use super::given::{self, Ear, Given, Slot, Told};
use super::inputs;
use super::series;
use super::settings::Event;
use super::shared::{Shared, Try};
use super::verdict::Verdict;

/// Does a task, and those that are added, until none is left.
pub(super) async fn run(shared: Arc<Shared>, mut slot: Slot, first: Given, mut ear: Ear) {
    let Given { todo, orders, grace_ms, patience } = first;
    let (key, begun) = (todo.key(), Instant::now());
    let (task, attempt) = key;
    let (queue, copies) = (todo.queue, todo.copies);
    let of = Try { task, attempt, queue, slot: slot.number, copies };
    match given::read(&shared, todo.content).await {
        Err(verdict) => ear.ended(key, verdict, begun.elapsed()).await,
        Ok(Work { name, what: What::Call { runtime, code, body, inputs }, limits }) => {
            let called = Called { name, runtime, code, body, inputs };
            let ending = Ending::new(limits, orders);
            let call = Call::new(of, called, ending, grace_ms, patience);
            series::run(&shared, &mut slot.runtimes, call, &mut ear).await;
        }
        Ok(work) => {
            Given::begins(&grace_ms, work.limits.grace_ms);
            let verdict = command(&shared, &of, work, orders).await;
            ear.ended(key, verdict, begun.elapsed()).await;
        }
    }
    let Ear { says, told, .. } = ear;
    let _ = told.send(Told::Free(slot, says)).await;
}

/// A try that is a program.
async fn command(
    shared: &Shared,
    of: &Try,
    work: Work,
    orders: watch::Receiver<Option<Order>>,
) -> Verdict {
    let What::Command { argv, environment, directory, stdin, inputs } = work.what else {
        return Verdict::failed(Cause::Error, "it is no command");
    };
    let (task, attempt, slot) = (of.task, of.attempt, of.slot);
    let _running = shared.running.during(task, attempt);
    shared.tell(Event::Started { task, attempt, slot, name: work.name.clone() });
    let mut ending = Ending::new(work.limits, orders);
    let mut parts = command::Parts { argv, environment, directory, stdin };
    let mut verdict = match inputs::fetch(shared, &mut parts, &inputs).await {
        Ok((_folder, moved_bytes)) => {
            let mut verdict = command::run(shared, of, parts, &mut ending).await;
            if let Some(report) = &mut verdict.report {
                report.moved_bytes = moved_bytes;
            }
            verdict
        }
        Err(verdict) => verdict,
    };
    if let Some(report) = &mut verdict.report {
        report.name = work.name;
    }
    verdict
}
