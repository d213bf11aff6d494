//! Rows: each one a task, from its submission to its end.

use tidings_tasks::payloads::Payloads;
use tidings_tasks::session::Session;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Refusal, Request, Submission};
use tidings_tasks_core::record::{Finished, Outcome};
use tidings_tasks_core::view::Shown;
use tokio::sync::watch;

use super::super::client::ask;
use super::super::failure::TasksError;
use super::graph::Node;

/// A row of a run.
pub(super) struct Row {
    /// From 1.
    pub(super) number: usize,
    pub(super) arguments: Vec<String>,
    pub(super) command: Vec<String>,
    pub(super) submission: Submission,
    pub(super) payloads: Payloads,
    /// Whether it may be there already: the run has a name.
    pub(super) may_be_known: bool,
    /// Whether its output is printed: one that stays on nodes is not if another task reads it.
    pub(super) is_printed: bool,
    /// Its place in a graph, if it has one.
    pub(super) place: Option<Place>,
}

/// The place of a task in a graph.
pub(super) struct Place {
    pub(super) name: String,
    /// Those that it waits for: whether they are submitted.
    pub(super) behind: Vec<watch::Receiver<bool>>,
    /// Told once it is submitted itself.
    pub(super) there: watch::Sender<bool>,
}

impl Place {
    /// Waits until all that it waits for are submitted: an input has to be known before.
    async fn wait(&mut self) {
        for input in &mut self.behind {
            // Whoever goes without a word has failed, which ends the run.
            let _ = input.wait_for(|is_there| *is_there).await;
        }
        self.behind.clear();
    }
}

/// A row whose task has ended.
pub(super) struct Ended {
    pub(super) row: Row,
    pub(super) finished: Finished,
    /// Whether it had ended before this run began.
    pub(super) was_done: bool,
}

impl Ended {
    /// Whether it is done.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.finished.outcome, Outcome::Done(_))
    }
}

/// The id of a task of a run that nobody goes on with: it follows from the place of its row.
pub(super) fn id_of_place(run: &str, place: u64) -> TaskId {
    TaskId::of(&format!("run\0{run}"), place)
}

/// The id of a task: it follows from the run's name, the command, the number in an array, and how
/// many equal rows came before.
pub(super) fn id(run: &str, command: &[String], index: Option<&str>, equal: u64) -> TaskId {
    let mut name = format!("run\0{run}\0{}", index.unwrap_or_default());
    for word in command {
        name.push('\0');
        name.push_str(word);
    }
    TaskId::of(&name, equal)
}

/// The id of a task of a graph: it follows from the run's name, its own, its command, its queue if
/// it says one, and the tasks that it waits for. So one that is given another command is another
/// task, and so are those behind it; and so is one in another queue, of which a worker takes it.
pub(super) fn node_id(run: &str, node: &Node, inputs: &[TaskId]) -> TaskId {
    let mut text = format!("graph\0{run}\0{}", node.name);
    // Neither a name nor that of a queue has a line feed or a zero.
    text.extend(node.queue.iter().flat_map(|queue| ["\n", queue]));
    text.push('\0');
    for input in inputs {
        text.push_str(&input.to_string());
    }
    for word in &node.command {
        text.push('\0');
        text.push_str(word);
    }
    TaskId::of(&text, 0)
}

impl Row {
    /// What people call it.
    pub(super) fn label(&self) -> String {
        self.place.as_ref().map_or_else(|| self.command.join(" "), |place| place.name.clone())
    }

    /// Has the task run and waits for its end.
    pub(super) async fn follow(mut self, session: Session) -> Result<Ended, TasksError> {
        let wait = Request::Wait { task: self.submission.id };
        if let Some(place) = &mut self.place {
            place.wait().await;
        }
        let answer = if self.may_be_known {
            let known = self.known(&session).await?;
            self.tell_there();
            if let Some(finished) = known {
                return self.ended(&session, finished, true).await;
            }
            ask(&session, wait).await?
        } else {
            // Both at once: the end is waited for before it can be there.
            let (submitted, ended) =
                tokio::join!(self.submit(&session), ask(&session, wait.clone()));
            submitted?;
            match ended {
                // The submission had to wait for room in the queue.
                Err(TasksError::Refused(Refusal::NoTask)) => ask(&session, wait).await?,
                ended => ended?,
            }
        };
        match answer {
            Answer::Outcome(finished) => self.ended(&session, *finished, false).await,
            other => Err(TasksError::Answer(Box::new(other))),
        }
    }

    /// A result that is too long for a record is fetched.
    async fn ended(
        self,
        session: &Session,
        finished: Finished,
        was_done: bool,
    ) -> Result<Ended, TasksError> {
        let (task, with_outputs) = (self.submission.id, self.is_printed);
        let finished = self.payloads.result(session, task, finished, with_outputs).await?;
        Ok(Ended { row: self, finished, was_done })
    }

    /// How the task was done before. One that was not is in its queue afterwards.
    async fn known(&self, session: &Session) -> Result<Option<Finished>, TasksError> {
        let task = self.submission.id;
        match ask(session, Request::Show { task }).await {
            Err(TasksError::Refused(Refusal::NoTask)) => self.submit(session).await?,
            Err(error) => return Err(error),
            Ok(Answer::Shown(shown)) => match *shown {
                Shown::Live(_) => {}
                Shown::Finished(finished) => match finished.outcome {
                    Outcome::Done(_) => return Ok(Some(finished)),
                    Outcome::Failed | Outcome::Cancelled => {
                        ask(session, Request::Revive { task }).await?;
                    }
                },
            },
            Ok(other) => return Err(TasksError::Answer(Box::new(other))),
        }
        Ok(None)
    }

    async fn submit(&self, session: &Session) -> Result<(), TasksError> {
        let tasks = vec![self.submission.clone()];
        match self.payloads.submit(session, tasks, &[]).await? {
            Answer::Refused(refusal) => return Err(refusal.into()),
            _ => self.tell_there(),
        }
        Ok(())
    }

    /// Lets those go on that wait for it.
    fn tell_there(&self) {
        if let Some(place) = &self.place {
            place.there.send_replace(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_equal_rows_runs_and_numbers_apart() {
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let one = id("a", &words(&["sim", "x"]), None, 0);
        assert_eq!(one, id("a", &words(&["sim", "x"]), None, 0));
        for other in [
            id("b", &words(&["sim", "x"]), None, 0),
            id("a", &words(&["sim x"]), None, 0),
            id("a", &words(&["sim", "x"]), Some("1"), 0),
            id("a", &words(&["sim", "x"]), None, 1),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn a_task_of_a_graph_is_another_one_in_another_queue() {
        let node = |command: &[&str], queue: Option<&str>| Node {
            name: "a".to_owned(),
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            queue: queue.map(str::to_owned),
            ..Node::default()
        };
        let id = |command: &[&str], queue| node_id("r", &node(command, queue), &[]);
        let ids = [
            id(&["x"], None),
            id(&["x"], Some("q")),
            id(&["x"], Some("p")),
            id(&["q", "x"], None),
            id(&["\n", "q", "x"], None),
        ];
        for (at, one) in ids.iter().enumerate() {
            assert!(!ids[..at].contains(one), "{at}");
        }
    }

    #[test]
    fn ids_of_places_are_in_the_order_of_the_rows() {
        let ids: Vec<TaskId> = (0..300).map(|place| id_of_place("a", place)).collect();
        assert!(ids.is_sorted());
        assert!(!ids.contains(&id_of_place("b", 0)));
    }
}
