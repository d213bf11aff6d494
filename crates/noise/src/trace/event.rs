//! What the kernel did, as the rest of the crate sees it.

use crate::source::SourceId;

/// Something that the kernel did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at_ns: u64,
    /// On which core.
    pub core: u32,
    /// The thread that was current there; 0 is the idle task.
    pub current: u32,
    /// What.
    pub what: What,
}

/// What the kernel did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It began to serve this source.
    Enter(SourceId),
    /// It has served the last one that it began.
    Leave,
    /// It has served this for so long, until now.
    Served(SourceId, u64),
    /// It has served this, for so long without what interrupted it, until now. Its beginning is not
    /// an event.
    Net(SourceId, u64),
    /// This thread has run as long as that, likewise.
    Ran(u32, SourceId, u64),
    /// Another thread is current from now on: which, and its name as a source.
    Switch(u32, SourceId),
    /// The current thread faulted on a page.
    Fault,
    /// Events before this one were lost: what runs is not known.
    Missed,
}
