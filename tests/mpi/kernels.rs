//! The compute kernels: a transform that is compared with its definition and its inverse, and a
//! transposition that is compared element by element, on several grids, under each MPI.

use serde_json::Value;

use crate::toolchain::{self, Mpi, done, object, place};

fn kernel(mpi: Mpi, ranks: usize, words: &str) -> Value {
    let directory = place();
    let mut command = mpi.launcher(ranks, directory.path());
    let text = done(command.arg(mpi.application("kernels")).args(words.split(' ')));
    object(&text).unwrap_or_else(|| panic!("no object: {text}"))
}

fn is_right(mpi: Mpi, ranks: usize, words: &str) {
    let result = kernel(mpi, ranks, words);
    assert_eq!(result["right"], true, "{words}: {result}");
    assert_eq!(result["ranks"], ranks as u64);
    assert!(result["mpi_seconds"].as_f64() <= result["seconds"].as_f64(), "{result}");
}

#[test]
fn the_transform_is_right_by_the_library_and_along_rings() {
    is_right(Mpi::Open, 4, "fft --log2 12");
    is_right(Mpi::Mpich, 1, "fft --log2 7");
    is_right(Mpi::Mpich, 4, "fft --log2 11 --shape 2,2 --parts 1");
    is_right(Mpi::Simulated, 16, "fft --log2 13 --shape 4,2,2");
    is_right(Mpi::Simulated, 32, "fft --log2 11 --shape 2,4,1,4 --repeats 2");
}

#[test]
fn the_transposition_is_right_on_grids_of_every_kind() {
    is_right(Mpi::Open, 3, "ptrans --size 90 --block 5");
    is_right(Mpi::Mpich, 4, "ptrans --size 70 --block 7 --grid 1,4");
    for grid in ["2,3", "3,2", "1,6", "6,1"] {
        is_right(Mpi::Simulated, 6, &format!("ptrans --size 130 --block 10 --grid {grid}"));
    }
    is_right(Mpi::Simulated, 24, "ptrans --size 100 --block 4 --grid 4,6");
}

/// A model has the sizes of the real thing: on a ring of four, where two links leave each node, the
/// exchange takes at least the time of its bytes over the links.
#[test]
fn a_model_takes_the_time_of_its_bytes_and_flops() {
    let result = kernel(Mpi::Simulated, 64, "fft --model --log2 30 --shape 4,4,4 --parts 3");
    let own_bytes = f64::from(1u32 << 30) * 16.0 / 64.0;
    // Of a ring of four a link carries 3/4 of a node's bytes in the busier direction: 2 GB/s.
    let exchange_s = 0.75 * own_bytes / 2e9;
    let mpi_s = result["mpi_seconds"].as_f64().expect("a number");
    assert!((mpi_s / (3.0 * exchange_s) - 1.0).abs() < 0.01, "{result}, {exchange_s}");
    let flops_s = 5.0 * f64::from(1u32 << 30) * 30.0 / 64.0 / 10e9;
    let seconds = result["seconds"].as_f64().expect("a number");
    assert!(((seconds - mpi_s) / flops_s - 1.0).abs() < 0.01, "{result}");
}

#[test]
fn impossible_options_are_rejected() {
    let program = Mpi::Mpich.application("kernels");
    let refused = |ranks, words: &str, complaint: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let code = toolchain::refused(Mpi::Mpich, &program, ranks, &words, complaint);
        assert_eq!(code, Some(2), "{words:?}");
    };
    refused(1, "fft --log2 100", "fft: --log2 cannot be '100'; see --help");
    refused(1, "fft --log2", "fft: --log2 lacks a value; see --help");
    refused(1, "fft --fast", "fft: '--fast' is no option; see --help");
    refused(3, "fft", "fft: 3 ranks: the FFT needs a power of two");
    refused(4, "fft --log2 2", "fft: --log2 2 is too small for 4 ranks");
    refused(2, "fft --shape 3,3", "fft: --shape has 9 ranks, but there are 2");
    refused(2, "fft --shape 2,0", "fft: --shape cannot be '2,0'");
    refused(1, "fft --model", "fft: --model is for simulated machines");
    refused(1, "ptrans --size 100 --block 7", "ptrans: --size 100 is not a multiple of --block 7");
    refused(2, "ptrans --grid 2,2", "ptrans: --grid 2,2 does not have 2 ranks");
    refused(1, "linpack", "usage: tidings-mpi-kernels fft|ptrans");
}
