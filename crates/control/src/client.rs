//! A blocking client: one connection to one agent, requests and replies in turn.
//!
//! Everything that comes back is bounded, in time by the timeouts and in bytes by
//! [`REPLY_BYTES_MAX`], so that a command never hangs on an agent that does not answer.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use serde::de::DeserializeOwned;

use crate::{
    Ages, Checkup, Colonies, ErrorReport, KeyReport, Leaving, NodeReport, Nodes, Pick, Picked,
    Published, PublishedAll, Reply, Request, Status, socket_path,
};

/// The longest reply a client reads, in bytes: `nodes` of 65,536 nodes with full payloads.
pub const REPLY_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// How long a client waits for the agent at each step by default.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a client waits for the vector of another colony: longer than the agent does.
pub const VISIT_TIMEOUT: Duration = Duration::from_secs(15);

/// How long a client waits for the check of another node: longer than the agent does.
pub const CHECKUP_TIMEOUT: Duration = Duration::from_secs(45);

/// How long [`Client::keys`] waits for the reply.
pub const KEYS_TIMEOUT: Duration = Duration::from_secs(605);

/// A connection to one agent.
///
/// After any error but [`ClientError::Refused`] the connection's place in the stream is unknown:
/// drop the client and connect again.
#[derive(Debug)]
pub struct Client {
    path: PathBuf,
    stream: BufReader<UnixStream>,
    line: Vec<u8>,
}

/// Why a request has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// Nothing listens on the socket.
    #[error(
        "no agent answers at {}: start one with `tidings agent`, or name its runtime \
         directory with --runtime-dir ({source})", path.display()
    )]
    NoAgent {
        /// The socket that was tried.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The socket is there, but this user may not open it.
    #[error(
        "the agent's socket {} may not be opened by this user: run the command as the agent's \
         user, or as a member of its group ({source})", path.display()
    )]
    Forbidden {
        /// The socket that was tried.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The agent accepted the connection and then said nothing for the whole timeout.
    #[error(
        "the agent at {} did not answer within {:.1} s: it may be stopped or overloaded",
        path.display(), waited.as_secs_f64()
    )]
    TimedOut {
        /// The agent's socket.
        path: PathBuf,
        /// How long the client waited.
        waited: Duration,
    },
    /// The connection ended before the reply was complete.
    #[error("the agent at {} closed the connection: it has left or ended", path.display())]
    Closed {
        /// The agent's socket.
        path: PathBuf,
    },
    /// Reading or writing failed.
    #[error("talking to the agent at {} failed: {source}", path.display())]
    Broken {
        /// The agent's socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The reply is not what this version of the protocol says.
    #[error(
        "the agent at {} answered what this command does not understand ({reason}): \
         are both of the same version?", path.display()
    )]
    Malformed {
        /// The agent's socket.
        path: PathBuf,
        /// What was wrong with the reply.
        reason: String,
    },
    /// The agent understood the request and refused it. The connection stays usable.
    #[error(transparent)]
    Refused(#[from] ErrorReport),
}

impl ClientError {
    /// Whether there is no agent to talk to (as opposed to one that answers badly): the commands
    /// end with exit code 3 then.
    pub fn is_unreachable(&self) -> bool {
        !matches!(self, Self::Refused(_) | Self::Malformed { .. })
    }
}

impl Client {
    /// Connects to the agent whose runtime directory is `runtime_dir`, with [`DEFAULT_TIMEOUT`]: by
    /// its control socket, and where this user may not open that, by the one for reading.
    ///
    /// # Errors
    /// [`ClientError::NoAgent`] when nothing listens there, [`ClientError::Forbidden`] when this
    /// user may not connect.
    pub fn connect(runtime_dir: &Path) -> Result<Self, ClientError> {
        Self::connect_within(runtime_dir, DEFAULT_TIMEOUT)
    }

    /// As [`connect`](Self::connect); every later read and write waits at most `timeout` (more than
    /// zero) for the agent to make progress.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_within(runtime_dir: &Path, timeout: Duration) -> Result<Self, ClientError> {
        match Self::open(socket_path(runtime_dir), timeout) {
            Err(forbidden @ ClientError::Forbidden { .. }) => {
                let reading = Self::open(crate::reading_socket_path(runtime_dir), timeout);
                reading.map_err(|error| match error {
                    // An agent without one, or that lets only its group read.
                    ClientError::NoAgent { .. } | ClientError::Forbidden { .. } => forbidden,
                    error => error,
                })
            }
            opened => opened,
        }
    }

    fn open(path: PathBuf, timeout: Duration) -> Result<Self, ClientError> {
        let stream = open(&path, timeout).map_err(|source| match source.kind() {
            io::ErrorKind::PermissionDenied => {
                ClientError::Forbidden { path: path.clone(), source }
            }
            // Nothing accepts the connections that wait before this one.
            io::ErrorKind::WouldBlock => {
                ClientError::TimedOut { path: path.clone(), waited: timeout }
            }
            _ => ClientError::NoAgent { path: path.clone(), source },
        })?;
        let client = Self { path, stream: BufReader::new(stream), line: Vec::new() };
        client.set_timeout(timeout)?;
        Ok(client)
    }

    /// The socket that it is connected to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Changes how long every later read and write waits for the agent to make progress.
    ///
    /// # Errors
    /// [`ClientError::Broken`] when `timeout` is zero.
    pub fn set_timeout(&self, timeout: Duration) -> Result<(), ClientError> {
        let stream = self.stream.get_ref();
        stream
            .set_read_timeout(Some(timeout))
            .and_then(|()| stream.set_write_timeout(Some(timeout)))
            .map_err(|source| self.broken(source))
    }

    /// The agent's own condition and configuration.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn status(&mut self) -> Result<Status, ClientError> {
        self.call(&Request::Status)
    }

    /// How old the agent's picture is.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn ages(&mut self) -> Result<Ages, ClientError> {
        self.call(&Request::Ages)
    }

    /// Everything the agent knows.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn nodes(&mut self) -> Result<Nodes, ClientError> {
        self.call(&Request::Nodes)
    }

    /// What the agent knows of the node `name`.
    ///
    /// # Errors
    /// See [`ClientError`]; [`ClientError::Refused`] with
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) when it knows no such node.
    pub fn node(&mut self, name: &str) -> Result<NodeReport, ClientError> {
        self.call(&Request::Node { name: name.to_owned() })
    }

    /// What every colony is like.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn colonies(&mut self) -> Result<Colonies, ClientError> {
        self.call(&Request::Colonies)
    }

    /// The nodes of `colony`, which the agent asks of its members: waits up to [`VISIT_TIMEOUT`].
    ///
    /// # Errors
    /// See [`ClientError`]; [`ClientError::Refused`] with
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) when the agent knows no such colony, and
    /// [`ErrorKind::Unanswered`](crate::ErrorKind::Unanswered) when nobody there answers.
    pub fn visit(&mut self, colony: u32) -> Result<Nodes, ClientError> {
        self.call_within(VISIT_TIMEOUT, &Request::Visit { colony })
    }

    /// What lies between this node and `host`, which the agent tries: waits up to
    /// [`CHECKUP_TIMEOUT`].
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn check(&mut self, host: &str) -> Result<Checkup, ClientError> {
        self.call_within(CHECKUP_TIMEOUT, &Request::Check { host: host.to_owned() })
    }

    /// Which keys all members hold, which the agent asks of them: waits up to [`KEYS_TIMEOUT`].
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn keys(&mut self) -> Result<KeyReport, ClientError> {
        self.call_within(KEYS_TIMEOUT, &Request::Keys)
    }

    /// Makes a request that the agent needs longer for than usual.
    fn call_within<T: DeserializeOwned>(
        &mut self,
        timeout: Duration,
        request: &Request,
    ) -> Result<T, ClientError> {
        let usual = self.stream.get_ref().read_timeout().ok().flatten();
        let usual = usual.unwrap_or(DEFAULT_TIMEOUT);
        self.set_timeout(usual.max(timeout))?;
        let answer = self.call(request);
        self.set_timeout(usual)?;
        answer
    }

    /// Picks nodes for work.
    ///
    /// # Errors
    /// See [`ClientError`]; [`ClientError::Refused`] with
    /// [`ErrorKind::Unsatisfied`](crate::ErrorKind::Unsatisfied) when too few have what is asked.
    pub fn pick(&mut self, pick: Pick) -> Result<Picked, ClientError> {
        self.call(&Request::Pick(pick))
    }

    /// Publishes `key` = `value` in the agent's own entry for `ttl_s` seconds; 0 withdraws it.
    ///
    /// # Errors
    /// See [`ClientError`]; [`ClientError::Refused`] with
    /// [`ErrorKind::BadValue`](crate::ErrorKind::BadValue) when it cannot be published.
    pub fn publish(
        &mut self,
        key: &str,
        value: &str,
        ttl_s: u64,
    ) -> Result<Published, ClientError> {
        self.call(&Request::Publish { key: key.to_owned(), value: value.to_owned(), ttl_s })
    }

    /// Publishes all of `metrics` in the agent's own entry for `ttl_s` seconds, or none of them; 0
    /// withdraws them. Other nodes never see some of them without the others.
    ///
    /// # Errors
    /// As [`publish`](Self::publish).
    pub fn publish_all<K: Into<String>, V: Into<String>>(
        &mut self,
        metrics: impl IntoIterator<Item = (K, V)>,
        ttl_s: u64,
    ) -> Result<PublishedAll, ClientError> {
        let metrics = metrics.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        self.call(&Request::PublishAll { metrics, ttl_s })
    }

    /// Asks the agent to leave the cluster and end.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn leave(&mut self) -> Result<Leaving, ClientError> {
        self.call(&Request::Leave)
    }

    /// Sends `request` and reads its reply as a `T`.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn call<T: DeserializeOwned>(&mut self, request: &Request) -> Result<T, ClientError> {
        self.send(request)?;
        let reply: Reply<T> = self.read()?;
        Ok(reply.into_result()?)
    }

    /// Every later read waits as long as it takes.
    pub(crate) fn wait_for_ever(&self) -> Result<(), ClientError> {
        let set = self.stream.get_ref().set_read_timeout(None);
        set.map_err(|source| self.broken(source))
    }

    pub(crate) fn stream(&self) -> &BufReader<UnixStream> {
        &self.stream
    }

    /// Reads a line as a `T`.
    pub(crate) fn read<T: DeserializeOwned>(&mut self) -> Result<T, ClientError> {
        self.read_line()?;
        serde_json::from_slice(&self.line).map_err(|error| {
            let reason = error.to_string();
            ClientError::Malformed { path: self.path.clone(), reason }
        })
    }

    fn send(&mut self, request: &Request) -> Result<(), ClientError> {
        let mut line = serde_json::to_vec(request)
            .expect("a request holds only strings and integers, which always serialise");
        line.push(b'\n');
        let sent = self.stream.get_mut().write_all(&line);
        sent.map_err(|source| self.broken(source))
    }

    fn read_line(&mut self) -> Result<(), ClientError> {
        self.line.clear();
        let mut bounded = (&mut self.stream).take(REPLY_BYTES_MAX);
        let read = bounded.read_until(b'\n', &mut self.line);
        read.map_err(|source| self.broken(source))?;
        if self.line.ends_with(b"\n") {
            return Ok(());
        }
        if self.line.len() as u64 == REPLY_BYTES_MAX {
            let reason = format!("more than {REPLY_BYTES_MAX} bytes in one reply");
            return Err(ClientError::Malformed { path: self.path.clone(), reason });
        }
        Err(ClientError::Closed { path: self.path.clone() })
    }

    fn broken(&self, source: io::Error) -> ClientError {
        let path = self.path.clone();
        match source.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                let timeout = self.stream.get_ref().read_timeout().ok().flatten();
                ClientError::TimedOut { path, waited: timeout.unwrap_or(DEFAULT_TIMEOUT) }
            }
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
                ClientError::Closed { path }
            }
            _ => ClientError::Broken { path, source },
        }
    }
}

/// Picks nodes for work, from the agent that this user's commands ask: a connection, a request,
/// a reply, each within [`DEFAULT_TIMEOUT`]. [`Client::pick`] is for many picks or another agent.
///
/// # Errors
/// See [`ClientError`]; [`ClientError::Refused`] with
/// [`ErrorKind::Unsatisfied`](crate::ErrorKind::Unsatisfied), and a
/// [`Shortfall`](crate::Shortfall), when too few nodes have what is needed.
pub fn pick(pick: Pick) -> Result<Picked, ClientError> {
    Client::connect(&crate::agent_dir())?.pick(pick)
}

/// Connects to a Unix socket; an error of kind `WouldBlock` when that takes longer than `timeout`.
fn open(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let kind = (AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC);
    let socket = socket_with(kind.0, kind.1, kind.2, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(timeout))?; // bounds connecting too
    connect(&socket, &address)?;
    Ok(UnixStream::from(socket))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use std::os::unix::net::UnixListener;
    use std::thread::{JoinHandle, spawn};

    /// An agent that answers its one connection with `replies` in turn, then closes it; it returns
    /// the requests it read.
    fn agent(directory: &Path, replies: Vec<&'static str>) -> JoinHandle<Vec<String>> {
        let listener = UnixListener::bind(socket_path(directory)).expect("a fresh directory");
        spawn(move || {
            let (stream, _) = listener.accept().expect("the client connects");
            let mut reader = BufReader::new(stream);
            let mut requests = Vec::new();
            for reply in replies {
                let mut line = String::new();
                reader.read_line(&mut line).expect("the client writes a line");
                requests.push(line.trim_end().to_owned());
                reader.get_mut().write_all(reply.as_bytes()).expect("the client reads");
            }
            requests
        })
    }

    #[test]
    fn requests_and_replies_alternate_on_one_connection() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let agent = agent(
            directory.path(),
            vec![
                "{\"ok\":true,\"result\":{\"name\":\"n1\",\"members\":2}}\n",
                "{\"ok\":false,\"error\":{\"kind\":\"not-found\",\"message\":\"no `x`\"}}\n",
                "{\"ok\":true,\"result\":{\"name\":\"n1\"}}\n",
            ],
        );
        let mut client = Client::connect(directory.path()).expect("it listens");
        assert_eq!(client.ages().expect("answered").members, 2);
        let Err(ClientError::Refused(report)) = client.node("x") else { panic!("not refused") };
        assert_eq!(report, ErrorReport::new(ErrorKind::NotFound, "no `x`"));
        assert_eq!(client.leave().expect("usable after a refusal").name, "n1");
        let requests = agent.join().expect("no panic");
        assert_eq!(requests[1], r#"{"op":"node","name":"x"}"#);
    }

    #[test]
    fn without_an_agent_the_message_names_the_place_and_the_remedy() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let error = Client::connect(directory.path()).expect_err("nothing listens");
        let message = error.to_string();
        let expected = format!(
            "no agent answers at {}/control.sock: start one with `tidings agent`, or name its \
             runtime directory with --runtime-dir",
            directory.path().display()
        );
        assert!(message.starts_with(&expected), "{message}");
        assert!(error.is_unreachable());
    }

    #[test]
    fn a_connection_closed_within_a_reply_is_an_error() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let agent = agent(directory.path(), vec!["{\"ok\":true,"]);
        let mut client = Client::connect(directory.path()).expect("it listens");
        assert!(matches!(client.ages(), Err(ClientError::Closed { .. })));
        agent.join().expect("no panic");
    }

    #[test]
    fn nonsense_is_reported_as_such() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let agent = agent(directory.path(), vec!["HTTP/1.1 400 Bad Request\n"]);
        let mut client = Client::connect(directory.path()).expect("it listens");
        assert!(matches!(client.ages(), Err(ClientError::Malformed { .. })));
        agent.join().expect("no panic");
    }

    #[test]
    fn waiting_for_a_silent_agent_ends() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let _listener = UnixListener::bind(socket_path(directory.path())).expect("fresh");
        let mut client = Client::connect_within(directory.path(), Duration::from_millis(10))
            .expect("the backlog accepts");
        assert!(matches!(client.ages(), Err(ClientError::TimedOut { .. })));
    }

    /// An agent that is stopped accepts no connections; the backlog accepts some for it, and the
    /// next one would wait for ever.
    #[test]
    fn waiting_for_a_full_backlog_ends() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let listener = UnixListener::bind(socket_path(directory.path())).expect("fresh");
        rustix::net::listen(&listener, 0).expect("it listens already");
        let connect = || Client::connect_within(directory.path(), Duration::from_millis(10));
        let _first = connect().expect("the backlog has room for one");
        let error = connect().expect_err("nobody accepts");
        assert!(matches!(error, ClientError::TimedOut { .. }), "{error}");
        assert!(error.is_unreachable());
    }
}
