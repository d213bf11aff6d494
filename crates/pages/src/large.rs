//! Advice to the kernel about the size of pages.
//!
//! Three kinds are given, none of which changes what is in memory: that large pages are wanted
//! (`MADV_HUGEPAGE`); that all pages be there now (`MADV_POPULATE_WRITE`, Linux 5.14), so that
//! none is provided while somebody waits; and that small ones be replaced by large ones
//! (`MADV_COLLAPSE`, Linux 6.1), which is what helps memory that is in use already and files of
//! `/dev/shm`, whose file system gives small pages unless it is mounted otherwise.

use std::io;
use std::ops::Range;

use crate::Report;

/// The size of a large page on x86-64, and on other machines with small pages of 4 KiB.
pub const LARGE_BYTES: usize = 2 << 20;

/// What libc has no name for everywhere: `MADV_COLLAPSE`.
const COLLAPSE: i32 = 25;

/// Puts what lies at these addresses of this process on large pages, all of it in memory from now
/// on. Only large pages that lie in it whole are; the report is of these, and is empty if there is
/// none.
///
/// That the kernel has no large pages, or none at the moment, is no error: the report says so.
///
/// # Errors
/// If there is no memory for what was not in memory yet, if nothing is mapped there, or it is
/// mapped for reading only.
pub fn enlarge(extent: &Range<usize>) -> io::Result<Report> {
    let Some(whole) = whole(extent) else { return Ok(Report::default()) };
    let _ = give(&whole, libc::MADV_HUGEPAGE); // a kernel without large pages refuses it
    match give(&whole, libc::MADV_POPULATE_WRITE) {
        Err(error) if error.raw_os_error() != Some(libc::EINVAL) => return Err(error),
        _ => {} // an older kernel provides pages at first use
    }
    let _ = give(&whole, COLLAPSE); // an older kernel, or one without a free large page
    Report::of(whole.start)
}

/// Advises the kernel to give large pages to what lies at these addresses, later, when it is first
/// used or by its own collector of large pages.
///
/// # Errors
/// If the kernel has no large pages, or gives none to this process.
pub fn advise(extent: &Range<usize>) -> io::Result<()> {
    whole(extent).map_or(Ok(()), |whole| give(&whole, libc::MADV_HUGEPAGE))
}

/// The large pages that lie in an extent whole.
fn whole(extent: &Range<usize>) -> Option<Range<usize>> {
    let start = extent.start.checked_next_multiple_of(LARGE_BYTES)?;
    let end = extent.end / LARGE_BYTES * LARGE_BYTES;
    (start < end).then_some(start..end)
}

fn give(whole: &Range<usize>, advice: i32) -> io::Result<()> {
    let start = std::ptr::without_provenance_mut::<libc::c_void>(whole.start);
    // SAFETY: each advice of this module leaves what is in the pages as it is, whoever owns them,
    // and fails where nothing is mapped.
    match unsafe { libc::madvise(start, whole.len(), advice) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent<T>(memory: &[T]) -> Range<usize> {
        let range = memory.as_ptr_range();
        range.start as usize..range.end as usize
    }

    #[test]
    fn only_whole_pages_count() {
        const PAGE: usize = LARGE_BYTES;
        assert_eq!(whole(&(0..PAGE)), Some(0..PAGE));
        assert_eq!(whole(&(1..2 * PAGE)), Some(PAGE..2 * PAGE));
        assert_eq!(whole(&(PAGE - 1..2 * PAGE + 1)), Some(PAGE..2 * PAGE));
        assert_eq!(whole(&(1..2 * PAGE - 1)), None);
        assert_eq!(whole(&(5..5)), None);
        assert_eq!(whole(&(usize::MAX - 1..usize::MAX)), None);
    }

    #[test]
    fn what_is_in_memory_stays_and_is_there_whole() {
        let bytes: Vec<u8> = (0..3 * LARGE_BYTES).map(|at| at as u8).collect();
        let report = enlarge(&extent(&bytes)).expect("memory can be advised on");
        assert!(report.resident_kib >= 2 * 2048, "{report:?}");
        assert!(bytes.iter().enumerate().all(|(at, &byte)| byte == at as u8));
    }

    #[test]
    fn less_than_a_large_page_is_left_alone() {
        let small = [1u64; 100];
        assert_eq!(enlarge(&extent(&small)).expect("nothing to do"), Report::default());
        advise(&extent(&small)).expect("nothing to do");
    }

    #[test]
    fn what_is_not_mapped_is_an_error() {
        // The first large pages of a process cannot be mapped by it, or are not.
        enlarge(&(0..2 * LARGE_BYTES)).expect_err("nothing is there");
    }
}
