//! The post of one worker: its lines to all others, and sleeping until something comes.
//!
//! Invariant: what a worker has sent before its end comes before its end.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Registry, Token, Waker};

use crate::direction::Opening;
use crate::letter::Letter;
use crate::line::{Line, Read};

/// The token by which another thread wakes the worker; lines have those of their workers.
const WOKEN: usize = usize::MAX;

/// How much is read at a time.
const READ_BYTES: usize = 64 << 10;

/// How long a process that leaves waits for others to have taken in what it said.
const FAREWELL: Duration = Duration::from_millis(100);

/// What has come from a worker.
#[derive(Debug)]
pub(crate) enum News {
    /// A letter.
    Letter(Letter),
    /// Its end.
    End,
}

#[derive(Debug)]
struct Peer {
    line: Arc<Line>,
    opening: Opening,
}

/// The lines of a worker.
#[derive(Debug)]
pub(crate) struct Post {
    poll: Poll,
    events: Events,
    peers: Vec<Option<Peer>>,
    /// Lines to those who are dead, for as long as these may read the last word.
    closed: Vec<Arc<Line>>,
    /// Who has something staged.
    staged: Vec<u32>,
    news: VecDeque<(u32, News)>,
    /// When something came from each.
    heard: Vec<Instant>,
    buffer: Box<[u8]>,
}

impl Post {
    /// Without lines.
    pub(crate) fn new(workers: u32) -> io::Result<Self> {
        Ok(Self {
            poll: Poll::new()?,
            events: Events::with_capacity(256),
            peers: (0..workers).map(|_| None).collect(),
            closed: Vec::new(),
            staged: Vec::new(),
            news: VecDeque::new(),
            heard: vec![Instant::now(); workers as usize],
            buffer: vec![0; READ_BYTES].into(),
        })
    }

    /// Where sockets are registered.
    pub(crate) fn registry(&self) -> &Registry {
        self.poll.registry()
    }

    /// What wakes it.
    pub(crate) fn waker(&self) -> io::Result<Waker> {
        Waker::new(self.poll.registry(), Token(WOKEN))
    }

    /// A line to a worker; whether its connection is registered already.
    pub(crate) fn add(
        &mut self,
        worker: u32,
        mut line: Line,
        opening: Opening,
        is_registered: bool,
    ) -> io::Result<()> {
        let (token, interest) = (Token(worker as usize), Interest::READABLE | Interest::WRITABLE);
        let registry = self.poll.registry();
        if is_registered {
            registry.reregister(line.stream(), token, interest)?;
        } else {
            registry.register(line.stream(), token, interest)?;
        }
        self.peers[worker as usize] = Some(Peer { line: Arc::new(line), opening });
        Ok(())
    }

    /// Whether there is a line to a worker.
    pub(crate) fn has(&self, worker: u32) -> bool {
        self.peers[worker as usize].is_some()
    }

    /// All lines, for another thread.
    pub(crate) fn lines(&self) -> Vec<Arc<Line>> {
        self.peers.iter().flatten().map(|peer| Arc::clone(&peer.line)).collect()
    }

    /// When something came from each.
    pub(crate) fn heard(&self) -> &[Instant] {
        &self.heard
    }

    /// What came with the connection of a worker.
    pub(crate) fn came(&mut self, worker: u32, letter: Letter) {
        self.news.push_back((worker, News::Letter(letter)));
    }

    /// Stages a letter; nothing if that worker is gone.
    pub(crate) fn say(&mut self, to: u32, letter: &Letter) {
        if let Some(peer) = &self.peers[to as usize] {
            peer.line.say(letter);
            if self.staged.last() != Some(&to) {
                self.staged.push(to);
            }
        }
    }

    /// Stages a letter to all.
    pub(crate) fn say_all(&mut self, letter: &Letter) {
        (0..self.peers.len() as u32).for_each(|to| self.say(to, letter));
    }

    /// Sends what is staged.
    pub(crate) fn flush(&mut self) {
        for to in self.staged.drain(..) {
            if let Some(peer) = &self.peers[to as usize] {
                peer.line.flush();
            }
        }
    }

    /// Says a last word to a worker and hears it no more.
    pub(crate) fn part(&mut self, worker: u32, last: &Letter) {
        if let Some(peer) = self.peers[worker as usize].take() {
            peer.line.close(Some(last));
            self.closed.push(peer.line);
            self.news.retain(|(from, _)| *from != worker);
        }
    }

    /// Waits so long at most for something to come, or for ever; the tokens that are no lines'.
    pub(crate) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<Vec<usize>> {
        while let Err(error) = self.poll.poll(&mut self.events, timeout) {
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        let mut others = Vec::new();
        for event in &self.events {
            let Token(token) = event.token();
            let Some(place) = self.peers.get_mut(token) else {
                others.push(token);
                continue;
            };
            let Some(peer) = place else { continue };
            if event.is_writable() {
                peer.line.flush();
            }
            if event.is_readable() || event.is_read_closed() || event.is_error() {
                let (from, news) = (token as u32, &mut self.news);
                let pass = |letter| news.push_back((from, News::Letter(letter)));
                let read = peer.line.read(&mut peer.opening, &mut self.buffer, pass);
                if read == Read::End {
                    self.news.push_back((from, News::End));
                } else if read != Read::Bytes(0) {
                    self.heard[token] = Instant::now();
                }
            }
        }
        Ok(others)
    }

    /// What has come, in order.
    pub(crate) fn next(&mut self) -> Option<(u32, News)> {
        self.news.pop_front()
    }

    /// Leaves: others get all that was said to them, if they take it soon, and then its end.
    pub(crate) fn leave(&mut self) {
        let until = Instant::now() + FAREWELL;
        for peer in self.peers.iter().flatten() {
            while !peer.line.flush() && Instant::now() < until {
                std::thread::yield_now();
            }
            peer.line.close(None);
        }
        // A connection that is closed while something is unread loses what is on its way.
        while self.peers.iter().any(Option::is_some) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.wait(Some(left)).is_err() {
                return;
            }
            while let Some((from, news)) = self.next() {
                if matches!(news, News::End) {
                    self.peers[from as usize] = None;
                }
            }
        }
    }
}
