//! Probes, proofs and reports of deaths, which arrive when they are sent.

use tidings_gossip::Incarnation;
use tidings_gossip::detector::Query;
use tidings_gossip::wire::header::Kind;
use tidings_gossip::wire::probe::HEAD_BYTES;

use super::calls::SEAL_BYTES;
use super::looks::place_of;
use super::run::CompactColony;
use super::watch::id_of;

impl CompactColony<'_> {
    /// Delivers all that members have to send about doubts and deaths, and what that makes others
    /// send.
    pub(super) fn flush(&mut self, now: i64) {
        while let Some(watch) = self.watch.as_mut() {
            let Some(from) = watch.senders.pop() else { return };
            let watcher = &mut watch.watchers[from];
            if let Some(query) = watcher.detection.next_query() {
                watch.senders.push(from);
                self.send_query(now, from, query);
            } else if let Some((to, origin)) = watcher.posts.pop() {
                watch.senders.push(from);
                self.report(now, from, to, origin);
            }
        }
    }

    /// A window with the entry of one member.
    fn report(&mut self, now: i64, from: usize, to: usize, origin: usize) {
        self.sent(from, 1, self.budget.window_bytes(1));
        let said = self.entries[self.row_of(from).start + origin];
        if self.is_lost() || !self.nodes[to].up {
            return;
        }
        let news = self.take_one(now, to, origin, said);
        self.hears_window(now, from, to);
        self.received(now, from, to, usize::from(news));
    }

    fn send_query(&mut self, now: i64, from: usize, query: Query) {
        let (to, target) = (place_of(query.to), place_of(query.target));
        let is_proof = query.kind == Kind::Proof;
        let row = self.row_of(from).start;
        let about = if is_proof { target } else { from };
        let (said, held) = (self.entries[row + about], self.entries[row + to]);
        // A tombstone proves nothing.
        if said <= 0 {
            return;
        }
        self.sent(from, 1, SEAL_BYTES + HEAD_BYTES + self.budget.entry_bytes);
        if let Some(watch) = self.watch.as_mut() {
            watch.probes += u64::from(!is_proof);
        }
        if self.is_lost() || !self.nodes[to].up {
            return;
        }
        let news = self.take_one(now, to, about, said);
        self.hear_of_itself(now, to, held);
        if is_proof {
            self.receive_proof(now, from, to, (target, said));
        } else {
            self.receive_probe(now, from, to, &query);
        }
        if let Some(watch) = self.watch.as_mut() {
            watch.hear(now, to);
            watch.senders.push(to);
        }
        self.received(now, from, to, usize::from(news));
    }

    fn receive_probe(&mut self, now: i64, from: usize, to: usize, query: &Query) {
        let Some(watch) = self.watch.as_mut() else { return };
        let (at, asker) = (watch.clock.instant(now), id_of(from));
        let detection = &mut watch.watchers[to].detection;
        if query.target == id_of(to) {
            detection.query(Query::proof(asker, query.target));
        } else if query.for_another && detection.run_errand(asker, query.target, at) {
            detection.query(Query::probe(query.target));
        }
    }

    fn receive_proof(&mut self, now: i64, from: usize, to: usize, (target, said): (usize, i32)) {
        let Some(watch) = self.watch.as_mut() else { return };
        let at = watch.clock.instant(now);
        let detection = &mut watch.watchers[to].detection;
        if target == from {
            while let Some(asker) = detection.fulfil(id_of(from), at) {
                detection.query(Query::proof(asker, id_of(from)));
            }
        }
        let life = Incarnation::new(watch.lives.life_of(target, said));
        self.proven(to, target, life);
    }

    /// A member has received a window that it had not asked for.
    pub(super) fn hears_window(&mut self, now: i64, from: usize, to: usize) {
        if let Some(watch) = self.watch.as_mut() {
            watch.pushed(now, from, to);
            watch.senders.push(to);
        }
    }

    /// A member has received a request or an answer.
    pub(super) fn hears(&mut self, now: i64, member: usize) {
        if let Some(watch) = self.watch.as_mut() {
            watch.hear(now, member);
        }
    }
}
