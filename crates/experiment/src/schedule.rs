//! The order of runs of an experiment that compares treatments in repetitions.
//!
//! A repetition runs every treatment of every group once and its baseline twice. The order of
//! groups, and of the runs of a group, is drawn again for each repetition, so that nothing that
//! changes with time or with the run before falls on one treatment alone.
//!
//! Invariant: the order follows from the design alone, so that an interrupted experiment goes on
//! with the very runs that are missing.

use tidings_primitives::Chance;

/// What a run is measured for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The baseline.
    Baseline,
    /// The baseline once more: with the first it makes an A/A pair.
    Again,
    /// A treatment, by its number.
    Treatment(usize),
}

/// What is compared with what, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Design {
    /// How many groups there are; treatments are compared within each.
    pub groups: usize,
    /// How many treatments there are beside the baseline.
    pub treatments: usize,
    /// How many repetitions.
    pub repetitions: u32,
    /// Repetitions of the baseline alone before those.
    pub warm_up: u32,
    /// Whether a baseline repeats itself exactly: one pair of it shows that, and serves all
    /// repetitions.
    pub is_exact: bool,
    /// What the order, and the seeds of runs, are drawn from.
    pub seed: u64,
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its repetition, from 1; runs of repetition 0 warm up and count for nothing.
    pub repetition: u32,
    /// Its group, by number.
    pub group: usize,
    /// What it is measured for.
    pub role: Role,
    /// A seed of its own.
    pub seed: u64,
}

impl Design {
    /// All runs, in the order in which they are to be made.
    pub fn slots(&self) -> Vec<Slot> {
        let groups: Vec<usize> = (0..self.groups).collect();
        let mut slots = Vec::new();
        for _ in 0..if self.is_exact { 0 } else { self.warm_up } {
            let warm = |&group| Slot { repetition: 0, group, role: Role::Baseline, seed: 1 };
            slots.extend(groups.iter().map(warm));
        }
        for repetition in 1..=self.repetitions {
            let repetition_seed =
                self.seed ^ u64::from(repetition).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut chance = Chance::new(repetition_seed);
            let mut order = groups.clone();
            chance.shuffle(&mut order);
            for group in order {
                let mut roles = self.roles(repetition);
                chance.shuffle(&mut roles);
                for role in roles {
                    // 53 bits: what a number in JSON holds, and programs take.
                    slots.push(Slot { repetition, group, role, seed: chance.bits() >> 11 });
                }
            }
        }
        slots
    }

    /// What is run of a group in a repetition.
    fn roles(&self, repetition: u32) -> Vec<Role> {
        let baselines = [Role::Baseline, Role::Again];
        let baselines = if self.is_exact && repetition > 1 { &[][..] } else { &baselines };
        let treatments = (0..self.treatments).map(Role::Treatment);
        baselines.iter().copied().chain(treatments).collect()
    }
}
