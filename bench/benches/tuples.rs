//! What does a tuple cost: put into a space, and pulled from it?
//!
//! Takers, each of which puts a tuple, pulls one like it and consumes it, in a space in memory and
//! in one in a file, where each commit is durable before anybody is told. Each names its tuple by
//! its own number in the second field, or takes any (*wildcards*). References:
//!
//! * in memory: a `Mutex<VecDeque>` with a `Condvar`, that two threads share. It knows no template,
//!   no transaction and no owner who may die: nothing that passes on tuples can be faster;
//! * in a file: redb alone, one thread that knows all tuples in advance and commits as many puts,
//!   and then as many deletions, as there are takers.
//!
//! The takers, the coordinator and, in memory, the store are one thread. So the processor time of a
//! tuple, which is said too, bounds their rate on a machine that does other work as well.
//!
//! What wildcards cost is said beside them: the time to find, take out and enter again a tuple of
//! many, by an index of no field, of the first, and of each.

#![allow(clippy::disallowed_methods, reason = "a benchmark is where a clock belongs")]

use std::collections::VecDeque;
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use redb::TableDefinition;
use rustix::time::{ClockId, clock_gettime};
use tidings_bench::{Comparison, compare};
use tidings_tasks::member::Member;
use tidings_tasks::service::Options;
use tidings_tasks::session::Session;
use tidings_tasks::space::{Space, Spaces};
use tidings_tasks::store::address::Address;
use tidings_tasks_core::reign::Candidate;
use tidings_tasks_core::tuple::index::Index;
use tidings_tasks_core::tuple::{Field, MAX_FIELDS, Pattern, Template, Tuple, Type};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

const RECORDS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("records");

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test` runs this too, without `--bench`: one small pass then keeps it from rotting.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let as_json = std::env::args().any(|argument| argument == "--json");
    let repetitions = if is_bench { 15 } else { 1 };
    if !as_json {
        indexed(if is_bench { 100_000 } else { 100 });
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    for wildcards in [false, true] {
        for (takers, pairs) in [(1, 2_000), (64, 32_000)] {
            let pairs = if is_bench { pairs } else { takers * 2 };
            let (comparison, cpu) = in_memory(wildcards, takers, pairs, repetitions)?;
            say(&comparison, cpu, pairs, as_json)?;
        }
    }
    for (takers, pairs) in [(1, 300), (8, 2_400), (64, 9_600)] {
        let pairs = if is_bench { pairs } else { takers * 2 };
        let (comparison, cpu) = in_file(folder.path(), takers, pairs, repetitions)?;
        say(&comparison, cpu, pairs, as_json)?;
    }
    Ok(())
}

fn say(
    comparison: &Comparison,
    cpu: f64,
    pairs: usize,
    as_json: bool,
) -> Result<(), Box<dyn Error>> {
    if as_json {
        println!("{}", serde_json::to_string(comparison)?);
        return Ok(());
    }
    println!("{}", comparison.line());
    let each = comparison.micros / pairs as f64;
    print!("  {:.0} put and pulled a second, {each:.1} µs each; ", 1e6 / each);
    println!("{cpu:.1} µs of processor time, so at most {:.0} a second", 1e6 / cpu);
    Ok(())
}

fn tuple(number: usize) -> Tuple {
    Tuple::new(vec!["block".into(), Field::Int(number as i64), Field::Float(0.5)])
}

fn template(number: usize, wildcards: bool) -> Template {
    let second = if wildcards { Type::Int.into() } else { Field::Int(number as i64).into() };
    Template(vec!["block".into(), second, Pattern::Any])
}

/// A space, and the runtime of those who use it.
struct Bench {
    runtime: Runtime,
    space: Space,
}

impl Bench {
    fn begin(address: Address) -> Result<Self, Box<dyn Error>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let entered = runtime.enter();
        let candidate = Candidate {
            name: "bench".to_owned(),
            host: "here".to_owned(),
            address: String::new(),
            session: None,
        };
        let options = Options { board: None, ..Options::default() };
        let member = Arc::new(Member::join(address, "bench", candidate, options));
        let (session, _notices) = Session::open(member, "takers", "here");
        let space = Spaces::new(session).space("bench");
        drop(entered);
        Ok(Self { runtime, space })
    }

    /// The same, and the processor time of each pair, in microseconds.
    fn timed(&self, takers: usize, pairs: usize, wildcards: bool) -> f64 {
        let before = processor_time();
        self.run(takers, pairs, wildcards);
        (processor_time() - before) * 1e6 / pairs as f64
    }

    /// So many put and pull, until so many tuples were.
    fn run(&self, takers: usize, pairs: usize, wildcards: bool) {
        self.runtime.block_on(async {
            let mut all = JoinSet::new();
            for taker in 0..takers {
                let space = self.space.clone();
                all.spawn(async move {
                    for _ in 0..pairs / takers {
                        space.put(tuple(taker)).await.expect("it can be put");
                        let template = template(taker, wildcards);
                        let taken = space.take(template, None).await.expect("it can be taken");
                        assert!(taken.is_some());
                    }
                });
            }
            while let Some(ended) = all.join_next().await {
                ended.expect("a taker ends");
            }
        });
    }
}

fn in_memory(
    wildcards: bool,
    takers: usize,
    pairs: usize,
    repetitions: usize,
) -> Result<(Comparison, f64), Box<dyn Error>> {
    let bench = Bench::begin(Address::Memory)?;
    let named = if wildcards { "any" } else { "its own" };
    let mut spent = Vec::new();
    let comparison = compare(
        &format!("in memory, {takers} takers, each {named}"),
        "a queue of two threads",
        repetitions,
        || queue(pairs),
        || spent.push(bench.timed(takers, pairs, wildcards)),
    );
    Ok((comparison, median(&mut spent)))
}

/// Passes on so many tuples from one thread to another, and back.
fn queue(pairs: usize) {
    let shared = [(); 2].map(|()| (Mutex::new(VecDeque::new()), Condvar::new()));
    let put = |at: usize, tuple: Tuple| {
        let (queue, wake) = &shared[at];
        queue.lock().expect("nobody panics").push_back(tuple);
        wake.notify_one();
    };
    let pull = |at: usize| {
        let (queue, wake) = &shared[at];
        let mut queue = queue.lock().expect("nobody panics");
        loop {
            match queue.pop_front() {
                Some(tuple) => return tuple,
                None => queue = wake.wait(queue).expect("nobody panics"),
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| (0..pairs / 2).for_each(|_| put(1, pull(0))));
        for number in 0..pairs / 2 {
            put(0, tuple(number));
            black_box(pull(1));
        }
    });
}

fn in_file(
    folder: &Path,
    takers: usize,
    pairs: usize,
    repetitions: usize,
) -> Result<(Comparison, f64), Box<dyn Error>> {
    let bench = Bench::begin(Address::File(folder.join(format!("store{takers}"))))?;
    let redb = redb::Database::create(folder.join(format!("redb{takers}")))?;
    let mut spent = Vec::new();
    let comparison = compare(
        &format!("in a file, {takers} takers, each its own"),
        "redb alone",
        repetitions,
        || alone(&redb, takers, pairs).expect("redb commits"),
        || spent.push(bench.timed(takers, pairs, false)),
    );
    Ok((comparison, median(&mut spent)))
}

fn median(all: &mut [f64]) -> f64 {
    all.sort_unstable_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The processor time of this process, in seconds.
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The writes of so many tuples, as many of them in each transaction as there are takers.
fn alone(redb: &redb::Database, takers: usize, pairs: usize) -> Result<(), Box<dyn Error>> {
    for _ in 0..pairs / takers {
        for is_put in [true, false] {
            let writes = redb.begin_write()?;
            {
                let mut table = writes.open_table(RECORDS)?;
                for taker in 0..takers as u64 {
                    if is_put {
                        table.insert(taker, &[0; 64][..])?;
                    } else {
                        table.remove(taker)?;
                    }
                }
            }
            writes.commit()?;
        }
    }
    Ok(())
}

/// What it takes to find a tuple of so many, take it out and enter it again.
fn indexed(tuples: usize) {
    println!("a tuple of {tuples} is found, taken out and entered again, in µs:");
    for (name, fields) in [("no field", 0), ("the first", 1), ("each", MAX_FIELDS)] {
        let mut index = Index::of_leading(fields);
        let begun = Instant::now();
        for number in 0..tuples {
            index.insert(number as u64, "bench".into(), tuple(number));
        }
        let filled = begun.elapsed().as_secs_f64() * 1e6 / tuples as f64;
        let any = time_of(&mut index, 1_000, |_| template(0, true));
        let second = time_of(&mut index, 20, |at| {
            Template(vec![
                Pattern::Any,
                Field::Int((at * 7_919 % tuples) as i64).into(),
                Pattern::Any,
            ])
        });
        println!(
            "  places for {name}: fill {filled:.2}, (block, ?int, ?) {any:.2}, \
             (?, number, ?) {second:.2}"
        );
    }
}

fn time_of(index: &mut Index, times: usize, template: impl Fn(usize) -> Template) -> f64 {
    let begun = Instant::now();
    for at in 0..times {
        let number = index.first("bench", &template(at), 0).expect("it is there");
        let tuple = index.get(number).expect("it was found").clone();
        index.remove(number);
        index.insert(number, "bench".into(), tuple);
    }
    begun.elapsed().as_secs_f64() * 1e6 / times as f64
}
