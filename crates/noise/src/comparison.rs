//! Two measurements beside each other: does one lose more, or run slower, than the other?
//!
//! A run is divided into stretches of time ([`crate::result::Window`]); those of a probe are its
//! sample. For each probe that both have, the share that was lost and the speed apart from it are
//! compared by Mann and Whitney's test, adjusted by Holm's rule for all of them, with the
//! bootstrap's interval of the difference. What differs must pass both.

use serde::Serialize;
use tidings_experiment::statistics::{
    Interval, Tested, bootstrap_difference, interquartile_mean, judge, mann_whitney,
};

use crate::NoiseError;
use crate::result::{Outcome, Probe};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The share of time that was lost.
    LostShare,
    /// Units of work in a microsecond that was not lost.
    Speed,
}

impl Measure {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::LostShare => "lost share",
            Self::Speed => "speed",
        }
    }

    fn values(self, probe: &Probe) -> Vec<f64> {
        let windows = probe.windows.iter();
        match self {
            Self::LostShare => windows.map(|window| window.lost_share).collect(),
            Self::Speed => windows.filter_map(|window| window.speed).collect(),
        }
    }
}

/// A measure of a probe in both.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// The probe's core; `None` where they were not pinned.
    pub core: Option<u32>,
    /// What is compared.
    pub measure: Measure,
    /// Stretches of time in each.
    pub counts: [usize; 2],
    /// The interquartile mean of each.
    pub values: [f64; 2],
    /// The second less the first.
    pub change: Option<Interval>,
    /// The p of the rank test.
    pub p: f64,
    /// The same, adjusted.
    pub p_holm: f64,
    /// Whether they differ.
    pub differs: bool,
}

/// Compares the second measurement with the first.
///
/// # Errors
/// [`NoiseError::NothingToCompare`] where the methods differ or no probe is in both.
pub fn compare(first: &Outcome, second: &Outcome) -> Result<Vec<Difference>, NoiseError> {
    let loop_of = |own: &Outcome| (own.method.clone(), own.pinned, own.threshold_ns);
    if loop_of(first) != loop_of(second) {
        let reason = "the results are not alike in method, threshold or pinning, so neither is \
                      their loss: compare two that are";
        return Err(NoiseError::NothingToCompare(reason.to_owned()));
    }
    let mut differences = Vec::new();
    for (place, one) in first.probes.iter().enumerate() {
        let is_same = |(at, other): &(usize, &Probe)| match one.core {
            Some(core) => other.core == Some(core),
            None => *at == place,
        };
        let Some((_, other)) = second.probes.iter().enumerate().find(is_same) else { continue };
        for measure in [Measure::LostShare, Measure::Speed] {
            differences.push(difference(one.core, measure, one, other));
        }
    }
    if differences.is_empty() {
        let reason = "the results have no core in common: compare two that do";
        return Err(NoiseError::NothingToCompare(reason.to_owned()));
    }
    let tested = |own: &Difference| Tested { p: own.p, change: own.change };
    let judged = judge(&differences.iter().map(tested).collect::<Vec<_>>());
    for (own, judged) in differences.iter_mut().zip(judged) {
        (own.p_holm, own.differs) = (judged.p_holm, judged.differs);
    }
    Ok(differences)
}

fn difference(core: Option<u32>, measure: Measure, one: &Probe, other: &Probe) -> Difference {
    let values = [one, other].map(|probe| measure.values(probe));
    let single = |values: &[f64]| values.iter().map(|&value| vec![value]).collect::<Vec<_>>();
    let [singles, others] = [0, 1].map(|side: usize| single(&values[side]));
    Difference {
        core,
        measure,
        counts: [values[0].len(), values[1].len()],
        values: [interquartile_mean(&values[0]), interquartile_mean(&values[1])],
        change: bootstrap_difference(&others, &singles),
        p: mann_whitney(&values[1], &values[0]),
        p_holm: 1.0,
        differs: false,
    }
}
