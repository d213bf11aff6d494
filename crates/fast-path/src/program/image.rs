//! What an ELF file says of itself, bounded before it is believed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

const HEADER_BYTES: usize = 64;
const ENTRY_BYTES: usize = 56;
const MACHINE_X86_64: u16 = 62;
const KIND_FIXED: u16 = 2;
const KIND_MOVABLE: u16 = 3;
const LOAD: u32 = 1;
const INTERPRETER: u32 = 3;
const HEADERS: u32 = 6;
/// The user's half of the addresses.
const END: u64 = 1 << 47;
/// The most segments that one is looked at for.
const MOST_ENTRIES: usize = 128;
pub(super) const PAGE_BYTES: u64 = 4096;

/// A part of memory, and where its first bytes are in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) offset: u64,
    pub(super) address: u64,
    pub(super) file_bytes: u64,
    pub(super) memory_bytes: u64,
    pub(super) flags: u32,
}

/// A program, or the interpreter that loads its libraries.
#[derive(Debug)]
pub(super) struct Image {
    /// Whether it may be anywhere.
    pub(super) is_movable: bool,
    pub(super) entry: u64,
    pub(super) segments: Vec<Segment>,
    /// Where in memory its table of segments is, and how many entries that has.
    pub(super) headers: u64,
    pub(super) header_count: u64,
    pub(super) interpreter: Option<PathBuf>,
}

impl Image {
    /// Reads a file; what is wrong with it if it is no program for this machine.
    pub(super) fn read(file: &[u8]) -> Result<Self, &'static str> {
        let known = file.len() >= HEADER_BYTES && file.starts_with(b"\x7fELF\x02\x01");
        if !known || half(file, 18) != Some(MACHINE_X86_64) {
            return Err("it is no ELF file for x86-64");
        }
        let kind = half(file, 16);
        if kind != Some(KIND_FIXED) && kind != Some(KIND_MOVABLE) {
            return Err("it is no program");
        }
        let table = double(file, 32).unwrap_or(u64::MAX);
        let count = usize::from(half(file, 56).unwrap_or(0));
        if usize::from(half(file, 54).unwrap_or(0)) != ENTRY_BYTES || count > MOST_ENTRIES {
            return Err("its table of segments is of another form");
        }
        let mut image = Self {
            is_movable: kind == Some(KIND_MOVABLE),
            entry: double(file, 24).unwrap_or(0),
            segments: Vec::new(),
            headers: 0,
            header_count: count as u64,
            interpreter: None,
        };
        for at in 0..count {
            let start =
                usize::try_from(table).ok().and_then(|table| table.checked_add(at * ENTRY_BYTES));
            let entry = start.and_then(|start| file.get(start..start.checked_add(ENTRY_BYTES)?));
            image.add(entry.ok_or("its table of segments is cut off")?, file)?;
        }
        if image.segments.is_empty() {
            return Err("it has nothing to load");
        }
        let holds = |segment: &&Segment| {
            (segment.offset..segment.offset + segment.file_bytes).contains(&table)
        };
        if let Some(first) = image.segments.iter().find(holds).filter(|_| image.headers == 0) {
            image.headers = first.address + (table - first.offset);
        }
        Ok(image)
    }

    fn add(&mut self, entry: &[u8], file: &[u8]) -> Result<(), &'static str> {
        let number = |at| double(entry, at).unwrap_or(0);
        let flags = u32::from(half(entry, 4).unwrap_or(0));
        let segment = Segment {
            offset: number(8),
            address: number(16),
            file_bytes: number(32),
            memory_bytes: number(40),
            flags,
        };
        let end = segment.offset.checked_add(segment.file_bytes);
        let in_file = end.is_some_and(|end| end <= file.len() as u64);
        match u32::from(half(entry, 0).unwrap_or(0)) {
            LOAD => {
                let top = segment.address.checked_add(segment.memory_bytes);
                if !in_file || segment.file_bytes > segment.memory_bytes {
                    return Err("a segment is cut off");
                }
                if top.is_none_or(|top| top > END) {
                    return Err("a segment is not in the user's addresses");
                }
                self.segments.push(segment);
            }
            INTERPRETER if in_file => {
                let from = segment.offset as usize;
                let name = &file[from..from + segment.file_bytes as usize];
                let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
                self.interpreter = Some(PathBuf::from(OsStr::from_bytes(name)));
            }
            HEADERS => self.headers = segment.address,
            _ => {}
        }
        Ok(())
    }

    /// The pages from its first to its last byte.
    pub(super) fn span(&self) -> (u64, u64) {
        let first = self.segments.iter().map(|segment| segment.address).min().unwrap_or(0);
        let top = |segment: &Segment| segment.address + segment.memory_bytes;
        let last = self.segments.iter().map(top).max().unwrap_or(0);
        (first / PAGE_BYTES * PAGE_BYTES, last.next_multiple_of(PAGE_BYTES))
    }
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes)
}

fn double(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn this_program_is_one() {
        let own = std::fs::read("/proc/self/exe").expect("it is there");
        let image = Image::read(&own).expect("it runs");
        assert!(!image.segments.is_empty() && image.headers > 0);
        let (first, last) = image.span();
        assert!(first < last && (first..last).contains(&image.entry));
    }

    proptest! {
        /// Files of which any bytes are changed or missing are read or refused.
        #[test]
        fn no_file_is_believed(
            cut in 0usize..4096,
            changes in prop::collection::vec((0usize..600, any::<u8>()), 0..20),
        ) {
            let mut own = std::fs::read("/proc/self/exe").expect("it is there");
            for (at, byte) in changes {
                own[at] = byte;
            }
            own.truncate(cut);
            if let Ok(image) = Image::read(&own) {
                prop_assert!(image.span().1 <= END);
            }
        }
    }
}
