//! What a call answers: a number that is 0 if all went well, and a sentence for each.

use core::ffi::{CStr, c_char};

/// What a call answers. Only `TIDINGS_STATUS_OK` is 0.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TidingsStatus {
    /// All went well.
    Ok = 0,
    /// A pointer that must not be null is null. Nothing was done.
    Null = 1,
    /// The configuration is not one that a node can run with; the message says which part. No node
    /// was made.
    Configuration = 2,
    /// The payload is longer than `payload_bytes`. What was published before stays.
    TooLong = 3,
    /// There is no node of this number. Nothing was done.
    Number = 4,
    /// A call went wrong inside, which is a fault of the library; this node does nothing any more.
    Broken = 5,
}

/// A sentence that says what a status means. It lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn tidings_status_text(status: u32) -> *const c_char {
    const TEXTS: [&CStr; 6] = [
        c"all went well",
        c"a pointer is null that must not be",
        c"no node can run with this configuration",
        c"the payload is longer than payload_bytes",
        c"there is no node of this number",
        c"an earlier call went wrong inside: free the node",
    ];
    TEXTS.get(status as usize).copied().unwrap_or(c"no status of this library").as_ptr()
}
