//! Guests: who has called and not shown yet who it is.
//!
//! Nothing is believed of a guest before its greeting opens, and it is let in when its first record
//! does: who sends a greeting again that it has recorded comes no further. Until then a guest costs
//! a fixed number of bytes, one of few places, and a bounded time. Who is refused is counted.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::time::{Duration, Instant};

use mio::net::{TcpListener, TcpStream};
use mio::{Interest, Registry, Token};

use crate::calling::{Own, reached};
use crate::direction::{Garbage, Opening, Sealing};
use crate::error::Refusal;
use crate::greeting::{self, GREETING_BYTES, Greeting, OPENING, Role};

/// How many guests there can be at a time.
const PLACES: usize = 64;
/// How long each may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most bytes of a guest after its greeting, before it is let in.
const FIRST_BYTES: usize = 4096;

/// What a guest has shown.
enum Stage {
    /// Some bytes.
    Begun(Vec<u8>),
    /// A greeting, which was answered.
    Greeted(Box<Greeted>),
}

struct Greeted {
    greeting: Greeting,
    sealing: Sealing,
    opening: Opening,
    /// How many have come after it.
    bytes: usize,
}

struct Guest {
    stream: TcpStream,
    since: Instant,
    stage: Stage,
}

/// A guest that is let in.
pub(crate) struct Arrived {
    pub(crate) stream: TcpStream,
    pub(crate) greeting: Greeting,
    pub(crate) sealing: Sealing,
    pub(crate) opening: Opening,
    /// The records that it has sent.
    pub(crate) records: Vec<Vec<u8>>,
}

/// Why a guest is not let in.
enum Unwelcome {
    /// It is to be told so.
    Refused(Refusal),
    /// It makes no sense, has ended, or the system refuses.
    Stranger,
}

impl From<Garbage> for Unwelcome {
    fn from(_: Garbage) -> Self {
        Self::Stranger
    }
}

impl From<io::Error> for Unwelcome {
    fn from(_: io::Error) -> Self {
        Self::Stranger
    }
}

/// A listener and its guests, whose tokens are from the listener's on.
pub(crate) struct Guests {
    listener: TcpListener,
    own: Own,
    waiting: BTreeMap<usize, Guest>,
    first: usize,
    next: usize,
    refused: u64,
}

impl Guests {
    /// A listener with this token, and guests with those behind it.
    pub(crate) fn new(
        mut listener: TcpListener,
        own: Own,
        registry: &Registry,
        first: usize,
    ) -> io::Result<Self> {
        registry.register(&mut listener, Token(first), Interest::READABLE)?;
        Ok(Self { listener, own, waiting: BTreeMap::new(), first, next: first + 1, refused: 0 })
    }

    /// How many were refused.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    /// Takes in what there is for one of its tokens; a guest that is let in. `admit` says who may.
    pub(crate) fn ready(
        &mut self,
        token: usize,
        registry: &Registry,
        admit: impl FnMut(&Greeting) -> Result<(), Refusal>,
    ) -> Option<Arrived> {
        if token == self.first {
            self.accept(registry);
            return None;
        }
        let guest = self.waiting.get_mut(&token)?;
        match guest.read(&self.own, admit) {
            Ok(records) if records.is_empty() => None,
            Ok(records) => self.waiting.remove(&token).and_then(|guest| guest.let_in(records)),
            Err(unwelcome) => {
                if let Unwelcome::Refused(refusal) = unwelcome {
                    // It may be gone.
                    let _ = guest.stream.write(&[&OPENING[..], &[refusal.code()]].concat());
                }
                self.turn_away(token);
                None
            }
        }
    }

    /// Refuses who has taken too long.
    pub(crate) fn turn_away_late(&mut self, now: Instant) {
        let is_late = |guest: &Guest| now.saturating_duration_since(guest.since) > PATIENCE;
        let late = self.waiting.iter().filter(|(_, guest)| is_late(guest));
        for token in late.map(|(token, _)| *token).collect::<Vec<_>>() {
            self.turn_away(token);
        }
    }

    fn turn_away(&mut self, token: usize) {
        self.waiting.remove(&token);
        self.refused += 1;
    }

    fn accept(&mut self, registry: &Registry) {
        // An error is one of a guest that is gone, or of a process without descriptors left.
        while let Ok((mut stream, _)) = self.listener.accept() {
            self.turn_away_late(Instant::now());
            if self.waiting.len() == PLACES {
                self.refused += 1;
                continue;
            }
            let interest = Interest::READABLE;
            if registry.register(&mut stream, Token(self.next), interest).is_err() {
                continue;
            }
            let stage = Stage::Begun(Vec::new());
            self.waiting.insert(self.next, Guest { stream, since: Instant::now(), stage });
            self.next += 1;
        }
    }
}

impl Guest {
    /// Reads what there is, and goes on as far as that goes; the records behind its greeting.
    fn read(
        &mut self,
        own: &Own,
        mut admit: impl FnMut(&Greeting) -> Result<(), Refusal>,
    ) -> Result<Vec<Vec<u8>>, Unwelcome> {
        let (mut buffer, mut records) = ([0; FIRST_BYTES], Vec::new());
        loop {
            let bytes = match self.stream.read(&mut buffer) {
                Ok(0) if records.is_empty() => return Err(Unwelcome::Stranger),
                Ok(0) => return Ok(records),
                Ok(count) => &buffer[..count],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(records),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error)?,
            };
            match &mut self.stage {
                Stage::Begun(begun) => {
                    begun.extend_from_slice(bytes);
                    let expected = &OPENING[..begun.len().min(OPENING.len())];
                    if !begun.starts_with(expected) || begun.len() > FIRST_BYTES {
                        return Err(Unwelcome::Stranger);
                    }
                    let Some((frame, rest)) = begun[expected.len()..].split_first_chunk() else {
                        continue;
                    };
                    let (frame, rest): (greeting::Frame, _) = (*frame, rest.to_vec());
                    self.answer(own, frame, &mut admit)?;
                    self.open(&rest, &mut records)?;
                }
                Stage::Greeted(_) => self.open(bytes, &mut records)?,
            }
        }
    }

    fn open(&mut self, more: &[u8], records: &mut Vec<Vec<u8>>) -> Result<(), Unwelcome> {
        let Stage::Greeted(greeted) = &mut self.stage else { return Ok(()) };
        greeted.bytes += more.len();
        greeted.opening.take(more, |record| {
            records.push(record.to_vec());
            Ok::<_, Garbage>(())
        })?;
        if records.is_empty() && greeted.bytes > FIRST_BYTES {
            return Err(Unwelcome::Stranger);
        }
        Ok(())
    }

    /// Opens its greeting and answers it.
    fn answer(
        &mut self,
        own: &Own,
        frame: greeting::Frame,
        mut admit: impl FnMut(&Greeting) -> Result<(), Refusal>,
    ) -> Result<(), Unwelcome> {
        let refused = Unwelcome::Refused;
        let mut theirs = Greeting::open(&own.key, frame).ok_or(refused(Refusal::Key))?;
        own.check(&theirs).map_err(refused)?;
        if theirs.role == Role::Answers {
            return Err(Unwelcome::Stranger);
        }
        admit(&theirs).map_err(refused)?;
        let (mine, sent) = own.greet(Role::Answers, greeting::echo(&theirs.secret))?;
        let answer = [&OPENING[..], &[0], &sent].concat();
        self.stream.set_nodelay(true)?;
        // The socket is new: it has room for some hundred bytes.
        if self.stream.write(&answer)? != OPENING.len() + 1 + GREETING_BYTES {
            return Err(Unwelcome::Stranger);
        }
        let keys = greeting::keys((&theirs, &frame), (&mine, &sent));
        theirs.listens = reached(theirs.listens, self.stream.peer_addr()?);
        let (sealing, opening) = (Sealing::new(&keys.answers), Opening::new(&keys.calls));
        let greeted = Greeted { greeting: theirs, sealing, opening, bytes: 0 };
        self.stage = Stage::Greeted(Box::new(greeted));
        Ok(())
    }

    fn let_in(self, records: Vec<Vec<u8>>) -> Option<Arrived> {
        let Stage::Greeted(greeted) = self.stage else { return None };
        let Greeted { greeting, sealing, opening, .. } = *greeted;
        Some(Arrived { stream: self.stream, greeting, sealing, opening, records })
    }
}
