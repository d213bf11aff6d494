//! Matrices of doubles in blocks that all processes read and add to.

use tidings_steal_host::{Array, Sizes};

use crate::arguments::{all, place, room, value};
use crate::host::TidingsHost;
use crate::status::{TidingsHostError, TidingsHostStatus, Trouble, answered};

/// An array. Only pointers to it leave the library.
#[derive(Debug)]
pub struct TidingsHostArray {
    array: Array,
}

/// How large an array is, and its blocks.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsHostSizes {
    /// Rows of elements.
    pub rows: usize,
    /// Columns of elements.
    pub columns: usize,
    /// Rows of a block.
    pub block_rows: usize,
    /// Columns of a block.
    pub block_columns: usize,
}

/// Makes an array of zeros. All meet for it, between phases, with the same sizes; if one fails, all
/// do.
///
/// # Safety
/// Pointers are null or valid, and `host` is from `tidings_host_join`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_array_create(
    host: *mut TidingsHost,
    sizes: *const TidingsHostSizes,
    array: *mut *mut TidingsHostArray,
    error: *mut TidingsHostError,
) -> TidingsHostStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (host, sizes, to) =
            unsafe { (place("host", host)?, value("sizes", sizes)?, place("array", array)?) };
        *to = core::ptr::null_mut();
        let TidingsHostSizes { rows, columns, block_rows, block_columns } = *sizes;
        let sizes = Sizes { rows, columns, block_rows, block_columns };
        let array = host.with(|host| Ok(Array::create(host, sizes)?))?;
        *to = Box::into_raw(Box::new(TidingsHostArray { array }));
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Frees this process's share of it. Null is allowed.
///
/// # Safety
/// It is null, or from `tidings_host_array_create` and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_array_free(array: *mut TidingsHostArray) {
    if !array.is_null() {
        // SAFETY: it was made by `Box::into_raw` and not freed, as the caller promises.
        drop(unsafe { Box::from_raw(array) });
    }
}

/// The worker at which a task that needs this block runs best; `UINT32_MAX` if there is no such
/// block.
///
/// # Safety
/// As [`tidings_host_array_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_array_owner(
    array: *const TidingsHostArray,
    row: usize,
    column: usize,
) -> u32 {
    // SAFETY: as the caller promises.
    let array = unsafe { array.as_ref() };
    array.and_then(|array| array.array.owner(row, column)).unwrap_or(u32::MAX)
}

/// Does something with an array.
///
/// # Safety
/// As [`tidings_host_array_free`].
unsafe fn with(
    array: *const TidingsHostArray,
    error: *mut TidingsHostError,
    what: impl FnOnce(&Array) -> Result<(), Trouble>,
) -> TidingsHostStatus {
    // SAFETY: as the caller promises.
    let call = || what(&unsafe { value("array", array)? }.array);
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Reads the block of this row and column of blocks: `count` elements.
///
/// # Safety
/// As [`tidings_host_array_free`]; `into` has room for so many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_array_get(
    array: *const TidingsHostArray,
    row: usize,
    column: usize,
    into: *mut f64,
    count: usize,
    error: *mut TidingsHostError,
) -> TidingsHostStatus {
    // SAFETY: as the caller promises.
    unsafe { with(array, error, |array| Ok(array.get(row, column, room("into", into, count)?)?)) }
}

/// Writes a block.
///
/// # Safety
/// As [`tidings_host_array_free`]; `from` has so many elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_array_put(
    array: *const TidingsHostArray,
    row: usize,
    column: usize,
    from: *const f64,
    count: usize,
    error: *mut TidingsHostError,
) -> TidingsHostStatus {
    // SAFETY: as the caller promises.
    unsafe { with(array, error, |array| Ok(array.put(row, column, all("from", from, count)?)?)) }
}

/// Adds to a block, element by element; all that processes add to an element counts.
///
/// # Safety
/// As [`tidings_host_array_put`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_array_accumulate(
    array: *const TidingsHostArray,
    row: usize,
    column: usize,
    from: *const f64,
    count: usize,
    error: *mut TidingsHostError,
) -> TidingsHostStatus {
    let add = |array: &Array| {
        // SAFETY: as the caller promises.
        Ok(array.accumulate(row, column, unsafe { all("from", from, count) }?)?)
    };
    // SAFETY: as the caller promises.
    unsafe { with(array, error, add) }
}
