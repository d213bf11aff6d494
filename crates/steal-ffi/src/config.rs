//! What a worker is told at its start, and the board that it may look at.

use core::ffi::c_void;

use tidings_steal::queue::Half;
use tidings_steal::victims::{Board, Entry};
use tidings_steal::{Config, Selection, config};

/// How victims are selected.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TidingsStealSelection {
    /// Any worker with the same probability, with pauses that grow.
    Random = 0,
    /// Some attempts at random, then neighbours in a hypercube send tasks when they have some.
    Lifelines = 1,
    /// Those that have most work, as the board says; without a board, or where its entries are too
    /// old, as lifelines.
    Known = 2,
    /// The nearest of some at random, of fewer after each refusal, as the board says how far they
    /// are, with pauses that grow; without a board by their numbers.
    Nearest = 3,
}

/// What a thief gets half of.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TidingsStealHalf {
    /// The predicted work.
    Work = 0,
    /// The number of tasks.
    Count = 1,
}

/// What a worker is told at its start. All but `me` is the same at all workers. Where it says so, 0
/// stands for what is usual.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsStealConfig {
    /// The number of this worker.
    pub me: u32,
    /// How many there are, at least 1.
    pub workers: u32,
    /// What random draws begin with.
    pub seed: u64,
    /// How victims are selected: a `TidingsStealSelection`.
    pub selection: u32,
    /// What a thief gets half of: a `TidingsStealHalf`.
    pub half: u32,
    /// How long a request and its answer take, in microseconds, 1 to 1,000,000; 0: 10.
    pub round_trip_us: u64,
    /// The most bytes of a task, up to 4,096; 0: 256.
    pub slot_bytes: u32,
    /// Whether a phase begins with what each worker ran in the phase of the same name before.
    pub retain: bool,
}

/// The usual time of a request and its answer.
const ROUND_TRIP_US: u64 = 10;

/// The longest that is believed.
const LONGEST_US: u64 = 1_000_000;

impl TidingsStealConfig {
    /// The worker's own configuration; `None` if a number is out of its range.
    pub(crate) fn core(&self) -> Option<Config> {
        let round_trip_us =
            if self.round_trip_us == 0 { ROUND_TRIP_US } else { self.round_trip_us };
        let fits = self.me < self.workers
            && round_trip_us <= LONGEST_US
            && self.slot_bytes as usize <= tidings_steal::frame::MAX_STATE_BYTES;
        if !fits {
            return None;
        }
        let mut core = Config::new(self.selection(round_trip_us)?, round_trip_us);
        core.sharing.half = self.half()?;
        core.retain = self.retain;
        if self.slot_bytes > 0 {
            core.slot_bytes = self.slot_bytes as usize;
        }
        Some(core)
    }

    fn selection(&self, round_trip_us: u64) -> Option<Selection> {
        const RANDOM: u32 = TidingsStealSelection::Random as u32;
        const LIFELINES: u32 = TidingsStealSelection::Lifelines as u32;
        const KNOWN: u32 = TidingsStealSelection::Known as u32;
        const NEAREST: u32 = TidingsStealSelection::Nearest as u32;
        match self.selection {
            RANDOM => Some(config::random(round_trip_us)),
            LIFELINES => Some(config::lifelines()),
            KNOWN => Some(config::known(round_trip_us)),
            NEAREST => Some(config::nearest(round_trip_us)),
            _ => None,
        }
    }

    fn half(&self) -> Option<Half> {
        const WORK: u32 = TidingsStealHalf::Work as u32;
        const COUNT: u32 = TidingsStealHalf::Count as u32;
        match self.half {
            WORK => Some(Half::Work),
            COUNT => Some(Half::Count),
            _ => None,
        }
    }
}

/// What the program knows of others: functions that are asked for one at a time. Null where nothing
/// is known.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsStealBoard {
    /// Passed to the functions.
    pub user: *mut c_void,
    /// Writes how much work worker `worker` had, in nanoseconds (what
    /// `tidings_steal_worker_remaining_ns` said there), and how many microseconds ago; false if
    /// nothing is known of it.
    pub entry: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            worker: u32,
            work_ns: *mut u64,
            age_us: *mut u64,
        ) -> bool,
    >,
    /// How far two workers are from each other, in any unit; null: as far as their numbers.
    pub distance: Option<unsafe extern "C" fn(user: *mut c_void, one: u32, other: u32) -> u32>,
}

impl Board for TidingsStealBoard {
    fn entry(&self, worker: u32) -> Option<Entry> {
        let (mut work_ns, mut age_us) = (0, 0);
        // SAFETY: who passes a board promises that its function may be called so.
        let known = unsafe { (self.entry?)(self.user, worker, &raw mut work_ns, &raw mut age_us) };
        known.then_some(Entry { work_ns, age_us })
    }

    fn distance(&self, one: u32, other: u32) -> u32 {
        let Some(distance) = self.distance else { return one.abs_diff(other) };
        // SAFETY: as above.
        unsafe { distance(self.user, one, other) }
    }
}
