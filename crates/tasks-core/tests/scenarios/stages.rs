//! Submissions and completions that are larger than a commit of the store.

use tidings_tasks_core::coordinator::Coordinator;
use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::message::{Answer, Effect, Refusal, Request, Submission};

use crate::stage::*;

/// Enough for the commit by which the children count.
const OPERATIONS: usize = 15;

const CHILDREN: u64 = 19;

/// Small commits, one at a time.
fn small() -> Stage {
    Stage::with(|settings| (settings.limits.operations, settings.pipeline) = (OPERATIONS, 1))
}

fn parent() -> TaskId {
    task(0).id
}

fn child(number: u64) -> TaskId {
    parent().child(number)
}

/// The parent is done, with more children than a commit carries.
fn completion(effects: Vec<Effect>) -> Request {
    let children = (0..CHILDREN).map(|number| Submission { id: child(number), ..task(1) });
    let (result, children) = (vec![1], children.collect());
    Request::Complete {
        task: parent(),
        attempt: Attempt(1),
        result,
        children,
        effects,
        puts: Vec::new(),
    }
}

/// A worker has the parent.
fn working() -> Stage {
    let mut stage = small();
    stage.submit(&[task(0)]);
    stage.join(A, "a", &[], 1);
    assert_eq!(assigned(&stage.settle()), [(A, parent(), 1)]);
    stage
}

/// What lies in the store of children that are no tasks.
fn staged(stage: &Stage) -> usize {
    let prefix = keys::all_staged(PART);
    stage.ledger.scan(&prefix, prefix.after_prefix().as_ref(), usize::MAX).records.len()
}

/// How many of the children are tasks that have not ended.
fn tasks(stage: &Stage) -> u64 {
    (0..CHILDREN).filter(|&number| stage.live(child(number)).is_some()).count() as u64
}

/// Lets the store do so many commits, and none after them; returns how many there were to do.
fn commit(stage: &mut Stage, most: usize) -> usize {
    for done in 0..most {
        // One at a time is on its way.
        let Some((ticket, transaction)) = stage.commits().pop() else { return done };
        assert!(transaction.operations() <= OPERATIONS, "{transaction:?}");
        let answer = stage.ledger.commit(&transaction);
        stage.coordinator.handle_commit(stage.now, ticket, answer);
    }
    most
}

#[test]
fn a_large_submission_is_answered_when_all_of_it_is_there() {
    let mut stage = small();
    let all: Vec<_> = (0..10).map(task).collect();
    stage.submit(&all[..1]);
    stage.settle();
    let call = stage.submit(&all);
    assert!(commit(&mut stage, usize::MAX) > 1);
    let said = stage.settle();
    assert_eq!(answer(&said, call), Some(&Answer::Submitted(9)));
    assert!(all.iter().all(|task| stage.live(task.id).is_some()));
    // Sent again, it adds nothing.
    let call = stage.submit(&all);
    assert_eq!(answer(&stage.settle(), call), Some(&Answer::Submitted(0)));
}

#[test]
fn many_children_happen_with_their_parents_completion() {
    let mut stage = working();
    let call = stage.request(A, completion(Vec::new()));
    let mut commits = 0;
    while stage.finished(parent()).is_none() {
        assert_eq!((tasks(&stage), commit(&mut stage, 1)), (0, 1));
        commits += 1;
    }
    assert!(commits > 2, "portions come first: {commits}");
    let said = stage.settle();
    assert_eq!(answer(&said, call), Some(&Answer::Done));
    assert_eq!((tasks(&stage), staged(&stage)), (CHILDREN, 0));
    // The worker has one slot, and does them one after the other.
    assert_eq!(assigned(&said).len(), 1);
}

/// Whoever takes over at any moment has all children, or none and the parent still to be done.
#[test]
fn who_takes_over_reads_half_made_stages() {
    let (mut none, mut all) = (0, 0);
    for killed_after in 0.. {
        let mut stage = working();
        stage.request(A, completion(Vec::new()));
        let is_over = commit(&mut stage, killed_after) < killed_after;
        let was_done = stage.finished(parent()).is_some();
        let mut late: Coordinator = stage.succeed(2);
        assert_eq!(staged(&stage), 0, "killed after {killed_after}");
        assert_eq!(tasks(&stage), if was_done { CHILDREN } else { 0 });
        none += u32::from(!was_done);
        all += u32::from(was_done);
        // What the one before sends now is refused.
        while let Some((_, transaction)) = late.poll_commit() {
            assert!(stage.ledger.commit(&transaction).is_err());
        }
        stage.join(B, "a", &[(parent(), Attempt(1))], 1);
        let call = stage.request(B, completion(Vec::new()));
        let said = stage.settle();
        assert_eq!(answer(&said, call), Some(&Answer::Done), "killed after {killed_after}");
        assert_eq!((tasks(&stage), staged(&stage)), (CHILDREN, 0));
        if is_over {
            break;
        }
    }
    assert!(none >= 3 && all >= 3, "{none} times nothing was there, {all} times all was");
}

#[test]
fn a_completion_that_is_refused_leaves_nothing() {
    let mut stage = working();
    let value = Some(vec![1].into());
    let effects = vec![Effect { key: b"k".to_vec(), value, expect: Some(77) }];
    let call = stage.request(A, completion(effects));
    let said = stage.settle();
    let conflict = refused(Refusal::EffectConflict(None));
    assert_eq!(answer(&said, call), Some(&conflict));
    assert_eq!((tasks(&stage), staged(&stage)), (0, 0));
    // The children may be submitted by somebody else.
    let call = stage.submit(&[Submission { id: child(1), ..task(1) }]);
    assert_eq!(answer(&stage.settle(), call), Some(&Answer::Submitted(1)));
    let call = stage.request(A, complete(parent(), 1));
    assert_eq!(answer(&stage.settle(), call), Some(&Answer::Done));
}

#[test]
fn children_that_are_known_are_left_out() {
    let mut stage = working();
    stage.submit(&[Submission { id: child(2), ..task(1) }]);
    stage.settle();
    stage.request(A, completion(Vec::new()));
    let said = stage.settle();
    assert_eq!((tasks(&stage), staged(&stage)), (CHILDREN, 0));
    let first = assigned(&said)[0].1;
    stage.request(A, complete(first, 1));
    stage.settle();
    assert_eq!(tasks(&stage), CHILDREN - 1);
}
