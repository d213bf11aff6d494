//! Does an agent grow with time?
//!
//! Sixteen agents on loopback are read in every way at once (pages, metrics, picks, watches,
//! boards), told to read their configuration again, and robbed of a member that is killed and
//! starts anew. Resident memory and open descriptors of the fifteen others are read every few
//! seconds. The reference is each agent itself: of the samples after the warm-up, the greatest of
//! the last third beside the greatest of the first third. More than `GROWTH_KIB` or
//! `GROWTH_DESCRIPTORS` above it is a failure: each agent is read some 1,600 times in ten
//! minutes, so that a leak of 256 bytes a reading is found.
//!
//! `run` runs it for ten minutes; `--minutes N` for as many. Ctrl-C ends it, and all
//! agents.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Map, Value};
use tidings_experiment::agents::Cluster;
use tidings_experiment::manifest::Table;
use tidings_studies::readers::{Place, Readers};

/// By how much the resident memory of an agent may grow after the warm-up.
const GROWTH_KIB: u64 = 256;
/// The same of open descriptors: how many readers are connected at a sample is chance.
const GROWTH_DESCRIPTORS: u64 = 4;
/// The node that dies again and again.
const RESTLESS: &str = "restless";
/// What is said of a run that somebody ended.
const STOPPED: &str = "stopped; all agents end too";
/// The configuration before and after each reload.
const CONFIGURATIONS: [&str; 2] = ["log = \"info\"\n", "log = \"warn\"\n"];

/// How long it is, and how often something happens, in samples.
struct Course {
    agents: usize,
    samples: usize,
    warmup_samples: usize,
    pause: Duration,
    reload_every: usize,
    kill_every: usize,
    growth_kib: u64,
}

/// One of the things that a sample holds.
type Quantity = fn(&Sample) -> u64;

/// What an agent took at a moment.
struct Sample {
    elapsed_s: f64,
    agent: usize,
    rss_kib: u64,
    descriptors: u64,
}

fn main() -> ExitCode {
    // `cargo test` runs this too, without `--bench`: a short pass then keeps it from rotting.
    let arguments: Vec<String> = std::env::args().collect();
    let after = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1).cloned()
    };
    let minutes = after("--minutes").and_then(|text| text.parse().ok()).unwrap_or(10);
    let is_measured = arguments.iter().any(|argument| argument == "--bench");
    let course = if is_measured { Course::of_minutes(minutes) } else { Course::short() };
    match run(&course, after("--output").map(PathBuf::from).as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say(&format!("soak: {message}\n"));
            ExitCode::FAILURE
        }
    }
}

impl Course {
    /// A sample every five seconds, the first minute not counted.
    fn of_minutes(minutes: usize) -> Self {
        let pause = Duration::from_secs(5);
        let samples = 12 * minutes.max(2);
        Self {
            agents: 16,
            samples,
            warmup_samples: 12,
            pause,
            reload_every: 2,
            kill_every: 6,
            growth_kib: GROWTH_KIB,
        }
    }

    fn short() -> Self {
        let pause = Duration::from_millis(200);
        Self {
            agents: 4,
            samples: 12,
            warmup_samples: 3,
            pause,
            reload_every: 2,
            kill_every: 4,
            // An agent that has just started takes its buffers.
            growth_kib: 16 * GROWTH_KIB,
        }
    }
}

fn run(course: &Course, folder: Option<&Path>) -> Result<(), String> {
    let place =
        folder.map(|folder| Table::in_folder(folder, "soak", "studies/memory-growth/run", None));
    let place = place.transpose().map_err(|error| error.to_string())?;
    let stops = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stops)).map_err(|e| e.to_string())?;
    }
    let mut cluster = Cluster::new();
    let names = start(&mut cluster, course.agents);
    let places: Vec<Place> = names.iter().map(|name| place_of(&cluster, name)).collect();
    let readers = Readers::start(&places);
    let samples = watch_over(course, &mut cluster, &names, &readers, &stops)?;
    let tallies = readers.tallies();
    drop(readers);
    let verdict = evaluate(course, &samples);
    say(&summary(&samples));
    for (kind, done, failed) in &tallies {
        say(&format!("{kind}: {done} readings, {failed} without an answer\n"));
    }
    if tallies.iter().any(|(_, done, _)| *done == 0) {
        return Err("a kind of reading never had an answer".to_owned());
    }
    if let Some(place) = place {
        let facts = facts(course, &tallies);
        place.write(&table(&samples), &facts).map_err(|error| error.to_string())?;
    }
    verdict
}

/// The agents, all told of the first; the last is the one that does not last.
fn start(cluster: &mut Cluster, agents: usize) -> Vec<String> {
    let config = cluster.write("agent.toml", CONFIGURATIONS[0]);
    let names: Vec<String> = (1..agents).map(|n| format!("n{n:02}")).collect();
    let flags = flags(&config);
    cluster.start(&names[0], &flags);
    for name in &names[1..] {
        cluster.join(name, &names[0], &flags);
    }
    cluster.join(RESTLESS, &names[0], &flags);
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    cluster.until_known(&all, agents);
    names
}

fn flags(config: &str) -> [&str; 8] {
    ["--config", config, "--interval", "256ms", "--collect-interval", "1s", "--http", "127.0.0.1:0"]
}

fn place_of(cluster: &Cluster, name: &str) -> Place {
    let agent = cluster.agent(name);
    let http = agent.status().http.unwrap_or_default();
    Place { runtime_dir: agent.runtime_dir().to_owned(), http }
}

/// Lets time pass, and disturbs; what the agents took at each sample.
fn watch_over(
    course: &Course,
    cluster: &mut Cluster,
    names: &[String],
    readers: &Readers,
    stops: &AtomicBool,
) -> Result<Vec<Sample>, String> {
    let pids: Vec<u32> = names.iter().map(|name| cluster.agent(name).status().pid).collect();
    let (begin, mut samples, mut restless) = (Instant::now(), Vec::new(), true);
    let config = cluster.path().join("agent.toml");
    for sample in 1..=course.samples {
        let due = course.pause * sample as u32;
        while let Some(left) = due.checked_sub(begin.elapsed()).filter(|left| !left.is_zero()) {
            if stops.load(Ordering::Relaxed) {
                return Err(STOPPED.to_owned());
            }
            thread::park_timeout(left.min(Duration::from_millis(100)));
        }
        for (agent, &pid) in pids.iter().enumerate() {
            let Some((rss_kib, descriptors)) = taken(pid) else {
                let stopped = stops.load(Ordering::Relaxed);
                let ended = || format!("{} has ended:\n{}", names[agent], log(cluster, names));
                return Err(if stopped { STOPPED.to_owned() } else { ended() });
            };
            let elapsed_s = begin.elapsed().as_secs_f64();
            samples.push(Sample { elapsed_s, agent, rss_kib, descriptors });
        }
        progress(course, sample, &samples[samples.len() - pids.len()..], readers);
        if sample % course.reload_every == 0 {
            let text = CONFIGURATIONS[sample / course.reload_every % 2];
            fs::write(&config, text).map_err(|error| error.to_string())?;
            for name in names {
                cluster.agent(name).signal(Signal::HUP);
            }
        }
        if sample % course.kill_every == 0 && !stops.load(Ordering::Relaxed) {
            if restless {
                cluster.agent(RESTLESS).signal(Signal::KILL);
                cluster.end(RESTLESS);
            } else {
                let config = config.display().to_string();
                // It is known to have started by what it logs, whatever the file says by now.
                let flags = [&flags(&config)[..], &["--log", "info"]].concat();
                cluster.join(RESTLESS, &names[0], &flags);
            }
            restless = !restless;
        }
    }
    Ok(samples)
}

/// Resident memory in KiB and open descriptors of a process; `None` if it has ended.
fn taken(pid: u32) -> Option<(u64, u64)> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let rss_kib = line.split_whitespace().next()?.parse().ok()?;
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count() as u64;
    Some((rss_kib, descriptors))
}

fn log(cluster: &Cluster, names: &[String]) -> String {
    let last = |name: &String| cluster.agent(name).log().last().cloned().unwrap_or_default();
    let lines = names.iter().map(|name| format!("{name}: {}", last(name)));
    lines.collect::<Vec<_>>().join("\n")
}

fn progress(course: &Course, sample: usize, now: &[Sample], readers: &Readers) {
    let rss = now.iter().map(|sample| sample.rss_kib).max().unwrap_or(0);
    let descriptors = now.iter().map(|sample| sample.descriptors).max().unwrap_or(0);
    let read: u64 = readers.tallies().iter().map(|(_, done, _)| done).sum();
    let elapsed_s = now.last().map_or(0.0, |sample| sample.elapsed_s);
    say(&format!(
        "{elapsed_s:.0} s ({sample} of {}): at most {rss} KiB, {descriptors} descriptors; \
         {read} readings\n",
        course.samples
    ));
}

/// The greatest of a quantity of one agent in the first third after the warm-up, and in the last.
fn thirds(course: &Course, samples: &[Sample], agent: usize, of: Quantity) -> Option<[u64; 2]> {
    let all: Vec<u64> = samples.iter().filter(|sample| sample.agent == agent).map(of).collect();
    let after = all.get(course.warmup_samples..)?;
    let third = after.len().div_ceil(3);
    let greatest = |part: &[u64]| part.iter().copied().max();
    Some([greatest(&after[..third])?, greatest(&after[after.len() - third..])?])
}

/// Whether nobody grew.
fn evaluate(course: &Course, samples: &[Sample]) -> Result<(), String> {
    for agent in 0..course.agents - 1 {
        let quantities: [(&str, Quantity, u64); 2] = [
            ("KiB resident", |sample| sample.rss_kib, course.growth_kib),
            ("descriptors", |sample| sample.descriptors, GROWTH_DESCRIPTORS),
        ];
        for (what, of, growth) in quantities {
            let [first, last] =
                thirds(course, samples, agent, of).ok_or("too few samples to evaluate")?;
            if last > first + growth {
                return Err(format!(
                    "n{:02} grew from {first} to {last} {what}, by more than {growth}",
                    agent + 1
                ));
            }
        }
    }
    Ok(())
}

/// The table of studies/memory-growth/README.md: a line a minute, over all agents.
fn summary(samples: &[Sample]) -> String {
    let mut text =
        "| minute | KiB, mean | most | descriptors, least | most |\n|---|---|---|---|---|\n"
            .to_owned();
    let minute_of = |sample: &Sample| (sample.elapsed_s / 60.0) as usize;
    for minute in 0..=samples.last().map_or(0, minute_of) {
        let those = || samples.iter().filter(|sample| minute_of(sample) == minute);
        let rss = || those().map(|sample| sample.rss_kib);
        let descriptors = || those().map(|sample| sample.descriptors);
        let mean_kib = rss().sum::<u64>() / (those().count() as u64).max(1);
        let most = |all: &mut dyn Iterator<Item = u64>| all.max().unwrap_or(0);
        let (most_kib, most_descriptors) = (most(&mut rss()), most(&mut descriptors()));
        let least = descriptors().min().unwrap_or(0);
        let _ = writeln!(
            text,
            "| {} | {mean_kib} | {most_kib} | {least} | {most_descriptors} |",
            minute + 1
        );
    }
    text
}

fn table(samples: &[Sample]) -> String {
    let mut text = "elapsed_s,agent,rss_kib,descriptors\n".to_owned();
    for Sample { elapsed_s, agent, rss_kib, descriptors } in samples {
        let _ = writeln!(text, "{elapsed_s:.1},n{:02},{rss_kib},{descriptors}", agent + 1);
    }
    text
}

fn facts(course: &Course, tallies: &[(&str, u64, u64)]) -> Map<String, Value> {
    let mut facts = Map::from_iter([
        ("agents".to_owned(), Value::from(course.agents)),
        ("warmup_samples".to_owned(), Value::from(course.warmup_samples)),
        ("growth_bound_kib".to_owned(), Value::from(GROWTH_KIB)),
        ("growth_bound_descriptors".to_owned(), Value::from(GROWTH_DESCRIPTORS)),
    ]);
    let readings =
        tallies.iter().map(|(kind, done, _)| (format!("readings_{kind}"), (*done).into()));
    facts.extend(readings);
    facts
}

fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes()); // a reader that has gone wants no more
}
