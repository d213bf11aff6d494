//! Changes of all tasks of a queue: tried again, waited for, removed.

use tidings_tasks::spawn::boxed;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, MAX_TASKS, Refusal, Request};
use tidings_tasks_core::view::{Shown, Which};
use tokio::task::JoinSet;

use super::super::client::{Client, Place, ask, block_on, with};
use super::super::ending::Ending;
use super::super::failure::TasksError;
use super::super::pages::Pages;
use super::super::unknown::expect_known;
use crate::Failure;
use crate::output;

/// Tries all failed tasks again.
pub(super) fn retry(place: &Place, queue: &str) -> Result<(), Failure> {
    let revive = async |client: &Client| {
        expect_known(client, queue).await?;
        each(client, queue, Which::Failed, |task| Request::Revive { task }).await
    };
    let revived = block_on(with(place, "queue", revive))?;
    output::print(&format!("{revived} tasks of {queue} are tried again\n"))
}

/// Waits until a queue has no tasks.
pub(super) fn drain(place: &Place, queue: &str) -> Result<(), Failure> {
    let waiting = async |client: &Client| {
        expect_known(client, queue).await?;
        let mut ending = Ending::begin()?;
        let wait = |task| Request::Wait { task };
        let drained = async {
            // What was added meanwhile is waited for as well.
            while each(client, queue, Which::Live, wait).await? > 0 {}
            Ok(())
        };
        ending.or(drained).await
    };
    Ok(block_on(with(place, "queue", waiting))?)
}

/// Removes what has ended, and with `all` the rest too: of all queues first, so that what one waits
/// for in another is not kept for it.
pub(super) fn purge(place: &Place, queues: &[String], all: bool) -> Result<(), Failure> {
    let remove = async |client: &Client| {
        for queue in queues {
            expect_known(client, queue).await?;
        }
        if all {
            for queue in queues {
                each(client, queue, Which::Live, |task| Request::Cancel { task }).await?;
            }
        }
        let mut removed = Vec::with_capacity(queues.len());
        for queue in queues {
            removed.push((queue, forget(client, queue).await?));
        }
        Ok(removed)
    };
    let removed = block_on(with(place, "queue", remove))?;
    let line = |(queue, count): (&String, u64)| format!("{count} tasks of {queue} removed\n");
    output::print(&removed.into_iter().map(line).collect::<String>())
}

async fn forget(client: &Client, queue: &str) -> Result<u64, TasksError> {
    let mut removed = 0;
    let mut pages = Pages::new(Some(queue), Which::All);
    while let Some(page) = pages.next(client).await? {
        let ended = page.iter().filter(|(_, shown)| matches!(shown, Shown::Finished(_)));
        let ended: Vec<TaskId> = ended.map(|(task, _)| *task).collect();
        for tasks in ended.chunks(MAX_TASKS) {
            match client.ask(Request::Forget { tasks: tasks.to_vec() }).await? {
                Answer::Forgotten(count) => removed += u64::from(count),
                other => return Err(TasksError::Answer(Box::new(other))),
            }
        }
    }
    Ok(removed)
}

/// Asks for each task of a queue, a page at a time; one that has changed meanwhile is left out.
/// Returns how many were not.
async fn each(
    client: &Client,
    queue: &str,
    which: Which,
    request: impl Fn(TaskId) -> Request,
) -> Result<u64, TasksError> {
    let mut done = 0;
    let mut pages = Pages::new(Some(queue), which);
    while let Some(page) = pages.next(client).await? {
        let mut asked = JoinSet::new();
        for (task, _) in page {
            let (session, request) = (client.session.clone(), request(task));
            asked.spawn(boxed(async move { ask(&session, request).await }));
        }
        while let Some(answer) = asked.join_next().await {
            match answer.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())) {
                Ok(_) => done += 1,
                Err(TasksError::Refused(Refusal::NoTask | Refusal::State(_))) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(done)
}
