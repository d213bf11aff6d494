//! Runs of `tidings-recovery` in virtual time: participants die, and what is left has to be exact.
//!
//! Messages take their time as in [`simulation`](crate::simulation); those of a dead worker that
//! are on their way arrive or are lost, as is drawn for each. Participants learn of a death at
//! different times. The simulator sees what no participant can: which tasks have ended and are held
//! nowhere, which is what recovery has to run again and may not exceed by much.
//!
//! A run that does not end within its virtual time is a hang, and panics.

mod checkpoints;
mod report;
mod work;

use std::sync::Arc;

use tidings_primitives::{Chance, Instant};
use tidings_recovery::{
    Array, Body, Config, Ending, FinishError, Loss, Mark, Message, Output, Participant, Place,
    Plan as _, Scheme,
};
use tidings_sim::event_queue::EventQueue;
use tidings_steal::{NoBoard, view::View};

use crate::setting::Setting;

pub use checkpoints::{Checkpoints, Rollback};
pub use report::Report;
pub use work::Work;

/// How phases are recovered, beside the machine.
#[derive(Clone, Debug)]
pub struct Faults {
    /// The scheme.
    pub scheme: Scheme,
    /// Whether blocks have copies.
    pub copied: bool,
    /// What is done about a block of which no copy is left.
    pub loss: Loss,
    /// The probability with which a message of a dead worker that is on its way is lost.
    pub lost: f64,
    /// Bytes of a block in a message.
    pub block_bytes: usize,
    /// Phases with the same tasks, one after the other.
    pub phases: u32,
    /// Whether the array is set to zero between them.
    pub zeroed: bool,
}

impl Faults {
    /// One phase on blocks of 3.2 KB with copies; half of what the dead have sent arrives.
    pub fn new(scheme: Scheme) -> Self {
        let (copied, loss) = (true, Loss::Recompute);
        Self { scheme, copied, loss, lost: 0.5, block_bytes: 3200, phases: 1, zeroed: true }
    }
}

enum Event {
    Arrive { from: u32, to: u32, message: Box<Message> },
    TaskEnd { worker: u32 },
    Deadline { worker: u32 },
    Begin { worker: u32 },
    Die { worker: u32 },
    Learn { worker: u32, dead: u32 },
}

struct Running {
    task: u64,
    /// What messages have added since its end was scheduled.
    debt_ns: i64,
}

struct Seat {
    participant: Participant,
    lives: bool,
    /// Phases that it has begun, and whether it is in the last of them.
    phases: u32,
    within: bool,
    running: Option<Running>,
    deadline_ns: Option<i64>,
}

struct Simulation<'a> {
    setting: &'a Setting,
    faults: &'a Faults,
    work: Arc<Work>,
    seats: Vec<Seat>,
    events: EventQueue<Event>,
    chance: Chance,
    now_ns: i64,
    report: Report,
    /// How often each task has ended in each phase, and where it ended last.
    ended: Vec<Vec<(u32, u32)>>,
    died_ns: Option<i64>,
}

/// Runs work with deaths, and reports.
///
/// # Panics
/// If a phase does not end within [`Setting::most_ns`].
pub fn run(setting: &Setting, faults: &Faults, work: &Arc<Work>) -> Report {
    let config = Config::new(setting.config, faults.scheme);
    let array: Array = work.array(faults.copied, faults.loss);
    let seat = |me| {
        let mut participant = Participant::new(me, setting.workers, &config, setting.seed);
        participant.create(array.clone()).expect("there is room for one array");
        Seat {
            participant,
            lives: true,
            phases: 0,
            within: false,
            running: None,
            deadline_ns: None,
        }
    };
    let tasks = work.tasks() as usize;
    let mut simulation = Simulation {
        seats: (0..setting.workers).map(seat).collect(),
        events: EventQueue::empty(),
        chance: Chance::new(setting.seed.wrapping_add(1)),
        now_ns: 0,
        report: Report { ended_ns: vec![None; tasks], ..Report::default() },
        ended: vec![vec![(0, 0); tasks]; faults.phases as usize],
        died_ns: None,
        setting,
        faults,
        work: work.clone(),
    };
    simulation.run()
}

impl Simulation<'_> {
    fn run(&mut self) -> Report {
        for worker in 0..self.setting.workers {
            self.events.push(0, Event::Begin { worker });
        }
        for death in &self.setting.deaths {
            self.events.push(death.at_ns, Event::Die { worker: death.worker });
        }
        let most_ns = self.setting.most_ns;
        while let Some((now_ns, event)) = self.events.pop_until(most_ns) {
            self.now_ns = now_ns;
            self.handle(event);
        }
        let is_at_end =
            |seat: &Seat| !seat.lives || (!seat.within && seat.phases == self.faults.phases);
        let waiting = self.seats.iter().filter(|seat| !is_at_end(seat)).count();
        assert!(waiting == 0, "{waiting} participants wait for nothing: {:?}", self.faults.scheme);
        self.report.work_ns = self.work.all_ns();
        self.look_at_blocks();
        for seat in self.seats.iter().filter(|seat| seat.lives) {
            let counters = seat.participant.counters();
            self.report.count(counters);
        }
        core::mem::take(&mut self.report)
    }

    /// Compares each block with what it is to be.
    fn look_at_blocks(&mut self) {
        let times = if self.faults.zeroed { 1 } else { u64::from(self.faults.phases) };
        for block in 0..self.work.blocks() {
            let place = Place { array: 0, block };
            let lives = self.seats.iter().filter(|seat| seat.lives);
            let mut found = lives.map(|seat| seat.participant.block(place));
            match found.find(|found| !matches!(found, Ok(None))) {
                Some(Ok(Some(words))) if words == self.work.sum(block, times) => {}
                Some(Err(_)) => self.report.refused.push(block),
                _ => self.report.wrong.push(block),
            }
        }
    }

    fn now(&self) -> Instant {
        Instant::from_micros(self.now_ns / 1000)
    }

    fn handle(&mut self, event: Event) {
        let now = self.now();
        match event {
            Event::Arrive { from, to, message } => {
                let is_lost =
                    !self.seats[from as usize].lives && self.chance.happens(self.faults.lost);
                if !self.seats[to as usize].lives || is_lost {
                    return;
                }
                self.seats[to as usize].delay(self.setting.message_ns);
                self.seats[to as usize].participant.receive(from, *message, now);
                self.go_on(to);
            }
            Event::TaskEnd { worker } => self.end_task(worker),
            Event::Deadline { worker } => {
                let seat = &mut self.seats[worker as usize];
                if seat.deadline_ns == Some(self.now_ns) {
                    seat.deadline_ns = None;
                    self.go_on(worker);
                }
            }
            Event::Begin { worker } => self.begin(worker),
            Event::Die { worker } => self.die(worker),
            Event::Learn { worker, dead } => {
                self.seats[worker as usize].participant.died(dead, now);
                self.go_on(worker);
            }
        }
    }

    fn begin(&mut self, worker: u32) {
        let (now, plan) = (self.now(), self.work.clone());
        let seat = &mut self.seats[worker as usize];
        if !seat.lives {
            return;
        }
        if seat.phases > 0 && self.faults.zeroed {
            seat.participant.zero(0);
        }
        (seat.phases, seat.within) = (seat.phases + 1, true);
        seat.participant.begin("phase", plan, now).expect("the last phase ended");
        self.go_on(worker);
    }

    fn end_task(&mut self, worker: u32) {
        let now = self.now();
        let seat = &mut self.seats[worker as usize];
        let Some(running) = seat.running.as_mut().filter(|_| seat.lives) else { return };
        if running.debt_ns > 0 {
            self.events.push(self.now_ns + running.debt_ns, Event::TaskEnd { worker });
            running.debt_ns = 0;
            return;
        }
        let (task, phase) = (running.task, seat.phases as usize - 1);
        seat.running = None;
        let (given, took_ns) = (self.work.contributions(task), self.work.cost_ns(task) as u64);
        match seat.participant.finished(given, took_ns, now) {
            Ok(()) => {
                let times = &mut self.ended[phase][task as usize];
                self.report.executed += 1;
                self.report.again += u64::from(times.0 > 0);
                *times = (times.0 + 1, worker);
                self.report.ended_ns[task as usize].get_or_insert(self.now_ns);
            }
            Err(FinishError::OutsideTask) => {}
            Err(error) => panic!("task {task}: {error}"),
        }
        self.go_on(worker);
    }

    fn die(&mut self, dead: u32) {
        let living = self.seats.iter().filter(|seat| seat.lives).count();
        if !self.seats[dead as usize].lives || living == 1 {
            return;
        }
        self.seats[dead as usize].lives = false;
        self.died_ns.get_or_insert(self.now_ns);
        self.report.died_ns = Some(self.now_ns);
        if self.seats.iter().any(|seat| seat.lives && seat.within) {
            self.report.lost += self.lost_with(dead);
        }
        for worker in 0..self.setting.workers {
            if self.seats[worker as usize].lives {
                let detection_ns = self.setting.detection_ns;
                let later_ns = self.chance.below(detection_ns as usize + 1) as i64;
                let at_ns = self.now_ns + detection_ns + later_ns;
                self.events.push(at_ns, Event::Learn { worker, dead });
            }
        }
    }

    /// Tasks that have ended, and of which something is with nobody who lives since this death.
    fn lost_with(&self, dead: u32) -> u64 {
        let phase = self.seats.iter().filter(|seat| seat.lives).map(|seat| seat.phases).max();
        let ended = &self.ended[phase.map_or(0, |phase| phase.max(1) as usize - 1)];
        let (mut before, mut view) = (View::new(self.setting.workers), View::new(0));
        for (worker, seat) in (0..).zip(&self.seats) {
            if !seat.lives && worker != dead {
                before.remove(worker);
            }
        }
        view.clone_from(&before);
        view.remove(dead);
        let is_gone = |task: u64| {
            let is_held = |view: &View| {
                let outputs = (0..).zip(self.work.outputs(task));
                outputs.into_iter().all(|(output, place)| {
                    let mark = Mark { task, output };
                    let owner = tidings_recovery::placement::holders(place.block, view).0;
                    let (executor, ran_at) = (ended[task as usize].1, &self.seats);
                    let lives = ran_at[executor as usize].lives || view.lives(executor);
                    let is_pending = ran_at[executor as usize].participant.is_pending(mark);
                    // What the dead had may have been acknowledged, and that be on its way.
                    let had = |seat: &&Seat| {
                        !seat.lives && seat.participant.holds(place, mark) == Some(true)
                    };
                    let needed = if self.faults.copied { 2 } else { 1 };
                    let was_there =
                        !view.lives(dead) && ran_at.iter().filter(had).count() >= needed;
                    let is_on_its_way = lives && is_pending && !was_there;
                    let owner = &self.seats[owner as usize].participant;
                    is_on_its_way || owner.holds(place, mark) == Some(true)
                })
            };
            ended[task as usize].0 > 0 && is_held(&before) && !is_held(&view)
        };
        (0..self.work.tasks()).filter(|task| is_gone(*task)).count() as u64
    }

    /// After each input: takes what is to be done, and runs the next task.
    fn go_on(&mut self, worker: u32) {
        let now = self.now();
        let seat = &mut self.seats[worker as usize];
        if seat.running.is_none() && seat.within {
            if let Some(task) = seat.participant.next_task(now, &NoBoard) {
                let ends_ns = self.now_ns + self.work.cost_ns(task);
                self.events.push(ends_ns, Event::TaskEnd { worker });
                let has_ended = self.ended[seat.phases as usize - 1][task as usize].0 > 0;
                seat.running = Some(Running { task, debt_ns: 0 });
                if let Some(died_ns) = self.died_ns.filter(|_| has_ended) {
                    self.report.recovered_ns.get_or_insert(self.now_ns - died_ns);
                }
            }
        }
        while let Some(output) = self.seats[worker as usize].participant.poll_output() {
            match output {
                Output::Send { to, message } => self.send(worker, to, message),
                Output::Done(ending) => self.end_phase(worker, ending),
            }
        }
        self.schedule(worker);
    }

    fn send(&mut self, from: u32, to: u32, message: Message) {
        let mut bytes = message.encoded_bytes();
        if matches!(message.body, Body::Add { .. } | Body::Block { .. }) {
            bytes += self.faults.block_bytes;
        }
        if let Body::Steal(said) = &message.body {
            if let tidings_steal::Body::Given { frames, .. } = &said.body {
                self.report.largest_gift = self.report.largest_gift.max(frames.len() as u64);
            }
        }
        self.report.messages += 1;
        self.report.bytes += bytes as u64;
        self.seats[from as usize].delay(self.setting.message_ns);
        let jitter_ns = self.chance.below(self.setting.jitter_ns as usize + 1) as i64;
        let travel_ns = self.setting.latency_ns + jitter_ns + 2 * self.setting.message_ns;
        let at_ns = self.now_ns + travel_ns + (bytes as f64 * self.setting.byte_ns) as i64;
        self.events.push(at_ns, Event::Arrive { from, to, message: Box::new(message) });
    }

    fn end_phase(&mut self, worker: u32, ending: Ending) {
        let seat = &mut self.seats[worker as usize];
        (seat.within, seat.running) = (false, None);
        self.report.makespan_ns = self.report.makespan_ns.max(self.now_ns);
        if seat.phases == self.faults.phases {
            self.report.endings.push(ending);
        } else {
            let at_ns = self.now_ns + self.chance.below(50_000) as i64;
            self.events.push(at_ns, Event::Begin { worker });
        }
    }

    fn schedule(&mut self, worker: u32) {
        let seat = &mut self.seats[worker as usize];
        let Some(deadline) = seat.participant.next_deadline().filter(|_| seat.within) else {
            return;
        };
        let at_ns = deadline.as_micros().saturating_mul(1000).max(self.now_ns + 1);
        if seat.deadline_ns != Some(at_ns) {
            seat.deadline_ns = Some(at_ns);
            self.events.push(at_ns, Event::Deadline { worker });
        }
    }
}

impl Seat {
    /// A message takes time from the task that runs.
    fn delay(&mut self, message_ns: i64) {
        if let Some(running) = &mut self.running {
            running.debt_ns += message_ns;
        }
    }
}
