//! The figures of a run, from the observer's samples.
//!
//! Pure arithmetic. Samples come with the time at which they were made; nothing here reads a clock
//! or asks an agent, and nothing is derived from the parameters of the run: every figure is a mean
//! of the agents' answers.
//!
//! A run has three overlapping periods: all of it, the part since the first full view (every agent
//! has an entry of every node), and the part since the warm-up ended, [`WARM_UP_UNITS`] units after
//! the first full view. Sums are kept for each period, so memory does not grow with the run. The
//! figures are those of the latest period in which every agent answered twice.

use serde::Serialize;
use tidings_control::{Ages, Status};
use tidings_nodes::units::round_to;

/// Units of time from the first full view to the first sample that counts. The oldest entry of a
/// hundred nodes is about 30 units old in the steady state (DESIGN table, 128 nodes, 20 %), so
/// after 32 more units hardly any entry is left that came before the view was full.
pub const WARM_UP_UNITS: f64 = 32.0;

/// Everything the observer has learnt so far.
#[derive(Debug, Clone)]
pub struct Ledger {
    interval_s: f64,
    accounts: Vec<Account>,
    full_view_s: Option<f64>,
    warm_s: Option<f64>,
}

/// What one agent has answered.
#[derive(Debug, Clone, Default)]
pub struct Account {
    latest: Option<Ages>,
    full_s: Option<f64>,
    periods: [Period; 3],
}

/// Sums over the samples of one agent in one period.
#[derive(Debug, Clone, Default)]
struct Period {
    first: Option<Ages>,
    from_s: f64,
    samples: u64,
    age_avg_ms: f64,
    age_max_ms: f64,
    pairs: f64,
}

/// Least, mean and greatest of a quantity over the agents.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The least.
    pub min: f64,
    /// The mean.
    #[serde(skip)]
    pub avg: f64,
    /// The greatest.
    pub max: f64,
}

/// The figures of one period.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// When the period began, in seconds from the start of the run.
    pub from_s: f64,
    /// Whether it is after the warm-up.
    pub warmed_up: bool,
    /// Answers that count.
    pub samples: u64,
    /// Average age of the entries of other nodes, in units.
    pub age_avg_units: Spread,
    /// Age of the oldest entry of another node, in units.
    pub age_max_units: Spread,
    /// Datagrams sent per second.
    pub messages_s: Spread,
    /// Bytes of UDP payload sent per second.
    pub bytes_s: Spread,
    /// Per cent of one core.
    pub cpu_percent: Spread,
}

/// The object that `tidings demo --json` prints; `docs/reference/cli.md` describes each field.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the fields are described in docs/reference/cli.md")]
pub struct Report {
    pub version: String,
    pub nodes: usize,
    pub interval_ms: f64,
    pub window: String,
    pub window_entries: u32,
    pub payload_bytes: u16,
    pub entry_bytes: u32,
    pub strategy: String,
    pub seconds: f64,
    pub warmed_up: bool,
    pub warm_up_units: f64,
    pub measured_from_s: Option<f64>,
    pub samples: u64,
    pub known_min: usize,
    pub first_full_view_s: Option<f64>,
    pub age_avg_units: Option<f64>,
    pub age_max_units: Option<f64>,
    pub messages_per_node_s: Option<f64>,
    pub bytes_per_node_s: Option<f64>,
    pub cpu_percent_per_node: Option<f64>,
    pub rss_mib_per_node: Option<f64>,
    pub observer_cpu_percent: f64,
    pub spread: ReportSpread,
}

/// The least and the greatest over the agents of figures whose mean is in [`Report`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the fields are those of Report")]
pub struct ReportSpread {
    pub known: Option<Spread>,
    pub age_avg_units: Option<Spread>,
    pub age_max_units: Option<Spread>,
    pub messages_per_node_s: Option<Spread>,
    pub bytes_per_node_s: Option<Spread>,
    pub cpu_percent_per_node: Option<Spread>,
    pub rss_mib_per_node: Option<Spread>,
}

impl Ledger {
    /// An empty ledger for `nodes` agents (at least one) and this unit of time.
    pub fn new(nodes: usize, interval_s: f64) -> Self {
        let accounts = vec![Account::default(); nodes];
        Self { interval_s, accounts, full_view_s: None, warm_s: None }
    }

    /// Adds the answer of agent number `agent`, which came `at_s` seconds into the run. Times
    /// never go back.
    pub fn record(&mut self, agent: usize, at_s: f64, ages: Ages) {
        let nodes = self.accounts.len();
        let within = [true, self.full_view_s.is_some(), self.is_warm(at_s)];
        let account = &mut self.accounts[agent];
        if account.full_s.is_none() && ages.known >= nodes {
            account.full_s = Some(at_s);
        }
        for (period, within) in account.periods.iter_mut().zip(within) {
            if within {
                period.add(at_s, &ages);
            }
        }
        account.latest = Some(ages);
        if self.full_view_s.is_none() && self.accounts.iter().all(|a| a.full_s.is_some()) {
            self.full_view_s = Some(at_s);
            self.warm_s = Some(at_s + WARM_UP_UNITS * self.interval_s);
        }
    }

    fn is_warm(&self, at_s: f64) -> bool {
        self.warm_s.is_some_and(|warm_s| at_s >= warm_s)
    }

    /// When every agent first knew every node, in seconds from the start of the run.
    pub fn first_full_view_s(&self) -> Option<f64> {
        self.full_view_s
    }

    /// Every agent's latest answer, in the order of the agents.
    pub fn latest(&self) -> impl Iterator<Item = Option<&Ages>> {
        self.accounts.iter().map(|account| account.latest.as_ref())
    }

    /// The spread of a quantity over the latest answers; `None` before the first one.
    pub fn spread(&self, quantity: impl Fn(&Ages) -> f64) -> Option<Spread> {
        Spread::over(self.latest().flatten().map(quantity))
    }

    /// Nodes known, over the latest answers.
    pub fn known(&self) -> Option<Spread> {
        self.spread(|ages| ages.known as f64)
    }

    /// Resident memory in MiB, over the latest answers.
    pub fn rss_mib(&self) -> Option<Spread> {
        self.spread(|ages| ages.rss_bytes as f64 / f64::from(1 << 20))
    }

    /// The figures of the latest period in which every agent answered twice.
    pub fn figures(&self) -> Option<Figures> {
        [2, 1, 0].into_iter().find_map(|which| self.figures_of(which))
    }

    fn figures_of(&self, which: usize) -> Option<Figures> {
        let periods: Vec<_> = self
            .accounts
            .iter()
            .map(|account| Some((&account.periods[which], account.latest.as_ref()?)))
            .collect::<Option<_>>()?;
        if periods.iter().any(|(period, latest)| !period.spans(latest)) {
            return None;
        }
        let over = |quantity: fn(&Period, &Ages) -> f64| {
            Spread::over(periods.iter().map(|(period, latest)| quantity(period, latest)))
        };
        let in_units = |spread: Spread| spread.divided_by(self.interval_s * 1e3);
        let pairs: f64 = periods.iter().map(|(period, _)| period.pairs).sum();
        let age_sum: f64 = periods.iter().map(|(period, _)| period.age_avg_ms).sum();
        let mut age_avg = over(|period, _| period.age_avg_ms / period.pairs.max(1.0))?;
        age_avg.avg = age_sum / pairs.max(1.0);
        Some(Figures {
            from_s: periods.iter().map(|(period, _)| period.from_s).fold(f64::INFINITY, f64::min),
            warmed_up: which == 2,
            samples: periods.iter().map(|(period, _)| period.samples).sum(),
            age_avg_units: in_units(age_avg),
            age_max_units: in_units(over(|period, _| period.age_max_ms / period.samples as f64)?),
            messages_s: over(|p, latest| p.rate(latest, |ages| ages.datagrams_sent as f64))?,
            bytes_s: over(|p, latest| p.rate(latest, |ages| ages.bytes_sent as f64))?,
            cpu_percent: over(|p, latest| 100.0 * p.rate(latest, |ages| ages.cpu_seconds))?,
        })
    }

    /// The report of a run of `seconds`, in which this process used `observer_cpu_s` of processor
    /// time; `status` is an agent's at the end of the run.
    pub fn report(&self, status: &Status, seconds: f64, observer_cpu_s: f64) -> Report {
        let figures = self.figures();
        let spread = |quantity: fn(&Figures) -> Spread| figures.as_ref().map(quantity);
        let spread = ReportSpread {
            known: self.known(),
            age_avg_units: spread(|figures| figures.age_avg_units),
            age_max_units: spread(|figures| figures.age_max_units),
            messages_per_node_s: spread(|figures| figures.messages_s),
            bytes_per_node_s: spread(|figures| figures.bytes_s),
            cpu_percent_per_node: spread(|figures| figures.cpu_percent),
            rss_mib_per_node: self.rss_mib(),
        };
        let mean = |spread: Option<Spread>| spread.map(|spread| round_to(spread.avg, 4));
        let answered = self.latest().map(|ages| ages.map_or(0, |ages| ages.known));
        Report {
            version: status.version.clone(),
            nodes: self.accounts.len(),
            interval_ms: status.interval_ms,
            window: status.window.clone(),
            window_entries: status.window_entries,
            payload_bytes: status.payload_bytes,
            entry_bytes: status.entry_bytes,
            strategy: status.strategy.clone(),
            seconds: round_to(seconds, 3),
            warmed_up: figures.as_ref().is_some_and(|figures| figures.warmed_up),
            warm_up_units: WARM_UP_UNITS,
            measured_from_s: figures.as_ref().map(|figures| round_to(figures.from_s, 3)),
            samples: figures.as_ref().map_or(0, |figures| figures.samples),
            known_min: answered.min().unwrap_or(0),
            first_full_view_s: self.full_view_s.map(|full_s| round_to(full_s, 3)),
            age_avg_units: mean(spread.age_avg_units),
            age_max_units: mean(spread.age_max_units),
            messages_per_node_s: mean(spread.messages_per_node_s),
            bytes_per_node_s: mean(spread.bytes_per_node_s),
            cpu_percent_per_node: mean(spread.cpu_percent_per_node),
            rss_mib_per_node: mean(spread.rss_mib_per_node),
            observer_cpu_percent: round_to(100.0 * observer_cpu_s / seconds.max(1e-3), 2),
            spread: spread.rounded(),
        }
    }
}

impl Period {
    /// Ages are summed over pairs of distinct nodes, so that where not all is known yet, an agent
    /// that knows more counts for more.
    fn add(&mut self, at_s: f64, ages: &Ages) {
        if self.first.is_none() {
            self.first = Some(ages.clone());
            self.from_s = at_s;
        }
        let others = ages.known.saturating_sub(1) as f64;
        self.samples += 1;
        self.pairs += others;
        self.age_avg_ms += ages.age_avg_ms * others;
        self.age_max_ms += ages.age_max_ms;
    }

    fn spans(&self, latest: &Ages) -> bool {
        self.first.as_ref().is_some_and(|first| latest.uptime_s > first.uptime_s)
    }

    /// Growth of a counter per second of the agent's own clock.
    fn rate(&self, latest: &Ages, counter: impl Fn(&Ages) -> f64) -> f64 {
        let Some(first) = &self.first else { return 0.0 };
        (counter(latest) - counter(first)) / (latest.uptime_s - first.uptime_s)
    }
}

impl Spread {
    /// The spread of these values; `None` if there are none.
    pub fn over(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (mut count, mut sum) = (0_u32, 0.0);
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            count += 1;
            sum += value;
            min = min.min(value);
            max = max.max(value);
        }
        (count > 0).then(|| Self { min, avg: sum / f64::from(count), max })
    }

    /// The spread in another unit.
    #[must_use]
    pub fn divided_by(self, unit: f64) -> Self {
        Self { min: self.min / unit, avg: self.avg / unit, max: self.max / unit }
    }

    fn rounded(self) -> Self {
        let [min, avg, max] = [self.min, self.avg, self.max].map(|value| round_to(value, 4));
        Self { min, avg, max }
    }
}

impl ReportSpread {
    fn rounded(self) -> Self {
        let rounded = |spread: Option<Spread>| spread.map(Spread::rounded);
        Self {
            known: rounded(self.known),
            age_avg_units: rounded(self.age_avg_units),
            age_max_units: rounded(self.age_max_units),
            messages_per_node_s: rounded(self.messages_per_node_s),
            bytes_per_node_s: rounded(self.bytes_per_node_s),
            cpu_percent_per_node: rounded(self.cpu_percent_per_node),
            rss_mib_per_node: rounded(self.rss_mib_per_node),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL_S: f64 = 0.25;

    /// An agent `uptime_s` after its start that sends four datagrams of 100 bytes a second.
    fn ages(known: usize, uptime_s: f64, age_avg_ms: f64, age_max_ms: f64) -> Ages {
        Ages {
            known,
            uptime_s,
            age_avg_ms,
            age_max_ms,
            datagrams_sent: (uptime_s * 4.0) as u64,
            bytes_sent: (uptime_s * 400.0) as u64,
            cpu_seconds: uptime_s * 0.001,
            rss_bytes: 5 << 20,
            ..Default::default()
        }
    }

    fn status() -> Status {
        Status { interval_ms: 250.0, version: "0.1.0".to_owned(), ..Default::default() }
    }

    fn close(left: Option<f64>, right: f64) -> bool {
        left.is_some_and(|left| (left - right).abs() < 1e-6)
    }

    #[test]
    fn the_view_is_full_when_the_last_agent_knows_everybody() {
        let mut ledger = Ledger::new(2, INTERVAL_S);
        ledger.record(0, 1.0, ages(2, 1.0, 100.0, 100.0));
        ledger.record(1, 1.1, ages(1, 1.0, 0.0, 0.0));
        assert_eq!(ledger.first_full_view_s(), None);
        ledger.record(1, 1.4, ages(2, 1.3, 100.0, 100.0));
        ledger.record(0, 1.5, ages(2, 1.5, 100.0, 100.0));
        assert_eq!(ledger.first_full_view_s(), Some(1.4));
    }

    #[test]
    fn only_samples_after_the_warm_up_count_once_there_are_enough() {
        let mut ledger = Ledger::new(2, INTERVAL_S);
        let warm_s = WARM_UP_UNITS * INTERVAL_S;
        for (step, age_ms) in [(0.0, 9e3), (warm_s, 500.0), (warm_s + 1.0, 1000.0)] {
            for agent in [0, 1] {
                let at_s = 1.0 + step;
                ledger.record(agent, at_s, ages(2, at_s, age_ms, 2.0 * age_ms));
            }
        }
        let report = ledger.report(&status(), 11.0, 0.11);
        assert!(report.warmed_up);
        assert_eq!((report.samples, report.measured_from_s), (4, Some(1.0 + warm_s)));
        assert!(close(report.age_avg_units, 3.0) && close(report.age_max_units, 6.0));
        assert!(close(report.messages_per_node_s, 4.0));
        assert!(close(report.bytes_per_node_s, 400.0));
        assert!(close(report.cpu_percent_per_node, 0.1));
        assert!(close(report.rss_mib_per_node, 5.0));
        assert!(close(Some(report.observer_cpu_percent), 1.0));
    }

    #[test]
    fn a_short_run_says_that_it_is_not_warm() {
        let mut ledger = Ledger::new(2, INTERVAL_S);
        for at_s in [0.5, 1.0, 1.5] {
            for agent in [0, 1] {
                ledger.record(agent, at_s, ages(2, at_s, 250.0, 250.0));
            }
        }
        let report = ledger.report(&status(), 2.0, 0.0);
        assert!(!report.warmed_up);
        assert_eq!((report.known_min, report.first_full_view_s), (2, Some(0.5)));
        assert_eq!(report.samples, 4, "since the view was full");
        assert!(close(report.age_avg_units, 1.0));
    }

    #[test]
    fn without_a_full_view_all_known_pairs_count_equally() {
        let mut ledger = Ledger::new(3, INTERVAL_S);
        for at_s in [1.0, 2.0] {
            ledger.record(0, at_s, ages(3, at_s, 250.0, 250.0));
            ledger.record(1, at_s, ages(2, at_s, 1000.0, 1000.0));
            ledger.record(2, at_s, ages(1, at_s, 0.0, 0.0));
        }
        let report = ledger.report(&status(), 2.0, 0.0);
        assert_eq!((report.known_min, report.first_full_view_s), (1, None));
        assert!(close(report.age_avg_units, (2.0 * 1.0 + 4.0) / 3.0));
    }

    #[test]
    fn an_agent_that_never_answered_leaves_no_figures() {
        let mut ledger = Ledger::new(2, INTERVAL_S);
        ledger.record(0, 1.0, ages(1, 1.0, 0.0, 0.0));
        ledger.record(0, 2.0, ages(1, 2.0, 0.0, 0.0));
        let report = ledger.report(&status(), 2.0, 0.0);
        assert_eq!((report.known_min, report.age_avg_units, report.samples), (0, None, 0));
        let text = serde_json::to_string(&report).expect("serialises");
        assert!(text.contains("\"age_avg_units\":null"), "{text}");
    }

    #[test]
    fn the_spread_shows_the_least_and_the_greatest_agent() {
        let mut ledger = Ledger::new(2, INTERVAL_S);
        for at_s in [1.0, 2.0, 3.0] {
            ledger.record(0, at_s, ages(2, at_s, 250.0, 500.0));
            ledger.record(1, at_s, ages(2, at_s, 750.0, 1000.0));
        }
        let spread = ledger.report(&status(), 3.0, 0.0).spread.age_avg_units.expect("figures");
        assert_eq!((spread.min, spread.max), (1.0, 3.0));
    }
}
