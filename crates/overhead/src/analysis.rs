//! From records to verdicts: pairs, the noise floor, slowdowns with their intervals.
//!
//! Of each repetition the ratios of an arm's time to each run of the baseline are pairs. They are
//! taken as logarithms, so that a ratio and its inverse weigh the same, and reported as slowdowns:
//! 0.005 is half a per cent more time. A mean of the two runs would take one pair of two, but times
//! are skewed: the ratio of one run to a mean of two lies below 1 more often than above where
//! nothing differs.
//!
//! An arm is *slower* only if three things hold: its rank test stays below 5 % after Holm's rule
//! over all arms of the campaign, its interval lies above zero, and its estimate lies beyond the
//! noise floor, the far end of the interval of A/A pairs. Invariant: nothing depends on the order
//! of records.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tidings_experiment::outcome::Outcome;
use tidings_experiment::pressure::Contamination;
use tidings_experiment::statistics::{
    CONFIDENCE, Interval, aligned_ranks, bootstrap, holm, interquartile_mean,
};

use crate::Campaign;
use crate::campaign::Doing;
use crate::record::Record;
pub use crate::verdict::Verdict;

/// What a campaign has shown so far.
#[derive(Clone, Debug, Serialize)]
pub struct Analysis {
    /// A group is an application on a number of nodes.
    pub groups: Vec<Group>,
    /// The rule that dropped pairs.
    pub contamination: Contamination,
    /// Whether time was virtual.
    pub is_virtual: bool,
}

/// An application on a number of nodes.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The application's name.
    pub application: String,
    /// How many nodes.
    pub nodes: u32,
    /// The baseline: what its hidden ranks did, and its own figures.
    pub baseline: Side,
    /// A/A pairs that count.
    pub pairs: usize,
    /// A/A pairs that the rule dropped.
    pub contaminated: usize,
    /// Runs of nodes that did not say what else they did, which the rule drops.
    pub unknown: usize,
    /// The slowdown of the second baseline run of a repetition over the first: what noise alone
    /// does.
    pub noise: Option<Interval>,
    /// What each arm costs.
    pub effects: Vec<Effect>,
}

/// What an arm costs.
#[derive(Clone, Debug, Serialize)]
pub struct Effect {
    /// The arm's own figures.
    pub side: Side,
    /// Pairs that count.
    pub pairs: usize,
    /// Pairs that the rule dropped.
    pub contaminated: usize,
    /// Runs of the arm that gave no time.
    pub failed: usize,
    /// The slowdown: 0.01 is one per cent more time than the baseline.
    pub slowdown: Option<Interval>,
    /// The p of the rank test.
    pub p: f64,
    /// The same, adjusted for all comparisons of the campaign.
    pub p_holm: f64,
    /// What may be said.
    pub verdict: Verdict,
    /// Slowdowns of the phases, by name, with the noise of their own A/A pairs.
    pub phases: BTreeMap<String, Phase>,
    /// Logarithms of the pairs' ratios, those of a repetition together.
    #[serde(skip)]
    pub repetitions: Vec<Vec<f64>>,
}

impl Effect {
    /// One pair of each repetition, the first: for tests of numbers that do not depend on each
    /// other.
    pub(crate) fn one_a_repetition(&self) -> Vec<f64> {
        self.repetitions.iter().filter_map(|ratios| ratios.first().copied()).collect()
    }
}

/// A phase of an application.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Phase {
    /// Its time in the baseline, in seconds.
    pub baseline_s: f64,
    /// Its time in the arm, in seconds.
    pub seconds: f64,
    /// Its slowdown.
    pub slowdown: Option<Interval>,
    /// The slowdown of its A/A pairs.
    pub noise: Option<Interval>,
}

/// Means over the runs of an arm, each the interquartile mean.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Side {
    /// What the hidden ranks did.
    pub doing: Option<Doing>,
    /// Ranks, hidden ones included.
    pub ranks: u32,
    /// Runs that gave a time.
    pub runs: usize,
    /// The time, in seconds.
    pub seconds: Option<f64>,
    /// Share of the time in MPI.
    pub mpi_share: Option<f64>,
    /// Share of its time in which a gossip rank was not waiting.
    pub busy_share: Option<f64>,
    /// The same of the busiest rank.
    pub busy_share_most: Option<f64>,
    /// Mean age of entries, in milliseconds.
    pub age_avg_ms: Option<f64>,
    /// Age of a rank's oldest entry, in milliseconds.
    pub age_max_ms: Option<f64>,
    /// Messages of gossip that were dropped, a run.
    pub messages_dropped: Option<f64>,
    /// Further figures of the application.
    pub figures: BTreeMap<String, f64>,
    /// Logarithms of the times of runs that the rule does not drop.
    #[serde(skip)]
    pub logs: Vec<f64>,
}

impl Group {
    /// How large a slowdown noise alone shows; infinite where it was not measured.
    pub fn floor(&self) -> f64 {
        self.noise.map_or(f64::INFINITY, |noise| noise.reach())
    }
}

/// Evaluates the contents of a campaign's journal.
pub fn analyse(campaign: &Campaign, records: &[Record]) -> Analysis {
    let mut groups = Vec::new();
    for application in &campaign.applications {
        for &nodes in &campaign.nodes {
            let own = |record: &&Record| {
                record.application == application.name
                    && record.nodes == nodes
                    && record.repetition > 0
            };
            groups.push(group(campaign, nodes, records.iter().filter(own).collect()));
        }
    }
    let is_virtual = campaign.is_virtual();
    adjust(&mut groups, is_virtual);
    Analysis { groups, contamination: campaign.contamination, is_virtual }
}

fn group(campaign: &Campaign, nodes: u32, records: Vec<&Record>) -> Group {
    let repetitions = Repetitions { campaign, records };
    let noise = repetitions.noise(|record| record.seconds);
    let application = repetitions.records.first().map(|record| record.application.clone());
    Group {
        application: application.unwrap_or_default(),
        nodes,
        baseline: repetitions.side(&campaign.baseline, true),
        pairs: noise.repetitions.len(),
        contaminated: noise.contaminated,
        unknown: repetitions.unknown(),
        noise: noise.interval(campaign.is_virtual()),
        effects: campaign.arms.iter().map(|doing| repetitions.effect(doing)).collect(),
    }
}

/// Adjusts p for all comparisons, and says what may be said.
fn adjust(groups: &mut [Group], is_virtual: bool) {
    let all: Vec<f64> =
        groups.iter().flat_map(|group| group.effects.iter().map(|effect| effect.p)).collect();
    let mut adjusted = holm(&all).into_iter();
    for group in groups {
        let floor = group.floor();
        for (effect, p_holm) in group.effects.iter_mut().zip(&mut adjusted) {
            effect.p_holm = p_holm;
            effect.verdict = if is_virtual { exact(effect, floor) } else { verdict(effect, floor) };
        }
    }
}

fn verdict(effect: &Effect, floor: f64) -> Verdict {
    let Some(slowdown) = effect.slowdown else { return Verdict::TooFew };
    let is_clear = effect.p_holm <= 1.0 - CONFIDENCE && slowdown.estimate.abs() > floor;
    match slowdown {
        Interval { low, .. } if is_clear && low > 0.0 => Verdict::Slower,
        Interval { high, .. } if is_clear && high < 0.0 => Verdict::Faster,
        _ => Verdict::WithinNoise,
    }
}

/// In virtual time nothing but the arm differs: what all pairs say is so.
fn exact(effect: &Effect, floor: f64) -> Verdict {
    let slowdowns = || effect.repetitions.iter().flatten().map(|ratio| ratio.exp_m1());
    if effect.repetitions.is_empty() {
        Verdict::TooFew
    } else if slowdowns().all(|slowdown| slowdown > floor) {
        Verdict::Slower
    } else if slowdowns().all(|slowdown| slowdown < -floor) {
        Verdict::Faster
    } else {
        Verdict::WithinNoise
    }
}

/// The runs of a group.
struct Repetitions<'a> {
    campaign: &'a Campaign,
    records: Vec<&'a Record>,
}

/// Pairs of an arm, those of a repetition together, and in how many repetitions they were dropped.
struct Pairs {
    repetitions: Vec<Vec<f64>>,
    contaminated: usize,
}

impl Pairs {
    /// Without repetitions in which a time of 0, of a phase that was not there, has no logarithm.
    fn finite(mut self) -> Self {
        self.repetitions.retain(|ratios| ratios.iter().all(|ratio| ratio.is_finite()));
        self
    }

    /// The slowdown; in virtual time one pair is enough.
    fn interval(&self, is_virtual: bool) -> Option<Interval> {
        let of_one = || match &self.repetitions[..] {
            [repetition] if is_virtual => {
                let ratio = interquartile_mean(repetition);
                Some(Interval { estimate: ratio, low: ratio, high: ratio })
            }
            _ => None,
        };
        Some(bootstrap(&self.repetitions).or_else(of_one)?.map(f64::exp_m1))
    }
}

impl<'a> Repetitions<'a> {
    /// Runs of an arm, or of the baseline, that gave a time.
    fn runs(&self, doing: &Doing, baseline: bool) -> impl Iterator<Item = &'a Record> {
        let wanted = (doing.clone(), baseline);
        let runs: Vec<&Record> = self.records.clone();
        runs.into_iter().filter(move |record| {
            (&record.doing, record.baseline) == (&wanted.0, wanted.1)
                && record.outcome == Outcome::Ok
        })
    }

    /// Runs of an arm by repetition, the first run of a baseline before the second.
    fn by_repetition(&self, doing: &Doing, baseline: bool) -> BTreeMap<u32, Vec<&'a Record>> {
        let mut repetitions: BTreeMap<u32, Vec<&Record>> = BTreeMap::new();
        for record in self.runs(doing, baseline) {
            repetitions.entry(record.repetition).or_default().push(record);
        }
        for runs in repetitions.values_mut() {
            runs.sort_unstable_by_key(|record| record.again);
        }
        repetitions
    }

    fn is_clean(&self, record: &Record) -> bool {
        self.is_known(record) && !self.campaign.contamination.is_passed_by(&record.disturbance)
    }

    /// Whether the rule can judge a run: this machine always says what its bounds are of.
    fn is_known(&self, record: &Record) -> bool {
        !self.campaign.is_on_nodes()
            || self.campaign.contamination.is_answered_by(&record.disturbance)
    }

    fn unknown(&self) -> usize {
        let made = self.records.iter().filter(|record| record.outcome == Outcome::Ok);
        made.filter(|record| !self.is_known(record)).count()
    }

    /// A/A pairs: the second baseline run of a repetition over the first.
    fn noise(&self, time: impl Fn(&Record) -> Option<f64>) -> Pairs {
        let mut pairs = Pairs { repetitions: Vec::new(), contaminated: 0 };
        for runs in self.by_repetition(&self.campaign.baseline, true).values() {
            let run = |again| runs.iter().find(|record| record.again == again);
            let Some((first, second)) = run(false).zip(run(true)) else { continue };
            if !self.is_clean(first) || !self.is_clean(second) {
                pairs.contaminated += 1;
            } else if let Some((first, second)) = time(first).zip(time(second)) {
                pairs.repetitions.push(vec![(second / first).ln()]);
            }
        }
        pairs.finite()
    }

    /// Pairs of an arm and each run of the baseline in the same repetition.
    fn pairs(&self, doing: &Doing, time: impl Fn(&Record) -> Option<f64>) -> Pairs {
        let mut pairs = Pairs { repetitions: Vec::new(), contaminated: 0 };
        let baselines = self.by_repetition(&self.campaign.baseline, true);
        for (repetition, runs) in self.by_repetition(doing, false) {
            // In virtual time the baseline of the first repetition serves all.
            let repetition = if self.campaign.is_virtual() { 1 } else { repetition };
            let Some(baseline) = baselines.get(&repetition) else { continue };
            let clean = baseline.iter().filter(|record| self.is_clean(record));
            let logs: Vec<f64> = clean.filter_map(|record| time(record).map(f64::ln)).collect();
            if logs.is_empty() || !self.is_clean(runs[0]) {
                pairs.contaminated += 1;
            } else if let Some(seconds) = time(runs[0]) {
                pairs.repetitions.push(logs.iter().map(|log| seconds.ln() - log).collect());
            }
        }
        pairs.finite()
    }

    fn effect(&self, doing: &Doing) -> Effect {
        let is_virtual = self.campaign.is_virtual();
        let pairs = self.pairs(doing, |record| record.seconds);
        let failed = self.records.iter().filter(|record| {
            !record.baseline && record.doing == *doing && record.outcome != Outcome::Ok
        });
        Effect {
            side: self.side(doing, false),
            pairs: pairs.repetitions.len(),
            contaminated: pairs.contaminated,
            failed: failed.count(),
            slowdown: pairs.interval(is_virtual),
            p: aligned_ranks(&pairs.repetitions),
            p_holm: 1.0,
            verdict: Verdict::TooFew,
            phases: self.phases(doing),
            repetitions: pairs.repetitions,
        }
    }

    fn phases(&self, doing: &Doing) -> BTreeMap<String, Phase> {
        let is_virtual = self.campaign.is_virtual();
        let runs = || self.runs(doing, false);
        let names: BTreeSet<&String> = runs().flat_map(|record| record.phases.keys()).collect();
        let mut phases = BTreeMap::new();
        for name in names {
            let time = |record: &Record| record.phases.get(name).copied();
            let mean = |runs: &mut dyn Iterator<Item = &Record>| {
                interquartile_mean(&runs.filter_map(time).collect::<Vec<_>>())
            };
            let phase = Phase {
                baseline_s: mean(&mut self.runs(&self.campaign.baseline, true)),
                seconds: mean(&mut runs()),
                slowdown: self.pairs(doing, time).interval(is_virtual),
                noise: self.noise(time).interval(is_virtual),
            };
            phases.insert(name.clone(), phase);
        }
        phases
    }

    fn side(&self, doing: &Doing, baseline: bool) -> Side {
        let runs: Vec<&Record> = self.runs(doing, baseline).collect();
        let mean = |read: &dyn Fn(&Record) -> Option<f64>| {
            let values: Vec<f64> = runs.iter().filter_map(|&record| read(record)).collect();
            (!values.is_empty()).then(|| interquartile_mean(&values))
        };
        // Gossip that was stopped before its warm-up was over has counted nothing.
        let reported = |key: &'static str| {
            mean(&|record: &Record| {
                record.gossip(key).filter(|_| record.gossip("measured_s") > Some(0.0))
            })
        };
        let interval_ms = match doing {
            Doing::Gossip { interval_ms, .. } => Some(*interval_ms),
            _ => None,
        };
        // Ages mean something where entries travel; the reports of busy ranks have none.
        let age = |key| interval_ms.and_then(|unit_ms| Some(reported(key)? * unit_ms));
        let names: BTreeSet<&String> =
            runs.iter().flat_map(|record| record.figures.keys()).collect();
        let figures = names.into_iter().filter_map(|name| {
            Some((name.clone(), mean(&|record: &Record| record.figures.get(name).copied())?))
        });
        Side {
            doing: Some(doing.clone()),
            ranks: runs.first().map_or(0, |record| record.ranks),
            runs: runs.len(),
            seconds: mean(&|record: &Record| record.seconds),
            mpi_share: mean(&Record::mpi_share),
            busy_share: reported("busy_share"),
            busy_share_most: reported("busy_share_most"),
            age_avg_ms: age("age_avg_units"),
            age_max_ms: age("age_max_units"),
            messages_dropped: mean(&|record: &Record| record.gossip("messages_dropped")),
            figures: figures.collect(),
            logs: runs
                .iter()
                .filter(|record| self.is_clean(record))
                .filter_map(|record| record.seconds.map(f64::ln))
                .collect(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::campaign::tests::{SMPI, campaign_of, small};
    use crate::record::tests::record;

    /// Records of a campaign in which each arm takes so much longer, over noise of one in
    /// `noise` that repeats itself.
    pub(crate) fn records(campaign: &Campaign, slowdowns: &[f64], noise: f64) -> Vec<Record> {
        let mut records = Vec::new();
        for planned in crate::schedule::plan(campaign) {
            let at = planned.index;
            let wobble = 1.0 + noise * (f64::from(at * 7919 % 1009) / 1009.0 - 0.5);
            let slowdown = match planned.role {
                crate::schedule::Role::Treatment(arm) => slowdowns[arm],
                _ => 0.0,
            };
            let doing = planned.doing(campaign).clone();
            let mut run = record(at, planned.repetition, doing, 2.0 * wobble * (1.0 + slowdown));
            run.application.clone_from(&campaign.applications[planned.application].name);
            run.nodes = planned.nodes;
            run.again = planned.role == crate::schedule::Role::Again;
            run.baseline = planned.role <= crate::schedule::Role::Again;
            records.push(run);
        }
        records
    }

    #[test]
    fn a_slowdown_above_the_noise_is_found_and_one_below_is_not_reported() {
        let campaign = small(40);
        let analysis = analyse(&campaign, &records(&campaign, &[0.02, 0.0], 0.01));
        let group = &analysis.groups[0];
        assert_eq!((group.pairs, group.contaminated), (40, 0));
        assert!(group.floor() < 0.005, "{:?}", group.noise);
        let slow = &group.effects[0];
        let found = slow.slowdown.expect("forty pairs");
        assert!((found.estimate - 0.02).abs() < 0.003, "{found:?}");
        assert_eq!(slow.verdict, Verdict::Slower);
        assert_eq!(group.effects[1].verdict, Verdict::WithinNoise);
        assert_eq!(group.baseline.runs, 80);
    }

    #[test]
    fn contaminated_pairs_are_dropped_and_counted() {
        let campaign = small(20);
        let mut all = records(&campaign, &[0.0, 0.0], 0.01);
        for run in all.iter_mut().filter(|run| run.repetition == 3 || run.repetition == 5) {
            run.disturbance.steal_share = Some(0.06);
            run.seconds = Some(100.0);
        }
        let analysis = analyse(&campaign, &all);
        let group = &analysis.groups[0];
        assert_eq!((group.pairs, group.contaminated), (18, 2));
        assert_eq!((group.effects[0].pairs, group.effects[0].contaminated), (18, 2));
        assert!(group.effects[0].slowdown.is_some_and(|found| found.reach() < 0.01));
    }

    #[test]
    fn nothing_depends_on_the_order_of_records_nor_on_warming_up() {
        let campaign = small(20);
        let all = records(&campaign, &[0.01, 0.0], 0.02);
        let mut turned = all.clone();
        turned.reverse();
        turned.push(record(9_999, 0, Doing::Asleep, 1e6));
        let reported = |records: &[Record]| {
            let group = analyse(&campaign, records).groups.remove(0);
            let effects = group.effects.iter().map(|effect| (effect.slowdown, effect.p));
            format!("{:?} {:?}", group.noise, effects.collect::<Vec<_>>())
        };
        assert_eq!(reported(&all), reported(&turned));
    }

    #[test]
    fn in_virtual_time_one_repetition_is_exact() {
        let campaign = campaign_of(SMPI);
        let analysis = analyse(&campaign, &records(&campaign, &[0.001, 0.0], 0.0));
        let group = &analysis.groups[0];
        assert!(group.floor().abs() < f64::EPSILON);
        assert_eq!(group.effects[0].verdict, Verdict::Slower);
        assert_eq!(group.effects[1].verdict, Verdict::WithinNoise);
    }

    #[test]
    fn a_campaign_without_runs_says_nothing() {
        let analysis = analyse(&small(20), &[]);
        assert_eq!(analysis.groups[0].effects[0].verdict, Verdict::TooFew);
        assert!(analysis.groups[0].noise.is_none());
    }
}
