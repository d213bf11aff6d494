//! The control socket: one line per request, one per reply, all bounded.
//!
//! Bounds: the length of a line, the number of connections, the time that one may be idle or take
//! to read its reply. A connection that breaks a rule gets an error and is closed; the others are
//! not affected. Of too many the idlest of the user who has the most gives way, so that no user
//! keeps another's health check out. The protocol is the crate `tidings-control`.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidings_control::{
    ErrorKind, ErrorReport, REQUEST_BYTES_MAX, Reply, Request, reading_socket_path, socket_path,
};
use tidings_web::places::{self, Busy, Places};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::{debug, warn};

use crate::config::Readers;
use crate::question::{
    Asker, CHECKUP_PATIENCE, PATIENCE, Place, Question, SURVEY_PATIENCE, VISIT_PATIENCE,
    WATCHERS_MOST,
};
use crate::reply::reply_line;

/// Connections served at a time.
pub(crate) const CONNECTIONS_MOST: usize = 32;

/// How long a connection may be silent, or take to accept its reply.
const IDLE: Duration = Duration::from_secs(60);

/// How long to wait after accepting failed, for instance because no descriptor was free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Who may connect to a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Door {
    /// Owner and group, for all requests.
    Operators,
    /// Everybody, or owner and group, for those that only read.
    Readers(Readers),
}

impl Door {
    fn path(self, runtime_dir: &Path) -> PathBuf {
        match self {
            Self::Operators => socket_path(runtime_dir),
            Self::Readers(_) => reading_socket_path(runtime_dir),
        }
    }

    fn mode(self) -> u32 {
        match self {
            Self::Operators | Self::Readers(Readers::Group) => 0o660,
            Self::Readers(Readers::All) => 0o666,
        }
    }
}

/// The socket, removed when dropped. Only the holder of the runtime directory's lock may make one.
#[derive(Debug)]
pub(crate) struct ControlSocket {
    door: Door,
    path: PathBuf,
    listener: UnixListener,
}

/// The control socket cannot be made.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot listen on the control socket {} ({source}): choose another directory, with a shorter \
     path if this one is long, with --runtime-dir", path.display()
)]
pub struct ControlError {
    path: PathBuf,
    source: io::Error,
}

/// Whether a socket in `runtime_dir` can have a name: the system bounds its length.
pub(crate) fn nameable(runtime_dir: &Path) -> Result<(), ControlError> {
    let path = socket_path(runtime_dir); // the longest of the names
    match std::os::unix::net::SocketAddr::from_pathname(&path) {
        Ok(_) => Ok(()),
        Err(source) => Err(ControlError { path, source }),
    }
}

impl ControlSocket {
    /// Makes the socket in `runtime_dir`.
    pub(crate) fn bind(runtime_dir: &Path, door: Door) -> Result<Self, ControlError> {
        let path = door.path(runtime_dir);
        let open = || {
            let listener = UnixListener::bind(&path)?;
            std::fs::set_permissions(&path, PermissionsExt::from_mode(door.mode()))?;
            Ok(listener)
        };
        match open() {
            Ok(listener) => Ok(Self { door, path, listener }),
            Err(source) => Err(ControlError { path, source }),
        }
    }

    /// Serves connections until `closing` becomes true; then those that have a request under way
    /// are finished, and the socket is removed.
    pub(crate) async fn serve(self, asker: Asker, mut closing: watch::Receiver<bool>) {
        let places = Places::new(CONNECTIONS_MOST, Busy::Stays);
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
                _ = closing.wait_for(|closing| *closing) => break,
            };
            match accepted {
                Ok((stream, _)) => match places.take(owner_of(&stream)) {
                    Some(place) => {
                        let (asker, closing) = (asker.clone(), closing.clone());
                        connections.spawn(converse(stream, self.door, asker, closing, place));
                    }
                    None => refuse(&stream),
                },
                Err(error) => {
                    warn!(%error, "cannot accept a control connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        while connections.join_next().await.is_some() {}
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            debug!(path = %self.path.display(), %error, "cannot remove the control socket");
        }
    }
}

/// Reports that there are too many, if that is possible at once.
fn refuse(stream: &UnixStream) {
    let message = format!("{CONNECTIONS_MOST} connections are busy already; try again");
    let _ = stream.try_write(error_line(ErrorKind::Busy, message).as_bytes());
}

/// The user of a connection, whose share of the places it takes.
fn owner_of(stream: &UnixStream) -> u32 {
    stream.peer_cred().map_or(u32::MAX, |peer| peer.uid())
}

/// A place is given away also while a reply is written that nobody reads.
async fn converse(
    stream: UnixStream,
    door: Door,
    asker: Asker,
    closing: watch::Receiver<bool>,
    mut place: places::Place,
) {
    let busy = place.busy();
    tokio::select! {
        ended = requests(stream, door, &asker, closing, &busy) => if let Err(error) = ended {
            debug!(%error, "a control connection broke");
        },
        () = place.given_away() => debug!("a control connection gives way to another"),
    }
}

async fn requests(
    stream: UnixStream,
    door: Door,
    asker: &Asker,
    mut closing: watch::Receiver<bool>,
    busy: &places::BusyMark,
) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        busy.set(false);
        let mut bounded = (&mut stream).take(REQUEST_BYTES_MAX as u64);
        tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => return Ok(()),
            read = timeout(IDLE, bounded.read_until(b'\n', &mut line)) => {
                let Ok(read) = read else { return Ok(()) };
                read?;
            }
        }
        busy.set(true);
        let complete = line.ends_with(b"\n");
        if !complete && line.len() < REQUEST_BYTES_MAX {
            return Ok(()); // the other side has closed
        }
        if complete && matches!(serde_json::from_slice(&line), Ok(Request::Watch)) {
            if !watch_events(&mut stream, asker, &mut closing).await? {
                return Ok(());
            }
            continue;
        }
        let answer = if complete { reply(&line, door, asker).await } else { (too_large(), None) };
        let (reply, _place) = answer; // kept until it is written
        timeout(IDLE, stream.write_all(reply.as_bytes())).await??;
        if !complete {
            return Ok(());
        }
    }
}

/// Reports events to a watcher until it closes or the agent ends; returns whether it may send
/// another request, since this one was rejected.
async fn watch_events(
    stream: &mut BufReader<UnixStream>,
    asker: &Asker,
    closing: &mut watch::Receiver<bool>,
) -> io::Result<bool> {
    let place = asker.watchers_place(owner_of(stream.get_ref()));
    let admitted = match place {
        None => Err(error_line(ErrorKind::Busy, too_many_watchers())),
        Some(place) => match asker.ask(Question::Watch).await {
            None => Err(stalled()),
            Some((reply, notices)) => Ok((reply, notices, place)),
        },
    };
    let (reply, mut notices, mut place) = match admitted {
        Ok(admitted) => admitted,
        Err(refusal) => {
            timeout(IDLE, stream.write_all(refusal.as_bytes())).await??;
            return Ok(true);
        }
    };
    timeout(IDLE, stream.write_all(reply.as_bytes())).await??;
    let mut byte = [0];
    loop {
        tokio::select! {
            biased;
            _ = closing.changed() => return Ok(false),
            () = place.given_away() => return Ok(false),
            // Any input breaks the protocol; usually the watcher has closed.
            _ = stream.read(&mut byte) => return Ok(false),
            line = notices.next() => {
                let Some(line) = line else { return Ok(false) };
                timeout(IDLE, stream.write_all(line.as_bytes())).await??;
            }
        }
    }
}

/// The reply to one complete line, with its own line end, and the place that a long one holds until
/// it is written.
async fn reply(line: &[u8], door: Door, asker: &Asker) -> (String, Option<Place>) {
    let request: Request = match serde_json::from_slice(line) {
        Ok(request) => request,
        Err(error) => {
            return (error_line(ErrorKind::BadRequest, format!("not a request: {error}")), None);
        }
    };
    if door != Door::Operators && request.is_for_operators() {
        return (forbidden(), None);
    }
    let place = match request {
        Request::Visit { .. } | Request::Keys => Some(asker.visitors_place().await),
        Request::Nodes | Request::Colonies => Some(asker.place().await),
        _ => None,
    };
    if matches!(place, Some(None)) {
        return (error_line(ErrorKind::Busy, "other readers are being served; try again"), None);
    }
    let (patience, colony) = match request {
        Request::Visit { colony } => (VISIT_PATIENCE, Some(colony)),
        Request::Check { .. } => (CHECKUP_PATIENCE, None),
        Request::Keys => (SURVEY_PATIENCE, None),
        _ => (PATIENCE, None),
    };
    let answer = asker.ask_within(patience, |back| Question::Control(request, back)).await;
    (answer.unwrap_or_else(|| colony.map_or_else(stalled, unanswered)), place.flatten())
}

fn too_many_watchers() -> String {
    format!("{WATCHERS_MOST} watchers are there already; end one of them, or try again")
}

fn stalled() -> String {
    error_line(ErrorKind::Busy, "the agent is leaving or stalled")
}

fn forbidden() -> String {
    let message = "this is for the operator: run the command as root, as the agent's user, or as \
                   a member of the group that its control.sock belongs to";
    error_line(ErrorKind::Forbidden, message)
}

fn unanswered(colony: u32) -> String {
    let seconds = VISIT_PATIENCE.as_secs();
    let message = format!(
        "colony {colony} has not sent its nodes within {seconds} s: are its agents up, and \
         reachable from here?"
    );
    error_line(ErrorKind::Unanswered, message)
}

fn too_large() -> String {
    let message = format!("a request of more than {REQUEST_BYTES_MAX} bytes");
    error_line(ErrorKind::TooLarge, message)
}

fn error_line(kind: ErrorKind, message: impl Into<String>) -> String {
    reply_line(&Reply::<()>::Error(ErrorReport::new(kind, message)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question;
    use tokio::sync::mpsc;
    use tokio::task::JoinHandle;

    struct Served {
        directory: tempfile::TempDir,
        questions: mpsc::Receiver<Question>,
        closing: watch::Sender<bool>,
        server: JoinHandle<()>,
    }

    fn serve() -> Served {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (asker, questions) = question::channel();
        let (closing, closed) = watch::channel(false);
        let socket = ControlSocket::bind(directory.path(), Door::Operators).expect("fresh");
        let server = tokio::spawn(socket.serve(asker, closed));
        Served { directory, questions, closing, server }
    }

    impl Served {
        async fn connect(&self) -> BufReader<UnixStream> {
            let path = socket_path(self.directory.path());
            BufReader::new(UnixStream::connect(path).await.expect("it listens"))
        }
    }

    async fn exchange(stream: &mut BufReader<UnixStream>, line: &str) -> String {
        stream.write_all(line.as_bytes()).await.expect("it reads");
        let mut reply = String::new();
        stream.read_line(&mut reply).await.expect("it replies");
        reply
    }

    #[tokio::test]
    async fn bad_requests_are_answered_and_the_connection_stays() {
        let mut served = serve();
        let mut stream = served.connect().await;
        for bad in ["rubbish\n", "{\"op\":\"reboot\"}\n", "{\"op\":\"node\"}\n", "\n", "\0\u{fe}\n"]
        {
            let reply = exchange(&mut stream, bad).await;
            assert!(reply.starts_with(r#"{"ok":false,"error":{"kind":"bad-request""#), "{reply}");
        }
        let answering = async {
            let Some(Question::Control(Request::Ages, back)) = served.questions.recv().await else {
                panic!("not the request that was sent");
            };
            back.send("the answer\n".to_owned()).expect("the connection waits");
        };
        let (reply, ()) = tokio::join!(exchange(&mut stream, "{\"op\":\"ages\"}\n"), answering);
        assert_eq!(reply, "the answer\n");
    }

    #[tokio::test]
    async fn a_watcher_gets_events_until_it_writes() {
        let mut served = serve();
        let mut stream = served.connect().await;
        let board = crate::notices::Noticeboard::default();
        let answering = async {
            let Some(Question::Watch(back)) = served.questions.recv().await else {
                panic!("not the request that was sent");
            };
            back.send(board.admit("n1")).expect("the connection waits");
        };
        let (reply, ()) = tokio::join!(exchange(&mut stream, "{\"op\":\"watch\"}\n"), answering);
        assert_eq!(reply, "{\"ok\":true,\"result\":{\"observer\":\"n1\"}}\n");
        stream.write_all(b"{\"op\":\"ages\"}\n").await.expect("it reads");
        let mut rest = Vec::new();
        // Bytes that were not read make the end a reset.
        let _ = stream.read_to_end(&mut rest).await;
        assert!(rest.is_empty());
    }

    #[tokio::test]
    async fn who_only_reads_changes_nothing() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (asker, mut questions) = question::channel();
        let (_closing, closed) = watch::channel(false);
        let door = Door::Readers(Readers::All);
        let socket = ControlSocket::bind(directory.path(), door).expect("fresh");
        let path = reading_socket_path(directory.path());
        let mode = std::fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o666);
        tokio::spawn(socket.serve(asker, closed));
        let mut stream = BufReader::new(UnixStream::connect(path).await.expect("it is served"));
        for request in [r#"{"op":"leave"}"#, r#"{"op":"publish","key":"a","value":"1"}"#] {
            let reply = exchange(&mut stream, &format!("{request}\n")).await;
            assert!(reply.contains(r#""kind":"forbidden""#), "{reply}");
        }
        let answering = async {
            let Some(Question::Control(Request::Ages, back)) = questions.recv().await else {
                panic!("nothing else was asked before");
            };
            back.send("{}\n".to_owned()).expect("the connection waits");
        };
        let (reply, ()) = tokio::join!(exchange(&mut stream, "{\"op\":\"ages\"}\n"), answering);
        assert_eq!(reply, "{}\n");
    }

    #[tokio::test]
    async fn a_line_without_end_is_rejected() {
        let served = serve();
        let mut stream = served.connect().await;
        let reply = exchange(&mut stream, &"x".repeat(REQUEST_BYTES_MAX)).await;
        assert!(reply.contains(r#""kind":"too-large""#), "{reply}");
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.expect("closed cleanly");
        assert!(rest.is_empty());
    }

    #[tokio::test]
    async fn connections_are_bounded_and_become_free_again() {
        let served = serve();
        let mut served = served;
        let (mut open, mut asked) = (Vec::new(), Vec::new());
        for _ in 0..CONNECTIONS_MOST {
            let mut stream = served.connect().await;
            stream.write_all(b"{\"op\":\"ages\"}\n").await.expect("it reads");
            open.push(stream);
            asked.push(served.questions.recv().await.expect("the question"));
        }
        let mut refused = String::new();
        served.connect().await.read_line(&mut refused).await.expect("given a reason");
        assert!(refused.contains(r#""kind":"busy""#), "{refused}");
        drop((open, asked));
        loop {
            let reply = exchange(&mut served.connect().await, "\n").await;
            if reply.contains("bad-request") {
                break;
            }
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn idle_connections_keep_nobody_out() {
        let served = serve();
        let mut open = Vec::new();
        for _ in 0..2 * CONNECTIONS_MOST {
            let mut stream = served.connect().await;
            let reply = exchange(&mut stream, "\n").await;
            assert!(reply.contains("bad-request"), "{reply}");
            open.push(stream);
        }
        let mut rest = Vec::new();
        open[0].read_to_end(&mut rest).await.expect("the idlest was closed");
        assert!(rest.is_empty());
        let last = open.last_mut().expect("there are some");
        assert!(exchange(last, "\n").await.contains("bad-request"));
    }

    #[tokio::test]
    async fn closing_ends_idle_connections_and_removes_the_socket() {
        let served = serve();
        let path = socket_path(served.directory.path());
        let mode = std::fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o660);
        let mut idle = served.connect().await;
        exchange(&mut idle, "\n").await;
        served.closing.send(true).expect("the server listens");
        served.server.await.expect("no panic");
        assert!(!path.exists());
    }
}
