//! The pages for programs on this machine: `/metrics`, `/v1/nodes`, `/v1/colonies`, `/v1/status`,
//! `/healthz`; and at `/` the one for people, which is in `page`.
//!
//! There is no access control, so the listener is on loopback only, and a request whose `Host`
//! names anything but an address or `localhost` is rejected: a web page elsewhere must not read the
//! cluster through a visitor's browser. Connections are bounded in number and in time, and closed
//! after one answer, so that an idle client blocks no other.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use std::{io, str};

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::Listener;
use axum::{Json, Router};
use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant as Moment, Sleep, sleep_until};
use tracing::warn;

use crate::metrics::Form;
use crate::page;
use crate::question::{Asker, Place, Question};
use crate::reply::json;
use crate::socket::BindError;

/// Connections served at a time; further ones wait in the kernel's queue.
pub(crate) const CONNECTIONS_MOST: usize = 32;

/// How long a connection may take to send its request.
const ASKING: Duration = Duration::from_secs(5);

/// How long it may take from then on to read its answer.
const READING: Duration = Duration::from_secs(30);

/// Which pages elsewhere may embed an answer.
const EMBEDDING: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Binds to `address`.
pub(crate) async fn bind(address: SocketAddr) -> Result<TcpListener, BindError> {
    TcpListener::bind(address).await.map_err(|source| BindError::new(address, "--http", source))
}

/// Serves the pages until `closing` becomes true.
pub(crate) async fn serve(listener: TcpListener, asker: Asker, mut closing: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MOST));
    let bounded = Bounded { listener, places };
    let closed = async move {
        let _ = closing.wait_for(|closing| *closing).await;
    };
    let served = axum::serve(bounded, router(asker)).with_graceful_shutdown(closed).await;
    if let Err(error) = served {
        warn!(%error, "the HTTP endpoint ended");
    }
}

/// The pages.
fn router(asker: Asker) -> Router {
    Router::new()
        .route("/metrics", get(metrics_page))
        .route("/v1/nodes", get(nodes_page))
        .route("/v1/colonies", get(colonies_page))
        .route("/v1/status", get(status_page))
        .route("/healthz", get(health_page))
        .merge(page::routes())
        .layer(middleware::from_fn(guard))
        .with_state(asker)
}

async fn metrics_page(State(asker): State<Asker>, headers: HeaderMap) -> Response {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let form = Form::accepted(accept.unwrap_or_default());
    let about = [(header::CONTENT_TYPE, form.content_type()), (header::VARY, "accept")];
    match asker.ask(Question::Metrics).await {
        Some(text) => (about, form.of(text)).into_response(),
        None => stalled(),
    }
}

async fn nodes_page(State(asker): State<Asker>) -> Response {
    let Some(place) = asker.place().await else { return crowded() };
    let nodes = asker.ask(Question::Nodes).await;
    nodes.map_or_else(stalled, |nodes| picture(nodes.nodes.len(), &nodes, place))
}

async fn colonies_page(State(asker): State<Asker>) -> Response {
    let Some(place) = asker.place().await else { return crowded() };
    let colonies = asker.ask(Question::Colonies).await;
    colonies.map_or_else(stalled, |colonies| picture(colonies.colonies.len(), &colonies, place))
}

async fn status_page(State(asker): State<Asker>) -> Response {
    asker.ask(Question::Status).await.map_or_else(stalled, |status| Json(status).into_response())
}

async fn health_page(State(asker): State<Asker>) -> Response {
    match asker.ask(Question::Health).await {
        Some(Ok(())) => "ok\n".into_response(),
        Some(Err(reason)) => (StatusCode::SERVICE_UNAVAILABLE, reason + "\n").into_response(),
        None => stalled(),
    }
}

/// A long answer as JSON, with the place that it holds among the few of its kind until it is read.
struct Picture {
    json: Vec<u8>,
    _place: Place,
}

impl AsRef<[u8]> for Picture {
    fn as_ref(&self) -> &[u8] {
        &self.json
    }
}

/// The answer about this many nodes, in a list that need not grow.
fn picture(parts: usize, report: &impl Serialize, place: Place) -> Response {
    let json = json(parts, report);
    let body = Bytes::from_owner(Picture { json, _place: place });
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

fn crowded() -> Response {
    let reason = "other readers are being served; try again\n";
    (StatusCode::SERVICE_UNAVAILABLE, reason).into_response()
}

fn stalled() -> Response {
    let reason = "the agent's loop does not answer: it is leaving or stalled\n";
    (StatusCode::SERVICE_UNAVAILABLE, reason).into_response()
}

/// Rejects other hosts, keeps pages elsewhere from embedding answers, and ends the connection.
async fn guard(request: Request, next: Next) -> Response {
    let mut hosts = request.headers().get_all(header::HOST).iter().map(HeaderValue::as_bytes);
    let mut response = if hosts.all(is_local) {
        next.run(request).await
    } else {
        let reason = "this endpoint is reached by address or as localhost\n";
        (StatusCode::MISDIRECTED_REQUEST, reason).into_response()
    };
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(EMBEDDING, HeaderValue::from_static("same-origin"));
    response
}

/// Whether `host`, with or without a port, is an address or `localhost`.
fn is_local(host: &[u8]) -> bool {
    let Ok(host) = str::from_utf8(host) else { return false };
    let bare = |text: &str| {
        let text = text.trim_start_matches('[').trim_end_matches(']');
        text == "localhost" || text.parse::<IpAddr>().is_ok()
    };
    bare(host) || host.rsplit_once(':').is_some_and(|(name, _)| bare(name))
}

/// A listener with a bounded number of connections.
struct Bounded {
    listener: TcpListener,
    places: Arc<Semaphore>,
}

impl Listener for Bounded {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let (stream, from) = Listener::accept(&mut self.listener).await;
        let end = Box::pin(sleep_until(Moment::now() + ASKING));
        (Connection { stream, end, answering: false, _place: place.ok() }, from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection with its place among the bounded number, and its end.
struct Connection {
    stream: TcpStream,
    end: Pin<Box<Sleep>>,
    answering: bool,
    _place: Option<OwnedSemaphorePermit>,
}

impl Connection {
    /// The stream, as long as its time is not over.
    fn alive(&mut self, context: &mut Context<'_>) -> io::Result<Pin<&mut TcpStream>> {
        match self.end.as_mut().poll(context) {
            Poll::Ready(()) => Err(io::ErrorKind::TimedOut.into()),
            Poll::Pending => Ok(Pin::new(&mut self.stream)),
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.alive(context)?.poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if !std::mem::replace(&mut self.answering, true) {
            self.end.as_mut().reset(Moment::now() + READING);
        }
        self.alive(context)?.poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.alive(context)?.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question;
    use axum::body::{Body, to_bytes};
    use tidings_control::{Colonies, Nodes, Status};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tower::ServiceExt;

    /// A router with the answers of an agent that is unhealthy for the reason `ails`.
    fn answered(ails: Option<&'static str>) -> Router {
        let (asker, mut questions) = question::channel();
        tokio::spawn(async move {
            while let Some(question) = questions.recv().await {
                match question {
                    Question::Metrics(back) => drop(back.send("# EOF\n".to_owned())),
                    Question::Nodes(back) => drop(back.send(Nodes::default())),
                    Question::Colonies(back) => drop(back.send(Colonies::default())),
                    Question::Status(back) => drop(back.send(Status::default())),
                    Question::Health(back) => {
                        drop(back.send(ails.map_or(Ok(()), |reason| Err(reason.to_owned()))));
                    }
                    Question::Control(..) | Question::Watch(_) => panic!("HTTP never asks this"),
                }
            }
        });
        router(asker)
    }

    async fn page(router: Router, path: &str, host: &str) -> (StatusCode, String, String) {
        let request = Request::get(path).header(header::HOST, host);
        let request = request.body(Body::empty()).expect("a valid request");
        let response = router.oneshot(request).await.expect("a router does not fail");
        let kind = response.headers().get(header::CONTENT_TYPE);
        let kind = kind.map_or("", |kind| kind.to_str().expect("ASCII")).to_owned();
        let status = response.status();
        let body = to_bytes(response.into_body(), 1 << 20).await.expect("short");
        (status, kind, String::from_utf8(body.to_vec()).expect("text"))
    }

    #[tokio::test]
    async fn each_page_has_its_format() {
        let (status, kind, text) = page(answered(None), "/metrics", "127.0.0.1:9617").await;
        assert_eq!(
            (status, kind.as_str(), text.as_str()),
            (StatusCode::OK, Form::Plain.content_type(), "")
        );
        let (status, kind, text) = page(answered(None), "/v1/nodes", "localhost").await;
        assert_eq!((status, kind.as_str()), (StatusCode::OK, "application/json"));
        serde_json::from_str::<Nodes>(&text).expect("the documented form");
        let (_, _, text) = page(answered(None), "/v1/colonies", "localhost").await;
        serde_json::from_str::<Colonies>(&text).expect("the documented form");
        let (_, _, text) = page(answered(None), "/v1/status", "[::1]:9617").await;
        serde_json::from_str::<Status>(&text).expect("the documented form");
        let (status, ..) = page(answered(None), "/v2", "localhost").await;
        assert_eq!(status, StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn health_is_ok_or_the_reason() {
        let (status, _, text) = page(answered(None), "/healthz", "localhost").await;
        assert_eq!((status, text.as_str()), (StatusCode::OK, "ok\n"));
        let (status, _, text) = page(answered(Some("no round yet")), "/healthz", "localhost").await;
        assert_eq!((status, text.as_str()), (StatusCode::SERVICE_UNAVAILABLE, "no round yet\n"));
    }

    #[tokio::test]
    async fn a_loop_that_has_ended_is_reported() {
        let (asker, questions) = question::channel();
        drop(questions);
        let (status, _, text) = page(router(asker), "/healthz", "localhost").await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(text.contains("does not answer"), "{text}");
    }

    #[tokio::test]
    async fn other_hosts_are_rejected() {
        for path in ["/", "/v1/nodes"] {
            let (status, ..) = page(answered(None), path, "evil.example:9617").await;
            assert_eq!(status, StatusCode::MISDIRECTED_REQUEST, "{path}");
        }
        for host in
            ["localhost", "localhost:1", "127.0.0.1", "127.0.0.1:80", "::1", "[::1]", "[::1]:80"]
        {
            assert!(is_local(host.as_bytes()), "{host}");
        }
        for host in ["", "a", "localhost.evil", "127.0.0.1.evil:80"] {
            assert!(!is_local(host.as_bytes()), "{host}");
        }
    }

    #[tokio::test]
    async fn a_second_host_header_does_not_hide_the_first() {
        let request = Request::get("/v1/nodes").header(header::HOST, "localhost");
        let request = request.header(header::HOST, "evil.example").body(Body::empty());
        let response = router(question::channel().0).oneshot(request.expect("valid")).await;
        assert_eq!(response.expect("infallible").status(), StatusCode::MISDIRECTED_REQUEST);
    }

    /// The clock runs on by itself whenever nothing else is to be done.
    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_no_request_is_disconnected() {
        let listener = bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let (_open, closing) = watch::channel(false);
        let server = tokio::spawn(serve(listener, question::channel().0, closing));
        let began = Moment::now();
        let mut silent = TcpStream::connect(address).await.expect("it listens");
        silent.write_all(b"GET /healthz HTT").await.expect("it reads");
        let mut answer = Vec::new();
        let _ = silent.read_to_end(&mut answer).await; // an end or a reset, either will do
        assert!(answer.is_empty(), "{answer:?}");
        let waited = began.elapsed();
        assert!((ASKING..READING).contains(&waited), "{waited:?}");
        server.abort();
    }

    #[tokio::test]
    async fn a_taken_port_is_named_with_its_flag() {
        let taken = bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("a free port");
        let address = taken.local_addr().expect("bound");
        let message = bind(address).await.expect_err("taken").to_string();
        let expected = format!(
            "{address} is in use by another program: stop it, or choose another with --http"
        );
        assert_eq!(message, expected);
    }
}
