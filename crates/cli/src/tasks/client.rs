//! A command's connection with the store of tasks.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use tidings_tasks::client;
use tidings_tasks::member::Member;
use tidings_tasks::net::endpoint::Endpoint;
use tidings_tasks::payloads::Payloads;
use tidings_tasks::session::{Notice, Session};
use tidings_tasks::store::address::Address;
use tidings_tasks::store::medium;
use tidings_tasks::usual;
use tidings_tasks_core::detector::Detector;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Request, Submission};
use tidings_tasks_core::record::{Finished, Outcome, Task};
use tidings_tasks_core::view::{Overview, Shown};
use tokio::sync::mpsc;

pub(super) use tidings_tasks::client::Place;

use super::failure::TasksError;
use crate::output::{self, Agent};

/// The wait after which the trouble with the store is told.
const PATIENCE: Duration = Duration::from_secs(1);

/// The time that a coordinator has to end a session in good order.
const FAREWELL: Duration = Duration::from_secs(2);

/// Which store.
#[derive(Debug, Args)]
pub struct Store {
    /// The store of the tasks: file:PATH, tcp://HOST:PORT where a process of another host listens,
    /// etcd://HOST:PORT,.../PREFIX for a whole cluster, block:NAME@STORE in the memory of those who
    /// use it and find each other in another store, or memory: for one that ends with the command
    /// [default: $TIDINGS_STORE, else a file in this user's state directory]
    #[arg(long = "store", value_name = "STORE", global = true, display_order = 90)]
    address: Option<Address>,
    /// The cluster's key file: for tcp://, for etcd:// on other hosts, and for --listen beyond
    /// loopback [default: $TIDINGS_KEYS]
    #[arg(long, value_name = "FILE", global = true, display_order = 91)]
    keys: Option<PathBuf>,
    /// Let processes of other hosts take part here, while this one serves the store [default with
    /// etcd://: any port, at the address by which this host reaches the etcd]
    #[arg(long, value_name = "HOST:PORT", global = true, display_order = 92)]
    listen: Option<Endpoint>,
    /// A folder that all hosts share, for what is longer than a record of a store in an etcd or in
    /// memory
    #[arg(long, value_name = "DIRECTORY", global = true, display_order = 93)]
    blobs: Option<PathBuf>,
    /// How it is decided, while this process serves the store, that a silent process is gone:
    /// session, after 3 s; or phi, phi:THRESHOLD or phi:THRESHOLD:FLOOR_MS, by the times between
    /// its own signs of life, of which there are four times as many
    #[arg(
        long,
        value_name = "DETECTOR",
        global = true,
        default_value_t = Detector::Session,
        display_order = 94
    )]
    detector: Detector,
}

/// A process that takes part in a store.
pub(super) struct Client {
    /// It serves the store while nobody else does.
    pub(super) member: Arc<Member>,
    pub(super) session: Session,
    /// Payloads and results that are too long for a record.
    pub(super) payloads: Payloads,
    /// What the session is told: nothing, unless it takes tasks.
    pub(super) notices: mpsc::Receiver<Notice>,
    /// The name of this host.
    pub(super) host: String,
    /// The name of this process's life.
    pub(super) name: String,
}

impl Store {
    /// The store that is meant.
    pub(super) fn place(&self, agent: &Agent) -> Result<Place, TasksError> {
        let address = match &self.address {
            Some(address) => address.clone(),
            None => usual::store()?,
        };
        let blobs = self.blobs_of(&address)?;
        let place = Place::of(address, self.keys.clone().or_else(usual::keys));
        let place = place.map_err(|error| TasksError::Usage(error.to_string()))?;
        let blobs = blobs.or(place.blobs);
        let (listen, detector) = (self.listen.clone(), self.detector);
        Ok(Place { listen, blobs, board: agent.board(), detector, ..place })
    }

    /// The folder that is named.
    fn blobs_of(&self, address: &Address) -> Result<Option<PathBuf>, TasksError> {
        match (&self.blobs, address) {
            (None, _) => Ok(None),
            (Some(folder), address) if address.is_shared() => {
                let absolute = std::path::absolute(folder);
                absolute.map(Some).map_err(|source| TasksError::System { what: "--blobs", source })
            }
            (Some(_), _) => {
                let text = "--blobs is for stores in an etcd or in memory: file:PATH has a folder of its own";
                Err(TasksError::Usage(text.to_owned()))
            }
        }
    }
}

/// Says why the store cannot be reached, as long as this is waited for. What passes soon is not
/// worth a line; who can reach it is not woken.
pub(super) async fn tell_troubles(member: &Member) -> Infallible {
    let mut told: Option<String> = None;
    loop {
        member.until_trouble_is_not(told.as_deref()).await;
        tokio::time::sleep(PATIENCE).await;
        let trouble = member.trouble().map(|error| error.to_string());
        if told == trouble {
            continue;
        }
        if let Some(text) = &trouble {
            output::complain(&format!("{text}; trying again"));
        }
        told = trouble;
    }
}

impl Client {
    /// Takes part in the store as a `role`, such as `task`, for a moment: in an etcd it serves
    /// others only if nobody else does.
    pub(super) fn open(place: &Place, role: &str) -> Result<Self, TasksError> {
        Self::begun(client::Client::visit(place, role))
    }

    /// Takes part in the store as a `role`, such as `worker`, for long: it may serve others.
    pub(super) fn stay(place: &Place, role: &str) -> Result<Self, TasksError> {
        if let Some(warning) = medium::warning(&place.address) {
            output::complain(warning);
        }
        Self::begun(client::Client::open(place, role))
    }

    fn begun(opened: io::Result<client::Client>) -> Result<Self, TasksError> {
        let client::Client { member, session, payloads, notices, host, name } =
            opened.map_err(|source| TasksError::System { what: "a name", source })?;
        Ok(Self { member, session, payloads, notices, host, name })
    }

    /// What the coordinator answers. A refusal is an error. Who waits is told why, if the store
    /// cannot be reached.
    pub(super) async fn ask(&self, request: Request) -> Result<Answer, TasksError> {
        tokio::select! {
            answer = ask(&self.session, request) => answer,
            never = self.tell_troubles() => match never {},
        }
    }

    /// Submits a task, whatever the length of its payload.
    pub(super) async fn submit(&self, task: Submission) -> Result<(), TasksError> {
        let answer = tokio::select! {
            answer = self.payloads.submit(&self.session, vec![task], &[]) => answer?,
            never = self.tell_troubles() => match never {},
        };
        match answer {
            Answer::Refused(refusal) => Err(refusal.into()),
            _ => Ok(()),
        }
    }

    /// A task with its payload and result instead of what stands in for them. What cannot be had
    /// is told, and left out.
    pub(super) async fn whole(&self, id: TaskId, shown: Shown) -> Shown {
        match shown {
            Shown::Live(task) => Shown::Live(self.with_payload(task).await),
            Shown::Finished(mut finished) => {
                if finished.kept.is_some() {
                    let fetched =
                        self.payloads.fetched(&self.session, id, finished.clone(), false).await;
                    finished = fetched.unwrap_or_else(|error| {
                        output::complain(&error.to_string());
                        Finished { outcome: Outcome::Done(Vec::new()), ..finished }
                    });
                } else if let Outcome::Done(result) = finished.outcome {
                    finished.outcome = Outcome::Done(self.bytes(result).await);
                }
                finished.task = self.with_payload(finished.task).await;
                Shown::Finished(finished)
            }
        }
    }

    async fn with_payload(&self, task: Task) -> Task {
        let payload = self.bytes(task.payload).await;
        Task { payload, ..task }
    }

    async fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.payloads.whole(bytes).await.unwrap_or_else(|error| {
            output::complain(&error.to_string());
            Vec::new()
        })
    }

    /// Says why the store cannot be reached, as long as this is waited for.
    pub(super) async fn tell_troubles(&self) -> Infallible {
        tell_troubles(&self.member).await
    }

    /// Returns when the store has been out of reach for so long.
    pub(super) async fn out_of_reach(&self, time: Duration) {
        let mut since = Instant::now();
        while since.elapsed() < time {
            tokio::time::sleep(PATIENCE).await;
            if self.member.trouble().is_none() {
                since = Instant::now();
            }
        }
    }

    /// Ends the session in good order, so that its permits and tasks are given back at once, and
    /// gives up the store, so that another process serves it at once.
    pub(super) async fn leave(&self) {
        // It ends by itself otherwise, and where the store is out of reach.
        let _ = tokio::time::timeout(FAREWELL, self.session.ask(Request::Leave)).await;
        self.member.leave().await;
    }

    /// Why the session has ended.
    pub(super) async fn ended(&self) -> TasksError {
        match self.session.ask(Request::Heartbeat).await {
            Err(error) => error.into(),
            Ok(answer) => TasksError::Answer(Box::new(answer)),
        }
    }
}

/// Takes part in the store as a `role`, such as `task`, as long as the work takes.
pub(super) async fn with<T>(
    place: &Place,
    role: &str,
    work: impl AsyncFnOnce(&Client) -> Result<T, TasksError>,
) -> Result<T, TasksError> {
    let client = Client::open(place, role)?;
    let result = work(&client).await;
    // The session has nothing to give back; who waits to serve the store is told.
    let leaving: Pin<Box<dyn Future<Output = ()> + '_>> = Box::pin(client.member.leave());
    leaving.await;
    result
}

/// What the store holds and who works on it.
pub(super) async fn overview(place: &Place) -> Result<Box<Overview>, TasksError> {
    let overview = async |client: &Client| client.ask(Request::Overview).await;
    match with(place, "look", overview).await? {
        Answer::Overview(overview) => Ok(overview),
        other => Err(TasksError::Answer(Box::new(other))),
    }
}

/// What the coordinator answers. A refusal is an error.
pub(super) async fn ask(session: &Session, request: Request) -> Result<Answer, TasksError> {
    match session.ask(request).await? {
        Answer::Refused(refusal) => Err(refusal.into()),
        answer => Ok(answer),
    }
}

/// Eight hexadecimal digits at random.
pub(super) fn random_name() -> Result<String, TasksError> {
    client::random_name().map_err(|source| TasksError::System { what: "a name", source })
}

/// Does what is asynchronous, in this thread.
pub(super) fn block_on<T>(
    work: impl Future<Output = Result<T, TasksError>>,
) -> Result<T, TasksError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| TasksError::System { what: "the runtime", source })?;
    // For each type of future tokio's loop is compiled again, so in a box they are of one type.
    let work: Pin<Box<dyn Future<Output = Result<T, TasksError>> + '_>> = Box::pin(work);
    let result = runtime.block_on(work);
    // What still runs in other threads, such as a reader of standard input, is not waited for.
    runtime.shutdown_background();
    result
}
