//! The ranks of a communicator as workers, and their phases.

use core::cell::Cell;
use core::ffi::c_int;
use core::marker::PhantomData;
use core::ptr;
use std::ffi::CString;

use tidings_steal::Frame;
use tidings_steal_c::{
    TidingsStealCounters as Counters, TidingsStealHalf as Half, TidingsStealSelection as Selection,
};

use crate::communicator::Communicator;
use crate::error::{Error, Refused};
use crate::sys::{self, StealBalancing, StealError, StealOptions, StealPhase};
use crate::task::{Body, Function, run};

/// How ranks share tasks; the same on all. Numbers that are 0 are what is usual.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Whom a rank without tasks asks.
    pub selection: Selection,
    /// What it gets.
    pub half: Half,
    /// A phase begins with what each rank ran in the last one of this name.
    pub retain: bool,
    /// Thieves take tasks from windows, as far as there are some, whatever their owners do; without
    /// effect where victims are known or phases retained, or where deaths are survived.
    pub one_sided: bool,
    /// The most bytes of a task, up to 4,096; usually 256.
    pub slot_bytes: u32,
    /// Between two looks for messages while tasks run, in microseconds; usually 5.
    pub poll_us: u32,
    /// Until ranks that do not enter a phase are an error, in milliseconds; usually a minute.
    pub enter_ms: u32,
    /// Of the ranks' gossip, where victims are selected by it, in microseconds; usually 10,000.
    pub unit_us: u32,
    /// Of random draws.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            selection: Selection::Random,
            half: Half::Work,
            retain: false,
            one_sided: false,
            slot_bytes: 0,
            poll_us: 0,
            enter_ms: 0,
            unit_us: 0,
            seed: 0,
        }
    }
}

/// What a phase did on this rank.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Phase {
    /// From entering to returning.
    pub seconds: f64,
    /// In tasks.
    pub work_seconds: f64,
    /// For answers of ranks that were asked for tasks.
    pub waiting_seconds: f64,
    /// Of these, for those that brought tasks.
    pub stealing_seconds: f64,
    /// Until all had entered.
    pub enter_seconds: f64,
    /// Messages that this rank sent.
    pub messages: u64,
    /// Of them.
    pub bytes: u64,
    /// Of this phase.
    pub counters: Counters,
}

/// What a balancing has done.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Balancing {
    /// Tasks that went to another rank.
    pub moved: u64,
    /// The largest sum of what tasks of a rank took, in those of the mean, before it.
    pub before: f64,
    /// The same afterwards.
    pub after: f64,
    /// What it took on this rank.
    pub seconds: f64,
    /// That this rank sent.
    pub bytes: u64,
}

/// The ranks of a communicator as workers. `T` is what each rank has, which its tasks change.
#[derive(Debug)]
pub struct Ranks<'mpi, T> {
    steal: *mut sys::Steal,
    rank: u32,
    size: u32,
    /// Where `T` is during a phase; null outside.
    own: Box<Cell<*mut T>>,
    /// At places that the library knows.
    functions: Box<[Function<T>]>,
    comm: PhantomData<Communicator<'mpi>>,
}

impl<T> core::fmt::Debug for Function<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Function")
    }
}

impl<'mpi, T> Ranks<'mpi, T> {
    /// Opens a duplicate of a communicator. Tasks name the functions by their places in `bodies`.
    /// Collective; if one rank fails, all do.
    ///
    /// # Errors
    /// If there is no memory, MPI refuses, options are out of range, or there are more than 1,024
    /// functions.
    pub fn open(
        comm: Communicator<'mpi>,
        options: &Options,
        bodies: &[Body<T>],
    ) -> Result<Self, Error> {
        let (options, mut error) = (as_in_c(options), StealError::NONE);
        let mut steal = ptr::null_mut();
        // SAFETY: the places are this function's.
        let status = unsafe {
            sys::tidings_steal_open_fortran(
                comm.fortran(),
                &raw const options,
                &raw mut steal,
                &raw mut error,
            )
        };
        if status != 0 {
            return Err(Error::Failed { status, text: error.said() });
        }
        let own = Box::new(Cell::new(ptr::null_mut()));
        let functions: Box<[Function<T>]> =
            bodies.iter().map(|body| Function { body: *body, own: &raw const *own }).collect();
        let (rank, size) = comm.shape();
        let made = Self { steal, rank, size, own, functions, comm: PhantomData };
        made.register()?;
        Ok(made)
    }

    fn register(&self) -> Result<(), Error> {
        for function in &self.functions {
            let (mut number, user) = (0, (&raw const *function).cast_mut().cast());
            // SAFETY: the function stays at its place as long as the ranks are open.
            let status =
                unsafe { sys::tidings_steal_function(self.steal, run::<T>, user, &raw mut number) };
            if status != 0 {
                return Err(Error::of(status));
            }
        }
        Ok(())
    }

    /// The number of this rank.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// How many there are.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.size
    }

    /// Enters a phase with these tasks, and returns when nothing is left of it on any rank. Its
    /// tasks are given `own`. Collective.
    ///
    /// # Errors
    /// If a task is refused, and nothing was begun; if ranks do not enter it, or enter another; if
    /// ranks died.
    pub fn phase(&mut self, name: &str, list: &[Frame], own: &mut T) -> Result<Phase, Error> {
        let name = CString::new(name).map_err(|_| Error::of(CONFIGURATION))?;
        for frame in list {
            self.add(frame).map_err(|refused| Error::of(refused.status))?;
        }
        let (mut phase, mut error) = (StealPhase::default(), StealError::NONE);
        self.own.set(own);
        // SAFETY: the places are this function's; tasks use `own`, which is lent here, until it
        // returns.
        let status = unsafe {
            sys::tidings_steal_phase(self.steal, name.as_ptr(), &raw mut phase, &raw mut error)
        };
        self.own.set(ptr::null_mut());
        let StealPhase { deaths, lost_tasks: tasks, lost_finishes: finishes, .. } = phase;
        match status {
            0 => Ok(Phase::from(phase)),
            sys::LOST => Err(Error::Lost { deaths, tasks, finishes, text: error.said() }),
            _ => Err(Error::Failed { status, text: error.said() }),
        }
    }

    /// Has tasks that ranks ran in the last phase of this name go to others, until what they took
    /// is about equal; nothing moves before the first. Collective, for ranks opened with `retain`
    /// and where deaths are not survived.
    ///
    /// # Errors
    /// If ranks do not take part, or name another phase; the next one then begins with what it is
    /// given.
    pub fn balance(&mut self, name: &str) -> Result<Balancing, Error> {
        let name = CString::new(name).map_err(|_| Error::of(CONFIGURATION))?;
        let (mut done, mut error) = (StealBalancing::default(), StealError::NONE);
        // SAFETY: the places are this function's.
        let status = unsafe {
            sys::tidings_steal_balance(self.steal, name.as_ptr(), &raw mut done, &raw mut error)
        };
        let StealBalancing { moved, before, after, seconds, bytes } = done;
        match status {
            0 => Ok(Balancing { moved, before, after, seconds, bytes }),
            _ => Err(Error::Failed { status, text: error.said() }),
        }
    }

    fn add(&mut self, frame: &Frame) -> Result<(), Refused> {
        let state = frame.state.bytes();
        // SAFETY: the bytes are copied.
        Refused::unless_done(unsafe {
            sys::tidings_steal_add(
                self.steal,
                frame.function,
                frame.work_ns,
                state.as_ptr().cast(),
                state.len(),
            )
        })
    }

    /// Whether phases go on when a rank dies; the same on all ranks.
    #[must_use]
    pub fn survives(&self) -> bool {
        // SAFETY: the ranks are open.
        unsafe { sys::tidings_steal_survives(self.steal) }
    }

    /// Makes a communicator of the ranks that live. Collective among them.
    ///
    /// # Errors
    /// If MPI refuses.
    pub fn living(&mut self) -> Result<Communicator<'mpi>, Error> {
        let mut living = 0;
        // SAFETY: the place is this function's.
        match unsafe { sys::tidings_steal_living_fortran(self.steal, &raw mut living) } {
            0 => Ok(Communicator::of(living)),
            status => Err(Error::of(status)),
        }
    }
}

impl<T> Drop for Ranks<'_, T> {
    /// Collective.
    fn drop(&mut self) {
        // SAFETY: the ranks are open, and are not used any more.
        unsafe { sys::tidings_steal_close(self.steal) };
    }
}

/// `TIDINGS_STEAL_STATUS_CONFIGURATION`.
const CONFIGURATION: c_int = tidings_steal_c::TidingsStealStatus::Configuration as c_int;

fn as_in_c(options: &Options) -> StealOptions {
    StealOptions {
        selection: options.selection as u32,
        half: options.half as u32,
        retain: options.retain,
        one_sided: options.one_sided,
        slot_bytes: options.slot_bytes,
        round_trip_us: 0,
        poll_us: options.poll_us,
        enter_ms: options.enter_ms,
        unit_us: options.unit_us,
        seed: options.seed,
    }
}

impl From<StealPhase> for Phase {
    fn from(phase: StealPhase) -> Self {
        Self {
            seconds: phase.seconds,
            work_seconds: phase.work_seconds,
            waiting_seconds: phase.waiting_seconds,
            stealing_seconds: phase.stealing_seconds,
            enter_seconds: phase.enter_seconds,
            messages: phase.messages,
            bytes: phase.bytes,
            counters: phase.counters,
        }
    }
}
