//! What has happened in all worlds.

/// Counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) tasks: u64,
    pub(crate) commits: u64,
    /// Edges across parts, and tasks that failed since an input in another part did.
    pub(crate) across: u64,
    pub(crate) doomed_across: u64,
    /// Reigns after the first ones, and coordinators that went on in spite of them.
    pub(crate) reigns: u64,
    pub(crate) stale: u64,
    pub(crate) unknown: u64,
    pub(crate) late: u64,
    /// Times that changes of an inbox were missed.
    pub(crate) missed: u64,
    pub(crate) forgotten: u64,
    /// Commits that would have deleted what others had begun to need.
    pub(crate) rung: u64,
    /// Tasks that were refused since an input had been forgotten.
    pub(crate) refused: u64,
    /// Parts that were told of an end in its commit, and later.
    pub(crate) told: u64,
    pub(crate) told_later: u64,
}

impl Totals {
    fn counts(&mut self) -> [&mut u64; 14] {
        [
            &mut self.tasks,
            &mut self.commits,
            &mut self.across,
            &mut self.doomed_across,
            &mut self.reigns,
            &mut self.stale,
            &mut self.unknown,
            &mut self.late,
            &mut self.missed,
            &mut self.forgotten,
            &mut self.rung,
            &mut self.refused,
            &mut self.told,
            &mut self.told_later,
        ]
    }

    pub(crate) fn add(&mut self, other: &Self) {
        let mut other = other.clone();
        for (sum, count) in self.counts().into_iter().zip(other.counts()) {
            *sum += *count;
        }
    }

    pub(crate) fn reached_everything(&self) -> bool {
        self.clone().counts().into_iter().all(|count| *count > 0)
    }
}
