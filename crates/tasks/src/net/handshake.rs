//! The handshake: greetings over a stream, and the sealed stream that follows.
//!
//! Nothing is believed of a peer before its greeting opens: until then it costs a fixed number of
//! bytes and a bounded time. The server says in clear that a greeting did not open, so that people
//! hear of a wrong key; whoever forges that can as well cut the connection.

use std::io;
use std::time::Duration;

use tidings_primitives::KeyRing;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::error::Failure;
use super::greeting::{self, Frame, GREETING_BYTES, Greeting, OPENING, Role, VERSION_AT};
use super::sealed::{SealedReader, SealedWriter};

/// The time that the other side has for its greeting.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the server says before its greeting.
const OPENED: u8 = 0;
const NOT_OPENED: u8 = 1;

/// What a process shows to others over a network, and asks of them.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The cluster's keys.
    pub ring: KeyRing,
    /// The cluster's name.
    pub cluster: String,
}

/// A connection of which both sides have shown that they have the key. The server knows it of the
/// client once the first record opens.
pub(crate) type Sealed<R, W> = (SealedReader<R>, SealedWriter<W>);

/// The client's side.
pub(super) async fn call<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
    ends: (R, W),
    own: &Credentials,
) -> Result<Sealed<R, W>, Failure> {
    tokio::time::timeout(PATIENCE, calling(ends, own)).await.unwrap_or(Err(Failure::Silent))
}

/// The server's side.
pub(super) async fn answer<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
    ends: (R, W),
    own: &Credentials,
) -> Result<Sealed<R, W>, Failure> {
    tokio::time::timeout(PATIENCE, answering(ends, own)).await.unwrap_or(Err(Failure::Silent))
}

async fn calling<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
    (mut reader, mut writer): (R, W),
    own: &Credentials,
) -> Result<Sealed<R, W>, Failure> {
    let (mine, sent) = greet(Role::Client, [0; 32], own)?;
    writer.write_all(&[&OPENING[..], &sent].concat()).await?;
    writer.flush().await?;
    let opening = expect_opening(&mut reader).await?;
    check_opening(opening)?;
    if reader.read_u8().await? != OPENED {
        return Err(Failure::Key);
    }
    let mut frame = [0; GREETING_BYTES];
    reader.read_exact(&mut frame).await?;
    let theirs = Greeting::open(&own.ring, frame).ok_or(Failure::Key)?;
    if theirs.role != Role::Server || theirs.echo != greeting::echo(&mine.secret) {
        return Err(Failure::Protocol("a greeting of another connection".into()));
    }
    check_cluster(&theirs, own)?;
    let (to_server, to_client) = greeting::keys((&mine, &sent), (&theirs, &frame));
    Ok((SealedReader::new(reader, &to_client), SealedWriter::new(writer, &to_server)))
}

async fn answering<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
    (mut reader, mut writer): (R, W),
    own: &Credentials,
) -> Result<Sealed<R, W>, Failure> {
    let opening = expect_opening(&mut reader).await?;
    if let Err(failure) = check_opening(opening) {
        if matches!(failure, Failure::Version(_)) {
            writer.write_all(&OPENING).await?;
            writer.flush().await?;
        }
        return Err(failure);
    }
    let mut frame = [0; GREETING_BYTES];
    reader.read_exact(&mut frame).await?;
    let opened = Greeting::open(&own.ring, frame);
    let Some(theirs) = opened.filter(|theirs| theirs.role == Role::Client) else {
        writer.write_all(&[&OPENING[..], &[NOT_OPENED]].concat()).await?;
        writer.flush().await?;
        return Err(Failure::Key);
    };
    let (mine, sent) = greet(Role::Server, greeting::echo(&theirs.secret), own)?;
    writer.write_all(&[&OPENING[..], &[OPENED], &sent].concat()).await?;
    writer.flush().await?;
    check_cluster(&theirs, own)?;
    let (to_server, to_client) = greeting::keys((&theirs, &frame), (&mine, &sent));
    Ok((SealedReader::new(reader, &to_server), SealedWriter::new(writer, &to_client)))
}

fn greet(role: Role, echo: [u8; 32], own: &Credentials) -> io::Result<(Greeting, Frame)> {
    let (secret, cluster) = (greeting::random()?, greeting::shorten(&own.cluster));
    let greeting = Greeting { role, secret, echo, cluster };
    let frame = greeting.seal(&own.ring, greeting::random()?);
    Ok((greeting, frame))
}

async fn expect_opening(reader: &mut (impl AsyncRead + Unpin)) -> Result<[u8; 8], Failure> {
    let mut opening = [0; OPENING.len()];
    match reader.read_exact(&mut opening).await {
        // A server of something else may well say nothing and hang up.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(Failure::Unreachable(
            "the connection was closed before anything was said".to_owned(),
        )),
        other => Ok(other.map(|_| opening)?),
    }
}

fn check_opening(opening: [u8; 8]) -> Result<(), Failure> {
    if opening[..VERSION_AT] != OPENING[..VERSION_AT] {
        return Err(Failure::Garbage);
    }
    if opening[VERSION_AT] != OPENING[VERSION_AT] {
        return Err(Failure::Version(opening[VERSION_AT]));
    }
    Ok(())
}

fn check_cluster(theirs: &Greeting, own: &Credentials) -> Result<(), Failure> {
    if theirs.cluster == greeting::shorten(&own.cluster) {
        return Ok(());
    }
    Err(Failure::Cluster(String::from_utf8_lossy(&theirs.cluster).into_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tidings_primitives::Key;
    use tokio::io::DuplexStream;

    use super::*;

    fn own(key: u8, cluster: &str) -> Credentials {
        let ring = KeyRing::new(&[Key::from_bytes([key; 32])]).unwrap();
        Credentials { ring, cluster: cluster.into() }
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().start_paused(true).build().unwrap().block_on(future)
    }

    /// What both sides make of each other.
    fn meet(client: &Credentials, server: &Credentials) -> (Option<Failure>, Option<Failure>) {
        run(async {
            let (here, there) = tokio::io::duplex(4_096);
            let called = call(tokio::io::split(here), client);
            let answered = answer(tokio::io::split(there), server);
            let (called, answered) = tokio::join!(called, answered);
            (called.err(), answered.err())
        })
    }

    #[tokio::test]
    async fn those_with_one_key_and_cluster_speak() {
        let (own, (here, there)) = (own(1, "test"), tokio::io::duplex(4_096));
        let called = call(tokio::io::split(here), &own);
        let answered = answer(tokio::io::split(there), &own);
        let ((mut hears, mut says), (mut listens, mut replies)) =
            tokio::try_join!(called, answered).unwrap();
        says.write_all(b"question").await.unwrap();
        let mut eight = [0; 8];
        listens.read_exact(&mut eight).await.unwrap();
        replies.write_all(&eight).await.unwrap();
        hears.read_exact(&mut eight).await.unwrap();
        assert_eq!(&eight, b"question");
    }

    #[test]
    fn others_hear_what_is_wrong() {
        let (right, other) = (own(1, "test"), own(2, "test"));
        assert_eq!(meet(&other, &right), (Some(Failure::Key), Some(Failure::Key)));
        let open = |cluster: &str| Credentials {
            ring: KeyRing::open(cluster),
            cluster: cluster.to_owned(),
        };
        assert_eq!(meet(&open("test"), &right), (Some(Failure::Key), Some(Failure::Key)));
        assert_eq!(meet(&open("test"), &open("test")), (None, None));
        let named = |name: &str| Some(Failure::Cluster(name.into()));
        assert_eq!(meet(&own(1, "other"), &right), (named("test"), named("other")));
    }

    /// What a side makes of these bytes, and the end of the stream after them.
    fn makes_of(bytes: &[u8], is_client: bool) -> (Failure, Vec<u8>) {
        run(async {
            let (mut here, there) = tokio::io::duplex(1 << 16);
            here.write_all(bytes).await.unwrap();
            here.shutdown().await.unwrap();
            let (ends, own) = (tokio::io::split(there), own(1, "test"));
            let made: Result<Sealed<_, tokio::io::WriteHalf<DuplexStream>>, _> =
                if is_client { call(ends, &own).await } else { answer(ends, &own).await };
            let failure = made.err().expect("nobody without the key gets in");
            let mut said = Vec::new();
            here.read_to_end(&mut said).await.unwrap();
            (failure, said)
        })
    }

    #[test]
    fn other_versions_and_other_programs_are_told_apart() {
        let (failure, said) = makes_of(b"tidings\x09", false);
        assert_eq!((failure, &said[..]), (Failure::Version(9), &OPENING[..]));
        assert_eq!(makes_of(b"tidings\x09", true).0, Failure::Version(9));
        let (failure, said) = makes_of(b"GET / HTTP/1.1\r\n\r\n", false);
        assert_eq!((failure, &said[..]), (Failure::Garbage, &b""[..]));
        assert_eq!(makes_of(b"SSH-2.0-OpenSSH", true).0, Failure::Garbage);
        assert!(matches!(makes_of(b"", true).0, Failure::Unreachable(_)));
    }

    #[test]
    fn whoever_says_nothing_is_not_waited_for() {
        let failure = run(async {
            let (_silent, there) = tokio::io::duplex(64);
            answer(tokio::io::split(there), &own(1, "test")).await.err()
        });
        assert_eq!(failure, Some(Failure::Silent));
    }

    proptest! {
        #[test]
        fn no_bytes_get_in(bytes: Vec<u8>, version in 0..3_u8, is_client: bool) {
            makes_of(&bytes, is_client);
            makes_of(&[b"tidings", &[version][..], &bytes].concat(), is_client);
        }
    }

    /// All that a client has sent, sent again to the same server, gets no further than the server's
    /// greeting; and a server's answer is none to another client.
    #[test]
    fn a_recorded_connection_is_of_no_use() {
        run(async {
            let own = own(1, "test");
            let (mut middle, client) = tokio::io::duplex(4_096);
            let calling = crate::spawn::spawn({
                let own = own.clone();
                async move {
                    let (_reader, mut writer) = call(tokio::io::split(client), &own).await?;
                    writer.write_all(b"pay 100").await?;
                    writer.flush().await?;
                    Ok::<_, Failure>(())
                }
            });
            let mut greeting = vec![0; OPENING.len() + GREETING_BYTES];
            middle.read_exact(&mut greeting).await.unwrap();
            let (mut to_server, server) = tokio::io::duplex(4_096);
            to_server.write_all(&greeting).await.unwrap();
            let answered = answer(tokio::io::split(server), &own);
            let (mut listens, _) = answered.await.unwrap();
            let mut answer_bytes = vec![0; OPENING.len() + 1 + GREETING_BYTES];
            to_server.read_exact(&mut answer_bytes).await.unwrap();
            middle.write_all(&answer_bytes).await.unwrap();
            calling.await.unwrap().unwrap();
            let mut record = Vec::new();
            middle.read_to_end(&mut record).await.unwrap();
            to_server.write_all(&record).await.unwrap();
            let mut heard = [0; 7];
            listens.read_exact(&mut heard).await.unwrap();
            assert_eq!(&heard, b"pay 100");

            // The same bytes again.
            let (mut again, server) = tokio::io::duplex(4_096);
            again.write_all(&[greeting, record].concat()).await.unwrap();
            let (mut listens, _) = answer(tokio::io::split(server), &own).await.unwrap();
            let error = listens.read_exact(&mut heard).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);

            let (mut replayer, client) = tokio::io::duplex(4_096);
            replayer.write_all(&answer_bytes).await.unwrap();
            let refused = call(tokio::io::split(client), &own).await.err();
            assert!(matches!(refused, Some(Failure::Protocol(_))), "{refused:?}");
        });
    }

    /// A client that is sent its own greeting does not take it for a server's.
    #[test]
    fn a_greeting_that_comes_back_is_no_answer() {
        run(async {
            let own = own(1, "test");
            let (mut mirror, client) = tokio::io::duplex(4_096);
            let reflect = async {
                let mut sent = vec![0; OPENING.len() + GREETING_BYTES];
                mirror.read_exact(&mut sent).await.unwrap();
                sent.insert(OPENING.len(), OPENED);
                mirror.write_all(&sent).await.unwrap();
            };
            let (refused, ()) = tokio::join!(call(tokio::io::split(client), &own), reflect);
            assert!(matches!(refused.err(), Some(Failure::Protocol(_))));
        });
    }
}
