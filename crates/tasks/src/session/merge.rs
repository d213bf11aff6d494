//! What the coordinators of all parts say, as one answer.

use std::collections::{BTreeMap, VecDeque};
use std::time::{SystemTime, UNIX_EPOCH};

use tidings_tasks_core::id::{Part, TaskId};
use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::view::{
    MAX_RECENT, MAX_REMEMBERED, MAX_SHOWN, MAX_SHOWN_FAILURES, MAX_SHOWN_TASKS, Overview,
    QueueView, SessionView, Shown, SpaceView, TryView,
};

/// The answers of all parts as one. Of answers that do not go together the first is it that says
/// why something was not done.
pub(super) fn all(answers: Vec<Answer>) -> Answer {
    let refused = answers.iter().find(|answer| matches!(answer, Answer::Refused(_))).cloned();
    let mut answers = answers.into_iter();
    let first = answers.next().unwrap_or(Answer::Done);
    refused.unwrap_or_else(|| answers.fold(first, both))
}

fn both(one: Answer, other: Answer) -> Answer {
    match (one, other) {
        (Answer::Forgotten(one), Answer::Forgotten(other)) => Answer::Forgotten(one + other),
        (Answer::Overview(mut one), Answer::Overview(other)) => {
            add(&mut one, *other);
            Answer::Overview(one)
        }
        (Answer::Listed(one, next), Answer::Listed(other, other_next)) => {
            listed((one, next), (other, other_next))
        }
        (Answer::Spaces(one, next), Answer::Spaces(other, other_next)) => {
            spaces((one, next), (other, other_next))
        }
        (Answer::Tuples(mut one, next), Answer::Tuples(other, other_next)) => {
            let next = first(next, other_next);
            one.extend(other);
            one.retain(|tuple| next.is_none_or(|next| tuple.number < next));
            one.sort_unstable_by_key(|tuple| tuple.number);
            Answer::Tuples(one, next)
        }
        (one, _) => one,
    }
}

/// Where a page ends of two that end there.
fn first<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    [one, other].into_iter().flatten().min()
}

/// Pages of spaces as [`listed`] has those of tasks; one that is spread is in several parts.
fn spaces(
    (one, next): (Vec<SpaceView>, Option<String>),
    (other, other_next): (Vec<SpaceView>, Option<String>),
) -> Answer {
    let next = first(next, other_next);
    let mut all: BTreeMap<String, SpaceView> = BTreeMap::new();
    for view in one.into_iter().chain(other) {
        match all.get_mut(&view.name) {
            Some(known) => {
                known.tuples += view.tuples;
                known.claimed += view.claimed;
                known.bytes += view.bytes;
            }
            None => drop(all.insert(view.name.clone(), view)),
        }
    }
    let within =
        all.into_values().filter(|view| next.as_ref().is_none_or(|next| view.name < *next));
    Answer::Spaces(within.collect(), next)
}

/// Two pages as one, which ends where the first of them does: what is behind that in the other
/// comes again.
fn listed(
    (mut tasks, next): (Vec<(TaskId, Shown)>, Option<TaskId>),
    (others, other_next): (Vec<(TaskId, Shown)>, Option<TaskId>),
) -> Answer {
    let next = first(next, other_next);
    tasks.extend(others);
    tasks.retain(|(id, _)| next.is_none_or(|next| *id < next));
    tasks.sort_unstable_by_key(|(id, _)| *id);
    Answer::Listed(tasks, next)
}

/// Adds what another part holds.
fn add(one: &mut Overview, other: Overview) {
    let Overview {
        queues,
        sessions,
        semaphores,
        counters,
        tasks,
        queues_total,
        sessions_total,
        semaphores_total,
        board,
        failures,
    } = other;
    one.queues = by_name(
        one.queues.drain(..).chain(queues),
        |queue| &queue.name,
        |one, other| add_queue(one, &other),
    );
    one.sessions =
        by_name(one.sessions.drain(..).chain(sessions), |session| &session.name, add_session);
    one.semaphores =
        by_name(one.semaphores.drain(..).chain(semaphores), |one| &one.name, |_, _| ());
    one.counters.add(&counters);
    one.tasks += tasks;
    one.queues_total += queues_total;
    // A session is one with all parts.
    one.sessions_total = one.sessions_total.max(sessions_total);
    one.semaphores_total += semaphores_total;
    one.board |= board;
    one.failures.extend(failures);
    one.failures.sort_unstable_by_key(|failure| core::cmp::Reverse(failure.ended_ms));
    one.failures.truncate(MAX_SHOWN_FAILURES);
}

/// Views in the order of their names, those of one name as one.
fn by_name<V>(
    views: impl Iterator<Item = V>,
    name: impl Fn(&V) -> &String,
    add: impl Fn(&mut V, V),
) -> Vec<V> {
    let mut all: BTreeMap<String, V> = BTreeMap::new();
    for view in views {
        match all.get_mut(name(&view)) {
            Some(known) => add(known, view),
            None => drop(all.insert(name(&view).clone(), view)),
        }
    }
    all.into_values().take(MAX_SHOWN).collect()
}

/// A queue has tasks in another part too: children of tasks that are there.
fn add_queue(one: &mut QueueView, other: &QueueView) {
    one.ready += other.ready;
    one.delayed += other.delayed;
    one.running += other.running;
    one.unfit += other.unfit;
    one.done += other.done;
    one.failed += other.failed;
    one.waiting += other.waiting;
}

/// Its room is offered to one coordinator at a time, and each knows what it has given it.
fn add_session(one: &mut SessionView, other: SessionView) {
    let beside = |session: &SessionView| if session.slots == 0 { session.running } else { 0 };
    one.slots = one.slots.max(other.slots)
        + if one.slots > 0 { beside(&other) } else { 0 }
        + if other.slots > 0 { beside(one) } else { 0 };
    one.running += other.running;
    if one.resources.is_empty() || other.slots > 0 {
        one.resources = other.resources;
    }
    if one.queues.is_empty() {
        one.queues = other.queues;
    }
    one.full = one.full.take().or(other.full);
    one.silent_ms = one.silent_ms.min(other.silent_ms);
    one.tasks.extend(other.tasks);
    one.tasks.truncate(MAX_SHOWN_TASKS);
}

/// Tries that have ended in any part, numbered in the order in which they were heard of.
///
/// Numbers begin with the time, so that those of another session later are larger.
#[derive(Debug)]
pub(super) struct Recent {
    tries: VecDeque<TryView>,
    last: u64,
    /// The last number of each part.
    seen: Vec<u64>,
}

impl Recent {
    pub(super) fn of(parts: u16) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            tries: VecDeque::new(),
            last: (since.as_secs()) << 20,
            seen: vec![0; usize::from(parts)],
        }
    }

    /// What is to be asked of each part.
    pub(super) fn requests(&self) -> Vec<(Part, Request)> {
        let seen = (0..).zip(&self.seen);
        seen.map(|(part, after)| (Part(part), Request::Recent { after: *after })).collect()
    }

    /// What the parts have answered: the tries after one, and those that run.
    pub(super) fn take(&mut self, answers: Vec<(Part, Answer)>, after: u64) -> Answer {
        let (mut new, mut running) = (Vec::new(), Vec::new());
        for (part, answer) in answers {
            let Answer::Recent(ended, runs) = answer else { return answer };
            let seen = &mut self.seen[usize::from(part.0)];
            *seen = ended.last().map_or(*seen, |last| last.number);
            new.extend(ended);
            running.extend(runs);
        }
        running.truncate(MAX_RECENT);
        self.add(new);
        Answer::Recent(self.after(after), running)
    }

    fn add(&mut self, mut new: Vec<TryView>) {
        new.sort_by_key(|one| one.ended_ms);
        for mut one in new {
            self.last += 1;
            one.number = self.last;
            self.tries.push_back(one);
        }
        let surplus = self.tries.len().saturating_sub(MAX_REMEMBERED);
        self.tries.drain(..surplus);
    }

    fn after(&self, number: u64) -> Vec<TryView> {
        let first = self.tries.partition_point(|one| one.number <= number);
        self.tries.range(first..).take(MAX_RECENT).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use tidings_tasks_core::id::Attempt;
    use tidings_tasks_core::message::Refusal;
    use tidings_tasks_core::name::Name;
    use tidings_tasks_core::record::{Running, State, Task};
    use tidings_tasks_core::resources::Need;
    use tidings_tasks_core::retry::{Retry, Tally};
    use tidings_tasks_core::view::RunningView;

    use super::*;

    fn task(number: u64) -> (TaskId, Shown) {
        let task = Task {
            queue: "q".into(),
            group: Name::default(),
            priority: 0,
            sequence: number,
            payload: Vec::new(),
            retry: Retry::default(),
            attempt: Attempt(0),
            state: State::Ready,
            failures: Vec::new(),
            cancelled: false,
            submitted_ms: 0,
            tally: Tally::default(),
            need: Need::default(),
            filter: String::new(),
            inputs: Vec::new(),
            copies: 0,
            made: 0,
            abroad: Vec::new(),
        };
        (TaskId::of("t", number), Shown::Live(task))
    }

    #[test]
    fn a_page_ends_where_the_first_of_the_parts_does() {
        let page = |numbers: &[u64], next: Option<u64>| {
            let tasks = numbers.iter().map(|number| task(*number)).collect();
            Answer::Listed(tasks, next.map(|number| TaskId::of("t", number)))
        };
        let merged = all(vec![page(&[1, 4, 5], Some(6)), page(&[2, 3], Some(4)), page(&[9], None)]);
        assert_eq!(merged, page(&[1, 2, 3], Some(4)));
        assert_eq!(all(vec![page(&[4, 5], None), page(&[4, 6], None)]), page(&[4, 4, 5, 6], None));
    }

    #[test]
    fn a_worker_of_several_parts_is_one() {
        let session = |slots, running| SessionView {
            name: "w".to_owned(),
            slots,
            running,
            tasks: vec![RunningView {
                task: TaskId::of("t", 1),
                attempt: Attempt(1),
                progress: None,
            }],
            ..SessionView::default()
        };
        let part = |slots, running, tasks| {
            let queue = QueueView { name: "q".to_owned(), ready: tasks, ..QueueView::default() };
            let (sessions, queues) = (vec![session(slots, running)], vec![queue]);
            Answer::Overview(Box::new(Overview {
                sessions,
                queues,
                tasks,
                sessions_total: 1,
                queues_total: 1,
                ..Overview::default()
            }))
        };
        let Answer::Overview(whole) = all(vec![part(0, 1, 3), part(3, 2, 4)]) else { panic!() };
        assert_eq!((whole.sessions.len(), whole.sessions_total, whole.tasks), (1, 1, 7));
        let worker = &whole.sessions[0];
        assert_eq!((worker.slots, worker.running, worker.tasks.len()), (4, 3, 2));
        assert_eq!((whole.queues.len(), whole.queues[0].ready), (1, 7));
    }

    #[test]
    fn a_refusal_of_one_part_is_the_answer() {
        let refused = Answer::Refused(Refusal::NoSession);
        assert_eq!(all(vec![Answer::Done, refused.clone()]), refused);
        assert_eq!(all(vec![Answer::Forgotten(2), Answer::Forgotten(3)]), Answer::Forgotten(5));
    }

    #[test]
    fn tries_of_all_parts_are_numbered_as_they_come() {
        let one = |ended_ms| TryView {
            number: 7,
            task: TaskId::of("t", ended_ms),
            attempt: Attempt(1),
            queue: "q".into(),
            by: Running { worker: "w".into(), host: "h".into(), since_ms: 0, slot: 0 },
            ended_ms,
            cause: None,
            text: String::new(),
        };
        let mut recent = Recent::of(2);
        recent.add(vec![one(5), one(3)]);
        let before = recent.last;
        recent.add(vec![one(4)]);
        let ends = |after| recent.after(after).iter().map(|one| one.ended_ms).collect::<Vec<_>>();
        assert_eq!((ends(0), ends(before)), (vec![3, 5, 4], vec![4]));
    }
}
