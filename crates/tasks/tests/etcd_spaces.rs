//! Spaces in a real etcd, whose commits have at most 128 operations.

#![cfg(feature = "etcd")]
#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

mod rounds;
mod servers;

use servers::Servers;

#[tokio::test]
async fn spaces_in_an_etcd() {
    let servers = Servers::start(1);
    rounds::all(&servers.address("tasks").parse().unwrap(), 100).await;
}
