//! Wake-ups: from the moment at which there is work until a thread that slept is at it.
//!
//! Beside them is what the system takes for that: a thread that waits for a condition, and one that
//! tells it. Each wake-up begins when all who are to be woken have slept for a while, and who wakes
//! them does nothing else until they are there.

use std::hint::spin_loop;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tidings_fork_join::Pool;

/// How long who said that it will sleep has time to be asleep.
const ASLEEP: Duration = Duration::from_micros(50);

/// From a spawn, in a pool whose other threads sleep, until one of them is at the job.
pub(crate) fn by_a_spawn(pool: &Pool) -> Duration {
    let began = OnceLock::new();
    pool.scope(|scope| {
        settled(|| pool.counts().sleeping + 1 == pool.threads());
        let at = Instant::now();
        scope.spawn(|_| _ = began.set(Instant::now()));
        until(|| began.get().is_some());
        *began.get().expect("it has begun") - at
    })
}

/// From a call of a thread outside, while the whole pool sleeps, until it runs.
pub(crate) fn by_a_call(pool: &Pool) -> Duration {
    settled(|| pool.counts().sleeping == pool.threads());
    let at = Instant::now();
    pool.install(Instant::now) - at
}

/// A thread that waits for a condition, again and again.
pub(crate) struct Waiter(Arc<Meeting>);

#[derive(Default)]
struct Meeting {
    state: Mutex<State>,
    told: Condvar,
}

#[derive(Default)]
struct State {
    waits: bool,
    is_told: bool,
    woke: Option<Instant>,
}

impl Meeting {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self) {
        let mut state = self.state();
        state.waits = true;
        while !state.is_told {
            state = self.told.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        *state = State { woke: Some(Instant::now()), ..State::default() };
    }
}

impl Waiter {
    /// It waits from now on, until the process ends.
    pub(crate) fn start() -> Self {
        let meeting = Arc::new(Meeting::default());
        let theirs = Arc::clone(&meeting);
        thread::spawn(move || {
            loop {
                theirs.wait();
            }
        });
        Self(meeting)
    }

    /// From telling the condition until the thread goes on.
    pub(crate) fn wake(&self) -> Duration {
        settled(|| self.0.state().waits);
        let at = Instant::now();
        self.0.state().is_told = true;
        self.0.told.notify_one();
        until(|| self.0.state().woke.is_some());
        self.0.state().woke.take().expect("it has woken") - at
    }
}

/// Waits until this is so, and then for a while.
fn settled(is_so: impl Fn() -> bool) {
    until(is_so);
    let began = Instant::now();
    until(|| began.elapsed() >= ASLEEP);
}

fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        spin_loop();
    }
}
