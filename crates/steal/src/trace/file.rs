//! Files: the traces of all workers of a phase.
//!
//! A head with a magic number, a version, the name of the phase as a hash, and how many workers
//! there are; of each worker the hash of what it began with, the length of its trace, and that; at
//! the end a checksum of all. Numbers are little endian.
//!
//! Nothing is believed: lengths are compared with the bytes that are there before anything is
//! allocated, and a file that is cut or damaged is refused as a whole.

use core::fmt;

use tidings_primitives::bytes::Reader;
use tidings_primitives::chance::mix;

use super::{Script, Stamped, Torn, Trace};
use crate::hash;

const MAGIC: [u8; 8] = *b"tdgsteal";
const VERSION: u16 = 1;
const SUM_BYTES: usize = 8;

/// The most workers of a file: as many as a simulation has.
const MAX_WORKERS: u32 = 1 << 24;

/// The traces of a phase, by worker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    /// The hash of the phase's name and of the program, as the world has it.
    pub program: u64,
    /// The traces.
    pub traces: Vec<Trace>,
}

/// Why bytes are no file of traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileError {
    /// It begins with something else.
    Other,
    /// It is of a version that is not known.
    Version(u16),
    /// It ends too early: so many bytes are there.
    Cut(usize),
    /// It is not what was written.
    Damaged,
    /// It is of other workers.
    Workers {
        /// How many it is of.
        traced: u32,
        /// How many there are.
        here: u32,
    },
    /// It is of another program.
    Program,
    /// A worker's trace cannot be read.
    Torn {
        /// The worker.
        worker: u32,
        /// Where.
        torn: Torn,
    },
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other => f.write_str("this is no trace of stealing"),
            Self::Version(version) => {
                write!(
                    f,
                    "this trace has version {version}, and {VERSION} is read: record it again"
                )
            }
            Self::Cut(bytes) => write!(
                f,
                "this trace ends after {bytes} bytes, before its end: its writer was stopped, or \
                 had no space; record it again"
            ),
            Self::Damaged => f.write_str("this trace is damaged: its checksum is another"),
            Self::Workers { traced, here } => {
                write!(f, "this trace is of {traced} workers, and here are {here}: start as many")
            }
            Self::Program => f.write_str("this trace is of another program or phase"),
            Self::Torn { worker, torn } => write!(f, "the trace of worker {worker}: {torn}"),
        }
    }
}

impl core::error::Error for FileError {}

impl File {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::from(MAGIC);
        out.extend(VERSION.to_le_bytes());
        out.extend(self.program.to_le_bytes());
        out.extend((self.traces.len() as u32).to_le_bytes());
        for trace in &self.traces {
            out.extend(trace.tasks.to_le_bytes());
            out.extend((trace.bytes().len() as u32).to_le_bytes());
            out.extend(trace.bytes());
        }
        out.extend(checksum(&out).to_le_bytes());
        out
    }

    /// The file of these bytes, and the events of each worker.
    ///
    /// # Errors
    /// If they are not those of a whole file.
    pub fn decode(bytes: &[u8]) -> Result<(Self, Vec<Vec<Stamped>>), FileError> {
        if bytes.get(..MAGIC.len()).is_none_or(|begin| begin != MAGIC) {
            return Err(FileError::Other);
        }
        let cut = FileError::Cut(bytes.len());
        let mut reader = Reader(&bytes[MAGIC.len()..]);
        let version = reader.u16().ok_or(cut)?;
        if version != VERSION {
            return Err(FileError::Version(version));
        }
        let file = Self::traces(&mut reader).ok_or(cut)?;
        let sum = reader.array().map(u64::from_le_bytes).ok_or(cut)?;
        if !reader.0.is_empty() || sum != checksum(&bytes[..bytes.len() - SUM_BYTES]) {
            return Err(FileError::Damaged);
        }
        let (program, parts) = file;
        let (mut traces, mut events) = (Vec::new(), Vec::new());
        for (worker, (tasks, bytes)) in parts.into_iter().enumerate() {
            let torn = |torn| FileError::Torn { worker: worker as u32, torn };
            let (trace, its) = Trace::read(tasks, bytes).map_err(torn)?;
            traces.push(trace);
            events.push(its);
        }
        Ok((Self { program, traces }, events))
    }

    /// What each worker has to do to do again what these bytes say.
    ///
    /// # Errors
    /// If they are not those of a whole file, or it is of another program, or of more or fewer
    /// workers.
    pub fn scripts(bytes: &[u8], program: u64, here: u32) -> Result<Vec<Script>, FileError> {
        let (file, events) = Self::decode(bytes)?;
        let traced = file.traces.len() as u32;
        if traced != here {
            return Err(FileError::Workers { traced, here });
        }
        if file.program != program {
            return Err(FileError::Program);
        }
        let script = |(trace, events): (Trace, _)| Script::new(trace.tasks, events);
        Ok(file.traces.into_iter().zip(events).map(script).collect())
    }

    #[expect(clippy::type_complexity, reason = "it is used once, above")]
    fn traces<'a>(reader: &mut Reader<'a>) -> Option<(u64, Vec<(u64, &'a [u8])>)> {
        let program = reader.array().map(u64::from_le_bytes)?;
        let workers = reader.u32().filter(|&workers| workers <= MAX_WORKERS)?;
        let mut parts = Vec::new();
        for _ in 0..workers {
            let tasks = reader.array().map(u64::from_le_bytes)?;
            let length = reader.u32()? as usize;
            parts.push((tasks, reader.bytes(length)?));
        }
        Some((program, parts))
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    hash::bytes(mix(bytes.len() as u64), bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Want;
    use crate::trace::Event;

    fn file() -> File {
        let mut traces = vec![Trace::new(1), Trace::new(2), Trace::new(3)];
        traces[0].note(3, 0, Event::Gave { to: 1, want: Want::HALF });
        traces[1].note(0, 8, Event::Got { from: 0, number: 0 });
        File { program: 9, traces }
    }

    #[test]
    fn what_is_written_is_read() {
        let (read, events) = File::decode(&file().encode()).unwrap();
        assert_eq!(read, file());
        assert_eq!(events.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 0]);
    }

    #[test]
    fn a_file_that_is_cut_or_changed_is_refused() {
        let bytes = file().encode();
        for length in MAGIC.len()..bytes.len() {
            assert_eq!(File::decode(&bytes[..length]), Err(FileError::Cut(length)));
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert!(File::decode(&changed).is_err(), "byte {at}");
        }
        let other = |program, here| File::scripts(&bytes, program, here).unwrap_err();
        assert_eq!(other(9, 2), FileError::Workers { traced: 3, here: 2 });
        assert_eq!(other(8, 3), FileError::Program);
        assert_eq!(File::decode(b"something else"), Err(FileError::Other));
        let longer = [&bytes[..], b"x"].concat();
        assert_eq!(File::decode(&longer), Err(FileError::Damaged));
        let mut other = bytes;
        other[MAGIC.len()] = 2;
        assert!(File::decode(&other).unwrap_err().to_string().contains("version 2"));
    }
}
