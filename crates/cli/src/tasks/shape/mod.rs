//! The shape of a graph: which tasks wait for which, how long the longest chain of them takes, and
//! where what they have made lies.
//!
//! It is computed from the records of some queues, of which a bounded number is read. What was left
//! out is said.
//!
//! * [`vertex`]: what is taken from a task's record.
//! * [`chains`]: layers, and the critical path.
//! * [`view`]: nodes for people, of which each may stand for many tasks; as JSON.
//! * [`text`]: that on a terminal.

mod chains;
mod text;
mod vertex;
mod view;

use std::time::{SystemTime, UNIX_EPOCH};

use tidings_tasks::session::Session;
use tidings_tasks_core::view::Which;

use super::failure::TasksError;
use super::pages::Pages;
use vertex::Vertex;

pub(super) use text::of as text;
pub(super) use view::GraphView;

/// The tasks of a graph that are shown.
const MOST_TASKS: usize = 5_000;

/// The graph that the tasks of some queues are, which may be of different parts of the store. Of
/// each at most `pages` pages of the store's records are read.
///
/// # Errors
/// A queue has no record of a task, or the store cannot be had.
pub(super) async fn read(
    session: &Session,
    queues: &[String],
    pages: usize,
) -> Result<GraphView, TasksError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = now.as_millis() as u64;
    let (mut all, mut more) = (Vec::new(), false);
    for queue in queues {
        let before = all.len();
        let mut listed = Pages::new(Some(queue), Which::All);
        for _ in 0..pages {
            let Some(page) = listed.next_of(session).await? else { break };
            all.extend(page.iter().map(|(id, shown)| Vertex::of(*id, shown, now_ms)));
            if all.len() > MOST_TASKS {
                break;
            }
        }
        more |= !listed.is_over();
        if all.len() == before && all.len() <= MOST_TASKS {
            return Err(TasksError::NotFound(format!(
                "no record of a task of the queue `{queue}`: `tidings queue ls` lists those that \
                 have tasks"
            )));
        }
    }
    more |= all.len() > MOST_TASKS;
    all.truncate(MOST_TASKS);
    Ok(view::of(&queues.join(", "), now_ms, &all, more))
}
