//! How much news readings are: bits a unit that a receiver has to learn of each.
//!
//! A unit of a reading is a symbol ([`Symbol`]): confirmed, or the steps by which it left what the
//! receiver held. The *first-order* entropy is that of the symbols' frequencies, as if each unit
//! were drawn by itself. The *conditional* entropy is what is left when the receiver knows the past
//! by two things: whether this reading's last symbol was no news, a rise or a fall, and for how
//! many units the node's row has been the same (up to [`MAX_REST`]), since an agent reads its
//! machine about every fourth unit. An adaptive entropy coder with these contexts comes near it.
//!
//! Both are estimated by frequencies, with Miller and Madow's correction for symbols that were seen
//! seldom or not at all: (kinds − 1) / (2 N ln 2) bits a context (Miller, "Note on the bias of
//! information estimates", 1955). The first unit, in which all is new, is not counted.
//!
//! Not in it: what readings have to do with each other (the sum over readings is an upper bound of
//! a node's entropy); what a coder pays to learn the frequencies; names of base and node, framing,
//! ages and seals; values lost on the way and sent again.

use std::collections::BTreeMap;

use tidings_gossip::payload::{Held, Numbers, READINGS, Reading, Symbol, Tolerances};

/// Units for which a row can be the same, as far as contexts tell them apart.
pub const MAX_REST: u8 = 8;

/// What came before a symbol: the kind of the last one, and for how long the row was the same.
type Context = (u8, u8);

/// Counts of symbols of one reading.
#[derive(Debug, Clone, Default)]
struct Counts {
    by_context: BTreeMap<Context, BTreeMap<Symbol, u64>>,
    units: u64,
    leaves: u64,
}

/// Counts the symbols of nodes, and estimates their entropy.
#[derive(Debug, Clone)]
pub struct Information {
    tolerances: Tolerances,
    counts: [Counts; READINGS],
    leaves: u64,
    units: u64,
}

/// What was found of a reading, or of a node as the sum of its readings.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Estimate {
    /// Units that were counted.
    pub units: u64,
    /// The share of units in which it leaves its tolerance; of a node: in which some reading does.
    pub leaving: f64,
    /// Bits a unit by the frequencies of symbols.
    pub first_order_bits: f64,
    /// Bits a unit by their frequencies after the past.
    pub conditional_bits: f64,
}

impl Information {
    /// Nothing counted yet.
    pub fn new(tolerances: Tolerances) -> Self {
        let counts = core::array::from_fn(|_| Counts::default());
        Self { tolerances, counts, leaves: 0, units: 0 }
    }

    /// Counts the units of one node, `unit_s` apart. Units that a recorder missed count as one.
    pub fn count(&mut self, unit_s: f64, all: impl IntoIterator<Item = Numbers>) {
        let mut all = all.into_iter();
        let Some(mut last) = all.next() else { return };
        let mut held = Held::default();
        held.take(&self.tolerances, &last, 0.0);
        let (mut kinds, mut rest) = ([0; READINGS], 0);
        for now in all {
            let symbols = held.take(&self.tolerances, &now, unit_s);
            for reading in Reading::ALL.map(Reading::bit) {
                self.counts[reading].add((kinds[reading], rest), symbols[reading]);
            }
            kinds = symbols.map(kind);
            self.leaves += u64::from(kinds.iter().any(|&kind| kind != 0));
            self.units += 1;
            rest = if now == last { MAX_REST.min(rest + 1) } else { 0 };
            last = now;
        }
    }

    /// What was found of a reading.
    pub fn of(&self, reading: Reading) -> Estimate {
        self.counts[reading.bit()].estimate()
    }

    /// What was found of a node: the sum of its readings.
    pub fn of_node(&self) -> Estimate {
        let sum =
            |bits: fn(Estimate) -> f64| Reading::ALL.iter().map(|&one| bits(self.of(one))).sum();
        Estimate {
            units: self.units,
            leaving: share(self.leaves, self.units),
            first_order_bits: sum(|one| one.first_order_bits),
            conditional_bits: sum(|one| one.conditional_bits),
        }
    }
}

impl Counts {
    fn add(&mut self, context: Context, symbol: Symbol) {
        *self.by_context.entry(context).or_default().entry(symbol).or_default() += 1;
        self.units += 1;
        self.leaves += u64::from(symbol != Symbol::Confirmed);
    }

    fn estimate(&self) -> Estimate {
        let mut together: BTreeMap<Symbol, u64> = BTreeMap::new();
        for (symbol, count) in self.by_context.values().flatten() {
            *together.entry(*symbol).or_default() += count;
        }
        let after = |counts: &BTreeMap<Symbol, u64>| {
            entropy_bits(counts) * share(counts.values().sum(), self.units)
        };
        Estimate {
            units: self.units,
            leaving: share(self.leaves, self.units),
            first_order_bits: entropy_bits(&together),
            conditional_bits: self.by_context.values().map(after).sum(),
        }
    }
}

/// Bits a symbol of these frequencies, with Miller and Madow's correction.
fn entropy_bits(counts: &BTreeMap<Symbol, u64>) -> f64 {
    let all: u64 = counts.values().sum();
    let bits = |&count: &u64| {
        let part = share(count, all);
        -part * part.log2()
    };
    let unseen = counts.len().saturating_sub(1) as f64 / (2.0 * all.max(1) as f64);
    counts.values().map(bits).sum::<f64>() + unseen / core::f64::consts::LN_2
}

fn share(part: u64, all: u64) -> f64 {
    part as f64 / all.max(1) as f64
}

/// Whether a symbol is no news, a rise or a fall.
fn kind(symbol: Symbol) -> u8 {
    match symbol {
        Symbol::Confirmed => 0,
        Symbol::Step(1..) | Symbol::Appeared(_) => 1,
        Symbol::Step(_) | Symbol::Vanished => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Chance;

    fn busy(values: impl Iterator<Item = f64>) -> Information {
        let mut information = Information::new(Tolerances::default());
        information.count(
            0.256,
            values.map(|value| {
                let mut numbers = [None; READINGS];
                numbers[Reading::CpuBusy.bit()] = Some(value);
                numbers
            }),
        );
        information
    }

    #[test]
    fn what_never_changes_is_no_news() {
        let estimate = busy(core::iter::repeat_n(50.0, 1_001)).of_node();
        let none = Estimate { units: 1_000, ..Estimate::default() };
        assert_eq!(estimate, none);
    }

    #[test]
    fn what_changes_by_rule_is_known_from_the_past() {
        let estimate = busy((0..100_001).map(|at| f64::from(20 * (at % 2)))).of_node();
        assert!(estimate.leaving > 0.999_999, "{estimate:?}");
        assert!((estimate.first_order_bits - 1.0).abs() < 1e-3, "{estimate:?}");
        assert!(estimate.conditional_bits < 1e-3, "{estimate:?}");
    }

    /// Null value: the entropy of a coin with probability p is known. The frequencies of 10⁶ throws
    /// are within 0.002 of it but for once in 10⁴, so is their entropy here; the seed is fixed.
    #[test]
    fn throws_of_a_coin_have_its_entropy() {
        let mut chance = Chance::new(1);
        let mut level = 0.0;
        let walk = (0..1_000_001).map(|_| {
            level += if chance.happens(0.1) { 4.0 } else { 0.0 };
            level
        });
        let estimate = busy(walk).of(Reading::CpuBusy);
        let coin = -0.1 * 0.1f64.log2() - 0.9 * 0.9f64.log2();
        assert!((estimate.first_order_bits - coin).abs() < 0.005, "{estimate:?}");
        assert!((estimate.conditional_bits - coin).abs() < 0.005, "{estimate:?}");
        assert!((estimate.leaving - 0.1).abs() < 0.002, "{estimate:?}");
    }

    #[test]
    fn nothing_counted_is_nothing_found() {
        assert_eq!(busy(core::iter::empty()).of_node(), Estimate::default());
    }
}
