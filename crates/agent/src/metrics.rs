//! The agent's condition as OpenMetrics text.
//!
//! The number of series does not depend on the size of the cluster: no label names a node, but for
//! this node's own in `tidings_agent_info`. Times are in seconds, sizes in bytes, as the format
//! asks.

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use tidings_control::{MismatchReport, States, Status};

/// The two formats in which monitoring systems read metrics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// OpenMetrics 1.0, if requested: Prometheus does.
    OpenMetrics,
    /// The older text format of Prometheus, which every tool reads.
    Plain,
}

impl Form {
    /// The format that an `Accept` header asks for.
    pub(crate) fn accepted(accept: &str) -> Self {
        let asked = accept.contains("application/openmetrics-text");
        if asked { Self::OpenMetrics } else { Self::Plain }
    }

    /// The media type, for the HTTP header.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Plain => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// `text`, which is OpenMetrics, in this form.
    pub(crate) fn of(self, text: String) -> String {
        match self {
            Self::OpenMetrics => text,
            Self::Plain => plain(&text),
        }
    }
}

/// OpenMetrics in the older format: a family has the name of its series, information is a
/// gauge, and there are no units.
fn plain(text: &str) -> String {
    let kinds = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let kinds: std::collections::BTreeMap<&str, &str> = kinds.collect();
    let mut plain = String::with_capacity(text.len());
    for line in text.lines().filter(|line| *line != "# EOF" && !line.starts_with("# UNIT ")) {
        let Some((declares, family, rest)) = declaration(line) else {
            plain.extend([line, "\n"]);
            continue;
        };
        let (ending, rest) = match (kinds.get(family), rest) {
            (Some(&"counter"), rest) => ("_total", rest),
            (Some(&"info"), "info") => ("_info", "gauge"),
            (Some(&"info"), rest) => ("_info", rest),
            (_, rest) => ("", rest),
        };
        plain.extend([declares, family, ending, " ", rest, "\n"]);
    }
    plain
}

/// `# TYPE ` or `# HELP `, the family, and the rest of the line.
fn declaration(line: &str) -> Option<(&str, &str, &str)> {
    let (declares, rest) = line.split_at_checked("# TYPE ".len())?;
    let (family, rest) = rest.split_once(' ')?;
    ["# TYPE ", "# HELP "].contains(&declares).then_some((declares, family, rest))
}

/// One counter: name, what it counts, value.
pub(crate) type Count = (&'static str, &'static str, u64);

/// The text for `status` and `counts`.
pub(crate) fn exposition(status: &Status, counts: &[Count]) -> String {
    let mut registry = Registry::with_prefix("tidings");
    describe(&mut registry, status);
    gauges(&mut registry, status);
    by_state(&mut registry, status.states);
    mismatches(&mut registry, &status.mismatches);
    keys(&mut registry, &status.key_fingerprints);
    for (name, about, value) in counts {
        registry.register(*name, about.trim_end_matches('.'), ConstCounter::new(*value));
    }
    let mut text = String::new();
    encode(&mut text, &registry).expect("writing into a string does not fail");
    text
}

fn describe(registry: &mut Registry, status: &Status) {
    let mode = if status.mode == tidings_control::Mode::Roster { "roster" } else { "seeds" };
    let labels = [
        ("cluster", status.cluster.clone()),
        ("name", status.name.clone()),
        ("address", status.address.clone()),
        ("version", status.version.clone()),
        ("strategy", status.strategy.clone()),
        ("window", status.window.clone()),
        ("mode", mode.to_owned()),
    ];
    registry.register("agent", "What this agent is", Info::new(labels.to_vec()));
}

/// Members by state.
fn by_state(registry: &mut Registry, states: States) {
    let family = Family::<Labels<1>, Gauge>::default();
    for (state, count) in states.each() {
        family.get_or_create(&[("state", state.name().to_owned())]).set(count.into());
    }
    registry.register("members_by_state", "Members in this state, as this node sees them", family);
}

/// Datagrams of nodes that this one does not understand, or that do not understand it.
fn mismatches(registry: &mut Registry, mismatches: &[MismatchReport]) {
    let family = Family::<Labels<3>, Counter>::default();
    for MismatchReport { address, difference, dropped, datagrams, .. } in mismatches {
        let labels = [("address", address), ("difference", difference), ("dropped", dropped)];
        let labels = labels.map(|(name, value)| (name, value.clone()));
        family.get_or_create(&labels).inc_by(*datagrams);
    }
    let about = "Datagrams dropped since the two nodes are configured differently";
    registry.register("mismatch_datagrams", about, family);
}

/// The keys by their fingerprints, of which the first seals: of all nodes together they say when
/// the next step of an exchange is safe.
fn keys(registry: &mut Registry, fingerprints: &[String]) {
    let family = Family::<Labels<1>, Gauge>::default();
    for (at, fingerprint) in fingerprints.iter().enumerate() {
        let label = [("fingerprint", fingerprint.clone())];
        family.get_or_create(&label).set(if at == 0 { 2 } else { 1 });
    }
    let about = "A cluster key of this fingerprint is held: 1 accepted, 2 also used to seal";
    registry.register("key", about, family);
}

/// Labels of a series.
type Labels<const N: usize> = [(&'static str, String); N];

fn gauges(registry: &mut Registry, status: &Status) {
    let mut whole = |name, about, value: u64| {
        registry.register(name, about, ConstGauge::new(value as i64));
    };
    whole("members", "Nodes of the cluster, this one included", status.members as u64);
    whole("known", "Members whose entry has been received", status.known as u64);
    whole(
        "alone",
        "Whether no other node is alive although others are expected",
        status.alone.into(),
    );
    whole(
        "expected_members",
        "Nodes that there should be; 0 if nothing says so",
        status.expected.unwrap_or(0).into(),
    );
    whole(
        "unresolved_names",
        "Names of seeds and of the roster that cannot be resolved",
        status.unresolved as u64,
    );
    whole("window_entries", "Entries sent in one round", status.window_entries.into());
    whole("keys", "Cluster keys accepted", status.keys as u64);
    whole("wire_version", "Version of the datagrams written", status.wire_version.into());
    whole("wire_heard", "Living members that have sent a datagram", status.wire_heard.into());
    let written = status.wire_written_lowest.unwrap_or(0);
    whole("wire_written_lowest", "Lowest version that members write", written.into());
    let read = status.wire_read_lowest.unwrap_or(0);
    whole("wire_read_lowest", "Version that all members are known to read", read.into());
    if status.colony.is_some() {
        whole("colonies", "Colonies known, this one included", status.colonies as u64);
        whole("colonies_heard", "Colonies with an aggregate", status.colonies_heard as u64);
    }
    if let Some(kept) = status.age_target_kept {
        whole("age_target_kept", "Whether ages have lately met their target", kept.into());
    }
    let mut bytes = |name, about, value: u64| {
        registry.register_with_unit(name, about, Unit::Bytes, ConstGauge::new(value as i64));
    };
    bytes("entry", "One entry in a datagram", status.entry_bytes.into());
    bytes("process_resident_memory", "Resident memory of the agent", status.rss_bytes);
    bytes("memory_bound", "What the agent's memory never exceeds", status.memory_bound_bytes);
    let mut seconds = |name, about, value: f64| {
        registry.register_with_unit(name, about, Unit::Seconds, ConstGauge::new(value));
    };
    seconds("interval", "One unit of time", status.interval_ms / 1e3);
    seconds("age_avg", "Average age of the known entries of others", status.age_avg_ms / 1e3);
    seconds("age_max", "Age of the oldest known entry of another", status.age_max_ms / 1e3);
    if let Some(oldest_ms) = status.colony_age_max_ms {
        let about = "Age of the oldest aggregate of another colony";
        seconds("colony_age_max", about, oldest_ms / 1e3);
    }
    if let Some(target_ms) = status.age_target_ms {
        seconds("age_target", "The age that the window follows", target_ms / 1e3);
    }
    seconds("uptime", "Time since the agent started", status.uptime_s);
    let cpu = ConstCounter::new(status.cpu_seconds);
    let about = "Processor time the agent has used";
    registry.register_with_unit("process_cpu", about, Unit::Seconds, cpu);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_format_names_series_and_the_newer_families() {
        let status = Status { name: "n1".to_owned(), ..Status::default() };
        let text = exposition(&status, &[("datagrams_sent", "Datagrams made.", 7)]);
        let form = Form::accepted("text/html,*/*");
        assert_eq!((form, form.of(text.clone()).contains("EOF")), (Form::Plain, false));
        let plain = form.of(text.clone());
        for line in [
            "# TYPE tidings_datagrams_sent_total counter",
            "# HELP tidings_datagrams_sent_total Datagrams made.",
            "tidings_datagrams_sent_total 7",
            "# TYPE tidings_agent_info gauge",
            "# TYPE tidings_members gauge",
        ] {
            assert!(plain.lines().any(|found| found == line), "{line} is missing in:\n{plain}");
        }
        assert!(!plain.contains("# UNIT"));
        let series = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(series(&plain), series(&text));
        let prometheus = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4";
        assert_eq!(Form::accepted(prometheus).of(text.clone()), text);
    }

    #[test]
    fn the_text_has_types_units_and_an_end() {
        let status = Status {
            name: "n1".to_owned(),
            window: "20%".to_owned(),
            members: 3,
            age_avg_ms: 1500.0,
            age_target_ms: Some(1_250.0),
            age_target_kept: Some(false),
            cpu_seconds: 0.25,
            colony: Some(2),
            colonies: 3,
            colony_age_max_ms: Some(300.0),
            ..Status::default()
        };
        let text = exposition(&status, &[("datagrams_sent", "Datagrams made.", 7)]);
        for line in [
            "# TYPE tidings_datagrams_sent counter",
            "# HELP tidings_datagrams_sent Datagrams made.",
            "tidings_datagrams_sent_total 7",
            "# TYPE tidings_age_avg_seconds gauge",
            "# UNIT tidings_age_avg_seconds seconds",
            "tidings_age_avg_seconds 1.5",
            "tidings_age_target_seconds 1.25",
            "tidings_age_target_kept 0",
            "tidings_members 3",
            "tidings_colonies 3",
            "tidings_colony_age_max_seconds 0.3",
            "tidings_process_cpu_seconds_total 0.25",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing in:\n{text}");
        }
        assert!(text.contains("tidings_agent_info{cluster=\"\",name=\"n1\""), "{text}");
        assert!(text.ends_with("# EOF\n"), "{text}");
    }
}
