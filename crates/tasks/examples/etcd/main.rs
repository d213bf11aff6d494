//! What durable tasks cost in an etcd of three servers, and how long nobody is served when one of
//! them dies.
//!
//! * *writes*: transactions of as many operations as etcd takes, 8 at a time; then tasks that are
//!   submitted, assigned and completed, 64 at a time, as operations of the same kind. In one run,
//!   for the machine decides both.
//! * *gaps*: the longest time between two acknowledged results, when the process that coordinates
//!   is killed, and when the server that leads the etcd is.
//!
//! All servers and processes share this machine, so both are what is left of it for each.
//!
//! `cargo run --release -p tidings-tasks --example etcd`

#![allow(clippy::disallowed_methods, reason = "a measurement is where a clock belongs")]

mod load;
#[path = "../../tests/servers/process.rs"]
mod servers;

use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tidings_tasks::member::{Member, Network};
use tidings_tasks::service::Options;
use tidings_tasks_core::reign::Candidate;

use load::Load;
use servers::Servers;

/// How often each kill is tried.
const KILLS: usize = 5;

/// The time for which writes and tasks are counted.
const TIME: Duration = Duration::from_secs(5);

/// The argument of a process that coordinates until it is killed.
const COORDINATE: &str = "coordinate";

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [command, address] if command == COORDINATE => runtime.block_on(coordinate(address)),
        _ => runtime.block_on(measure()),
    }
}

async fn measure() -> Result<(), Box<dyn Error>> {
    let pace = ["--heartbeat-interval", "50", "--election-timeout", "500"];
    let mut servers = Servers::start_with(3, &pace);
    let writes = load::writes(&servers.address("writes"), TIME).await?;
    println!("writes: {writes:.0} operations a second in transactions of {}", load::OPERATIONS);
    let address = servers.address("tasks");
    let mut load = Load::begin(join(&address, "here"));
    let tasks = load.run_for(TIME).await?;
    let share = tasks * load::OPERATIONS_A_TASK / writes;
    println!("tasks: {tasks:.0} a second, {:.0} % of the writes alone", share * 100.0);
    drop(load);

    let mut gaps = Vec::new();
    for number in 0..KILLS {
        let address = servers.address(&format!("killed/{number}"));
        let child = start(&address)?;
        let mut load = Load::begin(join(&address, "here"));
        gaps.push(load.gap(|| drop(child)).await?);
    }
    println!("coordinator killed: {}", in_words(gaps));

    let mut gaps = Vec::new();
    let mut load = Load::begin(join(&servers.address("elections"), "there"));
    for _ in 0..KILLS {
        let leader = (0..).find_map(|_| servers.leader()).ok_or("nobody leads")?;
        gaps.push(load.gap(|| servers.kill(leader)).await?);
        servers.restart(leader);
    }
    println!("leader of the etcd killed: {}", in_words(gaps));
    Ok(())
}

fn in_words(mut gaps: Vec<Duration>) -> String {
    gaps.sort();
    let seconds: Vec<_> = gaps.iter().map(|gap| format!("{:.2}", gap.as_secs_f64())).collect();
    format!("{} s without a result", seconds.join(", "))
}

fn join(address: &str, name: &str) -> Arc<Member> {
    let candidate = Candidate {
        name: format!("{name}-{}", std::process::id()),
        host: "here".to_owned(),
        address: String::new(),
        session: None,
    };
    let address = address.parse().expect("an address");
    let network = Network::none("test");
    Arc::new(Member::join_over(network, address, "test", candidate, Options::default()))
}

async fn coordinate(address: &str) -> Result<(), Box<dyn Error>> {
    let member = join(address, "child");
    let _link = member.link().await?;
    println!("serves");
    core::future::pending().await
}

/// A process that is killed when this is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a process that coordinates, and waits until it does.
fn start(address: &str) -> Result<Killed, Box<dyn Error>> {
    let mut command = Command::new(std::env::current_exe()?);
    let mut child = command.args([COORDINATE, address]).stdout(Stdio::piped()).spawn()?;
    let printed = child.stdout.take().ok_or("it is piped")?;
    BufReader::new(printed).read_line(&mut String::new())?;
    Ok(Killed(child))
}
