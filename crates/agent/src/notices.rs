//! Notices: the events for watchers, as lines that are made once for all of them.
//!
//! All watchers read one ring of the latest lines. A watcher that is too slow for the ring is told
//! how many lines were lost; the loop that writes them never waits, and without watchers it writes
//! none.

use std::sync::Arc;

use tidings_control::{Change, ErrorKind, ErrorReport, Notice, Reply, Watching};
use tidings_gossip::{Event, Node};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::clock::Clock;
use crate::reply::reply_line;

/// Lines kept for watchers that are behind.
pub(crate) const LINES_KEPT: usize = 1024;
/// Watchers at a time: half of all connections, so that other requests are still served.
const WATCHERS_MOST: usize = 16;

/// The writing end.
#[derive(Debug)]
pub(crate) struct Noticeboard(broadcast::Sender<Arc<str>>);

/// The reading end of one watcher.
#[derive(Debug)]
pub(crate) struct Notices(broadcast::Receiver<Arc<str>>);

impl Default for Noticeboard {
    fn default() -> Self {
        Self(broadcast::channel(LINES_KEPT).0)
    }
}

impl Noticeboard {
    /// Admits one more watcher of `observer`'s events, unless there are too many: the reply, and
    /// the lines.
    pub(crate) fn admit(&self, observer: &str) -> (String, Option<Notices>) {
        if self.0.receiver_count() >= WATCHERS_MOST {
            let message = format!(
                "there are {WATCHERS_MOST} watchers already; end one of them, or try again"
            );
            let refusal = ErrorReport::new(ErrorKind::Busy, message);
            return (reply_line(&Reply::<()>::Error(refusal)), None);
        }
        let watching = Watching { observer: observer.to_owned() };
        (reply_line(&Reply::Result(watching)), Some(Notices(self.0.subscribe())))
    }

    /// Sends an event to all watchers, if it is about another node.
    pub(crate) fn add(&self, event: &Event, node: &Node, now: tidings_gossip::Instant) {
        if self.0.receiver_count() == 0 {
            return;
        }
        let Some((event, name)) = change(event) else { return };
        let incarnation = node.entry(name, now).map_or(0, |entry| entry.incarnation);
        let name = Some(name.to_owned());
        let notice =
            notice(Notice { event, name, incarnation: Some(incarnation), ..Notice::default() });
        // All may have gone meanwhile.
        let _ = self.0.send(notice.into());
    }
}

impl Notices {
    /// The next line; `None` when the agent ends.
    pub(crate) async fn next(&mut self) -> Option<Arc<str>> {
        match self.0.recv().await {
            Ok(line) => Some(line),
            Err(RecvError::Lagged(missed)) => {
                let event = Change::Missed;
                Some(notice(Notice { event, missed: Some(missed), ..Notice::default() }).into())
            }
            Err(RecvError::Closed) => None,
        }
    }
}

/// The line of a notice, with the current time.
fn notice(mut notice: Notice) -> String {
    notice.time_ms = u64::try_from(Clock::wall_micros() / 1000).unwrap_or_default();
    let mut line = serde_json::to_string(&notice)
        .expect("a notice holds only numbers and strings, which always serialise");
    line.push('\n');
    line
}

/// The kind of an event for watchers, and its node.
fn change(event: &Event) -> Option<(Change, &str)> {
    Some(match event {
        Event::Joined(name) => (Change::Joined, name),
        Event::Suspected(name) => (Change::Suspected, name),
        Event::Cleared(name) => (Change::Cleared, name),
        Event::Died(name, _) => (Change::Dead, name),
        Event::Returned(name, _) => (Change::Back, name),
        Event::Left(name) => (Change::Left, name),
        Event::Restarted(name, _) => (Change::Restarted, name),
        Event::Forgotten(name) => (Change::Forgotten, name),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_gossip::{Address, Config, Incarnation, Instant, KeyRing, Member};

    fn node() -> Node {
        let config = Config::default();
        let address = Address::from_bytes(&[1]).expect("one byte is an address");
        let me = Member { name: "n1".to_owned(), address };
        let keys = KeyRing::open(&config.cluster);
        Node::new(config, keys, me, &[], Incarnation::new(1), 1, Instant::EPOCH)
            .expect("the default is valid")
    }

    #[tokio::test]
    async fn a_slow_watcher_learns_how_many_lines_it_missed() {
        let (board, node) = (Noticeboard::default(), node());
        let (reply, notices) = board.admit("n1");
        assert_eq!(reply, "{\"ok\":true,\"result\":{\"observer\":\"n1\"}}\n");
        let mut notices = notices.expect("there is room");
        let left = Event::Left("n2".to_owned());
        for _ in 0..LINES_KEPT + 7 {
            board.add(&left, &node, Instant::EPOCH);
        }
        board.add(&Event::Outlived(Incarnation::new(2)), &node, Instant::EPOCH);
        let missed = notices.next().await.expect("the board is there");
        assert!(missed.starts_with("{\"event\":\"missed\",\"missed\":7,"), "{missed}");
        for _ in 0..LINES_KEPT {
            let line = notices.next().await.expect("the board is there");
            assert!(line.starts_with("{\"event\":\"left\",\"name\":\"n2\",\"incarnation\":0,"));
        }
        drop(board);
        assert_eq!(notices.next().await, None);
    }

    #[test]
    fn watchers_are_bounded_and_places_become_free() {
        let board = Noticeboard::default();
        let all: Vec<_> = (0..WATCHERS_MOST).map(|_| board.admit("n1").1.expect("room")).collect();
        let (reply, none) = board.admit("n1");
        assert!(none.is_none() && reply.contains("\"busy\""), "{reply}");
        drop(all);
        assert!(board.admit("n1").1.is_some());
    }
}
