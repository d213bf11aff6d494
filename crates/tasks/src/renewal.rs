//! Renewals: when a session says that it lives, since it has said nothing else.
//!
//! A coordinator hears of a session by any request, so a session that asks all the time needs no
//! sign of life beside. Invariant: no more than a period passes without a request.
//!
//! One timer is kept. A request does not move it, which would cost busy sessions; where nothing is
//! asked between two signs of life it is set once for each of them, so that it wakes for nothing.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// How many times a session is renewed before it would end.
const RENEWALS: u32 = 3;

/// When the next sign of life is due.
pub(crate) struct Renewal {
    period: Duration,
    timer: Pin<Box<Sleep>>,
    /// When a request was sent last.
    sent: Instant,
}

impl Renewal {
    /// Of a session that ends when nothing was heard of it for so long; it has just been heard of.
    pub(crate) fn new(ttl_ms: u64) -> Self {
        let period = Duration::from_millis(ttl_ms.max(RENEWALS.into())) / RENEWALS;
        let sent = Instant::now();
        Self { period, timer: Box::pin(sleep_until(sent + period)), sent }
    }

    /// A request was sent.
    pub(crate) fn sent(&mut self) {
        self.sent = Instant::now();
        if self.timer.is_elapsed() {
            self.timer.as_mut().reset(self.sent + self.period);
        }
    }

    /// Waits until nothing was sent for a period. Dropped before that, it has changed nothing.
    pub(crate) async fn due(&mut self) {
        loop {
            self.timer.as_mut().await;
            let due = self.sent + self.period;
            if due <= Instant::now() {
                return;
            }
            self.timer.as_mut().reset(due);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{sleep, timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_sends_requests_sends_no_signs_of_life() {
        let mut renewal = Renewal::new(3_000);
        for _ in 0..100 {
            assert!(timeout(Duration::from_millis(900), renewal.due()).await.is_err());
            renewal.sent();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_silence_is_longer_than_a_period() {
        let mut renewal = Renewal::new(3_000);
        for pause_ms in [0, 1, 500, 999, 1_000] {
            sleep(Duration::from_millis(pause_ms)).await;
            renewal.sent();
            let sent = Instant::now();
            for sign in 1..4 {
                renewal.due().await;
                renewal.sent();
                assert_eq!(sent.elapsed(), Duration::from_secs(sign), "{pause_ms}");
            }
        }
    }

    /// A wait that is dropped all the time, since something else has happened, ends in time.
    #[tokio::test(start_paused = true)]
    async fn who_is_told_much_and_sends_nothing_gives_a_sign_of_life() {
        let mut renewal = Renewal::new(3_000);
        let began = Instant::now();
        while timeout(Duration::from_millis(7), renewal.due()).await.is_err() {
            assert!(began.elapsed() <= Duration::from_secs(1));
        }
    }
}
