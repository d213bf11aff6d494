//! Two sorts, one of them quadratic, by the comparisons that they make.
//!
//! `cargo run -p tidings-scaling --example sorts >sorts.jsonl` writes what `tidings-scaling check
//! sorts.jsonl` reads.

use std::error::Error;
use std::io;

use tidings_scaling::Series;

/// Insertion sort; returns how many comparisons it made.
fn insert(numbers: &mut [u64]) -> u64 {
    let mut comparisons = 0;
    for end in 1..numbers.len() {
        let mut at = end;
        while at > 0 {
            comparisons += 1;
            if numbers[at - 1] <= numbers[at] {
                break;
            }
            numbers.swap(at - 1, at);
            at -= 1;
        }
    }
    comparisons
}

/// The library's sort; returns how many comparisons it made.
fn merge(numbers: &mut [u64]) -> u64 {
    let mut comparisons = 0;
    numbers.sort_by(|one, other| {
        comparisons += 1;
        one.cmp(other)
    });
    comparisons
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut output = io::stdout().lock();
    for (name, sort) in [("insert", insert as fn(&mut [u64]) -> u64), ("merge", merge)] {
        let mut series = Series::new(name, "comparisons");
        for size in (6..=11).map(|power| 1_u64 << power) {
            // A permutation in no order: multiples of a number that is coprime to 2⁶⁴.
            let mut numbers: Vec<u64> =
                (0..size).map(|number| number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
            series.write(&mut output, size as f64, sort(&mut numbers) as f64)?;
        }
    }
    Ok(())
}
