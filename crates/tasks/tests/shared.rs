//! Members of a store in an etcd: one serves, the others find it by the role, and when it is
//! killed, frozen or leaves, another takes over with all that was acknowledged.
//!
//! Who serves may change at any time, on a machine that stands still for seconds. So only what
//! holds all the same is asserted.
//!
//! The one that is killed is a child: this program again, asked for one "test" that does nothing
//! unless it was started with [`STORE`].

#![cfg(feature = "etcd")]
#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

mod parties;
mod servers;

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use parties::{assigned, check, completion, offer, submit, work};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use servers::Servers;
use tidings_primitives::{Key, KeyRing};
use tidings_tasks::member::{Member, Network};
use tidings_tasks::service::Options;
use tidings_tasks::session::{Notice, Session};
use tidings_tasks::store::Store as _;
use tidings_tasks_core::id::Part;
use tidings_tasks_core::keys;
use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::record::{Reign, decode};
use tidings_tasks_core::reign::Candidate;
use tokio::sync::mpsc;

/// Names the store to a child.
const STORE: &str = "TIDINGS_TEST_ETCD_STORE";

/// What a child prints when it serves, and when the task is there that it was told to submit.
const SERVES: &str = "it serves";
const SUBMITTED: &str = "it has submitted";

fn candidate(name: &str) -> Candidate {
    let host = format!("host-{name}");
    Candidate { name: name.to_owned(), host, address: String::new(), session: None }
}

fn join(address: &str, name: &str) -> Arc<Member> {
    let (network, address) = (Network::none("test"), address.parse().unwrap());
    let options = Options::default();
    Arc::new(Member::join_over(network, address, "test", candidate(name), options))
}

fn open(member: &Arc<Member>, name: &str) -> (Session, mpsc::Receiver<Notice>) {
    Session::open(member.clone(), name, "here")
}

/// Who has the role, as the store says.
async fn reign(servers: &Servers) -> Reign {
    let store = servers.open("tasks").await;
    let role = store.get(&[keys::role(Part(0))]).await.unwrap().records.remove(0).unwrap();
    decode(&role).unwrap()
}

/// Not a test by itself: the child.
#[tokio::test]
async fn serve_the_store_that_is_named() {
    let Ok(address) = std::env::var(STORE) else { return };
    let member = join(&address, "child");
    let _link = member.link().await.unwrap();
    assert!(member.holds());
    println!("{SERVES}");
    let (client, _told) = open(&member, "client-of-child");
    let line = || std::io::stdin().lines().next();
    if tokio::task::spawn_blocking(line).await.unwrap().is_some() {
        assert_eq!(submit(&client, 1_000..1_001).await, 1);
        println!("{SUBMITTED}");
    }
    // Until it is killed, or whoever started it has ended.
    let rest = || std::io::stdin().lines().count();
    tokio::task::spawn_blocking(rest).await.unwrap();
}

/// A child that serves the store.
struct Serving {
    child: Child,
    printed: Lines<BufReader<ChildStdout>>,
}

impl Serving {
    fn start(address: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "--nocapture", "serve_the_store_that_is_named"]);
        command.env(STORE, address).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut serving = Self { child, printed };
        serving.expect(SERVES);
        serving
    }

    /// Waits until it prints something.
    fn expect(&mut self, what: &str) {
        let has = self.printed.by_ref().map_while(Result::ok).any(|line| line.contains(what));
        assert!(has, "the child ended before {what}");
    }

    /// Freezes it, and returns when all its threads stand.
    fn freeze(&self) {
        let process = Pid::from_child(&self.child);
        kill_process(process, Signal::STOP).unwrap();
        waitpid(Some(process), WaitOptions::UNTRACED).unwrap();
    }

    fn thaw(&self) {
        kill_process(Pid::from_child(&self.child), Signal::CONT).unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn members_find_the_one_that_serves_by_its_role() {
    let servers = Servers::start(1);
    let address = servers.address("tasks");
    let all = ["a", "b", "c"].map(|name| join(&address, name));
    let (client, _told) = open(&all[1], "client");
    let (worker, notices) = open(&all[2], "worker");
    offer(&worker, 8).await;
    tokio::spawn(work(worker, notices));
    // More than one transaction of etcd carries.
    assert_eq!(submit(&client, 0..200).await, 200);
    check(&client, 0..200).await;
    loop {
        let leading: Vec<_> = all.iter().filter_map(|member| member.reached()).collect();
        let told = reign(&servers).await.address;
        if leading.iter().map(|at| format!("tcp://{at}")).eq([told]) {
            break;
        }
    }
}

#[tokio::test]
async fn when_the_one_that_serves_is_killed_another_takes_over() {
    let servers = Servers::start(1);
    let address = servers.address("tasks");
    let child = Serving::start(&address);
    let here = join(&address, "here");
    let (client, _told) = open(&here, "client");
    let (worker, mut notices) = open(&here, "worker");
    assert_eq!(submit(&client, 0..60).await, 60);
    offer(&worker, 1).await;
    let in_hand = assigned(&mut notices).await;
    drop(child);
    // It was given by the one before, and counts for the one after it.
    assert_eq!(worker.ask(completion(&in_hand)).await.unwrap(), Answer::Done);
    tokio::spawn(work(worker, notices));
    check(&client, 0..60).await;
    assert_eq!(reign(&servers).await.coordinator, "here");
    // All were acknowledged by the one that was killed.
    assert_eq!(submit(&client, 0..60).await, 0);
}

#[tokio::test]
async fn one_that_is_frozen_is_replaced_and_follows_when_it_thaws() {
    let servers = Servers::start(1);
    let address = servers.address("tasks");
    let mut child = Serving::start(&address);
    let here = join(&address, "here");
    let (client, _told) = open(&here, "client");
    let (worker, notices) = open(&here, "worker");
    offer(&worker, 8).await;
    tokio::spawn(work(worker, notices));
    assert_eq!(submit(&client, 0..10).await, 10);
    check(&client, 0..10).await;
    child.freeze();
    // Its connections stay open, and nobody answers there. A commit that the etcd answers too late,
    // as on a loaded machine, is looked for, and then all are there already.
    let new = submit(&client, 0..20).await;
    assert!([0, 10].contains(&new), "{new}");
    check(&client, 10..20).await;
    assert_eq!(reign(&servers).await.coordinator, "here");
    // What it commits when it thaws is refused, and what it was asked goes to the other one.
    writeln!(child.child.stdin.as_mut().unwrap(), "submit").unwrap();
    child.thaw();
    child.expect(SUBMITTED);
    check(&client, 1_000..1_001).await;
    check(&client, 0..20).await;
}

#[tokio::test]
async fn one_that_leaves_is_replaced() {
    let servers = Servers::start(1);
    let address = servers.address("tasks");
    let first = join(&address, "first");
    let (client, _told) = open(&first, "client");
    assert_eq!(submit(&client, 0..10).await, 10);
    let second = join(&address, "second");
    let (other, _told) = open(&second, "other");
    assert_eq!(submit(&other, 5..15).await, 5);
    first.leave().await;
    assert_eq!(submit(&other, 0..20).await, 5);
    assert_eq!(reign(&servers).await.coordinator, "second");
    assert!(client.ask(Request::Heartbeat).await.is_err());
}

#[tokio::test]
async fn one_that_only_asks_serves_if_nobody_else_does() {
    let servers = Servers::start(1);
    let address = servers.address("tasks");
    let (network, at) = (Network::none("test"), address.parse().unwrap());
    let asks = Member::visit_over(network, at, "test", candidate("asks"), Options::default());
    let asks = Arc::new(asks);
    let (client, _told) = open(&asks, "client");
    assert_eq!(submit(&client, 0..10).await, 10);
    assert_eq!(reign(&servers).await.coordinator, "asks");
    let stays = join(&address, "stays");
    let (other, _told) = open(&stays, "other");
    assert_eq!(submit(&other, 0..15).await, 5);
    asks.leave().await;
    assert_eq!(submit(&other, 0..20).await, 5);
    assert_eq!(reign(&servers).await.coordinator, "stays");
}

async fn trouble(member: &Member) -> String {
    loop {
        match member.trouble() {
            Some(trouble) => return trouble.to_string(),
            None => tokio::task::yield_now().await,
        }
    }
}

/// Why there is no link at last.
async fn refusal(member: &Member) -> String {
    loop {
        match member.link().await {
            Ok(_) => tokio::task::yield_now().await,
            Err(error) => return error.to_string(),
        }
    }
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    let mut servers = Servers::start(1);
    let address = servers.address("tasks");
    let listen = Some("0.0.0.0:0".parse().unwrap());
    let open_to_all = Network { listen, ..Network::none("test") };
    let at: tidings_tasks::store::address::Address = address.parse().unwrap();
    let refused = |network: Network, cluster: &str| {
        Member::join_over(network, at.clone(), cluster, candidate("x"), Options::default())
    };
    let error = refused(open_to_all, "test").link().await.unwrap_err().to_string();
    assert!(error.contains("may not be listened at without a key"), "{error}");

    let serving = join(&address, "serving");
    drop(serving.link().await.unwrap());
    let error = refused(Network::none("test"), "other").link().await.unwrap_err().to_string();
    assert!(error.contains("is the store of cluster"), "{error}");

    let ring = KeyRing::new(&[Key::from_bytes([1; 32])]).unwrap();
    let keyed = Network { ring, listen: None };
    let keyed = refused(keyed, "test");
    // Whoever does not serve just then.
    let error = tokio::select! {
        error = refusal(&keyed) => error,
        error = refusal(&serving) => error,
    };
    assert!(error.contains("give both sides the same key file"), "{error}");

    servers.kill(0);
    let late = join(&address, "late");
    let said = trouble(&late).await;
    assert!(said.contains(&address) && said.contains("do most of them run?"), "{said}");
}
