//! Idle workers leave the processor alone: the kernel has nothing to count for them.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::io;
use std::thread;

use tidings_fork_join::{Pool, join};

const THREADS: usize = 3;

/// What the kernel has counted for each of the pool's threads: how often it left a processor, and
/// its nanoseconds on one. A thread that only looks whether there is work changes both.
fn counted() -> io::Result<BTreeMap<String, Vec<String>>> {
    let mut counted = BTreeMap::new();
    for task in fs::read_dir("/proc/self/task")? {
        let task = task?.path();
        let name = fs::read_to_string(task.join("comm"))?;
        if name.starts_with("sleeper-") {
            let status = fs::read_to_string(task.join("status"))?;
            let switches = status.lines().filter(|line| line.contains("ctxt_switches"));
            let time = fs::read_to_string(task.join("schedstat"))?;
            let time = time.split(' ').take(1).map(str::to_owned);
            counted.insert(name, switches.map(str::to_owned).chain(time).collect());
        }
    }
    Ok(counted)
}

fn fibonacci(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (one, other) = join(|| fibonacci(n - 1), || fibonacci(n - 2));
    one + other
}

#[test]
fn idle_workers_make_no_system_calls_and_take_no_time() {
    let pool = Pool::builder().threads(THREADS).name("sleeper").build().expect("threads");
    let busy = Pool::new(1).expect("a thread");
    assert_eq!(pool.install(|| fibonacci(20)), 6_765);
    while pool.counts().sleeping < THREADS {
        thread::yield_now();
    }
    // The last steps into sleep are after that count. While another pool computes for some tens of
    // milliseconds all must be there, in one of a few times at least.
    let computes = || {
        let before = counted().expect("the kernel says what it counted");
        assert_eq!(before.len(), THREADS);
        black_box(busy.install(|| fibonacci(27)));
        before == counted().expect("the kernel says what it counted")
    };
    assert!((0..3).any(|_| computes()), "{:?}", counted());
}
