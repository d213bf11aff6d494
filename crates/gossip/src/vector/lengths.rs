//! Lengths: how many bytes of the payloads in a vector are in use.
//!
//! There may be room for longer payloads than a cluster uses, so that it can go over to them.
//! Zeros at the end of a payload say nothing, so datagrams carry as many bytes of each as the
//! longest one needs, and no less than the node was told.
//!
//! While no payload that comes is longer than that, each costs one comparison. A longer one is
//! measured, and from then on a pass over all, a few a unit, notices when none is left.
//!
//! Invariant: `longest` is never less than the bytes in use of any payload that is held.

/// What is known of the lengths.
pub(super) struct Lengths {
    /// No fewer bytes are sent of any payload.
    least: usize,
    longest: usize,
    /// The slot that the pass has come to, and the longest payload that it knows of.
    pass: (u32, usize),
}

impl Lengths {
    pub(super) fn of(least: usize) -> Self {
        Self { least, longest: least, pass: (0, 0) }
    }

    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Has no fewer bytes sent of any payload from now on.
    pub(super) fn set_least(&mut self, least: usize) {
        self.least = least;
        self.longest = self.longest.max(least);
        self.pass = (0, 0);
    }

    /// A payload that takes the place of another.
    #[inline]
    pub(super) fn note(&mut self, payload: &[u8]) {
        if payload.len() > self.least {
            self.measure(payload);
        }
    }

    #[cold]
    fn measure(&mut self, payload: &[u8]) {
        let used = used_bytes(payload);
        self.longest = self.longest.max(used);
        self.pass.1 = self.pass.1.max(used);
    }

    /// Looks at so many of the slots below `slots`, whose payloads `of` knows, if they hold one.
    pub(super) fn look<'a>(
        &mut self,
        count: usize,
        slots: usize,
        of: impl Fn(u32) -> Option<&'a [u8]>,
    ) {
        if self.longest == self.least {
            return;
        }
        for _ in 0..count {
            if self.pass.0 as usize >= slots {
                self.longest = self.pass.1.max(self.least);
                self.pass = (0, 0);
                return;
            }
            if let Some(payload) = of(self.pass.0) {
                self.pass.1 = self.pass.1.max(used_bytes(payload));
            }
            self.pass.0 += 1;
        }
    }
}

/// Bytes of a payload without the zeros at its end.
fn used_bytes(payload: &[u8]) -> usize {
    payload.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_is_known_while_it_is_held_and_no_longer() {
        let mut lengths = Lengths::of(2);
        let mut held = [[1, 2, 0, 0, 0], [1, 0, 0, 0, 0], [0; 5]];
        lengths.note(&[9, 9]);
        assert_eq!(lengths.longest(), 2);
        held[1] = [1, 2, 3, 4, 0];
        lengths.note(&held[1]);
        assert_eq!(lengths.longest(), 4, "without the zeros at the end");
        let pass = |lengths: &mut Lengths, held: &[[u8; 5]; 3]| {
            (0..4).for_each(|_| lengths.look(1, 3, |slot| Some(&held[slot as usize][..])));
            lengths.longest()
        };
        assert_eq!(pass(&mut lengths, &held), 4);
        held[1] = [0; 5];
        assert_eq!(pass(&mut lengths, &held), 2);
        // One that comes behind the pass is not overlooked.
        held[2] = [1; 5];
        lengths.note(&held[2]);
        lengths.look(2, 3, |slot| Some(&held[slot as usize][..]));
        (held[0], held[2]) = ([1, 1, 1, 0, 0], [0; 5]);
        lengths.note(&held[0]);
        lengths.look(2, 3, |slot| Some(&held[slot as usize][..]));
        assert_eq!(lengths.longest(), 5, "the pass began while it was held");
        assert_eq!(pass(&mut lengths, &held), 3);
        lengths.set_least(4);
        assert_eq!(lengths.longest(), 4);
        lengths.set_least(1);
        held = [[1, 0, 0, 0, 0]; 3];
        assert_eq!(pass(&mut lengths, &held), 1);
    }
}
