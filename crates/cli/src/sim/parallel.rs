//! Independent runs in parallel: the processors share them, one bar shows their progress.
//!
//! The longest runs begin first, each on a free processor, so that none is left for the end. The
//! results are in the order of the request and depend on the scenarios alone. There are never more
//! runs at a time than their memory limit allows.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use tidings_sim::{Mode, Report, Scenario, ScenarioError, memory};

use super::failure::SimulationError;
use super::watch::{Stop, Watch};

/// Runs that are being shared.
struct Work<'a> {
    scenarios: &'a [Scenario],
    /// Numbers of the runs, the longest first.
    order: Vec<usize>,
    /// Place in `order` of the next run to begin.
    next: AtomicUsize,
    /// Steps done, of all runs together.
    steps: AtomicU64,
    /// Steps to do.
    all_steps: u64,
    stop: &'a Stop,
    shown: Mutex<Shown<'a>>,
}

/// What the workers share under a lock.
struct Shown<'a> {
    watch: Watch<'a>,
    reports: Vec<Option<Report>>,
    done: u32,
}

/// How many of these scenarios are run at a time: one per processor, fewer if memory is short.
pub(super) fn at_a_time(scenarios: &[Scenario]) -> usize {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let dearest = scenarios.iter().max_by_key(|scenario| memory::estimate_bytes(scenario));
    let fitting = dearest.map_or(1, |scenario| {
        let limit_bytes = scenario.memory_limit_mib.saturating_mul(1 << 20);
        limit_bytes / memory::estimate_bytes(scenario).max(1)
    });
    processors.min(scenarios.len()).min(fitting as usize).max(1)
}

/// Checks all scenarios, then runs them; a run that did not reach its end is `None`.
///
/// # Errors
/// The first scenario that cannot be run; nothing was simulated then.
pub(super) fn run_all(
    scenarios: &[Scenario],
    stop: &Stop,
) -> Result<Vec<Option<Report>>, ScenarioError> {
    scenarios.iter().try_for_each(Scenario::check)?;
    let mut order: Vec<usize> = (0..scenarios.len()).collect();
    order.sort_unstable_by_key(|&run| core::cmp::Reverse(steps(&scenarios[run])));
    let reports = vec![None; scenarios.len()];
    let work = Work {
        scenarios,
        order,
        next: AtomicUsize::new(0),
        steps: AtomicU64::new(0),
        all_steps: scenarios.iter().map(steps).sum(),
        stop,
        shown: Mutex::new(Shown { watch: Watch::of(stop), reports, done: 0 }),
    };
    thread::scope(|scope| {
        let crew = 0..at_a_time(scenarios);
        let workers: Vec<_> = crew.map(|_| scope.spawn(|| work.run())).collect();
        let ends = workers.into_iter().map(|worker| worker.join().expect("no worker panics"));
        ends.collect::<Result<(), ScenarioError>>()
    })?;
    let mut shown = work.shown.into_inner().expect("no worker panics");
    shown.watch.end();
    Ok(shown.reports)
}

/// Checks all scenarios, before anything else is done about them.
///
/// # Errors
/// The first that cannot be run.
pub(super) fn check_all(groups: &[Vec<Scenario>]) -> Result<(), SimulationError> {
    Ok(groups.iter().flatten().try_for_each(Scenario::check)?)
}

/// Runs groups of scenarios, all of them side by side; gives the reports of each group.
///
/// # Errors
/// What [`run_all`] rejects, or [`SimulationError::Unfinished`] if it was stopped.
pub(super) fn run_groups(
    groups: &[Vec<Scenario>],
    stop: &Stop,
) -> Result<Vec<Vec<Report>>, SimulationError> {
    let reports = run_all(&groups.concat(), stop)?;
    let (done, all) = (reports.iter().flatten().count() as u32, reports.len() as u32);
    if done < all {
        return Err(SimulationError::Unfinished { done, all });
    }
    let mut reports = reports.into_iter().flatten();
    Ok(groups.iter().map(|group| reports.by_ref().take(group.len()).collect()).collect())
}

/// The cost of a run: a step is one pass over one row.
fn steps(scenario: &Scenario) -> u64 {
    let (nodes, units) = (u64::from(scenario.cluster.nodes), u64::from(scenario.all_units()));
    units * unit_steps(scenario.mode, nodes)
}

fn unit_steps(mode: Mode, nodes: u64) -> u64 {
    let entries = nodes.saturating_mul(nodes);
    match mode {
        // A real node costs about a hundred times a row.
        Mode::Full => entries.saturating_mul(100),
        Mode::Compact => entries,
    }
}

impl Work<'_> {
    /// One worker: takes runs until none is left or it is to stop.
    fn run(&self) -> Result<(), ScenarioError> {
        while let Some(&run) = self.order.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            if self.stop.is_set() {
                return Ok(());
            }
            let scenario = &self.scenarios[run];
            let each = unit_steps(scenario.mode, u64::from(scenario.cluster.nodes));
            let start = Instant::now();
            let mut report = tidings_sim::run(scenario, &mut |_, _| {
                self.steps.fetch_add(each, Ordering::Relaxed);
                // A thread that finds the bar busy skips it until its next unit.
                if let Ok(mut shown) = self.shown.try_lock() {
                    self.show(&mut shown);
                }
                self.stop.verdict()
            })?;
            report.wall_s = Some(start.elapsed().as_secs_f64());
            let mut shown = self.shown.lock().expect("no worker panics while it holds the lock");
            shown.done += u32::from(report.complete);
            shown.reports[run] = report.complete.then_some(report);
            self.show(&mut shown);
        }
        Ok(())
    }

    fn show(&self, shown: &mut Shown<'_>) {
        let share = self.steps.load(Ordering::Relaxed) as f64 / self.all_steps.max(1) as f64;
        shown.watch.share(share, shown.done, self.scenarios.len() as u32, "runs");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenarios(nodes: &[u32]) -> Vec<Scenario> {
        let of = |&nodes: &u32| {
            let mut scenario = Scenario { units: 4, warmup_units: 2, ..Scenario::default() };
            scenario.cluster.nodes = nodes;
            scenario
        };
        nodes.iter().map(of).collect()
    }

    #[test]
    fn reports_come_in_the_order_asked_for_and_are_those_of_single_runs() {
        let stop = Stop::at_signals().expect("signals can be caught");
        let all = scenarios(&[5, 40, 3, 20]);
        let reports = run_all(&all, &stop).expect("possible");
        for (scenario, report) in all.iter().zip(reports) {
            let mut report = report.expect("nobody stopped it");
            assert!(report.wall_s.take().is_some_and(|wall_s| wall_s > 0.0));
            let alone = tidings_sim::run(scenario, &mut |_, _| stop.verdict());
            assert_eq!(Ok(report), alone);
        }
    }

    #[test]
    fn nothing_is_run_if_one_scenario_is_impossible() {
        let stop = Stop::at_signals().expect("signals can be caught");
        let refused = run_all(&scenarios(&[5, 0]), &stop).expect_err("zero nodes");
        assert!(refused.to_string().contains("nodes is 0"), "{refused}");
    }

    #[test]
    fn runs_share_the_memory_they_may_use() {
        let mut all = scenarios(&[1_000; 9]);
        let processors = thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(at_a_time(&all), processors.min(9));
        for scenario in &mut all {
            scenario.memory_limit_mib = memory::estimate_bytes(scenario).div_ceil(1 << 20);
        }
        assert_eq!(at_a_time(&all), 1);
    }
}
