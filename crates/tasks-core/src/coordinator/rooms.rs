//! Rooms: which sessions could take one more task of a class, the best of them first.
//!
//! For each class that is asked for there are the sessions that fit it, by queue. They are kept up
//! as sessions get and end tasks, so no step looks at all sessions. The price is some 50 bytes for
//! each session with room and each class that fits it.
//!
//! A class that stays away from some hosts has those apart: they are chosen only if no session
//! elsewhere could take such a task, now or later.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::class::{Class, ClassId};
use crate::hosts::Condition;
use crate::message::Peer;

/// How good a choice a session is, among those with room: the smallest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Standing {
    pub(super) condition: Condition,
    /// How much of it and of its host is in use, in thousandths.
    pub(super) load: u64,
    /// When it got its last task: among equals those come first that have waited longest.
    pub(super) turn: u64,
}

/// How a session fits a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fit {
    /// It takes no such task.
    Never,
    /// It could, were it not busy.
    Later,
    /// It can now.
    Now,
}

/// What is asked of a session.
pub(super) trait Fits {
    /// How it fits a class.
    fn fit(&self, class: &Class) -> Fit;
    /// Whether it is on a host from which a class stays away.
    fn is_avoided(&self, class: &Class) -> bool;
    /// How good a choice it is.
    fn standing(&self) -> Standing;
    /// The queues it takes tasks of; all, if there is none.
    fn queues(&self) -> &[Arc<str>];
}

/// The sessions that could take tasks of each class.
#[derive(Debug, Default)]
pub(super) struct Rooms {
    by_class: BTreeMap<ClassId, Room>,
}

#[derive(Debug)]
struct Room {
    class: Arc<Class>,
    /// Sessions on hosts from which the class does not stay away.
    here: Sessions,
    /// The others.
    avoided: Sessions,
}

/// Sessions that could take tasks of a class.
#[derive(Debug, Default)]
struct Sessions {
    of_all: BTreeSet<(Standing, Peer)>,
    by_queue: BTreeMap<Arc<str>, BTreeSet<(Standing, Peer)>>,
    /// How many could, now or later.
    able_of_all: usize,
    able_by_queue: BTreeMap<Arc<str>, usize>,
}

impl Rooms {
    /// Has the sessions for a class, which are counted now if the class was not asked for before.
    pub(super) fn learn<'s, S: Fits + 's>(
        &mut self,
        id: ClassId,
        class: &Arc<Class>,
        sessions: impl Iterator<Item = (&'s Peer, &'s S)>,
    ) {
        if self.by_class.get(&id).is_some_and(|room| Arc::ptr_eq(&room.class, class)) {
            return;
        }
        let (here, avoided) = (Sessions::default(), Sessions::default());
        let mut room = Room { class: class.clone(), here, avoided };
        for (peer, session) in sessions {
            room.insert(*peer, session);
        }
        self.by_class.insert(id, room);
    }

    /// Forgets classes that are no more.
    pub(super) fn retain(&mut self, is_known: impl Fn(ClassId) -> bool) {
        self.by_class.retain(|id, _| is_known(*id));
    }

    /// How many classes there are.
    pub(super) fn len(&self) -> usize {
        self.by_class.len()
    }

    /// Forgets all: hosts are not what they were.
    pub(super) fn clear(&mut self) {
        self.by_class.clear();
    }

    /// A session is there as it is now.
    pub(super) fn insert(&mut self, peer: Peer, session: &impl Fits) {
        for room in self.by_class.values_mut() {
            room.insert(peer, session);
        }
    }

    /// A session, as it was inserted, is about to change.
    pub(super) fn remove(&mut self, peer: Peer, session: &impl Fits) {
        for room in self.by_class.values_mut() {
            room.remove(peer, session);
        }
    }

    /// The best session that can take a task of a class and queue now; none too if all that could
    /// now are to be avoided and another could later: the task waits for that one.
    pub(super) fn best(&self, id: ClassId, queue: &str) -> Option<Peer> {
        let room = self.by_class.get(&id)?;
        match room.here.best(queue) {
            None if room.here.is_able(queue) => None,
            None => room.avoided.best(queue),
            best => best,
        }
    }

    /// Whether some session could take a task of a class and queue, now or later.
    pub(super) fn is_able(&self, id: ClassId, queue: &str) -> bool {
        let room = self.by_class.get(&id);
        room.is_some_and(|room| room.here.is_able(queue) || room.avoided.is_able(queue))
    }
}

impl Room {
    fn insert(&mut self, peer: Peer, session: &impl Fits) {
        let fit = session.fit(&self.class);
        if fit != Fit::Never {
            self.of(session).insert((session.standing(), peer), session.queues(), fit);
        }
    }

    fn remove(&mut self, peer: Peer, session: &impl Fits) {
        let fit = session.fit(&self.class);
        if fit != Fit::Never {
            self.of(session).remove((session.standing(), peer), session.queues(), fit);
        }
    }

    fn of(&mut self, session: &impl Fits) -> &mut Sessions {
        let is_avoided = session.is_avoided(&self.class);
        if is_avoided { &mut self.avoided } else { &mut self.here }
    }
}

impl Sessions {
    fn insert(&mut self, seat: (Standing, Peer), queues: &[Arc<str>], fit: Fit) {
        if queues.is_empty() {
            self.able_of_all += 1;
            if fit == Fit::Now {
                self.of_all.insert(seat);
            }
        }
        for queue in queues {
            *self.able_by_queue.entry(queue.clone()).or_default() += 1;
            if fit == Fit::Now {
                self.by_queue.entry(queue.clone()).or_default().insert(seat);
            }
        }
    }

    fn remove(&mut self, seat: (Standing, Peer), queues: &[Arc<str>], fit: Fit) {
        if queues.is_empty() {
            self.able_of_all -= 1;
            self.of_all.remove(&seat);
        }
        for queue in queues {
            if let Some(count) = self.able_by_queue.get_mut(queue) {
                *count -= 1;
                if *count == 0 {
                    self.able_by_queue.remove(queue);
                }
            }
            let Some(seats) = self.by_queue.get_mut(queue).filter(|_| fit == Fit::Now) else {
                continue;
            };
            seats.remove(&seat);
            if seats.is_empty() {
                self.by_queue.remove(queue);
            }
        }
    }

    fn best(&self, queue: &str) -> Option<Peer> {
        let of_queue = self.by_queue.get(queue).and_then(BTreeSet::first);
        self.of_all.first().into_iter().chain(of_queue).min().map(|(_, peer)| *peer)
    }

    fn is_able(&self, queue: &str) -> bool {
        self.able_of_all > 0 || self.able_by_queue.contains_key(queue)
    }
}
