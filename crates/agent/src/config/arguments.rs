//! The command line: one flag per row of the settings table, and some of its own.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command};
use clap_complete::aot::{Shell, generate};
use clap_mangen::Man;

use super::layers::{Layer, Written};
use super::origin::Origin;
use super::setting::{Form, SETTINGS, Setting};

const EXAMPLES: &str = "\
Every flag is also a key of the configuration file (forget_after = \"1h\") and an environment
variable (TIDINGS_FORGET_AFTER=1h). Where several name a value, the flag wins over the variable,
the variable over the file, the file over the default. SIGTERM leaves the cluster and ends; SIGHUP
reads the configuration again and applies a changed seed, roster, keys or log.

Examples:
  tidings-agent                                        alone on this machine, to look around
  tidings-agent --keys /etc/tidings/key --seed n1:9616          join a cluster by a node's address
  tidings-agent --keys /etc/tidings/key --roster 'n[0001-0064]' a cluster known in advance
  tidings-agent --config /etc/tidings/agent.toml --check        is everything right?

Exit codes: 0 left cleanly, 1 failed while running, 2 usage or configuration.";

/// The parsed command line.
#[derive(Debug)]
pub(crate) struct Invocation {
    /// The configuration file, if the command line names one.
    pub(crate) file: Option<PathBuf>,
    /// Whether only to check.
    pub(crate) check: bool,
    /// What to print of the command line itself, instead of running.
    pub(crate) describe: Option<Description>,
    /// The settings among the flags.
    pub(crate) flags: Layer,
}

/// A description of the command line, made from its grammar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Description {
    /// The man page.
    Manual,
    /// Completions for a shell.
    Completions(Shell),
}

impl Description {
    /// The text of it.
    pub(crate) fn text(self) -> Vec<u8> {
        let mut text = Vec::new();
        match self {
            Self::Manual => {
                let written = Man::new(command()).render(&mut text);
                debug_assert!(written.is_ok(), "writing to memory does not fail");
            }
            Self::Completions(shell) => generate(shell, &mut command(), "tidings-agent", &mut text),
        }
        text
    }
}

/// Parses the command line, program name included.
///
/// # Errors
/// Clap's own error, which is also how `--help` and `--version` come back.
pub(crate) fn parse(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Invocation, clap::Error> {
    let matches = command().try_get_matches_from(arguments)?;
    Ok(Invocation {
        file: matches.get_one::<PathBuf>("config").cloned(),
        check: matches.get_flag("check"),
        describe: describe(&matches),
        flags: SETTINGS.iter().filter_map(|setting| flag(&matches, setting)).collect(),
    })
}

fn describe(matches: &ArgMatches) -> Option<Description> {
    let shell = matches.get_one::<Shell>("completions").copied().map(Description::Completions);
    matches.get_flag("manual").then_some(Description::Manual).or(shell)
}

fn flag(matches: &ArgMatches, setting: &'static Setting) -> Option<(&'static str, Written)> {
    let texts = matches.get_many::<String>(setting.key)?.cloned().collect();
    Some((setting.key, Written { texts, origin: Origin::Flag }))
}

/// The command line's grammar.
pub(crate) fn command() -> Command {
    let config = Arg::new("config")
        .long("config")
        .value_name("FILE")
        .value_parser(clap::value_parser!(PathBuf))
        .help("A TOML file of settings; also TIDINGS_CONFIG");
    let check = Arg::new("check")
        .long("check")
        .action(ArgAction::SetTrue)
        .help("Check everything, print the effective configuration with its origins, and end");
    let manual = Arg::new("manual")
        .long("manual")
        .action(ArgAction::SetTrue)
        .help("Print the man page, as man reads it, and end");
    let completions = Arg::new("completions")
        .long("completions")
        .value_name("SHELL")
        .value_parser(clap::value_parser!(Shell))
        .help("Print completions for a shell, and end");
    Command::new("tidings-agent")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Keeps, on this node, a seconds-old picture of every node of the cluster")
        .after_help(EXAMPLES)
        .arg(config)
        .args(SETTINGS.iter().map(argument))
        .args([check, manual, completions])
}

fn argument(setting: &'static Setting) -> Arg {
    let help = match setting.default {
        Some(default) => format!("{} [default: {default}]", setting.about),
        None => setting.about.to_owned(),
    };
    let action = if setting.form == Form::List { ArgAction::Append } else { ArgAction::Set };
    Arg::new(setting.key)
        .long(setting.flag())
        .value_name(setting.placeholder)
        .allow_hyphen_values(setting.form == Form::Count)
        .action(action)
        .help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invocation(arguments: &[&str]) -> Invocation {
        let all = std::iter::once("tidings-agent").chain(arguments.iter().copied());
        parse(all.map(OsString::from)).expect("valid")
    }

    #[test]
    fn the_grammar_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn flags_become_a_layer() {
        let invocation = invocation(&[
            "--config",
            "a.toml",
            "--seed",
            "a:1",
            "--seed",
            "b:2",
            "--payload-bytes",
            "128",
            "--check",
        ]);
        assert_eq!(invocation.file, Some(PathBuf::from("a.toml")));
        assert!(invocation.check);
        assert_eq!(invocation.flags["seed"].texts, ["a:1", "b:2"]);
        assert_eq!(invocation.flags["payload_bytes"].texts, ["128"]);
        assert_eq!(invocation.flags.len(), 2);
    }
}
