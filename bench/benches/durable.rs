//! What does a durable task cost above what its store needs for the same writes?
//!
//! Through the service of a part, over the embedded store, with 64 tasks in flight, and one at a
//! time; beside their writes alone (`tidings_bench::durable`). How long the disk takes to sync one
//! page is said as well: most of what one task alone takes.

#![allow(clippy::disallowed_methods, reason = "a benchmark is where a clock belongs")]

use std::error::Error;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Instant;

use tidings_bench::Comparison;
use tidings_bench::durable::{CASES, Case, Repetition, Shape, middle};

type Failed = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failed> {
    // `cargo test` runs this too, without `--bench`: one small pass then keeps it from rotting.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let as_json = std::env::args().any(|argument| argument == "--json");
    let repetitions = if is_bench { 15 } else { 1 };
    for (shape, in_flight, tasks) in CASES {
        let tasks = if is_bench { tasks } else { in_flight as u64 };
        let all = repeated(shape, in_flight, tasks, repetitions)?;
        let comparison = compared(shape, in_flight, &all);
        if as_json {
            println!("{}", serde_json::to_string(&comparison)?);
            continue;
        }
        println!("{}", comparison.line());
        let each = comparison.micros / tasks as f64;
        let mut times: Vec<_> = all.iter().map(|one| one.middle).collect();
        let half = middle(&mut times).as_secs_f64() * 1e3;
        print!("  {:.0} tasks a second, {each:.0} µs a task; ", 1e6 / each);
        println!("half of them in {half:.2} ms from submission to end");
        let mean = |of: fn(&Repetition) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        print!("  processor of a task: {:.0} µs of the service, ", mean(|one| one.service_us));
        println!(
            "with what submits and completes, {:.0} µs of the store",
            mean(|one| one.store_us)
        );
    }
    if !as_json {
        println!("fdatasync of one page: {:.0} µs", sync_page(10 * repetitions)? * 1e6);
    }
    Ok(())
}

/// A case, so often, after a tenth as many to warm up.
fn repeated(
    shape: Shape,
    in_flight: usize,
    tasks: u64,
    repetitions: usize,
) -> Result<Vec<Repetition>, Failed> {
    let mut case = Case::begin(shape, in_flight, Path::new(env!("CARGO_TARGET_TMPDIR")))?;
    for _ in 0..repetitions / 10 {
        case.repeat(tasks);
    }
    Ok((0..repetitions).map(|_| case.repeat(tasks)).collect())
}

fn compared(shape: Shape, in_flight: usize, all: &[Repetition]) -> Comparison {
    let question = format!("a task, {}, synced, {in_flight} in flight", shape.name());
    let pairs: Vec<_> = all.iter().map(|one| (one.reference, one.tasks)).collect();
    Comparison::of_pairs(&question, "its writes alone", &pairs)
}

/// The median time, in seconds, to write a page and sync it.
fn sync_page(repetitions: usize) -> io::Result<f64> {
    let file = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR"))?;
    let mut times = Vec::new();
    for number in 0..repetitions as u64 {
        let begun = Instant::now();
        file.write_all_at(&[number as u8; 4_096], 0)?;
        file.sync_data()?;
        times.push(begun.elapsed());
    }
    Ok(middle(&mut times).as_secs_f64())
}
