//! Workers: the threads of a pool, what they share, and what one does while it waits.
//!
//! A worker that waits in a fork or a scope runs nothing but what descends from what it waits for:
//! it steals from the worker that has that job, and only while that worker is at it
//! (*leapfrogging*). So all frames on its stack are of one line of descent, each deeper in the tree
//! of calls than the one before it. Its stack is never deeper than that of the program run in
//! order, and it never begins foreign work that waits for a lock which one of its own frames has.
//! If nothing of that is to be had it sleeps.
//!
//! Invariants:
//! - A worker waits, and begins stolen work, only while its deque is empty: what it waits for was
//!   stolen, and thieves take the oldest first, so all that is older was stolen too. So while a
//!   worker runs a stolen job, all in its deque descends from that job.
//! - Before a worker says that a stolen job has ended it runs all that the job left in its deque,
//!   and after that it makes the tickets for its deque worthless ([`Deque::renew`]): a thief that
//!   saw the job unfinished steals what descends from it, or nothing.
//!
//! Source: Wagner and Calder, "Leapfrogging", PPoPP 1993.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::deque::{Deque, Hardware, Line, Stolen, Ticket};
use crate::job::{Awaiting, Job};
use crate::log::{Entry, Logs};
use crate::sleep::{Dormitory, Until};
use crate::stack::Stack;

/// How many jobs a worker can have pending; forks beyond are calls, in order.
const RING: usize = 8_192;
/// How often a worker looks for work before it sleeps, with pauses that double to `2^PAUSES`.
const LOOKS: u32 = 24;
const PAUSES: u32 = 8;

pub(crate) type Jobs = Deque<Hardware, RING>;

/// A job that came from outside.
struct Injected(*const Job);

// SAFETY: jobs are made of work that is Send, and keep what they share in atomics.
unsafe impl Send for Injected {}

/// What all workers of a pool see.
pub(crate) struct Shared {
    deques: Box<[Jobs]>,
    pub(crate) dormitory: Dormitory,
    injected: Mutex<VecDeque<Injected>>,
    injected_count: AtomicUsize,
    closing: AtomicBool,
    steals: Box<[Line<AtomicU64>]>,
    pub(crate) logs: Logs,
}

impl Shared {
    pub(crate) fn new(workers: usize, is_traced: bool) -> Self {
        Self {
            deques: (0..workers).map(|_| Jobs::starting_at(0)).collect(),
            dormitory: Dormitory::new(workers),
            injected: Mutex::default(),
            injected_count: AtomicUsize::new(0),
            closing: AtomicBool::new(false),
            steals: (0..workers).map(|_| Line(AtomicU64::new(0))).collect(),
            logs: Logs::new(workers, is_traced),
        }
    }

    pub(crate) fn workers(&self) -> usize {
        self.deques.len()
    }

    pub(crate) fn steals(&self) -> u64 {
        self.steals.iter().map(|steals| steals.0.load(Ordering::Relaxed)).sum()
    }

    pub(crate) fn ticket(&self, worker: usize) -> Ticket {
        self.deques[worker].ticket()
    }

    /// Gives a job to whichever worker is idle first.
    ///
    /// # Safety
    /// The job stays until it has ended.
    pub(crate) unsafe fn inject(&self, job: *const Job) {
        let mut injected = self.injected.lock().unwrap_or_else(PoisonError::into_inner);
        injected.push_back(Injected(job));
        self.injected_count.store(injected.len(), Ordering::Release);
        drop(injected);
        self.dormitory.injected();
    }

    fn take_injected(&self) -> Option<*const Job> {
        if self.injected_count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut injected = self.injected.lock().unwrap_or_else(PoisonError::into_inner);
        let job = injected.pop_front();
        self.injected_count.store(injected.len(), Ordering::Release);
        job.map(|Injected(job)| job)
    }

    /// Workers end when nothing is left to do.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.dormitory.wake_all();
    }

    fn has_work(&self) -> bool {
        self.injected_count.load(Ordering::Acquire) > 0
            || self.closing.load(Ordering::Acquire)
            || self.deques.iter().any(Jobs::is_public)
    }
}

/// What a worker waits for.
pub(crate) trait Awaited {
    fn is_done(&self) -> bool;

    /// Calls `attempt` for workers that have something which descends from this, each with a ticket
    /// from a time at which the worker was at it, until it succeeds.
    fn steal(&self, shared: &Shared, attempt: &mut dyn FnMut(usize, Ticket) -> bool);

    /// What to sleep for, and `None` if it must be asked again at once.
    fn until(&self) -> Option<Until>;
}

/// A thread of a pool, as the thread itself sees it.
pub(crate) struct Worker {
    deque: *const Jobs,
    pub(crate) index: usize,
    pub(crate) shared: Arc<Shared>,
    pub(crate) stack: Stack,
    /// From whom it stole last.
    victim: Cell<usize>,
}

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

/// Ends the process if it is dropped: a panic where none may pass.
struct Abort;

impl Drop for Abort {
    fn drop(&mut self) {
        std::process::abort();
    }
}

impl Worker {
    /// The worker that this thread is.
    #[inline]
    pub(crate) fn current<'a>() -> Option<&'a Self> {
        // SAFETY: it is set while `work` runs, whose frame has it, and only this thread sees it;
        // no caller keeps it longer than its own call, which `work` is below.
        unsafe { CURRENT.get().as_ref() }
    }

    /// What a thread of a pool does until the pool closes.
    pub(crate) fn work(shared: Arc<Shared>, index: usize, stack: Stack) {
        shared.dormitory.bed(index).is_mine();
        let deque = &raw const shared.deques[index];
        let worker = Self { deque, index, shared, stack, victim: Cell::new(index) };
        CURRENT.set(&raw const worker);
        let abort = Abort;
        let mut looks = 0;
        loop {
            if let Some((victim, job)) = worker.find() {
                // SAFETY: it was taken off a queue, and stays until it has ended.
                unsafe { worker.run_stolen(victim, job) };
                looks = 0;
            } else if worker.shared.closing.load(Ordering::Acquire) {
                break;
            } else {
                let shared = &worker.shared;
                looks = worker.rest(looks, Some(Until::Work), || shared.has_work());
            }
        }
        std::mem::forget(abort);
        CURRENT.set(ptr::null());
    }

    #[inline]
    fn deque(&self) -> &Jobs {
        // SAFETY: `shared` keeps it.
        unsafe { &*self.deque }
    }

    /// Adds a job; whether there was room.
    #[inline]
    pub(crate) fn push(&self, job: *mut ()) -> bool {
        // SAFETY: a `Worker` is its thread's own, so this is the owner.
        let pushed = unsafe { self.deque().push(job) };
        if pushed == Some(true) {
            self.shared.dormitory.published(self.index);
        }
        pushed.is_some()
    }

    /// Takes the newest job if it is this one and nobody else can see it.
    #[inline]
    pub(crate) fn take_private(&self, job: *mut ()) -> bool {
        // SAFETY: as in `push`.
        unsafe { self.deque().take_private(job) }
    }

    /// Takes the newest job.
    pub(crate) fn take(&self) -> Option<*mut ()> {
        // SAFETY: as in `push`.
        unsafe { self.deque().take() }
    }

    /// Whether others would find nothing to steal here.
    #[inline]
    pub(crate) fn is_bare(&self) -> bool {
        // SAFETY: as in `push`.
        unsafe { self.deque().is_bare() }
    }

    /// A position that all jobs pushed from now on have or are behind.
    pub(crate) fn mark(&self) -> u64 {
        // SAFETY: as in `push`.
        unsafe { self.deque().mark() }
    }

    /// Runs a job of its own deque that nobody waits for in this frame.
    ///
    /// # Safety
    /// It was just taken off the deque.
    pub(crate) unsafe fn run_own(&self, job: *mut ()) {
        let (job, abort) = (job.cast_const().cast::<Job>(), Abort);
        // SAFETY: who takes a job off a deque has it alone, and it stays until it has ended.
        let awaiting = unsafe {
            let kind = (*job).kind;
            (kind.run)(job);
            (kind.finish)(job, None)
        };
        self.ended(awaiting, self.index);
        std::mem::forget(abort);
    }

    /// Runs all jobs that were pushed since this mark and are still here.
    pub(crate) fn run_since(&self, mark: u64) {
        while self.mark() != mark {
            let Some(job) = self.take() else { return };
            // SAFETY: it was just taken.
            unsafe { self.run_own(job) };
        }
    }

    /// # Safety
    /// It was just taken off the deque of `victim`.
    unsafe fn run_stolen(&self, victim: usize, job: *const Job) {
        let abort = Abort;
        // SAFETY: who takes a job off a queue has it alone, and it stays until it has ended.
        let awaiting = unsafe {
            let kind = (*job).kind;
            (kind.taken)(job, self.index);
            (kind.run)(job);
            while let Some(left) = self.take() {
                self.run_own(left);
            }
            self.note(Entry::Idle);
            let awaiting = (kind.finish)(job, Some(self.index));
            self.deque().renew();
            awaiting
        };
        self.ended(awaiting, victim);
        std::mem::forget(abort);
    }

    fn ended(&self, awaiting: Awaiting, victim: usize) {
        match awaiting {
            Awaiting::Nobody => {}
            Awaiting::Victim => self.shared.dormitory.ended(victim),
            Awaiting::Worker(worker) => self.shared.dormitory.ended(worker),
        }
    }

    /// Looks once at each place where work may be; the last victim first.
    fn find(&self) -> Option<(usize, *const Job)> {
        let workers = self.shared.workers();
        let mut lost = true;
        while lost {
            lost = false;
            for step in 0..workers {
                let victim = (self.victim.get() + step) % workers;
                match self.shared.deques[victim].steal() {
                    Stolen::Job(job) => return Some(self.stole(victim, job)),
                    Stolen::Lost => lost = true,
                    Stolen::Nothing => {}
                }
            }
        }
        let job = self.shared.take_injected()?;
        self.note(Entry::Went);
        Some((self.index, job))
    }

    /// Notes a steal. If more is public there, another sleeper may have some.
    fn stole(&self, victim: usize, job: *mut ()) -> (usize, *const Job) {
        self.note(Entry::Took(victim as u32));
        self.victim.set(victim);
        self.shared.steals[self.index].0.fetch_add(1, Ordering::Relaxed);
        if self.shared.deques[victim].is_public() {
            self.shared.dormitory.published(victim);
        }
        (victim, job.cast_const().cast())
    }

    /// Notes what it does now, for a trace of the schedule.
    fn note(&self, entry: Entry) {
        self.shared.logs.note(self.index, entry);
    }

    /// Waits until it is done, and meanwhile runs what descends from it.
    #[cold]
    pub(crate) fn wait(&self, awaited: &dyn Awaited) {
        let (mut looks, mut slept) = (0, false);
        if awaited.is_done() {
            return;
        }
        self.note(Entry::Idle);
        while !awaited.is_done() {
            let mut found = None;
            awaited.steal(&self.shared, &mut |victim, ticket| {
                if let Stolen::Job(job) = self.shared.deques[victim].steal_at(ticket) {
                    found = Some(self.stole(victim, job));
                }
                found.is_some()
            });
            if let Some((victim, job)) = found {
                // SAFETY: it was just stolen.
                unsafe { self.run_stolen(victim, job) };
                looks = 0;
                continue;
            }
            slept |= looks == LOOKS;
            looks = self.rest(looks, awaited.until(), || self.may_go_on(awaited));
        }
        self.note(Entry::Went);
        if slept && self.shared.deques.iter().any(Jobs::is_public) {
            // It may have been woken in place of one who would have taken the job.
            self.shared.dormitory.published(self.index);
        }
    }

    fn may_go_on(&self, awaited: &dyn Awaited) -> bool {
        let mut has_work = false;
        awaited.steal(&self.shared, &mut |victim, _| {
            has_work = self.shared.deques[victim].is_public();
            has_work
        });
        has_work || awaited.is_done()
    }

    /// Pauses, the longer the more often it has looked, and at last sleeps.
    fn rest(&self, looks: u32, until: Option<Until>, ready: impl FnOnce() -> bool) -> u32 {
        match until {
            Some(until) if looks >= LOOKS => {
                self.shared.dormitory.sleep(self.index, until, ready);
                0
            }
            _ if looks > PAUSES => {
                thread::yield_now();
                looks + 1
            }
            _ => {
                (0..1 << looks).for_each(|_| std::hint::spin_loop());
                looks + 1
            }
        }
    }
}
