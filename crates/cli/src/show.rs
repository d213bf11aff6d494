//! `tidings show NODE`: everything that the agent knows of one node.

use clap::Args;
use tidings_control::{Client, ClientError, ErrorKind, NodeReport};
use tidings_nodes::columns::Column;

use crate::Failure;
use crate::output::{self, Agent};
use crate::table::{self, Align};

const AFTER_HELP: &str = concat!(
    "\
Readings that the machine lacks, or that its entry has no room for, are shown as `-`.

Examples:
  tidings show n7
  tidings show n7 --json
  tidings show n7 | awk '$1 == \"load1\" { print $2 }'",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// How many similar names an unknown name is answered with.
const NEAREST_NAMES: usize = 3;

/// Options of `tidings show`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    /// The node's name
    #[arg(value_name = "NODE")]
    name: String,
    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
}

/// Prints one node's report.
///
/// # Errors
/// [`Failure::UnknownNode`], or a failure of reaching the agent.
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    let report = ask(&mut agent.connect()?, &options.name)?;
    if options.json {
        return output::print_json(&report);
    }
    output::print_table(&text(&report, output::is_terminal()))
}

/// What the agent knows of the node `name`.
pub(crate) fn ask(client: &mut Client, name: &str) -> Result<NodeReport, Failure> {
    match client.node(name) {
        Err(ClientError::Refused(refusal)) if refusal.kind == ErrorKind::NotFound => {
            Err(unknown(client, name))
        }
        answered => Ok(answered?),
    }
}

fn unknown(client: &mut Client, name: &str) -> Failure {
    let nodes = client.nodes().map(|nodes| nodes.nodes).unwrap_or_default();
    let names = nodes.into_iter().map(|report| report.name);
    Failure::UnknownNode { name: name.to_owned(), nearest: nearest(name, names) }
}

/// The names most like `name`, the most similar first.
fn nearest(name: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<_> =
        names.map(|other| (strsim::jaro_winkler(&other, name), other)).collect();
    names.sort_unstable_by(|(a, left), (b, right)| b.total_cmp(a).then_with(|| left.cmp(right)));
    names.into_iter().take(NEAREST_NAMES).map(|(_, name)| name).collect()
}

/// One line per reading: its name and its value, for a person or for a program.
fn text(report: &NodeReport, for_people: bool) -> String {
    let user = report.user.keys().filter_map(|key| Column::named(&format!("user.{key}")).ok());
    let rows: Vec<Vec<String>> = Column::all()
        .chain(user)
        .map(|column| {
            if for_people {
                vec![column.short_name().to_owned(), column.humanised(report)]
            } else {
                vec![column.name().to_owned(), column.read(report).plain()]
            }
        })
        .collect();
    table::render(&[("", Align::Left), ("", Align::Left)], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_offered_most_alike_first() {
        let names = ["n1", "n17", "rack3-n17", "login"].map(str::to_owned);
        assert_eq!(nearest("n18", names.into_iter()), ["n1", "n17", "login"]);
    }

    #[test]
    fn each_reading_has_a_line_with_user_metrics_last() {
        let user = [("gpu".to_owned(), "3".to_owned())].into();
        let report =
            NodeReport { name: "n1".into(), uptime_s: Some(90), user, ..Default::default() };
        let plain = text(&report, false);
        assert!(plain.contains("\nuptime_s             90\n"), "{plain}");
        assert!(plain.contains("\nload1                -\n"), "{plain}");
        assert!(plain.ends_with("\nuser.gpu             3\n"), "{plain}");
        assert!(text(&report, true).contains("\nuptime         1 m 30 s\n"));
    }
}
