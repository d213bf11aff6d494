//! Which session gets a task, by what it needs and where it may run.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;
use tidings_tasks_core::hosts::{Condition, Hosts, Rank};
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Message, Peer, Refusal, Request, Submission};
use tidings_tasks_core::resources::{self, Need, amount_of};
use tidings_tasks_core::retry::Retry;
use tidings_tasks_core::view::{MAX_FULL_BYTES, QueueView, Unfit, Why};

use crate::stage::*;

fn needs(number: u64, need: &str) -> Submission {
    Submission { need: need.parse().expect("a need"), ..task(number) }
}

fn filtered(number: u64, filter: &str) -> Submission {
    Submission { filter: filter.to_owned(), ..task(number) }
}

fn offer(stage: &mut Stage, peer: Peer, slots: u32, resources: &str) {
    let (queues, resources) = (Vec::new(), resources::parse(resources).expect("resources"));
    stage.request(peer, Request::Offer { queues, slots, resources, ahead: 0, full: None });
}

fn queue(stage: &mut Stage) -> QueueView {
    let call = stage.request(CLIENT, Request::Overview);
    match answer(&stage.settle(), call) {
        Some(Answer::Overview(overview)) => overview.queues[0].clone(),
        other => panic!("{other:?}"),
    }
}

fn who(said: &[(Peer, Message)]) -> BTreeMap<TaskId, Peer> {
    assigned(said).into_iter().map(|(peer, id, _)| (id, peer)).collect()
}

#[test]
fn a_task_goes_where_all_that_it_needs_is_left() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 0);
    stage.join(B, "b", &[], 0);
    offer(&mut stage, A, 8, "cpus=4");
    offer(&mut stage, B, 8, "cpus=4,gpu=1");
    stage.settle();
    stage.submit(&[needs(1, "gpu=1"), needs(2, "gpu=1"), needs(3, "cpus=4"), needs(4, "cpus=4")]);
    let got = who(&stage.settle());
    assert_eq!(got, BTreeMap::from([(task(1).id, B), (task(3).id, A)]));
    stage.request(B, complete(task(1).id, 1));
    assert_eq!(who(&stage.settle()), BTreeMap::from([(task(2).id, B)]), "it was there before 4");
    stage.request(A, complete(task(3).id, 1));
    assert_eq!(who(&stage.settle()), BTreeMap::from([(task(4).id, A)]));
}

fn why(stage: &mut Stage, number: u64) -> Why {
    let call = stage.request(CLIENT, Request::Explain { task: task(number).id });
    match answer(&stage.settle(), call) {
        Some(Answer::Explained(why, _)) => why.as_ref().clone(),
        other => panic!("{other:?}"),
    }
}

/// A worker without space takes nothing, and was as good as none: people started another one on
/// the same host.
#[test]
fn a_worker_without_space_is_told_apart_from_none() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 0);
    let full = Some(format!("no space in /x{}", "é".repeat(MAX_FULL_BYTES)));
    let (queues, resources) = (Vec::new(), resources::parse("cpus=4").expect("resources"));
    stage.request(A, Request::Offer { queues, slots: 0, resources, ahead: 0, full });
    stage.submit(&[needs(1, "cpus=4"), needs(2, "cpus=8")]);
    stage.settle();
    let Why::Unfit(unfit) = why(&mut stage, 1) else { panic!("it could take it") };
    let [(_, said)] = &unfit.full[..] else { panic!("{unfit:?}") };
    assert!(said.starts_with("no space in /x") && said.len() <= MAX_FULL_BYTES, "{said}");
    assert_eq!(why(&mut stage, 2), Why::NoWorker, "space would not help");
    offer(&mut stage, A, 8, "cpus=4");
    assert_eq!(who(&stage.settle()), BTreeMap::from([(task(1).id, A)]));
    assert!(
        matches!(why(&mut stage, 2), Why::Unfit(Unfit { workers: 1, full, .. }) if full.is_empty())
    );
}

#[test]
fn what_fits_nowhere_delays_nobody_and_is_told() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 0);
    offer(&mut stage, A, 8, "cpus=4,mem=1GiB");
    stage.settle();
    let kinds = ["gpu=1", "cpus=5", "mem=2GiB"];
    let unfit = (0..100).map(|n| Submission { priority: 9, ..needs(n, kinds[n as usize % 3]) });
    let unfit: Vec<_> = unfit.collect();
    stage.submit(&unfit);
    stage.submit(&[needs(200, "cpus=4,mem=1GiB")]);
    assert_eq!(who(&stage.settle()), BTreeMap::from([(task(200).id, A)]));
    let counts = queue(&mut stage);
    assert_eq!((counts.ready, counts.running, counts.unfit), (100, 1, 100));
    stage.submit(&[needs(201, "cpus=4")]);
    assert_eq!(who(&stage.settle()), BTreeMap::new());
    assert_eq!(queue(&mut stage).unfit, 100, "one that waits for others is not unfit");
    stage.join(B, "b", &[], 0);
    offer(&mut stage, B, 1, "gpu=2,cpus=1");
    assert_eq!(who(&stage.settle()).len(), 1);
    assert_eq!(queue(&mut stage).unfit, 66);
}

#[test]
fn without_resources_only_slots_count() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 2);
    stage.settle();
    stage.submit(&[needs(1, "cpus=1000,gpu=9"), needs(2, "mem=9TiB"), task(3)]);
    assert_eq!(who(&stage.settle()).len(), 2);
}

#[test]
fn some_tasks_may_be_in_hand_ahead_where_only_slots_count() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 0);
    let offer = |slots, resources, ahead| Request::Offer {
        queues: Vec::new(),
        slots,
        resources: resources::parse(resources).expect("resources"),
        ahead,
        full: None,
    };
    stage.request(A, offer(2, "", 3));
    stage.submit(&(0..9).map(task).collect::<Vec<_>>());
    assert_eq!(who(&stage.settle()).len(), 5);
    for number in 0..4 {
        stage.request(A, offer(2, "", 0));
        stage.request(A, complete(task(number).id, 1));
    }
    assert_eq!(who(&stage.settle()).len(), 1, "one is left of those, and there are two slots");
    stage.request(A, offer(2, "cpus=8", 3));
    assert_eq!(who(&stage.settle()).len(), 0);
    stage.request(A, offer(0, "", 3));
    assert_eq!(who(&stage.settle()).len(), 0, "it takes no more");
}

#[test]
fn needs_are_accounted_for_again_after_a_takeover() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 0);
    offer(&mut stage, A, 8, "cpus=4");
    stage.settle();
    stage.submit(&[needs(1, "cpus=3"), needs(2, "cpus=2"), needs(3, "cpus=1")]);
    let said = stage.settle();
    let holding: Vec<_> = assigned(&said)
        .into_iter()
        .map(|(_, id, attempt)| (id, tidings_tasks_core::id::Attempt(attempt)))
        .collect();
    assert_eq!(holding.len(), 2);
    stage.succeed(2);
    stage.join(B, "a", &holding, 0);
    offer(&mut stage, B, 8, "cpus=4");
    assert_eq!(who(&stage.settle()), BTreeMap::new(), "3 of 4 CPUs are in use, and 1");
    stage.request(B, complete(task(1).id, 1));
    assert_eq!(who(&stage.settle()), BTreeMap::from([(task(2).id, B)]));
}

#[test]
fn a_host_where_tasks_were_lost_holds_up_no_others() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 40);
    stage.join(B, "b", &[], 1);
    let many: Vec<_> = (0..41).map(task).collect();
    stage.submit(&many);
    stage.settle();
    let retry = Retry { losses: 9, ..Retry::default() };
    stage.submit(&[Submission { retry, priority: -1, ..task(50) }]);
    stage.settle();
    stage.coordinator.handle_host_lost(stage.now, "host-a");
    stage.settle();
    // It comes back, and those that it has lost wait for B; the other one does not.
    stage.join(A, "a2", &[], 1);
    stage.request(A, Request::Leave);
    stage.request(
        A,
        Request::Join { name: "a3".to_owned(), host: "host-a".to_owned(), holding: Vec::new() },
    );
    offer(&mut stage, A, 1, "");
    let said = stage.settle();
    assert_eq!(who(&said).get(&task(50).id), Some(&A), "{said:?}");
}

#[test]
fn a_filter_is_heeded_and_without_a_board_its_tasks_wait() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 4);
    stage.join(B, "b", &[], 4);
    stage.settle();
    stage.submit(&[filtered(1, "x > 1"), task(2)]);
    assert_eq!(who(&stage.settle()).len(), 1);
    assert_eq!(queue(&mut stage).unfit, 1);
    assert_eq!(stage.coordinator.filters(), BTreeSet::from(["x > 1"]));
    let matches = BTreeMap::from([("x > 1".to_owned(), BTreeSet::from(["host-b".to_owned()]))]);
    let hosts = Hosts { matches, ..Hosts::default() };
    stage.coordinator.handle_hosts(stage.now, Some(hosts));
    assert_eq!(who(&stage.settle()), BTreeMap::from([(task(1).id, B)]));
    stage.coordinator.handle_hosts(stage.now, None);
    stage.submit(&[filtered(3, "x > 1")]);
    assert_eq!(who(&stage.settle()), BTreeMap::new());
}

#[test]
fn the_least_loaded_session_of_the_best_host_is_next() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 4);
    stage.join(B, "b", &[], 3);
    stage.settle();
    let rank = |condition, load| Rank { condition, load };
    let set = |stage: &mut Stage, a: Rank, b: Rank| {
        let ranks = BTreeMap::from([("host-a".to_owned(), a), ("host-b".to_owned(), b)]);
        stage.coordinator.handle_hosts(stage.now, Some(Hosts { ranks, ..Hosts::default() }));
    };
    let mut number = 0;
    let mut next = |stage: &mut Stage| {
        number += 1;
        stage.submit(&[task(number)]);
        who(&stage.settle()).into_values().next()
    };
    set(&mut stage, rank(Condition::Slow, 0), rank(Condition::Good, 900));
    assert_eq!(next(&mut stage), Some(B));
    set(&mut stage, rank(Condition::Good, 0), rank(Condition::Good, 0));
    assert_eq!([(); 3].map(|()| next(&mut stage)), [A, A, B].map(Some));
    set(&mut stage, rank(Condition::Slow, 0), rank(Condition::Doubtful, 0));
    let said = [(); 3].map(|()| next(&mut stage));
    assert_eq!(said, [A, A, B].map(Some), "a slot of a host in doubt is better than none");
}

#[test]
fn needs_that_are_all_different_are_refused_at_last() {
    let mut stage = Stage::with(|settings| settings.queue_capacity = 10_000);
    let different = |from: u64| -> Vec<_> {
        (from..from + 500).map(|n| needs(n, &format!("mem={}", n + 1))).collect()
    };
    for from in [0, 500] {
        let call = stage.submit(&different(from));
        assert_eq!(answer(&stage.settle(), call), Some(&Answer::Submitted(500)));
    }
    let call = stage.submit(&different(1_000));
    assert!(matches!(answer(&stage.settle(), call), Some(Answer::Refused(Refusal::Invalid(_)))));
    let call = stage.submit(&[Submission { id: task(5_000).id, ..needs(7, "mem=8") }]);
    assert_eq!(answer(&stage.settle(), call), Some(&Answer::Submitted(1)), "one that is known");
}

const KINDS: [&str; 6] = ["cpus=1", "cpus=3", "cpus=0", "gpu=1", "cpus=1,mem=2GiB", "gpu=2,cpus=2"];
const OFFERS: [&str; 4] = ["", "cpus=4", "cpus=2,gpu=1,mem=3GiB", "cpus=3,gpu=2,mem=2GiB"];

/// What a worker has in hand.
type Hands = BTreeMap<Peer, BTreeMap<TaskId, Need>>;

/// Takes what was said into account: no worker has more than it offers.
fn take(
    hands: &mut Hands,
    offers: &[(Peer, u32, usize)],
    said: &[(Peer, Message)],
    tasks: &[Submission],
) {
    for (peer, id, _) in assigned(said) {
        let need = &tasks.iter().find(|task| task.id == id).expect("it was submitted").need;
        let hand = hands.entry(peer).or_default();
        hand.insert(id, need.clone());
        let (_, slots, offer) = offers.iter().find(|(own, ..)| *own == peer).expect("a worker");
        assert!(hand.len() <= *slots as usize, "{peer:?} has {} tasks", hand.len());
        let offered = resources::parse(OFFERS[*offer]).expect("resources");
        for (name, total) in &offered {
            let sum: u64 = hand.values().map(|need| need.of(name)).sum();
            assert!(sum <= *total, "{sum} of {total} {name}");
        }
        let has_all = |need: &Need| need.iter().all(|(name, _)| amount_of(&offered, name) > 0);
        assert!(offered.is_empty() || hand.values().all(has_all));
    }
}

/// Whether a task fits beside what a worker has in hand.
fn fits(hand: &BTreeMap<TaskId, Need>, slots: u32, offer: usize, need: &Need) -> bool {
    let offered = resources::parse(OFFERS[offer]).expect("resources");
    let left = |name: &str| {
        let sum: u64 = hand.values().map(|one| one.of(name)).sum();
        amount_of(&offered, name) - sum
    };
    let is_left = offered.is_empty() || need.iter().all(|(name, amount)| left(name) >= amount);
    hand.len() < slots as usize && is_left
}

/// Whether a task fits beside what some worker has in hand.
fn is_room(hands: &Hands, offers: &[(Peer, u32, usize)], need: &Need) -> bool {
    let empty = BTreeMap::new();
    offers
        .iter()
        .any(|(peer, slots, offer)| fits(hands.get(peer).unwrap_or(&empty), *slots, *offer, need))
}

/// Submissions of kinds, with a priority and a group.
fn submissions(kinds: &[(usize, i16, u8)]) -> Vec<Submission> {
    let one = |(at, (kind, priority, group)): (usize, &(usize, i16, u8))| Submission {
        priority: *priority,
        group: format!("g{group}").into(),
        ..needs(at as u64, KINDS[*kind])
    };
    kinds.iter().enumerate().map(one).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Whatever is offered and needed: no worker ever has more than it offers, nothing waits that
    /// fits, and in the end all has run that fits anywhere.
    #[test]
    fn offers_are_used_up_and_not_more(
        offers in vec((0..4_u32, 0..OFFERS.len()), 1..5),
        kinds in vec((0..KINDS.len(), 0..2_i16, 0..3_u8), 1..40),
        order in vec(any::<prop::sample::Index>(), 60),
    ) {
        let mut stage = Stage::new();
        let offers: Vec<_> = offers
            .into_iter()
            .enumerate()
            .map(|(at, (slots, offer))| (Peer(at as u64 + 1), slots, offer))
            .collect();
        let tasks = submissions(&kinds);
        for (peer, slots, at) in &offers {
            stage.join(*peer, &format!("w{}", peer.0), &[], 0);
            offer(&mut stage, *peer, *slots, OFFERS[*at]);
        }
        let (mut hands, mut submitted, mut ended) = (Hands::new(), 0, BTreeSet::new());
        let mut left = order.into_iter();
        loop {
            if submitted < tasks.len() {
                let more = (submitted + 3).min(tasks.len());
                stage.submit(&tasks[submitted..more]);
                submitted = more;
            }
            let said = stage.settle();
            take(&mut hands, &offers, &said, &tasks);
            let in_hand: Vec<_> = hands
                .iter()
                .flat_map(|(peer, hand)| hand.keys().map(|id| (*peer, *id)))
                .collect();
            let is_waiting = |id: &TaskId| {
                !ended.contains(id) && in_hand.iter().all(|(_, held)| held != id)
            };
            for task in tasks[..submitted].iter().filter(|task| is_waiting(&task.id)) {
                let fits = is_room(&hands, &offers, &task.need);
                prop_assert!(!fits, "{:?} waits, and there is room", task.need);
            }
            if in_hand.is_empty() && submitted == tasks.len() {
                break;
            }
            if !in_hand.is_empty() {
                let at = left.next().map_or(0, |at| at.index(in_hand.len()));
                let (peer, id) = in_hand[at];
                hands.get_mut(&peer).unwrap().remove(&id);
                ended.insert(id);
                stage.request(peer, complete(id, 1));
            }
        }
        let unfit = stage.coordinator.live() as u64;
        prop_assert_eq!(unfit, (tasks.len() - ended.len()) as u64);
        if unfit > 0 {
            prop_assert_eq!(queue(&mut stage).unfit, unfit);
        }
    }
}
