//! A counter: adding is an addition in the memory of the own core, reading asks all nodes.
//!
//! A shared atomic counter makes each core wait for the line of memory that another one has just
//! written. Here each core has a line of its own, which it writes with a load and a store: nobody
//! else writes it ([`seat`](crate::seat)).

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

use crate::block::{Block, Handler, Here};
use crate::cores::{Mine, PerCore};
use crate::reply::{self, Reply};
use crate::tally::{Collect, Counts, Sum, Tally};

/// The kind of counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter;

/// A counter, as programs call it.
#[derive(Debug)]
pub struct Count {
    cores: Arc<PerCore<AtomicU64>>,
    here: Here,
}

impl Count {
    /// Counts so many more.
    #[inline]
    pub fn add(&self, count: u64) {
        match self.cores.mine() {
            Mine::Alone(own) => add_alone(own, count),
            Mine::Shared(shared) => drop(shared.fetch_add(count, Relaxed)),
        }
    }

    /// What was counted in this process.
    pub fn here(&self) -> u64 {
        self.cores.all().fold(0, |sum, core| sum.wrapping_add(core.load(Relaxed)))
    }

    /// What was counted everywhere: the one number of [`Sum::counts`].
    pub fn sum(&self) -> Reply<Sum> {
        let (asker, reply) = reply::ask();
        self.here.call(Collect(asker));
        reply
    }
}

/// Adds where nobody else writes.
#[inline]
pub(crate) fn add_alone(own: &AtomicU64, count: u64) {
    own.store(own.load(Relaxed).wrapping_add(count), Relaxed);
}

impl Counts for PerCore<AtomicU64> {
    fn read(&self) -> Vec<u64> {
        vec![self.all().fold(0, |sum, core| sum.wrapping_add(core.load(Relaxed)))]
    }
}

impl Block for Counter {
    const KIND: &'static str = "counter";
    const VERSION: u32 = 1;
    type Interface = Count;

    fn represent(&self, here: Here) -> (Box<Count>, Box<dyn Handler>) {
        let cores = Arc::new(PerCore::new(|| AtomicU64::new(0)));
        let tally = Tally::new(Arc::clone(&cores) as Arc<dyn Counts>);
        (Box::new(Count { cores, here }), Box::new(tally))
    }
}
