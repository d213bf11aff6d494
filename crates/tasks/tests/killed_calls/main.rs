//! Processes that are killed at a call of their store: a coordinator, a worker and a client in one
//! process, over three servers of etcd, and over a file.
//!
//! A process runs once undisturbed, which counts the calls of its store. Others then kill
//! themselves at one call each ([`dying`]), before it and after its effect, and another process
//! goes on with what is in the store. In the end each result is there once, none that somebody knew
//! of was lost, nothing that was finished ran again, and all permits have come back. Which calls,
//! is drawn; `TIDINGS_KILLED_CALLS=all` takes each of them.

#![cfg(feature = "etcd")]
#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

#[path = "../children/mod.rs"]
mod children;
mod computation;
mod dying;
mod end;
#[path = "../servers/mod.rs"]
mod servers;

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use children::{child, folder_of_child};
use computation::{Notes, compute};
use dying::{Death, Dying};
use end::End;
use servers::Servers;
use tidings_primitives::Chance;
use tidings_tasks::store::Store;
use tidings_tasks::store::embedded::Embedded;
use tidings_tasks::store::etcd::Etcd;

/// A process that takes as long hangs.
const WATCHDOG: Duration = Duration::from_secs(120);

/// How many calls are drawn, of each store.
const DRAWN: usize = 8;

/// Processes at a time: most of them wait for the end of a session.
const AT_ONCE: usize = 8;

const NEVER: Death = Death { call: 0, is_late: false };

async fn open(place: &str) -> Arc<dyn Store> {
    match place.strip_prefix("etcd://") {
        Some(place) => Arc::new(Etcd::open(&place.parse().unwrap(), "test").await.unwrap()),
        None => Arc::new(Embedded::open(Path::new(place), "test").unwrap()),
    }
}

/// Not a test by itself: the process that the others start, and that kills itself.
#[tokio::test]
async fn compute_and_die() {
    let Some(folder) = folder_of_child() else { return };
    let plan = std::fs::read_to_string(folder.join("plan")).unwrap();
    let words: Vec<_> = plan.split(' ').collect();
    let [place, call, is_late] = words[..] else { panic!("{plan}") };
    let death = Death { call: call.parse().unwrap(), is_late: is_late == "true" };
    let store = Arc::new(Dying::new(open(place).await, death));
    let notes = Notes::open(&folder.join("notes"));
    let done = tokio::time::timeout(WATCHDOG, compute(store.clone(), notes)).await;
    done.expect("it hangs");
    std::fs::write(folder.join("calls"), store.calls().to_string()).unwrap();
}

/// Runs a process; whether it was killed. If not, it is done.
fn is_killed(folder: &Path, place: &str, death: Death) -> bool {
    let plan = format!("{place} {} {}", death.call, death.is_late);
    std::fs::write(folder.join("plan"), plan).unwrap();
    let output = child("compute_and_die", folder).wait_with_output().unwrap();
    let status = output.status;
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(status.success() || status.signal() == Some(9), "{death:?}: {status} {said}");
    !status.success()
}

/// A process that dies so, and another that goes on; whether the first one did die, and how many
/// calls the last one made.
fn play(place: &str, death: Death) -> (bool, u64) {
    let folder = tempfile::tempdir().unwrap();
    let has_died = is_killed(folder.path(), place, death);
    if has_died {
        assert!(!is_killed(folder.path(), place, NEVER), "nothing kills it");
    }
    let read = |name| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let end = runtime.block_on(async { End::of(&*open(place).await).await });
    end.check(&read("notes"), &format!("{place} {death:?}"));
    (has_died, read("calls").parse().unwrap())
}

/// The calls of so many at which a process is to die, and whether before or after.
fn deaths(calls: u64) -> Vec<Death> {
    let all = std::env::var("TIDINGS_KILLED_CALLS").is_ok_and(|which| which == "all");
    let count = calls as usize;
    let drawn = if all { (0..count).collect() } else { Chance::new(calls).sample(DRAWN, count) };
    let both = |call| [false, true].map(|is_late| Death { call: call as u64 + 1, is_late });
    drawn.into_iter().flat_map(both).collect()
}

/// Kills a process at each of the calls that are drawn, in a store of its own each.
fn kill_at_calls(place: impl Fn(usize) -> String + Sync) {
    let (has_died, calls) = play(&place(0), NEVER);
    assert!(!has_died && calls > 15, "it makes {calls} calls: too few to say much");
    let deaths = deaths(calls);
    let (next, died) = (AtomicUsize::new(0), Mutex::new(0));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(death) = deaths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let number = 1 + 2 * death.call as usize + usize::from(death.is_late);
                    *died.lock().unwrap() += usize::from(play(&place(number), *death).0);
                }
            });
        }
    });
    // How calls gather differs between runs: one may have made fewer than the first.
    let died = died.into_inner().unwrap();
    println!("{died} of {} processes were killed, at {calls} calls", deaths.len());
    assert!(died * 2 > deaths.len(), "{died} of {} processes were killed", deaths.len());
}

#[test]
fn processes_killed_at_calls_of_an_etcd_lose_nothing() {
    let servers = Servers::start_with(3, &[]);
    kill_at_calls(|number| servers.address(&format!("killed/{number}")));
}

#[test]
fn processes_killed_at_calls_of_a_file_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    kill_at_calls(|number| folder.path().join(number.to_string()).display().to_string());
}
