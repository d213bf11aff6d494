//! Flows: a computation that is declared by what its tasks read, move on and change.
//!
//! A *dependency* is a kind of data, each *instance* of it under a key of typed fields. A declared
//! task says for its arguments which instances it reads, which it takes and moves on under another
//! key (as in a systolic array), and which it changes (as in a reduction). The graph follows from
//! the order of submissions: a task has of each instance what the last one before it has made.
//!
//! What is changed is a new version, and whoever was to read the one before has that one, however
//! late it runs and however often. Tasks are items of a [queue](crate::queue), which programs in
//! Rust and C claim: their inputs are the tasks that have made what they are given. So what is
//! there when a process dies is there for those that go on, and nothing waits in a task.
//!
//! Two numbers that pass four places, each of which adds to a sum what passes it:
//! ```
//! use tidings_tasks::client::{Client, Place};
//! use tidings_tasks::flow::{Flow, FlowError, Given};
//! use tidings_tasks::queue::{Claims, Queue};
//! use tidings_tasks::store::address::Address;
//! use tidings_tasks_core::tuple::Type;
//!
//! /// What does the tasks, here or in any other process.
//! async fn work(client: &Client) -> Result<(), FlowError> {
//!     let mut claims = Claims::begin(client, "sums", 2).await?;
//!     loop {
//!         let given = Given::of(claims.next().await?).await?;
//!         let [passing, total] = given.values() else { return given.fail("no step").await };
//!         let sum = total[0] + passing[0];
//!         given.complete(vec![vec![sum]]).await?;
//!     }
//! }
//!
//! async fn declare(client: &Client) -> Result<u8, FlowError> {
//!     let mut flow = Flow::of(Queue::of(client, "sums"), "of two numbers");
//!     let passing = flow.dependency_declare("passing", &[Type::Int, Type::Int])?;
//!     let total = flow.dependency_declare("total", &[Type::Int])?;
//!     let mut step = flow.task_declare("step", &[Type::Int, Type::Int])?;
//!     step.append_migrate_dependency(
//!         &passing,
//!         |(row, place): (i64, i64)| (row, place),
//!         |(row, place): (i64, i64)| (row, place + 1),
//!     )?;
//!     step.append_inout_dependency(&total, |(_, place): (i64, i64)| (place,))?;
//!     for row in 0..2 {
//!         flow.put(&passing, (row, 0), vec![row as u8 + 3])?;
//!     }
//!     for place in 0..4 {
//!         flow.put(&total, (place,), vec![0])?;
//!         for row in 0..2 {
//!             flow.submit(&step, (row, place)).await?;
//!         }
//!     }
//!     let sum = flow.get(&total, (3,)).await?[0];
//!     flow.forget().await?;
//!     Ok(sum)
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let client = Client::open(&Place::of(Address::Memory, None)?, "sums")?;
//! tokio::select! {
//!     sum = declare(&client) => assert_eq!(sum?, 7),
//!     worked = work(&client) => worked?,
//! }
//! # client.member.leave().await;
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `graph` | what submissions come to, without a store |
//! | `instances`, `declared`, `step` | what there is; what is declared; what one submission does |
//! | `job`, `version` | what a task's payload and its result say |
//! | `given`, `reading` | what a task is given where it is done; what a version is once it is made |
//! | `fields`, `key` | keys and arguments as values of Rust, checked and compared |
//!
//! Invariant: an error leaves all instances as they were, and number `n` of a flow is the same task
//! in each run of its program, so that what is submitted again is there once.
//!
//! Source: FOX-tuple (FOX final report, §3.3: `fox_dependency_declare`, `fox_tuple_task_declare`,
//! `fox_append_migrate_dependency`); docs/decisions/0041-flows-over-futures.md and
//! docs/decisions/0042-parts-of-results.md.

mod declared;
mod error;
mod fields;
mod given;
mod graph;
mod instances;
mod job;
mod key;
mod reading;
mod step;
mod version;

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::MAX_TASKS;
use tidings_tasks_core::tuple::Type;

use crate::inputs::InputError;
use crate::queue::Queue;

use graph::Graph;

pub use declared::Declared;
pub use error::FlowError;
pub use fields::{FromField, FromFields, IntoFields};
pub use given::Given;
pub use instances::Dependency;
pub use job::{Body, Instance, Job};
pub use reading::read;
pub use version::{Value, Version, result};

/// Declared dependencies and tasks, and the instances that there are. One program submits: the
/// order of its submissions is the order of changes.
#[derive(Debug)]
pub struct Flow {
    queue: Queue,
    graph: Graph,
}

impl Flow {
    /// A flow whose tasks lie in a queue. Its name stands for what it declares and submits: a
    /// program that is started again goes on with what it did under it, and another computation
    /// needs another one.
    pub fn of(queue: Queue, name: &str) -> Self {
        let graph = Graph::of(queue.name(), name);
        Self { queue, graph }
    }

    /// Declares a kind of data, and the types of the fields of its keys, at most 16.
    ///
    /// # Errors
    /// It is declared already, or cannot be.
    pub fn dependency_declare(
        &mut self,
        name: &str,
        fields: &[Type],
    ) -> Result<Dependency, FlowError> {
        self.graph.instances.declare(name, fields)
    }

    /// Declares a task: a function, by the name by which those who claim know it, and the types of
    /// its arguments, at most 16.
    ///
    /// # Errors
    /// The name is none, or the arguments are too many.
    pub fn task_declare(&self, function: &str, arguments: &[Type]) -> Result<Declared, FlowError> {
        self.graph.task_declare(function, arguments)
    }

    /// Lets an instance be there: data, which goes with each task that reads it, or what a task of
    /// the store makes, by its id.
    ///
    /// # Errors
    /// It is there already, or the key has fields of other types.
    pub fn put(
        &mut self,
        dependency: &Dependency,
        key: impl IntoFields,
        version: impl Into<Version>,
    ) -> Result<(), FlowError> {
        self.graph.instances.put(dependency, &key.into_fields(), version.into())
    }

    /// What an instance is now, after all that was submitted.
    ///
    /// # Errors
    /// There is none, or the key has fields of other types.
    pub fn version(
        &self,
        dependency: &Dependency,
        key: impl IntoFields,
    ) -> Result<&Version, FlowError> {
        self.graph.version(dependency, &key.into_fields())
    }

    /// Submits a task for these arguments. It is durable when the next [`Flow::send`] has returned;
    /// each thousandth submission sends what waits by itself.
    ///
    /// # Errors
    /// Arguments, keys or instances are not as they have to be, or what waits could not be sent:
    /// this task was not submitted. When the future is dropped, neither.
    pub async fn submit(
        &mut self,
        task: &Declared,
        arguments: impl IntoFields,
    ) -> Result<TaskId, FlowError> {
        let arguments = arguments.into_fields();
        if self.graph.is_full() {
            self.send().await?;
        }
        self.graph.add(task, arguments)
    }

    /// Sends what was submitted: when this returns without an error that is durable.
    ///
    /// # Errors
    /// The queue cannot be reached, or has refused. Whether it was sent may be unknown; it is sent
    /// again with the next, and what is there already is there once.
    pub async fn send(&mut self) -> Result<(), FlowError> {
        if !self.graph.waiting().is_empty() {
            self.queue.submit(self.graph.waiting().to_vec()).await?;
            self.graph.sent();
        }
        Ok(())
    }

    /// Sends what was submitted, and reads an instance when all that change it are done.
    ///
    /// # Errors
    /// There is none, a task that makes it has failed or was cancelled, or it cannot be had.
    pub async fn get(
        &mut self,
        dependency: &Dependency,
        key: impl IntoFields,
    ) -> Result<Value, FlowError> {
        let key = key.into_fields();
        let version = self.graph.version(dependency, &key)?.clone();
        self.send().await?;
        self.read(&version, || dependency.shown(&key)).await
    }

    /// Sends what was submitted, and waits for what a task returns that changes nothing.
    ///
    /// # Errors
    /// It has failed or was cancelled, or its result cannot be had.
    pub async fn result(&mut self, task: TaskId) -> Result<Value, FlowError> {
        self.send().await?;
        self.read(&task.into(), || format!("the result of task {task}")).await
    }

    /// Reads a version; of a task that is not done the queue says why.
    async fn read(
        &self,
        version: &Version,
        shown: impl Fn() -> String,
    ) -> Result<Value, FlowError> {
        let (session, payloads) = self.queue.reach();
        match (reading::read(session, payloads, version, shown).await, version.task()) {
            (Err(FlowError::Input { source: InputError::NotDone, instance }), Some(task)) => {
                match self.queue.result(task).await {
                    Err(error) => Err(error.into()),
                    // It is tried again, and was done now.
                    Ok(_) => Err(FlowError::Input { source: InputError::NotDone, instance }),
                }
            }
            (read, _) => read,
        }
    }

    /// Sends what was submitted, and removes what the store has of tasks that have ended. After
    /// that a flow of this name does all of them again.
    ///
    /// # Errors
    /// The queue cannot be reached, or has refused: some are there still.
    pub async fn forget(mut self) -> Result<(), FlowError> {
        self.send().await?;
        let mut tasks = self.graph.tasks().peekable();
        while tasks.peek().is_some() {
            self.queue.forget(tasks.by_ref().take(MAX_TASKS).collect()).await?;
        }
        Ok(())
    }
}
