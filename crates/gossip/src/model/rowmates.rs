//! A row of strategy `grid`, simulated: what its members hold of each other after each round.
//!
//! All rows are alike, and what a reader pulls from one of them does not depend on the others. So
//! one row stands for all, each at another round of it. Pushes come as the strategy's own
//! `pusher.rs` decides, or are lost at random; members pull their own row as regularly as all rows.

use core::ops::Range;

use tidings_primitives::Chance;

use crate::dissemination::layout::Layout;
use crate::dissemination::puller::MAX_REPEATS;
use crate::dissemination::pusher::Pusher;

/// Rounds that are kept, and simulated before, for each push of an entry to a mate, and beside:
/// without loss they soon repeat.
const ROUNDS: f64 = 8.0;
const BESIDE: f64 = 32.0;
const BESIDE_LOSS: f64 = 512.0;
/// Rounds that are kept, at most.
const MAX_ROUNDS: usize = 1_024;

/// What the members of one row hold.
pub(super) struct Row {
    length: usize,
    rounds: usize,
    /// For each round, member and origin, how many rounds ago the entry was made that it holds
    /// after the pushes of that round.
    pushed: Vec<u16>,
    /// The same after the pulls that follow, and after their repeats.
    pulled: Vec<u16>,
    repeated: Vec<u16>,
}

impl Row {
    /// One of this layout's rows, if a share `loss` of all datagrams is lost.
    pub(super) fn of(layout: &Layout, row: usize, loss: f64, chance: &mut Chance) -> Self {
        let (first, length) = (layout.members_of(row).start, layout.members_of(row).len());
        let beside = if loss > 0.0 { BESIDE_LOSS } else { BESIDE };
        let wanted = beside + ROUNDS * layout.push_units.min(f64::from(u16::MAX));
        let rounds = (wanted as usize).min(MAX_ROUNDS);
        let mut now = vec![0u16; length * length];
        let mut pushers = vec![Pusher::default(); length];
        let draw = |chance: &mut Chance| chance.below(1 << 20) as f64 / f64::from(1 << 20);
        let mut turns: Vec<f64> = (0..length).map(|_| draw(chance)).collect();
        let [pushed, pulled, repeated] = [const { Vec::new() }; 3];
        let mut row = Self { length, rounds, pushed, pulled, repeated };
        for round in 0..2 * rounds {
            for held in &mut now {
                *held = held.saturating_add(1);
            }
            for (origin, pusher) in pushers.iter_mut().enumerate() {
                now[origin * length + origin] = 0;
                for mate in pusher.round(layout, first + origin, |_| true) {
                    if !lost(chance, loss) {
                        now[(mate - first) * length + origin] = 0;
                    }
                }
            }
            if round >= rounds {
                row.pushed.extend_from_slice(&now);
            }
            let mut failed = Vec::new();
            for (member, turn) in turns.iter_mut().enumerate() {
                *turn += 1.0 / layout.pull_units;
                if *turn >= 1.0 {
                    *turn -= 1.0;
                    if !row.pull(&mut now, member, loss, chance) {
                        failed.push(member);
                    }
                }
            }
            if round >= rounds {
                row.pulled.extend_from_slice(&now);
            }
            for member in failed {
                let _ = (0..MAX_REPEATS).any(|_| row.pull(&mut now, member, loss, chance));
            }
            if round >= rounds {
                row.repeated.extend_from_slice(&now);
            }
        }
        row
    }

    /// A member asks another for the row; whether it has an answer.
    fn pull(&self, now: &mut [u16], member: usize, loss: f64, chance: &mut Chance) -> bool {
        let relay = chance.below(self.length);
        let failed = lost(chance, loss) || lost(chance, loss);
        if relay == member || failed {
            return false;
        }
        for origin in 0..self.length {
            let other = now[relay * self.length + origin];
            let held = &mut now[member * self.length + origin];
            *held = other.min(*held);
        }
        true
    }

    /// Members of the row.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// How many rounds ago what a member holds of each was made, after a round's pushes.
    pub(super) fn pushed(&self, round: usize, member: usize) -> &[u16] {
        &self.pushed[self.place(round, member)]
    }

    /// The same after its pulls, and after their repeats.
    pub(super) fn pulled(&self, round: usize, member: usize, repeated: bool) -> &[u16] {
        let held = if repeated { &self.repeated } else { &self.pulled };
        &held[self.place(round, member)]
    }

    fn place(&self, round: usize, member: usize) -> Range<usize> {
        let from = (round % self.rounds * self.length + member) * self.length;
        from..from + self.length
    }
}

/// Whether a datagram is lost.
pub(super) fn lost(chance: &mut Chance, loss: f64) -> bool {
    loss > 0.0 && (chance.bits() >> 11) as f64 / ((1u64 << 53) as f64) < loss
}
