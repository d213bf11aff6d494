//! Large pages: words on pages of 2 MiB where the kernel gives them, and what it gave.
//!
//! With a page of 2 MiB a vector of 64 MiB takes 32 faults instead of 16,384, and its page table
//! is 512 times smaller. The kernel is advised (MADV_HUGEPAGE), not forced: no pool of the
//! administrator's is needed, and where there is no such page it takes small ones. The pages are
//! filled before they are used, by this thread or by the service, so that no fault is on the
//! application's way; filling by the service takes its time, not the caller's core's.
//!
//! What the kernel says of a mapping is in /proc/self/smaps: [`Report`].

use std::io;

pub use tidings_pages::{LARGE_BYTES, Report};

use crate::kernel::{advise, map_private, unmap};
use crate::shipper::{Call, Shipper};

/// Words of zeros on large pages.
#[derive(Debug)]
pub struct LargeWords {
    mapped: *mut u8,
    mapped_bytes: usize,
    start: *mut u64,
    words: usize,
}

// SAFETY: the words are owned, as those of a Box; the addresses are for them and their unmapping.
unsafe impl Send for LargeWords {}
// SAFETY: shared references give shared slices of plain words alone.
unsafe impl Sync for LargeWords {}

/// Who fills the pages.
#[derive(Debug)]
pub enum Fill<'s> {
    /// Nobody: each is filled when it is first used.
    Later,
    /// This thread, now.
    Here,
    /// The service, now, or this thread where calls run in place.
    ByService(&'s mut Shipper),
}

impl LargeWords {
    /// So many words, on pages of 2 MiB if the kernel has them.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn new(words: usize, fill: Fill<'_>) -> io::Result<Self> {
        Self::map(words, fill, libc::MADV_HUGEPAGE)
    }

    /// The same on small pages, to compare with.
    ///
    /// # Errors
    /// If there is no memory for them.
    pub fn on_small_pages(words: usize, fill: Fill<'_>) -> io::Result<Self> {
        Self::map(words, fill, libc::MADV_NOHUGEPAGE)
    }

    fn map(words: usize, fill: Fill<'_>, advice: i32) -> io::Result<Self> {
        let bytes = words
            .max(1)
            .checked_mul(8)
            .and_then(|bytes| bytes.checked_next_multiple_of(LARGE_BYTES))
            .and_then(|bytes| Some((bytes, bytes.checked_add(LARGE_BYTES)?)));
        let (bytes, mapped_bytes) = bytes.ok_or(io::ErrorKind::OutOfMemory)?;
        let mapped = map_private(mapped_bytes, false)?;
        let skipped = mapped.align_offset(LARGE_BYTES);
        // A mapping longer by a large page has an aligned start within its first large page.
        let start = mapped.wrapping_add(skipped);
        let large = Self { mapped, mapped_bytes, start: start.cast(), words };
        // SAFETY: advice on page sizes changes nothing of what is in pages. A kernel without large
        // pages refuses it, and has small ones: `Report` tells.
        let _ = unsafe { advise(start, bytes, advice) };
        Self::fill(start, bytes, fill)?;
        Ok(large)
    }

    /// Has the kernel provide all pages (Linux 5.14); one that cannot does so at first use.
    fn fill(start: *mut u8, bytes: usize, fill: Fill<'_>) -> io::Result<()> {
        let advice = libc::MADV_POPULATE_WRITE;
        let filled = match fill {
            Fill::Later => Ok(()),
            // SAFETY: it gives pages their zeros, which is what is read there anyway.
            Fill::Here => unsafe { advise(start, bytes, advice) },
            Fill::ByService(shipper) => {
                let call = Call {
                    number: libc::SYS_madvise as u64,
                    arguments: [start as u64, bytes as u64, advice as u64, 0, 0, 0],
                };
                // SAFETY: as for `Here`; the pages are mapped until the call is done.
                let (result, _) = unsafe { shipper.call(call) };
                match crate::service::error_in(result) {
                    Some(error) => Err(io::Error::from_raw_os_error(error as i32)),
                    None => Ok(()),
                }
            }
        };
        match filled {
            Err(error) if error.raw_os_error() != Some(libc::EINVAL) => Err(error),
            _ => Ok(()),
        }
    }

    /// What the kernel gave.
    ///
    /// # Errors
    /// If /proc is not there.
    pub fn report(&self) -> io::Result<Report> {
        Report::of(self.start as usize)
    }
}

impl std::ops::Deref for LargeWords {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        // SAFETY: `words` words from the aligned start are within the mapping, are zeros or what
        // was written by `deref_mut`, and live as long as `self`, which owns them.
        unsafe { std::slice::from_raw_parts(self.start, self.words) }
    }
}

impl std::ops::DerefMut for LargeWords {
    fn deref_mut(&mut self) -> &mut [u64] {
        // SAFETY: as for `deref`, and `self` is borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.words) }
    }
}

impl Drop for LargeWords {
    fn drop(&mut self) {
        // SAFETY: mapped in `map` with this size; slices of words borrow from `self`.
        unsafe { unmap(self.mapped, self.mapped_bytes) };
    }
}

/// Advises the kernel to put what is in this memory on large pages: of the vector, a board that is
/// read from memory of this process. Only whole large pages within it are.
///
/// # Errors
/// If the kernel has no large pages, or gives none to this process.
pub fn advise_large<T>(memory: &[T]) -> io::Result<()> {
    let range = memory.as_ptr_range();
    tidings_pages::advise(&(range.start as usize..range.end as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_zeros_that_can_be_written_and_are_there_when_filled() {
        const WORDS: usize = 3 * LARGE_BYTES / 8 + 5;
        let mut filled = LargeWords::new(WORDS, Fill::Here).expect("there is memory");
        assert_eq!(filled.len(), WORDS);
        assert_eq!(filled.as_ptr() as usize % LARGE_BYTES, 0);
        assert!(filled.iter().all(|&word| word == 0));
        filled[WORDS - 1] = 7;
        assert_eq!(filled.last(), Some(&7));
        let report = filled.report().expect("there is /proc");
        assert!(report.resident_kib >= 4 * 2048, "{report:?}");
        let later = LargeWords::on_small_pages(WORDS, Fill::Later).expect("there is memory");
        assert_eq!(later.report().expect("there is /proc").large_kib, 0);
    }

    #[test]
    fn the_service_fills_pages_too() {
        let service = crate::Service::in_place("the test asks for it");
        let mut shipper = service.shipper().expect("in place there is always one");
        let fill = Fill::ByService(&mut shipper);
        let words = LargeWords::new(LARGE_BYTES / 8, fill).expect("there is memory");
        assert!(words.report().expect("there is /proc").resident_kib >= 2048);
    }

    #[test]
    fn more_than_there_is_is_an_error() {
        assert!(LargeWords::new(usize::MAX / 8, Fill::Later).is_err());
        assert!(LargeWords::new(1 << 56, Fill::Later).is_err());
    }

    #[test]
    fn advice_on_a_vector_leaves_what_is_in_it() {
        let vector: Vec<u64> = (0..1_000_000).collect();
        // A kernel without large pages refuses; the vector is as it was in either case.
        let _ = advise_large(&vector);
        assert!(vector.iter().copied().eq(0..1_000_000));
        assert!(advise_large::<u64>(&[]).is_ok(), "nothing to advise on");
    }
}
