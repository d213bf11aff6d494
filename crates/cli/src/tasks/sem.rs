//! `tidings sem`: counting semaphores for programs of a shell.
//!
//! Permits belong to the command that runs with them: it ends, or its host dies, and others get
//! them. Nobody overtakes those that wait.

use clap::{Args, Subcommand};
use serde::Serialize;
use tidings_tasks_core::message::Request;
use tidings_tasks_core::view::SemaphoreView;

use super::client::{Client, Place, Store, block_on, overview, with};
use super::ending::Ending;
use super::failure::TasksError;
use super::{beside, kinds};
use crate::Failure;
use crate::output::{self, Agent};
use crate::table::{self, Align};

const AFTER_HELP: &str = concat!(
    "\
Examples:
  tidings sem create licences 8                  eight permits in all
  tidings sem acquire licences -n 2 -- ./solver  runs while it holds two of them
  tidings sem ls",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings sem`.
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
    /// Make a semaphore, or change how many permits it has
    Create {
        /// Its name
        #[arg(value_parser = kinds::name)]
        name: String,
        /// Permits in all
        permits: u32,
    },
    /// Run a command while holding permits
    Acquire {
        /// The semaphore
        #[arg(value_parser = kinds::name)]
        name: String,
        /// How many permits
        #[arg(short = 'n', long, value_name = "N", default_value_t = 1)]
        #[arg(value_parser = clap::value_parser!(u32).range(1..))]
        permits: u32,
        /// The command
        #[arg(trailing_var_arg = true, required = true)]
        command: Vec<String>,
    },
    /// List the semaphores
    Ls {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// The semaphores, as JSON: docs/reference/tasks.md.
#[derive(Serialize)]
struct Semaphores<'s> {
    semaphores: Vec<Line<'s>>,
    total: u64,
}

#[derive(Serialize)]
struct Line<'s> {
    name: &'s str,
    permits: u32,
    held: u32,
    waiting: u32,
}

/// Makes, acquires or lists semaphores.
///
/// # Errors
/// [`TasksError`]; of `acquire` the exit status of the command.
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    let place = &options.store.place(agent)?;
    match &options.action {
        Action::Create { name, permits } => Ok(block_on(create(place, name, *permits))?),
        Action::Acquire { name, permits, command } => {
            Ok(block_on(acquire(place, name, *permits, command))?)
        }
        Action::Ls { json } => list(place, *json),
    }
}

async fn create(place: &Place, name: &str, permits: u32) -> Result<(), TasksError> {
    let set = Request::SetPermits { semaphore: name.to_owned(), permits };
    with(place, "sem", async |client: &Client| client.ask(set).await.map(drop)).await
}

async fn acquire(
    place: &Place,
    name: &str,
    permits: u32,
    command: &[String],
) -> Result<(), TasksError> {
    let mut ending = Ending::begin()?;
    let client = Client::open(place, "sem")?;
    let acquire = Request::Acquire { semaphore: name.to_owned(), permits };
    let ended = async {
        ending.or(client.ask(acquire)).await?;
        beside::run(command, None, &mut ending).await?.success(command)
    }
    .await;
    // Its permits are given back, or its place among those that wait, whatever became of it.
    client.leave().await;
    ended.map(drop)
}

fn list(place: &Place, json: bool) -> Result<(), Failure> {
    let overview = block_on(overview(place))?;
    if json {
        let semaphores = overview.semaphores.iter().map(Line::of).collect();
        return output::print_json(&Semaphores { semaphores, total: overview.semaphores_total });
    }
    let headings = [
        ("name", Align::Left),
        ("permits", Align::Right),
        ("held", Align::Right),
        ("waiting", Align::Right),
    ];
    let row = |one: &SemaphoreView| {
        let numbers = [one.permits, one.held, one.waiting];
        core::iter::once(one.name.clone()).chain(numbers.map(|n| n.to_string())).collect()
    };
    let rows: Vec<_> = overview.semaphores.iter().map(row).collect();
    output::print_table(&table::render(&headings, &rows))
}

impl<'s> Line<'s> {
    fn of(view: &'s SemaphoreView) -> Self {
        Self { name: &view.name, permits: view.permits, held: view.held, waiting: view.waiting }
    }
}
