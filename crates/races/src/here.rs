//! Where a thread is in the structure tree of the run that it works for.
//!
//! A thread goes through steps: a fork or spawn ends one and begins the next. When it runs a task
//! of another place in the tree, stolen or its own, it comes back to where it was, also if the task
//! panics.
//!
//! What threads share they touch seldom: a task says its run by a number, which only a thief looks
//! up, and what a thread counts is added to the run when it leaves that. With a shared count at
//! each fork and access, threads would wait for each other's caches most of the time.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::run::Run;
use crate::sites::Site;
use crate::tally::Tally;
use crate::tree::{Kind as Of, Node, Room, Step, Tree};

/// What a thread knows.
struct Here {
    run: RefCell<Option<Arc<Run>>>,
    step: Cell<Step>,
    /// What it has counted since it came to the run.
    tally: Tally,
    /// The numbers of nodes that it may give, and in which run.
    room: Cell<(u64, Room)>,
    /// A number that no other thread has; 0 until it is asked for.
    thread: Cell<u64>,
}

thread_local! {
    static HERE: Here = const {
        Here {
            run: RefCell::new(None),
            step: Cell::new(Step { node: 0, place: 0, phase: 0 }),
            tally: Tally::new(),
            room: Cell::new((0, Room::NONE)),
            thread: Cell::new(0),
        }
    };
}

/// The runs that have not ended.
static RUNS: Mutex<Vec<Arc<Run>>> = Mutex::new(Vec::new());

fn runs() -> MutexGuard<'static, Vec<Arc<Run>>> {
    RUNS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run that threads may come to, until this is dropped.
pub(crate) struct Known(Arc<Run>);

impl Known {
    /// This one.
    pub(crate) fn new(run: Run) -> Self {
        let run = Arc::new(run);
        runs().push(Arc::clone(&run));
        Self(run)
    }

    /// It.
    pub(crate) fn run(&self) -> &Arc<Run> {
        &self.0
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        runs().retain(|run| run.number != self.0.number);
    }
}

/// Looks at the run that this thread works for, if it is checked.
pub(crate) fn with<R>(look: impl FnOnce(&Run, Step, &Tally) -> R) -> Option<R> {
    HERE.with(|here| {
        let run = here.run.borrow();
        run.as_ref().map(|run| look(run, here.step.get(), &here.tally))
    })
}

impl Here {
    fn thread(&self) -> u64 {
        static THREADS: AtomicU64 = AtomicU64::new(1);
        if self.thread.get() == 0 {
            self.thread.set(THREADS.fetch_add(1, Ordering::Relaxed));
        }
        self.thread.get()
    }

    /// Adds to the tree below where the thread is, which goes on with the step after it.
    fn add<N>(&self, run: &Run, nodes: u64, add: impl FnOnce(&Tree, &mut Room, Step) -> N) -> N {
        let (of, mut room) = self.room.get();
        if of != run.number {
            room = Room::NONE;
        }
        let step = self.step.get();
        let added = add(&run.tree, &mut room, Step { place: step.place + 1, ..step });
        self.step.set(Step { place: step.place + 2, ..step });
        self.room.set((run.number, room));
        self.tally.nodes(nodes);
        added
    }

    /// Whether it works for the run of this number.
    fn is_of(&self, run: u64) -> bool {
        self.run.borrow().as_ref().is_some_and(|now| now.number == run)
    }

    /// Works for this run from now on; for which it did before.
    fn go(&self, to: Option<Arc<Run>>) -> Option<Arc<Run>> {
        let before = self.run.replace(to);
        if let Some(run) = &before {
            run.count(&self.tally);
        }
        before
    }
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
        HERE.with(|here| {
            here.step.set(self.step);
            if let Before::Other(run) = &mut self.before {
                here.go(run.take());
            }
        });
    }
}

/// The thread is at a step of a run until the result is dropped.
#[must_use]
pub(crate) fn enter(run: &Arc<Run>, step: Step) -> Back {
    HERE.with(|here| {
        let is_same = here.is_of(run.number);
        let before =
            if is_same { Before::Same } else { Before::Other(here.go(Some(Arc::clone(run)))) };
        Back { before, step: here.step.replace(step) }
    })
}

/// Adds a finish where the thread is, and is within it until the result is dropped.
pub(crate) fn finish(site: Site) -> Option<Back> {
    HERE.with(|here| {
        let run = here.run.borrow();
        let add = |tree: &Tree, room: &mut Room, step| tree.add(room, Of::Finish, step, site);
        let node = here.add(run.as_ref()?, 1, add);
        let after = here.step.get();
        here.step.set(Step { node, place: 0, ..after });
        Some(Back { before: Before::Same, step: after })
    })
}

/// Adds a finish with a task that is forked there at once, as [`finish`] and [`Task::fork`] do.
pub(crate) fn fork(site: Site) -> Option<(Back, Task)> {
    HERE.with(|here| {
        let run = here.run.borrow();
        let run = run.as_ref()?;
        let [finish, node] = here.add(run, 2, |tree, room, step| tree.add_fork(room, step, site));
        let after = here.step.get();
        let from = Step { node: finish, place: 2, ..after };
        here.step.set(from);
        let task = Task { run: run.number, node, from, thread: here.thread() };
        Some((Back { before: Before::Same, step: after }, task))
    })
}

/// A task that may run on another thread, and how it is found there.
#[derive(Clone)]
pub(crate) struct Task {
    run: u64,
    node: Node,
    from: Step,
    thread: u64,
}

impl Task {
    /// A new one, forked where the thread is, if that works for a checked run.
    pub(crate) fn fork(site: Site) -> Option<Self> {
        HERE.with(|here| {
            let run = here.run.borrow();
            let run = run.as_ref()?;
            let add = |tree: &Tree, room: &mut Room, step| tree.add(room, Of::Async, step, site);
            let node = here.add(run, 1, add);
            Some(Self { run: run.number, node, from: here.step.get(), thread: here.thread() })
        })
    }

    /// Does it on this thread, whose task it is meanwhile.
    pub(crate) fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        let from = self.from.phase;
        let _back = HERE.with(|here| {
            if self.thread != here.thread() || !here.is_of(self.run) {
                return self.stolen();
            }
            let step = Step { node: self.node, place: 0, phase: from };
            Back { before: Before::Same, step: here.step.replace(step) }
        });
        work()
    }

    /// The thread comes to it from elsewhere.
    #[cold]
    fn stolen(&self) -> Back {
        let run = runs().iter().find(|run| run.number == self.run).map(Arc::clone);
        let run = run.expect("a run is known until all its tasks have ended");
        let phase = run.tree.steal(self.node, self.from.phase);
        enter(&run, Step { node: self.node, place: 0, phase })
    }
}
