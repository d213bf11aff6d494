//! Programs for pools of threads: any application of the project, and trees, boards and numbers by
//! forks.
//!
//! An application is run from lists: a worker takes the newest task of its own list, and only when
//! others would find nothing to steal from it spawns a job with the older half of the list. So a
//! task costs what it costs in order, and jobs are about as many as steals.

use std::sync::Mutex;

use tidings_applications::Application;
use tidings_applications::uts::{Count, Node, Tree};
use tidings_fork_join::{Scope, is_bare, join, scope};

/// Runs an application in the pool of this thread.
pub(crate) fn run<A>(application: &A) -> A::Total
where
    A: Application<Task: Send, Total: Send> + Sync,
{
    let total = Mutex::new(application.empty());
    let roots = application.roots().collect();
    scope(|scope| drain(application, roots, &total, scope));
    total.into_inner().expect("no task panics")
}

fn drain<'scope, A>(
    application: &'scope A,
    mut pending: Vec<A::Task>,
    whole: &'scope Mutex<A::Total>,
    scope: &Scope<'scope>,
) where
    A: Application<Task: Send, Total: Send> + Sync,
{
    let mut total = application.empty();
    while let Some(task) = pending.pop() {
        application.run(&task, &mut total, &mut |spawned| pending.push(spawned));
        if pending.len() > 1 && is_bare() {
            let older = pending.drain(..pending.len() / 2).collect();
            scope.spawn(|scope| drain(application, older, whole, scope));
        }
    }
    application.merge(&mut whole.lock().expect("no task panics"), &total);
}

/// The two halves of a fork, run one way or another.
pub(crate) trait Fork: Copy + Sync {
    /// Runs both.
    fn both<R: Send>(
        self,
        one: impl FnOnce() -> R + Send,
        other: impl FnOnce() -> R + Send,
    ) -> (R, R);
}

/// Forks of this crate.
#[derive(Clone, Copy)]
pub(crate) struct Ours;

impl Fork for Ours {
    #[inline]
    fn both<R: Send>(
        self,
        one: impl FnOnce() -> R + Send,
        other: impl FnOnce() -> R + Send,
    ) -> (R, R) {
        join(one, other)
    }
}

/// A Fibonacci number by its definition, a fork a number from 2 on.
pub(crate) fn fibonacci(n: u64, fork: impl Fork) -> u64 {
    if n < 2 {
        return n;
    }
    let (one, other) = fork.both(|| fibonacci(n - 1, fork), || fibonacci(n - 2, fork));
    one + other
}

/// Counts a tree with a fork between any two children.
pub(crate) fn count(tree: &Tree, fork: impl Fork) -> Count {
    below(tree, tree.root(), fork)
}

fn below(tree: &Tree, node: Node, fork: impl Fork) -> Count {
    let children: Vec<Node> = tree.children(node).collect();
    let mut count = Count { nodes: 1, leaves: u64::from(children.is_empty()), depth: node.depth };
    if !children.is_empty() {
        tree.merge(&mut count, &among(tree, &children, fork));
    }
    count
}

fn among(tree: &Tree, nodes: &[Node], fork: impl Fork) -> Count {
    if let &[node] = nodes {
        return below(tree, node, fork);
    }
    let (left, right) = nodes.split_at(nodes.len() / 2);
    let (mut one, other) = fork.both(|| among(tree, left, fork), || among(tree, right, fork));
    tree.merge(&mut one, &other);
    one
}

/// Queens on the first rows: which columns of the next one they attack.
#[derive(Clone, Copy)]
struct Placed {
    columns: u32,
    falling: u32,
    rising: u32,
}

/// Counts the ways to place `n` queens with a fork between any two squares of a row.
pub(crate) fn placements(n: u32, fork: impl Fork) -> u64 {
    rows(u32::MAX >> (u32::BITS - n), Placed { columns: 0, falling: 0, rising: 0 }, fork)
}

fn rows(all: u32, placed: Placed, fork: impl Fork) -> u64 {
    let attacked = placed.columns | placed.falling | placed.rising;
    if placed.columns == all { 1 } else { squares(all, placed, all & !attacked, fork) }
}

fn squares(all: u32, placed: Placed, free: u32, fork: impl Fork) -> u64 {
    let count = free.count_ones();
    if count == 0 {
        return 0;
    }
    if count == 1 {
        let columns = placed.columns | free;
        let (falling, rising) = ((placed.falling | free) << 1, (placed.rising | free) >> 1);
        return rows(all, Placed { columns, falling, rising }, fork);
    }
    let far = (0..count / 2).fold(free, |left, _| left & (left - 1));
    let (one, other) =
        fork.both(|| squares(all, placed, free ^ far, fork), || squares(all, placed, far, fork));
    one + other
}
