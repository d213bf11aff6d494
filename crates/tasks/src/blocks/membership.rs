//! Membership: this process in the store, and the views as they follow each other.
//!
//! All processes watch who is present and what the view says. If the two differ somebody replaces
//! the view: the first of those that are present at once, each other one a moment later, if it is
//! still needed. The commit names the view as it was read, so one of them does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tidings_blocks::record::{self, Present};
use tidings_blocks::{Node, View};
use tidings_tasks_core::transaction::{CommitError, Event as Change, Record, Revision, Session};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::error::BlocksError;
use super::event::Event;
use super::settings::Settings;
use crate::net::endpoint::Endpoint;
use crate::placement::{self, Lookout};
use crate::store::{SessionError, Store, Watch};

/// How often a session is kept before it would end.
const RENEWALS: u32 = 5;

/// The wait of the second to replace a view; the third waits twice as long.
const TURN: Duration = Duration::from_millis(40);

/// The longest wait.
const LAST_TURN: Duration = Duration::from_millis(400);

/// The wait before a store is asked again that could not be reached.
const AGAIN: Duration = Duration::from_millis(100);

/// Processes that are read at a time.
const PAGE: usize = 1_000;

/// What says who takes part.
pub(super) struct Membership {
    store: Arc<dyn Store>,
    session: Session,
    ttl: Duration,
    lookout: Option<Lookout>,
    suspicions: mpsc::Receiver<Node>,
    picture: Picture,
    /// The view that this process has replaced, or could not since another has.
    replaced: Option<Revision>,
}

/// What the store has, as far as it was seen.
#[derive(Default)]
struct Picture {
    present: BTreeMap<Node, Present>,
    view: Option<Record>,
    /// Those who are believed to have ended.
    gone: BTreeSet<Node>,
}

impl Membership {
    /// Says that this process would take part.
    pub(super) async fn come(
        store: Arc<dyn Store>,
        settings: &Settings,
        reached: &Endpoint,
        suspicions: mpsc::Receiver<Node>,
    ) -> Result<Self, BlocksError> {
        let ttl = settings.session_ttl;
        let session = store.open_session(ttl).await?;
        let present = Present { host: settings.host.clone(), address: reached.to_string() };
        let come = record::come(Node(session.0), &present, session);
        store.commit(come).await?;
        let lookout =
            settings.board.as_ref().map(|board| Lookout::new(board.clone(), &settings.host));
        let picture = Picture::default();
        Ok(Self { store, session, ttl, lookout, suspicions, picture, replaced: None })
    }

    /// This process.
    pub(super) fn node(&self) -> Node {
        Node(self.session.0)
    }

    /// Keeps the session and tells each view, until this process is lost.
    pub(super) async fn run(mut self, events: mpsc::Sender<Event>) {
        let (store, session, ttl) = (self.store.clone(), self.session, self.ttl);
        tokio::select! {
            () = keep(&*store, session, ttl) => {}
            () = self.follow(&events) => {}
        }
        // Whoever waits for the process to hear it has ended too.
        let _ = events.send(Event::Shut).await;
    }

    async fn follow(&mut self, events: &mpsc::Sender<Event>) {
        loop {
            match self.look(events).await {
                // It is lost, or nobody listens any more.
                Ok(()) => return,
                // A watch that ends is no knowledge: look again.
                Err(_) => tokio::time::sleep(AGAIN).await,
            }
        }
    }

    /// Reads what there is, and follows its changes.
    async fn look(&mut self, events: &mpsc::Sender<Event>) -> Result<(), BlocksError> {
        let mut watch = self.read().await?;
        loop {
            if !self.tell(events).await {
                return Ok(());
            }
            let turn = self.turn();
            tokio::select! {
                changes = watch.next() => {
                    for change in changes?.events {
                        self.picture.take(change);
                    }
                }
                () = until(turn) => self.replace().await?,
                Some(node) = self.suspicions.recv() => drop(self.picture.gone.insert(node)),
                () = placement::due(self.lookout.as_ref()) => self.look_at_board().await,
            }
        }
    }

    /// What the store has now, and the changes after.
    async fn read(&mut self) -> Result<Box<dyn Watch>, BlocksError> {
        let found = self.store.get(&[record::view()]).await?;
        let (revision, view) = (found.revision, found.records.into_iter().next().flatten());
        let mut picture = Picture { view, ..Picture::default() };
        let (mut from, end) = (record::all_present(), record::all_present().after_prefix());
        loop {
            let page = self.store.scan(&from, end.as_ref(), PAGE).await?;
            for found in page.records {
                picture.take(Change {
                    key: found.key,
                    value: Some(found.value),
                    revision: found.revision,
                });
            }
            match page.next {
                Some(next) => from = next,
                None => break,
            }
        }
        picture.gone = std::mem::take(&mut self.picture.gone);
        self.picture = picture;
        Ok(self.store.watch(record::PREFIX, revision).await?)
    }

    /// Tells the process the view, with where its nodes are. `false` once it is in none.
    async fn tell(&self, events: &mpsc::Sender<Event>) -> bool {
        let view = self.picture.view();
        if view.number == 0 {
            return true;
        }
        let at = |node: &Node| {
            let present = self.picture.present.get(node)?;
            Some((*node, present.address.parse().ok()?))
        };
        let places = view.nodes.iter().filter_map(at).collect();
        let was_lost = view.past.iter().any(|past| past.nodes.contains(&self.node()))
            && !view.has(self.node());
        events.send(Event::View(view, places)).await.is_ok() && !was_lost
    }

    /// When this process replaces the view, if it is to be replaced.
    fn turn(&self) -> Option<Instant> {
        let wanted = self.picture.wanted();
        if wanted.iter().eq(&self.picture.view().nodes) || self.replaced == Some(self.seen()) {
            return None;
        }
        let place = wanted.iter().position(|node| *node == self.node()).unwrap_or(wanted.len());
        Some(Instant::now() + (TURN * place as u32).min(LAST_TURN))
    }

    async fn replace(&mut self) -> Result<(), BlocksError> {
        let (transaction, _) = record::change(self.picture.view.as_ref(), self.picture.wanted())?;
        match self.store.commit(transaction).await {
            // This view, or that of somebody else, comes by the watch.
            Ok(_) | Err(CommitError::Conflict { .. }) => {
                self.replaced = Some(self.seen());
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The revision of the view that was seen last; 0 before the first.
    fn seen(&self) -> Revision {
        self.picture.view.as_ref().map_or(Revision(0), |record| record.revision)
    }

    async fn look_at_board(&mut self) {
        let Some(lookout) = &mut self.lookout else { return };
        let path = lookout.begin(0);
        let none = BTreeSet::new();
        let looking = crate::spawn::spawn_blocking(move || placement::look(&path, &none));
        let Ok(look) = looking.await else { return };
        let lost = lookout.take(look).lost;
        let of_host =
            |(node, present): (&Node, &Present)| lost.contains(&present.host).then_some(*node);
        let gone: Vec<Node> = self.picture.present.iter().filter_map(of_host).collect();
        self.picture.gone.extend(gone);
    }
}

impl Picture {
    fn take(&mut self, change: Change) {
        if change.key == record::view() {
            let is_later = |seen: &Record| seen.revision >= change.revision;
            if !self.view.as_ref().is_some_and(is_later) {
                self.view = change.value.map(|value| Record {
                    key: change.key,
                    value,
                    revision: change.revision,
                });
            }
        } else if let Some(node) = record::present_of(&change.key) {
            let value = change.value.as_deref().and_then(tidings_blocks::envelope::decode);
            if let Some(present) = value {
                self.present.insert(node, present);
            } else {
                self.present.remove(&node);
                self.gone.remove(&node);
            }
        }
    }

    /// The view; one that cannot be read is as none, and is not replaced.
    fn view(&self) -> View {
        self.view.as_ref().and_then(|record| record::read(record).ok()).unwrap_or_default()
    }

    /// Those who are to take part.
    fn wanted(&self) -> BTreeSet<Node> {
        self.present.keys().copied().filter(|node| !self.gone.contains(node)).collect()
    }
}

/// Keeps a session; returns when it has ended all the same.
async fn keep(store: &dyn Store, session: Session, ttl: Duration) {
    loop {
        tokio::time::sleep(ttl / RENEWALS).await;
        // A store that cannot be reached ends it in time, or can be reached again.
        if let Err(SessionError::Ended(_)) = store.keep_session(session).await {
            return;
        }
    }
}

/// Ends the session of a process, and with it its presence.
pub(super) async fn leave(store: &dyn Store, node: Node) -> Result<(), BlocksError> {
    Ok(store.close_session(Session(node.0)).await?)
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => core::future::pending().await,
    }
}
