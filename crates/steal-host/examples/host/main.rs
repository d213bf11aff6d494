//! Processes of this host that run an application together: a line of JSON from the first.
//!
//! ```text
//! cargo run --release -p tidings-steal-host --example host -- workers=2 uts:T1
//! ```
//!
//! `uts:TREE`, `fib:N` or `queens:N`. The process makes a segment in `/dev/shm` and starts the
//! workers, which are this program again; it ends with 0 if all of them do.

mod travels;

use std::error::Error;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

use tidings_applications::fibonacci::{self, Fibonacci};
use tidings_applications::queens::Queens;
use tidings_applications::uts::trees::named;
use tidings_steal_host::{Host, Rules, Segment};
use travels::{Travels, alone, on_all};

const USAGE: &str = "say [workers=N] and uts:TREE, fib:N or queens:N";

fn main() -> ExitCode {
    match start() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start() -> Result<ExitCode, Box<dyn Error>> {
    let (mut workers, mut join, mut program) = (2, None, None);
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            Some(("workers", number)) => workers = number.parse()?,
            Some(("join", path)) => join = Some(PathBuf::from(path)),
            Some(_) => return Err(USAGE.into()),
            None => program = Some(argument),
        }
    }
    let program = program.ok_or(USAGE)?;
    if let Some(path) = join {
        work(&mut Host::join(&path, workers)?, &program)?;
        return Ok(ExitCode::SUCCESS);
    }
    let path = PathBuf::from(format!("/dev/shm/tidings-steal-{}", std::process::id()));
    let segment = Segment::create(&path, workers, &Rules::default())?;
    let join = format!("join={}", segment.path().display());
    let mut children = Vec::new();
    for _ in 0..workers {
        let mut child = Command::new(std::env::current_exe()?);
        children.push(child.args([&join, &format!("workers={workers}"), &program]).spawn()?);
    }
    let mut all_well = true;
    for mut child in children {
        all_well &= child.wait()?.success();
    }
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn work(host: &mut Host, program: &str) -> Result<(), Box<dyn Error>> {
    let (kind, size) = program.split_once(':').ok_or(USAGE)?;
    match kind {
        "fib" => {
            let n: u32 = size.parse()?;
            let right = |total: &fibonacci::Total| total.number == fibonacci::number(n);
            run(host, program, Fibonacci(n), right)
        }
        "queens" => {
            let board = Queens::new(size.parse()?).ok_or("a board of 1 to 32 squares a side")?;
            run(host, program, board, |total| alone(&board).0 == Queens::shown(total))
        }
        "uts" => {
            let tree = named(size).ok_or("no tree has this name")?;
            run(host, program, tree.tree, |total| tree.is(total))
        }
        _ => Err(USAGE.into()),
    }
}

fn run<A: Travels>(
    host: &mut Host,
    program: &str,
    application: A,
    is_right: impl Fn(&A::Total) -> bool,
) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let total = on_all(host, application)?;
    let seconds = began.elapsed().as_secs_f64();
    let counters = host.counters();
    let executed = host.gather(&[counters.executed, counters.steals + counters.pushed])?;
    if host.number() > 0 {
        return Ok(());
    }
    let (mut tasks, mut steals) = (0, 0);
    for words in executed.iter().flatten() {
        (tasks, steals) = (tasks + words[0], steals + words[1]);
    }
    let (workers, found) = (host.workers(), A::shown(&total));
    let right = is_right(&total);
    println!(
        "{{\"program\": \"{program}\", \"workers\": {workers}, \"seconds\": {seconds:.6}, \
         \"tasks\": {tasks}, \"steals\": {steals}, \"found\": {found:?}, \"right\": {right}}}"
    );
    if right { Ok(()) } else { Err("the result is wrong".into()) }
}
