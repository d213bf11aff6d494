//! Forks, scopes and loops that are those of the pool, and note what they do in the structure tree
//! of a checked run. In a run that is not checked they are the pool's.

use std::ops::Range;
use std::panic::Location;

use tidings_fork_join as pool;

use crate::here::{self, Task};
use crate::sites::Site;

/// [`tidings_fork_join::join`].
#[track_caller]
pub fn join<A, B, RA, RB>(first: A, second: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_at(Location::caller().into(), first, second)
}

/// [`join`] at a place that the caller states: for programs in other languages.
pub fn join_at<A, B, RA, RB>(site: Site, first: A, second: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    match here::fork(site) {
        Some((_back, task)) => pool::join(first, || task.run(second)),
        None => pool::join(first, second),
    }
}

/// Where tasks are spawned: [`tidings_fork_join::Scope`].
#[derive(Clone, Copy)]
pub struct Scope<'a, 'scope> {
    inner: &'a pool::Scope<'scope>,
    /// The finish that it is, in a checked run.
    finish: Option<u32>,
}

/// [`tidings_fork_join::scope`].
#[track_caller]
pub fn scope<'scope, R: Send>(body: impl FnOnce(Scope<'_, 'scope>) -> R + Send) -> R {
    let site = Site::from(Location::caller());
    let finish = here::finish(site);
    let node = finish.as_ref().and_then(|_| here::with(|_, step, _| step.node));
    // Its body may run elsewhere if this thread is in no pool; a checked run is in one.
    pool::scope(|inner| body(Scope { inner, finish: node }))
}

impl<'scope> Scope<'_, 'scope> {
    /// [`tidings_fork_join::Scope::spawn`].
    #[track_caller]
    pub fn spawn(self, work: impl FnOnce(Scope<'_, 'scope>) + Send + 'scope) {
        self.look_out();
        let (task, finish) = (Task::fork(Location::caller().into()), self.finish);
        self.inner.spawn(move |inner| within(task.as_ref(), || work(Scope { inner, finish })));
    }

    /// [`tidings_fork_join::Scope::spawn_first`]: two tasks, which may run beside what follows.
    #[track_caller]
    pub fn spawn_first(
        self,
        job: impl FnOnce(Scope<'_, 'scope>),
        rest: impl FnOnce(Scope<'_, 'scope>) + Send + 'scope,
    ) {
        self.look_out();
        let (site, finish) = (Site::from(Location::caller()), self.finish);
        let (first, second) = (Task::fork(site), Task::fork(site));
        self.inner.spawn_first(
            move |inner| within(first.as_ref(), || job(Scope { inner, finish })),
            move |inner| within(second.as_ref(), || rest(Scope { inner, finish })),
        );
    }

    /// Counts a task of a scope that is not the innermost.
    fn look_out(self) {
        here::with(|run, step, _| {
            if self.finish.is_some_and(|finish| !run.tree.is_innermost(step.node, finish)) {
                run.escaped();
            }
        });
    }
}

/// Does the work of a task, in a run that is checked.
fn within<R>(task: Option<&Task>, work: impl FnOnce() -> R) -> R {
    match task {
        Some(task) => task.run(work),
        None => work(),
    }
}

/// [`tidings_fork_join::for_each`]: each call is a task of its own.
#[track_caller]
pub fn for_each(range: Range<usize>, body: impl Fn(usize) + Sync) {
    let site = Site::from(Location::caller());
    let finish = here::finish(site);
    let forks = finish.as_ref().map(|_| range.clone().map_while(|_| Task::fork(site)));
    let tasks: Vec<Task> = forks.into_iter().flatten().collect();
    let begin = range.start;
    pool::for_each(range, |at| match tasks.get(at - begin) {
        Some(task) => task.run(|| body(at)),
        None => body(at),
    });
}
