//! A run: rows become tasks a few thousand at a time, a worker of this process does them beside
//! others, and what ends is printed.
//!
//! A signal ends the run in good order. With a name, its running tasks go back into their queue and
//! wait for the next start; without one all its tasks are cancelled and forgotten, so nothing of it
//! stays in the store.

use std::collections::BTreeMap;
use std::time::Duration;

use tidings_tasks::payloads::Payloads;
use tidings_tasks::spawn::boxed;
use tidings_tasks::work::{Input, WorkLimits};
use tidings_tasks::worker::{Event, Worker};
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Request, Submission};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::super::client::{Client, Place};
use super::super::failure::TasksError;
use super::super::kinds;
use super::super::own_worker::{self, Offer};
use super::graph::{Graph, Node};
use super::options::Options;
use super::print::Printer;
use super::row::{self, Ended, Row};
use super::screen::Screen;
use super::sources::Given;
use super::stalled::Stalled;
use super::template::Template;
use crate::output;
use crate::tasks::ending::Ending;

/// Rows that have a task which has not ended, or a result that is not printed.
const WINDOW: usize = 2_048;

/// How long a store may be out of reach before nobody waits to clean up in it.
const OUT_OF_REACH: Duration = Duration::from_secs(5);

/// A worker, and what it tells.
type Working = (Worker, mpsc::Receiver<Event>);

/// Tasks that are forgotten by one request.
const FORGOTTEN: usize = 1_000;

/// Where the tasks of a run are from.
pub(super) enum Origin {
    /// A command, and rows of arguments for it.
    Rows { given: Given, template: Template },
    /// A graph, each task behind those that it waits for.
    Graph(Graph),
}

/// A run.
pub(super) struct Run<'o> {
    options: &'o Options,
    place: Place,
    origin: Origin,
    name: String,
    /// Where its commands run.
    directory: String,
    /// The tasks of a graph, so far.
    nodes: Vec<TaskId>,
    /// Those of them that may not be submitted yet, and whether they are.
    coming: BTreeMap<usize, watch::Receiver<bool>>,
    /// How many equal rows came before.
    equal: BTreeMap<TaskId, u64>,
    /// The tasks of a run without a name: they are forgotten at its end.
    own: Vec<TaskId>,
}

impl<'o> Run<'o> {
    pub(super) fn new(
        options: &'o Options,
        place: Place,
        origin: Origin,
        name: String,
    ) -> Result<Self, TasksError> {
        Ok(Self {
            options,
            place,
            origin,
            name,
            directory: kinds::directory()?,
            nodes: Vec::new(),
            coming: BTreeMap::new(),
            equal: BTreeMap::new(),
            own: Vec::new(),
        })
    }

    /// Runs all rows.
    pub(super) async fn conduct(mut self, rows: usize) -> Result<(), TasksError> {
        let mut ending = Ending::begin()?;
        let client = Client::stay(&self.place, "run")?;
        let (worker, events) = self.begin_worker(&client)?.unzip();
        let mut printer = Printer::new(
            self.options.printing.json,
            self.options.printing.keep_order,
            client.payloads.clone(),
        );
        let mut screen = Screen::new(rows, &client, self.queues());
        let ended = tokio::select! {
            ended = self.all(rows, &client, &mut printer, &mut screen) => ended.map(|()| None),
            signal = ending.next() => Ok(Some(signal)),
            never = client.tell_troubles() => match never {},
            never = own_worker::tell_of_room(events) => match never {},
        };
        screen.clear();
        let stop = async {
            if let Some(worker) = worker {
                worker.stop().await;
            }
            self.clean(&client).await
        };
        let left = tokio::select! {
            cleaned = stop => cleaned.map(|()| None),
            // Whoever asks twice does not want to wait.
            signal = ending.next() => Err(self.stopped(signal, None)),
            () = client.out_of_reach(OUT_OF_REACH) => Ok(Some(self.left_behind())),
        };
        client.member.leave().await;
        match (ended?, left?) {
            (Some(signal), left) => Err(self.stopped(signal, left)),
            (None, Some(left)) => Err(TasksError::Left(left)),
            (None, None) => self.result(&printer, rows),
        }
    }

    /// Submits rows and prints what ends, until all have.
    async fn all(
        &mut self,
        rows: usize,
        client: &Client,
        printer: &mut Printer,
        screen: &mut Screen,
    ) -> Result<(), TasksError> {
        let mut following: JoinSet<Result<Ended, TasksError>> = JoinSet::new();
        let (mut next, mut stalled) = (0, Stalled::new());
        loop {
            while next < rows && following.len() + printer.held() < WINDOW {
                let row = self.row(next, &client.payloads)?;
                printer.know(&row);
                screen.know(&row);
                stalled.know(&row);
                following.spawn(boxed(row.follow(client.session.clone())));
                next += 1;
            }
            if following.is_empty() {
                return Ok(());
            }
            tokio::select! {
                Some(ended) = following.join_next() => {
                    // A task of the runtime that panics has said so, and nothing is cancelled here.
                    let ended = ended.unwrap_or_else(|error| {
                        std::panic::resume_unwind(error.into_panic())
                    })?;
                    stalled.ended(&ended);
                    screen.count(&ended);
                    screen.clear();
                    printer.take(ended).await?;
                }
                () = screen.tick() => screen.draw(),
                () = stalled.due() => if let Some(text) = stalled.ask(client).await? {
                    screen.clear();
                    output::complain(&text);
                },
            }
        }
    }

    /// The row of this place, from 0, as a task.
    fn row(&mut self, place: usize, payloads: &Payloads) -> Result<Row, TasksError> {
        let (given, template) = match &self.origin {
            Origin::Rows { given, template } => (given, template),
            Origin::Graph(graph) => {
                let (node, is_read) = (graph.node(place), graph.is_read(place));
                return self.node(place, node, is_read, payloads);
            }
        };
        let arguments = given.row(place);
        let command = template.command(&arguments, place + 1);
        let index = self.options.array.as_ref().and_then(|_| arguments.first().cloned());
        let may_be_known = self.options.resume.is_some();
        let id = if may_be_known {
            self.known_id(&command, index.as_deref())
        } else {
            // Nobody looks for it again, so it is by its place: rows lie together in the store.
            let id = row::id_of_place(&self.name, place as u64);
            self.own.push(id);
            id
        };
        let submission = self.submission(id, command.clone(), index)?;
        let (payloads, number) = (payloads.clone(), place + 1);
        let (place, is_printed) = (None, !self.options.printing.json);
        Ok(Row {
            number,
            arguments,
            command,
            submission,
            payloads,
            may_be_known,
            is_printed,
            place,
        })
    }

    /// A task of a graph. Those that it waits for were begun before: they are in order.
    fn node(
        &mut self,
        place: usize,
        node: Node,
        is_read: bool,
        payloads: &Payloads,
    ) -> Result<Row, TasksError> {
        let ids: Vec<TaskId> = node.inputs.iter().map(|at| self.nodes[*at]).collect();
        let behind = node.inputs.iter().filter_map(|at| self.coming.get(at).cloned()).collect();
        let id = row::node_id(&self.name, &node, &ids);
        let may_be_known = self.options.resume.is_some();
        if !may_be_known {
            self.own.push(id);
        }
        let submission = Submission { inputs: ids, ..self.node_submission(id, &node)? };
        let Node { name, command, .. } = node;
        let there = self.comes(place, id);
        let (payloads, arguments) = (payloads.clone(), Vec::new());
        let is_printed = !self.options.printing.json && !is_read;
        let (number, place) = (place + 1, Some(row::Place { name, behind, there }));
        Ok(Row {
            number,
            arguments,
            command,
            submission,
            payloads,
            may_be_known,
            is_printed,
            place,
        })
    }

    /// A task of a graph is about to be submitted: what it is told by that it is.
    fn comes(&mut self, place: usize, id: TaskId) -> watch::Sender<bool> {
        self.nodes.push(id);
        if self.coming.len() > 2 * WINDOW {
            self.coming.retain(|_, is_there| !*is_there.borrow());
        }
        let (there, is_there) = watch::channel(false);
        self.coming.insert(place, is_there);
        there
    }

    fn node_submission(&self, id: TaskId, node: &Node) -> Result<Submission, TasksError> {
        let read =
            node.read.iter().map(|(at, name)| Input { name: name.clone(), task: self.nodes[*at] });
        let options = self.options;
        let mut work = kinds::work(
            node.command.clone(),
            self.directory.clone(),
            Vec::new(),
            self.limits(node.timeout, node.memory),
            read.collect(),
        )?;
        work.name.clone_from(&node.name);
        Ok(Submission {
            need: node.need.clone().unwrap_or_else(|| options.need.clone()),
            filter: node.filter.clone().unwrap_or_else(|| options.filter.clone()),
            retry: Options::retry(node.retries.unwrap_or(options.retries)),
            priority: node.priority,
            copies: node.copies,
            ..Submission::new(id, self.queue_of(node.queue.as_deref()), work.to_payload())
        })
    }

    /// What a task may take: what it says itself, else what the options of the run say.
    fn limits(&self, timeout: Option<Duration>, memory: Option<u64>) -> WorkLimits {
        let options = self.options;
        let timeout = timeout.or(options.timeout);
        WorkLimits {
            time_ms: timeout.map_or(0, |time| time.as_millis().max(1) as u64),
            grace_ms: options.grace.as_millis() as u64,
            memory_bytes: memory.or(options.memory).unwrap_or(0),
        }
    }

    /// The id of a row, wherever it stands among others.
    fn known_id(&mut self, command: &[String], index: Option<&str>) -> TaskId {
        let first = row::id(&self.name, command, index, 0);
        let equal = self.equal.entry(first).or_default();
        let id = match *equal {
            0 => first,
            equal => row::id(&self.name, command, index, equal),
        };
        *equal += 1;
        id
    }

    fn submission(
        &self,
        id: TaskId,
        command: Vec<String>,
        index: Option<String>,
    ) -> Result<Submission, TasksError> {
        let environment = index.map(|index| ("TIDINGS_ARRAY_INDEX".to_owned(), index));
        let work = kinds::work(
            command,
            self.directory.clone(),
            environment.into_iter().collect(),
            self.limits(None, None),
            Vec::new(),
        )?;
        Ok(Submission {
            need: self.options.need.clone(),
            filter: self.options.filter.clone(),
            retry: Options::retry(self.options.retries),
            ..Submission::new(id, self.queue(), work.to_payload())
        })
    }

    /// The queue of the run.
    fn queue(&self) -> String {
        format!("run/{}", self.name)
    }

    /// The queue of a task that says which, or else that of the run.
    fn queue_of(&self, said: Option<&str>) -> String {
        said.map_or_else(|| self.queue(), str::to_owned)
    }

    /// All queues of the run.
    fn queues(&self) -> Vec<String> {
        match &self.origin {
            Origin::Rows { .. } => vec![self.queue()],
            Origin::Graph(graph) => {
                let mut queues = Vec::new();
                for queue in graph.queues().map(|said| self.queue_of(said)) {
                    // A task may say the queue of the run.
                    if !queues.contains(&queue) {
                        queues.push(queue);
                    }
                }
                queues
            }
        }
    }

    /// The worker of this process, unless it is to have none.
    fn begin_worker(&self, client: &Client) -> Result<Option<Working>, TasksError> {
        let slots = self.options.slots();
        if slots == 0 {
            return Ok(None);
        }
        let offer = Offer {
            queues: self.queues(),
            slots,
            resources: self.resources(),
            runtimes: BTreeMap::new(),
            drain: Duration::ZERO,
        };
        Ok(Some(own_worker::begin(client, &self.place, offer)?))
    }

    /// What its worker has at least: enough for as many tasks as are to run at a time.
    fn resources(&self) -> BTreeMap<String, u64> {
        let mut all = self.options.resources(&self.options.need);
        if let Origin::Graph(graph) = &self.origin {
            for need in graph.needs() {
                for (name, amount) in self.options.resources(need) {
                    let most = all.entry(name).or_default();
                    *most = (*most).max(amount);
                }
            }
        }
        all
    }

    /// Cancels and forgets the tasks of a run without a name.
    async fn clean(&self, client: &Client) -> Result<(), TasksError> {
        // What others wait for is not forgotten: all end before.
        for tasks in self.own.chunks(FORGOTTEN) {
            let mut cancelling = JoinSet::new();
            for &task in tasks {
                let session = client.session.clone();
                // It may have ended, or may not have been submitted yet.
                cancelling.spawn(boxed(async move {
                    drop(session.ask(Request::Cancel { task }).await);
                }));
            }
            while cancelling.join_next().await.is_some() {}
        }
        for tasks in self.own.chunks(FORGOTTEN) {
            client.ask(Request::Forget { tasks: tasks.to_vec() }).await?;
        }
        Ok(())
    }

    /// What a store has to do by itself that cannot be reached, and what is to be done by hand.
    fn left_behind(&self) -> String {
        let queues = self.queues().join(", ");
        match &self.options.resume {
            Some(_) => format!(
                "the store cannot be reached: the running tasks go back to {queues} when it can be"
            ),
            None => format!(
                "the store cannot be reached: the tasks of this run stay in {queues}; once it can \
                 be, `tidings queue purge QUEUE --all` removes all that a queue has"
            ),
        }
    }

    fn stopped(&self, signal: i32, left: Option<String>) -> TasksError {
        let after = match (left, &self.options.resume) {
            (Some(left), _) => format!(": {left}"),
            (None, Some(name)) => format!(
                ": what is done is kept; `tidings run --resume {name}` with the same command goes \
                 on"
            ),
            (None, None) => String::new(),
        };
        TasksError::Stopped { signal, after }
    }

    fn result(&self, printer: &Printer, rows: usize) -> Result<(), TasksError> {
        let failed = printer.failed();
        if failed == 0 {
            return Ok(());
        }
        let remedy = match &self.options.resume {
            Some(name) => format!("; the same command with --resume {name} tries them again"),
            None => String::new(),
        };
        Err(TasksError::Failed { failed, all: rows, remedy })
    }
}
