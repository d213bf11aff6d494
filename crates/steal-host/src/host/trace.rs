//! Traces: what all workers did in the last phase, put together.
//!
//! Each notes what it did, in some bytes a steal, in any case. It shows that to all on shelves, as
//! much at a time as these hold, so all have the whole, and any of them can write it.

use tidings_steal::Lost;
use tidings_steal::trace::{File, Trace};

use super::{Host, SHOWN_WORDS, tag_of};
use crate::error::PhaseError;
use crate::mail::Garbage;

/// The most bytes of a worker's trace that are believed: those of millions of steals.
const MOST_BYTES: u64 = 1 << 28;

impl Host {
    /// What all did in the last phase, which had this name: the same at all. They meet for it,
    /// between phases.
    ///
    /// # Errors
    /// As [`Host::gather`]; [`PhaseError::Lost`], too, if anybody ended before, whose part is
    /// missing.
    pub fn trace(&mut self, name: &str) -> Result<File, PhaseError> {
        let workers: Vec<u32> = self.lost().collect();
        if !workers.is_empty() {
            return Err(PhaseError::Lost(Lost { workers, sent: 0, finishes: 0 }));
        }
        let own = self.worker.trace();
        let head = [own.tasks, own.bytes().len() as u64];
        let words = as_words(own.bytes());
        let heads: Vec<Vec<u64>> = self.gather(&head)?.into_iter().flatten().collect();
        let bytes = self.show_all(&words, &heads)?;
        let mut traces = Vec::new();
        for (from, (head, bytes)) in (0..).zip(heads.iter().zip(&bytes)) {
            let read = bytes.get(..head[1] as usize).map(|bytes| Trace::read(head[0], bytes));
            let read = read.and_then(Result::ok).ok_or(Garbage { from });
            traces.push(self.sound(read)?.0);
        }
        Ok(File { program: tag_of(&name), traces })
    }

    /// Shows all what this worker has, part by part; what each has, with zeros behind it.
    fn show_all(&mut self, words: &[u64], heads: &[Vec<u64>]) -> Result<Vec<Vec<u8>>, PhaseError> {
        let longest = (0..).zip(heads).map(|(from, head)| (head[1], from)).max();
        let (most_bytes, from) = longest.unwrap_or((0, 0));
        if most_bytes > MOST_BYTES {
            self.sound(Err(Garbage { from }))?;
        }
        let (most, mut all) = (most_bytes.div_ceil(8) as usize, vec![Vec::new(); heads.len()]);
        for begin in (0..most).step_by(SHOWN_WORDS) {
            let part = begin..most.min(begin + SHOWN_WORDS);
            let own: Vec<u64> = part.map(|at| words.get(at).copied().unwrap_or(0)).collect();
            for (to, shown) in all.iter_mut().zip(self.gather(&own)?.into_iter().flatten()) {
                to.extend(shown.into_iter().flat_map(u64::to_le_bytes));
            }
        }
        Ok(all)
    }
}

fn as_words(bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rules, Segment};

    #[test]
    fn more_than_a_shelf_holds_is_shown_in_parts() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("segment");
        let _segment = Segment::create(&path, 1, &Rules::default()).expect("room");
        let mut host = Host::join(&path, 1).expect("a seat");
        let bytes: Vec<u8> = (0..8 * SHOWN_WORDS as u32 * 2 + 5).map(|at| at as u8).collect();
        let heads = [vec![0, bytes.len() as u64]];
        let shown = host.show_all(&as_words(&bytes), &heads).expect("nobody ends");
        assert_eq!(&shown[0][..bytes.len()], &bytes[..]);
        let too_long = host.show_all(&[], &[vec![0, MOST_BYTES + 1]]);
        assert!(matches!(too_long, Err(PhaseError::Corrupt { from: 0 })));
    }
}
