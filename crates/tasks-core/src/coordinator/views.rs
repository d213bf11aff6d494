//! Views: a coordinator shows what it has in memory, and reads single tasks and pages of them from
//! the store.
//!
//! A page looks at a bounded number of records, whatever of them is wanted. Two ranges are listed
//! together, tasks that have ended and those that have not, by reading a page of each and showing
//! them up to where the shorter one ends.

use std::collections::BTreeMap;

use crate::id::TaskId;
use crate::keys;
use crate::ledger::Page;
use crate::message::{Answer, Call, Peer, Refusal};
use crate::record::{Finished, Task, decode};
use crate::transaction::{Key, Record};
use crate::view::{
    MAX_LISTED, MAX_LISTED_BYTES, MAX_RECENT, MAX_SHOWN, Overview, SemaphoreView, Shown, TryView,
    Which,
};

use super::Coordinator;
use super::partial::Listing;
use super::reading::{Purpose, Read};

impl Coordinator {
    pub(super) fn overview(&mut self, peer: Peer, call: Call) {
        let sessions = self.sessions.views(self.now, MAX_SHOWN);
        let able = &mut self.sessions;
        let mut queues =
            self.table.views(MAX_SHOWN, |queue, id, class| able.is_able(queue, id, class));
        for queue in &mut queues {
            let ended = self.recent.of(&queue.name);
            (queue.done, queue.failed) = (ended.done, ended.failed);
        }
        let semaphores = self.permits.all().take(MAX_SHOWN);
        let semaphores = semaphores.map(|(name, semaphore)| SemaphoreView {
            name: name.to_owned(),
            permits: semaphore.permits,
            held: semaphore.held.iter().map(|grant| grant.permits).sum(),
            waiting: semaphore
                .waiting
                .iter()
                .fold(0, |sum: u32, grant| sum.saturating_add(grant.permits)),
        });
        let overview = Overview {
            queues,
            sessions,
            semaphores: semaphores.collect(),
            counters: self.counters,
            tasks: self.table.len() as u64,
            queues_total: self.table.queues() as u64,
            sessions_total: self.sessions.len() as u64,
            board: self.sessions.has_board(),
            semaphores_total: self.permits.all().count() as u64,
            failures: self.recent.failures(),
        };
        self.answer(peer, call, Answer::Overview(Box::new(overview)));
    }

    pub(super) fn show_recent(&mut self, peer: Peer, call: Call, after: u64) {
        let now_ms = self.now_ms();
        let running = self.sessions.running().filter_map(|id| {
            let task = self.table.get(id)?.task.as_deref()?;
            TryView::running(id, task, now_ms)
        });
        let running = running.take(MAX_RECENT).collect();
        let answer = Answer::Recent(self.recent.after(after), running);
        self.answer(peer, call, answer);
    }

    pub(super) fn show(&mut self, peer: Peer, call: Call, id: TaskId) {
        let part = self.settings.part;
        let keys = vec![keys::task(part, id), keys::finished(part, id)];
        self.want(keys, Purpose::Show(peer, call));
    }

    pub(super) fn shown(&mut self, (peer, call): (Peer, Call), record: Option<&Record>) {
        match record.map(|record| self.read_shown(record)) {
            None => self.refuse(peer, call, Refusal::NoTask),
            Some(Ok(shown)) => self.answer(peer, call, Answer::Shown(Box::new(shown))),
            Some(Err(reason)) => self.refuse(peer, call, Refusal::Invalid(reason)),
        }
    }

    pub(super) fn list(
        &mut self,
        asked: (Peer, Call),
        (queue, which): (Option<String>, Which),
        from: Option<TaskId>,
        limit: u32,
    ) {
        let limit = limit.clamp(1, MAX_LISTED) as usize;
        let listing = Listing { asked, queue, which, from, limit, live: None };
        let part = self.settings.part;
        if which.has_live() {
            self.list_page(listing, keys::tasks(part), |id| keys::task(part, id));
        } else {
            self.list_page(listing, keys::all_finished(part), |id| keys::finished(part, id));
        }
    }

    fn list_page(&mut self, listing: Listing, prefix: Key, key: impl Fn(TaskId) -> Key) {
        let end = prefix.after_prefix();
        let (from, limit) = (listing.from.map_or(prefix, key), listing.limit);
        let purpose = Purpose::List(Box::new(listing));
        self.wanted.push_back((Read::Scan { from, end, limit }, purpose));
    }

    /// A page was read: the other one is next, or all that was wanted is here.
    pub(super) fn listed(&mut self, mut listing: Listing, page: Page) {
        let part = self.settings.part;
        let mut pages = match listing.live.take() {
            Some(live) => vec![live, page],
            None if listing.which == Which::All => {
                listing.live = Some(page);
                let key = |id| keys::finished(part, id);
                return self.list_page(listing, keys::all_finished(part), key);
            }
            None => vec![page],
        };
        let ends = pages.iter().filter_map(|page| page.next.as_ref().and_then(keys::id_of));
        let end = ends.min();
        let records = pages.iter_mut().flat_map(|page| core::mem::take(&mut page.records));
        let with_id = |record: Record| Some((keys::id_of(&record.key)?, record));
        // What was read later is so of a task that has ended in between.
        let mut records: BTreeMap<TaskId, Record> = records.filter_map(with_id).collect();
        records.retain(|id, _| end.is_none_or(|end| *id < end));
        let (tasks, next) = self.page(&listing, records);
        let (peer, call) = listing.asked;
        self.answer(peer, call, Answer::Listed(tasks, next.or(end)));
    }

    /// What is wanted of these records, and with which the next page begins if they are too long
    /// for one.
    fn page(
        &mut self,
        listing: &Listing,
        records: BTreeMap<TaskId, Record>,
    ) -> (Vec<(TaskId, Shown)>, Option<TaskId>) {
        let (mut tasks, mut bytes) = (Vec::new(), 0);
        for (id, record) in records {
            if bytes > MAX_LISTED_BYTES {
                return (tasks, Some(id));
            }
            let Ok(shown) = self.read_shown(&record) else {
                continue; // whoever asks for it by its id is told why
            };
            let is_of_queue = |queue: &String| shown.task().queue == *queue;
            if listing.queue.as_ref().is_none_or(is_of_queue) && listing.which.has(&shown) {
                bytes += record.value.len();
                tasks.push((id, shown));
            }
        }
        (tasks, None)
    }

    fn read_shown(&self, record: &Record) -> Result<Shown, String> {
        let finished = keys::all_finished(self.settings.part);
        let shown = if record.key.as_bytes().starts_with(finished.as_bytes()) {
            decode::<Finished>(record).map(Shown::Finished)
        } else {
            decode::<Task>(record).map(Shown::Live)
        };
        shown.map_err(|error| error.to_string())
    }
}
