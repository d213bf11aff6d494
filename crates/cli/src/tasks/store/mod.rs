//! `tidings store`: values that programs keep under names, and the records and parts of a store.
//!
//! Values are read, written and followed as by any other client, while others use the store.
//! Records are looked into, checked and moved while nobody does.

mod key;
mod make;
mod records;
mod servers;
mod values;
mod watch;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tidings_tasks_core::transaction::Key;

use self::key::key;
use super::client::{Store, block_on};
use crate::Failure;
use crate::output::{self, Agent};

const AFTER_HELP: &str = concat!(
    "\
`get` to `watch` are about values that programs keep under names, as tidings.tasks.Store of Python
does; the store may be in use. For `make` to `import` it must not be: end its workers and commands
first. `check --servers` looks at an etcd that is in use, too.

Examples:
  tidings store put limits/tolerance 1e-6     prints the revision of the value
  tidings store get limits/tolerance
  tidings store cas owner me --expect 0       if it has no value yet; 5 if another was faster
  tidings store watch limits/                 each change, until Ctrl-C
  tidings store make --parts 4                four coordinators share the queues of a new store
  tidings store check                         is each task in one place, is each blob there?
  tidings store check --servers --store etcd://a,b,c/physics
  tidings store records p0000/t/              the records of tasks that have not ended
  tidings store export tasks.archive
  tidings store import tasks.archive --store file:/new/place

Code of `tidings store` besides those below:
  5  `cas`, `rm --expect`: the key is at another revision",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings store`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    store: Store,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the value of a key
    Get {
        #[command(flatten)]
        key: Named,
        /// Print the bytes as they are, without a newline behind them
        #[arg(long, conflicts_with = "json")]
        raw: bool,
        /// Print one JSON object, with the revision
        #[arg(long)]
        json: bool,
    },
    /// Write the value of a key, and print its revision
    Put {
        #[command(flatten)]
        key: Named,
        #[command(flatten)]
        value: values::Given,
    },
    /// Write the value of a key if it is at a revision; exit code 5 if it is at another
    Cas {
        #[command(flatten)]
        key: Named,
        #[command(flatten)]
        value: values::Given,
        /// The revision that `get --json`, `put` or `cas` has told; 0: it has no value
        #[arg(long, value_name = "REVISION")]
        expect: u64,
    },
    /// Delete a key, whether it has a value or not
    Rm {
        #[command(flatten)]
        key: Named,
        /// Only if it is at this revision; exit code 5 if it is at another
        #[arg(long, value_name = "REVISION")]
        expect: Option<u64>,
    },
    /// List keys with their values, in order
    Ls {
        /// How they begin [default: all]
        #[arg(value_parser = key)]
        prefix: Option<Key>,
        /// Print one JSON object a key on a line
        #[arg(long)]
        json: bool,
    },
    /// Print changes of keys as they come
    Watch(watch::Options),
    /// Make a store, and state how many parts it has; without this it has one
    ///
    /// Each queue is of one part, by its name, and each part has a coordinator of its own: so
    /// several processes coordinate a store in an etcd, some parts each. The number stays as it is.
    /// Stating it again does nothing.
    Make {
        /// How many, from 1 to 64
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
        parts: u16,
    },
    /// List the keys of all records, in order
    Records {
        /// How they begin [default: all]
        #[arg(value_parser = key)]
        prefix: Option<Key>,
        /// Print one JSON object a key on a line
        #[arg(long)]
        json: bool,
    },
    /// Show the record of a key as JSON
    Record {
        #[command(flatten)]
        key: Named,
        /// Print the bytes as they are
        #[arg(long)]
        raw: bool,
    },
    /// Check the servers of an etcd, and that all records fit together; exit code 1 if something
    /// is wrong
    Check {
        /// Look at the servers of an etcd only; the store may be in use
        #[arg(long)]
        servers: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Write all records to a file
    Export {
        /// The file, which is not there yet
        file: PathBuf,
    },
    /// Read all records of such a file into a store that is not there yet
    Import {
        /// The file
        file: PathBuf,
    },
}

/// One key.
#[derive(Debug, Args)]
struct Named {
    /// The key
    #[arg(value_name = "KEY", value_parser = key)]
    key: Key,
}

/// Reads, writes or follows values; looks into a store, or moves it.
///
/// # Errors
/// [`TasksError`](super::TasksError): a key has no value, or another one than was expected; the
/// store is in use, is not there, or is not as it should be.
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    let place = &options.store.place(agent)?;
    match &options.action {
        Action::Get { key, raw, json } => Ok(block_on(values::get(place, &key.key, *raw, *json))?),
        Action::Put { key, value } => Ok(block_on(values::put(place, &key.key, value, None))?),
        Action::Cas { key, value, expect } => {
            Ok(block_on(values::put(place, &key.key, value, Some(*expect)))?)
        }
        Action::Rm { key, expect } => Ok(block_on(values::remove(place, &key.key, *expect))?),
        Action::Ls { prefix, json } => Ok(block_on(values::list(place, prefix.as_ref(), *json))?),
        Action::Watch(options) => Ok(block_on(watch::run(place, options))?),
        Action::Make { parts } => {
            block_on(make::make(place, *parts))?;
            let noun = if *parts == 1 { "part" } else { "parts" };
            output::print(&format!("{} has {parts} {noun}\n", place.address))
        }
        Action::Records { prefix, json } => {
            Ok(block_on(records::list(place, prefix.as_ref(), *json))?)
        }
        Action::Record { key, raw } => Ok(block_on(records::show(place, &key.key, *raw))?),
        Action::Check { servers, json } => records::checked(place, *json, *servers),
        Action::Export { file } => {
            let count = block_on(records::export(place, file))?;
            output::print(&format!("{count} records in {}\n", file.display()))
        }
        Action::Import { file } => {
            let count = block_on(records::import(place, file))?;
            output::print(&format!("{count} records in {}\n", place.address))
        }
    }
}
