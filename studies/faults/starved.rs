//! What do agents know that all together get 5 % of one processor for a minute?
//!
//! Real agents, each on a host of its own (a network namespace), with the default intervals (256 ms
//! a unit, a reading of the machine each second), all in one control group. Ages are read from
//! their boards five times in three units, which costs the agents nothing: for 20 s without a
//! limit, for 60 s with it, and then without again until they are as before. The reference is the
//! age before. Asked for: at most twice that, no false death, and ages as before within 5 s after.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tidings_experiment::agents::{Boards, Look, Site};
use tidings_experiment::hosts::Hosts;
use tidings_experiment::quota::Quota;
use tidings_studies::table::{self, Made};

/// Between looks. Agents that were late together go on in step, and looks once a unit would then
/// meet all of them just before they send, or just after: half a unit too old, or too young.
const PACE: Duration = Duration::from_millis(158);
/// The looks that are averaged where one alone would say when in a unit it was made.
const TOGETHER: usize = 5;
/// As agents are by default: those of tests read their machines ten times a second, which takes as
/// much as all the rest.
const FLAGS: [&str; 4] = ["--interval", "256ms", "--collect-interval", "1s"];
/// The share of one processor that all agents get together.
const PERCENT: f64 = 5.0;
/// Ages are as before when they are older than that by no more than this.
const AS_BEFORE: f64 = 1.1;

/// Numbers of agents, and looks: before, with the quota, and after, at most.
struct Plan {
    agents: &'static [usize],
    looks: [usize; 3],
}

const MEASURED: Plan = Plan { agents: &[16, 48], looks: [126, 380, 126] };
const TINY: Plan = Plan { agents: &[3], looks: [5, 5, 5] };

fn main() -> ExitCode {
    table::make("starved", "studies/faults/run", None, |is_measured| {
        Ok::<_, Infallible>(all(if is_measured { &MEASURED } else { &TINY }))
    })
}

fn all(plan: &Plan) -> Made {
    let mut table = "agents,phase,time_s,age_avg_ms,age_max_ms,estranged_pairs\n".to_owned();
    let mut facts = Map::new();
    for &agents in plan.agents {
        let found = measure(agents, plan.looks, &mut table);
        let _ = writeln!(std::io::stderr(), "{agents} agents: {found}");
        facts.insert(format!("agents_{agents}"), found);
    }
    (table, facts)
}

/// One phase's looks, with the time of each since its begin, in seconds.
type Phase = Vec<(f64, Look)>;

fn measure(agents: usize, looks: [usize; 3], table: &mut String) -> Value {
    let quota = Quota::new();
    let site = Site::new(Hosts::new(agents), &FLAGS);
    for host in site.all() {
        quota.admit(site.agent(host).process());
    }
    let mut boards = Boards::of(&site, &site.all());
    let (used_s, began) = (processor_s(&site), Instant::now());
    let before = watch(&mut boards, looks[0], |_| false);
    let share = (processor_s(&site) - used_s) / began.elapsed().as_secs_f64();
    quota.limit(PERCENT);
    let starved = watch(&mut boards, looks[1], |_| false);
    let (throttled, periods) = quota.throttled();
    quota.lift();
    let usual_ms = average_ms(&before);
    let is_as_before = |phase: &[(f64, Look)]| {
        let last = &phase[phase.len().saturating_sub(TOGETHER)..];
        let is_whole = last.len() == TOGETHER && last.iter().all(|(_, look)| look.estranged == 0);
        is_whole && average_ms(last) <= AS_BEFORE * usual_ms
    };
    let after = watch(&mut boards, looks[2], is_as_before);
    for (phase, looks) in [("before", &before), ("starved", &starved), ("after", &after)] {
        for (time_s, look) in looks {
            let Look { age_avg_ms, age_max_ms, estranged } = look;
            let _ = writeln!(
                table,
                "{agents},{phase},{time_s:.2},{age_avg_ms:.1},{age_max_ms:.1},{estranged}"
            );
        }
    }
    let back = after.last().filter(|_| is_as_before(&after)).map(|(time_s, _)| *time_s);
    let estranged = starved.iter().chain(&after).map(|(_, look)| look.estranged).max();
    json!({
        "processor_share_before": share,
        "age_avg_ms_before": usual_ms,
        "age_avg_ms_starved": average_ms(&starved),
        "age_max_ms_before": oldest_ms(&before),
        "age_max_ms_starved": oldest_ms(&starved),
        "as_before_after_s": back,
        "estranged_pairs_at_most": estranged,
        "deaths_declared": site.count(&site.all(), "deaths_declared"),
        "deaths_outlived": site.count(&site.all(), "deaths_outlived"),
        "periods_throttled": throttled,
        "periods": periods,
        "load_after": std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim(),
    })
}

/// So many looks, or until `ends`.
fn watch(boards: &mut Boards, looks: usize, ends: impl Fn(&[(f64, Look)]) -> bool) -> Phase {
    let began = Instant::now();
    let mut phase = Phase::new();
    while phase.len() < looks && !ends(&phase) {
        sleep(PACE); // a measurement's pace, nothing waits for what happens meanwhile
        phase.push((began.elapsed().as_secs_f64(), boards.look()));
    }
    phase
}

fn average_ms(phase: &[(f64, Look)]) -> f64 {
    phase.iter().map(|(_, look)| look.age_avg_ms).sum::<f64>() / phase.len() as f64
}

fn oldest_ms(phase: &[(f64, Look)]) -> f64 {
    phase.iter().map(|(_, look)| look.age_max_ms).fold(0.0, f64::max)
}

/// What all agents have used of processors so far, in seconds.
fn processor_s(site: &Site) -> f64 {
    site.all().iter().map(|&host| site.agent(host).status().cpu_seconds).sum()
}
