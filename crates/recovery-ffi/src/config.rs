//! What a participant is told at its start, arrays, and plans as functions of C.

use core::ffi::{CStr, c_char, c_void};
use core::fmt;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use tidings_recovery::plan::MAX_OUTPUTS;
use tidings_recovery::{Array, Config, Kind, Loss, Mark, Place, Plan, Scheme};
use tidings_steal::victims::{BackOff, Selection};

/// The usual time of a message and its answer, in microseconds, and the longest.
const ROUND_TRIP_US: u64 = 10;
const LONGEST_US: u64 = 10_000_000;

/// Contributions on their way.
const MOST_PENDING: u32 = 64;

/// What is done when a death is learnt of.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TidingsRecoveryScheme {
    /// All go on, and what is missing when nothing is left runs then.
    Lazy = 0,
    /// All stop, and share out all that is missing.
    Collective = 1,
    /// Nobody stops: who began with lost tasks, or its backup, adds them again.
    NonCollective = 2,
}

/// What an element of an array is.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TidingsRecoveryKind {
    /// Integers of 64 bits, which wrap.
    Integers = 0,
    /// Doubles, whose sums differ by their rounding from order to order.
    Doubles = 1,
}

/// How a participant is made. All but `me` is the same at all; 0 is what is usual.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsRecoveryConfig {
    /// Its number, below `workers`.
    pub me: u32,
    /// How many there are.
    pub workers: u32,
    /// A `TidingsRecoveryScheme`.
    pub scheme: u32,
    /// Whether thieves ask their neighbours to send them tasks, instead of asking at random again.
    pub lifelines: bool,
    /// Of a message and its answer, in microseconds; 0: 10.
    pub round_trip_us: u64,
    /// Contributions of one participant on their way, at which it takes no more tasks; 0: 64.
    pub most_pending: u32,
    /// Of random draws.
    pub seed: u64,
}

impl TidingsRecoveryConfig {
    /// The participant's own configuration; `None` if a number is out of its range.
    pub(crate) fn core(&self) -> Option<Config> {
        let us = if self.round_trip_us == 0 { ROUND_TRIP_US } else { self.round_trip_us };
        if self.me >= self.workers || us > LONGEST_US {
            return None;
        }
        let scheme = *Scheme::ALL.get(self.scheme as usize)?;
        let selection = if self.lifelines {
            Selection::Lifelines { tries: 2 }
        } else {
            Selection::Random(BackOff { first_us: us, most_us: 16 * us })
        };
        let most = if self.most_pending == 0 { MOST_PENDING } else { self.most_pending };
        let config = Config::new(tidings_steal::Config::new(selection, us), scheme);
        Some(Config { most_pending: most as usize, ..config })
    }
}

/// An array of blocks, of zeros at first.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsRecoveryArray {
    /// What errors call it, up to a null character.
    pub name: *const c_char,
    /// How many blocks it has.
    pub blocks: u32,
    /// Elements of a block.
    pub words: u32,
    /// A `TidingsRecoveryKind`.
    pub kind: u32,
    /// Whether each block has a copy at another participant.
    pub copied: bool,
    /// Whether a block of which no copy is left begins again if it was zero when the phase began;
    /// else the phase is refused then.
    pub recompute: bool,
}

impl TidingsRecoveryArray {
    /// # Safety
    /// `name` is null or ends with a null character.
    pub(crate) unsafe fn array(&self) -> Option<Array> {
        if self.name.is_null() {
            return None;
        }
        // SAFETY: as the caller promises.
        let name = unsafe { CStr::from_ptr(self.name) }.to_string_lossy().into_owned();
        let kind = match self.kind {
            0 => Kind::Integers,
            1 => Kind::Doubles,
            _ => return None,
        };
        let loss = if self.recompute { Loss::Recompute } else { Loss::Refuse };
        let (blocks, words, copied) = (self.blocks, self.words, self.copied);
        Some(Array { name, blocks, words, kind, copied, loss })
    }
}

/// The place of a block.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TidingsRecoveryPlace {
    /// The number of its array.
    pub array: u16,
    /// Its number in the array.
    pub block: u32,
}

impl From<TidingsRecoveryPlace> for Place {
    fn from(place: TidingsRecoveryPlace) -> Self {
        Self { array: place.array, block: place.block }
    }
}

/// What a phase declares: functions that say the same at all participants, and do not change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsRecoveryPlan {
    /// Passed to the functions; it stays until the next phase begins.
    pub user: *mut c_void,
    /// How many tasks there are; they are numbered from 0.
    pub tasks: u64,
    /// Writes the places of the blocks to which a task adds, in an order that does not change, to
    /// `places`, which has room for 255; how many there are.
    pub outputs: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            task: u64,
            places: *mut TidingsRecoveryPlace,
        ) -> usize,
    >,
    /// How long a task is predicted to run, in nanoseconds; may be null.
    pub work_ns: Option<unsafe extern "C" fn(user: *mut c_void, task: u64) -> u64>,
}

/// A plan of C, with who adds to each block, once somebody has asked.
pub(crate) struct Declared {
    plan: TidingsRecoveryPlan,
    contributors: OnceLock<BTreeMap<Place, Vec<Mark>>>,
}

// SAFETY: a participant is used by one thread at a time, as the library's caller promises, and so
// are its plan and what `user` points to.
unsafe impl Send for Declared {}
// SAFETY: as above.
unsafe impl Sync for Declared {}

impl fmt::Debug for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Declared").field("tasks", &self.plan.tasks).finish_non_exhaustive()
    }
}

impl Declared {
    /// `None` without the function that names outputs.
    pub(crate) fn new(plan: TidingsRecoveryPlan) -> Option<Self> {
        plan.outputs.is_some().then(|| Self { plan, contributors: OnceLock::new() })
    }
}

impl Plan for Declared {
    fn tasks(&self) -> u64 {
        self.plan.tasks
    }

    fn outputs(&self, task: u64) -> Vec<Place> {
        let mut places = [TidingsRecoveryPlace::default(); MAX_OUTPUTS];
        let Some(outputs) = self.plan.outputs else { return Vec::new() };
        // SAFETY: who passes a plan promises that its function may be called so.
        let count = unsafe { outputs(self.plan.user, task, places.as_mut_ptr()) };
        places.iter().take(count).map(|place| Place::from(*place)).collect()
    }

    fn work_ns(&self, task: u64) -> u64 {
        // SAFETY: as in `outputs`.
        self.plan.work_ns.map_or(0, |work_ns| unsafe { work_ns(self.plan.user, task) })
    }

    fn contributors(&self, place: Place) -> Vec<Mark> {
        let all = self.contributors.get_or_init(|| {
            let mut all = BTreeMap::<Place, Vec<Mark>>::new();
            for task in 0..self.tasks() {
                for (output, place) in (0..=u8::MAX).zip(self.outputs(task)) {
                    all.entry(place).or_default().push(Mark { task, output });
                }
            }
            all
        });
        all.get(&place).cloned().unwrap_or_default()
    }
}
