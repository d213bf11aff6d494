//! Tells the crate which compiler builds it, for the manifests of tables.
//!
//! Cargo runs this again when the compiler is another one.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let compiler = env::var_os("RUSTC").expect("cargo names the compiler");
    let output = Command::new(compiler).arg("--version").output().expect("cargo has started it");
    let version = String::from_utf8_lossy(&output.stdout);
    println!("cargo::rustc-env=TIDINGS_RUSTC={}", version.trim());
}
