//! Ranks that count the nodes of a binary tree: a line from the first.
//!
//! ```text
//! cargo build --release --manifest-path mpi/rust/Cargo.toml --example search
//! mpirun -n 2 mpi/rust/target/release/examples/search 20
//! ```
//!
//! With a second word, `work-first`, a task's first child runs at once and the rest of it may be
//! stolen; with `balanced` it searches twice, and balances in between; with `panic` a task panics.

use std::error::Error;

use tidings_steal_mpi::{Body, Done, Frame, Mpi, Options, Ranks, Selection, Task};

struct Found {
    nodes: u64,
    is_panicking: bool,
}

const HELP_FIRST: u16 = 0;
const WORK_FIRST: u16 = 1;

fn frame(function: u16, depth: u8) -> Frame {
    Frame::new(function, 0, &[depth]).expect("a slot has more than a byte")
}

fn help_first(task: &mut Task<'_>, found: &mut Found) -> Done {
    found.nodes += 1;
    assert!(!found.is_panicking, "as was asked for");
    if let Some(depth) = task.state()[0].checked_sub(1) {
        for _ in 0..2 {
            task.spawn(&frame(HELP_FIRST, depth)).expect("a phase runs");
        }
    }
    Done::Nothing
}

fn work_first(task: &mut Task<'_>, found: &mut Found) -> Done {
    let (depth, step) = (task.state()[0], task.step());
    found.nodes += u64::from(step == 0);
    if depth == 0 || step == 2 {
        return Done::Nothing;
    }
    let (child, then) = (frame(WORK_FIRST, depth - 1), frame(WORK_FIRST, depth).at_step(step + 1));
    Done::ChildFirst { child, then }
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let depth: u8 = words.first().map_or(Ok(16), |word| word.parse())?;
    let manner = words.get(1).map(String::as_str);
    let function = if manner == Some("work-first") { WORK_FIRST } else { HELP_FIRST };
    let mpi = Mpi::begin()?;
    let retain = manner == Some("balanced");
    let options = Options { selection: Selection::Lifelines, retain, ..Options::default() };
    let bodies = [help_first as Body<Found>, work_first];
    let mut ranks = Ranks::open(mpi.world(), &options, &bodies)?;
    let list = if ranks.rank() == 0 { vec![frame(function, depth)] } else { Vec::new() };
    let mut found = Found { nodes: 0, is_panicking: manner == Some("panic") };
    let mut phase = ranks.phase("search", &list, &mut found)?;
    if retain {
        ranks.balance("search")?;
        found.nodes = 0;
        phase = ranks.phase("search", &list, &mut found)?;
    }
    let mut sums = [found.nodes, phase.counters.executed, phase.counters.steals];
    mpi.world().sum(&mut sums)?;
    if ranks.rank() == 0 {
        println!("{} nodes by {} steps", sums[0], sums[1]);
    }
    Ok(())
}
