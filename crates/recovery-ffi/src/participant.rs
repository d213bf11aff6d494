//! Making, turning and ending a participant.

use core::ffi::c_char;
use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::{ptr, slice};

use tidings_primitives::Instant;
use tidings_recovery::{Contribution, Message, Participant, Place};
use tidings_steal::NoBoard;

use crate::config::{
    Declared, TidingsRecoveryArray, TidingsRecoveryConfig, TidingsRecoveryPlace,
    TidingsRecoveryPlan,
};
use crate::output::{TidingsRecoveryCounters, TidingsRecoveryOutput};
use crate::status::TidingsRecoveryStatus;

/// A participant. Only pointers to it leave the library.
pub struct TidingsRecovery {
    participant: Participant,
    /// What the task that runs adds.
    given: Vec<Contribution>,
    /// The message that the program sends.
    message: Vec<u8>,
    /// What was lost when the last phase ended, in words.
    refusals: Vec<String>,
    broken: bool,
}

/// What there is to do is done by a call.
type Answer = Result<(), TidingsRecoveryStatus>;

impl TidingsRecovery {
    /// Does `what` unless an earlier call went wrong inside; a panic in it breaks the participant.
    fn guarded(&mut self, what: impl FnOnce(&mut Self) -> Answer) -> TidingsRecoveryStatus {
        if self.broken {
            return TidingsRecoveryStatus::Broken;
        }
        // A broken one is never looked at again, so it does not matter how the panic left it.
        match catch_unwind(AssertUnwindSafe(|| what(self))) {
            Ok(Ok(())) => TidingsRecoveryStatus::Ok,
            Ok(Err(status)) => status,
            Err(_) => {
                self.broken = true;
                TidingsRecoveryStatus::Broken
            }
        }
    }
}

/// A time of the program's clock, in microseconds from any beginning.
fn instant(now_us: u64) -> Instant {
    // 300 years are enough.
    Instant::EPOCH + Duration::from_micros(now_us.min(i64::MAX as u64 / 4))
}

/// Does `what` with the participant behind `recovery`.
///
/// # Safety
/// `recovery` is null or from `tidings_recovery_new`, was not freed, and nobody else uses it.
unsafe fn with(
    recovery: *mut TidingsRecovery,
    what: impl FnOnce(&mut TidingsRecovery) -> Answer,
) -> TidingsRecoveryStatus {
    // SAFETY: the caller promises that it points to one that nobody else uses, or is null.
    match unsafe { recovery.as_mut() } {
        Some(recovery) => recovery.guarded(what),
        None => TidingsRecoveryStatus::Null,
    }
}

/// Makes a participant and writes a pointer to it.
///
/// # Safety
/// `config` and `recovery` are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_recovery_new(
    config: *const TidingsRecoveryConfig,
    recovery: *mut *mut TidingsRecovery,
) -> TidingsRecoveryStatus {
    // SAFETY: as the caller promises.
    let (Some(config), Some(recovery)) = (unsafe { config.as_ref() }, unsafe { recovery.as_mut() })
    else {
        return TidingsRecoveryStatus::Null;
    };
    *recovery = ptr::null_mut();
    let Some(core) = config.core() else { return TidingsRecoveryStatus::Configuration };
    let made = catch_unwind(|| Participant::new(config.me, config.workers, &core, config.seed));
    let Ok(participant) = made else { return TidingsRecoveryStatus::Broken };
    *recovery = Box::into_raw(Box::new(TidingsRecovery {
        participant,
        given: Vec::new(),
        message: Vec::new(),
        refusals: Vec::new(),
        broken: false,
    }));
    TidingsRecoveryStatus::Ok
}

/// Frees a participant; null is allowed.
///
/// # Safety
/// `recovery` is null or from `tidings_recovery_new`, was not freed, and nobody else uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_recovery_free(recovery: *mut TidingsRecovery) {
    if !recovery.is_null() {
        // SAFETY: as the caller promises, it came from a box and is freed once.
        drop(unsafe { Box::from_raw(recovery) });
    }
}

/// Makes an array, between phases, and writes its number. All make the same in the same order.
///
/// # Safety
/// As [`tidings_recovery_free`]; `array` and `number` are null or valid, and the name ends with a
/// null character.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_recovery_create(
    recovery: *mut TidingsRecovery,
    array: *const TidingsRecoveryArray,
    number: *mut u16,
) -> TidingsRecoveryStatus {
    let create = |recovery: &mut TidingsRecovery| {
        // SAFETY: as the caller promises.
        let (Some(array), Some(number)) = (unsafe { array.as_ref() }, unsafe { number.as_mut() })
        else {
            return Err(TidingsRecoveryStatus::Null);
        };
        // SAFETY: as the caller promises.
        let array = unsafe { array.array() }.ok_or(TidingsRecoveryStatus::Configuration)?;
        *number = recovery.participant.create(array).ok_or(TidingsRecoveryStatus::Array)?;
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(recovery, create) }
}

/// Sets all elements of an array to zero when the next phase begins. All do so.
///
/// # Safety
/// As [`tidings_recovery_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_recovery_zero(
    recovery: *mut TidingsRecovery,
    array: u16,
) -> TidingsRecoveryStatus {
    let zero = |recovery: &mut TidingsRecovery| {
        recovery.participant.zero(array);
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(recovery, zero) }
}

/// Enters the next phase. Name and plan are the same at all participants.
///
/// # Safety
/// As [`tidings_recovery_free`]; `name` has `bytes` bytes, and `plan` is null or valid; what it
/// names stays as it is until the next phase begins, or the participant is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_recovery_begin(
    recovery: *mut TidingsRecovery,
    name: *const u8,
    bytes: usize,
    plan: *const TidingsRecoveryPlan,
    now_us: u64,
) -> TidingsRecoveryStatus {
    let begin = |recovery: &mut TidingsRecovery| {
        // SAFETY: as the caller promises.
        let plan = *unsafe { plan.as_ref() }.ok_or(TidingsRecoveryStatus::Null)?;
        if name.is_null() {
            return Err(TidingsRecoveryStatus::Null);
        }
        // SAFETY: as the caller promises.
        let name = unsafe { slice::from_raw_parts(name, bytes) };
        let name = core::str::from_utf8(name).map_err(|_| TidingsRecoveryStatus::Malformed)?;
        let plan = Declared::new(plan).ok_or(TidingsRecoveryStatus::Null)?;
        recovery.given.clear();
        recovery.refusals.clear();
        Ok(recovery.participant.begin(name, Arc::new(plan), instant(now_us))?)
    };
    // SAFETY: as the caller promises.
    unsafe { with(recovery, begin) }
}

/// Writes the number of the task to be run; false if there is none. Without one the participant
/// does what an idle one has to.
///
/// # Safety
/// As [`tidings_recovery_free`]; `task` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_recovery_next(
    recovery: *mut TidingsRecovery,
    now_us: u64,
    task: *mut u64,
) -> bool {
    let mut found = false;
    let next = |recovery: &mut TidingsRecovery| {
        // SAFETY: as the caller promises.
        let place = unsafe { task.as_mut() }.ok_or(TidingsRecoveryStatus::Null)?;
        if let Some(number) = recovery.participant.next_task(instant(now_us), &NoBoard) {
            *place = number;
            found = true;
        }
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(recovery, next) };
    found
}

/// Whether the task that runs was started again, after a death.
///
/// # Safety
/// As [`tidings_recovery_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_recovery_is_again(recovery: *mut TidingsRecovery) -> bool {
    let mut is_again = false;
    let look = |recovery: &mut TidingsRecovery| {
        is_again = recovery.participant.is_again();
        Ok(())
    };
    // SAFETY: as the caller promises.
    let status = unsafe { with(recovery, look) };
    status == TidingsRecoveryStatus::Ok && is_again
}

/// The task that runs will add these elements, which are copied, to a block.
///
/// # Safety
/// As [`tidings_recovery_free`]; `elements` has `words` elements of 64 bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_recovery_add(
    recovery: *mut TidingsRecovery,
    place: TidingsRecoveryPlace,
    elements: *const u64,
    words: usize,
) -> TidingsRecoveryStatus {
    let add = |recovery: &mut TidingsRecovery| {
        if elements.is_null() {
            return Err(TidingsRecoveryStatus::Null);
        }
        // SAFETY: as the caller promises.
        let words = unsafe { slice::from_raw_parts(elements, words) }.to_vec();
        recovery.given.push(Contribution { place: place.into(), words });
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(recovery, add) }
}

/// The task that ran took this long, and adds what was said. After another status than
/// `TIDINGS_RECOVERY_STATUS_OK` and `_OUTSIDE_TASK` it still runs, and has said nothing.
///
/// # Safety
/// As [`tidings_recovery_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_recovery_finished(
    recovery: *mut TidingsRecovery,
    took_ns: u64,
    now_us: u64,
) -> TidingsRecoveryStatus {
    let finished = |recovery: &mut TidingsRecovery| {
        let given = core::mem::take(&mut recovery.given);
        Ok(recovery.participant.finished(given, took_ns, instant(now_us))?)
    };
    // SAFETY: as the caller promises.
    unsafe { with(recovery, finished) }
}

/// Takes in a message.
///
/// # Safety
/// As [`tidings_recovery_free`]; `message` is null or has `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_recovery_receive(
    recovery: *mut TidingsRecovery,
    from: u32,
    message: *const u8,
    bytes: usize,
    now_us: u64,
) -> TidingsRecoveryStatus {
    let receive = |recovery: &mut TidingsRecovery| {
        if message.is_null() {
            return Err(TidingsRecoveryStatus::Null);
        }
        // SAFETY: as the caller promises.
        let bytes = unsafe { slice::from_raw_parts(message, bytes) };
        let said = Message::decode(bytes).ok_or(TidingsRecoveryStatus::Malformed)?;
        recovery.participant.receive(from, said, instant(now_us));
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(recovery, receive) }
}

/// A participant has died: nothing comes from it any more.
///
/// # Safety
/// As [`tidings_recovery_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_recovery_died(
    recovery: *mut TidingsRecovery,
    dead: u32,
    now_us: u64,
) -> TidingsRecoveryStatus {
    let died = |recovery: &mut TidingsRecovery| {
        recovery.participant.died(dead, instant(now_us));
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(recovery, died) }
}

/// Writes what is to be done next to `output`. Call it until it says
/// `TIDINGS_RECOVERY_SAYS_NOTHING`, after each other call.
///
/// # Safety
/// As [`tidings_recovery_free`]; `output` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_recovery_output(
    recovery: *mut TidingsRecovery,
    output: *mut TidingsRecoveryOutput,
) -> TidingsRecoveryStatus {
    // SAFETY: as the caller promises.
    let Some(place) = (unsafe { output.as_mut() }) else { return TidingsRecoveryStatus::Null };
    *place = TidingsRecoveryOutput::NOTHING;
    let next = |recovery: &mut TidingsRecovery| {
        if let Some(output) = recovery.participant.poll_output() {
            let TidingsRecovery { message, refusals, .. } = recovery;
            *place = TidingsRecoveryOutput::of(output, message, refusals);
        }
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(recovery, next) }
}

/// Writes where the elements of a block are until the next call with this participant, and how
/// many, after a phase; null if another owns the block.
///
/// # Safety
/// As [`tidings_recovery_free`]; `elements` and `words` are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_recovery_block(
    recovery: *mut TidingsRecovery,
    place: TidingsRecoveryPlace,
    elements: *mut *const u64,
    words: *mut usize,
) -> TidingsRecoveryStatus {
    // SAFETY: as the caller promises.
    let (Some(elements), Some(words)) = (unsafe { elements.as_mut() }, unsafe { words.as_mut() })
    else {
        return TidingsRecoveryStatus::Null;
    };
    (*elements, *words) = (ptr::null(), 0);
    let read = |recovery: &mut TidingsRecovery| {
        let block = recovery
            .participant
            .block(Place::from(place))
            .map_err(|_| TidingsRecoveryStatus::Lost)?;
        if let Some(block) = block {
            (*elements, *words) = (block.as_ptr(), block.len());
        }
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(recovery, read) }
}

/// Writes what was lost when the last phase ended, in words, up to a null character.
///
/// # Safety
/// As [`tidings_recovery_free`]; `text` has `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_recovery_explain(
    recovery: *mut TidingsRecovery,
    text: *mut c_char,
    bytes: usize,
) -> TidingsRecoveryStatus {
    let explain = |recovery: &mut TidingsRecovery| {
        if text.is_null() || bytes == 0 {
            return Err(TidingsRecoveryStatus::Null);
        }
        let said = said(&recovery.refusals);
        let length = cut(&said, bytes - 1);
        // SAFETY: as the caller promises there is room for so many bytes and the null character.
        unsafe {
            ptr::copy_nonoverlapping(said.as_ptr().cast(), text, length);
            *text.add(length) = 0;
        }
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(recovery, explain) }
}

/// The first refusals, and how many more there are.
fn said(refusals: &[String]) -> String {
    const NAMED: usize = 2;
    let mut said: Vec<String> = refusals.iter().take(NAMED).cloned().collect();
    if refusals.len() > NAMED {
        said.push(format!("and {} more blocks", refusals.len() - NAMED));
    }
    said.join("; ")
}

/// The most bytes up to `most` at which a text can be cut.
fn cut(text: &str, most: usize) -> usize {
    (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Writes what it has done.
///
/// # Safety
/// As [`tidings_recovery_free`]; `counters` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_recovery_counters(
    recovery: *mut TidingsRecovery,
    counters: *mut TidingsRecoveryCounters,
) -> TidingsRecoveryStatus {
    let count = |recovery: &mut TidingsRecovery| {
        // SAFETY: as the caller promises.
        let counters = unsafe { counters.as_mut() }.ok_or(TidingsRecoveryStatus::Null)?;
        let participant = &recovery.participant;
        let worker = participant.worker().counters();
        *counters = TidingsRecoveryCounters::of(&participant.counters(), &worker);
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(recovery, count) }
}
