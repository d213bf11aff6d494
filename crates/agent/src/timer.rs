//! A timer that wakes the thread once, when it is due.
//!
//! It is a file descriptor (timerfd) among those that the thread waits for. Timers of the runtime
//! are sorted into a wheel, which turns on the way to a distant deadline, and each that is set to
//! an earlier time than the last writes to the descriptor by which other threads wake this one:
//! these were a third of the wake-ups of an idle agent. Setting this one is a system call, so it is
//! set only when the deadline changes.

use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tidings_gossip::Instant;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::clock::Clock;
use crate::watched::watch;

/// Nanoseconds in a second.
const SECOND_NS: i64 = 1_000_000_000;
/// One step of the core's time: an instant has come when its step has.
const STEP_NS: i64 = 1_000;

/// One deadline at a time, in the core's time.
#[derive(Debug)]
pub(crate) struct Timer {
    descriptor: AsyncFd<OwnedFd>,
    clock: Clock,
    /// What it is set to; `None` once it has gone off.
    due: Option<Instant>,
}

impl Timer {
    /// A timer that is not set. Needs a tokio runtime around it.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn new(clock: Clock) -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let descriptor = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self { descriptor: watch(descriptor, Interest::READABLE)?, clock, due: None })
    }

    /// Sets it to `due`, whatever it was set to before.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn set(&mut self, due: Instant) -> io::Result<()> {
        if self.due == Some(due) {
            return Ok(());
        }
        // Never before the core's time reaches it; 0 would stop it.
        let at_ns = self.clock.monotonic_ns(due).saturating_add(STEP_NS).max(1);
        let at = Timespec { tv_sec: at_ns / SECOND_NS, tv_nsec: at_ns % SECOND_NS };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: at };
        timerfd_settime(&self.descriptor, TimerfdTimerFlags::ABSTIME, &once)?;
        self.due = Some(due);
        Ok(())
    }

    /// Whether it has gone off; it must be set again then.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Nothing is read from it: setting it again clears that it went off.
        ready!(self.descriptor.poll_read_ready(context))?.clear_ready();
        self.due = None;
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use super::*;

    async fn gone_off(timer: &mut Timer) {
        poll_fn(|context| timer.poll(context)).await.expect("a timer of this system");
    }

    #[tokio::test]
    async fn it_goes_off_at_its_time_repeatedly() {
        let clock = Clock::start();
        let mut timer = Timer::new(clock).expect("a timer of this system");
        for micros in [0, -5, 1, 700, 701, 3_000] {
            let due = Instant::from_micros(micros);
            timer.set(due).expect("a time");
            gone_off(&mut timer).await;
            assert!(clock.now() >= due);
        }
    }

    #[tokio::test]
    async fn the_last_setting_counts() {
        let clock = Clock::start();
        let mut timer = Timer::new(clock).expect("a timer of this system");
        timer.set(Instant::from_micros(i64::MAX)).expect("a time far ahead");
        let due = clock.now() + Duration::from_micros(500);
        timer.set(due).expect("a time");
        gone_off(&mut timer).await;
        assert!(clock.now() >= due);
    }
}
