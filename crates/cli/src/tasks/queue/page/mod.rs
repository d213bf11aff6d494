//! `tidings queue page`: queues, graphs, workers, failures and a time line in any browser.
//!
//! The process takes part in the store as every command does, and asks who serves it when a browser
//! asks. It listens on loopback only. A store is for its user, and loopback is for all users of a
//! machine: so the page's path has a secret of 128 bits, and nothing else is served
//! (docs/decisions/0029-page-of-tasks.md).

mod picture;
mod query;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use clap::Args;
use serde::Serialize;
use tidings_tasks::session::Session;
use tidings_tasks_core::message::{Answer, Request};
use tidings_web::document::{self, Document, HTML, SCRIPT, STYLE};
use tidings_web::{look, page_file, serving};
use tokio::net::TcpListener;
use tokio::sync::Mutex;

use super::super::client::{Client, Place, ask, block_on, random_name};
use super::super::ending::Ending;
use super::super::failure::TasksError;
use super::super::kinds;
use super::super::shape::{self, GraphView};
use crate::Failure;
use crate::output;

use picture::Picture;

/// How long a browser waits for the store.
const PATIENCE: Duration = Duration::from_secs(5);

/// The words of eight digits in the secret in the path: 128 bits.
const SECRET_WORDS: usize = 4;

/// The pages of records that are read for a graph: a store may have many of other queues.
const MOST_PAGES: usize = 50;

/// The queues of one graph: a store has no more parts.
const MOST_QUEUES: usize = 64;

const DOCUMENTS: [Document; 9] = [
    page_file!("", HTML, "index.html"),
    look::STYLE_SHEET,
    look::ELEMENTS,
    look::ICON,
    page_file!("tasks.css", STYLE, "tasks.css"),
    page_file!("page.js", SCRIPT, "page.js"),
    page_file!("page/graph.js", SCRIPT, "graph.js"),
    page_file!("page/tables.js", SCRIPT, "tables.js"),
    page_file!("page/timeline.js", SCRIPT, "timeline.js"),
];

/// Where the page is.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Where to listen, on loopback; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0", value_parser = loopback)]
    http: SocketAddr,
}

/// What is asked for the browsers.
struct Source {
    session: Session,
    store: String,
    /// One browser is answered at a time: the coordinator has other work.
    turn: Mutex<()>,
}

fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| "write ADDRESS:PORT".to_owned())?;
    if !address.ip().is_loopback() {
        let remedy = "the page is for this machine: choose an address of loopback, and reach it \
                      from elsewhere by `ssh -L`";
        return Err(remedy.to_owned());
    }
    Ok(address)
}

/// Serves the page until a signal comes.
pub(super) fn run(place: &Place, options: &Options) -> Result<(), Failure> {
    Ok(block_on(serve(place, options.http))?)
}

async fn serve(place: &Place, address: SocketAddr) -> Result<(), TasksError> {
    let mut ending = Ending::begin()?;
    let system = |source| TasksError::System { what: "the page", source };
    let listener = TcpListener::bind(address).await.map_err(|error| {
        TasksError::Usage(format!("{address}: {error}: choose another address with --http"))
    })?;
    let address = listener.local_addr().map_err(system)?;
    let client = Client::open(place, "page")?;
    let store = place.address.to_string();
    let below = format!("/{}/", secret()?);
    output::complain(&format!(
        "http://{address}{below} shows the tasks of {store}; Ctrl-C ends it"
    ));
    let (session, turn) = (client.session.clone(), Mutex::default());
    let router = document::routes(&DOCUMENTS, &below)
        .route(&format!("{below}v1/tasks"), get(tasks))
        .route(&format!("{below}v1/graph"), get(graph))
        .with_state(Arc::new(Source { session, store, turn }));
    let serving = serving::serve(listener, router, core::future::pending());
    tokio::select! {
        served = serving => served.map_err(system),
        _ = ending.next() => Ok(()),
        never = client.tell_troubles() => match never {},
    }
}

/// What nobody guesses.
fn secret() -> Result<String, TasksError> {
    let words: Result<Vec<String>, TasksError> = (0..SECRET_WORDS).map(|_| random_name()).collect();
    Ok(words?.concat())
}

async fn tasks(State(source): State<Arc<Source>>, RawQuery(query): RawQuery) -> Response {
    let after = query.as_deref().and_then(|query| query.strip_prefix("after="));
    let Some(after) = after.and_then(|after| after.parse().ok()) else {
        return (StatusCode::BAD_REQUEST, "ask for v1/tasks?after=NUMBER\n").into_response();
    };
    answer(source.picture(after)).await
}

async fn graph(State(source): State<Arc<Source>>, RawQuery(query): RawQuery) -> Response {
    let Some(queues) = query.as_deref().and_then(queues) else {
        let reason = format!("ask for v1/graph?queue=QUEUE, of at most {MOST_QUEUES} queues\n");
        return (StatusCode::BAD_REQUEST, reason).into_response();
    };
    answer(source.graph(&queues)).await
}

/// The queues that a query names, one at least.
fn queues(query: &str) -> Option<Vec<String>> {
    let named = query.split('&').map(|one| one.strip_prefix("queue=").and_then(query::decoded));
    let queues: Vec<String> =
        named.map(|one| kinds::name(&one?).ok()).take(MOST_QUEUES + 1).collect::<Option<_>>()?;
    (queues.len() <= MOST_QUEUES).then_some(queues)
}

/// What a browser is told; it does not wait for long.
async fn answer(told: impl Future<Output = Result<impl Serialize, TasksError>>) -> Response {
    match tokio::time::timeout(PATIENCE, told).await {
        Ok(Ok(told)) => match serde_json::to_string(&told) {
            Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
        },
        Ok(Err(error @ TasksError::NotFound(_))) => {
            (StatusCode::NOT_FOUND, format!("{error}\n")).into_response()
        }
        Ok(Err(error)) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "the store does not answer\n").into_response(),
    }
}

impl Source {
    async fn graph(&self, queues: &[String]) -> Result<GraphView, TasksError> {
        let _turn = self.turn.lock().await;
        shape::read(&self.session, queues, MOST_PAGES).await
    }

    async fn picture(&self, after: u64) -> Result<Picture, TasksError> {
        let _turn = self.turn.lock().await;
        let overview = match ask(&self.session, Request::Overview).await? {
            Answer::Overview(overview) => overview,
            other => return Err(TasksError::Answer(Box::new(other))),
        };
        match ask(&self.session, Request::Recent { after }).await? {
            Answer::Recent(ended, running) => {
                Ok(Picture::of(self.store.clone(), &overview, &ended, &running))
            }
            other => Err(TasksError::Answer(Box::new(other))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn no_file_goes_against_the_policy() {
        assert_eq!(document::faults(&DOCUMENTS), Vec::<String>::new());
    }

    #[test]
    fn every_file_of_this_folder_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tasks/queue/page");
        let files = fs::read_dir(folder).expect("the folder of this module");
        let names = files.map(|file| file.expect("readable").file_name());
        let own = names.filter(|name| !name.to_string_lossy().ends_with(".rs")).count();
        let shared = [look::STYLE_SHEET, look::ELEMENTS, look::ICON].len();
        assert_eq!(own + shared, DOCUMENTS.len(), "list each file of the folder in DOCUMENTS");
    }

    #[test]
    fn only_loopback_is_listened_on() {
        assert!(loopback("127.0.0.1:0").is_ok() && loopback("[::1]:8080").is_ok());
        for wrong in ["0.0.0.0:80", "10.0.0.1:80", "localhost", "127.0.0.1"] {
            assert!(loopback(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_graph_is_asked_for_by_its_queues() {
        let two = queues("queue=run%2Fa&queue=b%26").expect("two names");
        assert_eq!(two, ["run/a", "b&"]);
        let many = vec!["queue=a"; MOST_QUEUES + 1].join("&");
        for wrong in ["", "queue=", "queue=a&", "queue=a&more=b", "queue=%", &many] {
            assert_eq!(queues(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn secrets_differ() {
        let (one, other) = (secret().unwrap(), secret().unwrap());
        assert!(one.len() == 32 && one != other);
    }
}
