//! A characterisation with a real launcher: it goes on where it was stopped, leaves its pages and
//! tables, does not differ from itself, and says what would be run here.

use std::fs;

use tidings_experiment::mpi::Mpi;

use super::code;
use super::places::{Bench, said, shim_of};

/// Two processes, a few sizes, five runs.
fn series() -> String {
    let program = Mpi::Mpich.characterize();
    format!(
        "name = \"small\"\nlimit_s = 500.0\n[[machines]]\nname = \"here\"\n\
         backend = {{ kind = \"local\", mpi = \"mpich\" }}\n[[programs]]\nname = \"pair\"\n\
         machines = [\"here\"]\nnodes = [2]\n\
         command = [\"{}\", \"--test\", \"pair\", \"--test\", \"hops\", \"--repetitions\", \"4\", \
         \"--factor\", \"1024\", \"--largest\", \"1024\", \"--beyond-cache\", \"0\", \
         \"--late\", \"10\", \"--sleep\"]\n[[programs.grids]]\nrun = [1, 2, 3, 4, 5]\n",
        program.display()
    )
}

#[test]
fn a_characterisation_goes_on_where_it_ended_and_leaves_tables_and_pages() {
    let bench = Bench::new();
    let file = bench.lay("small.toml", &series());
    let measure = || {
        let done = bench.tidings(&["lab", "characterize", &file, "--output", "out"]);
        assert_eq!(code(&done), Some(0), "{}", said(&done));
        said(&done)
    };
    measure();
    let journal = bench.file("out/runs.jsonl");
    let whole = fs::read_to_string(&journal).expect("written");
    let lines: Vec<&str> = whole.lines().collect();
    assert_eq!(lines.len(), 1 + 5, "a heading and a line for each run");
    fs::write(&journal, lines[..3].join("\n") + "\n").expect("ours");
    assert!(measure().contains("2 of 5 runs are done"), "it makes the others");
    assert_eq!(bench.runs("out").len(), 5);
    let read = |name: &str| fs::read_to_string(bench.file("out").join(name)).expect("written");
    let table = read("points.csv");
    assert!(table.starts_with("machine,ranks,test,variant,bytes,count,seconds,"), "{table}");
    assert!(table.contains("\"here\",2,\"latency\",\"in cache\",1024,0,"), "{table}");
    assert!(read("points.manifest.json").contains("tidings lab characterize"));
    assert_eq!(read("samples.jsonl").matches("\"test\":\"latency\"").count(), 5 * 2 * 3);
    let page = read("characterize.html");
    assert!(page.contains("Figure 2a") && page.contains("A message costs"), "{page}");
    assert!(page.contains("Not measured") && page.contains("say --torus X,Y,Z"), "{page}");
    assert!(read("characterize.md").contains("(figure-2a.svg)"));
    assert!(read("figure-2a.svg").starts_with("<svg "));
    // A table of before there were quartiles is read, too.
    let columns = "seconds_p25,seconds_p50,seconds_p75,";
    assert!(table.contains(columns), "{table}");
    fs::write(bench.file("out/points.csv"), table.replace(columns, "")).expect("ours");
    let shown = bench.tidings(&["lab", "table", "out"]);
    assert!(said(&shown).contains("A message costs"), "{}", said(&shown));
    let compared = bench.tidings(&["lab", "compare", "out", "out"]);
    let report = said(&compared);
    let busy = report.contains("quiet machine");
    assert_eq!(code(&compared), Some(if busy { 2 } else { 0 }), "{report}");
    assert!(busy || !report.contains(" differs"), "it does not differ from itself: {report}");
}

/// With no time at all the reason for each run stands everywhere, and the next start makes them.
#[test]
fn what_time_does_not_suffice_for_is_named_and_made_by_the_next_start() {
    let bench = Bench::new();
    let file = bench.lay("small.toml", &series());
    let measure = |words: &[&str]| {
        let done =
            bench.tidings(&[&["lab", "characterize", &file, "--output", "out"], words].concat());
        assert_eq!(code(&done), Some(0), "{}", said(&done));
        said(&done)
    };
    let read = |name: &str| fs::read_to_string(bench.file("out").join(name)).expect("written");
    let report = measure(&["--within", "1ms"]);
    assert!(report.contains("5 runs are left out: 1ms did not suffice"), "{report}");
    assert_eq!(bench.runs("out").len(), 0);
    let part = "5 of 5 runs of 2 ranks on here";
    for name in ["characterize.html", "characterize.md", "samples.jsonl"] {
        let text = read(name);
        assert!(text.contains(part) && text.contains("1ms did not suffice"), "{name}: {text}");
    }
    assert!(read("points.manifest.json").contains("--within 1ms"));
    let shown = said(&bench.tidings(&["lab", "table", "out", "--json"]));
    assert!(shown.contains(part) && shown.contains("not run so far"), "{shown}");
    measure(&[]);
    assert_eq!(bench.runs("out").len(), 5, "they are made");
    let shown = said(&bench.tidings(&["lab", "table", "out", "--json"]));
    assert!(!shown.contains("not run so far") && shown.contains("of_runs"), "{shown}");
}

#[test]
fn without_a_file_it_measures_this_machine() {
    let bench = Bench::new();
    let program = Mpi::Mpich.characterize().display().to_string();
    let words = ["lab", "characterize", "--quick", "--mpi", "mpich", "--program", &program];
    let done = bench.tidings(&[&words[..], &["--check"]].concat());
    assert_eq!(code(&done), Some(0), "{}", said(&done));
    let announced = "runs into characterize-quick, within 2m\n";
    assert!(said(&done).contains(announced), "{}", said(&done));
    let done = bench.tidings(&[&words[..5], &["--program", "no-such-program"]].concat());
    assert_eq!(code(&done), Some(2), "{}", said(&done));
    assert!(said(&done).contains("mpi/characterize/build mpicc.mpich"), "{}", said(&done));
}

/// Hidden ranks once asleep and once gossiping, in turn: what gossip does to each test.
#[test]
fn tests_are_measured_beside_hidden_ranks_that_sleep_and_that_gossip_in_turn() {
    let bench = Bench::new();
    let shim = shim_of("mpich");
    let text = series()
        .replace("mpi = \"mpich\"", &format!("mpi = \"mpich\", shim = \"{}\"", shim.display()))
        .replace("[[programs.grids]]\nrun = [1, 2, 3, 4, 5]", "gossip = { every = 2, options = \"--interval 4\" }\n[[programs.grids]]\nrun = [1, 2, 3, 4]");
    let file = bench.lay("small.toml", &text);
    let done = bench.tidings(&["lab", "characterize", &file, "--output", "out"]);
    assert_eq!(code(&done), Some(0), "{}", said(&done));
    let runs = bench.runs("out");
    let doing: Vec<&str> =
        runs.iter().filter_map(|run| run["settings"]["beside"].as_str()).collect();
    let turns = ["asleep", "gossip", "gossip", "asleep"];
    assert_eq!(doing, [turns, turns].concat());
    for run in &runs {
        let places = &run["rows"][0];
        let seen = places["node_of"].as_array().map(Vec::len);
        assert_eq!((run["ranks"].as_u64(), seen), (Some(2), Some(2)), "two are hidden: {places}");
        let sent = run["report"]["messages_sent"].as_u64();
        assert_eq!(
            sent.is_some_and(|sent| sent > 0),
            run["settings"]["beside"] == "gossip",
            "{run}"
        );
    }
    let read = |name: &str| fs::read_to_string(bench.file("out").join(name)).expect("written");
    let table = read("points.csv");
    assert!(table.contains(",asleep\n") && table.contains(",gossip\n"), "{table}");
    let page = read("characterize.html");
    assert!(page.contains("Beside gossip"), "{page}");
}

/// A host that dies takes its run with it: the others go on, the page says what failed, and
/// `--retry` makes it again.
#[test]
fn a_run_whose_rank_was_killed_is_kept_with_its_reason_and_made_again() {
    let bench = Bench::new();
    let program = Mpi::Mpich.characterize();
    let wrapper = format!(
        "#!/bin/sh\nmkdir {0}/first 2>/dev/null && kill -9 $$\nexec {1} \"$@\"\n",
        bench.file("").display(),
        program.display()
    );
    let wrapper = bench.lay_program("wrapper", &wrapper).display().to_string();
    let text = series().replace(&program.display().to_string(), &wrapper);
    let file = bench.lay("small.toml", &text.replace("limit_s", "on_failure = \"go-on\"\nlimit_s"));
    let measure = |words: &[&str]| {
        let done =
            bench.tidings(&[&["lab", "characterize", &file, "--output", "out"], words].concat());
        assert_eq!(code(&done), Some(0), "{}", said(&done));
        bench.runs("out").iter().filter(|run| run["outcome"] == "ok").count()
    };
    assert_eq!(measure(&[]), 4, "one has died");
    let page = fs::read_to_string(bench.file("out/characterize.html")).expect("written");
    assert!(page.contains("pair on 2 ranks"), "the page says which failed: {page}");
    assert_eq!(measure(&[]), 4, "it is not made again unasked");
    assert_eq!(measure(&["--retry"]), 5);
}
