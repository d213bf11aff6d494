//! An exchange: what a statement, or the end of a claim, alters in the store.

use std::sync::Arc;

use crate::id::Part;
use crate::keys;
use crate::record::encode;
use crate::transaction::{Expect, Revision, Transaction};
use crate::tuple::{Past, Stored};

/// A slot of a session, by its name.
pub(super) type SlotKey = (Arc<str>, u16);

/// What is altered. No tuple and no slot is in two exchanges that are on their way.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    pub(super) tuples: Vec<AlteredTuple>,
    /// Tuples that were read, and are still to be as they were.
    pub(super) read: Vec<(Arc<str>, u64, Revision)>,
    /// The statement of a slot that is done by this.
    pub(super) past: Option<(SlotKey, Past)>,
    /// Slots of a session that has ended.
    pub(super) dropped: Option<SlotKey>,
}

/// A tuple that is put, claimed, given back or gone.
#[derive(Debug)]
pub(super) struct AlteredTuple {
    pub(super) space: Arc<str>,
    pub(super) number: u64,
    /// The commit that wrote it last; `None` if it is new.
    pub(super) revision: Option<Revision>,
    /// What it is from then on; `None` if it is gone.
    pub(super) stored: Option<Stored>,
}

impl Exchange {
    /// Adds conditions and writes to a transaction.
    pub(super) fn write(&self, part: Part, transaction: &mut Transaction) {
        for altered in &self.tuples {
            let key = keys::tuple(part, &altered.space, altered.number);
            if let Some(revision) = altered.revision {
                transaction.expect(key.clone(), Expect::At(revision));
            }
            match &altered.stored {
                Some(stored) => transaction.put(key, encode(stored)),
                None => transaction.delete(key),
            }
        }
        for (space, number, revision) in &self.read {
            transaction.expect(keys::tuple(part, space, *number), Expect::At(*revision));
        }
        if let Some(((name, slot), past)) = &self.past {
            transaction.put(keys::past(part, name, *slot), encode(past));
        }
        if let Some((name, slot)) = &self.dropped {
            transaction.delete(keys::past(part, name, *slot));
        }
    }

    /// The slot that it is about, if it is about one.
    pub(super) fn slot(&self) -> Option<&SlotKey> {
        self.past.as_ref().map(|(slot, _)| slot).or(self.dropped.as_ref())
    }
}
