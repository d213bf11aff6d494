//! What a member does to find out who has died: looks, doubts, declarations. The decisions are the
//! core's; what `node/deaths.rs` does with a vector is done here with a row of births.

use tidings_gossip::detector::{
    self, DEAD_PROBE_UNITS, DOUBT_PHI, Doubt, Query, RELAYS, Relays, Seen, Step,
};
use tidings_gossip::{Incarnation, Instant, NodeId, urgent};

use super::run::CompactColony;
use super::take::age_steps;
use super::watch::id_of;
use crate::row::UNIT;

impl CompactColony<'_> {
    /// What a round begins with, which comes so late: the tombstones that go along in it, and looks
    /// for silence among the living and for life among the dead.
    pub(super) fn look_for_silence(&mut self, now: i64, member: usize, late: i64) {
        let (row, members, rounds) = (self.row_of(member), self.members, self.nodes[member].rounds);
        let Some(watch) = self.watch.as_mut() else { return };
        let (clock, lives) = (watch.clock, &watch.lives);
        let at = clock.instant(now);
        let (births, silences) = (&self.entries[row.clone()], &watch.silences[row]);
        let watcher = &mut watch.watchers[member];
        watcher.detection.resumes(at, clock.span(late), clock.unit());
        let first = watcher.urgent.take(urgent::most_in_pushes(self.budget.window_entries));
        watcher.first.clear();
        watcher.first.extend(first.map(place_of));
        let offset = watcher.offset;
        let seen = |slot: usize, oldest: Instant| {
            let origin = (slot + offset) % members;
            let birth = births[origin];
            if birth == 0 || origin == member {
                return None;
            }
            if birth < 0 {
                return Some(Seen::Dead(id_of(origin)));
            }
            let overdue = silences[origin].phi(age_steps(now, birth)) >= DOUBT_PHI
                || clock.instant(i64::from(birth)) < oldest;
            let life = Incarnation::new(lives.life_of(origin, birth));
            Some(Seen::Alive(id_of(origin), life, overdue))
        };
        let dead = watcher.detection.look(at, members, seen, &mut self.chance);
        if let Some(dead) = dead.filter(|_| u64::from(rounds) % DEAD_PROBE_UNITS == 0) {
            watcher.detection.query(Query::probe(dead));
        }
        watch.senders.push(member);
    }

    /// Watches mates of the own row.
    pub(super) fn watch_row(&mut self, now: i64, member: usize) {
        let row = self.row_of(member);
        let Some(watch) = self.watch.as_mut() else { return };
        let births = &self.entries[row];
        let (mates, rounds) = detector::watched(&self.layout, member, |mate| births[mate] >= 0);
        let (at, period) = (watch.clock.instant(now), watch.clock.unit() * rounds);
        watch.watchers[member].detection.watch(mates.map(id_of), period, at);
    }

    /// Doubts mates whose pushes are missing, and does what is due about doubts.
    pub(super) fn look_at_doubts(&mut self, now: i64, member: usize) {
        self.look_at_row(now, member);
        while let Some((doubt, step)) = self.step(now, member) {
            let target = place_of(doubt.id);
            if self.is_settled(member, &doubt) {
                self.settle(member, target);
                continue;
            }
            let Some(watch) = self.watch.as_mut() else { return };
            let detection = &mut watch.watchers[member].detection;
            if step == Step::Suspect && detection.suspect(doubt.id) {
                watch.suspicions += 1;
            }
            // Also who was just declared dead: if it lives, it shall hear of it first.
            detection.query(Query::probe(doubt.id));
            watch.senders.push(member);
            if step == Step::Declare {
                self.declare(now, member, &doubt);
            }
            self.have_probed(member, target, step.relays());
        }
    }

    fn look_at_row(&mut self, now: i64, member: usize) {
        let row = self.row_of(member);
        let Some(watch) = self.watch.as_mut() else { return };
        let (at, births) = (watch.clock.instant(now), &self.entries[row]);
        let detection = &mut watch.watchers[member].detection;
        while let Some((id, may_doubt)) = detection.missing(at) {
            let mate = place_of(id);
            let birth = births[mate];
            // News that came by others may be of this unit.
            if may_doubt && birth > 0 && i64::from(birth) < now - UNIT {
                let life = watch.lives.life_of(mate, birth);
                detection.miss(id, Incarnation::new(life), at);
            }
        }
    }

    fn step(&mut self, now: i64, member: usize) -> Option<(Doubt, Step)> {
        let watch = self.watch.as_mut()?;
        let (at, alone) = (watch.clock.instant(now), watch.targets(member) <= 1);
        watch.watchers[member].detection.step(at, alone)
    }

    /// Whether there has been news of the member since, good or bad.
    fn is_settled(&self, member: usize, doubt: &Doubt) -> bool {
        let origin = place_of(doubt.id);
        let birth = self.entries[self.row_of(member).start + origin];
        self.watch.as_ref().is_none_or(|watch| {
            let life = Incarnation::new(watch.lives.life_of(origin, birth));
            let made = watch.clock.instant(i64::from(birth));
            birth <= 0 || life != doubt.incarnation || made > doubt.since
        })
    }

    /// Ends a doubt about a member that lives, or of which others said what became of it.
    fn settle(&mut self, member: usize, target: usize) {
        let lives = self.entries[self.row_of(member).start + target] > 0;
        let Some(watch) = self.watch.as_mut() else { return };
        let detection = &mut watch.watchers[member].detection;
        let ended = detection.end(id_of(target));
        if lives && ended.as_ref().is_some_and(Doubt::is_suspicion) {
            detection.errs();
        }
    }

    /// A member has given proof that it lives.
    pub(super) fn proven(&mut self, member: usize, target: usize, life: Incarnation) {
        let Some(watch) = self.watch.as_ref() else { return };
        let doubt = watch.watchers[member].detection.doubt(id_of(target));
        if doubt.is_some_and(|doubt| life >= doubt.incarnation) {
            self.settle(member, target);
        }
    }

    /// Declares a member dead since the doubt began.
    fn declare(&mut self, now: i64, member: usize, doubt: &Doubt) {
        let (origin, row) = (place_of(doubt.id), self.row_of(member));
        let Some(watch) = self.watch.as_mut() else { return };
        watch.watchers[member].detection.end(doubt.id);
        let since = watch.clock.tick(doubt.since) as i32;
        let held = &mut self.entries[row.start + origin];
        *held = watch.lives.tombstone(origin, *held, since);
        self.learn_death(now, member, origin);
    }

    /// Asks others to probe a member, or as many as there are.
    fn have_probed(&mut self, member: usize, target: usize, relays: Relays) {
        let (row, members) = (self.row_of(member), self.members);
        let Some(watch) = self.watch.as_mut() else { return };
        let births = &self.entries[row];
        let from = |start: usize| (0..members).map(move |step| (start + step) % members);
        let is_target = |other: &usize| *other != member && births[*other] >= 0;
        let detection = &mut watch.watchers[member].detection;
        let (start, first, most) = match relays {
            Relays::Random(0) => return,
            Relays::Successors => (target + 1, RELAYS + 1, RELAYS),
            Relays::Random(relays) => (self.chance.below(members), relays + 1, relays),
        };
        let others = from(start).filter(is_target).take(first).filter(|&other| other != target);
        for relay in others.take(most) {
            detection.query(Query::probe_by(id_of(relay), id_of(target)));
        }
    }
}

/// The place of a member by its id.
pub(super) fn place_of(id: NodeId) -> usize {
    id.0 as usize
}
