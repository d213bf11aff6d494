//! How soon is a killed agent known to be dead, to half of the others and to all?
//!
//! 48 real agents, each on a host of its own (a network namespace), 256 ms a unit; 20 of them are
//! killed (SIGKILL), one after the other, and started again; then 20 hosts lose power: their cable
//! is pulled just before. When each of the others knew is told by its event stream, stamped with
//! the wall clock of the machine, which is that of the kill. The references are the times asked
//! for: half in 1.5 s and all in 2.5 s, medians of 20; 5 s at worst, 4 s with 10 % of the datagrams
//! lost; all know of a host without power within 3 s. All agents share the machine's processors,
//! which is part of the times: below a few milliseconds they mean nothing.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use serde_json::{Map, Value};
use tidings_experiment::agents::{Kill, Site, Vigil, median};
use tidings_experiment::hosts::Hosts;
use tidings_studies::table::{self, Made};

/// Agents, kills of each sort under each loss, and losses in per cent.
struct Plan {
    agents: usize,
    kills: usize,
    losses: &'static [u32],
}

const MEASURED: Plan = Plan { agents: 48, kills: 20, losses: &[0, 10] };
const TINY: Plan = Plan { agents: 4, kills: 1, losses: &[10] };

/// What ends an agent.
#[derive(Clone, Copy, Debug)]
enum End {
    /// Its host refuses what is sent to it.
    Killed,
    /// Nothing comes from its host any more.
    WithoutPower,
}

impl End {
    fn name(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::WithoutPower => "without power",
        }
    }
}

/// Rounds between a return and the next kill.
const REST_ROUNDS: u64 = 20;
/// Hosts passed over from kill to kill: prime to their number, so that no host comes twice.
const STRIDE: usize = 7;
/// The seeds of all are not killed.
const SEEDS: usize = 3;

fn main() -> ExitCode {
    table::make("deaths-agents", "studies/deaths/run", None, |is_measured| {
        Ok::<_, Infallible>(measure(if is_measured { &MEASURED } else { &TINY }))
    })
}

fn measure(plan: &Plan) -> Made {
    let mut table = "end,loss_percent,kill,host,others,half_ms,all_ms\n".to_owned();
    let mut facts = Map::new();
    facts.insert("load_before".to_owned(), load());
    let mut site = Site::new(Hosts::new(plan.agents), &["--interval", "256ms"]);
    let mut vigil = Vigil::over(&site, &site.all());
    for end in [End::Killed, End::WithoutPower] {
        for &percent in plan.losses {
            for host in site.all() {
                site.hosts.lose(host, percent);
            }
            let kills = kill_some(&mut site, &mut vigil, plan.kills, end);
            for (number, kill) in (1..).zip(&kills) {
                let Kill { host, known_ms } = kill;
                let (others, half, all) = (known_ms.len(), kill.half_ms(), kill.all_ms());
                let case = format!("{},{percent},{number},{host},{others}", end.name());
                let _ = writeln!(table, "{case},{half:.0},{all:.0}");
            }
            say(end, percent, &kills);
        }
    }
    site.hosts.heal();
    site.until_all_know(&site.all());
    facts.insert("agents".to_owned(), plan.agents.into());
    facts.insert("interval_ms".to_owned(), 256.into());
    facts.insert("false_deaths".to_owned(), vigil.look_back().into());
    facts.insert("outlived".to_owned(), site.count(&site.all(), "deaths_outlived").into());
    facts.insert("load_after".to_owned(), load());
    (table, facts)
}

fn say(end: End, percent: u32, kills: &[Kill]) {
    let half = median(kills.iter().map(Kill::half_ms));
    let all = median(kills.iter().map(Kill::all_ms));
    let worst = kills.iter().map(Kill::all_ms).fold(0.0, f64::max);
    let line = format!(
        "{}, {percent} % lost: half {half:.0} ms, all {all:.0} ms (medians of {}), all at worst \
         {worst:.0} ms",
        end.name(),
        kills.len()
    );
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn kill_some(site: &mut Site, vigil: &mut Vigil, kills: usize, end: End) -> Vec<Kill> {
    let mortal = site.hosts.count() - SEEDS;
    let mut known = Vec::new();
    for number in 0..kills {
        let host = SEEDS + 1 + number * STRIDE % mortal;
        let others = site.all_but(&[host]);
        site.pass_rounds(1, REST_ROUNDS);
        known.push(match end {
            End::Killed => vigil.kill(site, host, &others),
            End::WithoutPower => vigil.cut_power(site, host, &others),
        });
        vigil.revive(site, host, &others);
    }
    known
}

/// Processes that wanted a processor in the last minute, on average: others than this, too.
fn load() -> Value {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split(' ').next().and_then(|load| load.parse::<f64>().ok());
    first.map_or(Value::Null, Value::from)
}
