//! `tidings doctor`: which mechanisms of the system work here; `tidings doctor peer HOST`: what
//! lies between this node and another.
//!
//! Each mechanism is tried by this program started again, with an option that its help does not
//! show, so that an attempt that hangs or is killed takes nothing with it
//! (`tidings_doctor::examination`).

mod peer;

use std::path::PathBuf;
use std::process::Command;

use clap::{Args, Subcommand};
use tidings_doctor::mechanisms::{self, Mechanism};
use tidings_doctor::{Examination, Finding, Report, Verdict, examination};

use crate::Failure;
use crate::output::{self, Agent};
use crate::table::{self, Align};

const AFTER_HELP: &str = concat!(
    "\
Every mechanism of the operating system that Tidings can use is tried, within 10 s: a ring is
opened, a program loaded, a datagram sent. `works`, `degraded` (something in its place works, which
the line says) or `not`; what was tried; and after an arrow what would help. It needs no privilege
and says what a privilege would add. Nothing is left behind, and no knob is turned.

Exits with 0 if all that was tried works, with 1 if something is degraded or does not work.

Examples:
  tidings doctor                       all mechanisms
  tidings doctor --only io-uring,gso   for a script: 0 if both work
  tidings doctor --json | jq -r '.findings[] | select(.verdict == \"not\").mechanism'
  tidings doctor --list                what is tried, and what for
  tidings doctor peer n7               what lies between this node and another",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

const AFTER_PEER: &str = concat!(
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

/// How many similar names an unknown name is answered with.
const NEAREST_NAMES: usize = 3;

/// Options of `tidings doctor`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub struct Options {
    #[command(subcommand)]
    action: Option<Action>,
    /// Try these mechanisms only, their names separated by commas
    #[arg(long, value_name = "MECHANISMS", value_delimiter = ',')]
    only: Vec<String>,
    /// List the mechanisms and what they are for, and try none
    #[arg(long, conflicts_with_all = ["only", "json"])]
    list: bool,
    /// Print what was found as one JSON object
    #[arg(long)]
    json: bool,
    /// Try one in this process, and print its outcome for the process that asks
    #[arg(long, hide = true, value_name = "MECHANISM", exclusive = true)]
    attempt: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Try what lies between this node and another: address, port, firewall, keys, MTU, clock
    #[command(after_help = AFTER_PEER)]
    Peer {
        /// A member's name, a host name or an IP address, with or without a port
        #[arg(value_name = "HOST")]
        host: String,
        /// Print the findings as one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// Tries what was asked for, and prints what was found.
///
/// # Errors
/// [`Failure::Lacking`] or [`Failure::InTheWay`]; a failure of reaching the agent, of starting
/// attempts, or of printing.
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    if let Some(Action::Peer { host, json }) = &options.action {
        return peer::run(agent, host, *json);
    }
    if let Some(name) = &options.attempt {
        return output::print_json_line(&examination::attempt(named(name)?));
    }
    if options.list {
        let row = |of: &Mechanism| vec![of.name.to_owned(), of.purpose.to_owned()];
        let rows: Vec<_> = mechanisms::ALL.iter().map(row).collect();
        let headings = [("mechanism", Align::Left), ("for", Align::Left)];
        return output::print(&table::render(&headings, &rows));
    }
    let report = examine(&options.only)?;
    if options.json {
        output::print_json(&report)?;
    } else {
        output::print(&text(&report))?;
    }
    evaluated(&report)
}

fn examine(only: &[String]) -> Result<Report, Failure> {
    let chosen: Vec<Mechanism> = match only {
        [] => mechanisms::ALL.to_vec(),
        names => names.iter().map(|name| named(name).copied()).collect::<Result<_, _>>()?,
    };
    // Through /proc the same file is started, even if another has taken its name since.
    let program = PathBuf::from("/proc/self/exe");
    let command = |name: &str| {
        let mut command = Command::new(&program);
        command.args(["doctor", "--attempt", name]);
        command
    };
    Ok(Examination { mechanisms: &chosen, command: &command }.conduct()?)
}

fn named(name: &str) -> Result<&'static Mechanism, Failure> {
    mechanisms::named(name).ok_or_else(|| {
        let mut near: Vec<&str> = mechanisms::ALL.iter().map(|mechanism| mechanism.name).collect();
        near.sort_by(|a, b| {
            let likeness = |of: &str| strsim::jaro_winkler(of, name);
            likeness(b).total_cmp(&likeness(a))
        });
        let nearest = near.into_iter().take(NEAREST_NAMES).map(str::to_owned).collect();
        Failure::Mechanism { given: name.to_owned(), nearest }
    })
}

/// One line a mechanism, in full: what it says is to be read.
fn text(report: &Report) -> String {
    let row = |finding: &Finding| {
        let outcome = &finding.outcome;
        let remedy = outcome.remedy.iter().map(|remedy| format!(" → {remedy}"));
        let said = format!("{}{}", outcome.found, remedy.collect::<String>());
        vec![outcome.verdict.name().to_owned(), finding.mechanism.clone(), said]
    };
    let rows: Vec<_> = report.findings.iter().map(row).collect();
    table::render(&[("", Align::Left), ("", Align::Left), ("", Align::Left)], &rows)
}

/// Fails unless all work.
fn evaluated(report: &Report) -> Result<(), Failure> {
    let names = |verdict| {
        let such = report.findings.iter().filter(|finding| finding.outcome.verdict == verdict);
        such.map(|finding| finding.mechanism.clone()).collect::<Vec<_>>()
    };
    let (degraded, not) = (names(Verdict::Degraded), names(Verdict::Not));
    if degraded.is_empty() && not.is_empty() {
        return Ok(());
    }
    Err(Failure::Lacking { tried: report.findings.len(), degraded, not })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_doctor::Outcome;

    fn report(outcomes: &[(&str, Verdict, Option<&str>)]) -> Report {
        let finding = |(name, verdict, remedy): &(&str, Verdict, Option<&str>)| Finding {
            mechanism: (*name).to_owned(),
            purpose: String::new(),
            outcome: Outcome {
                verdict: *verdict,
                found: "seen".to_owned(),
                remedy: remedy.map(str::to_owned),
            },
        };
        Report {
            kernel: String::new(),
            root: false,
            works: 0,
            degraded: 0,
            not: 0,
            findings: outcomes.iter().map(finding).collect(),
        }
    }

    #[test]
    fn findings_are_lines_and_what_lacks_fails() {
        let all = report(&[("gso", Verdict::Works, None), ("xdp", Verdict::Not, Some("be root"))]);
        assert_eq!(text(&all), "works  gso  seen\nnot    xdp  seen → be root\n");
        let failure = evaluated(&all).expect_err("one does not work");
        assert_eq!(failure.to_string(), "of 2 mechanisms 1 do not work (xdp)");
        assert_eq!(failure.exit_code(), 1);
        assert!(evaluated(&report(&[("gso", Verdict::Works, None)])).is_ok());
    }

    #[test]
    fn an_unknown_mechanism_is_refused_with_the_nearest() {
        let failure = named("iouring").expect_err("it is written otherwise");
        assert_eq!(failure.exit_code(), 2);
        assert!(failure.to_string().contains("io-uring"), "{failure}");
    }
}
