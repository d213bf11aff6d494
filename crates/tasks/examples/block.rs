//! A block of fifty lines: the least cost that any process has found, as a branch and bound needs.
//!
//! Reading it is a load from memory. Who finds less tells all others, and who joins is told.
//!
//! `cargo run -p tidings-tasks --example block`

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tidings_blocks::table::Kinds;
use tidings_blocks::{Block, Handler, Here, Node, Outbox, Ref};
use tidings_tasks::blocks::{Blocks, Settings};
use tidings_tasks::store::Store;
use tidings_tasks::store::memory::Memory;

/// The kind of block.
struct Bound;

/// What programs call.
struct Least {
    cost: Arc<AtomicU64>,
    here: Here,
}

impl Least {
    fn get(&self) -> u64 {
        self.cost.load(Relaxed)
    }

    fn offer(&self, cost: u64) {
        if self.cost.fetch_min(cost, Relaxed) > cost {
            self.here.call(()); // the handler tells the others
        }
    }
}

/// What representatives are to each other.
struct Teller(Arc<AtomicU64>);

impl Teller {
    fn message(&self) -> Vec<u8> {
        self.0.load(Relaxed).to_be_bytes().to_vec()
    }
}

impl Handler for Teller {
    fn called(&mut self, _call: Box<dyn Any + Send>, out: &mut Outbox<'_>) {
        out.send_to_others(&self.message());
    }

    fn received(&mut self, _from: Node, message: &[u8], _out: &mut Outbox<'_>) {
        if let Ok(bytes) = message.try_into() {
            self.0.fetch_min(u64::from_be_bytes(bytes), Relaxed);
        }
    }

    fn node_joined(&mut self, node: Node, out: &mut Outbox<'_>) {
        out.send(node, self.message());
    }
}

impl Block for Bound {
    const KIND: &'static str = "bound";
    const VERSION: u32 = 1;
    type Interface = Least;

    fn represent(&self, here: Here) -> (Box<Least>, Box<dyn Handler>) {
        let cost = Arc::new(AtomicU64::new(u64::MAX));
        (Box::new(Least { cost: Arc::clone(&cost), here }), Box::new(Teller(cost)))
    }
}

/// Three processes in one: each has its own listener, connections and representative.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store: Arc<dyn Store> = Arc::new(Memory::default());
    let mut bounds: Vec<(Blocks, Ref<Bound>)> = Vec::new();
    for cost in [70, 42, 55] {
        let kinds = Kinds::default().with(Bound);
        let blocks = Blocks::join(store.clone(), kinds, Settings::here("example")).await?;
        let bound: Ref<Bound> = blocks.open("knapsack").await?;
        bound.offer(cost);
        bounds.push((blocks, bound));
    }
    for (blocks, bound) in &bounds {
        while bound.get() != 42 {
            tokio::task::yield_now().await;
        }
        println!("process {}: {}", blocks.node(), bound.get());
    }
    Ok(())
}
