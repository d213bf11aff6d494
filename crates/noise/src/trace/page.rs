//! A page of the kernel's ring buffer: records in a chain, each with the time since the one before.
//!
//! The form is that of `include/linux/ring_buffer.h` and `events/header_page`: the time of the
//! page, a word with the bytes in use and flags for what was lost, then records. A record begins
//! with a word of 5 bits of kind or length and 27 bits of time. Whatever the bytes say, nothing
//! outside the page is read.

use super::format::field;

const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// The flags of the word with the bytes in use: events before this page were lost.
const MISSED: u64 = 1 << 31;
const IN_USE: u64 = (1 << 30) - 1;
/// The times of a stamp are of 59 bits; the rest is that of the page.
const STAMP_BITS: u32 = 59;

/// Where things lie in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    commit: usize,
    data: usize,
    /// The bytes of a page.
    pub page_bytes: usize,
}

impl Layout {
    /// By the kernel's `events/header_page`; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let fields: Vec<_> = text.lines().filter_map(field).collect();
        let named = |name: &str| fields.iter().find(|(own, _)| own == name).map(|(_, own)| *own);
        let (commit, data) = (named("commit")?, named("data")?);
        let page_bytes = data.offset.checked_add(data.size)?;
        let is_sound = commit.size == 8 && commit.offset == 8 && data.offset == 16;
        (is_sound && page_bytes <= 1 << 20).then_some(Self {
            commit: commit.offset,
            data: data.offset,
            page_bytes,
        })
    }
}

/// A record and when it was written.
pub type Record<'a> = (u64, &'a [u8]);

/// What a page holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<'a> {
    /// When its first record was written, about.
    pub begin_ns: u64,
    /// Whether events before it were lost.
    pub has_missed: bool,
    /// Its records, in their order.
    pub records: Vec<Record<'a>>,
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(word.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..at + 8)?;
    Some(u64::from_le_bytes(word.try_into().ok()?))
}

/// Reads a page as far as it makes sense; `None` if not even its head does.
pub fn read(layout: Layout, bytes: &[u8]) -> Option<Page<'_>> {
    let begin_ns = long(bytes, 0)?;
    let commit = long(bytes, layout.commit)?;
    let end = (layout.data + (commit & IN_USE) as usize).min(bytes.len());
    let mut page = Page { begin_ns, has_missed: commit & MISSED != 0, records: Vec::new() };
    let data = bytes.get(..end)?;
    chain(data, layout.data, &mut page);
    Some(page)
}

/// Follows the chain of records from `at` on; `None` at its end.
fn chain<'a>(data: &'a [u8], mut at: usize, page: &mut Page<'a>) -> Option<()> {
    let mut now = page.begin_ns;
    loop {
        let head = word(data, at)?;
        let (kind, delta) = (head & 31, u64::from(head >> 5));
        let next = word(data, at + 4);
        match kind {
            PADDING if delta == 0 => return None,
            PADDING => at = at.checked_add(4)?.checked_add(next? as usize)?,
            TIME_EXTEND => {
                now = now.wrapping_add(delta + (u64::from(next?) << 27));
                at += 8;
            }
            TIME_STAMP => {
                let upper = page.begin_ns >> STAMP_BITS << STAMP_BITS;
                now = upper | (delta + (u64::from(next?) << 27));
                at += 8;
            }
            _ => {
                now = now.wrapping_add(delta);
                let (from, bytes) = match kind {
                    0 => (at + 8, (next? as usize).checked_sub(4)?),
                    words => (at + 4, words as usize * 4),
                };
                page.records.push((now, data.get(from..from.checked_add(bytes)?)?));
                at = from + bytes.next_multiple_of(4);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) const HEADER: &str = "\
\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
";

    fn page_of(begin: u64, flags: u64, words: &[u32]) -> Vec<u8> {
        let mut bytes = begin.to_le_bytes().to_vec();
        bytes.extend(((words.len() as u64 * 4) | flags).to_le_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    fn head(kind: u32, delta: u32) -> u32 {
        kind | delta << 5
    }

    #[test]
    fn times_add_up_over_records_of_all_kinds() {
        let layout = Layout::parse(HEADER).expect("a layout");
        assert_eq!(layout.page_bytes, 4_096);
        let words = [
            head(2, 10),
            1,
            2, // two words, 10 ns after the page
            head(TIME_EXTEND, 3),
            1, // 2^27 + 3 ns on
            head(0, 5),
            8,
            7, // the length in a word of its own: four bytes
            head(PADDING, 1),
            4, // four bytes that are nothing
            head(TIME_STAMP, 9),
            2, // at 2^28 + 9
            head(1, 1),
            3,
            head(PADDING, 0),
            9,
            9, // nothing more
        ];
        let bytes = page_of(1_000, MISSED, &words);
        let page = read(layout, &bytes).expect("a page");
        assert!(page.has_missed);
        let records: Vec<(u64, Vec<u8>)> =
            page.records.iter().map(|(at, record)| (*at, record.to_vec())).collect();
        let wanted = vec![
            (1_010, vec![1, 0, 0, 0, 2, 0, 0, 0]),
            (1_013 + (1 << 27) + 5, vec![7, 0, 0, 0]),
            ((1 << 28) + 10, vec![3, 0, 0, 0]),
        ];
        assert_eq!(records, wanted);
    }

    proptest! {
        #[test]
        fn no_bytes_lead_outside_the_page(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let layout = Layout::parse(HEADER).expect("a layout");
            if let Some(page) = read(layout, &bytes) {
                let all: usize = page.records.iter().map(|(_, record)| record.len()).sum();
                prop_assert!(all <= bytes.len());
            }
        }
    }
}
