//! Where nodes lie: in blocks, each of which one thread fills, so that threads that add nodes do
//! not wait for each other.
//!
//! Most nodes are those of forks, a finish with an async as its first child. The second follows
//! from the first: it has the odd number after that, and is kept nowhere. So a fork takes one slot.
//!
//! Invariant: a number is given once, and who has it from another thread has it by a lock or a job,
//! after its node was set. That orders the writes before the reads, so each word may be written and
//! read as plainly as memory that nobody shares.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::labels::{Label, Place};

/// A node, by its number.
pub(crate) type Node = u32;

/// The nodes of a block.
const BLOCK: usize = 256;

/// What is kept of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Inner {
    pub(super) parent: Node,
    pub(super) jump: Node,
    pub(super) depth: u32,
    pub(super) place: u32,
    /// The innermost finish around what is directly below it: itself, if it is one.
    pub(super) finish: Node,
    /// Where its label begins.
    pub(super) segment: u32,
    /// Where in the program it was made.
    pub(super) site: u32,
    pub(super) label: Label,
}

/// The place of the async of a fork in its finish.
const FIRST: Place = Place { place: 1, is_async: true };

/// Where a node is kept.
#[derive(Default, Debug)]
struct Slot {
    words: [AtomicU32; 7],
    bits: AtomicU64,
    ends: AtomicU64,
}

impl Slot {
    fn set(&self, inner: Inner) {
        let Inner { parent, jump, depth, place, finish, segment, site, label } = inner;
        let words = [parent, jump, depth, place, finish, segment, site];
        for (slot, word) in self.words.iter().zip(words) {
            slot.store(word, Relaxed);
        }
        self.bits.store(label.bits, Relaxed);
        self.ends.store(label.ends, Relaxed);
    }

    fn get(&self) -> Inner {
        let [parent, jump, depth, place, finish, segment, site] =
            self.words.each_ref().map(|word| word.load(Relaxed));
        let label = Label { bits: self.bits.load(Relaxed), ends: self.ends.load(Relaxed) };
        Inner { parent, jump, depth, place, finish, segment, site, label }
    }

    /// Of the node itself, or of its first child.
    fn label(&self, of_child: bool) -> (u32, Label) {
        let label = Label { bits: self.bits.load(Relaxed), ends: self.ends.load(Relaxed) };
        let found = if of_child { FIRST.label_below(label) } else { Some(label) };
        (self.words[5].load(Relaxed), found.expect("else it has a number of its own"))
    }
}

/// The numbers that a thread may give.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    next: Node,
    end: Node,
}

impl Room {
    /// No number.
    pub(crate) const NONE: Self = Self { next: 0, end: 0 };
}

/// The nodes of a tree, by number.
#[derive(Debug, Default)]
pub(super) struct Nodes(boxcar::Vec<Box<[Slot]>>);

impl Nodes {
    /// The next even number of this room, which is another if it was used up.
    ///
    /// # Panics
    /// If there would be more than 2^31.
    pub(super) fn number(&self, room: &mut Room) -> Node {
        if room.next == room.end {
            let block = self.0.push((0..BLOCK).map(|_| Slot::default()).collect());
            let end = Node::try_from((block + 1) * 2 * BLOCK);
            let end = end.expect("memory ends before 2^31 nodes");
            *room = Room { next: end - 2 * BLOCK as Node, end };
        }
        room.next += 2;
        room.next - 2
    }

    fn slot(&self, number: Node) -> &Slot {
        let at = number as usize / 2;
        &self.0[at / BLOCK][at % BLOCK]
    }

    /// Sets the node of a number that was just given.
    pub(super) fn set(&self, number: Node, inner: Inner) {
        self.slot(number).set(inner);
    }

    /// The async of a fork of which this is the finish, if it follows from that.
    pub(super) fn first_child(number: Node, finish: Label) -> Option<Node> {
        FIRST.label_below(finish).map(|_| number + 1)
    }

    /// The node of a number. Of those that follow from another the jump is that of the other.
    pub(super) fn get(&self, node: Node) -> Inner {
        let slot = self.slot(node);
        let inner = slot.get();
        if node % 2 == 0 {
            return inner;
        }
        let (parent, depth, (_, label)) = (node - 1, inner.depth + 1, slot.label(true));
        Inner { parent, depth, place: FIRST.place, finish: parent, label, ..inner }
    }

    /// The segment and the label of a node, without the rest of it.
    pub(super) fn label(&self, node: Node) -> (u32, Label) {
        self.slot(node).label(node % 2 == 1)
    }
}
