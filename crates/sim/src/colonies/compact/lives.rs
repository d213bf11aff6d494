//! Lives: which incarnation of its origin a birth is of, and what one birth is to another.
//!
//! Where deaths are looked for, a birth above 0 is that of news and one below 0 that of a
//! *tombstone*: since then its life counts as over. When each incarnation of a member began is
//! known here, so a birth says of which one it is, and births need no more than four bytes.
//!
//! Invariant: a tombstone is born within the life that it ends. One that was declared when the next
//! life had begun already is born a tick before that.

/// When the incarnations of all members began.
#[derive(Clone, Debug)]
pub(super) struct Lives {
    starts: Vec<Vec<i32>>,
    /// The last of each.
    latest: Vec<i32>,
}

/// What a birth that arrives is to the one that is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrival {
    /// Later news, or the tombstone of what is held.
    News,
    /// Nothing new.
    Stale,
    /// News of a life that is held as dead, made after its death.
    Outlives,
}

impl Lives {
    /// So many members that have not begun yet.
    pub(super) fn of(members: usize) -> Self {
        Self { starts: vec![Vec::new(); members], latest: vec![0; members] }
    }

    /// A member begins an incarnation.
    pub(super) fn begin(&mut self, member: usize, now: i64) {
        self.starts[member].push(now as i32);
        self.latest[member] = now as i32;
    }

    /// The present incarnation of a member, from 1.
    pub(super) fn present(&self, member: usize) -> u32 {
        self.starts[member].len() as u32
    }

    /// The incarnation that a birth is of.
    pub(super) fn life_of(&self, origin: usize, birth: i32) -> u32 {
        let birth = birth.abs();
        if birth >= self.latest[origin] {
            return self.present(origin);
        }
        self.starts[origin].partition_point(|&start| start <= birth) as u32
    }

    /// Whether two births are of one incarnation.
    #[inline]
    pub(super) fn are_one(&self, origin: usize, earlier: i32, later: i32) -> bool {
        let latest = self.latest[origin];
        let before = || self.life_of(origin, earlier) == self.life_of(origin, later);
        earlier >= latest || (later < latest && before())
    }

    /// The tombstone of the life of which news is held, dead since a tick.
    pub(super) fn tombstone(&self, origin: usize, held: i32, since: i32) -> i32 {
        let next = self.starts[origin].get(self.life_of(origin, held) as usize);
        let end = next.map_or(i32::MAX, |start| start - 1);
        -since.max(held).min(end)
    }

    /// What a birth is to the one that is held, by the rules of the core's merge.
    pub(super) fn compare(&self, origin: usize, held: i32, sent: i32) -> Arrival {
        let (holds, life) = (self.life_of(origin, held), self.life_of(origin, sent));
        if held == 0 || sent == 0 || holds != life {
            let later = sent != 0 && (held == 0 || life > holds);
            return if later { Arrival::News } else { Arrival::Stale };
        }
        match (held < 0, sent < 0) {
            (true, false) if sent > -held => Arrival::Outlives,
            (false, false) if sent > held => Arrival::News,
            // Who holds news made after its birth knows that a tombstone is wrong.
            (false, true) if -sent >= held => Arrival::News,
            _ => Arrival::Stale,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One member that began at 10 and again at 50.
    fn lives() -> Lives {
        let mut lives = Lives::of(1);
        lives.begin(0, 10);
        lives.begin(0, 50);
        lives
    }

    #[test]
    fn births_tell_lives() {
        let lives = lives();
        assert_eq!([10, -49, 50, -90].map(|birth| lives.life_of(0, birth)), [1, 1, 2, 2]);
        assert_eq!(lives.present(0), 2);
        let one = |earlier, later| lives.are_one(0, earlier, later);
        assert!(one(10, 49) && one(50, 60) && !one(49, 50));
        assert_eq!(lives.tombstone(0, 20, 30), -30);
        assert_eq!(lives.tombstone(0, 20, 15), -20, "news held was made later");
        assert_eq!(lives.tombstone(0, 20, 70), -49, "it is of the first life");
        assert_eq!(lives.tombstone(0, 60, 70), -70);
    }

    #[test]
    fn tombstones_end_lives_and_are_overtaken_by_later_ones() {
        let lives = lives();
        let what = |held, sent| lives.compare(0, held, sent);
        assert_eq!(
            [what(0, -20), what(0, 20), what(20, 0)],
            [Arrival::News, Arrival::News, Arrival::Stale]
        );
        assert_eq!([what(20, 30), what(30, 20)], [Arrival::News, Arrival::Stale]);
        assert_eq!([what(20, -30), what(40, -30)], [Arrival::News, Arrival::Stale]);
        assert_eq!([what(-30, 25), what(-30, 40)], [Arrival::Stale, Arrival::Outlives]);
        assert_eq!([what(-30, -40), what(-30, 50)], [Arrival::Stale, Arrival::News]);
        assert_eq!([what(55, -30), what(20, -60)], [Arrival::Stale, Arrival::News]);
    }
}
