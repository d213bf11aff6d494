//! How many durable tasks are done in a second, and how long one takes, beside the writes that they
//! need of their store.
//!
//! In a file every task goes through the service of a part in this process (`tidings_bench`). Over
//! an etcd of three servers a client and a worker are members, as programs are, and the reference
//! are transactions as large as etcd takes. All servers share this machine and its disk.

mod load;
#[path = "../../crates/tasks/tests/servers/process.rs"]
mod servers;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tidings_bench::durable::{CASES, Case, Repetition, Shape};
use tidings_studies::table::{self, Made};
use tidings_tasks::member::{Member, Network};
use tidings_tasks::service::Options;
use tidings_tasks_core::reign::Candidate;

use load::{Ended, Failed, Load};
use servers::Servers;

/// The pace that the documentation recommends for one site.
const PACE: [&str; 4] = ["--heartbeat-interval", "50", "--election-timeout", "500"];

/// What is measured.
struct Plan {
    /// Repetitions of each case, after one that is not counted.
    repetitions: usize,
    /// The tasks of a repetition in a file, in hundredths of what the case has.
    hundredths: u64,
    /// For which time tasks, and writes, go through an etcd.
    time: Duration,
    /// The tasks of each row of a soak.
    soaked: u64,
}

const MEASURED: Plan =
    Plan { repetitions: 15, hundredths: 100, time: Duration::from_secs(5), soaked: 50_000 };
const TINY: Plan =
    Plan { repetitions: 1, hundredths: 1, time: Duration::from_millis(50), soaked: 20 };

/// The rows of a soak.
const SOAK_ROWS: u64 = 20;

/// Columns of the table. The reference is how many tasks' writes alone are committed in a second.
const HEADER: &str = "store,tasks,in_flight,repetition,tasks_per_s,reference_per_s,\
    middle_ms,service_us,store_us\n";

fn main() -> ExitCode {
    let is_soak = std::env::args().any(|argument| argument == "--soak");
    let name = if is_soak { "soak" } else { "rates" };
    table::make(name, &format!("studies/task-rates/run {name}"), None, |is_measured| {
        let plan = if is_measured { &MEASURED } else { &TINY };
        if is_soak { soak(plan) } else { measure(plan) }
    })
}

fn measure(plan: &Plan) -> Result<Made, Failed> {
    let mut rows = HEADER.to_owned();
    for (shape, in_flight, tasks) in CASES {
        in_a_file(plan, shape, in_flight, tasks, &mut rows)?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(in_etcd(plan, &mut rows))?;
    Ok((rows, Map::<String, Value>::new()))
}

fn in_a_file(
    plan: &Plan,
    shape: Shape,
    in_flight: usize,
    tasks: u64,
    rows: &mut String,
) -> Result<(), Failed> {
    let mut case =
        Case::begin(shape, in_flight, std::path::Path::new(env!("CARGO_TARGET_TMPDIR")))?;
    let tasks = (tasks * plan.hundredths / 100).max(1);
    case.repeat(tasks);
    for number in 1..=plan.repetitions {
        let Repetition { reference, tasks: time, middle, service_us, store_us } =
            case.repeat(tasks);
        let [rate, reference] = [time, reference].map(|time| tasks as f64 / time.as_secs_f64());
        let middle_ms = middle.as_secs_f64() * 1e3;
        let row = format!(
            "file,{},{in_flight},{number},{rate:.1},{reference:.1},{middle_ms:.3},\
             {service_us:.1},{store_us:.1}",
            shape.name()
        );
        table::add(rows, &row)?;
    }
    Ok(())
}

async fn in_etcd(plan: &Plan, rows: &mut String) -> Result<(), Failed> {
    let servers = Servers::start_with(3, &PACE);
    let mut load = Load::begin(member(&servers.address("tasks"))?, Ended::Kept);
    load.run_for(plan.time / 10).await?;
    for number in 1..=plan.repetitions.min(5) {
        let writes = load::writes(&servers.address(&format!("writes/{number}")), plan.time).await?;
        let reference = writes / load::OPERATIONS_A_TASK;
        let done = load.run_for(plan.time).await?;
        let (rate, middle_ms) = (done.per_second, done.middle.as_secs_f64() * 1e3);
        let in_flight = load::IN_FLIGHT;
        let row =
            format!("etcd,numbered,{in_flight},{number},{rate:.1},{reference:.1},{middle_ms:.3},,");
        table::add(rows, &row)?;
    }
    Ok(())
}

/// An etcd to which the operator does nothing: a million tasks, so many in each row, once with
/// the records of ended tasks kept and once with them forgotten.
fn soak(plan: &Plan) -> Result<Made, Failed> {
    let mut rows = "ended,done,tasks_per_s,middle_ms\n".to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for ended in [Ended::Kept, Ended::Forgotten] {
        runtime.block_on(soak_one(plan, ended, &mut rows))?;
    }
    Ok((rows, Map::<String, Value>::new()))
}

async fn soak_one(plan: &Plan, ended: Ended, rows: &mut String) -> Result<(), Failed> {
    let servers = Servers::start_with(3, &PACE);
    let mut load = Load::begin(member(&servers.address("soak"))?, ended);
    for number in 1..=SOAK_ROWS {
        let done = load.run_count(plan.soaked).await?;
        let (rate, middle_ms) = (done.per_second, done.middle.as_secs_f64() * 1e3);
        let done = number * plan.soaked;
        table::add(rows, &format!("{},{done},{rate:.1},{middle_ms:.3}", ended.name()))?;
    }
    Ok(())
}

fn member(address: &str) -> Result<Arc<Member>, Failed> {
    let candidate = Candidate {
        name: format!("rates-{}", std::process::id()),
        host: "here".to_owned(),
        address: String::new(),
        session: None,
    };
    let network = Network::none("rates");
    let options = Options::default();
    Ok(Arc::new(Member::join_over(network, address.parse()?, "rates", candidate, options)))
}
