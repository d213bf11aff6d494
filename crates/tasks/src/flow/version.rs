//! Versions: what an instance is at a time, and the bytes that are read of it.
//!
//! A version is data that was put, or what a task has made. A task that changes several instances
//! has a list in CBOR as its result, a byte string for each of them; of one that changes a single
//! one the result is that. Source: docs/decisions/0042-parts-of-results.md.

use core::ops::{Deref, Range};
use std::sync::Arc;

use minicbor::bytes::ByteSlice;
use minicbor::{Decode, Decoder, Encode};
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::record::encode;

use crate::inputs::Content;

/// What an instance is at a time.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Version {
    /// Data that was put: it goes with each task that reads it.
    #[n(0)]
    Data(#[cbor(n(0), with = "minicbor::bytes")] Vec<u8>),
    /// What a task has made, or will have.
    #[n(1)]
    Made {
        /// The task.
        #[n(0)]
        task: TaskId,
        /// Which part of its result, from 0; none for all of it.
        #[n(1)]
        part: Option<u16>,
    },
}

impl Version {
    /// The task that makes it.
    pub fn task(&self) -> Option<TaskId> {
        match self {
            Self::Data(_) => None,
            Self::Made { task, .. } => Some(*task),
        }
    }
}

impl From<Vec<u8>> for Version {
    fn from(data: Vec<u8>) -> Self {
        Self::Data(data)
    }
}

impl From<&[u8]> for Version {
    fn from(data: &[u8]) -> Self {
        Self::Data(data.to_vec())
    }
}

impl From<TaskId> for Version {
    fn from(task: TaskId) -> Self {
        Self::Made { task, part: None }
    }
}

/// The bytes of a version; of what is long and lies in a blob, mapped. Clones share them.
#[derive(Clone, Debug)]
pub struct Value {
    bytes: Bytes,
    range: Range<usize>,
}

#[derive(Clone, Debug)]
enum Bytes {
    Data(Arc<[u8]>),
    Read(Arc<Content>),
}

impl Value {
    /// Of data.
    pub(super) fn of_data(data: &[u8]) -> Self {
        Self { range: 0..data.len(), bytes: Bytes::Data(data.into()) }
    }

    /// Of what a task has come to, or a part of it.
    ///
    /// # Errors
    /// It has no such part; says what it has.
    pub(super) fn of(content: Arc<Content>, part: Option<u16>) -> Result<Self, String> {
        let range = match part {
            None => 0..content.len(),
            Some(part) => {
                let parts = parts(&content)?;
                let count = parts.len();
                let range = parts.into_iter().nth(usize::from(part));
                range.ok_or_else(|| format!("its result has {count} parts, and no part {part}"))?
            }
        };
        Ok(Self { bytes: Bytes::Read(content), range })
    }
}

impl Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let all: &[u8] = match &self.bytes {
            Bytes::Data(data) => data,
            Bytes::Read(content) => content,
        };
        &all[self.range.clone()]
    }
}

/// The result of a task that has made these versions.
pub fn result(versions: &[impl AsRef<[u8]>]) -> Vec<u8> {
    if let [one] = versions {
        return one.as_ref().to_vec();
    }
    let all: Vec<&ByteSlice> = versions.iter().map(|one| one.as_ref().into()).collect();
    encode(&all)
}

/// Where the parts of a result lie in it.
///
/// # Errors
/// It is no list of byte strings, and nothing else.
pub(super) fn parts(result: &[u8]) -> Result<Vec<Range<usize>>, String> {
    let wrong = |_| "its result is no list of the instances that it changes".to_owned();
    let mut decoder = Decoder::new(result);
    let count = decoder.array().map_err(wrong)?.unwrap_or(0);
    let mut parts = Vec::new();
    for _ in 0..count {
        let bytes = decoder.bytes().map_err(wrong)?;
        let end = decoder.position();
        parts.push(end - bytes.len()..end);
    }
    if decoder.position() != result.len() || parts.is_empty() {
        return Err("its result is no list of the instances that it changes".to_owned());
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn several_versions_are_found_in_their_result(
            all in vec(vec(any::<u8>(), 0..300), 2..5)
        ) {
            let result = result(&all);
            let found = parts(&result).unwrap();
            let found: Vec<&[u8]> = found.into_iter().map(|range| &result[range]).collect();
            prop_assert_eq!(found, all);
            prop_assert!(parts(&result[..result.len() - 1]).is_err());
        }

        #[test]
        fn no_result_makes_a_reader_panic(result in vec(any::<u8>(), 0..40)) {
            for range in parts(&result).unwrap_or_default() {
                prop_assert!(result.get(range).is_some());
            }
        }
    }

    #[test]
    fn a_single_version_is_the_result() {
        assert_eq!(result(&[b"abc"]), b"abc");
        assert!(parts(b"abc").unwrap_err().contains("no list"));
        assert!(parts(&[0x9b, 255, 255, 255, 255, 255, 255, 255, 255]).is_err(), "a length alone");
        assert!(parts(&[0x80]).is_err(), "nobody changes nothing by a list");
    }
}
