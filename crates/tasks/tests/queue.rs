//! Queues of items in Rust: each item is done once, whoever fails, goes or is silent.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

use tidings_tasks::client::{Client, Place};
use tidings_tasks::queue::{Claims, Queue, QueueError};
use tidings_tasks::store::address::Address;
use tidings_tasks_core::message::{Refusal, Request};
use tidings_tasks_core::retry::Retry;

fn client(folder: &tempfile::TempDir, role: &str) -> Client {
    let place = Place::of(Address::File(folder.path().join("store")), None).unwrap();
    Client::open(&place, role).unwrap()
}

#[tokio::test]
async fn an_item_is_put_once_and_its_result_may_be_long() {
    let folder = tempfile::tempdir().unwrap();
    let client = client(&folder, "test");
    let queue = Queue::of(&client, "jobs");
    let data = vec![7; 100_000];
    let item = queue.put("one", data.clone()).await.unwrap();
    assert_eq!(queue.put("one", b"another".to_vec()).await.unwrap(), item);
    let mut claims = Claims::begin(&client, "jobs", 8).await.unwrap();
    let claimed = claims.next().await.unwrap();
    assert_eq!((claimed.item(), claimed.attempt().0, claimed.data()), (item, 1, &data[..]));
    claimed.complete(vec![9; 200_000]).await.unwrap();
    assert_eq!(queue.result(item).await.unwrap(), vec![9; 200_000]);
    // It was put once: the next one that is claimed is another.
    let second = queue.put("two", Vec::new()).await.unwrap();
    assert_eq!(claims.next().await.unwrap().item(), second);
}

#[tokio::test]
async fn what_fails_is_tried_again_and_says_why_at_last() {
    let folder = tempfile::tempdir().unwrap();
    let client = client(&folder, "test");
    let queue = Queue::of(&client, "jobs");
    let mut item = queue.item("one", Vec::new());
    item.retry = Retry { errors: 1, ..Retry::default() };
    let id = item.id;
    queue.submit(vec![item]).await.unwrap();
    let mut claims = Claims::begin(&client, "jobs", 1).await.unwrap();
    for attempt in [1, 2] {
        let claimed = claims.next().await.unwrap();
        assert_eq!(claimed.attempt().0, attempt);
        claimed.fail("no licence").await.unwrap();
    }
    let error = queue.result(id).await.unwrap_err().to_string();
    assert!(error.ends_with("has failed: no licence"), "{error}");
}

#[tokio::test]
async fn items_of_those_that_go_are_done_by_others() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (client(&folder, "here"), client(&folder, "there"));
    let queue = Queue::of(&here, "jobs");
    let item = queue.put("one", b"x".to_vec()).await.unwrap();
    let mut first = Claims::begin(&there, "jobs", 1).await.unwrap();
    let in_hand = first.next().await.unwrap();
    let mut second = Claims::begin(&here, "jobs", 1).await.unwrap();
    drop((first, in_hand));
    let claimed = second.next().await.unwrap();
    assert_eq!((claimed.item(), claimed.attempt().0), (item, 2));
    claimed.give_back().await.unwrap();
    let claimed = second.next().await.unwrap();
    claimed.complete(b"y".to_vec()).await.unwrap();
    assert_eq!(queue.result(item).await.unwrap(), b"y");
}

#[tokio::test]
async fn an_item_in_hand_that_is_cancelled_ends_as_its_claimant_says() {
    let folder = tempfile::tempdir().unwrap();
    let client = client(&folder, "test");
    let queue = Queue::of(&client, "jobs");
    let items = [queue.put("done", Vec::new()).await, queue.put("given up", Vec::new()).await];
    let [done, given_up] = items.map(|item| item.unwrap());
    let mut claims = Claims::begin(&client, "jobs", 2).await.unwrap();
    let (first, second) = (claims.next().await.unwrap(), claims.next().await.unwrap());
    for task in [done, given_up] {
        client.session.ask(Request::Cancel { task }).await.unwrap();
    }
    first.complete(b"x".to_vec()).await.unwrap();
    second.fail("it was cancelled").await.unwrap();
    assert_eq!(queue.result(done).await.unwrap(), b"x");
    assert!(matches!(queue.result(given_up).await, Err(QueueError::Cancelled(_))));
    queue.forget(vec![done, given_up]).await.unwrap();
    let gone = queue.result(done).await;
    assert!(matches!(gone, Err(QueueError::Refused(Refusal::NoTask))), "{gone:?}");
}
