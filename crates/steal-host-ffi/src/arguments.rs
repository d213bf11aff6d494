//! Pointers and lengths of C, as values of Rust: checked as far as they can be.

use core::ffi::{CStr, c_char, c_void};
use core::slice;
use std::path::Path;

use tidings_steal_host::Frame;

use crate::status::Trouble;

/// A text that has to be there.
///
/// # Safety
/// It is null, or ends with a zero byte and stays as it is for `'a`.
pub(crate) unsafe fn text<'a>(what: &str, start: *const c_char) -> Result<&'a str, Trouble> {
    if start.is_null() {
        return Err(Trouble::argument(format!("{what} is null")));
    }
    // SAFETY: it is not null, and ends with a zero byte, as the caller promises.
    let text = unsafe { CStr::from_ptr(start) };
    text.to_str().map_err(|_| Trouble::argument(format!("{what} is not UTF-8")))
}

/// A path.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn path<'a>(start: *const c_char) -> Result<&'a Path, Trouble> {
    // SAFETY: as the caller promises.
    unsafe { text("the path", start) }.map(Path::new)
}

/// Values one behind the other.
///
/// # Safety
/// It is null, or has so many values, which stay as they are for `'a`.
pub(crate) unsafe fn all<'a, T>(
    what: &str,
    start: *const T,
    count: usize,
) -> Result<&'a [T], Trouble> {
    if count == 0 {
        return Ok(&[]);
    }
    if start.is_null() || !start.is_aligned() || count > isize::MAX as usize / size_of::<T>() {
        let text = format!("{what}: {count} of them, and they are null or cannot be so many");
        return Err(Trouble::argument(text));
    }
    // SAFETY: it is neither null nor out of line, no longer than a slice can be, and has so many
    // values, as the caller promises.
    Ok(unsafe { slice::from_raw_parts(start, count) })
}

/// Where values go, one behind the other.
///
/// # Safety
/// It is null, or has room for so many values, which are initialised, and nobody else uses it for
/// `'a`.
pub(crate) unsafe fn room<'a, T>(
    what: &str,
    start: *mut T,
    count: usize,
) -> Result<&'a mut [T], Trouble> {
    // SAFETY: as the caller promises.
    unsafe { all(what, start.cast_const(), count) }?;
    if count == 0 {
        return Ok(&mut []);
    }
    // SAFETY: it was just found to be such a slice, which nobody else uses, as the caller promises.
    Ok(unsafe { slice::from_raw_parts_mut(start, count) })
}

/// What has to be there.
///
/// # Safety
/// It is null, or valid for `'a`.
pub(crate) unsafe fn value<'a, T>(what: &str, value: *const T) -> Result<&'a T, Trouble> {
    // SAFETY: as the caller promises.
    unsafe { value.as_ref() }.ok_or_else(|| Trouble::argument(format!("{what} is null")))
}

/// The same, to be changed.
///
/// # Safety
/// It is null, or valid for `'a`, and nobody else uses it.
pub(crate) unsafe fn place<'a, T>(what: &str, place: *mut T) -> Result<&'a mut T, Trouble> {
    // SAFETY: as the caller promises.
    unsafe { place.as_mut() }.ok_or_else(|| Trouble::argument(format!("{what} is null")))
}

/// A task of these bytes, which are copied.
///
/// # Safety
/// `state` is null or has so many bytes.
pub(crate) unsafe fn frame(
    function: u16,
    work_ns: u64,
    (state, bytes): (*const c_void, usize),
) -> Result<Frame, Trouble> {
    // SAFETY: as the caller promises.
    let state = unsafe { all("the bytes of a task", state.cast::<u8>(), bytes) }?;
    Frame::new(function, work_ns, state).map_err(|error| Trouble::task(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_null_or_too_long_is_refused() {
        let byte = 0_u64;
        // SAFETY: each is null, or refused for its length or place, but for one text.
        unsafe {
            assert!(text("it", core::ptr::null()).is_err());
            assert!(text("it", c"\xff".as_ptr()).is_err());
            assert_eq!(text("it", c"a".as_ptr()).unwrap(), "a");
            assert!(all::<u64>("it", core::ptr::null(), 1).is_err());
            assert!(all("it", &raw const byte, usize::MAX).is_err());
            assert!(all("it", (&raw const byte).wrapping_byte_add(1), 1).is_err());
            assert!(all::<u64>("it", core::ptr::null(), 0).unwrap().is_empty());
            assert!(room::<u64>("it", core::ptr::null_mut(), 1).is_err());
            assert!(value::<u64>("it", core::ptr::null()).is_err());
            assert!(place::<u64>("it", core::ptr::null_mut()).is_err());
        }
    }
}
