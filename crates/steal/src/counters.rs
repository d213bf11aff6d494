//! Counters: what a worker has done since it began, which only grow.

/// What one worker has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Tasks that it ran, each continuation counted.
    pub executed: u64,
    /// Tasks that it spawned.
    pub spawned: u64,
    /// Requests that it made as a thief.
    pub attempts: u64,
    /// Those that brought tasks.
    pub steals: u64,
    /// Those that did not.
    pub refused: u64,
    /// Times that it was sent tasks by a neighbour.
    pub pushed: u64,
    /// Times that it sent tasks where they had been stolen in the last phase of the name.
    pub guided: u64,
    /// Tasks that came, by request or not.
    pub tasks_in: u64,
    /// Lifelines that it put out.
    pub lifelines: u64,
    /// Rounds that it began as the root to learn whether nothing is left.
    pub rounds: u64,
    /// Messages that made no sense here, or came from the dead.
    pub ignored: u64,
}
