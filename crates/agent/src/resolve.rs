//! From host names to addresses: the roster's at the start, the seeds' for as long as it takes.
//!
//! A name that cannot be resolved stops nothing: it is tried again, at growing intervals. Until
//! then a member of the roster has no address, and a seed is not asked.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tidings_gossip::roster::RosterLine;
use tidings_gossip::{Address, ColonyId, Member};
use tokio::net::lookup_host;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tracing::{debug, error, warn};

use crate::config::Seed;
use crate::prepare::is_loopback;

/// Name-service queries under way at a time.
const AT_A_TIME: usize = 32;

/// How many names a complaint quotes.
const QUOTED: usize = 5;

/// How long a start waits for seeds.
const AT_ONCE: Duration = Duration::from_secs(2);

/// The first and the longest wait before a seed is looked up again.
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_MOST: Duration = Duration::from_secs(60);

/// The properties of a usable address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// The listening socket accepts IPv6.
    pub(crate) ipv6: bool,
    /// There is no key.
    pub(crate) loopback_only: bool,
}

/// Why names have no usable addresses.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// A name of the roster is not on this machine, and there is no key.
    #[error("{}", crate::config::ConfigError::NotLoopback {
        what: format!("the address of {name} on the roster,"), address: *address
    })]
    NotLoopback {
        /// The name.
        name: String,
        /// Its address.
        address: SocketAddr,
    },
}

/// One address of `HOST:PORT` that the socket can send to.
async fn host(text: &str, reach: Reach) -> io::Result<SocketAddr> {
    let found = lookup_host(text).await?;
    let fits = |address: &SocketAddr| reach.ipv6 || address.is_ipv4();
    found.into_iter().find(fits).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::AddrNotAvailable,
            "it has only IPv6 addresses, and the \
            agent listens on IPv4",
        )
    })
}

/// A roster looked up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Looked {
    /// All members; those without an address have one of no bytes, to which nothing is sent.
    pub(crate) members: Vec<Member>,
    /// The places of those without an address, each with the reason.
    pub(crate) missing: Vec<(usize, String)>,
}

impl Looked {
    /// What is missing, in words; `None` if nothing is.
    pub(crate) fn complaint(&self) -> Option<String> {
        if self.missing.is_empty() {
            return None;
        }
        let named =
            |(at, reason): &(usize, String)| format!("{} ({reason})", self.members[*at].name);
        let count = self.missing.len();
        let quoted: Vec<String> = self.missing.iter().take(QUOTED).map(named).collect();
        let more = if count > QUOTED { ", …" } else { "" };
        Some(format!(
            "{count} of the roster's names cannot be resolved: {}{more}; check their spelling and \
             the name service, or give their addresses on the roster as NAME=IP:PORT",
            quoted.join(", ")
        ))
    }
}

/// The members of a roster; lines without an address are looked up and get `port`.
pub(crate) async fn roster(
    lines: &[RosterLine],
    port: u16,
    reach: Reach,
) -> Result<Looked, ResolveError> {
    let mut found: Vec<Option<io::Result<SocketAddr>>> = lines.iter().map(|_| None).collect();
    let mut questions = JoinSet::new();
    for (place, line) in lines.iter().enumerate() {
        let text = line.address.clone().unwrap_or_else(|| format!("{}:{port}", line.name));
        if let Ok(address) = text.parse() {
            found[place] = Some(Ok(address));
            continue;
        }
        if questions.len() == AT_A_TIME {
            take(&mut questions, &mut found).await;
        }
        questions.spawn(async move { (place, host(&text, reach).await) });
    }
    while !questions.is_empty() {
        take(&mut questions, &mut found).await;
    }
    members(lines, found, reach)
}

type Answer = (usize, io::Result<SocketAddr>);

async fn take(questions: &mut JoinSet<Answer>, found: &mut [Option<io::Result<SocketAddr>>]) {
    if let Some(Ok((place, answer))) = questions.join_next().await {
        found[place] = Some(answer);
    }
}

fn members(
    lines: &[RosterLine],
    found: Vec<Option<io::Result<SocketAddr>>>,
    reach: Reach,
) -> Result<Looked, ResolveError> {
    let mut looked = Looked::default();
    for (place, (line, found)) in lines.iter().zip(found).enumerate() {
        let address = match found {
            Some(Ok(address)) if reach.loopback_only && !is_loopback(address.ip()) => {
                return Err(ResolveError::NotLoopback { name: line.name.clone(), address });
            }
            Some(Ok(address)) => address.into(),
            Some(Err(error)) => {
                looked.missing.push((place, error.to_string()));
                Address::NOWHERE
            }
            None => {
                looked.missing.push((place, "no answer".to_owned()));
                Address::NOWHERE
            }
        };
        looked.members.push(Member { name: line.name.clone(), address });
    }
    Ok(looked)
}

/// Looks the names that are missing up again until each has an address, and sends the roster
/// whenever one more was found. Ends when none is missing or the receiver has ended.
pub(crate) fn rest(
    lines: Vec<RosterLine>,
    port: u16,
    reach: Reach,
    (mut looked, found): (Looked, mpsc::Sender<Looked>),
) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut wait = RETRY_FIRST;
        while !looked.missing.is_empty() {
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(RETRY_MOST);
            let places: Vec<usize> = looked.missing.iter().map(|(at, _)| *at).collect();
            let again: Vec<RosterLine> = places.iter().map(|&at| lines[at].clone()).collect();
            let some = match roster(&again, port, reach).await {
                Ok(some) => some,
                Err(error) => {
                    warn!(%error, "a name of the roster is ignored; trying again later");
                    continue;
                }
            };
            if let Some(complaint) = some.complaint() {
                debug!("{complaint}; trying again later");
            }
            let found_some = some.missing.len() < places.len();
            for (&at, member) in places.iter().zip(some.members) {
                looked.members[at] = member;
            }
            looked.missing =
                some.missing.into_iter().map(|(at, reason)| (places[at], reason)).collect();
            if found_some && found.send(looked.clone()).await.is_err() {
                return;
            }
        }
    })
}

/// A seed's address, and the colony it is of if that is another.
pub(crate) type Found = (Option<ColonyId>, Address);

/// Looks `seeds` up in the background until each has an address, and sends every batch found to
/// `found`. Ends when all are resolved or the receiver has ended.
pub(crate) fn seeds(
    seeds: Vec<Seed>,
    reach: Reach,
    found: mpsc::Sender<Vec<Found>>,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut missing = seeds;
        let mut wait = RETRY_FIRST;
        loop {
            let (addresses, still_missing) = look_up(&missing, reach).await;
            if !addresses.is_empty() && found.send(addresses).await.is_err() {
                return;
            }
            if still_missing.is_empty() {
                return;
            }
            missing = still_missing;
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(RETRY_MOST);
        }
    })
}

/// The addresses of the seeds that resolve at once, in their order.
pub(crate) async fn at_once(seeds: &[Seed], reach: Reach) -> Vec<SocketAddr> {
    let mut found = Vec::new();
    let look_up = async {
        for seed in seeds.iter().take(QUOTED) {
            found.extend(host(&seed.place, reach).await.ok());
        }
    };
    // A name service that does not answer must not hold up a start.
    let _ = tokio::time::timeout(AT_ONCE, look_up).await;
    found
}

/// The seeds that cannot be resolved now, each with its reason.
pub(crate) async fn unresolvable(seeds: &[Seed], reach: Reach) -> Vec<String> {
    let mut found = Vec::new();
    for seed in seeds {
        match host(&seed.place, reach).await {
            Ok(address) if reach.loopback_only && !is_loopback(address.ip()) => {
                found.push(format!("{seed} is {address}, not loopback, and there is no key"));
            }
            Ok(_) => {}
            Err(error) => found.push(format!("{seed} cannot be resolved ({error})")),
        }
    }
    found
}

async fn look_up(seeds: &[Seed], reach: Reach) -> (Vec<Found>, Vec<Seed>) {
    let mut addresses = Vec::new();
    let mut missing = Vec::new();
    for seed in seeds {
        match host(&seed.place, reach).await {
            Ok(address) if reach.loopback_only && !is_loopback(address.ip()) => {
                error!(%seed, %address, "seed ignored: without a key only loopback is allowed");
            }
            Ok(address) => {
                debug!(%seed, %address, "seed resolved");
                addresses.push((seed.colony, address.into()));
            }
            Err(error) => {
                warn!(%seed, %error, "the seed cannot be resolved; trying again later");
                missing.push(seed.clone());
            }
        }
    }
    (addresses, missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_gossip::roster;

    const REACH: Reach = Reach { ipv6: false, loopback_only: true };

    async fn resolved(text: &str) -> Result<Vec<Member>, String> {
        let lines = roster::parse(text).expect("a valid roster");
        let looked = super::roster(&lines, 9616, REACH).await.map_err(|error| error.to_string())?;
        looked.complaint().map_or(Ok(looked.members), Err)
    }

    #[tokio::test]
    async fn literal_addresses_need_no_name_service_and_keep_their_order() {
        let members = resolved("b=127.0.0.1:7\na=127.0.0.1:8\n").await.expect("literal");
        let names: Vec<_> = members.iter().map(|member| member.name.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        let first = SocketAddr::try_from(members[0].address).expect("made from one");
        assert_eq!(first.to_string(), "127.0.0.1:7");
    }

    #[tokio::test]
    async fn unresolved_names_are_counted_and_quoted() {
        let message = resolved("n[1-7].invalid").await.expect_err("reserved to fail");
        assert!(message.starts_with("7 of the roster's names cannot be resolved: n1.invalid ("));
        assert!(message.contains(", …; check their spelling"), "{message}");
    }

    #[tokio::test]
    async fn what_is_missing_has_no_address_and_its_place() {
        let lines = roster::parse("a=127.0.0.1:8\nb.invalid\n").expect("a valid roster");
        let looked = super::roster(&lines, 9616, REACH).await.expect("loopback");
        assert_eq!(looked.missing.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1]);
        assert_eq!(looked.members[1].address, Address::NOWHERE);
    }

    #[tokio::test(start_paused = true)]
    async fn names_are_looked_up_until_they_are_there() {
        let lines = roster::parse("a=127.0.0.1:8\nb=127.0.0.1:9\n").expect("a valid roster");
        let mut looked = super::roster(&lines, 9616, REACH).await.expect("loopback");
        // As if the name service had not known it a moment ago.
        looked.members[1].address = Address::NOWHERE;
        looked.missing.push((1, "no answer".to_owned()));
        let (sender, mut receiver) = mpsc::channel(1);
        rest(lines, 9616, REACH, (looked, sender));
        let found = receiver.recv().await.expect("it is there now");
        assert!(found.missing.is_empty());
        assert_eq!(SocketAddr::try_from(found.members[1].address).expect("one").port(), 9);
        assert!(receiver.recv().await.is_none(), "the task has ended");
    }

    #[tokio::test]
    async fn a_seed_by_address_is_found_at_once() {
        let (sender, mut receiver) = mpsc::channel(1);
        let colony = Some(ColonyId(3));
        seeds(vec![Seed { colony, place: "127.0.0.1:9".to_owned() }], REACH, sender);
        let address: SocketAddr = "127.0.0.1:9".parse().expect("literal");
        assert_eq!(receiver.recv().await, Some(vec![(colony, Address::from(address))]));
        assert_eq!(receiver.recv().await, None, "the task has ended");
    }
}
