//! Ages under strategy `grid`: two regular waits, one for a push and one for a pull.
//!
//! A relay holds an entry since it was pushed to it, and a reader what the relay held since it
//! pulled it. So an age is the sum of two waits, each anywhere between two events; in the own row
//! it is that or the wait for a push, whichever is shorter. When pushes and
//! pulls come is decided by the strategy's own `pusher.rs` and `puller.rs`: the model plays them
//! for one node, with answers that come at once or are lost by chance, and counts the *gaps*. A
//! wait that is looked at at a random moment reaches an age as often as gaps are longer than it.
//!
//! Strays, windows to random members, cut the longest waits a little. Of a pull that fails all of a
//! row stays old, so the oldest entry is looked for among rows, not among entries.

use super::curve::Curve;
use super::{Forecast, Shape};
use crate::dissemination::Chance;
use crate::dissemination::layout::{Budget, LOOKS, Layout, STRAY_UNITS};
use crate::dissemination::puller::{MARGIN_UNITS, Puller};
use crate::dissemination::pusher::Pusher;

/// Bins of a wait's distribution, about.
const BINS: usize = 120;
/// Pulls of a row whose answers may still count.
const EARLIER: u32 = 8;
/// Bins of the distribution of ages.
const AGE_BINS: usize = 8 * BINS;
/// Pulls that are played, at least, and turns of each row.
const PULLS: usize = 400;
/// Turns of each row that are played, at least.
const TURNS: usize = 4;
/// Units that are played, at most.
const MAX_UNITS: u32 = 20_000;
/// Rounds of pushes that are played.
const ROUNDS: u32 = 100;
/// What lets chance begin: any number, since only its statistics matter.
const SEED: u64 = 1;

/// Times between two of the same events, counted.
#[derive(Clone, Debug)]
struct Gaps {
    /// How many gaps there are of each length, in steps.
    counts: Vec<u64>,
    step_units: f64,
}

/// Windows to random members, as they reach one node.
#[derive(Clone, Copy, Debug)]
struct Strays {
    /// How many in a unit.
    rate: f64,
    /// Their entries, the newest ones, as a share of all.
    share: f64,
    /// The last age asked for, the share that is older, and the exponent of what strays brought.
    units: f64,
    older: f64,
    exponent: f64,
}

/// A wait's distribution: units and weights of bins of equal length.
type Bins = Vec<(f64, f64)>;

/// What makes up the ages of a grid.
#[derive(Clone, Debug)]
pub(super) struct Waits {
    members: f64,
    rows: f64,
    /// The share of a row that a push goes to in one round.
    pushed_at_once: f64,
    /// Since a push to the reader itself.
    push: Bins,
    /// The age of what a relay answers with, where it counts.
    held: Bins,
    /// Since the pull.
    pull: Bins,
    strays: Strays,
}

impl Gaps {
    fn new(step_units: f64) -> Self {
        Self { counts: Vec::new(), step_units }
    }

    fn note(&mut self, steps: u32) {
        let steps = steps as usize;
        if self.counts.len() <= steps {
            self.counts.resize(steps + 1, 0);
        }
        self.counts[steps] += 1;
    }

    fn mean_units(&self) -> f64 {
        let gaps: u64 = self.counts.iter().sum();
        let steps: u64 = (0..).zip(&self.counts).map(|(steps, count)| steps * count).sum();
        steps as f64 / gaps.max(1) as f64 * self.step_units
    }

    /// The wait at a random moment.
    fn wait(&self) -> Bins {
        // Bins are parts of a step or, where gaps are very long, several steps.
        let parts = (BINS / self.counts.len().max(1)).max(1);
        let steps = self.counts.len().div_ceil(BINS).max(1);
        let bin = self.step_units * steps as f64 / parts as f64;
        let mut longer: u64 = self.counts.iter().sum();
        let mut bins = Bins::new();
        for counts in self.counts.chunks(steps) {
            let mut weight = 0;
            for count in counts {
                // Of gaps of so many steps none reaches beyond them.
                longer -= count;
                weight += longer;
            }
            for _ in 0..parts {
                bins.push(((bins.len() as f64 + 0.5) * bin, weight as f64));
            }
        }
        let total: f64 = bins.iter().map(|bin| bin.1).sum();
        bins.retain(|bin| bin.1 > 0.0);
        for bin in &mut bins {
            bin.1 /= total;
        }
        bins
    }
}

impl Strays {
    /// How much less is older than `units`, if strays bring what is younger; ages are asked for in
    /// ascending order.
    fn thin(&mut self, units: f64, older: f64) -> f64 {
        // Of ages up to this one so much was found in a stray.
        let younger = (1.0 - self.older).min(self.share);
        self.exponent += (units - self.units) * younger * self.rate;
        self.units = units;
        self.older = older * (-self.exponent).exp();
        self.older
    }

    /// The wait for an event that a stray may precede.
    fn wait(mut self, bins: &Bins) -> Bins {
        let (mut before, mut rest) = (1.0, 1.0);
        let thinned = bins.iter().map(|&(units, weight)| {
            rest -= weight;
            let after = self.thin(units, f64::max(rest, 0.0));
            let share = before - after;
            before = after;
            (units, share)
        });
        thinned.collect()
    }
}

/// What a relay holds of the ages `push` gives, for a reader that pulled from another relay each
/// `period` before: the youngest of all that counts.
fn held(push: &Bins, period: f64) -> Bins {
    let older = |units: f64| 1.0 - within(push, units);
    let mut before = 1.0;
    let mut bins = Bins::new();
    for &(units, _) in push {
        let earlier = (0..EARLIER).map(|pull| units - f64::from(pull) * period);
        let after = earlier.take_while(|units| *units >= 0.0).map(older).product();
        bins.push((units, before - after));
        before = after;
    }
    bins.retain(|bin| bin.1 > 0.0);
    bins
}

/// The share of waits within `units`.
fn within(bins: &Bins, units: f64) -> f64 {
    bins.iter().filter(|bin| bin.0 <= units).map(|bin| bin.1).sum()
}

impl Waits {
    /// The share of pairs of one row.
    fn near(&self) -> f64 {
        (self.members / self.rows - 1.0) / (self.members - 1.0)
    }

    /// The part of other rows' entries that were pulled from their origin itself.
    fn by_origin(&self) -> f64 {
        self.rows / self.members
    }

    /// The distribution of ages.
    pub(super) fn ages(&self) -> Curve {
        let mut pulled = Histogram::to(self.longest());
        // The origin's own entry is made anew each unit.
        for (relay, part) in [(&self.held, 1.0 - self.by_origin()), (&even(1.0), self.by_origin())]
        {
            pulled.add_sums(relay, &self.pull, part);
        }
        let mut pushed = Histogram::to(self.longest());
        self.push.iter().for_each(|bin| pushed.add(bin.0, bin.1));
        let (near, mut strays) = (self.near(), self.strays);
        pulled.curve().with(&pushed.curve(), |age, far, mate| {
            // What came in the same round to this node and to its relay is no news from there.
            let alike = if age < 1.0 { self.pushed_at_once } else { 0.0 };
            let older = near * mate * (alike + (1.0 - alike) * far) + (1.0 - near) * far;
            strays.thin(age, older)
        })
    }

    /// The mean age of a node's oldest entry: of the oldest of each row, the oldest.
    pub(super) fn oldest_units(&self) -> f64 {
        if self.rows < 1.5 {
            return self.ages().oldest_of(self.members - 1.0);
        }
        let length = self.members / self.rows;
        let (mut before, mut within) = (0.0, 0.0);
        let mut oldest = Bins::new();
        for &(units, weight) in &self.held {
            within = f64::min(within + weight, 1.0);
            let all = f64::powf(within, length);
            oldest.push((units, all - before));
            before = all;
        }
        let mut ages = Histogram::to(self.longest());
        ages.add_sums(&oldest, &self.pull, 1.0);
        let (curve, mut strays) = (ages.curve(), self.strays);
        curve.with(&curve, |age, older, _| strays.thin(age, older)).oldest_of(self.rows - 1.0)
    }

    fn longest(&self) -> f64 {
        let longest = |bins: &Bins| bins.last().map_or(0.0, |last| last.0);
        longest(&self.push).max(1.0) + longest(&self.pull)
    }
}

/// A wait that is evenly spread over so many units.
fn even(units: f64) -> Bins {
    let bin = units / BINS as f64;
    (0..BINS).map(|at| ((at as f64 + 0.5) * bin, 1.0 / BINS as f64)).collect()
}

/// Shares of ages in bins of equal length.
struct Histogram {
    bin: f64,
    shares: Vec<f64>,
}

impl Histogram {
    /// Room for ages up to `longest` units.
    fn to(longest: f64) -> Self {
        Self { bin: longest / AGE_BINS as f64, shares: vec![0.0; AGE_BINS + 2] }
    }

    fn add(&mut self, units: f64, share: f64) {
        let at = (units / self.bin) as usize;
        self.shares[at.min(AGE_BINS + 1)] += share;
    }

    /// Adds the sums of two waits, which make up a share of all.
    fn add_sums(&mut self, first: &Bins, second: &Bins, share: f64) {
        for &(held, weight) in first {
            for &(waited, other) in second {
                self.add(held + waited, weight * other * share);
            }
        }
    }

    fn curve(&self) -> Curve {
        let (mut curve, mut older) = (Curve::default(), 1.0);
        curve.push(0.0, 1.0);
        for (at, share) in self.shares.iter().enumerate() {
            older -= share;
            curve.push((at + 1) as f64 * self.bin, f64::max(older, 0.0));
        }
        curve
    }
}

/// What to expect of the strategy.
pub(super) fn forecast(members: usize, budget: &Budget, loss: f64) -> Forecast {
    let layout = Layout::of(members, budget);
    let stray_entries = budget.datagram_entries.min(budget.window_entries).max(1);
    let strays = Strays {
        rate: (1.0 - loss) / f64::from(STRAY_UNITS),
        share: stray_entries as f64 / members as f64,
        units: 0.0,
        older: 1.0,
        exponent: 0.0,
    };
    let push = pushes(&layout, loss).wait();
    let mut play = Play::of(&layout, budget, loss, &push);
    play.run();
    let pull = play.gaps.wait();
    let a_unit = |count: u64| count as f64 / f64::from(play.units.max(1));
    let (bytes, datagrams, entries) =
        (a_unit(play.bytes), a_unit(play.datagrams), a_unit(play.entries));
    let waits = Waits {
        members: members as f64,
        rows: layout.rows() as f64,
        pushed_at_once: 1.0 / layout.push_units,
        held: strays.wait(&held(&push, play.gaps.mean_units())),
        push,
        pull,
        strays,
    };
    Forecast {
        age_avg_units: waits.ages().average(),
        bytes,
        datagrams,
        entries,
        shape: Shape::Grid(waits),
    }
}

/// The gaps between pushes of the own entry to one mate, of those that arrive.
fn pushes(layout: &Layout, loss: f64) -> Gaps {
    let (mut pusher, mut chance) = (Pusher::default(), Chance::new(SEED));
    let mut gaps = Gaps::new(1.0);
    let mut last = vec![None; layout.members_of(0).len()];
    let rounds = repeated(ROUNDS as usize, loss) as u32;
    for round in 0..rounds {
        for mate in pusher.round(layout, 0) {
            if !lost(&mut chance, loss) {
                if let Some(before) = last[mate].replace(round) {
                    gaps.note(round - before);
                }
            }
        }
    }
    if gaps.counts.is_empty() {
        gaps.note(rounds);
    }
    gaps
}

/// How often to play what takes `count` plays without loss.
fn repeated(count: usize, loss: f64) -> usize {
    if loss > 0.0 { 8 * count } else { count }
}

fn lost(chance: &mut Chance, loss: f64) -> bool {
    loss > 0.0 && (chance.bits() >> 11) as f64 / ((1u64 << 53) as f64) < loss
}

/// One node's traffic, played look by look.
struct Play<'a> {
    layout: &'a Layout,
    budget: &'a Budget,
    loss: f64,
    /// How old entries are at a relay.
    push: &'a Bins,
    puller: Puller,
    pusher: Pusher,
    chance: Chance,
    /// The look of each row's last answer.
    last: Vec<Option<u32>>,
    gaps: Gaps,
    units: u32,
    bytes: u64,
    datagrams: u64,
    entries: u64,
}

impl<'a> Play<'a> {
    fn of(layout: &'a Layout, budget: &'a Budget, loss: f64, push: &'a Bins) -> Self {
        let rows = layout.rows();
        let answer = budget.window_bytes(layout.members().div_ceil(rows));
        let mut puller = Puller::default();
        puller.restart(rows, 0, (budget.pull_bytes(), answer));
        Self {
            layout,
            budget,
            loss,
            push,
            puller,
            pusher: Pusher::default(),
            chance: Chance::new(SEED),
            last: vec![None; rows],
            gaps: Gaps::new(1.0 / f64::from(LOOKS)),
            units: 0,
            bytes: 0,
            datagrams: 0,
            entries: 0,
        }
    }

    /// Plays until there are gaps enough; counts begin when each row had a turn.
    fn run(&mut self) {
        let rows = self.layout.rows();
        let wanted = repeated(PULLS.max(TURNS * rows), self.loss) as u64;
        let mut warm = false;
        let (mut unit, mut gaps) = (0, 0);
        while self.units < 64 || gaps < wanted {
            for look in 0..LOOKS {
                self.look(unit * LOOKS + look);
            }
            unit += 1;
            self.units += 1;
            gaps = self.gaps.counts.iter().sum();
            if !warm && gaps > rows as u64 {
                (warm, self.units, self.bytes, self.datagrams, self.entries) = (true, 0, 0, 0, 0);
                self.gaps.counts.clear();
            }
            if unit >= MAX_UNITS {
                break;
            }
        }
        if self.gaps.counts.is_empty() {
            self.gaps.note(unit * LOOKS);
        }
    }

    fn look(&mut self, look: u32) {
        let unit_bytes = self.budget.unit_bytes();
        self.puller.earn(unit_bytes / LOOKS as usize, unit_bytes);
        if look % LOOKS == 0 {
            self.round(look / LOOKS);
        }
        while let Some(pull) = self.puller.next_pull() {
            let relay = pull.row as u32;
            // Nobody asks itself for its own row.
            let mates = self.layout.members_of(0).len();
            if pull.row == 0 && self.chance.below(mates) == 0 {
                continue;
            }
            self.puller.asked(pull, relay);
            self.send(self.budget.pull_bytes(), 1, 0);
            if !lost(&mut self.chance, self.loss) {
                self.answer(look, pull.row);
            }
        }
        self.puller.looked();
    }

    fn round(&mut self, round: u32) {
        let pushes = self.pusher.round(self.layout, 0).count();
        let each = self.budget.window_bytes(1);
        self.puller.spend(pushes * each);
        self.send(pushes * each, pushes, pushes);
        if round % STRAY_UNITS == 0 {
            let entries = self.budget.datagram_entries.min(self.budget.window_entries);
            self.puller.spend(self.budget.window_bytes(entries));
            self.send(self.budget.window_bytes(entries), 1, entries);
        }
    }

    /// A request arrived.
    fn answer(&mut self, look: u32, row: usize) {
        let length = self.layout.members_of(row).len();
        let since = self.last[row].map(|last| f64::from(look - last) / f64::from(LOOKS));
        let share = since.map_or(1.0, |units| within(self.push, units + MARGIN_UNITS as f64));
        let entries = ((length as f64 * share).round() as usize).max(1);
        let bytes = self.budget.window_bytes(entries);
        self.send(bytes, entries.div_ceil(self.budget.datagram_entries.max(1)), entries);
        if lost(&mut self.chance, self.loss) {
            return;
        }
        self.puller.answered(row as u32, bytes, i64::from(look));
        let before = self.last[row].replace(look);
        // The own row's gaps are others, now and then: this node may be drawn.
        if let Some(before) = before.filter(|_| row > 0 || self.last.len() == 1) {
            self.gaps.note(look - before);
        }
    }

    fn send(&mut self, bytes: usize, datagrams: usize, entries: usize) {
        self.bytes += bytes as u64;
        self.datagrams += datagrams as u64;
        self.entries += entries as u64;
    }
}
