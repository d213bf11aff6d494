//! Loops whose halves are split off only when somebody wants them.
//!
//! A worker runs its part in small steps. Between two it looks whether others would find nothing to
//! steal from it; then it forks the farther half of what is left. So a part is split about as often
//! as it is stolen from, not once for each grain (*lazy* binary splitting).
//!
//! A step is at most a sixteenth of what is left and at most [`STEP`] calls: few enough that the
//! end is balanced where calls are long, enough that the look costs nothing where they are short.
//!
//! Source: Tzannes, Caragea, Barua and Vishkin, PPoPP 2010.

use std::ops::Range;

use crate::join::join_on;
use crate::worker::Worker;

/// The most calls between two looks.
const STEP: usize = 32;

/// Calls `body` for each number, on this worker and those that steal from it.
pub(crate) fn for_each_on(worker: &Worker, mut left: Range<usize>, body: &(impl Fn(usize) + Sync)) {
    worker.stack.check();
    while left.len() > 1 {
        if worker.is_bare() {
            let middle = left.start + left.len() / 2;
            let far = middle..left.end;
            let run = |part| {
                let worker = Worker::current().expect("halves run on workers");
                for_each_on(worker, part, body);
            };
            join_on(worker, || run(left.start..middle), || run(far));
            return;
        }
        let step = (left.len() / 16).clamp(1, STEP);
        let end = left.start + step;
        (left.start..end).for_each(body);
        left.start = end;
    }
    left.for_each(body);
}
