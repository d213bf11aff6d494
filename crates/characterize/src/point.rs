//! Points: what the runs of a series measured at one place of a figure, without their warm-up.
//!
//! A run's warm-up ends where its samples change for the last time in their first half
//! (`change_point`), and not before starts are synchronised. Runs on a machine that did other
//! things are left out and counted, by the rule of campaigns; only if that leaves none do they
//! count, and the point says so.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;
use tidings_experiment::outcome::Outcome;
use tidings_experiment::pressure::Contamination;
use tidings_experiment::series::{Record, Series, beside};
use tidings_experiment::statistics::{
    Interval, bootstrap, change_point, interquartile_mean, quantiles,
};

use crate::left_out::{LeftOut, left_out};
use crate::row::{Places, Prediction, Row, Samples, Skipped};

/// What a point is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Key {
    /// The machine's name in the series.
    pub machine: String,
    /// Ranks of the run.
    pub ranks: u32,
    /// The test.
    pub test: String,
    /// The line in its figure.
    pub variant: String,
    /// Bytes of a message.
    pub bytes: u64,
    /// What else changes; 0 if nothing does.
    pub count: u64,
}

/// A point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// What it is of.
    #[serde(flatten)]
    pub key: Key,
    /// Seconds a message, with its interval if there is more than one sample.
    pub seconds: Interval,
    /// The quartiles of the samples that count, in seconds.
    pub quartiles_s: [f64; 3],
    /// The interquartile mean of each run that counts, in seconds.
    pub of_runs: Vec<f64>,
    /// Samples that count, and those of the warm-up.
    pub samples: usize,
    /// Samples of warm-up, of all runs.
    pub warm_up: usize,
    /// Repetitions left out because a rank was late.
    pub late: f64,
    /// How far starts may lie apart because of the clocks, in seconds.
    pub start_error_s: f64,
    /// Runs that were left out because the machine did other things.
    pub contaminated: usize,
    /// Whether all that was received was right.
    pub valid: bool,
    /// Whether it has only runs that should have been left out.
    pub busy: bool,
}

/// All that was measured.
#[derive(Clone, Debug, Default)]
pub struct Characterisation {
    /// Points, by what they are of.
    pub points: Vec<Point>,
    /// The same beside gossip, if runs were made so; those of `points` are then beside hidden ranks
    /// that sleep.
    pub beside_gossip: Vec<Point>,
    /// What was not measured, each once.
    pub skipped: BTreeSet<Skipped>,
    /// What orders of ranks do, by the order.
    pub predictions: BTreeMap<String, Prediction>,
    /// Where ranks were, in the run that had most.
    pub places: Option<Places>,
    /// Runs that failed, with the reason.
    pub failed: Vec<String>,
    /// Runs that were not made.
    pub left_out: Vec<LeftOut>,
}

impl Characterisation {
    /// Why runs were left out, where that is known.
    pub fn say_why_left_out(&mut self, reason: &str) {
        for own in &mut self.left_out {
            reason.clone_into(&mut own.skipped.reason);
        }
    }

    /// All that was not measured: parts of runs, and runs.
    pub fn not_measured(&self) -> impl Iterator<Item = &Skipped> {
        self.skipped.iter().chain(self.left_out.iter().map(|own| &own.skipped))
    }
}

/// The samples of a run at a place.
struct Run {
    times_s: Vec<f64>,
    warm_up: usize,
    is_contaminated: bool,
    samples: Samples,
}

/// What the runs of a series have measured.
pub fn characterisation(series: &Series, records: &[Record]) -> Characterisation {
    let mut all =
        Characterisation { left_out: left_out(series, records), ..Characterisation::default() };
    let mut all_runs: [BTreeMap<Key, Vec<Run>>; 2] = Default::default();
    for record in records {
        if record.outcome != Outcome::Ok {
            let message = record.message.as_deref().unwrap_or("failed");
            all.failed.push(format!("{} on {} ranks {message}", record.program, record.ranks));
            continue;
        }
        let here = series.machines.iter().find(|machine| machine.name == record.machine);
        let is_here = here.is_some_and(|machine| machine.backend.is_here());
        let rule = Contamination::default().or_default();
        let is_contaminated = is_here && rule.is_passed_by(&record.disturbance);
        let doing = record.settings.get(beside::SETTING).and_then(Value::as_str);
        let runs = &mut all_runs[usize::from(doing == Some(beside::GOSSIP))];
        for row in record.rows.iter().filter_map(Row::of) {
            match row {
                Row::Samples(samples) => {
                    let own = runs.entry(key(record, &samples)).or_default();
                    let is_disturbed = is_contaminated && samples.modelled_ranks.is_none();
                    own.push(run(samples, is_disturbed));
                }
                Row::Skipped(skipped) => {
                    all.skipped.insert(skipped);
                }
                Row::Prediction(own) => {
                    all.predictions.insert(own.variant.clone(), own);
                }
                Row::Places(own) => {
                    let most = all.places.as_ref().map_or(0, |places| places.node_of.len());
                    if own.node_of.len() >= most {
                        all.places = Some(own);
                    }
                }
            }
        }
    }
    [all.points, all.beside_gossip] =
        all_runs.map(|runs| runs.into_iter().map(|(key, runs)| point(key, &runs)).collect());
    all
}

fn key(record: &Record, samples: &Samples) -> Key {
    Key {
        machine: record.machine.clone(),
        ranks: samples.modelled_ranks.unwrap_or(record.ranks),
        test: samples.test.clone(),
        variant: samples.variant.clone(),
        bytes: samples.bytes as u64,
        count: samples.count as u64,
    }
}

fn run(samples: Samples, is_contaminated: bool) -> Run {
    let times_s = samples.times_s();
    let synchronised = samples.warmups.min(times_s.len().saturating_sub(1));
    let changed = change_point(&times_s[synchronised..]).map_or(0, |place| synchronised + place);
    // A change in the second half is no warm-up: something else happened, and it is measured.
    let is_warm_up = changed <= times_s.len() / 2;
    let warm_up = if is_warm_up { changed.max(synchronised) } else { synchronised };
    Run { times_s, warm_up, is_contaminated, samples }
}

fn point(key: Key, runs: &[Run]) -> Point {
    let clean: Vec<&Run> = runs.iter().filter(|run| !run.is_contaminated).collect();
    let busy = clean.is_empty();
    let counted: Vec<&Run> = if busy { runs.iter().collect() } else { clean };
    let samples = |run: &&Run| run.times_s[run.warm_up..].to_vec();
    let of_runs: Vec<Vec<f64>> = counted.iter().map(samples).collect();
    // Of one run the samples are all there is; of several, a run is what is drawn again.
    let single = |run: &Vec<f64>| run.iter().map(|&own| vec![own]).collect::<Vec<_>>();
    let drawn = if let [one] = &of_runs[..] { single(one) } else { of_runs.clone() };
    let together = of_runs.concat();
    let estimate = interquartile_mean(&together);
    Point {
        quartiles_s: quantiles(&together, [0.25, 0.5, 0.75]),
        seconds: bootstrap(&drawn).unwrap_or(Interval { estimate, low: estimate, high: estimate }),
        samples: of_runs.iter().map(Vec::len).sum(),
        of_runs: of_runs.iter().map(|own| interquartile_mean(own)).collect(),
        warm_up: counted.iter().map(|run| run.warm_up).sum(),
        late: counted.iter().map(|run| run.samples.late).sum(),
        start_error_s: counted.iter().map(|run| run.samples.start_error_s).fold(0.0, f64::max),
        contaminated: runs.iter().filter(|run| run.is_contaminated).count(),
        valid: counted.iter().all(|run| run.samples.valid),
        busy,
        key,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use super::*;
    use serde_json::json;

    /// A series of one machine on which runs are.
    pub(crate) fn series() -> Series {
        let text = "name = \"m\"\nlimit_s = 1.0\n[[machines]]\nname = \"here\"\n\
                    backend = { kind = \"local\", mpi = \"openmpi\" }\n[[programs]]\n\
                    name = \"all\"\nmachines = [\"here\"]\nnodes = [2]\ncommand = [\"x\"]\n";
        Series::from_text(text, Path::new("m.toml")).expect("a right series")
    }

    /// A run with one row for each of these: test, variant, bytes, count, seconds.
    pub(crate) fn record(rows: &[(&str, &str, u64, u64, f64)], others_share: f64) -> Record {
        let rows: Vec<_> = rows
            .iter()
            .map(|&(test, variant, bytes, count, seconds)| {
                let samples: Vec<f64> =
                    (0..24).map(|at| seconds * (1.0 + 0.01 * f64::from(at % 5))).collect();
                json!({"test": test, "variant": variant, "bytes": bytes, "count": count,
                    "messages": 1, "valid": true, "warmups": 4, "wanted": 20, "late": 1,
                    "late_limit_s": 5e-6, "start_error_s": 1e-7, "samples_s": samples})
            })
            .collect();
        let record = json!({"index": 0, "program": "all", "machine": "here", "nodes": 2,
            "ranks": 2, "settings": {}, "started": "", "outcome": "ok", "exit_code": 0,
            "message": null, "wall_s": 1.0, "others_share": others_share, "rows": rows,
            "report": null});
        serde_json::from_value(record).expect("a record")
    }

    #[test]
    fn a_point_has_neither_the_warm_up_nor_busy_runs() {
        let rows = [("latency", "in cache", 8, 0, 1e-6)];
        let mut slow = record(&rows, 0.0);
        for at in 0..12 {
            slow.rows[0]["samples_s"][at] = json!(5e-6 + 1e-8 * at as f64);
        }
        let busy = record(&[("latency", "in cache", 8, 0, 9e-6)], 0.9);
        let all = characterisation(&series(), &[slow, record(&rows, 0.1), busy.clone()]);
        let [point] = &all.points[..] else { panic!("{all:?}") };
        assert_eq!((point.samples, point.warm_up, point.contaminated), (12 + 20, 12 + 4, 1));
        assert!((point.seconds.estimate - 1.02e-6).abs() < 1e-8, "{point:?}");
        assert!(point.valid && !point.busy && point.of_runs.len() == 2);
        let all = characterisation(&series(), &[busy]);
        assert!(all.points[0].busy, "the one run there is counts, and is named busy");
    }

    #[test]
    fn quartiles_are_of_the_samples_that_count() {
        // After four of warm-up, which are of this machine's slow beginning.
        let mut run = record(&[("latency", "in cache", 8, 0, 1e-6)], 0.0);
        for at in 0..24_u32 {
            let seconds = if at < 4 { 1.0 } else { 1e-6 * f64::from(1 + at % 5) };
            run.rows[0]["samples_s"][at as usize] = json!(seconds);
        }
        let all = characterisation(&series(), &[run]);
        let [p25, p50, p75] = all.points[0].quartiles_s;
        assert_eq!([p25, p50, p75].map(|own| format!("{:.0}", 1e6 * own)), ["2", "3", "4"]);
        let estimate = all.points[0].seconds.estimate;
        assert!(p25 <= estimate && estimate <= p75, "{estimate}");
    }

    #[test]
    fn a_model_has_the_ranks_that_it_says_and_no_load_disturbs_it() {
        let mut run = record(&[("hotspot", "mean of workers", 1, 4, 1e-6)], 0.9);
        run.rows[0]["modelled_ranks"] = json!(131_072);
        let all = characterisation(&series(), &[run]);
        let [point] = &all.points[..] else { panic!("{all:?}") };
        assert_eq!((point.key.ranks, point.contaminated, point.busy), (131_072, 0, false));
    }

    #[test]
    fn what_was_skipped_or_failed_is_kept_with_its_reason() {
        let mut run = record(&[], 0.0);
        run.rows = vec![json!({"test": "hops", "variant": "", "skipped": "needs 3 nodes"})];
        let mut failed = record(&[], 0.0);
        failed.outcome = Outcome::Late;
        failed.message = Some("took longer".to_owned());
        let all = characterisation(&series(), &[run.clone(), run, failed]);
        assert_eq!((all.skipped.len(), all.failed.len(), all.points.len()), (1, 1, 0));
    }
}
