//! Requests to a coordinator of tasks, and the records that it leaves in its store.

use core::time::Duration;

use minicbor::{Decode, Decoder, Encode};
use tidings_primitives::Instant;
use tidings_tasks_core::coordinator::{Coordinator, Read, Reply, Settings};
use tidings_tasks_core::id::Part;
use tidings_tasks_core::ledger::Ledger;
use tidings_tasks_core::message::{Call, Message, Peer, Request};
use tidings_tasks_core::record::{Finished, Reign, Task};
use tidings_tasks_core::reign::{self, Candidate};
use tidings_tasks_core::semaphore::Semaphore;
use tidings_tasks_core::transaction::{Durability, Limits};

use super::stored;

const PART: Part = Part(0);

/// Connections that requests come from.
const PEERS: u64 = 4;

/// The time that passes from one request to the next.
const PAUSE: Duration = Duration::from_millis(100);

/// Target `requests`: the input is a row of `[PEER, CALL, REQUEST]`, as far as it can be read. A
/// coordinator gets all of them, and a store answers it. Whatever they are:
///
/// * a request and a message are the same after they were written and read again;
/// * each record in the store can be read, and no task both is to be done and has ended;
/// * the coordinator still serves.
pub fn requests(input: &[u8]) {
    let mut world = World::new();
    let mut decoder = Decoder::new(input);
    while let Ok((peer, call, request)) = decoder.decode::<(u64, Call, Request)>() {
        same_again(&request);
        world.pass(Peer(peer % PEERS), call, request);
    }
    world.check();
}

/// Target `records`: the input as each kind of record, and as what goes over a connection. What can
/// be read is the same after it was written and read again.
pub fn records(input: &[u8]) {
    is_same_again::<Task>(input);
    is_same_again::<Finished>(input);
    is_same_again::<Semaphore>(input);
    is_same_again::<Reign>(input);
    is_same_again::<Request>(input);
    is_same_again::<Message>(input);
}

fn is_same_again<T>(input: &[u8])
where
    T: for<'b> Decode<'b, ()> + Encode<()> + PartialEq + core::fmt::Debug,
{
    if let Ok(read) = minicbor::decode::<T>(input) {
        same_again(&read);
    }
}

fn same_again<T>(one: &T)
where
    T: for<'b> Decode<'b, ()> + Encode<()> + PartialEq + core::fmt::Debug,
{
    let bytes = minicbor::to_vec(one).expect("a vector takes any bytes");
    let again: T = minicbor::decode(&bytes).expect("what was written can be read");
    assert_eq!(again, *one, "it is another after it was written and read");
}

/// A coordinator over a store that answers at once.
struct World {
    ledger: Ledger,
    coordinator: Coordinator,
    now: Instant,
}

impl World {
    fn new() -> Self {
        let mut ledger = Ledger::default();
        let (name, host, address) = ("c".to_owned(), "h".to_owned(), String::new());
        let candidate = Candidate { name, host, address, session: None };
        let (take, reign) = reign::take(PART, None, &candidate).expect("nothing is to be read");
        let settings = Settings {
            part: PART,
            parts: 1,
            epoch: reign.epoch,
            role: ledger.commit(&take).expect("nobody else wants it"),
            limits: Limits { operations: 60, bytes: 100_000, durability: Durability::Synced },
            session_ttl: Duration::from_secs(1),
            detector: tidings_tasks_core::detector::Detector::Session,
            reconnect: Duration::from_millis(300),
            queue_capacity: 100,
            pipeline: 2,
            cached_bytes: 1_000,
            epoch_ms: 1_000,
        };
        let coordinator = Coordinator::new(settings, Instant::EPOCH);
        let mut world = Self { ledger, coordinator, now: Instant::EPOCH };
        world.answer();
        world
    }

    fn pass(&mut self, peer: Peer, call: Call, request: Request) {
        self.coordinator.handle_request(self.now, peer, call, request);
        self.answer();
        self.now = self.now + PAUSE;
        self.coordinator.handle_timeout(self.now);
        self.answer();
    }

    /// The store answers until nothing more is asked.
    fn answer(&mut self) {
        loop {
            let mut is_idle = true;
            while let Some((ticket, read)) = self.coordinator.poll_read() {
                is_idle = false;
                let reply = self.read(read);
                self.coordinator.handle_read(self.now, ticket, reply);
            }
            while let Some((ticket, transaction)) = self.coordinator.poll_commit() {
                is_idle = false;
                let committed = self.ledger.commit(&transaction);
                self.coordinator.handle_commit(self.now, ticket, committed);
            }
            while let Some((_, message)) = self.coordinator.poll_message() {
                is_idle = false;
                same_again(&message);
            }
            if is_idle {
                return;
            }
        }
    }

    fn read(&self, read: Read) -> Reply {
        match read {
            Read::Get(keys) => {
                Reply::Records(keys.iter().filter_map(|key| self.ledger.get(key)).collect())
            }
            Read::Scan { from, end, limit, .. } => {
                Reply::Page(self.ledger.scan(&from, end.as_ref(), limit))
            }
        }
    }

    fn check(&self) {
        stored::check(&self.ledger, PART);
        assert!(self.coordinator.is_serving(), "it no longer serves");
    }
}
