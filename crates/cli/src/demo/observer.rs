//! The observer: asks every agent about once a unit of time, and is as cheap as it can be.
//!
//! Agents are asked in turn, spread evenly over a cycle, each over a connection that stays open. A
//! cycle is one slot longer than the unit. If it were the unit itself, each agent would always be
//! asked at the same moment of its rounds, and a random phase would be mistaken for a mean. Agents
//! whose turns fall into one slot are asked together, so the observer wakes at most a hundred times
//! per second, however many agents there are.

use std::time::Duration;

use tidings_control::{Ages, Client, ClientError, NodeReport, Status};

use super::agents::{Agent, Cluster};
use super::report::Ledger;

/// The shortest time between two wake-ups.
const SLOT_MIN: Duration = Duration::from_millis(10);

/// Slots that a unit is divided into when it is long.
const SLOTS: u32 = 25;

/// How long an agent may take to answer; one that takes longer is asked again later.
const PATIENCE: Duration = Duration::from_millis(250);

/// How long an agent that did not answer is not asked.
const REST: Duration = Duration::from_millis(500);

/// Asks the agents of a cluster in turn.
#[derive(Debug)]
pub struct Observer {
    slot: Duration,
    cycle: Duration,
    lines: Vec<Line>,
    /// How many turns have been taken since the beginning.
    turns: u64,
    began: Duration,
}

/// The connection to one agent.
#[derive(Debug, Default)]
struct Line {
    client: Option<Client>,
    resting_until: Duration,
    answered: bool,
}

impl Observer {
    /// An observer of `nodes` agents that begins `now` into the run.
    pub fn new(nodes: usize, interval: Duration, now: Duration) -> Self {
        let slot = SLOT_MIN.max(interval / SLOTS);
        let lines = (0..nodes).map(|_| Line::default()).collect();
        Self { slot, cycle: interval + slot, lines, turns: 0, began: now }
    }

    /// Asks every agent whose turn has come and enters the answers with the time `clock` shows.
    pub fn ask_due(
        &mut self,
        clock: &impl Fn() -> Duration,
        cluster: &Cluster,
        ledger: &mut Ledger,
    ) {
        let nodes = self.lines.len() as u64;
        let now = clock();
        // After a long pause of the machine, missed turns are skipped.
        self.turns = self.turns.max(self.turns_by(now).saturating_sub(nodes));
        while self.due(self.turns) <= now {
            let number = (self.turns % nodes) as usize;
            self.turns += 1;
            let Some(agent) = cluster.agents().get(number) else { continue };
            if let Some(ages) = self.lines[number].ask(clock(), agent) {
                ledger.record(number, clock().as_secs_f64(), ages);
            }
        }
    }

    /// How long to sleep until there is something to ask.
    pub fn sleep(&self, now: Duration) -> Duration {
        let due = self.due(self.turns).saturating_sub(now);
        due.max(self.slot)
    }

    /// Whether agent number `number` has ever answered.
    pub fn has_answered(&self, number: usize) -> bool {
        self.lines[number].answered
    }

    /// The first agent that never answered.
    pub fn silent(&self) -> Option<usize> {
        self.lines.iter().position(|line| !line.answered)
    }

    /// Agent number `number`'s status.
    pub fn status(&mut self, now: Duration, number: usize, agent: &Agent) -> Option<Status> {
        self.lines[number].with_client(now, agent, Client::status)
    }

    /// What agent number `number` knows of the node `name`.
    pub fn report(
        &mut self,
        now: Duration,
        number: usize,
        agent: &Agent,
        name: &str,
    ) -> Option<NodeReport> {
        self.lines[number].with_client(now, agent, |client| client.node(name))
    }

    /// When turn number `turn` is due.
    fn due(&self, turn: u64) -> Duration {
        let cycles = turn as f64 / self.lines.len() as f64;
        self.began + self.cycle.mul_f64(cycles)
    }

    fn turns_by(&self, now: Duration) -> u64 {
        let passed = now.saturating_sub(self.began).as_secs_f64() / self.cycle.as_secs_f64();
        (passed * self.lines.len() as f64) as u64
    }
}

impl Line {
    fn ask(&mut self, now: Duration, agent: &Agent) -> Option<Ages> {
        let ages = self.with_client(now, agent, Client::ages);
        self.answered |= ages.is_some();
        ages
    }

    /// Sends a request over the open connection, or over a new one; after a failure it waits.
    fn with_client<T>(
        &mut self,
        now: Duration,
        agent: &Agent,
        call: impl Fn(&mut Client) -> Result<T, ClientError>,
    ) -> Option<T> {
        if agent.has_ended() || now < self.resting_until {
            return None;
        }
        let connect = || Client::connect_within(&agent.runtime_dir, PATIENCE).ok();
        let kept = self.client.take();
        let reused = kept.is_some();
        // An agent that has just been started has no socket yet: its next turn comes soon.
        let mut client = kept.or_else(connect)?;
        let mut answer = call(&mut client);
        if reused && matches!(answer, Err(ClientError::Closed { .. })) {
            // Agents close connections that are idle for a minute, as they are in long units.
            client = connect()?;
            answer = call(&mut client);
        }
        match answer {
            Ok(_) => self.client = Some(client),
            Err(_) => self.resting_until = now + REST,
        }
        answer.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn every_agent_has_one_turn_per_cycle_evenly_spread() {
        let observer = Observer::new(4, 250 * MS, 1000 * MS);
        let due: Vec<_> = (0..5).map(|turn| observer.due(turn).as_millis()).collect();
        assert_eq!(due, [1000, 1065, 1130, 1195, 1260]);
    }

    #[test]
    fn a_cycle_is_a_slot_longer_than_the_unit() {
        for (interval_ms, cycle_ms) in [(250, 260), (1000, 1040), (10, 20)] {
            assert_eq!(Observer::new(2, interval_ms * MS, Duration::ZERO).cycle, cycle_ms * MS);
        }
    }

    #[test]
    fn the_observer_wakes_at_most_once_a_slot() {
        let observer = Observer::new(64, 256 * MS, Duration::ZERO);
        assert!(observer.sleep(Duration::ZERO) >= SLOT_MIN);
    }

    #[test]
    fn missed_turns_are_skipped() {
        let observer = Observer::new(4, 250 * MS, Duration::ZERO);
        assert_eq!(observer.turns_by(2600 * MS), 40);
    }
}
