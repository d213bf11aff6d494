//! Checkpoint-restart, the baseline: all stop at times and write what they have; after a death all
//! go back to what was written last.
//!
//! It is computed from the schedule of a run without deaths. What has ended since the last
//! checkpoint runs again, whoever ran it; a failure costs the time since then, what reading takes,
//! and the notice of it. A checkpoint costs what writing takes, and the time until all have ended
//! what they run, of which the mean over the run is taken.

/// When checkpoints are written and what they cost.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(clippy::struct_field_names, reason = "quantities carry their unit")]
pub struct Checkpoints {
    /// Work between two of them; none is written where it exceeds the run.
    pub interval_ns: i64,
    /// What writing one takes, and reading it.
    pub write_ns: i64,
    /// How long it takes until a death is known.
    pub detection_ns: i64,
}

/// What a failure costs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rollback {
    /// Tasks that had ended and run again.
    pub again: u64,
    /// The time that is lost by the failure.
    pub lost_ns: i64,
    /// The time that checkpoints take without failures.
    pub written_ns: i64,
}

impl Checkpoints {
    /// What a failure at this time costs, where tasks ended at these.
    pub fn failure(&self, ended_ns: &[Option<i64>], makespan_ns: i64, at_ns: i64) -> Rollback {
        let written_until_ns = at_ns / self.interval_ns * self.interval_ns;
        let is_after =
            |ended: &&Option<i64>| ended.is_some_and(|ns| ns > written_until_ns && ns <= at_ns);
        let again = ended_ns.iter().filter(is_after).count() as u64;
        let lost_ns = at_ns - written_until_ns + self.write_ns + self.detection_ns;
        let written_ns = (makespan_ns - 1) / self.interval_ns * self.write_ns;
        Rollback { again, lost_ns, written_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_since_the_last_checkpoint_runs_again() {
        let ended: Vec<Option<i64>> = (1..=100).map(Some).collect();
        let checkpoints = Checkpoints { interval_ns: 30, write_ns: 2, detection_ns: 1 };
        let failed = checkpoints.failure(&ended, 100, 50);
        assert_eq!(failed, Rollback { again: 20, lost_ns: 23, written_ns: 6 });
        let never = Checkpoints { interval_ns: 1000, ..checkpoints };
        assert_eq!(never.failure(&ended, 100, 50).again, 50);
    }
}
