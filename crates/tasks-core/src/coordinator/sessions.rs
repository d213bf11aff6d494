//! Sessions: which workers and clients are there, and which tasks each of them does.
//!
//! A session lasts while something is heard of it. Time is the driver's: a coordinator that was
//! itself stopped for a while gives all sessions a new term when it goes on, since what they said
//! meanwhile has not been read yet.
//!
//! A session *has* a task from the moment that an assignment is staged until the commit by which
//! the try ends: that is the one place where it is known whose a running task is. What the store
//! says of a task that runs, and no session has, is not to be relied on: its worker is gone, or has
//! never heard of it.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tidings_primitives::Instant;

use crate::class::{Class, ClassId, Classes};
use crate::hosts::Hosts;
use crate::id::{Attempt, TaskId};
use crate::message::Peer;
use crate::resources::{Amount, Used};
use crate::view::{Progress, SessionView};

use super::apart::Apart;
use super::phi::{Gaps, Patience};
use super::rooms::{Fit, Fits, Rooms};
use super::session::Session;
use super::slots::{Hold, Slots};

/// All sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    by_peer: BTreeMap<Peer, Session>,
    by_name: BTreeMap<Arc<str>, Peer>,
    /// Those with a slot that is free, whatever they have of other resources.
    roomy: BTreeSet<Peer>,
    rooms: Rooms,
    apart: Apart,
    hosts: Option<Arc<Hosts>>,
    ends: BTreeSet<(Instant, Peer)>,
    last_turn: u64,
}

impl Sessions {
    /// Opens a session. There is no other of this peer or name.
    pub(super) fn open(&mut self, peer: Peer, name: &str, host: &str, now: Instant, ttl: Duration) {
        let until = now + ttl;
        let name: Arc<str> = name.into();
        self.by_name.insert(name.clone(), peer);
        self.ends.insert((until, peer));
        let session = Session {
            name,
            host: host.into(),
            queues: Vec::new(),
            slots: 0,
            ahead: 0,
            resources: Vec::new(),
            full: None,
            running: BTreeMap::new(),
            ending: 0,
            used: Used::default(),
            taken: Slots::default(),
            apart: self.apart.on(host).to_vec(),
            rank: self.hosts.as_ref().map(|hosts| hosts.rank(host)).unwrap_or_default(),
            hosts: self.hosts.clone(),
            turn: 0,
            until,
            heard: now,
            gaps: Gaps::default(),
            silence: ttl,
        };
        self.by_peer.insert(peer, session);
    }

    /// Ends a session.
    pub(super) fn close(&mut self, peer: Peer) -> Option<Session> {
        let session = self.by_peer.remove(&peer)?;
        self.by_name.remove(&session.name);
        self.ends.remove(&(session.until, peer));
        self.roomy.remove(&peer);
        self.rooms.remove(peer, &session);
        let held: Vec<Arc<Class>> = session.running.values().filter_map(Apart::of).collect();
        for class in held {
            self.apart.replace(&session.host, Some(class), None);
            self.show_apart(&session.host);
        }
        Some(session)
    }

    pub(super) fn get(&self, peer: Peer) -> Option<&Session> {
        self.by_peer.get(&peer)
    }

    pub(super) fn named(&self, name: &str) -> Option<Peer> {
        self.by_name.get(name).copied()
    }

    /// The session that has this try of a task, if the one of that name does.
    pub(super) fn having(&self, name: &str, id: TaskId, attempt: Attempt) -> Option<Peer> {
        let peer = self.named(name)?;
        let hold = self.get(peer)?.running.get(&id)?;
        (hold.attempt == attempt).then_some(peer)
    }

    /// The sessions of a host.
    pub(super) fn on_host(&self, host: &str) -> Vec<Peer> {
        let all = self.by_peer.iter();
        all.filter(|(_, session)| &*session.host == host).map(|(&peer, _)| peer).collect()
    }

    /// Something is heard of a session: it lasts on.
    pub(super) fn hear(&mut self, peer: Peer, now: Instant) {
        let Some(session) = self.by_peer.get_mut(&peer) else { return };
        session.heard = now;
        let until = now + session.silence;
        self.extend(peer, until);
    }

    /// A heartbeat of a session has come: what follows for how long it may be silent.
    pub(super) fn beat(&mut self, peer: Peer, now: Instant, patience: Patience) {
        let Some(session) = self.by_peer.get_mut(&peer) else { return };
        session.silence = patience.after(&mut session.gaps, now);
        self.hear(peer, now);
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.by_peer.len()
    }

    /// The first sessions, by name.
    pub(super) fn views(&self, now: Instant, limit: usize) -> Vec<SessionView> {
        let named = self.by_name.values().take(limit);
        let sessions = named.filter_map(|peer| self.by_peer.get(peer));
        sessions.map(|session| session.view(now)).collect()
    }

    /// The tasks that sessions have.
    pub(super) fn running(&self) -> impl Iterator<Item = TaskId> {
        self.by_peer.values().flat_map(|session| session.running.keys().copied())
    }

    /// Lets a session last until then.
    pub(super) fn extend(&mut self, peer: Peer, until: Instant) {
        let Some(session) = self.by_peer.get_mut(&peer) else { return };
        self.ends.remove(&(session.until, peer));
        session.until = until;
        self.ends.insert((until, peer));
    }

    /// Lets a session end then, if that is earlier.
    pub(super) fn shorten(&mut self, peer: Peer, until: Instant) {
        if self.by_peer.get(&peer).is_some_and(|session| until < session.until) {
            self.extend(peer, until);
        }
    }

    /// Gives each session at least this time from now on.
    pub(super) fn renew_all(&mut self, now: Instant, ttl: Duration) {
        while let Some(&(until, peer)) = self.ends.first() {
            if until >= now + ttl {
                break;
            }
            self.extend(peer, now + ttl);
        }
        for session in self.by_peer.values_mut() {
            session.gaps.break_off();
        }
    }

    /// When the next session ends unless something is heard of it.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.ends.first().map(|&(until, _)| until)
    }

    /// The sessions that have ended by now.
    pub(super) fn ended(&self, now: Instant) -> Vec<Peer> {
        self.ends.iter().take_while(|(until, _)| *until <= now).map(|&(_, peer)| peer).collect()
    }

    /// What a session takes from now on.
    pub(super) fn offer(
        &mut self,
        peer: Peer,
        queues: Vec<Arc<str>>,
        (slots, ahead): (u32, u32),
        resources: Vec<(String, Amount)>,
        full: Option<String>,
    ) {
        self.change(peer, |session| {
            session.full = full;
            (session.queues, session.resources) = (queues, resources);
            (session.slots, session.ahead) = (slots, ahead);
        });
    }

    /// A session has a task from now on.
    pub(super) fn begin(&mut self, peer: Peer, id: TaskId, hold: Hold) {
        let (mut before, after) = (None, Apart::of(&hold));
        self.change(peer, |session| {
            before = session.release(id);
            if hold.is_ending {
                session.ending += 1;
            } else {
                session.used.add(&hold.class.need);
                session.taken.set(hold.slot, true);
            }
            session.running.insert(id, hold);
        });
        self.keep_apart(peer, before.as_ref().and_then(Apart::of), after);
    }

    /// A try that a session has has come so far. Returns whether it has it.
    pub(super) fn set_progress(
        &mut self,
        peer: Peer,
        (id, attempt): (TaskId, Attempt),
        progress: Progress,
    ) -> bool {
        let session = self.by_peer.get_mut(&peer);
        let hold = session.and_then(|session| session.running.get_mut(&id));
        let Some(hold) = hold.filter(|hold| hold.attempt == attempt) else { return false };
        hold.progress = Some(Box::new(progress));
        true
    }

    /// Whether the end of a task that a session has is on its way.
    pub(super) fn set_ending(&mut self, peer: Peer, id: TaskId, is_ending: bool) {
        let hold = self.get(peer).and_then(|session| session.running.get(&id)).cloned();
        if let Some(hold) = hold {
            self.begin(peer, id, Hold { is_ending, ..hold });
        }
    }

    /// The worker was told of a task that its session has.
    pub(super) fn set_told(&mut self, peer: Peer, id: TaskId) {
        let session = self.by_peer.get_mut(&peer);
        if let Some(hold) = session.and_then(|session| session.running.get_mut(&id)) {
            hold.is_told = true;
        }
    }

    /// Whether a session has tasks of which its worker was not told yet.
    pub(super) fn has_untold(&self, peer: Peer) -> bool {
        let session = self.by_peer.get(&peer);
        session.is_some_and(|session| session.running.values().any(|hold| !hold.is_told))
    }

    /// A session no longer has a task.
    pub(super) fn end(&mut self, peer: Peer, id: TaskId) {
        let mut before = None;
        self.change(peer, |session| before = session.release(id));
        self.keep_apart(peer, before.as_ref().and_then(Apart::of), None);
    }

    /// A session has lost and got a task that stays apart from others of its host.
    fn keep_apart(&mut self, peer: Peer, before: Option<Arc<Class>>, after: Option<Arc<Class>>) {
        if before.is_none() && after.is_none() {
            return;
        }
        if let Some(host) = self.get(peer).map(|session| session.host.clone()) {
            self.apart.replace(&host, before, after);
            self.show_apart(&host);
        }
    }

    /// The sessions of a host have what stays apart there as it is now.
    fn show_apart(&mut self, host: &str) {
        for peer in self.on_host(host) {
            let apart = self.apart.on(host).to_vec();
            self.change(peer, |session| session.apart = apart);
        }
    }

    /// Forgets which tasks each session has, and returns those of which their workers know.
    pub(super) fn forget_running(&mut self) -> BTreeSet<(TaskId, Attempt)> {
        self.apart.clear();
        let mut told = BTreeSet::new();
        let peers: Vec<Peer> = self.by_peer.keys().copied().collect();
        for peer in peers {
            self.change(peer, |session| {
                (session.ending, session.used) = (0, Used::default());
                session.taken = Slots::default();
                session.apart.clear();
                let running = core::mem::take(&mut session.running).into_iter();
                let known = running.filter(|(_, hold)| hold.is_told);
                told.extend(known.map(|(id, hold)| (id, hold.attempt)));
            });
        }
        told
    }

    /// Hosts as the board shows them from now on.
    pub(super) fn set_hosts(&mut self, hosts: Option<Arc<Hosts>>) {
        for session in self.by_peer.values_mut() {
            session.rank =
                hosts.as_ref().map(|hosts| hosts.rank(&session.host)).unwrap_or_default();
            session.hosts.clone_from(&hosts);
        }
        self.hosts = hosts;
        self.rooms.clear();
    }

    /// The sessions that take tasks of a queue.
    pub(super) fn takers(&self, queue: &str) -> impl Iterator<Item = &Session> {
        self.by_peer.values().filter(move |session| session.takes_of(queue))
    }

    /// The hosts of sessions that could take tasks of a queue and class, were there space, and what
    /// they say of it.
    pub(super) fn full(
        &self,
        queue: &str,
        class: &Class,
    ) -> impl Iterator<Item = (String, String)> {
        self.by_peer.values().filter_map(move |session| {
            let why = session.full.as_ref()?;
            let is_one = session.is_of(queue) && session.suits(class);
            is_one.then(|| (session.host.to_string(), why.clone()))
        })
    }

    /// Whether a filter accepts the host of a session.
    pub(super) fn accepts(&self, session: &Session, filter: &str) -> bool {
        let hosts = self.hosts.as_ref();
        filter.is_empty() || hosts.is_some_and(|hosts| hosts.accepts(filter, &session.host))
    }

    /// Whether hosts are known from a board.
    pub(super) fn has_board(&self) -> bool {
        self.hosts.is_some()
    }

    /// Whether some session has a free slot.
    pub(super) fn any_room(&self) -> bool {
        !self.roomy.is_empty()
    }

    /// Whether some session could take a task of this queue and class now.
    pub(super) fn can_take(&mut self, queue: &str, id: ClassId, class: &Arc<Class>) -> bool {
        self.rooms.learn(id, class, self.by_peer.iter());
        self.rooms.best(id, queue).is_some()
    }

    /// Whether some session could take a task of this queue and class, were it idle.
    pub(super) fn is_able(&mut self, queue: &str, id: ClassId, class: &Arc<Class>) -> bool {
        self.rooms.learn(id, class, self.by_peer.iter());
        self.rooms.is_able(id, queue)
    }

    /// The session that is to get a task of this queue and class: of those that can take it the
    /// best and least loaded, and among equals the one whose turn it is.
    pub(super) fn choose(&mut self, queue: &str, id: ClassId, class: &Arc<Class>) -> Option<Peer> {
        self.rooms.learn(id, class, self.by_peer.iter());
        let peer = self.rooms.best(id, queue)?;
        Some(self.take_turn(peer))
    }

    /// A session gets a task: others come before it.
    pub(super) fn take_turn(&mut self, peer: Peer) -> Peer {
        self.last_turn += 1;
        let turn = self.last_turn;
        self.change(peer, |session| session.turn = turn);
        peer
    }

    /// How a session fits a task of a queue and class, on a host from which it does not stay away.
    pub(super) fn fit(&self, peer: Peer, queue: &str, class: &Class) -> Fit {
        let session = self.by_peer.get(&peer);
        let session = session.filter(|one| one.takes_of(queue) && !one.is_avoided(class));
        session.map_or(Fit::Never, |session| session.fit(class))
    }

    /// Some of the sessions with a free slot.
    pub(super) fn roomy(&self, most: usize) -> Vec<Peer> {
        self.roomy.iter().take(most).copied().collect()
    }

    /// Forgets what is known of classes that are no more.
    pub(super) fn keep_classes(&mut self, known: &Classes) {
        if self.rooms.len() > known.len() {
            self.rooms.retain(|id| known.get(id).is_some());
        }
    }

    /// Changes a session, and with it which tasks it could take.
    fn change(&mut self, peer: Peer, change: impl FnOnce(&mut Session)) {
        let Some(session) = self.by_peer.get_mut(&peer) else { return };
        self.rooms.remove(peer, session);
        change(session);
        self.rooms.insert(peer, session);
        if session.has_room() {
            self.roomy.insert(peer);
        } else {
            self.roomy.remove(&peer);
        }
    }
}
