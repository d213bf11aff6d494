//! `tidings health [NODE]`: the health of a node as an exit code, for scripts.
//!
//! Without a name it is the agent's own status: that it runs, answers, and makes its rounds in
//! time. With a name it is also what that agent knows of another node. An agent that is unhealthy
//! is not asked about others: its entries may be old.

use clap::Args;
use tidings_control::State;

use crate::Failure;
use crate::output::{self, Agent};
use crate::show;

const AFTER_HELP: &str = concat!(
    "\
Exits with 0 if healthy, with 1 if the agent is unhealthy, with 3 if no agent answers, with 4 if
NODE is dead, has left, is unheard or unknown. A node that is only suspected counts as alive.
An agent is unhealthy also if it is alone although others are expected, or if fewer than
min_members are alive. Nodes whose datagrams are dropped are named on standard error.

Examples:
  tidings health                      is this node's agent healthy?
  tidings health n7                   is it, and is n7 alive?
  tidings health || echo keep away",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings health`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    /// Another node, which must be alive as far as the agent knows
    #[arg(value_name = "NODE")]
    name: Option<String>,
}

/// Prints `ok` if healthy.
///
/// # Errors
/// [`Failure::Ill`], [`Failure::NotThere`], [`Failure::UnknownNode`], or a failure of reaching the
/// agent.
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    let mut client = agent.connect()?;
    let status = client.status()?;
    let dropped = status.mismatches.iter().filter(|one| one.dropped == "here");
    for text in dropped.map(|mismatch| &mismatch.text) {
        output::complain(&format!("warning: {text}"));
    }
    if let Some(reason) = status.ill {
        return Err(Failure::Ill { name: status.name, reason });
    }
    if let Some(name) = &options.name {
        if let Some(state) = absence(show::ask(&mut client, name)?.state) {
            let (observer, name) = (status.name, name.clone());
            return Err(Failure::NotThere { observer, name, state });
        }
    }
    output::print("ok\n")
}

/// How a node in this state is not alive; `None` if it is.
fn absence(state: State) -> Option<&'static str> {
    match state {
        State::Alive | State::Suspected => None,
        State::Dead => Some("considers it dead"),
        State::Left => Some("received its farewell"),
        State::Unheard => Some("has no entry of it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspected_node_is_alive_and_a_dead_one_is_not() {
        assert_eq!(absence(State::Alive).or(absence(State::Suspected)), None);
        for state in [State::Dead, State::Left, State::Unheard] {
            assert!(absence(state).is_some(), "{state:?}");
        }
    }
}
