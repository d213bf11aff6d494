//! Identifiers: which task, which try of it, and which reign over a part of the tasks.

use core::fmt;
use core::str::FromStr;

use minicbor::{Decode, Encode};
use sha2::{Digest, Sha256};

/// A task: 128 bits that whoever submits it derives from what the task is.
///
/// The same work has the same id. So a submission that is sent again, since its answer was lost, or
/// since a program was started again, adds nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct TaskId(#[cbor(with = "minicbor::bytes")] [u8; 16]);

/// What is no task's id.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a task's id is 32 hexadecimal digits")]
pub struct TaskIdError;

impl TaskId {
    /// The id with these bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// The task number `index` of what is called `name`: the first 16 bytes of
    /// SHA-256("task" ‖ name ‖ 0 ‖ index as eight bytes big endian).
    pub fn of(name: &str, index: u64) -> Self {
        let digest = Sha256::new()
            .chain_update(b"task")
            .chain_update(name)
            .chain_update([0])
            .chain_update(index.to_be_bytes());
        Self::first(&digest.finalize())
    }

    /// The child number `index` of this task: the first 16 bytes of SHA-256("child" ‖ parent ‖
    /// index as eight bytes big endian). The attempt is not part of it, so that an attempt that is
    /// made again has the same children.
    #[must_use]
    pub fn child(self, index: u64) -> Self {
        let digest = Sha256::new()
            .chain_update(b"child")
            .chain_update(self.0)
            .chain_update(index.to_be_bytes());
        Self::first(&digest.finalize())
    }

    fn first(digest: &[u8]) -> Self {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        Self(bytes)
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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Part(pub u16);

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
    fn names_spread_over_parts() {
        let parts: Vec<u16> = (0..64).map(|n| Part::of(&format!("q{n}"), 4).0).collect();
        assert!((0..4).all(|part| parts.contains(&part)));
        assert_eq!(Part::of("q", 0), Part(0));
    }
}
