//! Making, turning and ending a worker.

use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

use tidings_primitives::Instant;
use tidings_steal::balance::wire::Task;
use tidings_steal::trace::File;
use tidings_steal::{Balancing, Board, Done, Frame, Message, NoBoard, TooLarge, Trace, Worker};

use crate::config::{TidingsStealBoard, TidingsStealConfig};
use crate::output::{TidingsStealCounters, TidingsStealOutput};
use crate::status::TidingsStealStatus;
use crate::task::TidingsStealTask;

/// A worker. Only pointers to it leave the library.
pub struct TidingsStealWorker {
    pub(crate) worker: Worker,
    /// What the next phase begins with.
    list: Vec<Frame>,
    /// The task that runs, whose bytes the program reads.
    running: Option<Frame>,
    /// The message that the program sends.
    pub(crate) message: Vec<u8>,
    pub(crate) slot_bytes: usize,
    pub(crate) me: u32,
    pub(crate) workers: u32,
    /// A balancing between two phases.
    pub(crate) balancing: Option<Balancing>,
    /// What it sends to those below in the tree.
    pub(crate) down: std::vec::IntoIter<Vec<Task>>,
    broken: bool,
}

/// What there is to do is done by a call.
pub(crate) type Answer = Result<(), TidingsStealStatus>;

impl TidingsStealWorker {
    fn new(config: &TidingsStealConfig) -> Option<Self> {
        let core = config.core()?;
        Some(Self {
            worker: Worker::new(config.me, config.workers, &core, config.seed),
            list: Vec::new(),
            running: None,
            message: Vec::new(),
            slot_bytes: core.slot_bytes,
            me: config.me,
            workers: config.workers,
            balancing: None,
            down: Vec::new().into_iter(),
            broken: false,
        })
    }

    /// Does `what` unless an earlier call went wrong inside; a panic in it breaks the worker.
    fn guarded(&mut self, what: impl FnOnce(&mut Self) -> Answer) -> TidingsStealStatus {
        if self.broken {
            return TidingsStealStatus::Broken;
        }
        // A broken worker is never looked at again, so it does not matter how the panic left it.
        match catch_unwind(AssertUnwindSafe(|| what(self))) {
            Ok(Ok(())) => TidingsStealStatus::Ok,
            Ok(Err(status)) => status,
            Err(_) => {
                self.broken = true;
                TidingsStealStatus::Broken
            }
        }
    }

    fn begin(&mut self, name: &str, now_us: u64) -> Answer {
        let list = core::mem::take(&mut self.list);
        // One that was given up: what it had is not what all kept, so all begin with these tasks.
        self.balancing = None;
        Ok(self.worker.begin(name, list, instant(now_us))?)
    }

    fn next(&mut self, now_us: u64, board: &dyn Board) -> Option<TidingsStealTask> {
        self.running = self.worker.next_task(instant(now_us), board);
        self.running.as_ref().map(TidingsStealTask::of)
    }

    fn add(&mut self, frame: Frame) -> Answer {
        let bytes = frame.state.bytes().len();
        if bytes > self.slot_bytes {
            return Err(TidingsStealStatus::TooLarge);
        }
        self.list.push(frame);
        Ok(())
    }

    /// What it did.
    pub(crate) fn trace(&self) -> &Trace {
        self.worker.trace()
    }

    /// In the next phase it does what a file says.
    pub(crate) fn replay(&mut self, program: u64, file: &[u8]) -> Answer {
        let scripts = File::scripts(file, program, self.workers)?;
        // There are as many scripts as workers, and each worker's number is below theirs.
        let own = scripts.into_iter().nth(self.me as usize).ok_or(TidingsStealStatus::Broken)?;
        self.worker.replay(own);
        Ok(())
    }

    /// Whether its task may neither spawn nor end before a message has come.
    pub(crate) fn waits(&self) -> bool {
        self.worker.waits()
    }

    fn finished(&mut self, done: Done, took_ns: u64) -> Answer {
        self.worker.finished(done, took_ns)?;
        self.running = None;
        Ok(())
    }
}

/// A time of the program's clock, in microseconds from any beginning.
fn instant(now_us: u64) -> Instant {
    // 300 years are enough.
    Instant::EPOCH + Duration::from_micros(now_us.min(i64::MAX as u64 / 4))
}

/// Does `what` with the worker behind `worker`.
///
/// # Safety
/// `worker` is null or from `tidings_steal_worker_new`, was not freed, and nobody else uses it.
pub(crate) unsafe fn with(
    worker: *mut TidingsStealWorker,
    what: impl FnOnce(&mut TidingsStealWorker) -> Answer,
) -> TidingsStealStatus {
    // SAFETY: the caller promises that it points to a worker that nobody else uses, or is null.
    match unsafe { worker.as_mut() } {
        Some(worker) => worker.guarded(what),
        None => TidingsStealStatus::Null,
    }
}

/// Does `make`, and if that says so writes where the worker's message begins, until the next call
/// with it, and its bytes; else none.
///
/// # Safety
/// As [`with`]; `message` and `bytes` are null or valid.
pub(crate) unsafe fn with_message(
    worker: *mut TidingsStealWorker,
    message: *mut *const u8,
    bytes: *mut usize,
    make: impl FnOnce(&mut TidingsStealWorker) -> Result<bool, TidingsStealStatus>,
) -> TidingsStealStatus {
    // SAFETY: both are null or valid, as the caller promises.
    let (Some(message), Some(bytes)) = (unsafe { message.as_mut() }, unsafe { bytes.as_mut() })
    else {
        return TidingsStealStatus::Null;
    };
    (*message, *bytes) = (ptr::null(), 0);
    let show = |worker: &mut TidingsStealWorker| {
        if make(worker)? {
            (*message, *bytes) = (worker.message.as_ptr(), worker.message.len());
        }
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(worker, show) }
}

/// The name of a phase.
pub(crate) fn text(name: &[u8]) -> Result<&str, TidingsStealStatus> {
    core::str::from_utf8(name).map_err(|_| TidingsStealStatus::Malformed)
}

/// The frame of a task of the program.
///
/// # Safety
/// `task` is null or valid, and its `state` is null or has `bytes` bytes.
unsafe fn frame(task: *const TidingsStealTask) -> Result<Frame, TidingsStealStatus> {
    // SAFETY: as the caller promises.
    let frame = unsafe { task.as_ref().and_then(|task| task.frame()) };
    frame.ok_or(TidingsStealStatus::Null)?.map_err(|_: TooLarge| TidingsStealStatus::TooLarge)
}

/// Makes a worker and writes it to `worker`; null if that cannot be.
///
/// # Safety
/// `config` and `worker` are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_new(
    config: *const TidingsStealConfig,
    worker: *mut *mut TidingsStealWorker,
) -> TidingsStealStatus {
    // SAFETY: both are null or valid, as the caller promises.
    let (Some(config), Some(to)) = (unsafe { config.as_ref() }, unsafe { worker.as_mut() }) else {
        return TidingsStealStatus::Null;
    };
    *to = ptr::null_mut();
    match catch_unwind(|| TidingsStealWorker::new(config)) {
        Ok(Some(made)) => {
            *to = Box::into_raw(Box::new(made));
            TidingsStealStatus::Ok
        }
        Ok(None) => TidingsStealStatus::Configuration,
        Err(_) => TidingsStealStatus::Broken,
    }
}

/// Ends a worker and gives its memory back. Null is allowed.
///
/// # Safety
/// `worker` is null or from `tidings_steal_worker_new`, was not freed, and is in use by nobody.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_free(worker: *mut TidingsStealWorker) {
    if !worker.is_null() {
        // SAFETY: it was made by `Box::into_raw` and not freed, as the caller promises.
        drop(unsafe { Box::from_raw(worker) });
    }
}

/// Adds a task, whose bytes are copied, to those with which this worker begins the next phase.
///
/// # Safety
/// As [`tidings_steal_worker_free`]; `task` is null or valid, and its `state` is null or has
/// `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_add(
    worker: *mut TidingsStealWorker,
    task: *const TidingsStealTask,
) -> TidingsStealStatus {
    // SAFETY: as the caller promises.
    unsafe { with(worker, |worker| worker.add(frame(task)?)) }
}

/// Enters the next phase. All workers have to; `name` (`name_bytes` bytes of UTF-8) is the same at
/// all. Phases of one name are iterations of one computation.
///
/// # Safety
/// As [`tidings_steal_worker_free`]; `name` is null or has `name_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_begin(
    worker: *mut TidingsStealWorker,
    name: *const u8,
    name_bytes: usize,
    now_us: u64,
) -> TidingsStealStatus {
    if name.is_null() {
        return TidingsStealStatus::Null;
    }
    // SAFETY: it is not null and has that many bytes, as the caller promises.
    let name = unsafe { slice::from_raw_parts(name, name_bytes) };
    // SAFETY: as the caller promises.
    unsafe { with(worker, |worker| worker.begin(text(name)?, now_us)) }
}

/// Writes the task that is to run now to `task`; true if there is one. It runs until a
/// `tidings_steal_worker_finished`, and its bytes stay so long. Call it after each input while no
/// task runs, and when `tidings_steal_worker_deadline_us` has come; without a task, the worker does
/// what an idle worker has to. `board` may be null.
///
/// # Safety
/// As [`tidings_steal_worker_free`]; `task` is null or valid; `board` is null or valid, and its
/// function may be called with its `user`, and does not use the worker.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_next(
    worker: *mut TidingsStealWorker,
    now_us: u64,
    board: *const TidingsStealBoard,
    task: *mut TidingsStealTask,
) -> bool {
    // SAFETY: both are null or valid, as the caller promises.
    let (board, Some(to)) = (unsafe { board.as_ref() }, unsafe { task.as_mut() }) else {
        return false;
    };
    let mut found = false;
    let next = |worker: &mut TidingsStealWorker| {
        let board: &dyn Board = match board {
            Some(board) => board,
            None => &NoBoard,
        };
        if let Some(task) = worker.next(now_us, board) {
            (*to, found) = (task, true);
        }
        Ok(())
    };
    // SAFETY: as the caller promises.
    let status = unsafe { with(worker, next) };
    found && status == TidingsStealStatus::Ok
}

/// Help first: the task that runs spawns another, whose bytes are copied, and goes on.
///
/// # Safety
/// As [`tidings_steal_worker_add`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_spawn(
    worker: *mut TidingsStealWorker,
    task: *const TidingsStealTask,
) -> TidingsStealStatus {
    // SAFETY: as the caller promises.
    unsafe { with(worker, |worker| Ok(worker.worker.spawn(frame(task)?)?)) }
}

/// The task that ran is done, and took so long.
///
/// # Safety
/// As [`tidings_steal_worker_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_finished(
    worker: *mut TidingsStealWorker,
    took_ns: u64,
) -> TidingsStealStatus {
    // SAFETY: as the caller promises.
    unsafe { with(worker, |worker| worker.finished(Done::Nothing, took_ns)) }
}

/// Work first: the step that ran took so long; its child runs next, and `rest`, what is left of the
/// task, can be stolen.
///
/// # Safety
/// As [`tidings_steal_worker_add`], for both.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_child_first(
    worker: *mut TidingsStealWorker,
    child: *const TidingsStealTask,
    rest: *const TidingsStealTask,
    took_ns: u64,
) -> TidingsStealStatus {
    let end = |worker: &mut TidingsStealWorker| {
        // SAFETY: as the caller promises.
        let (child, then) = unsafe { (frame(child)?, frame(rest)?) };
        worker.finished(Done::ChildFirst { child, then }, took_ns)
    };
    // SAFETY: as the caller promises.
    unsafe { with(worker, end) }
}

/// The step that ran took so long; `body` runs, and `rest`, what is left of the task, when `body`
/// and all that it spawns are done, wherever they run.
///
/// # Safety
/// As [`tidings_steal_worker_add`], for both.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_finish_first(
    worker: *mut TidingsStealWorker,
    body: *const TidingsStealTask,
    rest: *const TidingsStealTask,
    took_ns: u64,
) -> TidingsStealStatus {
    let end = |worker: &mut TidingsStealWorker| {
        // SAFETY: as the caller promises.
        let (body, then) = unsafe { (frame(body)?, frame(rest)?) };
        worker.finished(Done::Finish { body, then }, took_ns)
    };
    // SAFETY: as the caller promises.
    unsafe { with(worker, end) }
}

/// Takes in a message of worker `from`. Bytes that are no message are refused.
///
/// # Safety
/// As [`tidings_steal_worker_free`]; `message` is null or has `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_receive(
    worker: *mut TidingsStealWorker,
    from: u32,
    message: *const u8,
    bytes: usize,
    now_us: u64,
) -> TidingsStealStatus {
    if message.is_null() {
        return TidingsStealStatus::Null;
    }
    // SAFETY: it is not null and has that many bytes, as the caller promises.
    let message = unsafe { slice::from_raw_parts(message, bytes) };
    let receive = |worker: &mut TidingsStealWorker| {
        let message = Message::decode(message).ok_or(TidingsStealStatus::Malformed)?;
        worker.worker.receive(from, message, instant(now_us));
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(worker, receive) }
}

/// Worker `dead` has died: nothing comes from it any more.
///
/// # Safety
/// As [`tidings_steal_worker_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_died(
    worker: *mut TidingsStealWorker,
    dead: u32,
) -> TidingsStealStatus {
    let died = |worker: &mut TidingsStealWorker| {
        worker.worker.died(dead);
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(worker, died) }
}

/// The board has changed.
///
/// # Safety
/// As [`tidings_steal_worker_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_news(
    worker: *mut TidingsStealWorker,
) -> TidingsStealStatus {
    let news = |worker: &mut TidingsStealWorker| {
        worker.worker.news();
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(worker, news) }
}

/// Writes what is to be done next to `output`. Call it until it says `TIDINGS_STEAL_SAYS_NOTHING`
/// after each other call.
///
/// # Safety
/// As [`tidings_steal_worker_free`]; `output` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_output(
    worker: *mut TidingsStealWorker,
    output: *mut TidingsStealOutput,
) -> TidingsStealStatus {
    // SAFETY: it is null or valid, as the caller promises.
    let Some(to) = (unsafe { output.as_mut() }) else { return TidingsStealStatus::Null };
    *to = TidingsStealOutput::NOTHING;
    let take = |worker: &mut TidingsStealWorker| {
        if let Some(output) = worker.worker.poll_output() {
            *to = TidingsStealOutput::of(&output, &mut worker.message);
        }
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(worker, take) }
}

/// When to call `tidings_steal_worker_next` although nothing has come, in microseconds of the
/// program's clock; `UINT64_MAX` if a message has to come first.
///
/// # Safety
/// As [`tidings_steal_worker_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_deadline_us(worker: *mut TidingsStealWorker) -> u64 {
    let mut due_us = u64::MAX;
    let ask = |worker: &mut TidingsStealWorker| {
        if let Some(due) = worker.worker.next_deadline() {
            due_us = u64::try_from(due.as_micros()).unwrap_or(0);
        }
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(worker, ask) };
    due_us
}

/// How long this worker is still busy with what can be stolen, in nanoseconds: what a board says of
/// it.
///
/// # Safety
/// As [`tidings_steal_worker_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_remaining_ns(worker: *mut TidingsStealWorker) -> u64 {
    let mut remaining_ns = 0;
    let ask = |worker: &mut TidingsStealWorker| {
        remaining_ns = worker.worker.remaining_ns();
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(worker, ask) };
    remaining_ns
}

/// What this worker has done since it was made.
///
/// # Safety
/// As [`tidings_steal_worker_free`]; `counters` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_counters(
    worker: *mut TidingsStealWorker,
    counters: *mut TidingsStealCounters,
) -> TidingsStealStatus {
    // SAFETY: it is null or valid, as the caller promises.
    let Some(to) = (unsafe { counters.as_mut() }) else { return TidingsStealStatus::Null };
    let count = |worker: &mut TidingsStealWorker| {
        *to = worker.worker.counters().into();
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(worker, count) }
}
