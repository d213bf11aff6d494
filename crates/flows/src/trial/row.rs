//! What a test is asked and what it says: sizes, rows, and what all tests count alike.

/// Messages of a stream: as many as `mpi/characterize` sends on a simulated machine.
pub(super) const MESSAGES: u32 = 4;

/// From one size to the next, and where they end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The largest message.
    pub largest: u64,
    /// From one size to the next.
    pub factor: u64,
    /// The least and the largest side of a sub-domain of HALO.
    pub halo: [u64; 2],
    /// The orders of HALO; all if there are none.
    pub orders: Vec<String>,
    /// Below this size a message moves before its receiver has asked for it.
    pub buffered_below: u64,
}

/// What a row says.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// How long a message took.
    Measured(Measured),
    /// Why a test, or a part of it, is not there.
    Skipped {
        /// The test.
        test: &'static str,
        /// The reason.
        reason: String,
    },
    /// What an order of ranks does to the links.
    Prediction(Prediction),
}

/// How long a message took.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The test.
    pub test: &'static str,
    /// The line in its figure.
    pub variant: String,
    /// Bytes of a message.
    pub bytes: u64,
    /// What else changes; 0 if nothing does.
    pub count: u64,
    /// Messages of which it is the mean.
    pub messages: u32,
    /// Seconds a message.
    pub seconds: f64,
}

/// What an order of ranks does to the links of the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The order.
    pub variant: String,
    /// Messages that leave their node.
    pub messages_between_nodes: u64,
    /// Mean over all messages, those inside a node included.
    pub hops_a_message: f64,
    /// The messages of the link that has most.
    pub messages_of_the_busiest_link: u32,
    /// How long the link that takes longest needs for a byte of each of its messages, in seconds.
    pub busiest_s_a_byte: f64,
}

/// Sizes from one on, by the factor, the largest not left out.
pub(super) fn sizes(extent: &Extent, from: u64) -> Vec<u64> {
    let next = |bytes: &u64| {
        let more = if *bytes == 0 { 1 } else { bytes.saturating_mul(extent.factor.max(2)) };
        (*bytes < extent.largest).then(|| more.min(extent.largest))
    };
    std::iter::successors(Some(from.min(extent.largest)), next).collect()
}

/// 1, 2, 4, ..., the most not left out.
pub(super) fn counts(most: u32) -> Vec<u32> {
    let next = |count: &u32| (*count < most).then(|| count.saturating_mul(2).min(most));
    std::iter::successors(Some(1), next).take_while(|count| *count <= most).collect()
}

/// When a core that is busy with one message after the other has received them all, from a time on.
pub(super) fn received(mut ends_s: Vec<f64>, from_s: f64, each_s: f64) -> f64 {
    ends_s.sort_by(f64::total_cmp);
    ends_s.into_iter().fold(from_s, |free_s, end_s| free_s.max(end_s) + each_s)
}
