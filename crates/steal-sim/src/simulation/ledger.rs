//! The ledger: what is counted while an iteration runs.

use std::collections::BTreeMap;

use tidings_steal::{Body, Counters, Ending, Message, Seeding};

use super::seat::Idle;
use crate::report::Iteration;
use crate::setting::Setting;

/// What a task of the list has that did not run.
const NOWHERE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Ledger {
    report: Iteration,
    began_ns: i64,
    before: Counters,
    /// Tasks that arose and did not run yet.
    left: u64,
    refusals_ns: Vec<i64>,
    /// Thieves that wait for each victim.
    thieves: BTreeMap<u32, u32>,
    /// Victims by thief.
    victims: Vec<Option<u32>>,
    ran_at: Vec<u32>,
    ran_before: Vec<u32>,
}

impl Ledger {
    pub(super) fn new(workers: u32, listed: usize) -> Self {
        Self {
            report: Iteration::default(),
            began_ns: 0,
            before: Counters::default(),
            left: 0,
            refusals_ns: Vec::new(),
            thieves: BTreeMap::new(),
            victims: vec![None; workers as usize],
            ran_at: vec![NOWHERE; listed],
            ran_before: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self, now_ns: i64, counters: impl Iterator<Item = Counters>) {
        self.report = Iteration::default();
        (self.began_ns, self.left) = (now_ns, 0);
        self.before = sum(counters);
        self.refusals_ns.clear();
        self.thieves.clear();
        self.victims.fill(None);
        let listed = self.ran_at.len();
        self.ran_before = core::mem::replace(&mut self.ran_at, vec![NOWHERE; listed]);
    }

    pub(super) fn arose(&mut self, tasks: u64) {
        self.left += tasks;
    }

    /// A task has run; whether no other is left.
    pub(super) fn ran(
        &mut self,
        worker: u32,
        number: Option<usize>,
        cost_ns: i64,
        now_ns: i64,
    ) -> bool {
        self.left = self.left.saturating_sub(1);
        self.report.work_ns += cost_ns;
        self.report.work_ended_ns = now_ns - self.began_ns;
        if let Some(place) = number.and_then(|number| self.ran_at.get_mut(number)) {
            if *place != NOWHERE {
                self.report.twice += 1;
            }
            *place = worker;
        }
        self.is_over()
    }

    pub(super) fn is_over(&self) -> bool {
        self.left == 0
    }

    pub(super) fn sent(&mut self, from: u32, to: u32, message: &Message, bytes: usize) {
        self.report.messages += 1;
        self.report.bytes += bytes as u64;
        if matches!(message.body, Body::Steal { .. }) {
            let waiting = self.thieves.entry(to).or_default();
            *waiting += 1;
            self.report.thieves_at_once = self.report.thieves_at_once.max(*waiting);
            self.victims[from as usize] = Some(to);
        }
    }

    pub(super) fn answered_by(&mut self, thief: u32, victim: u32) {
        if self.victims[thief as usize] == Some(victim) {
            self.victims[thief as usize] = None;
            if let Some(waiting) = self.thieves.get_mut(&victim) {
                *waiting -= 1;
            }
        }
    }

    pub(super) fn refused(&mut self, thief: u32, victim: u32, now_ns: i64) {
        self.answered_by(thief, victim);
        self.refusals_ns.push(now_ns);
    }

    pub(super) fn idled(&mut self, idle: Idle, for_ns: i64) {
        let total = match idle {
            Idle::Waiting => &mut self.report.waiting_ns,
            Idle::Searching => &mut self.report.searching_ns,
            Idle::Terminating => &mut self.report.terminating_ns,
        };
        *total += for_ns;
    }

    pub(super) fn seeded(&mut self, seeding: Seeding) {
        self.report.seeding = Some(seeding);
    }

    pub(super) fn ended(&mut self, ending: Ending) {
        self.report.endings.push(ending);
    }

    pub(super) fn end(
        &mut self,
        now_ns: i64,
        setting: &Setting,
        counters: impl Iterator<Item = Counters>,
    ) -> Iteration {
        let mut report = core::mem::take(&mut self.report);
        report.makespan_ns = now_ns - self.began_ns;
        let possible = setting.speed() * report.makespan_ns as f64;
        report.efficiency = report.work_ns as f64 / possible.max(1.0);
        let late_ns = now_ns - report.makespan_ns / 20;
        report.late_refusals = self.refusals_ns.iter().filter(|at| **at >= late_ns).count() as u64;
        report.counters = difference(sum(counters), self.before);
        report.never = self.ran_at.iter().filter(|at| **at == NOWHERE).count() as u64;
        report.once = (self.ran_at.len() as u64).saturating_sub(report.never + report.twice);
        let again = self.ran_at.iter().zip(&self.ran_before);
        let retained = again.filter(|(at, before)| at == before && **at != NOWHERE).count();
        report.retained = retained as f64 / self.ran_at.len().max(1) as f64;
        report
    }
}

/// The counters of all workers.
fn sum(counters: impl Iterator<Item = Counters>) -> Counters {
    counters.fold(Counters::default(), |sum, one| combine(sum, one, u64::wrapping_add))
}

fn difference(later: Counters, earlier: Counters) -> Counters {
    combine(later, earlier, u64::wrapping_sub)
}

fn combine(one: Counters, other: Counters, with: fn(u64, u64) -> u64) -> Counters {
    Counters {
        executed: with(one.executed, other.executed),
        spawned: with(one.spawned, other.spawned),
        attempts: with(one.attempts, other.attempts),
        steals: with(one.steals, other.steals),
        refused: with(one.refused, other.refused),
        pushed: with(one.pushed, other.pushed),
        guided: with(one.guided, other.guided),
        tasks_in: with(one.tasks_in, other.tasks_in),
        lifelines: with(one.lifelines, other.lifelines),
        rounds: with(one.rounds, other.rounds),
        ignored: with(one.ignored, other.ignored),
    }
}
