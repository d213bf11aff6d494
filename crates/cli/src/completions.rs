//! `tidings completions SHELL`: the command line described for a shell.
//!
//! clap describes what does not change. A function before it asks `tidings __complete` for names of
//! nodes, columns and metrics, and leaves all other words to clap's.

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
        Shell::Bash => before(BASH, &script(Bash, line)),
        Shell::Zsh => before(ZSH, &script(Zsh, line)),
        Shell::Fish => with_values(&script(Fish, line)) + FISH,
    };
    output::print(&script)
}

fn script(shell: impl Generator, mut line: clap::Command) -> String {
    let mut script = Vec::new();
    generate(shell, &mut line, "tidings", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// The function of clap's script, as it begins there and as it is called here.
const FUNCTION: &str = "\n_tidings() {\n";
const RENAMED: &str = "\n_tidings_static() {\n";

/// Puts `function` in the place of that of clap's script, which it calls by another name.
fn before(function: &str, script: &str) -> String {
    let script = format!("\n{script}");
    let (head, body) = script.split_once(FUNCTION).expect("the test of this module finds it");
    format!("{head}\n{function}{RENAMED}{body}").trim_start().to_owned()
}

/// Has fish ask for the value of each option that takes one of no fixed list: what is offered for a
/// word is not offered for a value.
fn with_values(script: &str) -> String {
    let line = |line: &str| match line.strip_suffix(" -r") {
        Some(option) => format!("{option} -r -a '(__tidings_live)'\n"),
        None => format!("{line}\n"),
    };
    script.lines().map(line).collect()
}

const BASH: &str = r#"_tidings() {
    local found
    found=$("$1" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ -z "${found}" ]]; then
        _tidings_static "$@"
        return
    fi
    COMPREPLY=( $(compgen -W "${found}" -- "${COMP_WORDS[COMP_CWORD]#=}") )
}
"#;

const ZSH: &str = r#"_tidings() {
    local -a found
    found=(${(f)"$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( ${#found} == 0 )); then
        _tidings_static "$@"
        return
    fi
    compadd -a found
}
"#;

const FISH: &str = r"
function __tidings_live
    set -l words (commandline -opc)
    set -e words[1]
    tidings __complete $words (commandline -ct) 2>/dev/null
end
complete -c tidings -a '(__tidings_live)'
";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arguments::CommandLine;

    #[test]
    fn the_function_of_each_script_asks_first() {
        for (function, script) in [
            (BASH, script(Bash, CommandLine::command())),
            (ZSH, script(Zsh, CommandLine::command())),
        ] {
            let whole = before(function, &script);
            assert_eq!(whole.matches(FUNCTION.trim()).count(), 1);
            assert_eq!(whole.matches("_tidings_static").count(), 2);
            assert_eq!(whole.lines().next(), script.lines().next(), "#compdef stays first");
        }
    }

    #[test]
    fn fish_asks_for_values_too() {
        let script = with_values(&script(Fish, CommandLine::command()));
        let avoid = script.lines().find(|line| line.contains("-l avoid")).expect("an option");
        assert!(avoid.ends_with(" -r -a '(__tidings_live)'"), "{avoid}");
    }
}
