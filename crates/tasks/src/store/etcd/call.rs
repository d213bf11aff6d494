//! One call to one server.
//!
//! Every call says that it wants a server with a leader. One that is cut off from the others then
//! says so at once, before it does anything, and ends the streams that would wait in vain.

use prost::Message;
use tokio_stream::StreamExt as _;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::MetadataValue;
use tonic::transport::Channel;
use tonic::{Request, Streaming};
use tonic_prost::ProstCodec;

use super::failure::Failure;

/// The longest answer. A value and its key have at most 1.5 MiB.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// What is called, as gRPC names it.
pub(super) type Method = &'static str;

pub(super) const RANGE: Method = "/etcdserverpb.KV/Range";

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

/// Asks a server once.
pub(super) async fn unary<Q, A>(channel: Channel, method: Method, request: Q) -> Result<A, Failure>
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
pub(super) async fn open<Q, A>(
    channel: Channel,
    method: Method,
    request: Q,
) -> Result<Streaming<A>, Failure>
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
