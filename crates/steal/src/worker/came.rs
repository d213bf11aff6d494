//! Tasks that have come, before they are in the queue.

use crate::frame::Frame;

/// Tasks that have come.
#[derive(Debug)]
pub(super) struct Came {
    /// From whom.
    pub(super) from: u32,
    /// Which of that worker's gifts of the phase they are.
    pub(super) number: u32,
    /// Which of its gifts of the last phase they are again.
    pub(super) again: Option<u32>,
    pub(super) frames: Vec<Frame>,
}

impl Came {
    /// Which gift of the last phase it is again.
    pub(super) fn gift(&self) -> Option<(u32, u32)> {
        self.again.map(|number| (self.from, number))
    }
}
