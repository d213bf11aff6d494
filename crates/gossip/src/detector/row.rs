//! The watch over a row: who of those that push to this node has not done so in time.
//!
//! With `grid` a member's entry comes to each mate of its row once in a known time. So the mates
//! know a silence long before φ does, which looks at one member after the other and at entries that
//! are some units old anyway: where a push is missing, the member is asked at once. Only some of
//! the mates watch, so that a push is due at about [`WATCHERS`] of them in each round.
//!
//! A push is missing one *wait* after it was due. If one got lost, the probe and its answer are
//! what that costs. Others may push less often than this node reckons, or not at all, where they
//! lay out their rows otherwise: what lies between their pushes is measured, and counts where it is
//! far more; and where more pushes in a row are missing than get lost, the next is due ever later.
//! Nothing is due of a member that has died or left, and a later life begins without what lay
//! between the pushes of an earlier one.

use core::time::Duration;

use tidings_primitives::time::Instant;

use crate::dissemination::layout::{Layout, MAX_ROW};
use crate::dissemination::pusher;
use crate::entry::NodeId;

/// Mates of a member at which a push of it is due in a round, and which watch.
const WATCHERS: usize = 4;
/// A time between two pushes counts for an eighth of their mean.
const GAIN: u32 = 8;
/// What is taken for the time between two pushes at most, in periods: who pushes may have stood
/// still.
const MOST_PERIODS: u32 = 4;
/// So many missing pushes in a row are no chance: of 10,000 that happens to one where a tenth of
/// the datagrams is lost.
const LOST: u32 = 4;
/// How often the time until the next push doubles at most, where more are missing.
const MOST_DOUBLINGS: u32 = 4;

/// A member that is watched.
#[derive(Clone, Copy, Debug)]
struct Mate {
    id: NodeId,
    /// When it pushed last, or was first watched.
    pushed: Instant,
    /// When its next push is due.
    due: Instant,
    /// Mean time between its pushes.
    gap: Duration,
    /// Pushes that are missing since the last one that came.
    missing: u32,
    /// Whether it has died or left: nothing is due then.
    is_gone: bool,
}

impl Mate {
    fn new(id: NodeId, now: Instant, period: Duration) -> Self {
        Self { id, pushed: now, due: now + period, gap: period, missing: 0, is_gone: false }
    }

    fn note(&mut self, gap: Duration) {
        self.gap = (self.gap * (GAIN - 1) + gap) / GAIN;
    }

    /// In what time its next push should come, where that is `period` by the layout.
    fn period(&self, period: Duration) -> Duration {
        let period = if self.gap * 2 <= period * 3 { period } else { self.gap };
        period * (1 << self.missing.saturating_sub(LOST - 1).min(MOST_DOUBLINGS))
    }
}

/// Which mates of its row the member in place `own` watches, by their places in the order of ids,
/// and in how many rounds each of them pushes once to those that live: those at which each is due
/// to push in a round, or some of them.
pub fn watched<L: Fn(usize) -> bool>(
    layout: &Layout,
    own: usize,
    lives: L,
) -> (impl Iterator<Item = usize> + Clone + use<L>, u32) {
    let row = layout.members_of(layout.row_of(own));
    let pushes = (row.len() - 1) as f64 / layout.push_units;
    // To a mate all others live that live to this member, which is one of its mates itself.
    let living = row.clone().filter(|&mate| mate != own && lives(mate)).count();
    let step = (pushes as usize / WATCHERS).max(1);
    let is_watched = {
        let row = row.clone();
        move |mate: &usize| *mate != own && pusher::step_of(&row, *mate, own) % step == 0
    };
    // In so many rounds each mate has had its turn, and for what is whole no more than that.
    let rounds = (living as f64 / pushes - 1e-9).ceil().max(1.0) as u32;
    (row.filter(is_watched), rounds)
}

/// Who is watched.
#[derive(Debug)]
pub struct RowWatch {
    mates: Vec<Mate>,
    /// Time from one push to the next.
    period: Duration,
}

impl RowWatch {
    /// Nobody is.
    pub fn nobody() -> Self {
        Self { mates: Vec::with_capacity(MAX_ROW), period: Duration::ZERO }
    }

    /// Watches these members, each of which pushes once in `period`.
    pub fn set(
        &mut self,
        ids: impl Iterator<Item = NodeId> + Clone,
        period: Duration,
        now: Instant,
    ) {
        self.period = period;
        if self.mates.iter().map(|mate| mate.id).eq(ids.clone()) {
            return;
        }
        self.mates.clear();
        self.mates.extend(ids.take(MAX_ROW).map(|id| Mate::new(id, now, period)));
    }

    /// A member has pushed its entry.
    pub fn pushed(&mut self, id: NodeId, now: Instant) {
        let period = self.period;
        if let Some(mate) = self.mates.iter_mut().find(|mate| mate.id == id) {
            mate.note(now.saturating_since(mate.pushed).min(period * MOST_PERIODS));
            (mate.pushed, mate.missing) = (now, 0);
            mate.due = now + mate.period(period);
        }
    }

    /// A member has begun another life, or its life has ended.
    pub fn turned(&mut self, id: NodeId, lives: bool, now: Instant) {
        let period = self.period;
        if let Some(mate) = self.mates.iter_mut().find(|mate| mate.id == id) {
            *mate = Mate { is_gone: !lives, ..Mate::new(id, now, period) };
        }
    }

    /// This node stood still: what it missed may lie in its socket.
    pub fn restart(&mut self, now: Instant) {
        for mate in &mut self.mates {
            let anew = Mate::new(mate.id, now, mate.period(self.period));
            *mate = Mate { gap: mate.gap, is_gone: mate.is_gone, ..anew };
        }
    }

    /// When the next push is missing, if anybody is watched.
    pub fn due(&self, wait: Duration) -> Option<Instant> {
        self.mates.iter().filter(|mate| !mate.is_gone).map(|mate| mate.due + wait).min()
    }

    /// The next member whose push is missing, each once until another one is due. `is_doubted`:
    /// what is missing of those is not their habit.
    pub fn missing(
        &mut self,
        now: Instant,
        wait: Duration,
        is_doubted: impl Fn(NodeId) -> bool,
    ) -> Option<NodeId> {
        let period = self.period;
        for mate in self.mates.iter_mut().filter(|mate| !mate.is_gone) {
            let missing = mate.due + wait;
            if missing > now {
                continue;
            }
            if now.saturating_since(missing) > wait {
                // This node comes late: the push may lie in its socket.
                mate.due = now;
                continue;
            }
            mate.missing += u32::from(!is_doubted(mate.id));
            // Who was late once is due when it would have been.
            mate.due = (mate.due + mate.period(period)).max(now);
            return Some(mate.id);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: Duration = Duration::from_millis(256);
    const WAIT: Duration = Duration::from_millis(64);
    const MATE: NodeId = NodeId(7);

    fn watch(period: Duration) -> (RowWatch, Instant) {
        let (mut watch, start) = (RowWatch::nobody(), Instant::EPOCH + UNIT);
        watch.set([NodeId(3), MATE].into_iter(), period, start);
        (watch, start)
    }

    /// How often a push of `MATE` was missing, which pushes in each of so many units that `pushes`
    /// says.
    fn missed(watch: &mut RowWatch, units: core::ops::Range<u32>, pushes: fn(u32) -> bool) -> u32 {
        let mut missed = 0;
        for unit in units {
            let round = Instant::EPOCH + UNIT * unit;
            if pushes(unit) {
                watch.pushed(MATE, round);
            }
            for part in 0..16 {
                let now = round + UNIT * part / 16;
                while let Some(id) = watch.missing(now, WAIT, |_| false) {
                    missed += u32::from(id == MATE);
                }
                assert!(watch.due(WAIT).is_some_and(|due| due > now));
            }
        }
        missed
    }

    #[test]
    fn a_push_is_missed_a_wait_after_it_was_due_and_once() {
        let (mut watch, start) = watch(UNIT * 3);
        let missing = start + UNIT * 3 + WAIT;
        assert_eq!(watch.due(WAIT), Some(missing));
        watch.pushed(MATE, start + UNIT);
        let nobody = |_| false;
        assert_eq!(watch.missing(missing - Duration::from_micros(1), WAIT, nobody), None);
        assert_eq!(watch.missing(missing, WAIT, nobody), Some(NodeId(3)));
        assert_eq!(watch.missing(missing, WAIT, nobody), None);
        assert_eq!(watch.missing(missing + UNIT, WAIT, nobody), Some(MATE));
        // The same members: nothing begins anew.
        watch.set([NodeId(3), MATE].into_iter(), UNIT * 3, missing + UNIT);
        assert_eq!(watch.due(WAIT), Some(missing + UNIT * 3));
    }

    #[test]
    fn pushes_in_time_are_not_missed_and_lost_ones_each() {
        let (mut watch, _) = watch(UNIT * 2);
        assert_eq!(missed(&mut watch, 1..200, |unit| unit % 2 == 1), 0);
        assert_eq!(missed(&mut watch, 200..400, |unit| unit % 2 == 1 && unit % 20 != 1), 10);
    }

    #[test]
    fn who_pushes_less_often_or_not_at_all_is_asked_seldom() {
        let (mut watch, _) = watch(UNIT);
        missed(&mut watch, 1..100, |unit| unit % 2 == 1);
        assert_eq!(missed(&mut watch, 101..200, |unit| unit % 2 == 1), 0);
        missed(&mut watch, 200..300, |_| false);
        assert!(missed(&mut watch, 300..400, |_| false) < 12);
    }

    #[test]
    fn some_that_are_lost_in_a_row_change_no_pace() {
        let (mut watch, _) = watch(UNIT);
        missed(&mut watch, 1..50, |_| true);
        assert_eq!(missed(&mut watch, 50..53, |_| false), 3);
        assert_eq!(missed(&mut watch, 53..60, |_| true), 0);
        assert_eq!(missed(&mut watch, 60..63, |_| false), 3);
    }

    #[test]
    fn a_later_life_is_missed_as_soon_as_the_first() {
        let (mut watch, start) = watch(UNIT);
        missed(&mut watch, 1..10, |_| true);
        let died = start + UNIT * 10;
        watch.turned(MATE, false, died);
        watch.turned(NodeId(3), false, died);
        assert_eq!(watch.due(WAIT), None);
        assert_eq!(watch.missing(died + UNIT * 60, WAIT, |_| false), None);
        let returned = died + UNIT * 60;
        watch.turned(MATE, true, returned);
        watch.pushed(MATE, returned);
        assert_eq!(watch.due(WAIT), Some(returned + UNIT + WAIT));
        assert_eq!(watch.missing(returned + UNIT + WAIT, WAIT, |_| false), Some(MATE));
    }

    #[test]
    fn who_comes_late_or_stood_still_misses_nothing_yet() {
        let (mut watch, start) = watch(UNIT);
        let late = start + UNIT + WAIT * 3;
        assert_eq!(watch.missing(late, WAIT, |_| false), None);
        assert_eq!(watch.due(WAIT), Some(late + WAIT));
        watch.restart(late);
        assert_eq!(watch.due(WAIT), Some(late + UNIT + WAIT));
    }
}
