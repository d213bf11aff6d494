//! Two campaigns beside each other: does an arm cost more in one than in the other?
//!
//! Arms are matched by application, nodes and what the hidden ranks do. What is compared is the
//! slowdown against each campaign's own baseline, so machines of different speed may be compared;
//! or the time itself, where the machine is one. For each arm the difference has a bootstrap
//! interval and the p of Mann and Whitney's test, adjusted by Holm's rule for all arms.

use serde::Serialize;
use tidings_experiment::ExperimentError;
use tidings_experiment::statistics::{Interval, Tested, bootstrap_difference, judge, mann_whitney};

use crate::analysis::{Analysis, Effect, Group, Side};
use crate::campaign::Doing;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Slowdowns against each campaign's own baseline.
    Slowdown,
    /// Times, of arms and baselines alike.
    Seconds,
}

/// An arm that both campaigns have.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// The application's name.
    pub application: String,
    /// How many nodes.
    pub nodes: u32,
    /// What the hidden ranks did.
    pub doing: Doing,
    /// Pairs, or runs, in each.
    pub counts: [usize; 2],
    /// The quantity in each: a slowdown, or seconds.
    pub values: [f64; 2],
    /// By how much the second is slower, as a share: 0.01 is one per cent.
    pub change: Option<Interval>,
    /// The p of the rank test.
    pub p: f64,
    /// The same, adjusted for all arms.
    pub p_holm: f64,
    /// Whether they differ.
    pub differs: bool,
}

/// A side of a comparison: the logarithms that are compared, those of a repetition together, one of
/// each repetition for the test, and what is reported of them.
struct Sample {
    application: String,
    nodes: u32,
    doing: Doing,
    repetitions: Vec<Vec<f64>>,
    singles: Vec<f64>,
    estimate: f64,
}

/// Compares the second campaign with the first.
///
/// # Errors
/// [`ExperimentError::NothingToCompare`] if no arm of one is in the other.
pub fn compare(
    first: &Analysis,
    second: &Analysis,
    quantity: Quantity,
) -> Result<Vec<Difference>, ExperimentError> {
    let (firsts, seconds) = (samples(first, quantity), samples(second, quantity));
    let mut differences: Vec<Difference> = firsts
        .iter()
        .filter_map(|one| {
            let key =
                |sample: &Sample| (sample.application.clone(), sample.nodes, sample.doing.clone());
            let other = seconds.iter().find(|other| key(other) == key(one))?;
            Some(difference(one, other))
        })
        .collect();
    if differences.is_empty() {
        let reason = "the campaigns have no application, nodes and arm in common: compare two that \
                      do (`tidings lab table FOLDER` lists them)";
        return Err(ExperimentError::NothingToCompare(reason.to_owned()));
    }
    let tested = |own: &Difference| Tested { p: own.p, change: own.change };
    let judged = judge(&differences.iter().map(tested).collect::<Vec<_>>());
    for (difference, judged) in differences.iter_mut().zip(judged) {
        (difference.p_holm, difference.differs) = (judged.p_holm, judged.differs);
    }
    Ok(differences)
}

fn difference(one: &Sample, other: &Sample) -> Difference {
    Difference {
        application: one.application.clone(),
        nodes: one.nodes,
        doing: one.doing.clone(),
        counts: [one.repetitions.len(), other.repetitions.len()],
        values: [one.estimate, other.estimate],
        change: bootstrap_difference(&other.repetitions, &one.repetitions)
            .map(|interval| interval.map(f64::exp_m1)),
        p: mann_whitney(&other.singles, &one.singles),
        p_holm: 1.0,
        differs: false,
    }
}

fn samples(analysis: &Analysis, quantity: Quantity) -> Vec<Sample> {
    let mut samples = Vec::new();
    for group in &analysis.groups {
        if let (Quantity::Seconds, Some(doing)) = (quantity, &group.baseline.doing) {
            samples.push(of_runs(group, doing, &group.baseline));
        }
        for effect in &group.effects {
            samples.extend(effect_sample(group, effect, quantity));
        }
    }
    samples
}

fn effect_sample(group: &Group, effect: &Effect, quantity: Quantity) -> Option<Sample> {
    let doing = effect.side.doing.as_ref()?;
    Some(match quantity {
        Quantity::Slowdown => {
            let estimate = effect.slowdown.map(|slowdown| slowdown.estimate);
            sample(group, doing, effect.repetitions.clone(), effect.one_a_repetition(), estimate)
        }
        Quantity::Seconds => of_runs(group, doing, &effect.side),
    })
}

/// The times of runs, each by itself.
fn of_runs(group: &Group, doing: &Doing, side: &Side) -> Sample {
    let each = side.logs.iter().map(|&log| vec![log]).collect();
    sample(group, doing, each, side.logs.clone(), side.seconds)
}

fn sample(
    group: &Group,
    doing: &Doing,
    repetitions: Vec<Vec<f64>>,
    singles: Vec<f64>,
    estimate: Option<f64>,
) -> Sample {
    Sample {
        application: group.application.clone(),
        nodes: group.nodes,
        doing: doing.clone(),
        repetitions,
        singles,
        estimate: estimate.unwrap_or(f64::NAN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::analyse;
    use crate::analysis::tests::records;
    use crate::campaign::tests::{SMPI, campaign_of, small};

    fn analysis(slowdowns: &[f64]) -> Analysis {
        let campaign = small(40);
        analyse(&campaign, &records(&campaign, slowdowns, 0.01))
    }

    #[test]
    fn what_has_become_slower_is_told_and_what_has_not_is_not() {
        let (before, after) = (analysis(&[0.01, 0.01]), analysis(&[0.01, 0.03]));
        let differences = compare(&before, &after, Quantity::Slowdown).expect("the same arms");
        let differ: Vec<bool> = differences.iter().map(|difference| difference.differs).collect();
        assert_eq!(differ, [false, true], "{differences:?}");
        let change = differences[1].change.expect("forty pairs each");
        assert!((change.estimate - 0.02).abs() < 0.003, "{change:?}");
        let seconds = compare(&before, &after, Quantity::Seconds).expect("the same arms");
        let differ: Vec<bool> = seconds.iter().map(|difference| difference.differs).collect();
        assert_eq!(differ, [false, false, true], "the baseline is compared too: {seconds:?}");
    }

    #[test]
    fn campaigns_with_nothing_in_common_are_refused() {
        let other = analyse(&campaign_of(SMPI), &[]);
        let refused = compare(&analysis(&[0.0, 0.0]), &other, Quantity::Slowdown);
        assert_eq!(refused.expect_err("no arm in common").exit_code(), 2);
    }
}
