//! What the servers of an etcd say of themselves, and what of it is wrong.
//!
//! Each server that an address names is asked for its status, which it gives also without a leader
//! and without space. Then some commits are made and timed: sessions without keys, which leave
//! nothing. The store itself is not looked at, so it may be in use.
//!
//! etcd shows its election timeout nowhere. But no session is shorter than one and a half of it,
//! rounded up to seconds: so who asks for one of 1 s learns between which two times it is.
//!
//! Source: `Maintenance/Status` and `Cluster/MemberList` of etcd's API version 3; `minLeaseTTL` in
//! `server/etcdserver/server.go`.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::client::{Client, GRANT, MEMBERS, REVOKE, Repeat, STATUS};
use super::failure::{Failure, MORE_SPACE};
use super::metrics::{metrics, value};
use super::proto::{self, Grant, Granted, Lease, Members, Nothing};
use super::{Place, synced};

/// The oldest version that does, and the first that has another interface.
const OLDEST: (u32, u32) = (3, 4);
const FOREIGN: u32 = 4;

/// How long a server may take to answer.
const ANSWER: Duration = Duration::from_secs(2);

/// Commits that are timed.
const COMMITS: usize = 20;

/// A commit that takes longer, on average, is slower than the usual signs of life of a leader.
const SLOW: Duration = Duration::from_millis(100);

/// Election timeouts above this stop commits for longer than other programs wait.
const LONG_ELECTION_MS: u64 = 2_000;

/// Of a quota's bytes, in per cent, what may be used.
const FULL_PER_CENT: u64 = 80;

/// In its metrics.
const QUOTA: &str = "etcd_server_quota_backend_bytes";

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Examined {
    /// The servers that the address names, in its order.
    pub servers: Vec<Server>,
    /// How many members the etcd has; `None` if nobody said so.
    pub members: Option<usize>,
    /// How long commits took; `None` if they could not be made.
    pub commits: Option<Latency>,
    /// The election timeout is more than the first and at most the second, in milliseconds.
    pub election_ms: Option<(u64, u64)>,
    /// What is wrong, each with its remedy.
    pub faults: Vec<String>,
}

/// How long commits take, one at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Latency {
    /// Of half of them at most.
    pub median: Duration,
    /// Of the slowest one.
    pub longest: Duration,
}

/// One server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Server {
    /// `HOST:PORT`.
    pub address: String,
    /// What it says; or why it says nothing.
    pub status: Result<Status, String>,
}

/// What a server says of itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Status {
    /// Its version.
    pub version: String,
    /// Whether it leads; `None` if it knows no leader.
    pub leads: Option<bool>,
    /// The bytes of its database on its disk.
    pub database_bytes: u64,
    /// Those that would remain of them after `etcdctl defrag`.
    pub in_use_bytes: u64,
    /// How many the database may have; `None` if it does not show that.
    pub quota_bytes: Option<u64>,
    /// Whether it syncs what it acknowledges; `None` if it does not show that.
    pub syncs: Option<bool>,
    /// Alarms, and what else it complains about.
    errors: Vec<String>,
    cluster: u64,
    member: u64,
}

/// Asks the servers that a place names.
pub async fn examine(place: &Place) -> Examined {
    let mut found = Examined::default();
    let Some(client) = Client::new(&place.servers) else {
        found.faults.push("a server has no name that can be looked up: write HOST:PORT".into());
        return found;
    };
    for (number, address) in place.servers.iter().enumerate() {
        let status = status(&client, number, address).await;
        if status.is_ok() && found.members.is_none() {
            let members = ask::<Members>(&client, number, MEMBERS).await;
            found.members = members.ok().map(|members| members.members.len());
        }
        found.servers.push(Server { address: address.clone(), status });
    }
    if found.said().any(|(_, status)| status.leads.is_some()) {
        let refused = time(&client, &mut found).await;
        found.faults.extend(refused.map(|why| {
            format!("it makes no commit ({why}): start most of its servers, and connect them")
        }));
        for server in &mut found.servers {
            if let Ok(status) = &mut server.status {
                status.syncs = synced::syncs(&client, &server.address).await;
            }
        }
    }
    let wrong = found.wrong();
    found.faults.extend(wrong);
    found
}

async fn ask<A>(client: &Client, server: usize, method: &'static str) -> Result<A, String>
where
    A: prost::Message + Default,
{
    match timeout(ANSWER, client.alone(server, method)).await {
        Ok(answer) => answer.map_err(Failure::why),
        Err(_) => Err(format!("no answer in {} s", ANSWER.as_secs())),
    }
}

async fn status(client: &Client, server: usize, address: &str) -> Result<Status, String> {
    let status: proto::Status = ask(client, server, STATUS).await?;
    let header = status.header.unwrap_or_default();
    let bytes = |bytes: i64| u64::try_from(bytes).unwrap_or(0);
    let metrics = metrics(address).await;
    Ok(Status {
        version: status.version,
        leads: (status.leader != 0).then_some(status.leader == header.member),
        database_bytes: bytes(status.database_bytes),
        in_use_bytes: bytes(status.in_use_bytes),
        quota_bytes: metrics.and_then(|metrics| value(&metrics, QUOTA)),
        syncs: None,
        errors: status.errors,
        cluster: header.cluster,
        member: header.member,
    })
}

/// Makes some commits. Returns why none is made any more, if so: by a server that is silent one may
/// fail.
async fn time(client: &Client, found: &mut Examined) -> Option<String> {
    let (mut took, mut may_fail) = (Vec::new(), found.servers.len());
    while took.len() < COMMITS {
        let begin = Instant::now();
        let grant = client.call::<_, Granted>(GRANT, Grant { ttl: 1 }, Repeat::Undone);
        match grant.await {
            Ok(granted) => {
                took.push(begin.elapsed());
                found.election_ms = elections(granted.ttl);
                let lease = Lease { id: granted.id };
                // Else it ends by itself.
                let _ = client.call::<_, Nothing>(REVOKE, lease, Repeat::Undone).await;
            }
            Err(failure) if may_fail == 0 => return Some(failure.why()),
            Err(_) => may_fail -= 1,
        }
    }
    took.sort();
    let latency = |longest: &Duration| Latency { median: took[took.len() / 2], longest: *longest };
    found.commits = took.last().map(latency);
    None
}

/// Between which times an election timeout is, by the shortest session in seconds.
fn elections(shortest_s: i64) -> Option<(u64, u64)> {
    let shortest_s = u64::try_from(shortest_s).ok().filter(|shortest| *shortest > 0)?;
    let timeout_ms = |session_s: u64| session_s.saturating_mul(2_000) / 3;
    Some((timeout_ms(shortest_s - 1), timeout_ms(shortest_s)))
}

impl Examined {
    /// The servers that have answered.
    fn said(&self) -> impl Iterator<Item = (&str, &Status)> {
        self.servers
            .iter()
            .filter_map(|server| Some((server.address.as_str(), server.status.as_ref().ok()?)))
    }

    /// What is wrong.
    fn wrong(&self) -> Vec<String> {
        let mut wrong = self.wrong_with_members();
        for (address, status) in self.said() {
            wrong.extend(wrong_with(address, status));
        }
        wrong.extend(self.wrong_with_commits());
        wrong
    }

    fn wrong_with_members(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for server in &self.servers {
            if let Err(why) = &server.status {
                let address = &server.address;
                wrong.push(format!("{address} does not answer ({why}): start it, or name another"));
            }
        }
        let clusters: BTreeSet<u64> = self.said().map(|(_, status)| status.cluster).collect();
        let (named, all) = (self.servers.len(), self.members.unwrap_or(0));
        if clusters.len() > 1 {
            wrong.push("the servers are of several etcds: name those of one".into());
        } else if named < all {
            wrong.push(format!(
                "the address names {named} of {all} members: name all, since it is of no use while \
                 those that it names do not run"
            ));
        }
        wrong
    }

    fn wrong_with_commits(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        if let Some(slow) = self.commits.filter(|commits| commits.median > SLOW) {
            wrong.push(format!(
                "a commit takes {} ms: give its servers disks that sync faster, or hosts that are \
                 nearer to each other",
                slow.median.as_millis()
            ));
        }
        if let Some((over, _)) = self.election_ms.filter(|(over, _)| *over >= LONG_ELECTION_MS) {
            wrong.push(format!(
                "when its leader dies commits stop for more than {} s: start its servers with \
                 --heartbeat-interval 100 --election-timeout 1000",
                over / 1_000
            ));
        }
        wrong
    }
}

/// What is wrong with one server.
fn wrong_with(address: &str, status: &Status) -> Vec<String> {
    let (version, mut wrong) = (&status.version, Vec::new());
    match numbers(version) {
        Some((major, _)) if major >= FOREIGN => wrong.push(format!(
            "{address} has version {version}, which is newer than this program: use one that \
             begins with 3"
        )),
        Some(numbers) if numbers >= OLDEST => {}
        _ => wrong.push(format!(
            "{address} has version {version}: use {}.{} or later",
            OLDEST.0, OLDEST.1
        )),
    }
    if status.leads.is_none() {
        wrong.push(format!("{address} has no leader: start most of the servers, and connect them"));
    }
    if status.syncs == Some(false) {
        wrong.push(synced::unsynced(address).to_string());
    }
    let bytes = status.database_bytes;
    if let Some(quota) = status.quota_bytes.filter(|quota| bytes / FULL_PER_CENT >= quota / 100) {
        wrong.push(format!(
            "{address} has a database of {bytes} of {quota} bytes, {} in use: start it with a \
             larger --quota-backend-bytes, or call `etcdctl defrag` if much is not in use",
            status.in_use_bytes
        ));
    }
    // It complains about a leader's absence as well, which has its own sentence.
    let errors = status.errors.iter().filter(|error| !error.contains("no leader"));
    wrong.extend(errors.map(|error| {
        let error = error.trim();
        if error.contains("NOSPACE") {
            format!("{address} takes no more writes, {error}: {MORE_SPACE}")
        } else if error.contains("CORRUPT") {
            format!("{address} differs from others, {error}: remove that member, and add it anew")
        } else {
            format!("{address} complains, {error}: look into its log")
        }
    }));
    wrong
}

/// The first two numbers of a version.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&mut Status);

    fn server(status: Status) -> Server {
        Server { address: "a:2379".into(), status: Ok(status) }
    }

    fn sound() -> Status {
        Status {
            version: "3.4.23".into(),
            leads: Some(true),
            database_bytes: 79,
            quota_bytes: Some(100),
            syncs: Some(true),
            ..Status::default()
        }
    }

    fn with(change: impl FnOnce(&mut Status)) -> Examined {
        let mut status = sound();
        change(&mut status);
        Examined { servers: vec![server(status)], members: Some(1), ..Examined::default() }
    }

    #[test]
    fn each_fault_of_a_server_has_its_sentence() {
        assert_eq!(with(|_| ()).wrong(), [""; 0]);
        let cases: [(Change, &str); 10] = [
            (|status| status.version = "3.3.27".into(), "use 3.4 or later"),
            (|status| status.version = "odd".into(), "use 3.4 or later"),
            (|status| status.version = "4.0.1".into(), "newer than this program"),
            (|status| status.leads = None, "has no leader"),
            (|status| status.syncs = Some(false), "--unsafe-no-fsync"),
            (|status| status.database_bytes = 80, "80 of 100 bytes"),
            (|status| status.errors = vec!["memberID:1 alarm:NOSPACE ".into()], "alarm disarm"),
            (|status| status.errors = vec!["memberID:1 alarm:CORRUPT ".into()], "remove that"),
            (|status| status.errors = vec!["odd".into()], "complains, odd"),
            (
                |status| {
                    status.leads = None;
                    status.errors = vec!["etcdserver: no leader".into()];
                },
                "has no leader",
            ),
        ];
        for (change, words) in cases {
            let wrong = with(change).wrong();
            assert!(wrong.len() == 1 && wrong[0].contains(words), "{words}: {wrong:?}");
        }
        for version in ["3.10.0-rc.1", "3.7.3"] {
            assert_eq!(with(|status| status.version = version.into()).wrong(), [""; 0]);
        }
    }

    #[test]
    fn faults_of_the_whole_are_told_once() {
        let silent = Server { address: "b:2379".into(), status: Err("refused".into()) };
        let another = server(Status { cluster: 7, ..sound() });
        let median = |median_ms| {
            let took = Duration::from_millis(median_ms);
            Some(Latency { median: took, longest: took })
        };
        let sound = with(|_| ());
        let (mut dead, mut mixed) = (sound.clone(), sound.clone());
        dead.servers.push(silent);
        mixed.servers.push(another);
        for (found, words) in [
            (dead, "b:2379 does not answer (refused)"),
            (mixed, "several etcds"),
            (Examined { members: Some(3), ..sound.clone() }, "names 1 of 3 members"),
            (Examined { commits: median(101), ..sound.clone() }, "a commit takes 101 ms"),
            (Examined { election_ms: elections(4), ..sound.clone() }, "more than 2 s"),
        ] {
            let wrong = found.wrong();
            assert!(wrong.len() == 1 && wrong[0].contains(words), "{words}: {wrong:?}");
        }
        let usual = Examined { commits: median(100), election_ms: elections(3), ..sound };
        assert_eq!(usual.wrong(), [""; 0]);
    }

    #[test]
    fn the_shortest_session_tells_the_election_timeout() {
        assert_eq!(elections(2), Some((666, 1_333)), "1,000 ms are usual");
        assert_eq!((elections(0), elections(-1)), (None, None));
    }
}
