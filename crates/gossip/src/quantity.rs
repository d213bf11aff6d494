//! Code16: a quantity that spans decades, in two bytes.
//!
//! An age, a memory size or a rate matters to a part in a thousand, whether it is small or huge.
//! Code16 is a floating-point number without sign and without special values: a 5-bit exponent
//! `e` above an 11-bit mantissa `m`, with IEEE's implicit leading one:
//!
//! | `e` | value | step |
//! |---|---|---|
//! | 0 | `m` (0 to 2,047) | 1 |
//! | 1 to 31 | `(2048 + m) << (e - 1)` | `2^(e - 1)` |
//!
//! Invariants, each tested below:
//! - every one of the 65,536 codes is valid and stands for a value of its own;
//! - codes compare as the values do: `a < b` exactly when `decode(a) < decode(b)`;
//! - whole numbers up to 4,096 are exact; beyond, [`encode_nearest`] errs by at most 2^-12 of the
//!   value and [`encode_ceil`] by less than 2^-11, and never below it;
//! - values above [`MAX_VALUE`] (4,095 · 2^30, about 4.4 · 10^12) saturate.
//!
//! Why the arithmetic is so short: with `shift = max(e, 1) - 1` both rows of the table read
//! `code = (shift << 11) + mantissa` and `value = mantissa << shift`, so a mantissa that rounds up
//! to 4,096 carries into the exponent by itself. No loop, no table, no branch.

/// The largest value that a code stands for: 4,095 · 2^30.
pub const MAX_VALUE: u64 = decode(u16::MAX);

/// Bits of the mantissa below the implicit leading one.
const MANTISSA_BITS: u32 = 11;

/// The smallest code that stands for at least `value`: never understates up to [`MAX_VALUE`], where
/// it saturates.
#[inline]
#[must_use]
pub const fn encode_ceil(value: u64) -> u16 {
    let shift = shift_of(value);
    let lost = value & ((1 << shift) - 1);
    code_of(shift, (value >> shift) + (lost != 0) as u64)
}

/// The code nearest to `value` (halves go up). Saturates at [`MAX_VALUE`].
#[inline]
#[must_use]
pub const fn encode_nearest(value: u64) -> u16 {
    let shift = shift_of(value);
    let half = ((value << 1) >> shift) & 1;
    code_of(shift, (value >> shift) + half)
}

/// The value a code stands for. Total: every `u16` is a code.
#[inline]
#[must_use]
pub const fn decode(code: u16) -> u64 {
    let shift = ((code >> MANTISSA_BITS) as u32).saturating_sub(1);
    (code as u64 - ((shift as u64) << MANTISSA_BITS)) << shift
}

/// How many low bits of `value` the code cannot hold: what exceeds 12 significant bits.
const fn shift_of(value: u64) -> u32 {
    (u64::BITS - MANTISSA_BITS - 1).saturating_sub(value.leading_zeros())
}

/// Puts the two parts together; a mantissa of 4,096 carries into the exponent.
const fn code_of(shift: u32, mantissa: u64) -> u16 {
    let code = ((shift as u64) << MANTISSA_BITS) + mantissa;
    if code > u16::MAX as u64 { u16::MAX } else { code as u16 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Values of every magnitude alike, not only the huge ones that a uniform draw gives.
    fn any_magnitude() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift)
    }

    #[test]
    fn codes_compare_like_their_values_and_each_decodes_to_itself() {
        for code in 0..=u16::MAX {
            let value = decode(code);
            assert_eq!(encode_ceil(value), code);
            assert_eq!(encode_nearest(value), code);
            assert!(code == 0 || decode(code - 1) < value);
        }
    }

    #[test]
    fn anchors() {
        for exact in 0..=4096 {
            assert_eq!(decode(encode_ceil(exact)), exact);
        }
        assert_eq!(encode_ceil(2048), 2048);
        assert_eq!((encode_ceil(4096), encode_ceil(4097)), (4096, 4097));
        assert_eq!((encode_nearest(4097), encode_nearest(4099)), (4097, 4098));
        assert_eq!(decode(4097), 4098);
        assert_eq!(MAX_VALUE, 4095 << 30);
        assert_eq!(encode_ceil(MAX_VALUE + 1), u16::MAX);
        assert_eq!((encode_ceil(u64::MAX), encode_nearest(u64::MAX)), (u16::MAX, u16::MAX));
    }

    proptest! {
        #[test]
        fn monotone(a in any_magnitude(), b in any_magnitude()) {
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(encode_ceil(low) <= encode_ceil(high));
            prop_assert!(encode_nearest(low) <= encode_nearest(high));
        }

        #[test]
        fn ceil_never_understates(value in 0..=MAX_VALUE, s in 0u32..42) {
            let value = value >> s;
            let decoded = decode(encode_ceil(value));
            prop_assert!(decoded >= value);
            prop_assert!((decoded - value) * 2048 <= value.saturating_sub(1));
        }

        #[test]
        fn nearest_is_near(value in 0..=MAX_VALUE, s in 0u32..42) {
            let value = value >> s;
            prop_assert!(decode(encode_nearest(value)).abs_diff(value) * 4096 <= value);
        }
    }
}
