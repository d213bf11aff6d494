//! `tidings demo`: a whole cluster of real agents on this machine, watched by an observer.
//!
//! The first agent is the seed; the others get its address and learn the rest by gossip. The
//! observer asks each agent over its control socket about once per unit of time and shows the
//! answers. All printed values are measured, never computed from the parameters.
//!
//! * [`plan`]: what is to run, checked against the limits of the machine.
//! * [`agents`]: the processes. [`wakes`]: signals, [`keys`] and time.
//! * [`killed`]: an agent that a key killed, and who knew it when.
//! * [`observer`]: who is asked when. [`report`]: the figures of the run.
//! * [`table`] and [`screen`]: what is shown, and where.

pub mod agents;
pub mod keys;
pub mod killed;
pub mod observer;
pub mod plan;
pub mod report;
pub mod screen;
pub mod table;
pub mod wakes;

mod failure;
mod options;

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tidings_control::{Ages, Status};

use crate::{Failure, agent, output};
use agents::Cluster;
pub use failure::DemoError;
use killed::Killed;
use observer::Observer;
pub use options::Options;
use plan::Plan;
use report::Ledger;
use screen::Screen;
use table::{Recent, Row, View};
use wakes::{Wake, Wakes};

/// How long the agents may take to answer for the first time.
const START: Duration = Duration::from_secs(30);

/// How often a starting agent is tried.
const START_LOOK: Duration = Duration::from_millis(5);

/// How often single nodes are queried for the live table.
const ROWS_EVERY: Duration = Duration::from_secs(1);

/// How many single nodes the live table shows.
const ROWS: usize = 5;

/// Runs a demo to its end.
///
/// # Errors
/// [`Failure::Demo`], or a failure to find the agent's program or to print.
pub fn run(options: &Options) -> Result<(), Failure> {
    let plan = Plan::check(options)?;
    let program = agent::find_program()?;
    let screen = Screen::choose(options.json);
    // Nobody declares deaths in the algorithm of the paper.
    let with_keys = screen.takes_keys() && plan.detects_deaths();
    let wakes = Wakes::take(with_keys).map_err(DemoError::Signals)?;
    let cluster = Cluster::prepare(program, plan.clone())?;
    let mut demo = Demo::new(plan, cluster, wakes, screen, options);
    let outcome = demo.run();
    demo.end(outcome)
}

/// A demo that runs.
struct Demo<'a> {
    options: &'a Options,
    plan: Plan,
    cluster: Cluster,
    wakes: Wakes,
    screen: Screen,
    observer: Observer,
    ledger: Ledger,
    recent: Recent,
    rows: Vec<Row>,
    http: Option<String>,
    killed: Option<Killed>,
    began: Instant,
}

/// How a run ended that did not fail.
enum Ending {
    /// The time was over, or a signal came.
    Done {
        /// A status at the end, if any agent had answered.
        status: Option<Box<Status>>,
        /// Seconds since the first agent was started.
        elapsed_s: f64,
    },
    /// It was stopped before the seed had started.
    BeforeStart,
}

impl<'a> Demo<'a> {
    fn new(
        plan: Plan,
        cluster: Cluster,
        wakes: Wakes,
        screen: Screen,
        options: &'a Options,
    ) -> Self {
        let nodes = plan.nodes;
        Self {
            options,
            cluster,
            wakes,
            screen,
            observer: Observer::new(nodes, plan.interval, Duration::ZERO),
            ledger: Ledger::new(nodes, plan.interval.as_secs_f64()),
            recent: Recent::default(),
            rows: Vec::new(),
            http: None,
            killed: None,
            began: Instant::now(),
            plan,
        }
    }

    fn run(&mut self) -> Result<Ending, Failure> {
        self.began = Instant::now();
        let Some(seed) = self.start_seed()? else { return Ok(Ending::BeforeStart) };
        for _ in 1..self.plan.nodes {
            self.cluster.start_next(Some(&seed.address))?;
        }
        self.http = seed.http;
        self.announce()?;
        self.watch()?;
        let now = self.began.elapsed();
        let status = self.observer.status(now, 0, &self.cluster.agents()[0]).map(Box::new);
        self.draw()?;
        Ok(Ending::Done { status, elapsed_s: now.as_secs_f64() })
    }

    /// Starts the first agent and waits until it reports its address; `None` if the user does not.
    fn start_seed(&mut self) -> Result<Option<Status>, Failure> {
        self.cluster.start_next(None)?;
        loop {
            let now = self.began.elapsed();
            if let Some(status) = self.observer.status(now, 0, &self.cluster.agents()[0]) {
                return Ok(Some(status));
            }
            self.check_start(now)?;
            if self.wakes.wait(START_LOOK) == Wake::Stop {
                return Ok(None);
            }
        }
    }

    /// Prints the addresses for a reader of a pipe; a screen shows them all the time.
    fn announce(&self) -> Result<(), Failure> {
        let (Screen::Plain { .. }, Some(http)) = (&self.screen, &self.http) else { return Ok(()) };
        let (title, addresses) = (self.plan.title(), table::addresses(http));
        let query = table::query(&self.seed_dir());
        output::print(&format!("tidings demo: {title}\n{addresses}\n{query}\n"))
    }

    /// The first agent's runtime directory.
    fn seed_dir(&self) -> String {
        let seed = self.cluster.agents().first();
        seed.map(|seed| seed.runtime_dir.display().to_string()).unwrap_or_default()
    }

    /// Asks and draws until the time is over or a signal comes.
    fn watch(&mut self) -> Result<(), Failure> {
        let began = self.began;
        let clock = move || began.elapsed();
        let mut draw_at = clock();
        let mut rows_at = clock();
        loop {
            let now = clock();
            if self.options.seconds.is_some_and(|seconds| now >= seconds) {
                return Ok(());
            }
            self.observer.ask_due(&clock, &self.cluster, &mut self.ledger);
            self.recent.mark(now.as_secs_f64(), &self.ledger);
            let spreads = self.look_at_killed(&clock);
            self.check_start(now)?;
            if self.screen.has_rows() && now >= rows_at {
                self.ask_rows();
                rows_at = now + ROWS_EVERY;
            }
            if let Some(period) = self.screen.period().filter(|_| now >= draw_at) {
                self.draw()?;
                draw_at = now + period;
            }
            let left = self.options.seconds.map(|seconds| seconds.saturating_sub(clock()));
            let look = if spreads { killed::LOOK } else { Duration::MAX };
            let sleep = self.observer.sleep(clock()).min(look).min(left.unwrap_or(Duration::MAX));
            match self.wakes.wait(sleep) {
                Wake::Stop => return Ok(()),
                Wake::Child => self.notice_ends()?,
                Wake::Key(b'k') => self.kill_one(clock()),
                Wake::Time | Wake::Key(_) => {}
            }
        }
    }

    /// Kills an agent, unless the news of the last one is still spreading.
    fn kill_one(&mut self, now: Duration) {
        if self.killed.as_ref().is_none_or(|killed| killed.is_known(&self.cluster)) {
            let killed = Killed::kill_last(&self.cluster, &self.observer, now);
            self.killed = killed.or(self.killed.take());
        }
    }

    /// Asks who knows of the killed agent; whether some do not yet.
    fn look_at_killed(&mut self, clock: &impl Fn() -> Duration) -> bool {
        let Some(killed) = self.killed.as_mut() else { return false };
        killed.look(clock, &self.cluster, &mut self.observer);
        !killed.is_known(&self.cluster)
    }

    /// An agent that ends leaves a cluster of another size, so its figures mean something else:
    /// `--json` fails then, the live table continues and shows it. One that ends before it ever
    /// answered is always an error.
    fn notice_ends(&mut self) -> Result<(), DemoError> {
        let ended = self.cluster.reap();
        let fatal = |number: &&usize| self.options.json || !self.observer.has_answered(**number);
        match ended.iter().find(fatal) {
            Some(number) => Err(self.cluster.obituary(*number)),
            None => Ok(()),
        }
    }

    /// Fails if an agent has ended or is silent although it had time to start.
    fn check_start(&mut self, now: Duration) -> Result<(), DemoError> {
        let Some(silent) = self.observer.silent() else { return Ok(()) };
        self.notice_ends()?;
        match self.cluster.agents().get(silent) {
            Some(agent) if now > START => Err(DemoError::Silent {
                name: agent.name.clone(),
                waited_s: now.as_secs_f64(),
                log: agent.log_tail(),
            }),
            _ => Ok(()),
        }
    }

    /// A few nodes, evenly chosen, as the seed knows them.
    fn ask_rows(&mut self) {
        let nodes = self.plan.nodes;
        let shown = ROWS.min(nodes);
        let mut rows = Vec::new();
        for number in (0..shown).map(|place| place * (nodes - 1) / (shown - 1).max(1)) {
            let latest = self.ledger.latest().nth(number).flatten();
            let Ages { known, age_avg_ms, .. } = latest.cloned().unwrap_or_default();
            let name = self.plan.name(number);
            let now = self.began.elapsed();
            let seed = &self.cluster.agents()[0];
            let report = self.observer.report(now, 0, seed, &name).unwrap_or_default();
            let (load1, mem_available_bytes) = (report.load1, report.mem_available_bytes);
            rows.push(Row { name, known, age_avg_ms, load1, mem_available_bytes });
        }
        self.rows = rows;
    }

    fn draw(&mut self) -> Result<(), Failure> {
        let view = View {
            title: &self.plan.title(),
            elapsed_s: self.began.elapsed().as_secs_f64(),
            running: self.cluster.running(),
            nodes: self.plan.nodes,
            interval_s: self.plan.interval.as_secs_f64(),
            ledger: &self.ledger,
            recent: &self.recent,
            rows: &self.rows,
            http: self.http.as_deref(),
            runtime_dir: &self.seed_dir(),
            has_keys: self.wakes.has_keys(),
            killed: self.killed.as_ref().map(|killed| (killed, &self.cluster)),
        };
        Ok(self.screen.draw(&view)?)
    }

    /// Ends the agents, clears up, and prints the figures of the run, or why it failed.
    fn end(mut self, outcome: Result<Ending, Failure>) -> Result<(), Failure> {
        let observer_cpu_s = process_cpu_s();
        let killed = self.cluster.stop(&self.wakes);
        if killed > 0 {
            output::complain(&format!(
                "agents killed because they did not leave when asked: {killed}"
            ));
        }
        let home = self.cluster.home().to_owned();
        match self.cluster.clear(self.options.keep) {
            Ok(Some(kept)) => output::complain(&format!("kept {}", kept.display())),
            Ok(None) => {}
            Err(error) => output::complain(&format!(
                "{} could not be removed ({error}): remove it by hand",
                home.display()
            )),
        }
        let Ending::Done { status, elapsed_s } = outcome? else { return Ok(()) };
        if self.options.json {
            let status = status.ok_or(DemoError::NoStatus)?;
            return output::print_json(&self.ledger.report(&status, elapsed_s, observer_cpu_s));
        }
        let interval_s = self.plan.interval.as_secs_f64();
        let summary = table::summary(self.plan.nodes, elapsed_s, interval_s, &self.ledger);
        output::print(&format!("{summary}\n"))
    }
}

/// Processor time that this process has used, without its children.
fn process_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
