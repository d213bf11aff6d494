//! The report of all colonies, in the terms of the control protocol.
//!
//! The own colony's aggregate is made from the vector at that moment; the others' are those that
//! came last, each with the time since it was made. The total merges those that are younger than
//! `forget_after`, as entries count until then.

use std::time::Duration;

use tidings_control::{AggregateReport, BinReport, Colonies, ColonyReport, ReadingReport};
use tidings_gossip::aggregate::{Reading, Summary};
use tidings_gossip::{Aggregate, Instant};

use super::Driver;

/// How many colonies there are, and the ages of their aggregates.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reach {
    /// Colonies known, the own one included; 0 in a cluster without colonies.
    pub(super) colonies: usize,
    /// Those with an aggregate.
    pub(super) heard: usize,
    /// The age of the oldest aggregate of another.
    pub(super) age_max: Option<Duration>,
}

impl Driver {
    pub(super) fn colonies(&self, now: Instant) -> Colonies {
        let node = &self.endpoint.node;
        let own = node.aggregate(now);
        let mut total = own.clone();
        let mut total_colonies = 1;
        let mut colonies = vec![ColonyReport {
            colony: node.colony().map(|id| id.0),
            age_ms: Some(0.0),
            aggregate: Some(report(&own, false)),
        }];
        for view in node.other_colonies(now) {
            let aggregate = view.aggregate();
            let counts = view.age.is_some_and(|age| age < self.settings.forget_after);
            if let Some(aggregate) = aggregate.as_ref().filter(|_| counts) {
                total.merge(aggregate);
                total_colonies += 1;
            }
            colonies.push(ColonyReport {
                colony: Some(view.id.0),
                age_ms: view.age.map(milliseconds),
                aggregate: aggregate.map(|aggregate| report(&aggregate, false)),
            });
        }
        colonies.sort_by_key(|report| report.colony);
        Colonies {
            cluster: self.settings.cluster.clone(),
            observer: node.name().to_owned(),
            colony: node.colony().map(|id| id.0),
            interval_ms: self.interval_ms(),
            colonies,
            total_colonies,
            total: report(&total, true),
        }
    }

    pub(super) fn reach(&self, now: Instant) -> Reach {
        let node = &self.endpoint.node;
        let own = usize::from(node.colony().is_some());
        let mut reach = Reach { colonies: own, heard: own, age_max: None };
        for view in node.other_colonies(now) {
            reach.colonies += 1;
            reach.heard += usize::from(view.age.is_some());
            reach.age_max = reach.age_max.max(view.age);
        }
        reach
    }
}

fn milliseconds(age: Duration) -> f64 {
    age.as_secs_f64() * 1e3
}

/// An aggregate; with the bins of its readings if they are wanted.
fn report(aggregate: &Aggregate, with_bins: bool) -> AggregateReport {
    let readings = Reading::ALL.iter().filter_map(|&reading| {
        let summary = summary(aggregate.summary(reading), with_bins)?;
        Some((reading.name().to_owned(), summary))
    });
    AggregateReport {
        nodes: aggregate.nodes(),
        fresh: aggregate.fresh(),
        stale: aggregate.stale(),
        left: aggregate.left(),
        dead: aggregate.dead(),
        unheard: aggregate.unheard(),
        age_avg_ms: aggregate.age_avg().map(milliseconds),
        age_max_ms: aggregate.age_max().map(milliseconds),
        readings: readings.collect(),
    }
}

/// `None` if no node has the reading.
fn summary(summary: Summary<'_>, with_bins: bool) -> Option<ReadingReport> {
    let bin = |bin: tidings_gossip::aggregate::Bin| BinReport {
        low: bin.low,
        high: bin.high,
        nodes: bin.count,
    };
    Some(ReadingReport {
        nodes: summary.count(),
        sum: summary.sum(),
        min: summary.min()?,
        mean: summary.mean()?,
        p50: summary.quantile(0.5)?,
        p90: summary.quantile(0.9)?,
        p99: summary.quantile(0.99)?,
        max: summary.max()?,
        histogram: if with_bins { summary.histogram().map(bin).collect() } else { Vec::new() },
    })
}
