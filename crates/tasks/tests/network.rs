//! Processes that reach the holder of a store over TCP: with the key they take part as those of its
//! host do, blobs included; without it they are refused in words; and whoever sends anything else
//! changes nothing.
//!
//! The holder is a child: this program again, asked for one "test" that does nothing unless it was
//! started with [`CHILD`]. It does the tasks as well.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tidings_primitives::{Key, KeyRing};
use tidings_tasks::blobs::{self, Blobs};
use tidings_tasks::depot;
use tidings_tasks::member::{Member, Network};
use tidings_tasks::net::endpoint::Endpoint;
use tidings_tasks::payloads::Payloads;
use tidings_tasks::service::Options;
use tidings_tasks::session::{Notice, Session};
use tidings_tasks::store::Store as _;
use tidings_tasks::store::address::Address;
use tidings_tasks::store::embedded::Embedded;
use tidings_tasks_core::id::{Part, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::message::{Answer, Request, Submission};
use tidings_tasks_core::record::{Outcome, Reign, decode};
use tidings_tasks_core::reign::Candidate;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, watch};

/// The folder in which a child works.
const CHILD: &str = "TIDINGS_NETWORK_CHILD";

/// What it prints before the place where it is reached.
const REACHED: &str = "reached at ";

fn network(key: u8, listen: Option<&str>) -> Network {
    let ring = KeyRing::new(&[Key::from_bytes([key; 32])]).unwrap();
    Network { ring, listen: listen.map(|at| at.parse().unwrap()) }
}

fn member(network: Network, address: Address, cluster: &str) -> Arc<Member> {
    let (name, host) = (format!("member-{}", std::process::id()), "here".to_owned());
    let candidate = Candidate { name, host, address: String::new(), session: None };
    Arc::new(Member::join_over(network, address, cluster, candidate, Options::default()))
}

fn follower(at: &Endpoint) -> Arc<Member> {
    member(network(1, None), Address::Tcp(at.clone()), "test")
}

/// A holder that does tasks until it is killed, and where it is reached.
fn holder(folder: &Path) -> (Child, Endpoint) {
    let own = std::env::current_exe().expect("a running program has a path");
    let mut command = Command::new(own);
    command.args(["--exact", "child_that_holds_and_works", "--nocapture", "--test-threads=1"]);
    let mut child = command.env(CHILD, folder).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let mut places = lines.map_while(Result::ok).filter_map(|line| {
        line.split_once(REACHED).map(|(_, place)| place.parse().expect("a place"))
    });
    let place = places.next().expect("it listens");
    (child, place)
}

#[tokio::test]
async fn child_that_holds_and_works() {
    let Some(folder) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let file = folder.join("store");
    let member = member(network(1, Some("127.0.0.1:0")), Address::File(file), "test");
    let payloads = Payloads::of(&member, &folder.join("none"));
    let (worker, notices) = Session::open(member.clone(), &format!("w{}", std::process::id()), "a");
    offer(&worker).await;
    println!("{REACHED}{}", member.reached().expect("it holds the store and listens"));
    work(worker, payloads, notices).await;
}

async fn offer(worker: &Session) {
    let offer = Request::Offer {
        queues: Vec::new(),
        slots: 4,
        resources: Vec::new(),
        ahead: 0,
        full: None,
    };
    assert_eq!(worker.ask(offer).await.unwrap(), Answer::Done);
}

/// The result of each task is its payload backwards.
async fn work(worker: Session, payloads: Payloads, mut notices: mpsc::Receiver<Notice>) {
    while let Some(notice) = notices.recv().await {
        let Notice::Assigned(assigned) = notice else { continue };
        let (task, attempt) = (assigned.task, assigned.attempt);
        let mut result = payloads.whole(assigned.payload).await.unwrap();
        result.reverse();
        let result = payloads.shorten(task, result).await.unwrap();
        let (children, effects) = (Vec::new(), Vec::new());
        let done = Request::Complete { task, attempt, result, children, effects, puts: Vec::new() };
        // A try that was given to another worker meanwhile is refused.
        worker.ask(done).await.unwrap();
    }
}

/// Contents of many lengths, some of which are more than one batch of pieces.
fn content(number: u64) -> Vec<u8> {
    let bytes = if number % 5 == 4 { 9_000_001 } else { 37 + number * 20_011 };
    (0..bytes).map(|at| (at * (at + number) / 8) as u8).collect()
}

fn submission(number: u64) -> Submission {
    Submission::new(TaskId::of("task", number), "q", content(number))
}

async fn check(client: &Session, payloads: &Payloads, numbers: core::ops::Range<u64>) {
    for number in numbers {
        let answer = payloads.outcome(client, TaskId::of("task", number)).await.unwrap();
        let Answer::Outcome(finished) = answer else { panic!("{answer:?}") };
        let backwards = content(number).into_iter().rev().collect();
        assert!(finished.outcome == Outcome::Done(backwards), "task {number}");
    }
}

#[tokio::test]
async fn a_process_of_another_host_submits_and_gets_results() {
    let folder = tempfile::tempdir().unwrap();
    let (mut holder, place) = holder(folder.path());
    let member = follower(&place);
    let payloads = Payloads::of(&member, &folder.path().join("cache"));
    let (client, _told) = Session::open(member.clone(), "client", "there");
    let tasks = (0..10).map(submission).collect();
    let answer = payloads.submit(&client, tasks, &[]).await.unwrap();
    assert_eq!(answer, Answer::Submitted(10));
    check(&client, &payloads, 0..10).await;
    assert!(!member.holds() && member.reached().is_none());

    holder.kill().unwrap();
    holder.wait().unwrap();
    let store = Embedded::open(&folder.path().join("store"), "test").unwrap();
    let role = store.get(&[keys::role(Part(0))]).await.unwrap().records.remove(0).unwrap();
    assert_eq!(decode::<Reign>(&role).unwrap().address, format!("tcp://{place}"));
}

#[tokio::test]
async fn a_process_of_another_host_works() {
    let folder = tempfile::tempdir().unwrap();
    let file = Address::File(folder.path().join("store"));
    let holding = member(network(1, Some("127.0.0.1:0")), file, "test");
    let (client, _told) = Session::open(holding.clone(), "client", "here");
    let payloads = Payloads::of(&holding, &folder.path().join("none"));
    let tasks = (0..6).map(submission).collect();
    payloads.submit(&client, tasks, &[]).await.unwrap();

    let away = follower(&holding.reached().unwrap());
    let copies = Payloads::of(&away, &folder.path().join("cache"));
    let (worker, notices) = Session::open(away, "worker", "there");
    offer(&worker).await;
    tokio::spawn(work(worker, copies, notices));
    check(&client, &payloads, 0..6).await;
}

/// The depot of a node keeps what belongs to a task that has a record, and nothing else.
#[tokio::test]
async fn a_depot_frees_what_no_record_names() {
    let folder = tempfile::tempdir().unwrap();
    let file = Address::File(folder.path().join("store"));
    let holding = member(network(1, Some("127.0.0.1:0")), file, "test");
    holding.listens().await;
    let (session, _told) = Session::open(follower(&holding.reached().unwrap()), "node", "there");
    let tasks = vec![Submission { copies: 1, ..Submission::new(TaskId::of("task", 0), "q", [1]) }];
    assert_eq!(session.ask(Request::Submit { tasks }).await.unwrap(), Answer::Submitted(1));
    let blobs = Arc::new(Blobs::open(&folder.path().join("depot")).unwrap());
    let handles = [&b"known"[..], b"unknown"].map(|content| blobs.put(content).unwrap());
    for (number, handle) in (0..).zip(&handles) {
        blobs.pin(handle, &blobs::holder_of(TaskId::of("task", number))).unwrap();
    }
    let free = depot::free(&session, &blobs, blobs::GRACE).await;
    assert_eq!(free.unwrap(), 0, "all is young");
    let free = depot::free(&session, &blobs, Duration::ZERO).await;
    assert_eq!(free.unwrap(), 7);
    assert!(blobs.has(&handles[0]) && !blobs.has(&handles[1]));
}

/// Passes connections on to whatever place is named last: one address, whoever is behind it.
async fn relay(listener: TcpListener, places: watch::Receiver<Endpoint>) {
    loop {
        let (mut near, _) = listener.accept().await.unwrap();
        let at = places.borrow().clone();
        tokio::spawn(async move {
            let mut far = TcpStream::connect((at.host.as_str(), at.port)).await?;
            tokio::io::copy_bidirectional(&mut near, &mut far).await
        });
    }
}

#[tokio::test]
async fn a_holder_that_dies_and_comes_back_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let (mut first, place) = holder(folder.path());
    let (places, behind) = watch::channel(place);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let front: Endpoint = listener.local_addr().unwrap().to_string().parse().unwrap();
    tokio::spawn(relay(listener, behind));

    let member = follower(&front);
    let payloads = Payloads::of(&member, &folder.path().join("cache"));
    let (client, _told) = Session::open(member, "client", "there");
    let mut submitted = 0;
    for round in 0..3 {
        let tasks = (submitted..submitted + 5).map(submission).collect();
        let answer = payloads.submit(&client, tasks, &[]).await.unwrap();
        assert_eq!(answer, Answer::Submitted(5));
        submitted += 5;
        // At moments that differ: with no result, some or most of them.
        check(&client, &payloads, submitted - 5..submitted - 5 + round).await;
        first.kill().unwrap();
        first.wait().unwrap();
        let (next, place) = holder(folder.path());
        first = next;
        places.send_replace(place);
    }
    check(&client, &payloads, 0..submitted).await;
    first.kill().unwrap();
    first.wait().unwrap();
}

async fn refusal(network: Network, at: &Endpoint, cluster: &str) -> String {
    let member = member(network, Address::Tcp(at.clone()), cluster);
    let (client, _told) = Session::open(member.clone(), "client", "there");
    let refused = client.ask(Request::Heartbeat).await.unwrap_err().to_string();
    assert!(member.link().await.unwrap_err().to_string().contains("tcp://127.0.0.1:"));
    refused
}

#[tokio::test]
async fn others_are_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let (mut holder, place) = holder(folder.path());
    let said = refusal(network(2, None), &place, "test").await;
    assert!(said.contains("has another key: give both sides the same key file"), "{said}");
    let said = refusal(Network::none("test"), &place, "test").await;
    assert!(said.contains("has another key"), "{said}");
    let said = refusal(network(1, None), &place, "other").await;
    assert!(said.contains("belongs to cluster `test`"), "{said}");
    holder.kill().unwrap();
    holder.wait().unwrap();
}

/// A holder that cannot listen where others are told to come says so, and gives the store up.
#[tokio::test]
async fn where_nobody_may_listen_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let held = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let taken = held.local_addr().unwrap();
    let path = folder.path().join("store");
    let file = Address::File(path.clone());
    let listening = member(network(1, Some(&taken.to_string())), file.clone(), "test");
    let error = listening.link().await.unwrap_err().to_string();
    assert!(error.contains("cannot be listened at"), "{error}");
    let open = Network { listen: Some("0.0.0.0:0".parse().unwrap()), ..Network::none("test") };
    let error = member(open, file, "test").link().await.unwrap_err().to_string();
    assert!(error.contains("may not be listened at without a key"), "{error}");
    drop(held);
    Embedded::open(&path, "test").unwrap();
}

#[tokio::test]
async fn nobody_there_is_said_and_waited_for() {
    // A port that nobody else gets, and at which nobody listens.
    let bound = TcpSocket::new_v4().unwrap();
    bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let at: Endpoint = bound.local_addr().unwrap().to_string().parse().unwrap();
    let member = follower(&at);
    let trouble = loop {
        match member.trouble() {
            Some(trouble) => break trouble.to_string(),
            None => tokio::task::yield_now().await,
        }
    };
    assert!(trouble.contains(&format!("tcp://{at}: cannot be reached")), "{trouble}");
}

#[tokio::test]
async fn hostile_bytes_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (mut holder, place) = holder(folder.path());
    let opening = b"tidings\x01".to_vec();
    let long = vec![0x5a; 100_000];
    let mut hostile = vec![Vec::new(), b"GET / HTTP/1.1\r\n\r\n".to_vec(), long.clone()];
    hostile.extend([opening.clone(), [opening.clone(), long].concat(), b"tidings\xff".to_vec()]);
    for number in 0..40_u64 {
        hostile.push([opening.clone(), content(number % 3 + number)].concat());
    }
    for bytes in &hostile {
        let mut stream = TcpStream::connect((place.host.as_str(), place.port)).await.unwrap();
        // It may hang up before all is written.
        let _ = stream.write_all(bytes).await;
        let _ = stream.shutdown().await;
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said).await;
        assert!(said.len() <= 9, "a version, and that a greeting did not open: {said:?}");
    }
    let member = follower(&place);
    let payloads = Payloads::of(&member, &folder.path().join("cache"));
    let (client, _told) = Session::open(member, "client", "there");
    payloads.submit(&client, vec![submission(1)], &[]).await.unwrap();
    check(&client, &payloads, 1..2).await;
    holder.kill().unwrap();
    holder.wait().unwrap();
}
