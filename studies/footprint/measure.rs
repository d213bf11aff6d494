//! What tasks cost that nobody does at the moment, and workers that do nothing.
//!
//! A worker that takes none of the tasks holds the store, in a process of its own, so that its
//! memory and processor are those of the holder. Tasks are submitted, and later done, by this
//! program over the holder's socket. The reference of a wake-up is an answer over the same socket
//! that changes nothing.

mod ended;
mod graphs;

use std::convert::Infallible;
use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tempfile::TempDir;
use tidings_experiment::agents::{median, programs};
use tidings_studies::table::{self, Made};
use tidings_tasks::client::{Client, Place};
use tidings_tasks::session::{Assigned, Notice};
use tidings_tasks::store::address::Address;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Request, Submission};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// What is measured.
struct Plan {
    tasks: u64,
    starts: usize,
    idle: Duration,
    wakes: usize,
}

const MEASURED: Plan =
    Plan { tasks: 1_000_000, starts: 5, idle: Duration::from_secs(60), wakes: 2_000 };
const TINY: Plan = Plan { tasks: 2_000, starts: 1, idle: Duration::from_millis(200), wakes: 20 };

/// The bytes of a payload.
const PAYLOAD: usize = 64;

/// The tasks of one request, and the requests that are not answered.
const BATCH: u64 = 500;
const IN_FLIGHT: usize = 8;

/// The tasks that have not ended, where they are done while others are submitted.
const WINDOW: u64 = 10_000;

/// The tasks that the one who does them has at a time.
const SLOTS: u32 = 256;

/// A pause between two looks whether something is there, and how often it is looked.
const PAUSE: Duration = Duration::from_millis(20);
const LOOKS: usize = 3_000;

fn main() -> ExitCode {
    let is_of = |part: &str| std::env::args().any(|argument| argument == part);
    let name = match (is_of("--graphs"), is_of("--ended")) {
        (true, _) => "graphs",
        (_, true) => "ended",
        _ => "footprint",
    };
    table::make(name, &format!("studies/footprint/run {name}"), None, |is_measured| {
        let plan = if is_measured { &MEASURED } else { &TINY };
        Ok::<_, Infallible>(match name {
            "graphs" => graphs::measure(plan.tasks),
            "ended" => ended::measure(asked().unwrap_or(plan.tasks)),
            _ => measure(plan),
        })
    })
}

/// How many tasks are to end, if that is said.
fn asked() -> Option<u64> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--tasks");
    arguments.nth(1).map(|count| count.parse().expect("--tasks has a number"))
}

/// Rows of a table: what, of how many, how much, in which unit.
struct Rows(String);

impl Rows {
    fn add(&mut self, what: &str, count: u64, value: f64, unit: &str) {
        let _ = writeln!(self.0, "{what},{count},{value:.4},{unit}");
        let _ = writeln!(std::io::stderr(), "{what}: {value:.4} {unit}"); // for who reads it
    }
}

fn measure(plan: &Plan) -> Made {
    let mut rows = Rows("what,count,value,unit\n".to_owned());
    let folder = TempDir::new().expect("a temporary directory");
    let runtime = tokio::runtime::Runtime::new().expect("threads can be started");
    let site = Site { store: folder.path().join("store") };
    runtime.block_on(queued(plan, &site, &mut rows));
    for _ in 0..plan.starts {
        let seconds = runtime.block_on(start(plan.tasks, &site));
        rows.add("start", plan.tasks, seconds, "s");
    }
    let folder = TempDir::new().expect("a temporary directory");
    let site = Site { store: folder.path().join("store") };
    runtime.block_on(finished(plan, &site, &mut rows));
    // In memory: what syncs cost is another question.
    let folder = TempDir::new_in("/dev/shm").expect("a folder in memory");
    let site = Site { store: folder.path().join("store") };
    idle(plan, &site, &mut rows);
    // One thread, as all programs that submit or do tasks have it: to wake others takes longer.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a thread has a runtime");
    runtime.block_on(wake_ups(plan, &site, &mut rows));
    (rows.0, Map::<String, Value>::new())
}

/// A store in a file.
struct Site {
    store: PathBuf,
}

/// A process that ends with the measurement.
struct Running(Child);

impl Running {
    fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Site {
    /// A worker that takes tasks of a queue which nobody uses.
    fn worker(&self) -> Running {
        let mut command = Command::new(programs().join("tidings"));
        command.args(["worker", "-n", "1", "--queue", "none", "--store"]);
        command.arg(format!("file:{}", self.store.display()));
        command.stdin(Stdio::null()).stderr(Stdio::null());
        Running(command.spawn().expect("the program is built"))
    }

    /// A worker that holds the store.
    fn holder(&self) -> Running {
        let socket = self.store.with_extension("sock");
        // One that a killed holder has left.
        let _ = std::fs::remove_file(&socket);
        let worker = self.worker();
        for _ in 0..LOOKS {
            if socket.exists() {
                return worker;
            }
            thread::sleep(PAUSE);
        }
        panic!("nobody holds {}", self.store.display());
    }

    fn client(&self, role: &str) -> Client {
        let place = Place::of(Address::File(self.store.clone()), None).expect("no key file");
        Client::open(&place, role).expect("random bytes")
    }

    /// One that does tasks of a queue, so many at a time.
    async fn taker(&self, queue: &str, slots: u32) -> Client {
        let taker = self.client("take");
        let (queues, resources) = (vec![queue.to_owned()], Vec::new());
        let offer = Request::Offer { queues, slots, resources, ahead: 0, full: None };
        assert_eq!(taker.session.ask(offer).await.expect("a holder"), Answer::Done);
        taker
    }
}

/// How many tasks have not ended.
async fn live(client: &Client) -> u64 {
    match client.session.ask(Request::Overview).await {
        Ok(Answer::Overview(overview)) => overview.tasks,
        other => panic!("an overview was asked for: {other:?}"),
    }
}

/// The memory of a process of which no file has a copy, in bytes.
fn memory(process: u32) -> f64 {
    let status = format!("/proc/{process}/status");
    let text = std::fs::read_to_string(status).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("it has memory");
    let kib = line.trim().trim_end_matches(" kB").parse::<f64>().expect("a number");
    kib * 1024.0
}

/// The memory that queued tasks take of the holder: of the first half of them with its caches,
/// which are full then, and of each further one.
async fn queued(plan: &Plan, site: &Site, rows: &mut Rows) {
    let holder = site.holder();
    let client = site.client("submit");
    assert_eq!(live(&client).await, 0);
    let (empty, half) = (memory(holder.id()), plan.tasks / 2);
    let begun = Instant::now();
    submit(&client, 0..half).await;
    let first = memory(holder.id());
    submit(&client, half..plan.tasks).await;
    let seconds = begun.elapsed().as_secs_f64();
    let last = memory(holder.id());
    assert_eq!(live(&client).await, plan.tasks);
    rows.add("submitted", plan.tasks, plan.tasks as f64 / seconds, "tasks/s");
    rows.add("queued with caches", half, (first - empty) / 1e6, "MB");
    rows.add("queued", half, (last - first) / half as f64, "bytes a task");
    client.member.leave().await;
}

/// Submits tasks of these numbers.
async fn submit(client: &Client, numbers: Range<u64>) {
    let mut answers = JoinSet::new();
    for first in numbers.clone().step_by(BATCH as usize) {
        let tasks = (first..(first + BATCH).min(numbers.end)).map(job).collect();
        let session = client.session.clone();
        answers.spawn(async move { session.ask(Request::Submit { tasks }).await });
        if answers.len() >= IN_FLIGHT {
            let answer = answers.join_next().await.expect("some are there").expect("no panic");
            assert!(matches!(answer, Ok(Answer::Submitted(_))), "{answer:?}");
        }
    }
    let mut rest = answers.join_all().await.into_iter();
    assert!(rest.all(|answer| matches!(answer, Ok(Answer::Submitted(_)))));
}

/// The time until a process that takes over the store has answered for all its tasks.
async fn start(tasks: u64, site: &Site) -> f64 {
    let begun = Instant::now();
    let client = site.client("start");
    assert_eq!(live(&client).await, tasks);
    let seconds = begun.elapsed().as_secs_f64();
    client.member.leave().await;
    seconds
}

/// The memory that tasks which have ended take of the holder that saw them: of the first half with
/// its caches, and of each further one. Few are queued at a time.
async fn finished(plan: &Plan, site: &Site, rows: &mut Rows) {
    let holder = site.holder();
    let (source, mut taker) = (site.client("submit"), site.taker("jobs", SLOTS).await);
    let (empty, half) = (memory(holder.id()), plan.tasks / 2);
    let begun = Instant::now();
    through(&source, &mut taker, 0..half, job, |_| ()).await;
    let first = memory(holder.id());
    let before = activity(&holder);
    through(&source, &mut taker, half..plan.tasks, job, |_| ()).await;
    let processor_us = 1e6 * (activity(&holder).0 - before.0);
    let seconds = begun.elapsed().as_secs_f64();
    let last = memory(holder.id());
    assert_eq!(live(&source).await, 0);
    rows.add("through", plan.tasks, plan.tasks as f64 / seconds, "tasks/s");
    rows.add("holder", half, processor_us / half as f64, "µs of processor a task");
    rows.add("finished with caches", half, (first - empty) / 1e6, "MB");
    rows.add("finished", half, (last - first) / half as f64, "bytes a task");
    taker.member.leave().await;
    source.member.leave().await;
}

/// Submits tasks while they are done, with a window of them that have not ended.
async fn through(
    source: &Client,
    taker: &mut Client,
    numbers: Range<u64>,
    task: impl Fn(u64) -> Submission,
    mut ended: impl FnMut(u64),
) {
    let window = Semaphore::new(WINDOW as usize);
    let count = numbers.end - numbers.start;
    let ended = |done| {
        window.add_permits(1);
        ended(done);
    };
    tokio::join!(submit_within(source, numbers, &window, task), complete(taker, count, ended));
}

/// Submits tasks as the window has room for them.
async fn submit_within(
    source: &Client,
    numbers: Range<u64>,
    window: &Semaphore,
    task: impl Fn(u64) -> Submission,
) {
    for first in numbers.clone().step_by(BATCH as usize) {
        let last = (first + BATCH).min(numbers.end);
        let room = window.acquire_many((last - first) as u32).await.expect("it is never closed");
        room.forget();
        let tasks = (first..last).map(&task).collect();
        let answer = source.session.ask(Request::Submit { tasks }).await;
        assert!(matches!(answer, Ok(Answer::Submitted(_))), "{answer:?}");
    }
}

/// A task of the queue that is measured.
fn job(number: u64) -> Submission {
    Submission::new(TaskId::of("footprint", number), "jobs", [1; PAYLOAD])
}

/// Does so many tasks, and says of each that it was the how many-th to end.
async fn complete(taker: &mut Client, count: u64, mut ended: impl FnMut(u64)) {
    let (mut answers, mut begun, mut done) = (JoinSet::new(), 0, 0);
    while done < count {
        tokio::select! {
            notice = taker.notices.recv(), if begun < count => {
                let Some(Notice::Assigned(task)) = notice else { panic!("a task") };
                let session = taker.session.clone();
                answers.spawn(async move { session.ask(completion(&task)).await });
                begun += 1;
            }
            Some(answer) = answers.join_next() => {
                assert_eq!(answer.expect("no panic").expect("a holder"), Answer::Done);
                done += 1;
                ended(done);
            }
        }
    }
}

fn completion(assigned: &Assigned) -> Request {
    let (children, effects, result) = (Vec::new(), Vec::new(), vec![2; PAYLOAD]);
    let Assigned { task, attempt, .. } = *assigned;
    Request::Complete { task, attempt, result, children, effects, puts: Vec::new() }
}

/// The processor that the threads of a process have had, in seconds, and how often they went to
/// sleep.
fn activity(process: &Running) -> (f64, u64) {
    let tasks = format!("/proc/{}/task", process.0.id());
    let threads = std::fs::read_dir(tasks).expect("it runs").flatten();
    let of_thread = |path: &Path| {
        let read = |name| std::fs::read_to_string(path.join(name)).unwrap_or_default();
        let schedstat = read("schedstat");
        let ns: f64 = schedstat.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0.0);
        let status = read("status");
        let slept = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        (ns / 1e9, slept.and_then(|count| count.trim().parse().ok()).unwrap_or(0))
    };
    threads
        .map(|thread| of_thread(&thread.path()))
        .fold((0.0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// What a worker without tasks takes of a processor, and the holder for it.
fn idle(plan: &Plan, site: &Site, rows: &mut Rows) {
    let holder = site.holder();
    let worker = site.worker();
    // Longer than a lease, so that nothing of the start is in it.
    thread::sleep(plan.idle / 10);
    for (name, process) in [("idle worker", &worker), ("holder of an idle worker", &holder)] {
        let before = activity(process);
        let begun = Instant::now();
        thread::sleep(plan.idle);
        let (after, seconds) = (activity(process), begun.elapsed().as_secs_f64());
        rows.add(name, 1, 100.0 * (after.0 - before.0) / seconds, "% of a core");
        rows.add(name, 1, (after.1 - before.1) as f64 / seconds, "wake-ups/s");
    }
}

/// How long an idle taker waits for a task from its submission, and an answer that changes nothing.
async fn wake_ups(plan: &Plan, site: &Site, rows: &mut Rows) {
    let _holder = site.holder();
    let (source, mut taker) = (site.client("submit"), site.taker("wake", 1).await);
    let (mut waits, mut answers) = (Vec::new(), Vec::new());
    for number in 0..plan.wakes as u64 {
        let begun = Instant::now();
        let there = source.session.ask(Request::Explain { task: TaskId::of("none", number) }).await;
        answers.push(begun.elapsed().as_secs_f64() * 1e3);
        drop(there.expect("a holder"));
        let begun = Instant::now();
        let tasks = vec![Submission::new(TaskId::of("wake", number), "wake", [1; PAYLOAD])];
        let session = source.session.clone();
        let submitted = tokio::spawn(async move { session.ask(Request::Submit { tasks }).await });
        let Some(Notice::Assigned(task)) = taker.notices.recv().await else { panic!("a task") };
        waits.push(begun.elapsed().as_secs_f64() * 1e3);
        assert_eq!(taker.session.ask(completion(&task)).await.expect("a holder"), Answer::Done);
        assert!(matches!(submitted.await, Ok(Ok(Answer::Submitted(1)))));
    }
    let count = plan.wakes as u64;
    waits.sort_by(f64::total_cmp);
    rows.add("wake-up p95", count, waits[waits.len() * 95 / 100], "ms");
    rows.add("wake-up", count, median(waits.into_iter()), "ms");
    rows.add("answer", count, median(answers.into_iter()), "ms");
    taker.member.leave().await;
    source.member.leave().await;
}
