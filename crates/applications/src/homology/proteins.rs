//! A set of proteins, made from a seed: lengths are log-normal, residues as frequent as in nature,
//! and a quarter are copies of an earlier one with every tenth residue drawn again.

use tidings_primitives::chance::Chance;

use super::alignment::RESIDUES;

/// The logarithm of the median length (270 residues), its spread, and the longest allowed.
const MEDIAN: f64 = 5.6;
const SPREAD: f64 = 0.65;
const LONGEST: f64 = 5_000.0;
const SHORTEST: f64 = 30.0;

/// How many of a thousand residues are of each kind, in the order of [`RESIDUES`] (UniProtKB,
/// Swiss-Prot, rounded).
const FREQUENCIES: [usize; RESIDUES.len()] =
    [83, 55, 41, 55, 14, 39, 67, 71, 23, 59, 97, 58, 24, 39, 47, 66, 53, 11, 29, 69];

/// Proteins as numbers of residues.
#[derive(Clone, Debug)]
pub struct Proteins {
    all: Vec<Vec<u8>>,
    copies: Vec<bool>,
}

impl Proteins {
    /// This many, from a seed.
    pub fn new(count: usize, seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let mut made = Self { all: Vec::with_capacity(count), copies: Vec::new() };
        for _ in 0..count {
            let original = chance.happens(0.25).then(|| chance.below(made.all.len().max(1)));
            let original = original.and_then(|at| made.all.get(at));
            made.copies.push(original.is_some());
            let protein = match original {
                Some(protein) => changed(protein, &mut chance),
                None => fresh(&mut chance),
            };
            made.all.push(protein);
        }
        made
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// One of them, as numbers of [`RESIDUES`].
    pub fn protein(&self, number: u32) -> &[u8] {
        &self.all[number as usize]
    }

    /// Whether it was made from an earlier one.
    pub fn is_copy(&self, number: u32) -> bool {
        self.copies[number as usize]
    }
}

fn fresh(chance: &mut Chance) -> Vec<u8> {
    let length = (MEDIAN + SPREAD * chance.normal()).exp().clamp(SHORTEST, LONGEST);
    (0..length as usize).map(|_| residue(chance)).collect()
}

fn changed(protein: &[u8], chance: &mut Chance) -> Vec<u8> {
    protein.iter().map(|own| if chance.happens(0.1) { residue(chance) } else { *own }).collect()
}

fn residue(chance: &mut Chance) -> u8 {
    let mut left = chance.below(FREQUENCIES.iter().sum());
    for (at, frequency) in (0..).zip(FREQUENCIES) {
        match left.checked_sub(frequency) {
            Some(rest) => left = rest,
            None => return at,
        }
    }
    unreachable!("the number is below the sum of the frequencies")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_of_a_thousand() {
        assert_eq!(FREQUENCIES.iter().sum::<usize>(), 1000);
    }

    #[test]
    fn lengths_are_log_normal() {
        let proteins = Proteins::new(2_000, 1);
        let mut lengths: Vec<usize> = proteins.all.iter().map(Vec::len).collect();
        lengths.sort_unstable();
        // The median of 2,000 has a standard error of 0.65 · √(π/2) / √2000 = 2 % of 270.
        assert!((245..300).contains(&lengths[1_000]), "{}", lengths[1_000]);
        // One standard deviation is a factor of 1.9.
        let ratio = lengths[1_683] as f64 / lengths[1_000] as f64;
        assert!((1.7..2.1).contains(&ratio), "{ratio}");
    }

    #[test]
    fn the_same_seed_makes_the_same_set() {
        assert_eq!(Proteins::new(50, 3).all, Proteins::new(50, 3).all);
        assert_ne!(Proteins::new(50, 3).all, Proteins::new(50, 4).all);
    }
}
