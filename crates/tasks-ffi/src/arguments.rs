//! Pointers and lengths of C, as values of Rust: checked as far as they can be.

use core::ffi::{CStr, c_char};
use core::time::Duration;
use std::slice;

use crate::limits::TIDINGS_TASKS_FOREVER;
use crate::status::Trouble;

/// A text that has to be there.
///
/// # Safety
/// `start` is null, or a text that ends with a zero byte and stays as it is for `'a`.
pub(crate) unsafe fn text<'a>(what: &str, start: *const c_char) -> Result<&'a str, Trouble> {
    // SAFETY: as the caller promises.
    let text = unsafe { optional_text(what, start) }?;
    text.ok_or_else(|| Trouble::argument(format!("{what} is null")))
}

/// A text that may be null.
///
/// # Safety
/// As [`text`].
pub(crate) unsafe fn optional_text<'a>(
    what: &str,
    start: *const c_char,
) -> Result<Option<&'a str>, Trouble> {
    if start.is_null() {
        return Ok(None);
    }
    // SAFETY: it is not null, and ends with a zero byte, as the caller promises.
    let text = unsafe { CStr::from_ptr(start) };
    text.to_str().map(Some).map_err(|_| Trouble::argument(format!("{what} is not UTF-8")))
}

/// Values one behind the other.
///
/// # Safety
/// `start` is null, or has `count` values that stay as they are for `'a`.
pub(crate) unsafe fn all<'a, T>(
    what: &str,
    start: *const T,
    count: usize,
) -> Result<&'a [T], Trouble> {
    if count == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(Trouble::argument(format!("{what} is null, and has a length of {count}")));
    }
    if !start.is_aligned() || count > isize::MAX as usize / size_of::<T>().max(1) {
        let text = format!("{what} is not aligned, or its length of {count} is more than there is");
        return Err(Trouble::argument(text));
    }
    // SAFETY: it is neither null nor out of line, no longer than a slice can be, and has so many
    // values, as the caller promises.
    Ok(unsafe { slice::from_raw_parts(start, count) })
}

/// Where a result goes.
///
/// # Safety
/// `place` is null, or valid and used by nobody else for `'a`.
pub(crate) unsafe fn place<'a, T>(what: &str, place: *mut T) -> Result<&'a mut T, Trouble> {
    // SAFETY: as the caller promises.
    unsafe { place.as_mut() }.ok_or_else(|| Trouble::argument(format!("{what} is null")))
}

/// A value that has to be there.
///
/// # Safety
/// `value` is null, or valid for `'a`.
pub(crate) unsafe fn value<'a, T>(what: &str, value: *const T) -> Result<&'a T, Trouble> {
    // SAFETY: as the caller promises.
    unsafe { value.as_ref() }.ok_or_else(|| Trouble::argument(format!("{what} is null")))
}

/// A time to wait; none for no limit.
pub(crate) fn wait(timeout_ms: u64) -> Option<Duration> {
    (timeout_ms != TIDINGS_TASKS_FOREVER).then(|| Duration::from_millis(timeout_ms))
}

/// The same in milliseconds, as a statement has it.
pub(crate) fn wait_ms(timeout_ms: u64) -> Option<u64> {
    (timeout_ms != TIDINGS_TASKS_FOREVER).then_some(timeout_ms)
}

#[cfg(test)]
mod tests {
    use core::ptr;

    use super::*;

    #[test]
    fn what_is_null_or_too_long_is_refused() {
        let bytes = [0_u32; 2];
        let first = bytes.as_ptr();
        // SAFETY: none of what is read is longer than the array; the others are refused unread.
        unsafe {
            assert_eq!(all("it", first, 2).unwrap(), [0, 0]);
            assert!(all::<u8>("it", ptr::null(), 0).unwrap().is_empty());
            assert!(all::<u8>("it", ptr::null(), 1).is_err());
            assert!(all("it", first, usize::MAX).is_err());
            assert!(all("it", first.wrapping_byte_add(1), 1).is_err());
            assert!(text("it", ptr::null()).is_err());
            assert_eq!(text("it", c"abc".as_ptr()).unwrap(), "abc");
            assert!(text("it", c"\xff".as_ptr()).is_err());
        }
        assert_eq!(wait(TIDINGS_TASKS_FOREVER), None);
        assert_eq!(wait(3), Some(Duration::from_millis(3)));
    }
}
