//! Permits: acquired, given back, and taken from those whose session has ended.

use crate::message::{Answer, Call, Message, Peer, Refusal};
use crate::semaphore::{Grant, Semaphore};
use crate::transaction::Revision;

use super::Coordinator;
use super::change::Change;
use super::parked::Obstacle;
use super::submit::check_name;

impl Coordinator {
    /// Makes a semaphore, or changes how many permits it has.
    pub(super) fn set_permits(&mut self, peer: Peer, call: Call, name: String, permits: u32) {
        if let Err(reason) = check_name("semaphore", &name) {
            return self.refuse(peer, call, Refusal::Invalid(reason));
        }
        let (revision, mut semaphore) = match self.permits.get(&name) {
            Some((revision, semaphore)) => (Some(revision), semaphore),
            None => (None, Semaphore::default()),
        };
        let granted = semaphore.set_permits(permits);
        let change = done((peer, call));
        self.change_semaphore(change, (name, revision, semaphore), &granted);
    }

    /// A session wants permits. It is answered when it has them.
    pub(super) fn acquire(&mut self, peer: Peer, call: Call, name: String, permits: u32) {
        let Some(holder) = self.sessions.get(peer).map(|session| session.name.to_string()) else {
            return self.refuse(peer, call, Refusal::NoSession);
        };
        let Some((revision, mut semaphore)) = self.permits.get(&name) else {
            return self.refuse_surely(peer, call, Refusal::NoSemaphore);
        };
        if permits == 0 || permits > semaphore.permits {
            let most = semaphore.permits;
            let reason = format!("{permits} permits of {name}; 1 to {most} are possible");
            return self.refuse_surely(peer, call, Refusal::Invalid(reason));
        }
        if semaphore.has(&holder, call) {
            return self.stage(done((peer, call)));
        }
        // One that waits already is written again: had a commit whose answer was lost granted it,
        // or would it yet, that is noticed by the conflict.
        let granted = semaphore.acquire(Grant { holder, call, permits });
        let change = Change { origin: Some((peer, call)), ..Change::default() };
        self.change_semaphore(change, (name, Some(revision), semaphore), &granted);
    }

    /// A session gives permits back, or no longer waits for them.
    pub(super) fn give_back(&mut self, peer: Peer, call: Call, name: String, acquired: Call) {
        let Some(holder) = self.sessions.get(peer).map(|session| session.name.to_string()) else {
            return self.refuse(peer, call, Refusal::NoSession);
        };
        let Some((revision, mut semaphore)) = self.permits.get(&name) else {
            return self.refuse_surely(peer, call, Refusal::NoSemaphore);
        };
        if !semaphore.has(&holder, acquired) && !semaphore.awaits(&holder, acquired) {
            return self.stage(done((peer, call)));
        }
        let granted = semaphore.release(&holder, acquired);
        let change = done((peer, call));
        self.change_semaphore(change, (name, Some(revision), semaphore), &granted);
    }

    /// A holder has ended: others get what it had.
    pub(super) fn release_holder(&mut self, holder: &str) {
        for name in self.permits.of(holder) {
            self.release_absent(&name, Some(holder));
        }
    }

    /// The time in which holders may come back after a recovery is over.
    pub(super) fn release_all_absent(&mut self) {
        for name in self.permits.names() {
            self.release_absent(&name, None);
        }
        self.release_absent_claims();
    }

    /// A semaphore is no longer changing: requests about it are served, and what is held by
    /// sessions that have ended meanwhile is taken back.
    pub(super) fn settle_semaphore(&mut self, name: &str) {
        self.parked.note(Obstacle::Semaphore(name.to_owned()));
        self.release_absent(name, None);
    }

    /// Takes back what sessions that have ended hold of a semaphore, unless they may come back, as
    /// all may but the one that is `gone`. A semaphore that is changing is looked at again later.
    fn release_absent(&mut self, name: &str, gone: Option<&str>) {
        if self.permits.is_changing(name) {
            return;
        }
        let Some((revision, mut semaphore)) = self.permits.get(name) else { return };
        let all = semaphore.held.iter().chain(&semaphore.waiting);
        let is_absent = |holder: &str| self.sessions.named(holder).is_none();
        let mut absent: Vec<String> = all.map(|grant| grant.holder.clone()).collect();
        let may_come_back = |holder: &str| gone != Some(holder) && self.absent.may_come_back();
        absent.retain(|holder| is_absent(holder) && !may_come_back(holder));
        if absent.is_empty() {
            return;
        }
        let mut granted = Vec::new();
        for holder in &absent {
            granted.extend(semaphore.end(holder));
        }
        granted.retain(|grant| !absent.contains(&grant.holder));
        let change = Change::default();
        self.change_semaphore(change, (name.to_owned(), Some(revision), semaphore), &granted);
    }

    /// Refuses a request for what this coordinator knows, once a commit has shown that it has the
    /// part.
    pub(super) fn refuse_surely(&mut self, peer: Peer, call: Call, refusal: Refusal) {
        self.counters.refused += 1;
        let messages = vec![(peer, Message::Answer(call, Answer::Refused(refusal)))];
        self.stage(Change { messages, origin: Some((peer, call)), ..Change::default() });
    }

    fn change_semaphore(
        &mut self,
        mut change: Change,
        semaphore: (String, Option<Revision>, Semaphore),
        granted: &[Grant],
    ) {
        for grant in granted {
            if let Some(peer) = self.sessions.named(&grant.holder) {
                change.messages.push((peer, Message::Answer(grant.call, Answer::Done)));
            }
        }
        change.semaphore = Some(semaphore);
        self.stage(change);
    }
}

/// A change by which a request is done. Where nothing is to be written, its commit still shows that
/// this coordinator has the part, and knows what it says.
fn done((peer, call): (Peer, Call)) -> Change {
    let messages = vec![(peer, Message::Answer(call, Answer::Done))];
    Change { messages, origin: Some((peer, call)), ..Change::default() }
}
