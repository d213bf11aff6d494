//! Queues of which there is no record: a name that was mistyped, or one whose tasks were removed.

use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::view::{Overview, Which};

use super::client::Client;
use super::failure::TasksError;
use super::pages::Pages;

/// The queues that are named beside one that there is not.
const MOST_NAMED: usize = 8;

/// Whether there is a record of a task of a queue, whatever became of that task.
///
/// # Errors
/// There is none: 4, with the queues that have tasks. Or the store cannot be had.
pub(super) async fn expect_known(client: &Client, queue: &str) -> Result<(), TasksError> {
    let mut pages = Pages::new(Some(queue), Which::All);
    while let Some(page) = pages.next(client).await? {
        if !page.is_empty() {
            return Ok(());
        }
    }
    let overview = overview(client).await?;
    let others = others(&overview);
    Err(TasksError::NotFound(format!("no record of a task of the queue `{queue}`: {others}")))
}

/// What a worker says of those of its queues that have no task now; none if each has one. They will
/// have some, or a name was mistyped. Records of tasks that have ended are not looked through for
/// that: there may be millions, and a worker begins on each host.
pub(super) fn not_there_yet(overview: &Overview, queues: &[String]) -> Option<String> {
    if overview.queues_total > overview.queues.len() as u64 {
        return None; // it may be one of those that are not listed
    }
    let is_there = |name: &String| overview.queues.iter().any(|queue| queue.name == *name);
    let missing = queues.iter().filter(|name| !is_there(name)).map(|name| format!("`{name}`"));
    let missing: Vec<String> = missing.collect();
    let queue = if missing.len() == 1 { "queue" } else { "queues" };
    let others = others(overview);
    (!missing.is_empty()).then(|| {
        format!("no task of the {queue} {} yet: waiting for one; {others}", missing.join(", "))
    })
}

/// What the store holds, as one asks that has a session.
pub(super) async fn overview(client: &Client) -> Result<Box<Overview>, TasksError> {
    match client.ask(Request::Overview).await? {
        Answer::Overview(overview) => Ok(overview),
        other => Err(TasksError::Answer(Box::new(other))),
    }
}

/// The queues that have tasks, in words.
pub(super) fn others(overview: &Overview) -> String {
    let queues = &overview.queues;
    let named: Vec<String> =
        queues.iter().take(MOST_NAMED).map(|queue| format!("`{}`", queue.name)).collect();
    let more = overview.queues_total.saturating_sub(named.len() as u64);
    match (named.len(), more) {
        (0, _) => "no queue has tasks now".to_owned(),
        (_, 0) => format!("queues that have tasks are {}", named.join(", ")),
        (_, more) => format!("queues that have tasks are {} and {more} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use tidings_tasks_core::view::QueueView;

    use super::*;

    #[test]
    fn some_queues_are_named_and_the_others_counted() {
        let queue = |at: u64| QueueView { name: format!("q{at}"), ..QueueView::default() };
        let said = |total: u64| {
            let queues = (0..total).map(queue).collect();
            others(&Overview { queues, queues_total: total, ..Overview::default() })
        };
        assert_eq!(said(0), "no queue has tasks now");
        assert_eq!(said(2), "queues that have tasks are `q0`, `q1`");
        assert!(said(10).ends_with("`q7` and 2 more"), "{}", said(10));
    }

    #[test]
    fn a_worker_names_its_queues_that_have_no_task() {
        let queues = vec![QueueView { name: "jobs".to_owned(), ..QueueView::default() }];
        let mut overview = Overview { queues, queues_total: 1, ..Overview::default() };
        let said = |overview: &Overview, queues: &[&str]| {
            let queues: Vec<String> = queues.iter().copied().map(str::to_owned).collect();
            not_there_yet(overview, &queues)
        };
        assert_eq!(said(&overview, &["jobs"]), None);
        assert_eq!(said(&overview, &[]), None, "of all queues");
        let text = said(&overview, &["jbos", "jobs", "x"]).unwrap();
        assert!(text.starts_with("no task of the queues `jbos`, `x` yet: waiting for"), "{text}");
        assert!(text.ends_with("queues that have tasks are `jobs`"), "{text}");
        overview.queues_total = 2;
        assert_eq!(said(&overview, &["jbos"]), None, "it may be the one that is not listed");
    }
}
