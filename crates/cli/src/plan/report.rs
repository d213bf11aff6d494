//! A plan as a table for people and as an object for programs (docs/reference/plan.md).

use serde::Serialize;

use tidings_nodes::units::{Unit, plain, round_to};

use super::choice::{Asked, Costed};
use crate::table::{self, Align};

/// Nanoseconds of CPU time for each datagram sent and received, and for each entry and byte of
/// payload in it. From runs of studies/busy-share (AMD EPYC, virtual; sealed, 1,452 bytes): a unit
/// of 1,024 nodes takes 29 to 32 µs for 204 entries of 64 bytes in 12 datagrams, and 302 to 330 µs
/// for 204 entries of 1,024 bytes, one per datagram. Sockets are not counted.
const DATAGRAM_NS: f64 = 750.0;
const ENTRY_NS: f64 = 60.0;
const BYTE_NS: f64 = 0.62;

/// A plan and its surroundings.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    nodes: usize,
    payload_bytes: u16,
    change_bytes: Option<u16>,
    loss: f64,
    goal_age_ms: f64,
    goal_quantile: Option<f64>,
    budget_bytes_s: Option<f64>,
    /// Whether the goal is kept within the budget.
    reached: bool,
    plan: Choice,
    /// The cheapest with strategy `uniform` for the same goal, if it reaches it.
    uniform: Option<Choice>,
}

/// A choice, its age and its cost per node.
#[derive(Debug, Serialize)]
struct Choice {
    interval_ms: u32,
    window_entries: usize,
    strategy: &'static str,
    age_avg_units: f64,
    age_quantile: f64,
    age_quantile_units: f64,
    age_max_units: f64,
    age_avg_ms: f64,
    age_quantile_ms: f64,
    age_max_ms: f64,
    bytes_s: f64,
    datagrams_s: f64,
    cpu_share: f64,
}

impl Choice {
    fn of(asked: &Asked, choice: &Costed) -> Self {
        let quantile = asked.goal.quantile.unwrap_or(0.99);
        let forecast = &choice.forecast;
        let (quantile_units, max_units) =
            (forecast.quantile_units(quantile), forecast.oldest_units());
        let ms = |units: f64| round_to(units * f64::from(choice.interval_ms), 1);
        let entry_ns = ENTRY_NS + BYTE_NS * f64::from(asked.payload_bytes);
        let unit_ns = DATAGRAM_NS * forecast.datagrams + entry_ns * forecast.entries;
        Self {
            interval_ms: choice.interval_ms,
            window_entries: choice.window_entries,
            strategy: choice.strategy.name(),
            age_avg_units: round_to(forecast.age_avg_units, 3),
            age_quantile: quantile,
            age_quantile_units: round_to(quantile_units, 3),
            age_max_units: round_to(max_units, 3),
            age_avg_ms: ms(forecast.age_avg_units),
            age_quantile_ms: ms(quantile_units),
            age_max_ms: ms(max_units),
            bytes_s: round_to(choice.bytes_s(), 1),
            datagrams_s: round_to(choice.datagrams_s(), 2),
            cpu_share: round_to(unit_ns * choice.units_s() / 1e9, 8),
        }
    }

    fn cells(&self) -> [String; 8] {
        let age =
            |ms: f64, units: f64| format!("{} ({units:.2} units)", Unit::Milliseconds.humanise(ms));
        [
            self.strategy.to_owned(),
            format!("{} ms", self.interval_ms),
            format!("{} entries", self.window_entries),
            age(self.age_avg_ms, self.age_avg_units),
            age(self.age_quantile_ms, self.age_quantile_units),
            age(self.age_max_ms, self.age_max_units),
            format!(
                "{} in {:.1} datagrams/s",
                Unit::BytesPerSecond.humanise(self.bytes_s),
                self.datagrams_s
            ),
            format!("{} % of a core", plain(round_to(100.0 * self.cpu_share, 4))),
        ]
    }
}

impl Report {
    pub(super) fn of(
        asked: &Asked,
        budget_bytes_s: Option<f64>,
        plan: &Costed,
        uniform: Option<&Costed>,
    ) -> Self {
        Self {
            nodes: asked.nodes,
            payload_bytes: asked.payload_bytes,
            change_bytes: asked.change_bytes,
            loss: asked.loss,
            goal_age_ms: asked.goal.age_ms,
            goal_quantile: asked.goal.quantile,
            budget_bytes_s,
            reached: plan.age_ms(&asked.goal) <= asked.goal.age_ms,
            plan: Choice::of(asked, plan),
            uniform: uniform.map(|uniform| Choice::of(asked, uniform)),
        }
    }

    /// The table for people: one line per quantity, the plan next to `uniform`.
    pub(super) fn text(&self) -> String {
        let quantile = format!("age of {} %", plain(100.0 * self.plan.age_quantile));
        let names = [
            "strategy",
            "interval",
            "window",
            "average age",
            &quantile,
            "oldest entry",
            "each node sends",
            "CPU time",
        ];
        let beside = self.uniform.as_ref().filter(|uniform| uniform.strategy != self.plan.strategy);
        let other = beside.map(Choice::cells);
        let rows = names.iter().zip(self.plan.cells()).enumerate().map(|(line, (name, cell))| {
            let mut row = vec![(*name).to_owned(), cell];
            row.extend(other.as_ref().map(|cells| cells[line].clone()));
            row
        });
        let mut headings = vec![("", Align::Left); 2];
        headings.extend(other.as_ref().map(|_| ("", Align::Left)));
        table::render(&headings, &rows.collect::<Vec<_>>())
    }
}
