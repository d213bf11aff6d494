//! Identifiers: which task, which try of it, and which reign over a part of the tasks.

use core::cmp::Ordering;
use core::fmt;
use core::str::FromStr;

use minicbor::{Decode, Encode};
use sha2::{Digest, Sha256};

/// A task: 128 bits that whoever submits it derives from what the task is.
///
/// The same work has the same id. So a submission that is sent again, since its answer was lost, or
/// since a program was started again, adds nothing.
///
/// An id is a *family* of 11 bytes, by a hash, and a number in it, 5 bytes big endian. So the tasks
/// of one family lie together in a store, in the order of their numbers, and a commit that writes
/// many of them changes few pages (docs/decisions/0028-ids-in-order.md).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct TaskId(#[cbor(with = "minicbor::bytes")] [u8; 16]);

/// The bytes of an id that say which family it is of, and the bits of the number in it.
///
/// Two names of 10⁹ have the same family with a probability of 2·10⁻⁹; a family has room for 10¹²
/// tasks.
pub const FAMILY_BYTES: usize = 11;
const NUMBER_BITS: u32 = 8 * (16 - FAMILY_BYTES as u32);

/// What is no task's id.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a task's id is 32 hexadecimal digits")]
pub struct TaskIdError;

impl TaskId {
    /// The id with these bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Its family: most tasks of one are in one queue.
    pub fn family(self) -> [u8; FAMILY_BYTES] {
        core::array::from_fn(|at| self.0[at])
    }

    /// Its bytes.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// The task number `index` of what is called `name`: number `index` modulo 2⁴⁰ of the family
    /// that SHA-256("task" ‖ `index` ÷ 2⁴⁰ as eight bytes big endian ‖ name) begins with.
    pub fn of(name: &str, index: u64) -> Self {
        Self::in_family(b"task", name.as_bytes(), index)
    }

    /// The child number `index` of this task: the same with "child" and the parent. The attempt is
    /// not part of it, so that an attempt that is made again has the same children.
    #[must_use]
    pub fn child(self, index: u64) -> Self {
        Self::in_family(b"child", &self.0, index)
    }

    fn in_family(kind: &[u8], name: &[u8], index: u64) -> Self {
        let (upper, number) = (index >> NUMBER_BITS, index & ((1 << NUMBER_BITS) - 1));
        let family = Sha256::new()
            .chain_update(kind)
            .chain_update(upper.to_be_bytes())
            .chain_update(name)
            .finalize();
        let mut bytes = [0; 16];
        bytes[8..].copy_from_slice(&number.to_be_bytes());
        bytes[..FAMILY_BYTES].copy_from_slice(&family[..FAMILY_BYTES]);
        Self(bytes)
    }
}

/// As its bytes are ordered. Trees of tasks compare ids at each step, and a number takes less.
impl Ord for TaskId {
    fn cmp(&self, other: &Self) -> Ordering {
        u128::from_be_bytes(self.0).cmp(&u128::from_be_bytes(other.0))
    }
}

impl PartialOrd for TaskId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for TaskId {
    type Err = TaskIdError;

    fn from_str(text: &str) -> Result<Self, TaskIdError> {
        let all_digits = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if text.len() != 32 || !all_digits {
            return Err(TaskIdError);
        }
        let number = u128::from_str_radix(text, 16).map_err(|_| TaskIdError)?;
        Ok(Self(number.to_be_bytes()))
    }
}

/// Which try of a task: 1 is the first. It rises with each assignment, so that what an earlier try
/// says is known as such.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Encode, Decode)]
#[cbor(transparent)]
pub struct Attempt(#[n(0)] pub u32);

impl Attempt {
    /// The try after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// Which reign over a part: it rises each time a coordinator takes the role.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Encode, Decode)]
#[cbor(transparent)]
pub struct Epoch(#[n(0)] pub u64);

/// Which part of the tasks: each queue belongs to one, each part to one coordinator at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Encode, Decode)]
#[cbor(transparent)]
pub struct Part(#[n(0)] pub u16);

impl Part {
    /// The part to which a name belongs, of `parts` (at least 1): the first eight bytes of
    /// SHA-256("part" ‖ name), big endian, modulo `parts`.
    pub fn of(name: &str, parts: u16) -> Self {
        let digest = Sha256::new().chain_update(b"part").chain_update(name).finalize();
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&digest[..8]);
        Self((u64::from_be_bytes(bytes) % u64::from(parts.max(1))) as u16)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written() {
        let id = TaskId::of("render", 7);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_ne!(id, TaskId::of("render", 8));
        assert_ne!(id.child(0), id.child(1));
        for wrong in ["", "12", "+0000000000000000000000000000000", &"g".repeat(32)] {
            assert_eq!(wrong.parse::<TaskId>(), Err(TaskIdError), "{wrong}");
        }
    }

    #[test]
    fn tasks_of_one_family_lie_together_in_the_order_of_their_numbers() {
        let last = (1 << NUMBER_BITS) - 1;
        let numbers = [0, 1, 255, 256, last];
        let ids = numbers.map(|number| TaskId::of("a", number));
        assert!(ids.is_sorted());
        let of_another = TaskId::of("b", 3);
        assert!(!(ids[0]..=ids[4]).contains(&of_another));
        let children = numbers.map(|number| of_another.child(number));
        assert!(children.is_sorted() && !(children[0]..=children[4]).contains(&ids[0]));
    }

    #[test]
    fn numbers_of_any_size_are_different_tasks() {
        let numbers = [0, 1 << NUMBER_BITS, (1 << NUMBER_BITS) + 1, 2 << NUMBER_BITS, u64::MAX];
        let ids: BTreeSet<TaskId> = numbers.iter().map(|number| TaskId::of("a", *number)).collect();
        assert_eq!(ids.len(), numbers.len());
    }

    #[test]
    fn names_spread_over_parts() {
        let parts: Vec<u16> = (0..64).map(|n| Part::of(&format!("q{n}"), 4).0).collect();
        assert!((0..4).all(|part| parts.contains(&part)));
        assert_eq!(Part::of("q", 0), Part(0));
    }
}
