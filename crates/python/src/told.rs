//! What sessions are told: each request has a token, and is answered once, whatever becomes of it.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tidings_tasks::session::Lapse;
use tidings_tasks_core::message::Answer;
use tidings_tasks_core::view::{KeyChange, KeyValue};
use tokio::sync::mpsc;

use crate::handles::Held;
use crate::tuples;

/// What is said of a request that the engine did not live to answer.
const ENDED: &str = "the executor has ended";

/// The number of a session, and a token.
pub(crate) type At = (u64, u64);

/// What a session is told.
pub(crate) struct Told {
    pub(crate) at: At,
    pub(crate) what: What,
}

/// What.
pub(crate) enum What {
    Answer(Box<Answer>),
    Held(Box<Held>),
    Job(Job),
    /// The tries that no longer count, and whether permits or tuples may be with others.
    Lapsed(Lapse),
    /// There is no answer, for this reason.
    Ended(String),
}

/// An item of data that was claimed.
pub(crate) struct Job {
    pub(crate) task: [u8; 16],
    pub(crate) attempt: u32,
    pub(crate) data: Result<Vec<u8>, String>,
}

pub(crate) type Telling = mpsc::UnboundedSender<Option<Told>>;

/// How Python is told.
#[expect(clippy::disallowed_methods, reason = "it holds what threads of Python have asked for")]
pub(crate) fn channel() -> (Telling, mpsc::UnboundedReceiver<Option<Told>>) {
    mpsc::unbounded_channel()
}

/// A token that is still to be answered.
pub(crate) struct Open {
    pub(crate) telling: Telling,
    pub(crate) at: At,
    pub(crate) is_told: bool,
}

impl Open {
    pub(crate) fn tell(mut self, what: What) {
        self.is_told = true;
        // Nobody listens any more when Python has closed its side.
        let _ = self.telling.send(Some(Told { at: self.at, what }));
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.is_told {
            let what = What::Ended(ENDED.to_owned());
            let _ = self.telling.send(Some(Told { at: self.at, what }));
        }
    }
}

/// What an answer says: None, a number, or tuples.
pub(crate) fn answered(py: Python<'_>, answer: Answer) -> PyResult<Bound<'_, PyAny>> {
    Ok(match answer {
        Answer::Submitted(new) => new.into_pyobject(py)?.into_any(),
        Answer::Written(revision) => revision.into_pyobject(py)?.into_any(),
        Answer::Values(values, next) => {
            let value = |KeyValue { key, value, revision }: KeyValue| {
                (PyBytes::new(py, &key), PyBytes::new(py, &value), revision)
            };
            let values: Vec<_> = values.into_iter().map(value).collect();
            let next = next.map(|next| PyBytes::new(py, &next));
            (values, next).into_pyobject(py)?.into_any()
        }
        Answer::Changed(told, until) => {
            let change = |KeyChange { key, value, revision }: KeyChange| {
                let value = value.map(|value| PyBytes::new(py, &value));
                (PyBytes::new(py, &key), value, revision)
            };
            let told = told.map(|told| told.into_iter().map(change).collect::<Vec<_>>());
            (told, until).into_pyobject(py)?.into_any()
        }
        Answer::Overview(overview) => {
            let queues: Vec<_> = (overview.queues.into_iter())
                .map(|one| (one.name, one.ready, one.delayed, one.running, one.unfit))
                .collect();
            let semaphores: Vec<_> = (overview.semaphores.into_iter())
                .map(|one| (one.name, one.permits, one.held, one.waiting))
                .collect();
            (queues, semaphores).into_pyobject(py)?.into_any()
        }
        Answer::Matched(found) => {
            tuples::all(py, found.into_iter().map(|one| (one.number, one.tuple, true)))?.into_any()
        }
        Answer::Tuples(views, next) => {
            let views = views.into_iter();
            let all = views.map(|view| (view.number, view.tuple, view.claim.is_some()));
            (tuples::all(py, all)?, next).into_pyobject(py)?.into_any()
        }
        _ => py.None().into_bound(py),
    })
}
