//! Outputs that stay on the nodes that made them: where each lies.
//!
//! What a task has come to may be larger than a store should carry, and is often read next on the
//! node where it was made. So it stays there, in a *depot*, and the record of the task says in
//! which ones. A depot goes with its node. Then the task is done again, if its output is still
//! needed and lies nowhere else.
//!
//! Source: the dataflow coordinator of the FOX final report, §3.2: "generated outputs are stored
//! locally", and the coordinator has the location, not the data.

use minicbor::{Decode, Encode};

/// The most nodes that are to have an output.
pub const MAX_COPIES: u32 = 8;

/// The bytes of the address at which a depot is reached.
pub const MAX_ADDRESS_BYTES: usize = 300;

/// A folder of a node in which outputs stay, and from which others fetch them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Depot {
    /// A number of its own, drawn at random when the folder was made: a folder that was emptied is
    /// another depot, whatever its host is called.
    #[n(0)]
    pub id: u64,
    /// The host, as the board names it.
    #[n(1)]
    pub host: String,
}

/// Where an output lies.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Kept {
    /// How long it is.
    #[n(0)]
    pub bytes: u64,
    /// The depots that have it: 1 to [`MAX_COPIES`], the first one that of the node that made it.
    #[n(1)]
    pub depots: Vec<Depot>,
}

/// A depot, and where it is reached at present.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Reached {
    /// Which.
    #[n(0)]
    pub depot: Depot,
    /// Where its node serves it.
    #[n(1)]
    pub address: String,
}

impl Kept {
    /// What is wrong with it.
    ///
    /// # Errors
    /// No depot has it, or more than may.
    pub fn check(&self) -> Result<(), String> {
        match self.depots.len() {
            0 => Err("an output that no node has".to_owned()),
            count if count > MAX_COPIES as usize => {
                Err(format!("an output on {count} nodes; at most {MAX_COPIES} are possible"))
            }
            _ => Ok(()),
        }
    }
}
