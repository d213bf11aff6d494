//! Links: to each other process a line of messages, and a connection when there is one.
//!
//! The later of two processes connects with the earlier, as often as it takes. What each side says
//! first over a connection is what has come, so the other sends what is missing. A connection is
//! written to when it has taken what it was given: so nothing queues up but in the line, which is
//! bounded.
//!
//! A process that had a connection and finds that nobody listens there any more, or another, knows
//! that the other process has ended. It says so at once, and the view is replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::Duration;

use minicbor::{Decode, Encode};
use tidings_blocks::envelope::Envelope;
use tidings_blocks::line::{Line, Numbered};
use tidings_blocks::{Node, View};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::event::{Event, Streams};
use crate::frame;
use crate::net::connect::{self, Reading, Writing};
use crate::net::endpoint::Endpoint;
use crate::net::{Credentials, Failure};

/// What connections of processes that share blocks begin with.
pub(super) const HELLO: &str = "tidings-blocks 1";

/// Bytes that are written at once, and one message more.
const BATCH_BYTES: usize = 256 << 10;

/// The wait before somebody is called again; it doubles up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(2);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The time in which the other side says who it is.
const PATIENCE: Duration = Duration::from_secs(5);

/// Who speaks, and to whom: at an address of another life somebody else may listen.
#[derive(Clone, Copy, Debug, Encode, Decode)]
struct Introduction {
    #[n(0)]
    from: Node,
    #[n(1)]
    to: Node,
}

/// A task that ends with this.
struct Running(JoinHandle<()>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Default)]
struct Link {
    line: Line,
    connection: Option<Connection>,
    /// What calls the other process, if that is the earlier one; or looks whether it is there.
    calling: Option<Running>,
}

struct Connection {
    number: u64,
    writer: mpsc::Sender<Vec<u8>>,
    /// Whether the other side has said what has come there.
    has_begun: bool,
    is_ready: bool,
    written: u64,
    _tasks: [Running; 2],
}

/// The links of this process.
pub(super) struct Links {
    own: Node,
    credentials: Credentials,
    events: mpsc::Sender<Event>,
    suspicion: mpsc::Sender<Node>,
    to: BTreeMap<Node, Link>,
    places: BTreeMap<Node, Endpoint>,
    touched: BTreeSet<Node>,
    last: u64,
}

impl Links {
    pub(super) fn new(
        own: Node,
        credentials: Credentials,
        events: mpsc::Sender<Event>,
        suspicion: mpsc::Sender<Node>,
    ) -> Self {
        Self {
            own,
            credentials,
            events,
            suspicion,
            to: BTreeMap::new(),
            places: BTreeMap::new(),
            touched: BTreeSet::new(),
            last: 0,
        }
    }

    /// Ends what concerns those who are lost, and calls those who are there.
    pub(super) fn enter(&mut self, before: &View, view: &View, places: BTreeMap<Node, Endpoint>) {
        self.places.extend(places);
        for node in before.nodes.iter().filter(|node| !view.has(**node)) {
            self.to.remove(node);
            self.places.remove(node);
        }
        let called = view.others(self.own).filter(|node| *node < self.own);
        for node in called {
            let Some(place) = self.places.get(&node).cloned() else { continue };
            let link = self.to.entry(node).or_default();
            if link.calling.is_none() {
                let call = Caller {
                    own: self.own,
                    node,
                    place,
                    credentials: self.credentials.clone(),
                    events: self.events.clone(),
                    suspicion: self.suspicion.clone(),
                };
                link.calling = Some(Running(crate::spawn::spawn(call.run())));
            }
        }
    }

    pub(super) fn send(&mut self, envelope: Envelope) {
        let to = envelope.to;
        let line = &mut self.to.entry(to).or_default().line;
        line.send(envelope);
        if line.is_overfull() {
            // It takes nothing any more: the others are better off without it.
            let _ = self.suspicion.try_send(to);
        }
        self.touched.insert(to);
    }

    /// A connection begins, in the place of an earlier one.
    pub(super) fn came(&mut self, node: Node, streams: Streams) {
        self.last += 1;
        let number = self.last;
        let Streams { reading, writing, until } = streams;
        let (writer, queue) = mpsc::channel(1);
        let (reader_events, writer_events) = (self.events.clone(), self.events.clone());
        let reading = crate::spawn::spawn(async move {
            // Whatever was wrong with it, it has ended.
            let _ = read(reading, node, number, &reader_events).await;
            drop(until);
            let _ = reader_events.send(Event::Ended(node, number)).await;
        });
        let writing = crate::spawn::spawn(async move {
            let _ = write(writing, queue, node, number, &writer_events).await;
        });
        let link = self.to.entry(node).or_default();
        let mut buffer = Vec::new();
        // It is short, and the queue is empty.
        if frame::append(&mut buffer, &link.line.confirmation()).is_ok() {
            let _ = writer.try_send(buffer);
        }
        if node > self.own {
            link.calling = None; // it is there
        }
        link.connection = Some(Connection {
            number,
            writer,
            has_begun: false,
            is_ready: false,
            written: 0,
            _tasks: [Running(reading), Running(writing)],
        });
    }

    /// What has arrived by a connection, if it is the present one, and new.
    pub(super) fn arrived(&mut self, node: Node, of: u64, said: Numbered) -> Option<Envelope> {
        let link = self.to.get_mut(&node)?;
        let connection = link.connection.as_mut().filter(|present| present.number == of)?;
        if !connection.has_begun {
            (connection.has_begun, connection.written) = (true, said.confirmed);
        }
        self.touched.insert(node);
        let envelope = link.line.take(said)?;
        // Nobody speaks for another.
        (envelope.from == node && envelope.to == self.own).then_some(envelope)
    }

    /// A connection has taken what it was given.
    pub(super) fn written(&mut self, node: Node, of: u64) {
        if let Some(connection) = self.present(node, of) {
            connection.is_ready = true;
            self.touched.insert(node);
        }
    }

    pub(super) fn ended(&mut self, node: Node, of: u64) {
        if self.present(node, of).is_none() {
            return;
        }
        let Some(link) = self.to.get_mut(&node) else { return };
        link.connection = None;
        // The later one calls again. The earlier one looks whether it is still there, until it has.
        if let (true, Some(place)) = (node > self.own, self.places.get(&node).cloned()) {
            let (own, suspicion) = (self.credentials.clone(), self.suspicion.clone());
            link.calling = Some(Running(crate::spawn::spawn(async move {
                until_refused(&place, &own).await;
                let _ = suspicion.send(node).await;
            })));
        }
    }

    fn present(&mut self, node: Node, of: u64) -> Option<&mut Connection> {
        let connection = self.to.get_mut(&node)?.connection.as_mut();
        connection.filter(|present| present.number == of)
    }

    /// Whether all others have all that was sent.
    pub(super) fn are_settled(&self) -> bool {
        self.to.values().all(|link| link.line.is_settled())
    }

    /// Gives connections what there is for them.
    pub(super) fn pump(&mut self) {
        for node in std::mem::take(&mut self.touched) {
            if let Some(link) = self.to.get_mut(&node) {
                link.pump();
            }
        }
    }
}

impl Link {
    fn pump(&mut self) {
        let Self { line, connection: Some(connection), .. } = self else { return };
        if !connection.is_ready || !connection.has_begun {
            return;
        }
        let is_due = line.is_due();
        let (mut buffer, mut written) = (Vec::new(), connection.written);
        for numbered in line.after(connection.written) {
            // What is too long for a frame could never arrive; messages are bounded well below.
            if frame::append(&mut buffer, &numbered).is_err() {
                break;
            }
            written = numbered.number;
            if buffer.len() >= BATCH_BYTES {
                break;
            }
        }
        if buffer.is_empty() && is_due {
            let _ = frame::append(&mut buffer, &line.confirmation());
        }
        if !buffer.is_empty() && connection.writer.try_send(buffer).is_ok() {
            (connection.written, connection.is_ready) = (written, false);
        }
    }
}

/// Lets in those who come, if they want this process.
pub(super) async fn welcome(
    mut coming: mpsc::Receiver<(Reading, Writing)>,
    own: Node,
    events: mpsc::Sender<Event>,
) {
    while let Some((reading, writing)) = coming.recv().await {
        let events = events.clone();
        crate::spawn::spawn(async move {
            let met = tokio::time::timeout(PATIENCE, meet(reading, writing, own)).await;
            if let Ok(Ok((node, reading, writing))) = met {
                let until = oneshot::channel().0;
                let streams = Box::new(Streams { reading, writing, until });
                let _ = events.send(Event::Came(node, streams)).await;
            }
        });
    }
}

/// The side of the one that was called.
async fn meet(
    mut reading: Reading,
    mut writing: Writing,
    own: Node,
) -> io::Result<(Node, Reading, Writing)> {
    let mut buffer = Vec::new();
    let theirs: Option<Introduction> = frame::read(&mut reading, &mut buffer).await?;
    let theirs = theirs.ok_or(io::ErrorKind::UnexpectedEof)?;
    introduce(&mut writing, Introduction { from: own, to: theirs.from }).await?;
    if theirs.to != own {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok((theirs.from, reading, writing))
}

async fn introduce(writing: &mut Writing, introduction: Introduction) -> io::Result<()> {
    let mut buffer = Vec::new();
    frame::append(&mut buffer, &introduction)?;
    writing.write_all(&buffer).await?;
    writing.flush().await
}

/// Returns when nobody listens there any more. A process that ends closes its connections and its
/// listener in any order.
async fn until_refused(place: &Endpoint, own: &Credentials) {
    let mut wait = FIRST_WAIT;
    loop {
        let failure = connect::open(place, own, HELLO).await.err().map(|error| error.why);
        if matches!(failure, Some(Failure::Refused(_))) {
            return;
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

/// What calls an earlier process, again and again.
struct Caller {
    own: Node,
    node: Node,
    place: Endpoint,
    credentials: Credentials,
    events: mpsc::Sender<Event>,
    suspicion: mpsc::Sender<Node>,
}

impl Caller {
    async fn run(self) {
        let (mut wait, mut was_there) = (FIRST_WAIT, false);
        loop {
            match connect::open(&self.place, &self.credentials, HELLO).await {
                Ok((reading, writing)) => {
                    let met = self.met(reading, writing);
                    match tokio::time::timeout(PATIENCE, met).await {
                        Ok(Ok((reading, writing))) => {
                            (wait, was_there) = (FIRST_WAIT, true);
                            self.connected(reading, writing).await;
                        }
                        // Another one listens there now.
                        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => {
                            self.suspect().await;
                        }
                        _ => {}
                    }
                }
                // A firewall may refuse too, but not after it has let a connection through.
                Err(error) if was_there && matches!(error.why, Failure::Refused(_)) => {
                    self.suspect().await;
                }
                Err(_) => {}
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    async fn suspect(&self) {
        let _ = self.suspicion.send(self.node).await;
    }

    async fn met(
        &self,
        mut reading: Reading,
        mut writing: Writing,
    ) -> io::Result<(Reading, Writing)> {
        introduce(&mut writing, Introduction { from: self.own, to: self.node }).await?;
        let theirs: Option<Introduction> = frame::read(&mut reading, &mut Vec::new()).await?;
        let theirs = theirs.ok_or(io::ErrorKind::UnexpectedEof)?;
        if theirs.from != self.node {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok((reading, writing))
    }

    /// Passes a connection on, and returns when it has ended.
    async fn connected(&self, reading: Reading, writing: Writing) {
        let (until, ended) = oneshot::channel();
        let streams = Box::new(Streams { reading, writing, until });
        if self.events.send(Event::Came(self.node, streams)).await.is_ok() {
            let _ = ended.await;
        }
    }
}

async fn read(
    mut reading: Reading,
    node: Node,
    number: u64,
    events: &mpsc::Sender<Event>,
) -> io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(said) = frame::read::<Numbered>(&mut reading, &mut buffer).await? {
        let arrived = Event::Arrived(node, number, Box::new(said));
        events.send(arrived).await.map_err(io::Error::other)?;
    }
    Ok(())
}

async fn write(
    mut writing: Writing,
    mut queue: mpsc::Receiver<Vec<u8>>,
    node: Node,
    number: u64,
    events: &mpsc::Sender<Event>,
) -> io::Result<()> {
    while let Some(buffer) = queue.recv().await {
        writing.write_all(&buffer).await?;
        writing.flush().await?;
        let written = Event::Written(node, number);
        events.send(written).await.map_err(io::Error::other)?;
    }
    Ok(())
}
