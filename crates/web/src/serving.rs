//! Serving without access control of its own: on loopback, or what the router itself protects.
//!
//! On loopback a request whose `Host` names anything but an address or `localhost` is rejected: a
//! web page elsewhere must not read this machine through a visitor's browser. Connections are
//! bounded in time and closed after one answer; and in number, so that of too many the slowest give
//! way to the next (`places.rs`), and nobody keeps others from being served.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use std::{io, str};

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, StatusCode, Version, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant as Moment, Sleep, sleep_until};

use crate::places::{Busy, Place, Places};

/// Connections served at a time; a further one takes the place of the slowest.
pub const CONNECTIONS_MOST: usize = 32;

/// How long a connection may take to send its request.
const ASKING: Duration = Duration::from_secs(5);

/// How long it may take from then on to read its answer.
const READING: Duration = Duration::from_secs(30);

/// Which pages elsewhere may embed an answer.
const EMBEDDING: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Serves this machine what is guarded until `closed` comes.
///
/// # Errors
/// What the system says of the listener.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    closed: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    serve_bounded(listener, guarded(router), closed).await
}

/// Serves other machines a router that itself finds out who may ask, until `closed` comes.
///
/// # Errors
/// What the system says of the listener.
pub async fn serve_others(
    listener: TcpListener,
    router: Router,
    closed: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    serve_bounded(listener, ending(router), closed).await
}

async fn serve_bounded(
    listener: TcpListener,
    router: Router,
    closed: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let places = Places::new(CONNECTIONS_MOST, Busy::GivesWay);
    let bounded = Bounded { listener, places };
    axum::serve(bounded, router).with_graceful_shutdown(closed).await
}

/// A router that rejects other hosts, keeps pages elsewhere from embedding answers, and ends each
/// connection after one.
pub fn guarded(router: Router) -> Router {
    ending(router.layer(middleware::from_fn(reject_others)))
}

/// The same, whatever the host is called.
pub fn ending(router: Router) -> Router {
    router.layer(middleware::from_fn(end))
}

async fn reject_others(request: Request, next: Next) -> Response {
    let mut hosts = request.headers().get_all(header::HOST).iter().map(HeaderValue::as_bytes);
    if hosts.all(is_local) {
        return next.run(request).await;
    }
    let reason = "this endpoint is reached by address or as localhost\n";
    (StatusCode::MISDIRECTED_REQUEST, reason).into_response()
}

async fn end(request: Request, next: Next) -> Response {
    if request.version() == Version::HTTP_11 && !request.headers().contains_key(header::HOST) {
        // RFC 9112, section 3.2.
        return (StatusCode::BAD_REQUEST, "HTTP/1.1 requires a Host\n").into_response();
    }
    let mut response = next.run(request).await;
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
    places: Places,
}

impl Listener for Bounded {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, from) = Listener::accept(&mut self.listener).await;
        // All are of one owner here: who a connection is of cannot be seen.
        let place = self.places.take(0);
        let end = Box::pin(sleep_until(Moment::now() + ASKING));
        (Connection { stream, end, answering: false, place }, from)
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
    /// `None` is a connection that ends at once.
    place: Option<Place>,
}

impl Connection {
    /// The stream, as long as its time is not over.
    fn alive(&mut self, context: &mut Context<'_>) -> io::Result<Pin<&mut TcpStream>> {
        let given_away = self.place.as_mut().map(|place| place.poll_given_away(context));
        if given_away != Some(Poll::Pending) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
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
            if let Some(place) = &self.place {
                place.busy().set(true);
            }
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
    use axum::body::Body;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::watch;
    use tower::ServiceExt;

    use super::*;

    async fn status(hosts: &[&str]) -> StatusCode {
        let mut request = Request::get("/");
        for host in hosts {
            request = request.header(header::HOST, *host);
        }
        let request = request.body(Body::empty()).expect("a valid request");
        let router = guarded(Router::new().route("/", get(async || "here")));
        router.oneshot(request).await.expect("a router does not fail").status()
    }

    #[tokio::test]
    async fn other_hosts_are_rejected() {
        assert_eq!(status(&["localhost:1"]).await, StatusCode::OK);
        assert_eq!(status(&["evil.example:9617"]).await, StatusCode::MISDIRECTED_REQUEST);
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
        let status = status(&["localhost", "evil.example"]).await;
        assert_eq!(status, StatusCode::MISDIRECTED_REQUEST);
    }

    #[tokio::test]
    async fn who_names_no_host_speaks_http_1_0() {
        assert_eq!(status(&[]).await, StatusCode::BAD_REQUEST);
        let old = Request::get("/").version(Version::HTTP_10).body(Body::empty());
        let router = guarded(Router::new().route("/", get(async || "here")));
        let answer = router.oneshot(old.expect("valid")).await.expect("a router does not fail");
        assert_eq!(answer.status(), StatusCode::OK);
    }

    /// A server on a free port, which ends with the test.
    async fn served() -> SocketAddr {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = TcpListener::bind(any).await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let router = Router::new().route("/healthz", get(async || "ok"));
        tokio::spawn(serve(listener, router, std::future::pending()));
        address
    }

    /// Time does not pass here unless nothing else can happen: who waits for the end of another's
    /// patience is seen by it.
    #[tokio::test(start_paused = true)]
    async fn silent_clients_keep_nobody_waiting() {
        let address = served().await;
        let mut silent = Vec::new();
        for _ in 0..2 * CONNECTIONS_MOST {
            let mut one = TcpStream::connect(address).await.expect("it listens");
            one.write_all(b"GET /healthz HTT").await.expect("it reads");
            silent.push(one);
        }
        let began = Moment::now();
        let mut asking = TcpStream::connect(address).await.expect("it listens");
        let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
        asking.write_all(request).await.expect("it reads");
        let mut answer = String::new();
        asking.read_to_string(&mut answer).await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok"), "{answer}");
        assert!(began.elapsed() < ASKING, "{:?}", began.elapsed());
    }

    /// The clock runs on by itself whenever nothing else is to be done.
    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_no_request_is_disconnected() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = TcpListener::bind(any).await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let (_open, mut closing) = watch::channel(());
        let closed = async move { drop(closing.changed().await) };
        let server = tokio::spawn(serve(listener, Router::new(), closed));
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
}
