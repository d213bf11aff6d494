//! Tuples: what processes exchange without knowing each other, found by what is in it.
//!
//! What is pulled is this process's, or that of a try of a
//! task, until it is consumed or given back.

use core::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use tidings_tasks::space::{Pulled, SpaceError, Spaces};
use tidings_tasks_core::message::{Put, Refusal};
use tidings_tasks_core::tuple::{In, Matched, Out, Settled, Statement, Template, Term, Tuple};

use crate::arguments::{all, place, text, value, wait_ms};
use crate::claim::{TidingsTasksClaim, claimed, try_of};
use crate::engine::Engine;
use crate::field::{Kept, TidingsTasksField};
use crate::status::{TidingsTasksError, TidingsTasksStatus, Trouble, answered};
use crate::tasks::{TidingsTasks, engine};

/// A tuple that is wanted: `count` patterns in a space.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsTasksIn {
    /// The space.
    pub space: *const c_char,
    /// What each field is to be.
    pub pattern: *const TidingsTasksField,
    /// How many fields.
    pub count: usize,
    /// Whether it is pulled; else it stays.
    pub is_pulled: bool,
}

/// A tuple that is put: `count` fields into a space.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsTasksOut {
    /// The space.
    pub space: *const c_char,
    /// Its fields.
    pub fields: *const TidingsTasksField,
    /// How many.
    pub count: usize,
}

/// What happens together, or not at all: at most 16 ins, 16 outs and 16 tuples that are consumed.
/// Initialise it with `{0}`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsTasksStatement {
    /// Tuples that are wanted.
    pub ins: *const TidingsTasksIn,
    /// How many.
    pub in_count: usize,
    /// Tuples that are put.
    pub outs: *const TidingsTasksOut,
    /// How many.
    pub out_count: usize,
    /// Tuples that were pulled before, and are consumed by it.
    pub consumed: *const *mut TidingsTasksTuple,
    /// How many.
    pub consumed_count: usize,
    /// Whether what it pulls is consumed at once.
    pub consumes: bool,
}

/// A tuple that was found. Only pointers to it leave the library.
#[derive(Debug)]
pub struct TidingsTasksTuple {
    fields: Vec<TidingsTasksField>,
    /// What the fields point to; texts with a zero byte behind them.
    _kept: Vec<Kept>,
    /// Until it is consumed or given back.
    pulled: Option<Pulled>,
    engine: Arc<Engine>,
}

impl TidingsTasksTuple {
    fn boxed(engine: &Arc<Engine>, tuple: &Tuple, pulled: Option<Pulled>) -> *mut Self {
        let shown = tuple.fields().iter().map(TidingsTasksField::shown);
        let (fields, kept): (Vec<_>, Vec<_>) = shown.unzip();
        let kept = kept.into_iter().flatten().collect();
        Box::into_raw(Box::new(Self { fields, _kept: kept, pulled, engine: engine.clone() }))
    }
}

impl From<SpaceError> for Trouble {
    fn from(error: SpaceError) -> Self {
        match error {
            SpaceError::Refused(refusal @ (Refusal::Lapsed | Refusal::NoClaim)) => {
                Self::new(TidingsTasksStatus::Superseded, refusal.to_string())
            }
            SpaceError::Refused(refusal) => refusal.into(),
            SpaceError::Ended(error) => error.into(),
            SpaceError::Answer(answer) => Self::answer(&answer),
        }
    }
}

/// The spaces of a process, or those of the try of a task that it does.
///
/// # Safety
/// `claim` is null, or from `tidings_tasks_claim` or `tidings_tasks_work` and not ended.
unsafe fn spaces(engine: &Engine, claim: *const TidingsTasksClaim) -> Result<Spaces, Trouble> {
    if claim.is_null() {
        return Ok(engine.spaces.clone());
    }
    // SAFETY: as the caller promises.
    let (task, attempt) = unsafe { try_of(claim)? };
    Ok(engine.spaces.of_task(task, attempt))
}

/// Does a statement. What it has found, if it has in this time.
fn done(
    engine: &Engine,
    spaces: &Spaces,
    statement: Statement,
    timeout_ms: u64,
) -> Result<Vec<Matched>, Trouble> {
    let statement = Statement { wait_ms: wait_ms(timeout_ms), ..statement };
    let found = engine.wait(spaces.execute(statement))?;
    found.ok_or_else(|| Trouble::timeout("no such tuple has come"))
}

/// Puts a tuple of 1 to 16 fields, at most 16 KiB, into a space; durable when it returns.
///
/// # Safety
/// `fields` is null or has `count` fields, whose bytes are as their kinds say; the others are null
/// or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_tuple_put(
    tasks: *const TidingsTasks,
    space: *const c_char,
    fields: *const TidingsTasksField,
    count: usize,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        let out = TidingsTasksOut { space, fields, count };
        // SAFETY: as the caller promises.
        let (engine, out) = unsafe { (engine(tasks)?, out.read()?) };
        let statement = Statement { outs: vec![out], ..Statement::default() };
        done(engine, &engine.spaces, statement, 0).map(drop)
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Adds a tuple that is put if this task is completed, in the commit in which what the task has
/// pulled is consumed: once, however often the task is tried. At most 16, each as for
/// `tidings_tasks_tuple_put`.
///
/// # Safety
/// `claim` is null, or from `tidings_tasks_claim` or `tidings_tasks_work` and not ended; `fields`
/// is null or has `count` fields, whose bytes are as their kinds say; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_tuple_effect(
    claim: *const TidingsTasksClaim,
    space: *const c_char,
    fields: *const TidingsTasksField,
    count: usize,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        let out = TidingsTasksOut { space, fields, count };
        // SAFETY: as the caller promises.
        let (claimed, Out { space, terms }) = unsafe { (claimed(claim)?, out.read()?) };
        let field = |term| match term {
            Term::Is(field) => Ok(field),
            Term::Found(..) => Err(Trouble::argument("a completion finds nothing: put values")),
        };
        let fields = terms.into_iter().map(field).collect::<Result<Vec<_>, _>>()?;
        let tuple = Tuple::new(fields);
        tuple.check().map_err(Trouble::argument)?;
        claimed.put(Put { space, tuple })
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Writes a copy of the oldest tuple that matches to `tuple`; it stays in its space. Waits at most
/// so long for one: 0 not at all. `TIDINGS_TASKS_STATUS_TIMEOUT`: there was none, and null is
/// written.
///
/// # Safety
/// `pattern` is null or has `count` fields, whose bytes are as their kinds say; the others are null
/// or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_tuple_read(
    tasks: *const TidingsTasks,
    space: *const c_char,
    pattern: *const TidingsTasksField,
    count: usize,
    timeout_ms: u64,
    tuple: *mut *mut TidingsTasksTuple,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let wanted = TidingsTasksIn { space, pattern, count, is_pulled: false };
    // SAFETY: as the caller promises; no claim is one.
    unsafe { one(tasks, ptr::null(), &wanted, timeout_ms, tuple, error) }
}

/// Pulls the oldest tuple that matches and writes it to `tuple`: nobody else sees it. It is there
/// again, in its old turn, when it is given back and when this process ends, in whatever way. With
/// a claim it belongs to that try of a task: it is consumed in the commit by which the task is
/// done, and there again if the try ends otherwise. Waits as `tidings_tasks_tuple_read`.
///
/// # Safety
/// `claim` is null, or from `tidings_tasks_claim` or `tidings_tasks_work` and not ended; `pattern`
/// is null or has `count` fields, whose bytes are as their kinds say; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_tuple_pull(
    tasks: *const TidingsTasks,
    claim: *const TidingsTasksClaim,
    space: *const c_char,
    pattern: *const TidingsTasksField,
    count: usize,
    timeout_ms: u64,
    tuple: *mut *mut TidingsTasksTuple,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let wanted = TidingsTasksIn { space, pattern, count, is_pulled: true };
    // SAFETY: as the caller promises.
    unsafe { one(tasks, claim, &wanted, timeout_ms, tuple, error) }
}

/// # Safety
/// As [`tidings_tasks_tuple_pull`].
unsafe fn one(
    tasks: *const TidingsTasks,
    claim: *const TidingsTasksClaim,
    wanted: &TidingsTasksIn,
    timeout_ms: u64,
    tuple: *mut *mut TidingsTasksTuple,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let statement = TidingsTasksStatement {
        ins: ptr::from_ref(wanted),
        in_count: 1,
        outs: ptr::null(),
        out_count: 0,
        consumed: ptr::null(),
        consumed_count: 0,
        consumes: false,
    };
    // SAFETY: as the caller promises; there is one in, so one is found.
    unsafe { tidings_tasks_statement(tasks, claim, &raw const statement, timeout_ms, tuple, error) }
}

/// Does a statement: its ins are found, each another tuple, and all of it happens in one commit, or
/// in the given time nothing does. Writes what its ins have found, in their order, to `found`,
/// which has room for so many; null where nothing was. Tuples that it consumes are freed by the
/// program as others. A claim is as for `tidings_tasks_tuple_pull`.
///
/// # Safety
/// `claim` is null, or from `tidings_tasks_claim` or `tidings_tasks_work` and not ended; the lists
/// of the statement have as many values as it says, each as for the calls with one tuple; `found`
/// is null or has room for `in_count` pointers; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_statement(
    tasks: *const TidingsTasks,
    claim: *const TidingsTasksClaim,
    statement: *const TidingsTasksStatement,
    timeout_ms: u64,
    found: *mut *mut TidingsTasksTuple,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (engine, asked) = unsafe { (engine(tasks)?, value("the statement", statement)?) };
        if asked.in_count > 0 {
            // SAFETY: as the caller promises.
            unsafe { place("found", found)? };
        }
        for at in 0..asked.in_count {
            // SAFETY: there is room for so many, as the caller promises.
            unsafe { found.add(at).write(ptr::null_mut()) };
        }
        // SAFETY: as the caller promises.
        let (spaces, statement) = unsafe { (spaces(engine, claim)?, asked.read()?) };
        let is_kept = |one: &In| one.is_pulled && !asked.consumes;
        let kept: Vec<bool> = statement.ins.iter().map(is_kept).collect();
        let matched = done(engine, &spaces, statement, timeout_ms)?;
        // SAFETY: as the caller promises.
        unsafe { asked.forget_consumed()? };
        for (at, (Matched { number, tuple }, is_kept)) in matched.into_iter().zip(kept).enumerate()
        {
            let pulled = is_kept.then(|| spaces.pulled(number, tuple.clone()));
            let boxed = TidingsTasksTuple::boxed(engine, &tuple, pulled);
            // SAFETY: a tuple for each in, for which there is room.
            unsafe { found.add(at).write(boxed) };
        }
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

impl TidingsTasksIn {
    /// # Safety
    /// Its texts and lists are as the calls say.
    unsafe fn read(&self) -> Result<In, Trouble> {
        // SAFETY: as the caller promises.
        let (space, fields) = unsafe {
            (text("the space", self.space)?, all("the pattern", self.pattern, self.count)?)
        };
        // SAFETY: as the caller promises.
        let patterns = fields.iter().map(|field| unsafe { field.pattern() });
        let template = Template(patterns.collect::<Result<_, _>>()?);
        Ok(In { space: space.to_owned(), template, is_pulled: self.is_pulled })
    }
}

impl TidingsTasksOut {
    /// # Safety
    /// Its texts and lists are as the calls say.
    unsafe fn read(&self) -> Result<Out, Trouble> {
        // SAFETY: as the caller promises.
        let (space, fields) = unsafe {
            (text("the space", self.space)?, all("the fields", self.fields, self.count)?)
        };
        // SAFETY: as the caller promises.
        let terms = fields.iter().map(|field| unsafe { field.term() });
        Ok(Out { space: space.to_owned(), terms: terms.collect::<Result<_, _>>()? })
    }
}

impl TidingsTasksStatement {
    /// # Safety
    /// Its lists are as the calls say.
    unsafe fn read(&self) -> Result<Statement, Trouble> {
        // SAFETY: as the caller promises.
        let (ins, outs, consumed) = unsafe {
            (
                all("ins", self.ins, self.in_count)?,
                all("outs", self.outs, self.out_count)?,
                all("consumed", self.consumed, self.consumed_count)?,
            )
        };
        // SAFETY: as the caller promises.
        let ins = ins.iter().map(|one| unsafe { one.read() }).collect::<Result<_, _>>()?;
        // SAFETY: as the caller promises.
        let outs = outs.iter().map(|one| unsafe { one.read() }).collect::<Result<_, _>>()?;
        let settled = consumed.iter().map(|&tuple| {
            // SAFETY: as the caller promises.
            let tuple = unsafe { value("a consumed tuple", tuple.cast_const())? };
            let pulled = tuple.pulled.as_ref().ok_or_else(no_claim)?;
            Ok(Settled { number: pulled.number(), is_gone: true })
        });
        let settled = settled.collect::<Result<_, Trouble>>()?;
        Ok(Statement { ins, outs, settled, consumes: self.consumes, ..Statement::default() })
    }

    /// What it has consumed is not given back any more.
    ///
    /// # Safety
    /// As [`TidingsTasksStatement::read`].
    unsafe fn forget_consumed(&self) -> Result<(), Trouble> {
        // SAFETY: as the caller promises.
        for &tuple in unsafe { all("consumed", self.consumed, self.consumed_count)? } {
            // SAFETY: as the caller promises.
            let tuple = unsafe { place("a consumed tuple", tuple)? };
            if let Some(pulled) = tuple.pulled.take() {
                pulled.consume_with(&mut Statement::default());
            }
        }
        Ok(())
    }
}

fn no_claim() -> Trouble {
    Trouble::argument("the tuple was not pulled, or was settled before")
}

/// The fields of a tuple, which last until it is freed; their number is written to `count`. Null,
/// if `tuple` or `count` is.
///
/// # Safety
/// `tuple` is null, or was found and not freed; `count` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_tuple_fields(
    tuple: *const TidingsTasksTuple,
    count: *mut usize,
) -> *const TidingsTasksField {
    // SAFETY: as the caller promises.
    let (tuple, count) = unsafe { (value("the tuple", tuple), place("count", count)) };
    let (Ok(tuple), Ok(count)) = (tuple, count) else { return ptr::null() };
    *count = tuple.fields.len();
    tuple.fields.as_ptr()
}

/// Consumes a tuple that was pulled: it does not come back. It is freed as others.
/// `TIDINGS_TASKS_STATUS_SUPERSEDED`: it was there again meanwhile.
///
/// # Safety
/// `tuple` is null, or was found and not freed; `error` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_tuple_consume(
    tuple: *mut TidingsTasksTuple,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let tuple = unsafe { place("the tuple", tuple)? };
        tuple.engine.check()?;
        let pulled = tuple.pulled.take().ok_or_else(no_claim)?;
        Ok(tuple.engine.wait(pulled.consume())?)
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Gives a tuple's memory back. One that was pulled and not consumed is there again, unless it
/// belongs to the try of a task, with which it ends. Null is allowed.
///
/// # Safety
/// `tuple` is null, or was found and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_tuple_free(tuple: *mut TidingsTasksTuple) {
    if tuple.is_null() {
        return;
    }
    // SAFETY: it was made by `Box::into_raw`, and is taken back once.
    let tuple = unsafe { Box::from_raw(tuple) };
    let free = || {
        match tuple.engine.check() {
            Ok(()) => tuple.engine.clone().inside(|| drop(tuple)),
            // The threads that its parts belong to are not in this process.
            Err(_) => core::mem::forget(tuple),
        }
        Ok(())
    };
    // SAFETY: null is allowed.
    unsafe { answered(ptr::null_mut(), free) };
}
