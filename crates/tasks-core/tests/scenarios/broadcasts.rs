//! The copying of large blobs: who is told from where, when connections, sessions and coordinators
//! end in between.

use tidings_tasks_core::message::{Answer, Call, Peer, Refusal, Request};
use tidings_tasks_core::output::{Depot, Owner, Reached, Source};

use crate::stage::*;

const HASH: [u8; 32] = [7; 32];
const C: Peer = Peer(3);

fn reached(id: u64) -> Reached {
    let (depot, address) = (Depot { id, host: format!("host-{id}") }, format!("host-{id}:1"));
    Reached { depot, address, folder: Some("/f".to_owned()) }
}

/// A session with a depot.
fn host(stage: &mut Stage, peer: Peer, name: &str, depot: u64) {
    stage.join(peer, name, &[], 0);
    stage.request(peer, Request::Keep { reached: reached(depot) });
    stage.settle();
}

fn source(owners: &[Owner], failed: Option<Owner>) -> Request {
    Request::Source { blob: HASH.into(), owners: owners.to_vec(), failed }
}

fn copied(is_there: bool) -> Request {
    Request::Copied { blob: HASH.into(), is_there }
}

fn told(stage: &mut Stage, peer: Peer, request: Request) -> Option<Answer> {
    let call = stage.request(peer, request);
    let said = stage.settle();
    answer(&said, call).cloned()
}

fn of(depot: u64) -> Answer {
    Answer::Source(Source::Depot(reached(depot)))
}

const STORE: Option<Answer> = Some(Answer::Source(Source::Store));

#[test]
fn a_copy_is_named_to_those_who_ask_next() {
    let mut stage = Stage::new();
    for (peer, name, depot) in [(A, "a", 1), (B, "b", 2), (C, "c", 3)] {
        host(&mut stage, peer, name, depot);
    }
    let owners = [Owner::Store];
    assert_eq!(told(&mut stage, A, source(&owners, None)), STORE);
    assert_eq!(told(&mut stage, A, copied(true)), Some(Answer::Done));
    assert_eq!(told(&mut stage, B, source(&owners, None)), Some(of(1)));
    // Its sender is not to be reached: no other one is sent there.
    assert_eq!(told(&mut stage, B, source(&owners, Some(Owner::Depot(1)))), STORE);
    assert_eq!(told(&mut stage, C, source(&owners, None)), STORE);
    assert_eq!(told(&mut stage, B, copied(true)), Some(Answer::Done));
    // The store's copy is gone, and one sender is left, which has it again.
    assert_eq!(told(&mut stage, C, source(&[], Some(Owner::Store))), Some(of(2)));
    assert_eq!(told(&mut stage, B, source(&owners, None)), Some(Answer::Source(Source::Here)));
    let counters = *stage.coordinator.counters();
    assert_eq!((counters.copied, counters.relayed), (2, 0));
    assert_eq!(told(&mut stage, C, copied(true)), Some(Answer::Done));
    assert_eq!(stage.coordinator.counters().relayed, 1);
}

#[test]
fn who_waits_is_told_when_the_one_that_copies_ends() {
    let mut stage = Stage::new();
    // Two processes of one host.
    host(&mut stage, A, "a", 1);
    host(&mut stage, B, "b", 1);
    let owners = [Owner::Store];
    assert_eq!(told(&mut stage, A, source(&owners, None)), STORE);
    let waiting: Call = stage.request(B, source(&owners, None));
    assert_eq!(answer(&stage.settle(), waiting), None);
    // It comes back over another connection, and asks again.
    stage.coordinator.handle_gone(stage.now, B);
    stage.join(C, "b", &[], 0);
    stage.request(C, Request::Keep { reached: reached(1) });
    stage.again(C, waiting, source(&owners, None));
    stage.request(A, Request::Leave);
    let said = stage.settle();
    let answered: Vec<_> =
        said.iter().filter(|(peer, _)| *peer == C).map(|(_, said)| said).collect();
    let store = tidings_tasks_core::message::Message::Answer(waiting, STORE.unwrap());
    assert!(answered.contains(&&store), "{said:?}");
    assert_eq!(told(&mut stage, C, copied(true)), Some(Answer::Done));
    assert_eq!(told(&mut stage, C, source(&[], None)), Some(Answer::Source(Source::Here)));
}

#[test]
fn nobody_waits_for_a_blob_that_nobody_has() {
    let mut stage = Stage::new();
    let without = told(&mut stage, A, source(&[Owner::Store], None));
    assert!(matches!(without, Some(Answer::Refused(Refusal::Invalid(_)))), "{without:?}");
    host(&mut stage, A, "a", 1);
    let many = told(&mut stage, A, source(&[Owner::Store; 9], None));
    assert!(matches!(many, Some(Answer::Refused(Refusal::Invalid(_)))), "{many:?}");
    // The owner may come back from before this coordinator.
    let owners = [Owner::Depot(2)];
    let early = stage.request(A, source(&owners, None));
    assert_eq!(answer(&stage.settle(), early), None);
    host(&mut stage, B, "b", 2);
    let call = stage.request(A, source(&owners, None));
    assert_eq!(answer(&stage.settle(), call).cloned(), None, "its depot copies already");
    stage.request(B, Request::Leave);
    stage.settle();
    stage.request(A, copied(false));
    let said = stage.settle();
    assert_eq!(answer(&said, call), Some(&Answer::Source(Source::Nowhere)));
}
