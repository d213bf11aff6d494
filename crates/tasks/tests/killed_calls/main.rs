//! Processes that are killed at a call of their store: a coordinator, a worker and a client in one
//! process, over three servers of etcd, and over a file.
//!
//! A process runs once undisturbed, which counts the calls of its store. Others then kill
//! themselves at one call each ([`dying`]), before it and after its effect, and another process
//! goes on with what is in the store: one that begins then, one that is killed in turn at a call of
//! its recovery, or one that stands by and takes the role over. In the end each result is there
//! once, none that somebody knew of was lost, nothing that was finished ran again, and all permits
//! have come back. It is the same if a process stops at a call, and goes on when another has done
//! all. Which calls, is drawn; `TIDINGS_KILLED_CALLS=all` takes each of them.
//!
//! That these tests can fail is shown by a store that forgets a commit: it is found out.

#![cfg(feature = "etcd")]
#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

#[path = "../children/mod.rs"]
mod children;
mod computation;
mod dying;
mod end;
#[path = "../servers/mod.rs"]
mod servers;

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use children::{child, folder_of_child, lines};
use computation::{Notes, compute};
use dying::{Death, Dying, How};
use end::End;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
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

/// What a process prints that has opened its store.
const OPENED: &str = "has opened";

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
    let plan = fs::read_to_string(folder.join("plan")).unwrap();
    let words: Vec<_> = plan.split(' ').collect();
    let [place, death, notes] = words[..] else { panic!("{plan}") };
    let store = Arc::new(Dying::new(open(place).await, death.parse().unwrap()));
    println!("{OPENED}");
    let notes = Notes::open(Path::new(notes));
    let done = tokio::time::timeout(WATCHDOG, compute(store.clone(), notes)).await;
    done.expect("it hangs");
    fs::write(folder.join("calls"), store.calls().to_string()).unwrap();
}

/// Starts a process.
fn start(folder: &Path, place: &str, death: Death, notes: &Path) -> Child {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("plan"), format!("{place} {death} {}", notes.display())).unwrap();
    child("compute_and_die", folder)
}

/// Whether a process was killed. If not, it is done.
fn is_killed(child: Child, of: Death) -> bool {
    let output = child.wait_with_output().unwrap();
    let status = output.status;
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(status.success() || status.signal() == Some(9), "{of}: {status} {said}");
    !status.success()
}

/// How it was when all processes had ended.
struct Played {
    /// How many were killed.
    died: usize,
    /// How many coordinators there were, one after the other.
    reigns: u64,
    /// Calls of the one that has ended by itself.
    calls: u64,
}

/// What is in a store in the end, which must be right.
fn played(place: &str, folder: &Path, died: usize, case: &str) -> Played {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let end = runtime.block_on(async { End::of(&*open(place).await).await });
    end.check(&fs::read_to_string(folder.join("notes")).unwrap(), &format!("{place} {case}"));
    let calls = fs::read_to_string(folder.join("calls")).unwrap().parse().unwrap();
    Played { died, reigns: end.reigns(), calls }
}

/// Processes that die so, one after the other, and one that goes on.
fn in_turn(place: &str, deaths: &[Death]) -> Played {
    let folder = tempfile::tempdir().unwrap();
    let (folder, notes) = (folder.path(), folder.path().join("notes"));
    let is_over_by = |death: Death| is_killed(start(folder, place, death, &notes), death);
    let died = deaths.iter().take_while(|death| is_over_by(**death)).count();
    if died == deaths.len() {
        assert!(!is_over_by(Death::NEVER), "nothing kills it");
    }
    played(place, folder, died, &format!("{deaths:?}"))
}

/// A process that dies so, and one beside it, which takes over.
fn beside(place: &str, death: Death) -> Played {
    let folder = tempfile::tempdir().unwrap();
    let (folder, notes) = (folder.path(), folder.path().join("notes"));
    let mut first = start(&folder.join("first"), place, death, &notes);
    // What it prints else is awaited, so that it may go on printing.
    let mut opened = lines(&mut first, OPENED);
    assert!(opened.next().is_some(), "{death}: it has not begun");
    let second = start(folder, place, Death::NEVER, &notes);
    let died = usize::from(is_killed(first, death));
    assert!(!is_killed(second, Death::NEVER), "nothing kills it");
    played(place, folder, died, &format!("{death:?} beside another"))
}

/// A process that stops at a call until one beside it has done all, and then goes on.
fn frozen(place: &str, call: u64) -> Played {
    let folder = tempfile::tempdir().unwrap();
    let (folder, notes) = (folder.path(), folder.path().join("notes"));
    let stop = Death { call, how: How::Frozen };
    let mut first = start(&folder.join("first"), place, stop, &notes);
    let mut opened = lines(&mut first, OPENED);
    assert!(opened.next().is_some(), "{stop}: it has not begun");
    let second = start(folder, place, Death::NEVER, &notes);
    let process = Pid::from_child(&first);
    let either = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let has_stopped = waitid(WaitId::Pid(process), either).unwrap().unwrap().stopped();
    assert!(!is_killed(second, Death::NEVER), "nothing kills it");
    if has_stopped {
        kill_process(process, Signal::CONT).unwrap();
    }
    assert!(!is_killed(first, stop), "nothing kills it");
    played(place, folder, usize::from(has_stopped), &format!("{stop:?} beside another"))
}

/// The calls of so many at which a process is to die, and whether before or after.
fn deaths(calls: u64) -> Vec<Death> {
    let all = std::env::var("TIDINGS_KILLED_CALLS").is_ok_and(|which| which == "all");
    let count = calls as usize;
    let drawn = if all { (0..count).collect() } else { Chance::new(calls).sample(DRAWN, count) };
    let both = |call| [How::Before, How::After].map(|how| Death { call: call as u64 + 1, how });
    drawn.into_iter().flat_map(both).collect()
}

/// The calls of a process that nothing disturbs.
fn undisturbed(place: &str) -> u64 {
    let Played { died, calls, .. } = in_turn(place, &[Death::NEVER]);
    assert!(died == 0 && calls > 15, "it makes {calls} calls: too few to say much");
    calls
}

/// Does something for each of these, several at a time, each with a number; in any order.
fn for_all<A: Sync, B: Send>(all: &[A], one: impl Fn(usize, &A) -> B + Sync) -> Vec<B> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(found) = all.get(number) else { break };
                    let result = one(number + 1, found);
                    done.lock().unwrap().push(result);
                }
            });
        }
    });
    done.into_inner().unwrap()
}

/// Kills a process at each of the calls that are drawn, in a store of its own each, and with it the
/// next one, which recovers, at a call of its own.
fn kill_at_calls(place: impl Fn(usize) -> String + Sync) {
    let calls = undisturbed(&place(0));
    let deaths = deaths(calls);
    let mut chance = Chance::new(calls);
    let chains: Vec<_> = deaths
        .iter()
        .flat_map(|&death| {
            let call = 1 + chance.below(calls as usize) as u64;
            [vec![death], vec![death, Death { call, ..death }]]
        })
        .collect();
    let died = for_all(&chains, |number, chain| in_turn(&place(number), chain).died);
    let (some, both) =
        [1, 2].map(|least| died.iter().filter(|died| **died >= least).count()).into();
    println!("{some} of {} were killed, {both} recovering, at {calls} calls", chains.len());
    // How calls gather differs between runs: one may have made fewer than the first.
    assert!(some * 2 > chains.len(), "{some} of {} processes were killed", chains.len());
    assert!(both * 4 > deaths.len(), "{both} of {} were killed as they recovered", deaths.len());
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

#[test]
fn a_standby_takes_over_from_one_that_is_killed() {
    let servers = Servers::start_with(3, &[]);
    let place = |number| servers.address(&format!("beside/{number}"));
    let calls = undisturbed(&place(0));
    let all = for_all(&deaths(calls), |number, death| beside(&place(number), *death));
    let died = all.iter().filter(|played| played.died > 0).count();
    let took_over = all.iter().filter(|played| played.died > 0 && played.reigns > 1).count();
    println!("{died} of {} were killed, {took_over} replaced, at {calls} calls", all.len());
    assert!(died * 2 > all.len(), "{died} of {} processes were killed", all.len());
    assert!(took_over * 2 > died, "{took_over} of {died} had taken the role");
}

#[test]
fn who_stops_and_goes_on_changes_nothing() {
    let servers = Servers::start_with(3, &[]);
    let place = |number| servers.address(&format!("frozen/{number}"));
    let calls = undisturbed(&place(0));
    let mut chosen: Vec<u64> = deaths(calls).iter().map(|death| death.call).collect();
    chosen.dedup();
    let all = for_all(&chosen, |number, call| frozen(&place(number), *call));
    let stopped = all.iter().filter(|played| played.died > 0).count();
    let took_over = all.iter().filter(|played| played.died > 0 && played.reigns > 1).count();
    println!("{stopped} of {} stopped, {took_over} replaced, at {calls} calls", all.len());
    assert!(stopped * 2 > all.len(), "{stopped} of {} processes stopped", all.len());
    assert!(took_over > 0, "none of {stopped} had a role that another took");
}

/// A mutation of what these tests are about: one acknowledged commit is lost with its process.
#[test]
fn a_store_that_forgets_a_commit_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let place = |number: usize| folder.path().join(number.to_string()).display().to_string();
    let calls = undisturbed(&place(0));
    let forgets = |call| Death { call, how: How::Forgotten };
    let all: Vec<Death> = (1..=calls).map(forgets).collect();
    let found = for_all(&all, |number, death| {
        let play = || in_turn(&place(number), &[*death]);
        catch_unwind(AssertUnwindSafe(play)).is_err()
    });
    let found = found.into_iter().filter(|is_found| *is_found).count();
    println!("{found} of {calls} were found out");
    assert!(found > 0, "nothing of what was acknowledged was missed");
}
