//! Views: who takes part, numbered.
//!
//! A view is one record of the store, which a commit replaces only as it was read. So all processes
//! see the same views in the same order, though some see one later, or miss it. A process that is
//! in no later view is *lost*: whatever it still does, nobody who knows that view believes it. The
//! detector of failures and sessions that end say when a view is replaced; what counts is decided
//! by its number.
//!
//! A view has the last ones before it, so that those who hold copies can tell whether something may
//! have been lost with the nodes that are gone.

use minicbor::{Decode, Encode};

use crate::id::Node;

/// Earlier views that one keeps.
pub const MAX_PAST: usize = 16;

/// The nodes that take part.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode)]
#[cbor(map)]
pub struct View {
    /// Larger than that of all before; 0 before the first.
    #[n(0)]
    pub number: u64,
    /// In ascending order.
    #[n(1)]
    pub nodes: Vec<Node>,
    /// The last views before, the latest first.
    #[n(2)]
    pub past: Vec<Past>,
}

/// A view that was replaced.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Past {
    /// Its number.
    #[n(0)]
    pub number: u64,
    /// Its nodes, in ascending order.
    #[n(1)]
    pub nodes: Vec<Node>,
}

impl View {
    /// Whether a node takes part.
    pub fn has(&self, node: Node) -> bool {
        self.nodes.binary_search(&node).is_ok()
    }

    /// All but one.
    pub fn others(&self, than: Node) -> impl Iterator<Item = Node> {
        self.nodes.iter().copied().filter(move |node| *node != than)
    }

    /// The view that follows this one, with these nodes.
    #[must_use]
    pub fn followed_by(&self, nodes: impl IntoIterator<Item = Node>) -> Self {
        let mut nodes: Vec<Node> = nodes.into_iter().collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut past = Vec::with_capacity(MAX_PAST);
        if self.number > 0 {
            past.push(Past { number: self.number, nodes: self.nodes.clone() });
        }
        past.extend(self.past.iter().take(MAX_PAST - 1).cloned());
        Self { number: self.number + 1, nodes, past }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_has_those_before_it() {
        let mut view = View::default();
        for number in 1..40 {
            view = view.followed_by([Node(number + 1), Node(number), Node(number)]);
            assert_eq!(view.nodes, [Node(number), Node(number + 1)]);
            assert!(view.has(Node(number)) && !view.has(Node(0)));
        }
        assert_eq!((view.number, view.past.len()), (39, MAX_PAST));
        assert_eq!(view.past[0], Past { number: 38, nodes: vec![Node(38), Node(39)] });
        assert_eq!(view.past[MAX_PAST - 1].number, 23);
        assert!(view.others(Node(39)).eq([Node(40)]));
    }
}
