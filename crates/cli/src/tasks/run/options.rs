//! What `tidings run` is given.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::time::Duration;

use clap::Args;
use tidings_tasks_core::resources::Need;
use tidings_tasks_core::retry::Retry;

use super::super::client::Store;
use super::super::failure::TasksError;
use super::super::own_worker;
use super::graph;
use super::sources::{self, Given, SourceError};
use super::template;
use crate::tasks::kinds::size_bytes;

const AFTER_HELP: &str = concat!(
    "\
Each row of arguments is a task: it is written down before it runs and ends once, whatever node,
worker or coordinator dies. {} stands for the row, {1} for its first argument, {.} for the row
without extension, {/} for the last component, {//} for the folder, {/.} for the last component
without extension, {#} for the number of the row. Without any of them the row comes last.

A run with a name (--resume) keeps its results. Started again with this name it shows what is done,
goes on with the rest and tries again what has failed. A run without one leaves nothing behind.

It exits with 5 if tasks have failed, with 130 after Ctrl-C.

A file graph.toml instead of a command has tasks that wait for others: [task.NAME] with `command`
or `shell`, `after`, and {in.NAME} for what another has printed.

Examples:
  tidings run -n 4 graph.toml
  tidings run -n 4 -- ./sim {} ::: *.in
  tidings run --resume monday --retries 2 --timeout 10m -- ./sim {1} --seed {2} ::: *.in ::: 1 2 3
  tidings run --array 1-1000 -- ./member --index {}
  find . -name '*.log' | tidings run --shell -- 'grep -c error {} > {.}.count'",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings run`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    /// How many tasks this process runs at a time; 0 leaves all to other workers [default: the
    /// cores it may use]
    #[arg(short = 'n', long = "slots", value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=4096))]
    slots: Option<u32>,
    /// The name of the run: its results are kept, and it goes on where it was
    #[arg(long, value_name = "NAME", value_parser = super::super::kinds::run_name)]
    pub(super) resume: Option<String>,
    /// Numbers as first argument, such as 1-1000, 0-15:4 or 1,3,5-7; also in $TIDINGS_ARRAY_INDEX
    #[arg(long, value_name = "NUMBERS")]
    pub(super) array: Option<String>,
    /// How often a task that fails is tried again
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) retries: u16,
    /// How long a task may take; it gets SIGTERM then, and SIGKILL after --grace
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(super) timeout: Option<Duration>,
    /// How long a task may take to end after SIGTERM
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = humantime::parse_duration)]
    pub(super) grace: Duration,
    /// How much memory a task may use, such as 2GiB
    #[arg(long, value_name = "SIZE", value_parser = size_bytes)]
    pub(super) memory: Option<u64>,
    /// What a task occupies of its worker: cpus=4,mem=8GiB,gpu=1
    #[arg(long, value_name = "NEED", default_value = "cpus=1")]
    pub(super) need: Need,
    /// On which nodes tasks may run: a condition as of `tidings nodes --where`
    #[arg(long = "where", value_name = "CONDITION", default_value = "", hide_default_value = true)]
    #[arg(value_parser = super::super::kinds::condition)]
    pub(super) filter: String,
    /// Have a shell run the command: the words are one line for /bin/sh, arguments are quoted
    #[arg(long)]
    pub(super) shell: bool,
    #[command(flatten)]
    pub(super) printing: Printing,
    /// Print the commands and run nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) store: Store,
    /// The command, and behind `:::` its arguments, behind `::::` files with an argument a line.
    /// Several sources are combined. A command with {} and no source has the lines of standard
    /// input
    #[arg(trailing_var_arg = true, required = true)]
    #[arg(value_name = "COMMAND ::: ARGUMENTS")]
    pub(super) words: Vec<String>,
}

/// How results are printed.
#[derive(Debug, Args)]
pub(super) struct Printing {
    /// Print results in the order of the rows, not as tasks end
    #[arg(short = 'k', long)]
    pub(super) keep_order: bool,
    /// Print one JSON object a task on a line, instead of what it prints
    #[arg(long)]
    pub(super) json: bool,
}

impl Options {
    /// Tasks that this process runs at a time.
    pub(super) fn slots(&self) -> u32 {
        self.slots.unwrap_or_else(own_worker::cores)
    }

    /// What this process has for its tasks at least: with a number of tasks at a time there is room
    /// for them.
    pub(super) fn resources(&self, need: &Need) -> BTreeMap<String, u64> {
        let slots = u64::from(self.slots.unwrap_or(0));
        let for_all = |(name, amount): (&str, u64)| (name.to_owned(), amount.saturating_mul(slots));
        need.iter().map(for_all).collect()
    }

    /// After which failures a task is tried again that is to be so often.
    pub(super) fn retry(retries: u16) -> Retry {
        let usual = Retry::default();
        Retry {
            errors: retries,
            exits: retries,
            times: retries,
            signals: retries.max(usual.signals),
            memory: retries.max(usual.memory),
            ..usual
        }
    }

    /// A word with spaces is most likely a line for a shell.
    pub(super) fn check(&self, given: &Given) -> Result<(), TasksError> {
        match given.command.as_slice() {
            [word] if !self.shell && word.contains(' ') && !Path::new(word).exists() => {
                Err(SourceError::ShellLine(word.clone()).into())
            }
            [word, _, ..] if graph::is_file(word) => {
                let text = format!("options stand before a graph: tidings run OPTIONS {word}");
                Err(TasksError::Usage(text))
            }
            _ => Ok(()),
        }
    }

    /// A graph has its tasks in its file.
    pub(super) fn check_graph(&self) -> Result<(), TasksError> {
        if self.array.is_some() || self.shell {
            let text = "--array and --shell are for a command; a graph has its commands in its \
                        file";
            return Err(TasksError::Usage(text.to_owned()));
        }
        Ok(())
    }

    /// Adds the numbers of an array before other arguments; where a command wants arguments and has
    /// none, the lines of standard input.
    pub(super) fn add_sources(&self, given: &mut Given) -> Result<(), TasksError> {
        if let Some(array) = &self.array {
            given.sources.insert(0, sources::numbers(array)?);
        } else if given.sources.is_empty() && template::wants_arguments(&given.command) {
            if io::stdin().is_terminal() {
                let text = "the command wants arguments: give them behind `:::`, in files behind \
                            `::::`, or as lines of standard input";
                return Err(TasksError::Usage(text.to_owned()));
            }
            given.sources.push(sources::lines("-")?);
        }
        Ok(())
    }
}
