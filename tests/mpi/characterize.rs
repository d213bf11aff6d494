//! The tests of a machine under load: what arrives is right under each MPI, what cannot be measured
//! is skipped with its reason and the rest is measured, and on a simulated torus times are those
//! that its links and routes have.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::platforms::platform;
use crate::toolchain::{self, Mpi, done, place};

/// As little as shows something, on ranks that outnumber the cores.
const LITTLE: &str = "--repetitions 2 --factor 4096 --largest 4096 --halo-largest 8 --beyond-cache 0 \
                      --sleep --late 10";

fn rows(command: &mut Command) -> Vec<Value> {
    let text = done(command);
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The rows of some tests on so many ranks of a real MPI.
fn measured(mpi: Mpi, ranks: usize, before: &[&str], words: &str) -> Vec<Value> {
    let directory = place();
    let program = mpi.characterize();
    let mut command = mpi.launcher(ranks, directory.path());
    command.args(before);
    mpi.preload(&mut command, &[program.with_file_name("libtidings-yield.so")]);
    rows(command.arg(program).args(words.split_whitespace()))
}

fn of<'a>(rows: &'a [Value], test: &str) -> Vec<&'a Value> {
    rows.iter().filter(|row| row["test"] == test && row.get("samples_s").is_some()).collect()
}

fn skipped<'a>(rows: &'a [Value], test: &str) -> Vec<&'a str> {
    let own = rows.iter().filter(|row| row["test"] == test);
    own.filter_map(|row| row["skipped"].as_str()).collect()
}

/// The last sample: the first are those of the warm-up.
fn seconds(row: &Value) -> f64 {
    let samples = row["samples_s"].as_array().expect("samples");
    samples.last().and_then(Value::as_f64).expect("a time")
}

#[test]
fn what_arrives_is_right_under_each_mpi_and_all_samples_are_kept() {
    for mpi in [Mpi::Open, Mpi::Mpich] {
        let rows = measured(mpi, 4, &[], LITTLE);
        for test in [
            "latency",
            "bandwidth",
            "core-latency",
            "overlap",
            "streams",
            "hotspot",
            "fan-in",
            "fan-out",
            "barrier",
            "bcast",
            "reduce",
            "allreduce",
            "gather",
            "allgather",
            "alltoall",
            "parallel-barrier",
            "parallel-alltoall",
            "halo",
        ] {
            let own = of(&rows, test);
            assert!(!own.is_empty(), "{mpi:?} {test}: {:?}", skipped(&rows, test));
            for row in own {
                assert_eq!(row["valid"], true, "{mpi:?}: {row}");
                let counts = [&row["warmups"], &row["wanted"]].map(|own| own.as_u64().unwrap_or(0));
                let samples = row["samples_s"].as_array().expect("samples").len() as u64;
                assert_eq!(samples, counts[0] + counts[1], "{mpi:?}: {row}");
                assert!(row["start_error_s"].as_f64().is_some_and(|own| own >= 0.0), "{row}");
            }
        }
        // The first of four ranks with each other one, and each out of cache too.
        let cores: BTreeSet<&str> =
            of(&rows, "core-latency").iter().filter_map(|row| row["variant"].as_str()).collect();
        assert_eq!(cores.len(), 2 * 3, "{mpi:?}: {cores:?}");
        assert!(cores.contains("core 0 and core 3, out of cache"), "{mpi:?}: {cores:?}");
        let protocols: BTreeSet<&str> =
            of(&rows, "halo").iter().filter_map(|row| row["variant"].as_str()).collect();
        assert_eq!(protocols.len(), 5, "{mpi:?}: {protocols:?}");
        let flows: BTreeSet<&str> =
            of(&rows, "overlap").iter().filter_map(|row| row["variant"].as_str()).collect();
        assert_eq!(flows.len(), 8, "each flow alone and with the other: {flows:?}");
        assert!(skipped(&rows, "hops-latency")[0].contains("--torus"), "{mpi:?}");
    }
}

/// Waiting ranks yield: one that waits for all others would wait for a time slice of each.
#[test]
fn sixty_four_ranks_on_few_cores_are_measured() {
    let words = format!("{LITTLE} --test collectives --operations barrier,allreduce");
    let rows = measured(Mpi::Mpich, 64, &[], &words);
    for test in ["barrier", "allreduce"] {
        let own = of(&rows, test);
        let communicators: BTreeSet<&str> =
            own.iter().filter_map(|row| row["variant"].as_str()).collect();
        assert_eq!(communicators.len(), 5, "{test}: {:?}", skipped(&rows, test));
        assert!(own.iter().all(|row| row["valid"] == true), "{own:?}");
    }
}

#[test]
fn what_cannot_be_measured_is_skipped_with_the_reason() {
    let alone = measured(Mpi::Mpich, 1, &[], LITTLE);
    // Every test that a figure is of has the reason itself.
    let pairs = ["latency", "bandwidth", "core-latency", "core-bandwidth", "overlap", "streams"];
    let groups = ["hotspot", "fan-in", "fan-out", "barrier", "bcast", "allreduce", "allgather"];
    let further = ["parallel-barrier", "parallel-bcast", "parallel-allgather", "halo"];
    for test in pairs.into_iter().chain(groups).chain(further) {
        assert!(of(&alone, test).is_empty(), "{test}");
        let said = skipped(&alone, test);
        assert!(said.first().is_some_and(|own| own.contains("start more")), "{test}: {said:?}");
    }
    let two = measured(Mpi::Mpich, 2, &[], &format!("{LITTLE} --test cores"));
    for test in ["core-latency", "core-bandwidth"] {
        assert!(skipped(&two, test)[0].contains("needs 3 ranks on a node"), "{two:?}");
    }
    // Without all of its components for windows this MPI has none.
    let without = ["--mca", "osc", "^pt2pt,ucx,sm,monitoring,rdma"];
    let rows = measured(Mpi::Open, 2, &without, &format!("{LITTLE} --test halo"));
    assert!(skipped(&rows, "halo")[0].contains("does not have it"), "{rows:?}");
    assert_eq!(of(&rows, "halo").len(), 4 * 2, "the other protocols are measured: {rows:?}");
}

#[test]
fn ranks_that_are_elsewhere_than_the_mapping_says_are_found() {
    let directory = place();
    let file = directory.path().join("places");
    fs::write(&file, "elsewhere\nelsewhere\n").expect("ours");
    let words = format!("{LITTLE} --test pair --test halo --places {}", file.display());
    let rows = measured(Mpi::Open, 2, &[], &words);
    let said = rows[0]["misplaced"].as_str().expect("it is found");
    assert!(said.starts_with("rank 0 is on ") && said.contains("says elsewhere"), "{said}");
    assert_eq!(skipped(&rows, "halo")[0], said);
    assert!(!of(&rows, "latency").is_empty(), "the rest is measured");
}

/// A clock that is an hour wrong from its 500th reading on, in the first series.
const STEPS: &str = "#include <mpi.h>\n#include <stdlib.h>\ndouble MPI_Wtime(void)\n{\n\
    static long readings;\n    const char *by = getenv(\"STEP_S\"), *rank = getenv(\"PMI_RANK\");\n\
    int steps = rank && atoi(rank) == 1 && ++readings > 500;\n\
    return PMPI_Wtime() + (steps ? atof(by) : 0);\n}\n";

/// A rank whose clock stepped back slept until the hour was over, as long as the run was let.
#[test]
fn a_clock_that_steps_spoils_one_series_and_is_reported() {
    let directory = place();
    let source = directory.path().join("steps.c");
    fs::write(&source, STEPS).expect("ours");
    let library = directory.path().join("libsteps.so");
    let mut compiler = Command::new("mpicc.mpich");
    done(compiler.args(["-shared", "-fPIC"]).arg(source).arg("-o").arg(&library));
    for step_s in ["3600", "-3600"] {
        let mut command = Mpi::Mpich.launcher(2, directory.path());
        let yielding = Mpi::Mpich.characterize().with_file_name("libtidings-yield.so");
        Mpi::Mpich.preload(&mut command, &[library.clone(), yielding]);
        command.args(["-genv", "STEP_S", step_s]).arg(Mpi::Mpich.characterize());
        let rows = rows(command.args(LITTLE.split(' ').filter(|word| !word.is_empty())).args([
            "--test",
            "pair",
            "--repetitions",
            "200",
            "--largest",
            "1",
            "--late",
            "0.5",
        ]));
        let error_s = |row: &&Value| row["start_error_s"].as_f64().expect("a time");
        let all = [of(&rows, "latency"), of(&rows, "bandwidth")].concat();
        let (stepped, right): (Vec<&Value>, Vec<&Value>) =
            all.iter().copied().partition(|row| error_s(row) > 1_000.0);
        assert_eq!(stepped.len(), 1, "{step_s}: {rows:?}");
        assert!(stepped[0]["late"].as_u64() > Some(0), "what was spoilt is counted: {stepped:?}");
        for row in right {
            assert!(error_s(&row) < 1.0 && seconds(row) < 10.0, "{step_s}: {row}");
        }
    }
}

#[test]
fn wrong_options_are_refused() {
    let program = Mpi::Mpich.characterize();
    for (words, complaint) in [
        ("--test ring", "--test cannot be 'ring'"),
        ("--torus 4,0", "--torus cannot be '4,0'"),
        ("--mesh 2,2,2,2", "--mesh cannot be '2,2,2,2'"),
        ("--link-mbit 10,-1", "--link-mbit cannot be '10,-1'"),
        ("--own-mbit 0-1", "--own-mbit cannot be '0-1'"),
        ("--own-mbit 0-1=2,1-0=3", "--own-mbit cannot be '0-1=2,1-0=3'"),
        ("--largest", "--largest is no option, or lacks a value"),
        ("--factor 1", "--factor cannot be '1'"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let code = toolchain::refused(Mpi::Mpich, &program, 1, &words, complaint);
        assert_eq!(code, Some(2), "{words:?}");
    }
}

/// Rows of a machine as `mpi/platforms/make.py` writes it, with two ranks on each node.
fn simulated(machine: &[&str], nodes: usize, words: &str) -> Vec<Value> {
    let directory: TempDir = place();
    let (file, hosts) = platform(directory.path(), &[machine, &["--ranks-per-node", "2"]].concat());
    let mut command = Command::new("smpirun");
    command.args(["-no-privatize", "-n", &(2 * nodes).to_string(), "-platform"]).arg(file);
    command.arg("-hostfile").arg(hosts).current_dir(directory.path());
    command.args(["--cfg=smpi/simulate-computation:no", "--log=root.thres:error"]);
    rows(command.arg(Mpi::Simulated.characterize()).args(words.split_whitespace()))
}

/// On a torus with a link of 425 MB/s, whose farthest nodes are 5 µs apart.
fn torus(words: &str, shape: &str, nodes: usize) -> Vec<Value> {
    let machine = ["torus", "--shape", shape, "--link-gb-s", "0.425", "--worst-latency-us", "5"];
    simulated(&machine, nodes, &format!("--torus {shape} {words}"))
}

/// Balaji et al., sections 3.1 and 3.2.4: 2.8 µs to a neighbour and inside a node alike, six times
/// the bandwidth of a link inside a node, and a fan-out of 18 Gb/s and more.
#[test]
fn blue_gene_p_has_the_papers_latency_its_engine_and_its_fan_out() {
    let words = "--torus 4,4,4 --repetitions 1 --factor 1024 --test pair --test cores --test fans";
    let rows = simulated(&["bluegene-p", "--shape", "4,4,4"], 64, words);
    let of_bytes = |test: &str, bytes: u64| {
        let own = of(&rows, test).into_iter().filter(|row| row["bytes"] == bytes);
        own.map(seconds).next_back().expect("measured")
    };
    for test in ["latency", "core-latency"] {
        let empty = of_bytes(test, 0);
        assert!((empty / 2.8e-6 - 1.0).abs() < 0.02, "{test}: {empty}");
    }
    let large = 1 << 20;
    let link = f64::from(1 << 20) / of_bytes("bandwidth", large);
    assert!((0.97..1.0).contains(&(link / 425e6)), "{link}");
    let inside = f64::from(1 << 20) / of_bytes("core-bandwidth", large);
    assert!((5.7..6.05).contains(&(inside / link)), "{inside} and {link}");
    // The last row has all six neighbours.
    let out = 6.0 * f64::from(1 << 20) / of_bytes("fan-out", large);
    assert!((18e9..20.5e9).contains(&(8.0 * out)), "{out}");
}

/// Balaji et al., sections 2.1, 3.3.1 and 3.3.2: hardware serves barriers and broadcasts of all
/// ranks, and of the duplicate of WORLD, but not of WORLD without its last rank.
#[test]
fn collectives_of_all_ranks_of_blue_gene_p_have_networks_of_their_own() {
    let words = "--repetitions 1 --largest 4 --test collectives --operations barrier,bcast";
    let rows = simulated(&["bluegene-p", "--shape", "3,3,3"], 27, words);
    assert!(rows.iter().all(|row| row["valid"] != false), "{rows:?}");
    assert!(of(&rows, "allreduce").is_empty(), "--operations names two");
    let of_bytes = |test: &str, variant: &str, bytes: u64| {
        let own = of(&rows, test).into_iter().filter(|row| row["bytes"] == bytes);
        let mut own = own.filter(|row| row["variant"] == variant).map(seconds);
        own.next().unwrap_or_else(|| panic!("{test} {variant} {bytes}: {rows:?}"))
    };
    for world in ["WORLD", "duplicate of WORLD"] {
        let barrier = of_bytes("barrier", world, 0);
        assert!((barrier / 1.3e-6 - 1.0).abs() < 0.02, "{world}: {barrier}");
        let large = of_bytes("bcast", world, 16384);
        assert!((large / (5e-6 + 16384.0 / 0.85e9) - 1.0).abs() < 0.02, "{world}: {large}");
    }
    let split = "WORLD without the last rank";
    for (test, bytes, least) in [("barrier", 0, 5.0), ("bcast", 4, 2.0), ("bcast", 16384, 3.0)] {
        let ratio = of_bytes(test, split, bytes) / of_bytes(test, "WORLD", bytes);
        assert!(ratio > least, "{test} of {bytes} B takes {ratio} of the time on WORLD");
    }
}

#[test]
fn on_a_torus_flows_share_the_link_that_they_have_in_common_and_a_hop_costs_its_latency() {
    let words = "--repetitions 1 --factor 16 --test hops --test overlap --test through";
    let rows = torus(words, "6,3", 18);
    // The farthest of 6 by 3 are 3 + 1 hops away, 5 µs.
    let latency = |hops: u64| {
        let small = of(&rows, "hops-latency").into_iter().filter(|row| row["bytes"] == 64);
        small.filter(|row| row["count"] == hops).map(seconds).next().expect("measured")
    };
    for hops in 2..=4 {
        let cost = latency(hops) - latency(1);
        assert!((cost / (1.25e-6 * (hops - 1) as f64) - 1.0).abs() < 0.02, "{hops}: {cost}");
    }
    let rate = |test: &str, variant: &str| {
        let own = of(&rows, test).into_iter().filter(|row| row["variant"] == variant);
        own.map(|row| row["bytes"].as_f64().unwrap_or(0.0) / seconds(row)).fold(0.0, f64::max)
    };
    for flow in ["P0-P3", "P1-P2", "P0-P2", "P1-P3"] {
        let alone = rate("overlap", &format!("{flow}, no overlap"));
        assert!((0.9..1.0).contains(&(alone / 425e6)), "{flow}: {alone}");
    }
    // SimGrid shares a link by max-min with weights by latency, so the nearer flow gets more, and
    // the farther one half over the whole of its time.
    for (flow, other, least) in
        [("P0-P3", "P1-P2", 0.45), ("P1-P2", "P0-P3", 0.5), ("P0-P2", "P1-P3", 0.45)]
    {
        let shared = rate("overlap", &format!("{flow}, with {other}")) / 425e6;
        assert!((least..least + 0.35).contains(&shared), "{flow}: {shared}");
    }
    for local in ["inside the node", "another link"] {
        let kept = rate("through", &format!("{local}, with flow-through"))
            / rate("through", &format!("{local}, alone"));
        assert!(kept > 0.97, "{local} keeps {kept}");
    }
}

/// Where links along an axis are slow, the busiest link is not the one with most messages.
#[test]
fn an_order_is_predicted_by_the_link_that_takes_longest() {
    let words = "--repetitions 1 --halo-largest 2 --test halo";
    let predicted = |more: &str| -> Vec<Value> {
        let rows = torus(&format!("{words} {more}"), "4,2,2", 16);
        rows.into_iter().filter(|row| row["test"] == "halo-prediction").collect()
    };
    assert!(predicted("").iter().all(|row| row.get("busiest_s_a_byte").is_none()));
    let alike = predicted("--link-mbit 80");
    for row in &alike {
        let messages = row["messages_of_the_busiest_link"].as_f64().expect("a number");
        let byte_s = row["busiest_s_a_byte"].as_f64().expect("a time");
        assert!((byte_s / (1e-7 * messages) - 1.0).abs() < 1e-9, "{row}");
    }
    let times = |rows: &[Value]| -> Vec<f64> {
        rows.iter().filter_map(|row| row["busiest_s_a_byte"].as_f64()).collect()
    };
    let slow = times(&predicted("--link-mbit 80,80,8"));
    let ratios: BTreeSet<u64> =
        slow.iter().zip(times(&alike)).map(|(slow, alike)| (slow / alike).round() as u64).collect();
    assert!(ratios.len() > 1, "some orders use Z less than others: {ratios:?}");
    // A link of its own: named in either order, it takes longest for who uses it.
    let own = |named: &str| times(&predicted(&format!("--link-mbit 80 --own-mbit {named}")));
    let one = own("0-1=0.008");
    assert_eq!(one, own("1-0=0.008"));
    assert!(one.iter().zip(times(&alike)).all(|(own, alike)| *own >= alike), "{one:?}");
    assert!(one.iter().any(|own| *own >= 1e-3), "a message passes it: {one:?}");
    assert_eq!(own("0-1=80"), times(&alike), "as the others");
}

#[test]
fn all_orders_of_ranks_are_predicted_then_measured() {
    let words = "--repetitions 1 --halo-largest 1024 --test halo";
    let rows = torus(words, "4,2,2", 16);
    let names = |test: &str| -> BTreeSet<String> {
        let own = rows.iter().filter(|row| row["test"] == test && row.get("skipped").is_none());
        own.filter_map(|row| Some(row["variant"].as_str()?.split(',').next()?.to_owned())).collect()
    };
    let orders = names("halo-prediction");
    assert_eq!(orders.len(), 24 + 1, "each order of X, Y, Z, T, and Hilbert's: {orders:?}");
    assert_eq!(names("halo"), orders);
    assert!(of(&rows, "halo").iter().all(|row| row["valid"] == true), "{rows:?}");
    let load = |row: &Value| row["messages_of_the_busiest_link"].as_f64().expect("a number");
    let predictions = || rows.iter().filter(|row| row["test"] == "halo-prediction");
    let time = |order: &str| {
        let large = of(&rows, "halo").into_iter().filter(|row| row["count"] == 1024);
        let name = format!("{order}, isend and irecv");
        large.filter(|row| row["variant"] == name.as_str()).map(seconds).next().expect("measured")
    };
    let by = |row: &&Value| load(row) as u64;
    let best = predictions().min_by_key(by).expect("there are some");
    let worst = predictions().max_by_key(by).expect("there are some");
    let names = [best, worst].map(|row| row["variant"].as_str().expect("a name"));
    assert!(load(best) < load(worst), "orders differ: {names:?}");
    assert!(time(names[0]) < time(names[1]), "what is predicted is measured: {names:?}");
}

#[test]
fn a_stream_has_as_many_messages_as_are_wanted() {
    let rows = torus("--repetitions 2 --largest 16 --test pair --messages 3", "2", 2);
    let bandwidth = of(&rows, "bandwidth");
    assert_eq!(bandwidth.len(), 3, "{rows:?}");
    assert!(bandwidth.iter().all(|row| row["messages"] == 3 && row["valid"] == true), "{rows:?}");
}

#[test]
fn of_the_orders_of_ranks_only_those_that_are_named_are_measured() {
    let words = "--repetitions 1 --halo-largest 2 --test halo --orders TZYX,XYZ,Hilbert";
    let rows = torus(words, "4,2,2", 16);
    let names: BTreeSet<&str> = of(&rows, "halo")
        .iter()
        .filter_map(|row| row["variant"].as_str()?.split(',').next())
        .collect();
    assert_eq!(names, BTreeSet::from(["Hilbert", "TZYX"]));
    let none = torus(&words.replace("TZYX,XYZ,Hilbert", "XYZ"), "4,2,2", 16);
    assert!(skipped(&none, "halo")[0].contains("--orders"), "{none:?}");
}

#[test]
fn of_the_protocols_of_halo_only_those_that_are_named_are_measured() {
    let words = "--repetitions 1 --halo-largest 2 --test halo --protocols one-sided,sendrecv";
    let rows = torus(words, "4,2,2", 16);
    let variants = of(&rows, "halo");
    let mut names: Vec<&str> = variants.iter().filter_map(|row| row["variant"].as_str()).collect();
    let further = names.iter().filter(|name| name.ends_with(", one-sided")).count();
    assert_eq!(further, 1, "the first order alone has all protocols: {names:?}");
    names.retain(|name| !name.ends_with(", sendrecv") && !name.ends_with(", one-sided"));
    assert_eq!(names, [""; 0]);
    let none = torus(&words.replace("one-sided,sendrecv", "none"), "4,2,2", 16);
    assert!(skipped(&none, "halo")[0].contains("--protocols"), "{none:?}");
}
