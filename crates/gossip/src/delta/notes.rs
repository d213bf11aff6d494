//! Notes: what a walk over a group read, for the walk that gives its entries.
//!
//! A body is walked before anything of it is used. What its changes say was read then, so it is
//! kept as words, and need not be made of bits a second time. There is room for what a datagram of
//! Ethernet says of most payloads; what lies behind that is read again.
//!
//! Invariant: notes are of changes of one group, from its first entry on and without a gap; a
//! change of which the payload follows as it is has none. So whoever takes the changes in the order
//! in which they were noted finds the notes of each, or none of it and of all behind it.

use super::bits::BitReader;
use super::change::{Change, Told};
use super::form::MAX_ENTRIES;

/// Words and ends of changes that are kept.
const MAX_NOTES: usize = 640;

/// Bits of a note that say which word it is of: a payload has fewer bytes than 2^16.
const PLACE_BITS: u32 = 16;

/// What is kept of a group.
#[derive(Clone, Debug)]
pub(super) struct Notes {
    /// How many bases each entry passes over.
    pub(super) skipped: [u8; MAX_ENTRIES],
    /// Of each change the bits up to its end; then for each word its place, and the difference
    /// above that.
    words: [u32; MAX_NOTES],
    written: usize,
    is_full: bool,
    /// Up to where they were taken.
    taken: usize,
}

impl Notes {
    pub(super) fn new() -> Self {
        let (skipped, words) = ([0; MAX_ENTRIES], [0; MAX_NOTES]);
        Self { skipped, words, written: 0, is_full: false, taken: 0 }
    }

    /// Begins anew, for another group.
    pub(super) fn forget(&mut self) {
        (self.written, self.is_full, self.taken) = (0, false, 0);
    }

    /// Notes a change and gives the bits behind it; `None` if it is malformed.
    #[inline]
    pub(super) fn note<'a>(
        &mut self,
        mut change: Change<'a>,
        payload_bytes: usize,
    ) -> Option<BitReader<'a>> {
        if self.is_full || change.is_as_it_is(payload_bytes) {
            return change.behind(payload_bytes);
        }
        let mut at = self.written + 1;
        change.walk(payload_bytes, |place, told| {
            if let (Told::Difference(by), Some(note)) = (told, self.words.get_mut(at)) {
                *note = place as u32 | u32::from(by as u16) << PLACE_BITS;
            }
            at += 1;
        })?;
        self.is_full = at > MAX_NOTES;
        if !self.is_full {
            self.words[self.written] = change.bits.at() as u32;
            self.written = at;
        }
        Some(change.bits)
    }

    /// Makes of a base, which `payload` holds, what the next change says, and gives the bits behind
    /// it; `None` if it is malformed.
    #[inline]
    pub(super) fn apply<'a>(
        &mut self,
        change: Change<'a>,
        payload: &mut [u8],
    ) -> Option<BitReader<'a>> {
        let Some((words, behind)) = self.take(change, payload.len()) else {
            return change.apply(payload);
        };
        for note in words {
            let (place, by) = (*note as u16, (note >> PLACE_BITS) as i16);
            Told::Difference(by).put(payload, place.into());
        }
        Some(behind)
    }

    /// The bits behind the next change, of which nothing is used; `None` if it is malformed.
    pub(super) fn pass<'a>(
        &mut self,
        change: Change<'a>,
        payload_bytes: usize,
    ) -> Option<BitReader<'a>> {
        match self.take(change, payload_bytes) {
            Some((_, behind)) => Some(behind),
            None => change.behind(payload_bytes),
        }
    }

    /// The notes of the next change, if there are any, and the bits behind it.
    #[inline]
    fn take<'a>(
        &mut self,
        change: Change<'a>,
        payload_bytes: usize,
    ) -> Option<(&[u32], BitReader<'a>)> {
        if change.is_as_it_is(payload_bytes) {
            return None;
        }
        let (&end, words) = self.words[self.taken..self.written].split_first()?;
        let words = words.get(..change.words as usize)?;
        self.taken += 1 + words.len();
        Some((words, change.bits.moved_to(end as usize)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::delta::bits::BitWriter;
    use crate::delta::change::Differences;

    /// A payload of 41 bytes, and whether it is used.
    fn payload() -> impl Strategy<Value = (Vec<u8>, bool)> {
        let byte = prop_oneof![3 => Just(0u8), 1 => any::<u8>()];
        (prop::collection::vec(byte, 41), any::<bool>())
    }

    proptest! {
        /// Whether there are notes of a change or not, and whether it is used or passed.
        #[test]
        fn with_notes_a_change_makes_what_it_makes_without(
            payloads in prop::collection::vec(payload(), 0..120),
        ) {
            let mut bytes = vec![0; 43 * payloads.len()];
            let (mut bits, mut differences) = (BitWriter::new(&mut bytes), Differences::new());
            for (payload, _) in &payloads {
                differences.put(&mut bits, &[0; 41], payload);
            }
            bits.finish();
            let (mut notes, start) = (Notes::new(), BitReader::new(&bytes));
            let mut bits = start;
            for _ in &payloads {
                let change = Change::begin(bits);
                bits = change.and_then(|change| notes.note(change, 41)).expect("it was written");
            }
            let (end, mut bits) = (bits.at(), start);
            for (payload, is_used) in &payloads {
                let (change, mut made) = (Change::begin(bits).expect("it was written"), [0; 41]);
                let behind = change.behind(41).map(BitReader::at);
                let next = if *is_used {
                    let next = notes.apply(change, &mut made);
                    prop_assert_eq!(&made[..], payload);
                    next
                } else {
                    notes.pass(change, 41)
                };
                bits = next.expect("it was read");
                prop_assert_eq!(Some(bits.at()), behind);
            }
            prop_assert_eq!(bits.at(), end);
        }
    }
}
