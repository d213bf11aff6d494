//! What the demo shows: the lines of the live table, and one plain line per second for a pipe.
//!
//! Only text from the ledger is made here; the screen is another module. The live table shows the
//! moment (ages of the latest answers, rates of the last seconds); the figures of the whole run are
//! in the summary and in the report.

use tidings_control::Ages;
use tidings_nodes::units::Unit;

use super::agents::Cluster;
use super::killed::Killed;
use super::report::{Figures, Ledger, Spread};
use crate::table::{self, Align};

/// Seconds between two marks from which the rates of the moment are counted.
const MARK_S: f64 = 2.0;

/// Eighths of a block, for one agent's share of known nodes.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The width from which on sentences are whole.
const WIDE: usize = 76;

/// The widest bar, in characters.
const BAR: usize = 64;

/// Everything shown at one moment.
#[derive(Debug)]
pub struct View<'a> {
    /// What runs.
    pub title: &'a str,
    /// Seconds since the first agent was started.
    pub elapsed_s: f64,
    /// Agents that run.
    pub running: usize,
    /// Agents that were to be started.
    pub nodes: usize,
    /// One unit of time, in seconds.
    pub interval_s: f64,
    /// The samples so far.
    pub ledger: &'a Ledger,
    /// What the rates are counted from.
    pub recent: &'a Recent,
    /// A few nodes in detail.
    pub rows: &'a [Row],
    /// The seed's HTTP address, once known.
    pub http: Option<&'a str>,
    /// The seed's runtime directory.
    pub runtime_dir: &'a str,
    /// Whether keys are taken.
    pub has_keys: bool,
    /// The agent that was killed, and who knows.
    pub killed: Option<(&'a Killed, &'a Cluster)>,
}

/// One node in detail.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The node's name.
    pub name: String,
    /// Nodes it knows.
    pub known: usize,
    /// Average age of what it knows, in milliseconds.
    pub age_avg_ms: f64,
    /// Its load average over one minute, as the seed knows it.
    pub load1: Option<f64>,
    /// Its available memory, as the seed knows it.
    pub mem_available_bytes: Option<u64>,
}

/// Answers a few seconds old: what rates of the moment are counted from.
#[derive(Debug, Default)]
pub struct Recent {
    older: Vec<Option<Ages>>,
    newer: Vec<Option<Ages>>,
    marked_s: f64,
}

impl Recent {
    /// Keeps the latest answers as a mark, if the last mark is old enough.
    pub fn mark(&mut self, at_s: f64, ledger: &Ledger) {
        if self.newer.is_empty() || at_s - self.marked_s >= MARK_S {
            let latest = ledger.latest().map(Option::<&Ages>::cloned).collect();
            self.older = std::mem::replace(&mut self.newer, latest);
            self.marked_s = at_s;
        }
    }

    /// Growth of a counter per second since the older mark, over the agents.
    fn rates(&self, ledger: &Ledger, counter: impl Fn(&Ages) -> f64) -> Option<Spread> {
        let marks = if self.older.iter().any(Option::is_some) { &self.older } else { &self.newer };
        let rates = marks.iter().zip(ledger.latest()).filter_map(|(mark, latest)| {
            let (mark, latest) = (mark.as_ref()?, latest?);
            let passed_s = latest.uptime_s - mark.uptime_s;
            (passed_s > 0.0).then(|| (counter(latest) - counter(mark)) / passed_s)
        });
        Spread::over(rates)
    }
}

/// The rows of the table of quantities: name, spread over the agents, decimals.
type Quantity = (&'static str, Option<Spread>, usize);

impl View<'_> {
    /// The live table for a screen of `width` characters and `height` lines; on a small screen, the
    /// single nodes are omitted first, then the last quantities.
    pub fn lines(&self, width: usize, height: usize) -> Vec<String> {
        let mut lines = vec![format!("tidings demo: {}", self.title), String::new()];
        lines.push(self.progress(width));
        lines.extend(self.blocks(width.min(BAR + 2).saturating_sub(2).max(1)));
        let killed = self.killed.map(|(killed, cluster)| killed.line(cluster));
        lines.push(killed.unwrap_or_default());
        let foot = self.foot();
        let room = height.saturating_sub(lines.len() + foot.len());
        let body = self.quantity_table().into_iter().chain(self.killed_list(width));
        let body = body.chain(self.row_table());
        lines.extend(body.take(room));
        lines.extend(foot);
        lines
    }

    fn foot(&self) -> Vec<String> {
        let http = self.http.map(addresses);
        let keys = if self.has_keys { "k kills an agent, " } else { "" };
        let end = format!("{keys}Ctrl-C ends it");
        let last = [query(self.runtime_dir), end];
        std::iter::once(String::new()).chain(http).chain(last).collect()
    }

    /// A blank line, and when each agent knew of the killed one; nothing before any was killed.
    fn killed_list(&self, width: usize) -> Vec<String> {
        let list = self.killed.map(|(killed, cluster)| killed.list(cluster, width.min(WIDE)));
        list.map_or_else(Vec::new, |list| std::iter::once(String::new()).chain(list).collect())
    }

    fn progress(&self, width: usize) -> String {
        let Self { running, nodes, elapsed_s, .. } = self;
        let full = match self.ledger.first_full_view_s() {
            Some(full_s) if width < WIDE => format!("all knew all after {full_s:.1} s"),
            Some(full_s) => format!("every agent knew every node after {full_s:.1} s"),
            None => "entries are spreading".to_owned(),
        };
        format!("{running} of {nodes} agents up   {elapsed_s:.1} s   {full}")
    }

    /// One block per agent, filled as far as it knows the cluster, in lines of `width`.
    fn blocks(&self, width: usize) -> Vec<String> {
        let block = |ages: Option<&Ages>| {
            let known = ages.map_or(0, |ages| ages.known);
            // A full block only for a full view.
            BLOCKS[(known * 8 / self.nodes.max(1)).min(8)]
        };
        let blocks: Vec<char> = self.ledger.latest().map(block).collect();
        blocks.chunks(width).map(|line| format!("[{}]", line.iter().collect::<String>())).collect()
    }

    fn quantities(&self) -> [Quantity; 9] {
        let ledger = self.ledger;
        let rate = |counter: fn(&Ages) -> f64| self.recent.rates(ledger, counter);
        let seconds = |quantity: fn(&Ages) -> f64| {
            ledger.spread(|ages| quantity(ages) / 1e3).filter(|_| self.known_by_any())
        };
        let average = seconds(|ages| ages.age_avg_ms);
        let oldest = seconds(|ages| ages.age_max_ms);
        let in_units = |spread: Option<Spread>| spread.map(|s| s.divided_by(self.interval_s));
        [
            ("nodes known", ledger.known(), 1),
            ("average age, units", in_units(average), 1),
            ("average age, seconds", average, 2),
            ("oldest entry, units", in_units(oldest), 1),
            ("oldest entry, seconds", oldest, 2),
            ("messages sent, 1/s", rate(|ages| ages.datagrams_sent as f64), 1),
            ("bytes sent, B/s", rate(|ages| ages.bytes_sent as f64), 0),
            ("CPU, % of a core", rate(|ages| 100.0 * ages.cpu_seconds), 2),
            ("memory, MiB", ledger.rss_mib(), 1),
        ]
    }

    /// Whether some agent has an entry of another, so that there are ages at all.
    fn known_by_any(&self) -> bool {
        self.ledger.known().is_some_and(|known| known.max > 1.0)
    }

    fn quantity_table(&self) -> Vec<String> {
        let headings = [
            ("a node", Align::Left),
            ("min", Align::Right),
            ("avg", Align::Right),
            ("max", Align::Right),
        ];
        let cells = |spread: Option<Spread>, decimals: usize| match spread {
            Some(Spread { min, avg, max }) => [min, avg, max].map(|v| format!("{v:>9.decimals$}")),
            None => ["-"; 3].map(|dash| format!("{dash:>9}")),
        };
        let rows: Vec<Vec<String>> = self
            .quantities()
            .into_iter()
            .map(|(name, spread, decimals)| {
                std::iter::once(name.to_owned()).chain(cells(spread, decimals)).collect()
            })
            .collect();
        table::render(&headings, &rows).lines().map(str::to_owned).collect()
    }

    /// A blank line and the single nodes; nothing before any was queried.
    fn row_table(&self) -> Vec<String> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let headings = [
            ("node", Align::Left),
            ("known", Align::Right),
            ("avg age", Align::Right),
            ("load1", Align::Right),
            ("mem available", Align::Right),
        ];
        let human = |unit: Unit, value: Option<f64>| {
            value.map_or_else(|| "-".to_owned(), |value| unit.humanise(value))
        };
        let rows: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| {
                vec![
                    row.name.clone(),
                    row.known.to_string(),
                    Unit::Milliseconds.humanise(row.age_avg_ms),
                    human(Unit::Count, row.load1),
                    human(Unit::Bytes, row.mem_available_bytes.map(|bytes| bytes as f64)),
                ]
            })
            .collect();
        let table = table::render(&headings, &rows);
        std::iter::once("").chain(table.lines()).map(str::to_owned).collect()
    }

    /// The names over [`plain_line`](Self::plain_line).
    pub fn plain_heading() -> String {
        "elapsed_s  agents  known_min  known_avg  age_avg_units  age_max_units  messages_s    bytes_s  \
         cpu_percent  rss_mib"
            .to_owned()
    }

    /// The moment in one line: means over the agents, under [`plain_heading`](Self::plain_heading).
    pub fn plain_line(&self) -> String {
        let [known, age_avg, _, age_max, _, messages, bytes, cpu, memory] = self.quantities();
        let number = |value: Option<f64>, decimals: usize| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}"))
        };
        let avg = |(_, spread, decimals): Quantity| number(spread.map(|s| s.avg), decimals);
        format!(
            "{:>9.1}  {:>6}  {:>9}  {:>9}  {:>13}  {:>13}  {:>10}  {:>9}  {:>11}  {:>7}",
            self.elapsed_s,
            self.running,
            number(known.1.map(|spread| spread.min), 0),
            avg(known),
            avg(age_avg),
            avg(age_max),
            avg(messages),
            avg(bytes),
            avg(cpu),
            avg(memory),
        )
    }
}

/// Where the first agent's page and its answers for programs are.
pub fn addresses(http: &str) -> String {
    format!("web page http://{http}/   there too: /v1/nodes (JSON), /metrics")
}

/// How the first agent is asked from another terminal.
pub fn query(runtime_dir: &str) -> String {
    format!("tidings nodes --runtime-dir {runtime_dir}")
}

/// The run in one line.
pub fn summary(nodes: usize, elapsed_s: f64, interval_s: f64, ledger: &Ledger) -> String {
    let view = match ledger.first_full_view_s() {
        Some(full_s) => format!("every agent knew every node after {full_s:.1} s"),
        None => "not every agent knew every node yet".to_owned(),
    };
    let costs = ledger.figures().map(|figures| costs(&figures, interval_s)).unwrap_or_default();
    let memory = ledger.rss_mib().map(|memory| format!(", {:.1} MiB", memory.avg));
    format!("{nodes} agents for {elapsed_s:.1} s: {view}{costs}{}", memory.unwrap_or_default())
}

fn costs(figures: &Figures, interval_s: f64) -> String {
    let units = figures.age_avg_units.avg;
    format!(
        "; average age {units:.1} units ({:.1} s), oldest {:.1}; a node sent {:.1} messages/s, {}, \
         for {:.2} % of a core",
        units * interval_s,
        figures.age_max_units.avg,
        figures.messages_s.avg,
        Unit::BytesPerSecond.humanise(figures.bytes_s.avg),
        figures.cpu_percent.avg,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ages(known: usize, uptime_s: f64) -> Ages {
        Ages {
            known,
            uptime_s,
            age_avg_ms: 512.0,
            age_max_ms: 1024.0,
            datagrams_sent: (uptime_s * 4.0) as u64,
            bytes_sent: (uptime_s * 1000.0) as u64,
            cpu_seconds: uptime_s * 0.002,
            rss_bytes: 5 << 20,
            ..Default::default()
        }
    }

    fn ledger(known: [usize; 2]) -> (Ledger, Recent) {
        let mut ledger = Ledger::new(2, 0.256);
        let mut recent = Recent::default();
        for at_s in [1.0, 4.0] {
            for (agent, known) in known.into_iter().enumerate() {
                ledger.record(agent, at_s, ages(known, at_s));
            }
            recent.mark(at_s, &ledger);
        }
        (ledger, recent)
    }

    fn view<'a>(ledger: &'a Ledger, recent: &'a Recent, rows: &'a [Row]) -> View<'a> {
        View {
            title: "2 agents",
            elapsed_s: 4.0,
            running: 2,
            nodes: 2,
            interval_s: 0.256,
            ledger,
            recent,
            rows,
            http: Some("127.0.0.1:7"),
            runtime_dir: "/tmp/tidings-demo-123456/n01",
            has_keys: false,
            killed: None,
        }
    }

    #[test]
    fn the_table_shows_the_spread_over_the_agents() {
        let (ledger, recent) = ledger([1, 2]);
        let row = Row {
            name: "n01".to_owned(),
            known: 2,
            age_avg_ms: 512.0,
            load1: Some(0.5),
            mem_available_bytes: None,
        };
        let text = view(&ledger, &recent, &[row]).lines(80, 40).join("\n");
        for line in [
            "2 of 2 agents up   4.0 s   entries are spreading",
            "[▄█]",
            "nodes known                  1.0        1.5        2.0",
            "average age, units           2.0        2.0        2.0",
            "messages sent, 1/s           4.0        4.0        4.0",
            "CPU, % of a core            0.20       0.20       0.20",
            "n01       2   512 ms    0.5              -",
            "web page http://127.0.0.1:7/   there too: /v1/nodes (JSON), /metrics",
        ] {
            assert!(text.contains(line), "{line}\nnot in\n{text}");
        }
    }

    #[test]
    fn a_low_screen_shows_fewer_nodes_but_the_address_and_how_to_end() {
        let (ledger, recent) = ledger([2, 2]);
        let row = Row {
            name: "n01".to_owned(),
            known: 2,
            age_avg_ms: 512.0,
            load1: None,
            mem_available_bytes: None,
        };
        let rows = [row.clone(), row.clone(), row];
        for height in [20, 14] {
            let lines = view(&ledger, &recent, &rows).lines(59, height);
            assert_eq!(lines.len(), height);
            let foot = &lines[height - 3..];
            assert!(foot[0].starts_with("web page http"), "{foot:?}");
            assert_eq!(foot[1], "tidings nodes --runtime-dir /tmp/tidings-demo-123456/n01");
            assert_eq!(foot[2], "Ctrl-C ends it");
            assert_eq!(lines[2], "2 of 2 agents up   4.0 s   all knew all after 1.0 s");
        }
    }

    #[test]
    fn before_the_first_answer_there_are_only_dashes() {
        let (ledger, recent) = (Ledger::new(2, 0.256), Recent::default());
        let view = view(&ledger, &recent, &[]);
        assert!(
            view.lines(80, 40)
                .iter()
                .any(|line| line.starts_with("nodes known") && line.ends_with('-'))
        );
        assert!(view.plain_line().ends_with('-'));
    }

    #[test]
    fn a_plain_line_fits_its_heading() {
        let (ledger, recent) = ledger([2, 2]);
        let line = view(&ledger, &recent, &[]).plain_line();
        assert_eq!(line.len(), View::plain_heading().len(), "{line}");
        let cells: Vec<_> = line.split_whitespace().collect();
        let expected = ["4.0", "2", "2", "2.0", "2.0", "4.0", "4.0", "1000", "0.20", "5.0"];
        assert_eq!(cells, expected);
    }

    #[test]
    fn the_summary_is_one_line() {
        let (ledger, _) = ledger([2, 2]);
        assert_eq!(
            summary(2, 4.0, 0.256, &ledger),
            "2 agents for 4.0 s: every agent knew every node after 1.0 s; average age 2.0 units (0.5 s), \
             oldest 4.0; a node sent 4.0 messages/s, 1000 B/s, for 0.20 % of a core, 5.0 MiB"
        );
    }
}
