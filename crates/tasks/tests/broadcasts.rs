//! Large blobs that many hosts read go down a tree of them: nobody sends one to all, processes of a
//! host share one copy, and who dies or says nothing in between is replaced.
//!
//! Hosts are names here, each with a folder of its own; all speak over TCP. The one that is killed
//! or stopped in the middle of a copy is a child: this program again, asked for one "test" that
//! does nothing unless it was started with [`CHILD`].

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tidings_primitives::{Key, KeyRing};
use tidings_tasks::blobs::Handle;
use tidings_tasks::handles::{Handles, Held};
use tidings_tasks::items;
use tidings_tasks::member::{Member, Network};
use tidings_tasks::payloads::{MARK, Payloads};
use tidings_tasks::service::Options;
use tidings_tasks::session::{Notice, Session};
use tidings_tasks::store::address::Address;
use tidings_tasks::value::Value;
use tidings_tasks_core::broadcast::FAN;
use tidings_tasks_core::counters::Counters;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Request, Submission};
use tidings_tasks_core::output::{Kept, SharedBlob};
use tidings_tasks_core::record::{self, Outcome};
use tidings_tasks_core::reign::Candidate;
use tokio::task::JoinSet;

/// The address of the store, for a child, its folder, and the handle that it gets.
const CHILD: &str = "TIDINGS_BROADCASTS_CHILD";
const FOLDER: &str = "TIDINGS_BROADCASTS_FOLDER";
const HANDLE: &str = "TIDINGS_BROADCASTS_HANDLE";

/// What a child prints when it has its copy.
const GOT: &str = "it has got it";

fn content(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at / 7 + at / 70_001) as u8 ^ number as u8).collect()
}

fn member(name: &str, host: &str, address: Address) -> Arc<Member> {
    let (name, host) = (name.to_owned(), host.to_owned());
    let listen = matches!(address, Address::File(_)).then(|| "127.0.0.1:0".parse().unwrap());
    let candidate = Candidate { name, host, address: String::new(), session: None };
    let ring = KeyRing::new(&[Key::from_bytes([1; 32])]).unwrap();
    let network = Network { ring, listen };
    Arc::new(Member::join_over(network, address, "test", candidate, Options::default()))
}

/// The process that holds the store, and where others reach it.
async fn holder(folder: &Path) -> (Arc<Member>, Address) {
    let holder = member("holder", "here", Address::File(folder.join("store")));
    let at = holder.listens().await;
    (holder, Address::Tcp(at))
}

/// A process of a host that shares blobs.
struct Host {
    handles: Handles,
    session: Session,
    folder: PathBuf,
    _own: Option<TempDir>,
}

impl Host {
    async fn of(member: &Arc<Member>, name: &str, host: &str, folder: Option<&Path>) -> Self {
        let (session, _notices) = Session::open(member.clone(), name, host);
        let own = folder.is_none().then(|| tempfile::tempdir().unwrap());
        let folder = folder.map(Path::to_owned);
        let folder = folder.or_else(|| Some(own.as_ref()?.path().join("shared"))).unwrap();
        let handles = Handles::begin(member, &session, host, &folder).await.unwrap();
        Self { handles, session, folder, _own: own }
    }

    async fn new(at: &Address, host: &str) -> Self {
        let name = format!("process-{host}");
        Self::of(&member(&name, host, at.clone()), &name, host, None).await
    }

    async fn counters(&self) -> Counters {
        match self.session.ask(Request::Overview).await.unwrap() {
            Answer::Overview(overview) => overview.counters,
            other => panic!("{other:?}"),
        }
    }

    /// The bytes of what is being copied into its folder.
    fn copying(&self) -> Vec<u64> {
        let drafts = fs::read_dir(self.folder.join("new")).unwrap();
        drafts.filter_map(|draft| Some(draft.ok()?.metadata().ok()?.len())).collect()
    }
}

fn from(held: &Held) -> &str {
    held.copied_from().map_or("nobody", |depot| &depot.host)
}

/// More than one host may send to.
const HOSTS: usize = FAN + 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_sends_a_blob_to_all_and_each_host_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let (holding, at) = holder(folder.path()).await;
    let owner = Host::of(&holding, "owner", "here", None).await;
    let bytes = content(1, 2_500_000);
    let held = owner.handles.put(&bytes).unwrap();
    let mut hosts = Vec::new();
    for number in 0..HOSTS {
        hosts.push(Host::new(&at, &format!("h{number}")).await);
    }
    let mut getting = JoinSet::new();
    for host in &hosts {
        let (handles, blob) = (host.handles.clone(), held.blob().clone());
        getting.spawn(async move { handles.get(&blob).await.unwrap() });
    }
    let all = getting.join_all().await;
    let mut sent: BTreeMap<&str, usize> = BTreeMap::new();
    for one in &all {
        assert!(**one == *bytes);
        *sent.entry(from(one)).or_default() += 1;
    }
    assert_eq!(sent.values().sum::<usize>(), HOSTS);
    assert!(sent.values().all(|count| *count <= FAN) && sent.len() > 1, "{sent:?}");
    assert!(!sent.contains_key("nobody"), "{sent:?}");
    let counters = owner.counters().await;
    let relayed = HOSTS - sent["here"];
    assert_eq!((counters.copied, counters.relayed), (HOSTS as u64, relayed as u64));

    // The owner is gone, and one that comes late has it from another one.
    drop((held, owner));
    let late = Host::new(&at, "late").await;
    let blob = all[0].blob().clone();
    let got = late.handles.get(&blob).await.unwrap();
    assert!(*got == *bytes && from(&got) != "here", "{}", from(&got));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_of_a_host_share_one_copy() {
    let folder = tempfile::tempdir().unwrap();
    let (holding, at) = holder(folder.path()).await;
    let owner = Host::of(&holding, "owner", "here", None).await;
    let held = owner.handles.put(&content(2, 3_000_000)).unwrap();
    let first = Host::new(&at, "there").await;
    let mut hosts = vec![];
    for number in 0..3 {
        let name = format!("other-{number}");
        let other = member(&name, "there", at.clone());
        hosts.push(Host::of(&other, &name, "there", Some(&first.folder)).await);
    }
    hosts.push(first);
    let mut getting = JoinSet::new();
    for host in &hosts {
        for _ in 0..2 {
            let (handles, blob) = (host.handles.clone(), held.blob().clone());
            getting.spawn(async move { handles.get(&blob).await.unwrap() });
        }
    }
    let all = getting.join_all().await;
    assert!(all.iter().all(|one| **one == *held));
    let moved = all.iter().filter(|one| one.moved_bytes() > 0).count();
    assert_eq!((moved, owner.counters().await.copied), (1, 1));
}

/// What the guide for C calls write and read, and each argument of a call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_value_goes_down_a_tree_of_its_readers() {
    let folder = tempfile::tempdir().unwrap();
    let (holding, at) = holder(folder.path()).await;
    let payloads = Payloads::of(&holding, &folder.path().join("none"));
    let (bytes, value) = (content(3, 2_000_000), Value::named("parameters"));
    let writing = Session::open(holding.clone(), "writes", "here");
    value.write(&payloads, writing, bytes.clone()).await.unwrap();
    let mut reading = JoinSet::new();
    for number in 0..HOSTS {
        let (host, value, at) = (format!("h{number}"), value.clone(), at.clone());
        let cache = folder.path().join(&host);
        reading.spawn(async move {
            let reader = member(&format!("reads-{number}"), &host, at);
            let payloads = Payloads::of(&reader, &cache);
            let (session, _notices) = Session::open(reader.clone(), &format!("r{number}"), &host);
            let read = value.read(&payloads, &session).await.unwrap();
            // It serves what it has read as long as it is there.
            (read, payloads, session, reader)
        });
    }
    let all = reading.join_all().await;
    assert!(all.iter().all(|(read, ..)| *read == bytes));
    let (session, _notices) = Session::open(holding, "looks", "here");
    let answer = session.ask(Request::Overview).await.unwrap();
    let Answer::Overview(overview) = answer else { panic!("{answer:?}") };
    assert_eq!(overview.counters.copied, HOSTS as u64);
    let of_store = HOSTS as u64 - overview.counters.relayed;
    assert!((1..=FAN as u64).contains(&of_store), "{of_store} are from the store");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_output_that_stays_on_its_node_goes_down_a_tree_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let (_holding, at) = holder(folder.path()).await;
    let node = Host::new(&at, "node").await;
    let output = node.handles.put(&content(4, 1_500_000)).unwrap();
    let (task, session) = (TaskId::of("task", 0), &node.session);
    let submission = Submission::new(task, "q", *b"make it");
    let tasks = vec![Submission { copies: 1, need: items::need(), ..submission }];
    assert_eq!(session.ask(Request::Submit { tasks }).await.unwrap(), Answer::Submitted(1));
    let worker = member("works", "node", at.clone());
    let (works, mut notices) = Session::open(worker, "works", "node");
    works.ask(items::offer("q", 1)).await.unwrap();
    let Some(Notice::Assigned(assigned)) = notices.recv().await else { panic!("a task") };
    let SharedBlob { hash, bytes, depot } = output.blob().clone();
    let result = [MARK, &record::encode(&Handle { hash, bytes })].concat();
    let (children, effects, puts) = (Vec::new(), Vec::new(), Vec::new());
    let (attempt, kept) = (assigned.attempt, Kept { bytes, depots: vec![depot] });
    let done = Request::CompleteKept { task, attempt, result, children, effects, kept, puts };
    assert_eq!(works.ask(done).await.unwrap(), Answer::Done);
    let mut reading = JoinSet::new();
    for number in 0..4 {
        let (host, at) = (format!("h{number}"), at.clone());
        let cache = folder.path().join(&host);
        reading.spawn(async move {
            let reader = member(&format!("reads-{number}"), &host, at);
            let payloads = Payloads::of(&reader, &cache);
            let (session, _notices) = Session::open(reader.clone(), &format!("r{number}"), &host);
            let answer = session.ask(Request::Wait { task }).await.unwrap();
            let Answer::Outcome(finished) = answer else { panic!("{answer:?}") };
            let read = payloads.fetched(&session, task, *finished, false).await.unwrap();
            (read.outcome, payloads, reader)
        });
    }
    let all = reading.join_all().await;
    assert!(all.iter().all(|(outcome, ..)| *outcome == Outcome::Done(output.to_vec())));
    let counters = node.counters().await;
    assert!(counters.copied == 4 && counters.relayed > 0, "{counters:?}");
}

#[tokio::test]
async fn child_that_gets_and_serves() {
    let Some(address) = std::env::var_os(CHILD) else { return };
    let at: Address = address.to_str().unwrap().parse().unwrap();
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let handles = std::env::var(HANDLE).unwrap();
    let name = format!("child-{}", std::process::id());
    let child = Host::of(&member(&name, "child", at), &name, "child", Some(&folder)).await;
    let mut held = Vec::new();
    for handle in handles.split(' ') {
        let blob: SharedBlob = handle.parse().unwrap();
        held.push(child.handles.get(&blob).await.unwrap());
    }
    println!("{GOT}");
    std::future::pending::<()>().await;
}

/// A host that has copied some blobs, and serves them.
async fn child(at: &Address, folder: &Path, blobs: &[&Held]) -> Child {
    let own = std::env::current_exe().expect("a running program has a path");
    let mut command = Command::new(own);
    command.args(["--exact", "child_that_gets_and_serves", "--nocapture", "--test-threads=1"]);
    let blobs: Vec<String> = blobs.iter().map(|held| held.blob().to_string()).collect();
    command.env(CHILD, at.to_string()).env(FOLDER, folder).env(HANDLE, blobs.join(" "));
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let waiting = move || assert!(lines.any(|line| line.unwrap().contains(GOT)));
    tokio::task::spawn_blocking(waiting).await.unwrap();
    child
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// The child has sent a copy to nobody, and the owner one to the child: so who comes next copies
/// from the child. Returns how many of some blobs were caught on their way from there.
async fn catch(ends: Signal) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let (holding, at) = holder(folder.path()).await;
    let owner = Host::of(&holding, "owner", "here", None).await;
    let blobs: Vec<Held> =
        (0..5).map(|number| owner.handles.put(&content(number, 32 << 20)).unwrap()).collect();
    let all: Vec<&Held> = blobs.iter().collect();
    let mut child = child(&at, &folder.path().join("child"), &all).await;
    let reader = Host::new(&at, "reader").await;
    let mut caught = 0;
    for held in &blobs {
        let (handles, blob) = (reader.handles.clone(), held.blob().clone());
        let getting = tokio::spawn(async move { handles.get(&blob).await.unwrap() });
        // Until some has come, or all.
        while !getting.is_finished() && reader.copying().iter().all(|bytes| *bytes < 1 << 20) {
            tokio::task::yield_now().await;
        }
        signal(&child, Signal::STOP);
        // More than the system holds between both is still to come.
        let is_caught = reader.copying().iter().any(|bytes| *bytes < held.len() as u64 / 2);
        if is_caught {
            signal(&child, ends);
        } else {
            signal(&child, Signal::CONT);
        }
        let got = getting.await.unwrap();
        assert!(*got == **held);
        if is_caught {
            assert_eq!(from(&got), "here", "the child cannot have sent all");
            caught += 1;
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    caught
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whose_sender_is_killed_in_the_middle_copies_from_another() {
    assert_eq!(catch(Signal::KILL).await, 1, "one of five copies is caught");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whose_sender_is_stopped_in_the_middle_copies_from_another() {
    assert_eq!(catch(Signal::STOP).await, 1, "one of five copies is caught");
}
