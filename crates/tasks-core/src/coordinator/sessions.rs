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

use core::ops::Bound::{Excluded, Unbounded};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tidings_primitives::Instant;

use crate::id::{Attempt, TaskId};
use crate::message::Peer;

/// A try of a task that a session has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hold {
    pub(super) attempt: Attempt,
    /// Whether the worker was told, or said itself that it has it.
    pub(super) is_told: bool,
    /// Whether the commit by which it ends is on its way: another task may take the slot.
    pub(super) is_ending: bool,
}

/// A worker or client.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) name: Arc<str>,
    pub(super) host: Arc<str>,
    /// The queues it takes tasks of; all, if there is none.
    queues: Vec<Arc<str>>,
    slots: u32,
    /// The tasks it does.
    pub(super) running: BTreeMap<TaskId, Hold>,
    /// How many of them are ending.
    ending: usize,
    until: Instant,
}

impl Session {
    fn has_room(&self) -> bool {
        self.running.len() - self.ending < self.slots as usize
    }

    fn takes(&self, queue: &str) -> bool {
        self.queues.is_empty() || self.queues.iter().any(|own| **own == *queue)
    }
}

/// All sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    by_peer: BTreeMap<Peer, Session>,
    by_name: BTreeMap<Arc<str>, Peer>,
    roomy: Roomy,
    ends: BTreeSet<(Instant, Peer)>,
    /// The session that got the last task: the search for the next one begins behind it.
    last: Option<Peer>,
}

/// Sessions that could take one more task.
#[derive(Debug, Default)]
struct Roomy {
    /// Those that take tasks of all queues.
    of_all: BTreeSet<Peer>,
    by_queue: BTreeMap<Arc<str>, BTreeSet<Peer>>,
}

impl Roomy {
    fn insert(&mut self, peer: Peer, queues: &[Arc<str>]) {
        if queues.is_empty() {
            self.of_all.insert(peer);
        }
        for queue in queues {
            self.by_queue.entry(queue.clone()).or_default().insert(peer);
        }
    }

    fn remove(&mut self, peer: Peer, queues: &[Arc<str>]) {
        if queues.is_empty() {
            self.of_all.remove(&peer);
        }
        for queue in queues {
            let Some(peers) = self.by_queue.get_mut(queue) else { continue };
            peers.remove(&peer);
            if peers.is_empty() {
                self.by_queue.remove(queue);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.of_all.is_empty() && self.by_queue.is_empty()
    }

    /// Those that take a queue, beginning behind one of them.
    fn turns(&self, queue: &str, last: Option<Peer>) -> impl Iterator<Item = Peer> {
        let sets = [Some(&self.of_all), self.by_queue.get(queue)];
        let after = last.map_or(Unbounded, Excluded);
        let behind = sets.into_iter().flatten().flat_map(move |set| set.range((after, Unbounded)));
        let before = sets.into_iter().flatten().flat_map(move |set| {
            let to = last.unwrap_or(Peer(0));
            set.range(..=to).filter(move |_| last.is_some())
        });
        behind.chain(before).copied()
    }
}

impl Sessions {
    /// Opens a session. There is no other of this peer or name.
    pub(super) fn open(&mut self, peer: Peer, name: &str, host: &str, until: Instant) {
        let name: Arc<str> = name.into();
        self.by_name.insert(name.clone(), peer);
        self.ends.insert((until, peer));
        let (queues, running) = (Vec::new(), BTreeMap::new());
        let session =
            Session { name, host: host.into(), queues, slots: 0, running, ending: 0, until };
        self.by_peer.insert(peer, session);
    }

    /// Ends a session.
    pub(super) fn close(&mut self, peer: Peer) -> Option<Session> {
        let session = self.by_peer.remove(&peer)?;
        self.by_name.remove(&session.name);
        self.ends.remove(&(session.until, peer));
        self.roomy.remove(peer, &session.queues);
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
    pub(super) fn offer(&mut self, peer: Peer, queues: Vec<Arc<str>>, slots: u32) {
        let Some(session) = self.by_peer.get_mut(&peer) else { return };
        self.roomy.remove(peer, &session.queues);
        (session.queues, session.slots) = (queues, slots);
        self.update_room(peer);
    }

    /// A session has a task from now on.
    pub(super) fn begin(&mut self, peer: Peer, id: TaskId, hold: Hold) {
        if let Some(session) = self.by_peer.get_mut(&peer) {
            let before = session.running.insert(id, hold);
            session.ending += usize::from(hold.is_ending);
            session.ending -= usize::from(before.is_some_and(|before| before.is_ending));
        }
        self.update_room(peer);
    }

    /// Whether the end of a task that a session has is on its way.
    pub(super) fn set_ending(&mut self, peer: Peer, id: TaskId, is_ending: bool) {
        let hold = self.get(peer).and_then(|session| session.running.get(&id)).copied();
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

    /// A session no longer has a task.
    pub(super) fn end(&mut self, peer: Peer, id: TaskId) {
        if let Some(session) = self.by_peer.get_mut(&peer) {
            let before = session.running.remove(&id);
            session.ending -= usize::from(before.is_some_and(|before| before.is_ending));
        }
        self.update_room(peer);
    }

    /// Forgets which tasks each session has, and returns those of which their workers know.
    pub(super) fn forget_running(&mut self) -> BTreeSet<(TaskId, Attempt)> {
        let mut told = BTreeSet::new();
        let peers: Vec<Peer> = self.by_peer.keys().copied().collect();
        for peer in peers {
            if let Some(session) = self.by_peer.get_mut(&peer) {
                session.ending = 0;
                let running = core::mem::take(&mut session.running).into_iter();
                let known = running.filter(|(_, hold)| hold.is_told);
                told.extend(known.map(|(id, hold)| (id, hold.attempt)));
            }
            self.update_room(peer);
        }
        told
    }

    /// Whether some session could take a task.
    pub(super) fn any_room(&self) -> bool {
        !self.roomy.is_empty()
    }

    /// Whether some session could take a task of this queue.
    pub(super) fn has_room_for(&self, queue: &str) -> bool {
        !self.roomy.of_all.is_empty() || self.roomy.by_queue.contains_key(queue)
    }

    /// A session that can take a task of this queue, in turn; one on a host that `avoid` does not
    /// name if there is one with room. `None` too if all that have room are to be avoided and a
    /// session on another host, now busy, takes the queue: the task waits for that one.
    pub(super) fn choose(&mut self, queue: &str, avoid: &[String]) -> Option<Peer> {
        let is_avoided = |session: &Session| avoid.iter().any(|host| **host == *session.host);
        let mut able = self.roomy.turns(queue, self.last).peekable();
        let second = able.peek().copied()?;
        let first = able.find(|peer| self.get(*peer).is_some_and(|one| !is_avoided(one)));
        if first.is_none() {
            let mut others = self.by_peer.values().filter(|one| one.slots > 0 && one.takes(queue));
            if others.any(|one| !is_avoided(one)) {
                return None;
            }
        }
        self.last = first.or(Some(second));
        self.last
    }

    fn update_room(&mut self, peer: Peer) {
        let Some(session) = self.by_peer.get(&peer) else { return };
        if session.has_room() {
            self.roomy.insert(peer, &session.queues);
        } else {
            self.roomy.remove(peer, &session.queues);
        }
    }
}
