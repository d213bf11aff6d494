//! The worker of a command: of this process, with the slots and resources that it is given.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::env;
use std::fs;
use std::num::NonZero;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tidings_tasks::blobs::Blobs;
use tidings_tasks::store::address::Address;
use tidings_tasks::usual;
use tidings_tasks::worker::{Event, SPARE_AFTER, Settings, Worker};
use tokio::sync::mpsc;

use super::client::{Client, Place};
use super::failure::TasksError;
use super::outputs;
use crate::output;

/// What a worker takes.
pub(super) struct Offer {
    /// Of these queues; of all if there are none.
    pub(super) queues: Vec<String>,
    /// Tasks at a time.
    pub(super) slots: u32,
    /// At least, beside the `cpus` and `mem` of this machine.
    pub(super) resources: BTreeMap<String, u64>,
    /// The command lines of processes that call functions, by the languages that they know.
    pub(super) runtimes: BTreeMap<String, Vec<String>>,
    /// How long running tasks may take when it drains.
    pub(super) drain: Duration,
}

/// Begins a worker in this process.
pub(super) fn begin(
    client: &Client,
    place: &Place,
    offer: Offer,
) -> Result<(Worker, mpsc::Receiver<Event>), TasksError> {
    let scratch = env::temp_dir().join(format!("tidings-{}", client.name));
    let settings = Settings {
        name: format!("{}-worker", client.name),
        host: client.host.clone(),
        resources: resources(&offer),
        queues: offer.queues,
        slots: offer.slots,
        runtimes: offer.runtimes,
        scratch,
        blobs: blobs(place)?,
        depot: depot(place)?,
        drain: offer.drain,
        spare_after: Some(SPARE_AFTER),
    };
    Ok(Worker::begin(Arc::clone(&client.member), settings))
}

/// What people are told of the room on this host, if that is what has happened.
pub(super) fn of_room(event: &Event) -> Option<String> {
    match event {
        Event::NoRoom(why) => Some(format!("{why}; until then this worker takes no tasks")),
        Event::Room => Some("there is space again: this worker goes on".to_owned()),
        _ => None,
    }
}

/// Says what happens to the room on this host; nothing else, if there is no worker.
pub(super) async fn tell_of_room(events: Option<mpsc::Receiver<Event>>) -> Infallible {
    if let Some(mut events) = events {
        while let Some(event) = events.recv().await {
            if let Some(text) = of_room(&event) {
                output::complain(&text);
            }
        }
    }
    core::future::pending().await
}

/// Where large outputs go.
fn blobs(place: &Place) -> Result<Option<Arc<Blobs>>, TasksError> {
    let Some(folder) = outputs::folder(place) else { return Ok(None) };
    Ok(Some(Arc::new(Blobs::open(&folder)?)))
}

/// Where outputs stay that are to stay on nodes: on this host, if the store and its blobs are on
/// others.
fn depot(place: &Place) -> Result<Option<Arc<Blobs>>, TasksError> {
    let is_apart = place.address.is_shared() && place.blobs.is_none();
    if !is_apart && !matches!(place.address, Address::Tcp(_)) {
        return Ok(None);
    }
    Ok(Some(Arc::new(Blobs::open(&usual::cache())?)))
}

/// The processors and memory of this machine, as far as this process may use them, and what else
/// was named.
fn resources(offer: &Offer) -> Vec<(String, u64)> {
    let cpus = u64::from(cores().max(offer.slots)) * 1_000;
    let mut all = BTreeMap::from([("cpus".to_owned(), cpus)]);
    all.extend(memory_bytes().map(|bytes| ("mem".to_owned(), bytes)));
    // A call needs a worker that knows its language, and all slots of that may.
    let calls = u64::from(offer.slots) * 1_000;
    all.extend(offer.runtimes.keys().map(|language| (language.clone(), calls)));
    for (name, amount) in &offer.resources {
        let known = all.entry(name.clone()).or_default();
        *known = (*known).max(*amount);
    }
    all.into_iter().collect()
}

/// The processors that this process may use.
pub(super) fn cores() -> u32 {
    thread::available_parallelism().map_or(1, NonZero::get) as u32
}

/// The memory of this machine.
fn memory_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1_024)
}
