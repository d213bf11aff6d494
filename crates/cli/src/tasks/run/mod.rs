//! `tidings run`: one command for each row of arguments, as tasks that outlive nodes and workers.
//!
//! A row is a task, whose id follows from the name of the run and the command (`row`). So a run
//! that is started again under its name adds nothing that is there, and shows what is done. The
//! process itself is a worker of its run (`conduct`); others may join it.

mod conduct;
mod graph;
mod layers;
mod live;
mod misplaced;
mod options;
mod print;
mod row;
mod screen;
mod sources;
mod stalled;
mod template;
mod values;

pub use misplaced::GraphError;
pub use options::Options;
pub use sources::SourceError;
pub use template::TemplateError;

use std::path::Path;

use crate::Failure;
use crate::output::{self, Agent};

use super::client::{block_on, random_name};
use conduct::{Origin, Run};
use sources::Given;
use template::Template;

/// Runs all rows and prints what they print.
///
/// # Errors
/// [`super::TasksError`], among them that tasks have failed, or that a signal has ended the run.
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    if graph::is_graph(&options.words) {
        return run_graph(agent, options);
    }
    let mut given = Given::read(&options.words).map_err(super::TasksError::from)?;
    options.check(&given)?;
    options.add_sources(&mut given)?;
    let rows = given.rows().map_err(super::TasksError::from)?;
    let template = Template::new(&given.command, given.sources.len(), options.shell)
        .map_err(super::TasksError::from)?;
    if options.dry_run {
        return print_commands(&given, &template, rows);
    }
    conduct(agent, options, Origin::Rows { given, template }, rows)
}

/// Runs the tasks of a file, each behind those that it waits for.
fn run_graph(agent: &Agent, options: &Options) -> Result<(), Failure> {
    options.check_graph()?;
    let graph = graph::read(Path::new(&options.words[0])).map_err(super::TasksError::from)?;
    if options.dry_run {
        return layers::print(&graph);
    }
    let tasks = graph.len();
    conduct(agent, options, Origin::Graph(graph), tasks)
}

fn conduct(agent: &Agent, options: &Options, origin: Origin, rows: usize) -> Result<(), Failure> {
    let place = options.store.place(agent)?;
    let name = match &options.resume {
        Some(name) => name.clone(),
        None => random_name()?,
    };
    Ok(block_on(Run::new(options, place, origin, name)?.conduct(rows))?)
}

/// Shows what would be run: a line for a task, as a shell would take it.
fn print_commands(given: &Given, template: &Template, rows: usize) -> Result<(), Failure> {
    for place in 0..rows {
        output::print(&(template.line(&given.row(place), place + 1) + "\n"))?;
    }
    Ok(())
}
