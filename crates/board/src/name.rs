//! Short texts as words: a byte of length, the text, zeros.
//!
//! A name is compared and hashed a word at a time, and most names are one or two words long.

use std::array::from_fn;

/// Words of a name.
pub(crate) const NAME_WORDS: usize = super::layout::NAME_BYTES / 8;
/// Words of an address.
pub(crate) const ADDRESS_WORDS: usize = super::layout::ADDRESS_BYTES / 8;

/// A text of at most `8 * WORDS - 1` bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Short<const WORDS: usize>(pub(crate) [u64; WORDS]);

/// A node's name.
pub(crate) type Name = Short<NAME_WORDS>;
/// A node's address.
pub(crate) type Address = Short<ADDRESS_WORDS>;

impl<const WORDS: usize> Short<WORDS> {
    /// The text as words; `None` if it is too long.
    #[inline]
    pub(crate) fn new(text: &[u8]) -> Option<Self> {
        if text.len() >= 8 * WORDS {
            return None;
        }
        let byte = |at: usize| match at.checked_sub(1) {
            None => text.len() as u8,
            Some(at) => text.get(at).copied().unwrap_or(0),
        };
        let words = Self::words_of(text.len());
        Some(Self(from_fn(|word| {
            if word >= words {
                return 0;
            }
            u64::from_le_bytes(from_fn(|at| byte(8 * word + at)))
        })))
    }

    /// The text in the words; `None` if they were not made by [`Short::new`].
    pub(crate) fn text(&self) -> Option<Vec<u8>> {
        let bytes: Vec<u8> = self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (&length, rest) = bytes.split_first()?;
        let (text, zeros) = rest.split_at_checked(usize::from(length))?;
        zeros.iter().all(|&byte| byte == 0).then(|| text.to_vec())
    }

    /// The words that are not only zeros behind the text.
    #[inline]
    pub(crate) fn used(&self) -> &[u64] {
        let words = Self::words_of((self.0[0] & 0xff) as usize);
        &self.0[..words.min(WORDS)]
    }

    #[inline]
    fn words_of(text_bytes: usize) -> usize {
        (1 + text_bytes).div_ceil(8)
    }

    /// The hash of the text: of each word in turn, exclusive or with what was before, times an odd
    /// number, exclusive or with its own high half.
    #[inline]
    pub(crate) fn hash(&self) -> u64 {
        self.used().iter().fold(0, |hash, word| {
            let product = (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            product ^ product >> 32
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_survive_the_round_trip_up_to_63_bytes() {
        for length in 0..64 {
            let text: Vec<u8> = (0..length).map(|at| b'a' + at % 26).collect();
            let name = Name::new(&text).expect("short");
            assert_eq!(name.text(), Some(text));
            assert_eq!(name.used().len(), usize::from(length) / 8 + 1);
        }
        assert_eq!(Name::new(&[b'x'; 64]), None);
    }

    #[test]
    fn words_of_another_origin_are_refused() {
        assert_eq!(Short::<8>([64, 0, 0, 0, 0, 0, 0, 0]).text(), None, "too long");
        assert_eq!(Short::<8>([1 | 0x6161 << 8, 0, 0, 0, 0, 0, 0, 0]).text(), None, "no zeros");
    }

    /// The reference page gives these as examples for readers in other languages.
    #[test]
    fn hashes_are_those_of_the_reference_page() {
        let page = include_str!("../../../docs/reference/board.md");
        for text in ["n1", "n0001", "node-17.cluster.example"] {
            let hash = Name::new(text.as_bytes()).expect("short").hash();
            let row = format!("| `{text}` | `{hash:#018x}` |");
            assert!(page.contains(&row), "the page lacks the row {row}");
        }
    }
}
