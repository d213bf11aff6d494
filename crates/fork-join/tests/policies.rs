//! Work-first and help-first: what runs when, and that both come to the same.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;

use tidings_applications::in_order;
use tidings_applications::uts::shape::Geometric;
use tidings_applications::uts::{Kind, Node, Taper, Tree};
use tidings_fork_join::{Pool, Scope};

fn pool(threads: usize) -> Pool {
    Pool::new(threads).expect("the system gives threads")
}

/// Notes which of some pieces ran, in their order.
#[derive(Default)]
struct Ran(Mutex<Vec<&'static str>>);

impl Ran {
    fn note(&self, piece: &'static str) {
        self.0.lock().expect("no panic").push(piece);
    }

    fn all(self) -> Vec<&'static str> {
        self.0.into_inner().expect("no panic")
    }
}

#[test]
fn help_first_goes_on_in_the_caller() {
    let ran = Ran::default();
    pool(1).scope(|scope| {
        scope.spawn(|_| ran.note("job"));
        ran.note("rest");
    });
    assert_eq!(ran.all(), ["rest", "job"]);
}

#[test]
fn work_first_runs_the_job_before_the_rest() {
    let ran = Ran::default();
    pool(1).scope(|scope| {
        scope.spawn_first(
            |scope| scope.spawn_first(|_| ran.note("innermost"), |_| ran.note("its rest")),
            |_| ran.note("rest"),
        );
        ran.note("caller");
    });
    // What was left is run from the newest on.
    assert_eq!(ran.all(), ["innermost", "caller", "its rest", "rest"]);
}

#[test]
fn another_thread_takes_the_rest_while_the_job_runs() {
    let meeting = Barrier::new(2);
    pool(2).scope(|scope| {
        scope.spawn_first(|_| _ = meeting.wait(), |_| _ = meeting.wait());
    });
}

#[test]
fn on_a_thread_outside_the_rest_runs_after_the_job() {
    let ran = Ran::default();
    let ran_here = &ran;
    pool(2).scope(|scope| {
        thread::scope(|threads| {
            threads.spawn(|| {
                let here = thread::current().id();
                scope.spawn_first(
                    |_| ran.note("job"),
                    move |_| {
                        assert_eq!(thread::current().id(), here);
                        ran_here.note("rest");
                    },
                );
            });
        });
    });
    assert_eq!(ran.all(), ["job", "rest"]);
}

#[test]
fn a_panic_of_the_job_or_of_the_rest_arrives_and_the_other_runs() {
    let pool = pool(2);
    for (job, rest) in [("panics", "runs"), ("runs", "panics")] {
        let ran = Ran::default();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            pool.scope(|scope| {
                let piece = |what| {
                    assert!(what != "panics", "as asked");
                    ran.note(what);
                };
                scope.spawn_first(|_| piece(job), move |_| piece(rest));
                ran.note("caller");
            });
        }));
        let text = *outcome.expect_err("it panics").downcast::<&str>().expect("a message");
        assert_eq!(text, "as asked");
        let mut all = ran.all();
        all.sort_unstable();
        assert_eq!(all, ["caller", "runs"]);
    }
}

/// Each child is spawned, and the caller goes on with the next.
fn help_first<'s>(scope: &Scope<'s>, tree: &'s Tree, node: Node, nodes: &'s AtomicU64) {
    nodes.fetch_add(1, Ordering::Relaxed);
    for child in tree.children(node) {
        scope.spawn(move |scope| help_first(scope, tree, child, nodes));
    }
}

/// Each child is run at once, and the other children are what is left.
fn work_first<'s>(scope: &Scope<'s>, tree: &'s Tree, node: Node, nodes: &'s AtomicU64) {
    nodes.fetch_add(1, Ordering::Relaxed);
    siblings(scope, tree, tree.children(node).collect(), nodes);
}

fn siblings<'s>(scope: &Scope<'s>, tree: &'s Tree, mut left: Vec<Node>, nodes: &'s AtomicU64) {
    let Some(child) = left.pop() else { return };
    scope.spawn_first(
        |scope| work_first(scope, tree, child, nodes),
        move |scope| siblings(scope, tree, left, nodes),
    );
}

#[test]
fn both_policies_find_all_nodes_of_a_tree() {
    let shape = Geometric { taper: Taper::Fixed, depth: 7, branching: 4.0 };
    let tree = Tree { kind: Kind::Geometric(shape), seed: 19 };
    let (count, _) = in_order(&tree);
    assert!(count.nodes > 10_000, "{count:?}");
    for threads in [1, 2, 4] {
        let nodes = [AtomicU64::new(0), AtomicU64::new(0)];
        let pool = pool(threads);
        pool.scope(|scope| help_first(scope, &tree, tree.root(), &nodes[0]));
        pool.scope(|scope| work_first(scope, &tree, tree.root(), &nodes[1]));
        assert_eq!(nodes.map(AtomicU64::into_inner), [count.nodes; 2], "{threads} threads");
    }
}
