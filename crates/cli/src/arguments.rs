//! The command line as a whole; each sub-command's own options stand in its module.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::exit_codes::exit_codes;
use crate::{
    colonies, completions, cores, demo, doctor, health, help, hook, keys, lab, manuals, nodes,
    pick, plan, publish, show, sim, status, tasks, top, watch,
};

const EXAMPLES: &str = concat!(
    "\
Examples:
  tidings demo                                    watch 24 agents on this machine
  tidings agent --seed n1:9616 --keys cluster.key run this node's agent
  tidings nodes --where 'load1 < 2 and mem_available > 8GiB' --sort load1
  tidings top                                     a live table of the cluster
  tidings show n7                                 everything known of one node
  tidings run -n 4 -- ./sim {} ::: *.in           a durable task for each file",
    "\n\n",
    exit_codes!()
);

/// A seconds-old picture of every node of a cluster, on every node.
#[derive(Debug, Parser)]
#[command(name = "tidings", version, after_help = EXAMPLES, max_term_width = 100)]
#[command(disable_help_subcommand = true, arg_required_else_help = true)]
pub struct CommandLine {
    /// The agent's runtime directory, with its control socket [default:
    /// $TIDINGS_RUNTIME_DIR, else /run/tidings for root, else $XDG_RUNTIME_DIR/tidings, else
    /// /tmp/tidings-UID; where no agent is in the last two, /run/tidings]
    #[arg(long, global = true, value_name = "DIR", display_order = 100)]
    pub runtime_dir: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The sub-commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run this node's agent; all arguments go to tidings-agent (try: tidings agent --help)
    #[command(disable_help_flag = true)]
    Agent {
        /// Arguments of tidings-agent.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
        arguments: Vec<OsString>,
    },
    /// Start a cluster of agents on this machine and watch entries spread
    Demo(demo::Options),
    /// List the nodes that the agent knows
    Nodes(nodes::Options),
    /// Show an aggregate of every colony, and of all together
    Colonies(colonies::Options),
    /// Show a live table of the nodes, over the whole screen
    Top(top::Options),
    /// Print events of nodes as they happen, one per line
    Watch(watch::Options),
    /// Start a program, or write to a socket, when something has happened to nodes
    Hook(hook::Options),
    /// Show everything that is known of one node
    Show(show::Options),
    /// Check that the agent is healthy, and another node alive: for scripts
    Health(health::Options),
    /// Show the agent's own status, configuration and counters
    Status(status::Options),
    /// Find out what works on this machine, and what lies between this node and another
    Doctor(doctor::Options),
    /// Keep cores for applications: plan it, set it, use it, undo it
    Cores(cores::Options),
    /// Pick nodes for work, for mpirun or srun
    Pick(pick::Options),
    /// Add metrics of your own to this node's entry
    Publish(publish::Options),
    /// Simulate a cluster of nodes, in virtual time
    Sim(sim::Options),
    /// Find the interval, window and strategy that keep an age, and their cost
    Plan(plan::Options),
    /// Measure what gossip costs the applications that run with it
    Lab(lab::Options),
    /// Run a command for each row of arguments, as tasks that survive nodes and workers
    Run(tasks::run::Options),
    /// Do tasks of others until asked to end
    Worker(tasks::worker::Options),
    /// List, fill and change queues of tasks
    Queue(tasks::queue::Options),
    /// Show or change single tasks
    Task(tasks::task::Options),
    /// Make and acquire counting semaphores
    Sem(tasks::sem::Options),
    /// Put, read and pull tuples, by which processes coordinate
    Space(tasks::space::Options),
    /// Keep values under names beside tasks; look into a store, check it, move it
    Store(tasks::store::Options),
    /// Make and change cluster key files
    Keys(keys::Options),
    /// Print completions for a shell
    Completions(completions::Options),
    /// Write the man pages of all commands
    Manuals(manuals::Options),
    /// Show what a command does, as its --help
    Help(help::Options),
    /// Show the version, as --version
    Version(help::VersionOptions),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn every_help_ends_with_the_exit_codes_and_has_examples() {
        let mut line = CommandLine::command();
        line.build();
        let mut commands: Vec<_> = line.get_subcommands().cloned().collect();
        commands.push(line);
        for mut command in commands {
            let name = command.get_name().to_owned();
            if name == "agent" {
                continue; // its help is tidings-agent's own
            }
            let help = command.render_long_help().to_string();
            assert!(help.contains("Example"), "{name}");
            assert!(help.trim_end().ends_with(exit_codes!()), "{name}: {help}");
        }
    }
}
