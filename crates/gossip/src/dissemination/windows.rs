//! Strategies of windows to random members: `uniform`, `spread` and `push-pull`.

use super::context::{Context, Disseminate};
use crate::wire::window::Marks;

/// A window to one random member (Figure 1 of Levy et al., ROSS'14).
pub(super) struct Uniform;

impl Disseminate for Uniform {
    fn round(&mut self, context: &mut Context<'_>) {
        context.send_to_any(context.budget.window_entries, Marks::NONE);
    }
}

/// As many datagrams as a window takes, each with the newest entries to another random member.
///
/// Small windows to many do more than a large one to one: what is newest travels further in each
/// unit, and repeats less.
pub(super) struct Spread;

impl Disseminate for Spread {
    fn round(&mut self, context: &mut Context<'_>) {
        let window = context.budget.window_entries;
        let targets = window.div_ceil(context.budget.datagram_entries);
        for _ in 0..targets {
            context.send_to_any(window.div_ceil(targets), Marks::NONE);
        }
    }
}

/// Half a window to one random member, which answers with half of its own.
pub(super) struct PushPull;

impl PushPull {
    /// Entries of each half.
    pub(super) fn half(window_entries: usize) -> usize {
        window_entries.div_ceil(2)
    }
}

impl Disseminate for PushPull {
    fn round(&mut self, context: &mut Context<'_>) {
        context.send_to_any(Self::half(context.budget.window_entries), Marks::WANTS_ANSWER);
    }
}
