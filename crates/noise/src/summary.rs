//! A probe's samples added up, in memory that does not grow with time.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::counters::Counts;
use crate::histogram::Histogram;
use crate::moments::Moments;
use crate::naming::Named;
use crate::result::{Gaps, Spread, Taken, Window};
use crate::samples::{Gap, Quantum};
use crate::source::{Kind, Names, SourceId};

/// Into how many stretches a run is divided, and the shortest.
const WINDOWS: u64 = 60;
const SHORTEST_WINDOW_NS: u64 = 100_000_000;
/// Where only counts are known, gaps up to here are held to be interrupts.
const SHORT_NS: u64 = 100_000;

/// What a source took so far.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    lost_ns: u64,
    gaps: u64,
    longest_ns: u64,
}

/// A stretch of time so far.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    begin_ns: u64,
    length_ns: u64,
    lost_ns: u64,
    units: u64,
}

/// All of a probe.
#[derive(Clone, Debug)]
pub struct Summary {
    window_ns: u64,
    begin_ns: Option<u64>,
    gaps: u64,
    lost_ns: u64,
    longest_ns: u64,
    unknown_ns: u64,
    edges_ns: u64,
    short: [u64; 2],
    sources: BTreeMap<SourceId, Sum>,
    known_by_counters: BTreeMap<SourceId, u64>,
    histogram: Histogram,
    quanta: Moments,
    speed: Moments,
    windows: Vec<Stretch>,
    is_fixed_work: bool,
}

impl Summary {
    /// Of a run that is to take so long.
    pub fn new(duration_ns: u64, is_fixed_work: bool) -> Self {
        Self {
            window_ns: (duration_ns / WINDOWS).max(SHORTEST_WINDOW_NS),
            begin_ns: None,
            gaps: 0,
            lost_ns: 0,
            longest_ns: 0,
            unknown_ns: 0,
            edges_ns: 0,
            short: [0; 2],
            sources: BTreeMap::new(),
            known_by_counters: BTreeMap::new(),
            histogram: Histogram::default(),
            quanta: Moments::default(),
            speed: Moments::default(),
            windows: Vec::new(),
            is_fixed_work,
        }
    }

    /// One more quantum; they come in order of time.
    pub fn quantum(&mut self, quantum: &Quantum) {
        let measure = if self.is_fixed_work { quantum.length_ns } else { quantum.units };
        self.quanta.add(measure as f64);
        let own_ns = quantum.length_ns.saturating_sub(quantum.lost_ns);
        // Of a quantum that was mostly taken the speed is that of a few units.
        if own_ns > quantum.length_ns / 2 {
            self.speed.add(1e3 * quantum.units as f64 / own_ns as f64);
        }
        let begin_ns = *self.begin_ns.get_or_insert(quantum.begin_ns);
        let is_over = |last: &Stretch| quantum.begin_ns - last.begin_ns >= self.window_ns;
        if self.windows.last().is_none_or(is_over) {
            let since = quantum.begin_ns - begin_ns;
            let begin_ns = begin_ns + since / self.window_ns * self.window_ns;
            self.windows.push(Stretch { begin_ns, ..Stretch::default() });
        }
        if let Some(last) = self.windows.last_mut() {
            last.length_ns += quantum.length_ns;
            last.lost_ns += quantum.lost_ns;
            last.units += quantum.units;
        }
    }

    /// One more gap.
    pub fn gap(&mut self, gap: &Gap, named: &Named) {
        self.gaps += 1;
        self.lost_ns += gap.lost_ns;
        self.longest_ns = self.longest_ns.max(gap.lost_ns);
        self.unknown_ns += named.unknown_ns;
        self.edges_ns += named.edges_ns;
        self.histogram.add(gap.lost_ns);
        if gap.lost_ns <= SHORT_NS {
            self.short = [self.short[0] + 1, self.short[1] + named.unknown_ns];
        }
        for part in &named.parts {
            let sum = self.sources.entry(part.source).or_default();
            sum.lost_ns += part.length_ns;
            sum.gaps += 1;
            sum.longest_ns = sum.longest_ns.max(part.length_ns);
        }
    }

    /// Names what is left by what is known over the whole run: the hypervisor's steal.
    pub fn steal(&mut self, steal_ns: u64, names: &mut Names) {
        self.credit(names.id(Kind::Steal, ""), steal_ns);
    }

    /// Names what is left by counts: other tasks by how long the thread waited, interrupts by how
    /// many there were, as far as there are as many short gaps.
    pub fn count(&mut self, waited_ns: u64, interrupts: &Counts, names: &mut Names) {
        self.credit(names.id(Kind::Preemption, "other tasks"), waited_ns);
        let all: u64 = interrupts.values().sum();
        let [gaps, lost_ns] = self.short;
        let share = all as f64 / gaps.max(1) as f64;
        let lost_ns = (lost_ns.min(self.unknown_ns) as f64 * share.min(1.0)) as u64;
        for (name, &count) in interrupts {
            let is_timer = name == "LOC" || name.contains("timer");
            let kind = if is_timer { Kind::Timer } else { Kind::Interrupt };
            let name = if is_timer { "" } else { name };
            let part = lost_ns as f64 * count as f64 / all.max(1) as f64;
            self.credit(names.id(kind, name), part as u64);
        }
    }

    fn credit(&mut self, source: SourceId, at_most_ns: u64) {
        let lost_ns = at_most_ns.min(self.unknown_ns);
        if lost_ns > 0 {
            self.unknown_ns -= lost_ns;
            *self.known_by_counters.entry(source).or_default() += lost_ns;
        }
    }

    /// What was taken, what of it is not named, and what of it are ways in and out.
    pub fn lost_ns(&self) -> [u64; 3] {
        [self.lost_ns, self.unknown_ns, self.edges_ns]
    }

    /// The gaps of a run that took so long.
    pub fn gaps(&self, measured_s: f64) -> Gaps {
        Gaps {
            count: self.gaps,
            per_s: self.gaps as f64 / measured_s.max(f64::MIN_POSITIVE),
            median_ns: self.histogram.quantile_ns(0.5),
            p99_ns: self.histogram.quantile_ns(0.99),
            longest_ns: self.longest_ns,
        }
    }

    /// How long gaps were.
    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// Quanta, and speed.
    pub fn spreads(&self) -> [Spread; 2] {
        [&self.quanta, &self.speed].map(|moments| {
            let (least, most) = moments.bounds();
            let (mean, variation) = (moments.mean(), moments.variation());
            Spread { count: moments.count(), mean, variation, least, most }
        })
    }

    /// Who took the time, most first; what is not named is one of them.
    pub fn taken(&self, names: &Names) -> Vec<Taken> {
        let share = |lost_ns: u64| share_of(lost_ns, self.lost_ns);
        let taken = |id: SourceId, lost_ns, gaps, longest_ns| {
            let source = names.source(id).clone();
            let share = share(lost_ns);
            Taken { kind: source.kind, name: source.name, lost_ns, share, gaps, longest_ns }
        };
        let events = self.sources.iter();
        let mut all: Vec<Taken> = events
            .map(|(id, sum)| taken(*id, sum.lost_ns, Some(sum.gaps), Some(sum.longest_ns)))
            .collect();
        all.extend(self.known_by_counters.iter().map(|(id, ns)| taken(*id, *ns, None, None)));
        if self.unknown_ns > 0 {
            all.push(Taken {
                kind: Kind::Unknown,
                name: String::new(),
                lost_ns: self.unknown_ns,
                share: share(self.unknown_ns),
                gaps: None,
                longest_ns: None,
            });
        }
        all.sort_by_key(|taken| Reverse(taken.lost_ns));
        all
    }

    /// The stretches of time.
    pub fn windows(&self) -> Vec<Window> {
        let first = self.begin_ns.unwrap_or(0);
        let window = |own: &Stretch| {
            let own_ns = own.length_ns.saturating_sub(own.lost_ns);
            Window {
                begin_s: (own.begin_ns - first) as f64 / 1e9,
                lost_share: share_of(own.lost_ns, own.length_ns),
                speed: (own_ns > 0).then(|| 1e3 * own.units as f64 / own_ns as f64),
            }
        };
        self.windows.iter().map(window).collect()
    }
}

/// A part as a share; 0 of nothing.
pub fn share_of(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naming::Part;

    fn gap(lost_ns: u64) -> Gap {
        Gap { begin_ns: 0, step_ns: lost_ns + 100, lost_ns }
    }

    fn unknown(lost_ns: u64) -> Named {
        Named { unknown_ns: lost_ns, ..Named::default() }
    }

    #[test]
    fn what_was_taken_is_listed_by_source_and_adds_up() {
        let mut names = Names::default();
        let (tick, hog) = (names.id(Kind::Timer, ""), names.id(Kind::Preemption, "hog"));
        let mut summary = Summary::new(10_000_000_000, false);
        let parts = |parts: &[(SourceId, u64)]| Named {
            parts: parts.iter().map(|&(source, length_ns)| Part { source, length_ns }).collect(),
            ..Named::default()
        };
        summary.gap(&gap(2_000), &parts(&[(tick, 2_000)]));
        summary.gap(&gap(90_000), &parts(&[(hog, 88_000), (tick, 2_000)]));
        summary.gap(&gap(8_000), &unknown(8_000));
        summary.steal(5_000, &mut names);
        let taken = summary.taken(&names);
        let told: Vec<(Kind, u64)> = taken.iter().map(|own| (own.kind, own.lost_ns)).collect();
        let wanted = [
            (Kind::Preemption, 88_000),
            (Kind::Steal, 5_000),
            (Kind::Timer, 4_000),
            (Kind::Unknown, 3_000),
        ];
        assert_eq!(told, wanted);
        assert_eq!(taken[2].gaps, Some(2));
        assert_eq!(summary.lost_ns(), [100_000, 3_000, 0]);
        let gaps = summary.gaps(2.0);
        assert_eq!((gaps.count, gaps.longest_ns), (3, 90_000));
        assert!((gaps.per_s - 1.5).abs() < 1e-9);
    }

    #[test]
    fn counters_name_no_more_than_was_taken_and_long_gaps_are_no_interrupts() {
        let mut names = Names::default();
        let mut summary = Summary::new(1_000_000_000, false);
        for _ in 0..10 {
            summary.gap(&gap(10_000), &unknown(10_000));
        }
        summary.gap(&gap(5_000_000), &unknown(5_000_000));
        let interrupts = Counts::from([("LOC".to_owned(), 4), ("36 disk".to_owned(), 1)]);
        summary.count(3_000_000, &interrupts, &mut names);
        let taken = summary.taken(&names);
        let of = |kind| taken.iter().find(|own| own.kind == kind).map(|own| own.lost_ns);
        assert_eq!(of(Kind::Preemption), Some(3_000_000));
        assert_eq!(of(Kind::Timer), Some(40_000), "five of ten short gaps, four by the timer");
        assert_eq!(of(Kind::Interrupt), Some(10_000));
        assert_eq!(of(Kind::Unknown), Some(2_050_000));
    }

    #[test]
    fn windows_are_stretches_of_time_with_speed_apart_from_loss() {
        let mut summary = Summary::new(1_000_000_000, false);
        for place in 0..200 {
            let lost_ns = if place < 100 { 0 } else { 500_000 };
            let units = (1_000_000 - lost_ns) / 100;
            let begin_ns = 7 + place * 1_000_000;
            summary.quantum(&Quantum { begin_ns, length_ns: 1_000_000, units, lost_ns });
        }
        let windows = summary.windows();
        let told: Vec<(f64, f64)> =
            windows.iter().map(|own| (own.begin_s, own.lost_share)).collect();
        assert_eq!(told, [(0.0, 0.0), (0.1, 0.5)]);
        assert!(windows.iter().all(|own| own.speed == Some(10.0)), "{windows:?}");
        assert!((summary.spreads()[0].mean - 7_500.0).abs() < 1e-9);
    }
}
