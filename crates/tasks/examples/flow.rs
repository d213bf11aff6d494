//! A product of matrices by blocks that pass through the cells of an array, as Cannon has them: a
//! flow, which says what each task reads, moves on and changes, and nothing else.
//!
//! `cargo run -p tidings-tasks --example flow` multiplies in a file of this user's state directory;
//! `cargo run -p tidings-tasks --example flow -- work`, in other terminals, helps it. Killed and
//! started again, it goes on; when it has printed the product it forgets what it has done.

use tidings_tasks::client::{Client, Place};
use tidings_tasks::flow::{Flow, FlowError, Given};
use tidings_tasks::queue::{Claims, Queue};
use tidings_tasks::usual;
use tidings_tasks_core::tuple::Type::{Int, Text};

/// The name of the queue.
pub(crate) const QUEUE: &str = "product";

/// The blocks in a row; a block is one number here.
pub(crate) const ORDER: i64 = 4;

/// Adds to a cell the product of what passes it.
fn multiply(left: &[u8], right: &[u8], total: &[u8]) -> Option<Vec<u8>> {
    let [left, right, total] =
        [left, right, total].map(|bytes| Some(i64::from_le_bytes(bytes.try_into().ok()?)));
    let sum = total?.checked_add(left?.checked_mul(right?)?)?;
    Some(sum.to_le_bytes().to_vec())
}

/// Does tasks as long as it is let.
pub(crate) async fn work(client: &Client) -> Result<(), FlowError> {
    let mut claims = Claims::begin(client, QUEUE, 2).await?;
    loop {
        let given = Given::of(claims.next().await?).await?;
        let made = match (given.function(), given.values()) {
            ("multiply", [left, right, total]) => multiply(left, right, total),
            _ => None,
        };
        match made {
            Some(total) => given.complete(vec![total]).await?,
            None => given.fail("it is no product of numbers").await?,
        }
    }
}

/// Declares the product of two matrices, and returns its cells row by row.
pub(crate) async fn product(
    client: &Client,
    left: impl Fn(i64, i64) -> i64,
    right: impl Fn(i64, i64) -> i64,
) -> Result<Vec<i64>, FlowError> {
    type Place = (i64, i64, i64);
    let mut flow = Flow::of(Queue::of(client, QUEUE), "two matrices");
    let block = flow.dependency_declare("block", &[Text, Int, Int, Int])?;
    let cell = flow.dependency_declare("cell", &[Int, Int])?;
    let mut multiply = flow.task_declare("multiply", &[Int, Int, Int])?;
    let west = |(i, j, k): Place| ("a", k + 1, i, (j + ORDER - 1) % ORDER);
    let north = |(i, j, k): Place| ("b", k + 1, (i + ORDER - 1) % ORDER, j);
    multiply.append_migrate_dependency(&block, |(i, j, k): Place| ("a", k, i, j), west)?;
    multiply.append_migrate_dependency(&block, |(i, j, k): Place| ("b", k, i, j), north)?;
    multiply.append_inout_dependency(&cell, |(i, j, _): Place| (i, j))?;
    let cells = || (0..ORDER).flat_map(|i| (0..ORDER).map(move |j| (i, j)));
    for (i, j) in cells() {
        let k = (i + j) % ORDER;
        flow.put(&block, ("a", 0, i, j), left(i, k).to_le_bytes().to_vec())?;
        flow.put(&block, ("b", 0, i, j), right(k, j).to_le_bytes().to_vec())?;
        flow.put(&cell, (i, j), 0_i64.to_le_bytes().to_vec())?;
    }
    for k in 0..ORDER {
        for (i, j) in cells() {
            flow.submit(&multiply, (i, j, k)).await?;
        }
    }
    let mut product = Vec::new();
    for place in cells() {
        let total = flow.get(&cell, place).await?;
        product.push(total[..].try_into().map_or(0, i64::from_le_bytes));
    }
    flow.forget().await?;
    Ok(product)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = Place::of(usual::store()?, usual::keys())?;
    let client = Client::open(&place, "product")?;
    if std::env::args().nth(1).is_some_and(|word| word == "work") {
        work(&client).await?;
    }
    tokio::select! {
        product = product(&client, |i, j| i + j, |i, j| i - j) => {
            for row in product?.chunks(ORDER as usize) {
                println!("{row:?}");
            }
        }
        worked = work(&client) => worked?,
    }
    client.member.leave().await;
    Ok(())
}
