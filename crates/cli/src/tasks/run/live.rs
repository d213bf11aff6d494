//! Who works on a run at this moment: a line for each worker, with the task that it has had
//! longest.

use std::collections::BTreeMap;
use std::time::Instant;

use tidings_nodes::units::Unit;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::view::{Overview, Progress, SessionView};

use crate::table::{self, Align};

/// The most workers that are shown.
const MAX_WORKERS: usize = 8;

/// The tasks of a run that have not ended, and those of them that were seen with a worker.
#[derive(Default)]
pub(super) struct Live {
    /// What people call them.
    names: BTreeMap<TaskId, String>,
    /// Since when each is seen with a worker. A look each second is what this rests on, so it is
    /// as much too short at most.
    since: BTreeMap<TaskId, Instant>,
    workers: Vec<Worker>,
}

/// A worker that has tasks of the run.
struct Worker {
    host: String,
    running: usize,
    slots: u32,
    /// Of those that are shown, the task that it has had longest.
    task: TaskId,
    progress: Option<Progress>,
}

impl Live {
    /// A task of the run.
    pub(super) fn add(&mut self, task: TaskId, name: String) {
        self.names.insert(task, name);
    }

    /// A task that has ended.
    pub(super) fn remove(&mut self, task: TaskId) {
        self.names.remove(&task);
        self.since.remove(&task);
    }

    /// Takes what the coordinator shows.
    pub(super) fn look(&mut self, overview: &Overview, now: Instant) {
        let shown = || overview.sessions.iter().flat_map(|session| &session.tasks);
        let before = std::mem::take(&mut self.since);
        for task in shown().map(|one| one.task).filter(|task| self.names.contains_key(task)) {
            self.since.insert(task, before.get(&task).copied().unwrap_or(now));
        }
        self.workers = overview.sessions.iter().filter_map(|one| self.worker(one)).collect();
        self.workers.sort_by_key(|worker| self.since.get(&worker.task).copied());
    }

    fn worker(&self, session: &SessionView) -> Option<Worker> {
        let own = session.tasks.iter().filter(|one| self.since.contains_key(&one.task));
        let longest = own.min_by_key(|one| self.since[&one.task])?;
        Some(Worker {
            host: session.host.clone(),
            running: session.running as usize,
            slots: session.slots,
            task: longest.task,
            progress: longest.progress.clone(),
        })
    }

    /// The table in at most so many lines; nothing where nobody is seen at work.
    pub(super) fn lines(&self, now: Instant, most: usize) -> Vec<String> {
        let seen: Vec<_> = self.workers.iter().filter_map(|worker| self.row(worker, now)).collect();
        let shown = seen.len().min(MAX_WORKERS).min(most.saturating_sub(2));
        if shown == 0 {
            return Vec::new();
        }
        let headings = [
            ("host", Align::Left),
            ("running", Align::Right),
            ("for", Align::Right),
            ("done", Align::Right),
            ("task", Align::Left),
        ];
        let text = table::render(&headings, &seen[..shown]);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if shown < seen.len() {
            lines.push(format!("and {} more workers", seen.len() - shown));
        }
        lines
    }

    /// A task that has ended since the last look has no row.
    fn row(&self, worker: &Worker, now: Instant) -> Option<Vec<String>> {
        let (name, since) = (self.names.get(&worker.task)?, self.since.get(&worker.task)?);
        let seconds = now.saturating_duration_since(*since).as_secs();
        let progress = worker.progress.as_ref();
        let text = progress.map(|one| one.text.as_str()).filter(|text| !text.is_empty());
        Some(vec![
            worker.host.clone(),
            format!("{} of {}", worker.running, worker.slots),
            Unit::Seconds.humanise(seconds as f64),
            progress.map_or("-".to_owned(), |one| format!("{} %", one.thousandths / 10)),
            text.map_or_else(|| name.clone(), |text| format!("{name}: {text}")),
        ])
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tidings_tasks_core::id::Attempt;
    use tidings_tasks_core::view::RunningView;

    use super::*;

    fn id(number: u8) -> TaskId {
        TaskId::from_bytes([number; 16])
    }

    fn session(host: &str, tasks: &[(u8, Option<Progress>)]) -> SessionView {
        let running = |(task, progress): &(u8, Option<Progress>)| RunningView {
            task: id(*task),
            attempt: Attempt(1),
            progress: progress.clone(),
        };
        SessionView {
            name: format!("{host}-1"),
            host: host.to_owned(),
            slots: 4,
            running: tasks.len() as u32,
            tasks: tasks.iter().map(running).collect(),
            ..SessionView::default()
        }
    }

    fn live(tasks: u8) -> Live {
        let mut live = Live::default();
        for number in 0..tasks {
            live.add(id(number), format!("./sim {number}"));
        }
        live
    }

    fn look(live: &mut Live, sessions: Vec<SessionView>, at: Instant) {
        live.look(&Overview { sessions, ..Overview::default() }, at);
    }

    #[test]
    fn each_worker_shows_the_task_that_it_has_had_longest() {
        let (mut live, begin) = (live(9), Instant::now());
        let after = |seconds| begin + Duration::from_secs(seconds);
        look(&mut live, vec![session("n1", &[(1, None)])], begin);
        let half = Some(Progress::new(500, "step 5".to_owned()));
        // Task 99 is another run's.
        let sessions = || {
            let n1 = session("n1", &[(0, None), (1, None)]);
            vec![session("n2", &[(2, half.clone())]), session("n3", &[(99, None)]), n1]
        };
        look(&mut live, sessions(), after(60));
        assert_eq!(
            live.lines(after(62), 9).join("\n"),
            "\
host  running      for  done  task
n1     2 of 4  1 m 2 s     -  ./sim 1
n2     1 of 4    2.0 s  50 %  ./sim 2: step 5"
        );
        live.remove(id(1));
        look(&mut live, sessions(), after(63));
        assert_eq!(live.lines(after(63), 9)[2], "n1     2 of 4  3.0 s     -  ./sim 0");
    }

    #[test]
    fn a_small_terminal_shows_fewer_workers_and_says_so() {
        let (mut live, begin) = (live(20), Instant::now());
        let sessions = (0..20).map(|number| session(&format!("n{number}"), &[(number, None)]));
        look(&mut live, sessions.collect(), begin);
        let lines = live.lines(begin, 5);
        assert_eq!((lines.len(), lines[4].as_str()), (5, "and 17 more workers"));
        assert_eq!(live.lines(begin, 40).len(), 2 + MAX_WORKERS);
        assert_eq!(live.lines(begin, 2), Vec::<String>::new());
    }

    #[test]
    fn what_has_ended_is_not_shown_and_takes_no_room() {
        let (mut live, begin) = (live(3), Instant::now());
        look(&mut live, vec![session("n1", &[(0, None)]), session("n2", &[(1, None)])], begin);
        live.remove(id(0));
        assert_eq!(live.lines(begin, 9).len(), 2);
        (1..3).for_each(|number| live.remove(id(number)));
        assert!(live.lines(begin, 9).is_empty() && live.since.is_empty() && live.names.is_empty());
    }
}
