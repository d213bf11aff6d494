//! The pages for programs on this machine: `/metrics`, `/metrics/nodes`, `/v1/nodes`, `/v1/names`,
//! `/v1/colonies`, `/v1/events`, `/v1/status`, `/healthz`; and at `/` the one for people, which is
//! in `page`. What is asked for besides the path is read by `asked`.
//!
//! There is no access control, so the listener is on loopback only, and requests of other hosts are
//! rejected, with what else `tidings_web` does for every page.

use std::net::SocketAddr;

use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use tidings_web::serving;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tracing::warn;

use crate::asked::{Chosen, From, Names};
use crate::memory::metrics_bytes;
use crate::metrics::Form;
use crate::node_metrics::{Asked, Selection};
use crate::page;
use crate::question::{Asker, Place, Question};
use crate::reply::json;
use crate::socket::BindError;

/// The flag that says where.
pub(crate) const FLAG: &str = "--http";

/// Binds to `address`, which this flag gives.
pub(crate) async fn bind(
    address: SocketAddr,
    flag: &'static str,
) -> Result<TcpListener, BindError> {
    TcpListener::bind(address).await.map_err(|source| BindError::new(address, flag, source))
}

/// Serves the pages until `closing` becomes true.
pub(crate) async fn serve(listener: TcpListener, asker: Asker, mut closing: watch::Receiver<bool>) {
    let closed = async move {
        let _ = closing.wait_for(|closing| *closing).await;
    };
    let served = serving::serve(listener, router(asker), closed).await;
    if let Err(error) = served {
        warn!(%error, "the HTTP endpoint ended");
    }
}

/// The pages.
fn router(asker: Asker) -> Router {
    metrics_routes()
        .route("/v1/nodes", get(nodes_page))
        .route("/v1/names", get(names_page))
        .route("/v1/colonies", get(colonies_page))
        .route("/v1/events", get(events_page))
        .route("/v1/status", get(status_page))
        .merge(page::routes())
        .with_state(asker)
}

/// The pages that monitoring systems ask for.
pub(crate) fn metrics_routes() -> Router<Asker> {
    Router::new()
        .route("/metrics", get(metrics_page))
        .route("/metrics/nodes", get(node_metrics_page))
        .route("/healthz", get(health_page))
}

async fn metrics_page(State(asker): State<Asker>, headers: HeaderMap) -> Response {
    match asker.ask(Question::Metrics).await {
        Some(text) => metrics(&headers, text, None),
        None => stalled(),
    }
}

async fn node_metrics_page(
    State(asker): State<Asker>,
    headers: HeaderMap,
    query: Result<Query<Asked>, QueryRejection>,
) -> Response {
    let selection = match query {
        Ok(Query(wanted)) => Selection::of(&wanted).map_err(|error| error.to_string()),
        Err(rejected) => Err(rejected.body_text()),
    };
    let selection = match selection {
        Ok(selection) => selection,
        Err(reason) => return (StatusCode::BAD_REQUEST, reason + "\n").into_response(),
    };
    let Some(place) = asker.place().await else { return crowded() };
    let Some(nodes) = asker.ask(Question::Nodes).await else { return stalled() };
    let most = metrics_bytes(nodes.nodes.len() as u64) as usize;
    match selection.exposition(nodes, most) {
        Ok(text) => metrics(&headers, text, Some(place)),
        Err(error) => (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response(),
    }
}

/// OpenMetrics in the form that the reader asks for.
fn metrics(headers: &HeaderMap, text: String, place: Option<Place>) -> Response {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let form = Form::accepted(accept.unwrap_or_default());
    let about = [(header::CONTENT_TYPE, form.content_type()), (header::VARY, "accept")];
    let body = Picture { bytes: form.of(text).into_bytes(), _place: place };
    (about, Bytes::from_owner(body)).into_response()
}

async fn nodes_page(State(asker): State<Asker>, chosen: Chosen) -> Response {
    let Some(place) = asker.place().await else { return crowded() };
    let Some(mut nodes) = asker.ask(Question::Nodes).await else { return stalled() };
    chosen.keep(&mut nodes.nodes);
    picture(nodes.nodes.len(), &nodes, place)
}

async fn names_page(State(asker): State<Asker>, chosen: Chosen) -> Response {
    let Some(place) = asker.place().await else { return crowded() };
    let Some(mut nodes) = asker.ask(Question::Nodes).await else { return stalled() };
    chosen.keep(&mut nodes.nodes);
    picture(nodes.nodes.len(), &Names::of(&nodes), place)
}

async fn events_page(State(asker): State<Asker>, From(from): From) -> Response {
    let events = asker.ask(|back| Question::Events(from, back)).await;
    let kind = [(header::CONTENT_TYPE, "application/json")];
    events.map_or_else(stalled, |events| (kind, events).into_response())
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

/// An answer, with the place that a long one holds among the few of its kind until it is read.
struct Picture {
    bytes: Vec<u8>,
    _place: Option<Place>,
}

impl AsRef<[u8]> for Picture {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The answer about this many nodes, in a list that need not grow.
fn picture(parts: usize, report: &impl Serialize, place: Place) -> Response {
    let bytes = json(parts, report);
    let body = Bytes::from_owner(Picture { bytes, _place: Some(place) });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question;
    use axum::body::{Body, to_bytes};
    use axum::extract::Request;
    use tidings_control::{Colonies, Nodes, Status};
    use tower::ServiceExt;

    /// A router with the answers of an agent that is unhealthy for the reason `ails`.
    fn answered(ails: Option<&'static str>) -> Router {
        let (asker, mut questions) = question::channel();
        tokio::spawn(async move {
            while let Some(question) = questions.recv().await {
                match question {
                    Question::Metrics(back) => drop(back.send("# EOF\n".to_owned())),
                    Question::Nodes(back) => drop(back.send(Nodes::default())),
                    Question::Events(from, back) => drop(back.send(format!("[{from}]"))),
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
        let guarded = serving::guarded(router);
        let response = guarded.oneshot(request).await.expect("a router does not fail");
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
        let (status, _, text) = page(answered(None), "/metrics/nodes?readings=", "localhost").await;
        assert_eq!(status, StatusCode::OK);
        assert!(text.contains("tidings_nodes{state=\"alive\"} 0.0\n"), "{text}");
        let (_, kind, text) = page(answered(None), "/v1/names", "localhost").await;
        assert_eq!((kind.as_str(), text.as_str()), ("application/json", r#"{"names":[]}"#));
        let (_, kind, text) = page(answered(None), "/v1/events?from=7", "localhost").await;
        assert_eq!((kind.as_str(), text.as_str()), ("application/json", "[7]"));
        let (_, _, text) = page(answered(None), "/v1/colonies", "localhost").await;
        serde_json::from_str::<Colonies>(&text).expect("the documented form");
        let (_, _, text) = page(answered(None), "/v1/status", "[::1]:9617").await;
        serde_json::from_str::<Status>(&text).expect("the documented form");
        let (status, ..) = page(answered(None), "/v2", "localhost").await;
        assert_eq!(status, StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn a_question_that_is_wrong_is_answered_with_the_remedy() {
        for (query, words) in [
            ("reading=load1", "unknown field `reading`"),
            ("readings=lod1", "readings: no column `lod1`; the nearest is `load1`"),
            ("where=load1%20%3C", "where: "),
        ] {
            let path = format!("/metrics/nodes?{query}");
            let (status, _, text) = page(answered(None), &path, "localhost").await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{text}");
            assert!(text.contains(words), "{text}");
        }
        for (path, words) in [
            (
                "/v1/nodes?where=lod1%3E1",
                "no column `lod1`; the nearest is `load1`\n  lod1>1\n  ^^^^",
            ),
            ("/v1/names?where=age%3C5", "unit"),
            ("/v1/nodes?filter=x", "unknown field `filter`"),
            ("/v1/events?from=new", "from"),
        ] {
            let (status, _, text) = page(answered(None), path, "localhost").await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{path}: {text}");
            assert!(text.contains(words), "{path}: {text}");
        }
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
    }

    #[tokio::test]
    async fn a_taken_port_is_named_with_its_flag() {
        let taken = bind(SocketAddr::from(([127, 0, 0, 1], 0)), FLAG).await.expect("a free port");
        let address = taken.local_addr().expect("bound");
        let message = bind(address, FLAG).await.expect_err("taken").to_string();
        let expected = format!(
            "{address} is in use by another program: stop it, or choose another with --http"
        );
        assert_eq!(message, expected);
    }
}
