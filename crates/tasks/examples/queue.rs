//! Numbers of which several processes find the largest prime factor, each once, whoever dies.
//!
//! `cargo run -p tidings-tasks --example queue` does it in a file of this user's state directory;
//! started in several terminals at once, all of them share the work. Killed and started again, it
//! goes on: an item that is there is not put twice, and a result that is there is printed.

use tidings_tasks::client::{Client, Place};
use tidings_tasks::queue::{Claims, Queue, QueueError};
use tidings_tasks::usual;

/// The name of the queue.
const QUEUE: &str = "factors";

/// The largest prime that divides a number above 1.
fn largest_factor(mut number: u64) -> u64 {
    let mut factor = 2;
    while factor * factor <= number {
        if number % factor == 0 {
            number /= factor;
        } else {
            factor += 1;
        }
    }
    number
}

/// Does items until nothing is left to do here.
async fn work(client: &Client) -> Result<(), QueueError> {
    let mut claims = Claims::begin(client, QUEUE, 2).await?;
    loop {
        let claimed = claims.next().await?;
        let number = String::from_utf8_lossy(claimed.data()).parse();
        match number {
            Ok(number) => {
                let factor = largest_factor(number);
                claimed.complete(factor.to_string().into_bytes()).await?;
            }
            Err(_) => claimed.fail("it is no number").await?,
        }
    }
}

/// Puts numbers and prints what comes of them, in their order.
async fn ask(client: &Client) -> Result<(), QueueError> {
    let queue = Queue::of(client, QUEUE);
    let mut items = Vec::new();
    for number in 1_000_000_007_000_u64..1_000_000_007_016 {
        let data = number.to_string();
        items.push((number, queue.put(&data, data.clone().into_bytes()).await?));
    }
    for (number, item) in items {
        let factor = queue.result(item).await?;
        println!("{number}: {}", String::from_utf8_lossy(&factor));
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = Place::of(usual::store()?, usual::keys())?;
    let client = Client::open(&place, "factors")?;
    tokio::select! {
        asked = ask(&client) => asked?,
        worked = work(&client) => worked?,
    }
    client.member.leave().await;
    Ok(())
}
