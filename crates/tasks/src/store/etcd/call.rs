//! One call to one server.
//!
//! Every call says that it wants a server with a leader. One that is cut off from the others then
//! says so at once, before it does anything, and ends the streams that would wait in vain.
//!
//! What is sent and received are bytes; the messages that they are get made and read outside. So
//! calls are compiled once, not once for each kind of message.

use std::marker::PhantomData;

use prost::Message;
use prost::bytes::{Buf as _, BufMut as _, Bytes};
use tokio_stream::StreamExt as _;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::MetadataValue;
use tonic::transport::Channel;
use tonic::{Request, Status, Streaming};

use super::failure::Failure;

/// The longest answer. A value and its key have at most 1.5 MiB.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// What is called, as gRPC names it.
pub(super) type Method = &'static str;

pub(super) const RANGE: Method = "/etcdserverpb.KV/Range";

/// Messages as their bytes.
#[derive(Default)]
struct AsBytes;

impl Codec for AsBytes {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for AsBytes {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.reserve(message.len());
        to.put(message);
        Ok(())
    }
}

impl Decoder for AsBytes {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}

/// A message as it is sent.
pub(super) fn bytes_of(message: &impl Message) -> Bytes {
    message.encode_to_vec().into()
}

/// A message that was received. From what cannot be read nobody learns what was done.
pub(super) fn read<A: Message + Default>(answer: Bytes) -> Result<A, Failure> {
    A::decode(answer).map_err(|error| Failure::Unanswered(error.to_string()))
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

/// Asks a server once.
pub(super) async fn unary(
    channel: Channel,
    method: Method,
    request: Bytes,
) -> Result<Bytes, Failure> {
    ask(channel, method, requiring_leader(request)).await
}

/// Asks a server once about itself: it need not have a leader.
pub(super) async fn alone(
    channel: Channel,
    method: Method,
    request: Bytes,
) -> Result<Bytes, Failure> {
    ask(channel, method, Request::new(request)).await
}

async fn ask(channel: Channel, method: Method, request: Request<Bytes>) -> Result<Bytes, Failure> {
    let mut grpc = ready(channel).await?;
    let answer = grpc.unary(request, PathAndQuery::from_static(method), AsBytes).await;
    answer.map(tonic::Response::into_inner).map_err(|status| Failure::of(&status))
}

/// The messages that a server sends one after the other.
pub(super) struct Stream<A>(Streaming<Bytes>, PhantomData<A>);

impl<A: Message + Default> Stream<A> {
    /// The next one; `None` behind the last.
    pub(super) async fn message(&mut self) -> Result<Option<A>, Failure> {
        let next = self.0.message().await.map_err(|status| Failure::of(&status))?;
        next.map(read).transpose()
    }
}

/// Opens a stream, and sends one message into it.
pub(super) async fn open<A>(
    channel: Channel,
    method: Method,
    request: Bytes,
) -> Result<Stream<A>, Failure> {
    let mut grpc = ready(channel).await?;
    // Our end stays open: with it a server would close its own.
    let messages = tokio_stream::once(request).chain(tokio_stream::pending());
    let (request, path) = (requiring_leader(messages), PathAndQuery::from_static(method));
    let answer = grpc.streaming(request, path, AsBytes).await;
    let stream = answer.map_err(|status| Failure::of(&status))?.into_inner();
    Ok(Stream(stream, PhantomData))
}
