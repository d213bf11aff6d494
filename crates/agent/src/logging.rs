//! Log lines on the standard error, as text or as JSON, with a level that can change at run time.
//!
//! What can happen a thousand times a second is counted, not logged; what is rare but may come in
//! bursts goes through a [`Budget`].

use std::io::IsTerminal;
use std::time::Duration;

use tidings_gossip::Instant;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{Registry, fmt, reload};

use crate::config::LogFormat;

/// Changes the level of a running agent.
#[derive(Clone, Debug)]
pub(crate) struct LevelHandle(reload::Handle<Targets, Registry>);

impl LevelHandle {
    /// Applies `filter`, a level or `TARGET=LEVEL` pairs, which the configuration has checked.
    pub(crate) fn set(&self, filter: &str) {
        if self.0.reload(targets(filter)).is_err() {
            tracing::warn!("the log level stays: the subscriber is gone");
        }
    }
}

/// Starts logging. Only the first call of a process has an effect.
pub(crate) fn start(filter: &str, format: LogFormat) -> LevelHandle {
    let (filter, handle) = reload::Layer::new(targets(filter));
    let registry = Registry::default().with(filter);
    let line = fmt::layer().with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Text => {
            let ansi = std::io::stderr().is_terminal();
            registry.with(line.with_ansi(ansi).with_target(false)).try_init()
        }
        LogFormat::Json => registry.with(line.json().flatten_event(true)).try_init(),
    };
    drop(started); // an error says that the process logs already
    LevelHandle(handle)
}

fn targets(filter: &str) -> Targets {
    filter.parse().unwrap_or_else(|_| Targets::new().with_default(tracing::Level::INFO))
}

/// Allows at most this many log lines in a period, and counts the others.
#[derive(Debug)]
pub(crate) struct Budget {
    lines: u32,
    period: Duration,
    begun: Option<Instant>,
    used: u32,
    withheld: u64,
}

impl Budget {
    /// A budget of `lines` in every `period`.
    pub(crate) fn new(lines: u32, period: Duration) -> Self {
        Self { lines, period, begun: None, used: 0, withheld: 0 }
    }

    /// Whether a line may be logged at `now`; if so, how many were withheld since the last.
    pub(crate) fn allow(&mut self, now: Instant) -> Option<u64> {
        if self.begun.is_none_or(|begun| now.saturating_since(begun) >= self.period) {
            self.begun = Some(now);
            self.used = 0;
        }
        if self.used == self.lines {
            self.withheld += 1;
            return None;
        }
        self.used += 1;
        Some(std::mem::take(&mut self.withheld))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_withholds_lines_above_it_and_counts_them() {
        let mut budget = Budget::new(2, Duration::from_secs(1));
        let at = |ms: i64| Instant::from_micros(ms * 1000);
        let allowed: Vec<_> =
            [0, 1, 2, 3, 1000, 1001].map(|ms| budget.allow(at(ms))).into_iter().collect();
        assert_eq!(allowed, [Some(0), Some(0), None, None, Some(2), Some(0)]);
    }
}
