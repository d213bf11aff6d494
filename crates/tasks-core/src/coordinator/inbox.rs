//! The inbox of a part: what its coordinator and those of other parts know of each other.
//!
//! See `abroad.rs` for what is done with it.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{Part, TaskId};
use crate::keys;
use crate::message::{Call, Peer};
use crate::record::{Ended, encode};
use crate::transaction::{Event, Expect, Key, Revision, Transaction};

use super::change::{Altered, Change};
use super::partial::{Forgetting, Found};

/// The bytes of a key of an inbox and its value, at most.
pub(super) const LETTER_BYTES: usize = 64;

/// What is known of tasks of other parts, and what these want to know.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// Inputs in other parts that tasks of this one name, and in which part each is.
    places: BTreeMap<TaskId, Part>,
    /// Those that have no record there: they never end.
    unknown: BTreeSet<TaskId>,
    /// Inputs in other parts that no task of this one may name any more.
    leaving: BTreeMap<TaskId, Part>,
    /// Tasks of this part for which others wait, and the commit that says so.
    wanted: BTreeMap<(TaskId, Part), Revision>,
    /// Those that may have ended: their records are to be read.
    asked: BTreeSet<TaskId>,
    /// The bell as it was seen last.
    bell: Option<Revision>,
    /// What is to be forgotten when the bell is seen as it was then.
    later: Vec<(Revision, Forgetting)>,
    /// What came before all was read.
    early: Vec<Event>,
}

impl Inbox {
    /// Inputs of a task that are in other parts.
    pub(super) fn place(&mut self, abroad: &[(TaskId, Part)]) {
        self.places.extend(abroad.iter().copied());
    }

    /// In which other part an input is.
    pub(super) fn part_of(&self, input: TaskId) -> Option<Part> {
        self.places.get(&input).copied()
    }

    /// Whether an input without an end may have one yet, since it is in another part that knows it.
    pub(super) fn may_end(&self, input: TaskId) -> bool {
        self.places.contains_key(&input) && !self.unknown.contains(&input)
    }

    /// An input has no record in its part.
    pub(super) fn set_unknown(&mut self, input: TaskId) {
        if self.places.contains_key(&input) {
            self.unknown.insert(input);
        }
    }

    /// It is to be seen whether these are named by any task.
    pub(super) fn leave(&mut self, inputs: impl IntoIterator<Item = (TaskId, Part)>) {
        self.leaving.extend(inputs);
    }

    /// Whether there is something to be left.
    pub(super) fn leaves(&self) -> bool {
        !self.leaving.is_empty()
    }

    /// Takes out what may be left.
    pub(super) fn take_leaving(&mut self) -> BTreeMap<TaskId, Part> {
        core::mem::take(&mut self.leaving)
    }

    /// An input is named by no task.
    pub(super) fn remove_place(&mut self, input: TaskId) {
        self.places.remove(&input);
        self.unknown.remove(&input);
    }

    /// Another part waits for a task.
    pub(super) fn want(&mut self, id: TaskId, by: Part, revision: Revision) {
        let at = self.wanted.entry((id, by)).or_insert(revision);
        *at = (*at).max(revision);
    }

    /// Another part no longer waited for a task at this revision.
    pub(super) fn forgo(&mut self, id: TaskId, by: Part, revision: Revision) {
        if self.wanted.get(&(id, by)).is_some_and(|at| *at < revision) {
            self.wanted.remove(&(id, by));
        }
    }

    /// The parts that wait for a task.
    pub(super) fn waiting_for(&self, id: TaskId) -> Vec<Part> {
        let all = self.wanted.range((id, Part(0))..=(id, Part(u16::MAX)));
        all.map(|((_, by), _)| *by).collect()
    }

    /// The parts that wait for the end of a task which a change is.
    pub(super) fn waiting_for_end_of(&self, change: &Change) -> Vec<Part> {
        change.ended.as_ref().map_or_else(Vec::new, |(id, _)| self.waiting_for(*id))
    }

    /// Whether another part needs the record of a task.
    pub(super) fn is_wanted(&self, id: TaskId) -> bool {
        !self.waiting_for(id).is_empty()
    }

    /// What became of a task for which others wait is to be read.
    pub(super) fn ask(&mut self, id: TaskId) {
        if self.is_wanted(id) {
            self.asked.insert(id);
        }
    }

    /// Some of those that are to be read.
    pub(super) fn take_asked(&mut self, most: usize) -> Vec<TaskId> {
        let some: Vec<TaskId> = self.asked.iter().take(most).copied().collect();
        for id in &some {
            self.asked.remove(id);
        }
        some
    }

    /// The bell was written.
    pub(super) fn ring(&mut self, revision: Revision) {
        self.bell = self.bell.max(Some(revision));
    }

    /// Whether all is known that was written before the bell was at this revision.
    pub(super) fn has_heard(&self, revision: Revision) -> bool {
        self.bell >= Some(revision)
    }

    /// Lets a request to forget tasks wait until the bell is heard.
    pub(super) fn forget_later(&mut self, revision: Revision, forgetting: Forgetting) {
        self.later.push((revision, forgetting));
    }

    /// The requests that need not wait any more.
    pub(super) fn take_heard(&mut self) -> Vec<Forgetting> {
        let (heard, later) = core::mem::take(&mut self.later)
            .into_iter()
            .partition(|(revision, _)| self.has_heard(*revision));
        self.later = later;
        let heard: Vec<(Revision, Forgetting)> = heard;
        heard.into_iter().map(|(_, forgetting)| forgetting).collect()
    }

    /// Those who have asked for what waits; it will not be done.
    pub(super) fn take_later(&mut self) -> Vec<(Peer, Call)> {
        core::mem::take(&mut self.later).into_iter().map(|(_, one)| one.asked).collect()
    }

    /// Something came while all is being read.
    pub(super) fn keep(&mut self, events: &[Event]) {
        self.early.extend_from_slice(events);
    }

    pub(super) fn take_early(&mut self) -> Vec<Event> {
        core::mem::take(&mut self.early)
    }
}

impl Found {
    /// Which of these inputs are in other parts, and where.
    pub(super) fn places(&self, inputs: &[TaskId]) -> Vec<(TaskId, Part)> {
        let place = |input: &TaskId| Some((*input, self.abroad.get(input)?.0));
        inputs.iter().filter_map(place).collect()
    }

    /// The records that were seen of these inputs in other parts.
    pub(super) fn seen(&self, inputs: &[TaskId]) -> Vec<Key> {
        let seen = |input| Some(self.abroad.get(input)?.1.clone());
        inputs.iter().filter_map(seen).collect()
    }
}

/// The keys of inboxes that one commit writes or requires: each once, whatever changes it carries.
#[derive(Debug)]
pub(super) struct Letters {
    part: Part,
    bell: Option<Expect>,
    keys: BTreeSet<Key>,
}

impl Letters {
    /// None yet, of one part of so many.
    pub(super) fn of((part, parts): (Part, u16), inbox: &Inbox) -> Self {
        let expect = inbox.bell.map_or(Expect::Absent, Expect::At);
        Self { part, bell: (parts > 1).then_some(expect), keys: BTreeSet::new() }
    }

    /// Adds those of a change to a transaction.
    pub(super) fn write(&mut self, change: &Change, transaction: &mut Transaction) {
        self.write_wants(change, transaction);
        self.write_ends(change, transaction);
        for (id, of) in &change.left {
            transaction.delete(keys::wanted(*of, *id, self.part));
            transaction.delete(keys::ended_abroad(self.part, *id));
        }
        if let Some(expect) = self.bell.filter(|_| change.forgetting.is_some()) {
            let bell = keys::bell(self.part);
            if self.keys.insert(bell.clone()) {
                transaction.expect(bell, expect);
            }
        }
    }

    /// A new task waits for inputs in other parts.
    fn write_wants(&mut self, change: &Change, transaction: &mut Transaction) {
        let new = change.tasks.iter().filter(|altered| altered.is_new());
        let seen = change.tasks.iter().flat_map(|altered| &altered.seen);
        for key in seen {
            if self.keys.insert(key.clone()) {
                transaction.expect(key.clone(), Expect::Present);
            }
        }
        let tasks = new.filter_map(|altered: &Altered| altered.task.as_deref());
        for &(input, of) in tasks.flat_map(|task| &task.abroad) {
            for key in [keys::wanted(of, input, self.part), keys::bell(of)] {
                if self.keys.insert(key.clone()) {
                    transaction.put(key, *b"1");
                }
            }
        }
    }

    /// A task has ended for which other parts wait.
    fn write_ends(&mut self, change: &Change, transaction: &mut Transaction) {
        let ended = change.ended.iter().map(|(id, _)| *id);
        let ends = ended.flat_map(|id| change.told.iter().map(move |by| (id, *by, true)));
        for (id, by, is_known) in ends.chain(change.notices.iter().copied()) {
            let key = keys::ended_abroad(by, id);
            if self.keys.insert(key.clone()) {
                transaction.put(key, encode(&Ended { part: self.part, is_known }));
            }
        }
    }
}
