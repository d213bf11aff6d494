//! Counts one of the benchmark's trees on one thread and says whether its size is the known one.
//!
//! `cargo run --release -p tidings-applications --example uts -- T1L` (default: T1)

use std::process::ExitCode;

use tidings_applications::in_order;
use tidings_applications::uts::trees::{ALL, named};

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_else(|| "T1".to_owned());
    let Some(tree) = named(&name) else {
        let names: Vec<&str> = ALL.iter().map(|tree| tree.name).collect();
        eprintln!("uts: {name} is no tree of the benchmark: {}", names.join(", "));
        return ExitCode::from(2);
    };
    let (count, _) = in_order(&tree.tree);
    println!(
        "{}: {} nodes, {} leaves, depth {}",
        tree.name, count.nodes, count.leaves, count.depth
    );
    if tree.is(&count) {
        return ExitCode::SUCCESS;
    }
    eprintln!(
        "uts: {} has {} nodes, and {:?} as depth and leaves",
        tree.name, tree.nodes, tree.rest
    );
    ExitCode::FAILURE
}
