//! Ages under `push-pull` and `staggered`: the entries of some origins among all nodes, simulated.
//!
//! Whom a node meets next, and what it knew of it before, matters under these two: an answer
//! follows at once and repeats much of what was asked with, and news runs through a chain of nodes
//! that the timetable orders. No formula has that. But all origins are alike: to see how old
//! entries are it is enough to follow those of some, at all nodes. A window ends after so many of
//! the newest entries, so it ends after as large a part of the entries that are followed, on
//! average, which are in the same order. That is a simulation of a part of the columns: its work
//! grows with the nodes, not with their square, up to [`LARGEST`]. Of larger clusters ages are
//! taken to grow by as much with each doubling as they do with the last one simulated.
//!
//! The oldest of all a node's entries is that of the followed ones and what more of them would add:
//! what independent ones would, or less, if they added less when their number was doubled.

use tidings_primitives::Chance;

use super::counted::{AGE_PARTS, Counted};
use super::curve::Curve;
use super::forecast::Forecast;
use super::rowmates::lost;
use crate::dissemination::layout::Budget;
use crate::dissemination::timetable::Timetable;

/// Nodes that are simulated, at most.
const LARGEST: usize = 2_048;
/// Entries that are looked at while playing, about: origins times nodes times units.
const WORK: usize = 1 << 22;
/// Origins that are followed, at least.
const ORIGINS: usize = 96;
/// Parts of a unit of time.
const PARTS: i32 = 1 << 14;
/// Units of the warm-up and of what counts: for each unit of a mean age as guessed, and beside.
const WARM: (f64, f64) = (3.0, 12.0);
const COUNTED: (f64, f64) = (2.5, 40.0);
/// The mean age by which units are counted, at most.
const GUESS_UNITS: f64 = 90.0;
/// What more entries of one node add to its oldest, at most, as a part of what independent ones
/// would: they share its waits. Fitted to model.csv.
const AS_INDEPENDENT: f64 = 0.95;
/// What lets chance begin: any number, since only its statistics matter.
const SEED: u64 = 1;

/// How windows travel.
#[derive(Clone, Copy, Debug)]
struct Traffic {
    loss: f64,
    /// Entries of others in a window as a share of them.
    share: f64,
    /// Whether windows are answered; else they go by the timetable.
    answered: bool,
}

/// What was seen of a number of nodes.
struct Seen {
    ages: Curve,
    members: f64,
    /// How many origins were followed, the oldest of them at a node, and of half of them.
    origins: f64,
    oldest_units: f64,
    halves_units: f64,
}

/// What to expect of `push-pull`, if `answered`, or of `staggered`.
pub(super) fn forecast(answered: bool, members: usize, budget: &Budget, loss: f64) -> Forecast {
    let window = budget.window_entries.clamp(1, members);
    let each = if answered { window.div_ceil(2) } else { window };
    let share = ((each as f64 - 1.0) / (members as f64 - 1.0)).min(1.0);
    let traffic = Traffic { loss, share, answered };
    let (ages, oldest_units) = traffic.ages(members);
    // Only what arrives is answered.
    let windows = if answered { 2.0 - loss } else { 1.0 };
    Forecast {
        age_avg_units: ages.average(),
        bytes: windows * budget.window_bytes(each) as f64,
        datagrams: windows * each.div_ceil(budget.datagram_entries.max(1)) as f64,
        entries: windows * each as f64,
        ages,
        oldest_units,
    }
}

impl Traffic {
    /// The ages among so many nodes, and the oldest of a node's.
    fn ages(self, members: usize) -> (Curve, f64) {
        if members <= LARGEST {
            let seen = Play::of(self, members).run();
            let oldest_units = seen.oldest_of(members as f64);
            return (seen.ages, oldest_units);
        }
        let (half, full) = (Play::of(self, LARGEST / 2).run(), Play::of(self, LARGEST).run());
        let doublings = (members as f64 / LARGEST as f64).log2();
        let ages = full.ages.ahead(&half.ages, doublings);
        let more = ages.average() - full.ages.average();
        (ages, full.oldest_of(members as f64) + more)
    }
}

impl Seen {
    /// The oldest of a node's entries, if they were of so many nodes.
    fn oldest_of(&self, members: f64) -> f64 {
        // A node's own entry is not among those of others.
        let others = |count: f64| self.ages.oldest_of(count * (1.0 - 1.0 / self.members));
        let [half, full, all] = [self.origins / 2.0, self.origins, members].map(others);
        let adds = (self.oldest_units - self.halves_units) / (full - half).max(f64::MIN_POSITIVE);
        self.oldest_units + (all - full) * adds.clamp(0.0, AS_INDEPENDENT)
    }
}

/// Nodes and the entries of some of them: the first ones.
struct Play {
    traffic: Traffic,
    members: usize,
    origins: usize,
    warm: usize,
    units: usize,
    /// When each node's entry of each origin was made, in parts of a unit.
    births: Vec<i32>,
    chance: Chance,
    newest: Vec<i32>,
    ages: Counted,
    /// The oldest of each half of the origins.
    halves: Counted,
}

impl Play {
    fn of(traffic: Traffic, members: usize) -> Self {
        let guess = 1.5 / traffic.share.max(1.0 / members as f64) + 4.0;
        let of = |times: (f64, f64)| (times.0 * guess.min(GUESS_UNITS) + times.1) as usize;
        let (warm, least) = (of(WARM), of(COUNTED));
        // Among few nodes all are followed, and for longer.
        let units = (WORK / (members * members)).clamp(least, 20 * least);
        let origins = (WORK / (members * (units + warm))).max(ORIGINS).min(members);
        Self {
            traffic,
            members,
            origins,
            warm,
            units,
            births: vec![-(guess * f64::from(PARTS)) as i32; members * origins],
            chance: Chance::new(SEED),
            newest: Vec::new(),
            ages: Counted::default(),
            halves: Counted::default(),
        }
    }

    fn run(mut self) -> Seen {
        let members = self.members;
        let each = i64::from(PARTS) / members as i64;
        let table = Timetable::of(members, each.max(1) * members as i64, SEED << 32);
        let mut order: Vec<usize> = (0..members).collect();
        for place in (1..members).rev() {
            order.swap(place, self.chance.below(place + 1));
        }
        for unit in 0..self.warm + self.units {
            let round = unit as i64;
            if !self.traffic.answered {
                order.sort_unstable_by_key(|node| table.departure_micros(round, *node));
            }
            // Multiples of the golden ratio fill the unit evenly as units pass.
            let part = (unit as u32).wrapping_mul(0x9E37_79B9);
            let moment = ((u64::from(part) * members as u64) >> 32) as usize;
            for (place, &node) in order.iter().enumerate() {
                let within = place * PARTS as usize / members;
                let now = unit as i32 * PARTS + within as i32;
                if place == moment && unit >= self.warm {
                    self.count(now);
                }
                if node < self.origins {
                    self.births[node * self.origins + node] = now;
                }
                if self.traffic.answered {
                    let other = self.chance.below(members - 1);
                    let other = other + usize::from(other >= node);
                    if self.send(node, other, node) {
                        self.send(other, node, node);
                    }
                } else {
                    self.send(node, table.target(round, node), node);
                }
            }
        }
        self.seen()
    }

    /// A window from a node to another; the entry of `new`, which was just made, is beside those
    /// that count. Whether it arrived.
    fn send(&mut self, from: usize, to: usize, new: usize) -> bool {
        if lost(&mut self.chance, self.traffic.loss) {
            return false;
        }
        let origins = self.origins;
        let others = origins - usize::from(new < origins);
        // So many on average.
        let wanted = self.traffic.share * others as f64;
        let part = self.chance.below(1 << 20) as f64 / f64::from(1 << 20);
        let count = wanted as usize + usize::from(part < wanted.fract());
        let sender = &self.births[from * origins..(from + 1) * origins];
        self.newest.clear();
        let others_of = |(origin, _): &(usize, &i32)| *origin != new;
        self.newest.extend(sender.iter().enumerate().filter(others_of).map(|(_, birth)| *birth));
        let threshold = match count {
            0 => i32::MAX,
            count if count >= others => i32::MIN,
            _ => *self.newest.select_nth_unstable_by(count - 1, |one, two| two.cmp(one)).1,
        };
        for origin in 0..origins {
            let birth = self.births[from * origins + origin];
            let held = &mut self.births[to * origins + origin];
            if (birth >= threshold || origin == new) && birth > *held {
                *held = birth;
            }
        }
        true
    }

    /// Counts the ages that all nodes hold.
    fn count(&mut self, now: i32) {
        for node in 0..self.members {
            let held = &self.births[node * self.origins..(node + 1) * self.origins];
            let (mut oldest, mut of_halves) = (0, [0; 2]);
            for (origin, birth) in held.iter().enumerate().filter(|(origin, _)| *origin != node) {
                let age = ((now - birth) as u32) / (PARTS as u32 / AGE_PARTS);
                self.ages.count(age);
                oldest = age.max(oldest);
                let half = &mut of_halves[usize::from(origin >= self.origins / 2)];
                *half = age.max(*half);
            }
            self.ages.oldest(oldest);
            for of_half in of_halves {
                self.halves.oldest(of_half);
            }
        }
    }

    fn seen(&self) -> Seen {
        Seen {
            ages: self.ages.curve(),
            members: self.members as f64,
            origins: self.origins as f64,
            oldest_units: self.ages.oldest_units(),
            halves_units: self.halves.oldest_units(),
        }
    }
}
