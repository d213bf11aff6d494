//! Scopes: jobs that may spawn others, all ended when the scope returns (*async* and *finish*).
//!
//! A spawn is *help-first*: it leaves the job in the deque and goes on; the thread comes to it when
//! its scope ends, the newest first, or another takes it. Or it is *work-first*: the thread runs
//! the job, and leaves what the caller would do after it. What is left lies on the heap, since the
//! frame that spawns it may be gone.
//!
//! Invariants: a scope returns when `pending` is 0, and who counts down to 0 does not touch it
//! after. `takers` has the workers that run stolen jobs of the scope, from before they begin to
//! before they have ended, so who waits knows where its descendants are.
//!
//! Source: X10's `finish` and `async` (Charles et al., OOPSLA 2005); the terms of Guo, Barik, Raman
//! and Sarkar, IPDPS 2009.

use std::any::Any;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::deque::Ticket;
use crate::job::{Awaiting, Job, Kind};
use crate::sleep::Until;
use crate::worker::{Awaited, Shared, Worker};

/// Where jobs are spawned that may borrow what lives as long as `'scope`.
pub struct Scope<'scope> {
    shared: *const Shared,
    owner: usize,
    pending: AtomicUsize,
    takers: Mutex<Vec<usize>>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// Invariant in `'scope`.
    borrows: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

// SAFETY: `shared` is only compared; all else is atomic or behind a lock.
unsafe impl Sync for Scope<'_> {}
// SAFETY: the same.
unsafe impl Send for Scope<'_> {}

/// A job of a scope.
#[repr(C)]
struct Spawned<'scope, F> {
    job: Job,
    scope: *const Scope<'scope>,
    work: Option<F>,
}

/// A job that is in no deque. It counts as pending: it must be run.
struct Left<'scope, F>(*mut Spawned<'scope, F>);

impl<'scope, F: FnOnce(&Scope<'scope>) + Send + 'scope> Spawned<'scope, F> {
    const KIND: Kind = Kind { taken: Self::taken, run: Self::run, finish: Self::finish };

    unsafe fn taken(job: *const Job, thief: usize) {
        // SAFETY: a job of this kind begins a `Spawned`, whose scope waits for it.
        let scope = unsafe { &*(*job.cast::<Self>()).scope };
        scope.takers().push(thief);
    }

    unsafe fn run(job: *const Job) {
        // SAFETY: as in `taken`; and who runs it took it off the deque.
        let spawned = unsafe { &mut *job.cast_mut().cast::<Self>() };
        // SAFETY: the scope waits for it.
        let scope = unsafe { &*spawned.scope };
        let work = spawned.work.take().expect("a job is run once");
        scope.keep_panic(catch_unwind(AssertUnwindSafe(|| work(scope))));
    }

    unsafe fn finish(job: *const Job, thief: Option<usize>) -> Awaiting {
        // SAFETY: it was made from a box, and this is the last access.
        let spawned = unsafe { Box::from_raw(job.cast_mut().cast::<Self>()) };
        // SAFETY: the scope waits until `pending` is counted down below.
        let scope = unsafe { &*spawned.scope };
        if let Some(thief) = thief {
            let mut takers = scope.takers();
            let at = takers.iter().position(|&taker| taker == thief);
            takers.swap_remove(at.expect("a thief is there from before it begins"));
        }
        let owner = scope.owner;
        let was = scope.pending.fetch_sub(1, Ordering::AcqRel);
        if was == 1 { Awaiting::Worker(owner) } else { Awaiting::Nobody }
    }
}

impl<'scope, F: FnOnce(&Scope<'scope>) + Send + 'scope> Left<'scope, F> {
    fn run(self) {
        let job = self.0.cast();
        // SAFETY: nobody else ever saw it. The scope does not return before this call does, so
        // that nobody waits to be woken.
        unsafe {
            Spawned::<'scope, F>::run(job);
            Spawned::<'scope, F>::finish(job, None);
        }
    }
}

impl<'scope> Scope<'scope> {
    fn takers(&self) -> MutexGuard<'_, Vec<usize>> {
        self.takers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the first panic.
    fn keep_panic<R>(&self, result: std::thread::Result<R>) -> Option<R> {
        result
            .map_err(|panic| {
                let mut kept = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
                kept.get_or_insert(panic);
            })
            .ok()
    }

    /// Spawns a job, *help-first*: the caller goes on, and the job may run on any thread of the
    /// pool, at any time until the scope returns.
    ///
    /// A thread that is not of the scope's pool runs it at once, and so does one that has no room
    /// for it.
    pub fn spawn<F: FnOnce(&Self) + Send + 'scope>(&self, work: F) {
        if let Some(job) = self.leave(work) {
            job.run();
        }
    }

    /// Spawns a job, *work-first*: it runs at once on this thread, and `rest`, which is what the
    /// caller has to do after it, may be taken by another thread meanwhile.
    ///
    /// Where there would be many jobs at a time by [`spawn`](Self::spawn), here is one: a chain in
    /// which each `rest` spawns the next job takes the memory of the program run in order.
    ///
    /// If `job` panics that is as in any job: the scope passes it on, and `rest` runs. A thread
    /// that is not of the scope's pool, or has no room, runs `rest` after `job`.
    pub fn spawn_first<J, F>(&self, job: J, rest: F)
    where
        J: FnOnce(&Self),
        F: FnOnce(&Self) + Send + 'scope,
    {
        let left = self.leave(rest);
        self.keep_panic(catch_unwind(AssertUnwindSafe(|| job(self))));
        if let Some(rest) = left {
            rest.run();
        }
    }

    /// Leaves a job where threads of the pool find it; if that cannot be, it is the caller's.
    fn leave<F: FnOnce(&Self) + Send + 'scope>(&self, work: F) -> Option<Left<'scope, F>> {
        let worker = Worker::current().inspect(|worker| worker.stack.check());
        let job = Job { kind: &Spawned::<'scope, F>::KIND };
        let spawned = Box::new(Spawned { job, scope: self, work: Some(work) });
        self.pending.fetch_add(1, Ordering::Relaxed);
        let job = Box::into_raw(spawned);
        let worker = worker.filter(|worker| self.is_of(worker));
        let is_left = worker.is_some_and(|worker| worker.push(job.cast()));
        (!is_left).then_some(Left(job))
    }

    fn is_of(&self, worker: &Worker) -> bool {
        std::ptr::eq(&raw const *worker.shared, self.shared)
    }
}

impl Awaited for Scope<'_> {
    fn is_done(&self) -> bool {
        self.pending.load(Ordering::Acquire) == 0
    }

    fn steal(&self, shared: &Shared, attempt: &mut dyn FnMut(usize, Ticket) -> bool) {
        // While a worker is on the list it is at a job of this scope.
        let tickets: Vec<_> = self.takers().iter().map(|&at| (at, shared.ticket(at))).collect();
        let _ = tickets.into_iter().any(|(worker, ticket)| attempt(worker, ticket));
    }

    fn until(&self) -> Option<Until> {
        Some(Until::Descendants)
    }
}

/// Calls `body`, and returns when all that was spawned into its scope has ended.
pub(crate) fn scope_on<'scope, R>(worker: &Worker, body: impl FnOnce(&Scope<'scope>) -> R) -> R {
    let scope = Scope {
        shared: &raw const *worker.shared,
        owner: worker.index,
        pending: AtomicUsize::new(0),
        takers: Mutex::default(),
        panic: Mutex::default(),
        borrows: PhantomData,
    };
    worker.stack.check();
    let mark = worker.mark();
    let result = scope.keep_panic(catch_unwind(AssertUnwindSafe(|| body(&scope))));
    worker.run_since(mark);
    worker.wait(&scope);
    match scope.panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(panic) => resume_unwind(panic),
        None => result.expect("without a panic there is a result"),
    }
}
