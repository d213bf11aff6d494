//! What a participant waits for in a round: the round does not end before it has come.

/// Something that somebody has to answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Due {
    /// A contribution of this participant is held by its owner and the copy.
    Contribution { task: u64, output: u8 },
    /// A contribution that this owner holds is held by the copy.
    Forward { task: u64, output: u8 },
    /// A new copy has the block.
    Block { index: u32, to: u32 },
    /// A list of what is missing is known.
    Listed { number: u32, to: u32 },
    /// A question.
    Asked { number: u32, to: u32 },
    /// A refusal is known.
    Refusal { index: u32, to: u32 },
}

impl Due {
    /// Who has to answer, where that does not follow from who lives.
    pub(super) fn by(self) -> Option<u32> {
        match self {
            Self::Contribution { .. } | Self::Forward { .. } => None,
            Self::Block { to, .. }
            | Self::Listed { to, .. }
            | Self::Asked { to, .. }
            | Self::Refusal { to, .. } => Some(to),
        }
    }

    /// Whether it is of one round, and forgotten with it.
    pub(super) fn is_of_round(self) -> bool {
        !matches!(self, Self::Block { .. })
    }
}
