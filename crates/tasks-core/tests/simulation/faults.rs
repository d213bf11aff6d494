//! What goes wrong, and when.

use core::time::Duration;

use tidings_primitives::{Chance, Instant};

/// How the store misbehaves.
pub(crate) struct Weather {
    /// The probability that an answer is lost before a commit, after it, and long before it.
    pub(crate) unknown: [f64; 3],
    /// Each so many-th call of the store kills who made it.
    pub(crate) crash_every: Option<u64>,
    pub(crate) full_until: Instant,
    pub(crate) lost_until: Instant,
    /// The mean time between faults.
    pub(crate) pause: Duration,
}

impl Weather {
    pub(crate) fn new(chance: &mut Chance) -> Self {
        let p = [0.0, 0.002, 0.02][chance.below(3)];
        let crash_every = chance.happens(0.3).then(|| 3 + chance.below(60) as u64);
        let pause = Duration::from_millis([150, 500, 2_000][chance.below(3)]);
        let never = Instant::EPOCH;
        let unknown = [p, p, p];
        Self { unknown, crash_every, full_until: never, lost_until: never, pause }
    }

    /// From now on nothing goes wrong.
    pub(crate) fn clear(&mut self) {
        (self.unknown, self.crash_every) = ([0.0; 3], None);
        (self.full_until, self.lost_until) = (Instant::EPOCH, Instant::EPOCH);
    }
}

/// A fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Fault {
    KillProcess,
    FreezeProcess,
    SuspectProcess,
    KillWorker,
    FreezeWorker,
    DrainWorker,
    SuspectHost,
    SeeHosts,
    KillClient,
    BreakConnection,
    StoreFull,
    StoreLost,
}

pub(crate) const FAULTS: [Fault; 12] = [
    Fault::KillProcess,
    Fault::FreezeProcess,
    Fault::SuspectProcess,
    Fault::KillWorker,
    Fault::FreezeWorker,
    Fault::DrainWorker,
    Fault::SuspectHost,
    Fault::SeeHosts,
    Fault::KillClient,
    Fault::BreakConnection,
    Fault::StoreFull,
    Fault::StoreLost,
];
