//! Ages under strategy `grid`: one row and one reader, simulated.
//!
//! A relay holds an entry since it was pushed to it, and a reader what the relay held since it
//! pulled it. Clocks agree: rounds, and with them pushes, are common to all, and a pull comes at
//! one of the looks of a unit. Where they do not, ages are up to half a unit more.
//!
//! When pushes and pulls come is decided by the strategy's own `pusher.rs` and `puller.rs`, by
//! whole rounds and bytes, and by what was lost: no formula has all of that. But all rows are
//! alike, and so are all readers. So the model simulates one row (`rowmates.rs`) and one reader of
//! it, which pulls each of its rows as if it were that one at another time. Answers come at once or
//! are lost at random. That takes one n-th of a simulation's work.
//!
//! Strays, windows to random members, bring other entries as new as the reader's own newest.

use tidings_primitives::Chance;

use super::counted::{AGE_PARTS, Counted};
use super::forecast::Forecast;
use super::rowmates::{Row, lost};
use crate::dissemination::layout::{Budget, Layout, PULLS_AT_ONCE, STRAY_UNITS, looks_in};
use crate::dissemination::puller::{MARGIN_UNITS, Pull, Puller};
use crate::dissemination::pusher::Pusher;

/// Parts of a unit in which looks are counted.
const PARTS: u32 = 16;
/// A node is drawn as relay of its own row so many times less often than another.
const OWN_DRAWN: usize = 8;
/// Turns of each row that are simulated, at least and, with loss and without, at most; and entries
/// pulled in between.
const TURNS: (usize, usize, usize) = (8, 800, 200);
const PULLED: usize = 1 << 22;
/// Units that are simulated, at least and at most.
const UNITS: (f64, f64) = (128.0, 20_000.0);
/// Turns of each row before ages count.
const WARM_TURNS: f64 = 3.0;
/// Entries whose ages are counted at each moment, about.
const COUNTED: usize = 512;
/// What lets chance begin: any number, since only its statistics matter.
const SEED: u64 = 1;

/// What to expect of the strategy.
pub(super) fn forecast(members: usize, budget: &Budget, loss: f64) -> Forecast {
    let layout = Layout::of(members, budget);
    let mut chance = Chance::new(SEED);
    let rows = Rows::of(&layout, loss, &mut chance);
    let turn = layout.pull_units.max(layout.push_units);
    let most = if loss > 0.0 { TURNS.1 } else { TURNS.2 };
    let turns = (PULLED / members).clamp(TURNS.0, most) as f64;
    let units = (turns * turn).clamp(UNITS.0, UNITS.1);
    let warm = (WARM_TURNS * turn).clamp(8.0, UNITS.1) as u32;
    let (mut ages, mut sent, mut counted) = (Counted::default(), Sent::default(), 0);
    for (own, share) in rows.kinds(&layout) {
        let mut play = Play::of(&layout, budget, loss, (&rows, own), Chance::new(SEED));
        let units = (units * share).ceil() as u32;
        play.ages = ages;
        for unit in 0..warm + units {
            if unit == warm {
                play.sent = sent;
            }
            play.unit(unit, unit >= warm);
        }
        (ages, sent) = (play.ages, play.sent);
        counted += units;
    }
    let a_unit = |count: u64| count as f64 / f64::from(counted);
    let curve = ages.curve();
    Forecast {
        age_avg_units: curve.average(),
        bytes: a_unit(sent.bytes),
        datagrams: a_unit(sent.datagrams),
        entries: a_unit(sent.entries),
        oldest_units: ages.oldest_units(),
        ages: curve,
    }
}

/// The simulated rows, one of each length; lengths differ by one at most.
struct Rows {
    short: Row,
    long: Row,
    /// Which row of the layout is a long one, if any.
    long_one: Option<usize>,
}

impl Rows {
    fn of(layout: &Layout, loss: f64, chance: &mut Chance) -> Self {
        let short = layout.members_of(0).len();
        let long_one = (0..layout.rows()).find(|row| layout.members_of(*row).len() > short);
        Self {
            short: Row::of(layout, 0, loss, chance),
            long: Row::of(layout, long_one.unwrap_or(0), loss, chance),
            long_one,
        }
    }

    /// A row of each length, with the share of all members that are in such rows.
    fn kinds(&self, layout: &Layout) -> Vec<(usize, f64)> {
        let Some(long_one) = self.long_one else { return vec![(0, 1.0)] };
        let (short, members) = (self.short.length(), layout.members());
        let long = (members - layout.rows() * short) * (short + 1);
        let share = long as f64 / members as f64;
        vec![(0, 1.0 - share), (long_one, share)]
    }

    fn like(&self, length: usize) -> &Row {
        if length == self.short.length() { &self.short } else { &self.long }
    }
}

/// What a node has sent.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    bytes: u64,
    datagrams: u64,
    entries: u64,
}

/// One node's part, simulated look by look.
struct Play<'a> {
    layout: &'a Layout,
    budget: &'a Budget,
    loss: f64,
    rows: &'a Rows,
    /// The reader's own row; the reader is its first member.
    own_row: usize,
    own: usize,
    lengths: Vec<usize>,
    /// Places for each row in what follows.
    stride: usize,
    puller: Puller,
    pusher: Pusher,
    chance: Chance,
    /// At which round of the simulated row each row is at the start.
    starts: Vec<usize>,
    /// When each row was last answered, in parts of a unit.
    last: Vec<Option<u32>>,
    /// The round at which each entry was made that the reader holds, row by row.
    births: Vec<i32>,
    /// The earliest of each row.
    earliest: Vec<i32>,
    looks: &'static [u8],
    ages: Counted,
    sent: Sent,
}

impl<'a> Play<'a> {
    fn of(
        layout: &'a Layout,
        budget: &'a Budget,
        loss: f64,
        (played, own_row): (&'a Rows, usize),
        mut chance: Chance,
    ) -> Self {
        let rows = layout.rows();
        let length = layout.members().div_ceil(rows);
        let answer = budget.answer(length).0;
        let mut puller = Puller::default();
        puller.restart(rows, 0, (budget.pull_bytes(length), answer));
        let stride = played.short.length().max(played.long.length());
        let mut births = vec![i32::MAX; rows * stride];
        for row in 0..rows {
            births[row * stride..][..layout.members_of(row).len()].fill(0);
        }
        Self {
            layout,
            budget,
            loss,
            rows: played,
            own_row,
            own: layout.members_of(own_row).start,
            lengths: (0..rows).map(|row| layout.members_of(row).len()).collect(),
            stride,
            puller,
            pusher: Pusher::default(),
            starts: (0..rows).map(|_| chance.below(1 << 16)).collect(),
            chance,
            last: vec![None; rows],
            births,
            earliest: vec![0; rows],
            looks: looks_in(i64::MAX),
            ages: Counted::default(),
            sent: Sent::default(),
        }
    }

    /// A round and its looks; ages are counted at one moment in between.
    fn unit(&mut self, unit: u32, counts: bool) {
        self.puller.earn(self.budget.unit_bytes());
        self.round(unit);
        // Multiples of the golden ratio fill the unit evenly as units pass.
        let moment = unit.wrapping_mul(0x9E37_79B9) >> (32 - PARTS.ilog2() - 2);
        let mut counted = !counts;
        for look in 0..self.looks.len() {
            let part = u32::from(self.looks[look]);
            if !counted && moment < 4 * part {
                self.count(unit, moment);
                counted = true;
            }
            self.look(unit, look);
        }
        if !counted {
            self.count(unit, moment);
        }
    }

    fn round(&mut self, unit: u32) {
        let pushes = self.pusher.round(self.layout, self.own, |_| true).count();
        let each = self.budget.push_bytes();
        self.puller.spend(pushes * each);
        self.send(pushes * each, pushes, pushes);
        // The reader is the first member of the first row.
        let played = self.rows.like(self.lengths[self.own_row]);
        self.take(unit, self.own_row, played.pushed(self.starts[self.own_row] + unit as usize, 0));
        let entries = self.budget.datagram_entries.min(self.budget.window_entries).max(1);
        if unit % STRAY_UNITS == 0 {
            self.puller.spend(self.budget.window_bytes(entries));
            self.send(self.budget.window_bytes(entries), 1, entries);
        }
        if self.chance.below(STRAY_UNITS as usize) == 0 && !lost(&mut self.chance, self.loss) {
            self.stray(entries);
        }
    }

    /// A stray comes: entries as new as the newest here, of any others.
    fn stray(&mut self, entries: usize) {
        let known = self.births.iter().copied().filter(|birth| *birth < i32::MAX);
        let mut newest: Vec<i32> = known.collect();
        let last = entries.min(newest.len());
        newest.select_nth_unstable_by(last - 1, |one, two| two.cmp(one));
        for &birth in &newest[..last] {
            let at = self.chance.below(self.births.len());
            if birth > self.births[at] {
                self.births[at] = birth;
                let row = at / self.stride;
                self.earliest[row] = self.earliest_of(row);
            }
        }
    }

    fn look(&mut self, unit: u32, look: usize) {
        // A node has sent all its requests before the first answer comes.
        let mut asked: Vec<Pull> = Vec::new();
        for _ in 0..PULLS_AT_ONCE {
            let Some(pull) = self.puller.next_pull() else { break };
            // Nobody asks itself for its own row.
            let own = pull.row == self.own_row;
            if own && self.chance.below(self.lengths[pull.row] * OWN_DRAWN) == 0 {
                continue;
            }
            self.puller.asked(pull, pull.row as u32);
            self.send(self.budget.pull_bytes(self.lengths[pull.row]), 1, 0);
            asked.push(pull);
        }
        self.puller.looked();
        for pull in asked {
            if !lost(&mut self.chance, self.loss) {
                self.answer(unit, look, pull.row);
            }
        }
    }

    /// A request for a row arrived at one of its members.
    fn answer(&mut self, unit: u32, look: usize, row: usize) {
        let (length, own) = (self.lengths[row], usize::from(row == self.own_row));
        let relay = own + self.chance.below((length - own).max(1));
        let now = unit * PARTS + u32::from(self.looks[look]);
        let since = self.last[row]
            .map_or(i64::MIN, |last| i64::from(last) - MARGIN_UNITS * i64::from(PARTS));
        let is_later =
            |held: &&u16| (i64::from(unit) - i64::from(**held)) * i64::from(PARTS) > since;
        let (played, round) = (self.rows.like(length), self.starts[row] + unit as usize);
        // The relay pulls its own row at some look, before this node or after it.
        let rows = self.lengths.len();
        let done = |look: usize| (look * PULLS_AT_ONCE).min(rows);
        let before = self.chance.below(2 * rows) < done(look) + done(look + 1);
        let held = if before {
            played.pulled(round, relay % length, look > 0)
        } else {
            played.pushed(round, relay % length)
        };
        let entries = held.iter().filter(is_later).count();
        let (bytes, datagrams) = self.budget.answer(entries);
        self.send(bytes, datagrams, entries);
        if lost(&mut self.chance, self.loss) {
            return;
        }
        self.puller.answered(row as u32, bytes, i64::from(now));
        self.last[row] = Some(now);
        self.take(unit, row, held);
    }

    /// Takes what a member of a row holds.
    fn take(&mut self, unit: u32, row: usize, held: &[u16]) {
        let births = &mut self.births[row * self.stride..][..held.len()];
        for (birth, held) in births.iter_mut().zip(held) {
            *birth = (unit as i32 - i32::from(*held)).max(*birth);
        }
        self.earliest[row] = self.earliest_of(row);
    }

    fn earliest_of(&self, row: usize) -> i32 {
        self.births[row * self.stride..][..self.lengths[row]].iter().copied().min().unwrap_or(0)
    }

    /// Counts ages at a moment of a unit, in `AGE_PARTS`.
    fn count(&mut self, unit: u32, moment: u32) {
        let age = |birth: i32| (unit as i32 - birth).max(0) as u32 * AGE_PARTS + moment;
        let oldest = self.earliest.iter().map(|birth| age(*birth)).max().unwrap_or(0);
        self.ages.oldest(oldest);
        let rows = self.earliest.len();
        let turns = (rows * self.stride).div_ceil(COUNTED);
        for row in (unit as usize % turns..rows).step_by(turns) {
            let from = row * self.stride;
            let first = from + usize::from(row == self.own_row);
            for at in first..from + self.lengths[row] {
                self.ages.count(age(self.births[at]));
            }
        }
    }

    fn send(&mut self, bytes: usize, datagrams: usize, entries: usize) {
        self.sent.bytes += bytes as u64;
        self.sent.datagrams += datagrams as u64;
        self.sent.entries += entries as u64;
    }
}
