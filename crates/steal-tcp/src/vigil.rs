//! The vigil: whom nothing was heard of for too long, and whether that is their end or one's own.
//!
//! Silence does not say who is cut off. Of two sides that hear nothing of each other, the one with
//! more than half of those who lived when all last met goes on, or with half of them if the first
//! of those is among them. The other side stops, so at most one side goes on.
//!
//! Who is dead by another sign, as the end of its connection, does not count as silent.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// What one worker knows of silence.
#[derive(Debug)]
pub(crate) struct Vigil {
    silence: Duration,
    /// Who lived when all last met; empty before the first time, when silence says nothing.
    base: Vec<u32>,
    /// Who was silent since then.
    silent: BTreeSet<u32>,
}

impl Vigil {
    /// Before all have met.
    pub(crate) fn new(silence: Duration) -> Self {
        Self { silence, base: Vec::new(), silent: BTreeSet::new() }
    }

    /// All have met, and these live.
    pub(crate) fn met(&mut self, living: impl Iterator<Item = u32>) {
        self.base = living.collect();
        self.silent.clear();
    }

    /// Which of these live others is silent, if something came from each when it is said and this
    /// process was not stopped after `late`.
    pub(crate) fn who(
        &self,
        now: Instant,
        late: Instant,
        heard: impl Iterator<Item = (u32, Instant)>,
    ) -> Vec<u32> {
        let is_silent = |at: Instant| now.saturating_duration_since(at.max(late)) > self.silence;
        let silent = heard.filter(|(_, at)| !self.base.is_empty() && is_silent(*at));
        silent.map(|(worker, _)| worker).collect()
    }

    /// When to ask again.
    pub(crate) fn next(&self, now: Instant, heard: impl Iterator<Item = Instant>) -> Instant {
        let ends = heard.map(|at| at + self.silence);
        let soon = now + self.silence / 8;
        ends.min().unwrap_or(now + self.silence).max(soon)
    }

    /// A worker is dead by its silence.
    pub(crate) fn lost(&mut self, worker: u32) {
        if self.base.contains(&worker) {
            self.silent.insert(worker);
        }
    }

    /// Who is silent, if that is so many that this side may be the one that is cut off.
    pub(crate) fn cut_off(&self) -> Option<Vec<u32>> {
        let (all, silent) = (self.base.len(), self.silent.len());
        let has_first = self.base.first().is_some_and(|first| !self.silent.contains(first));
        let left = 2 * (all - silent);
        let goes_on = left > all || (left == all && has_first);
        (!goes_on && silent > 0).then(|| self.silent.iter().copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vigil(living: u32) -> Vigil {
        let mut vigil = Vigil::new(Duration::from_secs(3));
        vigil.met(0..living);
        vigil
    }

    proptest! {
        /// Two sides of a cut, each of which hears nothing of the other.
        #[test]
        fn at_most_one_side_goes_on(sides in prop::collection::vec(any::<bool>(), 2..12)) {
            let goes_on = |side: bool| {
                let mut vigil = vigil(sides.len() as u32);
                for (worker, other) in (0..).zip(&sides) {
                    if *other != side {
                        vigil.lost(worker);
                    }
                }
                sides.contains(&side) && vigil.cut_off().is_none()
            };
            prop_assert!(goes_on(true) != goes_on(false), "one does");
        }
    }

    #[test]
    fn silence_counts_from_the_last_word_and_not_before_all_have_met() {
        let (now, three) = (Instant::now(), Duration::from_secs(3));
        let later = now + three + Duration::from_millis(1);
        let heard = || [(1, now), (2, later)].into_iter();
        assert_eq!(vigil(3).who(later, now, heard()), [1]);
        assert_eq!(vigil(3).who(now + three, now, heard()), [0; 0]);
        assert_eq!(Vigil::new(three).who(later, now, heard()), [0; 0]);
        // This process was stopped itself.
        assert_eq!(vigil(3).who(later, later, heard()), [0; 0]);
        assert_eq!(vigil(3).next(now, heard().map(|(_, at)| at)), now + three);
    }

    #[test]
    fn those_who_died_before_are_not_counted() {
        let mut vigil = vigil(4);
        vigil.lost(1);
        assert_eq!(vigil.cut_off(), None);
        vigil.met([0, 2, 3].into_iter());
        vigil.lost(1);
        vigil.lost(3);
        assert_eq!(vigil.cut_off(), None);
        vigil.lost(2);
        assert_eq!(vigil.cut_off(), Some(vec![2, 3]));
    }
}
