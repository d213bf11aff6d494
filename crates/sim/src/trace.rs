//! The trace hash: one number for all that was delivered, to tell whether two runs were the same.
//!
//! Each delivered datagram is folded in with its time, its ends, its length and its last bytes.
//! Those are its tag, which depends on every byte before, so one differing bit anywhere in a run
//! gives another hash (but for chance, 2⁻⁶⁴). It is no protection against forgery.

use core::fmt;

use crate::chance::mix;

/// A running hash over the events of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Trace(u64);

impl Trace {
    /// Folds in a datagram that was delivered at `micros`.
    pub fn delivered(&mut self, micros: i64, from: usize, to: usize, datagram: &[u8]) {
        let mut tail = [0; 8];
        let bytes = datagram.len().min(8);
        tail[..bytes].copy_from_slice(&datagram[datagram.len() - bytes..]);
        self.fold(micros as u64);
        self.fold(((from as u64) << 32) | to as u64);
        self.fold(datagram.len() as u64);
        self.fold(u64::from_le_bytes(tail));
    }

    /// The hash so far.
    pub(crate) fn value(self) -> u64 {
        self.0
    }

    /// Folds in one number.
    #[inline]
    pub fn fold(&mut self, number: u64) {
        self.0 = mix(self.0.rotate_left(23) ^ number);
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_and_the_order_count() {
        let hash = |events: &[(i64, usize, usize, &[u8])]| {
            let mut trace = Trace::default();
            for (micros, from, to, datagram) in events {
                trace.delivered(*micros, *from, *to, datagram);
            }
            trace.to_string()
        };
        let one = (5, 1, 2, b"0123456789".as_slice());
        let two = (5, 2, 1, b"0123456789".as_slice());
        let hashes = [
            hash(&[one, two]),
            hash(&[two, one]),
            hash(&[one]),
            hash(&[(6, 1, 2, b"0123456789")]),
            hash(&[(5, 1, 2, b"0123456788")]),
            hash(&[(5, 1, 2, b"x0123456789")]),
            hash(&[]),
        ];
        let distinct: std::collections::BTreeSet<&String> = hashes.iter().collect();
        assert_eq!(distinct.len(), hashes.len());
        assert_eq!(hashes[0].len(), 16);
    }
}
