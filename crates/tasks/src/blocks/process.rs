//! The process: the one task that runs the handlers of this process's blocks.
//!
//! It passes in what was posted and what has arrived, a batch at a time, and then writes what they
//! have sent. It waits for nothing else, so a handler is never held up by the store or by a slow
//! peer.

use std::sync::Arc;

use tidings_blocks::block::Posted;
use tidings_blocks::host::Host;
use tidings_blocks::table::Table;
use tidings_blocks::{Node, View};
use tokio::sync::{mpsc, oneshot, watch};

use super::event::Event;
use super::links::Links;
use super::posts::Posts;
use super::registry;
use crate::store::Store;

/// Calls and arrivals that are handled before anything is written.
const BATCH: usize = 256;

/// The wait before a record is read again that the store could not give.
const AGAIN: std::time::Duration = std::time::Duration::from_millis(100);

/// What runs the handlers.
pub(super) struct Process {
    host: Host,
    store: Arc<dyn Store>,
    links: Links,
    told: watch::Sender<View>,
    found: mpsc::Sender<Event>,
    finding: mpsc::Receiver<Event>,
    leaving: Option<oneshot::Sender<()>>,
}

impl Process {
    pub(super) fn new(
        own: Node,
        store: Arc<dyn Store>,
        table: Arc<Table>,
        links: Links,
        told: watch::Sender<View>,
    ) -> Self {
        let (found, finding) = mpsc::channel(BATCH);
        let host = Host::new(own, table);
        Self { host, store, links, told, found, finding, leaving: None }
    }

    /// Runs until this process is lost. What waits for an answer then gets none.
    pub(super) async fn run(
        mut self,
        posts: Arc<Posts>,
        mut calls: mpsc::Receiver<Posted>,
        mut arriving: mpsc::Receiver<Event>,
    ) {
        let (mut posted, mut events) = (Vec::new(), Vec::new());
        loop {
            tokio::select! {
                _ = calls.recv_many(&mut posted, BATCH) => {}
                _ = arriving.recv_many(&mut events, BATCH) => {}
                Some(event) = self.finding.recv() => events.push(event),
            }
            // Before the first calls of those who have just been made.
            for made in posts.made() {
                self.host.take(made);
            }
            for call in posted.drain(..) {
                self.host.take(call);
            }
            for event in events.drain(..) {
                if !self.happen(event) {
                    return;
                }
            }
            self.settle();
        }
    }

    /// Takes what has happened; `false` if that was the end.
    fn happen(&mut self, event: Event) -> bool {
        match event {
            Event::View(view, places) => {
                let before = self.host.view().clone();
                self.host.enter(view);
                self.links.enter(&before, self.host.view(), places);
                self.told.send_if_modified(|told| {
                    let is_later = told.number < self.host.view().number;
                    if is_later {
                        told.clone_from(self.host.view());
                    }
                    is_later
                });
                return !self.host.is_lost();
            }
            Event::Shut => return false,
            Event::Found(id, made) => self.host.found(id, made.as_ref()),
            Event::Came(node, streams) => {
                if !self.host.has_lost(node) {
                    self.links.came(node, *streams);
                }
            }
            Event::Arrived(node, connection, said) => {
                if let Some(envelope) = self.links.arrived(node, connection, *said) {
                    self.host.receive(envelope);
                }
            }
            Event::Written(node, connection) => self.links.written(node, connection),
            Event::Ended(node, connection) => self.links.ended(node, connection),
            Event::Leave(done) => {
                self.host.leave();
                self.leaving = Some(done);
            }
        }
        true
    }

    /// Writes what was sent, and begins to read what is looked for.
    fn settle(&mut self) {
        while let Some(envelope) = self.host.poll_transmit() {
            self.links.send(envelope);
        }
        while let Some(id) = self.host.poll_lookup() {
            let (store, found) = (self.store.clone(), self.found.clone());
            crate::spawn::spawn(async move {
                loop {
                    if let Ok(made) = registry::made(&*store, id).await {
                        let _ = found.send(Event::Found(id, made)).await;
                        return;
                    }
                    if found.is_closed() {
                        return;
                    }
                    tokio::time::sleep(AGAIN).await;
                }
            });
        }
        self.links.pump();
        if self.links.are_settled() {
            if let Some(done) = self.leaving.take() {
                // Whoever wanted it may have given up.
                let _ = done.send(());
            }
        }
    }
}
