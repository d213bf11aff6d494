//! Beside: sessions that have tasks of several parts.
//!
//! A worker has one set of slots, and a coordinator for each part. It offers its room to one of
//! them at a time, and asks the others to be told when they could use it. So no slot is promised
//! twice, and none stays empty for long while some part has something to do.
//!
//! An offer of no slots is answered when its session was told of all tasks that it has: what it
//! offers elsewhere then is what is left.

use std::sync::Arc;

use crate::message::{Answer, Call, MAX_QUEUES, Peer, Refusal, Request};

use super::Coordinator;
use super::askers::ALL;

impl Coordinator {
    /// Serves a request that only coordinators of one part of several are asked.
    pub(super) fn ask_turn(&mut self, peer: Peer, call: Call, request: Request) {
        match request {
            Request::AwaitReady { queues } => self.await_ready(peer, call, queues),
            // Who serves the coordinator does it.
            _ => self.answer(peer, call, Answer::Done),
        }
    }

    /// Tells a peer when a task of some queues, or of any, is ready that nobody has room for.
    fn await_ready(&mut self, peer: Peer, call: Call, mut queues: Vec<String>) {
        if queues.len() > MAX_QUEUES {
            let reason = format!("{} queues; at most {MAX_QUEUES} are possible", queues.len());
            return self.refuse(peer, call, Refusal::Invalid(reason));
        }
        if queues.is_empty() {
            queues.push(ALL.to_owned());
        }
        // One at a time: the one before was asked by who no longer listens to it.
        if let Some(before) = self.beside.insert(peer, call, queues).filter(|one| *one != call) {
            self.answer(peer, before, Answer::Done);
        }
    }

    /// A session has offered so many slots.
    pub(super) fn answer_offer(&mut self, peer: Peer, call: Call, slots: u32) {
        if self.settings.parts > 1 && slots == 0 && self.sessions.has_untold(peer) {
            self.beside.closing.insert((peer, call));
        } else {
            self.answer(peer, call, Answer::Done);
        }
    }

    /// Tells those who ask that tasks are ready, each of them of one.
    fn tell_ready(&mut self) {
        // Whatever is ready is for one of those who ask for all.
        let queues: Vec<Arc<str>> = if self.beside.queues().any(|name| name == ALL) {
            self.table.open_queues().cloned().collect()
        } else {
            self.beside.queues().map(Arc::from).collect()
        };
        for queue in queues {
            if self.beside.is_empty() {
                break;
            }
            let ready = self.table.ready(&queue);
            let mut told = self.beside.take(&queue, ready);
            told.extend(self.beside.take(ALL, ready.saturating_sub(told.len())));
            for (peer, call) in told {
                self.answer(peer, call, Answer::Done);
            }
        }
    }

    /// Answers what was asked by sessions that have tasks of several parts, as far as it is time.
    pub(super) fn tell_beside(&mut self) {
        if !self.beside.is_empty() {
            self.tell_ready();
        }
        let closing = core::mem::take(&mut self.beside.closing);
        for (peer, call) in closing {
            self.answer_offer(peer, call, 0);
        }
    }
}
