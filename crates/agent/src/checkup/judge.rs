//! What follows from what came back, or did not.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustix::io::Errno;
use tidings_control::{Finding, Verdict};
use tidings_gossip::EntryState;
use tidings_gossip::mismatch::Difference;
use tidings_gossip::wire::check::Checked;
use tidings_gossip::wire::reject::Reject;
use tidings_gossip::wire::window::{Format, Reads};

use crate::driver::dropped_there;

/// Bytes of the headers of IPv4 and UDP.
const HEADERS: usize = 28;
/// Clocks that differ by more are reported.
const CLOCKS_MICROS: u64 = 10_000_000;

/// Nothing could be sent, or the network said that nothing arrives.
pub(super) fn unsent(error: &io::Error, address: SocketAddr) -> Finding {
    let ip = address.ip();
    if is(error, Errno::CONNREFUSED) {
        return wrong(
            "port",
            format!(
                "the host says that nothing listens on UDP port {}: the agent is down, listens on \
                 another port or address, or a firewall rejects",
                address.port()
            ),
        );
    }
    if is(error, Errno::NETUNREACH) {
        return wrong("address", format!("there is no route to {ip} from this host"));
    }
    if is(error, Errno::HOSTUNREACH) || is(error, Errno::HOSTDOWN) {
        return wrong(
            "address",
            format!("no host answers at {ip}: it is down, or it is elsewhere"),
        );
    }
    if is(error, Errno::PERM) || is(error, Errno::ACCESS) {
        return wrong("firewall", format!("a firewall of this host forbids to send to {address}"));
    }
    wrong("address", format!("nothing can be sent to {address} ({error})"))
}

/// Nothing came back.
pub(super) fn silent(address: SocketAddr) -> Finding {
    unclear(
        "firewall",
        format!(
            "nothing comes back from {address}: the host is down, a firewall drops UDP port {} in \
             one direction, or an agent of an earlier release is there; run this command on the \
             other side too",
            address.port()
        ),
    )
}

/// The other node drops what this one sends.
pub(super) fn rejected(reject: &Reject) -> Finding {
    let why = dropped_there(reject.difference);
    let text = match reject.difference {
        Difference::Version => {
            format!("it reads versions {} to {}: {why}", reject.reads.lowest, reject.reads.highest)
        }
        _ => why.to_owned(),
    };
    wrong(reject.difference.word(), text)
}

/// Long datagrams do not pass.
pub(super) fn narrow(most: usize, passes: usize) -> Finding {
    wrong(
        "mtu",
        format!(
            "datagrams of {most} bytes do not pass, of {passes} they do: set mtu = {} on all nodes, \
             or mend the path",
            passes + HEADERS
        ),
    )
}

/// What this node has.
pub(super) struct Own<'a> {
    pub(super) format: Format,
    pub(super) reads: Reads,
    pub(super) version: u8,
    /// `IP:PORT`.
    pub(super) announced: &'a str,
    /// When the answer came.
    pub(super) wall_micros: i64,
}

impl Own<'_> {
    /// What the answer says, which took this long.
    pub(super) fn compare(&self, there: &Checked, took: Duration) -> Vec<Finding> {
        vec![
            ok("key", "each has the key that the other seals with".to_owned()),
            ok("cluster", "cluster and colony are the same".to_owned()),
            self.version(there),
            self.payload(there),
            self.clock(there, took),
            self.membership(there),
        ]
    }

    fn version(&self, there: &Checked) -> Finding {
        let (lowest, highest) = (there.reads.lowest, there.reads.highest);
        let text = format!(
            "this node writes version {}, the other writes {} and reads {lowest} to {highest}",
            self.version, there.writes
        );
        ok("version", text)
    }

    fn payload(&self, there: &Checked) -> Finding {
        let (here, there) = (self.format, there.format);
        if here == there {
            return ok("payload", format!("payloads have {} bytes on both", here.payload_bytes));
        }
        let both = format!(
            "payloads have {} bytes here and {} there",
            here.payload_bytes, there.payload_bytes
        );
        if self.reads.format(there.schema, there.payload_bytes).is_ok() {
            let most = self.reads.most_bytes;
            let text = format!("{both}, and up to {most} are read here (payload_bytes_most)");
            return ok("payload", text);
        }
        let schemas = format!("(schemas {} and {})", here.schema, there.schema);
        wrong("payload", format!("{both} {schemas}: set payload_bytes alike"))
    }

    fn clock(&self, there: &Checked, took: Duration) -> Finding {
        let Some(wall) = there.wall_micros else {
            return ok("clock", "the other node has made no round yet".to_owned());
        };
        let sent_back = self.wall_micros.saturating_sub(took.as_micros() as i64 / 2);
        let apart = wall.abs_diff(sent_back);
        if apart > CLOCKS_MICROS {
            let which = if wall > sent_back { "ahead of" } else { "behind" };
            let seconds = apart / 1_000_000;
            return wrong(
                "clock",
                format!("its clock is {seconds} s {which} this one: set the one that is wrong"),
            );
        }
        ok("clock", format!("the clocks differ by {} ms at most", (apart / 1000).max(1)))
    }

    fn membership(&self, there: &Checked) -> Finding {
        let of = "membership";
        let members = there.members;
        let known = there.address.and_then(|address| SocketAddr::try_from(address).ok());
        let known = known.map(|address| address.to_string());
        match (there.held, known) {
            (Some(EntryState::Alive | EntryState::Suspected), Some(at)) if at != self.announced => {
                wrong(of, format!("it holds this node at {at}, which announces {}", self.announced))
            }
            (Some(EntryState::Alive), _) => {
                ok(of, format!("it knows {members} members, this node among them"))
            }
            (Some(EntryState::Suspected), _) => {
                unclear(of, "it suspects this node: probes get no answer".to_owned())
            }
            (Some(EntryState::Dead), _) => wrong(
                of,
                format!(
                    "it has declared this node dead: does what it sends reach {}?",
                    self.announced
                ),
            ),
            (Some(EntryState::Left), _) => {
                wrong(of, "this node has said farewell to it".to_owned())
            }
            (Some(EntryState::Unheard), _) => {
                wrong(of, "it has this node on its roster and hears nothing of it".to_owned())
            }
            (None, _) => wrong(
                of,
                format!(
                    "it knows {members} members, and not this node: name it as a seed, and see \
                     that max_nodes leaves room"
                ),
            ),
        }
    }
}

/// Whether an error of a call means this.
fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

pub(super) fn ok(of: &str, text: String) -> Finding {
    Finding { of: of.to_owned(), verdict: Verdict::Ok, text }
}

pub(super) fn wrong(of: &str, text: String) -> Finding {
    Finding { of: of.to_owned(), verdict: Verdict::Wrong, text }
}

fn unclear(of: &str, text: String) -> Finding {
    Finding { of: of.to_owned(), verdict: Verdict::Unclear, text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_gossip::Address;
    use tidings_gossip::wire::check::Held;
    use tidings_gossip::wire::extension::Versions;

    const FORMAT: Format = Format { schema: 1, payload_bytes: 256 };

    fn own() -> Own<'static> {
        let wall_micros = 1_000_000_000;
        Own {
            format: FORMAT,
            reads: FORMAT.into(),
            version: 1,
            announced: "10.0.0.1:9616",
            wall_micros,
        }
    }

    fn checked() -> Checked {
        let at: SocketAddr = "10.0.0.1:9616".parse().expect("an address");
        Checked {
            token: 1,
            format: FORMAT,
            writes: 1,
            reads: Versions::READ,
            wall_micros: Some(1_000_000_000),
            members: 3,
            held: Some(EntryState::Alive),
            from: Address::from(at),
            address: Some(Address::from(at)),
            keys: Held::default(),
        }
    }

    fn wrong_of(checked: &Checked) -> Vec<String> {
        let findings = own().compare(checked, Duration::from_millis(2));
        let bad = findings.into_iter().filter(|finding| finding.verdict != Verdict::Ok);
        bad.map(|finding| finding.of).collect()
    }

    #[test]
    fn each_difference_is_named() {
        assert_eq!(wrong_of(&checked()), [""; 0]);
        let other = Format { payload_bytes: 128, ..FORMAT };
        assert_eq!(wrong_of(&Checked { format: other, ..checked() }), ["payload"]);
        let reads = Reads { schema: 1, least_bytes: 0, most_bytes: 256 };
        let during_a_change = Own { reads, ..own() };
        let shorter = Checked { format: other, ..checked() };
        let findings = during_a_change.compare(&shorter, Duration::from_millis(2));
        assert!(findings.iter().all(|finding| finding.verdict == Verdict::Ok), "{findings:?}");
        let late = Some(1_000_000_000 - 11_000_000);
        assert_eq!(wrong_of(&Checked { wall_micros: late, ..checked() }), ["clock"]);
        assert_eq!(wrong_of(&Checked { wall_micros: None, ..checked() }), [""; 0]);
        let all = [EntryState::Dead, EntryState::Left, EntryState::Unheard, EntryState::Suspected];
        for held in all.map(Some).into_iter().chain([None]) {
            assert_eq!(wrong_of(&Checked { held, ..checked() }), ["membership"], "{held:?}");
        }
        let elsewhere: SocketAddr = "10.0.0.9:9616".parse().expect("an address");
        let moved = Checked { address: Some(elsewhere.into()), ..checked() };
        assert_eq!(wrong_of(&moved), ["membership"]);
    }

    #[test]
    fn the_kernel_s_word_is_taken() {
        let address: SocketAddr = "10.0.0.2:9616".parse().expect("an address");
        let of = |errno: Errno| unsent(&errno.into(), address).of;
        assert_eq!(of(Errno::CONNREFUSED), "port");
        assert_eq!(of(Errno::NETUNREACH), "address");
        assert_eq!(of(Errno::HOSTUNREACH), "address");
        assert_eq!(of(Errno::PERM), "firewall");
        assert_eq!(silent(address).verdict, Verdict::Unclear);
        assert!(narrow(1472, 1400).text.contains("set mtu = 1428"));
    }
}
