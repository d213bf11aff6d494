//! Several processes, each of which coordinates some parts of an etcd.

use tidings_tasks::member::Network;
use tidings_tasks_core::record::{Reign, decode};
use tidings_tasks_core::tuple::Field;

use super::children::{Killed, child_that_says};
use super::servers::Servers;
use super::*;

/// Names the store to the process that the test starts.
const STORE: &str = "TIDINGS_TEST_STORE_OF_PARTS";

/// What it prints when it coordinates a part.
const SERVES: &str = "it serves a part";

fn join(address: &str, name: &str) -> Arc<Member> {
    let (network, address) = (Network::none("test"), address.parse().unwrap());
    let options = Options::default();
    Arc::new(Member::join_over(network, address, "test", candidate(name), options))
}

async fn until_holds(member: &Member) {
    while !member.holds() {
        tokio::task::yield_now().await;
    }
}

/// Who coordinates the parts, by the store.
async fn coordinators(store: &dyn Store, parts: u16) -> Vec<String> {
    let roles: Vec<_> = (0..parts).map(|part| keys::role(Part(part))).collect();
    let records = store.get(&roles).await.unwrap().records.into_iter().flatten();
    records.map(|record| decode::<Reign>(&record).unwrap().coordinator).collect()
}

/// Not a test by itself: the process that the next one starts and kills.
#[tokio::test]
async fn coordinate_a_part_of_the_store_that_is_named() {
    let Ok(address) = std::env::var(STORE) else { return };
    let member = join(&address, "child");
    until_holds(&member).await;
    println!("{SERVES}");
    // Until it is killed, or whoever started it has ended.
    let rest = || std::io::stdin().lines().count();
    tokio::task::spawn_blocking(rest).await.unwrap();
}

/// Starts a process that takes part, and waits until it coordinates a part.
fn start(address: &str) -> Killed {
    let of = "in_etcd::coordinate_a_part_of_the_store_that_is_named";
    child_that_says(of, (STORE, address.as_ref()), SERVES)
}

#[tokio::test]
async fn processes_share_the_parts_and_take_over_those_of_one_that_is_killed() {
    let servers = Servers::start(1);
    let address = servers.address("tasks");
    let store = servers.open("tasks").await;
    parts::state(&store, 2).await.unwrap();
    let here = join(&address, "here");
    let (client, _told) = open(&here, "client");
    let (worker, mut notices) = open(&here, "worker");
    assert_eq!(submit(&client, (0..20).map(|number| link(number, 2)).collect()).await, 20);
    // It has all, and gives one to who comes later.
    let child = start(&address);
    loop {
        let mut names = coordinators(&store, 2).await;
        names.sort_unstable();
        if names == ["child", "here"] {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(submit(&client, (0..40).map(|number| link(number, 2)).collect()).await, 20);
    offer(&worker, 1).await;
    let mut done = BTreeMap::new();
    while done.len() < 15 {
        let one = assigned(&mut notices).await;
        if worker.ask(completion(&one)).await.unwrap() == Answer::Done {
            done.insert(one.task, one.attempt);
        }
    }
    // One is in hand: of whichever part, it counts for the next coordinator.
    let one = assigned(&mut notices).await;
    drop(child);
    assert_eq!(worker.ask(completion(&one)).await.unwrap(), Answer::Done);
    done.insert(one.task, one.attempt);
    tokio::spawn(work(worker, notices));
    for task in (0..40).map(id) {
        match client.ask(Request::Wait { task }).await.unwrap() {
            // What was done is not done again.
            Answer::Outcome(finished) => {
                let attempt = finished.task.attempt;
                assert!(done.get(&task).is_none_or(|done| *done == attempt), "{task}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(coordinators(&store, 2).await, ["here", "here"]);
    until_letters_are_gone(&store, 2).await;
}

/// Takers move tuples from part to part while the process that coordinates one of them is killed:
/// each tuple goes on, and none is there twice.
#[tokio::test]
async fn tuples_of_all_parts_are_conserved_when_a_coordinator_is_killed() {
    const TOKENS: i64 = 8;
    const TAKERS: i64 = 4;
    const MOVES: i64 = 12;
    let servers = Servers::start(1);
    let address = servers.address("tuples");
    let store = servers.open("tuples").await;
    parts::state(&store, 2).await.unwrap();
    let here = join(&address, "here");
    let puts = spaces::enter(&here, "puts").space("s*");
    for number in 0..TOKENS {
        puts.put(spaces::token(number)).await.unwrap();
    }
    let child = start(&address);
    while coordinators(&store, 2).await.iter().all(|name| name == "here") {
        tokio::task::yield_now().await;
    }
    let (moved, mut killed) = tokio::sync::mpsc::channel(1);
    let mut takers = tokio::task::JoinSet::new();
    for taker in 0..TAKERS {
        let space = spaces::enter(&here, &format!("taker-{taker}")).space("s*");
        let moved = moved.clone();
        takers.spawn(async move {
            for number in 0..MOVES {
                let pulled = space.pull(spaces::any(), None).await.unwrap().unwrap();
                let Some(Field::Int(token)) = pulled.tuple().fields().first() else { panic!() };
                // The next number may be of the other part.
                let next = spaces::token(token + TOKENS);
                pulled.consume().await.unwrap();
                space.put(next).await.unwrap();
                if number == MOVES / 3 {
                    let _ = moved.try_send(());
                }
            }
        });
    }
    killed.recv().await.unwrap();
    drop(child);
    takers.join_all().await;
    assert_eq!(coordinators(&store, 2).await, ["here", "here"]);
    let (mut sum, mut tokens) = (0, BTreeSet::new());
    for _ in 0..TOKENS {
        let tuple = puts.take(spaces::any(), None).await.unwrap().unwrap();
        let Some(Field::Int(number)) = tuple.fields().first() else { panic!() };
        assert!(tokens.insert(number % TOKENS), "{number} is there twice");
        sum += number / TOKENS;
    }
    assert_eq!(sum, TAKERS * MOVES, "each move has happened once");
    assert_eq!(puts.try_read(spaces::any()).await.unwrap(), None);
}
