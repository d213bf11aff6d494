//! Applications whose tasks travel as bytes and whose totals are shown as words.

use tidings_applications::fibonacci::{self, Fibonacci};
use tidings_applications::queens::{Placement, Queens};
use tidings_applications::uts::{Count, Node, Tree, random::State};
use tidings_applications::{Application, in_order};
use tidings_steal_host::{Body, Done, Frame, Host, PhaseError, Task};

/// The most words of a task.
const WORDS: usize = 6;

/// An application whose tasks are words of 32 bits.
pub(crate) trait Travels: Application {
    /// A task as words, and how many they are.
    fn put(task: &Self::Task) -> ([u32; WORDS], usize);
    /// The task of these words, which `put` has made.
    fn get(words: [u32; WORDS]) -> Self::Task;
    /// A total as words.
    fn shown(total: &Self::Total) -> Vec<u64>;
    /// The total of these words.
    fn read(words: &[u64]) -> Self::Total;
}

impl Travels for Fibonacci {
    fn put(task: &u32) -> ([u32; WORDS], usize) {
        ([*task, 0, 0, 0, 0, 0], 1)
    }

    fn get(words: [u32; WORDS]) -> u32 {
        words[0]
    }

    fn shown(total: &fibonacci::Total) -> Vec<u64> {
        vec![total.number, total.forks]
    }

    fn read(words: &[u64]) -> fibonacci::Total {
        fibonacci::Total { number: words[0], forks: words[1] }
    }
}

impl Travels for Queens {
    fn put(task: &Placement) -> ([u32; WORDS], usize) {
        let [depth, columns, falling, rising] = task.words();
        ([depth, columns, falling, rising, 0, 0], 4)
    }

    fn get([depth, columns, falling, rising, ..]: [u32; WORDS]) -> Placement {
        Placement::of_words([depth, columns, falling, rising])
    }

    fn shown(total: &u64) -> Vec<u64> {
        vec![*total]
    }

    fn read(words: &[u64]) -> u64 {
        words[0]
    }
}

impl Travels for Tree {
    fn put(task: &Node) -> ([u32; WORDS], usize) {
        let mut words = [task.depth; WORDS];
        words[..5].copy_from_slice(&task.state.words());
        (words, WORDS)
    }

    fn get([state @ .., depth]: [u32; WORDS]) -> Node {
        Node { state: State::of_words(state), depth }
    }

    fn shown(total: &Count) -> Vec<u64> {
        vec![total.nodes, total.leaves, u64::from(total.depth)]
    }

    fn read(words: &[u64]) -> Count {
        Count { nodes: words[0], leaves: words[1], depth: words[2] as u32 }
    }
}

/// An application with what this process has found.
pub(crate) struct Found<A: Travels> {
    application: A,
    total: A::Total,
}

fn frame<A: Travels>(task: &A::Task) -> Frame {
    let (words, count) = A::put(task);
    let mut bytes = [0; 4 * WORDS];
    for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    Frame::new(0, 0, &bytes[..4 * count]).expect("24 bytes fit into any slot")
}

fn run<A: Travels>(task: &mut Task<'_>, found: &mut Found<A>) -> Done {
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(task.state().chunks_exact(4)) {
        *word = u32::from_le_bytes(bytes.try_into().expect("they are four"));
    }
    let Found { application, total } = found;
    application.run(&A::get(words), total, &mut |child| {
        task.spawn(frame::<A>(&child)).expect("it fits, and function 0 is there");
    });
    Done::Nothing
}

/// Runs an application on all workers; the first that lives begins with all tasks. The total.
pub(crate) fn on_all<A: Travels>(host: &mut Host, application: A) -> Result<A::Total, PhaseError> {
    let mut list = Vec::new();
    if host.is_first() {
        list.extend(application.roots().map(|task| frame::<A>(&task)));
    }
    let total = application.empty();
    let mut found = Found { application, total };
    host.phase("application", list, &[run::<A> as Body<Found<A>>], &mut found)?;
    let shown = host.gather(&A::shown(&found.total))?;
    let mut total = found.application.empty();
    for words in shown.iter().flatten() {
        found.application.merge(&mut total, &A::read(words));
    }
    Ok(total)
}

/// Runs it in order, in this process: the total, and how many tasks.
#[allow(dead_code, reason = "not all who include this file compare with it")]
pub(crate) fn alone<A: Travels>(application: &A) -> (Vec<u64>, u64) {
    let (total, tasks) = in_order(application);
    (A::shown(&total), tasks)
}
