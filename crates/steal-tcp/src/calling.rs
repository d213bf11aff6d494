//! Calling another worker: a connection, the greetings of both ends, and keys for what follows.
//!
//! It waits, and for a bounded time: workers call those with lower numbers only, so none waits for
//! one that waits for it.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use tidings_primitives::KeyRing;

use crate::error::{CallError, Refusal};
use crate::greeting::{self, GREETING_BYTES, Greeting, Keys, OPENING, Role, VERSION_AT};
use crate::rules::{Job, Place, Rules};

/// How long a greeting may take.
const GREETING_PATIENCE: Duration = Duration::from_secs(5);

/// What a worker shows to others, and asks of them.
#[derive(Clone, Debug)]
pub(crate) struct Own {
    pub(crate) number: u32,
    pub(crate) workers: u32,
    pub(crate) key: KeyRing,
    job: [u8; 32],
    rules: [u8; 32],
    /// Where it listens; an unspecified address is for others to find out.
    pub(crate) listens: SocketAddr,
}

impl Own {
    pub(crate) fn new(place: &Place, job: &Job, rules: &Rules, listens: SocketAddr) -> Self {
        let name = greeting::hash(&[b"tidings steal job", job.name.as_bytes()]);
        let Place { number, workers, .. } = *place;
        Self { number, workers, key: job.key.clone(), job: name, rules: rules.hash(), listens }
    }

    /// A greeting, and its bytes.
    pub(crate) fn greet(
        &self,
        role: Role,
        echo: [u8; 32],
    ) -> io::Result<(Greeting, greeting::Frame)> {
        let Self { number, workers, job, rules, listens, .. } = *self;
        let secret = greeting::random()?;
        let greeting = Greeting { role, number, workers, job, rules, secret, echo, listens };
        let frame = greeting.seal(&self.key, greeting::random()?);
        Ok((greeting, frame))
    }

    /// Whether another one is of the same job.
    pub(crate) fn check(&self, other: &Greeting) -> Result<(), Refusal> {
        if other.job != self.job {
            Err(Refusal::Job)
        } else if other.workers != self.workers || other.number >= self.workers {
            Err(Refusal::Workers)
        } else if other.rules != self.rules {
            Err(Refusal::Rules)
        } else if other.number == self.number {
            Err(Refusal::Taken)
        } else {
            Ok(())
        }
    }
}

/// A connection that a worker has made.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) stream: TcpStream,
    pub(crate) keys: Keys,
}

/// Calls worker `number` at an address, until it has answered or it is too late. Who is not there
/// yet is called again, a moment later each time.
pub(crate) fn call(
    number: u32,
    at: SocketAddr,
    own: &Own,
    role: Role,
    until: Instant,
) -> Result<Called, CallError> {
    let mut pause = Duration::from_millis(1);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let failed = match TcpStream::connect_timeout(&at, left.max(pause)) {
            Ok(stream) => return greet(stream, number, at, own, role),
            Err(source) => source,
        };
        if failed.kind() != io::ErrorKind::ConnectionRefused || left.is_zero() {
            return Err(CallError::Io { number, at, source: failed });
        }
        std::thread::sleep(pause.min(left));
        pause = (2 * pause).min(Duration::from_millis(100));
    }
}

fn greet(
    mut stream: TcpStream,
    number: u32,
    at: SocketAddr,
    own: &Own,
    role: Role,
) -> Result<Called, CallError> {
    let failed = |source| CallError::Io { number, at, source };
    let refused = |refusal| CallError::Refused { at, refusal };
    let (mine, sent) = own.greet(role, [0; 32]).map_err(failed)?;
    let answer = exchange(&mut stream, &sent).map_err(failed)?;
    let (opening, rest) = answer.split_at(OPENING.len());
    if opening != OPENING {
        return Err(CallError::Foreign { at });
    }
    let Some((code, frame)) = rest.split_first() else { return Err(CallError::Foreign { at }) };
    if *code != 0 {
        return Err(Refusal::of_code(*code).map_or(CallError::Foreign { at }, refused));
    }
    let frame: greeting::Frame = frame.try_into().map_err(|_| CallError::Foreign { at })?;
    let theirs = Greeting::open(&own.key, frame).ok_or(refused(Refusal::Key))?;
    own.check(&theirs).map_err(refused)?;
    if theirs.role != Role::Answers || theirs.echo != greeting::echo(&mine.secret) {
        return Err(CallError::Foreign { at });
    }
    if theirs.number != number {
        return Err(refused(Refusal::Taken));
    }
    let keys = greeting::keys((&mine, &sent), (&theirs, &frame));
    Ok(Called { stream, keys })
}

/// Sends a greeting and reads what is answered, as far as it is what a worker says.
fn exchange(stream: &mut TcpStream, sent: &greeting::Frame) -> io::Result<Vec<u8>> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(GREETING_PATIENCE))?;
    stream.set_write_timeout(Some(GREETING_PATIENCE))?;
    stream.write_all(&[&OPENING[..], sent].concat())?;
    let mut answer = vec![0; OPENING.len()];
    stream.read_exact(&mut answer)?;
    if answer[..VERSION_AT] == OPENING[..VERSION_AT] {
        let mut code = [0];
        stream.read_exact(&mut code)?;
        answer.extend(code);
        if code == [0] {
            answer.resize(answer.len() + GREETING_BYTES, 0);
            stream.read_exact(&mut answer[OPENING.len() + 1..])?;
        }
    }
    Ok(answer)
}

/// An address with what is known of it from the connection on which it was said.
pub(crate) fn reached(listens: SocketAddr, peer: SocketAddr) -> SocketAddr {
    let ip = if listens.ip().is_unspecified() { peer.ip() } else { listens.ip() };
    SocketAddr::new(ip, listens.port())
}
