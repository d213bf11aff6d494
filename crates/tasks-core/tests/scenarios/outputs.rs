//! Outputs that stay on nodes, are lost, and are made again.

use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::message::{
    Answer, Call, Effect, Message, Peer, Put, Refusal, Request, Submission,
};
use tidings_tasks_core::output::{Depot, Kept, Reached};
use tidings_tasks_core::record::{Outcome, State};
use tidings_tasks_core::retry::Cause;
use tidings_tasks_core::tuple::{Field, Tuple};
use tidings_tasks_core::view::{InputState, Lies, Why};

use crate::stage::*;

const C: Peer = Peer(3);

fn id(number: u64) -> TaskId {
    task(number).id
}

/// A task whose output stays on a node.
fn kept(number: u64, inputs: &[u64]) -> Submission {
    let inputs = inputs.iter().map(|input| id(*input)).collect();
    Submission { inputs, copies: 1, ..task(number) }
}

fn depot(peer: Peer) -> Depot {
    Depot { id: peer.0, host: format!("host-{}", peer.0) }
}

fn keep(peer: Peer) -> Request {
    let (address, folder) = (format!("at-{}", peer.0), None);
    Request::Keep { reached: Reached { depot: depot(peer), address, folder } }
}

fn complete_on(number: u64, attempt: u32, at: &[Peer]) -> Request {
    let kept = Kept { bytes: 1 << 20, depots: at.iter().copied().map(depot).collect() };
    let effect = Effect {
        key: format!("of/{number}").into(),
        value: Some(vec![attempt as u8].into()),
        expect: None,
    };
    Request::CompleteKept {
        task: id(number),
        attempt: Attempt(attempt),
        result: vec![attempt as u8],
        children: vec![Submission::new(id(number).child(0), "children", [1])],
        effects: vec![effect],
        kept,
        puts: vec![Put {
            space: "of".to_owned(),
            tuple: Tuple::new(vec![Field::Int(number as i64)]),
        }],
    }
}

fn gone(number: u64, attempt: u32) -> Request {
    let text = "an input is gone".to_owned();
    let (task, attempt) = (id(number), Attempt(attempt));
    Request::Fail { task, attempt, cause: Cause::Gone, text, detail: Vec::new() }
}

/// Two nodes with depots, of which the time has passed in which others could come back.
fn two_nodes(slots: u32) -> Stage {
    let mut stage = Stage::new();
    stage.pass(TTL);
    join(&mut stage, A, slots);
    join(&mut stage, B, slots);
    stage.settle();
    stage
}

fn join(stage: &mut Stage, peer: Peer, slots: u32) {
    stage.join(peer, &format!("w{}", peer.0), &[], slots);
    let queues = vec!["q".to_owned()];
    stage.request(
        peer,
        Request::Offer { queues, slots, resources: Vec::new(), ahead: 0, full: None },
    );
    stage.request(peer, keep(peer));
}

/// The worker that a task was given to.
fn of(said: &[(Peer, Message)], number: u64) -> Option<(Peer, u32)> {
    let all = assigned(said).into_iter();
    all.filter(|(_, task, _)| *task == id(number))
        .map(|(peer, _, attempt)| (peer, attempt))
        .next_back()
}

fn answered(stage: &mut Stage, call: Call) -> Answer {
    let said = stage.settle();
    answer(&said, call).unwrap_or_else(|| panic!("{said:?}")).clone()
}

/// 0 → 1 → 2 and 0 → 3: all but 2 are done, on node A; 2 waits behind a task that is not done.
fn chain() -> Stage {
    let mut stage = two_nodes(0);
    stage.submit(&[kept(0, &[]), kept(1, &[0]), kept(2, &[1, 9]), kept(3, &[0]), task(9)]);
    stage.settle();
    let offer = |slots| {
        let (queues, resources) = (vec!["q".to_owned()], Vec::new());
        Request::Offer { queues, slots, resources, ahead: 0, full: None }
    };
    stage.request(A, offer(9));
    stage.settle();
    for number in [0, 1, 3] {
        stage.request(A, complete_on(number, 1, &[A]));
        stage.settle();
    }
    stage.request(B, offer(9));
    stage.settle();
    stage
}

#[test]
fn what_is_lost_and_needed_is_made_again_and_nothing_else() {
    let mut stage = chain();
    stage.coordinator.handle_host_lost(stage.now, "host-w1");
    let said = stage.settle();
    // 1 is read by 2, and reads 0; nobody reads 3. The task in hand goes on elsewhere as ever.
    assert_eq!(of(&said, 0), Some((B, 2)));
    assert_eq!(of(&said, 9), Some((B, 2)));
    let waits = |stage: &Stage, number| stage.live(id(number)).map(|task| task.state);
    assert_eq!(waits(&stage, 1), Some(State::Waiting));
    assert!(stage.finished(id(3)).is_some() && stage.finished(id(1)).is_none());
    stage.request(B, complete_on(0, 2, &[B]));
    assert_eq!(of(&stage.settle(), 1), Some((B, 2)));
    stage.request(B, complete_on(1, 2, &[B]));
    stage.request(B, complete(id(9), 2));
    assert_eq!(of(&stage.settle(), 2), Some((B, 1)));
    stage.request(B, complete_on(2, 1, &[B]));
    stage.settle();
    assert_eq!(stage.coordinator.counters().remade, 2);
    assert_eq!(stage.finished(id(1)).unwrap().task.made, 2);
}

#[test]
fn effects_and_children_of_what_is_made_again_happen_once() {
    let mut stage = chain();
    let value = |stage: &Stage| {
        let key = tidings_tasks_core::keys::effect(b"of/1").unwrap();
        stage.ledger.get(&key).map(|record| record.value.to_vec())
    };
    let children = |stage: &Stage| stage.live(id(1).child(0)).map(|child| child.sequence);
    let tuples = |stage: &Stage| {
        let prefix = keys::tuples(PART);
        stage.ledger.scan(&prefix, prefix.after_prefix().as_ref(), 9).records
    };
    let (effect, child, put) = (value(&stage), children(&stage), tuples(&stage));
    assert!(effect == Some(vec![1]) && child.is_some() && put.len() == 3);
    stage.coordinator.handle_host_lost(stage.now, "host-w1");
    stage.settle();
    for number in [0, 1] {
        stage.request(B, complete_on(number, 2, &[B]));
        stage.settle();
    }
    assert_eq!(stage.finished(id(1)).unwrap().outcome, Outcome::Done(vec![2]));
    assert_eq!((value(&stage), children(&stage), tuples(&stage)), (effect, child, put));
}

#[test]
fn a_copy_is_enough() {
    let mut stage = two_nodes(9);
    stage.submit(&[kept(0, &[]), kept(1, &[0]), task(9), kept(2, &[0, 9])]);
    stage.settle();
    let depots = Request::Depots { own: depot(A), count: 5, task: Some(id(0)) };
    let call = stage.request(A, depots);
    let Answer::Depots(others) = answered(&mut stage, call) else { panic!() };
    assert_eq!(others.iter().map(|one| &one.depot).collect::<Vec<_>>(), [&depot(B)]);
    let hand = stage.live(id(0)).unwrap().running(Attempt(1)).unwrap().worker.clone();
    let peer = if hand == "w1" { A } else { B };
    stage.request(peer, complete_on(0, 1, &[A, B]));
    stage.settle();
    stage.coordinator.handle_host_lost(stage.now, "host-w1");
    stage.settle();
    assert_eq!(stage.coordinator.counters().remade, 0);
    let call = stage.request(CLIENT, Request::Explain { task: id(2) });
    let Answer::Explained(_, lies) = answered(&mut stage, call) else { panic!() };
    let hosts = vec![depot(B).host];
    assert_eq!(lies, [Lies { task: id(0), bytes: 1 << 20, hosts }]);
    stage.coordinator.handle_host_lost(stage.now, "host-w2");
    stage.settle();
    assert_eq!(stage.coordinator.counters().remade, 1);
    let call = stage.request(CLIENT, Request::Explain { task: id(2) });
    let Answer::Explained(why, lies) = answered(&mut stage, call) else { panic!() };
    let Why::Inputs(2, missing) = *why else { panic!("{why:?}") };
    assert!(missing.contains(&(id(0), InputState::Again)), "{missing:?}");
    assert_eq!(lies[0].hosts, Vec::<String>::new());
}

/// Who runs may have read all: only if it says that it has not, its input is made again.
#[test]
fn who_runs_says_itself_what_it_cannot_have() {
    let mut stage = two_nodes(1);
    stage.submit(&[kept(0, &[])]);
    let (peer, _) = of(&stage.settle(), 0).unwrap();
    stage.request(peer, complete_on(0, 1, &[peer]));
    stage.submit(&[kept(1, &[0]), kept(2, &[0])]);
    let mut said = stage.settle();
    // One of them has waited for the node that has it, and goes elsewhere.
    said.extend(stage.pass(core::time::Duration::from_millis(20)));
    let other = if peer == A { B } else { A };
    let numbers = [1, 2].map(|number| of(&said, number).unwrap());
    let number = if numbers[0].0 == other { 1 } else { 2 };
    stage.coordinator.handle_host_lost(stage.now, &format!("host-w{}", peer.0));
    stage.settle();
    // The other reader was in hand there and is to come again: its input is made now.
    assert_eq!(stage.coordinator.counters().remade, 1);
    let call = stage.request(other, Request::Fetch { task: id(0) });
    let Answer::Refused(Refusal::State(_)) = answered(&mut stage, call) else { panic!() };
    stage.request(other, gone(number, 1));
    let said = stage.settle();
    assert_eq!(of(&said, 0), Some((other, 2)), "its slot is free for what it needs");
    assert_eq!(stage.live(id(number)).unwrap().state, State::Waiting);
    stage.request(other, complete_on(0, 2, &[other]));
    let said = stage.settle();
    assert!(of(&said, 1).or(of(&said, 2)).is_some());
}

#[test]
fn a_client_that_cannot_have_an_output_has_it_made_again() {
    let mut stage = two_nodes(1);
    stage.submit(&[kept(0, &[])]);
    let (peer, _) = of(&stage.settle(), 0).unwrap();
    stage.request(peer, complete_on(0, 1, &[peer]));
    stage.settle();
    stage.coordinator.handle_host_lost(stage.now, &format!("host-w{}", peer.0));
    stage.settle();
    assert_eq!(stage.coordinator.counters().remade, 0, "nobody needs it");
    let call = stage.request(CLIENT, Request::Fetch { task: id(0) });
    let Answer::Fetched(finished, reached) = answered(&mut stage, call) else { panic!() };
    assert!(finished.kept.is_some() && reached.is_empty());
    let lost = Request::Lost { task: id(0), attempt: Attempt(1) };
    let call = stage.request(CLIENT, lost.clone());
    let said = stage.settle();
    assert_eq!(answer(&said, call), Some(&Answer::Done));
    let (other, attempt) = of(&said, 0).unwrap();
    stage.request(other, complete_on(0, attempt, &[other]));
    stage.settle();
    // Said of the earlier one, it means nothing any more.
    let call = stage.request(CLIENT, lost);
    assert_eq!(answered(&mut stage, call), Answer::Done);
    assert!(stage.finished(id(0)).is_some());
    let call = stage.request(CLIENT, Request::Fetch { task: id(0) });
    let Answer::Fetched(_, reached) = answered(&mut stage, call) else { panic!() };
    assert_eq!(reached[0].depot, depot(other));
}

/// A coordinator that begins waits for the nodes that were there.
#[test]
fn the_next_coordinator_makes_nothing_again_that_is_there() {
    let mut stage = chain();
    stage.succeed(2);
    let fetch = stage.request(CLIENT, Request::Fetch { task: id(1) });
    let said = stage.settle();
    assert_eq!(answer(&said, fetch), None, "it is not known yet");
    stage.join(A, "w1", &[(id(9), Attempt(1))], 0);
    stage.request(A, keep(A));
    let said = stage.settle();
    assert!(matches!(answer(&said, fetch), Some(Answer::Fetched(_, at)) if at.len() == 1));
    for _ in 0..6 {
        stage.request(A, Request::Heartbeat);
        stage.pass(TTL / 2);
    }
    assert_eq!(stage.coordinator.counters().remade, 0);
    stage.request(A, complete(id(9), 1));
    stage.settle();
    assert!(stage.live(id(2)).is_some_and(|task| task.state == State::Waiting));
    assert_eq!(stage.coordinator.live(), 4, "2, and the three children");
}

#[test]
fn the_next_coordinator_makes_again_what_went_with_the_last() {
    let mut stage = chain();
    stage.succeed(2);
    join(&mut stage, C, 9);
    stage.settle();
    assert_eq!(stage.coordinator.counters().remade, 0);
    for _ in 0..4 {
        stage.request(C, Request::Heartbeat);
        stage.pass(TTL / 2);
    }
    assert_eq!(stage.coordinator.counters().remade, 2);
    assert_eq!(stage.live(id(0)).unwrap().attempt, Attempt(2));
}

#[test]
fn what_has_no_record_is_told() {
    let mut stage = chain();
    let other = TaskId::of("other", 0);
    let tasks = vec![id(0), id(2), other];
    let call = stage.request(A, Request::Unknown { tasks });
    assert_eq!(answered(&mut stage, call), Answer::Unknown(vec![other]));
}

#[test]
fn what_is_out_of_bounds_is_refused() {
    let mut stage = two_nodes(1);
    let call = stage.submit(&[Submission { copies: 9, ..task(0) }]);
    assert!(matches!(answered(&mut stage, call), Answer::Refused(Refusal::Invalid(_))));
    let call = stage.request(CLIENT, keep(CLIENT));
    assert_eq!(answered(&mut stage, call), refused(Refusal::NoSession));
    stage.submit(&[kept(1, &[])]);
    let (peer, _) = of(&stage.settle(), 1).unwrap();
    let call = stage.request(peer, complete_on(1, 1, &[]));
    assert!(matches!(answered(&mut stage, call), Answer::Refused(Refusal::Invalid(_))));
}

/// Chains whose links read a megabyte each of the link before: of all that is read, how much lies
/// on another node than the reader.
fn moved_bytes(chains: u64, links: u64, slots: u32) -> (u64, u64) {
    let mut stage = two_nodes(slots);
    let number = |chain: u64, link: u64| 100 * chain + link;
    let mut tasks = Vec::new();
    for link in 0..links {
        for chain in 0..chains {
            let inputs: Vec<u64> =
                (link > 0).then(|| number(chain, link - 1)).into_iter().collect();
            tasks.push(kept(number(chain, link), &inputs));
        }
    }
    stage.submit(&tasks);
    let (mut made, mut moved, mut read) = (std::collections::BTreeMap::new(), 0, 0);
    let mut hand: Vec<(Peer, TaskId)> = Vec::new();
    let mut said = stage.settle();
    while made.len() < tasks.len() {
        for (peer, id, _) in assigned(&said) {
            let inputs = tasks.iter().find(|task| task.id == id).map(|task| task.inputs.clone());
            for input in inputs.unwrap_or_default() {
                read += 1 << 20;
                moved += if made[&input] == peer { 0 } else { 1 << 20 };
            }
            hand.push((peer, id));
        }
        // All end at once, in another order than they began.
        let count = hand.len().max(1);
        hand.rotate_left(made.len() * 3 % count);
        for (peer, task) in hand.drain(..) {
            made.insert(task, peer);
            let kept = Kept { bytes: 1 << 20, depots: vec![depot(peer)] };
            let (attempt, result) = (Attempt(1), vec![1]);
            let (children, effects) = (Vec::new(), Vec::new());
            let end = Request::CompleteKept {
                task,
                attempt,
                result,
                children,
                effects,
                kept,
                puts: Vec::new(),
            };
            stage.request(peer, end);
        }
        said = stage.settle();
        if hand.is_empty() && assigned(&said).is_empty() && made.len() < tasks.len() {
            said = stage.pass(core::time::Duration::from_millis(20));
        }
    }
    (moved, read)
}

/// What is read lies where it is read, as long as there is room; without that half of it would
/// move.
#[test]
fn tasks_go_where_their_inputs_lie() {
    let (moved, read) = moved_bytes(8, 6, 16);
    assert!(read == 40 << 20 && moved * 10 <= read, "{moved} of {read} bytes were moved");
}

/// A node that is busy is waited for as long as its bytes would travel, and not longer.
#[test]
fn a_busy_node_is_waited_for_as_long_as_its_bytes_would_travel() {
    let mut stage = two_nodes(1);
    stage.submit(&[kept(0, &[])]);
    let (peer, _) = of(&stage.settle(), 0).unwrap();
    let other = if peer == A { B } else { A };
    stage.submit(&[task(8)]);
    assert_eq!(of(&stage.settle(), 8), Some((other, 1)));
    let large = |number| {
        let Request::CompleteKept { task, attempt, result, children, effects, kept, puts } =
            complete_on(number, 1, &[peer])
        else {
            panic!()
        };
        let kept = Kept { bytes: 50_000_000, ..kept };
        Request::CompleteKept { task, attempt, result, children, effects, kept, puts }
    };
    stage.request(peer, large(0));
    stage.submit(&[task(9)]);
    assert_eq!(of(&stage.settle(), 9), Some((peer, 1)), "it is busy again");
    stage.submit(&[kept(1, &[0])]);
    stage.request(other, complete(id(8), 1));
    assert_eq!(of(&stage.settle(), 1), None, "half a second is waited for that node");
    let said = stage.pass(core::time::Duration::from_millis(490));
    assert_eq!(of(&said, 1), None);
    let said = stage.pass(core::time::Duration::from_millis(20));
    assert_eq!(of(&said, 1), Some((other, 1)), "then it goes to any");
    // One that has room in time gets it.
    stage.submit(&[kept(2, &[0])]);
    stage.request(other, complete_on(1, 1, &[other]));
    assert_eq!(of(&stage.settle(), 2), None);
    stage.request(peer, complete(id(9), 1));
    assert_eq!(of(&stage.settle(), 2), Some((peer, 1)));
}
