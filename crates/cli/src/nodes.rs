//! `tidings nodes`: the nodes that an agent knows, as a table or as JSON.
//!
//! On a terminal values carry rounded, scaled units; a pipe gets plain numbers under headings that
//! name the unit, as `awk` needs them. Either way a row is one line.

use std::ffi::OsString;
use std::path::Path;

use clap::{Args, ValueHint};
use tidings_control::{NodeReport, Nodes};
use tidings_gossip::roster;
use tidings_nodes::board;
use tidings_nodes::columns::{self, Cell, Column, Kind};
use tidings_nodes::filter::{Filter, FilterError};

use crate::Failure;
use crate::output::{self, Agent};
use crate::summary;
use crate::table::{self, Align};

const AFTER_HELP: &str = concat!(
    "\
Columns are named as in --json; the unit may be omitted: mem_available is mem_available_bytes.
user.KEY is the metric KEY that a node published. A missing reading is `-` and meets no comparison.

Examples:
  tidings nodes --sort load1:desc
  tidings nodes --columns name,load1,mem_available,user.gpu
  tidings nodes --where 'load1 < 2 and mem_available > 8GiB'
  tidings nodes --where 'name =~ rack3-* and not state == alive'
  tidings nodes --where 'name =~ n[1-3],m7'
  tidings nodes --colony 3 --sort load1
  tidings nodes --board --where 'state == dead'
  tidings nodes --summary
  tidings nodes --json | python3 -m json.tool",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings nodes`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    #[command(flatten)]
    selection: SelectionOptions,
    /// The nodes of this colony, requested from its members now, instead of the agent's own
    #[arg(long, value_name = "NUMBER")]
    colony: Option<u32>,
    /// Read the nodes from the board, without asking the agent: from the one in its runtime
    /// directory, or from the file PATH
    #[arg(long, value_name = "PATH", num_args = 0..=1, conflicts_with = "colony")]
    #[arg(default_missing_value = "", value_hint = ValueHint::FilePath)]
    board: Option<OsString>,
    /// Print one line for each state: how many nodes, and their names as a hostlist
    #[arg(long, conflicts_with_all = ["columns", "sort", "json"])]
    summary: bool,
    /// Print the matching nodes' whole reports as one JSON object, as /v1/nodes does
    #[arg(long, conflicts_with = "columns")]
    json: bool,
}

/// Which nodes, in which order, with which columns: common to `nodes` and `top`.
#[derive(Debug, Args)]
pub struct SelectionOptions {
    /// The columns to show, separated by commas [default: name, state, age, cores, load1, …]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Show only nodes that meet this condition
    #[arg(long = "where", value_name = "CONDITION")]
    pub condition: Option<String>,
    /// Sort by this column; :desc reverses the order
    #[arg(long, value_name = "COLUMN[:desc]")]
    pub sort: Option<String>,
}

/// A [`SelectionOptions`] that has been read and checked.
#[derive(Debug)]
pub struct Selection {
    columns: Vec<Column>,
    filter: Option<Filter>,
    /// The order of rows.
    pub order: Order,
}

/// An order of rows: by one column, ties by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The column to sort by.
    pub column: Column,
    /// Largest first.
    pub descending: bool,
}

/// Prints the nodes.
///
/// # Errors
/// A [`Failure`] of usage, of reaching the agent, or [`Failure::NothingMatched`].
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    let selection = Selection::read(&options.selection)?;
    let mut nodes = match (&options.board, options.colony) {
        (Some(path), _) if path.is_empty() => board::nodes(&agent.board())?,
        (Some(path), _) => board::nodes(Path::new(path))?,
        (None, Some(colony)) => agent.connect()?.visit(colony)?,
        (None, None) => agent.connect()?.nodes()?,
    };
    let all = nodes.nodes.len();
    selection.complain(&nodes);
    selection.select(&mut nodes);
    if options.json {
        output::print_json(&nodes)?;
    } else if options.summary {
        output::print_table(&summary::table(&nodes, output::is_terminal()))?;
    } else {
        output::print_table(&selection.table(&nodes.nodes, output::is_terminal()))?;
    }
    match &options.selection.condition {
        Some(condition) if nodes.nodes.is_empty() => {
            Err(Failure::NothingMatched { condition: condition.clone(), nodes: all })
        }
        _ => Ok(()),
    }
}

impl Selection {
    /// Reads the options.
    ///
    /// # Errors
    /// [`Failure::Column`], [`Failure::Condition`] or [`Failure::Direction`].
    pub fn read(options: &SelectionOptions) -> Result<Self, Failure> {
        let column = |name: &str| Column::named(name.trim()).map_err(Failure::from);
        let columns = match options.columns.as_slice() {
            [] => columns::DEFAULT.iter().map(|name| column(name)).collect::<Result<_, _>>()?,
            names => names.iter().map(|name| column(name)).collect::<Result<_, _>>()?,
        };
        let filter = options.condition.as_deref().map(Filter::parse).transpose()?;
        let order = Order::read(options.sort.as_deref().unwrap_or("name"))?;
        Ok(Self { columns, filter, order })
    }

    /// The columns shown.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Shows only nodes that meet another condition from now on, all without one.
    ///
    /// # Errors
    /// It cannot be read; then the one before stays.
    pub fn set_condition(&mut self, condition: &str) -> Result<(), FilterError> {
        let condition = Some(condition.trim()).filter(|text| !text.is_empty());
        self.filter = condition.map(Filter::parse).transpose()?;
        Ok(())
    }

    /// Complains of names in hostlists of the condition that nobody has.
    pub fn complain(&self, nodes: &Nodes) {
        let filter = self.filter.as_ref();
        let names = filter.map_or_else(Vec::new, |filter| filter.unknown_names(&nodes.nodes));
        if !names.is_empty() {
            let names = roster::compress(&names);
            output::complain(&format!("--where: nobody has the name {names}"));
        }
    }

    /// Keeps the nodes that meet the condition, in order.
    pub fn select(&self, nodes: &mut Nodes) {
        if let Some(filter) = &self.filter {
            nodes.nodes.retain(|report| filter.holds(report));
        }
        self.order.sort(&mut nodes.nodes);
    }

    /// The table of these nodes, for a person or for a program.
    pub fn table(&self, reports: &[NodeReport], for_people: bool) -> String {
        self.table_without(0, reports, for_people)
    }

    /// The same without so many columns behind the first, which says whose line it is.
    pub fn table_without(&self, aside: usize, reports: &[NodeReport], for_people: bool) -> String {
        let shown = || self.columns.iter().take(1).chain(self.columns.iter().skip(1 + aside));
        let headings: Vec<_> = shown()
            .map(|column| {
                let name = if for_people { column.short_name() } else { column.name() };
                (name, align(column))
            })
            .collect();
        let cell = |column: &Column, report| {
            if for_people { column.humanised(report) } else { column.read(report).plain() }
        };
        let rows: Vec<Vec<String>> = reports
            .iter()
            .map(|report| shown().map(|column| cell(column, report)).collect())
            .collect();
        table::render(&headings, &rows)
    }
}

impl Order {
    /// Reads `COLUMN`, `COLUMN:asc` or `COLUMN:desc`.
    ///
    /// # Errors
    /// [`Failure::Column`] or [`Failure::Direction`].
    pub fn read(text: &str) -> Result<Self, Failure> {
        let (name, descending) = match text.rsplit_once(':') {
            None => (text, false),
            Some((name, "asc")) => (name, false),
            Some((name, "desc")) => (name, true),
            Some(_) => return Err(Failure::Direction { given: text.to_owned() }),
        };
        Ok(Self { column: Column::named(name)?, descending })
    }

    /// Sorts; nodes without the reading come last in either direction, and so do those that have
    /// left or died, whose readings are no news.
    pub fn sort(&self, reports: &mut [NodeReport]) {
        reports.sort_unstable_by(|a, b| {
            let (left, right) = (self.column.read_now(a), self.column.read_now(b));
            let order = left.order(&right);
            let turned = self.descending && left != Cell::Missing && right != Cell::Missing;
            let order = if turned { order.reverse() } else { order };
            order.then_with(|| a.name.cmp(&b.name))
        });
    }
}

fn align(column: &Column) -> Align {
    match column.kind() {
        Kind::Number(_) => Align::Right,
        Kind::Text | Kind::User => Align::Left,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, load1: Option<f64>) -> NodeReport {
        let mem_available_bytes = load1.map(|_| 3 << 30);
        let (name, state) = (name.to_owned(), tidings_control::State::Alive);
        NodeReport { name, state, load1, mem_available_bytes, ..Default::default() }
    }

    fn cluster() -> Nodes {
        let nodes = vec![node("a", Some(0.5)), node("b", None), node("c", Some(2.0))];
        Nodes { nodes, ..Default::default() }
    }

    fn selection(columns: &str, condition: Option<&str>, sort: Option<&str>) -> Selection {
        let columns = columns.split(',').map(str::to_owned).collect();
        let [condition, sort] = [condition, sort].map(|text| text.map(str::to_owned));
        let options = SelectionOptions { columns, condition, sort };
        Selection::read(&options).unwrap_or_else(|failure| panic!("{failure}"))
    }

    fn names(nodes: &Nodes) -> String {
        nodes.nodes.iter().map(|report| report.name.as_str()).collect()
    }

    #[test]
    fn missing_readings_come_last_in_either_direction() {
        for (sort, expected) in [("load1", "acb"), ("load1:desc", "cab"), ("name:desc", "cba")] {
            let mut nodes = cluster();
            selection("name", None, Some(sort)).select(&mut nodes);
            assert_eq!(names(&nodes), expected, "{sort}");
        }
    }

    #[test]
    fn a_pipe_gets_plain_numbers_under_headings_with_units() {
        let mut nodes = cluster();
        let selection = selection("name,load1,mem_available", Some("load1 < 9"), None);
        selection.select(&mut nodes);
        assert_eq!(
            selection.table(&nodes.nodes, false),
            "name  load1  mem_available_bytes\n\
             a       0.5           3221225472\n\
             c         2           3221225472\n"
        );
        assert_eq!(
            selection.table(&nodes.nodes, true),
            "name  load1  mem_available\na       0.5       3.00 GiB\nc         2       3.00 GiB\n"
        );
    }

    #[test]
    fn orders_are_read_with_their_direction() {
        assert!(Order::read("load1:desc").expect("valid").descending);
        assert!(matches!(Order::read("load1:down"), Err(Failure::Direction { .. })));
        assert!(matches!(Order::read("lod1"), Err(Failure::Column(_))));
    }
}
