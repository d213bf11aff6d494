//! Pace: how many tasks a worker asks for beside those that it does.
//!
//! Between the end of a task and the begin of the next lie a commit and the way to the coordinator
//! and back: some milliseconds with a store that syncs. Tasks of milliseconds would wait longer for
//! that than they run. So a worker whose tasks are short has the next ones in hand already: for
//! each slot as many as are done in [`AHEAD`], at most [`MOST`], twice as many where they are
//! [`SHORT`], and one where that way is a hundredth of a task or more ([`ONE`]).
//!
//! What lies with a worker no other can do. When tasks turn out to be long, so that no slot gets
//! free for a while ([`Pace::patience`]) while tasks wait for one, they are given back, and none is
//! asked for ahead until tasks are short again.

use std::time::Duration;

/// The work that a slot has ahead, if its tasks are short.
const AHEAD: Duration = Duration::from_millis(16);

/// Tasks that take no longer cost more where fewer come and go at a time: whoever hears of them
/// wakes, and takes a processor from one.
const SHORT: Duration = Duration::from_millis(2);

/// The most tasks that a slot has ahead.
const MOST: u32 = 64;

/// Of tasks that take no longer a slot has one ahead.
const ONE: Duration = Duration::from_millis(100);

/// Once it has one, tasks may take so long until it has none: they are never all alike.
const STILL_ONE: Duration = Duration::from_millis(150);

/// Tasks are taken as long until they are known, and as no longer than this.
const LONG: Duration = Duration::from_millis(200);

/// How long tasks wait at least in a worker of which no slot gets free.
const PATIENCE: Duration = Duration::from_millis(50);

/// By how much of the difference one task changes what is typical.
const SHARE: u32 = 4;

/// How long tasks take, and how many are asked for ahead.
#[derive(Debug)]
pub(super) struct Pace {
    typical: Duration,
    ahead: u32,
}

impl Pace {
    /// Tasks are taken as long until they are known.
    pub(super) fn new() -> Self {
        Self { typical: LONG, ahead: 0 }
    }

    /// The tasks that each slot has ahead.
    pub(super) fn ahead(&self) -> u32 {
        self.ahead
    }

    /// How long tasks wait in the worker if no slot gets free, and behind one that runs: twice what
    /// is typical, so that they do not come back from each that is as long as the others.
    pub(super) fn patience(&self) -> Duration {
        (2 * self.typical.min(STILL_ONE)).max(PATIENCE)
    }

    /// A task took so long. Returns whether another number is to be asked for: small changes are
    /// not worth a message.
    pub(super) fn took(&mut self, time: Duration) -> bool {
        let time = time.min(LONG);
        self.typical = (self.typical * (SHARE - 1) + time) / SHARE;
        let wanted = self.wanted();
        let is_more = wanted > self.ahead && 2 * wanted >= 3 * self.ahead;
        let is_other = is_more || 2 * wanted < self.ahead;
        if is_other {
            self.ahead = wanted;
        }
        is_other
    }

    fn wanted(&self) -> u32 {
        let micros = self.typical.as_micros().max(1);
        let ahead = if self.typical <= SHORT { 2 * AHEAD } else { AHEAD };
        let many = (ahead.as_micros() / micros).min(MOST.into()) as u32;
        let longest = if self.ahead > 0 { STILL_ONE } else { ONE };
        many.max(u32::from(self.typical <= longest))
    }

    /// Tasks have waited for too long.
    pub(super) fn reset(&mut self) {
        *self = Self::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(times: &[(usize, Duration)]) -> Pace {
        let mut pace = Pace::new();
        for &(count, time) in times {
            for _ in 0..count {
                pace.took(time);
            }
        }
        pace
    }

    #[test]
    fn the_shorter_tasks_are_the_more_are_asked_for() {
        let (micros, millis) = (Duration::from_micros, Duration::from_millis);
        assert_eq!(Pace::new().ahead(), 0);
        assert!(after(&[(30, micros(50))]).ahead() >= MOST / 2);
        assert!((24..=32).contains(&after(&[(30, millis(1))]).ahead()));
        assert!((2..=4).contains(&after(&[(30, millis(4))]).ahead()));
        assert_eq!(after(&[(30, millis(20))]).ahead(), 1);
        assert_eq!(after(&[(30, millis(50))]).ahead(), 1);
        assert_eq!(after(&[(30, millis(120))]).ahead(), 0);
        assert_eq!(after(&[(30, micros(50)), (30, Duration::from_secs(9))]).ahead(), 0);
    }

    /// Tasks of 50 ms waited for two commits each, which was a twentieth of their time; had they
    /// come back after 50 ms, most would have.
    #[test]
    fn one_that_is_ahead_stays_while_tasks_are_as_long_as_they_were() {
        let pace = after(&[(30, Duration::from_millis(50))]);
        assert!((90..=110).contains(&pace.patience().as_millis()), "{pace:?}");
        assert_eq!(after(&[(60, Duration::from_micros(50))]).patience(), PATIENCE);
        assert_eq!(Pace::new().patience(), 2 * STILL_ONE);
    }

    #[test]
    fn about_a_hundred_milliseconds_needs_no_message_each_time() {
        let mut pace = after(&[(40, Duration::from_millis(90))]);
        assert_eq!(pace.ahead(), 1);
        let times = [120, 90, 130, 80, 125].map(Duration::from_millis);
        assert!(!times.into_iter().cycle().take(50).any(|time| pace.took(time)));
    }

    #[test]
    fn one_long_task_is_soon_forgotten() {
        let (short, long) = (Duration::from_micros(50), Duration::from_secs(9));
        let mut pace = after(&[(30, short), (1, long), (30, short)]);
        assert!(pace.ahead() >= MOST / 2);
        pace.reset();
        assert_eq!(pace.ahead(), 0);
    }

    #[test]
    fn a_steady_pace_needs_no_messages() {
        let mut pace = after(&[(40, Duration::from_millis(1))]);
        let mut times =
            [900, 1_100, 1_000, 1_300, 800].map(Duration::from_micros).into_iter().cycle();
        for time in times.by_ref().take(50) {
            pace.took(time);
        }
        assert!(!times.take(50).any(|time| pace.took(time)));
    }
}
