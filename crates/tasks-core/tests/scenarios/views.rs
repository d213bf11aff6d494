//! What those who look on are shown, and what they may delete.

use std::collections::BTreeSet;

use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::message::{Answer, Call, Refusal, Request, Submission};
use tidings_tasks_core::record::{Outcome, State, Task};
use tidings_tasks_core::resources::Need;
use tidings_tasks_core::retry::Cause;
use tidings_tasks_core::transaction::CommitError;
use tidings_tasks_core::view::{Overview, Shown, TryView, Which};

use crate::stage::*;

fn overview(stage: &mut Stage) -> Overview {
    let call = stage.request(CLIENT, Request::Overview);
    match answer(&stage.settle(), call) {
        Some(Answer::Overview(overview)) => (**overview).clone(),
        other => panic!("{other:?}"),
    }
}

/// All pages of a list, looking at so many records at a time.
fn list(stage: &mut Stage, queue: Option<&str>, which: Which, limit: u32) -> Vec<TaskId> {
    let (mut all, mut from) = (Vec::new(), None);
    loop {
        let queue = queue.map(str::to_owned);
        let list = Request::List { queue, state: which, from, limit };
        let call = stage.request(CLIENT, list);
        let said = stage.settle();
        let Some(Answer::Listed(tasks, next)) = answer(&said, call) else { panic!("{said:?}") };
        assert!(tasks.iter().all(|(_, shown)| which.has(shown)));
        all.extend(tasks.iter().map(|(id, _)| *id));
        match next {
            Some(next) => from = Some(*next),
            None => return all,
        }
    }
}

/// Of 8 tasks in two queues: 1 is running, 2 are done, 1 has failed, 1 was cancelled, 1 is delayed.
fn busy() -> Stage {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 4);
    let delayed = Submission { delay_ms: 60_000, ..task(7) };
    let mut tasks: Vec<_> = (0..7).map(task).collect();
    tasks.push(delayed);
    tasks[6] = Submission { queue: "other".into(), ..task(6) };
    stage.submit(&tasks);
    for (_, id, attempt) in assigned(&stage.settle()) {
        match tasks.iter().position(|task| task.id == id) {
            Some(0 | 1) => stage.request(A, complete(id, attempt)),
            Some(2) => {
                let (attempt, cause) = (Attempt(attempt), Cause::Error);
                let (text, detail) = ("no".to_owned(), Vec::new());
                stage.request(A, Request::Fail { task: id, attempt, cause, text, detail })
            }
            _ => continue,
        };
    }
    let (queues, resources) = (Vec::new(), Vec::new());
    stage.request(A, Request::Offer { queues, slots: 0, resources, ahead: 0, full: None });
    stage.request(CLIENT, Request::Cancel { task: task(5).id });
    stage.settle();
    stage
}

#[test]
fn an_overview_counts_what_is_where() {
    let mut stage = busy();
    stage.request(CLIENT, Request::SetPermits { semaphore: "s".to_owned(), permits: 3 });
    stage.request(A, Request::Acquire { semaphore: "s".to_owned(), permits: 2 });
    stage.request(A, Request::Acquire { semaphore: "s".to_owned(), permits: 2 });
    stage.settle();
    let all = overview(&mut stage);
    let queue = |name: &str| all.queues.iter().find(|queue| queue.name == name).unwrap();
    let counts = ["other", "q"].map(queue).map(|one| (one.ready, one.delayed, one.running));
    let running: u64 = counts.iter().map(|count| count.2).sum();
    assert_eq!(counts.iter().map(|count| count.1).sum::<u64>(), 1);
    assert_eq!(counts.iter().map(|count| count.0 + count.1 + count.2).sum::<u64>(), all.tasks);
    let session = &all.sessions[0];
    assert_eq!((session.name.as_str(), session.host.as_str()), ("a", "host-a"));
    assert_eq!(u64::from(session.running), running);
    let semaphore = &all.semaphores[0];
    assert_eq!((semaphore.permits, semaphore.held, semaphore.waiting), (3, 2, 2));
    assert_eq!(all.counters.done, 2);
    assert_eq!((all.queues_total, all.sessions_total, all.semaphores_total), (2, 1, 1));
}

#[test]
fn a_delayed_task_is_counted_as_ready_once_its_time_has_come() {
    let mut stage = Stage::new();
    stage.submit(&[Submission { delay_ms: 1_000, ..task(1) }]);
    stage.settle();
    let count = |stage: &mut Stage| {
        let queue = overview(stage).queues.remove(0);
        (queue.ready, queue.delayed, queue.running)
    };
    assert_eq!(count(&mut stage), (0, 1, 0));
    stage.pass(core::time::Duration::from_secs(2));
    assert_eq!(count(&mut stage), (1, 0, 0));
    stage.join(A, "a", &[], 1);
    stage.settle();
    assert_eq!(count(&mut stage), (0, 0, 1));
    stage.request(A, complete(task(1).id, 1));
    stage.settle();
    assert_eq!(overview(&mut stage).queues, []);
}

/// How many tasks are ready and delayed after a takeover by a clock that is so far behind, and
/// after the delay.
fn after_takeover(behind_ms: u64) -> [(u64, u64); 2] {
    const BEGAN_MS: u64 = 1_700_000_000_000;
    let mut stage = Stage::with(|settings| settings.epoch_ms = BEGAN_MS);
    stage.submit(&[Submission { delay_ms: 10_000, ..task(1) }]);
    stage.settle();
    stage.succeed_with(2, |settings| settings.epoch_ms = BEGAN_MS - behind_ms);
    [0, 11].map(|seconds| {
        stage.pass(core::time::Duration::from_secs(seconds));
        let queue = overview(&mut stage).queues.remove(0);
        (queue.ready, queue.delayed)
    })
}

#[test]
fn the_clock_of_a_part_does_not_go_back_when_another_coordinates() {
    let hour_ms = 3_600_000;
    assert_eq!(after_takeover(0), [(0, 1), (1, 0)]);
    assert_eq!(after_takeover(hour_ms), [(0, 1), (1, 0)]);
    // What is further in the future than a day is taken as damaged: the clock goes by itself.
    assert_eq!(after_takeover(25 * hour_ms), [(0, 1), (0, 1)]);
}

#[test]
fn a_progress_is_shown_while_its_try_runs() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 1);
    stage.submit(&[task(1)]);
    stage.settle();
    let progress = |attempt| {
        let (attempt, text) = (Attempt(attempt), "ä".repeat(100));
        Request::Progress { task: task(1).id, attempt, thousandths: 2_000, text }
    };
    let calls = [(A, 1), (A, 2), (B, 1)].map(|(peer, try_)| stage.request(peer, progress(try_)));
    let said = stage.settle();
    let answers = calls.map(|call| answer(&said, call).cloned().unwrap());
    let superseded = refused(Refusal::Superseded);
    assert_eq!(answers, [Answer::Done, superseded.clone(), superseded]);
    let shown = overview(&mut stage).sessions[0].tasks[0].clone();
    let progress = shown.progress.unwrap();
    assert_eq!((shown.task, shown.attempt), (task(1).id, Attempt(1)));
    assert_eq!((progress.thousandths, progress.text), (1_000, "ä".repeat(60)));
    stage.request(A, complete(task(1).id, 1));
    stage.settle();
    assert_eq!(overview(&mut stage).sessions[0].tasks, []);
}

/// The tries that have ended after one, and those that run.
fn recent(stage: &mut Stage, after: u64) -> (Vec<TryView>, Vec<TryView>) {
    let call = stage.request(CLIENT, Request::Recent { after });
    match answer(&stage.settle(), call) {
        Some(Answer::Recent(ended, running)) => (ended.clone(), running.clone()),
        other => panic!("{other:?}"),
    }
}

fn fail(id: TaskId, attempt: u32, cause: Cause) -> Request {
    let (attempt, text, detail) = (Attempt(attempt), "why".to_owned(), Vec::new());
    Request::Fail { task: id, attempt, cause, text, detail }
}

#[test]
fn a_record_keeps_where_and_when_each_try_was() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 2);
    stage.submit(&[task(1), task(2)]);
    stage.settle();
    stage.pass(core::time::Duration::from_secs(1));
    // The one is lost with its worker, the other was done before.
    stage.request(A, complete(task(2).id, 1));
    stage.settle();
    stage.coordinator.handle_host_lost(stage.now, "host-a");
    stage.join(B, "b", &[], 1);
    stage.settle();
    stage.pass(core::time::Duration::from_secs(1));
    let (_, running) = recent(&mut stage, 0);
    let now: Vec<_> = running.iter().map(|one| (one.task, one.attempt.0, one.ended_ms)).collect();
    assert_eq!(now, [(task(1).id, 2, 2_000)]);
    stage.request(B, complete(task(1).id, 2));
    stage.settle();
    let finished = stage.finished(task(1).id).unwrap();
    let lost = &finished.task.failures[0];
    assert_eq!((lost.worker.as_str(), lost.slot), ("a", 0));
    assert_eq!((lost.since_ms, lost.at_ms, lost.cause), (0, 1_000, Cause::Lost));
    let by = finished.done_by.clone().unwrap();
    assert_eq!((by.worker.as_str(), by.host.as_str(), by.slot), ("b", "host-b", 0));
    assert_eq!((by.since_ms, finished.ended_ms), (1_000, 2_000));
    assert_eq!(stage.finished(task(2).id).unwrap().done_by.unwrap().slot, 1);
    let (tries, running) = recent(&mut stage, 0);
    assert_eq!(running, []);
    let ends: Vec<_> = tries.iter().map(|one| (one.task, one.cause, one.ended_ms)).collect();
    let (first, second) = (task(1).id, task(2).id);
    let lost = (first, Some(Cause::Lost), 1_000);
    assert_eq!(ends, [(second, None, 1_000), lost, (first, None, 2_000)]);
    assert_eq!(recent(&mut stage, tries[1].number).0, tries[2..]);
}

#[test]
fn the_last_failures_are_shown_and_what_each_queue_has_done() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 1);
    stage.submit(&[task(1), task(2), task(3)]);
    for next in 1..3 {
        let (_, id, attempt) = assigned(&stage.settle())[0];
        let deed = if next == 1 { complete(id, attempt) } else { fail(id, attempt, Cause::Exit) };
        stage.request(A, deed);
    }
    stage.settle();
    let all = overview(&mut stage);
    assert_eq!((all.queues[0].done, all.queues[0].failed), (1, 1));
    let failure = &all.failures[0];
    assert_eq!((all.failures.len(), failure.cause), (1, Some(Cause::Exit)));
    assert_eq!((failure.text.as_str(), failure.by.worker.as_str()), ("why", "a"));
}

#[test]
fn a_slot_is_of_one_try_at_a_time_also_after_another_has_the_role() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 3);
    stage.submit(&[task(1), task(2), task(3)]);
    stage.settle();
    let slots = |stage: &Stage| {
        let live = [1, 2, 3, 4].into_iter().filter_map(|number| stage.live(task(number).id));
        let running = live.filter_map(|task| match task.state {
            State::Running(running) => Some(running.slot),
            _ => None,
        });
        running.collect::<BTreeSet<_>>()
    };
    assert_eq!(slots(&stage), [0, 1, 2].into());
    stage.succeed(2);
    let holding = [1, 2, 3].map(|number| (task(number).id, Attempt(1)));
    stage.join(A, "a", &holding, 3);
    stage.request(A, complete(task(2).id, 1));
    stage.submit(&[task(4)]);
    stage.settle();
    assert_eq!(slots(&stage), [0, 1, 2].into());
}

#[test]
fn a_task_is_shown_as_the_store_has_it() {
    let mut stage = busy();
    let mut show = |id| {
        let call = stage.request(CLIENT, Request::Show { task: id });
        answer(&stage.settle(), call).cloned().unwrap()
    };
    let Answer::Shown(shown) = show(task(0).id) else { panic!("it is done") };
    assert!(matches!(*shown, Shown::Finished(one) if matches!(one.outcome, Outcome::Done(_))));
    let Answer::Shown(shown) = show(task(7).id) else { panic!("it is delayed") };
    assert!(matches!(*shown, Shown::Live(one) if one.payload == [7; 10]));
    assert_eq!(show(TaskId::of("another", 1)), refused(Refusal::NoTask));
}

#[test]
fn a_list_has_each_task_once_however_short_its_pages() {
    let mut stage = busy();
    for limit in [1, 2, 3, 1_000, u32::MAX] {
        let all = list(&mut stage, None, Which::All, limit);
        assert_eq!(all.len(), 8, "in pages of {limit}");
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 8);
        assert_eq!(list(&mut stage, None, Which::Live, limit).len(), 4);
        assert_eq!(list(&mut stage, None, Which::Failed, limit), [task(2).id]);
        assert_eq!(list(&mut stage, None, Which::Done, limit).len(), 2);
        assert_eq!(list(&mut stage, Some("other"), Which::All, limit), [task(6).id]);
    }
}

#[test]
fn a_page_of_long_records_is_cut() {
    let mut stage = Stage::new();
    for batch in 0..4 {
        let tasks = (batch * 100..(batch + 1) * 100).map(task);
        let tasks = tasks.map(|task| Submission { payload: vec![1; 16 * 1024], ..task });
        stage.submit(&tasks.collect::<Vec<_>>());
        stage.settle();
    }
    let list = Request::List { queue: None, state: Which::All, from: None, limit: 1_000 };
    let call = stage.request(CLIENT, list);
    let said = stage.settle();
    let Some(Answer::Listed(tasks, Some(_))) = answer(&said, call) else { panic!("no page") };
    assert!(tasks.len() < 300, "{} tasks", tasks.len());
    assert_eq!(self::list(&mut stage, None, Which::All, 1_000).len(), 400);
}

#[test]
fn what_has_ended_is_forgotten_and_nothing_else() {
    let mut stage = Stage::with(|settings| settings.limits.operations = 5);
    stage.join(A, "a", &[], 1);
    stage.settle();
    for number in 0..9 {
        stage.submit(&[task(number)]);
        stage.settle();
        stage.request(A, complete(task(number).id, 1));
        stage.settle();
    }
    stage.submit(&[task(9)]);
    stage.settle();
    let tasks: Vec<TaskId> = (0..12).map(|number| task(number).id).collect();
    let forget = Request::Forget { tasks };
    let calls = [(); 2].map(|()| stage.request(CLIENT, forget.clone()));
    let said = stage.settle();
    let counts: Vec<_> = calls.iter().filter_map(|call| answer(&said, *call)).collect();
    let total = |answers: &[&Answer]| -> u32 {
        answers.iter().map(|one| if let Answer::Forgotten(n) = one { *n } else { 0 }).sum()
    };
    assert_eq!((counts.len(), total(&counts)), (2, 9), "each is deleted once: {counts:?}");
    assert_eq!(stage.finished(task(0).id), None);
    assert!(stage.live(task(9).id).is_some(), "it runs");
    assert_eq!(stage.coordinator.counters().forgotten, 9);
    assert_eq!(stage.coordinator.counters().recoveries, 0);
    let call = stage.submit(&[task(0)]);
    assert_eq!(answer(&stage.settle(), call), Some(&Answer::Submitted(1)), "it is a new one");
}

#[test]
fn who_asks_for_a_task_while_it_is_forgotten_is_answered() {
    let mut stage = Stage::new();
    let id = task(1).id;
    stage.submit(&[task(1)]);
    stage.request(CLIENT, Request::Cancel { task: id });
    stage.settle();
    assert_eq!(stage.finished(id).unwrap().outcome, Outcome::Cancelled);
    stage.request(CLIENT, Request::Forget { tasks: vec![id] });
    let commits = stage.commits();
    let asked: Vec<Call> =
        [Request::Wait { task: id }, Request::Revive { task: id }, Request::Show { task: id }]
            .map(|request| stage.request(CLIENT, request))
            .to_vec();
    for (ticket, transaction) in commits {
        let answer = stage.ledger.commit(&transaction);
        stage.coordinator.handle_commit(stage.now, ticket, answer);
    }
    let said = stage.settle();
    let answers: Vec<_> = asked.iter().map(|call| answer(&said, *call).cloned()).collect();
    assert_eq!(answers, [(); 3].map(|()| Some(refused(Refusal::NoTask))));
    assert_eq!(stage.coordinator.counters().recoveries, 0);
}

#[test]
fn a_store_without_space_forgets_nothing_and_says_so() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 1);
    stage.submit(&[task(1)]);
    stage.settle();
    stage.request(A, complete(task(1).id, 1));
    stage.settle();
    let call = stage.request(CLIENT, Request::Forget { tasks: vec![task(1).id] });
    for (ticket, _) in stage.commits() {
        let full = Err(CommitError::Full("no space".to_owned()));
        stage.coordinator.handle_commit(stage.now, ticket, full);
    }
    assert!(matches!(answer(&stage.settle(), call), Some(Answer::Refused(Refusal::Full(_)))));
    assert!(stage.finished(task(1).id).is_some());
    let wait = stage.request(CLIENT, Request::Wait { task: task(1).id });
    assert!(matches!(answer(&stage.settle(), wait), Some(Answer::Outcome(_))));
}

/// A record of the version that knew neither needs, filters nor inputs, nor outputs on nodes: a map
/// with twelve entries.
#[test]
fn a_record_without_a_need_is_read() {
    let mut stage = Stage::new();
    stage.submit(&[task(1)]);
    stage.settle();
    let record = stage.ledger.get(&keys::task(PART, task(1).id)).unwrap();
    let fields = record.value[0];
    assert_eq!(fields, 0xa0 + 18, "a map of 18 entries");
    // The last are the need, 12: [["cpus", 1000]], the filter, 13: "", the inputs, 14: [], the
    // copies, 15: 0, how often its output was made, 16: 0, and the inputs in other parts, 17: [].
    let tail = [&[12, 0x81, 0x82, 0x64][..], b"cpus", &[0x19, 0x03, 0xe8, 13, 0x60, 14, 0x80]];
    let tail = [tail.concat(), vec![15, 0, 16, 0, 17, 0x80]].concat();
    let old = record.value.strip_suffix(&tail[..]).expect("it ends with these");
    let old = [&[0xa0 + 12], &old[1..]].concat();
    let read: Task = minicbor::decode(&old).unwrap();
    assert_eq!(read.need, Need::default());
    assert_eq!(read, stage.live(task(1).id).unwrap());
}
