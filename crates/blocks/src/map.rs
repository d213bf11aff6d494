//! A map of the cluster's: each key lies with two processes, and any process reads and writes it.
//!
//! Keys are spread over parts by their hash, parts over processes ([`pair`](crate::pair)). What was
//! answered stays when a process dies; calls go on as soon as the others know that. Each call is
//! one step between its begin and its answer, for all who use the key (linearizable), also a read.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::collections::BTreeMap;
use std::sync::Arc;

use minicbor::{Decode, Encode};

use crate::block::{Block, Handler, Here};
use crate::envelope::{Refusal, decode, encode};
use crate::pair::{Call, MAX_PARTS, State, Twins, part_of};
use crate::reply::{self, Reply, Unanswered};

/// The longest key with its value, in bytes.
pub const MAX_PAIR_BYTES: usize = 512 << 10;

/// Pieces of a copy have so many bytes, and one pair more.
const PAGE_BYTES: usize = 256 << 10;

/// The kind of maps.
#[derive(Clone, Copy, Debug)]
pub struct DistributedMap {
    /// Parts of each map: the same in all programs of a cluster. More of them are spread more
    /// evenly, and each costs some messages when a process comes or goes.
    pub parts: u16,
}

impl Default for DistributedMap {
    fn default() -> Self {
        Self { parts: 64 }
    }
}

/// Why a call of a map was not answered as asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MapError {
    /// Key and value are too long. Nothing was written.
    #[error("key and value have {0} bytes; at most {MAX_PAIR_BYTES} are possible")]
    TooLong(usize),
    /// A process that takes part has no such map. Whether anything was written is unknown.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// There is no answer. Whether anything was written is unknown.
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
}

/// A map, as programs call it.
#[derive(Debug)]
pub struct Map {
    here: Here,
    parts: u16,
    lost_parts: Arc<AtomicUsize>,
}

impl Map {
    /// The value of a key.
    ///
    /// # Errors
    /// This process takes part no more, or another has no such map.
    pub async fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, MapError> {
        let answer = self.call(key, Op::Get(key.to_vec())).await??;
        Ok(answer.value())
    }

    /// Writes a value.
    ///
    /// # Errors
    /// As with [`Map::get`], and where it is too long.
    pub async fn put(&self, key: &[u8], value: &[u8]) -> Result<(), MapError> {
        let bytes = key.len() + value.len();
        if bytes > MAX_PAIR_BYTES {
            return Err(MapError::TooLong(bytes));
        }
        self.call(key, Op::Put(key.to_vec(), value.to_vec())).await??;
        Ok(())
    }

    /// Removes a key; the value that it had.
    ///
    /// # Errors
    /// As with [`Map::get`].
    pub async fn remove(&self, key: &[u8]) -> Result<Option<Vec<u8>>, MapError> {
        let answer = self.call(key, Op::Remove(key.to_vec())).await??;
        Ok(answer.value())
    }

    /// How many keys have a value: each part at a moment of its own.
    ///
    /// # Errors
    /// As with [`Map::get`].
    pub async fn count(&self) -> Result<u64, MapError> {
        let asked: Vec<_> = (0..self.parts).map(|part| self.post(part, Op::Count)).collect();
        let mut sum = 0;
        for reply in asked {
            if let Answer::Count(count) = reply.await?? {
                sum += count;
            }
        }
        Ok(sum)
    }

    /// How many parts may have lost something, since both processes that had it were gone before
    /// there was another copy: as far as this process has heard.
    pub fn lost_parts(&self) -> usize {
        self.lost_parts.load(Relaxed)
    }

    /// As [`Map::put`] and [`Map::get`], whose answer is not awaited here.
    pub fn call(&self, key: &[u8], op: Op) -> Reply<Result<Answer, Refusal>> {
        self.post(part_of(key, self.parts), op)
    }

    fn post(&self, part: u16, op: Op) -> Reply<Result<Answer, Refusal>> {
        let (asker, reply) = reply::ask();
        self.here.call(Call::<Shelf> { part, op, asker });
        reply
    }
}

/// What is done with a part of a map.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Op {
    /// The value of a key.
    #[n(0)]
    Get(#[cbor(n(0), with = "minicbor::bytes")] Vec<u8>),
    /// A key and its value.
    #[n(1)]
    Put(
        #[cbor(n(0), with = "minicbor::bytes")] Vec<u8>,
        #[cbor(n(1), with = "minicbor::bytes")] Vec<u8>,
    ),
    /// A key that has no value any more.
    #[n(2)]
    Remove(#[cbor(n(0), with = "minicbor::bytes")] Vec<u8>),
    /// How many keys there are.
    #[n(3)]
    Count,
}

/// What a part of a map answers.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Answer {
    /// It is written.
    #[n(0)]
    Done,
    /// There is no value.
    #[n(1)]
    Absent,
    /// The value.
    #[n(2)]
    Value(#[cbor(n(0), with = "minicbor::bytes")] Vec<u8>),
    /// How many keys there are.
    #[n(3)]
    Count(#[n(0)] u64),
}

impl Answer {
    fn value(self) -> Option<Vec<u8>> {
        match self {
            Self::Value(value) => Some(value),
            _ => None,
        }
    }
}

/// A part of a map.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Shelf(BTreeMap<Vec<u8>, Vec<u8>>);

impl State for Shelf {
    type Op = Op;
    type Answer = Answer;

    fn apply(&mut self, op: &Op) -> Answer {
        let found = |value: Option<Vec<u8>>| value.map_or(Answer::Absent, Answer::Value);
        match op {
            Op::Get(key) => found(self.0.get(key).cloned()),
            Op::Put(key, value) => {
                self.0.insert(key.clone(), value.clone());
                Answer::Done
            }
            Op::Remove(key) => found(self.0.remove(key)),
            Op::Count => Answer::Count(self.0.len() as u64),
        }
    }

    fn is_read(op: &Op) -> bool {
        matches!(op, Op::Get(_) | Op::Count)
    }

    fn pages(&self) -> Vec<Vec<u8>> {
        let (mut pages, mut page, mut bytes) = (Vec::new(), Vec::new(), 0);
        for (key, value) in &self.0 {
            page.push(Op::Put(key.clone(), value.clone()));
            bytes += key.len() + value.len() + 16;
            if bytes >= PAGE_BYTES {
                pages.push(encode(&page));
                (page, bytes) = (Vec::new(), 0);
            }
        }
        if !page.is_empty() {
            pages.push(encode(&page));
        }
        pages
    }

    fn restore(&mut self, page: &[u8]) -> bool {
        let Some(puts) = decode::<Vec<Op>>(page) else { return false };
        for put in puts {
            if let Op::Put(key, value) = put {
                self.0.insert(key, value);
            }
        }
        true
    }
}

impl Block for DistributedMap {
    const KIND: &'static str = "map";
    const VERSION: u32 = 1;
    type Interface = Map;

    fn represent(&self, here: Here) -> (Box<Map>, Box<dyn Handler>) {
        let parts = self.parts.clamp(1, MAX_PARTS);
        let lost_parts = Arc::new(AtomicUsize::new(0));
        let told = Arc::clone(&lost_parts);
        let twins = Twins::<Shelf>::new(&here, parts, move |lost| told.store(lost, Relaxed));
        (Box::new(Map { here, parts, lost_parts }), Box::new(twins))
    }
}
