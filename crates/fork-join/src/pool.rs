//! The pool: threads that are there from the start, and how work gets in.
//!
//! A call from a thread of the pool runs there. A call from any other thread is handed to a worker,
//! and the thread sleeps until it has ended; its panic is passed on.
//!
//! The functions without a pool use that of the thread they are called on; on a thread without one,
//! a pool with a worker a processor, which is made when it is first needed and never ends.

use std::cell::UnsafeCell;
use std::io;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle, Thread};

use tidings_steal::trace::File;

use crate::job::{Awaiting, Job, Kind};
use crate::join::join_on;
use crate::log::TooLong;
use crate::range::for_each_on;
use crate::scope::{Scope, scope_on};
use crate::stack::Stack;
use crate::worker::{Shared, Worker};

/// How a pool is made.
#[derive(Clone, Debug)]
pub struct Builder {
    threads: usize,
    stack_bytes: usize,
    name: String,
    is_traced: bool,
}

impl Default for Builder {
    /// A thread a processor, stacks of 16 MiB, threads that are called `fork-join-N`.
    fn default() -> Self {
        let threads = thread::available_parallelism().map_or(1, Into::into);
        Self { threads, stack_bytes: 16 << 20, name: "fork-join".to_owned(), is_traced: true }
    }
}

impl Builder {
    /// How many threads it has; 0 counts as 1.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: threads.max(1), ..self }
    }

    /// The stack of each thread. Of it memory is taken only as far as it was ever used.
    ///
    /// A fork, a scope, a spawn or a loop in its last 256 KiB panics; of less than a MiB, in its
    /// last quarter.
    #[must_use]
    pub fn stack_bytes(self, stack_bytes: usize) -> Self {
        Self { stack_bytes, ..self }
    }

    /// What threads are called, each with its number behind.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Whether thefts are noted for [`Pool::trace`], as they are if nothing is said. It costs a
    /// look at the clock a theft, and nothing a fork.
    #[must_use]
    pub fn traced(self, is_traced: bool) -> Self {
        Self { is_traced, ..self }
    }

    /// Starts the threads.
    ///
    /// # Errors
    /// If the system refuses a thread. Those that were started have ended then.
    pub fn build(self) -> io::Result<Pool> {
        let shared = Arc::new(Shared::new(self.threads, self.is_traced));
        let mut pool = Pool { shared, threads: Vec::new() };
        for index in 0..self.threads {
            let (shared, bytes) = (Arc::clone(&pool.shared), self.stack_bytes);
            let builder = thread::Builder::new()
                .name(format!("{}-{index}", self.name))
                .stack_size(self.stack_bytes);
            pool.threads
                .push(builder.spawn(move || Worker::work(shared, index, Stack::beginning(bytes)))?);
        }
        Ok(pool)
    }
}

/// What a pool has counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Jobs that a worker took from another.
    pub steals: u64,
    /// Times that a worker fell asleep. In a pool without work it does not change.
    pub sleeps: u64,
    /// Workers that sleep now.
    pub sleeping: usize,
}

/// Threads that run forks, scopes and loops. They end when it is dropped.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// A pool of that many threads.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn new(threads: usize) -> io::Result<Self> {
        Self::builder().threads(threads).build()
    }

    /// To state more than the number of threads.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// How many threads it has.
    pub fn threads(&self) -> usize {
        self.shared.workers()
    }

    /// What it has counted.
    pub fn counts(&self) -> Counts {
        let dormitory = &self.shared.dormitory;
        Counts {
            steals: self.shared.steals(),
            sleeps: dormitory.sleeps(),
            sleeping: dormitory.sleeping(),
        }
    }

    /// The schedule since the pool was made, or since this was called last: what was stolen from
    /// whom, and when each thread had nothing. Call it while nothing runs. Of a pool that is not
    /// [traced](Builder::traced) it is empty.
    ///
    /// # Errors
    /// If there was more than is kept, 65,536 entries a thread; the next trace begins here.
    pub fn trace(&self) -> Result<File, TooLong> {
        self.shared.logs.take()
    }

    /// Calls `work` on a thread of the pool, so that forks in it need not name the pool.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match Worker::current() {
            Some(worker) if Arc::ptr_eq(&worker.shared, &self.shared) => work(),
            _ => Visit::make(&self.shared, work),
        }
    }

    /// Runs both, at the same time if a thread has time for it, and returns what they return.
    pub fn join<A, B, RA, RB>(&self, first: A, second: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| join_here(first, second))
    }

    /// Calls `body`, and returns when all jobs that were spawned in its scope have ended.
    pub fn scope<'scope, R: Send>(&self, body: impl FnOnce(&Scope<'scope>) -> R + Send) -> R {
        self.install(|| scope(body))
    }

    /// Calls `body` for each number of the range, in any order.
    pub fn for_each(&self, range: Range<usize>, body: impl Fn(usize) + Sync) {
        let body = &body;
        self.install(|| for_each_here(range, body));
    }
}

// A panic in a job is kept and passed on; it leaves nothing of the pool half done.
impl UnwindSafe for Pool {}
impl RefUnwindSafe for Pool {}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.close();
        let is_inside = |handle: &JoinHandle<()>| handle.thread().id() == thread::current().id();
        if self.threads.iter().any(is_inside) {
            return; // The last job dropped the pool: its threads end when it has.
        }
        for handle in self.threads.drain(..) {
            // A worker passes no panic on: it ends by itself or ends the process.
            let _ = handle.join();
        }
    }
}

/// Work of a thread that is not the pool's.
#[repr(C)]
struct Visit<F, R> {
    job: Job,
    work: UnsafeCell<Option<F>>,
    result: UnsafeCell<Option<thread::Result<R>>>,
    is_done: AtomicBool,
    visitor: Thread,
}

impl<F: FnOnce() -> R + Send, R: Send> Visit<F, R> {
    const KIND: Kind = Kind { taken: |_, _| {}, run: Self::run, finish: Self::finish };

    fn make(shared: &Shared, work: F) -> R {
        let visit = Self {
            job: Job { kind: &Self::KIND },
            work: UnsafeCell::new(Some(work)),
            result: UnsafeCell::new(None),
            is_done: AtomicBool::new(false),
            visitor: thread::current(),
        };
        // SAFETY: this frame stays until it is done.
        unsafe { shared.inject((&raw const visit).cast()) };
        while !visit.is_done.load(Ordering::Acquire) {
            thread::park();
        }
        match visit.result.into_inner().expect("what is done has a result") {
            Ok(result) => result,
            Err(panic) => resume_unwind(panic),
        }
    }

    unsafe fn run(job: *const Job) {
        // SAFETY: a job of this kind begins a `Visit`; only the worker that took it is here, and
        // the visitor looks at the result when it is done.
        unsafe {
            let visit = &*job.cast::<Self>();
            let work = (*visit.work.get()).take().expect("a job is run once");
            *visit.result.get() = Some(catch_unwind(AssertUnwindSafe(work)));
        }
    }

    unsafe fn finish(job: *const Job, _thief: Option<usize>) -> Awaiting {
        // SAFETY: as in `run`; the store is the last access.
        let visit = unsafe { &*job.cast::<Self>() };
        let visitor = visit.visitor.clone();
        visit.is_done.store(true, Ordering::Release);
        visitor.unpark();
        Awaiting::Nobody
    }
}

/// The pool for threads that are in none.
fn fallback() -> &'static Pool {
    static POOL: OnceLock<Pool> = OnceLock::new();
    POOL.get_or_init(|| Pool::builder().build().expect("the system gives a thread a processor"))
}

/// On the worker that this thread is.
fn for_each_here(range: Range<usize>, body: &(impl Fn(usize) + Sync)) {
    let worker = Worker::current().expect("what is installed runs on a worker");
    for_each_on(worker, range, body);
}

/// The same for a fork.
fn join_here<A, B, RA, RB>(first: A, second: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    let worker = Worker::current().expect("what is installed runs on a worker");
    join_on(worker, first, second)
}

/// [`Pool::join`] in the pool that this thread is of.
#[expect(clippy::inline_always, reason = "as a call it takes twice as long: work is copied")]
#[inline(always)]
pub fn join<A, B, RA, RB>(first: A, second: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    match Worker::current() {
        Some(worker) => join_on(worker, first, second),
        None => *join_outside(Box::new(first), Box::new(second)),
    }
}

/// [`join`] on a thread that is in no pool.
#[expect(clippy::unnecessary_box_returns, reason = "the caller must give no address for it")]
#[cold]
#[inline(never)]
fn join_outside<A, B, RA, RB>(first: A, second: B) -> Box<(RA, RB)>
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    Box::new(fallback().join(first, second))
}

/// [`Pool::scope`] in the pool that this thread is of.
pub fn scope<'scope, R: Send>(body: impl FnOnce(&Scope<'scope>) -> R + Send) -> R {
    match Worker::current() {
        Some(worker) => scope_on(worker, body),
        None => fallback().scope(body),
    }
}

/// [`Pool::for_each`] in the pool that this thread is of.
pub fn for_each(range: Range<usize>, body: impl Fn(usize) + Sync) {
    match Worker::current() {
        Some(worker) => for_each_on(worker, range, &body),
        None => fallback().for_each(range, body),
    }
}

/// Whether other threads would find nothing to steal from this one: the time to spawn a part of
/// what it has, and not before. False on a thread that is in no pool.
#[inline]
pub fn is_bare() -> bool {
    Worker::current().is_some_and(Worker::is_bare)
}
