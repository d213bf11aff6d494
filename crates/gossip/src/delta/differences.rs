//! Differences: the words in which two payloads of two bytes a word are not alike.
//!
//! Most of a payload is as it was, so it is passed over in stretches, each of which is one
//! comparison of vectors. Where a stretch differs, four words are one number, and the zeros at the
//! end of what differs say which of them it is.

/// Words of a payload.
pub(super) fn words_in(bytes: usize) -> u32 {
    bytes.div_ceil(2) as u32
}

pub(super) fn word(payload: &[u8], at: usize) -> u16 {
    let byte = |at: usize| payload.get(at).copied().unwrap_or(0);
    u16::from_le_bytes([byte(2 * at), byte(2 * at + 1)])
}

/// Bytes that are compared at a time where nothing differs: most of a payload.
const STRETCH: usize = 32;
/// Bytes of a lane: words that are compared as one number.
const LANE: usize = 8;

/// Gives the words that differ, in order: place and difference. Of a base that is shorter the rest
/// is zeros.
#[inline]
pub(super) fn each_difference(base: &[u8], payload: &[u8], mut take: impl FnMut(u32, i16)) {
    let both = base.len().min(payload.len());
    let (old, new) = (&base[..both], &payload[..both]);
    let mut from = 0;
    for (old, new) in old.chunks_exact(STRETCH).zip(new.chunks_exact(STRETCH)) {
        if old != new {
            each_in_lanes(old, new, from, &mut take);
        }
        from += STRETCH as u32 / 2;
    }
    let tail = 2 * from as usize;
    each_in_lanes(&old[tail..], &new[tail..], from, &mut take);
    for at in both / LANE * (LANE / 2)..payload.len().div_ceil(2) {
        let (old, new) = (word(base, at), word(payload, at));
        if old != new {
            take(at as u32, new.wrapping_sub(old) as i16);
        }
    }
}

/// Those of whole lanes, the first of which begins with the word `from`.
#[inline]
fn each_in_lanes(old: &[u8], new: &[u8], mut from: u32, take: &mut impl FnMut(u32, i16)) {
    for (old, new) in old.chunks_exact(LANE).zip(new.chunks_exact(LANE)) {
        // Chunks of a lane are as long as a number, so there is no default.
        let lane = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        let (old, new) = (lane(old), lane(new));
        let mut differs = old ^ new;
        while differs != 0 {
            let shift = differs.trailing_zeros() & !15;
            let [old, new] = [old, new].map(|lane| (lane >> shift) as u16);
            take(from + shift / 16, new.wrapping_sub(old) as i16);
            differs &= !(0xFFFF << shift);
        }
        from += LANE as u32 / 2;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// What is passed over in stretches is what is alike word by word.
        #[test]
        fn the_words_that_differ_are_found(
            payload in prop::collection::vec(any::<u8>(), 0..200),
            base_bytes in 0usize..200,
            changed in prop::collection::vec((0usize..200, any::<u8>()), 0..6),
        ) {
            let mut base = payload.clone();
            base.truncate(base_bytes);
            for (at, byte) in changed {
                if let Some(old) = base.get_mut(at) {
                    *old = byte;
                }
            }
            let by_word = (0..words_in(payload.len())).filter_map(|at| {
                let (old, new) = (word(&base, at as usize), word(&payload, at as usize));
                (old != new).then(|| (at, new.wrapping_sub(old) as i16))
            });
            let mut found = Vec::new();
            each_difference(&base, &payload, |at, difference| found.push((at, difference)));
            prop_assert!(by_word.eq(found));
        }
    }
}
