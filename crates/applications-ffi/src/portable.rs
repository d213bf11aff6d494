//! What an application must say for its tasks and totals to travel: a task as words of 32 bits, a
//! total as words of 64 that are merged where they arrive.

use tidings_applications::fibonacci::{self, Fibonacci};
use tidings_applications::homology::{self, proteins::Proteins};
use tidings_applications::queens::{Placement, Queens};
use tidings_applications::scf::{Fock, matrix::Matrix};
use tidings_applications::tce::{Contraction, Product};
use tidings_applications::uneven::{self, Uneven};
use tidings_applications::uts::{Count, Node, Tree, random::State};
use tidings_applications::{Application, in_order};

/// The most words of a task.
pub(crate) const TASK_WORDS: usize = 6;

/// An application whose tasks travel.
pub(crate) trait Portable: Application {
    /// Nanoseconds that a unit of its cost takes, as predicted; 0 where costs are not known before.
    const UNIT_NS: f64;

    /// Writes a task as words; how many they are.
    fn put(task: &Self::Task, words: &mut [u32; TASK_WORDS]) -> usize;

    /// The task of these words; `None` if they are none.
    fn task(words: &[u32]) -> Option<Self::Task>;

    /// A total as words.
    fn total_words(&self, total: &Self::Total) -> Vec<u64>;

    /// The total of these words; `None` if they are none.
    fn total(&self, words: &[u64]) -> Option<Self::Total>;

    /// What the total is, in words, and whether that is right; `None` where that is not known
    /// without computing it another way.
    fn verdict(&self, total: &Self::Total) -> (String, Option<bool>);

    /// Whether two totals, as words, are the same result.
    fn is_same(one: &[u64], other: &[u64]) -> bool {
        one == other
    }
}

impl Portable for Tree {
    const UNIT_NS: f64 = 0.0;

    fn put(node: &Node, words: &mut [u32; TASK_WORDS]) -> usize {
        words[..5].copy_from_slice(&node.state.words());
        words[5] = node.depth;
        TASK_WORDS
    }

    fn task(words: &[u32]) -> Option<Node> {
        let (depth, state) = words.split_last()?;
        Some(Node { state: State::of_words(state.try_into().ok()?), depth: *depth })
    }

    fn total_words(&self, count: &Count) -> Vec<u64> {
        vec![count.nodes, count.leaves, u64::from(count.depth)]
    }

    fn total(&self, words: &[u64]) -> Option<Count> {
        let [nodes, leaves, depth] = *words else { return None };
        Some(Count { nodes, leaves, depth: u32::try_from(depth).ok()? })
    }

    fn verdict(&self, count: &Count) -> (String, Option<bool>) {
        let Count { nodes, leaves, depth } = count;
        let known = tidings_applications::uts::trees::ALL.iter().find(|named| named.tree == *self);
        let text = format!("{nodes} nodes, {leaves} leaves, depth {depth}");
        (text, known.map(|named| named.is(count)))
    }
}

impl Portable for Fibonacci {
    const UNIT_NS: f64 = 0.0;

    fn put(task: &u32, words: &mut [u32; TASK_WORDS]) -> usize {
        words[0] = *task;
        1
    }

    fn task(words: &[u32]) -> Option<u32> {
        let [n] = *words else { return None };
        (n <= 64).then_some(n)
    }

    fn total_words(&self, total: &fibonacci::Total) -> Vec<u64> {
        vec![total.number, total.forks]
    }

    fn total(&self, words: &[u64]) -> Option<fibonacci::Total> {
        let [number, forks] = *words else { return None };
        Some(fibonacci::Total { number, forks })
    }

    fn verdict(&self, total: &fibonacci::Total) -> (String, Option<bool>) {
        let text = format!("{} by {} forks", total.number, total.forks);
        (text, Some(total.number == fibonacci::number(self.0)))
    }
}

impl Portable for Queens {
    const UNIT_NS: f64 = 0.0;

    fn put(task: &Placement, words: &mut [u32; TASK_WORDS]) -> usize {
        words[..4].copy_from_slice(&task.words());
        4
    }

    fn task(words: &[u32]) -> Option<Placement> {
        Some(Placement::of_words(words.try_into().ok()?))
    }

    fn total_words(&self, total: &u64) -> Vec<u64> {
        vec![*total]
    }

    fn total(&self, words: &[u64]) -> Option<u64> {
        let [total] = *words else { return None };
        Some(total)
    }

    fn verdict(&self, total: &u64) -> (String, Option<bool>) {
        (format!("{total} placements"), Some(*total == in_order(self).0))
    }
}

impl Portable for Fock {
    const UNIT_NS: f64 = 25.0;

    fn put(task: &u64, words: &mut [u32; TASK_WORDS]) -> usize {
        words[..2].copy_from_slice(&[*task as u32, (*task >> 32) as u32]);
        2
    }

    fn task(words: &[u32]) -> Option<u64> {
        let [low, high] = *words else { return None };
        Some(u64::from(low) | u64::from(high) << 32)
    }

    fn total_words(&self, total: &Matrix) -> Vec<u64> {
        total.elements().iter().map(|element| element.to_bits()).collect()
    }

    fn total(&self, words: &[u64]) -> Option<Matrix> {
        let mut total = self.empty();
        let elements = total.elements_mut();
        if elements.len() != words.len() {
            return None;
        }
        elements.iter_mut().zip(words).for_each(|(to, word)| *to = f64::from_bits(*word));
        Some(total)
    }

    fn verdict(&self, total: &Matrix) -> (String, Option<bool>) {
        let sum: f64 = total.elements().iter().map(|element| element.abs()).sum();
        (format!("a matrix whose elements sum up to {sum:.9e}"), None)
    }

    /// To the rounding of sums in another order.
    fn is_same(one: &[u64], other: &[u64]) -> bool {
        let elements = |words: &[u64]| words.iter().map(|word| f64::from_bits(*word)).collect();
        let (one, other): (Vec<f64>, Vec<f64>) = (elements(one), elements(other));
        let largest = other.iter().fold(0.0, |most: f64, element| most.max(element.abs()));
        let same = |(one, other): (&f64, &f64)| (one - other).abs() <= 1e-9 * largest;
        one.len() == other.len() && one.iter().zip(&other).all(same)
    }
}

impl Portable for Contraction {
    const UNIT_NS: f64 = 0.25;

    fn put(task: &Product, words: &mut [u32; TASK_WORDS]) -> usize {
        let pair = |[one, other]: [u16; 2]| u32::from(one) << 16 | u32::from(other);
        words[..3].copy_from_slice(&[pair(task.ab), pair(task.ef), pair(task.ij)]);
        3
    }

    fn task(words: &[u32]) -> Option<Product> {
        let [ab, ef, ij] = *words else { return None };
        let pair = |word: u32| [(word >> 16) as u16, word as u16];
        Some(Product { ab: pair(ab), ef: pair(ef), ij: pair(ij) })
    }

    fn total_words(&self, total: &i64) -> Vec<u64> {
        vec![*total as u64]
    }

    fn total(&self, words: &[u64]) -> Option<i64> {
        let [total] = *words else { return None };
        Some(total as i64)
    }

    fn verdict(&self, total: &i64) -> (String, Option<bool>) {
        (format!("checksum {total}"), None)
    }
}

impl Portable for Proteins {
    const UNIT_NS: f64 = 1.0;

    fn put(task: &(u32, u32), words: &mut [u32; TASK_WORDS]) -> usize {
        words[..2].copy_from_slice(&[task.0, task.1]);
        2
    }

    fn task(words: &[u32]) -> Option<(u32, u32)> {
        let [one, other] = *words else { return None };
        Some((one, other))
    }

    fn total_words(&self, total: &homology::Total) -> Vec<u64> {
        vec![total.checksum, total.related]
    }

    fn total(&self, words: &[u64]) -> Option<homology::Total> {
        let [checksum, related] = *words else { return None };
        Some(homology::Total { checksum, related })
    }

    fn verdict(&self, total: &homology::Total) -> (String, Option<bool>) {
        (format!("checksum {:016x}, {} related", total.checksum, total.related), None)
    }
}

impl Portable for Uneven {
    const UNIT_NS: f64 = 1.0;

    fn put(task: &u32, words: &mut [u32; TASK_WORDS]) -> usize {
        words[0] = *task;
        1
    }

    fn task(words: &[u32]) -> Option<u32> {
        let [task] = *words else { return None };
        Some(task)
    }

    fn total_words(&self, total: &uneven::Total) -> Vec<u64> {
        vec![total.tasks, total.hashes]
    }

    fn total(&self, words: &[u64]) -> Option<uneven::Total> {
        let [tasks, hashes] = *words else { return None };
        Some(uneven::Total { tasks, hashes })
    }

    fn verdict(&self, total: &uneven::Total) -> (String, Option<bool>) {
        (format!("{} tasks, hash {:016x}", total.tasks, total.hashes), None)
    }
}
