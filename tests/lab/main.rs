//! Campaigns with real launchers: they go on where they were interrupted, refuse what cannot be
//! measured, and leave no process behind.

mod advise;
mod characterize;
mod fluid;
mod links;
mod noise;
mod places;
mod series;

use std::fs;
use std::path::Path;
use std::process::Output;

use rustix::process::{Pid, Signal, kill_process};
use tidings_tests::disk::Disk;

use places::{Bench, known_length, said, shim_of};

/// A campaign of one arm and as few repetitions as can show something.
fn campaign(backend: &str, command: &str) -> String {
    let shim = shim_of("openmpi");
    let shim = shim.display();
    format!(
        "name = \"small\"\nrepetitions = 6\nwarm_up = 0\nlimit_s = 500.0\n\
         [world]\nnodes = [2]\nranks_per_node = 2\n\
         [backend]\n{backend}\nshim = \"{shim}\"\n\
         [gossip]\nintervals_ms = [4]\nwindows = [\"100%\"]\nentry_bytes = [64]\n\
         options = [\"--warmup\", \"0\"]\n\
         [[applications]]\nname = \"known\"\ncommand = {command}\n\
         seconds = {{ file = \"stdout\", json = \"seconds\" }}\n"
    )
}

const LOCAL: &str = "kind = \"local\"\nmpi = \"openmpi\"";

/// The command of an application of some milliseconds.
fn short(bench: &Bench) -> String {
    let program = known_length(bench, "mpicc.openmpi");
    format!("[\"{}\", \"--work\", \"20\"]", program.display())
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

/// The same, but its ranks sleep for ever as long as there is no file `gate`.
fn gated(bench: &Bench) -> String {
    let program = known_length(bench, "mpicc.openmpi");
    let gate = bench.file("gate");
    let text = format!(
        "#!/bin/sh\n[ -e {} ] || exec sleep 100000\nexec {} --work 20\n",
        gate.display(),
        program.display()
    );
    format!("[\"{}\"]", bench.lay_program("gated", &text).display())
}

/// A lab that is killed leaves the folder and the ranks of its run; beside it lies one of a person.
/// Its process.
fn killed_in_its_first_run(bench: &Bench, file: &str) -> u32 {
    let mut running = bench.start(&["lab", "overhead", file, "--output", "out"]);
    bench.until("a rank sleeps in the folder of the run", || bench.has_processes_named("sleep"));
    kill_process(Pid::from_child(&running), Signal::KILL).expect("it runs");
    assert_eq!(running.wait().expect("an own child").code(), None);
    assert!(bench.has_processes_named("sleep"), "nobody ended them");
    assert_eq!(bench.run_folders("out").len(), 1);
    fs::create_dir(bench.file("out/run-of-mine")).expect("ours");
    running.id()
}

#[test]
fn a_campaign_goes_on_where_it_was_killed_and_where_ctrl_c_ended_it() {
    let bench = Bench::new();
    let file = bench.lay("small.toml", &campaign(LOCAL, &gated(&bench)));
    killed_in_its_first_run(&bench, &file);
    bench.lay("gate", "");
    let mut running = bench.start(&["lab", "overhead", &file, "--output", "out"]);
    bench.until("three runs are in the journal", || bench.runs("out").len() >= 3);
    kill_process(Pid::from_child(&running), Signal::INT).expect("it runs");
    assert_eq!(running.wait().expect("an own child").code(), Some(130));
    assert!(!bench.has_processes(), "the ranks ended with it, and those of the lab before it");
    assert_eq!(bench.run_folders("out"), ["run-of-mine"], "{}", bench.complaint());
    assert!(bench.complaint().contains("left by a lab that was killed"), "{}", bench.complaint());
    let before = bench.runs("out");
    let done = bench.tidings(&["lab", "overhead", &file, "--output", "out"]);
    assert_eq!(code(&done), Some(0), "{}", said(&done));
    let after = bench.runs("out");
    assert_eq!(after[..before.len()], before[..], "what was measured is kept");
    let mut places: Vec<u64> = after.iter().filter_map(|run| run["index"].as_u64()).collect();
    places.sort_unstable();
    assert_eq!(places, (0..18).collect::<Vec<u64>>(), "each run once");
    let gossip = after.iter().find(|run| run["arm"] == "gossip").expect("an arm");
    assert_eq!(gossip["gossip"]["ranks"], 2, "{gossip}");
    assert_eq!(gossip["times"]["ranks"], 2, "{gossip}");
    let results = fs::read_to_string(bench.file("out/results.csv")).expect("written");
    assert_eq!(results.lines().count(), 3, "{results}");
    assert!(bench.file("out/results.manifest.json").is_file());
    let page = fs::read_to_string(bench.file("out/results.md")).expect("written");
    assert!(page.contains("(results.svg)") && page.contains("gossip 4 ms"), "{page}");
    let picture = fs::read_to_string(bench.file("out/results.svg")).expect("written");
    assert!(picture.starts_with("<svg "), "{picture}");
    assert!(said(&done).contains("18 of 18 runs"), "progress without a terminal: {}", said(&done));
    assert!(said(&done).contains("shorter than what disturbs it"), "{}", said(&done));
    let compared = bench.tidings(&["lab", "compare", "out", "out"]);
    assert_eq!(code(&compared), Some(0), "a campaign does not differ from itself");
    assert!(said(&compared).contains("no difference"), "{}", said(&compared));
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_runs() {
    let bench = Bench::new();
    let right = campaign(LOCAL, &short(&bench));
    let refused = |name: &str, text: &str, wanted: &str| {
        let file = bench.lay(name, text);
        let output = bench.tidings(&["lab", "overhead", &file, "--output", "refused"]);
        assert_eq!(code(&output), Some(2), "{name}: {}", said(&output));
        assert!(said(&output).contains(wanted), "{name}: {}", said(&output));
        assert!(bench.runs("refused").is_empty(), "{name}");
    };
    let with = |from: &str, to: &str| {
        assert!(right.contains(from), "{from}");
        right.replacen(from, to, 1)
    };
    refused("key.toml", &with("limit_s", "limits"), "key.toml:4: unknown key `limits`");
    refused("k.toml", &with("ranks_per_node = 2", "ranks_per_node = 2\nevery = 9"), "none would");
    refused(
        "mpi.toml",
        &with("mpi = \"openmpi\"", "mpi = \"openmpi\"\nlauncher = \"no-mpirun\""),
        "no-mpirun",
    );
    refused("shim.toml", &with("libtidings-shim", "no-shim"), "make mpi");
    refused("type.toml", &with("repetitions = 6", "repetitions = \"six\""), "write a whole number");
    let other = shim_of("mpich").display().to_string();
    let own = shim_of("openmpi").display().to_string();
    refused(
        "other.toml",
        &with(&own, &other),
        "is made for the family of MPICH, but mpi is openmpi",
    );
    refused("none.toml", &campaign(LOCAL, "[\"cat\"]"), "is not linked to an MPI");
    let missing = campaign(LOCAL, "[\"./not-there\"]");
    refused("program.toml", &missing, "not-there");
    let program = bench.compile_static();
    let fixed = campaign(LOCAL, &format!("[\"{}\"]", program.display()));
    refused("static.toml", &fixed, "PT_INTERP");
    bench.lay("klein.xml", "<platform>\n<cluster topology=\"KLEIN\"/>\n</platform>\n");
    let klein =
        with("kind = \"local\"\nmpi = \"openmpi\"", "kind = \"smpi\"\nplatform = \"klein.xml\"");
    let shim = format!("shim = \"{}\"\n", shim_of("openmpi").display());
    refused("klein.toml", &klein.replace(&shim, ""), "klein.xml:2: unknown topology `KLEIN`");
}

/// Files that cannot be read had status 1, and those that cannot be understood 2.
#[test]
fn a_campaign_that_is_not_there_has_the_status_of_a_wrong_one() {
    let bench = Bench::new();
    for action in ["overhead", "series", "table"] {
        let output = bench.tidings(&["lab", action, "not-there.toml"]);
        assert_eq!(code(&output), Some(2), "{action}: {}", said(&output));
        assert!(said(&output).contains("not-there.toml"), "{action}: {}", said(&output));
    }
}

#[test]
fn a_check_says_how_busy_the_machine_is() {
    let bench = Bench::new();
    let file = bench.lay("small.toml", &campaign(LOCAL, &short(&bench)));
    let output = bench.tidings(&["lab", "overhead", &file, "--check"]);
    assert_eq!(code(&output), Some(0), "{}", said(&output));
    assert!(said(&output).contains("this machine: others have "), "{}", said(&output));
}

#[test]
fn a_program_that_fails_or_hangs_is_reported_and_nothing_of_it_stays() {
    let bench = Bench::new();
    let script = |name: &str, text: &str| {
        let path = bench.lay_program(name, text);
        campaign(LOCAL, &format!("[\"{}\"]", path.display()))
    };
    let fails = "#!/bin/sh\necho no such grid >&2; exit 7\n";
    let file = bench.lay("fails.toml", &script("fails", fails));
    let output = bench.tidings(&["lab", "overhead", &file, "--output", "failed"]);
    assert_eq!(code(&output), Some(1), "{}", said(&output));
    assert!(said(&output).contains("no such grid"), "{}", said(&output));
    let runs = bench.runs("failed");
    assert_eq!((runs.len(), &runs[0]["outcome"]), (1, &"failed".into()), "{runs:?}");
    assert_eq!(runs[0]["exit_code"], 7);
    // A child in a session of its own, deaf to the launcher's request to end.
    let hangs = "#!/bin/sh\ntrap '' TERM\nsetsid sleep 1000 &\nsleep 1000\n";
    let text =
        script("hangs", hangs).replace("limit_s = 500.0", "limit_s = 1.5\non_failure = \"go-on\"");
    let file = bench.lay("hangs.toml", &text);
    let mut running = bench.start(&["lab", "overhead", &file, "--output", "hung"]);
    bench.until("a run has hung and was ended", || !bench.runs("hung").is_empty());
    kill_process(Pid::from_child(&running), Signal::TERM).expect("it runs");
    assert_eq!(running.wait().expect("an own child").code(), Some(143));
    assert_eq!(bench.runs("hung")[0]["outcome"], "late");
    assert!(!bench.has_processes(), "no orphans");
}

#[test]
fn a_full_disk_ends_a_campaign_and_loses_nothing() {
    let bench = Bench::new();
    let disk = Disk::at(&bench.file("disk"), 256);
    let file = bench.lay("small.toml", &campaign(LOCAL, &short(&bench)));
    let mut running = bench.start(&["lab", "overhead", &file, "--output", "disk/out"]);
    bench.until("a run is in the journal", || !bench.runs("disk/out").is_empty());
    disk.fill();
    assert_eq!(running.wait().expect("an own child").code(), Some(1));
    assert!(!bench.runs("disk/out").is_empty());
    disk.free();
    let done = bench.tidings(&["lab", "overhead", &file, "--output", "disk/out"]);
    assert_eq!(code(&done), Some(0), "{}", said(&done));
    let runs = bench.runs("disk/out");
    // The run that met the full disk may have failed of it; it was repeated.
    assert_eq!(runs.iter().filter(|run| run["outcome"] == "ok").count(), 18, "{runs:?}");
}

/// Runs a campaign until two runs are well, then ends it; those runs.
fn two_runs(bench: &Bench, name: &str, text: &str) -> Vec<serde_json::Value> {
    let file = bench.lay(&format!("{name}.toml"), text);
    let mut running = bench.start(&["lab", "overhead", &file, "--output", name]);
    bench.until(&format!("two runs of {name}"), || {
        let ended = running.try_wait().expect("an own child");
        assert!(ended.is_none(), "{name} ended: {}", bench.complaint());
        bench.runs(name).len() >= 2
    });
    kill_process(Pid::from_child(&running), Signal::INT).expect("it runs");
    assert_eq!(running.wait().expect("an own child").code(), Some(130));
    assert!(!places::has_namespaces(running.id()), "they went with the campaign");
    bench.runs(name)
}

#[test]
fn hosts_have_shared_memory_of_their_own_where_a_campaign_cannot_lie() {
    let bench = Bench::below("/dev/shm");
    let backend = "kind = \"hosts\"\nmpi = \"openmpi\"";
    let file = bench.lay("shared.toml", &campaign(backend, &short(&bench)));
    let done = bench.tidings(&["lab", "overhead", &file]);
    assert_eq!(code(&done), Some(1), "{}", said(&done));
    assert!(said(&done).contains("choose another folder with --output"), "{}", said(&done));
}

#[test]
fn hosts_of_a_lab_that_was_killed_go_when_the_next_makes_its_own() {
    let bench = Bench::below(env!("CARGO_TARGET_TMPDIR"));
    // Links of their own are more that has to go than one switch.
    let backend = "kind = \"hosts\"\nmpi = \"openmpi\"\nmesh = [2]\ndelay_us = 100.0";
    let text = campaign(backend, &gated(&bench));
    let killed = killed_in_its_first_run(&bench, &bench.lay("out.toml", &text));
    assert!(places::has_namespaces(killed), "nobody removed them");
    bench.lay("gate", "");
    let runs = two_runs(&bench, "out", &text);
    assert!(runs.iter().all(|run| run["outcome"] == "ok"), "{runs:?}");
    assert!(!places::has_namespaces(killed));
    assert!(!bench.has_processes());
}

#[test]
fn hosts_of_their_own_are_made_and_packets_travel_as_long_as_asked() {
    let bench = Bench::below(env!("CARGO_TARGET_TMPDIR"));
    let backend = |more: &str| format!("kind = \"hosts\"\nmpi = \"openmpi\"\n{more}");
    let text = |more: &str| campaign(&backend(more), &short(&bench));
    let near = two_runs(&bench, "near", &text("rate_mbit = 1000.0"));
    let far = two_runs(&bench, "far", &text("delay_us = 2000.0"));
    let seconds = |run: &serde_json::Value| run["seconds"].as_f64().expect("a time");
    assert!(near.iter().chain(&far).all(|run| run["outcome"] == "ok"), "{near:?} {far:?}");
    // Fifty steps, in each of which a word goes there and one comes back: 2 ms at least.
    assert!(far.iter().all(|run| seconds(run) >= 50.0 * 0.002), "{far:?}");
    assert!(!bench.has_processes());
}

/// How many ranks have the library that yields loaded, and are scheduled in turns, as an MPI
/// program finds out itself.
const LOADED: &str = r#"
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **words)
{
    char line[4096];
    int rank, mine[2] = { 0, sched_getscheduler(0) == SCHED_RR }, all[2];
    FILE *maps = fopen("/proc/self/maps", "r");
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double begin = MPI_Wtime();
    while (fgets(line, sizeof line, maps))
        mine[0] |= strstr(line, "libtidings-yield.so") != NULL;
    MPI_Reduce(mine, all, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("{\"seconds\":%f,\"yielding\":%d,\"turns\":%d}\n", 1e-6 + MPI_Wtime() - begin,
               all[0], all[1]);
    MPI_Finalize();
    return 0;
}
"#;

#[test]
fn ranks_that_outnumber_cores_can_be_had_to_yield_and_to_take_turns() {
    let bench = Bench::new();
    let program = places::compile(&bench, "mpicc.openmpi", &bench.lay("loaded.c", LOADED));
    let figures = "figures = { yielding = { file = \"stdout\", json = \"yielding\" }, \
                   turns = { file = \"stdout\", json = \"turns\" } }\n";
    let text = campaign(LOCAL, &format!("[\"{}\"]", program.display())) + figures;
    let text = text.replace("warm_up = 0", "warm_up = 0\nscheduling = \"rr:1\"");
    let yielding = |library: &Path| {
        text.replace(LOCAL, &format!("{LOCAL}\nyielding = \"{}\"", library.display()))
    };
    let library = shim_of("openmpi").with_file_name("libtidings-yield.so");
    for run in two_runs(&bench, "yielding", &yielding(&library)) {
        let (outcome, figures) = (&run["outcome"], &run["figures"]);
        assert_eq!((outcome, &figures["yielding"]), (&"ok".into(), &2.0.into()), "{run}");
        assert_eq!(figures["turns"], 2.0, "{run}");
    }
    for (wrong, wanted) in [
        (bench.file("not-there.so"), "`make mpi` builds it"),
        (shim_of("openmpi"), "name libtidings-yield.so"),
    ] {
        let file = bench.lay("refused.toml", &yielding(&wrong));
        let refused = bench.tidings(&["lab", "overhead", &file, "--check"]);
        assert_eq!(code(&refused), Some(2), "{}", said(&refused));
        assert!(said(&refused).contains(wanted), "{}", said(&refused));
    }
}

/// A campaign with MPICH, on a backend with further keys.
fn with_mpich(bench: &Bench, backend: &str) -> String {
    let program = known_length(bench, "mpicc.mpich");
    let command = format!("[\"{}\", \"--work\", \"20\"]", program.display());
    let text = campaign(&format!("{backend}\nmpi = \"mpich\""), &command);
    let shim = |mpi: &str| shim_of(mpi).display().to_string();
    text.replace(&shim("openmpi"), &shim("mpich"))
}

/// What the hosts' own counters say while the campaign runs: packets that waited for tokens, and
/// packets that were thrown away.
#[test]
fn hosts_send_no_faster_and_lose_what_was_asked() {
    let bench = Bench::below(env!("CARGO_TARGET_TMPDIR"));
    let kernels = shim_of("openmpi").with_file_name("tidings-mpi-kernels.openmpi");
    // Three exchanges of 128 KiB between two hosts: far more than a bucket holds.
    let command = format!("[\"{}\", \"fft\", \"--log2\", \"14\"]", kernels.display());
    let backend = "kind = \"hosts\"\nmpi = \"openmpi\"\nrate_mbit = 50.0\ndelay_us = 100.0\n\
                   loss_percent = 2.0";
    let file = bench.lay("lossy.toml", &campaign(backend, &command));
    let mut running = bench.start(&["lab", "overhead", &file, "--output", "lossy"]);
    let lab = running.id();
    bench.until("a run is well, and packets waited and were lost", || {
        let ended = running.try_wait().expect("an own child");
        assert!(ended.is_none(), "it ended: {}", bench.complaint());
        !bench.runs("lossy").is_empty() && waited(lab) > 0 && lost(lab) > 0
    });
    kill_process(Pid::from_child(&running), Signal::INT).expect("it runs");
    assert_eq!(running.wait().expect("an own child").code(), Some(130));
    let runs = bench.runs("lossy");
    assert!(runs.iter().all(|run| run["outcome"] == "ok"), "{runs:?}");
}

/// How often the token bucket of the first host made a packet wait.
fn waited(lab: u32) -> u64 {
    let shown = places::on_host(lab, 0, "tc", &["-s", "-j", "qdisc", "show", "dev", "eth0"]);
    shown[0]["overlimits"].as_u64().expect("tc counts")
}

/// How many packets did not reach the first host.
fn lost(lab: u32) -> u64 {
    let shown = places::on_host(lab, 0, "nft", &["-j", "list", "ruleset"]);
    let rules = shown["nftables"].as_array().expect("objects").iter();
    let mut words = rules.filter_map(|object| object["rule"]["expr"].as_array()).flatten();
    let counter = words.find_map(|word| word["counter"]["packets"].as_u64());
    counter.expect("the rule counts")
}

#[test]
fn mpich_is_started_as_open_mpi_is() {
    let bench = Bench::new();
    let runs = two_runs(&bench, "mpich", &with_mpich(&bench, "kind = \"local\""));
    assert!(
        runs.iter().all(|run| run["outcome"] == "ok" && run["times"]["ranks"] == 2),
        "{runs:?}"
    );
}

/// Below the shim MPICH's ranks on several hosts did not end: one that waited in the barrier of
/// `MPI_Finalize` did not answer those that came later (mpi/shim/finish.c).
#[test]
fn mpich_ends_on_hosts_of_their_own_too() {
    let bench = Bench::below(env!("CARGO_TARGET_TMPDIR"));
    // The shim itself finds out whether the ranks are laid out as they should be.
    let each = "environment = { TIDINGS_HIDE_ONE_A_NODE = \"1\" }\n";
    let text = with_mpich(&bench, "kind = \"hosts\"") + each;
    let file = bench.lay("hosts.toml", &text);
    let done = bench.tidings(&["lab", "overhead", &file, "--output", "out"]);
    assert_eq!(code(&done), Some(0), "{}", said(&done));
    let runs = bench.runs("out");
    assert_eq!(runs.len(), 18, "{runs:?}");
    assert!(runs.iter().all(|run| run["outcome"] == "ok"), "{runs:?}");
    let gossip = runs.iter().find(|run| run["arm"] == "gossip").expect("an arm");
    assert_eq!((&gossip["gossip"]["ranks"], &gossip["times"]["ranks"]), (&2.into(), &2.into()));
    assert!(!bench.has_processes());
}

#[test]
fn in_virtual_time_two_baseline_runs_are_the_same() {
    let bench = Bench::new();
    let program = known_length(&bench, "smpicc");
    let platform = places::repository().join("mpi/platforms/torus-4x4x4.xml");
    let text = format!(
        "name = \"torus\"\nrepetitions = 1\nlimit_s = 500.0\n\
         [world]\nnodes = [16]\nranks_per_node = 2\n\
         [backend]\nkind = \"smpi\"\nplatform = \"{}\"\n\
         [gossip]\nintervals_ms = [4]\nwindows = [\"20%\"]\nentry_bytes = [64]\n\
         [[applications]]\nname = \"known\"\ncommand = [\"{}\", \"--now\", \"{{hidden}}\"]\n\
         seconds = {{ file = \"stdout\", json = \"seconds\" }}\n",
        platform.display(),
        program.display()
    );
    let file = bench.lay("torus.toml", &text);
    let done = bench.tidings(&["lab", "overhead", &file, "--output", "torus"]);
    assert_eq!(code(&done), Some(0), "{}", said(&done));
    let runs = bench.runs("torus");
    let baseline: Vec<_> = runs.iter().filter(|run| run["baseline"] == true).collect();
    assert_eq!(baseline.len(), 2, "{runs:?}");
    assert_eq!(baseline[0]["seconds"], baseline[1]["seconds"]);
    assert!(said(&done).contains("within noise"), "{}", said(&done));
}

/// The example of the guide is a campaign, and what it names lies where the guide builds it.
#[test]
fn the_example_can_be_read() {
    let file = Path::new("examples/lab/first.toml");
    let bench = Bench::new();
    let path = places::repository().join(file).display().to_string();
    let output = bench.tidings(&["lab", "overhead", &path, "--check"]);
    let refused = said(&output);
    let is_built = code(&output) == Some(0);
    assert!(is_built || refused.contains("target/mpi/known_length"), "{refused}");
}
