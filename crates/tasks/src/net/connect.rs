//! Connecting: streams to a listener, tuned, sealed and greeted.

use std::io;
use std::time::Duration;

use rustix::net::sockopt;
use tidings_tasks_core::id::Part;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use super::endpoint::Endpoint;
use super::error::{Failure, NetError};
use super::handshake::{self, Credentials};
use super::sealed::{SealedReader, SealedWriter};
use crate::frame;
use crate::stream::Remote;

/// The time in which a host answers to a new connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// A silent connection is probed after so long, and then as often.
const PROBE: Duration = Duration::from_secs(3);

/// Probes without an answer after which the other host is gone.
const PROBES: u32 = 3;

/// What is read of a connection.
pub(crate) type Reading = SealedReader<OwnedReadHalf>;

/// What is written to a connection.
pub(crate) type Writing = SealedWriter<OwnedWriteHalf>;

/// Makes the system notice a host that is gone, and send what is written at once.
pub(super) fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, PROBE)?;
    sockopt::set_tcp_keepintvl(stream, PROBE)?;
    sockopt::set_tcp_keepcnt(stream, PROBES)?;
    let gone = PROBE * (PROBES + 1);
    sockopt::set_tcp_user_timeout(stream, gone.as_millis() as u32)?;
    Ok(())
}

/// Connects with the service of a part that listens there.
///
/// # Errors
/// Nobody does, or with another key, cluster or version.
pub async fn connect(to: &Endpoint, own: &Credentials, part: Part) -> Result<Remote, NetError> {
    let (reading, writing) = open(to, own, &frame::hello_of(part)).await?;
    Ok(Remote::over(reading, writing))
}

/// A stream to the listener there, for what the greeting names.
pub(crate) async fn open(
    to: &Endpoint,
    own: &Credentials,
    hello: &str,
) -> Result<(Reading, Writing), NetError> {
    opening(to, own, hello).await.map_err(|failure| failure.of(format!("tcp://{to}")))
}

async fn opening(
    to: &Endpoint,
    own: &Credentials,
    hello: &str,
) -> Result<(Reading, Writing), Failure> {
    let connecting = TcpStream::connect((to.host.as_str(), to.port));
    let connected = tokio::time::timeout(PATIENCE, connecting).await;
    let stream = connected.map_err(|_| Failure::Silent)??;
    tune(&stream)?;
    let (reading, writing) = handshake::call(stream.into_split(), own).await?;
    let mut both = tokio::io::join(reading, writing);
    // One that is frozen has a kernel that still takes connections, and may have answered before.
    let greeted = tokio::time::timeout(PATIENCE, frame::greet(&mut both, hello)).await;
    greeted.map_err(|_| Failure::Silent)??;
    Ok(both.into_inner())
}

#[cfg(test)]
mod tests {
    use tidings_primitives::{Key, KeyRing};
    use tokio::net::TcpListener;

    use super::*;

    /// As one that is frozen between its handshake and its greeting.
    #[tokio::test]
    async fn one_that_does_not_greet_is_not_waited_for() {
        let ring = KeyRing::new(&[Key::from_bytes([7; 32])]).unwrap();
        let own = Credentials { ring, cluster: "test".into() };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at: Endpoint = listener.local_addr().unwrap().to_string().parse().unwrap();
        let theirs = own.clone();
        let silent = crate::spawn::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let _ends = handshake::answer(stream.into_split(), &theirs).await.unwrap();
            core::future::pending::<()>().await;
        });
        let error = open(&at, &own, "hello").await.err().unwrap();
        assert!(matches!(error.why, Failure::Silent), "{error}");
        silent.abort();
    }
}
