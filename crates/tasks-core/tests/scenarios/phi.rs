//! φ: sessions that end by their own heartbeats, rightly and wrongly.

use core::time::Duration;
use std::collections::BTreeMap;

use tidings_primitives::{Chance, Instant};
use tidings_tasks_core::detector::Detector;
use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::{Answer, Call, Message, Peer, Request, Submission};
use tidings_tasks_core::record::Outcome;
use tidings_tasks_core::retry::{Cause, Retry};

use crate::stage::*;

/// The time between heartbeats under φ.
const PERIOD: Duration = Duration::from_millis(250);

fn stage(detector: Detector) -> Stage {
    Stage::with(|settings| settings.detector = detector)
}

fn beat(stage: &mut Stage, peer: Peer, count: u32) {
    for _ in 0..count {
        stage.pass(PERIOD);
        stage.request(peer, Request::Heartbeat);
        stage.settle();
    }
}

fn has_ended(said: &[(Peer, Message)], peer: Peer) -> bool {
    said.iter().any(|(to, message)| *to == peer && *message == Message::Ended)
}

#[test]
fn a_silent_session_ends_sooner_by_phi_and_its_task_goes_on_elsewhere() {
    for (detector, ends_within) in
        [(Detector::PHI, Duration::from_secs(1)), (Detector::Session, TTL)]
    {
        let mut stage = stage(detector);
        stage.join(A, "a", &[], 1);
        let told = answer(&stage.settle(), Call(1)).cloned();
        let term_ms = detector.told_term(TTL).as_millis() as u64;
        assert_eq!(told, Some(Answer::Joined(term_ms)), "heartbeats come by it");
        beat(&mut stage, A, 20);
        stage.submit(&[task(1)]);
        assert_eq!(assigned(&stage.settle()), [(A, task(1).id, 1)]);
        stage.join(B, "b", &[], 1);
        stage.settle();
        let last = stage.now;
        // It says nothing any more; the other one does.
        let mut said = Vec::new();
        while !has_ended(&said, A) {
            said = stage.pass(PERIOD / 5);
            stage.request(B, Request::Heartbeat);
            said.append(&mut stage.settle());
        }
        let silence = stage.now.saturating_since(last);
        assert!(silence <= ends_within && silence > ends_within / 3, "{detector}: {silence:?}");
        assert_eq!(assigned(&said), [(B, task(1).id, 2)]);
    }
}

/// At a constant period the deviation is 0 (trap 27): only the floor lets the first late one live.
#[test]
fn a_late_heartbeat_after_regular_ones_ends_nothing() {
    let mut stage = stage(Detector::PHI);
    stage.join(A, "a", &[], 1);
    beat(&mut stage, A, 100);
    let said = stage.pass(PERIOD * 3);
    assert!(!has_ended(&said, A), "{said:?}");
    beat(&mut stage, A, 1);
}

/// A session lasts no longer by φ than without it, however irregular it was.
#[test]
fn the_term_bounds_what_phi_waits_for() {
    let mut stage = stage(Detector::PHI);
    stage.join(A, "a", &[], 1);
    for round in 0..40 {
        stage.pass(if round % 2 == 0 { TTL * 9 / 10 } else { PERIOD });
        stage.request(A, Request::Heartbeat);
        assert!(!has_ended(&stage.settle(), A));
    }
    assert!(has_ended(&stage.pass(TTL), A));
}

/// A worker whose messages are held up now and then, as if its network were bad.
struct Worker {
    peer: Peer,
    beat: Instant,
    held_up_until: Instant,
    hand: BTreeMap<(TaskId, Attempt), Instant>,
    has_ended: bool,
}

impl Worker {
    fn name(&self) -> String {
        format!("w{}", self.peer.0)
    }

    fn hear(&mut self, message: &Message, now: Instant, chance: &mut Chance) {
        match message {
            Message::Assign { task, attempt, .. } => {
                let until = now + Duration::from_millis(50 + chance.below(600) as u64);
                self.hand.entry((*task, *attempt)).or_insert(until);
            }
            Message::Stop { task, attempt } => {
                self.hand.insert((*task, *attempt), Instant::EPOCH);
            }
            Message::Ended => self.has_ended = true,
            Message::Answer(..) => {}
        }
    }

    /// What it says now.
    fn tick(&mut self, stage: &mut Stage, chance: &mut Chance) {
        let now = stage.now;
        if now < self.held_up_until {
            return;
        }
        if chance.happens(0.004) {
            self.held_up_until = now + Duration::from_millis(200 + chance.below(1_500) as u64);
            return;
        }
        if core::mem::take(&mut self.has_ended) {
            let holding: Vec<_> = self.hand.keys().copied().collect();
            stage.join(self.peer, &self.name(), &holding, 1);
        }
        if now >= self.beat {
            let jitter = Duration::from_millis(chance.below(100) as u64);
            self.beat = now + PERIOD - Duration::from_millis(50) + jitter;
            stage.request(self.peer, Request::Heartbeat);
        }
        let over = |(key, until): (&(TaskId, Attempt), &Instant)| (*until <= now).then_some(*key);
        let done: Vec<(TaskId, Attempt)> = self.hand.iter().filter_map(over).collect();
        for (id, attempt) in done {
            let is_stopped = self.hand.remove(&(id, attempt)) == Some(Instant::EPOCH);
            let (cause, text, detail) = (Cause::Signal, "stopped".to_owned(), Vec::new());
            let said = if is_stopped {
                Request::Fail { task: id, attempt, cause, text, detail }
            } else {
                complete(id, attempt.0)
            };
            stage.request(self.peer, said);
        }
    }
}

/// Runs some tasks on workers that are held up. How often a session has ended, though its worker
/// lived, and how often a task was begun again.
fn run(detector: Detector, seed: u64) -> (u64, u64) {
    const TASKS: u64 = 60;
    let mut chance = Chance::new(seed);
    let mut stage = stage(detector);
    let worker = |number| Worker {
        peer: Peer(number),
        beat: Instant::EPOCH,
        held_up_until: Instant::EPOCH,
        hand: BTreeMap::new(),
        has_ended: true,
    };
    let mut workers: Vec<Worker> = (1..=4).map(worker).collect();
    // However often it is lost, it is no poison.
    let retry = Retry { losses: 1_000, ..Retry::default() };
    let tasks: Vec<_> = (0..TASKS).map(|number| Submission { retry, ..task(number) }).collect();
    stage.submit(&tasks);
    let mut deaths = 0;
    while stage.coordinator.live() > 0 || stage.now == Instant::EPOCH {
        assert!(stage.now < Instant::EPOCH + Duration::from_secs(600), "seed {seed}: it hangs");
        let mut said = stage.pass(Duration::from_millis(5));
        for worker in &mut workers {
            worker.tick(&mut stage, &mut chance);
        }
        said.append(&mut stage.settle());
        for worker in &mut workers {
            let peer = worker.peer;
            let to = said.iter().filter(|(to, _)| *to == peer);
            for (_, message) in to {
                deaths += u64::from(*message == Message::Ended);
                worker.hear(message, stage.now, &mut chance);
            }
        }
    }
    let mut again = 0;
    for task in &tasks {
        let finished = stage.finished(task.id).expect("it has ended");
        let attempt = finished.task.attempt.0;
        assert_eq!(finished.outcome, Outcome::Done(vec![attempt as u8]), "the try that counts");
        again += u64::from(attempt - 1);
    }
    assert_eq!(stage.coordinator.counters().done, TASKS, "each ends once");
    (deaths, again)
}

#[test]
fn a_death_that_was_none_costs_at_most_one_more_run() {
    // One that is as often wrong as can be.
    let rash = Detector::Phi { threshold: 1.0, floor: Duration::from_millis(1) };
    let mut all = [0; 3];
    for seed in 0..4 {
        for (detector, sum) in [rash, Detector::PHI, Detector::Session].into_iter().zip(&mut all) {
            let (deaths, again) = run(detector, seed);
            assert!(again <= deaths, "{detector}, seed {seed}: {again} runs for {deaths} deaths");
            *sum += deaths;
        }
    }
    let [rash, usual, term] = all;
    assert!(rash > usual && usual > term, "{all:?}");
    assert_eq!(term, 0, "none is held up for as long as a term");
}
