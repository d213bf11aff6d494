//! Opening and closing a store.

use core::ffi::c_char;
use core::time::Duration;
use std::path::PathBuf;
use std::ptr;
use std::sync::Arc;

use tidings_tasks::client::Place;
use tidings_tasks::usual;
use tidings_tasks_core::resources::{self, Amount};

use crate::arguments::{optional_text, place, value};
use crate::engine::Engine;
use crate::limits::TIDINGS_TASKS_FOREVER;
use crate::status::{TidingsTasksError, TidingsTasksStatus, Trouble, answered};

/// The wait for a store if none is stated.
const USUAL_WAIT: Duration = Duration::from_secs(30);

/// How long an end waits for each answer of a coordinator.
const ANSWERS: Duration = Duration::from_secs(3);

/// A process that uses a store. Only pointers to it leave the library.
#[derive(Debug)]
pub struct TidingsTasks(Arc<Engine>);

/// Which store is opened, and as whom. All may be null or 0: initialise it with `{0}`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsTasksOptions {
    /// `file:PATH`, `tcp://HOST:PORT` where a process of another host listens,
    /// `etcd://HOST:PORT,.../PREFIX`, `block:NAME@STORE` in the memory of those who use it and find
    /// each other in another store, or `memory:` for one that ends with this process. Null: what
    /// the variable `TIDINGS_STORE` says, else a file in this user's state directory, as for the
    /// command `tidings`.
    pub store: *const c_char,
    /// The cluster's key file, for `tcp://` and `etcd://`. Null: none.
    pub keys: *const c_char,
    /// What the process is called where sessions are listed, before its host and number. Null: `c`.
    pub name: *const c_char,
    /// How long it is waited for somebody to serve the store, in milliseconds. 0: 30 s.
    pub timeout_ms: u64,
    /// What those that claim have for the needs of tasks, in each queue that they claim from, such
    /// as `cpus=8,mem=32GiB,gpu=2`. Null: nothing, so that tasks with needs go elsewhere.
    pub resources: *const c_char,
    /// The folder that all hosts share for what is longer than a record of a store in an etcd.
    /// Null: none.
    pub blobs: *const c_char,
}

impl TidingsTasksOptions {
    /// # Safety
    /// Each text is null, or ends with a zero byte.
    unsafe fn place(&self) -> Result<Place, Trouble> {
        // SAFETY: as the caller promises.
        let (store, keys, blobs) = unsafe {
            (
                optional_text("the store", self.store)?,
                optional_text("the key file", self.keys)?,
                optional_text("the folder for blobs", self.blobs)?,
            )
        };
        let argument = |error: &dyn core::fmt::Display| Trouble::argument(error.to_string());
        let address = match store {
            Some(text) => text.parse().map_err(|error| argument(&error))?,
            None => usual::store().map_err(|error| argument(&error))?,
        };
        let place = Place::of(address, keys.map(PathBuf::from));
        let place = place.map_err(|error| argument(&error))?;
        match (blobs, &place.address) {
            (None, _) => Ok(place),
            (Some(folder), address) if address.is_shared() => {
                let folder = std::path::absolute(folder).map_err(|error| argument(&error))?;
                Ok(Place { blobs: Some(folder), ..place })
            }
            (Some(_), _) => {
                Err(Trouble::argument("only a store in an etcd or in memory has blobs elsewhere"))
            }
        }
    }

    /// # Safety
    /// Each text is null, or ends with a zero byte.
    unsafe fn resources(&self) -> Result<Vec<(String, Amount)>, Trouble> {
        // SAFETY: as the caller promises.
        let text = unsafe { optional_text("the resources", self.resources) }?.unwrap_or_default();
        resources::parse(text).map_err(|error| Trouble::argument(error.to_string()))
    }

    fn wait(&self) -> Option<Duration> {
        match self.timeout_ms {
            0 => Some(USUAL_WAIT),
            TIDINGS_TASKS_FOREVER => None,
            timeout_ms => Some(Duration::from_millis(timeout_ms)),
        }
    }
}

/// Opens a store and writes it to `tasks`; null, if it cannot be had. The store is held and served
/// by the first process of the host that opens it, for the others too; when that one ends, another
/// takes over.
///
/// # Safety
/// `options`, `tasks` and `error` are null or valid, and so is each text of the options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_open(
    options: *const TidingsTasksOptions,
    tasks: *mut *mut TidingsTasks,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let open = || {
        // SAFETY: as the caller promises.
        let (tasks, options) = unsafe { (place("tasks", tasks)?, value("options", options)?) };
        *tasks = ptr::null_mut();
        // SAFETY: as the caller promises.
        let (at, name, resources) = unsafe {
            (options.place()?, optional_text("the name", options.name)?, options.resources()?)
        };
        let engine = Engine::begin(at, name.unwrap_or("c"), options.wait(), resources)?;
        *tasks = Box::into_raw(Box::new(TidingsTasks(engine)));
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, open) }
}

/// Closes a store. What this process has claimed or acquired is given back, and what threads still
/// wait for answers `TIDINGS_TASKS_STATUS_STORE`. Claims and permits may be ended after it, and
/// have to be, to give their memory back. Null is allowed; after a fork nothing happens in the
/// child.
///
/// # Safety
/// `tasks` is null or from `tidings_tasks_open`, was not closed, and no thread calls a function
/// with it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_close(tasks: *mut TidingsTasks) {
    let close = || {
        if tasks.is_null() {
            return Ok(());
        }
        // SAFETY: it was made by `Box::into_raw` and was not closed, as the caller promises.
        let TidingsTasks(engine) = *unsafe { Box::from_raw(tasks) };
        match engine.check() {
            Ok(()) => engine.end(ANSWERS),
            // The threads that its parts belong to are not in this process.
            Err(_) => core::mem::forget(engine),
        }
        Ok(())
    };
    // SAFETY: null is allowed.
    unsafe { answered(ptr::null_mut(), close) };
}

/// The engine behind `tasks`.
///
/// # Safety
/// `tasks` is null, or from `tidings_tasks_open` and not closed for `'a`.
pub(crate) unsafe fn engine<'a>(tasks: *const TidingsTasks) -> Result<&'a Arc<Engine>, Trouble> {
    // SAFETY: as the caller promises.
    let TidingsTasks(engine) = unsafe { value("tasks", tasks) }?;
    engine.check()?;
    Ok(engine)
}
