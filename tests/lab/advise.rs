//! Advice from a real characterisation: what it says is gained is measured, launchers take its
//! files, and what real agents gossip moves ranks.

use std::fs;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};
use tidings_experiment::agents::Cluster;
use tidings_experiment::mpi::{Mpi, done};

use super::code;
use super::places::{Bench, repository, said};

const SHAPE: &str = "6,2,2";
const NODES: u32 = 24;

/// A torus of 24 nodes with two ranks each, as the simulator has it, characterised into `out` once
/// for all tests of this process.
fn characterised() -> &'static Bench {
    static DONE: OnceLock<Bench> = OnceLock::new();
    DONE.get_or_init(characterise)
}

fn characterise() -> Bench {
    let bench = Bench::new();
    let mut make = Command::new("python3");
    make.arg("-B")
        .arg(repository().join("mpi/platforms/make.py"))
        .args(["torus", "--shape", SHAPE]);
    make.args(["--link-gb-s", "0.425", "--worst-latency-us", "5", "--output"]);
    done(make.arg(bench.file("torus.xml")));
    let tests = ["pair", "cores", "hops", "overlap", "fans"];
    let tests: String = tests.map(|test| format!("\"--test\", \"{test}\", ")).concat();
    let file = bench.lay(
        "torus.toml",
        &format!(
            "name = \"torus\"\nlimit_s = 500.0\n[[machines]]\nname = \"torus\"\n\
             ranks_per_node = 2\nbackend = {{ kind = \"smpi\", platform = \"torus.xml\" }}\n\
             [[programs]]\nname = \"all\"\nmachines = [\"torus\"]\nnodes = [{NODES}]\n\
             command = [\"{}\", {tests}\"--torus\", \"{SHAPE}\", \"--repetitions\", \"1\", \
             \"--factor\", \"1024\"]\n",
            Mpi::Simulated.characterize().display()
        ),
    );
    let measured = bench.tidings(&["lab", "characterize", &file, "--output", "out"]);
    assert_eq!(code(&measured), Some(0), "{}", said(&measured));
    bench
}

fn advice(bench: &Bench, words: &[&str]) -> Value {
    let output = bench.tidings(&[&["lab", "advise", "out", "--json"], words].concat());
    assert_eq!(code(&output), Some(0), "{}", said(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Seconds of HALO's exchanges of N words on the torus, by order, with the advised one as `file`.
fn exchanges(bench: &Bench, side: u64) -> Vec<(String, f64)> {
    let program = Mpi::Simulated.characterize();
    let hosts: Vec<String> = (0..2 * NODES).map(|rank| format!("n{}\n", rank / 2)).collect();
    let mut run = Command::new("smpirun");
    run.args(["-no-privatize", "-n", &(2 * NODES).to_string(), "-platform"]);
    run.arg(bench.file("torus.xml")).arg("-hostfile").arg(bench.lay("hosts", &hosts.concat()));
    run.args(["--cfg=smpi/simulate-computation:no", "--log=root.thres:error"]).arg(program);
    run.args(["--test", "halo", "--torus", SHAPE, "--repetitions", "1", "--halo-largest"]);
    run.arg(side.to_string()).arg("--order").arg(bench.file("places/order"));
    let text = done(&mut run);
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let of_size = |row: &Value| row["test"] == "halo" && row["count"] == side;
    let time = |row: Value| {
        let order = row["variant"].as_str()?.strip_suffix(", isend and irecv")?.to_owned();
        Some((order, row["samples_s"].as_array()?.last()?.as_f64()?))
    };
    rows.filter(of_size).filter_map(time).collect()
}

#[test]
fn the_advised_placement_gains_what_it_should_and_no_order_of_axes_is_better() {
    let bench = characterised();
    let grid = ["--grid", "8x6", "--sizes", "8KiB", "--output", "places"];
    let advice = advice(bench, &grid);
    assert_eq!(advice["torus"], json!([6, 2, 2]));
    assert_eq!(advice["costs"]["assumed"], json!([]));
    let predicted = advice["gains"][0]["gain"].as_f64().expect("a number");
    let times = exchanges(bench, 2048);
    let of = |name: &str| times.iter().find(|own| own.0 == name).expect("measured").1;
    let (default, advised) = (of("TXYZ"), of("file"));
    let measured = default / advised;
    let best = times.iter().map(|own| own.1).fold(f64::INFINITY, f64::min);
    assert!(advised <= 1.02 * best, "{advised} s, but one order takes {best} s: {times:?}");
    assert!(measured > 1.2, "measured {measured}, predicted {predicted}: {times:?}");
    let off = predicted / measured;
    assert!((0.75..1.33).contains(&off), "measured {measured}, predicted {predicted}");
}

#[test]
fn ranks_are_where_the_files_of_launchers_say() {
    let bench = characterised();
    // Six partners that are far apart by number.
    let pairs: Vec<String> = (0..6).map(|rank| format!("{rank} {}\n", rank + 6)).collect();
    let file = bench.lay("pairs.txt", &pairs.concat());
    let advice = advice(bench, &["--neighbours", &file, "--output", "pairs-apart"]);
    assert_eq!(advice["advised"]["hops_a_message"], 0.0, "each pair is on one node: {advice}");
    let (hosts, program) = (bench.file("pairs-apart/hosts"), Mpi::Simulated.characterize());
    let mut run = Command::new("smpirun");
    run.args(["-no-privatize", "-n", "12", "-platform"]).arg(bench.file("torus.xml"));
    run.arg("-hostfile").arg(&hosts).args(["--log=root.thres:error"]).arg(program);
    run.args(["--test", "pair", "--largest", "1", "--repetitions", "1", "--places"]);
    let text = done(run.arg(&hosts));
    let places: Value = serde_json::from_str(text.lines().next().expect("a row")).expect("JSON");
    assert_eq!(places["misplaced"], Value::Null, "each rank says where it is: {places}");
    assert_eq!(places["names"].as_array().map(Vec::len), Some(6), "{places}");
}

#[test]
fn nodes_that_gossip_says_are_busy_or_gone_are_avoided_and_old_entries_are_not_believed() {
    let bench = characterised();
    let mut cluster = Cluster::new();
    cluster.start("n0", &[]);
    for name in ["n1", "n2", "n3"] {
        cluster.join(name, "n0", &[]);
    }
    cluster.until_known(&["n0"], 4);
    let runtime_dir = cluster.agent("n0").runtime_dir().display().to_string();
    let publish = ["publish", "jobs=1", "--runtime-dir"];
    let busy = cluster.agent("n1").runtime_dir().display().to_string();
    let published = bench.tidings(&[&publish[..], &[&busy]].concat());
    assert_eq!(code(&published), Some(0), "{}", said(&published));
    cluster.stop("n3");
    cluster.until("n0 knows of both", |cluster| {
        let (busy, gone) = (cluster.agent("n0").node("n1")?, cluster.agent("n0").node("n3")?);
        (busy.user.contains_key("jobs") && !gone.state.is_alive()).then_some(())
    });
    let words =
        ["--grid", "2x2", "--now", "--busy", "user.jobs > 0", "--runtime-dir", &runtime_dir];
    let state_of = |advice: &Value, name: &str| {
        let noted = advice["nodes_not_idle"].as_array().expect("a list").clone();
        let own = noted.into_iter().find(|own| own["node"] == name);
        own.map(|own| (own["state"].as_str().unwrap_or_default().to_owned(), own["used"] == true))
    };
    // An hour: however long this machine is stuck, what was heard is believed.
    let now = advice(bench, &[&words[..], &["--older", "1h"]].concat());
    assert_eq!(state_of(&now, "n0"), None, "idle: {now}");
    assert_eq!(state_of(&now, "n1"), Some(("busy".to_owned(), false)), "{now}");
    assert_eq!(state_of(&now, "n3"), Some(("gone".to_owned(), false)), "{now}");
    assert_eq!(state_of(&now, "n7"), Some(("unknown".to_owned(), false)), "no agent: {now}");
    let placed: Vec<&str> = now["placement"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|own| own["node"].as_str())
        .collect();
    assert!(placed.iter().all(|node| ["n0", "n2"].contains(node)), "{placed:?}");
    // By its own rule: who is busy is for this machine to say, but four ranks have places.
    let own = advice(bench, &["--grid", "2x2", "--now", "--runtime-dir", &runtime_dir]);
    assert_eq!(own["placement"].as_array().map(Vec::len), Some(4), "{own}");
    let old = advice(bench, &[&words[..], &["--older", "0s"]].concat());
    assert_eq!(state_of(&old, "n1").map(|own| own.0), Some("unknown".to_owned()), "{old}");
}

#[test]
fn what_cannot_be_advised_is_refused_with_the_remedy() {
    let bench = characterised();
    let file = bench.lay("odd", "0 1\n1 x\n");
    for (words, said_of_it) in [
        (
            &["--grid", "7x7"][..],
            "49 ranks, but the characterisation has 24 nodes with 2 ranks each",
        ),
        (&["--grid", "7"], "such as 8x4"),
        (&["--neighbours", &file], "odd:2: `x` is no rank"),
        (&["--neighbours", "none"], "none: No such file"),
        (
            &["--grid", "4x4", "--machine", "ring"],
            "no machine `ring` in the characterisation, but torus",
        ),
        (&["--grid", "4x4", "--sizes", "big"], "such as 8 or 64KiB"),
        (&["--grid", "4x4", "--older", "3s"], "--now"),
        (
            &["--grid", "4x4", "--network", "fat-tree", "--shape", "8,8"],
            "fat-tree of --shape has 64 nodes, but the characterisation 24",
        ),
        (&["--grid", "4x4", "--network", "mesh"], "--shape"),
    ] {
        let refused = bench.tidings(&[&["lab", "advise", "out"], words].concat());
        assert_eq!(code(&refused), Some(2), "{words:?}: {}", said(&refused));
        assert!(said(&refused).contains(said_of_it), "{words:?}: {}", said(&refused));
    }
    let none = bench.tidings(&["lab", "advise", "nowhere", "--grid", "4x4"]);
    assert_eq!(code(&none), Some(2), "{}", said(&none));
    assert!(said(&none).contains("tidings lab characterize --output"), "{}", said(&none));
    assert!(fs::read_dir(bench.file("nowhere")).is_err(), "and nothing is made");
}

/// What a characterisation of three hosts in a row says, on which ranks inside a host are near.
fn of_three_hosts() -> String {
    let places = json!({"test": "places", "library": "", "names": ["h0", "h1", "h2"],
        "node_of": [0, 0, 1, 1, 2, 2], "processor_of": [0, 1, 0, 1, 0, 1], "mesh": [3]});
    let row = |test: &str, bytes: u64, seconds: f64| {
        json!({"test": test, "variant": "in cache", "bytes": bytes, "count": 0, "messages": 1,
            "valid": true, "warmups": 0, "wanted": 1, "late": 0, "late_limit_s": 1.0,
            "start_error_s": 0.0, "modelled_ranks": 6, "samples_s": [seconds]})
    };
    let between = [row("latency", 1, 1e-4), row("bandwidth", 65_536, 1e-2)];
    let inside = [row("core-latency", 1, 1e-6), row("core-bandwidth", 65_536, 1e-4)];
    let rows = [places].into_iter().chain(between).chain(inside);
    let lines: Vec<String> = rows.map(|row| format!("{row}\n")).collect();
    lines.concat()
}

/// Six ranks of an MPI on three hosts made here, where a file says, each of which says where it is.
fn on_hosts(bench: &Bench, mpi: Mpi, file: [&str; 2]) -> Value {
    // Debian's MPICH does not always end on several hosts without it (mpi/shim/finish.c).
    let shim = format!(", shim = \"{}\"", mpi.shim().display());
    let shim = if mpi == Mpi::Mpich { shim } else { String::new() };
    let series = bench.lay(
        "placed.toml",
        &format!(
            "name = \"placed\"\nlimit_s = 300.0\n[[machines]]\nname = \"hosts\"\n\
             ranks_per_node = 2\nbackend = {{ kind = \"hosts\", mpi = \"{}\", mesh = [3], \
             yielding = \"{}\"{shim} }}\n[[programs]]\nname = \"all\"\nmachines = [\"hosts\"]\n\
             nodes = [3]\nlauncher_arguments = [\"{}\", \"{}\"]\ncommand = [\"{}\", \
             \"--repetitions\", \"1\", \"--largest\", \"1\", \"--beyond-cache\", \"0\", \"--late\", \
             \"10\", \"--sleep\", \"--test\", \"pair\", \"--places\", \"{}\"]\n",
            mpi.name(),
            mpi.yielding().display(),
            file[0],
            bench.file("places").join(file[1]).display(),
            mpi.characterize().display(),
            bench.file("places/hosts").display(),
        ),
    );
    let done = bench.tidings(&["lab", "series", &series, "--output", mpi.name()]);
    assert_eq!(code(&done), Some(0), "{mpi:?}: {}", said(&done));
    let rows = fs::read_to_string(bench.file(mpi.name()).join("rows.jsonl")).expect("written");
    serde_json::from_str(rows.lines().next().expect("a row")).expect("JSON")
}

#[test]
fn real_launchers_place_ranks_where_their_files_say() {
    let bench = Bench::below(env!("CARGO_TARGET_TMPDIR"));
    let rows = bench.lay("rows", &of_three_hosts());
    let file = bench.lay(
        "three.toml",
        &format!(
            "name = \"three\"\nlimit_s = 60.0\n[[machines]]\nname = \"three\"\n\
             backend = {{ kind = \"plain\" }}\n[[programs]]\nname = \"all\"\n\
             machines = [\"three\"]\nnodes = [1]\ncommand = [\"cat\", \"{rows}\"]\n"
        ),
    );
    let measured = bench.tidings(&["lab", "characterize", &file, "--output", "out"]);
    assert_eq!(code(&measured), Some(0), "{}", said(&measured));
    let pairs = bench.lay("pairs", "0 4\n1 3\n2 5\n");
    let advice = advice(&bench, &["--neighbours", &pairs, "--output", "places"]);
    let placement = advice["placement"].as_array().expect("a list");
    let nodes: Vec<&Value> = placement.iter().map(|own| &own["node"]).collect();
    for (one, other) in [(0, 4), (1, 3), (2, 5)] {
        assert_eq!(nodes[one], nodes[other], "partners are on one host: {advice}");
    }
    for (mpi, file) in
        [(Mpi::Open, ["--rankfile", "rankfile"]), (Mpi::Mpich, ["-f", "machinefile"])]
    {
        let places = on_hosts(&bench, mpi, file);
        assert_eq!(places["misplaced"], Value::Null, "{mpi:?}: {places}");
        let of_ranks = places["node_of"].as_array().expect("a list");
        let of_ranks: Vec<&Value> = of_ranks
            .iter()
            .map(|node| &places["names"][node.as_u64().expect("a number") as usize])
            .collect();
        assert_eq!(of_ranks, nodes, "{mpi:?}: {places}");
    }
}
