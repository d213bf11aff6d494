//! A survey: which keys each member holds, asked of all of them.
//!
//! Each member is sent a check, which it answers with the fingerprints of its keys. No entry grows
//! by that, and nothing is sent unless an operator asks. The socket is not the agent's, and what is
//! sent is paced, so that the answers of thousands find room in its buffer; who has not answered is
//! asked again, a few times.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tidings_control::{KeyAnswer, KeyReport, NodeKeys};
use tidings_gossip::{Checker, Heard};
use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout_at};

/// Checks that are sent at a time.
const AT_ONCE: usize = 64;
/// Between these: 4,000 members are asked in a second.
const PAUSE: Duration = Duration::from_millis(16);
/// How long the last answers of a turn are waited for.
const WAIT: Duration = Duration::from_millis(400);
/// How often each member is asked.
const TURNS: usize = 5;
/// The longest datagram that can be meant for this socket.
const MOST_BYTES: usize = 2_048;

/// What a survey has of this node.
pub(crate) struct Survey {
    pub(crate) checker: Checker,
    /// The address that the agent's socket listens on.
    pub(crate) listen: IpAddr,
}

impl Survey {
    /// Asks the nodes of a report that are [`Silent`](KeyAnswer::Silent) in it, and returns it with
    /// their answers. Without a key there is nothing to ask; without a socket nobody answers.
    pub(crate) async fn run(self, report: KeyReport) -> KeyReport {
        if !report.encrypted {
            return report;
        }
        match UdpSocket::bind((self.listen, 0)).await {
            Ok(socket) => Asking::new(self, socket, report).run().await,
            Err(error) => {
                tracing::error!(%error, "no socket to ask the members for their keys");
                report
            }
        }
    }
}

/// A survey under way.
struct Asking {
    checker: Checker,
    socket: UdpSocket,
    datagram: Vec<u8>,
    report: KeyReport,
    /// Where each node of the report is asked, as the socket takes it.
    places: Vec<Option<SocketAddr>>,
    /// The node at each of these places: a reject names none.
    at: HashMap<SocketAddr, usize>,
    /// The token of the first node; the others follow.
    token: u64,
    /// Nodes that have yet to answer.
    open: usize,
}

impl Asking {
    fn new(survey: Survey, socket: UdpSocket, report: KeyReport) -> Self {
        let is_ipv6 = survey.listen.is_ipv6();
        let place = |node: &NodeKeys| {
            let address = node.address.parse().ok()?;
            (node.answer == KeyAnswer::Silent).then_some(as_taken(address, is_ipv6)).flatten()
        };
        let places: Vec<_> = report.nodes.iter().map(place).collect();
        let at = places.iter().enumerate().filter_map(|(at, place)| Some(((*place)?, at)));
        Self {
            at: at.collect(),
            open: places.iter().flatten().count(),
            token: getrandom::u64().unwrap_or_default(),
            checker: survey.checker,
            datagram: vec![0; Checker::LEAST_BYTES_WITH_KEYS],
            socket,
            places,
            report,
        }
    }

    async fn run(mut self) -> KeyReport {
        for _ in 0..TURNS {
            let asked: Vec<usize> = (0..self.places.len()).filter(|&at| self.is_open(at)).collect();
            for some in asked.chunks(AT_ONCE) {
                for &at in some {
                    self.ask(at);
                }
                self.listen_for(PAUSE).await;
            }
            self.listen_for(WAIT).await;
        }
        self.report
    }

    /// Whether a node has yet to answer and can be asked.
    fn is_open(&self, at: usize) -> bool {
        self.places[at].is_some() && self.report.nodes[at].answer == KeyAnswer::Silent
    }

    fn ask(&mut self, at: usize) {
        let Some(place) = self.places[at] else { return };
        self.checker.write(self.token.wrapping_add(at as u64), &mut self.datagram);
        // What is not sent is not answered, and asked again.
        let _ = self.socket.try_send_to(&self.datagram, place);
    }

    /// Takes in answers for so long, or until all have answered.
    async fn listen_for(&mut self, time: Duration) {
        let until = Instant::now() + time;
        let mut buffer = [0; MOST_BYTES];
        while self.open > 0 {
            let Ok(received) = timeout_at(until, self.socket.recv_from(&mut buffer)).await else {
                return;
            };
            match received {
                Ok((bytes, from)) => self.hear(&mut buffer[..bytes], from),
                Err(error) if is_about_a_member(&error) => {}
                Err(_) => return,
            }
        }
    }

    fn hear(&mut self, datagram: &mut [u8], from: SocketAddr) {
        match self.checker.read(datagram) {
            Some(Heard::Answer(checked)) => {
                let at = checked.token.wrapping_sub(self.token) as usize;
                let keys = checked.keys.fingerprints().iter().map(ToString::to_string);
                self.take(at, keys.collect());
            }
            Some(Heard::Reject(_)) => {
                if let Some(&at) = self.at.get(&from).filter(|&&at| self.is_open(at)) {
                    self.open -= 1;
                    self.report.nodes[at].answer = KeyAnswer::Rejected;
                }
            }
            None => {}
        }
    }

    /// Takes in what a node says of its keys; also after a reject, which anybody on the way can
    /// forge.
    fn take(&mut self, at: usize, keys: Vec<String>) {
        self.open -= usize::from(self.places.get(at).is_some() && self.is_open(at));
        if let Some(node) = self.report.nodes.get_mut(at) {
            node.answer = if keys.is_empty() { KeyAnswer::Unsaid } else { KeyAnswer::Known };
            node.keys = keys;
        }
    }
}

/// An address as a socket of this family takes it, if it does.
fn as_taken(address: SocketAddr, is_ipv6: bool) -> Option<SocketAddr> {
    match address.ip() {
        IpAddr::V4(ip) if is_ipv6 => Some((ip.to_ipv6_mapped(), address.port()).into()),
        IpAddr::V6(_) if !is_ipv6 => None,
        _ => Some(address),
    }
}

/// Whether an error of the socket is what a host has said of a check.
fn is_about_a_member(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable};
    matches!(error.kind(), ConnectionRefused | HostUnreachable | NetworkUnreachable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_of_ipv6_takes_both_families() {
        let [four, six]: [SocketAddr; 2] =
            ["10.0.0.1:9616", "[fd00::1]:9616"].map(|text| text.parse().expect("an address"));
        assert_eq!(as_taken(four, false), Some(four));
        assert_eq!(as_taken(six, true), Some(six));
        let mapped = as_taken(four, true).expect("both");
        assert_eq!(mapped.to_string(), "[::ffff:10.0.0.1]:9616");
        assert_eq!(as_taken(six, false), None);
    }
}
