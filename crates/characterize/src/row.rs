//! A row of `mpi/characterize`: what was measured, or why it was not.
//!
//! Rows come from a program, so each is believed only as far as it has the form; a sample that is
//! no time is left out, and a row without samples is no measurement.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Clocks do not drift apart by so much, in seconds, while a series is measured: one was set.
const LARGEST_DRIFT_S: f64 = 0.05;
/// More samples than this are not of one series.
const MOST_SAMPLES: usize = 1_000_000;

/// What a row says.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// Samples of a series.
    Samples(Samples),
    /// A part that was not measured.
    Skipped(Skipped),
    /// Where ranks are.
    Places(Places),
    /// What an order of ranks does to the links of a torus.
    Prediction(Prediction),
}

/// Samples of a series, in the order in which they were taken.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Samples {
    /// The test.
    pub test: String,
    /// The line in its figure.
    pub variant: String,
    /// Bytes of a message.
    pub bytes: f64,
    /// What else changes: hops, workers, streams, ranks; 0 if nothing does.
    pub count: f64,
    /// Whether all that was received was right.
    pub valid: bool,
    /// How many samples at the begin were started without a common moment.
    pub warmups: usize,
    /// Repetitions that were left out because a rank was late.
    pub late: f64,
    /// How far starts may lie apart because of the clocks.
    pub start_error_s: f64,
    /// Ranks of the machine, if it is a model of one, which no other work disturbs.
    #[serde(default)]
    pub modelled_ranks: Option<u32>,
    /// Seconds a message.
    #[serde(rename = "samples_s")]
    pub taken_s: Vec<Option<f64>>,
}

impl Samples {
    /// The samples that are times.
    pub fn times_s(&self) -> Vec<f64> {
        let times = self.taken_s.iter().take(MOST_SAMPLES).flatten();
        times.copied().filter(|own| own.is_finite() && *own > 0.0).collect()
    }
}

/// A part that was not measured.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Skipped {
    /// The test.
    pub test: String,
    /// Which part of it.
    pub variant: String,
    /// The reason.
    #[serde(rename = "skipped")]
    pub reason: String,
}

/// Where ranks are.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Places {
    /// The MPI library, in its own words.
    pub library: String,
    /// The names of nodes.
    pub names: Vec<String>,
    /// The node of each rank.
    pub node_of: Vec<f64>,
    /// The lengths of the torus that nodes are, if they are one.
    pub torus: Option<Vec<f64>>,
    /// The lengths of the mesh that nodes are, if they are one.
    pub mesh: Option<Vec<f64>>,
    /// What the network of a model is, if it is neither.
    pub network: Option<String>,
    /// The counts that it is made of.
    pub shape: Option<Vec<f64>>,
    /// Why ranks are not where they were to be.
    pub misplaced: Option<String>,
}

/// What an order of ranks does to the links of a torus.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Prediction {
    /// The order.
    pub variant: String,
    /// Mean over messages, those inside a node included.
    pub hops_a_message: f64,
    /// The messages of the link that has most.
    pub messages_of_the_busiest_link: f64,
    /// How long the link that takes longest needs for one byte of each of its messages, if the
    /// rates of links are known.
    pub busiest_s_a_byte: Option<f64>,
}

impl Places {
    /// What the network is and the counts that it is made of, if that is known.
    pub fn network(&self) -> Option<(&str, Vec<u32>)> {
        let whole = |counts: &Vec<f64>| counts.iter().map(|own| *own as u32).collect();
        let named = [("torus", &self.torus), ("mesh", &self.mesh)];
        let named = named.into_iter().find_map(|(kind, own)| Some((kind, own.as_ref()?)));
        let other = || Some((self.network.as_deref()?, self.shape.as_ref()?));
        named.or_else(other).map(|(kind, counts)| (kind, whole(counts)))
    }
}

impl Row {
    /// Samples, if clocks went on evenly and any repetition began when it should.
    fn of_samples(samples: Samples) -> Self {
        if samples.start_error_s > LARGEST_DRIFT_S {
            let reason = format!(
                "a clock was set by {:.3} s while it was measured: keep clocks from being set, and \
                 measure again",
                samples.start_error_s
            );
            return Self::Skipped(Skipped { test: samples.test, variant: samples.variant, reason });
        }
        if samples.times_s().len() > samples.warmups {
            return Self::Samples(samples);
        }
        let reason =
            "no repetition began on time: measure when the machine is quiet, or say --late";
        let reason = reason.to_owned();
        Self::Skipped(Skipped { test: samples.test, variant: samples.variant, reason })
    }

    /// The row of an object; `None` if it has no known form.
    pub fn of(object: &Value) -> Option<Self> {
        let has = |key: &str| object.get(key).is_some();
        let own = object.clone();
        if has("samples_s") {
            serde_json::from_value(own).ok().map(Self::of_samples)
        } else if has("skipped") {
            serde_json::from_value(own).ok().map(Self::Skipped)
        } else if has("node_of") {
            serde_json::from_value(own).ok().map(Self::Places)
        } else if has("hops_a_message") {
            serde_json::from_value(own).ok().map(Self::Prediction)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_is_known_by_what_it_has_and_samples_that_are_no_times_are_left_out() {
        let row = json!({"test": "latency", "variant": "in cache", "bytes": 8, "count": 0,
            "messages": 20, "valid": true, "warmups": 1, "wanted": 3, "late": 0,
            "late_limit_s": 5e-6, "start_error_s": 1e-7, "samples_s": [1e-6, null, -1, 2e-6]});
        let Some(Row::Samples(samples)) = Row::of(&row) else { panic!("samples") };
        assert_eq!(samples.times_s(), [1e-6, 2e-6]);
        let mut late = row.clone();
        late["warmups"] = json!(2);
        assert!(
            matches!(Row::of(&late), Some(Row::Skipped(own)) if own.reason.contains("on time"))
        );
        let mut stepped = row.clone();
        stepped["start_error_s"] = json!(3600.0);
        assert!(
            matches!(Row::of(&stepped), Some(Row::Skipped(own)) if own.reason.contains("clock was set"))
        );
        let skipped = json!({"test": "hops", "variant": "", "skipped": "needs 3 nodes"});
        assert!(matches!(Row::of(&skipped), Some(Row::Skipped(_))));
        for odd in [json!({}), json!(3), json!({"test": "x", "samples_s": "no"})] {
            assert_eq!(Row::of(&odd), None);
        }
    }
}
