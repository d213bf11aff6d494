//! The binary `tidings`: see the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    tidings_cli::run(std::env::args_os())
}
