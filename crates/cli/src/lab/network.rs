//! A network, as options name it: its kind and the counts that it is made of.

use clap::ValueEnum;
use tidings_flows::error::FlowsError;
use tidings_flows::shape::Shape;

/// The kinds of networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Network {
    Torus,
    Mesh,
    FatTree,
    Dragonfly,
}

impl Network {
    /// The network of these counts.
    pub(super) fn shape(self, counts: &[u32]) -> Result<Shape, FlowsError> {
        let kind = match self {
            Self::Torus => "torus",
            Self::Mesh => "mesh",
            Self::FatTree => "fat-tree",
            Self::Dragonfly => "dragonfly",
        };
        Shape::of_kind(kind, counts).expect("it is one of the kinds")
    }
}
