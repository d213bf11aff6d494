//! Calls to the servers of an etcd: one at a time, another one when that does not answer.
//!
//! All calls go to one server as long as it answers. When it does not, the next one is taken: for
//! what only reads, and for what is known not to have been done. A write that may have been done is
//! never sent twice.
//!
//! An answer is waited for no longer than it may come: a server that is silent while others are
//! not, or was asked before another leader was elected, gives none (`elections`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use prost::Message;
use prost::bytes::Bytes;
use tokio::time::{Instant, sleep};
use tonic::transport::{Channel, Endpoint};

use super::call::{Method, Stream, alone, bytes_of, open, read, unary};
use super::elections;
use super::failure::Failure;
use super::proto::{self, Txn, TxnAnswer};

pub(super) use super::call::RANGE;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(1);

/// How long one server may take to answer when nothing is known of it. Longer than an election,
/// which takes 1 to 2 s with etcd's usual settings.
const ANSWER: Duration = Duration::from_secs(5);

/// How long calls are sent again.
const WITHIN: Duration = Duration::from_secs(10);

/// The wait before a call is sent again; it doubles from the first to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(10);
const LONGEST_WAIT: Duration = Duration::from_millis(300);

/// How often, and how long, a silent connection is probed. Servers take more than one probe in 5 s
/// as an attack.
const PROBE_EVERY: Duration = Duration::from_secs(6);
const PROBE_ANSWER: Duration = Duration::from_secs(3);

pub(super) const COMPACT: Method = "/etcdserverpb.KV/Compact";
pub(super) const GRANT: Method = "/etcdserverpb.Lease/LeaseGrant";
pub(super) const REVOKE: Method = "/etcdserverpb.Lease/LeaseRevoke";
pub(super) const STATUS: Method = "/etcdserverpb.Maintenance/Status";
pub(super) const MEMBERS: Method = "/etcdserverpb.Cluster/MemberList";
const TXN: Method = "/etcdserverpb.KV/Txn";
const KEEP_ALIVE: Method = "/etcdserverpb.Lease/LeaseKeepAlive";
const WATCH: Method = "/etcdserverpb.Watch/Watch";

/// Whether a call may be sent again when nobody knows whether it was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Repeat {
    /// It only reads, or does no harm when it is done twice.
    Always,
    /// Only what is known not to have been done.
    Undone,
}

/// The servers. The clones use the same connections.
#[derive(Clone)]
pub(super) struct Client(Arc<Servers>);

struct Servers {
    channels: Vec<Channel>,
    /// The one in use.
    current: AtomicUsize,
    /// The term of the last leader that is known, as etcd counts them.
    term: AtomicU64,
}

impl Client {
    /// Connections to servers `HOST:PORT`, made when they are first used. `None` if one is no such
    /// name.
    pub(super) fn new(servers: &[String]) -> Option<Self> {
        let channel = |server: &String| {
            let endpoint = Endpoint::from_shared(format!("http://{server}")).ok()?;
            let endpoint = endpoint
                .connect_timeout(CONNECT)
                .tcp_nodelay(true)
                .http2_keep_alive_interval(PROBE_EVERY)
                .keep_alive_timeout(PROBE_ANSWER);
            Some(endpoint.connect_lazy())
        };
        let channels = servers.iter().map(channel).collect::<Option<Vec<_>>>()?;
        (!channels.is_empty())
            .then(|| Self(Arc::new(Servers { channels, current: 0.into(), term: 0.into() })))
    }

    /// Calls, and calls again within [`WITHIN`].
    pub(super) async fn call<Q, A>(
        &self,
        method: Method,
        request: Q,
        repeat: Repeat,
    ) -> Result<A, Failure>
    where
        Q: Message,
        A: Message + Default,
    {
        read(self.call_bytes(method, bytes_of(&request), repeat).await?)
    }

    async fn call_bytes(
        &self,
        method: Method,
        request: Bytes,
        repeat: Repeat,
    ) -> Result<Bytes, Failure> {
        self.again(repeat, |channel| unary(channel, method, request.clone())).await
    }

    /// Asks one of the servers about itself, once.
    pub(super) async fn alone<A>(&self, server: usize, method: Method) -> Result<A, Failure>
    where
        A: Message + Default,
    {
        read(alone(self.0.channels[server].clone(), method, Bytes::new()).await?)
    }

    /// A transaction; see [`Client::call`].
    pub(super) async fn txn(&self, txn: Txn, repeat: Repeat) -> Result<TxnAnswer, Failure> {
        let answer: TxnAnswer = self.call(TXN, txn, repeat).await?;
        let term = answer.header.as_ref().map_or(0, |header| header.term);
        self.0.term.fetch_max(term, Ordering::Relaxed);
        Ok(answer)
    }

    /// Keeps a lease. Returns how long from now on; 0 if there is none.
    pub(super) async fn keep(&self, lease: i64) -> Result<i64, Failure> {
        let request = bytes_of(&proto::Lease { id: lease });
        let keep = |channel| {
            let request = request.clone();
            async move {
                let mut stream = open::<proto::Kept>(channel, KEEP_ALIVE, request).await?;
                let kept = stream.message().await?;
                kept.map(|kept| kept.ttl).ok_or_else(ended)
            }
        };
        self.again(Repeat::Always, keep).await
    }

    /// Opens a stream of changes. The server has taken the request when this returns.
    pub(super) async fn watch(
        &self,
        request: proto::WatchCreate,
    ) -> Result<Stream<proto::Watched>, Failure> {
        let request = bytes_of(&proto::Watching { create: Some(request) });
        let watch = |channel| {
            let request = request.clone();
            async move {
                let mut stream = open::<proto::Watched>(channel, WATCH, request).await?;
                match stream.message().await? {
                    Some(first) if first.canceled => Err(Failure::Refused(first.cancel_reason)),
                    Some(first) if first.created => Ok(stream),
                    _ => Err(ended()),
                }
            }
        };
        self.again(Repeat::Always, watch).await
    }

    async fn again<T, F>(
        &self,
        repeat: Repeat,
        mut attempt: impl FnMut(Channel) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let (end, mut wait) = (Instant::now() + WITHIN, FIRST_WAIT);
        loop {
            let used = self.0.current.load(Ordering::Relaxed);
            let channel = self.0.channels[used % self.0.channels.len()].clone();
            let term = self.0.term.load(Ordering::Relaxed);
            let answer = tokio::select! {
                answer = attempt(channel) => answer,
                why = elections::none_comes(&self.0.channels, used, term) => {
                    Err(Failure::Unanswered(why.into()))
                }
                () = sleep(ANSWER) => {
                    Err(Failure::Unanswered(format!("no answer in {} s", ANSWER.as_secs())))
                }
            };
            let failure = match answer {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let may_repeat = match failure {
                Failure::Elsewhere(_) => true,
                Failure::Unanswered(_) => repeat == Repeat::Always,
                _ => return Err(failure),
            };
            // Of those who found out at the same time, one moves on.
            let (order, next) = (Ordering::Relaxed, used.wrapping_add(1));
            let _ = self.0.current.compare_exchange(used, next, order, order);
            if !may_repeat || Instant::now() + wait >= end {
                return Err(failure);
            }
            sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }
}

fn ended() -> Failure {
    Failure::Unanswered("the stream has ended".into())
}
