//! Two characterisations beside each other: is one machine, or one day, slower than another?
//!
//! Samples of a run depend on each other: where its processes came to lie is the same for all. So a
//! run is one value: for each test and variant the mean, over all sizes that both have, of the
//! logarithm of its times.
//!
//! Runs of a session depend on each other too: the machine's clock, or what else it did, moved
//! while they were made, and is another in the next session. How far that goes shows within a
//! session, whose runs are made in rounds: the quarters of its time differ by their luck and by
//! that. So a difference is told only beyond a [`floor`](Difference::floor), twice the range of the
//! quarters of either session, since sessions are farther apart than their quarters, or [`LEAST`]
//! where both were steadier. Mann and Whitney's test compares the runs of one, moved by the floor,
//! with those of the other; Holm's rule adjusts it for all tests, and the bootstrap's interval of
//! the difference must lie beyond the floor.
//!
//! Runs that alternate within one session need no floor: what moved, moved both.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tidings_experiment::ExperimentError;
use tidings_experiment::statistics::{
    CONFIDENCE, Interval, Tested, bootstrap_difference, interquartile_mean, judge, mann_whitney,
};

use crate::point::{Key, Point};

/// A smaller difference is not told between two sessions.
pub const LEAST: f64 = 0.05;
/// Parts of a session's time, and the fewest runs of a part.
const PARTS: usize = 4;
const FEWEST: usize = 2;
/// How much farther apart than its quarters a session is from the next. With noise that has as much
/// of each time scale (1/f) and moves a session by 6 to 20 %, of 86 lines, 1 leaves a verdict in a
/// fifth of the comparisons of an unchanged machine, 1.5 in a fortieth, 2 in a ninetieth.
const FARTHER: f64 = 2.0;

/// How the runs of two characterisations were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sessions {
    /// Those of one after those of the other, or on another machine.
    Apart,
    /// In turn, within one session.
    InTurn,
}

/// A test and variant of both.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// The machine's name in its series, the same in both.
    pub machine: String,
    /// Ranks of the runs.
    pub ranks: u32,
    /// The test.
    pub test: String,
    /// The line in its figure.
    pub variant: String,
    /// Places on that line that both have.
    pub places: usize,
    /// Runs of each.
    pub runs: [usize; 2],
    /// How much longer the second takes, as a share of the first; 0.01 is one per cent.
    pub change: Option<Interval>,
    /// What is not told from what moves within the two sessions, as such a share.
    pub floor: f64,
    /// The p of the rank test of what lies beyond the floor.
    pub p: f64,
    /// The same, adjusted.
    pub p_holm: f64,
    /// Whether they differ.
    pub differs: bool,
}

/// A line of a figure on a machine.
type LineKey = (String, u32, String, String);

fn line_of(key: &Key) -> LineKey {
    (key.machine.clone(), key.ranks, key.test.clone(), key.variant.clone())
}

/// Compares the second characterisation with the first.
///
/// # Errors
/// [`ExperimentError::NothingToCompare`] if they have no line in common, or too few runs that
/// count.
pub fn compare(
    first: &[Point],
    second: &[Point],
    sessions: Sessions,
) -> Result<Vec<Difference>, ExperimentError> {
    let keys = |points: &[Point]| points.iter().map(|own| own.key.clone()).collect::<BTreeSet<_>>();
    let both: BTreeSet<Key> = keys(first).intersection(&keys(second)).cloned().collect();
    let [first, second] = [first, second].map(|points| values(points, &both));
    let mut differences: Vec<Difference> = Vec::new();
    for (line, one) in &first {
        let Some(other) = second.get(line) else { continue };
        let places = both.iter().filter(|key| line_of(key) == *line).count();
        differences.push(difference(line, places, [one, other], sessions));
    }
    let runs = differences.iter().map(|own| own.runs[0].min(own.runs[1])).max();
    match runs {
        None => Err(ExperimentError::NothingToCompare(
            "the two have no test, machine and number of ranks in common: compare two of one \
             series"
                .to_owned(),
        )),
        Some(runs) if least_p(runs) * differences.len() as f64 > 1.0 - CONFIDENCE => {
            Err(ExperimentError::NothingToCompare(format!(
                "{runs} runs of each test count on both sides, with which none of {} lines could \
                 differ: measure on a quiet machine, or write more `rounds` into the series",
                differences.len()
            )))
        }
        Some(_) => Ok(adjusted(differences)),
    }
}

/// The least p that two samples of so many runs can have: all of one above all of the other.
fn least_p(runs: usize) -> f64 {
    let orders: f64 = (1..=runs).map(|at| (runs + at) as f64 / at as f64).product();
    (2.0 / orders).min(1.0)
}

fn adjusted(mut differences: Vec<Difference>) -> Vec<Difference> {
    let beyond = |own: &Difference| Some(moved(own.change?.map(f64::ln_1p), own.floor.ln_1p()));
    let tested = |own: &Difference| Tested { p: own.p, change: beyond(own) };
    let judged = judge(&differences.iter().map(tested).collect::<Vec<_>>());
    for (own, judged) in differences.iter_mut().zip(judged) {
        (own.p_holm, own.differs) = (judged.p_holm, judged.differs);
    }
    differences
}

/// The value of each run of each line, over the places that both have. A point of which busy runs
/// only are left counts for none.
fn values(points: &[Point], both: &BTreeSet<Key>) -> BTreeMap<LineKey, Vec<f64>> {
    let mut lines: BTreeMap<LineKey, Vec<&Point>> = BTreeMap::new();
    for point in points.iter().filter(|point| both.contains(&point.key)) {
        lines.entry(line_of(&point.key)).or_default().push(point);
    }
    let of_line = |points: Vec<&Point>| {
        let clean = points.iter().all(|point| !point.busy);
        let runs = points.iter().map(|point| point.of_runs.len()).min().unwrap_or(0);
        let mean = |run: usize| {
            let logs = points.iter().map(|point| point.of_runs[run].ln());
            logs.sum::<f64>() / points.len() as f64
        };
        (0..if clean { runs } else { 0 }).map(mean).collect()
    };
    lines.into_iter().map(|(line, points)| (line, of_line(points))).collect()
}

/// A difference of logarithms less the floor, towards zero.
fn moved(change: Interval, floor: f64) -> Interval {
    let by = floor.copysign(change.estimate);
    change.map(|end| end - by)
}

/// How far apart the parts of a session's time are: the range of their centres. Zero of so few runs
/// that there are no two parts.
fn range_of_parts(values: &[f64]) -> f64 {
    let parts = PARTS.min(values.len() / FEWEST).max(1);
    let centre = |part: usize| {
        interquartile_mean(&values[part * values.len() / parts..(part + 1) * values.len() / parts])
    };
    let centres = || (0..parts).map(centre);
    let low = centres().fold(f64::INFINITY, f64::min);
    let high = centres().fold(f64::NEG_INFINITY, f64::max);
    if parts > 1 { high - low } else { 0.0 }
}

fn difference(
    line: &LineKey,
    places: usize,
    [one, other]: [&[f64]; 2],
    sessions: Sessions,
) -> Difference {
    let single = |values: &[f64]| values.iter().map(|&value| vec![value]).collect::<Vec<_>>();
    let (machine, ranks, test, variant) = line.clone();
    let change = bootstrap_difference(&single(other), &single(one));
    let floor = match sessions {
        Sessions::Apart => {
            LEAST.ln_1p().max(FARTHER * range_of_parts(one).max(range_of_parts(other)))
        }
        Sessions::InTurn => 0.0,
    };
    let estimate = change.map_or(0.0, |change| change.estimate);
    let by = floor.copysign(estimate);
    let beyond: Vec<f64> = other.iter().map(|own| own - by).collect();
    let is_beyond = estimate.abs() >= floor;
    Difference {
        machine,
        ranks,
        test,
        variant,
        places,
        runs: [one.len(), other.len()],
        change: change.map(|change| change.map(f64::exp_m1)),
        floor: floor.exp_m1(),
        p: if is_beyond { mann_whitney(&beyond, one) } else { 1.0 },
        p_holm: 1.0,
        differs: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::characterisation;
    use crate::point::tests::{record, series};

    fn apart(first: &[Point], second: &[Point]) -> Result<Vec<Difference>, ExperimentError> {
        compare(first, second, Sessions::Apart)
    }

    /// Sixteen rounds of a session, each with its factor.
    fn session(factor: impl Fn(u32) -> f64) -> Vec<Point> {
        let run = |at: u32| record(&[("latency", "in cache", 8, 0, 1e-6 * factor(at))], 0.0);
        characterisation(&series(), &(0..16).map(run).collect::<Vec<_>>()).points
    }

    /// A machine whose clock moves: its sessions differ by a tenth though nothing was changed.
    #[test]
    fn what_moved_within_a_session_is_not_told_between_two() {
        let luck = |at: u32| 1.0 + 0.001 * f64::from(at * 7 % 16);
        let moving = session(|at| luck(at) * (1.0 + 0.12 * f64::from(at / 4) / 3.0));
        let later = session(|at| luck(at) * 1.17);
        let found = apart(&moving, &later).expect("enough runs");
        assert!(!found[0].differs && found[0].floor > 0.1, "{found:?}");
        let steady = apart(&session(luck), &later).expect("enough runs");
        assert!(steady[0].differs, "both were steady: {steady:?}");
        assert!((steady[0].floor / LEAST - 1.0).abs() < 1e-9, "{steady:?}");
        let little = apart(&session(luck), &session(|at| luck(at) * 1.04)).expect("enough runs");
        assert!(!little[0].differs, "4 % are less than is told: {little:?}");
        let in_turn = compare(&session(luck), &session(|at| luck(at) * 1.04), Sessions::InTurn);
        assert!(in_turn.expect("enough runs")[0].differs, "one session moves both alike");
    }

    /// Numbers from -1 to 1 that look random, with a mean of zero.
    struct Luck(u64);

    impl Luck {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            2.0 * ((self.0 >> 11) as f64 / (1_u64 << 53) as f64) - 1.0
        }

        /// Noise that moves at every time scale alike, from one round to the next to a thousand.
        fn moving(&mut self, rounds: usize, by: f64) -> Vec<f64> {
            let mut all = vec![0.0; rounds];
            for scale in 0..10 {
                let (mut own, begin) = (by * self.next(), self.0 as usize % (1 << scale));
                for (at, value) in all.iter_mut().enumerate() {
                    if (at + begin).is_multiple_of(1 << scale) {
                        own = by * self.next();
                    }
                    *value += own;
                }
            }
            all
        }
    }

    /// Two sessions one after the other of a machine whose clock moves, and each test besides; the
    /// first test is of an emulated link, which keeps its rate, slowed down in the second session.
    fn two_sessions(luck: &mut Luck, names: &[String], slowed: f64) -> [Vec<Point>; 2] {
        let rounds = crate::plan::QUICK_ROUNDS as usize;
        let clock = luck.moving(2 * rounds, 0.02);
        let lines: Vec<Vec<f64>> = names.iter().map(|_| luck.moving(2 * rounds, 0.02)).collect();
        [0, 1].map(|session| {
            let records: Vec<_> = (session * rounds..(session + 1) * rounds)
                .map(|round| {
                    let row = |(at, name): (usize, &'_ String)| {
                        let moved = clock[round] + lines[at][round] + 0.05 * luck.next();
                        let link = 0.01 * luck.next() + slowed * session as f64;
                        let seconds = 1e-6 * if at == 0 { link } else { moved }.exp();
                        (name.clone(), seconds)
                    };
                    let rows: Vec<_> = names.iter().enumerate().map(row).collect();
                    let rows: Vec<_> =
                        rows.iter().map(|own| ("bcast", own.0.as_str(), 4, 4, own.1)).collect();
                    record(&rows, 0.0)
                })
                .collect();
            characterisation(&series(), &records).points
        })
    }

    #[test]
    fn of_twenty_comparisons_of_a_machine_that_moves_none_differs_but_a_slowed_link_is_found() {
        let names: Vec<String> = (0..30).map(|line| format!("line {line:02}")).collect();
        let mut luck = Luck(7);
        for pair in 0..20 {
            let [first, second] = two_sessions(&mut luck, &names, 0.105);
            let found = apart(&first, &second).expect("enough runs");
            let differ: Vec<&str> =
                found.iter().filter(|own| own.differs).map(|own| own.variant.as_str()).collect();
            assert_eq!(differ, ["line 00"], "{pair}");
        }
    }

    /// Twelve runs, each of which is slower or faster than the others by up to 2 %.
    fn runs(seed: u32, slower: f64, others_share: f64) -> Vec<Point> {
        let run = |at: u32| {
            let luck = 1.0 + 0.02 * f64::from((at * 37 + seed * 101) % 61) / 61.0;
            let rows = [
                ("latency", "in cache", 8, 0, luck * slower * 1e-6),
                ("latency", "in cache", 64, 0, luck * slower * 2e-6),
                ("bandwidth", "in cache", 64, 0, luck * 1e-6),
            ];
            record(&rows, others_share)
        };
        characterisation(&series(), &(0..12).map(run).collect::<Vec<_>>()).points
    }

    #[test]
    fn a_tenth_slower_is_found_and_nothing_else() {
        let differences = apart(&runs(1, 1.0, 0.0), &runs(2, 1.1, 0.0)).expect("alike");
        let found: Vec<(&str, bool)> =
            differences.iter().map(|own| (own.test.as_str(), own.differs)).collect();
        assert_eq!(found, [("bandwidth", false), ("latency", true)], "{differences:?}");
        let change = differences[1].change.expect("twelve runs each");
        assert!(change.low < 0.1 && 0.1 < change.high, "{change:?}");
        assert_eq!(differences[1].places, 2);
    }

    #[test]
    fn an_unchanged_machine_differs_in_nothing_twenty_times() {
        for seed in 0..20 {
            let same = apart(&runs(seed, 1.0, 0.0), &runs(seed + 20, 1.0, 0.0)).expect("alike");
            assert!(same.iter().all(|own| !own.differs), "{seed}: {same:?}");
        }
    }

    /// Two quick characterisations had six runs each once, and no verdict was possible.
    #[test]
    fn two_quick_characterisations_can_be_compared() {
        let names: Vec<String> = (0..120).map(|line| format!("line {line}")).collect();
        let quick = |seed: u32, slower: f64| {
            let run = |at: u32| {
                let luck = 1.0 + 0.02 * f64::from((at * 37 + seed * 101) % 61) / 61.0;
                let line = |(at, name): (usize, &'_ String)| {
                    let slower = if at == 7 { slower } else { 1.0 };
                    ("bcast", name.clone(), luck * slower * 1e-6)
                };
                let lines: Vec<_> = names.iter().enumerate().map(line).collect();
                let rows: Vec<_> =
                    lines.iter().map(|(test, name, s)| (*test, name.as_str(), 4, 4, *s)).collect();
                record(&rows, 0.0)
            };
            let runs: Vec<_> = (0..crate::plan::QUICK_ROUNDS).map(run).collect();
            characterisation(&series(), &runs).points
        };
        let found = apart(&quick(1, 1.0), &quick(2, 1.1)).expect("enough runs");
        let differing: Vec<&str> =
            found.iter().filter(|own| own.differs).map(|own| own.variant.as_str()).collect();
        assert_eq!((found.len(), differing), (120, vec!["line 7"]));
    }

    #[test]
    fn busy_or_few_runs_decide_nothing() {
        let refused = apart(&runs(1, 1.0, 0.9), &runs(2, 1.1, 0.0)).expect_err("all were busy");
        assert!(refused.to_string().contains("quiet machine"), "{refused}");
        let refused = apart(&runs(1, 1.0, 0.0), &[]).expect_err("nothing there");
        assert!(refused.to_string().contains("in common"), "{refused}");
        assert!((least_p(4) - 2.0 / 70.0).abs() < 1e-12 && least_p(0) >= 1.0);
    }
}
