//! `tidings space`: tuples for programs of a shell.
//!
//! What a command has pulled is its own until it ends; if it fails or its host dies, the tuple is
//! there again. How fields and templates are written: `tuples`.

pub(super) mod tuples;

use std::time::Duration;

use clap::{Args, Subcommand};
use tidings_tasks::space::{Pulled, Space, SpaceError, Spaces};
use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::tuple::{Field, Pattern, Template, Tuple};
use tidings_tasks_core::view::{MAX_LISTED, SpaceView};

use super::client::{Client, Place, Store, block_on, with};
use super::ending::Ending;
use super::failure::TasksError;
use super::{beside, kinds};
use crate::Failure;
use crate::output::{self, Agent};
use crate::table::{self, Align};

const AFTER_HELP: &str = concat!(
    "\
A field is a number, true or false, and else a text; int:, float:, text:, bytes: (hexadecimal) and
bool: in front of it say its type, and handle: is the handle of a shared blob as a list shows it. In
a template ? is any value, and ?int, ?float, ?text, ?bytes, ?bool and ?handle are any value of a type.

Examples:
  tidings space put work block 3 4             a tuple of a text and two integers
  tidings space read work block 3 '?'          waits for one that matches, and leaves it there
  tidings space pull work block '?int' '?' --wait 10s -- ./solver
                                               has it until ./solver ends; it is there again if
                                               ./solver fails
  tidings space list work",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings space`.
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
    /// Put a tuple into a space
    Put {
        /// The space
        #[arg(value_parser = kinds::name)]
        space: String,
        /// The fields of the tuple
        #[arg(value_name = "FIELD", required = true, allow_negative_numbers = true)]
        #[arg(value_parser = tuples::field)]
        fields: Vec<Field>,
    },
    /// Print the oldest tuple that matches, and leave it in its space
    Read(Wanted),
    /// Take the oldest tuple that matches: print it, or run a command with it
    Pull {
        #[command(flatten)]
        wanted: Wanted,
        /// What is pulled belongs to the task that runs this command, and ends with it
        #[arg(long, conflicts_with = "command")]
        of_task: bool,
        /// A command, which has the tuple as JSON on its standard input
        #[arg(last = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// List the spaces, or the tuples of one
    List {
        /// The space
        #[arg(value_parser = kinds::name)]
        space: Option<String>,
        /// Print JSON: of spaces one object, of tuples one a line
        #[arg(long)]
        json: bool,
    },
}

/// Which tuple, and how long it is waited for.
#[derive(Debug, Args)]
struct Wanted {
    /// The space
    #[arg(value_parser = kinds::name)]
    space: String,
    /// What each field is to be
    #[arg(value_name = "PATTERN", required = true, allow_negative_numbers = true)]
    #[arg(value_parser = tuples::pattern)]
    template: Vec<Pattern>,
    /// Fail with exit code 4 if there is none, instead of waiting for one
    #[arg(long, conflicts_with = "wait")]
    now: bool,
    /// Fail with exit code 4 if none comes in this time
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    wait: Option<Duration>,
    /// Print the tuple as a JSON object
    #[arg(long)]
    json: bool,
}

impl Wanted {
    fn template(&self) -> Template {
        Template(self.template.clone())
    }

    fn limit(&self) -> Option<Duration> {
        if self.now { Some(Duration::ZERO) } else { self.wait }
    }

    fn text(&self, tuple: &Tuple) -> String {
        if self.json {
            format!("{}\n", tuples::json(&self.space, tuple))
        } else {
            format!("{}\n", tuples::text(tuple))
        }
    }

    fn none(&self) -> TasksError {
        let text = format!("the space `{}` has no tuple that matches", self.space);
        TasksError::NotFound(text)
    }
}

impl From<SpaceError> for TasksError {
    fn from(error: SpaceError) -> Self {
        match error {
            SpaceError::Refused(refusal) => refusal.into(),
            SpaceError::Ended(ended) => ended.into(),
            SpaceError::Answer(answer) => Self::Answer(answer),
        }
    }
}

/// Puts, reads, pulls or lists tuples.
///
/// # Errors
/// [`TasksError`]; of `pull` with a command the exit status of that.
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    let place = &options.store.place(agent)?;
    match &options.action {
        Action::Put { space, fields } => {
            let tuple = Tuple::new(fields.clone());
            Ok(block_on(in_space(place, space, async |space| Ok(space.put(tuple).await?)))?)
        }
        Action::Read(wanted) => Ok(block_on(read(place, wanted))?),
        Action::Pull { wanted, of_task, command } => {
            let owner = if *of_task { Some(own_task()?) } else { None };
            Ok(block_on(pull(place, wanted, owner, command))?)
        }
        Action::List { space: None, json } => list(place, *json),
        Action::List { space: Some(space), json } => Ok(block_on(list_of(place, space, *json))?),
    }
}

/// The task that runs this command.
fn own_task() -> Result<(TaskId, Attempt), TasksError> {
    let variable = |name: &str| std::env::var(name).ok();
    let task = variable("TIDINGS_TASK").and_then(|text| text.parse().ok());
    let attempt = variable("TIDINGS_ATTEMPT").and_then(|text| text.parse().ok());
    task.zip(attempt.map(Attempt)).ok_or_else(|| {
        let text = "--of-task is for the command of a task, where TIDINGS_TASK and TIDINGS_ATTEMPT \
                    say which it is";
        TasksError::Usage(text.to_owned())
    })
}

/// Does something in a space, and ends the session.
async fn in_space<T>(
    place: &Place,
    space: &str,
    work: impl AsyncFnOnce(&Space) -> Result<T, TasksError>,
) -> Result<T, TasksError> {
    let mut ending = Ending::begin()?;
    let client = Client::open(place, "space")?;
    let space = Spaces::new(client.session.clone()).space(space);
    let done = async {
        tokio::select! {
            done = work(&space) => done,
            never = client.tell_troubles() => match never {},
        }
    };
    let done = ending.or(done).await;
    // What it waited for is withdrawn, and what it had pulled is there again.
    client.leave().await;
    done
}

async fn read(place: &Place, wanted: &Wanted) -> Result<(), TasksError> {
    in_space(place, &wanted.space, async |space| {
        let found = space.read(wanted.template(), wanted.limit()).await?;
        let tuple = found.ok_or_else(|| wanted.none())?;
        kinds::write_output(wanted.text(&tuple).as_bytes())
    })
    .await
}

async fn pull(
    place: &Place,
    wanted: &Wanted,
    owner: Option<(TaskId, Attempt)>,
    command: &[String],
) -> Result<(), TasksError> {
    let mut ending = Ending::begin()?;
    let client = Client::open(place, "space")?;
    let mut spaces = Spaces::new(client.session.clone());
    if let Some((task, attempt)) = owner {
        spaces = spaces.of_task(task, attempt);
    }
    let space = spaces.space(&wanted.space);
    let done = async {
        let pulling = async {
            tokio::select! {
                pulled = space.pull(wanted.template(), wanted.limit()) => Ok(pulled?),
                never = client.tell_troubles() => match never {},
            }
        };
        let pulled = ending.or(pulling).await?.ok_or_else(|| wanted.none())?;
        handle(wanted, pulled, owner.is_some(), command, &mut ending).await
    }
    .await;
    // What was not consumed is there again.
    client.leave().await;
    done
}

/// Consumes a tuple, once it is printed, or a command has done something with it.
async fn handle(
    wanted: &Wanted,
    pulled: Pulled,
    is_of_task: bool,
    command: &[String],
    ending: &mut Ending,
) -> Result<(), TasksError> {
    if command.is_empty() {
        kinds::write_output(wanted.text(pulled.tuple()).as_bytes())?;
        if is_of_task {
            return Ok(());
        }
    } else {
        let input = format!("{}\n", tuples::json(&wanted.space, pulled.tuple()));
        let ended = beside::run(command, Some(input.as_bytes()), ending).await?;
        kinds::write_output(&ended.success(command)?)?;
    }
    ending.or(async { Ok(pulled.consume().await?) }).await
}

fn list(place: &Place, json: bool) -> Result<(), Failure> {
    let spaces = block_on(with(place, "space", all_spaces))?;
    if json {
        return output::print_json(&tuples::Listed::of(&spaces));
    }
    let headings = [
        ("name", Align::Left),
        ("tuples", Align::Right),
        ("claimed", Align::Right),
        ("bytes", Align::Right),
    ];
    let row = |one: &SpaceView| {
        let numbers = [one.tuples, one.claimed, one.bytes];
        core::iter::once(one.name.clone()).chain(numbers.map(|n| n.to_string())).collect()
    };
    let rows: Vec<_> = spaces.iter().map(row).collect();
    output::print_table(&table::render(&headings, &rows))
}

async fn all_spaces(client: &Client) -> Result<Vec<SpaceView>, TasksError> {
    let (mut all, mut from) = (Vec::new(), None);
    loop {
        match client.ask(Request::Spaces { from, limit: MAX_LISTED }).await? {
            Answer::Spaces(mut page, next) => {
                all.append(&mut page);
                if next.is_none() {
                    return Ok(all);
                }
                from = next;
            }
            other => return Err(TasksError::Answer(Box::new(other))),
        }
    }
}

async fn list_of(place: &Place, space: &str, json: bool) -> Result<(), TasksError> {
    with(place, "space", async |client: &Client| {
        let mut from = None;
        loop {
            let asked = Request::Tuples { space: space.to_owned(), from, limit: MAX_LISTED };
            let (page, next) = match client.ask(asked).await? {
                Answer::Tuples(page, next) => (page, next),
                other => return Err(TasksError::Answer(Box::new(other))),
            };
            for one in &page {
                kinds::write_output(tuples::line(space, one, json).as_bytes())?;
            }
            if next.is_none() {
                return Ok(());
            }
            from = next;
        }
    })
    .await
}
