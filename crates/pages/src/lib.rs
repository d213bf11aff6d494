//! Files in memory that processes share, and memory on pages of 2 MiB.
//!
//! A processor remembers where some thousand pages lie. Of small pages (4 KiB) that is a few MiB,
//! so a vector, a board or a segment that is larger costs a walk through the page table at almost
//! every access; of large pages (2 MiB) it is some GiB. [`enlarge`] asks the kernel for large pages
//! for memory that is there already, and [`Report`] says what it gave. [`Shared`] maps a file so
//! that this is possible: from a multiple of 2 MiB on.
//!
//! Large pages are never needed: where the kernel has none, memory stays as it is.
//!
//! Source: `Documentation/admin-guide/mm/transhuge.rst` of Linux, madvise(2).

mod large;
mod report;
mod shared;

pub use large::{LARGE_BYTES, advise, enlarge};
pub use report::Report;
pub use shared::Shared;
