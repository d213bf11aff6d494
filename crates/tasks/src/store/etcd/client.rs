//! Calls to the servers of an etcd: one at a time, another one when that does not answer.
//!
//! All calls go to one server as long as it answers. When it does not, the next one is taken: for
//! what only reads, and for what is known not to have been done. A write that may have been done is
//! never sent twice.
//!
//! Every call says that it wants a server with a leader. One that is cut off from the others then
//! says so at once, before it does anything, and ends the streams that would wait in vain.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use prost::Message;
use tokio::time::{Instant, sleep, timeout};
use tokio_stream::StreamExt as _;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Streaming};
use tonic_prost::ProstCodec;

use super::failure::Failure;
use super::proto::{self, Txn, TxnAnswer};

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(1);

/// How long one server may take to answer. Longer than an election, which takes 1 to 2 s with
/// etcd's usual settings.
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

/// The longest answer. A value and its key have at most 1.5 MiB.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// What is called, as gRPC names it.
pub(super) type Method = &'static str;

pub(super) const RANGE: Method = "/etcdserverpb.KV/Range";
pub(super) const COMPACT: Method = "/etcdserverpb.KV/Compact";
pub(super) const GRANT: Method = "/etcdserverpb.Lease/LeaseGrant";
pub(super) const REVOKE: Method = "/etcdserverpb.Lease/LeaseRevoke";
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
        (!channels.is_empty()).then(|| Self(Arc::new(Servers { channels, current: 0.into() })))
    }

    /// Calls, and calls again within [`WITHIN`].
    pub(super) async fn call<Q, A>(
        &self,
        method: Method,
        request: Q,
        repeat: Repeat,
    ) -> Result<A, Failure>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        self.again(repeat, |channel| unary(channel, method, request.clone())).await
    }

    /// A transaction; see [`Client::call`].
    pub(super) async fn txn(&self, txn: Txn, repeat: Repeat) -> Result<TxnAnswer, Failure> {
        self.call(TXN, txn, repeat).await
    }

    /// Keeps a lease. Returns how long from now on; 0 if there is none.
    pub(super) async fn keep(&self, lease: i64) -> Result<i64, Failure> {
        let keep = |channel| async move {
            let request = proto::Lease { id: lease };
            let mut stream = open::<_, proto::Kept>(channel, KEEP_ALIVE, request).await?;
            match stream.message().await {
                Ok(Some(kept)) => Ok(kept.ttl),
                Ok(None) => Err(Failure::Unanswered("the stream has ended".into())),
                Err(status) => Err(Failure::of(&status)),
            }
        };
        self.again(Repeat::Always, keep).await
    }

    /// Opens a stream of changes. The server has taken the request when this returns.
    pub(super) async fn watch(
        &self,
        request: proto::WatchCreate,
    ) -> Result<Streaming<proto::Watched>, Failure> {
        let request = proto::Watching { create: Some(request) };
        let watch = |channel| {
            let request = request.clone();
            async move {
                let mut stream = open::<_, proto::Watched>(channel, WATCH, request).await?;
                match stream.message().await {
                    Ok(Some(first)) if first.canceled => Err(Failure::Refused(first.cancel_reason)),
                    Ok(Some(first)) if first.created => Ok(stream),
                    Ok(_) => Err(Failure::Unanswered("the stream has ended".into())),
                    Err(status) => Err(Failure::of(&status)),
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
            let silent = || Failure::Unanswered(format!("no answer in {} s", ANSWER.as_secs()));
            let answer = timeout(ANSWER, attempt(channel)).await;
            let failure = match answer.unwrap_or_else(|_| Err(silent())) {
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

/// A request that wants a server with a leader.
fn requiring_leader<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
    request
}

async fn ready(channel: Channel) -> Result<Grpc<Channel>, Failure> {
    let mut grpc = Grpc::new(channel).max_decoding_message_size(MAX_ANSWER_BYTES);
    // Nothing was sent yet.
    grpc.ready().await.map_err(|error| Failure::Elsewhere(error.to_string()))?;
    Ok(grpc)
}

async fn unary<Q, A>(channel: Channel, method: Method, request: Q) -> Result<A, Failure>
where
    Q: Message + 'static,
    A: Message + Default + 'static,
{
    let mut grpc = ready(channel).await?;
    let (request, path) = (requiring_leader(request), PathAndQuery::from_static(method));
    let answer = grpc.unary(request, path, ProstCodec::<Q, A>::default()).await;
    answer.map(tonic::Response::into_inner).map_err(|status| Failure::of(&status))
}

/// Opens a stream, and sends one message into it.
async fn open<Q, A>(channel: Channel, method: Method, request: Q) -> Result<Streaming<A>, Failure>
where
    Q: Message + 'static,
    A: Message + Default + 'static,
{
    let mut grpc = ready(channel).await?;
    // Our end stays open: with it a server would close its own.
    let messages = tokio_stream::once(request).chain(tokio_stream::pending());
    let (request, path) = (requiring_leader(messages), PathAndQuery::from_static(method));
    let answer = grpc.streaming(request, path, ProstCodec::<Q, A>::default()).await;
    answer.map(tonic::Response::into_inner).map_err(|status| Failure::of(&status))
}
