//! A node on its socket: the part of the agent's loop that gossips, for any loop that has a node.
//!
//! A loop waits until an endpoint is [`ready`](Endpoint::ready), lets it [`receive`], says what its
//! node publishes if a round [is due](Endpoint::is_due), and lets it [`advance`]. Invariants: each
//! turn does a bounded amount of work; between two turns the thread sleeps; the timer is armed anew
//! only when the node wants to be called at another time than before.
//!
//! [`receive`]: Endpoint::receive
//! [`advance`]: Endpoint::advance

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tidings_gossip::{Instant, Node};
use tokio::time::{Sleep, sleep_until};

use crate::clock::Clock;
use crate::socket::DatagramSocket;

/// A node with the clock and the socket that it lacks.
pub struct Endpoint {
    pub(crate) node: Node,
    pub(crate) socket: DatagramSocket,
    clock: Clock,
    timer: Pin<Box<Sleep>>,
    /// What the timer is set to, in the core's time.
    armed: Instant,
    /// Whether the socket had something since it was last read.
    arrived: bool,
}

impl Endpoint {
    /// Puts `node`, whose time is that of `clock`, on `socket`. Wants a tokio runtime around it.
    pub fn new(node: Node, clock: Clock, socket: DatagramSocket) -> Self {
        let armed = node.poll_timeout();
        let timer = Box::pin(sleep_until(clock.moment(armed)));
        Self { node, socket, clock, timer, armed, arrived: false }
    }

    /// The node, to ask.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The node, to command; [`advance`](Self::advance) sends what follows.
    pub fn node_mut(&mut self) -> &mut Node {
        &mut self.node
    }

    /// The present, in the core's time.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Waits until a datagram has arrived, the node wants to be called, or there is room for a
    /// transmit that was held back. It may be dropped and called anew at any time.
    ///
    /// # Errors
    /// When the socket can no longer be waited for.
    pub async fn ready(&mut self) -> io::Result<()> {
        let due = self.node.poll_timeout();
        if due != self.armed {
            self.timer.as_mut().reset(self.clock.moment(due));
            self.armed = due;
        }
        poll_fn(|context| {
            if let Poll::Ready(ready) = self.socket.poll_ready(context) {
                self.arrived = true;
                return Poll::Ready(ready);
            }
            self.timer.as_mut().poll(context).map(Ok)
        })
        .await
    }

    /// Hands the node the datagrams that have arrived, up to a bound.
    pub fn receive(&mut self) {
        if !std::mem::take(&mut self.arrived) {
            return;
        }
        let (node, now) = (&mut self.node, self.clock.now());
        self.socket.receive(|from, datagram| node.handle_datagram(now, from.into(), datagram));
    }

    /// Whether the node wants to be called: what it is to say in a round of now must be published
    /// before [`advance`](Self::advance).
    pub fn is_due(&self) -> bool {
        self.clock.now() >= self.node.poll_timeout()
    }

    /// Lets the node do what is due, sends what it wants to send, and returns by how much it was
    /// called too late, if it was due.
    pub fn advance(&mut self) -> Option<Duration> {
        let (now, due) = (self.clock.now(), self.node.poll_timeout());
        let lateness = (now >= due).then(|| now.saturating_since(due));
        if lateness.is_some() {
            self.node.handle_timeout(now);
        }
        self.send(now);
        lateness
    }

    /// Sends what the node wants to send, as far as the kernel takes it.
    pub(crate) fn send(&mut self, now: Instant) {
        let node = &mut self.node;
        self.socket.send(|buffer| node.poll_transmit(now, buffer));
    }
}
