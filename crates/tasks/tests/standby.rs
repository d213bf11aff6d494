//! Processes that share a store: one coordinates, and when it ends another takes over.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

#[cfg(feature = "etcd")]
mod children;
#[cfg(feature = "etcd")]
mod servers;

use std::sync::Arc;
use std::time::Duration;

use tidings_tasks::service::{Options, Service};
use tidings_tasks::standby::{Standby, Standing};
use tidings_tasks::store::Store;
use tidings_tasks::store::memory::Memory;
use tidings_tasks_core::id::{Part, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::message::{Answer, Call, Message, Refusal, Request, Submission};
use tidings_tasks_core::record::Reign;
use tidings_tasks_core::reign::Candidate;
use tidings_tasks_core::transaction::{Key, Revision};

fn standby(store: Arc<dyn Store>, name: &str) -> Standby {
    let (name, host) = (name.to_owned(), "here".to_owned());
    let candidate = Candidate { name, host, address: "tcp://here:1".into(), session: None };
    Standby::begin(store, Part(0), candidate, Options::default(), Duration::ZERO)
}

/// Waits until another coordinates; its reign.
async fn reign(standby: &Standby) -> Reign {
    let mut standing = standby.standing();
    let follows = |standing: &Standing| matches!(standing, Standing::Follows(_));
    match &*standing.wait_for(follows).await.unwrap() {
        Standing::Follows(reign) => reign.clone(),
        other => panic!("{other:?}"),
    }
}

/// Waits until another coordinates; its name.
async fn followed(standby: &Standby) -> String {
    reign(standby).await.coordinator
}

/// Submits tasks over and over until they are taken; how many of them are new.
async fn submit(service: &Service, numbers: core::ops::Range<u64>) -> u32 {
    let mut connection = service.connect().await.unwrap();
    let (name, host) = ("client".to_owned(), "here".to_owned());
    let join = Request::Join { name, host, holding: Vec::new() };
    connection.send(Call(1), join).await.unwrap();
    let tasks: Vec<_> = numbers
        .map(|number| Submission::new(TaskId::of("task", number), "q", number.to_be_bytes()))
        .collect();
    for call in 2.. {
        connection.send(Call(call), Request::Submit { tasks: tasks.clone() }).await.unwrap();
        loop {
            match connection.receive().await.unwrap() {
                Message::Answer(of, Answer::Submitted(new)) if of == Call(call) => return new,
                // It is still reading.
                Message::Answer(of, Answer::Refused(Refusal::Elsewhere)) if of == Call(call) => {
                    break;
                }
                Message::Answer(Call(1), _) => {}
                other => panic!("{other:?}"),
            }
        }
        tokio::task::yield_now().await;
    }
    unreachable!("calls do not run out");
}

#[tokio::test]
async fn one_of_several_coordinates() {
    let store: Arc<dyn Store> = Arc::new(Memory::default());
    let all: Vec<_> = (0..4).map(|number| standby(store.clone(), &format!("s{number}"))).collect();
    let mut left = all;
    for _ in 0..3 {
        let mut leading = None;
        while leading.is_none() {
            tokio::task::yield_now().await;
            let leads = |one: &Standby| matches!(*one.standing().borrow(), Standing::Leads(_));
            leading = left.iter().position(leads);
        }
        let leader = left.swap_remove(leading.unwrap());
        let names: Vec<_> = futures(&left).await;
        assert!(names.windows(2).all(|pair| pair[0] == pair[1]), "{names:?}");
        drop(leader);
        for one in &left {
            // What it ended is seen by all, one after the other.
            let mut standing = one.standing();
            let mut was = names[0].clone();
            while was == names[0] {
                standing.changed().await.unwrap();
                was = match &*standing.borrow_and_update() {
                    Standing::Follows(reign) => reign.coordinator.clone(),
                    Standing::Leads(_) => "this".into(),
                    Standing::Open(_) => continue,
                };
            }
        }
    }
}

async fn futures(standbys: &[Standby]) -> Vec<String> {
    let mut names = Vec::new();
    for one in standbys {
        names.push(followed(one).await);
    }
    names
}

#[tokio::test]
async fn tasks_are_there_for_the_next() {
    let store: Arc<dyn Store> = Arc::new(Memory::default());
    let first = standby(store.clone(), "first");
    let service = first.leads().await.unwrap();
    assert_eq!(submit(&service, 0..30).await, 30);
    let second = standby(store.clone(), "second");
    assert_eq!(followed(&second).await, "first");
    drop((first, service));
    let service = second.leads().await.unwrap();
    assert_eq!(submit(&service, 20..40).await, 10);
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_whose_sign_is_taken_away_stops() {
    let store: Arc<dyn Store> = Arc::new(Memory::default());
    let first = standby(store.clone(), "first");
    first.leads().await.unwrap();
    let role = store.get(&[keys::role(Part(0))]).await.unwrap().records.remove(0);
    // As one does whose detector of failures says that its host is dead.
    let (name, host) = ("second".to_owned(), "there".to_owned());
    let candidate = Candidate { name, host, address: String::new(), session: None };
    let took = Service::take(
        store.clone(),
        Part(0),
        (role.as_ref(), None),
        &candidate,
        Options::default(),
    );
    let (_service, _running) = took.await.unwrap();
    assert_eq!(followed(&first).await, "second");
}

#[tokio::test]
async fn one_whose_process_has_ended_is_not_waited_for() {
    let store: Arc<dyn Store> = Arc::new(Memory::default());
    let first = standby(store.clone(), "first");
    let service = first.leads().await.unwrap();
    assert_eq!(submit(&service, 0..30).await, 30);
    let second = standby(store.clone(), "second");
    let followed_one = reign(&second).await;
    second.has_ended(followed_one.epoch);
    let service = second.leads().await.unwrap();
    assert_eq!(submit(&service, 20..40).await, 10);
    // In truth it has not ended: it sees that it was replaced, and that is all.
    assert_eq!(followed(&first).await, "second");
    let sign = store.get(&[keys::lives(Part(0))]).await.unwrap().records.remove(0);
    assert_eq!(*sign.unwrap().value, *b"second");
}

#[tokio::test]
async fn who_saw_an_older_role_does_not_get_it() {
    let store: Arc<dyn Store> = Arc::new(Memory::default());
    let first = standby(store.clone(), "first");
    let service = first.leads().await.unwrap();
    assert!(service.role() > Revision(0));
    let (name, host) = ("second".to_owned(), "there".to_owned());
    let candidate = Candidate { name, host, address: String::new(), session: None };
    let late = Service::take(store, Part(0), (None, None), &candidate, Options::default()).await;
    assert!(late.is_err());
}

#[cfg(feature = "etcd")]
mod in_etcd {
    use tidings_tasks::store::address::Address;

    use super::children::{Killed, child_that_says};
    use super::servers::Servers;
    use super::*;

    /// Names the store to the process that the test starts.
    const STORE: &str = "TIDINGS_TEST_SHARED_STORE";

    /// What it prints when tasks were acknowledged.
    const SUBMITTED: &str = "has submitted";

    async fn open(address: &str) -> Arc<dyn Store> {
        address.parse::<Address>().unwrap().open("test").await.unwrap()
    }

    /// Not a test by itself: the process that the next one starts and kills.
    #[tokio::test]
    async fn coordinate_the_store_that_is_named() {
        let Ok(address) = std::env::var(STORE) else { return };
        let first = standby(open(&address).await, "first");
        let service = first.leads().await.unwrap();
        assert_eq!(submit(&service, 0..30).await, 30);
        println!("{SUBMITTED}");
        // Until it is killed, or whoever started it has ended.
        let input = || std::io::read_to_string(std::io::stdin());
        tokio::task::spawn_blocking(input).await.unwrap().ok();
    }

    /// Starts a process that coordinates, and waits until it has submitted tasks.
    fn start(address: &str) -> Killed {
        let of = "in_etcd::coordinate_the_store_that_is_named";
        child_that_says(of, (STORE, address.as_ref()), SUBMITTED)
    }

    #[tokio::test]
    async fn a_coordinator_that_is_killed_is_replaced() {
        let servers = Servers::start(1);
        let address = servers.place("tasks").to_string();
        let child = start(&address);
        let store = open(&address).await;
        let here = standby(store.clone(), "here");
        assert_eq!(followed(&here).await, "first");
        let lives = store.get(&[keys::lives(Part(0))]).await.unwrap();
        let sign: &Key = &lives.records[0].as_ref().unwrap().key;
        assert_eq!(sign, &keys::lives(Part(0)));
        drop(child);
        let service = here.leads().await.unwrap();
        // All that the one before has acknowledged is there.
        assert_eq!(submit(&service, 0..40).await, 10);
    }
}
