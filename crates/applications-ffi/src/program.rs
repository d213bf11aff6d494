//! An application with the total of this process, whatever its types.

use tidings_applications::in_order;

use crate::portable::{Portable, TASK_WORDS};

/// Gets a task: its predicted work in nanoseconds, and its bytes.
pub(crate) type Give<'a> = &'a mut dyn FnMut(u64, &[u8]);

/// What can be done with an application of any type.
pub(crate) trait Program {
    /// Gives the tasks with which one of so many processes begins: blocks of the list.
    fn roots(&self, process: u32, processes: u32, give: Give<'_>);

    /// Runs a task; false if these bytes are none.
    fn run(&mut self, task: &[u8], give: Give<'_>) -> bool;

    /// What a task is predicted to take, in nanoseconds, 0 if nobody knows or these bytes are none.
    fn cost_ns(&self, task: &[u8]) -> u64;

    /// The total so far, as words.
    fn total(&self) -> Vec<u64>;

    /// Adds another process's total; false if these words are none.
    fn merge(&mut self, words: &[u64]) -> bool;

    /// Forgets what was found.
    fn clear(&mut self);

    /// What was found, in words, and whether that is right, if that is known or to be computed.
    fn verdict(&self, compute: bool) -> (String, Option<bool>);
}

/// An application and a total.
pub(crate) struct Of<A: Portable> {
    application: A,
    total: A::Total,
}

impl<A: Portable> Of<A> {
    /// An application of which nothing has run.
    pub(crate) fn new(application: A) -> Self {
        let total = application.empty();
        Self { application, total }
    }
}

fn give_task<A: Portable>(application: &A, task: &A::Task, give: Give<'_>) {
    let (mut words, mut bytes) = ([0; TASK_WORDS], [0; 4 * TASK_WORDS]);
    let count = A::put(task, &mut words);
    for (to, word) in bytes.chunks_exact_mut(4).zip(&words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    give(cost_ns(application, task), &bytes[..4 * count]);
}

fn cost_ns<A: Portable>(application: &A, task: &A::Task) -> u64 {
    if A::UNIT_NS > 0.0 { (application.cost(task) as f64 * A::UNIT_NS) as u64 } else { 0 }
}

/// The task of these bytes; `None` if they are none.
fn task_of<A: Portable>(bytes: &[u8]) -> Option<A::Task> {
    let mut words = [0; TASK_WORDS];
    if bytes.len() % 4 != 0 || bytes.len() > 4 * TASK_WORDS {
        return None;
    }
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    A::task(&words[..bytes.len() / 4])
}

impl<A: Portable> Program for Of<A> {
    fn roots(&self, process: u32, processes: u32, give: Give<'_>) {
        let count = self.application.roots().count() as u64;
        let start = |process: u32| {
            let part = u128::from(count) * u128::from(process) / u128::from(processes.max(1));
            part as usize
        };
        let (from, to) = (start(process), start(process + 1));
        for task in self.application.roots().skip(from).take(to - from) {
            give_task(&self.application, &task, give);
        }
    }

    fn run(&mut self, task: &[u8], give: Give<'_>) -> bool {
        let Some(task) = task_of::<A>(task) else { return false };
        let Self { application, total } = self;
        application.run(&task, total, &mut |spawned| give_task(application, &spawned, give));
        true
    }

    fn cost_ns(&self, task: &[u8]) -> u64 {
        task_of::<A>(task).map_or(0, |task| cost_ns(&self.application, &task))
    }

    fn total(&self) -> Vec<u64> {
        self.application.total_words(&self.total)
    }

    fn merge(&mut self, words: &[u64]) -> bool {
        let Some(other) = self.application.total(words) else { return false };
        self.application.merge(&mut self.total, &other);
        true
    }

    fn clear(&mut self) {
        self.total = self.application.empty();
    }

    fn verdict(&self, compute: bool) -> (String, Option<bool>) {
        let (text, known) = self.application.verdict(&self.total);
        let is_right = known.or_else(|| {
            compute.then(|| {
                let reference = in_order(&self.application).0;
                A::is_same(
                    &self.application.total_words(&self.total),
                    &self.application.total_words(&reference),
                )
            })
        });
        (text, is_right)
    }
}
