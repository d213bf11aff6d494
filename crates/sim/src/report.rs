//! The report: what a run gives, as one object with units in its names.
//!
//! Figures count from the end of the warm-up to the last sample. Two reports of one scenario are
//! equal but for `wall_s`, which only the caller can measure. docs/reference/sim.md says what each
//! field is.

use serde::Serialize;

use crate::checker::Findings;
use crate::deaths::Deaths;
use crate::departed::Departed;
use crate::network::Fates;
use crate::sample::{Distribution, Samples};
use crate::scenario::Scenario;
use crate::trace::Trace;

/// What nodes did, summed over all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) messages: u64,
    pub(crate) datagrams: u64,
    pub(crate) bytes: u64,
    pub(crate) entries_sent: u64,
    pub(crate) entries_received: u64,
    pub(crate) entries_news: u64,
    pub(crate) suspicions: u64,
    pub(crate) suspicions_cleared: u64,
    pub(crate) probes: u64,
    pub(crate) excess: u64,
}

impl Totals {
    /// What was done since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            messages: self.messages - earlier.messages,
            datagrams: self.datagrams - earlier.datagrams,
            bytes: self.bytes - earlier.bytes,
            entries_sent: self.entries_sent - earlier.entries_sent,
            entries_received: self.entries_received - earlier.entries_received,
            entries_news: self.entries_news - earlier.entries_news,
            suspicions: self.suspicions - earlier.suspicions,
            suspicions_cleared: self.suspicions_cleared - earlier.suspicions_cleared,
            probes: self.probes - earlier.probes,
            excess: self.excess - earlier.excess,
        }
    }
}

/// What a simulation ends with.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) samples: Samples,
    pub(crate) units_measured: u32,
    pub(crate) totals: Totals,
    pub(crate) nodes_up: u32,
    pub(crate) never_heard_pairs: u64,
    pub(crate) first_full_view_units: Option<u32>,
    pub(crate) fates: Option<Fates>,
    pub(crate) findings: Option<Findings>,
    pub(crate) departed: Vec<Departed>,
    pub(crate) deaths: Option<Deaths>,
    pub(crate) trace: Trace,
}

/// What a run gives. `None` where nothing was measured.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// Mean age over all ordered pairs of distinct nodes that were up, one sample a unit.
    pub age_avg_units: Option<f64>,
    /// Age of a node's oldest entry of a node that was up: mean over nodes and samples.
    pub age_max_units: Option<f64>,
    /// The age that half of all ages do not exceed.
    pub age_p50_units: Option<f64>,
    /// The age that 90 % do not exceed.
    pub age_p90_units: Option<f64>,
    /// The age that 99 % do not exceed.
    pub age_p99_units: Option<f64>,
    /// The greatest age of all.
    pub age_highest_units: Option<f64>,
    /// Ordered pairs of nodes up at the last sample, the first without an entry of the second.
    pub never_heard_pairs: u64,
    /// Units from the start to the first sample at which there was no such pair.
    pub first_full_view_units: Option<u32>,
    /// Units that were measured; fewer than asked for if the run was stopped.
    pub units_measured: u32,
    /// Whether all units were measured.
    pub complete: bool,
    /// Nodes up at the last sample.
    pub nodes_up: u32,
    /// Messages sent: windows, asks and answers, each however many datagrams it took.
    pub messages: u64,
    /// Datagrams sent.
    pub datagrams: u64,
    /// Bytes of UDP payload sent.
    pub bytes: u64,
    /// Entries in the windows sent.
    pub entries_sent: u64,
    /// Entries that arrived.
    pub entries_received: u64,
    /// Share of them that were newer than what their receiver held.
    pub news_share: Option<f64>,
    /// Seconds the run took; set by the caller, since the simulator has no clock.
    pub wall_s: Option<f64>,
    /// One number for all that was delivered, in 16 hexadecimal digits.
    pub trace_hash: String,
    /// What became of the datagrams of the whole run; only in full mode.
    pub network: Option<Fates>,
    /// What the checkers found in the whole run; only in full mode.
    pub checks: Option<Findings>,
    /// What became known of deaths in the whole run; only where nodes are declared dead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deaths: Option<Deaths>,
    /// The scenario, with every default filled in.
    pub parameters: Scenario,
    /// How the ages are spread; no part of the object that is printed.
    #[serde(skip)]
    pub ages: Distribution,
    /// The nodes that are down at the last sample, as the others hold them; not printed either.
    #[serde(skip)]
    pub departed: Vec<Departed>,
}

impl Report {
    /// The report of a run of `scenario`.
    pub(crate) fn of(scenario: &Scenario, outcome: Outcome) -> Self {
        let Outcome { samples, totals, .. } = outcome;
        let arrived = totals.entries_received;
        let ages = samples.distribution();
        Self {
            age_avg_units: samples.average_units(),
            age_max_units: samples.oldest_units(),
            age_p50_units: ages.quantile_units(0.5),
            age_p90_units: ages.quantile_units(0.9),
            age_p99_units: ages.quantile_units(0.99),
            age_highest_units: samples.highest_units(),
            never_heard_pairs: outcome.never_heard_pairs,
            first_full_view_units: outcome.first_full_view_units,
            units_measured: outcome.units_measured,
            complete: outcome.units_measured == scenario.units,
            nodes_up: outcome.nodes_up,
            messages: totals.messages,
            datagrams: totals.datagrams,
            bytes: totals.bytes,
            entries_sent: totals.entries_sent,
            entries_received: arrived,
            news_share: (arrived > 0).then(|| totals.entries_news as f64 / arrived as f64),
            wall_s: None,
            trace_hash: outcome.trace.to_string(),
            network: outcome.fates,
            checks: outcome.findings,
            deaths: outcome.deaths,
            parameters: scenario.clone(),
            ages,
            departed: outcome.departed,
        }
    }
}
