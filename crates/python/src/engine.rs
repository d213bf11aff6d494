//! The engine: one thread with a runtime of tokio, in which a member, a session and a worker live.
//!
//! What Python asks goes to it through a queue, what has ended comes back through another. Both are
//! bounded: whoever submits faster than the store takes waits, and outcomes wait for Python.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use tidings_tasks::blobs::Blobs;
use tidings_tasks::holds::Holds;
use tidings_tasks::member::{Member, Network};
use tidings_tasks::payloads::Payloads;
use tidings_tasks::session::Session;
use tidings_tasks::store::address::Address;
use tidings_tasks::usual;
use tidings_tasks::worker::{Running, SPARE_AFTER, Settings, Worker};
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::MAX_TASKS;
use tidings_tasks_core::reign::Candidate;
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

use crate::options::RUNTIME;
use crate::outcome::Outcome;
use crate::place::{self, Setup};
use crate::requests::{Client, Command, Pending, lock};

/// Commands that may wait.
const QUEUE: usize = 4_096;

/// Groups of outcomes that may wait.
const GROUPS: usize = 16;

/// What sessions are opened with.
#[derive(Clone)]
pub(crate) struct Base {
    pub(crate) runtime: Handle,
    pub(crate) member: Arc<Member>,
    pub(crate) payloads: Payloads,
    /// The name of the host.
    pub(crate) host: String,
}

/// What Python speaks to.
pub(crate) struct Engine {
    base: Base,
    /// None once it has ended.
    commands: Mutex<Option<mpsc::Sender<Command>>>,
    outcomes: Mutex<mpsc::Receiver<Vec<Outcome>>>,
    waking: mpsc::Sender<Vec<Outcome>>,
    running: Running,
    holds: Holds,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Engine {
    /// Begins, and returns once somebody serves the store; or says why nobody can.
    pub(crate) fn begin(setup: Setup) -> Result<Self, String> {
        let address = setup.store.parse::<Address>().map_err(|error| error.to_string())?;
        let network = place::network(&setup, &address)?;
        let (commands, queue) = mpsc::channel(QUEUE);
        let (sender, outcomes) = mpsc::channel(GROUPS);
        let (begun, has_begun) = oneshot::channel();
        let waking = sender.clone();
        let holds = Holds::default();
        let said = (queue, sender, holds.clone());
        let thread = std::thread::Builder::new()
            .name("tidings-tasks".into())
            .spawn(move || run(&setup, (network, address), begun, said))
            .map_err(|error| format!("the executor's thread cannot be started: {error}"))?;
        let ended = || "the executor's thread has ended: this is a defect of Tidings".to_owned();
        let (base, running) = has_begun.blocking_recv().unwrap_or_else(|_| Err(ended()))?;
        Ok(Self {
            base,
            commands: Mutex::new(Some(commands)),
            outcomes: Mutex::new(outcomes),
            waking,
            running,
            holds,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// What sessions are opened with.
    pub(crate) fn base(&self) -> &Base {
        &self.base
    }

    /// The tasks that were submitted.
    pub(crate) fn holds(&self) -> &Holds {
        &self.holds
    }

    /// Asks without waiting.
    ///
    /// # Errors
    /// The queue is full, or it has ended.
    pub(crate) fn try_ask(&self, command: Command) -> Result<(), TrySendError<Command>> {
        match &*lock(&self.commands) {
            Some(commands) => commands.try_send(command),
            None => Err(TrySendError::Closed(command)),
        }
    }

    /// Asks, and waits while the queue is full; `false` once it has ended.
    pub(crate) fn ask(&self, command: Command) -> bool {
        let commands = lock(&self.commands).clone();
        commands.is_some_and(|commands| commands.blocking_send(command).is_ok())
    }

    /// Whether a worker of this process does it now.
    pub(crate) fn is_running(&self, task: TaskId) -> bool {
        self.running.contains(task)
    }

    /// What has ended, as soon as something has.
    pub(crate) fn take(&self) -> Vec<Outcome> {
        let mut outcomes = lock(&self.outcomes);
        let mut taken = outcomes.blocking_recv().unwrap_or_default();
        while let Ok(mut more) = outcomes.try_recv() {
            taken.append(&mut more);
        }
        taken
    }

    /// Lets [`Engine::take`] return.
    pub(crate) fn wake(&self) {
        // A full queue wakes by itself.
        let _ = self.waking.try_send(Vec::new());
    }

    /// Ends, in good order.
    pub(crate) fn close(&self) {
        drop(lock(&self.commands).take());
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            // A panic was printed when it happened.
            let _ = thread.join();
        }
        self.wake();
    }
}

/// What sessions are opened with, and what the worker does.
type Begun = oneshot::Sender<Result<(Base, Running), String>>;

/// What Python asks, what it is told, and what it holds.
type Said = (mpsc::Receiver<Command>, mpsc::Sender<Vec<Outcome>>, Holds);

/// The thread.
fn run(setup: &Setup, place: (Network, Address), begun: Begun, said: Said) {
    let pending = Pending::new(setup.workers);
    let napping = pending.clone();
    let mut building = tokio::runtime::Builder::new_current_thread();
    match building.enable_all().on_thread_park(move || napping.nap()).build() {
        Ok(runtime) => runtime.block_on(serve(setup, place, begun, said, pending)),
        // Whoever began waits for this.
        Err(error) => drop(begun.send(Err(format!("no runtime: {error}")))),
    }
}

async fn serve(
    setup: &Setup,
    (network, address): (Network, Address),
    begun: Begun,
    (mut commands, outcomes, holds): Said,
    pending: Pending,
) {
    let folder = place::folder(setup, &address);
    let (name, host) = (setup.name.clone(), setup.host.clone());
    let candidate = Candidate { name, host, address: String::new(), session: None };
    let is_own = address == Address::Memory;
    let options = match place::options(setup, folder.clone()) {
        Ok(options) => options,
        Err(error) => return drop(begun.send(Err(error))),
    };
    let member = Member::join_over(network, address, &setup.cluster, candidate, options);
    let member = Arc::new(member);
    let payloads = match &folder {
        Some(folder) if is_own => Payloads::in_folder(folder),
        Some(folder) => Payloads::of(&member, folder),
        None => Payloads::of(&member, &usual::cache()),
    };
    if let Err(error) = place::link(&member).await {
        // Who began waits for this, and gives it to Python.
        let _ = begun.send(Err(error));
        return;
    }
    let (session, _notices) = Session::open(member.clone(), &setup.name, &setup.host);
    let mut worker = (setup.workers > 0).then(|| work(&member, setup, folder.as_deref()));
    let running = worker.as_ref().map(Worker::running).unwrap_or_default();
    if worker.is_some() {
        pending.watch(running.clone());
    }
    let (runtime, host) = (Handle::current(), setup.host.clone());
    let base = Base { runtime, member: member.clone(), payloads: payloads.clone(), host };
    if begun.send(Ok((base, running))).is_err() {
        return;
    }
    let client = Client::new(session, payloads, pending, outcomes, holds);
    let mut batch = Vec::new();
    while commands.recv_many(&mut batch, MAX_TASKS).await > 0 {
        if let Some(told) = client.take(&mut batch).await {
            if let Some(worker) = worker.take() {
                worker.stop().await;
            }
            // Who has asked may have given up.
            let _ = told.send(());
        }
    }
    if let Some(worker) = worker {
        worker.stop().await;
    }
}

/// Begins a worker.
fn work(member: &Arc<Member>, setup: &Setup, folder: Option<&Path>) -> Worker {
    let blobs = folder.and_then(|folder| Blobs::open(folder).ok()).map(Arc::new);
    let is_on_nodes = folder.is_none() || member.is_away();
    let depot = || blobs.clone().or_else(|| Blobs::open(&usual::cache()).ok().map(Arc::new));
    let settings = Settings {
        name: format!("{}-worker", setup.name),
        host: setup.host.clone(),
        queues: vec![setup.queue.clone()],
        slots: setup.workers,
        resources: Vec::new(),
        runtimes: BTreeMap::from([(RUNTIME.to_owned(), setup.command.clone())]),
        scratch: setup.scratch.clone(),
        // Without blobs only long results are refused, and the end of a log is all there is.
        depot: is_on_nodes.then(depot).flatten(),
        blobs,
        drain: Duration::ZERO,
        spare_after: Some(SPARE_AFTER),
    };
    // Nobody takes its events: the futures have how a task ends, and `Running` what runs.
    Worker::begin(member.clone(), settings).0
}
