//! An agent that the demo killed, and who knew it when.
//!
//! Every other agent is asked again and again, until it says that the killed one is dead. So a time
//! is later than the knowledge by at most one look and the answers before it. Nothing is computed.

use std::time::Duration;

use tidings_control::State;

use super::agents::Cluster;
use super::observer::Observer;

/// The time between two looks.
pub const LOOK: Duration = Duration::from_millis(20);

/// What is known of a killed agent.
#[derive(Debug)]
pub struct Killed {
    number: usize,
    name: String,
    at: Duration,
    /// Of each agent, how long after the kill it was seen to know.
    knew: Vec<Option<Duration>>,
}

impl Killed {
    /// Kills the last agent that runs and has answered, but the first one, which the others began
    /// with and which the addresses on the screen are of; `None` if there is none.
    pub fn kill_last(cluster: &Cluster, observer: &Observer, now: Duration) -> Option<Self> {
        let agents = cluster.agents();
        let runs = |number: &usize| !agents[*number].has_ended() && observer.has_answered(*number);
        let number = (1..agents.len()).rev().find(runs)?;
        cluster.kill_one(number);
        let name = agents[number].name.clone();
        Some(Self { number, name, at: now, knew: vec![None; agents.len()] })
    }

    /// Whether all that run know.
    pub fn is_known(&self, cluster: &Cluster) -> bool {
        self.others(cluster).all(|number| self.knew[number].is_some())
    }

    /// Asks those that do not know yet.
    pub fn look(
        &mut self,
        clock: &impl Fn() -> Duration,
        cluster: &Cluster,
        observer: &mut Observer,
    ) {
        let unknowing: Vec<usize> =
            self.others(cluster).filter(|&number| self.knew[number].is_none()).collect();
        for number in unknowing {
            let agent = &cluster.agents()[number];
            let report = observer.report(clock(), number, agent, &self.name);
            if report.is_some_and(|report| report.state == State::Dead) {
                self.knew[number] = Some(clock().saturating_sub(self.at));
            }
        }
    }

    fn others<'c>(&self, cluster: &'c Cluster) -> impl Iterator<Item = usize> + use<'c> {
        let killed = self.number;
        let agents = cluster.agents().iter().enumerate();
        agents.filter(move |(number, one)| *number != killed && !one.has_ended()).map(|(n, _)| n)
    }

    /// In one line: how many know, who knew first and who last.
    pub fn line(&self, cluster: &Cluster) -> String {
        let others = self.others(cluster).count();
        let mut knew = self.sorted(cluster);
        let head = format!("{} killed: {} of {others} know", self.name, knew.len());
        let Some((first, after)) = (!knew.is_empty()).then(|| knew.remove(0)) else { return head };
        let first = format!("{head}, first {first} {:.2} s", after.as_secs_f64());
        match knew.pop() {
            Some((last, after)) => format!("{first}, last {last} {:.2} s", after.as_secs_f64()),
            None => first,
        }
    }

    /// All that know, the first one first, in lines of at most `width` characters.
    pub fn list(&self, cluster: &Cluster, width: usize) -> Vec<String> {
        let mut lines = vec![format!("dead for, seconds after {} was killed:", self.name)];
        for (name, after) in self.sorted(cluster) {
            let cell = format!("{name} {:.2}", after.as_secs_f64());
            let last = lines.last_mut().filter(|line| {
                line.starts_with(' ') && line.chars().count() + cell.len() + 3 <= width
            });
            match last {
                Some(line) => line.extend(["   ", &cell]),
                None => lines.push(format!("  {cell}")),
            }
        }
        lines
    }

    fn sorted<'c>(&self, cluster: &'c Cluster) -> Vec<(&'c str, Duration)> {
        let mut knew: Vec<(&str, Duration)> = self
            .others(cluster)
            .filter_map(|number| Some((cluster.agents()[number].name.as_str(), self.knew[number]?)))
            .collect();
        knew.sort_by_key(|&(_, after)| after);
        knew
    }
}
