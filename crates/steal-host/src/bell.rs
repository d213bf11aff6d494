//! The bell: how a process sleeps until another one has something for it, and none is missed.
//!
//! A worker has *news*, a bit for each other worker, and a flag that says that it sleeps. Who has
//! written something for it sets its own bit and looks at the flag; who wants to sleep raises the
//! flag and looks at the news. A fence on each side lies between what it says and what it looks at,
//! so one of the two sees the other.
//!
//! Invariant: who sleeps with a raised flag has no news that it did not see; who lowers the flag
//! wakes its owner. A process that is killed between its bit and its look leaves a sleeper whom
//! nobody wakes for these news; it is woken by that death.

use crate::machine::{Flag, Word};

/// Tells a worker that there is something from those with these bits; whether its process has to
/// be woken, by whoever called.
#[inline]
#[must_use]
pub fn ring<W: Word, F: Flag>(news: &W, bits: u64, flag: &F) -> bool {
    news.add_bits(bits);
    W::fence();
    flag.is_raised() && flag.lower()
}

/// Sleeps unless there are news. `pause` returns when the flag is no longer raised, or before.
pub fn sleep<W: Word, F: Flag>(news: &[W], flag: &F, pause: impl FnOnce()) {
    flag.raise();
    W::fence();
    if !has_news(news) {
        pause();
    }
    flag.lower();
}

/// Whether there is anything from anybody.
#[inline]
pub fn has_news<W: Word>(news: &[W]) -> bool {
    news.iter().any(|word| word.get() != 0)
}
