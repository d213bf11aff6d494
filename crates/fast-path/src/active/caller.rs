//! The caller: sends messages of one session, and has each answer once, whatever the way does.

use std::collections::VecDeque;
use std::time::Instant;

use rustix::thread::sched_getaffinity;

use super::error::ActiveError;
use super::layout::OPEN_MESSAGES;
use super::message::{Change, Reply, Status};
use super::path::{Path, RingPath, SocketPath};
use super::session::Session;
use super::window::{Tally, Window};
use crate::frame::Ends;

/// How often a message is sent before its responder is taken to be gone: some six seconds.
const MOST_TRIES: u32 = 100;

/// How many looks in vain pass between two at the clock.
const LOOKS: u32 = 64;

/// An answer, the first to its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// To which message.
    pub sequence: u64,
    /// What became of it.
    pub status: Status,
    /// Its result.
    pub result: u64,
}

/// How answers come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answers {
    /// In a ring that the soft interrupt writes.
    Ring,
    /// By a socket on which the caller spins, for the reason given.
    Spinning(String),
    /// By a socket on which it sleeps, for the reason given.
    Blocking(String),
}

/// A caller.
#[derive(Debug)]
pub struct Caller<P> {
    session: Session,
    path: P,
    window: Window,
    /// Answers that came while another one was waited for.
    early: VecDeque<Answer>,
    looks: u32,
}

/// The best way that can be had here.
#[derive(Debug)]
pub enum Best {
    /// Frames, and a ring.
    Ring(Box<RingPath>),
    /// Datagrams.
    Socket(SocketPath),
}

impl Path for Best {
    #[inline]
    fn send(&mut self, message: &[u8]) -> std::io::Result<()> {
        match self {
            Self::Ring(path) => path.send(message),
            Self::Socket(path) => path.send(message),
        }
    }

    #[inline]
    fn receive(&mut self) -> std::io::Result<Option<Reply>> {
        match self {
            Self::Ring(path) => path.receive(),
            Self::Socket(path) => path.receive(),
        }
    }

    fn sleeps(&self) -> bool {
        match self {
            Self::Ring(path) => path.sleeps(),
            Self::Socket(path) => path.sleeps(),
        }
    }
}

impl Caller<Best> {
    /// A caller by the best way from here: frames and a ring, over an interface; else a socket on
    /// which it spins, or sleeps where this process may use one core only. And which it is.
    ///
    /// # Errors
    /// If there is none at all.
    pub fn best(
        session: Session,
        interface: &str,
        ends: &Ends,
    ) -> Result<(Self, Answers), ActiveError> {
        let why = match RingPath::open(&session, interface, ends) {
            Ok(path) => {
                return Ok((Self::new(session, Best::Ring(Box::new(path))), Answers::Ring));
            }
            Err(error @ ActiveError::Kernel { .. }) => error.to_string(),
            Err(other) => return Err(other),
        };
        let sleeps = sched_getaffinity(None).map_or(1, |cores| cores.count()) < 2;
        let path = SocketPath::open(&session, sleeps)?;
        let answers = if sleeps { Answers::Blocking(why) } else { Answers::Spinning(why) };
        Ok((Self::new(session, Best::Socket(path)), answers))
    }
}

impl<P: Path> Caller<P> {
    /// A caller by a way of one's own.
    pub fn new(session: Session, path: P) -> Self {
        let (window, early) = (Window::default(), VecDeque::new());
        Self { session, path, window, early, looks: 0 }
    }

    /// Sends a message and does not wait for its answer, which [`poll`](Caller::poll) brings; its
    /// sequence.
    ///
    /// # Errors
    /// [`ActiveError::Full`] if 64 are on their way, or as many answers were not taken.
    #[inline]
    pub fn begin(&mut self, index: u32, change: Change<'_>) -> Result<u64, ActiveError> {
        if self.early.len() >= OPEN_MESSAGES {
            return Err(ActiveError::Full);
        }
        let session = (self.session.number, self.session.key);
        let begun = self.window.begin(session, index, change);
        let (sequence, bytes) = begun.ok_or(ActiveError::Full)?;
        self.path.send(bytes).map_err(|source| ActiveError::System { call: "send", source })?;
        Ok(sequence)
    }

    /// The next answer, if one is there; else sends again what has had none for too long.
    ///
    /// # Errors
    /// [`ActiveError::Silent`] if a message was sent too often in vain.
    #[inline]
    pub fn poll(&mut self) -> Result<Option<Answer>, ActiveError> {
        match self.early.pop_front() {
            Some(answer) => Ok(Some(answer)),
            None => self.look(),
        }
    }

    fn look(&mut self) -> Result<Option<Answer>, ActiveError> {
        let system = |call| move |source| ActiveError::System { call, source };
        while let Some(reply) = self.path.receive().map_err(system("recv"))? {
            if (reply.session, reply.key) != (self.session.number, self.session.key) {
                self.window.foreign();
            } else if self.window.answered(&reply) {
                let Reply { sequence, status, result, .. } = reply;
                if let Some(bytes) = self.window.overtaken(sequence) {
                    self.path.send(bytes).map_err(system("send"))?;
                }
                return Ok(Some(Answer { sequence, status, result }));
            }
        }
        self.looks = self.looks.wrapping_add(1);
        if self.looks % LOOKS == 0 || self.path.sleeps() {
            let path = &mut self.path;
            let most = self.window.send_due(Instant::now(), |bytes| path.send(bytes));
            let tries = most.map_err(system("send"))?;
            if tries > MOST_TRIES {
                return Err(ActiveError::Silent { address: self.session.address, tries });
            }
        }
        Ok(None)
    }

    /// Sends a message and waits for its answer; its result. Answers of others are kept.
    ///
    /// # Errors
    /// [`ActiveError::Refused`] if the responder has no such words, else as for `begin` and `poll`.
    #[inline]
    pub fn call(&mut self, index: u32, change: Change<'_>) -> Result<u64, ActiveError> {
        let sequence = self.begin(index, change)?;
        loop {
            match self.look()? {
                Some(answer) if answer.sequence == sequence => {
                    return match answer.status {
                        Status::Refused => Err(ActiveError::Refused { sequence }),
                        Status::Done | Status::DoneBefore => Ok(answer.result),
                    };
                }
                // No more than were open, beside those that keep `begin` from another.
                Some(other) => self.early.push_back(other),
                None => std::hint::spin_loop(),
            }
        }
    }

    /// Whether an answer is due.
    pub fn is_waiting(&self) -> bool {
        !self.window.is_empty() || !self.early.is_empty()
    }

    /// Whether another message may be sent.
    pub fn has_room(&self) -> bool {
        self.window.has_room()
    }

    /// What was counted.
    pub fn tally(&self) -> Tally {
        self.window.tally()
    }

    /// The way.
    pub fn path(&self) -> &P {
        &self.path
    }
}
