//! The commands of docs/reference/mpi.md that simulate: run twice they print the same, to the bit.
//!
//! SimGrid adds the time that a program computes here to its own unless it is told not to. The
//! command for gossip did not tell it so, and gave other ages in every run.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::platforms::platform;
use crate::toolchain::{Mpi, done, place, root};

/// The commands of the page that start smpirun, each on one line.
fn commands() -> Vec<String> {
    let page = fs::read_to_string(root().join("docs/reference/mpi.md")).expect("it is there");
    let page = page.replace("\\\n", " ");
    page.lines().filter(|line| line.starts_with("smpirun ")).map(str::to_owned).collect()
}

/// What a command prints with these files and the program that was built.
fn printed(command: &str, directory: &Path, platform: &Path, hosts: &Path) -> String {
    let words = command.split_whitespace().map(|word| match word {
        "torus.xml" => platform.display().to_string(),
        "hosts" => hosts.display().to_string(),
        "target/mpi/tidings-mpi-gossip.smpi" => Mpi::Simulated.gossip().display().to_string(),
        other => other.to_owned(),
    });
    let words: Vec<String> = words.collect();
    done(Command::new(&words[0]).args(&words[1..]).current_dir(directory))
}

#[test]
fn a_simulation_as_documented_is_the_same_twice() {
    let all = commands();
    assert!(all.len() >= 2, "{all:?}");
    for command in &all {
        assert!(command.contains("--cfg=smpi/simulate-computation:no"), "{command}");
    }
    let gossip = all.iter().find(|command| command.contains("mpi-gossip.smpi")).expect("it is");
    let directory = place();
    let (file, hosts) = platform(directory.path(), &["torus", "--nodes", "64"]);
    let once = printed(gossip, directory.path(), &file, &hosts);
    assert!(once.contains("\"ranks\":64"), "{once}");
    assert_eq!(once, printed(gossip, directory.path(), &file, &hosts));
}
