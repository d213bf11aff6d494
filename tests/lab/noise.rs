//! Noise of this machine, measured by the real command: planted disturbances are found and named,
//! what was interrupted is kept, and what cannot be measured is refused.
//!
//! Other programs disturb the machine while this runs. So nothing here says how much is lost: what
//! is held against each other are two accounts of one run, the probe's and the kernel's.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tidings_tests::disk::Disk;

use super::code;
use super::places::{Bench, said};

/// Takes a core for a while, again and again, by a name that it is given: at a real-time priority,
/// 20 ms of each 100 ms. Says how long it ran.
const HOG: &str = "\
#include <sched.h>\n#include <stdio.h>\n#include <signal.h>\n#include <stdlib.h>\n\
#include <string.h>\n#include <sys/prctl.h>\n#include <time.h>\n\
static volatile sig_atomic_t ended;\n\
static void end(int signal) { (void)signal; ended = 1; }\n\
static long long now(clockid_t clock) { struct timespec t; clock_gettime(clock, &t);\n\
  return t.tv_sec * 1000000000LL + t.tv_nsec; }\n\
int main(int count, char **words) {\n\
  cpu_set_t set; CPU_ZERO(&set); if (count < 3) return 2; CPU_SET(atoi(words[1]), &set);\n\
  struct sched_param priority = { .sched_priority = 5 };\n\
  struct sigaction action = { .sa_handler = end };\n\
  sigaction(SIGTERM, &action, 0);\n\
  prctl(PR_SET_NAME, words[2]);\n\
  if (sched_setaffinity(0, sizeof set, &set) || sched_setscheduler(0, SCHED_FIFO, &priority))\n\
    { perror(\"hog\"); return 1; }\n\
  puts(\"ready\"); fflush(stdout);\n\
  while (!ended) {\n\
    long long begin = now(CLOCK_THREAD_CPUTIME_ID);\n\
    while (now(CLOCK_THREAD_CPUTIME_ID) - begin < 20000000) ;\n\
    struct timespec rest = { 0, 80000000 }; nanosleep(&rest, 0);\n\
  }\n\
  printf(\"%lld\\n\", now(CLOCK_PROCESS_CPUTIME_ID));\n\
  return 0;\n\
}\n";

/// Hogs of two tests at once would be in each other's measurements.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A core that this process may use.
fn core() -> String {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let core = list.expect("Linux says it").trim().rsplit([',', '-']).next().map(str::to_owned);
    core.expect("one at least")
}

fn result(folder: &Path) -> Value {
    let text = fs::read_to_string(folder.join("noise.json")).expect("it was measured");
    serde_json::from_str(&text).expect("it is JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn measured(bench: &Bench, arguments: &[&str]) -> Output {
    let output = bench.tidings(&[&["lab", "noise"][..], arguments].concat());
    assert_eq!(code(&output), Some(0), "{}", said(&output));
    output
}

/// The names and losses of a probe's sources of a kind.
fn sources<'a>(probe: &'a Value, kind: &str) -> Vec<(&'a str, f64)> {
    let all = probe["sources"].as_array().expect("a list").iter();
    let own = all.filter(|source| source["kind"] == kind);
    own.map(|source| (source["name"].as_str().expect("a name"), number(&source["lost_ns"])))
        .collect()
}

fn compile(bench: &Bench, name: &str, text: &str) -> PathBuf {
    let source = bench.lay(&format!("{name}.c"), text);
    let program = bench.file(name);
    let mut build = Command::new("cc");
    build.args(["-O1", "-D_GNU_SOURCE", &source, "-o"]).arg(&program);
    assert!(build.status().expect("there is a compiler").success());
    program
}

/// A hog that runs; it ends with this, however the test does.
struct Hog(Child, BufReader<ChildStdout>);

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the hog; it runs when this returns.
fn planted(program: &Path, core: &str, name: &str) -> Hog {
    let mut hog = Command::new(program)
        .args([core, name])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it was built");
    let mut words = BufReader::new(hog.stdout.take().expect("piped"));
    let mut line = String::new();
    words.read_line(&mut line).expect("it says that it is ready");
    assert_eq!(line, "ready\n");
    Hog(hog, words)
}

/// Ends the hog; how long it ran in all.
fn ended(mut hog: Hog) -> f64 {
    kill_process(Pid::from_child(&hog.0), Signal::TERM).expect("it runs");
    let mut line = String::new();
    hog.1.read_line(&mut line).expect("it says how long it ran");
    assert!(hog.0.wait().expect("an own child").success());
    line.trim().parse().expect("nanoseconds")
}

#[test]
fn a_planted_disturbance_is_found_and_named_as_long_as_it_says_itself() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let bench = Bench::new();
    let (program, core) = (compile(&bench, "planter", HOG), core());
    let hog = planted(&program, &core, "planted-hog");
    measured(&bench, &["--cores", &core, "--for", "5s", "--output", "hog"]);
    let ran_ns = ended(hog);
    let result = result(&bench.file("hog"));
    assert_eq!(result["attribution"]["by"], "tracepoints", "{}", result["attribution"]);
    let probe = &result["probes"][0];
    let preemptions = sources(probe, "preemption");
    let named = preemptions.iter().find(|(name, _)| *name == "planted-hog");
    let (_, named_ns) = named.unwrap_or_else(|| panic!("{preemptions:?}"));
    // It began before and ended after the measurement, and steals of the host count to both.
    assert!(*named_ns > 0.0 && *named_ns <= 1.2 * ran_ns + 1e8, "{named_ns} of {ran_ns}");
    // Some fifty times 20 ms, less what others of its kind take.
    assert!(*named_ns > 1e8, "{preemptions:?}");
    let preempted: f64 = preemptions.iter().map(|(_, ns)| ns).sum();
    let waited = number(&probe["kernel"]["waited_ns"]);
    let apart = (preempted - waited).abs() / waited;
    assert!(apart < 0.2, "by events {preempted} ns, by the kernel's own account {waited} ns");
    let all: f64 = probe["sources"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|source| number(&source["lost_ns"]))
        .sum();
    assert!((all - number(&probe["lost_ns"])).abs() < 1.0, "each nanosecond once");
    assert!(!sources(probe, "timer").is_empty(), "a core that computes has ticks: {probe}");
    assert!(number(&probe["named_share"]) >= 0.95, "{probe}");
}

/// Before all ordinary tasks and behind the hogs, so that nothing else of this machine counts.
fn behind_hogs(bench: &Bench, program: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("chrt");
    command.args(["-f", "1"]).arg(program).args(arguments).current_dir(bench.file("."));
    let done = command.output().expect("there is a chrt");
    assert_eq!(code(&done), Some(0), "{}", said(&done));
    String::from_utf8(done.stdout).expect("text")
}

#[test]
fn the_loss_is_that_of_a_spin_test_that_has_another_loop_and_another_clock() {
    const ROUNDS: usize = 3;
    /// What a round of a second has more or less: a turn of the hog, which takes 20 ms at a time,
    /// and one of the kernel's fair server, which gives ordinary tasks 50 ms.
    const TURN: f64 = 0.07;
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let bench = Bench::new();
    let (program, core) = (compile(&bench, "planter", HOG), core());
    let spin = compile(&bench, "spin", include_str!("../../studies/noise/spin.c"));
    let tidings = tidings_experiment::agents::programs().join("tidings");
    let hog = planted(&program, &core, "another-hog");
    let mut shares = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let line = behind_hogs(&bench, &spin, &[&core, "1"]);
        shares[0].push(line.split_whitespace().next().expect("a share").parse().expect("a number"));
        let arguments = ["lab", "noise", "--cores", &core, "--for", "1s", "--json"];
        let found: Value =
            serde_json::from_str(&behind_hogs(&bench, &tidings, &arguments)).expect("a result");
        shares[1].push(number(&found["probes"][0]["lost_share"]));
    }
    ended(hog);
    // Each one's own differences between rounds are the floor, below which none can be told.
    let floors = shares.iter_mut().map(|own: &mut Vec<f64>| {
        own.sort_by(f64::total_cmp);
        own[ROUNDS - 1] - own[0]
    });
    let floor = floors.fold(TURN, f64::max);
    let apart = (shares[1][ROUNDS / 2] - shares[0][ROUNDS / 2]).abs();
    assert!(apart <= floor, "by spin and by FTQ: {shares:?}");
    assert!(shares.iter().all(|own| own[0] > 0.1), "the hog takes a sixth: {shares:?}");
}

#[test]
fn without_root_others_are_named_by_what_proc_counts() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let bench = Bench::new();
    let (program, core) = (compile(&bench, "planter", HOG), core());
    let hog = planted(&program, &core, "another-hog");
    let arguments = ["--cores", &core, "--for", "2s", "--attribution", "proc", "--output", "p"];
    let output = measured(&bench, &arguments);
    ended(hog);
    assert!(said(&output).contains("named by proc (as asked)"), "{}", said(&output));
    let result = result(&bench.file("p"));
    let probe = &result["probes"][0];
    let others = sources(probe, "preemption");
    assert_eq!(others.len(), 1, "{others:?}");
    assert!(others[0].1 <= number(&probe["kernel"]["waited_ns"]), "{others:?}");
    assert!(others[0].1 > 0.0);
}

#[test]
fn all_methods_measure_one_core_and_all_at_once_pinned_or_not() {
    let bench = Bench::new();
    let core = core();
    for method in ["ftq", "fwq", "gaps"] {
        measured(&bench, &["--for", "1s", "--method", method, "--output", method]);
        let result = result(&bench.file(method));
        assert_eq!(result["method"], *method);
        for probe in result["probes"].as_array().expect("a list") {
            let [quanta, gaps] = [0, 1].map(|place: usize| {
                let name = probe["files"][place].as_str().expect("a name");
                fs::metadata(bench.file(method).join(name)).expect("samples").len()
            });
            assert_eq!(quanta, 32 + 32 * probe["quanta"]["count"].as_u64().expect("a number"));
            assert_eq!(gaps, 32 + 32 * probe["gaps"]["count"].as_u64().expect("a number"));
            assert_eq!(probe["own"]["dropped"], 0);
        }
        let manifest = fs::read_to_string(bench.file(method).join("noise.manifest.json"));
        assert!(manifest.expect("a manifest").contains(&format!("--method {method}")));
    }
    measured(&bench, &["--cores", &core, "--unpinned", "--for", "1s", "--output", "free"]);
    let result = result(&bench.file("free"));
    assert_eq!((&result["pinned"], &result["probes"][0]["core"]), (&false.into(), &Value::Null));
    let table = bench.tidings(&["lab", "table", "free"]);
    assert!(said(&table).contains("of lost, %"), "{}", said(&table));
    let compared = bench.tidings(&["lab", "compare", "free", "free"]);
    assert_eq!(code(&compared), Some(0), "a result does not differ from itself");
    let refused = bench.tidings(&["lab", "compare", "free", "fwq"]);
    assert_eq!(code(&refused), Some(2), "{}", said(&refused));
}

#[test]
fn a_hog_makes_a_result_differ() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let bench = Bench::new();
    let (program, core) = (compile(&bench, "planter", HOG), core());
    let tidings = tidings_experiment::agents::programs().join("tidings");
    let measured = |output| {
        let arguments = ["lab", "noise", "--cores", &core, "--for", "6s", "--output", output];
        behind_hogs(&bench, &tidings, &arguments);
    };
    let one = planted(&program, &core, "another-hog");
    measured("one");
    let more: Vec<_> = (0..3).map(|_| planted(&program, &core, "another-hog")).collect();
    measured("four");
    ended(one);
    for hog in more {
        ended(hog);
    }
    let compared = bench.tidings(&["lab", "compare", "one", "four"]);
    assert_eq!(code(&compared), Some(5), "{}", said(&compared));
    assert!(said(&compared).contains("differs"), "{}", said(&compared));
}

#[test]
fn what_was_measured_until_ctrl_c_is_kept() {
    let bench = Bench::new();
    let core = core();
    let mut running =
        bench.start(&["lab", "noise", "--cores", &core, "--for", "1h", "--output", "out"]);
    let quanta = bench.file("out").join(format!("core-{core}.quanta"));
    bench.until("samples are written while it runs", || {
        fs::metadata(&quanta).is_ok_and(|file| file.len() > 10_000)
    });
    kill_process(Pid::from_child(&running), Signal::INT).expect("it runs");
    assert_eq!(running.wait().expect("an own child").code(), Some(130), "{}", bench.complaint());
    assert!(bench.complaint().contains("of 3600.0 s; what was measured is kept"));
    let result = result(&bench.file("out"));
    assert_eq!(result["signal"], 2);
    assert!(result["probes"][0]["quanta"]["count"].as_u64().expect("a number") > 300);
}

#[test]
fn a_full_disk_ends_it_with_its_name() {
    let bench = Bench::new();
    let disk = Disk::at(&bench.file("disk"), 256);
    let core = core();
    let arguments = ["lab", "noise", "--cores", &core, "--for", "1h", "--quantum", "100us"];
    let mut running = bench.start(&[&arguments[..], &["--output", "disk/out"]].concat());
    assert_eq!(running.wait().expect("an own child").code(), Some(1), "{}", bench.complaint());
    let complaint = bench.complaint();
    assert!(complaint.contains("disk/out/core-"), "{complaint}");
    assert!(complaint.contains("No space left on device"), "{complaint}");
    assert!(complaint.contains("what was measured before is kept"), "{complaint}");
    drop(disk);
}

#[test]
fn a_killed_measurement_leaves_no_tracer_to_the_next() {
    let bench = Bench::new();
    let core = core();
    let mut running =
        bench.start(&["lab", "noise", "--cores", &core, "--for", "1h", "--output", "killed"]);
    let quanta = bench.file("killed").join(format!("core-{core}.quanta"));
    bench.until("it measures", || fs::metadata(&quanta).is_ok_and(|file| file.len() > 10_000));
    kill_process(Pid::from_child(&running), Signal::KILL).expect("it runs");
    running.wait().expect("an own child");
    let mount = bench.file("tracefs");
    fs::create_dir(&mount).expect("ours");
    let script =
        format!("mount -t tracefs none {0} && ls {0}/instances && umount {0}", mount.display());
    let instances = || {
        let listed = Command::new("unshare").args(["-m", "sh", "-c", &script]).output();
        said(&listed.expect("there is an unshare"))
    };
    let left = format!("tidings-noise-{}", running.id());
    assert!(instances().contains(&left), "the kernel keeps it: {}", instances());
    measured(&bench, &["--cores", &core, "--for", "1s", "--output", "next"]);
    assert!(!instances().contains(&left), "{}", instances());
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_runs() {
    let bench = Bench::new();
    for (arguments, wanted) in [
        (&["--cores", "1000"][..], "no core 1000 is online here, but 0"),
        (&["--cores", "a"], "neither core numbers"),
        (&["--for", "2h"], "--for: 7200s is not from 1s to 3600s"),
        (&["--quantum", "1us"], "--quantum: 1µs is not from"),
        (&["--work", "0"], "--work: 0 is not from"),
        (&["--threshold", "1ns"], "--threshold: 1ns is not from"),
    ] {
        let output =
            bench.tidings(&[&["lab", "noise", "--output", "refused"][..], arguments].concat());
        assert_eq!(code(&output), Some(2), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(wanted), "{arguments:?}: {}", said(&output));
        assert!(!bench.file("refused").exists(), "{arguments:?}");
    }
}

#[test]
fn a_kernel_without_osnoise_and_a_machine_without_roles_say_so() {
    let bench = Bench::new();
    let core = core();
    let asked = |words: &[&str]| {
        let all = ["lab", "noise", "--cores", &core, "--for", "1s", "--output", "asked"];
        bench.tidings(&[&all[..], words].concat())
    };
    let output = asked(&["--attribution", "osnoise"]);
    match code(&output) {
        Some(0) => assert_eq!(result(&bench.file("asked"))["attribution"]["by"], "osnoise"),
        other => {
            assert_eq!(other, Some(2), "{}", said(&output));
            assert!(said(&output).contains("--attribution osnoise: "), "{}", said(&output));
            assert!(said(&output).contains("takes CONFIG_OSNOISE_TRACER"), "{}", said(&output));
        }
    }
    let output = asked(&["--unpinned", "--attribution", "osnoise"]);
    assert_eq!(code(&output), Some(2), "{}", said(&output));
    assert!(said(&output).contains("that is not pinned"), "{}", said(&output));
    if !Path::new("/var/lib/tidings/cores/journal").exists() {
        let output = asked(&["--role", "application"]);
        assert_eq!(code(&output), Some(4), "{}", said(&output));
        assert!(said(&output).contains("no roles are set here"), "{}", said(&output));
    }
}

#[test]
fn an_ordinary_user_is_told_what_is_missing() {
    let bench = Bench::new();
    let core = core();
    let tidings = tidings_experiment::agents::programs().join("tidings");
    let place = bench.file("user");
    fs::create_dir(&place).expect("ours");
    let open = std::os::unix::fs::PermissionsExt::from_mode;
    fs::set_permissions(bench.file("."), open(0o755)).expect("ours");
    fs::set_permissions(&place, open(0o777)).expect("ours");
    let as_user = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
        command.arg(&tidings).args(["lab", "noise", "--cores", &core, "--for", "1s"]);
        command.args(arguments).current_dir(&place).output().expect("there is a setpriv")
    };
    let refused = as_user(&["--attribution", "tracepoints"]);
    assert_eq!(code(&refused), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("run as root"), "{}", said(&refused));
    let measured = as_user(&["--output", "own"]);
    assert_eq!(code(&measured), Some(0), "{}", said(&measured));
    let result = result(&place.join("own"));
    assert_eq!(result["attribution"]["by"], "proc");
    let reason = result["attribution"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("tracefs cannot be mounted"), "{reason}");
}
