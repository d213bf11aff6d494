//! Processes, of this host or of several, that run an application together: a line of JSON from
//! worker 0.
//!
//! ```text
//! cargo run --release -p tidings-steal-tcp --example tcp -- workers=2 uts:T1
//! ```
//!
//! `uts:TREE` or `fib:N`. The process starts the workers, which are this program again, on
//! loopback. With `number=K` it is worker K of `workers=N` itself, and meets the others at
//! `meeting=ADDRESS`, where worker 0 listens; `key=FILE` has a line of base64, the same for all, as
//! `tidings keys generate` makes it.

mod travels;

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Command, ExitCode};
use std::time::Instant;

use tidings_applications::fibonacci::{self, Fibonacci};
use tidings_applications::uts::trees::named;
use tidings_steal_tcp::{Job, KeyRing, Place, Process, Rules};
use travels::{Travels, on_all};

const USAGE: &str = "say [workers=N] [number=K meeting=ADDRESS] [key=FILE] and uts:TREE or fib:N";

/// What the command line says.
struct Said {
    workers: u32,
    number: Option<u32>,
    meeting: Option<SocketAddr>,
    key: Option<String>,
    program: String,
}

fn main() -> ExitCode {
    let ended = read().and_then(|said| match said.number {
        Some(number) => work(number, &said),
        None => start(&said),
    });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn read() -> Result<Said, Box<dyn Error>> {
    let (mut workers, mut number, mut meeting, mut key, mut program) = (2, None, None, None, None);
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("workers", count)) => workers = count.parse()?,
            Some(("number", which)) => number = Some(which.parse()?),
            Some(("meeting", address)) => meeting = Some(address.parse()?),
            Some(("key", file)) => key = Some(file.to_owned()),
            Some(_) => return Err(USAGE.into()),
            None => program = Some(argument),
        }
    }
    Ok(Said { workers, number, meeting, key, program: program.ok_or(USAGE)? })
}

/// Starts all workers on loopback, and waits for them.
fn start(said: &Said) -> Result<(), Box<dyn Error>> {
    // A port that is free now; who takes it in between makes worker 0 say so.
    let meeting = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
    let mut children = Vec::new();
    for number in 0..said.workers {
        let mut child = Command::new(std::env::current_exe()?);
        child.arg(format!("workers={}", said.workers)).arg(format!("number={number}"));
        child.arg(format!("meeting={meeting}")).arg(&said.program);
        child.args(said.key.as_ref().map(|file| format!("key={file}")));
        children.push(child.spawn()?);
    }
    for mut child in children {
        if !child.wait()?.success() {
            return Err("a worker has not come to the end".into());
        }
    }
    Ok(())
}

fn work(number: u32, said: &Said) -> Result<(), Box<dyn Error>> {
    let meeting = said.meeting.ok_or(USAGE)?;
    let unspecified = if meeting.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let own = if number == 0 { meeting } else { unspecified.parse()? };
    let key = match &said.key {
        Some(file) => KeyRing::parse(&std::fs::read_to_string(file)?)?,
        None if meeting.ip().is_loopback() => KeyRing::open(&said.program),
        None => return Err("say key=FILE: without a key all who reach the port may join".into()),
    };
    let job = Job { name: said.program.clone(), key };
    let place = Place { number, workers: said.workers, meeting };
    let mut process = Process::join(place, TcpListener::bind(own)?, &job, &Rules::default())?;
    let (kind, size) = said.program.split_once(':').ok_or(USAGE)?;
    match kind {
        "fib" => {
            let n: u32 = size.parse()?;
            let right = |total: &fibonacci::Total| total.number == fibonacci::number(n);
            run(&mut process, &said.program, Fibonacci(n), right)
        }
        "uts" => {
            let tree = named(size).ok_or("no tree has this name")?;
            run(&mut process, &said.program, tree.tree, |total| tree.is(total))
        }
        _ => Err(USAGE.into()),
    }
}

fn run<A: Travels>(
    process: &mut Process,
    program: &str,
    application: A,
    is_right: impl Fn(&A::Total) -> bool,
) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let total = on_all(process, application)?;
    let seconds = began.elapsed().as_secs_f64();
    let counters = process.counters();
    let shown = process.gather(&[counters.executed, counters.steals + counters.pushed])?;
    if !process.is_first() {
        return Ok(());
    }
    let sum = |at: usize| shown.iter().flatten().map(|words| words[at]).sum::<u64>();
    let (tasks, steals, right) = (sum(0), sum(1), is_right(&total));
    let (workers, found) = (process.workers(), A::shown(&total));
    println!(
        "{{\"program\": \"{program}\", \"workers\": {workers}, \"seconds\": {seconds:.6}, \
         \"tasks\": {tasks}, \"steals\": {steals}, \"found\": {found:?}, \"right\": {right}}}"
    );
    if right { Ok(()) } else { Err("the result is wrong".into()) }
}
