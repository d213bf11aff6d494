//! What an aggregate of a colony costs as a change by an earlier one, and would at least.
//!
//! Nodes replay the recordings of studies/readings, settled within the documented tolerances. Their
//! aggregate is made each unit, from entries as old as they are in colonies of that size, and is
//! held against the one of some units ago: as the change that nodes send, and as one that says each
//! field by how much it differs, in the code of numbers that entries have, of the order that is
//! best for that field, which is not counted: a lower bound of changes in this code. Bins are told
//! as they are there where their bounds have moved.

#[path = "../changes/payloads.rs"]
#[expect(dead_code, reason = "payloads of 1 KiB and of noise are for programs beside this one")]
mod payloads;

use core::time::Duration;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::Map;
use tidings_gossip::age::STEP_MICROS;
use tidings_gossip::aggregate::{Aggregate, Contribution, MAX_BYTES, Reading, Summary};
use tidings_gossip::colony::{RECORD_BYTES, STALE_UNITS};
use tidings_primitives::Chance;
use tidings_studies::table::{self, Made};

use payloads::{Kind, Speaker};

const SEED: u64 = 1;
const UNIT: Duration = Duration::from_millis(256);
/// Nodes of a colony, and the average age of entries there in units, as studies/colonies has them
/// of 10^4, 10^5 and 10^6 nodes.
const COLONIES: [(usize, f64); 3] = [(212, 1.14), (571, 3.41), (1_811, 11.33)];
/// Units from one aggregate to the other; a sweep over all rows takes 22 among 10^6 nodes.
const APART: [usize; 5] = [1, 2, 4, 8, 22];

const HEADING: &str = "nodes,units_apart,aggregates,bytes_whole,bytes_told,bytes_changed,\
    ages_bytes,sums_bytes,ends_bytes,bins_bytes\n";

fn main() -> ExitCode {
    table::make("aggregates", "studies/readings/run aggregates", Some(SEED), |is_measured| {
        made(if is_measured { (COLONIES, 240) } else { (COLONIES.map(|(_, age)| (16, age)), 24) })
    })
}

fn made((colonies, units): ([(usize, f64); 3], usize)) -> Result<Made, String> {
    let recordings = payloads::recordings()?;
    let mut table = HEADING.to_owned();
    for (nodes, age_units) in colonies {
        let speakers = (0..nodes).map(|node| Speaker::new(Kind::Usual, &recordings, (node, SEED)));
        let mut speakers = speakers.collect::<Result<Vec<_>, _>>()?;
        let mut counted = APART.map(|_| Bits::default());
        let mut before = VecDeque::new();
        let mut chance = Chance::new(SEED);
        for _ in 0..units {
            let now = aggregate(&mut speakers, age_units, &mut chance)?;
            for (apart, bits) in APART.iter().zip(&mut counted) {
                if let Some(base) = before.get(apart - 1) {
                    bits.add(base, &now)?;
                }
            }
            before.push_front(now);
            before.truncate(APART[APART.len() - 1]);
        }
        for (apart, bits) in APART.iter().zip(counted) {
            bits.write(&mut table, nodes, *apart);
        }
    }
    Ok((table, Map::from_iter([("record_bytes".into(), RECORD_BYTES.into())])))
}

/// What the nodes say next, of ages up to twice the average.
fn aggregate(
    speakers: &mut [Speaker<'_>],
    age_units: f64,
    chance: &mut Chance,
) -> Result<Aggregate, String> {
    let stale_after = UNIT * STALE_UNITS;
    let most_micros = (2.0 * age_units * UNIT.as_micros() as f64) as usize;
    let mut aggregate = Aggregate::default();
    let mut payload = [0; 64];
    for speaker in speakers {
        speaker.say(&mut payload)?;
        let age = Duration::from_micros(chance.below(most_micros) as u64);
        aggregate.add(Contribution::Alive { age, payload: &payload }, stale_after);
    }
    Ok(aggregate)
}

/// Bits of many changes, by what they are for, and bytes of the same aggregates whole.
#[derive(Default)]
struct Bits {
    aggregates: usize,
    whole_bytes: usize,
    /// As nodes send them.
    told_bytes: usize,
    /// Which fields are the same, which all changes say.
    flags: u32,
    ages: u32,
    sums: u32,
    ends: u32,
    bins: u32,
}

impl Bits {
    fn add(&mut self, base: &Aggregate, now: &Aggregate) -> Result<(), String> {
        let mut room = [0; MAX_BYTES];
        self.whole_bytes += now.encode(&mut room).map_err(|error| error.to_string())?;
        let told = now.encode_change(base, &mut room);
        self.told_bytes += told.ok_or("a change longer than the largest aggregate")?;
        self.aggregates += 1;
        self.flags += 1; // whether the counts of nodes are the same
        let steps = |of: &Aggregate| {
            let average = of.age_avg().unwrap_or_default().as_micros() as f64;
            (average * f64::from(of.fresh()) / STEP_MICROS as f64) as i64
        };
        let largest = |of: &Aggregate| of.age_max().unwrap_or_default().as_millis() as i64;
        self.ages += number_bits(steps(now) - steps(base));
        self.ages += number_bits(largest(now) - largest(base)).min(16);
        for reading in Reading::ALL {
            let (old, new) = (base.summary(reading), now.summary(reading));
            self.flags += 1;
            if alike(&old, &new) {
                continue;
            }
            self.flags += 1;
            if (old.min(), old.max()) != (new.min(), new.max()) {
                self.ends += 2 + 16 * changed_ends(&old, &new);
            }
            let steps_per_unit = steps_per_unit(reading);
            self.sums += number_bits(((new.sum() - old.sum()) * steps_per_unit).round() as i64);
            self.bins += bins_bits(old, new);
        }
        Ok(())
    }

    fn write(&self, table: &mut String, nodes: usize, apart: usize) {
        let mean = |bits: u32| f64::from(bits) / 8.0 / self.aggregates as f64;
        let all = self.flags + self.ages + self.sums + self.ends + self.bins;
        let _ = writeln!(
            table,
            "{nodes},{apart},{},{:.1},{:.1},{:.1},{:.1},{:.1},{:.1},{:.1}",
            self.aggregates,
            self.whole_bytes as f64 / self.aggregates as f64,
            self.told_bytes as f64 / self.aggregates as f64,
            mean(all),
            mean(self.ages),
            mean(self.sums),
            mean(self.ends),
            mean(self.bins),
        ); // a String takes all
    }
}

fn alike(old: &Summary<'_>, new: &Summary<'_>) -> bool {
    let said = |of: &Summary<'_>| (of.count(), of.sum().to_bits(), of.min(), of.max());
    said(old) == said(new) && old.histogram().eq(new.histogram())
}

fn changed_ends(old: &Summary<'_>, new: &Summary<'_>) -> u32 {
    u32::from(old.min() != new.min()) + u32::from(old.max() != new.max())
}

/// The steps in which the sum of a reading is told.
fn steps_per_unit(reading: Reading) -> f64 {
    match reading {
        Reading::Load1 | Reading::CpuBusy => 100.0,
        Reading::MemAvailable => 1.0 / 1024.0,
        Reading::Temperature | Reading::Power => 10.0,
        Reading::IoPressure => 2.5,
        _ => 1.0,
    }
}

/// Bits of a number in the code of the order that is best for it.
fn number_bits(number: i64) -> u32 {
    (0..40).map(|order| code_bits(number, order)).min().unwrap_or(0)
}

/// Bits of a number with a sign in an Exp-Golomb code of an order.
fn code_bits(number: i64, order: u32) -> u32 {
    let folded = (number.unsigned_abs() << 1) - u64::from(number < 0);
    2 * ((folded >> order) + 1).ilog2() + 1 + order
}

/// Bits of bins as changes, or whole where their bounds have moved or that is less.
fn bins_bits(old: Summary<'_>, new: Summary<'_>) -> u32 {
    let counts =
        |of: Summary<'_>| -> Vec<i64> { of.histogram().map(|bin| i64::from(bin.count)).collect() };
    let (old_counts, new_counts) = (counts(old), counts(new));
    let order = (i64::from(new.count()) / new_counts.len().max(1) as i64).max(1).ilog2();
    let rice = |count: &i64| 1 + order + (*count >> order) as u32;
    let whole: u32 = new_counts.iter().rev().skip(1).map(rice).sum();
    if !bounds(old).eq(bounds(new)) {
        return whole;
    }
    let by_order = |order| -> u32 {
        let pairs = new_counts.iter().zip(&old_counts).rev().skip(1);
        pairs.map(|(new, old)| code_bits(new - old, order)).sum()
    };
    (0..8).map(by_order).min().unwrap_or(0).min(whole)
}

/// Where bins begin, but for the first, which the smallest reading bounds.
fn bounds(of: Summary<'_>) -> impl Iterator<Item = u64> + '_ {
    of.histogram().skip(1).map(|bin| bin.low.to_bits())
}
