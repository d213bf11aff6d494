//! A host: where one node of a full simulation runs, crashes, is paused and restarts.
//!
//! It is to the node what a machine is: it has the clock, the life number that becomes the
//! incarnation, and the socket buffer that fills while the node stands still.

use std::collections::VecDeque;

use tidings_gossip::{
    Address, Config, ConfigError, Counters, Event, Incarnation, KeyRing, Member, Node, Transmit,
};

use crate::chance::{Purpose, stream_seed};
use crate::clock::Clock;

/// Datagrams that wait while a node stands still; more are lost, as in a socket's buffer.
pub(crate) const BACKLOG_DATAGRAMS: usize = 256;

/// A datagram on its way.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) sent_micros: i64,
    pub(crate) bytes: Vec<u8>,
}

/// One node's place.
pub(crate) struct Host {
    pub(crate) clock: Clock,
    /// The running or standing node; `None` while it is down.
    pub(crate) node: Option<Node>,
    /// How often it has started: its incarnation.
    pub(crate) life: u32,
    pub(crate) paused: bool,
    /// The true time of its next timeout that is in the event queue.
    pub(crate) wake_micros: Option<i64>,
    pub(crate) backlog: VecDeque<Flight>,
}

/// What all nodes of a run start with.
pub(crate) struct Settings {
    pub(crate) config: Config,
    pub(crate) roster: Vec<Member>,
    /// How many of the roster's nodes are members by now: the first ones.
    pub(crate) members: usize,
    /// Versions of the format that nodes write, in turn by their numbers.
    pub(crate) versions: Vec<u8>,
    pub(crate) seed: u64,
}

impl Settings {
    /// The settings for `nodes` nodes; node ids are salted so that no two collide.
    pub(crate) fn of(
        mut config: Config,
        versions: Vec<u8>,
        nodes: usize,
        seed: u64,
    ) -> Result<Self, ConfigError> {
        let roster: Vec<Member> = (0..nodes).map(member).collect();
        let settings = Self { config: config.clone(), roster, members: nodes, versions, seed };
        match settings.start(0, 1, 0, Clock::default()) {
            Err(ConfigError::IdCollision { salt, .. }) => {
                config.id_salt = salt;
                Ok(Self { config, ..settings })
            }
            started => started.map(|_| settings),
        }
    }

    /// The roster as the nodes know it.
    pub(crate) fn known(&self) -> &[Member] {
        &self.roster[..self.members]
    }

    /// Node number `n` at the start of a life, at the true time `micros`.
    fn start(&self, n: usize, life: u32, micros: i64, clock: Clock) -> Result<Node, ConfigError> {
        let keys = KeyRing::open(&self.config.cluster);
        let seed = stream_seed(self.seed, Purpose::Node(n as u32, life));
        let (me, now) = (self.roster[n].clone(), clock.read(micros));
        let life = Incarnation::new(life);
        let (mut config, roster) = (self.config.clone(), self.known());
        config.wire_version = self.versions[n % self.versions.len()];
        let mut node = Node::new(config, keys, me, roster, life, seed, now)?;
        // All wall clocks would show the same if the nodes' clocks were right.
        node.set_clock(now, now.as_micros());
        Ok(node)
    }
}

impl Host {
    /// A host whose node is down.
    pub(crate) fn with_clock(clock: Clock) -> Self {
        let backlog = VecDeque::new();
        Self { clock, node: None, life: 0, paused: false, wake_micros: None, backlog }
    }

    /// Starts node number `n` again.
    pub(crate) fn start(
        &mut self,
        settings: &Settings,
        n: usize,
        micros: i64,
    ) -> Result<(), ConfigError> {
        self.life += 1;
        self.node = Some(settings.start(n, self.life, micros, self.clock)?);
        Ok(())
    }

    /// Ends the node without a word; returns what it had counted.
    pub(crate) fn crash(&mut self) -> Option<Counters> {
        self.paused = false;
        self.wake_micros = None;
        self.backlog.clear();
        self.node.take().map(|node| *node.counters())
    }

    /// Tells the node the members that there are by now.
    pub(crate) fn meet(&mut self, settings: &Settings, micros: i64) -> Result<(), ConfigError> {
        let now = self.clock.read(micros);
        self.node.as_mut().map_or(Ok(()), |node| node.set_roster(settings.known(), now))
    }

    /// Whether the node is there and moves.
    pub(crate) fn is_up(&self) -> bool {
        self.node.is_some() && !self.paused
    }

    /// Lets the node do what is due. The birth of what it says goes into the payload: the true time
    /// plus one, so that it is never zero.
    pub(crate) fn wake(&mut self, micros: i64) {
        let now = self.clock.read(micros);
        let Some(node) = self.node.as_mut() else { return };
        let published = node.publish(&(micros + 1).to_le_bytes());
        debug_assert!(published.is_ok(), "a checked scenario has payloads of 8 bytes at least");
        node.handle_timeout(now);
    }

    /// What the node has noticed of others' deaths: name and incarnation.
    pub(crate) fn poll_death(&mut self) -> Option<(String, u32)> {
        let node = self.node.as_mut()?;
        while let Some(event) = node.poll_event() {
            if let Event::Died(name, incarnation) = event {
                return Some((name, incarnation.get()));
            }
        }
        None
    }

    /// Tells the node that what it sent to another was refused.
    pub(crate) fn refused(&mut self, micros: i64, by: usize) {
        let now = self.clock.read(micros);
        if let Some(node) = self.node.as_mut() {
            node.handle_refused(now, address(by));
        }
    }

    /// Hands a datagram to the node.
    pub(crate) fn receive(&mut self, micros: i64, flight: &mut Flight) {
        let now = self.clock.read(micros);
        let Some(node) = self.node.as_mut() else { return };
        node.handle_datagram(now, address(flight.from), &mut flight.bytes);
    }

    /// Keeps a datagram for a node that stands still; `false` if there is no room.
    pub(crate) fn keep(&mut self, flight: Flight) -> bool {
        let room = self.backlog.len() < BACKLOG_DATAGRAMS;
        if room {
            self.backlog.push_back(flight);
        }
        room
    }

    /// The next datagrams the node sends.
    pub(crate) fn poll_transmit(&mut self, micros: i64, buffer: &mut [u8]) -> Option<Transmit> {
        let now = self.clock.read(micros);
        self.node.as_mut()?.poll_transmit(now, buffer)
    }

    /// When the node wants to be woken, in true time.
    pub(crate) fn timeout_micros(&self) -> Option<i64> {
        self.node.as_ref().map(|node| self.clock.true_micros(node.poll_timeout()))
    }
}

fn member(n: usize) -> Member {
    Member { name: format!("n{n:05}"), address: address(n) }
}

/// The number in a name.
pub(crate) fn numbered(name: &str) -> usize {
    name[1..].parse().expect("every name is a number behind a letter")
}

/// The address of node number `n`: four bytes.
pub(crate) fn address(n: usize) -> Address {
    Address::from_bytes(&(n as u32).to_le_bytes()).expect("four bytes are an address")
}

/// The number behind an address.
pub(crate) fn number(address: Address) -> usize {
    let bytes = address.as_bytes().try_into().expect("every address has four bytes");
    u32::from_le_bytes(bytes) as usize
}

/// When an entry was made, in true microseconds, by its payload; `None` before the first round.
pub(crate) fn birth_micros(payload: &[u8]) -> Option<i64> {
    let written = i64::from_le_bytes(*payload.first_chunk()?);
    (written > 0).then(|| written - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_births_survive_the_round_trip() {
        assert_eq!(number(address(70_000)), 70_000);
        assert_eq!(birth_micros(&[0; 8]), None);
        assert_eq!(birth_micros(&[1, 0, 0, 0, 0, 0, 0, 0, 9]), Some(0));
    }

    #[test]
    fn each_life_has_the_next_incarnation_and_a_bounded_backlog() {
        let settings =
            Settings::of(Config::default(), vec![1], 3, 1).expect("three names do not collide");
        let mut host = Host::with_clock(Clock::default());
        for life in 1..=2 {
            host.start(&settings, 2, 5).expect("the roster has it");
            assert_eq!(host.node.as_ref().map(|node| node.incarnation().get()), Some(life));
            assert!(host.is_up() && host.crash().is_some() && !host.is_up());
        }
        let flight = || Flight { from: 0, to: 2, sent_micros: 0, bytes: Vec::new() };
        let kept = (0..1000).filter(|_| host.keep(flight())).count();
        assert_eq!(kept, BACKLOG_DATAGRAMS);
    }
}
