//! Endings: why a try is ended before it ends by itself, and when it is asked and when killed.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::work::WorkLimits;

use super::leader::Leader;
use super::memory;

/// What a worker says to a try that it runs. A later one goes beyond those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Order {
    /// Its result is not wanted: it is asked to end, and killed after its grace.
    Stop,
    /// The worker ends: the same.
    Return,
    /// It is killed at once, since another worker has the task, or nobody may wait.
    Kill,
}

/// Why a try was ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Why {
    /// It took longer than it may.
    Time,
    /// It had so many bytes of memory.
    Memory(u64),
    /// Its worker wanted it.
    Order(Order),
    /// There is no room for what it prints.
    Room,
}

/// What is to be done with a try now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Act {
    /// Ask it to end.
    Ask,
    /// Kill it.
    Kill,
    /// Measure its memory.
    Measure,
}

/// When a try is to be ended, and why.
#[derive(Debug)]
pub(super) struct Ending {
    limits: WorkLimits,
    orders: watch::Receiver<Option<Order>>,
    why: Option<Why>,
    time_at: Option<Instant>,
    kill_at: Option<Instant>,
    measure_at: Option<Instant>,
}

impl Ending {
    /// That of a try whose time has not begun.
    pub(super) fn new(limits: WorkLimits, orders: watch::Receiver<Option<Order>>) -> Self {
        Self { limits, orders, why: None, time_at: None, kill_at: None, measure_at: None }
    }

    /// Its time begins now.
    pub(super) fn begin_time(&mut self) {
        let time_ms = self.limits.time_ms;
        self.time_at = (time_ms > 0).then(|| after(time_ms)).flatten();
    }

    /// Why it is ended, if it is.
    pub(super) fn why(&self) -> Option<Why> {
        self.why
    }

    /// There is no room for what it prints. Returns whether that is news.
    pub(super) fn has_no_room(&mut self) -> bool {
        let is_news = self.why.is_none();
        self.why.get_or_insert(Why::Room);
        is_news
    }

    /// The limits.
    pub(super) fn limits(&self) -> WorkLimits {
        self.limits
    }

    /// From now on its memory is to be measured.
    pub(super) fn measure(&mut self) {
        self.measure_at = Some(Instant::now() + memory::PERIOD);
    }

    /// Kills what has more memory than it may have.
    pub(super) fn check_memory(&mut self, leader: &Leader) {
        if let Some(bytes) = leader.memory_beyond(self.limits.memory_bytes) {
            self.why.get_or_insert(Why::Memory(bytes));
            leader.kill();
        }
    }

    /// Waits until something is to be done. May be dropped at any time.
    pub(super) async fn act(&mut self) -> Act {
        tokio::select! {
            () = until(self.time_at) => {
                self.time_at = None;
                self.ask(Why::Time)
            }
            order = ordered(&mut self.orders) => match order {
                Order::Kill => {
                    self.why.get_or_insert(Why::Order(order));
                    Act::Kill
                }
                Order::Stop | Order::Return => self.ask(Why::Order(order)),
            },
            () = until(self.kill_at) => {
                self.kill_at = None;
                Act::Kill
            }
            () = until(self.measure_at) => {
                self.measure();
                Act::Measure
            }
        }
    }

    fn ask(&mut self, why: Why) -> Act {
        self.why.get_or_insert(why);
        // Whoever is asked twice has no more time for it.
        if self.kill_at.is_none() {
            self.kill_at = after(self.limits.grace_ms);
        }
        Act::Ask
    }
}

/// A moment so many milliseconds from now; none if no clock goes that far.
fn after(ms: u64) -> Option<Instant> {
    Instant::now().checked_add(Duration::from_millis(ms))
}

async fn ordered(orders: &mut watch::Receiver<Option<Order>>) -> Order {
    loop {
        if orders.changed().await.is_err() {
            // Without a worker nobody orders anything; the try is dropped with it.
            core::future::pending::<()>().await;
        }
        if let Some(order) = *orders.borrow_and_update() {
            return order;
        }
    }
}

/// Waits until a moment; for ever if there is none.
pub(super) async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => core::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(time_ms: u64, grace_ms: u64) -> (Ending, watch::Sender<Option<Order>>) {
        let (sender, orders) = watch::channel(None);
        let limits = WorkLimits { time_ms, grace_ms, memory_bytes: 0 };
        let mut ending = Ending::new(limits, orders);
        ending.begin_time();
        (ending, sender)
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_too_long_is_asked_and_then_killed() {
        let (mut ending, _orders) = ending(1_000, 500);
        let begun = Instant::now();
        assert_eq!(ending.act().await, Act::Ask);
        assert_eq!(begun.elapsed().as_millis(), 1_000);
        assert_eq!(ending.act().await, Act::Kill);
        assert_eq!(begun.elapsed().as_millis(), 1_500);
        assert_eq!(ending.why(), Some(Why::Time));
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_reason_counts_and_the_last_order() {
        let (mut ending, orders) = ending(0, 1 << 60);
        orders.send_replace(Some(Order::Stop));
        assert_eq!(ending.act().await, Act::Ask);
        orders.send_replace(Some(Order::Kill));
        assert_eq!(ending.act().await, Act::Kill);
        assert_eq!(ending.why(), Some(Why::Order(Order::Stop)));
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_measured_again_and_again() {
        let (mut ending, _orders) = ending(u64::MAX, 0);
        ending.measure();
        assert_eq!(ending.act().await, Act::Measure);
        assert_eq!(ending.act().await, Act::Measure);
        assert_eq!(ending.why(), None);
    }
}
