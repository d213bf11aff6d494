//! Tuples: found, claimed and waited for, and what ends with those who have pulled them.

use core::time::Duration;

use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::message::{Answer, Call, Peer, Place, Refusal, Request};
use tidings_tasks_core::retry::Cause;
use tidings_tasks_core::transaction::Key;
use tidings_tasks_core::tuple::{
    Field, In, Out, Pattern, Settled, Statement, Stored, Template, Term, Tuple, Type,
};
use tidings_tasks_core::view::TupleView;

use crate::stage::*;

/// Opens slot 0 of a session, without which it has no statements.
fn open(stage: &mut Stage, peer: Peer) {
    execute(stage, peer, 0, Statement::default());
    stage.settle();
}

/// Joins, and opens slot 0.
pub(crate) fn enter(stage: &mut Stage, peer: Peer, name: &str) {
    stage.join(peer, name, &[], 0);
    open(stage, peer);
}

pub(crate) fn execute(stage: &mut Stage, peer: Peer, sequence: u64, statement: Statement) -> Call {
    let place = Place { slot: 0, sequence };
    stage.request(peer, Request::Execute { place, statement: Box::new(statement) })
}

pub(crate) fn tuple(number: i64) -> Tuple {
    Tuple::new(vec!["n".into(), Field::Int(number)])
}

fn put(number: i64) -> Statement {
    Statement::put("s", &tuple(number))
}

/// Any tuple of the kind.
fn any() -> Template {
    Template(vec!["n".into(), Type::Int.into()])
}

pub(crate) fn pull() -> Statement {
    Statement::of_one("s", any(), true)
}

fn try_pull() -> Statement {
    Statement { wait_ms: Some(0), ..pull() }
}

/// The second field and the number of the tuple that the only in has found.
pub(crate) fn found(answer: Option<&Answer>) -> (i64, u64) {
    let Some(Answer::Matched(found)) = answer else { panic!("{answer:?}") };
    let [one] = &found[..] else { panic!("{found:?}") };
    let Field::Int(value) = one.tuple.fields()[1] else { panic!("{one:?}") };
    (value, one.number)
}

/// What the space has: the values, and whether they are claimed.
pub(crate) fn all(stage: &mut Stage) -> Vec<(i64, bool)> {
    let asked = Request::Tuples { space: "s".to_owned(), from: None, limit: 1_000 };
    let call = stage.request(CLIENT, asked);
    let said = stage.settle();
    let Some(Answer::Tuples(views, None)) = answer(&said, call) else { panic!("{said:?}") };
    let value = |view: &TupleView| match view.tuple.fields()[1] {
        Field::Int(value) => (value, view.claim.is_some()),
        _ => panic!("{view:?}"),
    };
    views.iter().map(value).collect()
}

#[test]
fn the_oldest_tuple_that_matches_is_pulled_once() {
    let mut stage = Stage::new();
    enter(&mut stage, A, "a");
    enter(&mut stage, B, "b");
    execute(&mut stage, A, 1, put(1));
    execute(&mut stage, B, 1, put(2));
    stage.settle();
    let [a, b] = [A, B].map(|peer| execute(&mut stage, peer, 2, pull()));
    let said = stage.settle();
    assert_eq!([a, b].map(|call| found(answer(&said, call)).0), [1, 2]);
    assert_eq!(all(&mut stage), [(1, true), (2, true)]);
    let none = execute(&mut stage, A, 3, try_pull());
    assert_eq!(answer(&stage.settle(), none), Some(&Answer::NoMatch));
}

#[test]
fn those_that_wait_get_tuples_in_their_order() {
    let mut stage = Stage::new();
    enter(&mut stage, A, "a");
    enter(&mut stage, B, "b");
    enter(&mut stage, CLIENT, "c");
    let [a, b] = [A, B].map(|peer| execute(&mut stage, peer, 1, pull()));
    assert!(stage.settle().is_empty());
    execute(&mut stage, CLIENT, 1, put(1));
    let said = stage.settle();
    assert_eq!((found(answer(&said, a)).0, answer(&said, b)), (1, None));
    execute(&mut stage, CLIENT, 2, put(2));
    assert_eq!(found(answer(&stage.settle(), b)).0, 2);
}

#[test]
fn one_who_reads_leaves_the_tuple_to_the_next() {
    let mut stage = Stage::new();
    enter(&mut stage, A, "a");
    enter(&mut stage, B, "b");
    let read = execute(&mut stage, A, 1, Statement::of_one("s", any(), false));
    let pulled = execute(&mut stage, B, 1, pull());
    stage.settle();
    enter(&mut stage, CLIENT, "c");
    execute(&mut stage, CLIENT, 1, put(1));
    let said = stage.settle();
    assert_eq!(found(answer(&said, read)), found(answer(&said, pulled)));
}

#[test]
fn a_wait_ends_in_time() {
    let mut stage = Stage::new();
    enter(&mut stage, A, "a");
    let wait = Statement { wait_ms: Some(500), ..pull() };
    let call = execute(&mut stage, A, 1, wait);
    assert_eq!(answer(&stage.pass(Duration::from_millis(499)), call), None);
    assert_eq!(answer(&stage.pass(Duration::from_millis(2)), call), Some(&Answer::NoMatch));
    execute(&mut stage, A, 1, put(1));
    stage.settle();
    assert_eq!(all(&mut stage), [(1, false)]);
}

#[test]
fn what_a_session_has_pulled_is_there_again_when_it_ends() {
    let mut stage = Stage::new();
    enter(&mut stage, A, "a");
    enter(&mut stage, B, "b");
    execute(&mut stage, A, 1, put(1));
    stage.settle();
    execute(&mut stage, A, 2, pull());
    stage.settle();
    let waits = execute(&mut stage, B, 1, pull());
    assert_eq!(answer(&stage.settle(), waits), None);
    stage.request(A, Request::Leave);
    assert_eq!(found(answer(&stage.settle(), waits)).0, 1);
    let left = stage.ledger.scan(&keys::pasts(PART), keys::pasts(PART).after_prefix().as_ref(), 9);
    assert_eq!(left.records.len(), 1, "slots end with their sessions");
}

#[test]
fn what_was_pulled_when_the_session_ended_on_the_way_is_there_again() {
    let mut stage = Stage::new();
    stage.pass(TTL * 2);
    enter(&mut stage, A, "a");
    execute(&mut stage, A, 1, put(1));
    stage.settle();
    execute(&mut stage, A, 2, pull());
    let commits = stage.commits();
    stage.coordinator.handle_host_lost(stage.now, "host-a");
    for (ticket, transaction) in commits {
        let answer = stage.ledger.commit(&transaction);
        stage.coordinator.handle_commit(stage.now, ticket, answer);
    }
    stage.settle();
    assert_eq!(all(&mut stage), [(1, false)]);
}

#[test]
fn a_claim_is_settled_with_what_is_put_in_one_commit() {
    let mut stage = Stage::new();
    enter(&mut stage, A, "a");
    execute(&mut stage, A, 1, put(1));
    stage.settle();
    let pulled = execute(&mut stage, A, 2, pull());
    let (_, number) = found(answer(&stage.settle(), pulled));
    let before = stage.ledger.revision();
    let settled = vec![Settled { number, is_gone: true }];
    let call = execute(&mut stage, A, 3, Statement { settled, ..put(2) });
    assert_eq!(answer(&stage.settle(), call), Some(&Answer::Matched(Vec::new())));
    assert_eq!(stage.ledger.revision().0, before.0 + 1);
    assert_eq!(all(&mut stage), [(2, false)]);
    let settled = vec![Settled { number, is_gone: true }];
    let again = execute(&mut stage, A, 4, Statement { settled, ..Statement::default() });
    assert_eq!(answer(&stage.settle(), again), Some(&refused(Refusal::NoClaim)));
}

#[test]
fn a_repeated_statement_is_done_once() {
    let mut stage = Stage::new();
    enter(&mut stage, A, "a");
    let place = Place { slot: 0, sequence: 1 };
    let request = Request::Execute { place, statement: Box::new(put(1)) };
    let call = stage.request(A, request.clone());
    stage.settle();
    stage.again(A, call, request.clone());
    assert_eq!(answer(&stage.settle(), call), Some(&Answer::Matched(Vec::new())));
    stage.succeed(2);
    stage.join(A, "a", &[], 0);
    stage.again(A, call, request.clone());
    assert_eq!(answer(&stage.settle(), call), Some(&Answer::Matched(Vec::new())));
    assert_eq!(all(&mut stage), [(1, false)]);
    // Once the session has ended, nobody knows whether it was done.
    stage.request(A, Request::Leave);
    stage.settle();
    stage.join(A, "a", &[], 0);
    stage.again(A, call, request);
    assert_eq!(answer(&stage.settle(), call), Some(&refused(Refusal::Lapsed)));
}

#[test]
fn who_waits_over_another_connection_keeps_its_turn() {
    let mut stage = Stage::new();
    enter(&mut stage, A, "a");
    enter(&mut stage, B, "b");
    let place = Place { slot: 0, sequence: 1 };
    let request = Request::Execute { place, statement: Box::new(pull()) };
    let first = stage.request(A, request.clone());
    execute(&mut stage, B, 1, pull());
    let other = Peer(77);
    stage.join(other, "a", &[], 0);
    stage.again(other, first, request);
    stage.settle();
    enter(&mut stage, CLIENT, "c");
    execute(&mut stage, CLIENT, 1, put(1));
    let said = stage.settle();
    assert_eq!(found(answer(&said, first)).0, 1);
    assert!(said.iter().any(|(peer, _)| *peer == other) && all(&mut stage).len() == 1);
}

#[test]
fn several_ins_and_outs_are_one_commit() {
    let mut stage = Stage::new();
    enter(&mut stage, A, "a");
    enter(&mut stage, B, "b");
    let one = |value: i64| In {
        space: "s".to_owned(),
        template: Template(vec![Pattern::Any, Field::Int(value).into()]),
        is_pulled: true,
    };
    let terms = vec![Term::Found(0, 0), Field::Int(3).into()];
    let outs = vec![Out { space: "s".to_owned(), terms }];
    let both =
        Statement { ins: vec![one(1), one(2)], outs, consumes: true, ..Statement::default() };
    let call = execute(&mut stage, A, 1, both);
    execute(&mut stage, B, 1, put(1));
    assert_eq!(answer(&stage.settle(), call), None);
    assert_eq!(all(&mut stage), [(1, false)], "it reserves nothing");
    execute(&mut stage, B, 2, put(2));
    assert!(
        matches!(answer(&stage.settle(), call), Some(Answer::Matched(found)) if found.len() == 2)
    );
    assert_eq!(all(&mut stage), [(3, false)]);
}

/// A task of A that runs, and a session `in-task` of its process at peer 50.
pub(crate) fn running(stage: &mut Stage) -> (TaskId, Attempt, Peer) {
    stage.join(A, "a", &[], 1);
    stage.submit(&[task(1)]);
    let [(_, id, attempt)] = assigned(&stage.settle())[..] else { panic!("one task") };
    let inside = Peer(50);
    enter(stage, inside, "in-task");
    execute(stage, inside, 1, put(1));
    stage.settle();
    let owned = Statement { owner: Some((id, Attempt(attempt))), ..pull() };
    let call = execute(stage, inside, 2, owned);
    assert_eq!(found(answer(&stage.settle(), call)).0, 1);
    (id, Attempt(attempt), inside)
}

#[test]
fn a_task_that_is_done_consumes_what_it_has_pulled_in_the_same_commit() {
    let mut stage = Stage::new();
    let (id, attempt, inside) = running(&mut stage);
    stage.request(inside, Request::Leave);
    stage.settle();
    assert_eq!(all(&mut stage), [(1, true)], "the claim is the task's, not the session's");
    let before = stage.ledger.revision();
    stage.request(A, complete(id, attempt.0));
    stage.settle();
    assert_eq!(stage.ledger.revision().0, before.0 + 1);
    assert!(stage.finished(id).is_some() && all(&mut stage).is_empty());
}

#[test]
fn what_a_killed_task_has_pulled_is_there_again_in_the_commit_that_ends_its_try() {
    let mut stage = Stage::new();
    let (id, attempt, inside) = running(&mut stage);
    let waits = execute(&mut stage, inside, 3, pull());
    stage.settle();
    stage.coordinator.handle_host_lost(stage.now, "host-a");
    let commits = stage.commits();
    assert_eq!(commits.len(), 1);
    for (ticket, transaction) in commits {
        let writes = |prefix: Key| {
            let mut all = transaction.writes.iter();
            all.any(|write| write.key().as_bytes().starts_with(prefix.as_bytes()))
        };
        assert!(writes(keys::tasks(PART)) && writes(keys::tuples(PART)));
        let answer = stage.ledger.commit(&transaction);
        stage.coordinator.handle_commit(stage.now, ticket, answer);
    }
    assert_eq!(found(answer(&stage.settle(), waits)).0, 1);
    let late = Statement { owner: Some((id, attempt)), ..try_pull() };
    let late = execute(&mut stage, inside, 4, late);
    assert_eq!(answer(&stage.settle(), late), Some(&refused(Refusal::Superseded)));
}

#[test]
fn a_task_that_fails_or_is_late_gives_back_what_it_has_pulled() {
    let mut stage = Stage::new();
    let (id, attempt, _) = running(&mut stage);
    let (cause, text, detail) = (Cause::Error, String::new(), Vec::new());
    stage.request(A, Request::Fail { task: id, attempt, cause, text, detail });
    stage.settle();
    assert_eq!(all(&mut stage), [(1, false)]);
    stage.request(A, complete(id, attempt.0));
    stage.settle();
    assert_eq!(all(&mut stage), [(1, false)], "a try that is over consumes nothing");
}

#[test]
fn another_coordinator_knows_what_was_claimed_and_by_whom() {
    let mut stage = Stage::new();
    let (id, attempt, _) = running(&mut stage);
    enter(&mut stage, B, "b");
    execute(&mut stage, B, 1, put(2));
    stage.settle();
    let pulled = execute(&mut stage, B, 2, pull());
    assert_eq!(found(answer(&stage.settle(), pulled)).0, 2);
    stage.succeed(2);
    stage.join(A, "a", &[(id, attempt)], 1);
    stage.settle();
    assert_eq!(all(&mut stage), [(1, true), (2, true)]);
    stage.request(A, complete(id, attempt.0));
    // B does not come back.
    stage.pass(TTL * 2);
    assert_eq!(all(&mut stage), [(2, false)]);
}

#[test]
fn a_store_that_is_full_leaves_all_as_it_was() {
    use tidings_tasks_core::transaction::CommitError;
    let mut stage = Stage::new();
    enter(&mut stage, A, "a");
    execute(&mut stage, A, 1, put(1));
    stage.settle();
    let call = execute(&mut stage, A, 2, pull());
    for (ticket, _) in stage.commits() {
        let full = Err(CommitError::Full("no space".to_owned()));
        stage.coordinator.handle_commit(stage.now, ticket, full);
    }
    let full = Refusal::Full("no space".to_owned());
    assert_eq!(answer(&stage.pass(Duration::from_secs(2)), call), Some(&refused(full)));
    let call = execute(&mut stage, A, 2, pull());
    assert_eq!(found(answer(&stage.settle(), call)).0, 1);
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    let mut stage = Stage::new();
    let call = execute(&mut stage, A, 0, Statement::default());
    assert_eq!(answer(&stage.settle(), call), Some(&refused(Refusal::NoSession)));
    enter(&mut stage, A, "a");
    let long = Statement::of_one("s", Template(vec![Pattern::Any; 17]), true);
    let nameless = Statement::of_one("", any(), true);
    for (statement, says) in [(long, "1 to 16 fields"), (nameless, "name of a space")] {
        let call = execute(&mut stage, A, 1, statement);
        let said = stage.settle();
        let Some(Answer::Refused(Refusal::Invalid(why))) = answer(&said, call) else {
            panic!("{said:?}")
        };
        assert!(why.contains(says), "{why}");
    }
    let call = execute(&mut stage, A, 7, put(1));
    let said = stage.settle();
    assert!(matches!(answer(&said, call), Some(Answer::Refused(Refusal::Invalid(_)))), "{said:?}");
    assert_eq!(all(&mut stage), []);
}

#[test]
fn a_withdrawn_wait_claims_nothing() {
    let mut stage = Stage::new();
    enter(&mut stage, A, "a");
    let place = Place { slot: 0, sequence: 1 };
    let call = execute(&mut stage, A, 1, pull());
    stage.settle();
    let withdrawn = stage.request(A, Request::GiveUp { place });
    let said = stage.settle();
    let answers = [call, withdrawn].map(|call| answer(&said, call).cloned());
    assert_eq!(answers, [Some(Answer::NoMatch), Some(Answer::NoMatch)]);
    execute(&mut stage, A, 1, put(1));
    stage.settle();
    assert_eq!(all(&mut stage), [(1, false)]);
}

#[test]
fn the_record_of_a_tuple_says_who_has_it() {
    let mut stage = Stage::new();
    enter(&mut stage, A, "a");
    execute(&mut stage, A, 1, put(1));
    stage.settle();
    let call = execute(&mut stage, A, 2, pull());
    let (_, number) = found(answer(&stage.settle(), call));
    let stored: Stored = get(stage.ledger.get(&keys::tuple(PART, "s", number))).expect("it");
    let claim = stored.claim.expect("a claim");
    assert_eq!((claim.holder.as_str(), claim.task, stored.tuple), ("a", None, tuple(1)));
}
