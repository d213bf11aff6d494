//! Compiles the ranks' library with the compiler of the MPI that `MPICC` names (`mpicc` if it is
//! not set), and links what that compiler would.

use std::path::Path;
use std::process::Command;

const SOURCES: [&str; 12] = [
    "tidings_steal_mpi.c",
    "tidings_steal_balance.c",
    "errors.c",
    "enter.c",
    "tasks.c",
    "board.c",
    "mail.c",
    "coming.c",
    "bell.c",
    "shelf.c",
    "places.c",
    "deaths.c",
];

fn main() {
    let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".into());
    println!("cargo:rerun-if-env-changed=MPICC");
    println!("cargo:rerun-if-changed=../steal");
    println!("cargo:rerun-if-changed=src/shim.c");
    let mut build = cc::Build::new();
    build.compiler(&mpicc).std("gnu11").opt_level(2).warnings(false).file("src/shim.c");
    for folder in ["../steal", "../../crates/steal-ffi/include", "../../crates/ffi/include"] {
        build.include(folder);
    }
    for source in SOURCES {
        build.file(Path::new("../steal").join(source));
    }
    build.compile("tidings_steal_ranks");
    for word in linked(&mpicc).split_whitespace() {
        if let Some(folder) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={folder}");
        } else if let Some(name) = word.strip_prefix("-l") {
            println!("cargo:rustc-link-lib={name}");
        }
    }
}

/// The command that the compiler of an MPI runs to link: Open MPI and MPICH say it by other words.
fn linked(mpicc: &str) -> String {
    for word in ["--showme:link", "-show"] {
        let said = Command::new(mpicc).arg(word).output();
        let said = said.unwrap_or_else(|error| panic!("{mpicc}: {error}; set MPICC to an MPI's"));
        if said.status.success() {
            return String::from_utf8_lossy(&said.stdout).into_owned();
        }
    }
    panic!("{mpicc} does not say what it links: set MPICC to the compiler of Open MPI or MPICH");
}
