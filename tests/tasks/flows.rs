//! Flows of several languages: one declares, another does the tasks, and processes are killed.

use std::process::Command;

use tidings_tasks::client::{Client, Place as Reach};
use tidings_tasks::flow::{Flow, FlowError, Given};
use tidings_tasks::queue::{Claims, Queue};
use tidings_tasks_core::tuple::Type::Int;

use crate::in_c::{Spoken, compiled, printed};
use crate::place::Place;

/// What the example prints: Σₖ (i + k)(k − j).
const PRODUCT: &str = "14 8 2 -4\n20 10 0 -10\n26 12 -2 -16\n32 14 -4 -22\n";

/// The example, compiled.
fn example(place: &Place, role: Option<&str>) -> Command {
    let program = compiled(place, "cc", &["-std=c11"], &["examples/flow.c"]);
    let mut command = place.with_store(&program);
    command.args(role);
    command
}

/// This process, with the store of a place.
fn client(place: &Place) -> Client {
    let reach = Reach::of(place.store().parse().unwrap(), None).unwrap();
    Client::open(&Reach { board: place.path("board"), ..reach }, "test").unwrap()
}

#[test]
fn the_example_multiplies_and_forgets_what_it_has_done() {
    let place = Place::new();
    let mut command = example(&place, None);
    for _ in 0..2 {
        assert_eq!(printed(&mut command), PRODUCT);
        assert_eq!(place.json(&["queue", "ls", "--json"])["tasks"], 0);
    }
}

/// What the example's tasks do, in Rust.
async fn work(client: &Client) -> Result<(), FlowError> {
    let mut claims = Claims::begin(client, "product", 1).await?;
    loop {
        let given = Given::of(claims.next().await?).await?;
        assert_eq!((given.function(), given.arguments().len()), ("multiply", 3));
        let number = |at: usize| i64::from_le_bytes(given.values()[at][..].try_into().unwrap());
        let total = number(2) + number(0) * number(1);
        given.complete(vec![total.to_le_bytes().to_vec()]).await?;
    }
}

#[test]
fn what_a_program_in_c_declares_a_program_in_rust_does() {
    let place = Place::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut command = example(&place, Some("declare"));
    let product = runtime.block_on(async {
        let client = client(&place);
        let declaring = tokio::task::spawn_blocking(move || printed(&mut command));
        tokio::select! {
            product = declaring => product.unwrap(),
            worked = work(&client) => unreachable!("{worked:?}"),
        }
    });
    assert_eq!(product, PRODUCT);
}

/// Numbers to which one is added after the other, by workers of which one is killed when its turn
/// has come.
#[test]
fn what_a_program_in_rust_declares_programs_in_c_do_though_one_is_killed() {
    let place = Place::new();
    let holds = crate::in_c::holder(&place);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let total = runtime.block_on(async {
        let client = client(&place);
        let mut flow = Flow::of(Queue::of(&client, "product"), "sum");
        let [one, cell] = ["one", "cell"].map(|name| flow.dependency_declare(name, &[Int]));
        let (one, cell) = (one.unwrap(), cell.unwrap());
        let mut multiply = flow.task_declare("multiply", &[Int]).unwrap();
        multiply.append_read_dependency(&one, |n: (i64,)| n).unwrap();
        multiply.append_last_dependency(&one, |n: (i64,)| (n.0 + 100,)).unwrap();
        multiply.append_inout_dependency(&cell, |_: (i64,)| (0,)).unwrap();
        flow.put(&cell, (0,), 0_i64.to_le_bytes().to_vec()).unwrap();
        for n in 1..21_i64 {
            flow.put(&one, (n,), n.to_le_bytes().to_vec()).unwrap();
            flow.put(&one, (n + 100,), 2_i64.to_le_bytes().to_vec()).unwrap();
            flow.submit(&multiply, (n,)).await.unwrap();
        }
        flow.send().await.unwrap();
        let mut command = place.with_store(&holds);
        command.args(["claim", "product"]);
        let stopped = tokio::task::spawn_blocking(move || {
            let mut stopped = Spoken::start(&mut command);
            assert_eq!(stopped.line(), "attempt 1");
            stopped
        });
        drop(stopped.await.unwrap());
        let _workers = [(); 2].map(|()| Spoken::start(&mut example(&place, Some("work"))));
        let total = flow.get(&cell, (0,)).await.unwrap();
        i64::from_le_bytes(total[..].try_into().unwrap())
    });
    assert_eq!(total, 2 * (1..21).sum::<i64>());
}
