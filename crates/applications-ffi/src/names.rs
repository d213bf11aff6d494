//! Applications by name: what it is, a colon, how large.

use tidings_applications::fibonacci::Fibonacci;
use tidings_applications::homology::proteins::Proteins;
use tidings_applications::queens::Queens;
use tidings_applications::scf::{Basis, Fock};
use tidings_applications::tce::Contraction;
use tidings_applications::uneven::Uneven;
use tidings_applications::uts::trees;

use crate::program::{Of, Program};

/// The most atoms, tiles, proteins: what a process holds in seconds.
const MOST_ATOMS: usize = 64;
const MOST_TILES: u16 = 200;
const MOST_PROTEINS: usize = 100_000;

/// The application of this name; `None` if there is none: `uts:TREE`, `fib:N`, `queens:N`,
/// `scf:XxYxZ` or `scf:N` atoms, `tce:TILES,TILES` of empty and of occupied orbitals, `homology:N`,
/// `uneven:N`.
pub(crate) fn named(name: &str) -> Option<Box<dyn Program>> {
    let (kind, size) = name.split_once(':')?;
    match kind {
        "uts" => Some(Box::new(Of::new(trees::named(size)?.tree))),
        "fib" => {
            let n = size.parse().ok().filter(|n| *n <= 64)?;
            Some(Box::new(Of::new(Fibonacci(n))))
        }
        "queens" => Some(Box::new(Of::new(Queens::new(size.parse().ok()?)?))),
        "scf" => Some(Box::new(Of::new(Fock::new(atoms(size)?)))),
        "tce" => {
            let (empty, occupied) = size.split_once(',')?;
            let [empty, occupied] = [empty, occupied].map(|tiles| tiles.parse::<u16>().ok());
            let tiles = |count: Option<u16>| count.filter(|count| (1..=MOST_TILES).contains(count));
            Some(Box::new(Of::new(Contraction::new(tiles(empty)?, tiles(occupied)?, 1))))
        }
        "homology" => {
            let count = size.parse().ok().filter(|count| *count <= MOST_PROTEINS)?;
            Some(Box::new(Of::new(Proteins::new(count, 1))))
        }
        "uneven" => Some(Box::new(Of::new(Uneven(size.parse().ok()?)))),
        _ => None,
    }
}

fn atoms(size: &str) -> Option<Basis> {
    let mut sides = [1; 3];
    let mut parts = size.split('x');
    for side in &mut sides {
        if let Some(part) = parts.next() {
            *side = part.parse().ok().filter(|side| (1..=MOST_ATOMS).contains(side))?;
        }
    }
    let count: usize = sides.iter().product();
    (parts.next().is_none() && count <= MOST_ATOMS && count % 4 == 0).then(|| Basis::grid(sides))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_none_are_refused() {
        for name in ["", "uts", "uts:T9", "fib:65", "queens:0", "scf:3", "scf:4x1x1x1", "tce:3"] {
            assert!(named(name).is_none(), "{name}");
        }
    }

    /// Tasks go as bytes through two processes that each run every other one.
    #[test]
    fn the_total_of_two_processes_is_that_of_one() {
        for name in ["fib:15", "queens:8", "scf:4", "tce:3,2", "homology:12", "uneven:99"] {
            let mut both = [named(name).unwrap(), named(name).unwrap()];
            let mut tasks: Vec<Vec<u8>> = Vec::new();
            for process in 0..2 {
                both[0].roots(process, 2, &mut |_, task| tasks.push(task.to_vec()));
            }
            let mut ran = 0;
            while let Some(task) = tasks.pop() {
                assert!(both[ran % 2].run(&task, &mut |_, task| tasks.push(task.to_vec())));
                ran += 1;
            }
            let [first, second] = &mut both;
            assert!(first.merge(&second.total()) && ran > 2);
            assert_eq!(first.verdict(true).1, Some(true), "{name}");
            first.clear();
            assert!(!first.merge(&[1; 9]) && !first.run(&[1; 3], &mut |_, _| ()));
            assert_eq!(first.verdict(true).1, Some(false), "{name}");
        }
    }
}
