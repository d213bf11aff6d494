//! The agent's program: see `tidings_agent::run`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tidings_agent::run(std::env::args_os())
}
