//! Handles: large blobs that stay in the memory of the node that shares them, and that others read
//! there.
//!
//! A handle is a value that a program copies: into fields of tuples, payloads and messages of MPI.

use core::ffi::{c_char, c_void};
use std::ptr;
use std::sync::Arc;

use tidings_tasks::handles::{Handles, Held, ShareError, usual};
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::output::{Depot, MAX_HOST_BYTES, SharedBlob};

use crate::arguments::{all, place, value};
use crate::engine::Engine;
use crate::status::{self, TidingsTasksError, TidingsTasksStatus, Trouble, answered};
use crate::submission::TidingsTasksId;
use crate::tasks::{TidingsTasks, engine};

/// The bytes of the name of a host in a handle, with the zero byte at its end.
pub const TIDINGS_TASKS_HOST_BYTES: usize = 256;

const _: () = assert!(TIDINGS_TASKS_HOST_BYTES == MAX_HOST_BYTES + 1);

/// What names a blob that a node shares: which bytes, and where. A value that may be copied, sent
/// and stored; it does not keep the blob.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsTasksHandle {
    /// SHA-256 of the bytes.
    pub hash: [u8; 32],
    /// How many they are.
    pub count: u64,
    /// The number of the folder in which they lie.
    pub depot: u64,
    /// The host that has shared them.
    pub host: [c_char; TIDINGS_TASKS_HOST_BYTES],
}

/// A blob that this process holds: it stays where it is until that ends. Only pointers to it leave
/// the library.
#[derive(Debug)]
pub struct TidingsTasksBlob {
    held: Held,
    _engine: Arc<Engine>,
}

impl TidingsTasksHandle {
    pub(crate) fn of(blob: &SharedBlob) -> Self {
        let mut host = [0; TIDINGS_TASKS_HOST_BYTES];
        status::write(&blob.depot.host, &mut host);
        Self { hash: blob.hash, count: blob.bytes, depot: blob.depot.id, host }
    }

    pub(crate) fn blob(&self) -> Result<SharedBlob, Trouble> {
        let bytes = self.host.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0);
        let host = String::from_utf8(bytes.collect())
            .map_err(|_| Trouble::argument("the host of a handle is not UTF-8"))?;
        let depot = Depot { id: self.depot, host };
        let blob = SharedBlob { hash: self.hash, bytes: self.count, depot };
        blob.check().map_err(Trouble::argument)?;
        Ok(blob)
    }
}

impl From<ShareError> for Trouble {
    fn from(error: ShareError) -> Self {
        let status = match &error {
            ShareError::Gone { .. } => TidingsTasksStatus::NotFound,
            ShareError::Ended(_) | ShareError::Ending => TidingsTasksStatus::Store,
            _ => TidingsTasksStatus::Refused,
        };
        Self::new(status, error.to_string())
    }
}

impl Engine {
    /// The blobs that this process shares, from the first call on.
    fn handles(&self) -> Result<Handles, Trouble> {
        let mut begun = self.handles.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(handles) = &*begun {
            return Ok(handles.clone());
        }
        let folder = usual(self.member.address()).map_err(ShareError::from)?;
        let handles = Handles::begin(&self.member, &self.session, &self.host, &folder);
        let handles = self.wait(handles)?;
        *begun = Some(handles.clone());
        Ok(handles)
    }
}

/// Copies bytes into the memory that this host shares: whoever has the handle gets them, on the
/// same host without a copy, elsewhere from a host that has it. Writes the handle to `handle`,
/// unless that is null, and what holds the blob to `blob`. It stays as long as that is held by some
/// process, a tuple names it, or a task for which it was pinned has a record; and half a minute
/// longer.
///
/// # Safety
/// `bytes` is null or has `count` bytes; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_share(
    tasks: *const TidingsTasks,
    bytes: *const c_void,
    count: usize,
    handle: *mut TidingsTasksHandle,
    blob: *mut *mut TidingsTasksBlob,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (engine, content) =
            unsafe { (engine(tasks)?, all("the bytes of a blob", bytes.cast::<u8>(), count)?) };
        // SAFETY: as the caller promises.
        let room = unsafe { place("where the blob goes", blob)? };
        let held = engine.handles()?.put(content)?;
        // SAFETY: as the caller promises.
        if let Some(handle) = unsafe { handle.as_mut() } {
            *handle = TidingsTasksHandle::of(held.blob());
        }
        *room = boxed(engine, held);
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Gets a blob by its handle and writes what holds it to `blob`: mapped if it lies on this host,
/// else fetched, unless it was before. `TIDINGS_TASKS_STATUS_NOT_FOUND`: it is gone, and null is
/// written.
///
/// # Safety
/// Each pointer is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_fetch(
    tasks: *const TidingsTasks,
    handle: *const TidingsTasksHandle,
    blob: *mut *mut TidingsTasksBlob,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (engine, handle) = unsafe { (engine(tasks)?, value("the handle", handle)?) };
        // SAFETY: as the caller promises.
        let room = unsafe { place("where the blob goes", blob)? };
        *room = ptr::null_mut();
        let wanted = handle.blob()?;
        let held = engine.wait(engine.handles()?.get(&wanted))?;
        *room = boxed(engine, held);
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Keeps a blob as long as the record of a task is there, which is submitted next and whose payload
/// has the handle. Hold the blob until it was submitted.
///
/// # Safety
/// Each pointer is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_pin(
    tasks: *const TidingsTasks,
    handle: *const TidingsTasksHandle,
    id: *const TidingsTasksId,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (engine, handle) = unsafe { (engine(tasks)?, value("the handle", handle)?) };
        // SAFETY: as the caller promises.
        let id = unsafe { value("the id of the task", id)? };
        let task = TaskId::from_bytes(id.bytes);
        engine.wait(engine.handles()?.pin(&handle.blob()?, &[task]))?;
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// The bytes of a blob, which cannot be written and stay as long as it is held. Writes how many
/// they are to `count`, unless that is null. Null for null.
///
/// # Safety
/// `blob` is null, or from `tidings_tasks_share` or `tidings_tasks_fetch` and not given back;
/// `count` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_blob_bytes(
    blob: *const TidingsTasksBlob,
    count: *mut usize,
) -> *const c_void {
    // SAFETY: as the caller promises.
    let (blob, count) = unsafe { (blob.as_ref(), count.as_mut()) };
    if let Some(count) = count {
        *count = blob.map_or(0, |blob| blob.held.len());
    }
    blob.map_or(ptr::null(), |blob| blob.held.as_ptr().cast())
}

/// Whether the bytes of a blob came from another host for this; else they were mapped as they are.
///
/// # Safety
/// As `tidings_tasks_blob_bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_blob_is_copy(blob: *const TidingsTasksBlob) -> bool {
    // SAFETY: as the caller promises.
    unsafe { blob.as_ref() }.is_some_and(|blob| blob.held.moved_bytes() > 0)
}

/// Holds a blob no longer. Its bytes are not to be read any more. Null is allowed.
///
/// # Safety
/// As `tidings_tasks_blob_bytes`; it is given back once, before the store is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_unshare(blob: *mut TidingsTasksBlob) {
    if !blob.is_null() {
        // SAFETY: it is from `boxed`, and given back once, as the caller promises.
        drop(unsafe { Box::from_raw(blob) });
    }
}

fn boxed(engine: &Arc<Engine>, held: Held) -> *mut TidingsTasksBlob {
    Box::into_raw(Box::new(TidingsTasksBlob { held, _engine: engine.clone() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_of_c_is_the_handle() {
        let depot = Depot { id: 7, host: "node1".to_owned() };
        let blob = SharedBlob { hash: [3; 32], bytes: 1 << 26, depot };
        let handle = TidingsTasksHandle::of(&blob);
        assert_eq!(handle.blob().unwrap(), blob);
        assert!(TidingsTasksHandle { count: u64::MAX, ..handle }.blob().is_err());
        let host = [-1; TIDINGS_TASKS_HOST_BYTES];
        assert!(TidingsTasksHandle { host, ..handle }.blob().is_err());
    }
}
