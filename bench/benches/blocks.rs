//! What does a building block cost: a call, the first use, an addition to a counter; and a map?
//!
//! * A call, beside the same virtual call of an object: the difference in nanoseconds is said. A
//!   block that is found by its id in the table each time is beside the same.
//! * The first use of a block in a process, beside an allocation as large as a representative.
//! * Additions to a counter with a representative a core, beside an atomic number that the threads
//!   share. Two cores pass a line of memory to and fro; more cores queue for it. So what two show
//!   is the least: with c cores a shared line serves one of them at a time, and c lines all.
//! * A map of a million keys: puts and gets a second with two copies each, of processes that are
//!   threads of one here, and what becomes of them while one joins and one ends.

#![allow(clippy::disallowed_methods, reason = "a benchmark is where a clock belongs")]

use std::any::Any;
use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use tidings_bench::{Comparison, compare};
use tidings_blocks::block::{Outlet, Posted};
use tidings_blocks::counter::Counter;
use tidings_blocks::map::{DistributedMap, Op};
use tidings_blocks::record::Made;
use tidings_blocks::table::{Kinds, Table};
use tidings_blocks::{Block, BlockId, Handler, Here, Node, Outbox, Ref};
use tidings_tasks::blocks::{Blocks, Settings};
use tidings_tasks::store::Store;
use tidings_tasks::store::memory::Memory;

/// Calls of one repetition.
const CALLS: u64 = 20_000_000;

/// First uses of one repetition.
const USES: u32 = 10_000;

/// Keys of the map, and calls of it that wait for an answer at a time.
const KEYS: u32 = 1_000_000;
const WAITING: u32 = 4_000;

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test` runs this too, without `--bench`: one small pass then keeps it from rotting.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let repetitions = if is_bench { 15 } else { 1 };
    let calls = if is_bench { CALLS } else { 100 };
    called(repetitions, calls);
    used_first(repetitions, if is_bench { USES } else { 10 });
    for threads in [1, 2] {
        counted(repetitions, calls, threads);
    }
    mapped(if is_bench { KEYS } else { 200 })
}

/// An object that is called through a pointer to what it does.
trait Touch: Send + Sync {
    fn touch(&self, by: u64) -> u64;
}

struct Touched(AtomicU64);

impl Touch for Touched {
    fn touch(&self, by: u64) -> u64 {
        let now = self.0.load(Relaxed).wrapping_add(by);
        self.0.store(now, Relaxed);
        now
    }
}

struct Touching;

struct Idle;

impl Handler for Idle {
    fn called(&mut self, _: Box<dyn Any + Send>, _: &mut Outbox<'_>) {}
    fn received(&mut self, _: Node, _: &[u8], _: &mut Outbox<'_>) {}
}

impl Block for Touching {
    const KIND: &'static str = "touching";
    const VERSION: u32 = 1;
    type Interface = dyn Touch;

    fn represent(&self, _: Here) -> (Box<dyn Touch>, Box<dyn Handler>) {
        (Box::new(Touched(AtomicU64::new(0))), Box::new(Idle))
    }
}

/// Where handlers of this go: nobody runs them.
struct Nowhere;

impl Outlet for Nowhere {
    fn post(&self, posted: Posted) {
        drop(posted);
    }
}

fn table() -> Table {
    Table::new(Kinds::default().with(Touching).with(Counter), Node(1), Arc::new(Nowhere))
}

fn entered<B: Block>(table: &Table, number: u32) -> BlockId {
    let (name, kind) = (number.to_string(), B::KIND.to_owned());
    let made = Made { name, kind, version: B::VERSION, since: 0 };
    table.enter(BlockId(number), &made).expect("the kind is known");
    BlockId(number)
}

fn say(comparison: &Comparison, times: u64) {
    println!("{}", comparison.line());
    let each = |micros: f64| micros * 1e3 / times as f64;
    let (own, other) = (each(comparison.micros), each(comparison.reference_micros));
    println!("  {own:.2} ns each, the reference {other:.2} ns: {:+.2} ns", own - other);
}

fn called(repetitions: usize, calls: u64) {
    let (table, object) = (table(), Box::new(Touched(AtomicU64::new(0))) as Box<dyn Touch>);
    let id = entered::<Touching>(&table, 1);
    let block = table.get::<Touching>(id).expect("it was entered").clone();
    let virtually = || {
        for by in 0..calls {
            black_box(black_box(&object).touch(by));
        }
    };
    let by_reference = || {
        for by in 0..calls {
            black_box(black_box(&block).touch(by));
        }
    };
    let by_id = || {
        for by in 0..calls {
            let found: &Ref<Touching> = table.get(black_box(id)).expect("it was entered");
            black_box(found.touch(by));
        }
    };
    let reference = "a virtual call";
    say(&compare("a call of a block", reference, repetitions, virtually, by_reference), calls);
    let found =
        compare("a block found by its id, and called", reference, repetitions, virtually, by_id);
    say(&found, calls);
}

fn used_first(repetitions: usize, uses: u32) {
    let allocated = || {
        for _ in 0..uses {
            black_box(Box::new([0_u8; 4_096]));
        }
    };
    let first = || {
        let table = table();
        for number in 1..=uses {
            let id = entered::<Counter>(&table, number);
            let count: &Ref<Counter> = table.get(id).expect("it was entered");
            count.add(1);
        }
    };
    let reference = "an allocation of 4 KiB";
    let comparison = compare(
        "a counter: entered, made and used first",
        reference,
        repetitions,
        allocated,
        first,
    );
    say(&comparison, uses.into());
}

/// Threads that do the same at once.
fn at_once(threads: u64, work: impl Fn() + Sync) {
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(&work);
        }
    });
}

fn counted(repetitions: usize, calls: u64, threads: u64) {
    let table = table();
    let id = entered::<Counter>(&table, 1);
    let count = table.get::<Counter>(id).expect("it was entered").clone();
    let shared = AtomicU64::new(0);
    let comparison = compare(
        &format!("additions of {threads} threads to a counter"),
        "to a shared atomic",
        repetitions,
        || {
            at_once(threads, || {
                for _ in 0..calls / 2 {
                    black_box(&shared).fetch_add(1, Relaxed);
                }
            });
        },
        || at_once(threads, || (0..calls / 2).for_each(|_| black_box(&count).add(1))),
    );
    say(&comparison, calls / 2);
    println!("  so {:.1} times as many additions a second", 1.0 / comparison.ratio);
    assert_eq!(count.here(), shared.load(Relaxed), "none is lost");
}

fn mapped(keys: u32) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let store: Arc<dyn Store> = Arc::new(Memory::default());
        let kinds = || Kinds::default().with(DistributedMap::default());
        let join = || Blocks::join(store.clone(), kinds(), Settings::here("bench"));
        let mut all = vec![join().await?, join().await?, join().await?];
        let map: Ref<DistributedMap> = all[0].open("bench").await?;
        map.count().await?;
        let put = |key: u32| Op::Put(key.to_be_bytes().to_vec(), vec![7; 64]);
        let get = |key: u32| Op::Get(key.to_be_bytes().to_vec());
        timed("puts", keys, pass(&map, keys, put)).await?;
        timed("gets", keys, pass(&map, keys, get)).await?;
        let begun = Instant::now();
        all.push(join().await?);
        map.count().await?;
        println!("  a fourth process has its share after {:.2} s", begun.elapsed().as_secs_f64());
        let begun = Instant::now();
        drop(all.remove(1));
        let count = map.count().await?;
        println!("  one has ended: each part answers after {:.2} s", begun.elapsed().as_secs_f64());
        timed("gets", keys, pass(&map, keys, get)).await?;
        assert_eq!((count, map.lost_parts()), (keys.into(), 0));
        Ok(())
    })
}

async fn timed(
    what: &str,
    keys: u32,
    work: impl Future<Output = Result<(), Box<dyn Error>>>,
) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    work.await?;
    let rate = f64::from(keys) / begun.elapsed().as_secs_f64();
    println!("a map of {keys} keys, 3 processes and this thread: {rate:.0} {what} a second");
    Ok(())
}

/// A call for each key, some of which wait at a time.
async fn pass(
    map: &Ref<DistributedMap>,
    keys: u32,
    op: impl Fn(u32) -> Op,
) -> Result<(), Box<dyn Error>> {
    for first in (0..keys).step_by(WAITING as usize) {
        let replies: Vec<_> = (first..keys.min(first + WAITING))
            .map(|key| map.call(&key.to_be_bytes(), op(key)))
            .collect();
        for reply in replies {
            reply.await??;
        }
    }
    Ok(())
}
