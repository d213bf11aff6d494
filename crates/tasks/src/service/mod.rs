//! The service of a part: a coordinator with a clock, a store and connections.
//!
//! One task of the runtime owns the machine ([`Coordinator`]) and does nothing but pass things in
//! and out: requests of connections, the store's answers, the time. Commits and reads run beside
//! it, so requests that come meanwhile gather for the next commit. A store in memory is asked in
//! between: its answer takes less than to have another task ask.
//!
//! Queues are bounded: a peer that sends waits while the service is behind, and a peer that does
//! not read what it is sent is taken as gone.
//!
//! The role is checked by each commit. So a service that was replaced notices it when it next has
//! something to commit, not before; nothing that it says until then changes a task.

mod clock;
mod connection;
mod error;
mod inbox;
mod input;
mod options;
mod services;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use tidings_primitives::Instant;
use tidings_tasks_core::coordinator::{Coordinator, Counters, Read, Reply, Settings, Ticket};
use tidings_tasks_core::id::{Epoch, Part};
use tidings_tasks_core::keys;
use tidings_tasks_core::message::{Message, Peer, Request};
use tidings_tasks_core::record::{Reign, decode};
use tidings_tasks_core::reign::{self, Candidate};
use tidings_tasks_core::transaction::{
    CommitError, Durability, Expect, Record, Revision, Transaction,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use crate::changes::Watches;
use crate::parts;
use crate::placement::{self, Look, Lookout};
use crate::spawn::boxed;
use crate::store::{Lost, Store};

use clock::{Clock, sleep_until};
pub use connection::{Connection, Receiver, Sender};
pub use error::ServiceError;
use inbox::{Inbox, News};
use input::Input;
pub use options::Options;
pub use services::Services;

/// Requests of all connections that may wait for the service.
const INPUTS: usize = 4_096;

/// Messages that may wait for one connection.
const OUTPUTS: usize = 8_192;

/// Inputs that are passed in before anything is taken out.
const BATCH: usize = 1_024;

/// A running coordinator. It ends when this and all its connections are dropped.
#[derive(Clone, Debug)]
pub struct Service {
    role: Revision,
    inputs: mpsc::Sender<Input>,
    last_peer: Arc<AtomicU64>,
    /// How many parts a process has that asks for this one.
    asked: watch::Receiver<Option<u32>>,
}

impl Service {
    /// Takes the role of a part and begins to serve it; `has_ended` says that the process is known
    /// to have ended which had it before ([`Service::take`]). The second result ends with the
    /// service. Needs a runtime of tokio with time and I/O.
    ///
    /// # Errors
    /// The role was not taken.
    pub async fn begin(
        store: Arc<dyn Store>,
        part: Part,
        candidate: &Candidate,
        options: Options,
        has_ended: bool,
    ) -> Result<(Self, impl Future<Output = ServiceError> + Send + use<>), ServiceError> {
        let seen = store.get(&[keys::role(part)]).await?.records.pop().flatten();
        let reign = seen.as_ref().filter(|_| has_ended).map(decode::<Reign>).transpose()?;
        let ended = reign.as_ref().map(|reign| &*reign.coordinator);
        let ended = ended.filter(|name| !name.is_empty() && *name != candidate.name);
        Self::take(store, part, (seen.as_ref(), ended), candidate, options).await
    }

    /// As [`Service::begin`], unless the role has changed since its record was read: `seen`, none
    /// if there was none. A process of the name `ended` is known to have ended: what it had as a
    /// worker is lost at once, and else when its session would have ended.
    ///
    /// # Errors
    /// The role was not taken.
    pub async fn take(
        store: Arc<dyn Store>,
        part: Part,
        (seen, ended): (Option<&Record>, Option<&str>),
        candidate: &Candidate,
        options: Options,
    ) -> Result<(Self, impl Future<Output = ServiceError> + Send + use<>), ServiceError> {
        let (parts, stated) = parts::of(&*store).await?;
        let (mut transaction, reign) = reign::take(part, seen, candidate)?;
        let expect = stated.map_or(Expect::Absent, |stated| Expect::At(stated.revision));
        transaction.expect(keys::parts(), expect);
        let role = store.commit(transaction).await.map_err(ServiceError::Role)?;
        let clock = Clock::new();
        let settings = settings(&*store, (part, parts), (reign.epoch, role), &options, &clock);
        let (inputs, waiting) = mpsc::channel(INPUTS);
        let (asks, asked) = watch::channel(None);
        let is_at_once = settings.limits.durability == Durability::Volatile;
        let mut machine = Coordinator::new(settings, clock.now());
        if let Some(process) = ended {
            machine.handle_process_ended(clock.now(), process);
        }
        let driver = Driver {
            is_at_once,
            machine,
            inbox: (parts > 1).then(|| Inbox::after(store.clone(), part, role)),
            store,
            clock,
            connections: BTreeMap::new(),
            watches: Watches::default(),
            work: JoinSet::new(),
            lookout: options.board.map(|path| Lookout::new(path, &candidate.host)),
            settling: Vec::new(),
            asks,
        };
        let service = Self { role, inputs, last_peer: Arc::default(), asked };
        Ok((service, driver.run(waiting)))
    }

    /// The commit by which it took the role.
    pub fn role(&self) -> Revision {
        self.role
    }

    /// A new connection.
    ///
    /// # Errors
    /// The service has ended.
    pub async fn connect(&self) -> Result<Connection, ServiceError> {
        let peer = Peer(self.last_peer.fetch_add(1, Ordering::Relaxed) + 1);
        let (sender, messages) = mpsc::channel(OUTPUTS);
        self.send(Input::Open(peer, sender)).await?;
        let sender = Sender { peer, inputs: self.inputs.clone() };
        Ok(Connection { sender, receiver: Receiver(messages) })
    }

    /// Reports that a host is gone, as far as the detector of failures can tell.
    ///
    /// # Errors
    /// The service has ended.
    pub async fn host_lost(&self, host: &str) -> Result<(), ServiceError> {
        self.send(Input::HostLost(host.to_owned())).await
    }

    /// What the coordinator has done so far, and how many tasks have not ended.
    ///
    /// # Errors
    /// The service has ended.
    pub async fn counters(&self) -> Result<(Counters, usize), ServiceError> {
        let (sender, answer) = oneshot::channel();
        self.send(Input::Count(sender)).await?;
        answer.await.map_err(|_| ServiceError::Ended)
    }

    /// Returns when all that was asked of it is committed, or the service has ended.
    pub async fn settled(&self) {
        let (sender, answer) = oneshot::channel();
        if self.send(Input::Settle(sender)).await.is_ok() {
            let _ = answer.await;
        }
    }

    /// How many parts those have that ask for this one, as they do.
    pub(crate) fn asked(&self) -> watch::Receiver<Option<u32>> {
        self.asked.clone()
    }

    async fn send(&self, input: Input) -> Result<(), ServiceError> {
        self.inputs.send(input).await.map_err(|_| ServiceError::Ended)
    }
}

fn settings(
    store: &dyn Store,
    (part, parts): (Part, u16),
    (epoch, role): (Epoch, Revision),
    options: &Options,
    clock: &Clock,
) -> Settings {
    Settings {
        part,
        parts,
        epoch,
        role,
        limits: store.limits(),
        session_ttl: options.session_ttl,
        detector: options.detector,
        reconnect: options.reconnect,
        queue_capacity: options.queue_capacity,
        pipeline: options.pipeline,
        cached_bytes: options.cached_bytes,
        epoch_ms: clock.epoch_ms,
    }
}

/// What the store has answered.
enum Answered {
    Commit(Ticket, Result<Revision, CommitError>),
    Read(Ticket, Reply),
    Look(Look),
}

/// The machine and what it is connected with.
struct Driver {
    machine: Coordinator,
    /// What other parts write, if there are any.
    inbox: Option<Inbox>,
    store: Arc<dyn Store>,
    /// Whether the store answers at once, most likely.
    is_at_once: bool,
    clock: Clock,
    connections: BTreeMap<Peer, mpsc::Sender<Message>>,
    watches: Watches,
    work: JoinSet<Answered>,
    lookout: Option<Lookout>,
    /// Who waits until all is committed.
    settling: Vec<oneshot::Sender<()>>,
    asks: watch::Sender<Option<u32>>,
}

impl Driver {
    async fn run(mut self, mut inputs: mpsc::Receiver<Input>) -> ServiceError {
        loop {
            self.take_out();
            if self.machine.is_deposed() {
                return ServiceError::Deposed;
            }
            let until = self.machine.poll_timeout().map(|at| self.clock.moment(at));
            tokio::select! {
                biased;
                Some(answered) = self.work.join_next(), if !self.work.is_empty() => {
                    match answered {
                        Ok(answered) => self.answered(answered),
                        // Nothing here is cancelled, so it is the engine that has panicked. What it
                        // was about to do is unknown: whoever takes the role next finds out.
                        Err(error) => return ServiceError::Lost(Lost(error.to_string())),
                    }
                }
                input = inputs.recv() => match input {
                    None => return ServiceError::Ended,
                    Some(input) => {
                        self.pass_in(input);
                        self.pass_in_waiting(&mut inputs);
                    }
                },
                news = inbox::next(&mut self.inbox) => self.hear(news),
                () = sleep_until(until) => self.machine.handle_timeout(self.clock.now()),
                () = placement::due(self.lookout.as_ref()) => self.look(),
            }
        }
    }

    fn hear(&mut self, news: News) {
        let now = self.clock.now();
        match news {
            News::Changes(events) => self.machine.handle_inbox(now, &events),
            News::Missed => self.machine.handle_inbox_lost(now),
        }
    }

    /// Starts what the machine wants of the store, and delivers what it says.
    fn take_out(&mut self) {
        if let Some(lookout) = &mut self.lookout {
            lookout.expect(self.machine.sessions(), self.machine.filters_made());
        }
        loop {
            if let Some((ticket, read)) = self.machine.poll_read() {
                let store = self.store.clone();
                self.begin(async move { Answered::Read(ticket, fetch(&*store, read).await) });
            } else if let Some((ticket, transaction)) = self.machine.poll_commit() {
                self.begin(commit(self.store.clone(), ticket, transaction));
            } else {
                break;
            }
        }
        while let Some((peer, message)) = self.machine.poll_message() {
            let Some(connection) = self.connections.get(&peer) else { continue };
            if connection.try_send(message).is_err() {
                self.gone(self.clock.now(), peer);
            }
        }
        if self.machine.is_settled() {
            // Dropped, they tell those who wait.
            self.settling.clear();
        }
    }

    /// Asks something of the store. A store in memory answers at once, without a task of its own.
    fn begin(&mut self, work: impl Future<Output = Answered> + Send + 'static) {
        let mut work = boxed(work);
        if self.is_at_once {
            let asked = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(answered) = asked {
                return self.answered(answered);
            }
        }
        // One that was asked already is asked again by its task, which then is woken.
        self.work.spawn(work);
    }

    fn answered(&mut self, answered: Answered) {
        let now = self.clock.now();
        match answered {
            Answered::Commit(ticket, answer) => self.machine.handle_commit(now, ticket, answer),
            Answered::Read(ticket, reply) => self.machine.handle_read(now, ticket, reply),
            Answered::Look(look) => self.seen(now, look),
        }
    }

    /// Looks at the board, beside what else there is to do.
    fn look(&mut self) {
        let Some(lookout) = &mut self.lookout else { return };
        if self.machine.sessions() == 0 {
            return lookout.rest();
        }
        let path = lookout.begin(self.machine.filters_made());
        let filters = self.machine.filters().into_iter().map(str::to_owned).collect();
        self.work.spawn_blocking(move || Answered::Look(placement::look(&path, &filters)));
    }

    fn seen(&mut self, now: Instant, look: Look) {
        let Some(lookout) = &mut self.lookout else { return };
        let news = lookout.take(look);
        for host in &news.lost {
            self.machine.handle_host_lost(now, host);
        }
        if news.is_other {
            self.machine.handle_hosts(now, news.hosts);
        }
    }

    fn pass_in_waiting(&mut self, inputs: &mut mpsc::Receiver<Input>) {
        for _ in 1..BATCH {
            let Ok(input) = inputs.try_recv() else { break };
            self.pass_in(input);
        }
    }

    fn pass_in(&mut self, input: Input) {
        let now = self.clock.now();
        match input {
            Input::Open(peer, messages) => drop(self.connections.insert(peer, messages)),
            Input::Request(peer, call, Request::Changes { prefix, after }) => {
                let Some(connection) = self.connections.get(&peer) else { return };
                let asker = (peer, call, connection.clone());
                self.watches.begin(asker, prefix.into(), after, &self.store);
            }
            Input::Request(peer, call, request) => {
                if let Request::Cede { has } = request {
                    self.asks.send_replace(Some(has));
                }
                self.machine.handle_request(now, peer, call, request);
            }
            Input::Close(peer) => self.gone(now, peer),
            Input::HostLost(host) => self.machine.handle_host_lost(now, &host),
            Input::Settle(waits) => self.settling.push(waits),
            Input::Count(answer) => {
                // Whoever asked may have gone.
                let _ = answer.send((*self.machine.counters(), self.machine.live()));
            }
        }
    }

    /// A connection has ended.
    fn gone(&mut self, now: Instant, peer: Peer) {
        self.connections.remove(&peer);
        self.watches.end(peer);
        self.machine.handle_gone(now, peer);
    }
}

async fn commit(store: Arc<dyn Store>, ticket: Ticket, transaction: Transaction) -> Answered {
    Answered::Commit(ticket, store.commit(transaction).await)
}

async fn fetch(store: &dyn Store, read: Read) -> Reply {
    match read {
        Read::Get(keys) => store.get(&keys).await.map_or(Reply::Lost, |snapshot| {
            Reply::Records(snapshot.records.into_iter().flatten().collect())
        }),
        Read::Scan { from, end, limit } => {
            store.scan(&from, end.as_ref(), limit).await.map_or(Reply::Lost, Reply::Page)
        }
    }
}
