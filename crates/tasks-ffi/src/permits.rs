//! Permits of semaphores.
//!
//! Each acquisition has a session of its own: it ends, and its permits go to those who wait, when
//! they are released, when time is up before there were any, and when the process dies.

use core::ffi::c_char;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tidings_tasks::session::{Notice, Session};
use tidings_tasks_core::message::{Answer, Request};

use crate::arguments::{place, text, value, wait};
use crate::engine::Engine;
use crate::status::{TidingsTasksError, TidingsTasksStatus, Trouble, answered};
use crate::tasks::{TidingsTasks, engine};

/// Permits that this process has. Only pointers to it leave the library.
#[derive(Debug)]
pub struct TidingsTasksPermits {
    session: Session,
    /// Whether the session had ended meanwhile.
    lapsed: Arc<AtomicBool>,
    engine: Arc<Engine>,
}

impl TidingsTasksPermits {
    fn acquire(
        engine: &Arc<Engine>,
        semaphore: &str,
        permits: u32,
        timeout_ms: u64,
    ) -> Result<Self, Trouble> {
        let (session, mut notices) = engine.session("permits");
        let acquire = Request::Acquire { semaphore: semaphore.to_owned(), permits };
        let answer = engine.within(wait(timeout_ms), session.ask(acquire));
        if !matches!(answer, Some(Ok(Answer::Done))) {
            // Its place among those that wait is given up, or what it got just now. Nobody waits
            // for that.
            engine.inside(|| tokio::spawn(async move { drop(session.ask(Request::Leave).await) }));
            return Err(match answer {
                None => Trouble::timeout("the permits are with others"),
                Some(Ok(Answer::Refused(refusal))) => refusal.into(),
                Some(Ok(other)) => Trouble::answer(&other),
                Some(Err(error)) => error.into(),
            });
        }
        let lapsed = Arc::new(AtomicBool::new(false));
        let noted = lapsed.clone();
        engine.inside(|| {
            tokio::spawn(async move {
                while let Some(notice) = notices.recv().await {
                    let is_lost = matches!(&notice, Notice::Lapsed(lapse) if lapse.is_of_claims);
                    noted.fetch_or(is_lost, Ordering::Relaxed);
                }
            })
        });
        Ok(Self { session, lapsed, engine: engine.clone() })
    }

    fn is_held(&self) -> bool {
        !self.lapsed.load(Ordering::Relaxed)
    }

    fn release(self) -> Result<(), Trouble> {
        self.engine.wait(self.session.ask(Request::Leave))?;
        if self.is_held() {
            return Ok(());
        }
        let text = "the process was silent for too long: others had its permits meanwhile";
        Err(Trouble::new(TidingsTasksStatus::Superseded, text))
    }
}

/// Makes a semaphore, or changes how many permits it has.
///
/// # Safety
/// Each pointer is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_semaphore(
    tasks: *const TidingsTasks,
    semaphore: *const c_char,
    permits: u32,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (engine, semaphore) = unsafe { (engine(tasks)?, text("the semaphore", semaphore)?) };
        engine.ask(Request::SetPermits { semaphore: semaphore.to_owned(), permits })?;
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Acquires permits of a semaphore and writes what has them to `held`; null, if there were none in
/// time. Nobody overtakes those that wait. When this process dies they go to others.
///
/// # Safety
/// Each pointer is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_acquire(
    tasks: *const TidingsTasks,
    semaphore: *const c_char,
    permits: u32,
    timeout_ms: u64,
    held: *mut *mut TidingsTasksPermits,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (held, engine) = unsafe { (place("held", held)?, engine(tasks)?) };
        *held = ptr::null_mut();
        // SAFETY: as the caller promises.
        let semaphore = unsafe { text("the semaphore", semaphore)? };
        let acquired = TidingsTasksPermits::acquire(engine, semaphore, permits, timeout_ms)?;
        *held = Box::into_raw(Box::new(acquired));
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Whether permits are still this process's own, as far as it knows. If it was silent for too long,
/// others have them.
///
/// # Safety
/// `held` is null, or from `tidings_tasks_acquire` and not released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_is_held(held: *const TidingsTasksPermits) -> bool {
    // SAFETY: as the caller promises.
    unsafe { value("held", held) }.is_ok_and(TidingsTasksPermits::is_held)
}

/// Gives permits back. `TIDINGS_TASKS_STATUS_SUPERSEDED`: others had them meanwhile.
///
/// # Safety
/// `held` is null, or from `tidings_tasks_acquire` and was not released: it is by this, whatever is
/// answered. `error` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_release(
    held: *mut TidingsTasksPermits,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        if held.is_null() {
            return Err(Trouble::argument("held is null"));
        }
        // SAFETY: it was made by `Box::into_raw`, and is taken back once.
        let held = unsafe { Box::from_raw(held) };
        match held.engine.check() {
            Ok(()) => held.release(),
            Err(trouble) => {
                // The threads that its parts belong to are not in this process.
                core::mem::forget(held);
                Err(trouble)
            }
        }
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}
