//! Graphs of commands: each task behind those that it waits for, whatever ends in between.

use std::fs;

use rustix::process::Signal;
use tidings_tasks_core::id::Part;

use crate::place::Place;
use crate::servers::Servers;

const DIAMOND: &str = r#"
[task.sum]
shell = "cat {in.odd} {in.even} | awk '{s += $1} END {print s}'"

[task.odd]
shell = "grep '[13579]$' {in.all}"

[task.even]
command = ["grep", "[02468]$", "{in.all}"]

[task.all]
shell = "seq 1 4000"
"#;

fn with_graph(text: &str) -> Place {
    with_graph_in(Place::new(), text)
}

fn with_graph_in(place: Place, text: &str) -> Place {
    fs::write(place.path("graph.toml"), text).unwrap();
    place
}

#[test]
fn tasks_read_what_others_have_printed_and_nothing_stays() {
    let place = with_graph(DIAMOND);
    let printed = place.text(&["run", "-n", "2", "graph.toml"]);
    assert_eq!(printed.lines().last(), Some("8002000"), "the sum is last");
    let queues = place.json(&["queue", "ls", "--json"]);
    assert_eq!((&queues["tasks"], &queues["queues_total"]), (&0.into(), &0.into()));
}

#[test]
fn a_task_reads_all_tasks_of_an_array_or_that_of_its_number() {
    let place = with_graph(
        "[task.square]\neach = \"1-20\"\nshell = \"echo $(({} * {}))\"\n\
         [task.next]\neach = \"1-20\"\nshell = \"echo $(($(cat {in.square.{#}}) + 1))\"\n\
         [task.sum]\nshell = \"cat {in.next} | awk '{s += $1} END {print s}'\"\n",
    );
    let printed = place.text(&["run", "-n", "2", "graph.toml"]);
    assert_eq!(printed.lines().count(), 41);
    assert_eq!(printed.lines().last(), Some("2890"), "the sum of n^2 + 1 to 20");
    let plan = place.text(&["run", "--dry-run", "graph.toml"]);
    assert!(plan.contains("next.3 (after square.3): "), "{plan}");
}

#[test]
fn what_fails_ends_those_behind_it_until_it_is_tried_again() {
    let text = "[task.a]\nshell = \"cat gate\"\n[task.b]\nshell = \"cat {in.a}\"\n\
                [task.c]\nshell = \"cat {in.b}\"\n[task.d]\nshell = \"echo d >> ran\"\n";
    let place = with_graph(text);
    let line = ["run", "-n", "1", "--resume", "g", "graph.toml"];
    let first = place.output(&line);
    assert_eq!(first.status.code(), Some(5));
    let errors = String::from_utf8(first.stderr).unwrap();
    let chain = "`c` was not run: input b has failed: input a has failed: it ended with status 1";
    assert!(errors.contains(chain), "{errors}");
    fs::write(place.path("gate"), "open\n").unwrap();
    let second = place.output(&line);
    assert_eq!(second.status.code(), Some(0), "{second:?}");
    assert_eq!(String::from_utf8(second.stdout).unwrap(), "open\n".repeat(3));
    assert_eq!(place.lines("ran").len(), 1, "what is done is not run again");
}

/// Two queues, of which the first is of the first of two parts and the other one of the other.
pub(crate) fn queues_of_two_parts() -> [String; 2] {
    [0, 1].map(|part| {
        let mut names = (0..).map(|number| format!("steps/{number}"));
        names.find(|name| Part::of(name, 2) == Part(part)).unwrap()
    })
}

fn of_two_parts(place: Place) -> Place {
    place.text(&["store", "make", "--parts", "2"]);
    place
}

/// The run holds the store and coordinates: when it is killed, all of that is gone but the file.
#[test]
fn a_graph_goes_on_after_its_coordinator_was_killed() {
    go_on_after_kills(Place::new(), |_| String::new());
}

/// Each task waits for one of the other part.
#[test]
fn a_graph_over_two_parts_goes_on_after_their_coordinators_were_killed() {
    let queues = queues_of_two_parts();
    go_on_after_kills(of_two_parts(Place::new()), |at| format!("queue = \"{}\"\n", queues[at % 2]));
}

/// A chain of tasks with these further keys.
fn go_on_after_kills(place: Place, keys: impl Fn(usize) -> String) {
    let behind = |at: usize| {
        let (before, keys) = (at - 1, keys(at));
        format!(
            "[task.t{at}]\n{keys}command = [\"sh\", \"task\", \"t{at}\", \"{{in.t{before}}}\"]\n"
        )
    };
    let chain = (1..8).map(behind).collect::<Vec<_>>().concat();
    let last = format!("[task.t0]\n{}command = [\"sh\", \"task\", \"t0\"]\n", keys(0));
    let place = with_graph_in(place, &(chain + &last));
    place.script("task", "echo $1 > began; read _ < gate; echo $1 >> ran; cat $2; echo $1");
    let (mut began, mut gate) = (place.pipe("began"), place.pipe("gate"));
    let line = ["run", "-n", "1", "--resume", "g", "-k", "graph.toml"];
    for killed_at in ["t3", "t5"] {
        let run = place.start(&line);
        while began.line() != killed_at {
            gate.let_go(1);
        }
        run.kill();
    }
    let run = place.start(&line);
    while began.line() != "t7" {
        gate.let_go(1);
    }
    let waiting = place.json(&["queue", "ls", "--json"]);
    assert_eq!(waiting["queues"][0]["running"], 1);
    gate.let_go(1);
    let (code, printed, errors) = run.end();
    assert_eq!((code, errors.as_str()), (0, ""));
    let last: Vec<&str> = printed.lines().rev().take(8).collect();
    assert_eq!(last, ["t7", "t6", "t5", "t4", "t3", "t2", "t1", "t0"]);
    let once: Vec<String> = (0..8).map(|at| format!("t{at}")).collect();
    assert_eq!(place.lines("ran"), once, "nothing that was done ran again");
    let entries = fs::read_dir(place.path("")).unwrap().flatten();
    let left = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("tidings-"));
    assert_eq!(left.count(), 0, "folders of inputs go, also those of workers that were killed");
}

#[test]
fn a_graph_lies_in_the_queues_that_it_names() {
    run_over_two_parts(Place::new());
}

#[test]
fn a_graph_lies_in_the_queues_that_it_names_in_an_etcd() {
    let servers = Servers::start(1);
    run_over_two_parts(Place::of(servers.address("graphs")));
}

/// What has failed in one part ends what waits for it in the other, until it is tried again.
fn run_over_two_parts(place: Place) {
    let [first, second] = queues_of_two_parts();
    let text = format!(
        "queue = \"{first}\"\n[task.a]\nshell = \"echo a >> ran; seq 1 3\"\n\
         [task.b]\nqueue = \"{second}\"\nshell = \"cat gate {{in.a}}\"\n\
         [task.c]\nshell = \"cat {{in.b}} | wc -l\"\n"
    );
    let place = with_graph_in(of_two_parts(place), &text);
    let line = ["run", "-n", "1", "--resume", "g", "graph.toml"];
    let failed = place.output(&line);
    assert_eq!(failed.status.code(), Some(5), "{failed:?}");
    let errors = String::from_utf8(failed.stderr).unwrap();
    assert!(errors.contains("`c` was not run: input b has failed"), "{errors}");
    fs::write(place.path("gate"), "open\n").unwrap();
    assert!(place.text(&line).ends_with("\n4\n"));
    assert_eq!(place.lines("ran").len(), 1, "what is done is not run again");
    let tasks = |queue: &str| place.json(&["task", "graph", queue, "--json"])["tasks"].clone();
    assert_eq!((tasks(&first), tasks(&second)), (2.into(), 1.into()));
    // Both are one graph: what is in one waits for what is in the other.
    let graph = place.json(&["task", "graph", &first, &second, "--json"]);
    assert_eq!((&graph["tasks"], &graph["layers"]), (&3.into(), &3.into()), "{graph}");
    assert_eq!(graph["queue"], format!("{first}, {second}"));
    let nodes = graph["nodes"].as_array().unwrap();
    assert!(nodes.iter().all(|node| node["inputs_elsewhere"] == 0), "{graph}");
    let path = graph["critical"]["tasks"].as_array().unwrap();
    let path: Vec<_> = path.iter().map(|step| step["name"].as_str().unwrap()).collect();
    assert_eq!(path, ["a", "b", "c"]);
    let purged = place.text(&["queue", "purge", &first, &second, "--all"]);
    assert_eq!(purged, format!("2 tasks of {first} removed\n1 tasks of {second} removed\n"));
    assert!(place.text(&["run", "-n", "1", "graph.toml"]).ends_with("\n4\n"));
    let queues = place.json(&["queue", "ls", "--json"]);
    assert_eq!((&queues["tasks"], &queues["queues_total"]), (&0.into(), &0.into()), "none stays");
}

#[test]
fn it_is_explained_why_a_task_waits() {
    let text = "[task.a]\ncommand = [\"sh\", \"task\"]\n[task.b]\ncommand = [\"cat\", \"{in.a}\"]\n\
                [task.c]\nshell = \"true\"\n";
    let place = with_graph(text);
    place.script("task", "echo > began; read _ < gate");
    let (mut began, mut gate) = (place.pipe("began"), place.pipe("gate"));
    let run = place.start(&["run", "-n", "1", "--resume", "g", "graph.toml"]);
    began.line();
    // The second one is submitted when the first is, which may run by then.
    let mut all = Vec::new();
    while all.iter().all(|task: &serde_json::Value| task["state"] != "waiting") {
        let text = place.text(&["queue", "peek", "run/g", "--json"]);
        all = text.lines().map(|line| line.parse::<serde_json::Value>().unwrap()).collect();
    }
    let state = |wanted: &str| {
        let found = all.iter().find(|task| task["state"] == wanted);
        found.unwrap()["task"].as_str().unwrap().to_owned()
    };
    let why = place.json(&["task", "explain", "--json", &state("waiting")]);
    assert_eq!((&why["reason"], &why["inputs_missing"]), (&"inputs".into(), &1.into()));
    assert_eq!(why["inputs"][0]["task"], state("running"));
    assert_eq!(why["first"]["text"], "it runs");
    let shown = place.json(&["task", "show", "--json", &state("waiting")]);
    let input = &shown["inputs"][0];
    assert_eq!((&input["task"], &input["state"]), (&state("running").into(), &"running".into()));
    let shown = place.text(&["task", "show", &state("waiting")]);
    let row = format!("{} a (running)", state("running"));
    assert!(shown.lines().any(|line| line.starts_with("input") && line.ends_with(&row)), "{shown}");
    let text = place.text(&["task", "explain", &state("waiting")]);
    assert!(text.starts_with("it waits for 1 task to be done: "), "{text}");
    assert!(text.ends_with(": it runs\n"), "{text}");
    gate.let_go(1);
    run.signal(Signal::INT);
    assert_eq!(run.end().0, 130);
}

#[test]
fn a_graph_is_shown_layer_by_layer_with_its_critical_path() {
    let place = with_graph(DIAMOND);
    place.text(&["run", "-n", "2", "--resume", "d", "graph.toml"]);
    let graph = place.json(&["task", "graph", "run/d", "--json"]);
    let nodes = graph["nodes"].as_array().unwrap();
    let name = |at: &serde_json::Value| nodes[at.as_u64().unwrap() as usize]["name"].clone();
    let sum = nodes.iter().find(|node| node["name"] == "sum").unwrap();
    let mut inputs: Vec<_> = sum["inputs"].as_array().unwrap().iter().map(name).collect();
    inputs.sort_by_key(serde_json::Value::to_string);
    assert_eq!((&sum["layer"], inputs), (&2.into(), vec!["even".into(), "odd".into()]));
    let path = graph["critical"]["tasks"].as_array().unwrap();
    assert_eq!((&path[0]["name"], &path[2]["name"]), (&"all".into(), &"sum".into()));
    let text = place.text(&["task", "graph", "run/d"]);
    assert!(text.starts_with("run/d: 4 tasks in 3 layers: 4 done\n"), "{text}");
    assert!(text.contains("* critical path, ") && text.contains(" in 3 tasks: all > "), "{text}");
    let output = place.output(&["task", "graph", "run/x"]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
}

#[test]
fn what_is_no_graph_is_refused_with_its_place() {
    for (text, reason) in [
        ("[task.a]\nshell = \"cat {in.b}\"\n", "graph.toml:2:9: there is no task `b`"),
        ("[task.a]\nshell = \"true\"\nafter = [\"a\"]\n", "in a circle: a waits for a"),
        ("[task.a]\nshel = \"true\"\n", "graph.toml:2:1: unknown field `shel`"),
        (
            "[task.a]\nshell = \"true\"\nqueue = \"\"\n",
            "graph.toml:3:9: a name has 1 to 255 bytes and no control characters",
        ),
    ] {
        let output = with_graph(text).output(&["run", "graph.toml"]);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && errors.contains(reason), "{errors}");
    }
    let output = with_graph(DIAMOND).output(&["run", "--shell", "graph.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let output = with_graph(DIAMOND).output(&["run", "graph.toml", "--dry-run"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && errors.contains("options stand before"), "{errors}");
}
