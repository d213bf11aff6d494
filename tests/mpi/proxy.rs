//! The proxy of COSMO-SPECS+FD4: the same result on any number of ranks under each MPI, an even
//! share of the work where it is balanced, a most uneven one where it is not, and cuts of the curve
//! that no other solver makes better.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::toolchain::{self, Mpi, done, object, place};

fn proxy(mpi: Mpi, ranks: usize, words: &str, cuts: Option<&Path>) -> Value {
    let directory = place();
    let mut command = mpi.launcher(ranks, directory.path());
    if let Some(file) = cuts {
        command.env("TIDINGS_PROXY_CUTS", file);
    }
    let text = done(command.arg(mpi.application("proxy")).args(words.split(' ')));
    object(&text).unwrap_or_else(|| panic!("no object: {text}"))
}

#[test]
fn the_result_is_the_same_on_any_number_of_ranks() {
    let words = "--blocks 16 --clouds 2 --steps 12";
    let alone = proxy(Mpi::Mpich, 1, words, None);
    for (mpi, ranks) in
        [(Mpi::Open, 2), (Mpi::Mpich, 4), (Mpi::Open, 7), (Mpi::Simulated, 7), (Mpi::Simulated, 64)]
    {
        let result = proxy(mpi, ranks, words, None);
        assert_eq!(result["checksum"], alone["checksum"], "{mpi:?}, {ranks} ranks");
        assert_eq!(result["ranks"], ranks as u64);
    }
    let still = proxy(Mpi::Simulated, 5, &format!("{words} --no-balance"), None);
    assert_eq!(still["checksum"], alone["checksum"], "balance changes no result");
    let longer = proxy(Mpi::Simulated, 5, "--blocks 16 --clouds 2 --steps 13", None);
    assert_ne!(longer["checksum"], alone["checksum"], "the sum says nothing");
}

#[test]
fn work_is_even_with_balance_and_uneven_without() {
    let words = "--blocks 64 --steps 10";
    let share = |words: &str| {
        let result = proxy(Mpi::Simulated, 64, words, None);
        (result["imbalance"].as_f64().unwrap(), result["migrated_blocks"].as_f64().unwrap())
    };
    let (balanced, moved) = share(words);
    assert!((1.0..1.05).contains(&balanced), "{balanced}");
    assert!(moved > 0.0, "the clouds grow, so blocks move");
    let (uneven, still) = share(&format!("{words} --no-balance"));
    assert!(uneven > 3.0, "{uneven}");
    assert!(still == 0.0, "{still}");
}

#[test]
fn the_five_phases_and_the_work_make_up_the_time() {
    let result = proxy(Mpi::Simulated, 16, "--blocks 32 --steps 5 --model", None);
    let phases = result["phases"].as_object().expect("an object");
    let five = ["dynamics_halo", "coupling", "micro_halo", "partition", "migration"];
    for name in five.iter().chain(&["dynamics", "micro"]) {
        assert!(phases[*name].as_f64() > Some(0.0), "{name}: {result}");
    }
    let sum: f64 = phases.values().map(|seconds| seconds.as_f64().unwrap()).sum();
    let seconds = result["seconds"].as_f64().unwrap();
    assert!((sum / seconds - 1.0).abs() < 0.01, "{result}");
    let in_five: f64 = five.iter().map(|name| phases[*name].as_f64().unwrap()).sum();
    assert!((in_five / result["mpi_seconds"].as_f64().unwrap() - 1.0).abs() < 1e-6, "{result}");
}

/// The least weight that the heaviest of `parts` ranges can have, by trying all cuts.
fn least_bottleneck(weights: &[u64], parts: usize) -> u64 {
    let sums: Vec<u64> = std::iter::once(0)
        .chain(weights.iter().scan(0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        }))
        .collect();
    let mut best: Vec<u64> = sums.clone();
    for _ in 1..parts {
        best = (0..sums.len())
            .map(|end| (0..=end).map(|cut| best[cut].max(sums[end] - sums[cut])).min())
            .map(|least| least.expect("a part may be empty"))
            .collect();
    }
    *best.last().expect("there are blocks")
}

#[test]
fn the_cuts_are_within_a_hundredth_of_the_best() {
    let directory = place();
    for ranks in [2, 7, 16] {
        let file = directory.path().join(format!("cuts-{ranks}"));
        proxy(Mpi::Simulated, ranks, "--blocks 16 --steps 8", Some(&file));
        let text = fs::read_to_string(file).expect("rank 0 wrote its cuts");
        assert_eq!(text.lines().count(), 8, "a cut for each step");
        for line in text.lines() {
            let cut: Value = serde_json::from_str(line).expect("JSON");
            let numbers = |name: &str| -> Vec<u64> {
                let list = cut[name].as_array().expect("a list");
                list.iter().map(|number| number.as_u64().unwrap()).collect()
            };
            let (weights, starts) = (numbers("weights"), numbers("starts"));
            assert_eq!((weights.len(), starts.len()), (256, ranks + 1));
            assert_eq!((starts[0], starts[ranks]), (0, 256), "every block has a rank");
            let heaviest = starts
                .windows(2)
                .map(|ends| weights[ends[0] as usize..ends[1] as usize].iter().sum::<u64>());
            let (heaviest, least) = (heaviest.max().unwrap(), least_bottleneck(&weights, ranks));
            assert!(heaviest * 100 <= least * 101, "{heaviest} beside {least}");
        }
    }
}

#[test]
fn impossible_options_are_rejected() {
    let program = Mpi::Mpich.application("proxy");
    let refused = |ranks, words: &str, complaint: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let code = toolchain::refused(Mpi::Mpich, &program, ranks, &words, complaint);
        assert_eq!(code, Some(2), "{words:?}");
    };
    refused(1, "--blocks 12", "proxy: --blocks and --clouds are powers of two");
    refused(1, "--blocks 16 --clouds 4", "proxy: --clouds 4 need --blocks 32 or more");
    refused(1, "--steps 0", "proxy: --steps cannot be '0'; see --help");
    refused(1, "--model", "proxy: --model is for simulated machines");
    refused(11, "--blocks 8", "proxy: 11 ranks are 11 by 1, more than the 8 --blocks along");
}
