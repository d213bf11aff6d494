//! `tidings colonies`: an aggregate of every colony, and of all together.
//!
//! One line per colony and one for all, with nodes by state and, for each requested reading, the
//! smallest, mean, quantiles and largest. As elsewhere a terminal gets values with their units, a
//! pipe gets plain numbers under headings that name the unit.

use clap::Args;
use tidings_control::{AggregateReport, Colonies, ReadingReport};
use tidings_gossip::aggregate::Reading;
use tidings_nodes::columns::{Column, Kind};
use tidings_nodes::units::{self, Unit};

use crate::Failure;
use crate::output::{self, Agent};
use crate::table::{self, Align};

const AFTER_HELP: &str = concat!(
    "\
Readings: cores, load1, cpu_busy_percent, mem_available_bytes, temperature_c, power_w, psi_io_percent;
the unit may be omitted. `age` is how long ago a colony's aggregate was made; the own one is made
now. The last line is all colonies together, without those whose aggregate is older than
forget_after. In a cluster without colonies there is one line, and it is the same.

Examples:
  tidings colonies
  tidings colonies --readings cores,cpu_busy,power
  tidings colonies --json | python3 -m json.tool
  tidings nodes --colony 3",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// The readings of a table by default.
const DEFAULT: [&str; 2] = ["load1", "mem_available_bytes"];

/// One figure of a reading.
type Figure = fn(&ReadingReport) -> f64;

/// The figures of a reading in the table.
const FIGURES: [(&str, Figure); 5] = [
    ("min", |reading| reading.min),
    ("mean", |reading| reading.mean),
    ("p50", |reading| reading.p50),
    ("p99", |reading| reading.p99),
    ("max", |reading| reading.max),
];

/// Options of `tidings colonies`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    /// The readings to show, separated by commas [default: load1, mem_available_bytes]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', conflicts_with = "json")]
    readings: Vec<String>,
    /// Print everything, with all readings and their histograms, as one JSON object
    #[arg(long)]
    json: bool,
}

/// Prints the colonies.
///
/// # Errors
/// [`Failure::Reading`], or a failure of reaching the agent.
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    let readings = match options.readings.as_slice() {
        [] => DEFAULT.map(reading).into_iter().collect::<Result<Vec<_>, _>>()?,
        names => names.iter().map(|name| reading(name.trim())).collect::<Result<_, _>>()?,
    };
    let colonies = agent.connect()?.colonies()?;
    if options.json {
        return output::print_json(&colonies);
    }
    output::print_table(&text(&colonies, &readings, output::is_terminal()))
}

/// The reading called `name`, with or without its unit.
fn reading(name: &str) -> Result<Column, Failure> {
    let column = Column::named(name).ok();
    let is_kept = |column: &Column| Reading::ALL.iter().any(|kept| kept.name() == column.name());
    column.filter(is_kept).ok_or_else(|| Failure::Reading { given: name.to_owned() })
}

fn text(colonies: &Colonies, readings: &[Column], for_people: bool) -> String {
    let (age, dot) = if for_people { ("age", " ") } else { ("age_ms", ".") };
    let mut names: Vec<String> =
        ["colony", age, "nodes", "fresh", "stale", "dead", "left", "unheard"]
            .map(str::to_owned)
            .into();
    for column in readings {
        let name = if for_people { column.short_name() } else { column.name() };
        names.extend(FIGURES.iter().map(|(figure, _)| format!("{name}{dot}{figure}")));
    }
    let headings: Vec<_> = names.iter().map(|name| (name.as_str(), Align::Right)).collect();
    let mut rows: Vec<_> = colonies
        .colonies
        .iter()
        .map(|report| {
            let number = report.colony.map_or("-".to_owned(), |number| number.to_string());
            let age = report.age_ms.map(|age| cell(Unit::Milliseconds, age, for_people));
            row(number, age, report.aggregate.as_ref(), readings, for_people)
        })
        .collect();
    rows.push(row("all".to_owned(), None, Some(&colonies.total), readings, for_people));
    table::render(&headings, &rows)
}

fn row(
    colony: String,
    age: Option<String>,
    aggregate: Option<&AggregateReport>,
    readings: &[Column],
    for_people: bool,
) -> Vec<String> {
    let lacking = || "-".to_owned();
    let count = |of: fn(&AggregateReport) -> u32| {
        aggregate.map_or_else(lacking, |aggregate| of(aggregate).to_string())
    };
    let mut row = vec![colony, age.unwrap_or_else(lacking)];
    row.extend([
        count(|aggregate| aggregate.nodes),
        count(|aggregate| aggregate.fresh),
        count(|aggregate| aggregate.stale),
        count(|aggregate| aggregate.dead),
        count(|aggregate| aggregate.left),
        count(|aggregate| aggregate.unheard),
    ]);
    for column in readings {
        let unit = if let Kind::Number(unit) = column.kind() { unit } else { Unit::Count };
        let known = aggregate.and_then(|aggregate| aggregate.readings.get(column.name()));
        row.extend(FIGURES.iter().map(|(_, figure)| {
            known.map_or_else(lacking, |reading| cell(unit, figure(reading), for_people))
        }));
    }
    row
}

fn cell(unit: Unit, value: f64, for_people: bool) -> String {
    if for_people { unit.humanise(value) } else { units::plain(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_control::ColonyReport;

    fn colonies() -> Colonies {
        let load1 = ReadingReport {
            nodes: 2,
            sum: 3.0,
            min: 1.0,
            mean: 1.5,
            p50: 1.0,
            p90: 2.0,
            p99: 2.0,
            max: 2.0,
            histogram: Vec::new(),
        };
        let readings = [("load1".to_owned(), load1)].into();
        let total = AggregateReport {
            nodes: 7,
            fresh: 2,
            left: 1,
            dead: 4,
            readings,
            ..Default::default()
        };
        let known =
            ColonyReport { colony: Some(1), age_ms: Some(1500.0), aggregate: Some(total.clone()) };
        let unheard = ColonyReport { colony: Some(12), ..Default::default() };
        Colonies { colonies: vec![known, unheard], total, ..Default::default() }
    }

    #[test]
    fn one_line_per_colony_and_one_for_all() {
        let readings = [reading("load1").expect("kept")];
        assert_eq!(
            text(&colonies(), &readings, false),
            "colony  age_ms  nodes  fresh  stale  dead  left  unheard  load1.min  load1.mean  \
             load1.p50  load1.p99  load1.max\n     \
             1    1500      7      2      0     4     1        0          1         1.5          \
             1          2          2\n    \
             12       -      -      -      -     -     -        -          -           -          \
             -          -          -\n   \
             all       -      7      2      0     4     1        0          1         1.5          \
             1          2          2\n"
        );
        let people = text(&colonies(), &readings, true);
        assert!(people.contains("load1 mean") && people.contains("1.5 s"), "{people}");
    }

    #[test]
    fn the_readings_of_an_aggregate_are_those_of_the_help() {
        for kept in Reading::ALL {
            assert!(AFTER_HELP.contains(kept.name()), "{}", kept.name());
            reading(kept.name()).expect("a column of the same name");
        }
        assert!(matches!(reading("load5"), Err(Failure::Reading { .. })));
        assert_eq!(reading("power").expect("without its unit").name(), "power_w");
    }
}
