//! Tasks that this process does: claimed, and ended once.

use core::ffi::c_char;
use core::time::Duration;
use std::ffi::CString;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tidings_tasks::payloads::PayloadError;
use tidings_tasks::session::Assigned;
use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::{Answer, Effect, Put, Refusal, Request, Submission};
use tidings_tasks_core::retry::Cause;
use tidings_tasks_core::tuple::statement::MAX_PARTS;

use crate::arguments::{all, optional_text, place, text, value, wait};
use crate::engine::Engine;
use crate::inputs::Inputs;
use crate::job::{Declared, Told};
use crate::status::{TidingsTasksError, TidingsTasksStatus, Trouble, answered};
use crate::submission::TidingsTasksId;
use crate::taker::Taker;
use crate::tasks::{TidingsTasks, engine};

/// The wait before a store that was full is asked again.
const FULL: Duration = Duration::from_secs(1);

/// A task that this process does. It and all it points to last until it is ended.
#[repr(C)]
#[derive(Debug)]
pub struct TidingsTasksClaim {
    /// Which task.
    pub id: TidingsTasksId,
    /// Which try, from 1: also a key by which receivers of side effects know repetitions.
    pub attempt: u32,
    /// Its queue.
    pub queue: *const c_char,
    /// The function that is to do it; null if only the payload says so.
    pub function: *const c_char,
    /// What is to be done.
    pub payload: *const u8,
    /// How many bytes that is.
    pub payload_bytes: usize,
}

/// What lies behind a claim.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Claimed {
    /// What the program sees: the first field, so that a pointer to it is one to the whole.
    shown: TidingsTasksClaim,
    /// What that points to.
    _queue: CString,
    function: Option<CString>,
    _payload: Vec<u8>,
    of: Try,
    wanted: Arc<AtomicBool>,
    /// What goes into the commit of its completion.
    with: Mutex<With>,
    inputs: Mutex<Inputs>,
    /// What it is given, if it was declared.
    declared: Option<Mutex<Declared>>,
}

/// What a completion writes beside the result.
#[derive(Debug, Default)]
pub(crate) struct With {
    pub(crate) children: Vec<Submission>,
    pub(crate) effects: Vec<Effect>,
    puts: Vec<Put>,
}

/// A try of a task, and whom to tell how it ends.
#[derive(Clone, Debug)]
struct Try {
    task: TaskId,
    attempt: Attempt,
    taker: Arc<Taker>,
    engine: Arc<Engine>,
}

impl Claimed {
    /// What is assigned, with its payload whole.
    fn of(of: Try, assigned: Assigned, wanted: Arc<AtomicBool>) -> Result<Box<Self>, String> {
        let payload = of.engine.wait(of.engine.payloads.whole(assigned.payload));
        let Told { function, payload, declared } =
            Told::of(payload.map_err(|error| error.to_string())?)?;
        let zero = |_| "a name has a zero byte in it".to_owned();
        let queue = CString::new(assigned.queue.as_str()).map_err(zero)?;
        let function = function.map(CString::new).transpose().map_err(zero)?;
        let shown = TidingsTasksClaim {
            id: TidingsTasksId { bytes: assigned.task.to_bytes() },
            attempt: assigned.attempt.0,
            queue: queue.as_ptr(),
            function: function.as_ref().map_or(ptr::null(), |name| name.as_ptr()),
            payload: payload.as_ptr(),
            payload_bytes: payload.len(),
        };
        let (with, inputs, declared) =
            (Mutex::default(), Mutex::default(), declared.map(Mutex::new));
        Ok(Box::new(Self {
            shown,
            _queue: queue,
            function,
            _payload: payload,
            of,
            wanted,
            with,
            inputs,
            declared,
        }))
    }

    /// What the program sees.
    pub(crate) fn shown(&self) -> *const TidingsTasksClaim {
        ptr::from_ref(self).cast()
    }

    /// The function that is to do it.
    pub(crate) fn function(&self) -> Option<&str> {
        self.function.as_ref().and_then(|name| name.to_str().ok())
    }

    /// It is done, with this result.
    pub(crate) fn complete(self, result: Vec<u8>) -> Result<(), Trouble> {
        let of = self.of;
        let with = self.with.into_inner().unwrap_or_else(PoisonError::into_inner);
        let completion = match of.engine.wait(of.completion(result, with)) {
            Ok(completion) => completion,
            Err(error) => {
                of.fail(Cause::Error, format!("its result could not be kept: {error}"))?;
                return Err(error.into());
            }
        };
        let ended = of.end(&completion);
        if let Err(trouble) = &ended {
            use TidingsTasksStatus::{Argument, Changed};
            // It was not taken as it is, and will not be: the task goes on as after a failure.
            if matches!(trouble.status, Argument | Changed) {
                of.fail(Cause::Error, trouble.text.clone())?;
            }
        }
        ended
    }

    /// A tuple that is put in the commit of its completion.
    pub(crate) fn put(&self, put: Put) -> Result<(), Trouble> {
        let puts = &mut self.with()?.puts;
        if puts.len() >= MAX_PARTS {
            return Err(Trouble::argument(format!("a task puts at most {MAX_PARTS} tuples")));
        }
        puts.push(put);
        Ok(())
    }

    /// Which task it is.
    pub(crate) fn task(&self) -> TaskId {
        self.of.task
    }

    /// What goes into the commit of its completion.
    pub(crate) fn with(&self) -> Result<MutexGuard<'_, With>, Trouble> {
        self.of.engine.check()?;
        // Each change is whole, even if its thread panicked after it.
        Ok(self.with.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Where what an input has come to lies until this is dropped, and how many bytes that is.
    pub(crate) fn input(&self, number: usize) -> Result<(*const u8, usize), Trouble> {
        self.of.engine.check()?;
        let mut inputs = self.inputs.lock().unwrap_or_else(PoisonError::into_inner);
        let read = inputs.read(&self.of.engine, self.of.task, number)?;
        Ok(if read.is_empty() { (ptr::null(), 0) } else { (read.as_ptr(), read.len()) })
    }

    /// Looks at what a declared task is given; it stays there until this is dropped.
    pub(crate) fn declared<T>(
        &self,
        look: impl FnOnce(&mut Declared, &Engine) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        self.of.engine.check()?;
        let Some(declared) = &self.declared else {
            return Err(Trouble::argument("the task was not declared by a flow"));
        };
        look(&mut declared.lock().unwrap_or_else(PoisonError::into_inner), &self.of.engine)
    }

    /// Whether a result has all that a declared task changes; says what is missing.
    pub(crate) fn check(&self, result: &[u8]) -> Result<(), String> {
        let declared = self.declared.as_ref();
        declared.map_or(Ok(()), |declared| {
            declared.lock().unwrap_or_else(PoisonError::into_inner).check(result)
        })
    }

    /// It has failed.
    pub(crate) fn fail(self, cause: Cause, text: String) -> Result<(), Trouble> {
        self.of.fail(cause, text)
    }
}

impl Try {
    /// The request by which it is done; what is long lies in blobs then.
    async fn completion(&self, result: Vec<u8>, with: With) -> Result<Request, PayloadError> {
        let (task, attempt, payloads) = (self.task, self.attempt, &self.engine.payloads);
        let With { mut children, effects, puts } = with;
        for child in &mut children {
            let payload = core::mem::take(&mut child.payload);
            child.payload = payloads.shorten(child.id, payload).await?;
        }
        let result = payloads.shorten(task, result).await?;
        Ok(Request::Complete { task, attempt, result, children, effects, puts })
    }

    /// It has failed.
    fn fail(&self, cause: Cause, text: String) -> Result<(), Trouble> {
        let (task, attempt, detail) = (self.task, self.attempt, Vec::new());
        self.end(&Request::Fail { task, attempt, cause, text, detail })
    }

    /// Tells the coordinator, until it has taken that or refused it for good.
    fn end(&self, request: &Request) -> Result<(), Trouble> {
        // First, since the next task may come with the answer.
        self.taker.end((self.task, self.attempt));
        let told = async {
            loop {
                match self.taker.session.ask(request.clone()).await? {
                    Answer::Refused(Refusal::Full(_)) => tokio::time::sleep(FULL).await,
                    Answer::Refused(Refusal::NoTask) => return Err(Refusal::Superseded.into()),
                    Answer::Refused(refusal) => return Err(refusal.into()),
                    _ => return Ok(()),
                }
            }
        };
        self.engine.wait(told)
    }
}

/// The try of a task that a claim is.
///
/// # Safety
/// `claim` is null, or from `tidings_tasks_claim` or `tidings_tasks_work` and not ended.
pub(crate) unsafe fn try_of(claim: *const TidingsTasksClaim) -> Result<(TaskId, Attempt), Trouble> {
    // SAFETY: as the caller promises.
    let claimed = unsafe { claimed(claim)? };
    Ok((claimed.of.task, claimed.of.attempt))
}

/// What lies behind a claim.
///
/// # Safety
/// `claim` is null, or from `tidings_tasks_claim` or `tidings_tasks_work` and not ended.
pub(crate) unsafe fn claimed<'a>(claim: *const TidingsTasksClaim) -> Result<&'a Claimed, Trouble> {
    // SAFETY: it is null, or points to the first field of a `Claimed`.
    unsafe { value("the claim", claim.cast::<Claimed>()) }
}

/// The next task of a queue. One that cannot be read has failed by that.
pub(crate) fn claim(
    engine: &Arc<Engine>,
    queue: &str,
    wait: Option<Duration>,
) -> Result<Box<Claimed>, Trouble> {
    let until = wait.and_then(|wait| Instant::now().checked_add(wait));
    let taker = engine.taker(queue);
    loop {
        let rest = until.map(|until| until.saturating_duration_since(Instant::now()));
        let claimed = taker.claim(rest).inspect_err(|_| engine.forget_taker(queue))?;
        let (assigned, wanted) = claimed.ok_or_else(|| Trouble::timeout("no task has come"))?;
        let (task, attempt) = (assigned.task, assigned.attempt);
        let of = Try { task, attempt, taker: taker.clone(), engine: engine.clone() };
        match Claimed::of(of.clone(), assigned, wanted) {
            Ok(claimed) => return Ok(claimed),
            Err(text) => of.fail(Cause::Error, format!("its payload cannot be had: {text}"))?,
        }
    }
}

/// Takes a claim back from the program.
///
/// # Safety
/// `claim` is null, or from `tidings_tasks_claim` and was not ended.
unsafe fn taken(claim: *mut TidingsTasksClaim) -> Result<Box<Claimed>, Trouble> {
    if claim.is_null() {
        return Err(Trouble::argument("the claim is null"));
    }
    // SAFETY: it points to the first field of a `Claimed` that was made by `Box::into_raw`, and is
    // taken back once.
    let claimed = unsafe { Box::from_raw(claim.cast::<Claimed>()) };
    match claimed.of.engine.check() {
        Ok(()) => Ok(claimed),
        Err(trouble) => {
            // The threads that its parts belong to are not in this process.
            core::mem::forget(claimed);
            Err(trouble)
        }
    }
}

/// Takes a claim back from the program, done with this result. Without one it has failed.
///
/// # Safety
/// `claim` is null, or from `tidings_tasks_claim` and was not ended.
pub(crate) unsafe fn ended(
    claim: *mut TidingsTasksClaim,
    result: Result<Vec<u8>, Trouble>,
) -> Result<(), Trouble> {
    // SAFETY: as the caller promises.
    let claimed = unsafe { taken(claim)? };
    let checked = |result: Vec<u8>| match claimed.check(&result) {
        Ok(()) => Ok(result),
        Err(missing) => Err(Trouble::argument(missing)),
    };
    match result.and_then(checked) {
        Ok(result) => claimed.complete(result),
        Err(trouble) => {
            claimed.fail(Cause::Error, trouble.text.clone())?;
            Err(trouble)
        }
    }
}

/// Claims the next task of a queue and writes it to `claim`; null, if none has come in time. Other
/// processes do not get it while this one lives. It is to be ended once, by
/// `tidings_tasks_complete`, `tidings_tasks_fail` or `tidings_tasks_give_back`.
///
/// A task comes some milliseconds after it was asked for: with a time of 0 there is one only if the
/// claim before has asked for it.
///
/// # Safety
/// Each pointer is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_claim(
    tasks: *const TidingsTasks,
    queue: *const c_char,
    timeout_ms: u64,
    claim: *mut *mut TidingsTasksClaim,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (claim, engine) = unsafe { (place("claim", claim)?, engine(tasks)?) };
        *claim = ptr::null_mut();
        // SAFETY: as the caller promises.
        let queue = unsafe { text("the queue", queue)? };
        *claim = Box::into_raw(self::claim(engine, queue, wait(timeout_ms))?).cast();
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Whether a task is still wanted: it may have been cancelled, or the process may have been silent
/// for so long that another one has the task. Not wanted, it is to be ended all the same, soon.
///
/// # Safety
/// `claim` is null, or from `tidings_tasks_claim` and not ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_is_wanted(claim: *const TidingsTasksClaim) -> bool {
    // SAFETY: it is null, or points to the first field of a `Claimed`.
    let claimed = unsafe { claim.cast::<Claimed>().as_ref() };
    claimed.is_some_and(|claimed| claimed.wanted.load(Ordering::Relaxed))
}

/// Says how far a task has come, in thousandths and, unless it is null, in words. It is shown while
/// the task runs, and not stored.
///
/// # Safety
/// `claim` is null, or from `tidings_tasks_claim` and not ended; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_progress(
    claim: *const TidingsTasksClaim,
    thousandths: u16,
    text: *const c_char,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: it is null, or points to the first field of a `Claimed`.
        let Try { task, attempt, taker, engine } =
            unsafe { &value("the claim", claim.cast::<Claimed>())?.of };
        engine.check()?;
        // SAFETY: as the caller promises.
        let text = unsafe { optional_text("the text", text) }?.unwrap_or_default().to_owned();
        let (task, attempt) = (*task, *attempt);
        let said = Request::Progress { task, attempt, thousandths, text };
        match engine.wait(taker.session.ask(said))? {
            Answer::Refused(refusal) => Err(refusal.into()),
            _ => Ok(()),
        }
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Ends a claim: the task is done, with a result of any number of bytes. What this answers is
/// durable. `TIDINGS_TASKS_STATUS_SUPERSEDED`: the result does not count, since another process has
/// the task, or it has ended. Waits while the store has no space.
///
/// # Safety
/// `claim` is null, or from `tidings_tasks_claim` and was not ended: it is by this, whatever is
/// answered. `result` is null or has that many bytes; `error` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_complete(
    claim: *mut TidingsTasksClaim,
    result: *const u8,
    result_bytes: usize,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    // SAFETY: as the caller promises.
    let call =
        || unsafe { ended(claim, all("the result", result, result_bytes).map(<[u8]>::to_vec)) };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Ends a claim: the task has failed, for a reason in words. It is tried again as often as its
/// submission says.
///
/// # Safety
/// As `tidings_tasks_complete`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_fail(
    claim: *mut TidingsTasksClaim,
    reason: *const c_char,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    // SAFETY: as the caller promises.
    let call = || unsafe {
        let claimed = taken(claim)?;
        let reason = optional_text("the reason", reason).ok().flatten();
        claimed.fail(Cause::Error, reason.unwrap_or("without a reason").to_owned())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Ends a claim: the task goes back into its queue, and this try is no failure.
///
/// # Safety
/// As `tidings_tasks_complete`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_give_back(
    claim: *mut TidingsTasksClaim,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    // SAFETY: as the caller promises.
    let call = || unsafe {
        taken(claim)?.fail(Cause::Returned, "its process has given it back".to_owned())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}
