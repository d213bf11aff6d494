//! Sessions: what Python's queues, semaphores, keys and spaces ask, and what they are told.
//!
//! Nothing here waits: a request has a number of Python's choice, its *token*, and is answered
//! through one channel for all sessions, which one thread of Python reads. So whoever waits does it
//! in Python, where Ctrl-C ends it. Each token is answered once, also when the engine ends first.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use tidings_tasks::handles::Handles;
use tidings_tasks::items as claimed;
use tidings_tasks::payloads::Payloads;
use tidings_tasks::session::{Notice, Session};
use tidings_tasks::space::Spaces;
use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::{Answer, Refusal, Request};
use tidings_tasks_core::output::SharedBlob;
use tidings_tasks_core::retry::Cause;
use tidings_tasks_core::view::MAX_LISTED;
use tokio::sync::{OnceCell, mpsc};
use tokio::task::AbortHandle;

use crate::client::{Client, task_of};
use crate::engine::Base;
use crate::handles::{self, Blob, Draft};
use crate::items::{self, Item, Write};
use crate::requests::lock;
use crate::told::{At, Job, Open, Telling, Told, What, answered, channel};
use crate::tuples;

/// The token of what a session is told without asking.
const UNASKED: u64 = 0;

/// A session, and its requests that may not be answered yet.
struct Opened {
    session: Session,
    spaces: Spaces,
    /// The large blobs, once they were asked for.
    handles: Arc<OnceCell<Handles>>,
    asked: Vec<(u64, AbortHandle)>,
}

/// The sessions of a process with one store, by numbers of Python's choice.
#[pyclass(frozen)]
pub(crate) struct Sessions {
    base: Base,
    open: Mutex<BTreeMap<u64, Opened>>,
    telling: Telling,
    told: Mutex<mpsc::UnboundedReceiver<Option<Told>>>,
}

#[pymethods]
impl Sessions {
    #[new]
    fn new(client: &Client) -> Self {
        let (telling, told) = channel();
        let (open, told) = (Mutex::default(), Mutex::new(told));
        Self { base: client.base().clone(), open, telling, told }
    }

    /// Opens a session under a name that no other has.
    fn open(&self, session: u64, name: &str) {
        let _runtime = self.base.runtime.enter();
        let (opened, notices) = Session::open(self.base.member.clone(), name, &self.base.host);
        let (spaces, asked) = (Spaces::new(opened.clone()), Vec::new());
        let handles = Arc::default();
        lock(&self.open).insert(session, Opened { session: opened, spaces, handles, asked });
        let open = self.token((session, UNASKED));
        self.base.runtime.spawn(forward(self.base.payloads.clone(), notices, open));
    }

    /// Ends a session in good order: what it holds goes to others, and what it still waits for is
    /// given up. As long as a request waits its session stays.
    fn leave(&self, at: At) -> PyResult<()> {
        let Some(Opened { session, asked, .. }) = lock(&self.open).remove(&at.0) else {
            return Err(closed());
        };
        for (_, one) in asked {
            one.abort();
        }
        self.begin(at, async move {
            session.ask(Request::Leave).await.map_err(|error| error.to_string())
        });
        Ok(())
    }

    /// Puts items into queues; those that are known are left out.
    fn put(&self, at: At, items: Vec<Item>) -> PyResult<()> {
        let tasks = items::submissions(items)?;
        let (one, payloads) = (self.session(at)?, self.base.payloads.clone());
        self.begin(at, async move {
            payloads.submit(&one, tasks, &[]).await.map_err(|error| error.to_string())
        });
        Ok(())
    }

    /// Takes so many items of a queue at a time from now on; with 0 no more.
    fn offer(&self, at: At, queue: &str, slots: u32) -> PyResult<()> {
        self.ask(at, claimed::offer(queue, slots))
    }

    /// An item is done: result, new items and writes in one commit.
    fn complete(
        &self,
        at: At,
        of: (Vec<u8>, u32),
        result: Vec<u8>,
        children: Vec<Item>,
        writes: Vec<Write>,
        puts: Vec<(String, Vec<Bound<'_, PyAny>>)>,
    ) -> PyResult<()> {
        let (task, attempt) = tried(of)?;
        let (children, effects) = (items::submissions(children)?, items::effects(writes));
        let puts = tuples::puts(puts)?;
        let (one, payloads) = (self.session(at)?, self.base.payloads.clone());
        self.begin(at, async move {
            let result = payloads.shorten(task, result).await.map_err(|error| error.to_string())?;
            let done = Request::Complete { task, attempt, result, children, effects, puts };
            one.ask(done).await.map_err(|error| error.to_string())
        });
        Ok(())
    }

    /// A try of an item has failed: by an error of who has claimed it, or it was not done in time.
    fn fail(&self, at: At, of: (Vec<u8>, u32), is_late: bool, text: String) -> PyResult<()> {
        let cause = if is_late { Cause::Lost } else { Cause::Error };
        let ((task, attempt), detail) = (tried(of)?, Vec::new());
        self.ask(at, Request::Fail { task, attempt, cause, text, detail })
    }

    /// Makes a semaphore, or changes how many permits it has.
    fn set_permits(&self, at: At, name: String, permits: u32) -> PyResult<()> {
        self.ask(at, Request::SetPermits { semaphore: name, permits })
    }

    /// Wants permits, which the session has until it leaves.
    fn acquire(&self, at: At, name: String, permits: u32) -> PyResult<()> {
        self.ask(at, Request::Acquire { semaphore: name, permits })
    }

    /// Wants to see queues and semaphores.
    fn overview(&self, at: At) -> PyResult<()> {
        self.ask(at, Request::Overview)
    }

    /// Reads keys.
    fn read(&self, at: At, keys: Vec<Vec<u8>>) -> PyResult<()> {
        let keys = keys.into_iter().map(Into::into).collect();
        self.ask(at, Request::Read { keys })
    }

    /// Reads a page of keys.
    fn keys(&self, at: At, prefix: Vec<u8>, start: Option<Vec<u8>>, limit: u32) -> PyResult<()> {
        let (prefix, from) = (prefix.into(), start.map(Into::into));
        self.ask(at, Request::Keys { prefix, from, limit })
    }

    /// Wants the changes of keys after a revision, as soon as there are any; without one the
    /// present revision.
    fn changes(&self, at: At, prefix: Vec<u8>, after: Option<u64>) -> PyResult<()> {
        self.ask(at, Request::Changes { prefix: prefix.into(), after })
    }

    /// Writes keys, all of them or none.
    fn write(&self, at: At, writes: Vec<Write>) -> PyResult<()> {
        self.ask(at, Request::Write { effects: items::effects(writes) })
    }

    /// Wants tuples, puts some and settles others, all of it in one commit.
    fn execute(
        &self,
        at: At,
        ins: Vec<tuples::Wanted<'_>>,
        outs: Vec<tuples::Put<'_>>,
        settled: Vec<(u64, bool)>,
        how: tuples::How,
    ) -> PyResult<()> {
        let statement = tuples::statement(ins, outs, settled, how)?;
        let spaces = lock(&self.open).get(&at.0).map(|opened| opened.spaces.clone());
        self.begin(at, tuples::execute(spaces.ok_or_else(closed)?, statement));
        Ok(())
    }

    /// Begins to share large blobs.
    fn share(&self, at: At) -> PyResult<()> {
        let handles = self.handles(at)?;
        self.begin(at, async move { handles.await.map(|_| Answer::Done) });
        Ok(())
    }

    /// A large blob that is to be written, of a session that shares them.
    fn draft(&self, session: u64) -> PyResult<Draft> {
        let shared = self.shared(session)?;
        let handles = shared.get().ok_or_else(|| PyRuntimeError::new_err("it shares no blobs"))?;
        let draft = handles.draft().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok(draft.into())
    }

    /// Wants a large blob by its handle.
    fn get(&self, at: At, blob: &Blob) -> PyResult<()> {
        let (handles, blob) = (self.handles(at)?, SharedBlob::from(blob));
        self.begin_any(at, async move {
            let held = handles.await?.get(&blob).await.map_err(|error| error.to_string())?;
            Ok(What::Held(Box::new(held.into())))
        });
        Ok(())
    }

    /// Pins a large blob for tasks that are going to name it.
    fn pin(&self, at: At, blob: &Blob, tasks: Vec<Vec<u8>>) -> PyResult<()> {
        let (handles, blob) = (self.handles(at)?, SharedBlob::from(blob));
        let tasks = handles::tasks_of(tasks)?;
        self.begin(at, async move {
            let pinned = handles.await?.pin(&blob, &tasks).await;
            pinned.map(|()| Answer::Done).map_err(|error| error.to_string())
        });
        Ok(())
    }

    /// Frees the large blobs that nobody needs, if the session shares some.
    fn free(&self, at: At) -> PyResult<()> {
        let shared = self.shared(at.0)?;
        self.begin(at, async move {
            if let Some(handles) = shared.get() {
                handles.free().await.map_err(|error| error.to_string())?;
            }
            Ok(Answer::Done)
        });
        Ok(())
    }

    /// Lets nobody wait for the answer to a request any more: a statement is withdrawn.
    fn give_up(&self, at: At) {
        let asked = lock(&self.open);
        let all = asked.get(&at.0).into_iter().flat_map(|opened| &opened.asked);
        for (_, one) in all.filter(|(token, _)| *token == at.1) {
            one.abort();
        }
    }

    /// Wants a page of the tuples of a space.
    fn tuples(&self, at: At, space: String, from: Option<u64>) -> PyResult<()> {
        self.ask(at, Request::Tuples { space, from, limit: MAX_LISTED })
    }

    /// What sessions were told, as soon as there is something: `(session, token, kind, what)`
    /// each. Nothing, when it was woken.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let told = py.detach(|| {
            let mut waiting = lock(&self.told);
            let mut taken: Vec<_> = waiting.blocking_recv().into_iter().collect();
            while let Ok(more) = waiting.try_recv() {
                taken.push(more);
            }
            taken
        });
        told.into_iter().flatten().map(|one| shown(py, one)).collect()
    }

    /// Ends all sessions, and shares no blobs any more.
    fn close(&self) {
        let ended = core::mem::take(&mut *lock(&self.open));
        drop(ended);
    }

    /// Lets `take` return.
    fn wake(&self) {
        // The other side is in this object.
        let _ = self.telling.send(None);
    }
}

impl Sessions {
    fn token(&self, at: At) -> Open {
        Open { telling: self.telling.clone(), at, is_told: false }
    }

    fn session(&self, at: At) -> PyResult<Session> {
        let open = lock(&self.open);
        open.get(&at.0).map(|opened| opened.session.clone()).ok_or_else(closed)
    }

    fn ask(&self, at: At, request: Request) -> PyResult<()> {
        let one = self.session(at)?;
        self.begin(at, async move { one.ask(request).await.map_err(|error| error.to_string()) });
        Ok(())
    }

    /// Where the large blobs of a session are, once they were asked for.
    fn shared(&self, session: u64) -> PyResult<Arc<OnceCell<Handles>>> {
        let shared = lock(&self.open).get(&session).map(|opened| opened.handles.clone());
        shared.ok_or_else(closed)
    }

    /// The large blobs of a session, which begins to share them if it has not.
    fn handles(
        &self,
        at: At,
    ) -> PyResult<impl Future<Output = Result<Handles, String>> + Send + use<>> {
        let (session, base, shared) = (self.session(at)?, self.base.clone(), self.shared(at.0)?);
        Ok(async move {
            let begun = shared.get_or_try_init(|| handles::begin(base, session)).await;
            begun.cloned()
        })
    }

    fn begin(&self, at: At, asked: impl Future<Output = Result<Answer, String>> + Send + 'static) {
        self.begin_any(at, async move { asked.await.map(|answer| What::Answer(Box::new(answer))) });
    }

    fn begin_any(
        &self,
        at: At,
        asked: impl Future<Output = Result<What, String>> + Send + 'static,
    ) {
        let open = self.token(at);
        let asked = self.base.runtime.spawn(async move {
            match asked.await {
                Ok(what) => open.tell(what),
                Err(reason) => open.tell(What::Ended(reason)),
            }
        });
        if let Some(opened) = lock(&self.open).get_mut(&at.0) {
            opened.asked.retain(|(_, one)| !one.is_finished());
            opened.asked.push((at.1, asked.abort_handle()));
        }
    }
}

/// A task, and which try of it.
fn tried((task, attempt): (Vec<u8>, u32)) -> PyResult<(TaskId, Attempt)> {
    Ok((task_of(&task)?, Attempt(attempt)))
}

fn closed() -> PyErr {
    PyRuntimeError::new_err("the session was closed")
}

/// Passes on what a session is told, until it ends. It holds no session, which would keep it open.
async fn forward(payloads: Payloads, mut notices: mpsc::Receiver<Notice>, open: Open) {
    while let Some(notice) = notices.recv().await {
        let what = match notice {
            Notice::Assigned(given) => {
                let data = payloads.whole(given.payload).await;
                What::Job(Job {
                    task: given.task.to_bytes(),
                    attempt: given.attempt.0,
                    data: data.map_err(|error| error.to_string()),
                })
            }
            // Who has it finds out when it is done.
            Notice::Stop(..) => continue,
            Notice::Lapsed(lapse) => What::Lapsed(lapse),
        };
        let _ = open.telling.send(Some(Told { at: open.at, what }));
    }
    open.tell(What::Ended("the session has ended: the store cannot be had".to_owned()));
}

/// What a session is told as a tuple of Python.
fn shown(py: Python<'_>, told: Told) -> PyResult<Bound<'_, PyTuple>> {
    let at = told.at;
    match told.what {
        What::Answer(answer) => match *answer {
            Answer::Refused(refusal) => {
                let what = (kind_of(&refusal), refusal.to_string()).into_pyobject(py)?.into_any();
                tuple(py, at, "refused", what)
            }
            answer => tuple(py, at, "done", answered(py, answer)?),
        },
        What::Job(Job { task, attempt, data }) => {
            let (data, fault) = match data {
                Ok(data) => (Some(PyBytes::new(py, &data)), None),
                Err(fault) => (None, Some(fault)),
            };
            let what = (PyBytes::new(py, &task), attempt, data, fault).into_pyobject(py)?;
            tuple(py, at, "job", what.into_any())
        }
        What::Held(held) => tuple(py, at, "done", Bound::new(py, *held)?.into_any()),
        What::Lapsed(lapse) => {
            let tries = lapse.tries.into_iter();
            let tries =
                tries.map(|(task, attempt)| (PyBytes::new(py, &task.to_bytes()), attempt.0));
            let what = (tries.collect::<Vec<_>>(), lapse.is_of_claims).into_pyobject(py)?;
            tuple(py, at, "lapsed", what.into_any())
        }
        What::Ended(reason) => tuple(py, at, "ended", reason.into_pyobject(py)?.into_any()),
    }
}

fn tuple<'py>(
    py: Python<'py>,
    (session, token): At,
    kind: &str,
    what: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyTuple>> {
    (session, token, kind, what).into_pyobject(py)
}

/// The word for why a request was refused.
fn kind_of(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::EffectConflict(_) => "conflict",
        Refusal::Superseded
        | Refusal::NoTask
        | Refusal::NoSession
        | Refusal::Lapsed
        | Refusal::NoClaim => "superseded",
        Refusal::Invalid(_) => "invalid",
        Refusal::NoSemaphore => "no semaphore",
        _ => "other",
    }
}
