//! Colonies by their numbers: one, a range of them, and the one that a node belongs to.

use core::fmt;

/// The most colonies that a node can be configured to have room for.
pub const MAX_COLONIES: u32 = 1 << 16;

/// A colony's number, given by the operator: 1 to 4,294,967,295. It travels as it
/// is, so that a node that does not know a colony can still name it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ColonyId(pub u32);

impl fmt::Display for ColonyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Which colony a node belongs to, and how many others it has room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColonyConfig {
    /// The colony's number, not 0; members share it, other colonies have others.
    pub id: ColonyId,
    /// The most other colonies: 1 to 65,536, each 0.6 kB, taken at the start; 1.1 kB where changes
    /// are sent.
    pub max_colonies: u32,
}

/// A range of colonies by their ids, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColonyIds {
    /// The first.
    pub first: ColonyId,
    /// The last.
    pub last: ColonyId,
}
