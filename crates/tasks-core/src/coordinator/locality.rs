//! Locality: a task goes where most of what it reads lies, if that is cheaper.
//!
//! A node that has room gets the task for which it has the most bytes. If that node is busy, the
//! task waits for it as long as fetching these bytes elsewhere would take, and goes to any other
//! then: so it is never later than twice the better choice, whatever the wait turns out to be, and
//! no guess about the length of tasks is needed (ski rental; delay scheduling, Zaharia et al.,
//! EuroSys 2010).
//!
//! A decision looks at the inputs of the task, at most [`DEPOTS`] depots and [`SESSIONS`] sessions
//! of each, and takes no commit.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::class::Class;
use crate::id::TaskId;
use crate::message::Peer;
use crate::record::Task;

use super::Coordinator;
use super::rooms::Fit;

/// The depots that are looked at for a task: those with the most bytes.
const DEPOTS: usize = 4;

/// The sessions of a depot that are looked at, and those with room for which tasks wait.
const SESSIONS: usize = 16;

/// The tasks that wait for room at one depot: more would wait in vain.
const WAITING: usize = 64;

/// The bytes that a node fetches in a millisecond, as far as placement assumes: 100 MB a second, as
/// over a network of 1 Gbit/s.
const BYTES_A_MS: u64 = 100_000;

/// Fewer bytes than this are no reason to choose a node.
const NEGLIGIBLE_BYTES: u64 = 64 << 10;

/// The shortest wait that is worth it, in milliseconds.
const SHORTEST_WAIT_MS: u64 = 5;

/// Where a task is to go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Nearness {
    /// To this session.
    To(Peer),
    /// Nowhere yet: it waits.
    Later,
    /// To any.
    Anywhere,
}

impl Coordinator {
    /// Where a task is to go that is next.
    pub(super) fn near(&mut self, id: TaskId, task: &Task) -> Nearness {
        if task.inputs.is_empty() || self.outputs.is_empty() {
            return Nearness::Anywhere;
        }
        let at = self.bytes_at(&task.inputs);
        let Some(&(most, depot)) = at.first().filter(|(most, _)| *most >= NEGLIGIBLE_BYTES) else {
            return Nearness::Anywhere;
        };
        let (_, class) = self.table.class(task);
        let room = |depot: u64| self.room_at(depot, &task.queue, &class);
        let with_room = at.iter().find_map(|(bytes, depot)| match room(*depot) {
            (Fit::Now, Some(peer)) => Some((*bytes, peer)),
            _ => None,
        });
        // What has to be fetched more than on the node that has most.
        let more = most - with_room.map_or(0, |(bytes, _)| bytes);
        let wait_ms = more / BYTES_A_MS;
        let may_wait = !self.near.is_spent(id) && self.near.at(depot).len() < WAITING;
        let is_worth_it = wait_ms >= SHORTEST_WAIT_MS && may_wait;
        if is_worth_it && room(depot).0 == Fit::Later {
            self.near.insert(id, depot, self.now + Duration::from_millis(wait_ms));
            return Nearness::Later;
        }
        with_room.map_or(Nearness::Anywhere, |(_, peer)| Nearness::To(peer))
    }

    /// The bytes of inputs in the depots that have most of them, the most first.
    fn bytes_at(&self, inputs: &[TaskId]) -> Vec<(u64, u64)> {
        let mut by_depot: BTreeMap<u64, u64> = BTreeMap::new();
        for output in inputs.iter().filter_map(|input| self.outputs.get(*input)) {
            for depot in output.depots.iter().filter(|depot| self.depots.has(depot.id)) {
                let bytes = by_depot.entry(depot.id).or_default();
                *bytes = bytes.saturating_add(output.bytes);
            }
        }
        let mut all: Vec<(u64, u64)> =
            by_depot.into_iter().map(|(depot, bytes)| (bytes, depot)).collect();
        all.sort_unstable_by(|one, other| other.cmp(one));
        all.truncate(DEPOTS);
        all
    }

    /// Whether a session at a depot could take a task, and which one now.
    fn room_at(&self, depot: u64, queue: &str, class: &Class) -> (Fit, Option<Peer>) {
        let all = self.depots.sessions(depot).take(SESSIONS);
        let fits = all.map(|peer| (self.sessions.fit(peer, queue, class), peer));
        let mut best = (Fit::Never, None);
        for (fit, peer) in fits {
            match fit {
                Fit::Now => return (Fit::Now, Some(peer)),
                Fit::Later => best = (Fit::Later, None),
                Fit::Never => {}
            }
        }
        best
    }

    /// Gives tasks to nodes that they have waited for and that have room now.
    pub(super) fn assign_near(&mut self) {
        if self.near.is_empty() {
            return;
        }
        for peer in self.sessions.roomy(SESSIONS) {
            let depot = self.depots.of(peer);
            while let Some(id) = depot.and_then(|depot| self.near.first(depot)) {
                let entry = self.table.get(id).filter(|entry| !entry.is_changing);
                let Some(task) = entry.and_then(|entry| entry.task.clone()) else {
                    self.near.remove(id);
                    self.table.unpop(id);
                    continue;
                };
                let class: Arc<Class> = self.table.class(&task).1;
                if self.sessions.fit(peer, &task.queue, &class) != Fit::Now {
                    break;
                }
                self.near.remove(id);
                if !self.hold_back(id, &task.inputs) {
                    self.give_to(id, task, Some(peer));
                }
            }
        }
    }

    /// Lets tasks go anywhere that have waited for as long as they may, or for a node that is gone.
    pub(super) fn end_near(&mut self, gone: Option<u64>) {
        let mut ended = self.near.take_ended(self.now);
        for id in gone.map(|depot| self.near.at(depot)).unwrap_or_default() {
            self.near.remove(id);
            ended.push(id);
        }
        for id in ended {
            self.table.unpop(id);
        }
    }
}
