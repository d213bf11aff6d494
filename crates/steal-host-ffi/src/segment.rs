//! Making the memory that processes share, and the rules that all of them have.

use core::ffi::c_char;
use core::time::Duration;

use tidings_steal_host::{Rules, Search, Segment};

use crate::arguments::{path, place};
use crate::status::{TidingsHostError, TidingsHostStatus, Trouble, answered};

/// Whom a worker without tasks asks.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TidingsHostSearch {
    /// Two others at random; then neighbours send tasks when they have some, and it sleeps.
    Lifelines = 0,
    /// Others at random, with pauses that grow.
    Random = 1,
    /// Those that have most work, as each shows all; where nobody has enough, as lifelines.
    Known = 2,
    /// Others at random, more often those near, where each process stays on a processor.
    Nearest = 3,
}

/// What all processes of a segment have in common. All 0 is what is usual.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsHostRules {
    /// The most bytes of a task, up to 4,096; 0: 256.
    pub slot_bytes: u32,
    /// Bytes of the ring from each worker to each, a power of two from 4 KiB to 1 MiB; 0: as many
    /// as all together take 16 MiB, 4 to 64 KiB each.
    pub ring_bytes: u32,
    /// Whom a worker without tasks asks: a `TidingsHostSearch`.
    pub search: u32,
    /// Whether phases begin with what each worker ran in the last one of this name.
    pub retain: bool,
    /// How long workers wait for others that do not join, or do not enter, in milliseconds; 0: a
    /// minute.
    pub patience_ms: u32,
    /// What random draws begin with.
    pub seed: u64,
}

impl TidingsHostRules {
    fn rules(&self) -> Result<Rules, Trouble> {
        let searches = [Search::Lifelines, Search::Random, Search::Known, Search::Nearest];
        let search = searches.get(self.search as usize).copied();
        let search = search.ok_or_else(|| Trouble::argument("`search` is none of its kinds"))?;
        let usual = Rules::default();
        let or = |said: u32, usual: u32| if said == 0 { usual } else { said };
        let patience_ms = u64::from(or(self.patience_ms, usual.patience.as_millis() as u32));
        Ok(Rules {
            slot_bytes: or(self.slot_bytes, usual.slot_bytes),
            ring_bytes: (self.ring_bytes > 0).then_some(self.ring_bytes),
            search,
            retain: self.retain,
            patience: Duration::from_millis(patience_ms),
            seed: self.seed,
        })
    }
}

/// A segment, as its maker has it. Only pointers to it leave the library.
#[derive(Debug)]
pub struct TidingsHostSegment {
    #[expect(dead_code, reason = "it is held, not read")]
    segment: Segment,
}

/// Makes a segment for so many workers at `path`, best in /dev/shm, and writes it to `segment`. One
/// that is there already is replaced if none of its processes lives. `rules` may be null.
///
/// # Safety
/// Pointers are null or valid, and the path ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_segment_create(
    path: *const c_char,
    workers: u32,
    rules: *const TidingsHostRules,
    segment: *mut *mut TidingsHostSegment,
    error: *mut TidingsHostError,
) -> TidingsHostStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (at, to, rules) =
            unsafe { (self::path(path)?, place("segment", segment)?, rules.as_ref()) };
        *to = core::ptr::null_mut();
        let rules = rules.map_or_else(|| Ok(Rules::default()), TidingsHostRules::rules)?;
        let made = TidingsHostSegment { segment: Segment::create(at, workers, &rules)? };
        *to = Box::into_raw(Box::new(made));
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Takes the name of a segment away: nobody joins it any more, and who has joined keeps it. Null is
/// allowed.
///
/// # Safety
/// It is null, or from `tidings_host_segment_create` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_segment_free(segment: *mut TidingsHostSegment) {
    if !segment.is_null() {
        // SAFETY: it was made by `Box::into_raw` and not freed, as the caller promises.
        drop(unsafe { Box::from_raw(segment) });
    }
}
