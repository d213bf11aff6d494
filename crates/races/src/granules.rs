//! Granules: the shadows of memory, by address.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::shadow::Shadow;

/// The bytes that have one shadow if they are always used together.
pub(crate) const GRANULE: usize = 8;

/// Parts of the table, each with its lock.
const SHARDS: usize = 64;

/// Eight bytes.
#[derive(Debug)]
pub(crate) enum Granule {
    /// That are always used together.
    Whole(Shadow),
    /// That are not.
    Bytes(Box<[Shadow; GRANULE]>),
}

/// Granules, by their address divided by their size.
pub(crate) type Shard = HashMap<usize, Granule>;

/// The shadows of a run, by address.
#[derive(Debug)]
pub(crate) struct Granules([Mutex<Shard>; SHARDS]);

impl Default for Granules {
    fn default() -> Self {
        Self(core::array::from_fn(|_| Mutex::default()))
    }
}

impl Granules {
    /// The part of the table with a granule, locked.
    pub(crate) fn shard(&self, granule: usize) -> MutexGuard<'_, Shard> {
        // Neighbours are in one part, so that a block is not in all of them.
        let shard = &self.0[(granule >> 6) % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Granule {
    /// The shadows of the bytes from one to another.
    pub(crate) fn of(&mut self, from: usize, to: usize) -> &mut [Shadow] {
        let is_part = to - from < GRANULE;
        if let (Self::Whole(shadow), true) = (&*self, is_part) {
            let bytes = core::array::from_fn(|_| shadow.clone());
            *self = Self::Bytes(Box::new(bytes));
        }
        match self {
            Self::Whole(shadow) => core::slice::from_mut(shadow),
            Self::Bytes(bytes) => &mut bytes[from..to],
        }
    }
}
