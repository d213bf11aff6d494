//! Simulated machines: SimGrid accepts the files of `mpi/platforms/make.py`, with the requested
//! latency and bandwidth; impossible networks are rejected with a message.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::toolchain::{Mpi, done, place, root, run, said};

/// Runs the generator.
fn make(arguments: &[&str]) -> Output {
    let mut command = Command::new("python3");
    command.arg("-B").arg(root().join("mpi/platforms/make.py")).args(arguments);
    run(&mut command)
}

/// A platform file and its hosts, in a directory.
pub(crate) fn platform(directory: &Path, arguments: &[&str]) -> (PathBuf, PathBuf) {
    let (file, hosts) = (directory.join("platform.xml"), directory.join("hosts"));
    let paths = [file.to_str(), hosts.to_str()].map(|path| path.expect("UTF-8"));
    let output = make(&[arguments, &["--output", paths[0], "--hosts", paths[1]]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    (file, hosts)
}

/// SimGrid's figures of all routes: hosts, the farthest latency in µs, the least bandwidth in GB/s.
fn routes(directory: &Path, file: &Path) -> [f64; 3] {
    let program = directory.join("route");
    let mut compiler = Command::new("cc");
    compiler.arg(root().join("tests/mpi/route.c")).arg("-o").arg(&program).arg("-lsimgrid");
    done(&mut compiler);
    let text = done(Command::new(program).arg("--log=root.thres:error").arg(file));
    let numbers: Vec<f64> =
        text.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    numbers.try_into().unwrap_or_else(|_| panic!("three numbers: {text}"))
}

#[test]
fn the_farthest_nodes_of_every_topology_are_as_far_apart_as_requested() {
    let directory = place();
    let asked: [(&[&str], [f64; 3]); 8] = [
        (&["torus", "--nodes", "16"], [16.0, 2.6, 2.0]),
        (&["torus", "--nodes", "256"], [256.0, 2.6, 2.0]),
        (&["torus", "--shape", "3,2,1", "--worst-latency-us", "9"], [6.0, 9.0, 2.0]),
        (&["fat-tree", "--nodes", "64", "--link-gb-s", "1.5"], [64.0, 2.0, 1.5]),
        (&["fat-tree", "--shape", "4,4,4"], [64.0, 2.0, 4.0]),
        (&["dragonfly", "--nodes", "16"], [16.0, 2.5, 5.0]),
        (&["dragonfly", "--nodes", "128"], [128.0, 2.5, 5.0]),
        (&["dragonfly", "--shape", "1,2,3,4"], [24.0, 2.5, 5.0]),
    ];
    for (arguments, expected) in asked {
        let (file, _) = platform(directory.path(), arguments);
        let seen = routes(directory.path(), &file);
        for (seen, expected) in seen.iter().zip(expected) {
            assert!((seen - expected).abs() < 0.001 * expected, "{arguments:?}: {seen}");
        }
    }
}

/// A ping-pong over one link takes the hop's latency, and the bytes over the link's bandwidth.
#[test]
fn mpi_over_one_link_has_its_latency_and_bandwidth() {
    let directory = place();
    // The last rank, at the far end of a ring of four, is one hop from the first.
    let (file, hosts) = platform(directory.path(), &["torus", "--shape", "4"]);
    let program = Mpi::Simulated.compile("pingpong.c", directory.path());
    let microseconds = |bytes: &str| -> f64 {
        let mut command = Command::new("smpirun");
        command.args(["-n", "4", "--log=root.thres:error"]).arg("-platform").arg(&file);
        command.args(["--cfg=smpi/simulate-computation:no", "-hostfile"]).arg(&hosts);
        let text = done(command.arg(&program).arg(bytes).current_dir(directory.path()));
        text.trim().parse().unwrap_or_else(|_| panic!("a number: {text}"))
    };
    let (empty, full) = (microseconds("0"), microseconds("20000000"));
    assert!((1.3..1.4).contains(&empty), "2.6 µs are two hops: {empty}");
    assert!((9_990.0..10_010.0).contains(&full), "20 MB at 2 GB/s: {full}");
}

#[test]
fn ranks_of_a_node_follow_each_other_in_the_hosts() {
    let directory = place();
    let arguments = ["torus", "--nodes", "16", "--ranks-per-node", "2"];
    let (_, hosts) = platform(directory.path(), &arguments);
    let text = fs::read_to_string(hosts).unwrap();
    assert!(text.starts_with("n0\nn0\nn1\nn1\n") && text.ends_with("n15\nn15\n"), "{text}");
}

#[test]
fn the_platform_in_the_repository_is_the_generators() {
    let output = make(&["torus", "--shape", "4,4,4"]);
    let there = fs::read(root().join("mpi/platforms/torus-4x4x4.xml")).unwrap();
    assert_eq!(output.stdout, there, "write it again: {}", said(&output));
}

#[test]
fn impossible_networks_are_rejected() {
    let refused = |arguments: &[&str], complaint: &str| {
        let output = make(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(complaint), "{arguments:?}: {}", said(&output));
    };
    refused(
        &["hypercube", "--nodes", "16"],
        "invalid choice: 'hypercube' (choose from 'bluegene-p'",
    );
    refused(&["torus", "--nodes", "34"], "34 nodes make no torus without a ring of 17");
    refused(&["torus", "--nodes", "1"], "1 nodes: a platform has 2 to 65,536");
    refused(&["torus", "--shape", "4,0"], "a torus needs lengths of 1 and more");
    refused(&["torus", "--shape", "999,999"], "998001 nodes: a platform has 2 to 65,536");
    refused(&["torus", "--shape", "four"], "invalid numbers value: 'four'");
    refused(&["torus"], "one of the arguments --nodes --shape is required");
    refused(&["fat-tree", "--nodes", "131"], "131 nodes make no fat tree of two levels");
    refused(&["fat-tree", "--shape", "128,2"], "a switch has at most 64 ports down");
    refused(&["dragonfly", "--nodes", "18"], "18 nodes make no dragonfly with 4 nodes a router");
    refused(&["dragonfly", "--shape", "2,2"], "a dragonfly needs four numbers");
    refused(&["dragonfly", "--shape", "8,1,2,4"], "8 groups need as many routers a chassis");
}
