//! Changes bit by bit, as the tables of the format say: what quick writing and reading are tested
//! against. Tests alone use it.

use super::differences::word;

/// Bits in their order.
#[derive(Clone, Default)]
pub(super) struct Bits {
    pub(super) bits: Vec<bool>,
    /// Those that were read.
    pub(super) at: usize,
}

impl Bits {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let bits = bytes.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1));
        Self { bits: bits.collect(), at: 0 }
    }

    /// All of them, filled up with zeros.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let byte =
            |bits: &[bool]| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
        self.bits.chunks(8).map(byte).collect()
    }

    pub(super) fn put(&mut self, bits: u32, count: u32) {
        self.bits.extend((0..count).map(|bit| bits >> bit & 1 == 1));
    }

    pub(super) fn put_number(&mut self, number: u32, order: u32) {
        let above = u64::from(number >> order) + 1;
        let length = above.ilog2();
        self.bits.extend((0..length).map(|_| true));
        self.bits.push(false);
        self.put(above as u32, length);
        self.put(number, order);
    }

    pub(super) fn put_change(&mut self, base: &[u8], payload: &[u8]) {
        let words = payload.len().div_ceil(2);
        let differ: Vec<usize> =
            (0..words).filter(|&at| word(base, at) != word(payload, at)).collect();
        let (mut change, mut next, mut before) = (Self::default(), 0, None);
        change.put_number(differ.len() as u32, 0);
        for at in differ {
            change.put_number((at - next) as u32, 1);
            next = at + 1;
            let by = word(payload, at).wrapping_sub(word(base, at)) as i16;
            let size = u32::from(by.unsigned_abs());
            let (zeros, length) = (size.trailing_zeros(), size.ilog2() + 1 - size.trailing_zeros());
            if before.is_some() {
                change.put(u32::from(before == Some(zeros)), 1);
            }
            if before.replace(zeros) != Some(zeros) {
                change.put(zeros, 4);
            }
            change.put(u32::from(by < 0), 1);
            change.put_number(length - 1, 0);
            change.put(size >> (zeros + 1), length.saturating_sub(2));
        }
        let mut whole = Self::default();
        whole.put_number(words as u32 + 1, 0);
        whole.bits.extend(Self::of(payload).bits);
        let is_shorter = change.bits.len() <= whole.bits.len();
        self.bits.extend(if is_shorter { change.bits } else { whole.bits });
    }

    fn take(&mut self, count: u32) -> Option<u32> {
        let bits = self.bits.get(self.at..self.at + count as usize)?;
        self.at += count as usize;
        Some(bits.iter().rev().fold(0, |number, &bit| number << 1 | u32::from(bit)))
    }

    fn number(&mut self, order: u32) -> Option<u32> {
        let mut length = 0;
        while self.take(1)? == 1 {
            length += 1;
        }
        if length > 32 {
            return None;
        }
        let above = (1u64 << length) + u64::from(self.take(length)?) - 1;
        u32::try_from(above << order | u64::from(self.take(order)?)).ok()
    }

    /// Makes of a base in `payload` what a change says; `None` if that is none.
    pub(super) fn apply_change(&mut self, payload: &mut [u8]) -> Option<()> {
        let (count, words) = (self.number(0)?, payload.len().div_ceil(2) as u32);
        if count == words + 1 {
            payload.iter_mut().try_for_each(|byte| self.take(8).map(|told| *byte = told as u8))?;
            return Some(());
        }
        let (mut next, mut before) = (0u32, None);
        for _ in 0..count {
            let at = next.checked_add(self.number(1)?).filter(|&at| at < words)?;
            next = at + 1;
            let zeros = match before {
                Some(zeros) if self.take(1)? == 1 => zeros,
                _ => self.take(4).filter(|&zeros| before != Some(zeros))?,
            };
            before = Some(zeros);
            let is_negative = self.take(1)? == 1;
            let length = self.number(0)?.checked_add(1).filter(|length| length + zeros <= 16)?;
            let inner = self.take(length.saturating_sub(2))?;
            let size = i32::try_from((1 << (length - 1) | inner << 1 | 1) << zeros).ok()?;
            let by = i16::try_from(if is_negative { -size } else { size }).ok()?;
            let told = word(payload, at as usize).wrapping_add(by as u16).to_le_bytes();
            let bytes = &mut payload[2 * at as usize..];
            let end = bytes.len().min(2);
            bytes[..end].copy_from_slice(&told[..end]);
        }
        Some(())
    }
}
