//! Stores of several parts: each has a coordinator of its own, and sessions see one store.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

#[cfg(feature = "etcd")]
#[path = "../children/mod.rs"]
mod children;
#[cfg(feature = "etcd")]
mod in_etcd;
#[path = "../parties/mod.rs"]
mod parties;
#[cfg(feature = "etcd")]
#[path = "../servers/mod.rs"]
mod servers;
mod silent;
mod spaces;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use parties::{assigned, completion, offer, work};
use tidings_tasks::member::{Link, Member};
use tidings_tasks::parts;
use tidings_tasks::replies::Replies;
use tidings_tasks::service::Options;
use tidings_tasks::session::{Lapse, Notice, Session};
use tidings_tasks::store::Store;
use tidings_tasks::store::address::Address;
use tidings_tasks::store::memory::Memory;
use tidings_tasks_core::id::{Part, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::message::{Answer, Call, Effect, Message, Request, Submission};
use tidings_tasks_core::output::{Depot, Reached};
use tidings_tasks_core::record::Outcome;
use tidings_tasks_core::reign::Candidate;
use tidings_tasks_core::resources::{Need, UNIT};
use tidings_tasks_core::view::{Overview, Which};
use tokio::sync::mpsc;

fn candidate(name: &str) -> Candidate {
    let (name, host) = (name.to_owned(), "here".to_owned());
    Candidate { name, host, address: String::new(), session: None }
}

/// A store of so many parts in memory, and its one member.
async fn here(count: u16) -> (Arc<dyn Store>, Arc<Member>) {
    let store: Arc<dyn Store> = Arc::new(Memory::default());
    parts::state(&*store, count).await.unwrap();
    let member = held(store.clone());
    (store, member)
}

/// The one member of a store.
fn held(store: Arc<dyn Store>) -> Arc<Member> {
    let (candidate, options) = (candidate("here"), Options::default());
    Arc::new(Member::join_opened(store, "test", candidate, options))
}

/// A member of a store of two parts in a file.
fn member(file: &Path, name: &str) -> Arc<Member> {
    let address = Address::File(file.into());
    Arc::new(Member::join(address, "test", candidate(name), Options::default()))
}

fn open(member: &Arc<Member>, name: &str) -> (Session, mpsc::Receiver<Notice>) {
    Session::open(member.clone(), name, "here")
}

/// A session of this name with the coordinator of one part alone.
async fn join(member: &Member, part: u16, name: &str) -> Link {
    let link = member.link_of(Part(part)).await.unwrap();
    let (name, host) = (name.to_owned(), "here".to_owned());
    assert!(link.send(Call(1), Request::Join { name, host, holding: Vec::new() }).await);
    link
}

/// The name of a queue of a part.
fn queue(part: u64, parts: u16) -> String {
    let mut names = (0..).map(|number| format!("q{number}"));
    names.find(|name| u64::from(Part::of(name, parts).0) == part).unwrap()
}

fn id(number: u64) -> TaskId {
    TaskId::of("task", number)
}

/// A task of a part that waits for the one before, which is of another part.
fn link(number: u64, parts: u16) -> Submission {
    let inputs = number.checked_sub(1).map(id).into_iter().collect();
    let queue = queue(number % u64::from(parts), parts);
    Submission { inputs, ..Submission::new(id(number), queue, number.to_be_bytes()) }
}

async fn submit(client: &Session, tasks: Vec<Submission>) -> u32 {
    match client.ask(Request::Submit { tasks }).await.unwrap() {
        Answer::Submitted(new) => new,
        other => panic!("{other:?}"),
    }
}

async fn is_done(client: &Session, task: TaskId) {
    match client.ask(Request::Wait { task }).await.unwrap() {
        Answer::Outcome(finished) => assert!(matches!(finished.outcome, Outcome::Done(_))),
        other => panic!("{other:?}"),
    }
}

async fn overview(client: &Session) -> Overview {
    match client.ask(Request::Overview).await.unwrap() {
        Answer::Overview(overview) => *overview,
        other => panic!("{other:?}"),
    }
}

/// Returns when no letter is left in any inbox.
async fn until_letters_are_gone(store: &dyn Store, parts: u16) {
    for part in (0..parts).map(Part) {
        loop {
            let (from, end) = (keys::inbox(part), keys::inbox(part).after_prefix());
            let page = store.scan(&from, end.as_ref(), 10).await.unwrap();
            if page.records.iter().all(|record| record.key == keys::bell(part)) {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
}

/// Whoever is told next that depots have an output says which are there: others may have gone from
/// where it looks, or not have come.
#[tokio::test]
async fn depots_for_copies_are_those_that_the_part_of_the_task_knows() {
    let (_store, here) = here(2).await;
    let (client, _told) = open(&here, "client");
    let (worker, mut notices) = open(&here, "worker");
    offer(&worker, 2).await;
    let mut links = Vec::new();
    for part in 0..2_u16 {
        let mut link = join(&here, part, &format!("node-{part}")).await;
        let depot = Depot { id: u64::from(part), host: format!("node-{part}") };
        let reached = Reached { depot, address: "node:1".to_owned(), folder: None };
        assert!(link.send(Call(2), Request::Keep { reached }).await);
        while !matches!(link.receive().await.unwrap(), Message::Answer(Call(2), _)) {}
        links.push(link);
    }
    for part in 0..2_u64 {
        let task = Submission::new(id(part), queue(part, 2), *b"x");
        assert_eq!(submit(&client, vec![task]).await, 1);
        let one = assigned(&mut notices).await;
        let own = Depot { id: 9, host: "worker".to_owned() };
        let asked = Request::Depots { own, count: 3, task: Some(one.task) };
        let Answer::Depots(named) = worker.ask(asked).await.unwrap() else { panic!() };
        assert_eq!(named.iter().map(|one| one.depot.id).collect::<Vec<_>>(), [part]);
        assert_eq!(worker.ask(completion(&one)).await.unwrap(), Answer::Done);
    }
}

#[tokio::test]
async fn a_graph_across_parts_is_done_behind_its_inputs() {
    let (store, here) = here(3).await;
    let (client, _told) = open(&here, "client");
    let (worker, mut notices) = open(&here, "worker");
    // The last one first: the submission is put in order.
    assert_eq!(submit(&client, (0..20).rev().map(|number| link(number, 3)).collect()).await, 20);
    assert_eq!(submit(&client, (0..24).map(|number| link(number, 3)).collect()).await, 4);
    offer(&worker, 2).await;
    for number in 0..24 {
        let assigned = assigned(&mut notices).await;
        assert_eq!(assigned.task, id(number), "each waits for the one before");
        assert_eq!(worker.ask(completion(&assigned)).await.unwrap(), Answer::Done);
    }
    for number in 0..24 {
        is_done(&client, id(number)).await;
        let part = Part((number % 3) as u16);
        let record = store.get(&[keys::finished(part, id(number))]).await.unwrap().records;
        assert!(record[0].is_some(), "{number} is in the part of its queue");
    }
    until_letters_are_gone(&*store, 3).await;
    let overview = overview(&client).await;
    assert_eq!((overview.tasks, overview.counters.done), (0, 24));
    assert_eq!(
        overview.sessions.iter().map(|one| &*one.name).collect::<Vec<_>>(),
        ["client", "worker"]
    );
}

#[tokio::test]
async fn who_asks_sees_one_store() {
    let (_store, here) = here(2).await;
    let (client, _told) = open(&here, "client");
    let (worker, notices) = open(&here, "worker");
    let tasks: Vec<_> = (0..40).map(|n| Submission::new(id(n), queue(n % 2, 2), *b"x")).collect();
    assert_eq!(submit(&client, tasks).await, 40);
    let overview = overview(&client).await;
    assert_eq!((overview.tasks, overview.queues.len()), (40, 2));
    let (mut listed, mut from) = (Vec::new(), None);
    loop {
        let request = Request::List { queue: None, state: Which::Live, from, limit: 7 };
        let Answer::Listed(page, next) = client.ask(request).await.unwrap() else { panic!() };
        listed.extend(page.into_iter().map(|(task, _)| task));
        match next {
            Some(_) => from = next,
            None => break,
        }
    }
    assert_eq!(listed, (0..40).map(id).collect::<Vec<_>>());

    // One in each part is cancelled; one is nowhere.
    for number in [6, 7] {
        let task = id(number);
        assert_eq!(client.ask(Request::Cancel { task }).await.unwrap(), Answer::Done);
    }
    let answer = client.ask(Request::Show { task: id(100) }).await.unwrap();
    assert!(matches!(answer, Answer::Refused(_)), "{answer:?}");
    let tasks = vec![id(1), id(100), id(2)];
    let unknown = client.ask(Request::Unknown { tasks }).await.unwrap();
    assert_eq!(unknown, Answer::Unknown(vec![id(100)]));

    let replies = Replies::default();
    for task in (0..40).map(id) {
        client.post(task, Request::Wait { task }, &replies).await.unwrap();
    }
    offer(&worker, 3).await;
    tokio::spawn(work(worker, notices));
    let mut ended = BTreeSet::new();
    while ended.len() < 40 {
        for (task, answer) in replies.take().await {
            assert!(matches!(answer, Answer::Outcome(_)), "{answer:?}");
            assert!(ended.insert(task), "{task} has ended before");
        }
    }
    let Answer::Recent(tries, _) = client.ask(Request::Recent { after: 0 }).await.unwrap() else {
        panic!()
    };
    assert_eq!(tries.len(), 38);
    let last = tries.iter().map(|one| one.number).max().unwrap();
    let rest = client.ask(Request::Recent { after: last }).await.unwrap();
    assert_eq!(rest, Answer::Recent(Vec::new(), Vec::new()));
    let forget = Request::Forget { tasks: (0..40).map(id).collect() };
    assert_eq!(client.ask(forget).await.unwrap(), Answer::Forgotten(40));
}

#[tokio::test]
async fn what_a_worker_offers_is_not_promised_twice() {
    for resources in [Vec::new(), vec![("cpus".to_owned(), 4 * UNIT)]] {
        let (_store, here) = here(2).await;
        let (client, _told) = open(&here, "client");
        let (worker, mut notices) = open(&here, "worker");
        let need = Need::new([("cpus".to_owned(), 2 * UNIT)]).unwrap();
        let task =
            |n| Submission { need: need.clone(), ..Submission::new(id(n), queue(n % 2, 2), *b"x") };
        assert_eq!(submit(&client, (0..100).map(task).collect()).await, 100);
        // By slots alone two fit, and with resources as many though there are more slots.
        let slots = if resources.is_empty() { 2 } else { 8 };
        let offer = Request::Offer { queues: Vec::new(), slots, resources, ahead: 0, full: None };
        assert_eq!(worker.ask(offer).await.unwrap(), Answer::Done);
        let (mut in_hand, mut done) = (Vec::new(), BTreeMap::new());
        while done.len() < 100 {
            if in_hand.is_empty() {
                in_hand.push(assigned(&mut notices).await);
            }
            // What else has come by now.
            while let Ok(notice) = notices.try_recv() {
                let Notice::Assigned(assigned) = notice else { panic!("{notice:?}") };
                in_hand.push(assigned);
            }
            assert!(in_hand.len() <= 2, "{in_hand:?}");
            let one = in_hand.remove(0);
            assert_eq!(worker.ask(completion(&one)).await.unwrap(), Answer::Done);
            assert_eq!(done.insert(one.task, one.attempt.0), None);
        }
        assert!(done.values().all(|attempt| *attempt == 1), "none was given back");
    }
}

#[tokio::test]
async fn a_part_that_always_has_tasks_does_not_keep_the_others_from_a_worker() {
    let (_store, here) = here(2).await;
    let (client, _told) = open(&here, "client");
    let (worker, mut notices) = open(&here, "worker");
    offer(&worker, 1).await;
    for (busy, other) in [(0, 1), (1, 0)] {
        let (base, end) = (1_000 * (busy + 1), id(busy));
        let task = |number, part| Submission::new(id(number), queue(part, 2), *b"x");
        submit(&client, (base..base + 2).map(|number| task(number, busy)).collect()).await;
        let mut next = base + 2;
        submit(&client, vec![Submission::new(end, queue(other, 2), *b"x")]).await;
        loop {
            // There is always one that is ready when one is done.
            let assigned = assigned(&mut notices).await;
            assert_eq!(worker.ask(completion(&assigned)).await.unwrap(), Answer::Done);
            if assigned.task == end {
                break;
            }
            submit(&client, vec![task(next, busy)]).await;
            next += 1;
        }
    }
}

/// A session that has lapsed with one coordinator has lost what it had of that one, and no more.
#[tokio::test]
async fn what_is_lost_with_one_coordinator_is_of_its_part() {
    let (_store, here) = here(2).await;
    let (client, _told) = open(&here, "client");
    let (worker, mut notices) = open(&here, "worker");
    offer(&worker, 2).await;
    let tasks = [0, 1].map(|part| Submission::new(id(part), queue(part, 2), *b"x"));
    submit(&client, tasks.into()).await;
    let mut both = [assigned(&mut notices).await, assigned(&mut notices).await];
    both.sort_by_key(|one| one.task != id(0));
    let semaphore = queue(0, 2);
    let request = Request::SetPermits { semaphore: semaphore.clone(), permits: 1 };
    assert_eq!(worker.ask(request).await.unwrap(), Answer::Done);
    let request = Request::Acquire { semaphore, permits: 1 };
    assert_eq!(worker.ask(request).await.unwrap(), Answer::Done);
    for part in [1, 0] {
        // Another session takes the worker's name, with this coordinator alone.
        let link = join(&here, part, "worker").await;
        let lost = &both[usize::from(part)];
        let lapse = Lapse { tries: vec![(lost.task, lost.attempt)], is_of_claims: part == 0 };
        // What was lost before is given to it again.
        let told = loop {
            if let Notice::Lapsed(lapse) = notices.recv().await.unwrap() {
                break lapse;
            }
        };
        assert_eq!(told, lapse);
        link.send(Call(2), Request::Leave).await;
        let answer = worker.ask(completion(lost)).await.unwrap();
        assert!(matches!(answer, Answer::Refused(_)), "{part}: {answer:?}");
    }
}

#[tokio::test]
async fn a_worker_has_sessions_with_those_alone_that_have_its_queues() {
    let (_store, here) = here(3).await;
    let ((worker, mut notices), queues) = (open(&here, "worker"), vec![queue(1, 3)]);
    let offer = Request::Offer { queues, slots: 1, resources: Vec::new(), ahead: 0, full: None };
    assert_eq!(worker.ask(offer).await.unwrap(), Answer::Done);
    assert_eq!(worker.ask(Request::Heartbeat).await.unwrap(), Answer::Done);
    let (client, _told) = open(&here, "client");
    submit(&client, (0..3).map(|part| Submission::new(id(part), queue(part, 3), *b"x")).collect())
        .await;
    assert_eq!(assigned(&mut notices).await.task, id(1));
    for (part, is_there) in [(0, true), (1, true), (2, false)] {
        let mut link = join(&here, part, "look").await;
        assert!(link.send(Call(2), Request::Overview).await);
        let overview = loop {
            let said = link.receive().await.unwrap();
            if let Message::Answer(_, Answer::Overview(overview)) = said {
                break overview;
            }
        };
        let has_joined = overview.sessions.iter().any(|one| one.name == "worker");
        assert_eq!(has_joined, is_there, "{part}");
    }
}

#[tokio::test]
async fn the_holder_of_a_file_has_all_parts_and_the_next_one_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store");
    let store = Address::File(file.clone()).open("test").await.unwrap();
    parts::state(&*store, 2).await.unwrap();
    drop(store);
    let first = member(&file, "first");
    let (early, _told) = open(&first, "early");
    assert_eq!(submit(&early, (0..10).map(|number| link(number, 2)).collect()).await, 10);
    let second = member(&file, "second");
    let (worker, mut notices) = open(&second, "worker");
    let (client, _told) = open(&second, "client");
    offer(&worker, 2).await;
    // Over the socket, and of the second part.
    for number in 0..2 {
        let one = assigned(&mut notices).await;
        assert_eq!(one.task, id(number));
        if number == 0 {
            assert_eq!(worker.ask(completion(&one)).await.unwrap(), Answer::Done);
            continue;
        }
        drop((early, first));
        // It was given by the coordinator before, and counts for the one after it.
        assert_eq!(worker.ask(completion(&one)).await.unwrap(), Answer::Done);
        break;
    }
    tokio::spawn(work(worker, notices));
    for number in 0..10 {
        is_done(&client, id(number)).await;
    }
    assert!(second.holds());
    assert_eq!(overview(&client).await.tasks, 0);
}

#[tokio::test]
async fn what_is_of_no_queue_is_in_one_part() {
    let (_store, here) = here(4).await;
    let (client, _told) = open(&here, "client");
    for semaphore in ["a", "b", "c", "d", "e"] {
        let (name, permits) = (semaphore.to_owned(), 1);
        let set = Request::SetPermits { semaphore: name.clone(), permits };
        assert_eq!(client.ask(set).await.unwrap(), Answer::Done);
        let acquire = Request::Acquire { semaphore: name, permits };
        assert_eq!(client.ask(acquire).await.unwrap(), Answer::Done);
    }
    let semaphores = overview(&client).await.semaphores;
    assert!(semaphores.len() == 5 && semaphores.iter().all(|one| one.held == 1), "{semaphores:?}");
    let effect = Effect { key: b"k".to_vec(), value: Some(b"v".to_vec().into()), expect: None };
    let written = client.ask(Request::Write { effects: vec![effect] }).await.unwrap();
    assert!(matches!(written, Answer::Written(_)));
}
