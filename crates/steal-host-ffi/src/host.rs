//! A process that has joined: what it begins with, phases, and what all show each other.

use core::ffi::{c_char, c_void};

use tidings_steal_host::{Body, Counters, Frame, Host, Seeding};

use crate::arguments::{all, frame, path, place, room, text};
use crate::status::{TidingsHostError, TidingsHostStatus, Trouble, answered};
use crate::task::{Program, TidingsHostBody};

/// A process as a worker. Only pointers to it leave the library.
#[derive(Debug)]
pub struct TidingsHost {
    /// `None` where a call has gone wrong inside.
    host: Option<Host>,
    /// What the next phase begins with.
    list: Vec<Frame>,
    workers: u32,
}

/// With what a phase began.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TidingsHostSeeding {
    /// What each ran in the phase of this name before.
    Retained = 0,
    /// What each added: retention was not asked for.
    Given = 1,
    /// What each added: there was no phase of this name before.
    First = 2,
    /// What each added: other workers took part then.
    OtherWorkers = 3,
    /// What each added: there were more tasks then, or fewer.
    OtherNumber = 4,
    /// What each added: there were as many tasks then, but others.
    OtherTasks = 5,
}

/// What a phase did in this process.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsHostPhase {
    /// With what it began: a `TidingsHostSeeding`.
    pub seeding: u32,
    /// From when all had entered until all had left, in nanoseconds.
    pub took_ns: u64,
    /// Tasks that ran here, each step counted.
    pub executed: u64,
    /// Tasks that were spawned here.
    pub spawned: u64,
    /// Requests to others for tasks.
    pub attempts: u64,
    /// Those that brought some.
    pub steals: u64,
    /// Times that others sent some unasked.
    pub pushed: u64,
    /// Tasks that came, by request or not.
    pub tasks_in: u64,
}

impl TidingsHost {
    /// Does what only a whole host does; a panic in it ends this worker.
    pub(crate) fn with<T>(
        &mut self,
        what: impl FnOnce(&mut Host) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        // While it is called the host is not here, so a panic drops it, which tells the others.
        let mut host = self.host.take().ok_or_else(Trouble::broken)?;
        let done = what(&mut host);
        self.host = Some(host);
        done
    }
}

fn difference(before: Counters, now: Counters) -> TidingsHostPhase {
    TidingsHostPhase {
        seeding: 0,
        took_ns: 0,
        executed: now.executed - before.executed,
        spawned: now.spawned - before.spawned,
        attempts: now.attempts - before.attempts,
        steals: now.steals - before.steals,
        pushed: now.pushed - before.pushed,
        tasks_in: now.tasks_in - before.tasks_in,
    }
}

/// Joins the segment at `path`, which is for so many workers, waits until all have, and writes what
/// stands for this process to `host`.
///
/// # Safety
/// Pointers are null or valid, and the path ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_join(
    path: *const c_char,
    workers: u32,
    host: *mut *mut TidingsHost,
    error: *mut TidingsHostError,
) -> TidingsHostStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (at, to) = unsafe { (self::path(path)?, place("host", host)?) };
        *to = core::ptr::null_mut();
        let joined = Host::join(at, workers)?;
        let made = TidingsHost { host: Some(joined), list: Vec::new(), workers };
        *to = Box::into_raw(Box::new(made));
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Leaves for good. Null is allowed.
///
/// # Safety
/// It is null, or from `tidings_host_join`, was not freed, and no function of tasks runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_leave(host: *mut TidingsHost) {
    if !host.is_null() {
        // SAFETY: it was made by `Box::into_raw` and not freed, as the caller promises.
        drop(unsafe { Box::from_raw(host) });
    }
}

/// The number of this worker, from 0 on; `UINT32_MAX` if it takes part no more.
///
/// # Safety
/// As [`tidings_host_leave`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_number(host: *const TidingsHost) -> u32 {
    // SAFETY: as the caller promises.
    let host = unsafe { host.as_ref() }.and_then(|host| host.host.as_ref());
    host.map_or(u32::MAX, Host::number)
}

/// Whether it was said that a worker has ended. The first who has not is the one for what only one
/// of them does.
///
/// # Safety
/// As [`tidings_host_leave`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_is_lost(host: *const TidingsHost, worker: u32) -> bool {
    // SAFETY: as the caller promises.
    let host = unsafe { host.as_ref() }.and_then(|host| host.host.as_ref());
    host.is_none_or(|host| worker >= host.workers() || host.lost().any(|lost| lost == worker))
}

/// Adds a task, whose bytes are copied, to those with which this process begins the next phase. It
/// is predicted to run for `work_ns` nanoseconds, 0 if nobody knows.
///
/// # Safety
/// As [`tidings_host_leave`]; `state` is null or has `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_add(
    host: *mut TidingsHost,
    function: u16,
    work_ns: u64,
    state: *const c_void,
    bytes: usize,
) -> TidingsHostStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (host, frame) =
            unsafe { (place("host", host)?, frame(function, work_ns, (state, bytes))?) };
        host.list.push(frame);
        Ok(())
    };
    // SAFETY: null is allowed.
    unsafe { answered(core::ptr::null_mut(), call) }
}

/// Enters a phase with what was added, and returns when nothing is left of it anywhere. All enter
/// the same ones in the same order, with as many functions, which tasks name by their places.
/// Phases of one name are iterations of one computation. `phase` may be null.
///
/// # Safety
/// As [`tidings_host_leave`]; the name ends with a zero byte; there are so many functions, which
/// may be called with `user`, and leave neither by an exception nor by longjmp.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_phase(
    host: *mut TidingsHost,
    name: *const c_char,
    functions: *const TidingsHostBody,
    count: usize,
    user: *mut c_void,
    phase: *mut TidingsHostPhase,
    error: *mut TidingsHostError,
) -> TidingsHostStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (host, name, to) =
            unsafe { (place("host", host)?, text("the name", name)?, phase.as_mut()) };
        // SAFETY: as the caller promises.
        let mut program = Program::new(unsafe { all("functions", functions, count) }?, user)?;
        let bodies = vec![Program::run as Body<Program>; program.bodies.len()];
        let list = core::mem::take(&mut host.list);
        host.with(|host| {
            let before = host.counters();
            let done = host.phase(name, list, &bodies, &mut program);
            if let Some(to) = to {
                *to = difference(before, host.counters());
                if let Ok(phase) = &done {
                    to.seeding = seeding(phase.seeding) as u32;
                    to.took_ns = u64::try_from(phase.took.as_nanos()).unwrap_or(u64::MAX);
                }
            }
            done.map(|_| ()).map_err(Trouble::from)
        })
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

fn seeding(seeding: Seeding) -> TidingsHostSeeding {
    match seeding {
        Seeding::Retained => TidingsHostSeeding::Retained,
        Seeding::Given => TidingsHostSeeding::Given,
        Seeding::First => TidingsHostSeeding::First,
        Seeding::OtherWorkers => TidingsHostSeeding::OtherWorkers,
        Seeding::OtherNumber => TidingsHostSeeding::OtherNumber,
        Seeding::OtherTasks => TidingsHostSeeding::OtherTasks,
    }
}

/// Meets all others and shows them `count` words, up to 512; writes what each shows, by number, to
/// `shown`, which has room for `workers` times as many. Those of a worker that is lost are 0.
///
/// # Safety
/// As [`tidings_host_leave`]; `words` has so many, and `shown` as much room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_gather(
    host: *mut TidingsHost,
    words: *const u64,
    count: usize,
    shown: *mut u64,
    error: *mut TidingsHostError,
) -> TidingsHostStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (host, words) = unsafe { (place("host", host)?, all("words", words, count)?) };
        let shown_words = count.saturating_mul(host.workers as usize);
        // SAFETY: as the caller promises.
        let to = unsafe { room("shown", shown, shown_words) }?;
        let all = host.with(|host| Ok(host.gather(words)?))?;
        to.fill(0);
        for (to, shown) in to.chunks_mut(count.max(1)).zip(all) {
            to.copy_from_slice(&shown.unwrap_or_else(|| vec![0; count]));
        }
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Has all meet, and the first of them write what all did in the last phase, which had this name,
/// to a file, which `python -m tidings.steals` reads.
///
/// # Safety
/// As [`tidings_host_leave`]; name and path end with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_trace(
    host: *mut TidingsHost,
    name: *const c_char,
    path: *const c_char,
    error: *mut TidingsHostError,
) -> TidingsHostStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (host, name, path) =
            unsafe { (place("host", host)?, text("the name", name)?, self::path(path)?) };
        host.with(|host| {
            let file = host.trace(name)?;
            if host.is_first() {
                std::fs::write(path, file.encode()).map_err(|why| Trouble::file(path, &why))?;
            }
            Ok(())
        })
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Meets all others: after it, each sees what all have done before it.
///
/// # Safety
/// As [`tidings_host_leave`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_sync(
    host: *mut TidingsHost,
    error: *mut TidingsHostError,
) -> TidingsHostStatus {
    // SAFETY: as the caller promises.
    let call = || unsafe { place("host", host)? }.with(|host| Ok(host.sync()?));
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}
