//! Work stealing among simulated ranks, each on a node of its own: what many of them do.

use std::process::Command;

use serde_json::Value;

use crate::platforms::platform;
use crate::stealing::Built;
use crate::toolchain::{Mpi, done, place};

/// What simulated ranks say of a phase of so many tasks a rank.
fn model_of(ranks: usize, each: usize, victims: &str) -> String {
    model(ranks, each, &["--selection", victims])
}

/// The same with these options.
fn model(ranks: usize, each: usize, options: &[&str]) -> String {
    let (built, folder) = (Built::of(Mpi::Simulated), place());
    let words = ["torus", "--nodes", &ranks.to_string()];
    let (network, hosts) = platform(folder.path(), &words);
    let mut command = Command::new("smpirun");
    command.arg("-platform").arg(network).arg("-hostfile").arg(hosts).current_dir(folder.path());
    command.args(["-n", words[2], "--log=root.thres:error", "--cfg=smpi/iprobe:5e-6"]);
    command.args(["--cfg=smpi/simulate-computation:no", "--cfg=smpi/grow-injected-times:no"]);
    command.arg("--cfg=smpi/test:5e-6").arg(built.applications());
    let tasks = format!("uneven:{}", each * ranks);
    done(command.args([&tasks, "--model"]).args(options))
}

fn parsed(line: &str) -> Value {
    serde_json::from_str(line).expect("a line is JSON")
}

fn number(line: &Value, name: &str) -> f64 {
    line[name].as_f64().expect("a number")
}

/// Of so many ranks each look and each nap would be an event of the simulator. Nothing depends on
/// the machine that simulates.
#[test]
fn hundreds_of_simulated_ranks_do_the_same_each_time() {
    for victims in ["random", "known"] {
        let (first, second) = (model_of(256, 20, victims), model_of(256, 20, victims));
        assert!(first.contains(r#""ranks":256"#) && first.contains(r#""tasks":5120"#), "{first}");
        assert_eq!(first, second);
    }
}

/// Ranks answer between their tasks, which take up to a tenth of a second, and gossip has to tell
/// soon enough who has work: when entries were older thieves took 0.95 of the steals of random.
#[test]
fn knowledge_among_simulated_ranks_halves_steals_and_moved_tasks() {
    let [random, known] = ["random", "known"].map(|victims| parsed(&model_of(64, 1000, victims)));
    let steals = |line| number(line, "steals") + number(line, "pushed");
    assert!(10.0 * number(&known, "attempts") <= number(&random, "attempts"), "{known} {random}");
    assert!(2.0 * steals(&known) <= steals(&random), "{known} {random}");
    assert!(2.0 * number(&known, "moved") <= number(&random, "moved"), "{known} {random}");
    assert!(number(&known, "efficiency") >= number(&random, "efficiency"), "{known} {random}");
}

/// Who answers and gossips within its tasks loses less of the phase: thieves do not wait for the
/// end of a task, and know more.
#[test]
fn tasks_that_call_progress_answer_thieves_and_take_part_in_gossip() {
    let words = ["--selection", "known", "--progress-us", "1000"];
    let (within, between) =
        (parsed(&model(64, 1000, &words)), parsed(&model_of(64, 1000, "known")));
    let lost = |line| 1.0 - number(line, "efficiency");
    assert!(1.2 * lost(&within) <= lost(&between), "{within} {between}");
    assert!(
        1.2 * number(&between, "messages") <= number(&within, "messages"),
        "{within} {between}"
    );
}
