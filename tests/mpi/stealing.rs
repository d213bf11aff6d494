//! Work stealing on the ranks of real MPI programs and of a simulated machine: what tasks may do,
//! what is refused, and applications whose results are known.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;
use tempfile::TempDir;
use tidings_experiment::agents::programs;
use tidings_steal::trace::{File, Statistics, Tree};

use crate::toolchain::{self, Mpi, done, place, root, run, said};

/// The program of checks and that of applications, built once for all tests of this process.
pub(crate) struct Built {
    folder: TempDir,
    mpi: Mpi,
}

impl Built {
    pub(crate) fn of(mpi: Mpi) -> &'static Self {
        static BUILT: [OnceLock<Built>; 5] = [const { OnceLock::new() }; 5];
        BUILT[mpi as usize].get_or_init(|| {
            let folder = place();
            let library = programs().join("libtidings_applications_c.a");
            let mut build = Command::new(root().join("mpi/steal/build"));
            done(build.arg(mpi.compiler("mpicc")).arg(library).arg(folder.path()));
            compile_checks(mpi, folder.path());
            Self { folder, mpi }
        })
    }

    /// On a simulated machine a look for a message takes 5 µs, each as long as the others. Each has
    /// a folder of its own: two of Open MPI that begin at once both make what is missing of theirs.
    fn launcher(&self, ranks: usize) -> Command {
        static LAUNCHED: AtomicU32 = AtomicU32::new(0);
        let own = LAUNCHED.fetch_add(1, Ordering::Relaxed).to_string();
        let own = self.folder.path().join(own);
        fs::create_dir(&own).expect("its number is new");
        let mut launcher = self.mpi.launcher(ranks, &own);
        if self.mpi == Mpi::Simulated {
            launcher.args(["--cfg=smpi/grow-injected-times:no", "--cfg=smpi/iprobe:5e-6"]);
            launcher.arg("--cfg=smpi/test:5e-6");
        }
        launcher
    }

    pub(crate) fn applications(&self) -> PathBuf {
        self.folder.path().join(format!("tidings-mpi-steal.{}", self.mpi.name()))
    }

    fn check(&self, ranks: usize, name: &str) {
        let said = done(self.launcher(ranks).arg(self.folder.path().join("checks")).arg(name));
        assert_eq!(said, "done\n", "{name} on {ranks} ranks");
    }

    /// What an application says of each iteration.
    fn run(&self, ranks: usize, words: &str) -> Vec<Value> {
        let mut command = self.launcher(ranks);
        let text = done(command.arg(self.applications()).args(words.split(' ')));
        text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
    }
}

/// What a program compiles.
const LIBRARY: [&str; 14] = [
    "tidings_steal_mpi.c",
    "tidings_steal_trace.c",
    "tidings_steal_array.c",
    "tidings_steal_balance.c",
    "errors.c",
    "enter.c",
    "tasks.c",
    "board.c",
    "mail.c",
    "coming.c",
    "bell.c",
    "shelf.c",
    "places.c",
    "deaths.c",
];

fn compile_checks(mpi: Mpi, folder: &Path) {
    let mut compiler = Command::new(mpi.compiler("mpicc"));
    compiler.args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]);
    compiler.arg("-Wno-stringop-overflow").current_dir(root());
    compiler.args(["-I", "mpi/steal", "-I", "crates/steal-ffi/include"]);
    compiler.args(["-I", "crates/ffi/include"]);
    compiler.args(["tests/mpi/stealing.c", "tests/mpi/stealing_near.c"]);
    compiler.arg("tests/mpi/stealing_balance.c");
    compiler.args(LIBRARY.map(in_steal));
    compiler.arg(programs().join("libtidings_steal_c.a"));
    done(compiler.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(folder.join("checks")));
}

fn in_steal(name: &str) -> PathBuf {
    Path::new("mpi/steal").join(name)
}

const CHECKS: [&str; 10] = [
    "policies", "finishes", "deep", "retained", "refused", "arrays", "large", "shelves", "near",
    "balanced",
];

fn all_checks_hold(mpi: Mpi, ranks: &[usize]) {
    for &ranks in ranks {
        for check in CHECKS {
            Built::of(mpi).check(ranks, check);
        }
    }
}

#[test]
fn tasks_do_what_they_may_under_open_mpi() {
    all_checks_hold(Mpi::Open, &[1, 2, 4]);
}

#[test]
fn tasks_do_what_they_may_under_mpich() {
    all_checks_hold(Mpi::Mpich, &[1, 2, 4]);
}

#[test]
fn tasks_do_what_they_may_on_a_simulated_machine() {
    all_checks_hold(Mpi::Simulated, &[7]);
}

#[test]
fn an_idle_rank_of_a_simulated_machine_waits_for_a_message_or_for_a_time() {
    Built::of(Mpi::Simulated).check(3, "waits");
}

/// A program in Fortran with the library's module.
fn fortran_has_the_same(mpi: Mpi) {
    let folder = place();
    let mut objects = Vec::new();
    for name in LIBRARY {
        let object = folder.path().join(name).with_extension("o");
        let mut compiler = Command::new(mpi.compiler("mpicc"));
        compiler.args(["-std=gnu11", "-I", "crates/steal-ffi/include"]).current_dir(root());
        compiler.args(["-I", "crates/ffi/include", "-c"]);
        done(compiler.arg(in_steal(name)).arg("-o").arg(&object));
        objects.push(object);
    }
    let program = folder.path().join("stealing");
    let mut compiler = Command::new(mpi.compiler("mpifort"));
    compiler.arg("-J").arg(folder.path()).current_dir(root());
    compiler.arg("mpi/steal/tidings_steal_mpi.f90").arg("tests/mpi/stealing.f90").args(objects);
    compiler.arg(programs().join("libtidings_steal_c.a"));
    done(compiler.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program));
    assert_eq!(done(mpi.launcher(3, folder.path()).arg(&program)), "done\n");
}

#[test]
fn fortran_has_the_same_under_both() {
    fortran_has_the_same(Mpi::Open);
    fortran_has_the_same(Mpi::Mpich);
}

/// The example of the binding for Rust, compiled for one MPI.
fn example_in_rust(mpi: Mpi) -> PathBuf {
    let target = programs().parent().expect("programs lie in a target folder").join("mpi-rust");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--locked", "--example", "search", "--manifest-path"]);
    cargo.arg(root().join("mpi/rust/Cargo.toml")).env("MPICC", mpi.compiler("mpicc"));
    done(cargo.env("CARGO_TARGET_DIR", &target).env_remove("RUSTFLAGS"));
    target.join("debug/examples/search")
}

fn rust_has_the_same(mpi: Mpi) {
    let (program, folder) = (example_in_rust(mpi), place());
    for (manner, steps) in [("help-first", 65_535), ("work-first", 131_069), ("balanced", 65_535)] {
        let mut launcher = mpi.launcher(3, folder.path());
        let said = done(launcher.arg(&program).args(["15", manner]));
        assert_eq!(said, format!("65535 nodes by {steps} steps\n"));
    }
    let output = run(mpi.launcher(3, folder.path()).arg(&program).args(["9", "panic"]));
    let said = said(&output);
    assert!(!output.status.success() && !said.contains("nodes by"), "{said}");
    // On a loaded machine a launcher lacks what a rank says last.
    assert!(said.contains("as was asked for") || said.contains("it has panicked"), "{said}");
}

/// One after the other: both are compiled into one folder, where only what has to be is done again.
#[test]
fn rust_has_the_same_under_both() {
    rust_has_the_same(Mpi::Open);
    rust_has_the_same(Mpi::Mpich);
}

/// Each line says that what was found is right.
fn is_right(mpi: Mpi, ranks: usize, words: &str) -> Vec<Value> {
    let lines = Built::of(mpi).run(ranks, words);
    assert!(!lines.is_empty());
    for line in &lines {
        assert_eq!((&line["right"], &line["ranks"]), (&true.into(), &ranks.into()), "{line}");
    }
    lines
}

#[test]
fn applications_find_what_they_should() {
    let lines = is_right(Mpi::Open, 4, "uts:T1 --selection lifelines");
    assert_eq!(lines[0]["tasks"], 4_130_071);
    is_right(Mpi::Mpich, 3, "uts:T3 --half count");
    is_right(Mpi::Open, 3, "uts:T3 --one-sided --selection lifelines");
    is_right(Mpi::Open, 2, "fib:21 --selection nearest");
    is_right(Mpi::Mpich, 4, "queens:10 --selection known");
    is_right(Mpi::Open, 3, "tce:3,2 --check");
    is_right(Mpi::Mpich, 2, "homology:24 --check");
    is_right(Mpi::Simulated, 32, "queens:11 --task-ns 2000");
}

/// What ranks did is written as one file: each gift was got, each task taken, spawned and ended.
fn a_schedule_is_traced(mpi: Mpi, ranks: usize) {
    let built = Built::of(mpi);
    let file = built.folder.path().join(format!("{ranks}.trace"));
    let traced = format!("fib:20 --task-ns 1000 --trace {}", file.display());
    let lines = is_right(mpi, ranks, &traced);
    let bytes = std::fs::read(file).expect("rank 0 has written it");
    let (_, events) = File::decode(&bytes).expect("it is whole");
    let Statistics { workers, steals, steps, .. } =
        Tree::of(&events).expect("of one phase").statistics;
    let number = |name: &str| lines[0][name].as_u64().expect("a number");
    assert_eq!((workers as usize, steps), (ranks, 3 * number("tasks") - 1));
    assert!(steals >= number("steals") + number("pushed"), "{steals}: {}", lines[0]);
}

#[test]
fn schedules_are_traced() {
    for (mpi, ranks) in [(Mpi::Open, 2), (Mpi::Mpich, 3), (Mpi::Simulated, 16)] {
        a_schedule_is_traced(mpi, ranks);
    }
}

/// The words of a phase and a file of its schedule.
fn with_file<'a>(words: &'a str, option: &'a str, file: &'a Path) -> Vec<&'a str> {
    let file = file.to_str().expect("UTF-8");
    words.split(' ').chain([option, file]).collect()
}

/// The same again, in another job whose draws are others and where a third of the ranks is slow:
/// each rank runs the same tasks in the same order.
fn a_schedule_is_the_same_again(mpi: Mpi, ranks: usize, words: &str) {
    let file = Built::of(mpi).folder.path().join(format!("again-{ranks}.trace"));
    let first = is_right(mpi, ranks, &with_file(words, "--trace", &file).join(" "));
    let other = format!("{words} --seed 7 --slow-us 20");
    let again = is_right(mpi, ranks, &with_file(&other, "--replay", &file).join(" "));
    let what = |line: &Value| ["order", "tasks", "moved"].map(|name| line[name].clone());
    assert!(first[0]["order"].is_string(), "{}", first[0]);
    assert_eq!(what(&again[0]), what(&first[0]), "{} {}", again[0], first[0]);
    assert_eq!(again[0]["attempts"], 0);
    // On a real machine one rank may be done before the others are there.
    assert!(mpi != Mpi::Simulated || first[0]["moved"] != 0, "{}", first[0]);
}

#[test]
fn schedules_are_the_same_again_task_by_task() {
    a_schedule_is_the_same_again(Mpi::Open, 3, "queens:9");
    a_schedule_is_the_same_again(Mpi::Mpich, 2, "queens:10 --half count --selection lifelines");
    a_schedule_is_the_same_again(Mpi::Simulated, 16, "queens:9 --task-ns 20000");
}

/// Other draws make another order, which the hash of it shows.
#[test]
fn another_schedule_has_another_order() {
    let traced = |seed: &str| {
        let file = Built::of(Mpi::Simulated).folder.path().join(format!("{seed}.trace"));
        let words = format!("queens:9 --task-ns 20000 --seed {seed}");
        let lines = is_right(Mpi::Simulated, 8, &with_file(&words, "--trace", &file).join(" "));
        lines[0]["order"].as_str().map(str::to_owned).expect("an order")
    };
    assert_ne!(traced("1"), traced("2"));
}

#[test]
fn what_cannot_be_done_again_is_refused() {
    let built = Built::of(Mpi::Mpich);
    let (folder, program) = (built.folder.path(), built.applications());
    let [file, torn, kept] = ["refused", "torn", "kept"].map(|name| folder.join(name));
    built.run(2, &with_file("fib:9", "--trace", &file).join(" "));
    let bytes = std::fs::read(&file).expect("it was written");
    std::fs::write(&torn, &bytes[..bytes.len() - 1]).expect("there is space");
    // Each rank begins the second iteration with what it ran in the first, as long as that took.
    built.run(2, &with_file("scf:4 --retain --iterations 2", "--trace", &kept).join(" "));
    for (ranks, words, file, complaint) in [
        (3, "fib:9", &file, "another number of workers: start as many"),
        (2, "fib:10", &file, "the trace is of another program or phase"),
        (2, "fib:9", &torn, "no whole trace of this version: record it again"),
        (2, "fib:9", &folder.join("nothing"), "the file cannot be written or read"),
    ] {
        let words = with_file(words, "--replay", file);
        let code = toolchain::refused(Mpi::Mpich, &program, ranks, &words, complaint);
        assert_eq!(code, Some(1), "{words:?}");
    }
    let output = run(built.launcher(2).arg(&program).args(with_file("scf:4", "--replay", &kept)));
    // On a loaded machine a launcher lacks what a rank says last; 3 is what it ends the job with.
    let is_said = said(&output).contains("cannot do again what it did after 0 steps");
    assert!(is_said || output.status.code() == Some(3), "{}", said(&output));
    assert!(!output.status.success());
}

#[test]
fn a_trace_that_cannot_be_written_is_an_error() {
    let program = Built::of(Mpi::Mpich).applications();
    let words = ["fib:9", "--trace", "/nowhere/file"];
    let complaint = "trace '/nowhere/file': the file cannot be written or read";
    assert_eq!(toolchain::refused(Mpi::Mpich, &program, 2, &words, complaint), Some(1));
}

/// The launcher of ranks that survive the deaths of others.
fn launcher_of_survivors(ranks: usize) -> Command {
    let mut command = Built::of(Mpi::Open5).launcher(ranks);
    command.args(["--with-ft", "ulfm", "--mca", "async_mpi_finalize", "1"]);
    command
}

/// Runs an application whose ranks kill themselves.
fn run_with_deaths(ranks: usize, words: &str) -> Output {
    let mut command = launcher_of_survivors(ranks);
    run(command.arg(Built::of(Mpi::Open5).applications()).args(words.split(' ')))
}

/// The others end the phase and say what is missing; they run the next ones without the dead.
fn others_go_on(ranks: usize, dead: &[u32], words: &str) {
    let kills: Vec<String> = dead.iter().map(|rank| format!(" --kill {rank},1")).collect();
    let output = run_with_deaths(ranks, &format!("{words} --iterations 3{}", kills.concat()));
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    let living = ranks - dead.len();
    assert_eq!((output.status.code(), lines.len()), (Some(4), 3), "{}", said(&output));
    let deaths: u64 = lines.iter().filter_map(|line| line["deaths"].as_u64()).sum();
    assert_eq!(deaths, dead.len() as u64, "{text}");
    for line in &lines {
        let is_whole = line["deaths"] == 0;
        assert_eq!(line["right"], if is_whole { Value::Bool(true) } else { Value::Null }, "{text}");
    }
    assert_eq!((&lines[2]["ranks"], &lines[2]["right"]), (&living.into(), &true.into()), "{text}");
    assert!(said(&output).contains("missing is what they began with"), "{}", said(&output));
}

#[test]
fn the_others_go_on_when_a_thief_dies() {
    others_go_on(4, &[2], "uts:T1");
}

#[test]
fn the_others_go_on_when_the_first_rank_dies() {
    others_go_on(3, &[0], "tce:3,2 --check --selection lifelines");
}

#[test]
fn the_others_go_on_when_several_die() {
    others_go_on(5, &[0, 1, 4], "tce:3,2 --check --selection known");
}

#[test]
fn who_has_died_is_named() {
    let said = said(&run_with_deaths(3, "tce:3,2 --kill 1,2"));
    assert!(said.contains("phase 'tce:3,2': 1 ranks have died (1): missing is"), "{said}");
}

#[test]
fn tasks_do_what_they_may_where_deaths_are_survived() {
    for check in CHECKS {
        let checks = Built::of(Mpi::Open5).folder.path().join("checks");
        assert_eq!(done(launcher_of_survivors(3).arg(checks).arg(check)), "done\n", "{check}");
    }
}

#[test]
fn a_death_ends_the_job_where_there_are_arrays() {
    let checks = Built::of(Mpi::Open5).folder.path().join("checks");
    let output = run(launcher_of_survivors(3).arg(checks).arg("mourned"));
    let said = said(&output);
    // One rank aborts (deaths.h): the launcher's status is TIDINGS_STEAL_LOST.
    assert!(output.status.code() == Some(108) && !said.contains("done"), "{said}");
    assert!(said.contains("rank 1 has died, and with it blocks of arrays"), "{said}");
}

#[test]
fn without_fault_tolerance_a_death_ends_the_job() {
    for mpi in [Mpi::Open, Mpi::Open5] {
        let built = Built::of(mpi);
        let words = ["tce:3,2", "--kill", "1,1"];
        let output = run(built.launcher(2).arg(built.applications()).args(words));
        let said = said(&output);
        assert!(!output.status.success() && !said.contains("missing is"), "{said}");
        assert!(said.contains("a death will end the job"), "{said}");
    }
}

#[test]
fn a_model_keeps_its_ranks_busy() {
    let lines = Built::of(Mpi::Simulated).run(16, "scf:4x2x2 --model --selection lifelines");
    let efficiency = lines[0]["efficiency"].as_f64().expect("a number");
    assert!(efficiency > 0.9 && lines[0]["tasks"] == 20_736, "{lines:?}");
}

#[test]
fn iterations_begin_with_what_each_rank_ran_before() {
    for (mpi, option) in [(Mpi::Mpich, "--retain"), (Mpi::Open, "--balance")] {
        let lines = is_right(mpi, 3, &format!("scf:4 --iterations 3 --check {option}"));
        let seedings: Vec<_> = lines.iter().filter_map(|line| line["seeding"].as_str()).collect();
        assert_eq!(seedings, ["first", "retained", "retained"], "{option}");
    }
}

#[test]
fn a_phase_that_some_ranks_do_not_enter_is_an_error() {
    let built = Built::of(Mpi::Mpich);
    let checks = built.folder.path().join("checks");
    let complaint = "phase 'alone': rank 0 of 2 has waited 200 ms for ranks that have not entered";
    let output = run(built.launcher(2).arg(checks).arg("alone"));
    // On a loaded machine a launcher lacks the words; 5 is what rank 0 ends the job with then.
    let is_said = said(&output).contains(complaint) || output.status.code() == Some(5);
    assert!(!output.status.success() && is_said, "{}", said(&output));
}

#[test]
fn a_task_that_aborts_ends_the_job() {
    // On a loaded machine a launcher returns another rank's status, or lacks the words.
    for (mpi, words) in [(Mpi::Open, "with errorcode 7"), (Mpi::Mpich, "(MPI_COMM_WORLD, 7)")] {
        let built = Built::of(mpi);
        let output = run(built.launcher(3).arg(built.folder.path().join("checks")).arg("aborted"));
        let text = said(&output);
        assert!(!output.status.success() && !text.contains("done"), "{text}");
        assert!(output.status.code() == Some(7) || text.contains(words), "{text}");
    }
}

/// A steal is more than a message and its answer; the program that measures it says by how much.
#[test]
fn a_steal_is_compared_with_a_message_and_its_answer() {
    let built = Built::of(Mpi::Mpich);
    let program = built.folder.path().join("tidings-mpi-steal-rate.mpich");
    // A thousand repetitions, of which none begins after no second but the first.
    let text = done(built.launcher(2).arg(program).args(["16", "1000", "0", "0"]));
    let line: Value = serde_json::from_str(&text).expect("a line is JSON");
    assert!(line["ratio"].as_f64() > Some(0.0) && line["task_bytes"] == 16, "{line}");
    assert!(line["one_sided_to_messages"].as_f64() > Some(0.0), "{line}");
    assert_eq!(line["repetitions"], 1, "{line}");
}

#[test]
fn impossible_words_are_rejected() {
    let program = Built::of(Mpi::Mpich).applications();
    for (words, complaint) in [
        ("uts:T9", "there is no such application"),
        ("--check", "which application?"),
        ("fib:9 --poll-us 0", "--poll-us"),
        ("fib:9 --selection best", "--selection"),
        ("fib:9 --kill 2,1", "--kill"),
        ("fib:9 --kill 1", "--kill"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let code = toolchain::refused(Mpi::Mpich, &program, 2, &words, complaint);
        assert_eq!(code, Some(2), "{words:?}");
    }
}

/// So does the program that takes bytes from a window; a steal there without its bytes ends it.
#[test]
fn what_a_window_has_is_taken_whole() {
    for mpi in [Mpi::Open, Mpi::Mpich] {
        let built = Built::of(mpi);
        let name = format!("tidings-mpi-steal-window.{}", mpi.name());
        let text =
            done(built.launcher(2).arg(built.folder.path().join(name)).args(["4096", "3", "20"]));
        let line: Value = serde_json::from_str(&text).expect("a line is JSON");
        assert!(line["one_sided_us"].as_f64() > Some(0.0) && line["bytes"] == 4096, "{line}");
    }
}
