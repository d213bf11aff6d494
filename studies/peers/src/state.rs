//! The state that a node makes anew every interval: 64 bytes that tell who made them and when.
//!
//! The rest is random, so that compression gains nothing. Peers that hold text get 64 letters of
//! base64, which compress to three quarters: that is the peers' gain, not their loss.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Bytes, or letters, of a state.
pub const STATE_BYTES: usize = 64;

/// Letters of a number in a text.
const HEX: usize = 16;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Who made a state, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The number of the node, from 0.
    pub node: usize,
    /// Microseconds on the clock of the process.
    pub birth_us: u64,
}

impl Origin {
    /// The origin of a state in bytes; `None` if it is none.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let node = u64::from_le_bytes(bytes.get(8..16)?.try_into().ok()?);
        let birth_us = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
        (bytes.len() >= STATE_BYTES && birth_us > 0)
            .then_some(Self { node: usize::try_from(node).ok()?, birth_us })
    }

    /// The origin of a state in text; `None` if it is none.
    pub fn of_text(text: &str) -> Option<Self> {
        let birth_us = u64::from_str_radix(text.get(..HEX)?, 16).ok()?;
        let node = usize::from_str_radix(text.get(HEX..HEX + 4)?, 16).ok()?;
        Some(Self { node, birth_us })
    }
}

/// Makes the states of one node.
#[derive(Debug)]
pub struct StateMaker {
    node: usize,
    filler: SmallRng,
}

impl StateMaker {
    /// The maker of node `node` in a run with `seed`.
    pub fn new(node: usize, seed: u64) -> Self {
        Self { node, filler: SmallRng::seed_from_u64(seed ^ (node as u64) << 32) }
    }

    /// A state born at `birth_us`.
    pub fn bytes(&mut self, birth_us: u64) -> [u8; STATE_BYTES] {
        let mut state = [0; STATE_BYTES];
        state[..8].copy_from_slice(&birth_us.to_le_bytes());
        state[8..16].copy_from_slice(&(self.node as u64).to_le_bytes());
        self.filler.fill_bytes(&mut state[16..]);
        state
    }

    /// The same in text.
    pub fn text(&mut self, birth_us: u64) -> String {
        let mut text = format!("{birth_us:016x}{:04x}", self.node);
        while text.len() < STATE_BYTES {
            text.push(char::from(LETTERS[self.filler.next_u32() as usize % LETTERS.len()]));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_tells_its_origin_in_bytes_and_in_text() {
        let mut maker = StateMaker::new(77, 1);
        let origin = Some(Origin { node: 77, birth_us: 123_456_789 });
        let (bytes, text) = (maker.bytes(123_456_789), maker.text(123_456_789));
        assert_eq!((Origin::of_bytes(&bytes), Origin::of_text(&text)), (origin, origin));
        assert_eq!(text.len(), STATE_BYTES);
        assert_ne!(maker.bytes(123_456_789), bytes, "the filler is fresh");
        assert_eq!(Origin::of_bytes(&[0; STATE_BYTES]), None, "no state yet");
    }
}
