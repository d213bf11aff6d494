//! Edges across parts: tasks that wait for tasks of other parts.
//!
//! The coordinator of part B has a task that waits for one of part A. Both learn what they need
//! from records that lie in each other's inbox, each written by the commit that makes it true:
//!
//! | commit of | what happens | what it writes beside |
//! |---|---|---|
//! | B | a task is added that names an input of A | `A/i/w/INPUT/B`, and the bell of A |
//! | A | the input ends | `B/i/e/INPUT`, for each part that waits, as far as is known |
//! | A | a word comes that B waits for what has ended, or is not there | `B/i/e/INPUT` |
//! | B | no task names the input any more | deletes both |
//!
//! B reads how the input has ended from its own record, once it is told that it has, and once when
//! it begins to wait. So a word that comes twice, late, or for nothing does no harm, and none can
//! be lost: `A/i/w/` is there from the commit on that adds the task, which requires a record of the
//! input; A looks at each when it comes, when the input ends and when it takes over; and `B/i/e/`
//! stays until B needs the input no more.
//!
//! An output of A that stays on nodes is a matter of A alone: B takes its task as done when A says
//! so. Who does the consumer asks A for the output. If that is lost it says so to A, which makes
//! it again as for readers of its own, and ends its try in B, whose task waits once more: the
//! record of the end is gone then, and A writes another word when there is one again.
//!
//! A does not delete the record of a task for which another part waits. A word of that may be on
//! its way: so the commit that deletes names the bell as A has heard it, and fails if it was rung
//! since.
//!
//! # Invariants
//! 1. `A/i/w/INPUT/B` is there while a task of B that has not ended names that input.
//! 2. A part writes its own records, `w` and the bell in inboxes of parts of which it names tasks,
//!    and `e` in inboxes of parts that wait for it: never a task of another.
//!
//! Source: FOX final report, §3.2, whose coordinator holds a whole graph; the inbox is a durable
//! mailbox as actors have it.

use tidings_primitives::Instant;

use crate::id::{Part, TaskId};
use crate::keys::{self, Letter};
use crate::message::{Refusal, Submission};
use crate::record::Ended;
use crate::transaction::{Event, Key, Record, Revision, Value};

use super::Coordinator;
use super::change::Change;
use super::inputs::TOGETHER;
use super::partial::{Found, Gathering};
use super::reading::Purpose;

impl Coordinator {
    /// Changes of keys of this part's inbox ([`keys::inbox`]), in order: each after the commit by
    /// which this coordinator got its role. A part that is the only one has none.
    pub fn handle_inbox(&mut self, now: Instant, events: &[Event]) {
        self.pass(now);
        if self.is_serving() {
            for event in events {
                self.take_letter(event);
            }
            self.forget_heard();
            self.unpark();
        } else {
            self.inbox.keep(events);
        }
    }

    /// The driver has missed changes of the inbox. It follows it again, and all is read once more.
    pub fn handle_inbox_lost(&mut self, now: Instant) {
        self.pass(now);
        if !self.is_deposed() {
            self.keeping_lost(|it| it.begin_again(Vec::new()));
        }
    }

    /// What was read of the inbox, and what came meanwhile.
    pub(super) fn take_letters(&mut self, read: &[Event]) {
        let early = self.inbox.take_early();
        for event in read.iter().chain(&early) {
            self.take_letter(event);
        }
    }

    fn take_letter(&mut self, event: &Event) {
        let Some(letter) = keys::letter_of(self.settings.part, &event.key) else { return };
        match (letter, &event.value) {
            (Letter::Bell, _) => self.inbox.ring(event.revision),
            (Letter::Ended(id), Some(value)) => self.hear_of_end(id, value),
            (Letter::Ended(_), None) => {}
            (Letter::Wanted(id, by), Some(_)) => {
                self.inbox.want(id, by, event.revision);
                self.look_for_wanted(id);
            }
            (Letter::Wanted(id, by), None) => self.inbox.forgo(id, by, event.revision),
        }
    }

    /// A task of another part has ended.
    fn hear_of_end(&mut self, id: TaskId, value: &Value) {
        let Ok(ended) = minicbor::decode::<Ended>(value) else {
            self.counters.unreadable += 1;
            return;
        };
        if !ended.is_known {
            self.inbox.set_unknown(id);
        }
        self.edges.look_for(id);
        if !self.edges.is_used(id) {
            self.inbox.leave([(id, ended.part)]);
        }
    }

    /// What became of a task is to be read if others wait for it. Of a live one its end tells.
    pub(super) fn look_for_wanted(&mut self, id: TaskId) {
        if !self.is_live(id) {
            self.inbox.ask(id);
        }
    }

    /// Wants to know what became of tasks for which others wait.
    pub(super) fn read_wanted(&mut self) {
        let tasks = if self.is_serving() { self.inbox.take_asked(TOGETHER) } else { Vec::new() };
        if !tasks.is_empty() {
            let part = self.settings.part;
            let keys = tasks.iter().map(|id| keys::finished(part, *id)).collect();
            self.want(keys, Purpose::Wanted(tasks));
        }
    }

    /// That was read: the others are told.
    pub(super) fn wanted_read<'r>(
        &mut self,
        tasks: Vec<TaskId>,
        records: impl Iterator<Item = &'r Record>,
    ) {
        let known: Vec<TaskId> = records.filter_map(|record| keys::id_of(&record.key)).collect();
        let mut notices = Vec::new();
        // Of one that is being added, or deleted, more is known later.
        for id in tasks.into_iter().filter(|id| !self.is_live(*id)) {
            let by = self.inbox.waiting_for(id).into_iter();
            notices.extend(by.map(|by| (id, by, known.contains(&id))));
        }
        self.tell(&notices);
    }

    /// A task has ended, and these parts were told in the same commit: so are the others that have
    /// begun to wait meanwhile.
    pub(super) fn tell_others(&mut self, id: TaskId, told: &[Part]) {
        let by = self.inbox.waiting_for(id).into_iter().filter(|by| !told.contains(by));
        let notices: Vec<_> = by.map(|by| (id, by, true)).collect();
        self.tell(&notices);
    }

    fn tell(&mut self, notices: &[(TaskId, Part, bool)]) {
        for some in notices.chunks(self.letters_together()) {
            self.stage(Change { notices: some.to_vec(), ..Change::default() });
        }
    }

    /// The letters that a commit carries with two writes each, beside the role and the fence.
    fn letters_together(&self) -> usize {
        (self.settings.limits.operations.saturating_sub(2) / 2).clamp(1, TOGETHER)
    }

    /// Inputs in other parts that no task names any more are left: their records may be deleted.
    /// Until that is committed they count as arriving, so that nobody begins to wait for them.
    pub(super) fn leave_inputs(&mut self) {
        if !self.inbox.leaves() {
            return;
        }
        let of_new = self.inputs_of_new();
        let (mut left, mut later) = (Vec::new(), Vec::new());
        for (id, part) in self.inbox.take_leaving() {
            if self.edges.is_used(id) {
                continue; // until its last consumer ends
            }
            if self.arriving.contains(&id) || of_new.contains(&id) {
                later.push((id, part));
            } else {
                self.inbox.remove_place(id);
                left.push((id, part));
            }
        }
        self.inbox.leave(later);
        for some in left.chunks(self.letters_together()) {
            self.stage(Change { left: some.to_vec(), ..Change::default() });
        }
    }

    /// It is known that they are left, or that they are not.
    pub(super) fn release_left(&mut self, left: &[(TaskId, Part)]) {
        let ids: Vec<_> = left.iter().map(|(id, _)| (*id, Revision(0))).collect();
        self.release_forgetting(&ids);
    }

    /// Others have begun to wait for tasks of this part, maybe for some that a commit would have
    /// deleted the records of: that is looked at again when it is known who waits.
    pub(super) fn bell_rang(&mut self, group: Vec<Change>, revision: Option<Revision>) {
        let (forgetting, others): (Vec<Change>, Vec<Change>) =
            group.into_iter().partition(|change| change.forgetting.is_some());
        self.restage(others);
        for mut forgetting in forgetting.into_iter().filter_map(|change| change.forgetting) {
            let now = core::mem::take(&mut forgetting.now);
            self.release_forgetting(&now);
            forgetting.rest.extend(now.into_iter().map(|(id, _)| id));
            self.inbox.forget_later(revision.unwrap_or_default(), forgetting);
        }
        self.forget_heard();
    }

    fn forget_heard(&mut self) {
        for forgetting in self.inbox.take_heard() {
            self.forget_next(forgetting);
        }
    }

    /// Looks for inputs of a submission in other parts, one after the other, if it has some that
    /// are not in this one.
    pub(super) fn gather_abroad(&mut self, mut gathering: Gathering) {
        if gathering.now.is_empty() {
            return self.gather_next(gathering);
        }
        gathering.ahead += 1;
        let Some(part) = self.part_ahead(gathering.ahead) else {
            return self.refuse_unknown(&gathering);
        };
        let of = |key: fn(Part, TaskId) -> Key| gathering.now.iter().map(move |id| key(part, *id));
        let keys = of(keys::task).chain(of(keys::finished)).collect();
        self.want(keys, Purpose::Inputs(Box::new(gathering)));
    }

    /// The part that is so many behind this one, in a circle.
    fn part_ahead(&self, ahead: u16) -> Option<Part> {
        let (own, parts) = (u32::from(self.settings.part.0), u32::from(self.settings.parts));
        let is_other = u32::from(ahead) < parts;
        is_other.then(|| Part(((own + u32::from(ahead)) % parts) as u16))
    }

    /// Inputs of a submission were looked for in another part.
    pub(super) fn gathered_abroad<'r>(
        &mut self,
        mut gathering: Gathering,
        records: impl Iterator<Item = &'r Record>,
    ) {
        let Some(part) = self.part_ahead(gathering.ahead) else { return };
        for record in records {
            let Some(id) = keys::id_of(&record.key) else { continue };
            gathering.found.abroad.insert(id, (part, record.key.clone()));
        }
        gathering.now.retain(|id| !gathering.found.abroad.contains_key(id));
        self.gather_abroad(gathering);
    }

    fn refuse_unknown(&mut self, gathering: &Gathering) {
        let Some(unknown) = gathering.now.first() else { return };
        let names = |task: &&Submission| task.inputs.contains(unknown);
        let task = gathering.tasks.iter().find(names).map_or(*unknown, |task| task.id);
        let reason = format!(
            "task {task} waits for {unknown}, which is not known: submit that one first, or with it"
        );
        let (peer, call) = gathering.asked;
        self.refuse(peer, call, Refusal::Invalid(reason));
    }

    /// Whether tasks can have their inputs of other parts, and commits what they write in inboxes.
    pub(super) fn check_abroad(&self, tasks: &[Submission], found: &Found) -> Result<(), String> {
        // Beside role, fence, and the two conditions and the record of the task.
        // Each takes a condition and a write.
        let most = self.settings.limits.operations.saturating_sub(5 + self.bells()) / 2;
        for Submission { id, inputs, copies, .. } in tasks {
            let count = found.places(inputs).len();
            if count > 0 && *copies > 0 {
                return Err(format!(
                    "task {id} leaves its output on nodes (copies) and waits for tasks of other \
                     parts, which might be forgotten before it has to be made again: submit it to \
                     their queue, or without copies"
                ));
            }
            if count > most {
                return Err(format!(
                    "task {id} waits for {count} tasks of other parts; at most {most} are possible \
                     with this store: let tasks of those parts combine them first"
                ));
            }
        }
        Ok(())
    }

    /// The bells that a commit may have to ring.
    pub(super) fn bells(&self) -> usize {
        usize::from(self.settings.parts.saturating_sub(1))
    }
}
