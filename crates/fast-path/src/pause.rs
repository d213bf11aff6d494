//! Waiting for another core: a moment of spinning, then the core is left to others.

/// How long an answer from another core takes at most, in spins, if that core is running.
const SPINS: u32 = 2_000;

/// A wait.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    looks: u32,
}

impl Pause {
    /// Waits a little, after one more look in vain. On a machine of one core the first of these
    /// must already be a yield; who has one core runs calls in place, so that is not asked here.
    #[inline]
    pub(crate) fn once(&mut self) {
        self.looks = self.looks.saturating_add(1);
        if self.looks < SPINS {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}
