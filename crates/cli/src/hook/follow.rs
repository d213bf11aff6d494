//! Follows the agent: its notices, and after a gap the list of all nodes.
//!
//! The thread ends with the process, or when nobody listens any more. It waits where the receiver
//! is behind; then notices are lost in the agent's ring, which says so, and the list of all nodes
//! tells what was in them.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tidings_control::{Change, ClientError, NodeReport, State, Watch};
use tokio::sync::mpsc;

use super::event::{Event, Kind};
use super::standing::Standings;
use super::threshold::Threshold;
use crate::Failure;
use crate::output::{self, Agent};

/// Between two attempts to reach an agent that has ended, and between two looks at who is there.
const PAUSE: Duration = Duration::from_secs(1);

/// How long no other node has been alive before this one is called alone.
const ALONE_AFTER: Duration = Duration::from_secs(5);

/// When the list of nodes is compared again after an agent was restarted: it has learned it then.
const LEARNED_AFTER: Duration = Duration::from_secs(10);

/// Begins to follow an agent, and to send the wanted events.
///
/// # Errors
/// It cannot be reached, or no thread can be started.
pub(super) fn begin(
    agent: &Agent,
    wanted: &[Kind],
    at_start: bool,
    threshold: Option<Threshold>,
    sender: mpsc::Sender<Event>,
) -> Result<(), Failure> {
    let (watch, nodes) = meet(agent)?;
    output::complain(&format!("follows the agent of {}", watch.observer));
    let follower = Follower {
        agent: agent.clone(),
        wanted: wanted.to_vec(),
        observer: watch.observer.clone(),
        known: Standings::default(),
        sender,
        alone: Alone::default(),
        threshold,
        check_at: None,
    };
    let name = "follow".to_owned();
    thread::Builder::new().name(name).spawn(move || follower.run(watch, &nodes, at_start))?;
    Ok(())
}

/// A watch, and the nodes that the agent knows: what happens in between is in both.
fn meet(agent: &Agent) -> Result<(Watch, Vec<NodeReport>), ClientError> {
    let watch = agent.connect()?.watch()?;
    let nodes = agent.connect()?.nodes()?.nodes;
    Ok((watch, nodes))
}

/// Since when no other node is alive, and whether that was told.
#[derive(Default)]
struct Alone {
    since: Option<Instant>,
    is_told: bool,
}

/// Nobody wants to hear more.
struct Unheard;

/// Why following ends.
enum End {
    Unheard,
    Lost(ClientError),
}

impl From<Unheard> for End {
    fn from(Unheard: Unheard) -> Self {
        Self::Unheard
    }
}

impl From<ClientError> for End {
    fn from(error: ClientError) -> Self {
        Self::Lost(error)
    }
}

struct Follower {
    agent: Agent,
    wanted: Vec<Kind>,
    observer: String,
    known: Standings,
    sender: mpsc::Sender<Event>,
    alone: Alone,
    threshold: Option<Threshold>,
    /// When all nodes are compared next, if that is planned.
    check_at: Option<Instant>,
}

impl Follower {
    fn run(mut self, mut watch: Watch, nodes: &[NodeReport], at_start: bool) {
        let dead = nodes.iter().filter(|node| at_start && node.state == State::Dead);
        for node in dead {
            if self.tell(Kind::Dead, &node.name, node.incarnation, now_ms()).is_err() {
                return;
            }
        }
        self.known.begin(nodes);
        if let Some(threshold) = self.threshold.as_mut().filter(|_| !at_start) {
            threshold.begin(nodes, Instant::now());
        }
        while let Err(End::Lost(error)) = self.listen(&mut watch) {
            output::complain(&format!("{error}: this command waits for the agent"));
            let Ok(again) = self.wait() else { return };
            watch = again;
        }
    }

    /// Listens until the agent ends.
    fn listen(&mut self, watch: &mut Watch) -> Result<(), End> {
        loop {
            self.look_around()?;
            if !is_read(watch) {
                continue;
            }
            let notice = watch.next_notice()?;
            if notice.event == Change::Missed {
                self.compare(true)?;
            }
            let (Some(kind), Some(name)) = (Kind::of(notice.event), &notice.name) else { continue };
            let incarnation = notice.incarnation.unwrap_or(0);
            if self.known.is_news(kind, name, incarnation) {
                self.tell(kind, name, incarnation, notice.time_ms)?;
            }
        }
    }

    /// Waits until an agent answers again, and tells what its list says.
    fn wait(&mut self) -> Result<Watch, Unheard> {
        loop {
            thread::sleep(PAUSE);
            if self.sender.is_closed() {
                return Err(Unheard);
            }
            let Ok((watch, nodes)) = meet(&self.agent) else { continue };
            output::complain(&format!("follows the agent of {} again", watch.observer));
            self.observer.clone_from(&watch.observer);
            self.check_at = Some(Instant::now() + LEARNED_AFTER);
            self.tell_differences(&nodes, false)?;
            return Ok(watch);
        }
    }

    /// Compares all nodes with what is known.
    fn compare(&mut self, whole: bool) -> Result<(), End> {
        let nodes = self.agent.connect()?.nodes()?.nodes;
        Ok(self.tell_differences(&nodes, whole)?)
    }

    fn tell_differences(&mut self, nodes: &[NodeReport], whole: bool) -> Result<(), Unheard> {
        for (kind, name, incarnation) in self.known.compare(nodes, whole) {
            self.tell(kind, &name, incarnation, now_ms())?;
        }
        Ok(())
    }

    /// What is to be done without notices.
    fn look_around(&mut self) -> Result<(), End> {
        if self.check_at.is_some_and(|at| at <= Instant::now()) {
            self.check_at = None;
            self.compare(false)?;
        }
        self.look_at_readings()?;
        let own = self.observer.clone();
        if self.known.is_alone(&own) {
            let since = *self.alone.since.get_or_insert_with(Instant::now);
            if since.elapsed() >= ALONE_AFTER && !std::mem::replace(&mut self.alone.is_told, true) {
                self.tell(Kind::Alone, &own, 0, now_ms())?;
            }
        } else {
            self.alone.since = None;
            if std::mem::take(&mut self.alone.is_told) {
                self.tell(Kind::Accompanied, &own, 0, now_ms())?;
            }
        }
        Ok(())
    }

    /// Looks for whom the condition has begun to hold, or no longer does.
    fn look_at_readings(&mut self) -> Result<(), End> {
        let now = Instant::now();
        let Some(threshold) = self.threshold.as_mut().filter(|one| one.is_due(now)) else {
            return Ok(());
        };
        let nodes = self.agent.connect()?.nodes()?.nodes;
        for (kind, name, incarnation) in threshold.look(&nodes, now) {
            self.tell(kind, &name, incarnation, now_ms())?;
        }
        Ok(())
    }

    /// Sends an event, if it is wanted.
    fn tell(&self, kind: Kind, name: &str, life: u32, time_ms: u64) -> Result<(), Unheard> {
        if !self.wanted.contains(&kind) {
            return Ok(());
        }
        let (name, observer) = (name.to_owned(), self.observer.clone());
        let event = Event { kind, name, observer, incarnation: life, time_ms, changes: 1 };
        self.sender.blocking_send(event).map_err(|_| Unheard)
    }
}

/// Whether there is something to read, after a pause at most.
fn is_read(watch: &Watch) -> bool {
    if watch.is_ready() {
        return true;
    }
    let pause = Timespec { tv_sec: PAUSE.as_secs() as i64, tv_nsec: 0 };
    match poll(&mut [PollFd::new(watch, PollFlags::IN)], Some(&pause)) {
        Ok(count) => count > 0,
        Err(Errno::INTR) => false,
        // Reading says what is wrong.
        Err(_) => true,
    }
}

/// The wall clock, in milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
