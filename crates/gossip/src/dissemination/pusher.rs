//! To which members of its row a node pushes its own entry in a round.
//!
//! Each of them gets it once in `push_units`: all in every round if that is 1, else some in turn.
//! The dead have no turn, so that the living get it sooner.

use core::ops::Range;

use super::layout::Layout;

/// How many steps of its pushes lie before a mate of the row, by their places in the order of ids.
pub(crate) fn step_of(row: &Range<usize>, own: usize, mate: usize) -> usize {
    (mate + row.len() - own - 1) % row.len()
}

/// One node's pushes.
#[derive(Clone, Debug, Default)]
pub struct Pusher {
    /// Pushes due, whole ones and a part.
    due: f64,
    /// Steps from the own place to the member served next.
    step: usize,
}

impl Pusher {
    /// The members to push to in this round, by their places in the order of ids, for the member
    /// in place `own`. `lives` says who is pushed to; others may be among them.
    pub fn round<L: Fn(usize) -> bool>(
        &mut self,
        layout: &Layout,
        own: usize,
        lives: L,
    ) -> impl Iterator<Item = usize> + use<L> {
        let row = layout.members_of(layout.row_of(own));
        let mates = row.len() - 1;
        self.due += mates as f64 / layout.push_units;
        let count = (self.due as usize).min(mates);
        self.due -= self.due.floor();
        let place = move |step: usize| row.start + (own - row.start + 1 + step % mates) % row.len();
        let (first, mut end, mut living) = (self.step, self.step, 0);
        while living < count && end < first + mates {
            living += usize::from(lives(place(end)));
            end += 1;
        }
        self.step = end % mates.max(1);
        (first..end).map(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dissemination::layout::Budget;

    fn layout(members: usize, window_entries: usize) -> Layout {
        let budget = Budget {
            entry_bytes: 76,
            frame_bytes: 50,
            datagram_entries: 17,
            window_entries,
            changes: None,
        };
        Layout::of(members, &budget)
    }

    #[test]
    fn every_member_of_the_row_is_served_at_the_pace_of_the_layout() {
        for (members, window_entries) in [(100, 100), (100, 3), (7, 1), (2, 1)] {
            let layout = layout(members, window_entries);
            for own in [0, members / 2, members - 1] {
                let mut served = vec![0u32; members];
                let mut pusher = Pusher::default();
                for _ in 0..1000 {
                    pusher.round(&layout, own, |_| true).for_each(|mate| served[mate] += 1);
                }
                let row = layout.members_of(layout.row_of(own));
                let mut all = Pusher { due: row.len() as f64, step: 0 };
                let steps = all.round(&layout, own, |_| true).map(|mate| step_of(&row, own, mate));
                assert!(steps.eq(0..row.len() - 1));
                for (member, &count) in served.iter().enumerate() {
                    let mate = row.contains(&member) && member != own;
                    let expected = if mate { 1000.0 / layout.push_units } else { 0.0 };
                    assert!((f64::from(count) - expected).abs() < 2.0, "{layout:?} {served:?}");
                }
            }
        }
    }
    #[test]
    fn the_dead_leave_their_turns_to_the_living() {
        let mut layout = layout(16, 3);
        layout.push_units = 3.0;
        let row = layout.members_of(layout.row_of(0));
        let dead = row.start + 1;
        let mut served = vec![0u32; row.end];
        let mut pusher = Pusher::default();
        for _ in 0..300 {
            let lives = |mate| mate != dead;
            pusher.round(&layout, row.start, lives).filter(|&mate| lives(mate)).for_each(|mate| {
                served[mate] += 1;
            });
        }
        let mates = row.len() - 1;
        let expected = 300.0 / 3.0 * mates as f64 / (mates - 1) as f64;
        for mate in row.filter(|&mate| mate > dead) {
            assert!((f64::from(served[mate]) - expected).abs() < 2.0, "{served:?} {expected}");
        }
    }

    #[test]
    fn a_row_of_the_dead_is_gone_through_once() {
        let layout = layout(16, 3);
        let mut pusher = Pusher::default();
        for _ in 0..10 {
            assert!(pusher.round(&layout, 0, |_| false).count() < layout.members());
        }
    }
}
