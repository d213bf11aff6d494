//! A store of the cluster's, in the memory of its processes: what [`Ledger`] defines, with two
//! copies ([`pair`](crate::pair)), so that the process which answers may die.
//!
//! It is one part, since it has one history. A call is one step for all who use it (linearizable),
//! and what was answered stays as long as one of the two processes that have it lives until there
//! is another copy. If both die before, all is lost, and each call says so from then on.
//!
//! | file | what it holds |
//! |---|---|
//! | `records` | the state: a ledger, and how long sessions last |
//! | `keeper` | the handler: the pair, who waits for changes, who measures time |
//!
//! It has no clock. Whoever owns it is asked for the [sessions](StoreBlock::sessions) and ends
//! those whose time is over, by a call like all others.
//!
//! [`Ledger`]: tidings_tasks_core::ledger::Ledger

mod keeper;
mod records;

use tidings_tasks_core::transaction::Revision;

use self::keeper::{Clock, Keeper, Waits};
pub use self::records::{Answer, Beat, LIMITS, MAX_READ_BYTES, Op, Records, Sessions};
use crate::block::{Block, Handler, Here};
use crate::envelope::Refusal;
use crate::pair::Call;
use crate::reply::{self, Reply};

/// The kind of stores.
#[derive(Clone, Copy, Debug, Default)]
pub struct DistributedStore;

/// A store, as programs call it.
#[derive(Debug)]
pub struct StoreBlock {
    here: Here,
}

impl StoreBlock {
    /// Does something with the store.
    pub fn call(&self, op: Op) -> Reply<Result<Answer, Refusal>> {
        let (asker, reply) = reply::ask();
        self.here.call(Call::<Records> { part: 0, op, asker });
        reply
    }

    /// Answers when the store has changed after a revision, as far as can be told, or earlier.
    pub fn changed(&self, after: Revision) -> Reply<()> {
        let (asker, reply) = reply::ask();
        self.here.call(Waits { after, asker });
        reply
    }

    /// Answers as soon as this process owns the store and more sessions were opened than `known`;
    /// without that, as soon as it owns the store.
    pub fn sessions(&self, known: Option<u64>) -> Reply<Sessions> {
        let (asker, reply) = reply::ask();
        self.here.call(Clock { known, asker });
        reply
    }
}

impl Block for DistributedStore {
    const KIND: &'static str = "store";
    const VERSION: u32 = 1;
    type Interface = StoreBlock;

    fn represent(&self, here: Here) -> (Box<StoreBlock>, Box<dyn Handler>) {
        let keeper = Keeper::new(&here);
        (Box::new(StoreBlock { here }), Box::new(keeper))
    }
}
