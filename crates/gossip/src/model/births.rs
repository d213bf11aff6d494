//! How a birth spreads among nodes whose windows hold the newest entries: the integration.
//!
//! The text of `windows.rs` says what is integrated and why. Here *age* is the time since the
//! birth, *missed* the share of nodes that hold neither it nor a later one of its origin, and a
//! *luck* is by how many times more than on average is heard of a birth, or by a node.
//!
//! A unit is divided at the same *knots* again and again, so that the later births, which are whole
//! units younger, are at the same knots a unit before.

use super::curve::Curve;

/// Lucks of births that are followed, as standard deviates in the middle of eighths.
const DEVIATES: [f64; 8] = [-1.534, -0.887, -0.489, -0.157, 0.157, 0.489, 0.887, 1.534];
/// Lucks of nodes whose windows are followed: so many from the first to the last.
const NODE_LUCKS: (usize, f64, f64) = (10, 0.03, 6.0);
/// The first step in units of the time in which news grows e-fold, the longest step in units of
/// time, and how much longer each step is than the one before.
const STEPS: (f64, f64, f64) = (0.04, 1.0 / 24.0, 1.1);
/// Units after which all has its regular course, at the least.
const WARM_UNITS: usize = 4;
/// Units of the integration, at most.
const MAX_UNITS: usize = 2_000;
/// A birth that so small a part of a window is for is not passed on any more.
const PASSED_ON: f64 = 1e-4;
/// The share of ages at which the integration may end.
const NEGLIGIBLE: f64 = 1e-6;
/// The exponent of a node's oldest entry beyond that of all others at which it may end.
const BEYOND: f64 = 5.0;

/// How windows travel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traffic {
    /// Nodes that may hold an entry, beside its origin.
    pub(super) others: f64,
    /// Windows a node sends at its round.
    pub(super) targets: f64,
    /// Probability that a datagram arrives.
    pub(super) arrives: f64,
    /// Entries of others in a window as a share of all, below 1.
    pub(super) share: f64,
}

/// The ages of all entries, and those of one node's.
pub(super) struct Ages {
    pub(super) all: Curve,
    pub(super) of_a_node: Curve,
}

impl Traffic {
    /// Windows that reach others, for each node in a unit.
    pub(super) fn rate(&self) -> f64 {
        self.targets * self.arrives
    }

    /// −ln of what a window leaves.
    fn cut(&self) -> f64 {
        -(-self.share).ln_1p()
    }

    /// The share of births that leave their origin in no window.
    fn none(&self) -> f64 {
        (1.0 - self.arrives).powf(self.targets)
    }

    /// Nodes that hear of a birth from its origin, if any does.
    fn first(&self) -> f64 {
        self.rate() / (1.0 - self.none())
    }

    /// The variance of a birth's luck, if it reaches any: that of its first receivers, each of
    /// which sends first after a random part of a unit.
    fn spread(&self) -> f64 {
        let rate = self.rate();
        let decay = |times: f64| 1.0 - (-times * rate).exp();
        let phase = decay(2.0) / (2.0 * rate) - (decay(1.0) / rate).powi(2);
        let receiver = (1.0 - self.arrives) + 2.0 * phase * (rate / decay(1.0)).powi(2);
        receiver / self.first()
    }

    /// The distributions of ages.
    pub(super) fn ages(self) -> Ages {
        let mut births = Births::of(self);
        let mut course = Course::default();
        for unit in 0..MAX_UNITS {
            let passed_on = births.unit(unit, &mut course);
            let (missed, row) = births.last();
            let is_settled = missed < NEGLIGIBLE && row > self.others.ln() + BEYOND;
            if is_settled || (unit >= WARM_UNITS && passed_on < PASSED_ON * self.share) {
                break;
            }
        }
        course.ages(births.a_unit(), self.others)
    }
}

/// Lucks of mean 1 and this variance: the means of eighths of a gamma distribution (Wilson and
/// Hilferty, 1931).
fn lucks(spread: f64) -> [f64; 8] {
    let ninth = spread / 9.0;
    let cubes = DEVIATES.map(|deviate| (1.0 - ninth + deviate * ninth.sqrt()).max(0.02).powi(3));
    let mean = cubes.iter().sum::<f64>() / 8.0;
    cubes.map(|cube| cube / mean)
}

/// Births of one age and each luck.
#[derive(Clone, Copy, Debug)]
struct Heard([f64; 8]);

/// The state of the integration.
struct Births {
    traffic: Traffic,
    lucks: [f64; 8],
    /// −ln of the share that hears nothing of a birth at once.
    first: f64,
    /// −ln of the share to which none came of a birth.
    heard: Heard,
    /// The same of one node's entries.
    row: Heard,
    knots: Vec<f64>,
    /// Of births up to a unit younger, at each knot: the share missed, and the row's exponent.
    younger: Vec<(f64, f64)>,
    /// The lucks of nodes whose windows are followed.
    nodes: Vec<f64>,
    /// For each of them the area under the share of births it holds, and at the knots before.
    areas: Vec<f64>,
    areas_before: Vec<Vec<f64>>,
}

impl Births {
    fn of(traffic: Traffic) -> Self {
        let first = -(-(traffic.first() / traffic.others).min(0.999)).ln_1p();
        let mut knots = vec![0.0];
        let (mut step, mut at) = ((STEPS.0 / traffic.rate()).min(STEPS.1), 0.0);
        while at < 1.0 {
            at += step;
            knots.push(at);
            step = (step * STEPS.2).min(STEPS.1);
        }
        for knot in &mut knots {
            *knot /= at;
        }
        let (count, least, most) = NODE_LUCKS;
        let luck = |number| least * f64::powf(most / least, number as f64 / (count - 1) as f64);
        Self {
            traffic,
            lucks: lucks(traffic.spread()),
            first,
            heard: Heard([first; 8]),
            row: Heard([first; 8]),
            younger: vec![(1.0, 0.0); knots.len()],
            nodes: (0..count).map(luck).collect(),
            areas: vec![0.0; count],
            areas_before: vec![vec![0.0; count]; knots.len()],
            knots,
        }
    }

    /// Follows the births for one unit more; the largest share of windows that one of them had.
    fn unit(&mut self, unit: usize, course: &mut Course) -> f64 {
        let mut most = 0.0;
        for knot in 0..self.knots.len() {
            let (missed, row) = self.younger[knot];
            let now = (missed * self.mean(&self.heard), row - self.mean(&self.row).ln());
            course.push(unit as f64 + self.knots[knot], now);
            let before = core::mem::replace(&mut self.younger[knot], now).0;
            let areas = self.areas.clone();
            if knot + 1 < self.knots.len() {
                let between = (before * self.younger[knot + 1].0).sqrt();
                most = f64::max(most, self.step(knot, before, between));
            }
            self.areas_before[knot] = areas;
        }
        most
    }

    /// A step to the next knot, by its middle; younger births are missed by these shares.
    fn step(&mut self, knot: usize, younger: f64, between: f64) -> f64 {
        let step = self.knots[knot + 1] - self.knots[knot];
        let [before, after] = [&self.areas_before[knot], &self.areas_before[knot + 1]];
        let filled: Vec<f64> =
            self.areas.iter().zip(before).map(|(now, then)| now - then).collect();
        let others = self.traffic.others;
        let rate = self.traffic.rate() * others / (others - 1.0).max(1.0);
        let passed_on = self.passed_on(&self.heard, younger, self.cut_luck(&filled));
        let mut half = self.heard;
        half.add(&passed_on.0, rate * step / 2.0);
        let held: Vec<f64> =
            self.nodes.iter().map(|luck| self.held(&half, between, *luck)).collect();
        let later = |at: usize| filled[at] + held[at] * step / 2.0 - (after[at] - before[at]) / 2.0;
        let filled: Vec<f64> = (0..held.len()).map(later).collect();
        let (to_all, to_row) = self.passed_on(&half, between, self.cut_luck(&filled));
        self.heard.add(&to_all, rate * step);
        self.row.add(&to_row, rate * step);
        self.areas.iter_mut().zip(held).for_each(|(area, held)| *area += held * step);
        to_all.0.into_iter().fold(0.0, f64::max)
    }

    /// The share that is missed, as a mean over all births.
    fn mean(&self, heard: &Heard) -> f64 {
        self.over_births(|at| (-heard.0[at]).exp(), 1.0)
    }

    /// The mean over births that left their origin, and those that did not.
    fn over_births(&self, of: impl Fn(usize) -> f64, of_none: f64) -> f64 {
        let none = self.traffic.none();
        none * of_none + (1.0 - none) * (0..8).map(of).sum::<f64>() / 8.0
    }

    /// One more than the odds of holding a birth, or a younger one missed by such a share. The
    /// first receivers of a lucky birth count as more, since they do more.
    fn odds(&self, heard: &Heard, younger: f64, at: usize) -> f64 {
        let more = (self.lucks[at] - 1.0) * self.first;
        f64::max(heard.0[at] + more, 0.0).exp() / younger
    }

    /// The share of births, those younger by whole units among them, that a node of this luck
    /// holds.
    fn held(&self, heard: &Heard, younger: f64, luck: f64) -> f64 {
        let missed = |odds: f64| (-(odds - 1.0) * luck).exp();
        let of = |at| missed(self.odds(heard, younger, at));
        1.0 - self.over_births(of, missed(1.0 / younger))
    }

    /// The luck of nodes whose windows are full with what is younger, if nodes hold such shares.
    fn cut_luck(&self, filled: &[f64]) -> f64 {
        let cut = self.traffic.cut();
        let exponents: Vec<f64> =
            filled.iter().map(|filled| -(-filled.clamp(1e-300, 1.0 - 1e-14)).ln_1p()).collect();
        let above = exponents.partition_point(|exponent| *exponent < cut);
        let Some(below) = above.checked_sub(1) else {
            return self.nodes[0] * cut / exponents[0];
        };
        if above == exponents.len() {
            return (self.nodes[below] * cut / exponents[below]).min(1e12);
        }
        let part = (cut / exponents[below]).ln() / (exponents[above] / exponents[below]).ln();
        self.nodes[below] * (self.nodes[above] / self.nodes[below]).powf(part)
    }

    /// The share of windows that hold a birth of each luck, and what it does to one node's share,
    /// where nodes up to some luck still pass it on.
    fn passed_on(&self, heard: &Heard, younger: f64, cut_luck: f64) -> (Heard, Heard) {
        // The integral over lucks, exponentially distributed, of what a node misses.
        let missed = |odds: f64| -(-cut_luck * odds).exp_m1() / odds;
        let uncut = 1.0 - (-cut_luck).exp() * (1.0 + cut_luck);
        let (least, steep) = (1.0 / younger, self.traffic.cut() / self.traffic.share);
        let (mut to_all, mut to_row) = (Heard([0.0; 8]), Heard([0.0; 8]));
        for at in 0..8 {
            let odds = self.odds(heard, younger, at);
            to_all.0[at] = missed(least) - missed(odds);
            to_row.0[at] = if self.traffic.targets > 1.5 {
                to_all.0[at] * steep
            } else {
                (odds - least) * uncut
            };
        }
        (to_all, to_row)
    }

    /// The share missed at the last knot, and the exponent of a node's entries.
    fn last(&self) -> (f64, f64) {
        *self.younger.last().unwrap_or(&(0.0, 0.0))
    }

    /// By what a share that is missed is multiplied in a unit, and the same of a node's entries,
    /// once a birth is passed on no more.
    fn a_unit(&self) -> (f64, f64) {
        (self.mean(&self.heard), self.mean(&self.row))
    }
}

impl Heard {
    fn add(&mut self, slope: &Self, step: f64) {
        self.0.iter_mut().zip(slope.0).for_each(|(heard, slope)| *heard += slope * step);
    }
}

/// The shares of births that are missed, by the time since.
#[derive(Default)]
struct Course {
    /// Age, the share missed, and the share of one node's entries.
    points: Vec<(f64, f64, f64)>,
}

impl Course {
    fn push(&mut self, age: f64, (missed, row): (f64, f64)) {
        self.points.push((age, missed, (-row).exp()));
    }

    /// The ages at a random moment, which is up to a unit after the last birth; behind the last
    /// point the shares go on by such factors a unit.
    fn ages(&self, factors: (f64, f64), others: f64) -> Ages {
        let knots = self.points.iter().position(|point| point.0 >= 1.0).map_or(1, |last| last + 1);
        let mut areas: Vec<(f64, f64)> = vec![(0.0, 0.0)];
        for pair in self.points.windows(2) {
            let (half, area) = ((pair[1].0 - pair[0].0) / 2.0, areas[areas.len() - 1]);
            let all = area.0 + half * (pair[0].1 + pair[1].1);
            areas.push((all, area.1 + half * (pair[0].2 + pair[1].2)));
        }
        let mut ages = Ages { all: Curve::default(), of_a_node: Curve::default() };
        let mut last = (0.0, 1.0, 1.0);
        for (at, (point, area)) in self.points.iter().zip(&areas).enumerate() {
            let before =
                at.checked_sub(knots).map_or((point.0 - 1.0, point.0 - 1.0), |at| areas[at]);
            last = (point.0, area.0 - before.0, area.1 - before.1);
            ages.all.push(last.0, last.1);
            ages.of_a_node.push(last.0, last.2);
        }
        ages.all.go_on((last.0, last.1), factors.0, NEGLIGIBLE);
        let seldom = (-BEYOND).exp() / others;
        ages.of_a_node.go_on((last.0, last.2), factors.1, seldom);
        ages
    }
}
