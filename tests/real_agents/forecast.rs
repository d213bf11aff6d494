//! The model of `plan` and `age_target` against agents that run, where entries go as changes.

use tidings_control::Status;
use tidings_experiment::agents::Cluster;
use tidings_gossip::dissemination::layout::Budget;
use tidings_gossip::wire::{frame_bytes, overhead_bytes};
use tidings_gossip::{Config, Strategy, model};

const AGENTS: usize = 32;
const FLAGS: [&str; 8] =
    ["--interval", "100ms", "--strategy", "grid", "--window", "30%", "--wire-version", "3"];

/// Rounds of an agent in a period; the first periods find out what changes take.
const ROUNDS: u64 = 50;
/// A busy machine makes agents late: one of so many periods in a row has to agree.
const PERIODS: usize = 12;
/// How far the model may be off.
const CLOSE: f64 = 0.2;

/// What agents have counted: rounds, bytes of all that they sent, and bytes and entries of answers.
struct Counted([f64; 4]);

impl Counted {
    fn of(all: &[Status]) -> Self {
        let names = ["rounds", "bytes_sent", "answer_bytes_received", "answer_entries_received"];
        Self(names.map(|name| all.iter().map(|status| status.counters[name] as f64).sum()))
    }

    fn since(&self, before: &Self) -> [f64; 4] {
        [0, 1, 2, 3].map(|at| self.0[at] - before.0[at])
    }
}

fn all(cluster: &Cluster, names: &[String]) -> Vec<Status> {
    names.iter().map(|name| cluster.agent(name).status()).collect()
}

/// The mean age of entries of others in a period, in units, and what was counted in it.
fn period(cluster: &Cluster, names: &[String]) -> (f64, [f64; 4]) {
    let first = all(cluster, names);
    let (last, mut ages) = (first[0].counters["rounds"] + ROUNDS, Vec::new());
    let counted = cluster.until("a period has passed", |cluster| {
        let now = all(cluster, names);
        ages.extend(now.iter().map(|status| status.age_avg_units));
        (now[0].counters["rounds"] >= last).then(|| Counted::of(&now))
    });
    let mean = ages.iter().sum::<f64>() / ages.len() as f64;
    (mean, counted.since(&Counted::of(&first)))
}

/// What the model expects of agents like this, where an entry takes so many bytes in answers.
fn expected(status: &Status, change_bytes: f64) -> model::Forecast {
    let room = usize::from(Config::default().datagram_bytes) - overhead_bytes(3);
    let entry_bytes = status.entry_bytes as usize;
    let whole = Budget {
        entry_bytes,
        frame_bytes: frame_bytes(3),
        datagram_entries: room / entry_bytes,
        window_entries: status.window_entries as usize,
        changes: None,
    };
    let changes = whole.with_changes(change_bytes.round() as usize, room);
    model::forecast(Strategy::Grid, AGENTS, &changes, 0.0)
}

#[test]
fn the_model_knows_what_changes_cost_among_agents() {
    let names: Vec<String> = (1..=AGENTS).map(|number| format!("n{number}")).collect();
    let mut cluster = Cluster::new();
    cluster.start(&names[0], &FLAGS);
    for name in &names[1..] {
        cluster.join(name, &names[0], &FLAGS);
    }
    cluster.until_known(&names.iter().map(String::as_str).collect::<Vec<_>>(), AGENTS);
    let mut found = Vec::new();
    for _ in 0..PERIODS {
        let (age, [rounds, sent, bytes, entries]) = period(&cluster, &names);
        let model = expected(&cluster.agent(&names[0]).status(), bytes / entries);
        let off = [age / model.age_avg_units, sent / rounds / model.bytes];
        found.push(format!(
            "{:.1} bytes an entry: age {age:.3}, by the model {:.3} units; sent {:.0}, by the \
             model {:.0} bytes a unit",
            bytes / entries,
            model.age_avg_units,
            sent / rounds,
            model.bytes
        ));
        if off.iter().all(|off| (off - 1.0).abs() < CLOSE) {
            println!("{}", found.join("\n"));
            return;
        }
    }
    panic!("{}", found.join("\n"));
}
