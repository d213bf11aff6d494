//! A series with a real launcher, on a simulated machine.

use std::process::Command;

use serde_json::Value;
use tidings_experiment::agents::programs;

use super::places::{self, Bench, known_length, said};

#[test]
fn a_series_runs_what_is_chosen_then_what_is_missing_and_keeps_the_rows() {
    let bench = Bench::new();
    let program = known_length(&bench, "smpicc");
    let platform = places::repository().join("mpi/platforms/torus-4x4x4.xml");
    let text = format!(
        "name = \"torus\"\nlimit_s = 60.0\n\
         [[machines]]\nname = \"torus\"\nranks_per_node = 2\n\
         backend = {{ kind = \"smpi\", platform = \"{}\", \
         launcher_arguments = [\"--cfg=smpi/simulate-computation:no\"] }}\n\
         [[programs]]\nname = \"known\"\nmachines = [\"torus\"]\nnodes = [4, 16]\n\
         command = [\"{}\", \"--now\", \"{{hidden}}\"]\n\
         [[programs.grids]]\nhidden = [\"asleep\"]\nrun = [1, 2]\n",
        platform.display(),
        program.display()
    );
    let file = bench.lay("torus.toml", &text);
    let series = |more: &[&str]| {
        let words = [&["lab", "series", &file, "--output", "out"], more].concat();
        let done = bench.tidings(&words);
        assert_eq!(done.status.code(), Some(0), "{}", said(&done));
        let rows = std::fs::read_to_string(bench.file("out/rows.jsonl")).expect("written");
        let rows: Vec<Value> =
            rows.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        (rows, said(&done))
    };
    let (rows, _) = series(&["--only", "run=1", "--only", "nodes=16"]);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!((&rows[0]["nodes"], &rows[0]["hidden"]), (&16.into(), &"asleep".into()));
    let (rows, reported) = series(&[]);
    assert!(reported.contains("1 of 4 runs are done"), "{reported}");
    assert_eq!(bench.runs("out").len(), 4, "each run once");
    assert_eq!(rows.len(), 4, "{rows:?}");
    let seconds = |nodes: u64| -> Vec<&Value> {
        rows.iter().filter(|row| row["nodes"] == nodes).map(|row| &row["seconds"]).collect()
    };
    for nodes in [4, 16] {
        assert_eq!(seconds(nodes)[0], seconds(nodes)[1], "virtual time is exact: {rows:?}");
    }
    let manifest = std::fs::read_to_string(bench.file("out/rows.manifest.json")).expect("written");
    assert!(manifest.contains("tidings lab series"), "{manifest}");
}

/// Two runs of a program that sends its parent, the lab, SIGHUP.
const HANGING_UP: &str = r#"
name = "up"
limit_s = 60.0
[[machines]]
name = "here"
backend = { kind = "plain" }
[[programs]]
name = "up"
machines = ["here"]
nodes = [1]
command = ["sh", "-c", 'kill -HUP $PPID; echo "{\"seconds\": 1}"']
[[programs.grids]]
run = [1, 2]
"#;

#[test]
fn a_hangup_ends_a_series_unless_it_was_ignored_when_it_began() {
    let bench = Bench::new();
    let file = bench.lay("up.toml", HANGING_UP);
    let tidings = programs().join("tidings").display().to_string();
    let ended = |first: &str, folder: &str| {
        let folder = bench.file(folder).display().to_string();
        let line = format!("{first} exec \"$0\" \"$@\"");
        let words = ["-c", &line, &tidings, "lab", "series", &file, "--output", &folder];
        // Where the tests themselves run under nohup, hangups are ignored from the start.
        let mut shell = Command::new("env");
        let done = shell.args(["--default-signal=HUP", "sh"]).args(words).output();
        let done = done.expect("a shell");
        (done.status.code(), said(&done))
    };
    let (code, reported) = ended("", "ended");
    assert_eq!(code, Some(129), "{reported}");
    let (code, reported) = ended("trap '' HUP;", "ignored");
    assert_eq!(code, Some(0), "{reported}");
    assert_eq!(bench.runs("ignored").len(), 2, "{reported}");
}
