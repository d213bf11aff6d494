//! Who has which part: the same for all who have the same view.
//!
//! Each part goes to the two processes with the largest hash of both (rendezvous hashing, Thaler
//! and Ravishankar, 1998). So a process that comes or goes moves its own share of the parts and no
//! other, and no table has to be agreed on.

use tidings_primitives::chance::mix;

use crate::id::Node;

/// Parts that one block can have.
pub const MAX_PARTS: u16 = 4_096;

/// The owner and the backup of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placing {
    /// Who answers.
    pub owner: Node,
    /// Who has it too; none if nobody else takes part.
    pub backup: Option<Node>,
}

impl Placing {
    /// Of a part among these; `None` if there are none.
    pub fn of(part: u16, nodes: &[Node]) -> Option<Self> {
        let (mut first, mut second) = (None, None);
        for node in nodes {
            let weighed = Some((mix(mix(node.0) ^ u64::from(part)), *node));
            if weighed > first {
                (first, second) = (weighed, first);
            } else if weighed > second {
                second = weighed;
            }
        }
        first.map(|(_, owner)| Self { owner, backup: second.map(|(_, backup)| backup) })
    }

    /// Whether it is one of the two.
    pub fn has(&self, node: Node) -> bool {
        self.owner == node || self.backup == Some(node)
    }
}

/// The part of a key, of so many.
pub fn part_of(key: &[u8], parts: u16) -> u16 {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64; // FNV-1a
    for byte in key {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
    }
    (mix(hash) % u64::from(parts.max(1))) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(numbers: impl IntoIterator<Item = u64>) -> Vec<Node> {
        numbers.into_iter().map(Node).collect()
    }

    #[test]
    fn a_process_that_goes_moves_its_own_parts_only() {
        let (all, without) = (nodes(1..=8), nodes((1..=8).filter(|number| *number != 3)));
        let mut moved = 0;
        for part in 0..MAX_PARTS {
            let (before, after) = (Placing::of(part, &all), Placing::of(part, &without));
            let (before, after) = (before.unwrap(), after.unwrap());
            assert!(!after.has(Node(3)));
            if before.has(Node(3)) {
                let mut stays = [Some(before.owner), before.backup].into_iter().flatten();
                assert!(stays.all(|node| node == Node(3) || after.has(node)));
                moved += 1;
            } else {
                assert_eq!(before, after);
            }
        }
        // Two copies of 4,096 parts, an eighth of them: 1,024, with a standard deviation of 28.
        assert!((850..1_200).contains(&moved), "{moved}");
    }

    #[test]
    fn one_alone_has_all_and_none_has_nothing() {
        let alone = Placing { owner: Node(5), backup: None };
        assert_eq!(Placing::of(7, &nodes([5])), Some(alone));
        assert_eq!(Placing::of(7, &[]), None);
        assert!((0..1_000_u32).all(|key| part_of(&key.to_be_bytes(), 7) < 7));
    }
}
