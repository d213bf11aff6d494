//! Tuples that a completion puts: in its own commit, once, and only by the try that ends the task.

use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::message::{Answer, Peer, Put, Refusal, Request};
use tidings_tasks_core::retry::Cause;
use tidings_tasks_core::transaction::{CommitError, Key, Transaction};
use tidings_tasks_core::tuple::{Field, Statement, Tuple};

use crate::spaces::{all, enter, execute, found, pull, running, tuple};
use crate::stage::*;

fn put(number: i64) -> Put {
    Put { space: "s".to_owned(), tuple: tuple(number) }
}

fn done(task: TaskId, attempt: Attempt, puts: Vec<Put>) -> Request {
    let Request::Complete { result, children, effects, .. } = complete(task, attempt.0) else {
        panic!("a completion")
    };
    Request::Complete { task, attempt, result, children, effects, puts }
}

fn writes(transaction: &Transaction, prefix: &Key) -> usize {
    let keys = transaction.writes.iter().map(|write| write.key().as_bytes());
    keys.filter(|key| key.starts_with(prefix.as_bytes())).count()
}

#[test]
fn what_a_completion_puts_is_in_the_commit_of_the_end_and_wakes_who_waits() {
    let mut stage = Stage::new();
    let (id, attempt, _) = running(&mut stage);
    enter(&mut stage, B, "b");
    let waits = execute(&mut stage, B, 1, pull());
    assert_eq!(answer(&stage.settle(), waits), None);
    stage.request(A, done(id, attempt, vec![put(2), put(3)]));
    let [(ticket, transaction)] = &stage.commits()[..] else { panic!("one commit") };
    assert_eq!(writes(transaction, &keys::all_finished(PART)), 1);
    assert_eq!(writes(transaction, &keys::tuples(PART)), 3, "a claim ends, two tuples come");
    let committed = stage.ledger.commit(transaction);
    stage.coordinator.handle_commit(stage.now, *ticket, committed);
    assert_eq!(found(answer(&stage.settle(), waits)).0, 2);
    assert_eq!(all(&mut stage), [(2, true), (3, false)]);
}

#[test]
fn a_try_that_is_over_puts_nothing() {
    let mut stage = Stage::new();
    let (task, attempt, _) = running(&mut stage);
    let (cause, text, detail) = (Cause::Lost, String::new(), Vec::new());
    stage.request(A, Request::Fail { task, attempt, cause, text, detail });
    let [(_, _, next)] = assigned(&stage.settle())[..] else { panic!("it is tried again") };
    let late = stage.request(A, done(task, attempt, vec![put(2)]));
    assert_eq!(answer(&stage.settle(), late), Some(&refused(Refusal::Superseded)));
    assert_eq!(all(&mut stage), [(1, false)]);
    stage.request(A, done(task, Attempt(next), vec![put(2)]));
    stage.settle();
    assert_eq!(all(&mut stage), [(1, false), (2, false)]);
}

/// The coordinator dies after each of the commits in turn, with or without that commit done; all
/// who were not answered ask the next one. Whatever it is, the tuple was altered once.
#[test]
fn a_coordinator_that_dies_after_any_commit_leaves_what_was_put_once() {
    for (dies_after, is_done) in (0..4).flat_map(|at| [(at, false), (at, true)]) {
        let mut stage = Stage::new();
        let (id, attempt, _) = running(&mut stage);
        enter(&mut stage, B, "b");
        let waits = execute(&mut stage, B, 1, pull());
        let request = done(id, attempt, vec![put(2)]);
        let call = stage.request(A, request.clone());
        let mut said = Vec::new();
        for at in 0.. {
            let commits = stage.commits();
            if commits.is_empty() {
                break;
            }
            for (ticket, transaction) in commits {
                let dies = at == dies_after;
                let committed = if dies && !is_done {
                    Err(CommitError::Unknown)
                } else {
                    stage.ledger.commit(&transaction)
                };
                if !dies {
                    stage.coordinator.handle_commit(stage.now, ticket, committed);
                }
            }
            if at == dies_after {
                stage.succeed(2);
                stage.join(A, "a", &[(id, attempt)], 1);
                stage.again(A, call, request.clone());
                stage.join(B, "b", &[], 0);
                let place = tidings_tasks_core::message::Place { slot: 0, sequence: 1 };
                let statement = Box::new(pull());
                stage.again(B, waits, Request::Execute { place, statement });
            }
            said.append(&mut stage.messages);
        }
        said.append(&mut stage.settle());
        assert_eq!(answer(&said, call), Some(&Answer::Done), "{dies_after} {is_done}");
        assert_eq!(found(answer(&said, waits)).0, 2, "{dies_after} {is_done}");
        assert_eq!(all(&mut stage), [(2, true)], "{dies_after} {is_done}");
    }
}

#[test]
fn puts_are_bounded_and_a_refused_completion_changes_nothing() {
    let mut stage = Stage::new();
    let (id, attempt, _) = running(&mut stage);
    let of = |space: &str, tuple| vec![Put { space: space.to_owned(), tuple }];
    let large = Tuple::new(vec![Field::from("x".repeat(16 * 1024))]);
    for (puts, says) in [
        (vec![put(2); 17], "17 tuples to put; at most 16"),
        (of("", tuple(2)), "name of a space"),
        (of("s", Tuple::new(vec![])), "1 to 16 fields"),
        (vec![of("s", large)[0].clone(); 5], "at most 65536"),
    ] {
        let call = stage.request(A, done(id, attempt, puts));
        let said = stage.settle();
        let Some(Answer::Refused(Refusal::Invalid(why))) = answer(&said, call) else {
            panic!("{said:?}")
        };
        assert!(why.contains(says), "{why}");
        assert_eq!(all(&mut stage), [(1, true)]);
    }
    let call = stage.request(A, done(id, attempt, vec![put(2); 16]));
    assert_eq!(answer(&stage.settle(), call), Some(&Answer::Done));
    assert_eq!(all(&mut stage), [(2, false); 16]);
}

/// The keys of a completion and its tuples are one commit: what a key refuses puts nothing.
#[test]
fn a_completion_that_expects_another_key_puts_nothing() {
    use tidings_tasks_core::message::Effect;
    let mut stage = Stage::new();
    let (id, attempt, _) = running(&mut stage);
    let effects = vec![Effect { key: b"k".to_vec(), value: None, expect: Some(77) }];
    let Request::Complete { task, attempt, result, children, puts, .. } =
        done(id, attempt, vec![put(2)])
    else {
        panic!("a completion")
    };
    let request = Request::Complete { task, attempt, result, children, effects, puts };
    let call = stage.request(A, request);
    let said = stage.settle();
    let refusal = answer(&said, call);
    assert!(matches!(refusal, Some(Answer::Refused(Refusal::EffectConflict(_)))), "{refusal:?}");
    assert_eq!(all(&mut stage), [(1, true)]);
}

/// A request as those wrote it that knew of no tuples.
#[test]
fn an_older_completion_puts_nothing() {
    let request = done(TaskId::of("t", 1), Attempt(1), Vec::new());
    let mut bytes = minicbor::to_vec(&request).unwrap();
    // [5, [task, attempt, result, children, effects, puts]], without the last, an empty list.
    assert_eq!((bytes[2], bytes.pop()), (0x86, Some(0x80)));
    bytes[2] = 0x85;
    assert_eq!(minicbor::decode::<Request>(&bytes).unwrap(), request);
}

/// A session that puts by statement, beside a task of the same process.
#[test]
fn a_statement_and_a_completion_put_in_their_order() {
    let mut stage = Stage::new();
    let (id, attempt, inside) = running(&mut stage);
    let other: Peer = inside;
    execute(&mut stage, other, 3, Statement::put("s", &tuple(5)));
    stage.request(A, done(id, attempt, vec![put(6)]));
    stage.settle();
    assert_eq!(all(&mut stage), [(5, false), (6, false)]);
}
