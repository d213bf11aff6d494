//! Where a thread is in the structure tree of the run that it works for.
//!
//! A thread goes through steps: a fork or spawn ends one and begins the next. When it runs a task
//! of another place in the tree, stolen or its own, it comes back to where it was, also if the task
//! panics.

use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::run::Run;
use crate::tree::{Kind as Of, Node, Step};

thread_local! {
    static RUN: RefCell<Option<Arc<Run>>> = const { RefCell::new(None) };
    static STEP: Cell<Step> = const { Cell::new(Step { node: 0, place: 0, phase: 0 }) };
    static THREAD: u64 = {
        static THREADS: AtomicU64 = AtomicU64::new(0);
        THREADS.fetch_add(1, Ordering::Relaxed)
    };
}

/// A number of this thread that no other has.
fn thread() -> u64 {
    THREAD.with(|thread| *thread)
}

/// Looks at the run that this thread works for, if it is checked.
pub(crate) fn with<R>(look: impl FnOnce(&Arc<Run>, Step) -> R) -> Option<R> {
    RUN.with_borrow(|run| run.as_ref().map(|run| look(run, STEP.get())))
}

/// Where the thread will be again when this is dropped.
pub(crate) struct Back {
    before: Before,
    step: Step,
}

/// For which run the thread worked before.
enum Before {
    /// The same.
    Same,
    /// Another, or none.
    Other(Option<Arc<Run>>),
}

impl Drop for Back {
    fn drop(&mut self) {
        STEP.set(self.step);
        if let Before::Other(run) = &mut self.before {
            RUN.set(run.take());
        }
    }
}

/// The thread is at a step of a run until the result is dropped.
#[must_use]
pub(crate) fn enter(run: &Arc<Run>, step: Step) -> Back {
    let is_same = RUN.with_borrow(|now| now.as_ref().is_some_and(|now| Arc::ptr_eq(now, run)));
    let before =
        if is_same { Before::Same } else { Before::Other(RUN.replace(Some(Arc::clone(run)))) };
    Back { before, step: STEP.replace(step) }
}

/// Adds a child to where the thread is, which goes on with the step after it.
pub(crate) fn add(kind: Of, site: &'static Location<'static>) -> Option<Node> {
    with(|run, step| {
        let below = Step { place: step.place + 1, ..step };
        let node = run.tree.add(kind, below, site);
        STEP.set(Step { place: step.place + 2, ..step });
        node
    })
}

/// A task that may run on another thread, and how it is found there.
#[derive(Clone)]
pub(crate) struct Task {
    run: Arc<Run>,
    node: Node,
    from: Step,
    thread: u64,
}

impl Task {
    /// A new one, forked where the thread is, if that works for a checked run.
    pub(crate) fn fork(site: &'static Location<'static>) -> Option<Self> {
        let node = add(Of::Async, site)?;
        with(|run, from| Self { run: Arc::clone(run), node, from, thread: thread() })
    }

    /// Does it on this thread, whose task it is meanwhile.
    pub(crate) fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        let from = self.from.phase;
        let is_here = self.thread == thread();
        let phase = if is_here { from } else { self.run.tree.steal(self.node, from) };
        let _back = enter(&self.run, Step { node: self.node, place: 0, phase });
        work()
    }
}
