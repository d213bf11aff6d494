//! The columns of a node table: name, unit, and how to read each from a report.
//!
//! A column is named as its field in the JSON of `tidings nodes --json` and `/v1/nodes`. The unit
//! that ends the name may be omitted (`mem_available` is `mem_available_bytes`), and `user.KEY` is
//! the metric `KEY` that a node published. One table drives everything that names a column:
//! `--columns`, `--sort`, `--where`, the headings, and the manual page of `show`.

use std::borrow::Cow;

use tidings_control::NodeReport;

use crate::units::{self, Unit};

/// What a column holds for one node.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    /// The machine lacks the reading, or the node has not been heard.
    Missing,
    /// Text.
    Text(Cow<'a, str>),
    /// A number in the column's unit.
    Number(f64),
}

/// What kind of cells a column has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Names, addresses, versions.
    Text,
    /// Numbers in this unit.
    Number(Unit),
    /// A user's metric: text that may read as a number.
    User,
}

/// A column: a fixed one by its index in the table below, or a user's metric by its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    name: Cow<'static, str>,
    kind: Kind,
    source: Source,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Fixed(usize),
    User(String),
}

type Read = fn(&NodeReport) -> Cell<'_>;

/// Name, kind and reader of every fixed column, in the order of [`NodeReport`]'s fields.
const FIXED: &[(&str, Kind, Read)] = &[
    ("name", Kind::Text, |r| text(&r.name)),
    ("address", Kind::Text, |r| text(&r.address)),
    ("state", Kind::Text, |r| text(r.state.name())),
    ("age_ms", Kind::Number(Unit::Milliseconds), |r| number(r.age_ms)),
    ("readings_age_ms", Kind::Number(Unit::Milliseconds), |r| number(r.readings_age_ms)),
    ("incarnation", Kind::Number(Unit::Count), |r| number(Some(r.incarnation))),
    ("sequence", Kind::Number(Unit::Count), |r| number(r.sequence)),
    ("cores", Kind::Number(Unit::Count), |r| number(r.cores)),
    ("load1", Kind::Number(Unit::Count), |r| number(r.load1)),
    ("load5", Kind::Number(Unit::Count), |r| number(r.load5)),
    ("load15", Kind::Number(Unit::Count), |r| number(r.load15)),
    ("cpu_busy_percent", Kind::Number(Unit::Percent), |r| number(r.cpu_busy_percent)),
    ("mem_total_bytes", Kind::Number(Unit::Bytes), |r| whole(r.mem_total_bytes)),
    ("mem_available_bytes", Kind::Number(Unit::Bytes), |r| whole(r.mem_available_bytes)),
    ("swap_total_bytes", Kind::Number(Unit::Bytes), |r| whole(r.swap_total_bytes)),
    ("swap_used_bytes", Kind::Number(Unit::Bytes), |r| whole(r.swap_used_bytes)),
    ("psi_cpu_percent", Kind::Number(Unit::Percent), |r| number(r.psi_cpu_percent)),
    ("psi_memory_percent", Kind::Number(Unit::Percent), |r| number(r.psi_memory_percent)),
    ("psi_io_percent", Kind::Number(Unit::Percent), |r| number(r.psi_io_percent)),
    ("disk_read_bytes_s", Kind::Number(Unit::BytesPerSecond), |r| whole(r.disk_read_bytes_s)),
    ("disk_write_bytes_s", Kind::Number(Unit::BytesPerSecond), |r| whole(r.disk_write_bytes_s)),
    ("net_rx_bytes_s", Kind::Number(Unit::BytesPerSecond), |r| whole(r.net_rx_bytes_s)),
    ("net_tx_bytes_s", Kind::Number(Unit::BytesPerSecond), |r| whole(r.net_tx_bytes_s)),
    ("temperature_c", Kind::Number(Unit::Celsius), |r| number(r.temperature_c)),
    ("power_w", Kind::Number(Unit::Watts), |r| number(r.power_w)),
    ("uptime_s", Kind::Number(Unit::Seconds), |r| whole(r.uptime_s)),
    ("kernel", Kind::Text, |r| r.kernel.as_deref().map_or(Cell::Missing, text)),
];

/// How many of them, the first, are about the node's entry; what follows are its readings.
const OF_ENTRY: usize = 7;

/// The prefix of the name of a user's metric.
const USER: &str = "user.";

/// The columns of a table by default.
pub const DEFAULT: &[&str] = &[
    "name",
    "state",
    "age_ms",
    "cores",
    "load1",
    "cpu_busy_percent",
    "mem_available_bytes",
    "mem_total_bytes",
    "net_rx_bytes_s",
    "net_tx_bytes_s",
    "uptime_s",
];

/// No column has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no column `{name}`; the nearest is `{nearest}` (columns: {})", all_names())]
pub struct UnknownColumn {
    /// What was asked for.
    pub name: String,
    /// The column whose name is most like it.
    pub nearest: &'static str,
}

impl Column {
    /// The column called `name`, with or without its unit, or `user.KEY`.
    ///
    /// # Errors
    /// [`UnknownColumn`] with the nearest name.
    pub fn named(name: &str) -> Result<Self, UnknownColumn> {
        if let Some(key) = name.strip_prefix(USER).filter(|key| !key.is_empty()) {
            let source = Source::User(key.to_owned());
            return Ok(Self { name: Cow::Owned(name.to_owned()), kind: Kind::User, source });
        }
        let place = FIXED
            .iter()
            .position(|(full, ..)| *full == name)
            .or_else(|| FIXED.iter().position(|(full, kind, _)| short(full, *kind) == name))
            .ok_or_else(|| UnknownColumn { name: name.to_owned(), nearest: nearest(name) })?;
        Ok(Self::fixed(place))
    }

    /// Every fixed column, in the order of the report.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..FIXED.len()).map(Self::fixed)
    }

    fn fixed(place: usize) -> Self {
        let (name, kind, _) = FIXED[place];
        Self { name: Cow::Borrowed(name), kind, source: Source::Fixed(place) }
    }

    /// The name as in the JSON, with its unit.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name without its unit, as a heading over values that carry theirs.
    pub fn short_name(&self) -> &str {
        short(&self.name, self.kind)
    }

    /// What kind of cells the column has.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The column's cell for one node.
    pub fn read<'a>(&self, report: &'a NodeReport) -> Cell<'a> {
        match &self.source {
            Source::Fixed(place) => FIXED[*place].2(report),
            Source::User(key) => report.user.get(key).map_or(Cell::Missing, |value| text(value)),
        }
    }

    /// The same as news of the present: the last readings of a node that has left or died are none.
    pub fn read_now<'a>(&self, report: &'a NodeReport) -> Cell<'a> {
        let is_reading = !matches!(self.source, Source::Fixed(place) if place < OF_ENTRY);
        if is_reading && !report.state.is_alive() { Cell::Missing } else { self.read(report) }
    }

    /// The cell in readable form.
    pub fn humanised(&self, report: &NodeReport) -> String {
        match (self.read(report), self.kind) {
            (Cell::Number(value), Kind::Number(unit)) => unit.humanise(value),
            (cell, _) => cell.plain(),
        }
    }
}

impl Cell<'_> {
    /// The cell in full: plain numbers, `-` for what is missing.
    pub fn plain(&self) -> String {
        match self {
            Self::Missing => "-".to_owned(),
            Self::Text(text) => text.to_string(),
            Self::Number(value) => units::plain(*value),
        }
    }

    /// The order for sorting: numbers by size, text by its bytes, missing cells last.
    pub fn order(&self, other: &Self) -> std::cmp::Ordering {
        let rank = |cell: &Self| match cell {
            Self::Number(_) => 0,
            Self::Text(_) => 1,
            Self::Missing => 2,
        };
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

/// Every fixed column's name, separated by commas.
pub fn all_names() -> String {
    let mut names = FIXED.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
    names.push_str(", user.KEY");
    names
}

/// The fixed column whose name, with or without its unit, is most like `name`.
pub fn nearest(name: &str) -> &'static str {
    let likeness = |full: &'static str, kind| {
        strsim::jaro_winkler(full, name).max(strsim::jaro_winkler(short(full, kind), name))
    };
    let likenesses = FIXED.iter().map(|(full, kind, _)| (likeness(full, *kind), *full));
    likenesses
        .rev() // of equals the first: `load1` rather than `load15`
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map_or("name", |(_, full)| full)
}

fn short(full: &str, kind: Kind) -> &str {
    match kind {
        Kind::Number(unit) => full.strip_suffix(unit.suffix()).unwrap_or(full),
        Kind::Text | Kind::User => full,
    }
}

fn text(value: &str) -> Cell<'_> {
    Cell::Text(Cow::Borrowed(value))
}

fn number<'a>(value: Option<impl Into<f64>>) -> Cell<'a> {
    value.map_or(Cell::Missing, |value| Cell::Number(value.into()))
}

/// Byte counts stay exact up to 2^53, which is 9 PB.
fn whole<'a>(value: Option<u64>) -> Cell<'a> {
    value.map_or(Cell::Missing, |value| Cell::Number(value as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_control::State;

    #[test]
    fn the_table_has_every_field_of_the_report_in_its_order() {
        let text = serde_json::to_string(&NodeReport::default()).expect("serialises");
        let mut rest = text.as_str();
        for (name, ..) in FIXED {
            let quoted = format!("\"{name}\":");
            let at = rest.find(&quoted).unwrap_or_else(|| panic!("{name} in its order"));
            rest = &rest[at + quoted.len()..];
        }
        let fields = serde_json::to_value(NodeReport::default()).expect("serialises");
        let fields = fields.as_object().expect("an object").len();
        assert_eq!(fields, FIXED.len() + 1, "all fields but `user` are fixed columns");
    }

    #[test]
    fn units_may_be_omitted() {
        for (asked, name) in [
            ("mem_available", "mem_available_bytes"),
            ("age", "age_ms"),
            ("age_ms", "age_ms"),
            ("net_rx", "net_rx_bytes_s"),
            ("uptime", "uptime_s"),
            ("user.gpu", "user.gpu"),
        ] {
            assert_eq!(Column::named(asked).map(|c| c.name().to_owned()), Ok(name.to_owned()));
        }
    }

    #[test]
    fn short_names_are_distinct() {
        let mut names: Vec<_> = FIXED.iter().map(|(full, kind, _)| short(full, *kind)).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FIXED.len());
    }

    #[test]
    fn a_misspelt_column_is_answered_with_its_nearest() {
        for (asked, nearest) in
            [("lod1", "load1"), ("memavailable", "mem_available_bytes"), ("nam", "name")]
        {
            assert_eq!(Column::named(asked).map_err(|e| e.nearest), Err(nearest));
        }
        assert!(Column::named("user.").is_err());
    }

    #[test]
    fn missing_cells_sort_last() {
        let (one, two) = (Cell::Number(1.0), Cell::Number(2.0));
        assert!(one.order(&two).is_lt() && two.order(&Cell::Missing).is_lt());
        assert!(text("a").order(&text("b")).is_lt());
    }

    #[test]
    fn last_readings_are_shown_and_are_no_news_of_the_present() {
        let user = [("gpu".to_owned(), "3".to_owned())].into();
        let (state, load1) = (State::Dead, Some(0.5));
        let dead = NodeReport { state, load1, sequence: Some(7), user, ..Default::default() };
        let column = |name| Column::named(name).expect("a column");
        for (name, last) in [("load1", "0.5"), ("user.gpu", "3")] {
            assert_eq!(column(name).read(&dead).plain(), last);
            assert_eq!(column(name).read_now(&dead), Cell::Missing, "{name}");
        }
        assert_eq!(column("state").read_now(&dead).plain(), "dead");
        assert_eq!(column("sequence").read_now(&dead), Cell::Number(7.0));
        assert_eq!(FIXED[OF_ENTRY].0, "cores", "the first reading");
    }

    #[test]
    fn missing_readings_are_a_dash_and_never_zero() {
        let report = NodeReport { name: "n1".to_owned(), ..Default::default() };
        let load = Column::named("load1").expect("a column");
        assert_eq!((load.humanised(&report), load.read(&report).plain()), ("-".into(), "-".into()));
    }
}
