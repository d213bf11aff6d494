//! Flows: tasks that are declared by what they read, move on and change, and who does them.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

use std::path::Path;
use std::task::Poll;

use tidings_tasks::client::{Client, Place};
use tidings_tasks::flow::{Dependency, Flow, FlowError, Given, Version};
use tidings_tasks::queue::{Claims, Queue, QueueError};
use tidings_tasks::store::address::Address;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::retry::Retry;
use tidings_tasks_core::tuple::{Field, Type};

mod children;
#[allow(dead_code, reason = "its main function is not called")]
#[path = "../examples/flow.rs"]
mod example;

use Type::{Int, Text};

fn in_memory() -> Client {
    Client::open(&Place::of(Address::Memory, None).unwrap(), "test").unwrap()
}

fn in_file(folder: &Path) -> Client {
    let place = Place::of(Address::File(folder.join("store")), None).unwrap();
    Client::open(&place, "test").unwrap()
}

fn flow(client: &Client) -> Flow {
    Flow::of(Queue::of(client, "q"), "test")
}

fn number(bytes: &[u8]) -> i64 {
    i64::from_le_bytes(bytes.try_into().unwrap())
}

fn bytes(number: i64) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}

/// What the functions of these tests make of what they are given.
fn called(function: &str, arguments: &[Field], values: &[i64]) -> Result<Vec<Vec<u8>>, String> {
    match (function, arguments, values) {
        ("product", _, [left, right, total]) => Ok(vec![bytes(total + left * right)]),
        ("add", _, [total, one]) => Ok(vec![bytes(10 * total + one)]),
        ("exchange", _, [left, right]) => Ok(vec![bytes(right + 1), bytes(left + 1)]),
        ("sum", [Field::Int(more)], all) => Ok(vec![bytes(more + all.iter().sum::<i64>())]),
        ("less", ..) => Ok(vec![bytes(1)]),
        _ => Err(format!("{function} of {values:?}")),
    }
}

async fn one(given: Given) -> Result<(), FlowError> {
    let values: Vec<i64> = given.values().iter().map(|value| number(value)).collect();
    match called(given.function(), given.arguments(), &values) {
        Ok(versions) => given.complete(versions).await,
        Err(why) => given.fail(&why).await,
    }
}

/// Does tasks while the test goes on.
async fn with_workers<T>(client: &Client, test: impl Future<Output = T>) -> T {
    let working = Box::pin(async {
        let mut claims = Claims::begin(client, "q", 3).await.unwrap();
        loop {
            // What could not be had has failed, or is tried again.
            match Given::of(claims.next().await.unwrap()).await {
                Ok(given) => one(given).await.unwrap_or_else(|error| eprintln!("{error}")),
                Err(error) => eprintln!("{error}"),
            }
        }
    });
    tokio::select! {
        done = test => done,
        () = working => unreachable!("it works for ever"),
    }
}

/// Items under numbers.
fn items(flow: &mut Flow, all: &[i64]) -> Dependency {
    let item = flow.dependency_declare("item", &[Int]).unwrap();
    for one in all {
        flow.put(&item, (*one,), bytes(*one)).unwrap();
    }
    item
}

/// Blocks pass through the cells of an array, as Cannon has them, and each cell sums up.
#[tokio::test]
async fn a_systolic_array_multiplies() {
    const ORDER: i64 = 3;
    type Place = (i64, i64, i64);
    let client = in_memory();
    let mut flow = flow(&client);
    let block = flow.dependency_declare("block", &[Text, Int, Int, Int]).unwrap();
    let cell = flow.dependency_declare("cell", &[Int, Int]).unwrap();
    let mut multiply = flow.task_declare("product", &[Int; 3]).unwrap();
    let west = |(i, j, k): Place| ("a", k + 1, i, (j + ORDER - 1) % ORDER);
    let north = |(i, j, k): Place| ("b", k + 1, (i + ORDER - 1) % ORDER, j);
    multiply.append_migrate_dependency(&block, |(i, j, k)| ("a", k, i, j), west).unwrap();
    multiply.append_migrate_dependency(&block, |(i, j, k)| ("b", k, i, j), north).unwrap();
    multiply.append_inout_dependency(&cell, |(i, j, _): Place| (i, j)).unwrap();
    let (left, right) = (|i, j| 10 * i + j, |i, j| 7 * i - j);
    let places = || (0..ORDER).flat_map(|i| (0..ORDER).map(move |j| (i, j)));
    for (i, j) in places() {
        let k = (i + j) % ORDER;
        flow.put(&block, ("a", 0, i, j), bytes(left(i, k))).unwrap();
        flow.put(&block, ("b", 0, i, j), bytes(right(k, j))).unwrap();
        flow.put(&cell, (i, j), bytes(0)).unwrap();
    }
    with_workers(&client, async {
        for k in 0..ORDER {
            for (i, j) in places() {
                flow.submit(&multiply, (i, j, k)).await.unwrap();
            }
        }
        for (i, j) in places() {
            let sum: i64 = (0..ORDER).map(|k| left(i, k) * right(k, j)).sum();
            assert_eq!(number(&flow.get(&cell, (i, j)).await.unwrap()), sum);
        }
    })
    .await;
}

#[tokio::test]
async fn whoever_reads_a_version_has_it_though_it_is_changed() {
    let client = in_memory();
    let mut flow = flow(&client);
    let item = items(&mut flow, &[1, 2, 3]);
    let total = flow.dependency_declare("total", &[]).unwrap();
    let seen = flow.dependency_declare("seen", &[Int]).unwrap();
    let mut add = flow.task_declare("add", &[Int]).unwrap();
    add.append_inout_dependency(&total, |_: (i64,)| ()).unwrap();
    add.append_read_dependency(&item, |n: (i64,)| n).unwrap();
    flow.put(&total, (), bytes(0)).unwrap();
    with_workers(&client, async {
        for n in 1..4 {
            flow.submit(&add, (n,)).await.unwrap();
            let version = flow.version(&total, ()).unwrap().clone();
            flow.put(&seen, (n,), version).unwrap();
        }
        for (n, sum) in [(1, 1), (2, 12), (3, 123)] {
            assert_eq!(number(&flow.get(&seen, (n,)).await.unwrap()), sum);
        }
        assert_eq!(number(&flow.get(&item, (3,)).await.unwrap()), 3);
    })
    .await;
}

#[tokio::test]
async fn a_task_may_change_several_and_read_one_twice() {
    let client = in_memory();
    let mut flow = flow(&client);
    let side = flow.dependency_declare("side", &[Text]).unwrap();
    let mut exchange = flow.task_declare("exchange", &[]).unwrap();
    exchange.append_inout_dependency(&side, |()| ("left",)).unwrap();
    exchange.append_inout_dependency(&side, |()| ("right",)).unwrap();
    let mut sum = flow.task_declare("sum", &[Int]).unwrap();
    for name in ["right", "right", "left"] {
        sum.append_read_dependency(&side, move |_: (i64,)| (name,)).unwrap();
    }
    flow.put(&side, ("left",), bytes(10)).unwrap();
    flow.put(&side, ("right",), bytes(20)).unwrap();
    with_workers(&client, async {
        for _ in 0..3 {
            flow.submit(&exchange, ()).await.unwrap();
        }
        let sum = flow.submit(&sum, (1_000,)).await.unwrap();
        for (name, value) in [("left", 23), ("right", 13)] {
            assert_eq!(number(&flow.get(&side, (name,)).await.unwrap()), value);
        }
        assert_eq!(number(&flow.result(sum).await.unwrap()), 1_049);
    })
    .await;
}

#[tokio::test]
async fn what_is_taken_is_gone_and_may_be_put_again() {
    let client = in_memory();
    let mut flow = flow(&client);
    let item = items(&mut flow, &[1]);
    let mut take = flow.task_declare("sum", &[Int]).unwrap();
    take.append_last_dependency(&item, |n: (i64,)| n).unwrap();
    with_workers(&client, async {
        let taken = flow.submit(&take, (1,)).await.unwrap();
        assert_eq!(number(&flow.result(taken).await.unwrap()), 2);
        let error = flow.submit(&take, (1,)).await.unwrap_err().to_string();
        assert_eq!(error, "there is no item(1): nothing has put it, or a task has taken it");
        // What a task has returned may be put by its id.
        flow.put(&item, (1,), taken).unwrap();
        let again = flow.submit(&take, (1,)).await.unwrap();
        assert_eq!(number(&flow.result(again).await.unwrap()), 3);
    })
    .await;
}

/// Nothing hangs: a version that cannot be made is an error of whoever wants it.
#[tokio::test]
async fn those_behind_a_task_that_fails_say_what_it_has_said() {
    let client = in_memory();
    let mut flow = flow(&client);
    let item = items(&mut flow, &[5]);
    let mut fail = flow.task_declare("fail", &[]).unwrap();
    fail.append_inout_dependency(&item, |()| (5,)).unwrap();
    let mut less = flow.task_declare("less", &[]).unwrap();
    less.append_inout_dependency(&item, |()| (5,)).unwrap();
    let other = flow.dependency_declare("other", &[]).unwrap();
    less.append_inout_dependency(&other, |()| ()).unwrap();
    flow.put(&other, (), Vec::new()).unwrap();
    with_workers(&client, async {
        let failed = flow.submit(&fail, ()).await.unwrap();
        flow.submit(&fail, ()).await.unwrap();
        let error = flow.get(&item, (5,)).await.unwrap_err().to_string();
        assert!(error.contains(&failed.to_string()) && error.contains("fail of [5]"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_task_that_does_not_make_all_that_it_changes_has_failed() {
    let client = in_memory();
    let mut flow = flow(&client);
    let item = items(&mut flow, &[1, 2]);
    let mut less = flow.task_declare("less", &[]).unwrap();
    for number in [1, 2] {
        less.append_inout_dependency(&item, move |()| (number,)).unwrap();
    }
    with_workers(&client, async {
        flow.submit(&less, ()).await.unwrap();
        let error = flow.get(&item, (2,)).await.unwrap_err();
        assert!(matches!(error, FlowError::Queue(QueueError::Failed { .. })), "{error:?}");
        let error = error.to_string();
        assert!(error.ends_with("less changes 2 instances, and has made 1 versions"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn what_is_wrong_is_said_and_changes_nothing() {
    let client = in_memory();
    let mut flow = flow(&client);
    let item = items(&mut flow, &[1, 3]);
    let mut moves = flow.task_declare("sum", &[Int]).unwrap();
    moves
        .append_migrate_dependency(
            &item,
            |(n,): (i64,)| if n == 4 { vec!["4".into()] } else { vec![Field::Int(n)] },
            |(n,): (i64,)| (n - 2,),
        )
        .unwrap();
    for (arguments, says) in [
        (vec!["x".into()], "sum is declared with (int), not (text)"),
        (vec![true.into()], "sum is declared with (int), not (bool)"),
        (vec![1.into(), 2.into()], "sum is declared with (int), not (int, int)"),
        (vec![2.into()], "there is no item(2)"),
        (vec![3.into()], "item(1) is there already: take or change it"),
        (vec![4.into()], "item is declared with (int), not (text)"),
    ] {
        let error = flow.submit(&moves, arguments).await.unwrap_err().to_string();
        assert!(error.starts_with(says), "{error}");
    }
    for number in [1, 3] {
        assert_eq!(*flow.version(&item, (number,)).unwrap(), Version::Data(bytes(number)));
    }
    // No number was used up: this is the first task.
    let first = flow.submit(&moves, (1,)).await.unwrap();
    let mut again = Flow::of(Queue::of(&client, "q"), "test");
    let other = again.task_declare("sum", &[Int]).unwrap();
    assert_eq!(again.submit(&other, (1,)).await.unwrap(), first);
}

#[tokio::test]
async fn what_cannot_be_declared_or_submitted_is_said() {
    let client = in_memory();
    let mut flow = flow(&client);
    let item = items(&mut flow, &[1, 2]);
    let mut twice = flow.task_declare("twice", &[]).unwrap();
    twice.append_inout_dependency(&item, |()| (1,)).unwrap();
    twice.append_last_dependency(&item, |()| (1,)).unwrap();
    let mut together = flow.task_declare("together", &[]).unwrap();
    together.append_migrate_dependency(&item, |()| (1,), |()| (3,)).unwrap();
    together.append_migrate_dependency(&item, |()| (2,), |()| (3,)).unwrap();
    let mut other = Flow::of(Queue::of(&client, "q"), "other");
    let mut foreign = other.task_declare("foreign", &[Int]).unwrap();
    let theirs = other.dependency_declare("theirs", &[]).unwrap();
    let said: Vec<String> = [
        flow.submit(&twice, ()).await.map(drop),
        flow.submit(&together, ()).await.map(drop),
        flow.dependency_declare("item", &[]).map(drop),
        foreign.append_read_dependency(&item, |_: (i64,)| (1,)),
        foreign.append_read_dependency(&theirs, |_: (String,)| ()),
        flow.submit(&foreign, (1,)).await.map(drop),
        flow.put(&theirs, (), Vec::new()),
        flow.task_declare("", &[]).map(drop),
        flow.dependency_declare("many", &[Int; 17]).map(drop),
        flow.get(&item, (9,)).await.map(drop),
    ]
    .into_iter()
    .map(|result| result.unwrap_err().to_string())
    .collect();
    assert_eq!(
        said,
        [
            "item(1) is taken or changed twice at once",
            "two come to item(3) at once",
            "item is declared already",
            "item is declared by the flow test, not by other",
            "the key of theirs is computed of other arguments than foreign is declared with",
            "foreign is declared by the flow other, not by test",
            "theirs is declared by the flow other, not by test",
            "the name \"\": 1 to 1024 bytes are possible, and none of them zero",
            "many is declared with 17 fields; at most 16 are possible",
            "there is no item(9): nothing has put it, or a task has taken it",
        ]
    );
}

#[tokio::test]
async fn an_item_that_was_not_declared_fails_by_that() {
    let client = in_memory();
    let queue = Queue::of(&client, "q");
    let item = queue.put("data", b"data".to_vec()).await.unwrap();
    with_workers(&client, async {
        let error = queue.result(item).await.unwrap_err().to_string();
        assert!(error.contains("no declared task: use a queue of its own"), "{error}");
    })
    .await;
}

/// The program that submits does not hear that its tasks are there, one of them is done, and it
/// sends them again: each is there once.
#[tokio::test]
async fn what_is_sent_again_since_the_answer_was_lost_is_there_once() {
    let client = in_memory();
    let mut flow = flow(&client);
    let item = items(&mut flow, &[1, 2]);
    let mut change = flow.task_declare("sum", &[Int]).unwrap();
    change.append_inout_dependency(&item, |_: (i64,)| (1,)).unwrap();
    let mut tasks = Vec::new();
    for more in [10, 20] {
        tasks.push(flow.submit(&change, (more,)).await.unwrap());
    }
    // The session is open, so what is asked is sent at once; and nobody is there for the answer.
    Queue::of(&client, "other").put("opens", Vec::new()).await.unwrap();
    {
        let mut sending = core::pin::pin!(flow.send());
        let asked = core::future::poll_fn(|context| Poll::Ready(sending.as_mut().poll(context)));
        assert!(asked.await.is_pending());
    }
    let mut claims = Claims::begin(&client, "q", 1).await.unwrap();
    let first = claims.next().await.unwrap();
    assert_eq!(first.item(), tasks[0]);
    one(Given::of(first).await.unwrap()).await.unwrap();
    tasks.push(flow.submit(&change, (30,)).await.unwrap());
    flow.send().await.unwrap();
    for (task, more) in tasks[1..].iter().zip([20, 30]) {
        let given = Given::of(claims.next().await.unwrap()).await.unwrap();
        assert_eq!((given.claimed().item(), given.claimed().attempt().0), (*task, 1));
        assert_eq!(given.arguments(), [Field::Int(more)]);
        assert_eq!(given.claimed().inputs().await.unwrap().len(), 1);
        one(given).await.unwrap();
    }
    assert_eq!(number(&flow.get(&item, (1,)).await.unwrap()), 61);
}

/// A program that is started again finds what it has done; what it has forgotten is done again.
#[tokio::test]
async fn a_flow_of_the_same_name_goes_on_until_it_is_forgotten() {
    let client = in_memory();
    let run = async |forgets: bool| {
        let mut flow = Flow::of(Queue::of(&client, "q"), "test");
        let item = items(&mut flow, &[1]);
        let mut change = flow.task_declare("sum", &[Int]).unwrap();
        change.append_inout_dependency(&item, |_: (i64,)| (1,)).unwrap();
        for _ in 0..1_100 {
            flow.submit(&change, (1,)).await.unwrap();
        }
        assert_eq!(number(&flow.get(&item, (1,)).await.unwrap()), 1_101);
        if forgets {
            flow.forget().await.unwrap();
        }
    };
    with_workers(&client, run(false)).await;
    // Nobody works: all is there.
    run(true).await;
    with_workers(&client, run(false)).await;
}

#[tokio::test]
async fn large_versions_and_parts_of_them_go_through_blobs() {
    let folder = tempfile::tempdir().unwrap();
    let client = in_file(folder.path());
    let mut flow = flow(&client);
    let side = flow.dependency_declare("side", &[Int]).unwrap();
    let mut exchange = flow.task_declare("exchange", &[]).unwrap();
    for number in [0, 1] {
        exchange.append_inout_dependency(&side, move |()| (number,)).unwrap();
        flow.put(&side, (number,), vec![number as u8; 100_000]).unwrap();
    }
    flow.submit(&exchange, ()).await.unwrap();
    flow.submit(&exchange, ()).await.unwrap();
    flow.send().await.unwrap();
    let mut claims = Claims::begin(&client, "q", 1).await.unwrap();
    for change in [10, 20] {
        let given = Given::of(claims.next().await.unwrap()).await.unwrap();
        assert_eq!(given.values_of("side").count(), 2);
        let [left, right] = given.values() else { unreachable!("it has two") };
        let versions = vec![vec![right[9] + change; 50_000], vec![left[9]; 70_000]];
        given.complete(versions).await.unwrap();
    }
    for (number, value, count) in [(0, 20, 50_000), (1, 11, 70_000)] {
        assert_eq!(*flow.get(&side, (number,)).await.unwrap(), vec![value; count]);
    }
}

/// A process that claims a declared task, says so, and waits until it is killed.
#[test]
fn claims_and_is_killed() {
    let Some(folder) = children::folder_of_child() else { return };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = in_file(&folder);
        let mut claims = Claims::begin(&client, "q", 1).await.unwrap();
        let given = Given::of(claims.next().await.unwrap()).await.unwrap();
        println!("has {}", number(&given.values()[0]));
        core::future::pending::<()>().await;
    });
}

#[tokio::test]
async fn the_task_of_a_worker_that_is_killed_is_done_again_by_another() {
    let folder = tempfile::tempdir().unwrap();
    let client = in_file(folder.path());
    let mut flow = flow(&client);
    let item = items(&mut flow, &[5]);
    let mut change = flow.task_declare("sum", &[Int]).unwrap();
    change.template().retry = Retry { losses: 1, ..Retry::default() };
    change.append_inout_dependency(&item, |_: (i64,)| (5,)).unwrap();
    let first = flow.submit(&change, (30,)).await.unwrap();
    flow.submit(&change, (400,)).await.unwrap();
    flow.send().await.unwrap();
    let mut child = children::child("claims_and_is_killed", folder.path());
    let mut child = tokio::task::spawn_blocking(move || {
        let said = children::lines(&mut child, "has ").next();
        assert_eq!(said.as_deref(), Some("5"));
        child
    })
    .await
    .unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let mut claims = Claims::begin(&client, "q", 1).await.unwrap();
    let again = claims.next().await.unwrap();
    assert_eq!((again.item(), again.attempt().0), (first, 2));
    one(Given::of(again).await.unwrap()).await.unwrap();
    one(Given::of(claims.next().await.unwrap()).await.unwrap()).await.unwrap();
    assert_eq!(number(&flow.get(&item, (5,)).await.unwrap()), 435);
}

/// A process that does the tasks of the example.
#[test]
fn works_for_the_example() {
    let Some(folder) = children::folder_of_child() else { return };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        example::work(&in_file(&folder)).await.unwrap();
    });
}

#[tokio::test]
async fn the_example_multiplies_though_one_of_those_who_work_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let client = in_file(folder.path());
    let start = || children::child("works_for_the_example", folder.path());
    let (mut first, mut second) = (start(), start());
    let (left, right) = (|i, j| 10 * i + j, |i, j| 7 * i - j);
    let queue = Queue::of(&client, example::QUEUE);
    let first_cell = TaskId::of(&format!("flow\0{}\0two matrices", example::QUEUE), 0);
    let killing = async {
        // Some are done, and others in hand.
        while queue.result(first_cell).await.is_err() {
            tokio::task::yield_now().await;
        }
        first.kill().unwrap();
        core::future::pending().await
    };
    let product = tokio::select! {
        product = example::product(&client, left, right) => product.unwrap(),
        never = killing => never,
    };
    second.kill().unwrap();
    for mut child in [first, second] {
        child.wait().unwrap();
    }
    let order = 0..example::ORDER;
    let sum = |i, j| order.clone().map(|k| left(i, k) * right(k, j)).sum::<i64>();
    let sums = order.clone().flat_map(|i| order.clone().map(move |j| (i, j)));
    assert_eq!(product, sums.map(|(i, j)| sum(i, j)).collect::<Vec<_>>());
}
