//! The tuples of the part as they were committed, which of them are changing, and the last
//! statements of sessions.
//!
//! A tuple is *free*, and then in the index, or claimed, or changing: a commit about it is on its
//! way. So two statements never find the same tuple, and whoever finds nothing waits in the same
//! step: there is no time between the look and the wait.
//!
//! Numbers are never used twice: they say epoch and part ([`home`]), and a coordinator counts on
//! when it begins again. So a claim is never taken for that of another tuple.

use core::ops::Bound;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::id::{Attempt, Epoch, Part, TaskId};
use crate::transaction::Revision;
use crate::tuple::index::Index;
use crate::tuple::{Claim, In, Past, Statement, Stored, Template, Tuple, home};
use crate::view::{MAX_LISTED_BYTES, SpaceView, TupleView};

use super::exchange::{AlteredTuple, Exchange, SlotKey};
use super::named::Named;
use super::waiting::Waiting;

/// The bytes of all tuples, with [`OWN_BYTES`] for each: they lie in memory.
const MAX_HELD_BYTES: usize = 256 << 20;

/// What a tuple takes in memory beside its fields, about.
const OWN_BYTES: usize = 512;

/// With what a claim ends.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Owner {
    /// The session of this name.
    Session(Arc<str>),
    /// This try of a task.
    Task(TaskId, Attempt),
}

/// What becomes of a tuple.
#[derive(Clone, Debug)]
pub(super) enum Fate {
    Gone,
    Free,
    Claimed(Claim),
}

impl Owner {
    fn of(claim: &Claim) -> Self {
        match claim.task {
            Some((task, attempt)) => Self::Task(task, attempt),
            None => Self::Session(claim.holder.as_str().into()),
        }
    }
}

/// A tuple as it was committed.
#[derive(Debug)]
struct Held {
    space: Arc<str>,
    tuple: Tuple,
    revision: Revision,
    claim: Option<Claim>,
    is_changing: bool,
}

/// What is in a space.
#[derive(Debug, Default)]
struct Space {
    numbers: BTreeSet<u64>,
    claimed: u64,
    bytes: usize,
}

/// The last statement of a slot, and whether another is on its way.
#[derive(Debug, Default)]
struct Slot {
    past: Option<Past>,
    is_changing: bool,
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Spaces {
    held: BTreeMap<u64, Held>,
    free: Index,
    by_name: BTreeMap<Arc<str>, Space>,
    by_owner: BTreeMap<Owner, BTreeSet<u64>>,
    slots: BTreeMap<SlotKey, Slot>,
    named: Named,
    pub(super) waiting: Waiting,
    bytes: usize,
    counted: u64,
}

impl Spaces {
    /// Forgets all but which numbers were used.
    pub(super) fn clear(&mut self) {
        *self = Self { counted: self.counted, ..Self::default() };
    }

    /// A number that no tuple has had.
    pub(super) fn number(&mut self, epoch: Epoch, seat: (Part, u16)) -> u64 {
        self.counted += 1;
        home::number(epoch, self.counted, seat)
    }

    /// The tuples that the ins of a statement find, each one of its own; `None` if some find none.
    pub(super) fn find(&self, statement: &Statement) -> Option<Vec<u64>> {
        if let [one] = &statement.ins[..] {
            return self.free.first(&one.space, &one.template, 0).map(|number| vec![number]);
        }
        // With as many candidates for each as there are ins, others leave it one.
        let most = statement.ins.len();
        let candidates = statement.ins.iter().map(|one| self.candidates(one, most));
        assign(&candidates.collect::<Vec<_>>())
    }

    fn candidates(&self, one: &In, most: usize) -> Vec<u64> {
        let first = |from| self.free.first(&one.space, &one.template, from);
        let next = |last: &u64| first(last.checked_add(1)?);
        let numbers = core::iter::successors(first(0), next);
        numbers.take(most).collect()
    }

    /// The space and the tuple of a number, and the commit that wrote it.
    pub(super) fn get(&self, number: u64) -> Option<(&Arc<str>, &Tuple, Revision)> {
        self.held.get(&number).map(|held| (&held.space, &held.tuple, held.revision))
    }

    /// Whether a tuple can be found.
    pub(super) fn is_free(&self, number: u64) -> bool {
        self.free.get(number).is_some()
    }

    /// Whether an owner has a tuple, and can settle it.
    pub(super) fn has(&self, owner: &Owner, number: u64) -> bool {
        let held = self.held.get(&number).filter(|held| !held.is_changing);
        held.and_then(|held| held.claim.as_ref()).is_some_and(|claim| Owner::of(claim) == *owner)
    }

    /// The tuples that an owner has, and can settle.
    pub(super) fn of(&self, owner: &Owner) -> Vec<u64> {
        let numbers = self.by_owner.get(owner).into_iter().flatten().copied();
        numbers.filter(|number| !self.held.get(number).is_some_and(|h| h.is_changing)).collect()
    }

    /// How many tuples an owner has.
    pub(super) fn count_of(&self, owner: &Owner) -> usize {
        self.by_owner.get(owner).map_or(0, BTreeSet::len)
    }

    /// The sessions that have tuples, or slots.
    pub(super) fn holders(&self) -> BTreeSet<Arc<str>> {
        let owners = self.by_owner.keys().filter_map(|owner| match owner {
            Owner::Session(name) => Some(name.clone()),
            Owner::Task(..) => None,
        });
        owners.chain(self.slots.keys().map(|(name, _)| name.clone())).collect()
    }

    /// The tries of tasks that have tuples.
    pub(super) fn tries(&self) -> Vec<(TaskId, Attempt)> {
        let tries = self.by_owner.keys().filter_map(|owner| match owner {
            Owner::Session(_) => None,
            Owner::Task(task, attempt) => Some((*task, *attempt)),
        });
        tries.collect()
    }

    /// Whether tuples of so many bytes can be put.
    pub(super) fn has_room<'a>(&self, tuples: impl IntoIterator<Item = &'a Tuple>) -> bool {
        self.bytes + tuples.into_iter().map(size).sum::<usize>() <= MAX_HELD_BYTES
    }

    /// What a tuple is from then on.
    pub(super) fn altered(&self, number: u64, to: Fate) -> Option<AlteredTuple> {
        let held = self.held.get(&number)?;
        let stored = |claim| Some(Stored { tuple: held.tuple.clone(), claim });
        let stored = match to {
            Fate::Gone => None,
            Fate::Free => stored(None),
            Fate::Claimed(claim) => stored(Some(claim)),
        };
        let (space, revision) = (held.space.clone(), Some(held.revision));
        Some(AlteredTuple { space, number, revision, stored })
    }

    /// A commit about these is on its way.
    pub(super) fn begin(&mut self, exchange: &Exchange) {
        for altered in &exchange.tuples {
            if let Some(held) = self.held.get_mut(&altered.number) {
                held.is_changing = true;
                self.free.remove(altered.number);
            } else if let Some(new) = &altered.stored {
                self.expect(&new.tuple);
            }
        }
        if let Some(slot) = exchange.slot() {
            self.slots.entry(slot.clone()).or_default().is_changing = true;
        }
    }

    /// It was committed.
    pub(super) fn end(&mut self, exchange: Exchange, revision: Revision) {
        for AlteredTuple { space, number, revision: before, stored } in exchange.tuples {
            match (before, &stored) {
                (None, Some(new)) => self.expect_no_longer(&new.tuple),
                _ => self.remove(number),
            }
            if let Some(stored) = stored {
                self.insert(space, number, stored, revision);
            }
        }
        if let Some((slot, past)) = exchange.past {
            self.slots.insert(slot, Slot { past: Some(past), is_changing: false });
        }
        if let Some(slot) = exchange.dropped {
            self.slots.remove(&slot);
        }
    }

    /// It was not: all is as before.
    pub(super) fn undo(&mut self, exchange: &Exchange) {
        for altered in &exchange.tuples {
            let Some(held) = self.held.get_mut(&altered.number) else {
                if let Some(new) = &altered.stored {
                    self.expect_no_longer(&new.tuple);
                }
                continue;
            };
            held.is_changing = false;
            if held.claim.is_none() {
                self.free.insert(altered.number, held.space.clone(), held.tuple.clone());
            }
        }
        if let Some(slot) = exchange.slot() {
            let is_new = self.slots.get_mut(slot).is_some_and(|known| {
                known.is_changing = false;
                known.past.is_none()
            });
            if is_new {
                self.slots.remove(slot);
            }
        }
    }

    /// A tuple is being put.
    fn expect(&mut self, tuple: &Tuple) {
        self.bytes += size(tuple);
        self.named.add(tuple);
    }

    /// A tuple was put, or was not.
    fn expect_no_longer(&mut self, tuple: &Tuple) {
        self.bytes -= size(tuple);
        self.named.remove(tuple);
    }

    /// Whether a tuple names a shared blob, or one that is being put.
    pub(super) fn names(&self, blob: &[u8; 32]) -> bool {
        self.named.has(blob)
    }

    /// Has a tuple as it was committed.
    pub(super) fn insert(
        &mut self,
        space: Arc<str>,
        number: u64,
        Stored { tuple, claim }: Stored,
        revision: Revision,
    ) {
        let space = match self.by_name.get_key_value(&space) {
            Some((known, _)) => known.clone(),
            None => space,
        };
        let own = self.by_name.entry(space.clone()).or_default();
        own.numbers.insert(number);
        own.bytes += tuple.bytes();
        own.claimed += u64::from(claim.is_some());
        self.bytes += size(&tuple);
        self.named.add(&tuple);
        match &claim {
            Some(claim) => {
                self.by_owner.entry(Owner::of(claim)).or_default().insert(number);
            }
            None => self.free.insert(number, space.clone(), tuple.clone()),
        }
        self.held.insert(number, Held { space, tuple, revision, claim, is_changing: false });
    }

    fn remove(&mut self, number: u64) {
        let Some(held) = self.held.remove(&number) else { return };
        self.free.remove(number);
        self.bytes -= size(&held.tuple);
        self.named.remove(&held.tuple);
        if let Some(own) = self.by_name.get_mut(&held.space) {
            own.numbers.remove(&number);
            own.bytes -= held.tuple.bytes();
            own.claimed -= u64::from(held.claim.is_some());
            if own.numbers.is_empty() {
                self.by_name.remove(&held.space);
            }
        }
        let Some(owner) = held.claim.as_ref().map(Owner::of) else { return };
        if let Some(numbers) = self.by_owner.get_mut(&owner) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.by_owner.remove(&owner);
            }
        }
    }

    /// Has the last statement of a slot as it was committed.
    pub(super) fn insert_past(&mut self, slot: SlotKey, past: Past) {
        self.slots.insert(slot, Slot { past: Some(past), is_changing: false });
    }

    /// The last statement of a slot.
    pub(super) fn past(&self, slot: &SlotKey) -> Option<&Past> {
        self.slots.get(slot)?.past.as_ref()
    }

    /// Whether a statement of a slot is on its way.
    pub(super) fn is_changing(&self, slot: &SlotKey) -> bool {
        self.slots.get(slot).is_some_and(|slot| slot.is_changing)
    }

    /// The slots of a session of which no statement is on its way.
    pub(super) fn slots_of(&self, name: &Arc<str>) -> Vec<SlotKey> {
        let all = self.slots.range((name.clone(), 0)..=(name.clone(), u16::MAX));
        all.filter(|(_, slot)| !slot.is_changing).map(|(key, _)| key.clone()).collect()
    }

    /// The first spaces from a name on, and which one follows.
    pub(super) fn views(&self, from: &str, limit: usize) -> (Vec<SpaceView>, Option<String>) {
        let mut all = self.by_name.range::<str, _>((Bound::Included(from), Bound::Unbounded));
        let view = |(name, space): (&Arc<str>, &Space)| SpaceView {
            name: name.to_string(),
            tuples: space.numbers.len() as u64,
            claimed: space.claimed,
            bytes: space.bytes as u64,
        };
        let views = all.by_ref().take(limit).map(view).collect();
        (views, all.next().map(|(name, _)| name.to_string()))
    }

    /// The first tuples of a space from a number on, and which one follows.
    pub(super) fn tuples(
        &self,
        space: &str,
        from: u64,
        limit: usize,
    ) -> (Vec<TupleView>, Option<u64>) {
        let Some(own) = self.by_name.get(space) else { return (Vec::new(), None) };
        let (mut views, mut bytes) = (Vec::new(), 0);
        for number in own.numbers.range(from..) {
            if views.len() == limit || bytes > MAX_LISTED_BYTES {
                return (views, Some(*number));
            }
            let Some(held) = self.held.get(number) else { continue };
            bytes += held.tuple.bytes();
            let (tuple, claim) = (held.tuple.clone(), held.claim.clone());
            views.push(TupleView { number: *number, tuple, claim });
        }
        (views, None)
    }

    /// Whether a template matches a tuple.
    pub(super) fn matches(&self, number: u64, space: &str, template: &Template) -> bool {
        let held = self.held.get(&number);
        held.is_some_and(|held| *held.space == *space && template.matches(&held.tuple))
    }
}

/// What a tuple takes in memory, about.
fn size(tuple: &Tuple) -> usize {
    tuple.bytes() + OWN_BYTES
}

/// One of its candidates for each, none twice (Kuhn's augmenting paths).
fn assign(candidates: &[Vec<u64>]) -> Option<Vec<u64>> {
    let mut taken: BTreeMap<u64, usize> = BTreeMap::new();
    for one in 0..candidates.len() {
        if !augment(candidates, one, &mut taken, &mut BTreeSet::new()) {
            return None;
        }
    }
    let mut assigned = vec![0; candidates.len()];
    for (number, one) in taken {
        assigned[one] = number;
    }
    Some(assigned)
}

/// Finds a candidate for one, if need be by giving others another one. It calls itself at most as
/// often as there are candidates: each is seen once.
fn augment(
    candidates: &[Vec<u64>],
    one: usize,
    taken: &mut BTreeMap<u64, usize>,
    seen: &mut BTreeSet<u64>,
) -> bool {
    for &number in &candidates[one] {
        if !seen.insert(number) {
            continue;
        }
        let other = taken.get(&number).copied();
        if other.is_none_or(|other| augment(candidates, other, taken, seen)) {
            taken.insert(number, one);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_in_gets_a_tuple_of_its_own_if_that_is_possible() {
        assert_eq!(assign(&[vec![1, 2], vec![1]]), Some(vec![2, 1]));
        assert_eq!(assign(&[vec![1, 2, 3], vec![1], vec![1, 2]]), Some(vec![3, 1, 2]));
        assert_eq!(assign(&[vec![1], vec![1]]), None);
        assert_eq!(assign(&[vec![1], vec![]]), None);
    }

    #[test]
    fn what_is_held_is_bounded_and_counted() {
        let mut spaces = Spaces::default();
        let tuple = Tuple::new(vec!["x".repeat(16_000).into()]);
        let most = MAX_HELD_BYTES / size(&tuple);
        assert!(spaces.has_room(&vec![tuple.clone(); most]));
        assert!(!spaces.has_room(&vec![tuple.clone(); most + 1]));
        let stored = Stored { tuple: tuple.clone(), claim: None };
        spaces.insert("s".into(), 1, stored, Revision(1));
        assert!(!spaces.has_room(&vec![tuple.clone(); most]));
        spaces.remove(1);
        assert!(spaces.has_room(&vec![tuple; most]) && spaces.by_name.is_empty());
    }
}
