//! Taking in what another member sends: births that are later, and tombstones.

use core::ops::Range;

use tidings_gossip::detector;

use super::lives::Arrival;
use super::run::CompactColony;
use super::wake::any;
use super::watch::id_of;
use crate::row::BIN_SHIFT;

impl CompactColony<'_> {
    /// Takes the births of a range of origins that came to be after `since`, and with `tombstones`
    /// all those; how many were news.
    pub(super) fn take_entries(
        &mut self,
        now: i64,
        (from, to): (usize, usize),
        origins: Range<usize>,
        (since, tombstones): (i32, bool),
    ) -> usize {
        let (from_at, to_at) = (self.row_of(from).start, self.row_of(to).start);
        let Some(watch) = self.watch.as_mut() else {
            let at = |row: usize| row + origins.start..row + origins.end;
            return take(&mut self.entries, at(from_at), at(to_at), since);
        };
        // Nearly all that is news is of a life that is known: it is taken here, the rest apart.
        let (mut news, mut rest) = (0, Vec::new());
        for origin in origins {
            let (sent, held) = (self.entries[from_at + origin], self.entries[to_at + origin]);
            let goes = if sent < 0 { tombstones } else { sent > since };
            if !goes || (held > 0 && sent >= 0 && sent <= held) {
                continue;
            }
            if held <= 0 || sent < 0 || !watch.lives.are_one(origin, held, sent) {
                rest.push((origin, sent));
                continue;
            }
            watch.silences[to_at + origin].note(age_steps(now, held));
            self.entries[to_at + origin] = sent;
            news += 1;
        }
        let rest = rest.into_iter().filter(|&(origin, sent)| self.take_one(now, to, origin, sent));
        news + rest.count()
    }

    /// Takes what another member says of an origin, if it is news.
    pub(super) fn take_one(&mut self, now: i64, to: usize, origin: usize, sent: i32) -> bool {
        let at = self.row_of(to).start + origin;
        let held = self.entries[at];
        let Some(watch) = self.watch.as_mut() else {
            self.entries[at] = held.max(sent);
            return sent > held;
        };
        if origin == to {
            self.hear_of_itself(now, to, sent);
            return false;
        }
        match watch.lives.compare(origin, held, sent) {
            Arrival::News => {}
            Arrival::Stale => return false,
            Arrival::Outlives => {
                watch.watchers[to].detection.warn(id_of(origin));
                watch.senders.push(to);
                return false;
            }
        }
        let is_same_life = held > 0 && sent > 0 && watch.lives.are_one(origin, held, sent);
        let watcher = &mut watch.watchers[to];
        if is_same_life {
            watch.silences[at].note(age_steps(now, held));
        } else if sent > 0 {
            // A later life, and what comes after a tombstone, say nothing of habits.
            watcher.detection.turned(id_of(origin), true, watch.clock.instant(now));
        }
        self.entries[at] = sent;
        watcher.dead -= usize::from(held < 0);
        if sent < 0 {
            self.learn_death(now, to, origin);
        } else if held < 0 {
            watcher.urgent.remove(id_of(origin));
        }
        true
    }

    /// Another says what it holds of a member: that it is dead, perhaps. Then it begins a new
    /// incarnation.
    pub(super) fn hear_of_itself(&mut self, now: i64, member: usize, held: i32) {
        let Some(watch) = self.watch.as_mut() else { return };
        let lives = &mut watch.lives;
        if held < 0 && lives.life_of(member, held) == lives.present(member) {
            lives.begin(member, now);
            watch.watchers[member].detection.errs();
            let own = self.row_of(member).start + member;
            self.entries[own] = now as i32;
        }
    }

    /// A member has come to hold another as dead: it reports that at once to some, and in its next
    /// windows.
    pub(super) fn learn_death(&mut self, now: i64, member: usize, origin: usize) {
        let row = self.row_of(member);
        let members = self.members;
        let Some(watch) = self.watch.as_mut() else { return };
        let life = watch.lives.life_of(origin, self.entries[row.start + origin]);
        watch.obituaries.learnt(member, (origin, life), now);
        let watcher = &mut watch.watchers[member];
        watcher.dead += 1;
        watcher.detection.turned(id_of(origin), false, watch.clock.instant(now));
        watcher.urgent.add(id_of(origin), members);
        let hearers = detector::hearers(members - 1 - watcher.dead);
        let births = &self.entries[row];
        for _ in 0..watcher.detection.hurries(hearers) {
            let to = any(&mut self.chance, births, member);
            watcher.posts.extend(to.map(|to| (to, origin)));
        }
        watch.senders.push(member);
    }
}

/// The age that an entry has reached, in steps of the core's habits: 64 a unit.
pub(super) fn age_steps(now: i64, birth: i32) -> u64 {
    ((now - i64::from(birth)) >> BIN_SHIFT) as u64
}

/// Takes births after `since` from one range to another of the same length; how many were news.
pub(super) fn take(births: &mut [i32], from: Range<usize>, to: Range<usize>, since: i32) -> usize {
    let mut news = 0;
    for (from, to) in from.zip(to) {
        let sent = births[from];
        if sent > since && sent > births[to] {
            births[to] = sent;
            news += 1;
        }
    }
    news
}
