//! Ages under strategy `grid`: two regular waits, one for a push and one for a pull.
//!
//! A relay holds an entry since it was pushed to it, and a reader what the relay held since it
//! pulled it. So an age is the sum of two waits; in the own row it is that or the wait for a push,
//! whichever is shorter. Clocks agree: rounds, and with them pushes, are common to all, and a pull
//! comes at one of the looks of a unit. Where they do not, ages are up to half a unit more.
//!
//! When pushes and pulls come is decided by the strategy's own `pusher.rs` and `puller.rs`: the
//! model plays them for one node, with answers that come at once or are lost by chance, and counts
//! the gaps (`gaps.rs`).
//!
//! Strays, windows to random members, cut the longest waits a little. Of a pull that fails all of a
//! row stays old, so the oldest entry is looked for among rows, not among entries.

use super::curve::Curve;
use super::gaps::{BINS, Bins, Gaps, Strays, held, within};
use super::{Forecast, Shape};
use crate::dissemination::Chance;
use crate::dissemination::layout::{Budget, Layout, PULLS_AT_ONCE, STRAY_UNITS, looks_in};
use crate::dissemination::puller::{MARGIN_UNITS, Puller};
use crate::dissemination::pusher::Pusher;

/// Phases of the unit in which the oldest entries are looked for.
const PHASES: usize = 8;
/// Parts of a unit in which looks are counted.
const PARTS: u32 = 16;
/// A node is drawn as relay of its own row so many times less often than another.
const OWN_DRAWN: usize = 8;
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

/// What makes up the ages of a grid.
#[derive(Clone, Debug)]
pub(super) struct Waits {
    members: f64,
    rows: f64,
    /// The share of a row that a push goes to in one round.
    pushed_at_once: f64,
    /// Since a push to the reader itself.
    push: Bins,
    /// Pulls, by the look at which they come.
    pulls: Vec<Pulled>,
    strays: Strays,
}

/// What a pull at one of the looks brings.
#[derive(Clone, Debug)]
struct Pulled {
    /// The share of time in which what it brought is the newest.
    share: f64,
    /// The age of the origin's own entry then.
    own_units: f64,
    /// The ages of what a relay answers with, where they count.
    held: Bins,
    /// Since the pull.
    since: Bins,
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
        for pull in &self.pulls {
            // The origin's own entry is made anew each unit.
            let own = vec![(pull.own_units, 1.0)];
            for (relay, part) in [(&pull.held, 1.0 - self.by_origin()), (&own, self.by_origin())] {
                pulled.add_sums(relay, &pull.since, pull.share * part);
            }
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
        let phases = (0..PHASES).map(|phase| self.oldest_at(phase));
        let all =
            phases.fold((0.0, 0.0), |sum, (share, oldest)| (sum.0 + share, sum.1 + share * oldest));
        all.1 / all.0
    }

    /// The share of waits that end in a phase of the unit, which is common to all rows, and the
    /// mean age of a node's oldest entry then.
    fn oldest_at(&self, phase: usize) -> (f64, f64) {
        let length = self.members / self.rows;
        let mut ages = Histogram::to(self.longest());
        let mut all = 0.0;
        for pull in &self.pulls {
            let is_then = |units: f64| {
                let part = (pull.own_units + units).fract();
                (part * PHASES as f64) as usize == phase
            };
            let since: Bins = pull.since.iter().copied().filter(|bin| is_then(bin.0)).collect();
            let (mut before, mut within) = (0.0, 0.0);
            let oldest = pull.held.iter().map(|&(units, weight)| {
                within = f64::min(within + weight, 1.0);
                let share = f64::powf(within, length) - before;
                before += share;
                (units, share)
            });
            ages.add_sums(&oldest.collect(), &since, pull.share);
            all += pull.share * since.iter().map(|bin| bin.1).sum::<f64>();
        }
        if all <= 0.0 {
            return (0.0, 0.0);
        }
        for share in &mut ages.shares {
            *share /= all;
        }
        let (curve, mut strays) = (ages.curve(), self.strays);
        let curve = curve.with(&curve, |age, older, _| strays.thin(age, older));
        (all, curve.oldest_of(self.rows - 1.0))
    }

    fn longest(&self) -> f64 {
        let longest = |bins: &Bins| bins.last().map_or(0.0, |last| last.0);
        let pulled = self.pulls.iter().map(|pull| longest(&pull.held) + longest(&pull.since));
        pulled.fold(longest(&self.push), f64::max) + 1.0
    }
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
    let strays =
        Strays::of((1.0 - loss) / f64::from(STRAY_UNITS), stray_entries as f64 / members as f64);
    let gaps = pushes(&layout, loss);
    let push = gaps.wait();
    let mut play = Play::of(&layout, budget, loss, &push);
    play.run();
    let a_unit = |count: u64| count as f64 / f64::from(play.units.max(1));
    let (bytes, datagrams, entries) =
        (a_unit(play.bytes), a_unit(play.datagrams), a_unit(play.entries));
    let pulls = play.pulls(&gaps.steps_since(), strays);
    let waits = Waits {
        members: members as f64,
        rows: layout.rows() as f64,
        pushed_at_once: 1.0 / layout.push_units,
        push,
        pulls,
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
    /// When each row was last answered, in parts of a unit, and at which look.
    last: Vec<Option<(u32, usize)>>,
    /// By the look at which they begin.
    gaps: Vec<Gaps>,
    looks: &'static [u8],
    units: u32,
    bytes: u64,
    datagrams: u64,
    entries: u64,
}

impl<'a> Play<'a> {
    fn of(layout: &'a Layout, budget: &'a Budget, loss: f64, push: &'a Bins) -> Self {
        let rows = layout.rows();
        let answer = budget.window_bytes(layout.members().div_ceil(rows));
        let looks = looks_in(i64::MAX);
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
            gaps: vec![Gaps::new(1.0 / f64::from(PARTS)); looks.len()],
            looks,
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
        let (mut unit, mut warm) = (0, false);
        while unit < MAX_UNITS && (self.units < 64 || self.gaps() < wanted) {
            self.puller.earn(self.budget.unit_bytes());
            self.round(unit);
            for look in 0..self.looks.len() {
                self.look(unit, look);
            }
            unit += 1;
            self.units += 1;
            if !warm && self.gaps() > rows as u64 {
                (warm, self.units, self.bytes, self.datagrams, self.entries) = (true, 0, 0, 0, 0);
                self.gaps.iter_mut().for_each(|gaps| gaps.counts.clear());
            }
        }
        if self.gaps() == 0 {
            self.gaps[0].note(unit * PARTS);
        }
    }

    /// Gaps counted.
    fn gaps(&self) -> u64 {
        self.gaps.iter().map(Gaps::count).sum()
    }

    /// What pulls bring, if a relay had its last push so many rounds ago.
    fn pulls(&self, rounds: &Bins, strays: Strays) -> Vec<Pulled> {
        let all: f64 = self.gaps.iter().map(Gaps::units).sum();
        let period = all / self.gaps() as f64;
        let gaps = self.looks.iter().zip(&self.gaps).enumerate();
        let gaps = gaps.filter(|(_, (_, gaps))| gaps.count() > 0);
        let pulled = gaps.map(|(look, (&part, gaps))| {
            let rounds = self.mended(rounds, period, look);
            let own_units = f64::from(part) / f64::from(PARTS);
            let ages = rounds.iter().map(|&(age, share)| (age + own_units, share)).collect();
            Pulled {
                share: gaps.units() / all,
                own_units,
                held: strays.wait(&held(&ages, period)),
                since: gaps.wait(),
            }
        });
        pulled.collect()
    }

    /// How many rounds ago a relay had its last push or pulled it from its own row, which all
    /// members do at about the time of other pulls.
    fn mended(&self, rounds: &Bins, period: f64, look: usize) -> Bins {
        let found = (1.0 - self.loss).powi(3) / self.layout.push_units.powi(2) / period.max(1.0);
        // At the first look as many do so before as after.
        let now = if look == 0 { found / 2.0 } else { found };
        let (mut older, mut before, mut mended) = (1.0, 1.0, 1.0 - now);
        let bins = rounds.iter().map(|&(age, share)| {
            older -= share;
            let after = f64::max(older, 0.0) * mended;
            mended *= 1.0 - found;
            let share = before - after;
            before = after;
            (age, share)
        });
        bins.collect()
    }

    fn look(&mut self, unit: u32, look: usize) {
        // A node has sent all its requests before the first answer comes.
        let mut asked = Vec::new();
        for _ in 0..PULLS_AT_ONCE {
            let Some(pull) = self.puller.next_pull() else { break };
            let relay = pull.row as u32;
            // Nobody asks itself for its own row.
            let mates = self.layout.members_of(0).len();
            if pull.row == 0 && self.chance.below(mates * OWN_DRAWN) == 0 {
                continue;
            }
            self.puller.asked(pull, relay);
            self.send(self.budget.pull_bytes(), 1, 0);
            asked.push(pull.row);
        }
        self.puller.looked();
        for row in asked {
            if !lost(&mut self.chance, self.loss) {
                self.answer(unit, look, row);
            }
        }
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
    fn answer(&mut self, unit: u32, look: usize, row: usize) {
        let length = self.layout.members_of(row).len();
        let now = unit * PARTS + u32::from(self.looks[look]);
        let since = self.last[row].map(|(last, _)| f64::from(now - last) / f64::from(PARTS));
        let share = since.map_or(1.0, |units| within(self.push, units + MARGIN_UNITS as f64));
        let entries = ((length as f64 * share).round() as usize).max(1);
        let bytes = self.budget.window_bytes(entries);
        self.send(bytes, entries.div_ceil(self.budget.datagram_entries.max(1)), entries);
        if lost(&mut self.chance, self.loss) {
            return;
        }
        self.puller.answered(row as u32, bytes, i64::from(now));
        let before = self.last[row].replace((now, look));
        // The own row's gaps are others, now and then: this node may be drawn.
        if let Some((then, at)) = before.filter(|_| row > 0 || self.last.len() == 1) {
            self.gaps[at].note(now - then);
        }
    }

    fn send(&mut self, bytes: usize, datagrams: usize, entries: usize) {
        self.bytes += bytes as u64;
        self.datagrams += datagrams as u64;
        self.entries += entries as u64;
    }
}
