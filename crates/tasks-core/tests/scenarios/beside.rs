//! Workers of several parts: what one coordinator tells those whose room another has.

use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::{Answer, Message, Refusal, Request, Submission};
use tidings_tasks_core::view::Why;

use crate::stage::{A, B, Stage, answer, assigned, complete, refused, task};

fn stage() -> Stage {
    Stage::with(|settings| settings.parts = 2)
}

fn offer(slots: u32, ahead: u32) -> Request {
    Request::Offer { queues: Vec::new(), slots, resources: Vec::new(), ahead, full: None }
}

fn await_ready(queues: &[&str]) -> Request {
    Request::AwaitReady { queues: queues.iter().map(|queue| (*queue).to_owned()).collect() }
}

#[test]
fn who_joins_one_of_several_parts_is_told_how_many_there_are() {
    for (parts, is_told) in [(1, false), (2, true)] {
        let mut stage = Stage::with(|settings| settings.parts = parts);
        let (name, host) = ("w".to_owned(), "h".to_owned());
        let join = stage.request(A, Request::Join { name, host, holding: Vec::new() });
        let said = stage.settle();
        let told = answer(&said, join);
        assert_eq!(matches!(told, Some(Answer::JoinedPart(_, 2))), is_told, "{told:?}");
        assert_eq!(matches!(told, Some(Answer::Joined(_))), !is_told, "{told:?}");
    }
}

#[test]
fn a_task_says_what_it_needs_where_its_worker_has_others() {
    for parts in [1, 2] {
        let mut stage = Stage::with(|settings| settings.parts = parts);
        stage.join(A, "w", &[], 1);
        stage.submit(&[task(1)]);
        let said = stage.settle();
        let need = said.iter().find_map(|(_, message)| match message {
            Message::Assign { need, .. } => Some(need.is_some()),
            _ => None,
        });
        assert_eq!(need, Some(parts > 1));
    }
}

#[test]
fn where_there_is_one_part_an_assignment_has_the_bytes_that_it_had() {
    let (queue, payload) = ("q".into(), vec![7]);
    let (task, attempt) = (TaskId::of("t", 1), Attempt(1));
    let one = Message::Assign { task, attempt, queue, payload, copies: 0, need: None };
    // The variant, and an array of the five fields that there were.
    assert_eq!(minicbor::to_vec(&one).unwrap()[..3], [0x82, 0x01, 0x85]);
}

#[test]
fn a_task_that_nobody_has_room_for_is_told_of() {
    let mut stage = stage();
    stage.join(A, "a", &[], 0);
    stage.request(A, offer(0, 1));
    let of_all = stage.request(A, await_ready(&[]));
    stage.join(B, "b", &[], 1);
    let of_another = stage.request(B, await_ready(&["other"]));
    assert_eq!(answer(&stage.settle(), of_all), None);
    // The first goes to who has room, and nobody else is told.
    stage.submit(&[task(1)]);
    let said = stage.settle();
    assert_eq!(assigned(&said), [(B, TaskId::of("t", 1), 1)]);
    assert_eq!(answer(&said, of_all), None);
    stage.submit(&[task(2)]);
    let said = stage.settle();
    assert_eq!(answer(&said, of_all), Some(&Answer::Done));
    assert_eq!(answer(&said, of_another), None, "it is of another queue");
    // Who could take it later is a worker that fits.
    let explain = stage.request(A, Request::Explain { task: TaskId::of("t", 2) });
    let said = stage.settle();
    let Some(Answer::Explained(why, _)) = answer(&said, explain) else { panic!("{said:?}") };
    assert!(!matches!(**why, Why::Unfit(_)), "{why:?}");
    stage.request(A, offer(1, 0));
    assert_eq!(assigned(&stage.settle()), [(A, TaskId::of("t", 2), 1)]);
    stage.request(B, complete(TaskId::of("t", 1), 1));
    stage.submit(&[Submission::new(TaskId::of("t", 3), "other", [1])]);
    assert_eq!(assigned(&stage.settle()), [(B, TaskId::of("t", 3), 1)]);
}

#[test]
fn who_asks_again_is_answered_for_the_first_time_and_who_goes_is_forgotten() {
    let mut stage = stage();
    stage.join(A, "a", &[], 0);
    let first = stage.request(A, await_ready(&[]));
    let second = stage.request(A, await_ready(&[]));
    let said = stage.settle();
    assert_eq!((answer(&said, first), answer(&said, second)), (Some(&Answer::Done), None));
    stage.coordinator.handle_gone(stage.now, A);
    stage.submit(&[task(1)]);
    assert_eq!(answer(&stage.settle(), second), None);
    let many = vec!["q".to_owned(); 257];
    let refusal = stage.request(A, Request::AwaitReady { queues: many });
    let said = stage.settle();
    let told = answer(&said, refusal);
    assert!(matches!(told, Some(Answer::Refused(Refusal::Invalid(_)))), "{told:?}");
}

#[test]
fn room_is_taken_back_once_the_worker_knows_what_it_has() {
    let mut stage = stage();
    stage.join(A, "a", &[], 0);
    stage.submit(&[task(1)]);
    stage.settle();
    stage.request(A, offer(2, 0));
    // The commit that assigns the task is on its way.
    let under_way = stage.commits();
    assert_eq!(under_way.len(), 1);
    let nothing = stage.request(A, offer(0, 1));
    assert!(stage.commits().is_empty());
    assert_eq!(answer(&stage.messages, nothing), None);
    for (ticket, transaction) in under_way {
        let answer = stage.ledger.commit(&transaction);
        stage.coordinator.handle_commit(stage.now, ticket, answer);
    }
    let said = stage.settle();
    let told = said.iter().position(|(_, message)| matches!(message, Message::Assign { .. }));
    let is_answer = |message: &Message| *message == Message::Answer(nothing, Answer::Done);
    let answered = said.iter().position(|(_, message)| is_answer(message));
    assert!(told.is_some() && told < answered, "{said:?}");
    // Another one is not for it.
    stage.submit(&[task(2)]);
    assert_eq!(assigned(&stage.settle()), []);
}

#[test]
fn who_was_replaced_sends_those_away_who_wait() {
    let mut stage = stage();
    stage.join(A, "a", &[], 0);
    let waits = stage.request(A, await_ready(&[]));
    stage.settle();
    stage.coordinator = stage.succeed_with(2, |settings| settings.parts = 2);
    stage.submit(&[task(1)]);
    let said = stage.settle();
    assert!(stage.coordinator.is_deposed());
    assert_eq!(answer(&said, waits), Some(&refused(Refusal::Elsewhere)));
}
