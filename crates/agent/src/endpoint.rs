//! A node on its socket: the part of the agent's loop that gossips, for any loop that has a node.
//!
//! A loop waits until an endpoint is [`ready`](Endpoint::ready), lets it [`receive`], publishes its
//! node's payload if a round [is due](Endpoint::is_due), and lets it [`advance`]. Invariants: each
//! turn does a bounded amount of work; between two turns the thread sleeps, and only a datagram,
//! the timer or an event of the loop wakes it.
//!
//! [`receive`]: Endpoint::receive
//! [`advance`]: Endpoint::advance

use std::future::poll_fn;
use std::io;
use std::task::Poll;
use std::time::Duration;

use tidings_gossip::{Instant, Node};

use crate::clock::Clock;
use crate::socket::DatagramSocket;
use crate::timer::Timer;

/// A node with a clock and a socket.
pub struct Endpoint {
    pub(crate) node: Node,
    pub(crate) socket: DatagramSocket,
    clock: Clock,
    timer: Timer,
    /// When the loop wakes up in any case.
    alarm: Option<Instant>,
    /// Whether the socket had something since it was last read.
    arrived: bool,
}

impl Endpoint {
    /// Puts `node`, whose time is that of `clock`, on `socket`. Needs a tokio runtime around it.
    ///
    /// # Errors
    /// When the system has no timer left.
    pub fn new(node: Node, clock: Clock, socket: DatagramSocket) -> io::Result<Self> {
        let timer = Timer::new(clock)?;
        Ok(Self { node, socket, clock, timer, alarm: None, arrived: false })
    }

    /// The node, for queries.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The node, for commands; [`advance`](Self::advance) sends the resulting datagrams.
    pub fn node_mut(&mut self) -> &mut Node {
        &mut self.node
    }

    /// The current time, in the core's time.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Makes it [`ready`](Self::ready) at this time, too.
    pub(crate) fn set_alarm(&mut self, at: Instant) {
        self.alarm = Some(at);
    }

    /// Waits until a datagram has arrived, the node's timeout is due, or there is room for a
    /// transmit that was held back. It may be dropped and called again at any time.
    ///
    /// # Errors
    /// When the socket can no longer be waited for.
    pub async fn ready(&mut self) -> io::Result<()> {
        let due = self.node.poll_timeout();
        self.timer.set(self.alarm.map_or(due, |alarm| alarm.min(due)))?;
        poll_fn(|context| {
            if let Poll::Ready(ready) = self.socket.poll_ready(context) {
                self.arrived = true;
                return Poll::Ready(ready);
            }
            self.timer.poll(context)
        })
        .await
    }

    /// Passes the node the datagrams that have arrived, up to a bound.
    pub fn receive(&mut self) {
        if !std::mem::take(&mut self.arrived) {
            return;
        }
        let (node, now) = (&mut self.node, self.clock.now());
        self.socket.receive(|from, datagram| node.handle_datagram(now, from.into(), datagram));
    }

    /// Whether the node's timeout is due: the payload for a round of now must be published before
    /// [`advance`](Self::advance).
    pub fn is_due(&self) -> bool {
        self.clock.now() >= self.node.poll_timeout()
    }

    /// Lets the node do what is due, sends its transmits, and returns by how much it was called too
    /// late, if it was due.
    pub fn advance(&mut self) -> Option<Duration> {
        let (now, due) = (self.clock.now(), self.node.poll_timeout());
        let lateness = (now >= due).then(|| now.saturating_since(due));
        if lateness.is_some() {
            self.node.set_clock(now, Clock::wall_micros());
            self.node.handle_timeout(now);
        }
        self.send(now);
        let node = &mut self.node;
        self.socket.take_refusals(|address| node.handle_refused(now, address.into()));
        lateness
    }

    /// Sends the node's transmits, as far as the kernel accepts them.
    pub(crate) fn send(&mut self, now: Instant) {
        let node = &mut self.node;
        self.socket.send(|buffer| node.poll_transmit(now, buffer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::KernelBuffers;
    use std::net::SocketAddr;
    use tidings_gossip::{Config, Incarnation, KeyRing, Member};

    const KERNEL: KernelBuffers = KernelBuffers { receive_bytes: 65_536, send_bytes: 65_536 };

    /// Two nodes on sockets of their own, which know of each other.
    fn pair() -> [Endpoint; 2] {
        let clock = Clock::start();
        let mut config = Config::default();
        config.interval = Duration::from_millis(1);
        let sockets = [0, 1].map(|_| {
            let address = SocketAddr::from(([127, 0, 0, 1], 0));
            DatagramSocket::bind(address, true, config.datagram_bytes, KERNEL).expect("a free port")
        });
        let addresses = [0, 1].map(|at: usize| sockets[at].local_address().expect("bound"));
        let member = |at: usize| Member { name: format!("n{at}"), address: addresses[at].into() };
        let roster = [member(0), member(1)];
        let mut number = 0;
        sockets.map(|socket| {
            let (me, keys) = (member(number), KeyRing::open(&config.cluster));
            number += 1;
            let (life, seed) = (Incarnation::new(1), number as u64);
            let node = Node::new(config.clone(), keys, me, &roster, life, seed, clock.now());
            let node = node.expect("a valid roster");
            Endpoint::new(node, clock, socket).expect("a timer of this system")
        })
    }

    /// Each wait for one of the two drops the wait for the other, as loops do.
    #[tokio::test]
    async fn two_endpoints_receive_what_was_published_before_a_round() {
        let mut endpoints = pair();
        let (names, texts) = (["n0", "n1"], ["from n0", "from n1"]);
        let mut heard = [false, false];
        while heard != [true, true] {
            let [one, two] = &mut endpoints;
            let (at, ready) = tokio::select! {
                ready = one.ready() => (0, ready),
                ready = two.ready() => (1, ready),
            };
            ready.expect("a working socket");
            let (endpoint, other) = (&mut endpoints[at], 1 - at);
            endpoint.receive();
            let due = endpoint.is_due();
            if due {
                endpoint.node_mut().publish(texts[at].as_bytes()).expect("a short text");
            }
            assert!(endpoint.advance().is_some() || !due, "what is due is done");
            let entry = endpoint.node().entry(names[other], endpoint.now());
            let payload = entry.expect("on the roster").payload;
            heard[at] |= payload.starts_with(texts[other].as_bytes());
        }
    }
}
