//! Recovery: a coordinator reads what its part holds, at the beginning, and when it no longer knows
//! what the store has.
//!
//! Tasks that run stay with their workers: whoever is still here goes on, and whoever comes back
//! within the time of a session and says that it holds a task keeps it. The others' tasks are then
//! taken as lost. What has ended is not read.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::{Attempt, TaskId};
use crate::ledger::Page;
use crate::message::Answer;
use crate::name::Name;
use crate::record::{State, Task};
use crate::retry::Cause;
use crate::transaction::{Key, Revision};

use super::edges::Edges;
use super::end::Fault;
use super::inbox::Inbox;
use super::near::Near;
use super::outputs::Outputs;
use super::permits::Permits;
use super::reading::{Purpose, Read};
use super::recovery::{Absent, Lost, Range, Recovery, Worker};
use super::slots::Hold;
use super::stages::Stages;
use super::table::Table;
use super::{Coordinator, Phase};

/// The records of a page.
const PAGE: usize = 2_000;

/// A record from further in the future than this, a day, is not believed.
const MOST_BEHIND_MS: u64 = 24 * 3_600 * 1_000;

impl Coordinator {
    /// Begins to read all.
    pub(super) fn recover(&mut self) {
        self.table = Table::new(self.settings.cached_bytes);
        self.permits = Permits::default();
        self.park_waits();
        self.spaces.clear();
        self.absent = Absent::default();
        self.arriving.clear();
        self.parked.wait_for_recovery();
        self.stages = Stages::default();
        self.edges = Edges::default();
        self.inbox = Inbox::default();
        self.outputs = Outputs::default();
        self.near = Near::default();
        self.phase = Phase::Recovering(Box::default());
        self.read_range(Range::default());
    }

    /// A page could not be read, or the pages do not fit together: all of it is read again.
    pub(super) fn recover_later(&mut self) {
        if matches!(self.phase, Phase::Recovering(_)) {
            self.keeping_lost(Self::recover);
        }
    }

    /// Begins anew to read all. Gone is what was heard before to be so.
    pub(super) fn keeping_lost(&mut self, begin: impl FnOnce(&mut Self)) {
        let lost = match &mut self.phase {
            Phase::Recovering(recovery) => core::mem::take(&mut recovery.lost),
            Phase::Serving | Phase::Deposed => Lost::default(),
        };
        begin(self);
        if let Phase::Recovering(recovery) = &mut self.phase {
            recovery.lost = lost;
        }
    }

    /// A page was read.
    pub(super) fn recovered(&mut self, page: &Page) {
        let part = self.settings.part;
        let Phase::Recovering(recovery) = &mut self.phase else { return };
        recovery.take(part, page);
        if let Some(next) = page.next.clone() {
            let end = recovery.range.prefix(part).after_prefix();
            return self.read_page(next, end);
        }
        match recovery.range.next() {
            Some(range) => {
                recovery.range = range;
                self.read_range(range);
            }
            None if recovery.is_one_picture() => self.begin(),
            None => self.recover_later(),
        }
    }

    fn read_range(&mut self, range: Range) {
        let prefix = range.prefix(self.settings.part);
        let end = prefix.after_prefix();
        self.read_page(prefix, end);
    }

    fn read_page(&mut self, from: Key, end: Option<Key>) {
        self.wanted.push_back((Read::Scan { from, end, limit: PAGE }, Purpose::Recover));
    }

    /// All is read: it serves from now on.
    fn begin(&mut self) {
        let Phase::Recovering(recovery) = core::mem::replace(&mut self.phase, Phase::Serving)
        else {
            return;
        };
        self.counters.unreadable += recovery.unreadable;
        let Recovery { mut tasks, semaphores, tuples, pasts, letters, staged, lost, .. } =
            *recovery;
        tasks.sort_unstable_by_key(|(_, task, _)| task.sequence);
        self.catch_up(tasks.iter().map(|(_, task, _)| task.last_stamp_ms()).max().unwrap_or(0));
        let told = self.sessions.forget_running();
        for (id, task, revision) in tasks {
            self.place(id, task, revision, &told);
        }
        for (name, semaphore, revision) in semaphores {
            // Whether they were told is not known. Who was has forgotten the call.
            for grant in &semaphore.held {
                if let Some(peer) = self.sessions.named(&grant.holder) {
                    self.answer(peer, grant.call, Answer::Done);
                }
            }
            self.permits.insert(name, semaphore, revision);
        }
        self.take_spaces(tuples, pasts);
        self.take_stages(staged);
        let (table, arriving) = (&self.table, &self.arriving);
        self.edges.look_for_ended(|id| table.get(id).is_some() || arriving.contains(&id));
        self.take_letters(&letters);
        let gone: Vec<TaskId> = self.waits.tasks().filter(|id| !self.is_live(*id)).collect();
        for id in gone {
            for (peer, call) in self.waits.take(id) {
                self.read_finished(id, Purpose::Outcome(id, peer, call));
            }
        }
        self.table.wake(self.now_ms());
        // What was said meanwhile has not been heard.
        let ttl = self.settings.session_ttl;
        self.sessions.renew_all(self.now, ttl);
        self.absent.until = Some(self.now + ttl);
        for host in lost.hosts {
            self.lose_absent_on(&host);
        }
        for process in lost.processes {
            self.lose_absent_of(&process);
        }
        for (peer, call, request) in self.parked.take() {
            self.serve(peer, call, request);
        }
    }

    /// The clock of a part does not go back: one that is behind what coordinators before have
    /// written is put there. Otherwise tasks that were delayed would wait for the difference, too.
    fn catch_up(&mut self, written_ms: u64) {
        let behind_ms = written_ms.saturating_sub(self.now_ms());
        if behind_ms <= MOST_BEHIND_MS {
            self.settings.epoch_ms = self.settings.epoch_ms.saturating_add(behind_ms);
        }
    }

    /// Has a task as it was read.
    fn place(
        &mut self,
        id: TaskId,
        task: Box<Task>,
        revision: Revision,
        told: &BTreeSet<(TaskId, Attempt)>,
    ) {
        // Which of its inputs have ended is looked for when all tasks are there.
        self.edges.insert(id, &task.inputs, task.is_waiting(), |_| true);
        self.inbox.place(&task.abroad);
        let State::Running(running) = &task.state else {
            return self.table.insert(id, task, revision);
        };
        let attempt = task.attempt;
        let (_, class) = self.table.class(&task);
        let slot = running.slot;
        let hold = Hold { attempt, class, slot, is_told: true, is_ending: false, progress: None };
        let peer = self.sessions.named(&running.worker);
        if peer.is_none() {
            self.absent.insert(running, id, hold.clone());
        }
        self.table.insert(id, task, revision);
        let Some(peer) = peer else { return };
        let is_told = told.contains(&(id, attempt));
        self.sessions.begin(peer, id, Hold { is_told, ..hold });
        if !is_told {
            self.tell_assigned(peer, id);
        }
    }

    /// Takes tasks as lost whose workers should have come back by now, and their permits.
    pub(super) fn lose_absent(&mut self) {
        if self.absent.until.is_none_or(|until| until > self.now) {
            return;
        }
        let absent = core::mem::take(&mut self.absent);
        for (name, worker) in absent.workers {
            self.lose(&name, &worker, "it did not come back");
        }
        self.release_all_absent();
        self.evaluate_outputs();
    }

    /// Takes tasks as lost that ran on a host which is gone.
    pub(super) fn lose_absent_on(&mut self, host: &str) {
        if let Phase::Recovering(recovery) = &mut self.phase {
            recovery.lost.hosts.insert(host.to_owned());
            return;
        }
        let all = core::mem::take(&mut self.absent.workers);
        let is_there = |(_, worker): &(Name, Worker)| worker.host == host;
        let (there, others): (BTreeMap<_, _>, _) = all.into_iter().partition(is_there);
        self.absent.workers = others;
        for (name, worker) in there {
            self.lose(&name, &worker, "its host is gone");
        }
    }

    /// Takes tasks as lost that ran in a process which has ended.
    pub(super) fn lose_absent_of(&mut self, process: &str) {
        if let Phase::Recovering(recovery) = &mut self.phase {
            recovery.lost.processes.insert(process.to_owned());
            return;
        }
        for (name, worker) in self.absent.take_of(process) {
            self.lose(&name, &worker, "its process has ended");
            self.release_holder(&name);
        }
        self.release_holder(process);
    }

    fn lose(&mut self, name: &str, worker: &Worker, why: &str) {
        let text = format!("worker {name} on {}: {why}", worker.host);
        for (&id, hold) in &worker.running {
            // What is changing is looked at when its commit is acknowledged.
            if self.table.get(id).is_some_and(|entry| !entry.is_changing) {
                self.fail(id, hold.attempt, Fault::new(Cause::Lost, text.clone()), None);
            }
        }
    }
}
