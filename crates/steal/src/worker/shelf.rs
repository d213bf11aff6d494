//! The shelf: what a worker lays out for whoever comes first, and who comes takes it by itself.
//!
//! A world with one-sided communication has a place at each worker that all can read and clear
//! while the worker runs a task. There it lays half of what it has, as a gift that names no thief.
//! A thief that finds it receives it as the answer of that worker. What lies there was made and is
//! not gone, so the phase goes on; who laid it out takes it back before it has nothing else.
//!
//! Nobody knows when it was taken, nor by whom. So there is no shelf where a phase is retained or
//! done again, and its world has none where deaths are survived, or a trace is wanted.
//!
//! Invariant: a task is in the queue or on the shelf, never in both.
//!
//! Source: Cartier, Dinan, Larkins, "Optimizing work stealing communication with structured atomic
//! operations", ICPP 2021 (what is shared lies in the owner's memory, and one atomic claims it).

use super::{Stage, Worker};
use crate::message::{Body, Message};
use crate::queue::Want;

impl Worker {
    /// Takes half of what it has out of its queue, as a message of at most so many bytes to whoever
    /// comes first; `None` if there is nothing to give, or it has too many bytes.
    pub fn lay_out(&mut self, most_bytes: usize) -> Option<Message> {
        if self.stage != Stage::Within || self.script.is_some() || self.config.retain {
            return None;
        }
        let busy = self.running.is_some();
        let frames = self.queue.give(&self.config.sharing, busy, Want::HALF);
        if frames.is_empty() {
            return None;
        }
        let left_ns = self.remaining_ns();
        let body = Body::Given { lifeline: false, left_ns, number: 0, again: None, frames };
        let gift = Message { phase: self.phase, body };
        if gift.encoded_bytes() > most_bytes {
            self.take_back(gift);
            return None;
        }
        Some(gift)
    }

    /// What it had laid out is its own again: nobody has taken it.
    pub fn take_back(&mut self, gift: Message) {
        let Message { phase, body: Body::Given { frames, .. } } = gift else { return };
        if phase == self.phase && self.stage == Stage::Within {
            self.queue.extend(frames);
            self.serve();
        }
    }
}

#[cfg(test)]
mod tests {
    use tidings_primitives::Instant;

    use super::*;
    use crate::config::{Config, random};
    use crate::frame::Frame;
    use crate::output::{Ending, Output};
    use crate::victims::NoBoard;
    use crate::worker::Done;

    const NOW: Instant = Instant::EPOCH;

    fn with_tasks(tasks: usize, config: &Config) -> Worker {
        let mut worker = Worker::new(0, 2, config, 1);
        worker.begin("phase", vec![Frame::new(0, 5_000_000, b"one").unwrap(); tasks], NOW).unwrap();
        worker
    }

    fn usual() -> Config {
        Config::new(random(20), 20)
    }

    /// Passes on what each idle worker says to the other for some time; whether both are done.
    fn exchange(workers: &mut [Worker; 2]) -> bool {
        let mut ended = 0;
        for at_us in (1000..100_000).step_by(1000) {
            let now = Instant::from_micros(at_us);
            for from in [0, 1] {
                assert_eq!(workers[from].next_task(now, &NoBoard), None);
                while let Some(output) = workers[from].poll_output() {
                    match output {
                        Output::Send { to, message } => {
                            workers[to as usize].receive(from as u32, message, now);
                        }
                        Output::PhaseDone(Ending::Complete) => ended += 1,
                        _ => {}
                    }
                }
            }
        }
        ended == 2
    }

    fn run_all(worker: &mut Worker) -> usize {
        let mut tasks = 0;
        while worker.next_task(NOW, &NoBoard).is_some() {
            worker.finished(Done::Nothing, 5).unwrap();
            tasks += 1;
        }
        tasks
    }

    #[test]
    fn what_a_thief_takes_from_the_shelf_runs_once_and_the_phase_ends_after_it() {
        let mut workers = [with_tasks(9, &usual()), Worker::new(1, 2, &usual(), 1)];
        workers[1].begin("phase", Vec::new(), NOW).unwrap();
        let gift = workers[0].lay_out(1000).expect("half");
        assert_eq!(workers[1].next_task(NOW, &NoBoard), None);
        assert_eq!(workers[1].asked(), Some(0));
        // Its world finds the gift instead of sending this.
        while workers[1].poll_output().is_some() {}
        let own = run_all(&mut workers[0]);
        assert!(!exchange(&mut workers), "what lies on the shelf was not run");
        workers[1].receive(0, gift, NOW);
        let counters = workers[1].counters();
        assert_eq!((counters.attempts, counters.steals, counters.refused), (1, 1, 0));
        let stolen = run_all(&mut workers[1]);
        assert_eq!((own + stolen, stolen as u64), (9, counters.tasks_in));
        assert!(own > 3 && stolen > 3 && exchange(&mut workers));
    }

    #[test]
    fn what_nobody_takes_is_taken_back() {
        let mut worker = with_tasks(9, &usual());
        let gift = worker.lay_out(1000).expect("half");
        let before = run_all(&mut worker);
        assert!(worker.is_idle());
        worker.take_back(gift.clone());
        assert_eq!(before + run_all(&mut worker), 9);
        worker.take_back(Message { phase: 7, ..gift });
        assert!(worker.is_idle(), "it was of another phase");
    }

    #[test]
    fn nothing_is_laid_out_that_nobody_could_take_or_that_others_would_have_to_know_of() {
        assert_eq!(with_tasks(9, &usual()).lay_out(60), None);
        assert_eq!(with_tasks(1, &usual()).lay_out(1000), None);
        let retained = Config { retain: true, ..usual() };
        assert_eq!(with_tasks(9, &retained).lay_out(1000), None);
        assert_eq!(Worker::new(0, 2, &usual(), 1).lay_out(1000), None, "outside of a phase");
        let mut worker = with_tasks(9, &usual());
        assert_eq!(worker.lay_out(60), None);
        assert_eq!(run_all(&mut worker), 9, "what has too many bytes stays");
    }
}
