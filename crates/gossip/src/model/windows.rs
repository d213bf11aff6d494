//! Ages under windows of the newest entries to random members: `uniform`, `spread`, `push-pull`.
//!
//! Let *y*(a) be the share of all nodes that hold an entry of age *a* or less of one origin. Each
//! unit a node reaches *r* others on average, so that news grows as an epidemic does,
//! y′ = r (1 − y) Y, with Y the share of nodes that would still pass it on: y itself as long as it
//! is new, and at last the window's share ω, since an entry not in the newest is not sent.
//!
//! What lies between is where windows of fixed size differ from a mere cut at an age. A node that
//! heard much lately has a window of very new entries, one that heard little sends old ones too.
//! By how much more than the others a node has heard is exponential, since windows arrive at
//! random, as in a Yule process; averaged over it, Y = y (1 − e^(−ℓ/y)) with ℓ = −ln(1 − ω), which
//! is y for full windows and ω at y = 1.
//!
//! The start is the origin's. An entry is born when it is sent, half a unit after the moment we
//! look from, and its first receivers send after a random part of a unit. The limit W of such a
//! branching process divided by its mean growth has a mean and a variance in closed form, and
//! y starts at e^(E ln W)/n.
//!
//! A node's oldest entry: of all entries of *one* node a share 1 − ω remains with each window that
//! arrives, which is a faster decay than that over all nodes, where some had more windows and some
//! fewer. So the typical node's exponent grows by r·E(min(κW, ℓ)), κ = y/(1 − y), W exponential.
//!
//! Closed forms of the same model with a sharp cut: Amar, Barak, Drezner, Okun, CC:PE 21, 2009.

use super::curve::Curve;
use super::{Forecast, Shape};
use crate::dissemination::Strategy;
use crate::dissemination::layout::Budget;

/// The part of the fastest change by which a step of the integration advances.
const STEP: f64 = 0.05;
/// The share of entries at which the integration may end.
const NEGLIGIBLE: f64 = 1e-7;
/// Steps of an integration, at most; some 1,000 are usual.
const MAX_STEPS: usize = 100_000;
/// Euler's constant: the mean of −ln W for an exponential W of mean 1.
const EULER: f64 = 0.577_215_664_901_532_9;

/// The weight of a sharp cut beside the smooth one. With this one, `uniform` is within 1 % of
/// figure2.csv at 20 %.
const SHARP: f64 = 0.4;
/// Units by which bursts to very many targets are ahead of even growth, and the share by which they
/// slow its end, since the bursts of an origin differ. Both fitted to model.csv.
const HEADSTART: f64 = 0.15;
const UNEVEN: f64 = 0.08;

/// How windows travel.
#[derive(Clone, Copy, Debug)]
struct Traffic {
    members: f64,
    /// Windows a node sends at its round.
    targets: f64,
    /// Probability that a datagram arrives.
    arrives: f64,
    /// Entries of a window as a share of all nodes.
    share: f64,
}

/// What to expect of one of the three strategies.
pub(super) fn forecast(strategy: Strategy, members: usize, budget: &Budget, loss: f64) -> Forecast {
    let window = budget.window_entries.clamp(1, members);
    let arrives = 1.0 - loss;
    let targets = match strategy {
        Strategy::Spread => window.div_ceil(budget.datagram_entries.max(1)),
        _ => 1,
    };
    let each = window.div_ceil(targets);
    let targets = targets as f64;
    let share = (each as f64 / members as f64).min(1.0);
    let traffic = Traffic { members: members as f64, targets, arrives, share };
    let (ages, oldest_units) = traffic.ages();
    Forecast {
        age_avg_units: ages.average(),
        bytes: targets * budget.window_bytes(each) as f64,
        datagrams: targets * each.div_ceil(budget.datagram_entries.max(1)) as f64,
        entries: targets * each as f64,
        shape: Shape::Windows { ages, oldest_units },
    }
}

impl Traffic {
    /// Windows that reach others, for each node in a unit.
    fn rate(&self) -> f64 {
        self.targets * self.arrives
    }

    /// The mean of W and its variance relative to the squared mean, as the module's text has it.
    fn start(&self) -> (f64, f64) {
        let (rate, q) = (self.rate(), self.arrives);
        let decay = |times: f64| 1.0 - (-times * rate).exp();
        // The mean over receivers that send first after a random part u of a unit is
        // mean · e^(−rate u); its variance is that of u.
        let mean = self.targets * q / decay(1.0);
        let phase = mean * mean * (decay(2.0) / (2.0 * rate) - (decay(1.0) / rate).powi(2));
        let receiver = (1.0 - q) + 2.0 * phase;
        let variance = self.targets * (q * (receiver + 1.0) - q * q) / decay(2.0);
        (mean, variance / (mean * mean))
    }

    /// The distribution of ages, and the mean age of a node's oldest entry.
    fn ages(&self) -> (Curve, f64) {
        let (n, cut) = (self.members, -(1.0 - self.share).ln());
        // A share of a whole of which a part is still in windows.
        let kept = |whole: f64| whole * -(-cut / whole).exp_m1();
        let rate = self.rate();
        let hazard = rate * n / (n - 1.0);
        let many = 1.0 - 1.0 / self.targets;
        let passed_on = |y: f64| (1.0 - SHARP) * kept(y) + SHARP * y.min(self.share);
        let uneven = UNEVEN * many * rate * self.share;
        let slope = |y: f64| hazard * (1.0 - y) * passed_on(y) * (1.0 - uneven * y);
        let mut curve = Curve::default();
        let (mean, spread) = self.start();
        // The typical start, as if W were lognormal.
        let first = mean / (1.0 + spread).sqrt() / n;
        let (mut age, mut y) = (0.5 - HEADSTART * many, first.min(0.5));
        let mut row = Row { grown: (-EULER).exp() * y / (1.0 - y), renewed: 0.0, spread };
        // The mean of the greatest of n exponential numbers is ln n + γ; a window that brings the
        // oldest entry comes half a window late on average.
        let last = (n - 1.0).ln() + EULER;
        let mut oldest = None;
        curve.push(age, (1.0 - y) * n / (n - 1.0));
        for _ in 0..MAX_STEPS {
            let step = STEP / (hazard * passed_on(y).max((1.0 - y) * passed_on(y) / y));
            let half = (y + slope(y) * step / 2.0).min(1.0 - 1e-15);
            let (before, odds) = (row.exponent(), half / (1.0 - half));
            let covered = rate * step * kept(odds) * (1.0 - uneven * half);
            row.covered(covered, kept(odds) / odds);
            if oldest.is_none() && row.exponent() >= last {
                oldest = Some(age + step * (last - before) / (row.exponent() - before));
            }
            age += step;
            y = (y + slope(half) * step).min(1.0 - 1e-15);
            let older = (1.0 - y) * n / (n - 1.0);
            curve.push(age, older);
            if older < NEGLIGIBLE && oldest.is_some() {
                break;
            }
        }
        (curve, oldest.unwrap_or(age) + 0.5 / rate)
    }
}

/// How far one node's entries are: −ln of the share that is older than an age.
struct Row {
    /// What windows brought that were not cut: as lucky as the entry's birth was.
    grown: f64,
    /// What later ones brought, of ever new births.
    renewed: f64,
    /// Variance of that luck.
    spread: f64,
}

impl Row {
    fn covered(&mut self, exponent: f64, uncut: f64) {
        self.grown += exponent * uncut;
        self.renewed += exponent * (1.0 - uncut);
    }

    /// The exponent of the mean over origins, whose luck is taken as gamma-distributed.
    fn exponent(&self) -> f64 {
        (self.spread * self.grown).ln_1p() / self.spread + self.renewed
    }
}
