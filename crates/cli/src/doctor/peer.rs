//! `tidings doctor peer HOST`: what lies between this node and another.
//!
//! The local agent tries it, with the settings and the keys that it runs with; this command shows
//! what it found.

use tidings_control::{Checkup, Finding, Verdict};

use crate::Failure;
use crate::output::{self, Agent};
use crate::table::{self, Align};

/// Has the agent try it, and prints what it found.
///
/// # Errors
/// [`Failure::InTheWay`], or a failure of reaching the agent or of printing.
pub(crate) fn run(agent: &Agent, host: &str, json: bool) -> Result<(), Failure> {
    let checkup = agent.connect()?.check(host)?;
    if json {
        output::print_json(&checkup)?;
    } else {
        output::print(&text(&checkup))?;
    }
    let ways = checkup.findings.iter().filter(|finding| finding.verdict != Verdict::Ok);
    let ways: Vec<String> = ways.map(|finding| finding.of.clone()).collect();
    if ways.is_empty() { Ok(()) } else { Err(Failure::InTheWay { host: host.to_owned(), ways }) }
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
