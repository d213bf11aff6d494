//! Which shared blobs tuples name: what is named is not freed by the depots that have it.
//!
//! A tuple counts from when its commit is on its way until that which takes it out is done. So a
//! blob whose tuple moves from one space to another in one commit is named all the time.

use std::collections::BTreeMap;

use crate::tuple::Tuple;

/// How many tuples name a blob, by its hash.
#[derive(Debug, Default)]
pub(super) struct Named(BTreeMap<[u8; 32], u64>);

impl Named {
    pub(super) fn add(&mut self, tuple: &Tuple) {
        for blob in tuple.blobs() {
            *self.0.entry(blob.hash).or_default() += 1;
        }
    }

    pub(super) fn remove(&mut self, tuple: &Tuple) {
        for blob in tuple.blobs() {
            let left = self.0.get_mut(&blob.hash).map_or(0, |count| {
                *count -= 1;
                *count
            });
            if left == 0 {
                self.0.remove(&blob.hash);
            }
        }
    }

    pub(super) fn has(&self, blob: &[u8; 32]) -> bool {
        self.0.contains_key(blob)
    }
}
