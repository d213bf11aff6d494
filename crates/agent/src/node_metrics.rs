//! All nodes as OpenMetrics text: their states, and readings that the reader chooses.
//!
//! Any agent has the whole picture, so one scrape of one agent is enough. The number of series is
//! the reader's choice: a state, whether it is up and an age for each node, and one series for each
//! reading asked for that the node has. Percents are ratios and milliseconds seconds, as the format
//! asks. An answer is never longer than the JSON about the same nodes may be, which the bound on
//! the agent's memory counts with.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit as Suffix};
use serde::Deserialize;
use tidings_control::{NodeReport, Nodes, State};
use tidings_nodes::columns::{Cell, Column, Kind, UnknownColumn};
use tidings_nodes::filter::{Filter, FilterError};
use tidings_nodes::units::Unit;

/// The readings of each node by default.
const USUAL: &str = "cores,load1,cpu_busy,mem_available,mem_total";

/// Readings of one answer at most.
const READINGS_MOST: usize = 32;

/// What a reader asks for.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// Readings, separated by commas; empty: none.
    readings: Option<String>,
    /// Only nodes for which this holds.
    #[serde(rename = "where")]
    condition: Option<String>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MetricsError {
    #[error("readings: {0}")]
    Reading(#[from] UnknownColumn),
    #[error("readings: `{0}` is no number; its nodes cannot be drawn as a graph")]
    NoNumber(String),
    #[error("readings: {0} are too many; at most {READINGS_MOST} in one answer")]
    TooMany(usize),
    #[error("where: {0}")]
    Condition(#[from] FilterError),
    #[error(
        "the answer would have {bytes} bytes, and {most} are allowed for {nodes} nodes: ask for \
         fewer readings, or in several requests"
    )]
    TooLong { bytes: usize, most: usize, nodes: usize },
}

/// What is shown of which nodes.
#[derive(Debug)]
pub(crate) struct Selection {
    columns: Vec<Column>,
    filter: Option<Filter>,
}

impl Selection {
    /// Reads what was asked for.
    ///
    /// # Errors
    /// No such reading, or a condition that cannot be read.
    pub(crate) fn of(asked: &Asked) -> Result<Self, MetricsError> {
        let names = asked.readings.as_deref().unwrap_or(USUAL);
        let names: Vec<&str> =
            names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        if names.len() > READINGS_MOST {
            return Err(MetricsError::TooMany(names.len()));
        }
        let columns = names.into_iter().map(reading).collect::<Result<_, _>>()?;
        let filter = asked.condition.as_deref().map(Filter::parse).transpose()?;
        Ok(Self { columns, filter })
    }

    /// The text about nodes.
    ///
    /// # Errors
    /// It would be longer than `most` bytes.
    pub(crate) fn exposition(self, nodes: Nodes, most: usize) -> Result<String, MetricsError> {
        let mut shown = nodes.nodes;
        if let Some(filter) = &self.filter {
            shown.retain(|node| filter.holds(node));
        }
        let count = shown.len();
        let mut registry = Registry::with_prefix("tidings");
        registry.register_collector(Box::new(Families { columns: self.columns, nodes: shown }));
        let mut text = Bounded { text: String::new(), most, missing: 0 };
        encode(&mut text, &registry).expect("writing into memory does not fail");
        if text.missing > 0 {
            let bytes = text.text.len() + text.missing;
            return Err(MetricsError::TooLong { bytes, most, nodes: count });
        }
        Ok(text.text)
    }
}

/// A column that is a number, or may be one.
fn reading(name: &str) -> Result<Column, MetricsError> {
    let column = Column::named(name)?;
    match column.kind() {
        Kind::Text => Err(MetricsError::NoNumber(name.to_owned())),
        Kind::Number(_) | Kind::User => Ok(column),
    }
}

/// Text up to a length; what is beyond it is counted only.
struct Bounded {
    text: String,
    most: usize,
    missing: usize,
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.missing > 0 || self.text.len() + part.len() > self.most {
            self.missing += part.len();
        } else {
            self.text.push_str(part);
        }
        Ok(())
    }
}

/// Families of series, which are written node by node and held nowhere.
#[derive(Debug)]
struct Families {
    columns: Vec<Column>,
    nodes: Vec<NodeReport>,
}

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.counts(gauge(&mut encoder, "nodes", "Nodes in this state", None)?)?;
        let about = "1, with the state that the node has as a label";
        let mut states = gauge(&mut encoder, "node_state", about, None)?;
        for node in &self.nodes {
            let labels = [("node", node.name.as_str()), ("state", node.state.name())];
            states.encode_family(&labels)?.encode_gauge(&1_u32)?;
        }
        let about = "Whether the node is alive, also where it has not answered lately";
        let is_up = |node: &NodeReport| Some(f64::from(u8::from(node.state.is_alive())));
        self.family(gauge(&mut encoder, "node_up", about, None)?, is_up)?;
        let about = "Time since the node made its newest entry";
        let age = |node: &NodeReport| node.age_ms.map(|ms| (ms * 1e3).round() / 1e6);
        self.family(gauge(&mut encoder, "node_age", about, Some(&Suffix::Seconds))?, age)?;
        for column in &self.columns {
            self.readings(&mut encoder, column)?;
        }
        Ok(())
    }
}

impl Families {
    /// How many nodes have each state, those that have none included.
    fn counts(&self, mut counts: MetricEncoder<'_>) -> fmt::Result {
        for one in State::ALL {
            let count = self.nodes.iter().filter(|node| node.state == one).count();
            counts.encode_family(&[("state", one.name())])?.encode_gauge(&(count as f64))?;
        }
        Ok(())
    }

    /// A series for each node that has a value.
    fn family(
        &self,
        mut family: MetricEncoder<'_>,
        value: impl Fn(&NodeReport) -> Option<f64>,
    ) -> fmt::Result {
        for node in &self.nodes {
            if let Some(value) = value(node) {
                family.encode_family(&[("node", node.name.as_str())])?.encode_gauge(&value)?;
            }
        }
        Ok(())
    }

    /// The series of a reading.
    fn readings(&self, encoder: &mut DescriptorEncoder<'_>, column: &Column) -> fmt::Result {
        let Kind::Number(unit) = column.kind() else { return self.user(encoder, column) };
        if column.name() == "age_ms" {
            return Ok(()); // it is there anyway
        }
        let (suffix, scale) = written(unit);
        let name = format!("node_{}", column.short_name());
        let about = format!("The reading {} of the node", column.name());
        let value = |node: &NodeReport| match column.read_now(node) {
            Cell::Number(value) => Some(value * scale),
            Cell::Missing | Cell::Text(_) => None,
        };
        self.family(gauge(encoder, &name, &about, suffix.as_ref())?, value)
    }

    /// The series of a metric that nodes publish, where it is a number.
    fn user(&self, encoder: &mut DescriptorEncoder<'_>, column: &Column) -> fmt::Result {
        let key = column.name().trim_start_matches("user.");
        let legal = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = format!("node_user_{key}").chars().map(legal).collect();
        let value = |node: &NodeReport| match column.read_now(node) {
            Cell::Text(text) => text.parse().ok().filter(|value: &f64| value.is_finite()),
            Cell::Number(value) => Some(value),
            Cell::Missing => None,
        };
        let about = "A metric that the node has published";
        self.family(gauge(encoder, &name, about, None)?, value)
    }
}

/// Begins a family of gauges.
fn gauge<'e>(
    encoder: &'e mut DescriptorEncoder<'_>,
    name: &'e str,
    about: &str,
    unit: Option<&'e Suffix>,
) -> Result<MetricEncoder<'e>, fmt::Error> {
    encoder.encode_descriptor(name, about, unit, MetricType::Gauge)
}

/// The unit that the format has for a unit, and the factor to it.
fn written(unit: Unit) -> (Option<Suffix>, f64) {
    match unit {
        Unit::Count => (None, 1.0),
        Unit::Bytes => (Some(Suffix::Bytes), 1.0),
        Unit::BytesPerSecond => (Some(Suffix::Other("bytes_per_second".to_owned())), 1.0),
        Unit::Percent => (Some(Suffix::Ratios), 1e-2),
        Unit::Milliseconds => (Some(Suffix::Seconds), 1e-3),
        Unit::Seconds => (Some(Suffix::Seconds), 1.0),
        Unit::Celsius => (Some(Suffix::Celsius), 1.0),
        Unit::Watts => (Some(Suffix::Other("watts".to_owned())), 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, state: State, load1: Option<f64>) -> NodeReport {
        let (name, cpu_busy_percent) = (name.to_owned(), load1.map(|_| 25.0));
        let age_ms = Some(1_500.0);
        NodeReport { name, state, load1, cpu_busy_percent, age_ms, ..NodeReport::default() }
    }

    fn three() -> Nodes {
        let mut gpus = node("n3", State::Suspected, Some(0.5));
        gpus.user.insert("gpu".to_owned(), "3".to_owned());
        gpus.user.insert("job".to_owned(), "lammps".to_owned());
        let nodes = vec![node("n1", State::Alive, Some(2.0)), node("n2", State::Dead, None), gpus];
        Nodes { nodes, ..Nodes::default() }
    }

    fn asked(readings: Option<&str>, condition: Option<&str>) -> Result<Selection, MetricsError> {
        let [readings, condition] = [readings, condition].map(|text| text.map(str::to_owned));
        Selection::of(&Asked { readings, condition })
    }

    #[test]
    fn all_nodes_have_a_state_and_those_with_a_reading_its_series() {
        let selection = asked(Some("load1,cpu_busy,user.gpu,user.job"), None).expect("known");
        let text = selection.exposition(three(), 1 << 20).expect("short");
        for line in [
            "tidings_nodes{state=\"alive\"} 1.0",
            "tidings_nodes{state=\"dead\"} 1.0",
            "tidings_nodes{state=\"left\"} 0.0",
            "tidings_node_state{node=\"n2\",state=\"dead\"} 1",
            "tidings_node_up{node=\"n2\"} 0.0",
            "tidings_node_up{node=\"n3\"} 1.0",
            "# UNIT tidings_node_age_seconds seconds",
            "tidings_node_age_seconds{node=\"n2\"} 1.5",
            "tidings_node_load1{node=\"n1\"} 2.0",
            "tidings_node_cpu_busy_ratios{node=\"n3\"} 0.25",
            "tidings_node_user_gpu{node=\"n3\"} 3.0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing in:\n{text}");
        }
        assert!(!text.contains("load1{node=\"n2\"") && !text.contains("user_job{"), "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
    }

    #[test]
    fn a_condition_chooses_the_nodes() {
        let selection = asked(Some(""), Some("state == dead")).expect("a condition");
        let text = selection.exposition(three(), 1 << 20).expect("short");
        let nodes = text.lines().filter(|line| line.starts_with("tidings_node_")).count();
        assert_eq!((nodes, text.contains("n1")), (3, false), "{text}");
    }

    #[test]
    fn what_cannot_be_answered_says_why() {
        let many = vec!["load1"; READINGS_MOST + 1].join(",");
        for (readings, condition, words) in [
            (Some("lod1"), None, "readings: no column `lod1`; the nearest is `load1`"),
            (Some("kernel"), None, "readings: `kernel` is no number"),
            (Some(many.as_str()), None, "readings: 33 are too many; at most 32"),
            (None, Some("load1 <"), "where: "),
        ] {
            let error = asked(readings, condition).expect_err(words).to_string();
            assert!(error.starts_with(words), "{error}");
        }
        let error = asked(None, None).expect("usual").exposition(three(), 500).expect_err("long");
        assert!(error.to_string().contains("500 are allowed for 3 nodes"), "{error}");
    }
}
