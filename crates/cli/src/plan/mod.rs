//! `tidings plan`: the interval, window and strategy that keep an age, and their cost.
//!
//! The answer comes from the model of the core (`tidings_gossip::model`), inverted: for each
//! interval and strategy the smallest window that reaches the goal, and of those the cheapest, in
//! bytes per second and then in datagrams. Nothing is simulated, no agent is asked.

mod choice;
mod failure;
mod report;

use clap::Args;
use tidings_gossip::Strategy;
use tidings_nodes::units::Unit;

use crate::{Failure, output};
use choice::{Asked, Costed, Goal};
pub use failure::PlanError;

const AFTER_HELP: &str = concat!(
    "\
Examples:
  tidings plan --nodes 1024 --entry 64 --age 1s
  tidings plan --nodes 4096 --entry 64 --age 3s --quantile 0.99
  tidings plan --nodes 1024 --entry 256 --age 500ms --budget 100kB/s --json
docs/reference/plan.md describes the object that --json prints.",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings plan`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    /// How many nodes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1_048_576))]
    nodes: u32,
    /// Bytes of payload in an entry, as the agent's payload_bytes; 12 more are added
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(0..=1024))]
    entry: u16,
    /// Bytes of an entry as a change, where nodes write version 3: 7 with the usual readings
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(1..=1036))]
    change: Option<u16>,
    /// The average age that entries must keep, such as 3s
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    age: f64,
    /// Instead of the average: the share of entries that must be no older, such as 0.99
    #[arg(long, value_name = "SHARE", value_parser = quantile)]
    quantile: Option<f64>,
    /// The most that a node may send, such as 1MB/s
    #[arg(long, value_name = "BYTES/S", value_parser = bytes_a_second)]
    budget: Option<f64>,
    /// Probability that a datagram is lost
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = loss)]
    loss: f64,
    /// Only this strategy [default: the cheapest of uniform, spread and grid]
    #[arg(long, value_name = "NAME")]
    strategy: Option<Strategy>,
    /// The smallest MTU on the paths, as the agent's
    #[arg(long, value_name = "BYTES", default_value_t = 1500)]
    #[arg(value_parser = clap::value_parser!(u16).range(576..))]
    mtu: u16,
    /// Print the plan as one JSON object
    #[arg(long)]
    json: bool,
}

fn measured(unit: Unit, text: &str) -> Result<f64, String> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, typed) = text.split_at(digits);
    let wrong = || format!("write a number with one of the units {}", unit.typed_units());
    let scale = unit.scale(typed.trim()).filter(|_| !typed.is_empty()).ok_or_else(wrong)?;
    let value = number.parse::<f64>().map_err(|_| wrong())? * scale;
    if value > 0.0 && value.is_finite() { Ok(value) } else { Err("it must be above 0".to_owned()) }
}

fn milliseconds(text: &str) -> Result<f64, String> {
    measured(Unit::Milliseconds, text)
}

fn bytes_a_second(text: &str) -> Result<f64, String> {
    measured(Unit::BytesPerSecond, text)
}

fn quantile(text: &str) -> Result<f64, &'static str> {
    let share = text.parse::<f64>().ok().filter(|share| (0.01..=0.999).contains(share));
    share.ok_or("write a share from 0.01 to 0.999")
}

fn loss(text: &str) -> Result<f64, &'static str> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=0.5).contains(share));
    share.ok_or("write a probability from 0 to 0.5")
}

impl Options {
    fn asked(&self) -> Asked {
        Asked {
            nodes: self.nodes as usize,
            payload_bytes: self.entry,
            change_bytes: self.change,
            goal: Goal { age_ms: self.age, quantile: self.quantile },
            loss: self.loss,
            mtu_bytes: self.mtu,
        }
    }
}

/// Plans and prints.
///
/// # Errors
/// [`Failure::Plan`], or a failure to print.
pub fn run(options: &Options) -> Result<(), Failure> {
    let asked = options.asked();
    let strategies = match options.strategy {
        Some(strategy) => vec![strategy],
        // The models of the others take long, and `grid` is cheaper than both.
        None => vec![Strategy::Grid, Strategy::Spread, Strategy::Uniform],
    };
    let cheapest = asked.cheapest(&strategies).map_err(Failure::Plan)?;
    let uniform = asked.cheapest(&[Strategy::Uniform]).map_err(Failure::Plan)?;
    let (plan, failure) = decide(&asked, &strategies, options.budget, cheapest)?;
    if let Some(plan) = &plan {
        let report = report::Report::of(&asked, options.budget, plan, uniform.as_ref());
        if options.json {
            output::print_json(&report)?;
        } else {
            output::print(&report.text())?;
        }
    }
    failure.map_or(Ok(()), |failure| Err(Failure::Plan(failure)))
}

/// What to print, and the failure, if any.
fn decide(
    asked: &Asked,
    strategies: &[Strategy],
    budget: Option<f64>,
    cheapest: Option<Costed>,
) -> Result<(Option<Costed>, Option<PlanError>), Failure> {
    let goal = asked.goal.to_string();
    let Some(cheapest) = cheapest else {
        let best = asked.freshest(strategies, f64::INFINITY).map_err(Failure::Plan)?;
        let (best_age_ms, best_bytes_s) =
            best.map_or((f64::NAN, f64::NAN), |best| (best.age_ms(&asked.goal), best.bytes_s()));
        return Err(Failure::Plan(PlanError::Unreachable { goal, best_age_ms, best_bytes_s }));
    };
    let needed_bytes_s = cheapest.bytes_s();
    match budget.filter(|budget| needed_bytes_s > *budget) {
        None => Ok((Some(cheapest), None)),
        Some(budget_bytes_s) => {
            let best = asked.freshest(strategies, budget_bytes_s).map_err(Failure::Plan)?;
            Ok((best, Some(PlanError::Budget { goal, needed_bytes_s, budget_bytes_s })))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_carry_units() {
        assert_eq!(milliseconds("3s"), Ok(3_000.0));
        assert_eq!(milliseconds("0.5s"), Ok(500.0));
        assert_eq!(bytes_a_second("1MB/s"), Ok(1e6));
        for text in ["3", "s", "-1s", "0s", "3 parsecs", ""] {
            assert!(milliseconds(text).is_err(), "{text}");
        }
        assert!(quantile("1").is_err() && quantile("NaN").is_err() && quantile("0.99").is_ok());
        assert!(loss("0.6").is_err() && loss("0.1").is_ok());
    }
}
