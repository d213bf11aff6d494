//! Spaces as programs use them, over each engine that needs no server, and with processes that are
//! killed while they hold a tuple.
//!
//! `TIDINGS_TUPLE_KILLS=1000` kills so many processes between pull and put, one after the other.
//! That was run on 2026-11-27: 1,000 kills in 132 s, and four tuples before and after each.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

mod rounds;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rounds::{any, enter, member, space_of, tuple};
use tidings_tasks::session::Session;
use tidings_tasks::space::{SpaceError, Spaces};
use tidings_tasks::store::address::Address;
use tidings_tasks_core::message::{Refusal, Request};
use tidings_tasks_core::tuple::{Pattern, Statement, Template, Tuple};

/// Names the store to a child.
const STORE: &str = "TIDINGS_TEST_SPACES_STORE";

/// What a child prints when it has pulled a tuple.
const PULLED: &str = "it has pulled";

/// Says how many children are killed, which are few otherwise.
const KILLS: &str = "TIDINGS_TUPLE_KILLS";
const FEW: usize = 5;

/// The tuples that are there before and after.
const TOKENS: i64 = 4;

#[tokio::test]
async fn spaces_in_memory() {
    rounds::all(&Address::Memory, 10_000).await;
}

#[tokio::test]
async fn spaces_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    rounds::all(&Address::File(folder.path().join("store")), 200).await;
}

#[tokio::test]
async fn a_wait_that_is_dropped_takes_nothing() {
    let spaces = enter(&member(&Address::Memory, "one"), "a");
    let space = spaces.space("s");
    for number in 0..50 {
        // The tuple comes before, while or after it is dropped: it is there in the end.
        let waits = tokio::spawn({
            let space = space.clone();
            async move { space.pull(any(), None).await.map(drop) }
        });
        if number % 2 == 0 {
            tokio::task::yield_now().await;
        }
        let puts = space.put(tuple(number));
        waits.abort();
        puts.await.unwrap();
        let found = space.take(any(), None).await.unwrap().unwrap();
        assert_eq!(found, tuple(number));
    }
}

#[tokio::test]
async fn what_is_dropped_is_there_again_and_what_is_consumed_is_not() {
    let space = enter(&member(&Address::Memory, "one"), "a").space("s");
    space.put(tuple(1)).await.unwrap();
    drop(space.pull(any(), None).await.unwrap());
    let pulled = space.pull(any(), None).await.unwrap().unwrap();
    pulled.give_back().await.unwrap();
    let pulled = space.pull(any(), None).await.unwrap().unwrap();
    let mut statement = Statement::default();
    statement.outs.push(space.out(&tuple(2)));
    pulled.consume_with(&mut statement);
    space_of(&space).execute(statement).await.unwrap();
    assert_eq!(space.read(any(), None).await.unwrap(), Some(tuple(2)));
    space.pull(any(), None).await.unwrap().unwrap().consume().await.unwrap();
    assert_eq!(space.try_read(any()).await.unwrap(), None);
    let limit = Some(Duration::from_millis(10));
    assert!(space.pull(any(), limit).await.unwrap().is_none());
}

#[tokio::test]
async fn a_session_that_has_ended_consumes_nothing() {
    let member = member(&Address::Memory, "one");
    let (session, _notices) = Session::open(member.clone(), "a", "here");
    let space = Spaces::new(session.clone()).space("s");
    space.put(tuple(1)).await.unwrap();
    let pulled = space.pull(any(), None).await.unwrap().unwrap();
    session.ask(Request::Leave).await.unwrap();
    let error = pulled.consume().await.unwrap_err();
    let is_so = matches!(error, SpaceError::Refused(Refusal::NoSession | Refusal::Lapsed));
    assert!(is_so, "{error}");
    let other = enter(&member, "b").space("s");
    assert_eq!(other.take(any(), None).await.unwrap(), Some(tuple(1)));
}

#[tokio::test]
async fn what_no_tuple_can_be_is_refused_at_once() {
    let space = enter(&member(&Address::Memory, "one"), "a").space("s");
    let error = space.pull(Template(vec![Pattern::Any; 17]), None).await.unwrap_err();
    assert!(error.to_string().contains("1 to 16 fields, this has 17"), "{error}");
    let large = Tuple::new(vec!["x".repeat(16_385).into()]);
    let error = space.put(large).await.unwrap_err();
    assert!(error.to_string().contains("at most 16384"), "{error}");
    let error = space_of(&space).space("n".repeat(256)).try_read(any()).await.unwrap_err();
    assert!(error.to_string().contains("1 to 255 bytes"), "{error}");
}

/// Not a test by itself: the child.
#[tokio::test]
async fn hold_a_tuple_of_the_store_that_is_named() {
    let Ok(path) = std::env::var(STORE) else { return };
    let name = format!("child-{}", std::process::id());
    let member = member(&Address::File(path.into()), &name);
    let space = enter(&member, &name).space("s");
    let _pulled = space.pull(any(), None).await.unwrap().unwrap();
    println!("{PULLED}");
    // Until it is killed, or whoever started it has ended.
    let rest = || std::io::stdin().lines().count();
    tokio::task::spawn_blocking(rest).await.unwrap();
}

/// A child that has pulled a tuple.
fn holding(path: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", "hold_a_tuple_of_the_store_that_is_named"]);
    command.env(STORE, path).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let printed = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut printed = printed.map_while(Result::ok);
    assert!(printed.any(|line| line.contains(PULLED)), "the child has ended");
    child
}

/// Each is killed when it has pulled one tuple and put none in its place.
#[tokio::test]
async fn the_tuples_of_killed_processes_are_conserved() {
    let kills = std::env::var(KILLS).map_or(FEW, |count| count.parse().expect("a number"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let member = member(&Address::File(path.clone()), "parent");
    let space = enter(&member, "parent").space("s");
    for number in 0..TOKENS {
        space.put(tuple(number)).await.unwrap();
    }
    for kill in 0..kills {
        let path = path.clone();
        let mut child = tokio::task::spawn_blocking(move || holding(&path)).await.unwrap();
        let mut held = Vec::new();
        while let Some(pulled) = space.try_pull(any()).await.unwrap() {
            held.push(pulled);
        }
        assert_eq!(held.len() + 1, TOKENS as usize, "before kill {kill} it has one");
        child.kill().unwrap();
        held.push(space.pull(any(), None).await.unwrap().unwrap());
        assert_eq!(space.try_read(any()).await.unwrap(), None, "after kill {kill}");
        let mut tuples: Vec<Tuple> = held.iter().map(|pulled| pulled.tuple().clone()).collect();
        tuples.sort_by_key(|tuple| (0..TOKENS).position(|number| *tuple == self::tuple(number)));
        assert_eq!(tuples, (0..TOKENS).map(tuple).collect::<Vec<_>>(), "after kill {kill}");
        for pulled in held {
            pulled.give_back().await.unwrap();
        }
        child.wait().unwrap();
    }
    println!("{kills} kills between pull and put: {TOKENS} tuples before and after each");
}

#[tokio::test]
async fn whoever_takes_over_the_store_knows_who_waits() {
    let folder = tempfile::tempdir().unwrap();
    let address = Address::File(folder.path().join("store"));
    let first = member(&address, "first");
    let link = first.link().await.unwrap();
    assert!(first.holds());
    let second = member(&address, "second");
    let space = enter(&second, "waits").space("s");
    space.put(tuple(1)).await.unwrap();
    let held = space.pull(any(), None).await.unwrap().unwrap();
    let waits = tokio::spawn({
        let space = space.clone();
        async move { space.take(any(), None).await }
    });
    tokio::task::yield_now().await;
    first.leave().await;
    drop((link, first));
    let third = enter(&second, "puts").space("s");
    third.put(tuple(2)).await.unwrap();
    assert_eq!(waits.await.unwrap().unwrap(), Some(tuple(2)));
    held.consume().await.unwrap();
    assert_eq!(third.try_read(any()).await.unwrap(), None);
}
