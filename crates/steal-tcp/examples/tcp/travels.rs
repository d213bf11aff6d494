//! Applications whose tasks travel as bytes and whose totals are shown as words.

use tidings_applications::fibonacci::{self, Fibonacci};
use tidings_applications::uts::{Count, Node, Tree, random::State};
use tidings_applications::{Application, in_order};
use tidings_steal_tcp::{Body, Done, Frame, PhaseError, Process, Task};

/// An application whose tasks are frames of function 0.
pub(crate) trait Travels: Application {
    /// A task as bytes.
    fn pack(task: &Self::Task) -> Vec<u8>;
    /// The task of these bytes, which `pack` has made.
    fn unpack(bytes: &[u8]) -> Self::Task;
    /// A total as words.
    fn shown(total: &Self::Total) -> Vec<u64>;
    /// The total of these words.
    fn read(words: &[u64]) -> Self::Total;
}

impl Travels for Fibonacci {
    fn pack(task: &u32) -> Vec<u8> {
        task.to_le_bytes().to_vec()
    }

    fn unpack(bytes: &[u8]) -> u32 {
        word(bytes, 0)
    }

    fn shown(&fibonacci::Total { number, forks }: &fibonacci::Total) -> Vec<u64> {
        vec![number, forks]
    }

    fn read(words: &[u64]) -> fibonacci::Total {
        fibonacci::Total { number: words[0], forks: words[1] }
    }
}

impl Travels for Tree {
    fn pack(node: &Node) -> Vec<u8> {
        let words = node.state.words().into_iter().chain([node.depth]);
        words.flat_map(u32::to_le_bytes).collect()
    }

    fn unpack(bytes: &[u8]) -> Node {
        let state = State::of_words(core::array::from_fn(|at| word(bytes, at)));
        Node { state, depth: word(bytes, 5) }
    }

    fn shown(&Count { nodes, leaves, depth }: &Count) -> Vec<u64> {
        vec![nodes, leaves, depth.into()]
    }

    fn read(words: &[u64]) -> Count {
        Count { nodes: words[0], leaves: words[1], depth: words[2] as u32 }
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[4 * at..][..4].try_into().expect("they are four"))
}

fn visit<A: Travels>(task: &mut Task<'_>, found: &mut (A, A::Total)) -> Done {
    let node = A::unpack(task.state());
    let (application, total) = found;
    application.run(&node, total, &mut |child| {
        let child = Frame::new(0, 0, &A::pack(&child)).expect("a node is some bytes");
        task.spawn(child).expect("it fits, and function 0 is there");
    });
    Done::Nothing
}

/// Runs an application on all workers; the first that lives begins with all tasks. The total.
pub(crate) fn on_all<A: Travels>(process: &mut Process, with: A) -> Result<A::Total, PhaseError> {
    let mut list = Vec::new();
    if process.is_first() {
        let frame = |task| Frame::new(0, 0, &A::pack(&task)).expect("some bytes");
        list.extend(with.roots().map(frame));
    }
    let nothing = with.empty();
    let mut found = (with, nothing);
    process.phase("application", list, &[visit::<A> as Body<_>], &mut found)?;
    let (application, own) = found;
    let mut total = application.empty();
    for words in process.gather(&A::shown(&own))?.iter().flatten() {
        application.merge(&mut total, &A::read(words));
    }
    Ok(total)
}

/// Runs it in order, in this process: the total, and how many tasks.
#[allow(dead_code, reason = "not all who include this file compare with it")]
pub(crate) fn alone<A: Travels>(application: &A) -> (Vec<u64>, u64) {
    let (total, tasks) = in_order(application);
    (A::shown(&total), tasks)
}
