//! Tasks that wait for others.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;
use tidings_primitives::Chance;
use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::{Answer, Refusal, Request, Submission};
use tidings_tasks_core::record::{Outcome, State};
use tidings_tasks_core::retry::{Cause, Retry};
use tidings_tasks_core::view::{InputState, Why};

use crate::stage::*;

fn id(number: u64) -> TaskId {
    task(number).id
}

/// A task that waits for others.
fn after(number: u64, inputs: &[u64]) -> Submission {
    Submission { inputs: inputs.iter().map(|input| id(*input)).collect(), ..task(number) }
}

fn fail(number: u64, attempt: u32) -> Request {
    let text = "it has no licence".to_owned();
    let (task, attempt) = (id(number), Attempt(attempt));
    Request::Fail { task, attempt, cause: Cause::Error, text, detail: Vec::new() }
}

/// A worker with many slots.
fn working() -> Stage {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 100);
    stage.settle();
    stage
}

/// Which tasks a worker was given.
fn given(
    said: &[(tidings_tasks_core::message::Peer, tidings_tasks_core::message::Message)],
) -> BTreeSet<TaskId> {
    assigned(said).into_iter().map(|(_, id, _)| id).collect()
}

fn ids(numbers: &[u64]) -> BTreeSet<TaskId> {
    numbers.iter().map(|number| id(*number)).collect()
}

fn text_of(stage: &Stage, number: u64) -> String {
    let finished = stage.finished(id(number)).expect("it has ended");
    assert_eq!(finished.outcome, Outcome::Failed);
    let last = finished.task.failures.last().expect("a failure").clone();
    assert_eq!(last.cause, Cause::Input);
    last.text
}

#[test]
fn a_diamond_runs_from_its_top_to_its_bottom() {
    let mut stage = working();
    // In any order of submission.
    stage.submit(&[after(3, &[1, 2]), after(1, &[0]), after(2, &[0]), task(0)]);
    assert_eq!(given(&stage.settle()), ids(&[0]));
    stage.request(A, complete(id(0), 1));
    assert_eq!(given(&stage.settle()), ids(&[1, 2]));
    stage.request(A, complete(id(1), 1));
    assert_eq!(given(&stage.settle()), ids(&[]));
    assert_eq!(stage.live(id(3)).unwrap().state, State::Waiting);
    stage.request(A, complete(id(2), 1));
    assert_eq!(given(&stage.settle()), ids(&[3]));
}

/// A task that waits costs no more commits than another: what is written is written of it alone.
#[test]
fn nothing_is_written_when_a_task_is_released() {
    let mut stage = working();
    stage.submit(&[task(0), after(1, &[0]), after(2, &[0])]);
    stage.settle();
    stage.request(A, complete(id(0), 1));
    let commits = stage.commits();
    assert_eq!(commits.len(), 1);
    assert_eq!(commits[0].1.writes.len(), 2, "{:?}", commits[0].1);
}

#[test]
fn inputs_may_have_ended_before() {
    let mut stage = working();
    stage.submit(&[task(0), task(1)]);
    stage.settle();
    stage.request(A, complete(id(0), 1));
    stage.settle();
    stage.submit(&[after(2, &[0]), after(3, &[0, 1])]);
    assert_eq!(given(&stage.settle()), ids(&[2]));
    stage.request(A, complete(id(1), 1));
    assert_eq!(given(&stage.settle()), ids(&[3]));
}

#[test]
fn who_waits_for_what_failed_fails_with_the_chain() {
    let mut stage = working();
    stage.submit(&[task(0), after(1, &[0]), after(2, &[1]), after(3, &[2]), task(9)]);
    let call = stage.request(CLIENT, Request::Wait { task: id(3) });
    stage.settle();
    stage.request(A, fail(0, 1));
    let said = stage.settle();
    assert!(matches!(answer(&said, call), Some(Answer::Outcome(_))));
    let (zero, one, two) = (id(0), id(1), id(2));
    let chain = format!(
        "input {two} has failed: input {one} has failed: input {zero} has failed: it has no licence"
    );
    assert_eq!(text_of(&stage, 3), chain);
    assert_eq!(stage.finished(id(3)).unwrap().task.attempt, Attempt(0), "it has not run");
    assert!(stage.live(id(9)).is_some(), "others go on");
    // Whoever comes later fails as well, and is told the same.
    stage.submit(&[after(4, &[3])]);
    stage.settle();
    assert_eq!(text_of(&stage, 4), format!("input {} has failed: {chain}", id(3)));
}

#[test]
fn a_cancelled_input_ends_those_that_wait() {
    let mut stage = working();
    stage.submit(&[task(0), after(1, &[0]), after(2, &[1])]);
    stage.settle();
    stage.request(CLIENT, Request::Cancel { task: id(1) });
    stage.settle();
    assert_eq!(text_of(&stage, 2), format!("input {} was cancelled", id(1)));
}

/// However many wait, a commit ends as many as it can carry.
#[test]
fn many_fail_in_commits_of_bounded_size() {
    let mut stage = Stage::with(|settings| {
        (settings.limits.operations, settings.cached_bytes) = (20, 0);
    });
    stage.join(A, "a", &[], 1);
    let consumers: Vec<Submission> = (1..900).map(|number| after(number, &[0])).collect();
    stage.submit(&[task(0)]);
    stage.submit(&consumers);
    stage.settle();
    stage.request(A, fail(0, 1));
    loop {
        let commits = stage.commits();
        if commits.is_empty() {
            break;
        }
        for (ticket, transaction) in commits {
            assert!(transaction.operations() <= 20);
            let answer = stage.ledger.commit(&transaction);
            stage.coordinator.handle_commit(stage.now, ticket, answer);
        }
    }
    assert_eq!(stage.coordinator.live(), 0);
    assert!(text_of(&stage, 899).contains("licence"));
}

#[test]
fn what_was_tried_again_is_waited_for_again() {
    let mut stage = working();
    stage.submit(&[task(0), after(1, &[0]), after(2, &[1])]);
    stage.settle();
    stage.request(A, fail(0, 1));
    stage.settle();
    for number in [0, 1, 2] {
        stage.request(CLIENT, Request::Revive { task: id(number) });
        stage.settle();
    }
    assert_eq!(stage.live(id(2)).unwrap().state, State::Waiting);
    stage.request(A, complete(id(0), 2));
    assert_eq!(given(&stage.settle()), ids(&[1]));
    stage.request(A, complete(id(1), 1));
    assert_eq!(given(&stage.settle()), ids(&[2]));
}

#[test]
fn circles_and_unknown_inputs_are_refused() {
    let mut stage = working();
    let call = stage.submit(&[after(0, &[2]), after(1, &[0]), after(2, &[1]), task(3)]);
    let (zero, one, two) = (id(0), id(1), id(2));
    let circle = format!(
        "tasks wait for each other in a circle: {zero} waits for {two} waits for {one} waits for \
         {zero}"
    );
    assert_eq!(answer(&stage.settle(), call), Some(&refused(Refusal::Invalid(circle))));
    let call = stage.submit(&[after(1, &[1])]);
    let said = stage.settle();
    let Some(Answer::Refused(Refusal::Invalid(reason))) = answer(&said, call) else { panic!() };
    assert!(reason.contains(&format!("circle: {one} waits for {one}")), "{reason}");
    let call = stage.submit(&[task(4), after(5, &[4, 6])]);
    let unknown = format!(
        "task {} waits for {}, which is not known: submit that one first, or with it",
        id(5),
        id(6)
    );
    assert_eq!(answer(&stage.settle(), call), Some(&refused(Refusal::Invalid(unknown))));
    assert_eq!(stage.coordinator.live(), 0);
}

/// What somebody still waits for is not forgotten; what nobody waits for any more is.
#[test]
fn inputs_are_kept_while_somebody_waits() {
    let mut stage = working();
    stage.submit(&[task(0), task(1), after(2, &[0, 1])]);
    stage.settle();
    stage.request(A, complete(id(0), 1));
    stage.settle();
    let call = stage.request(CLIENT, Request::Forget { tasks: vec![id(0)] });
    assert_eq!(answer(&stage.settle(), call), Some(&Answer::Forgotten(0)));
    stage.request(A, complete(id(1), 1));
    stage.settle();
    let call = stage.request(CLIENT, Request::Forget { tasks: vec![id(0), id(1)] });
    assert_eq!(answer(&stage.settle(), call), Some(&Answer::Forgotten(0)), "it runs");
    stage.request(A, complete(id(2), 1));
    stage.settle();
    let call = stage.request(CLIENT, Request::Forget { tasks: vec![id(0), id(1)] });
    assert_eq!(answer(&stage.settle(), call), Some(&Answer::Forgotten(2)));
}

#[test]
fn submissions_wait_while_there_are_too_many_edges() {
    let mut stage = Stage::with(|settings| settings.queue_capacity = 10);
    stage.join(A, "a", &[], 1);
    let producers: Vec<Submission> = (0..9).map(task).collect();
    stage.submit(&producers);
    let all: Vec<u64> = (0..9).collect();
    let wide: Vec<Submission> = (100..109)
        .map(|number| Submission { queue: "other".into(), ..after(number, &all) })
        .collect();
    stage.submit(&wide);
    let mut said = stage.settle();
    let late = Submission { queue: "third".into(), ..after(200, &[0]) };
    let call = stage.submit(&[late]);
    assert_eq!(answer(&stage.settle(), call), None);
    for _ in 0..10 {
        let Some((_, task, attempt)) = assigned(&said).first().copied() else { break };
        stage.request(A, complete(task, attempt));
        said = stage.settle();
        if answer(&said, call).is_some() {
            break;
        }
    }
    assert_eq!(answer(&said, call), Some(&Answer::Submitted(1)));
}

#[test]
fn it_is_explained_why_a_task_waits() {
    let mut stage = Stage::new();
    stage.submit(&[task(0), after(1, &[0]), after(2, &[1])]);
    stage.settle();
    let why = |stage: &mut Stage, number| {
        let call = stage.request(CLIENT, Request::Explain { task: id(number) });
        let said = stage.settle();
        let Some(Answer::Explained(why, _)) = answer(&said, call) else { panic!("{said:?}") };
        (**why).clone()
    };
    assert_eq!(why(&mut stage, 0), Why::NoWorker);
    assert_eq!(why(&mut stage, 1), Why::Inputs(1, vec![(id(0), InputState::Ready)]));
    assert_eq!(why(&mut stage, 2), Why::Inputs(1, vec![(id(1), InputState::Waiting)]));
    stage.join(A, "a", &[], 1);
    stage.settle();
    assert_eq!(why(&mut stage, 0), Why::Running(Vec::new()));
    assert_eq!(why(&mut stage, 9), Why::Absent);
    stage.submit(&[task(5)]);
    stage.settle();
    assert_eq!(why(&mut stage, 5), Why::Busy { workers: 1, ready: 1 });
    let need = "gpu=1".parse().expect("a need");
    let resources = vec![("cpus".to_owned(), 8_000)];
    let offer = Request::Offer { queues: Vec::new(), slots: 8, resources, ahead: 0, full: None };
    stage.request(A, offer);
    stage.submit(&[Submission { need, ..task(6) }]);
    stage.settle();
    let Why::Unfit(unfit) = why(&mut stage, 6) else { panic!() };
    assert_eq!((unfit.workers, unfit.is_filtered), (1, false));
    assert_eq!(unfit.lacks, [("gpu".to_owned(), 1_000, 0)]);
}

/// A graph, its store, and who has died so far.
struct Play {
    stage: Stage,
    epoch: u64,
    chance: Chance,
    runs: BTreeMap<TaskId, u32>,
}

impl Play {
    /// Lets some commits happen, and then another coordinator takes over: of those that are on
    /// their way a part is lost.
    fn die(&mut self) {
        for (_, transaction) in self.stage.commits() {
            if self.chance.happens(0.5) {
                break;
            }
            let _ = self.stage.ledger.commit(&transaction);
        }
        self.stage.messages.clear();
        self.epoch += 1;
        self.stage.succeed(self.epoch);
        let name = format!("w{}", self.epoch);
        // A worker of another name: what ran is lost, and is tried again.
        self.stage.join(A, &name, &[], 3);
    }

    /// A commit or two.
    fn step(&mut self) {
        for (ticket, transaction) in self.stage.commits() {
            let answer = self.stage.ledger.commit(&transaction);
            self.stage.coordinator.handle_commit(self.stage.now, ticket, answer);
        }
    }

    /// Each task has ended as the graph says.
    fn check(
        &self,
        all: &[Submission],
        failing: &BTreeSet<u64>,
        done: &BTreeSet<TaskId>,
    ) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.stage.coordinator.live(), 0);
        let mut can = BTreeSet::new();
        for (number, task) in (0..).zip(all) {
            let is_free = task.inputs.iter().all(|input| can.contains(input));
            let runs = self.runs.get(&task.id).copied().unwrap_or_default();
            prop_assert_eq!(runs > 0, is_free, "{}", number);
            if is_free && !failing.contains(&number) {
                can.insert(task.id);
            }
            prop_assert_eq!(done.contains(&task.id), can.contains(&task.id), "{}", number);
            if !is_free {
                prop_assert!(text_of(&self.stage, number).contains("licence"));
            }
        }
        Ok(())
    }
}

/// Tasks that are lost with their workers as often as it takes.
fn graph(edges: &[(u64, u64)], count: u64) -> Vec<Submission> {
    let retry = Retry { losses: 60, ..Retry::default() };
    let inputs = |at: u64| {
        let own = edges.iter().filter(|(to, from)| *to == at && from < to);
        own.map(|(_, from)| *from).collect::<Vec<_>>()
    };
    (0..count).map(|at| Submission { retry, ..after(at, &inputs(at)) }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever the shape, wherever coordinators die: each task ends as the graph says. It is done
    /// if all before it can be, and then runs behind them; else it has not run. What was done when
    /// a coordinator died does not run again.
    #[test]
    fn a_graph_of_any_shape_ends_as_its_oracle_says(
        edges in vec((0..14_u64, 0..14_u64), 0..40),
        failing in prop::collection::btree_set(0..14_u64, 0..3),
        deaths in vec(0..30_usize, 0..6),
        seed: u64,
        small: bool,
    ) {
        let all = graph(&edges, 14);
        let stage = Stage::with(|settings| {
            settings.pipeline = 2;
            if small {
                (settings.limits.operations, settings.cached_bytes) = (16, 0);
            }
        });
        let chance = Chance::new(seed);
        let mut play = Play { stage, epoch: 1, chance, runs: BTreeMap::new() };
        play.stage.join(A, "w1", &[], 3);
        let mut call = play.stage.submit(&all);
        let (mut is_there, mut done) = (false, BTreeSet::new());
        for round in 0..400 {
            if deaths.contains(&round) {
                play.die();
                if !is_there {
                    call = play.stage.submit(&all);
                }
            }
            play.step();
            let said = core::mem::take(&mut play.stage.messages);
            is_there |= matches!(answer(&said, call), Some(Answer::Submitted(_)));
            for (_, task, attempt) in assigned(&said) {
                *play.runs.entry(task).or_default() += 1;
                prop_assert!(!done.contains(&task), "{task} was done, and runs again");
                let number = (0..14).find(|number| id(*number) == task).unwrap();
                for input in &all[number as usize].inputs {
                    prop_assert!(done.contains(input), "{task} runs before {input}");
                }
                play.stage.request(A, if failing.contains(&number) {
                    fail(number, attempt)
                } else {
                    complete(task, attempt)
                });
            }
            let is_done = |number: &u64| {
                let ended = play.stage.finished(id(*number));
                ended.is_some_and(|one| matches!(one.outcome, Outcome::Done(_)))
            };
            done.extend((0..14).filter(is_done).map(id));
            // Time passes only for those who have to come back.
            play.stage.now = play.stage.now + TTL / 4;
            if play.stage.coordinator.poll_timeout().is_some_and(|due| due <= play.stage.now) {
                play.stage.coordinator.handle_timeout(play.stage.now);
            }
            play.stage.request(A, Request::Heartbeat);
        }
        play.check(&all, &failing, &done)?;
    }
}
