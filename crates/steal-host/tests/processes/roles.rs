//! What a started process does, by the name of its role.

#[path = "../../examples/host/travels.rs"]
pub(crate) mod travels;

use std::io::Read;
use std::path::{Path, PathBuf};

use tidings_applications::fibonacci::Fibonacci;
use tidings_applications::queens::Queens;
use tidings_applications::uts::trees::named;
use tidings_steal::trace::Tree;
use tidings_steal_host::{
    Array, ArrayError, Body, Done, Frame, Host, PhaseError, Sizes, Task, TraceFile,
};

use crate::run::STOP;
use travels::{Travels, on_all};

pub(crate) fn say(what: &str) {
    println!("\nsays: {what}");
}

fn wait_for_word() {
    std::io::stdin().read_exact(&mut [0]).expect("the test goes on");
}

pub(crate) fn act(role: &str, mut host: Host) -> Result<(), PhaseError> {
    let host = &mut host;
    match role {
        "fib" => say(&format!("{:?}", Fibonacci::shown(&on_all(host, Fibonacci(20))?))),
        "queens" => {
            let board = Queens::new(8).expect("a board");
            say(&format!("{:?}", Queens::shown(&on_all(host, board)?)));
        }
        "tree" => {
            let tree = named("T1").expect("a tree");
            say(&format!("{}", tree.is(&on_all(host, tree.tree)?)));
        }
        "forever" => {
            say(&host.number().to_string());
            let stop = std::env::var_os(STOP).expect("a path");
            let mut stop = PathBuf::from(stop).into_boxed_path();
            let body = [forever as Body<Box<Path>>];
            let ending = host.phase("forever", list(host, 8), &body, &mut stop);
            say(&format!("phase: {}", ending.expect_err("somebody was killed")));
            // Those who live go on.
            say(&format!("{:?}", Fibonacci::shown(&on_all(host, Fibonacci(15))?)));
        }
        "first" => drop(host.phase("first", Vec::new(), &[never as Body<()>], &mut ())?),
        "second" => drop(host.phase("second", Vec::new(), &[never as Body<()>], &mut ())?),
        "stay" => wait_for_word(),
        "panic" => drop(host.phase("first", list(host, 1), &[never as Body<()>], &mut ())?),
        "large" => large(host)?,
        "large rest" => {
            let (body, mut ran) = ([large_rest as Body<u32>], 0);
            let refused = host.phase("large", list(host, 1), &body, &mut ran);
            say(&refused.map_or_else(|error| error.to_string(), |_| "well".to_owned()));
        }
        "shows" | "hides" => show(role, host)?,
        "array" => array(host),
        "arrays" => arrays(host),
        "busy" => drop(host.phase("busy", list(host, 1), &[waits as Body<()>], &mut ())?),
        "retain" => retain(host)?,
        "known" => known(host)?,
        "trace" => trace(host)?,
        "bytes" => bytes(host)?,
        other => unreachable!("no role is called {other}"),
    }
    Ok(())
}

/// Two show what they have; who hides it ends before.
fn show(role: &str, host: &mut Host) -> Result<(), PhaseError> {
    host.phase("show", Vec::new(), &[never as Body<()>], &mut ())?;
    if role == "shows" {
        let ended = host.gather(&[7]).expect_err("one is missing").to_string();
        let shown = host.gather(&[7])?.iter().flatten().count();
        say(&format!("{ended}; {shown} {:?}", host.lost().collect::<Vec<_>>()));
    }
    Ok(())
}

/// Tasks that are too large, in the list and spawned.
fn large(host: &mut Host) -> Result<(), PhaseError> {
    let large = vec![Frame::new(0, 0, &[0; 300]).expect("a frame")];
    let body = [spawns_large as Body<Vec<String>>];
    let refused = host.phase("large", large, &body, &mut Vec::new());
    let mut said = vec![refused.expect_err("it is too large").to_string()];
    host.phase("large", list(host, 1), &body, &mut said)?;
    say(&said.join("; "));
    Ok(())
}

/// Messages that are longer than a ring.
fn bytes(host: &mut Host) -> Result<(), PhaseError> {
    let mut sum = 0;
    let frame = |at: u32| Frame::new(0, 1_000_000, &[at as u8; 4000]).expect("it fits");
    let list = (0..if host.number() == 0 { 500 } else { 0 }).map(frame).collect();
    host.phase("bytes", list, &[big as Body<u64>], &mut sum)?;
    let sums = host.gather(&[sum])?;
    say(&format!("{}", sums.iter().flatten().map(|words| words[0]).sum::<u64>()));
    Ok(())
}

/// Two iterations of one phase.
fn retain(host: &mut Host) -> Result<(), PhaseError> {
    let mut seedings = Vec::new();
    for _ in 0..2 {
        let phase = host.phase("again", list(host, 9), &[nothing as Body<()>], &mut ())?;
        seedings.push(phase.seeding);
    }
    say(&format!("{seedings:?}"));
    Ok(())
}

/// Phases of a list that one has, and of which it gives the other some unasked.
fn known(host: &mut Host) -> Result<(), PhaseError> {
    let mut all = 0;
    for _ in 0..20 {
        let task = Frame::new(0, 100_000, &[]).expect("it fits");
        let tasks = vec![task; if host.is_first() { 1000 } else { 0 }];
        host.phase("known", tasks, &[spins as Body<()>], &mut ())?;
        let ran = host.gather(&[host.counters().executed])?;
        all = ran.iter().flatten().map(|words| words[0]).sum();
    }
    say(&all.to_string());
    Ok(())
}

/// Phases until one has stolen, each with its trace, which has to hold every gift.
fn trace(host: &mut Host) -> Result<(), PhaseError> {
    let (mut before, mut gifts) = (0, 0);
    for _ in 0..1000 {
        on_all(host, Fibonacci(20))?;
        let all = host.counters();
        let shown = host.gather(&[all.steals + all.pushed])?;
        let now: u64 = shown.iter().flatten().map(|words| words[0]).sum();
        gifts = now - before;
        before = now;
        let file = host.trace("fib")?.encode();
        let (traced, events) = TraceFile::decode(&file).expect("a whole file");
        let tree = Tree::of(&events).expect("each gift has an arrival");
        assert_eq!((traced.traces.len(), tree.statistics.steals), (3, gifts));
        if gifts > 0 {
            break;
        }
    }
    say(&(gifts > 0).to_string());
    Ok(())
}

/// Some microseconds.
fn spins(_: &mut Task<'_>, (): &mut ()) -> Done {
    std::hint::black_box((0..5_000_u64).fold(0, |sum, at| std::hint::black_box(sum ^ at)));
    Done::Nothing
}

/// Arrays that cannot be made.
fn arrays(host: &mut Host) {
    let columns = if host.is_first() { 3 } else { 4 };
    let sizes = Sizes { rows: 3, columns, block_rows: 2, block_columns: 2 };
    say(&Array::create(host, sizes).expect_err("they differ").to_string());
    let sizes = Sizes { rows: 1 << 45, columns: 1, block_rows: 1, block_columns: 1 };
    say(&Array::create(host, sizes).expect_err("no room").to_string());
}

/// Tasks on all add to blocks of an array: each reads what all have added, and zeros after that.
fn array(host: &mut Host) {
    let sizes = Sizes { rows: 10, columns: 7, block_rows: 3, block_columns: 4 };
    let mut array = Array::create(host, sizes).expect("room");
    assert_eq!((array.blocks(), array.block_elements()), ((4, 2), 12));
    let add = |task: &mut Task<'_>, array: &mut Array| {
        let at = u32::from_le_bytes(task.state().try_into().expect("four bytes")) as usize;
        let block = vec![f64::from(at as u32); 12];
        array.accumulate(at % 4, at % 2, &block).expect("it is there");
        Done::Nothing
    };
    let frame = |at: u32| Frame::new(0, 0, &at.to_le_bytes()).expect("it fits");
    let list = (0..1000).map(frame).collect();
    host.phase("array", list, &[add as Body<Array>], &mut array).expect("all live");
    let mut sums = Vec::new();
    for row in 0..4 {
        let mut block = [-1.0; 12];
        array.get(row, row % 2, &mut block).expect("it is there");
        assert!(block.iter().all(|element| element.to_bits() == block[0].to_bits()));
        sums.push(block[0]);
    }
    assert!(matches!(array.get(4, 0, &mut [0.0; 12]), Err(ArrayError::Block { .. })));
    assert!(matches!(array.put(0, 0, &[0.0; 3]), Err(ArrayError::Length { .. })));
    assert_eq!((array.owner(1, 1), array.owner(0, 2)), (Some(3 % host.workers()), None));
    array.zero(host).expect("all live");
    let mut block = [-1.0; 12];
    array.get(1, 1, &mut block).expect("it is there");
    assert!(block.iter().all(|element| element.to_bits() == 0));
    say(&format!("{sums:?}"));
}

/// So many tasks at the first worker.
fn list(host: &Host, count: usize) -> Vec<Frame> {
    let task = Frame::new(0, 0, &[]).expect("it fits");
    vec![task; if host.number() == 0 { count } else { 0 }]
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

/// Tasks whose messages are longer than a ring.
fn big(task: &mut Task<'_>, sum: &mut u64) -> Done {
    *sum += task.state().iter().map(|byte| u64::from(*byte)).sum::<u64>();
    Done::Nothing
}
