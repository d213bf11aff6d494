//! The run: events in virtual time, and what each does to a worker.
//!
//! A message takes its latency, what its bytes add, and what handling it costs; a worker that runs
//! a task loses that time, too. A worker answers when a message arrives, also while it runs a task,
//! as with a thread for messages or a card that interrupts. What a task spawns appears at its end.
//!
//! All workers enter an iteration at the same time, when the last one has ended at all who live.
//! The simulator knows when the last task has ended, which no worker does; what is idle after it
//! waits for the end of the phase.

mod ledger;
mod seat;

use tidings_primitives::{Chance, Instant};
use tidings_sim::event_queue::EventQueue;
use tidings_steal::{Body, Diverged, Frame, Message, Output, Worker};

use crate::board::History;
use crate::programs::Program;
use crate::report::Iteration;
use crate::setting::Setting;
use ledger::Ledger;
use seat::{Idle, Seat};

/// What happens.
#[derive(Debug)]
enum Event {
    Arrive { from: u32, to: u32, message: Box<Message> },
    TaskEnd { worker: u32 },
    Deadline { worker: u32 },
    Unit { iteration: u32 },
    Die { worker: u32 },
    Learn { worker: u32, dead: u32 },
}

struct Simulation<'a, P> {
    setting: &'a Setting,
    program: &'a mut P,
    seats: Vec<Seat>,
    events: EventQueue<Event>,
    chance: Chance,
    history: History,
    ledger: Ledger,
    now_ns: i64,
    iteration: u32,
    /// Seats that live and are in the phase.
    within: u32,
    diverged: Option<Diverged>,
}

/// Runs all iterations of a program, and reports each.
///
/// # Panics
/// If a phase does not end: workers wait although nothing is left that could happen, or happens
/// within [`Setting::most_ns`].
pub fn run<P: Program>(setting: &Setting, program: &mut P) -> Vec<Iteration> {
    let worker = |me| {
        let worker = Worker::new(me, setting.workers, &setting.config, setting.seed);
        Seat::new(worker, setting.slowness(me))
    };
    let mut simulation = Simulation {
        seats: (0..setting.workers).map(worker).collect(),
        events: EventQueue::empty(),
        chance: Chance::new(setting.seed.wrapping_add(1)),
        history: History::new(setting.workers, setting.unit_ns, setting.seed),
        ledger: Ledger::new(setting.workers, program.listed()),
        now_ns: 0,
        iteration: 0,
        within: 0,
        diverged: None,
        setting,
        program,
    };
    for death in &setting.deaths {
        simulation.events.push(death.at_ns, Event::Die { worker: death.worker });
    }
    for (seat, script) in simulation.seats.iter_mut().zip(&setting.scripts) {
        seat.worker.replay(script.clone());
    }
    (0..setting.iterations).map(|iteration| simulation.iterate(iteration)).collect()
}

impl<P: Program> Simulation<'_, P> {
    fn iterate(&mut self, iteration: u32) -> Iteration {
        self.iteration = iteration;
        self.history.begin(self.now_ns);
        let live: Vec<u32> = self.live();
        self.within = live.len() as u32;
        self.ledger.begin(self.now_ns, self.seats.iter().map(|seat| seat.worker.counters()));
        let lists: Vec<Vec<Frame>> =
            live.iter().map(|worker| self.program.tasks(*worker, iteration)).collect();
        self.ledger.arose(lists.iter().map(|list| list.len() as u64).sum());
        if self.setting.unit_ns > 0 {
            self.events.push(self.now_ns + self.setting.unit_ns, Event::Unit { iteration });
        }
        for (worker, list) in live.iter().zip(lists) {
            let now = self.now();
            let seat = &mut self.seats[*worker as usize];
            (seat.within, seat.order) = (true, 0);
            seat.idle = Some((Idle::Searching, self.now_ns));
            seat.worker.begin("phase", list, now).expect("all tasks fit and the last phase ended");
            self.pump(*worker);
        }
        let end_ns = self.now_ns + self.setting.most_ns;
        while self.within > 0 {
            let Some((now_ns, event)) = self.events.pop_until(end_ns) else {
                panic!("{} workers wait in iteration {iteration} for nothing", self.within);
            };
            self.now_ns = now_ns;
            self.handle(event);
        }
        let counters = self.seats.iter().map(|seat| seat.worker.counters());
        let iteration = self.ledger.end(self.now_ns, self.setting, counters);
        let traces = self.seats.iter().map(|seat| seat.worker.trace().clone()).collect();
        let orders = self.seats.iter().map(|seat| seat.order).collect();
        Iteration { traces, orders, diverged: self.diverged, ..iteration }
    }

    fn live(&self) -> Vec<u32> {
        let lives = |worker: &u32| self.seats[*worker as usize].lives;
        (0..self.setting.workers).filter(lives).collect()
    }

    fn now(&self) -> Instant {
        Instant::from_micros(self.now_ns / 1000)
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrive { from, to, message } => self.arrive(from, to, *message),
            Event::TaskEnd { worker } => self.end_task(worker),
            Event::Deadline { worker } => {
                let seat = &mut self.seats[worker as usize];
                if seat.deadline_ns == Some(self.now_ns) {
                    seat.deadline_ns = None;
                    self.pump(worker);
                }
            }
            Event::Unit { iteration } if iteration == self.iteration => {
                let work = |seat: &Seat| (seat.worker.remaining_ns() / 1000) as u32;
                let work: Vec<u32> = self.seats.iter().map(work).collect();
                self.history.publish(work);
                self.events.push(self.now_ns + self.setting.unit_ns, Event::Unit { iteration });
                for worker in 0..self.setting.workers {
                    let board = self.history.vector(worker, self.now_ns);
                    let seat = &mut self.seats[worker as usize];
                    if seat.lives {
                        seat.worker.news();
                        seat.worker.shed(Instant::from_micros(self.now_ns / 1000), &board);
                        self.pump(worker);
                    }
                }
            }
            Event::Unit { .. } => {}
            Event::Die { worker } => self.die(worker),
            Event::Learn { worker, dead } => {
                self.seats[worker as usize].worker.died(dead);
                self.ledger.answered_by(worker, dead);
                self.pump(worker);
            }
        }
    }

    fn arrive(&mut self, from: u32, to: u32, message: Message) {
        let seat = &mut self.seats[to as usize];
        if !seat.lives {
            return;
        }
        if self.setting.between_tasks && seat.running.is_some() && !seat.is_due {
            return seat.mail.push((from, message));
        }
        self.take_in(from, to, message);
        if core::mem::take(&mut self.seats[to as usize].is_due) {
            self.end_task(to);
        }
        self.pump(to);
    }

    fn take_in(&mut self, from: u32, to: u32, message: Message) {
        let now = self.now();
        match &message.body {
            Body::Refused { .. } => self.ledger.refused(to, from, self.now_ns),
            Body::Given { lifeline: false, .. } => self.ledger.answered_by(to, from),
            _ => {}
        }
        let seat = &mut self.seats[to as usize];
        seat.owe(self.setting.message_ns);
        seat.worker.receive(from, message, now);
    }

    /// Takes in what came while a task ran; how many messages that were.
    fn take_in_mail(&mut self, worker: u32) -> usize {
        let mail = core::mem::take(&mut self.seats[worker as usize].mail);
        let count = mail.len();
        for (from, message) in mail {
            self.take_in(from, worker, message);
        }
        count
    }

    fn end_task(&mut self, worker: u32) {
        let seat = &mut self.seats[worker as usize];
        let Some(running) = seat.running.as_mut().filter(|_| seat.lives) else { return };
        if running.debt_ns > 0 {
            self.events.push(self.now_ns + running.debt_ns, Event::TaskEnd { worker });
            running.debt_ns = 0;
            return;
        }
        if seat.worker.waits() {
            self.take_in_mail(worker);
        }
        let seat = &mut self.seats[worker as usize];
        if seat.worker.waits() {
            seat.is_due = true;
            return;
        }
        let Some(running) = seat.running.take() else { return };
        if self.setting.orders {
            seat.ran(&running.frame);
        }
        let mut spawned = 0;
        let steals = &mut seat.worker;
        let done = self.program.run(&running.frame, &mut |child| {
            steals.spawn(child).expect("a task runs, and its children fit");
            spawned += 1;
        });
        if !matches!(done, tidings_steal::Done::Nothing) {
            spawned += 2;
        }
        let took_ns = running.cost_ns * seat.slowness;
        steals.finished(done, took_ns as u64).expect("a task runs, and its rest fits");
        let number = self.program.number(&running.frame);
        self.ledger.arose(spawned);
        if self.ledger.ran(worker, number, running.cost_ns, self.now_ns) {
            self.last_task_ended();
        }
        let taken_in = self.take_in_mail(worker);
        self.pump(worker);
        let seat = &mut self.seats[worker as usize];
        (0..taken_in).for_each(|_| seat.owe(self.setting.message_ns));
    }

    /// No task is left: all who are idle from now on wait for the end.
    fn last_task_ended(&mut self) {
        for seat in &mut self.seats {
            if let Some((idle, _)) = seat.idle {
                self.ledger.idled(idle, seat.become_idle(Idle::Terminating, self.now_ns));
            }
        }
    }

    fn die(&mut self, worker: u32) {
        let seat = &mut self.seats[worker as usize];
        if !seat.lives {
            return;
        }
        seat.lives = false;
        self.within -= u32::from(core::mem::take(&mut seat.within));
        for other in self.live() {
            let detection_ns = self.setting.detection_ns;
            let later = self.chance.below(detection_ns as usize + 1) as i64;
            let at_ns = self.now_ns + detection_ns + later;
            self.events.push(at_ns, Event::Learn { worker: other, dead: worker });
        }
    }

    /// Lets a worker go on after an input: takes its next task, and what it has to say.
    fn pump(&mut self, worker: u32) {
        let now = self.now();
        let board = self.history.vector(worker, self.now_ns);
        let seat = &mut self.seats[worker as usize];
        if !seat.lives {
            return;
        }
        if seat.running.is_none() {
            if let Some(frame) = seat.worker.next_task(now, &board) {
                let cost_ns = self.program.cost_ns(&frame, self.iteration);
                let ends_ns = self.now_ns + cost_ns * seat.slowness;
                self.events.push(ends_ns, Event::TaskEnd { worker });
                if let Some((idle, _)) = seat.idle {
                    self.ledger.idled(idle, seat.become_busy(self.now_ns));
                }
                seat.running = Some(seat::Running { frame, cost_ns, debt_ns: 0 });
            }
        }
        while let Some(output) = self.seats[worker as usize].worker.poll_output() {
            self.perform(worker, output);
        }
        self.account(worker);
        self.schedule(worker);
    }

    fn perform(&mut self, worker: u32, output: Output) {
        match output {
            Output::Send { to, message } => {
                let bytes = message.encoded_bytes();
                self.ledger.sent(worker, to, &message, bytes);
                self.seats[worker as usize].owe(self.setting.message_ns);
                let jitter_ns = self.chance.below(self.setting.jitter_ns as usize + 1) as i64;
                let travel_ns = self.setting.latency_ns + jitter_ns + 2 * self.setting.message_ns;
                let travel_ns = travel_ns + (bytes as f64 * self.setting.byte_ns) as i64;
                let message = Box::new(message);
                self.events
                    .push(self.now_ns + travel_ns, Event::Arrive { from: worker, to, message });
            }
            Output::Seeded(seeding) => self.ledger.seeded(seeding),
            Output::PhaseDone(ending) => {
                let seat = &mut self.seats[worker as usize];
                self.within -= u32::from(core::mem::take(&mut seat.within));
                seat.running = None;
                if let Some((idle, _)) = seat.idle {
                    self.ledger.idled(idle, seat.become_busy(self.now_ns));
                }
                self.ledger.ended(ending);
            }
            // Nobody can go on: those whom it has tasks for wait.
            Output::Diverged(diverged) => {
                self.diverged = self.diverged.or(Some(diverged));
                self.within = 0;
            }
        }
    }

    /// Notes what a worker without a task does.
    fn account(&mut self, worker: u32) {
        let seat = &mut self.seats[worker as usize];
        if !seat.within || seat.running.is_some() {
            return;
        }
        let is = if self.ledger.is_over() {
            Idle::Terminating
        } else if seat.worker.asked().is_some() {
            Idle::Waiting
        } else {
            Idle::Searching
        };
        match seat.idle {
            Some((was, _)) if was != is => {
                self.ledger.idled(was, seat.become_idle(is, self.now_ns));
            }
            Some(_) => {}
            None => seat.idle = Some((is, self.now_ns)),
        }
    }

    fn schedule(&mut self, worker: u32) {
        let seat = &mut self.seats[worker as usize];
        let Some(deadline) = seat.worker.next_deadline() else { return };
        let at_ns = deadline.as_micros().saturating_mul(1000).max(self.now_ns + 1);
        if seat.deadline_ns != Some(at_ns) {
            seat.deadline_ns = Some(at_ns);
            self.events.push(at_ns, Event::Deadline { worker });
        }
    }
}
