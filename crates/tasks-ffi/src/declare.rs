//! What a flow declares: kinds of data, tasks, and which instances these read, take and change.
//!
//! Keys are computed by functions of the program, which are called in the thread that submits.

use core::ffi::{c_char, c_void};
use std::ptr;
use std::sync::PoisonError;

use tidings_tasks_core::tuple::{Field, Type};

use crate::arguments::{all, place, text};
use crate::field::{TidingsTasksField, fields, kind_of};
use crate::flow::{TidingsTasksDeclared, TidingsTasksDependency, TidingsTasksFlow, Wrong};
use crate::status::{TidingsTasksError, TidingsTasksStatus, Trouble, answered};
use crate::submission::TidingsTasksSubmission;

/// Computes the key of an instance: it fills the fields of `key`, whose kinds are set as declared,
/// from the arguments of a task. Texts and bytes of a key stay until the submission has returned.
/// It does not leave by `longjmp` or an exception.
pub type TidingsTasksKey = Option<
    unsafe extern "C" fn(
        arguments: *const TidingsTasksField,
        key: *mut TidingsTasksField,
        context: *mut c_void,
    ),
>;

/// A function that computes keys of so many fields.
struct KeyOf {
    call: unsafe extern "C" fn(*const TidingsTasksField, *mut TidingsTasksField, *mut c_void),
    context: *mut c_void,
    kinds: Vec<u32>,
    wrong: Wrong,
}

// SAFETY: it is called by the one thread that uses the flow, as the program has promised.
unsafe impl Send for KeyOf {}
// SAFETY: as above.
unsafe impl Sync for KeyOf {}

impl KeyOf {
    /// # Safety
    /// The function can be called with the context as long as the flow is used.
    unsafe fn of(
        flow: &TidingsTasksFlow,
        dependency: usize,
        key: TidingsTasksKey,
        context: *mut c_void,
    ) -> Result<Self, Trouble> {
        let call = key.ok_or_else(|| Trouble::argument("the key is null"))?;
        let (kinds, wrong) = (flow.dependencies[dependency].1.clone(), flow.wrong.clone());
        Ok(Self { call, context, kinds, wrong })
    }

    /// The key for arguments. Of one that is none the reason is kept.
    fn key(&self, arguments: &[Field]) -> Vec<Field> {
        let (shown, _kept): (Vec<_>, Vec<_>) =
            arguments.iter().map(TidingsTasksField::shown).unzip();
        let mut room: Vec<_> = self.kinds.iter().copied().map(TidingsTasksField::empty).collect();
        // SAFETY: there is room for as many fields as are declared; the rest is as the program has
        // promised.
        unsafe { (self.call)(shown.as_ptr(), room.as_mut_ptr(), self.context) };
        // SAFETY: the function has filled them, as the program has promised.
        unsafe { fields(&room) }.unwrap_or_else(|trouble| {
            *self.wrong.lock().unwrap_or_else(PoisonError::into_inner) = Some(trouble);
            Vec::new()
        })
    }
}

/// Declares a kind of data, and the kinds of the fields of its keys (`TIDINGS_TASKS_INT` to
/// `TIDINGS_TASKS_BOOL`, and `TIDINGS_TASKS_HANDLE`), at most 16.
///
/// # Safety
/// `flow` is null, or from `tidings_tasks_flow` and not freed; `kinds` is null or has `count`
/// values; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_dependency_declare(
    flow: *mut TidingsTasksFlow,
    name: *const c_char,
    kinds: *const u32,
    count: usize,
    dependency: *mut TidingsTasksDependency,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (flow, name, kinds, dependency) = unsafe {
            let flow = TidingsTasksFlow::of(flow)?;
            let kinds = all("the kinds", kinds, count)?;
            (flow, text("the name", name)?, kinds, place("dependency", dependency)?)
        };
        let declared = flow.flow.dependency_declare(name, &types(kinds)?)?;
        flow.dependencies.push((declared, kinds.to_vec()));
        let number = flow.dependencies.len() - 1;
        *dependency = TidingsTasksDependency { flow: ptr::from_ref(flow), number };
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Declares a task: a function, by its name in `tidings_tasks_work`, and the kinds of its
/// arguments, at most 16. With `like` it has the group, priority, retries, need and filter of that;
/// null: as usual.
///
/// # Safety
/// `flow` is null, or from `tidings_tasks_flow` and not freed; `kinds` is null or has `count`
/// values; the others are null or valid, and so are the texts of `like`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_task_declare(
    flow: *mut TidingsTasksFlow,
    function: *const c_char,
    kinds: *const u32,
    count: usize,
    like: *const TidingsTasksSubmission,
    task: *mut TidingsTasksDeclared,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (flow, function, kinds, task) = unsafe {
            let flow = TidingsTasksFlow::of(flow)?;
            let kinds = all("the kinds", kinds, count)?;
            (flow, text("the function", function)?, kinds, place("task", task)?)
        };
        let mut declared = flow.flow.task_declare(function, &types(kinds)?)?;
        // SAFETY: as the caller promises.
        if let Some(like) = unsafe { like.as_ref() } {
            // SAFETY: as the caller promises.
            *declared.template() = unsafe { like.like()? };
        }
        flow.tasks.push(declared);
        let number = flow.tasks.len() - 1;
        *task = TidingsTasksDeclared { flow: ptr::from_ref(flow), number };
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

fn types(kinds: &[u32]) -> Result<Vec<Type>, Trouble> {
    kinds.iter().map(|kind| kind_of(*kind)).collect()
}

/// Lets a declared task read an instance, beside others. `context` is handed to `key`.
///
/// # Safety
/// `flow` is null, or from `tidings_tasks_flow` and not freed; `key` can be called with `context`
/// until it is; `error` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_append_read_dependency(
    flow: *mut TidingsTasksFlow,
    task: TidingsTasksDeclared,
    kind: TidingsTasksDependency,
    key: TidingsTasksKey,
    context: *mut c_void,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    // SAFETY: as the caller promises.
    unsafe { answered(error, || append(flow, task, kind, (key, context), false)) }
}

/// Lets a declared task change an instance, as in a reduction: what it makes is the next version.
///
/// # Safety
/// As `tidings_tasks_append_read_dependency`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_append_inout_dependency(
    flow: *mut TidingsTasksFlow,
    task: TidingsTasksDeclared,
    kind: TidingsTasksDependency,
    key: TidingsTasksKey,
    context: *mut c_void,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    // SAFETY: as the caller promises.
    unsafe { answered(error, || append(flow, task, kind, (key, context), true)) }
}

/// Lets a declared task take an instance, which moves on to another key of its dependency, that
/// `to` computes, as in a systolic array: nothing is copied for that. With null it ends.
///
/// # Safety
/// As `tidings_tasks_append_read_dependency`, and so can `to` be called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_append_migrate_dependency(
    flow: *mut TidingsTasksFlow,
    task: TidingsTasksDeclared,
    kind: TidingsTasksDependency,
    key: TidingsTasksKey,
    to: TidingsTasksKey,
    context: *mut c_void,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (flow, key, task, number) = unsafe { appended(flow, task, kind, (key, context))? };
        let key = move |arguments: Vec<Field>| key.key(&arguments);
        // SAFETY: as the caller promises.
        let to = to.map(|_| unsafe { KeyOf::of(flow, number, to, context) }).transpose()?;
        let dependency = &flow.dependencies[number].0;
        match to {
            None => flow.tasks[task].append_last_dependency(dependency, key)?,
            Some(to) => {
                let to = move |arguments: Vec<Field>| to.key(&arguments);
                flow.tasks[task].append_migrate_dependency(dependency, key, to)?;
            }
        }
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Lets a declared task read an instance, or change it.
///
/// # Safety
/// As `tidings_tasks_append_read_dependency`.
unsafe fn append(
    flow: *mut TidingsTasksFlow,
    task: TidingsTasksDeclared,
    kind: TidingsTasksDependency,
    key: (TidingsTasksKey, *mut c_void),
    is_changed: bool,
) -> Result<(), Trouble> {
    // SAFETY: as the caller promises.
    let (flow, key, task, number) = unsafe { appended(flow, task, kind, key)? };
    let (task, dependency) = (&mut flow.tasks[task], &flow.dependencies[number].0);
    let key = move |arguments: Vec<Field>| key.key(&arguments);
    if is_changed {
        task.append_inout_dependency(dependency, key)?;
    } else {
        task.append_read_dependency(dependency, key)?;
    }
    Ok(())
}

/// What is appended to what: the flow, a function for keys, and the numbers of task and dependency.
///
/// # Safety
/// As `tidings_tasks_append_read_dependency`.
unsafe fn appended<'a>(
    flow: *mut TidingsTasksFlow,
    task: TidingsTasksDeclared,
    kind: TidingsTasksDependency,
    (key, context): (TidingsTasksKey, *mut c_void),
) -> Result<(&'a mut TidingsTasksFlow, KeyOf, usize, usize), Trouble> {
    // SAFETY: as the caller promises.
    let flow = unsafe { TidingsTasksFlow::of(flow)? };
    let (task, number) = (flow.task(task)?, flow.dependency(kind)?);
    // SAFETY: as the caller promises.
    let key = unsafe { KeyOf::of(flow, number, key, context)? };
    Ok((flow, key, task, number))
}
