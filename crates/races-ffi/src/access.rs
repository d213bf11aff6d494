//! Accesses that C declares.

use core::ffi::{c_char, c_void};

use tidings_races::{Kind, memory};

use crate::place::site;

/// What is done to memory.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TidingsRacesAccess {
    /// It stays as it is.
    Read = 0,
    /// It changes so that the order of several changes does not matter: a sum, a maximum.
    Update = 1,
    /// It changes.
    Write = 2,
}

/// Declares an access to so many bytes from a place on, where `access` is a `TidingsRacesAccess`;
/// any other number counts as a change. Outside of a checked run it does nothing. The macros
/// `TIDINGS_READS`, `TIDINGS_WRITES` and `TIDINGS_UPDATES` say file and line.
///
/// # Safety
/// `file` is null, or ends with a zero byte and stays as it is while the program runs. The place is
/// not looked at.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_races_access(
    access: u32,
    place: *const c_void,
    bytes: usize,
    file: *const c_char,
    line: u32,
) {
    let kind = match access {
        0 => Kind::Read,
        1 => Kind::Update,
        _ => Kind::Write,
    };
    // SAFETY: as the caller promises.
    memory::declare_bytes(kind, place.addr(), bytes, unsafe { site(file, line) });
}

/// Forgets what was declared of so many bytes, which are about to be given back: what comes to be
/// there after them is another place.
#[unsafe(no_mangle)]
pub extern "C" fn tidings_races_forget(place: *const c_void, bytes: usize) {
    memory::forget_bytes(place.addr(), bytes);
}
