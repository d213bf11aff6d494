//! `tidings cores`: which cores are kept for applications; set, used, shown and undone.
//!
//! All of it is in `tidings-cores`; this is the command line. Nothing is changed but by `apply`,
//! `undo` and, for the program that it becomes, `run`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, process};

use clap::{Args, Subcommand, ValueEnum};
use tidings_cores::apply::apply;
use tidings_cores::enter::{Role, enter, must_be_empty};
use tidings_cores::here::{self, Here};
use tidings_cores::hierarchy::Way;
use tidings_cores::interrupts::{self, Interrupt};
use tidings_cores::knob::Held;
use tidings_cores::plan::{Asked, Counted, Plan, Roles};
use tidings_cores::status::Status;
use tidings_cores::topology::Topology;
use tidings_cores::undo::undo;
use tidings_cores::{CoreSet, CoresError, journal, tasks};

use crate::Failure;
use crate::output;
use crate::table::{self, Align};

const AFTER_HELP: &str = concat!(
    "\
Some cores are kept for applications: other programs, interrupts and kernel work go to the service
cores. Nothing is changed but by `apply` and `undo`, as root. Each change is in a journal on disk
before it is made, so `undo` restores every knob whatever happened, also after a restart.

Examples:
  tidings cores plan                                which cores, and what each knob is worth
  sudo tidings cores apply                          as `plan` says
  sudo tidings cores run --role application -- ./sim
  tidings cores status                              what holds, and what has drifted
  sudo tidings cores undo                           every knob as it was",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// For how long `plan` counts.
const COUNTED: Duration = Duration::from_secs(1);

/// Options of `tidings cores`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    #[command(subcommand)]
    action: Action,
    /// Where the journal of changes lies
    #[arg(long, global = true, value_name = "DIR", default_value = journal::FOLDER)]
    journal: PathBuf,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Say which cores could be kept for applications, and what each knob is worth; change nothing
    #[command(after_help = AFTER_HELP)]
    Plan {
        #[command(flatten)]
        asked: Cores,
        /// Also write the roles to a file, for `apply --roles`
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Print the plan as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Set roles
    #[command(after_help = AFTER_HELP)]
    Apply {
        #[command(flatten)]
        asked: Cores,
        /// The roles that `plan --output` has written
        #[arg(long, value_name = "FILE", conflicts_with_all = ["application", "service"])]
        roles: Option<PathBuf>,
    },
    /// Become a program that runs in a role
    #[command(after_help = AFTER_HELP)]
    Run {
        /// On which cores
        #[arg(long, value_name = "ROLE")]
        role: Named,
        /// Run before all ordinary programs, from 1 to 99, if none of them may run there
        #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(i32).range(1..=99))]
        fifo: Option<i32>,
        /// The program and its arguments
        #[arg(required = true, last = true, value_name = "PROGRAM")]
        program: Vec<OsString>,
    },
    /// Restore every knob that still has the value set here
    #[command(after_help = AFTER_HELP)]
    Undo {
        /// Restore also those that another program has changed since
        #[arg(long)]
        force: bool,
    },
    /// Show what holds and what has drifted
    #[command(after_help = AFTER_HELP)]
    Status {
        /// Print it as one JSON object; null if no roles are set
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
struct Cores {
    /// Cores for applications, such as 2-3,6 [default: all but a physical one for the system]
    #[arg(long, value_name = "CORES")]
    application: Option<CoreSet>,
    /// Cores for the system [default: all others]
    #[arg(long, value_name = "CORES")]
    service: Option<CoreSet>,
}

/// A role by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Named {
    Application,
    Service,
}

/// Does what was asked for.
///
/// # Errors
/// [`Failure::Cores`], [`Failure::Drifted`], [`Failure::Program`], or a failure of printing.
pub fn run(options: &Options) -> Result<(), Failure> {
    match &options.action {
        Action::Plan { asked, output, json } => plan(asked, output.as_ref(), *json),
        Action::Apply { asked, roles } => set(options, asked, roles.as_ref()),
        Action::Run { role, fifo, program } => Err(become_program(options, *role, *fifo, program)),
        Action::Undo { force } => restore(options, *force),
        Action::Status { json } => status(options, *json),
    }
}

impl Cores {
    fn choose(&self, topology: &Topology, there: &[Interrupt]) -> Result<Roles, CoresError> {
        let (application, service) = (self.application.clone(), self.service.clone());
        Roles::choose(topology, there, &Asked { application, service })
    }
}

fn plan(asked: &Cores, file: Option<&PathBuf>, json: bool) -> Result<(), Failure> {
    let topology = Topology::read(&Here)?;
    let there = interrupts::read(&Here);
    let roles = asked.choose(&topology, &there)?;
    let (before, begin) = (interrupts::counts(&Here), Instant::now());
    thread::sleep(COUNTED);
    let counted = Counted {
        interrupts: (before, interrupts::counts(&Here)),
        seconds: begin.elapsed().as_secs_f64(),
        tasks: roles
            .application
            .iter()
            .flat_map(|core| tasks::ordinary_on(&Here, core, 0))
            .collect(),
    };
    if let Some(path) = file {
        let written = fs::write(path, roles.file());
        written.map_err(|source| Failure::File { path: path.clone(), source })?;
    }
    let plan = Plan::of(roles, &topology, &there, Way::best(&Here), &counted);
    if json {
        return output::print_json(&plan);
    }
    let unknown = there.iter().filter(|one| one.movable.is_none()).count();
    output::print(&text(&plan, unknown))
}

fn text(plan: &Plan, unknown: usize) -> String {
    let left = |name| (name, Align::Left);
    let cores = plan.cores.iter();
    let cores = cores.map(|one| vec![one.core.to_string(), one.role.to_owned(), one.why.clone()]);
    let knobs = plan.knobs.iter().map(|one| vec![one.knob.clone(), one.worth.clone()]);
    let mut text = table::render(&["core", "role", "why"].map(left), &cores.collect::<Vec<_>>());
    text.push('\n');
    text += &table::render(&["knob", "worth"].map(left), &knobs.collect::<Vec<_>>());
    if unknown > 0 {
        let remark = "interrupts can be moved is found out by root only.";
        text.extend(["\nWhich of ", &unknown.to_string(), " ", remark, "\n"]);
    }
    if let Some(line) = &plan.boot_line {
        text.push_str("\nFor cores without a tick start a kernel with CONFIG_NO_HZ_FULL by:\n");
        text.push_str(line);
        text.push('\n');
    }
    text
}

fn set(options: &Options, asked: &Cores, file: Option<&PathBuf>) -> Result<(), Failure> {
    must_be_root()?;
    let topology = Topology::read(&Here)?;
    let roles = match file {
        Some(path) => Roles::read(path, &topology)?,
        None => asked.choose(&topology, &interrupts::read(&Here))?,
    };
    let header = apply(&Here, &roles, &options.journal)?;
    output::print(&format!(
        "cores {} are kept for applications, by {}; the system has {}\n",
        header.application,
        header.way.name(),
        header.service
    ))
}

fn restore(options: &Options, force: bool) -> Result<(), Failure> {
    must_be_root()?;
    let undone = undo(&Here, &options.journal, force)?;
    let mut said =
        vec![format!("{} restored, {} not there any more", undone.restored, undone.gone)];
    said.extend(undone.kept.iter().map(|kept| format!("left as it is: {kept}")));
    output::print(&(said.join("\n") + "\n"))?;
    match undone.kept.len() {
        0 => Ok(()),
        count => Err(Failure::Drifted { count }),
    }
}

fn status(options: &Options, json: bool) -> Result<(), Failure> {
    let status = Status::read(&Here, &options.journal)?;
    if json {
        output::print_json(&status)?;
    } else {
        output::print(&status.as_ref().map_or("no roles are set\n".to_owned(), lines))?;
    }
    match status {
        Some(status) if !status.complete => {
            Err(CoresError::Applied { path: options.journal.join("journal") }.into())
        }
        Some(status) if status.drifted() > 0 => Err(Failure::Drifted { count: status.drifted() }),
        _ => Ok(()),
    }
}

fn lines(status: &Status) -> String {
    let header = &status.header;
    let (application, service) = (&header.application, &header.service);
    let row = |knob: &tidings_cores::status::Knob| {
        let held = match &knob.held {
            Held::Holds => "holds".to_owned(),
            Held::Before => "has its former value".to_owned(),
            Held::Drifted(now) => format!("has {now} by another program"),
            Held::Gone => "is not there".to_owned(),
        };
        vec![knob.path.clone(), knob.set.clone(), held]
    };
    let rows: Vec<_> = status.knobs.iter().map(row).collect();
    let headings = ["knob", "set to", "now"].map(|name| (name, Align::Left));
    let table = table::render(&headings, &rows);
    format!("application {application}, service {service}, by {}\n\n{table}", header.way.name())
}

fn become_program(
    options: &Options,
    role: Named,
    fifo: Option<i32>,
    program: &[OsString],
) -> Failure {
    let role = match role {
        Named::Application => Role::Application,
        Named::Service => Role::Service,
    };
    let entered = enter(&Here, &options.journal, role).and_then(|cores| match fifo {
        None => Ok(()),
        Some(priority) => {
            must_be_empty(&Here, &cores, process::id())?;
            here::run_first(priority).map_err(|source| CoresError::Knob {
                path: "the scheduler".to_owned(),
                value: format!("SCHED_FIFO {priority}"),
                source,
                state: "; run it as root, or leave --fifo out".to_owned(),
            })
        }
    });
    if let Err(error) = entered {
        return error.into();
    }
    let (name, arguments) = program.split_first().expect("clap wants a program");
    let source = Command::new(name).args(arguments).exec();
    Failure::Program { program: name.to_string_lossy().into_owned(), source }
}

fn must_be_root() -> Result<(), CoresError> {
    if here::is_root() { Ok(()) } else { Err(CoresError::NotRoot) }
}
