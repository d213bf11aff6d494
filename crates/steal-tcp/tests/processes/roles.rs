//! What a started process does, by the name of its role.

#[path = "../../examples/tcp/travels.rs"]
pub(crate) mod travels;

use std::path::{Path, PathBuf};

use tidings_applications::fibonacci::Fibonacci;
use tidings_applications::uts::trees::named;
use tidings_steal_tcp::{Body, Done, Frame, PhaseError, Process, Task};

use crate::recovered;
use crate::run::{STOP, say, wait_for_word};
use travels::{Travels, on_all};

pub(crate) fn act(role: &str, mut process: Process) -> Result<(), PhaseError> {
    let process = &mut process;
    match role {
        "fib" => say(&format!("{:?}", Fibonacci::shown(&on_all(process, Fibonacci(20))?))),
        "tree" => {
            let tree = named("T1").expect("a tree");
            say(&format!("{}", tree.is(&on_all(process, tree.tree)?)));
        }
        "forever" => {
            say("joined");
            let stop = std::env::var_os(STOP).expect("a path");
            let mut stop = PathBuf::from(stop).into_boxed_path();
            let body = [forever as Body<Box<Path>>];
            let ending = process.phase("forever", list(process, 8), &body, &mut stop);
            say(&format!("phase: {}", ending.expect_err("somebody was killed")));
            // Those who live go on.
            match on_all(process, Fibonacci(15)) {
                Ok(total) => say(&format!("{:?}", Fibonacci::shown(&total))),
                Err(error) => say(&format!("phase: {error}")),
            }
            // Who ends is one more that is dead, to those who have not come so far.
            wait_for_word();
        }
        "first" => drop(process.phase("first", Vec::new(), &[never as Body<()>], &mut ())?),
        "second" => drop(process.phase("second", Vec::new(), &[never as Body<()>], &mut ())?),
        "stay" => wait_for_word(),
        "panic" => drop(process.phase("first", list(process, 1), &[never as Body<()>], &mut ())?),
        "refused" => say(&process.refused().to_string()),
        "large" => large(process)?,
        "large rest" => {
            let (body, mut ran) = ([large_rest as Body<u32>], 0);
            let refused = process.phase("large", list(process, 1), &body, &mut ran);
            say(&refused.map_or_else(|error| error.to_string(), |_| "well".to_owned()));
        }
        "shows" | "hides" => show(role, process)?,
        "retain" => retain(process)?,
        "bytes" => bytes(process)?,
        role if role.contains(" at ") => recovered::act(role, process)?,
        "sleeps" => {
            let list = list(process, 1);
            process.phase("sleeps", list, &[waits as Body<()>], &mut ())?;
        }
        other => unreachable!("no role is called {other}"),
    }
    Ok(())
}

/// Two show what they have; who hides it ends before.
fn show(role: &str, process: &mut Process) -> Result<(), PhaseError> {
    process.phase("nothing", Vec::new(), &[nothing as Body<()>], &mut ())?;
    if role == "hides" {
        return Ok(());
    }
    let lost = process.gather(&[process.number().into()]).expect_err("one has ended");
    let shown = process.gather(&[process.number().into()])?;
    say(&format!("{lost}; {:?}", shown.iter().flatten().map(|words| words[0]).collect::<Vec<_>>()));
    Ok(())
}

/// Two phases of one name: the second begins with what each ran.
fn retain(process: &mut Process) -> Result<(), PhaseError> {
    let mut seedings = Vec::new();
    for _ in 0..2 {
        let list = list(process, 100);
        let phase = process.phase("retained", list, &[nothing as Body<()>], &mut ())?;
        seedings.push(phase.seeding);
    }
    say(&format!("{seedings:?}"));
    Ok(())
}

fn large(process: &mut Process) -> Result<(), PhaseError> {
    let large = vec![Frame::new(0, 0, &[0; 300]).expect("a frame")];
    let refused = process.phase("large", large, &[nothing as Body<()>], &mut ());
    let mut said = vec![refused.expect_err("it is too large").to_string()];
    let body = [spawns_large as Body<Vec<String>>];
    process.phase("large", list(process, 1), &body, &mut said)?;
    say(&said.join("; "));
    Ok(())
}

fn bytes(process: &mut Process) -> Result<(), PhaseError> {
    let frame = |at: usize| Frame::new(0, 0, &[at as u8; 256]).expect("a frame");
    let list = (0..if process.number() == 0 { 20_000 } else { 0 }).map(frame).collect();
    let mut sum = 0;
    process.phase("bytes", list, &[big as Body<u64>], &mut sum)?;
    let shown = process.gather(&[sum])?;
    say(&shown.iter().flatten().map(|words| words[0]).sum::<u64>().to_string());
    Ok(())
}

/// So many tasks at the first worker.
pub(crate) fn list(process: &Process, count: usize) -> Vec<Frame> {
    let task = Frame::new(0, 0, &[]).expect("it fits");
    vec![task; if process.number() == 0 { count } else { 0 }]
}

/// Spawns itself until the test has killed whom it wanted to.
fn forever(task: &mut Task<'_>, stop: &mut Box<Path>) -> Done {
    if !stop.exists() {
        task.spawn(Frame::new(0, 0, &[]).expect("it fits")).expect("it fits");
    }
    Done::Nothing
}

fn never(_: &mut Task<'_>, (): &mut ()) -> Done {
    panic!("a task that panics");
}

fn nothing(_: &mut Task<'_>, (): &mut ()) -> Done {
    Done::Nothing
}

fn waits(_: &mut Task<'_>, (): &mut ()) -> Done {
    say("busy");
    wait_for_word();
    Done::Nothing
}

fn spawns_large(task: &mut Task<'_>, said: &mut Vec<String>) -> Done {
    let large = Frame::new(0, 0, &[0; 300]).expect("a frame");
    said.push(task.spawn(large).expect_err("it is too large").to_string());
    let none = Frame::new(1, 0, &[]).expect("a frame");
    said.push(task.spawn(none).expect_err("no function").to_string());
    Done::Nothing
}

fn large_rest(task: &mut Task<'_>, ran: &mut u32) -> Done {
    *ran += 1;
    let child = Frame::new(0, 0, &[]).expect("a frame");
    let then = Frame::new(0, 0, &[0; 300]).expect("a frame");
    if task.step() == 0 { Done::Finish { body: child.at_step(1), then } } else { Done::Nothing }
}

/// Tasks whose messages are hundreds of kilobytes.
fn big(task: &mut Task<'_>, sum: &mut u64) -> Done {
    *sum += task.state().iter().map(|byte| u64::from(*byte)).sum::<u64>();
    Done::Nothing
}
