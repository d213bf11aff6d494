//! `tidings completions SHELL`: the command line described for a shell.

use clap::{Args, ValueEnum};
use clap_complete::aot::{Bash, Fish, Generator, Zsh, generate};

use crate::Failure;
use crate::output;

const AFTER_HELP: &str = concat!(
    "\
Examples:
  tidings completions bash > ~/.local/share/bash-completion/completions/tidings
  tidings completions zsh  > \"${fpath[1]}/_tidings\"
  tidings completions fish > ~/.config/fish/completions/tidings.fish",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings completions`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    /// The shell
    shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Prints the completions of `line`, the whole command line.
///
/// # Errors
/// [`Failure::Output`].
pub fn run(options: &Options, line: clap::Command) -> Result<(), Failure> {
    let script = match options.shell {
        Shell::Bash => script(Bash, line),
        Shell::Zsh => script(Zsh, line),
        Shell::Fish => script(Fish, line),
    };
    output::print(&String::from_utf8_lossy(&script))
}

fn script(shell: impl Generator, mut line: clap::Command) -> Vec<u8> {
    let mut script = Vec::new();
    generate(shell, &mut line, "tidings", &mut script);
    script
}
