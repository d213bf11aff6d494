//! Places in C: a file and a line, as the macros of the header state them.
//!
//! `__FILE__` is the same text each time a place is passed, so a thread finds the few that it has
//! seen by the address of that text, without a look at its bytes.

use core::ffi::{CStr, c_char};
use std::cell::Cell;

use tidings_races::Site;

/// How many places a thread remembers.
const REMEMBERED: usize = 64;

thread_local! {
    static KNOWN: [Cell<(usize, u32, Option<Site>)>; REMEMBERED] =
        const { [const { Cell::new((0, 0, None)) }; REMEMBERED] };
}

/// The place in a file at a line; a file that is null is called `?`.
///
/// # Safety
/// `file` is null, or ends with a zero byte and stays as it is while the program runs.
pub(crate) unsafe fn site(file: *const c_char, line: u32) -> Site {
    let address = file.addr();
    KNOWN.with(|known| {
        let slot = &known[(address ^ line as usize) % REMEMBERED];
        if let (at, of, Some(site)) = slot.get() {
            if (at, of) == (address, line) {
                return site;
            }
        }
        // SAFETY: as the caller promises.
        let name = (!file.is_null()).then(|| unsafe { CStr::from_ptr(file) }.to_string_lossy());
        let site = Site::foreign(name.as_deref().unwrap_or("?"), line);
        slot.set((address, line, Some(site)));
        site
    })
}
