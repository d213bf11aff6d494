//! `tidings status`: the agent's health, configuration and counters.

use clap::Args;
use serde_json::Value;
use tidings_control::Status;
use tidings_nodes::units::{self, Unit};

use crate::Failure;
use crate::output::{self, Agent};
use crate::summary;
use crate::table::{self, Align};

const AFTER_HELP: &str = concat!(
    "\
Examples:
  tidings status
  tidings status --json
  tidings --runtime-dir /run/tidings status",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings status`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    /// Print the status as one JSON object, as /v1/status does
    #[arg(long)]
    json: bool,
}

/// Prints the agent's status.
///
/// # Errors
/// A failure of reaching the agent or of printing.
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    let mut client = agent.connect()?;
    let status = client.status()?;
    if options.json {
        return output::print_json(&status);
    }
    let socket = client.path().display().to_string();
    // Without the names, as where other readers are being served, it says how many.
    let named = client.nodes().ok().map(|nodes| summary::named(&nodes.nodes));
    output::print_table(&text(&status, &socket, named, output::is_terminal()))
}

/// The fields in a readable order; the counters follow, by name.
const ORDER: [&str; 50] = [
    "name",
    "cluster",
    "colony",
    "address",
    "http",
    "scrape",
    "board",
    "board_in_memory",
    "version",
    "pid",
    "ill",
    "uptime_s",
    "mode",
    "encrypted",
    "keys",
    "key_fingerprints",
    "wire_version",
    "wire_versions_read",
    "wire_heard",
    "wire_written_lowest",
    "wire_read_lowest",
    "strategy",
    "interval_ms",
    "window",
    "window_entries",
    "age_target_ms",
    "age_target_quantile",
    "age_target_kept",
    "payload_bytes",
    "payload_bytes_most",
    "payload_bytes_sent",
    "entry_bytes",
    "members",
    "known",
    "states",
    "expected",
    "alone",
    "unresolved",
    "mismatches",
    "age_avg_ms",
    "age_max_ms",
    "age_avg_units",
    "age_max_units",
    "colonies",
    "colonies_heard",
    "colony_age_max_ms",
    "cpu_seconds",
    "rss_bytes",
    "memory_bound_bytes",
    "counters",
];

/// The socket that was asked, then one line per field: its name as in the JSON and its value, for a
/// person or for a program.
fn text(status: &Status, socket: &str, mut named: Option<String>, for_people: bool) -> String {
    let fields = serde_json::to_value(status).unwrap_or_default();
    let row = |name: &str, value: &Value| vec![name.to_owned(), field(name, value, for_people)];
    let mut rows = vec![vec!["socket".to_owned(), socket.to_owned()]];
    for name in ORDER {
        match fields.get(name) {
            Some(Value::Object(by_state)) if name == "states" => {
                let by_name = named.take().unwrap_or_else(|| counted(by_state));
                rows.push(vec![name.to_owned(), by_name]);
            }
            Some(Value::Array(mismatches)) if name == "mismatches" => {
                let texts = mismatches.iter().filter_map(|one| one.get("text")?.as_str());
                rows.extend(texts.map(|text| vec!["mismatch".to_owned(), text.to_owned()]));
            }
            Some(Value::Object(counters)) => {
                rows.extend(counters.iter().map(|(name, count)| row(name, count)));
            }
            Some(value) => rows.push(row(name, value)),
            None => {}
        }
    }
    table::render(&[("", Align::Left), ("", Align::Left)], &rows)
}

/// The states that some member is in, with how many are.
fn counted(states: &serde_json::Map<String, Value>) -> String {
    let some = states.iter().filter(|(_, count)| count.as_u64().unwrap_or(0) > 0);
    some.map(|(state, count)| format!("{count} {state}")).collect::<Vec<_>>().join(", ")
}

fn field(name: &str, value: &Value, for_people: bool) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => match (for_people, number.as_f64(), unit(name)) {
            (true, Some(number), Some(unit)) => unit.humanise(number),
            (true, Some(number), None) => units::plain(units::round_to(number, 2)),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// Fields with a unit that reads better scaled.
fn unit(name: &str) -> Option<Unit> {
    match name {
        "uptime_s" | "cpu_seconds" => Some(Unit::Seconds),
        "age_avg_ms" | "age_max_ms" | "age_target_ms" | "colony_age_max_ms" | "interval_ms" => {
            Some(Unit::Milliseconds)
        }
        "rss_bytes" | "memory_bound_bytes" => Some(Unit::Bytes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_the_status_is_shown() {
        let fields = serde_json::to_value(Status::default()).expect("serialises");
        let mut names: Vec<_> = fields.as_object().expect("an object").keys().collect();
        let mut shown = ORDER.to_vec();
        names.sort_unstable();
        shown.sort_unstable();
        assert_eq!(names, shown);
    }

    #[test]
    fn states_have_names_where_these_are_known() {
        let status = Status::default();
        let named = text(&status, "/x", Some("2 alive (n[1-2]), 1 dead (n3)".to_owned()), true);
        let line = named.lines().find(|line| line.starts_with("states ")).expect("it is shown");
        assert!(line.ends_with("  2 alive (n[1-2]), 1 dead (n3)"), "{line}");
    }

    #[test]
    fn people_read_units_and_programs_plain_numbers() {
        let status = Status {
            rss_bytes: 6 << 20,
            uptime_s: 75.25,
            counters: [("datagrams_received".to_owned(), 1_234_567)].into(),
            ..Default::default()
        };
        let (people, plain) = (text(&status, "/x", None, true), text(&status, "/x", None, false));
        assert!(people.contains("6.00 MiB") && people.contains("1 m 15 s"), "{people}");
        assert!(plain.contains("6291456") && plain.contains("75.25"), "{plain}");
        assert!(people.ends_with("1234567\n") && plain.ends_with("1234567\n"));
    }
}
