//! The engine: a thread with a runtime of tokio, in which sessions live and the store is served.
//!
//! Calls are done by the threads of the program, which wait for the runtime: no queue lies between.
//! All that the library starts inherits the engine's mask of signals, in which all are blocked.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tidings_tasks::client::{Client, Place};
use tidings_tasks::handles::Handles;
use tidings_tasks::payloads::Payloads;
use tidings_tasks::session::{Notice, Session};
use tidings_tasks::space::Spaces;
use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::resources::Amount;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::status::{TidingsTasksStatus, Trouble};
use crate::taker::Taker;
use crate::waits::Waits;

/// What all calls share.
#[derive(Debug)]
pub(crate) struct Engine {
    runtime: Handle,
    pub(crate) member: Arc<tidings_tasks::member::Member>,
    pub(crate) session: Session,
    pub(crate) payloads: Payloads,
    /// Those of the session.
    pub(crate) spaces: Spaces,
    pub(crate) waits: Waits,
    /// The large blobs that it shares, once it was asked for some.
    pub(crate) handles: Mutex<Option<Handles>>,
    name: String,
    pub(crate) host: String,
    /// What is offered with each queue.
    resources: Vec<(String, Amount)>,
    /// By queue.
    takers: Mutex<BTreeMap<String, Arc<Taker>>>,
    /// Sessions beside the first.
    sessions: AtomicU64,
    process: u32,
    stop: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

impl Engine {
    /// Begins, and returns once somebody serves the store; or says why nobody does.
    pub(crate) fn begin(
        place: Place,
        role: &str,
        wait: Option<Duration>,
        resources: Vec<(String, Amount)>,
    ) -> Result<Arc<Self>, Trouble> {
        let (begun, has_begun) = std::sync::mpsc::sync_channel(1);
        let (stop, stopped) = oneshot::channel();
        let role = role.to_owned();
        let unmasked = mask::block_all();
        let thread = std::thread::Builder::new()
            .name("tidings-tasks".into())
            .spawn(move || run(&place, &role, &begun, stopped));
        mask::restore(&unmasked);
        let thread =
            thread.map_err(|error| Trouble::store(format!("no thread can be started: {error}")))?;
        let (runtime, client) = has_begun
            .recv()
            .map_err(|_| Trouble::store("the library's thread has ended"))?
            .map_err(Trouble::store)?;
        let Client { member, session, payloads, host, name, .. } = client;
        let engine = Arc::new(Self {
            runtime,
            member,
            spaces: Spaces::new(session.clone()),
            session,
            payloads,
            waits: Waits::default(),
            handles: Mutex::default(),
            name,
            host,
            resources,
            takers: Mutex::default(),
            sessions: AtomicU64::new(0),
            process: std::process::id(),
            stop: Mutex::new(Some((stop, thread))),
        });
        // Nobody can be told that nothing was held.
        engine.link(wait).inspect_err(|_| engine.end(Duration::ZERO))?;
        Ok(engine)
    }

    fn link(&self, wait: Option<Duration>) -> Result<(), Trouble> {
        match self.within(wait, self.member.link()) {
            Some(Ok(_)) => Ok(()),
            Some(Err(error)) => Err(Trouble::store(error.to_string())),
            None => {
                let why = self.member.trouble().map(|why| format!(": {why}")).unwrap_or_default();
                Err(Trouble::timeout(&format!("nobody serves the store{why}")))
            }
        }
    }

    /// Refuses a process that was made by a fork.
    pub(crate) fn check(&self) -> Result<(), Trouble> {
        if self.process == std::process::id() {
            return Ok(());
        }
        let text = "the store was opened before a fork: open it in this process";
        Err(Trouble::new(TidingsTasksStatus::Forked, text))
    }

    /// Waits in this thread.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Waits in this thread; `None` when time is up.
    pub(crate) fn within<T>(
        &self,
        wait: Option<Duration>,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        match wait {
            None => Some(self.wait(work)),
            Some(wait) => self.wait(async { tokio::time::timeout(wait, work).await.ok() }),
        }
    }

    /// What the coordinator answers. A refusal is trouble.
    pub(crate) fn ask(&self, request: Request) -> Result<Answer, Trouble> {
        match self.wait(self.session.ask(request))? {
            Answer::Refused(refusal) => Err(refusal.into()),
            answer => Ok(answer),
        }
    }

    /// Does something within the runtime, which may start tasks of it.
    pub(crate) fn inside<T>(&self, work: impl FnOnce() -> T) -> T {
        let _entered = self.runtime.enter();
        work()
    }

    /// A further session of this process.
    pub(crate) fn session(&self, role: &str) -> (Session, mpsc::Receiver<Notice>) {
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{role}-{number}", self.name);
        self.inside(|| Session::open(self.member.clone(), &name, &self.host))
    }

    /// What claims the tasks of a queue.
    pub(crate) fn taker(&self, queue: &str) -> Arc<Taker> {
        let mut takers = self.takers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taker) = takers.get(queue) {
            return taker.clone();
        }
        let (session, notices) = self.session("claim");
        let taker = self.inside(|| Taker::begin(queue, self.resources.clone(), session, notices));
        takers.insert(queue.to_owned(), taker.clone());
        taker
    }

    /// Forgets one that takes no tasks any more: the next claim says why again, or has one.
    pub(crate) fn forget_taker(&self, queue: &str) {
        self.takers.lock().unwrap_or_else(PoisonError::into_inner).remove(queue);
    }

    /// Ends in good order: what this process has is given back. Waits for no answer longer than
    /// this.
    pub(crate) fn end(&self, patience: Duration) {
        let stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((stop, thread)) = stop else { return };
        let shared = self.handles.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(handles) = shared {
            // What cannot be freed now is when another process begins with the folder.
            let _ = self.within(Some(patience), handles.free());
        }
        let takers =
            core::mem::take(&mut *self.takers.lock().unwrap_or_else(PoisonError::into_inner));
        let sessions = takers.into_values().map(|taker| taker.session.clone());
        for session in sessions.chain([self.session.clone()]) {
            // Without a coordinator it ends by itself.
            let _ = self.within(Some(patience), session.ask(Request::Leave));
        }
        // The thread waits for this, or has ended.
        let _ = stop.send(());
        // A panic was printed when it happened.
        let _ = thread.join();
    }
}

type Begun = std::sync::mpsc::SyncSender<Result<(Handle, Client), String>>;

/// The thread.
fn run(place: &Place, role: &str, begun: &Begun, stopped: oneshot::Receiver<()>) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return drop(begun.send(Err(format!("no runtime: {error}")))),
    };
    runtime.block_on(async {
        let client = Client::open(place, role).map_err(|error| error.to_string());
        let is_open = client.is_ok();
        let begins = begun.send(client.map(|client| (Handle::current(), client)));
        if is_open && begins.is_ok() {
            // Dropped or told: it ends.
            let _ = stopped.await;
        }
    });
}

/// The mask of signals of a thread.
mod mask {
    use core::mem::MaybeUninit;
    use core::ptr;

    /// Blocks all signals for this thread. Returns what was blocked before.
    pub(super) fn block_all() -> libc::sigset_t {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: both are places for a set; the first is filled before it is used, and the second
        // is filled by the call, whose arguments are such that it cannot fail.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::sigemptyset(before.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            before.assume_init()
        }
    }

    /// Blocks these signals for this thread, and no others.
    pub(super) fn restore(before: &libc::sigset_t) {
        // SAFETY: it is a set, and nothing is written.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, ptr::null_mut()) };
    }
}
