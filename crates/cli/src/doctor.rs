//! `tidings doctor peer HOST`: what lies between this node and another.
//!
//! The local agent tries it, with the settings and the keys that it runs with; this command shows
//! what it found.

use clap::{Args, Subcommand};
use tidings_control::{Checkup, Finding, Verdict};

use crate::Failure;
use crate::output::{self, Agent};
use crate::table::{self, Align};

const AFTER_HELP: &str = concat!(
    "\
The local agent sends datagrams to HOST, and the agent there answers or says why not. Run it on
both sides if nothing comes back. It is for operators: others cannot have an agent send anything.

Exits with 0 if nothing is in the way, with 1 if something is.

Examples:
  tidings doctor peer n7              a member, or a host name; the port is this agent's
  tidings doctor peer 10.0.0.7:9616
  tidings doctor peer n7 --json",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings doctor`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Try what lies between this node and another: address, port, firewall, keys, MTU, clock
    #[command(after_help = AFTER_HELP)]
    Peer {
        /// A member's name, a host name or an IP address, with or without a port
        #[arg(value_name = "HOST")]
        host: String,
        /// Print the findings as one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// Has the agent try it, and prints what it found.
///
/// # Errors
/// [`Failure::InTheWay`], or a failure of reaching the agent or of printing.
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    let Action::Peer { host, json } = &options.action;
    let checkup = agent.connect()?.check(host)?;
    if *json {
        output::print_json(&checkup)?;
    } else {
        output::print(&text(&checkup))?;
    }
    let ways = checkup.findings.iter().filter(|finding| finding.verdict != Verdict::Ok);
    let ways: Vec<String> = ways.map(|finding| finding.of.clone()).collect();
    if ways.is_empty() { Ok(()) } else { Err(Failure::InTheWay { host: host.clone(), ways }) }
}

/// One line a finding, in full: what it says is to be read.
fn text(checkup: &Checkup) -> String {
    let row = |Finding { of, verdict, text }: &Finding| {
        let verdict = match verdict {
            Verdict::Ok => "ok",
            Verdict::Wrong => "wrong",
            Verdict::Unclear => "unclear",
        };
        vec![verdict.to_owned(), of.clone(), text.clone()]
    };
    let rows: Vec<_> = checkup.findings.iter().map(row).collect();
    table::render(&[("", Align::Left), ("", Align::Left), ("", Align::Left)], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_lines() {
        let finding = |of: &str, verdict, text: &str| Finding {
            of: of.to_owned(),
            verdict,
            text: text.to_owned(),
        };
        let checkup = Checkup {
            findings: vec![
                finding("port", Verdict::Ok, "an agent answers"),
                finding("key", Verdict::Wrong, "another key"),
            ],
            ..Checkup::default()
        };
        assert_eq!(text(&checkup), "ok     port  an agent answers\nwrong  key   another key\n");
        assert!(!checkup.is_clear());
    }
}
