//! How many tuples are put and pulled in a second, and how soon who waits for one has it.
//!
//! Takers put a tuple, pull one like it and consume it. In memory and in a file of this process
//! takers, coordinator and store share a thread, as those of a program do. Of *another process*
//! takers ask this one, which holds the file, over its socket.
//!
//! A *wait* begins with the call of `put` and ends when a pull returns that had been blocked: in a
//! file the commit lies between.

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value};
use tidings_studies::table::{self, Made};
use tidings_tasks::member::Member;
use tidings_tasks::service::Options;
use tidings_tasks::session::Session;
use tidings_tasks::space::{Space, Spaces};
use tidings_tasks::store::address::Address;
use tidings_tasks_core::reign::Candidate;
use tidings_tasks_core::tuple::{Field, Template, Tuple, Type};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

type Failed = Box<dyn Error + Send + Sync>;

/// Comes before what a process of takers is told: store, takers, pairs (of none: it waits), times.
const TAKERS: &str = "--takers";

/// What is measured.
struct Plan {
    repetitions: usize,
    /// The pairs of a repetition in memory with many takers; fewer of what takes longer.
    pairs: usize,
    waits: usize,
}

const MEASURED: Plan = Plan { repetitions: 15, pairs: 64_000, waits: 1_000 };
const TINY: Plan = Plan { repetitions: 1, pairs: 64, waits: 3 };

/// Takers at a time, and by what their pairs are fewer: in memory, and in a file.
const CASES: [(usize, usize, usize); 2] = [(1, 16, 128), (64, 1, 4)];

/// Numbers of sessions, whose names differ.
static SESSIONS: AtomicU32 = AtomicU32::new(0);

/// Between who waits and the put: by then the pull is blocked.
const BLOCKED: Duration = Duration::from_millis(2);

const HEADER: &str = "store,takers_are,takers,repetition,pairs_per_s,wait_p50_us,wait_p99_us\n";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    if let Some(at) = words.iter().position(|word| word == TAKERS) {
        return match takers(&words[at + 1..]) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("takers: {error}");
                ExitCode::FAILURE
            }
        };
    }
    table::make("tuples", "studies/task-rates/run tuples", None, |is_measured| {
        measure(if is_measured { &MEASURED } else { &TINY })
    })
}

fn measure(plan: &Plan) -> Result<Made, Failed> {
    let mut rows = HEADER.to_owned();
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    here(plan, "memory", &Address::Memory, &mut rows)?;
    here(plan, "file", &Address::File(folder.path().join("here")), &mut rows)?;
    elsewhere(plan, &folder.path().join("held"), &mut rows)?;
    Ok((rows, Map::<String, Value>::new()))
}

/// Takers of this process.
fn here(plan: &Plan, store: &str, address: &Address, rows: &mut String) -> Result<(), Failed> {
    let runtime = runtime()?;
    let place = Place::begin(&runtime, address.clone());
    for (takers, in_memory, in_file) in CASES {
        let fewer = if store == "memory" { in_memory } else { in_file };
        let pairs = (plan.pairs / fewer).max(takers);
        let space = place.space();
        runtime.block_on(put_and_pull(&space, takers, pairs / 10))?;
        for number in 1..=plan.repetitions {
            let rate = runtime.block_on(put_and_pull(&space, takers, pairs))?;
            table::add(rows, &format!("{store},here,{takers},{number},{rate:.1},,"))?;
        }
    }
    let (putter, waiter) = (place.space(), place.space());
    let waits = runtime.block_on(async {
        let waiting = tokio::spawn(wait_for_all(waiter, plan.waits));
        put_for_all(&putter, plan.waits).await?;
        waiting.await?
    })?;
    Ok(table::add(rows, &format!("{store},here,1,1,,{}", quantiles(waits)))?)
}

/// Takers of another process.
fn elsewhere(plan: &Plan, path: &Path, rows: &mut String) -> Result<(), Failed> {
    let runtime = runtime()?;
    let place = Place::begin(&runtime, Address::File(path.to_owned()));
    let space = place.space();
    // From now on this process holds the store.
    runtime.block_on(put_and_pull(&space, 1, 1))?;
    for (takers, _, fewer) in CASES {
        let pairs = (plan.pairs / fewer).max(takers);
        let said = runtime.block_on(other(path, takers, pairs, plan.repetitions))?;
        for (number, rate) in said.lines().enumerate() {
            table::add(rows, &format!("file,elsewhere,{takers},{},{rate},,", number + 1))?;
        }
    }
    let said = runtime.block_on(async {
        let ((), said) =
            tokio::try_join!(put_for_all(&space, plan.waits), other(path, 1, 0, plan.waits))?;
        Ok::<_, Failed>(said)
    })?;
    Ok(table::add(rows, &format!("file,elsewhere,1,1,,{}", said.trim()))?)
}

/// Runs this program as takers of a store, and returns what it prints.
async fn other(path: &Path, takers: usize, pairs: usize, times: usize) -> Result<String, Failed> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(TAKERS).arg(format!("file:{}", path.display()));
    command.args([takers, pairs, times].map(|number| number.to_string()));
    command.stdout(Stdio::piped());
    let ended = tokio::task::spawn_blocking(move || command.output()).await??;
    if !ended.status.success() {
        return Err("the process of takers has failed".into());
    }
    Ok(String::from_utf8(ended.stdout)?)
}

/// What the other process does: prints a rate a line, or how long it has waited.
fn takers(words: &[String]) -> Result<(), Failed> {
    let [store, takers, pairs, times] = words else { return Err("four words".into()) };
    let (takers, pairs, times) = (takers.parse()?, pairs.parse()?, times.parse()?);
    let runtime = runtime()?;
    let space = Place::begin(&runtime, store.parse()?).space();
    let mut printed = std::io::stdout();
    if pairs == 0 {
        let waits = runtime.block_on(wait_for_all(space, times))?;
        writeln!(printed, "{}", quantiles(waits))?;
        return Ok(());
    }
    runtime.block_on(put_and_pull(&space, takers, pairs / 10))?;
    for _ in 0..times {
        let rate = runtime.block_on(put_and_pull(&space, takers, pairs))?;
        writeln!(printed, "{rate:.1}")?;
    }
    Ok(())
}

/// A store, and those who use it.
struct Place {
    runtime: tokio::runtime::Handle,
    member: Arc<Member>,
}

impl Place {
    fn begin(runtime: &Runtime, address: Address) -> Self {
        let _entered = runtime.enter();
        let candidate = Candidate {
            name: format!("tuples-{}", std::process::id()),
            host: "here".to_owned(),
            address: String::new(),
            session: None,
        };
        let options = Options { board: None, ..Options::default() };
        let member = Arc::new(Member::join(address, "tuples", candidate, options));
        Self { runtime: runtime.handle().clone(), member }
    }

    /// The space, with a session of its own.
    fn space(&self) -> Space {
        let _entered = self.runtime.enter();
        let number = SESSIONS.fetch_add(1, Ordering::Relaxed);
        let name = format!("takers-{}-{number}", std::process::id());
        let (session, _notices) = Session::open(self.member.clone(), &name, "here");
        Spaces::new(session).space("tuples")
    }
}

fn runtime() -> Result<Runtime, Failed> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// Takers put and pull so many tuples together. Returns how many a second.
async fn put_and_pull(space: &Space, takers: usize, pairs: usize) -> Result<f64, Failed> {
    let begun = Instant::now();
    let mut all = JoinSet::new();
    for taker in 0..takers {
        let space = space.clone();
        all.spawn(async move {
            let own = Field::Int(taker as i64);
            for _ in 0..pairs / takers {
                space.put(Tuple::new(vec!["block".into(), own.clone()])).await?;
                let template = Template(vec!["block".into(), own.clone().into()]);
                space.take(template, None).await?;
            }
            Ok::<_, Failed>(())
        });
    }
    while let Some(ended) = all.join_next().await {
        ended??;
    }
    Ok((pairs / takers * takers) as f64 / begun.elapsed().as_secs_f64())
}

/// Puts a tuple so many times, each when somebody waits for it, with the time in it.
async fn put_for_all(space: &Space, times: usize) -> Result<(), Failed> {
    for _ in 0..times {
        space.take(Template(vec!["waits".into()]), None).await?;
        tokio::time::sleep(BLOCKED).await;
        space.put(Tuple::new(vec!["wake".into(), Field::Int(now_ns())])).await?;
    }
    Ok(())
}

/// Waits for so many tuples. Returns how long each was on its way, in microseconds.
async fn wait_for_all(space: Space, times: usize) -> Result<Vec<f64>, Failed> {
    let mut waits = Vec::new();
    for _ in 0..times {
        space.put(Tuple::new(vec!["waits".into()])).await?;
        let found = space.take(Template(vec!["wake".into(), Type::Int.into()]), None).await?;
        let ended = now_ns();
        let Some(Field::Int(begun)) = found.and_then(|tuple| tuple.fields().get(1).cloned()) else {
            return Err("a tuple without its time".into());
        };
        waits.push((ended - begun) as f64 / 1e3);
    }
    Ok(waits)
}

/// The time since the machine has begun, of all its processes.
fn now_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// The median and the 99th percentile.
fn quantiles(mut waits: Vec<f64>) -> String {
    waits.sort_unstable_by(f64::total_cmp);
    let at =
        |share: usize| waits.get((waits.len() * share / 100).min(waits.len().saturating_sub(1)));
    [50, 99].map(|share| at(share).map_or(String::new(), |us| format!("{us:.1}"))).join(",")
}
