//! Pictures: what a board says of all workers together, to one of them.
//!
//! An entry says what a worker had, and it has run since, so it has that less the entry's age. What
//! a reply said is believed instead where it is newer.
//!
//! **Lists.** While no task spawns another, work is only moved and run. So the mean of what is left
//! is what entries say on average less their age on average, whoever has stolen from whom since: it
//! is known well by entries that say little of single workers. A small part of the time until now
//! beyond the mean is not worth a steal, as all end with the last: that is [`List::patience`].
//!
//! Source of the mean as the border between who gives and who gets: Lifflander, Krishnamoorthy,
//! Kale, "Work stealing and persistence-based load balancers for iterative overdecomposed
//! applications", HPDC 2012.

use core::time::Duration;
use std::collections::BTreeMap;

use tidings_primitives::{Chance, Instant};

use super::situation::Situation;
use crate::queue::Want;

/// Entries are young if they are no older than such a part of the time that a list has taken.
const YOUNG: u32 = 32;

/// What is left of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rest {
    /// For each worker, on average, in nanoseconds.
    pub(super) mean_ns: u64,
    /// What is not worth a steal.
    pub(super) patience_ns: u64,
    /// Whether entries are young against the time that the list has taken.
    pub(super) is_young: bool,
    is_retained: bool,
}

impl Rest {
    /// How many neighbours are to send tasks, of so many.
    pub(super) fn lifelines(&self, most: usize) -> usize {
        match (self.is_young, self.is_retained) {
            (false, _) => most,
            (true, false) => most / 2,
            (true, true) => 0,
        }
    }

    /// What a thief wants: what another has beyond the mean, and itself not more than that.
    pub(super) fn want(&self, least_ns: u64) -> Want {
        let most_ns = self.mean_ns.max(self.patience_ns).max(least_ns);
        Want { most_ns, beyond_ns: self.mean_ns }
    }
}

/// What the board says.
#[derive(Default)]
pub(super) struct Picture {
    pub(super) looked: u64,
    /// What entries say, whatever their ages.
    said_ns: u128,
    /// The same, less their ages.
    work_ns: u128,
    age_us: u128,
    /// Who has nothing.
    pub(super) idle: Vec<u32>,
    /// How many of these stand before this worker.
    pub(super) before: u64,
    /// Who has how much.
    pub(super) rich: Vec<(u32, u64)>,
}

/// What replies said, and when, by who said it.
pub(super) type Replies = BTreeMap<u32, (u64, Instant)>;

impl Picture {
    /// What this worker sees.
    pub(super) fn of(
        me: u32,
        look: u32,
        situation: &Situation<'_>,
        replies: &Replies,
        chance: &mut Chance,
    ) -> Self {
        let live = situation.view.live();
        let mut picture = Self::default();
        let sampled = live > look;
        let looks = if sampled { look / 4 } else { live };
        for position in 0..looks {
            let position = if sampled { chance.below(live as usize) as u32 } else { position };
            let worker = situation.view.at(position);
            if worker != me {
                picture.add(me, worker, situation, replies);
            }
        }
        if sampled {
            let share = u64::from(live) * picture.idle.len() as u64 / picture.looked.max(1);
            let scale = u64::from(live) / u64::from(looks.max(1));
            picture.before = chance.below(share as usize + 1) as u64 / scale.max(1);
        }
        picture
    }

    fn add(&mut self, me: u32, worker: u32, situation: &Situation<'_>, replies: &Replies) {
        let Some(entry) = situation.board.entry(worker) else { return };
        let said = replies.get(&worker).map(|(left_ns, at)| (*left_ns, since(situation.now, *at)));
        let newer = said.filter(|(_, age_us)| *age_us < entry.age_us);
        let (work_ns, age_us) = newer.unwrap_or((entry.work_ns, entry.age_us));
        let left_ns = work_ns.saturating_sub(age_us.saturating_mul(1000));
        self.looked += 1;
        self.said_ns += u128::from(entry.work_ns);
        self.work_ns += u128::from(left_ns);
        self.age_us += u128::from(entry.age_us);
        if left_ns > 0 {
            self.rich.push((worker, left_ns));
        } else {
            self.idle.push(worker);
            self.before += u64::from(worker < me);
        }
    }

    /// How old entries are, on average.
    pub(super) fn age(&self) -> Duration {
        Duration::from_micros(self.age_us.checked_div(u128::from(self.looked)).unwrap_or(0) as u64)
    }

    /// Whether what is left, on average, takes so many ages of entries.
    pub(super) fn is_believed(&self, ages: f64) -> bool {
        let (work_ns, age_ns) = (self.work_ns as f64, 1000.0 * self.age_us as f64);
        self.looked > 0 && work_ns >= ages * age_ns
    }

    /// What is left of a list; `None` if there is none, or entries are too old to say it.
    pub(super) fn rest(&self, situation: &Situation<'_>) -> Option<Rest> {
        let (looked, list) = (u128::from(self.looked), situation.list?);
        let elapsed = list.elapsed;
        let age_us = self.age_us.checked_div(looked)?;
        let left_ns = (self.said_ns / looked).saturating_sub(1000 * age_us);
        let patience_ns = list.patience().as_nanos() as u64;
        let is_young = age_us <= (elapsed / YOUNG).as_micros();
        let rest =
            Rest { mean_ns: left_ns as u64, patience_ns, is_young, is_retained: list.is_retained };
        (8 * age_us <= elapsed.as_micros()).then_some(rest)
    }
}

fn since(now: Instant, at: Instant) -> u64 {
    now.saturating_since(at).as_micros() as u64
}

#[cfg(test)]
mod tests {
    use super::super::situation::{Board, Entry, List};
    use super::*;
    use crate::view::View;
    use proptest::prelude::*;

    /// What workers had this long ago.
    struct Old(Vec<u64>, u64);

    impl Board for Old {
        fn entry(&self, worker: u32) -> Option<Entry> {
            Some(Entry { work_ns: self.0[worker as usize], age_us: self.1 })
        }
    }

    fn rest(board: &Old, list: impl Into<Option<List>>) -> Option<Rest> {
        let (view, now) = (View::new(board.0.len() as u32), Instant::EPOCH);
        let situation = Situation { view: &view, board, now, list: list.into() };
        let chance = &mut Chance::new(1);
        Picture::of(0, 1024, &situation, &Replies::new(), chance).rest(&situation)
    }

    fn list(elapsed_ms: u64, is_retained: bool) -> List {
        List { elapsed: Duration::from_millis(elapsed_ms), is_retained }
    }

    proptest! {
        /// The law of lists: who has stolen from whom does not change the mean.
        #[test]
        fn steals_do_not_change_the_mean(
            works in prop::collection::vec(0u64..1_000_000_000, 3..40),
            moves in prop::collection::vec((1usize..40, 1usize..40, 0u64..1_000_000_000), 0..40),
            age_us in 0u64..10_000,
        ) {
            let mut works = works;
            let before = rest(&Old(works.clone(), age_us), list(1000, false)).unwrap();
            let len = works.len() - 1;
            for (from, to, work) in moves {
                let (from, to) = (1 + from % len, 1 + to % len);
                let work = work.min(works[from]);
                works[from] -= work;
                works[to] += work;
            }
            let after = rest(&Old(works, age_us), list(1000, false)).unwrap();
            prop_assert_eq!(before, after);
        }
    }

    #[test]
    fn a_mean_needs_a_list_and_entries_that_are_not_too_old() {
        let board = |age_us| Old(vec![500_000_000; 9], age_us);
        assert_eq!(rest(&board(10_000), None), None);
        let young = rest(&board(10_000), list(1000, false)).unwrap();
        assert_eq!((young.mean_ns, young.patience_ns), (490_000_000, 3_906_250));
        assert!(young.is_young);
        assert!(!rest(&board(40_000), list(1000, false)).unwrap().is_young);
        assert_eq!(rest(&board(200_000), list(1000, false)), None);
    }

    #[test]
    fn what_was_retained_needs_less_stealing() {
        let board = Old(vec![500_000_000; 9], 10_000);
        let (given, retained) = (list(1000, false), list(1000, true));
        assert_eq!(rest(&board, retained).unwrap().patience_ns, 10_000_000);
        let lifelines = |list| rest(&board, list).unwrap().lifelines(2);
        assert_eq!((lifelines(given), lifelines(retained)), (1, 0));
    }
}
