//! Notices: the events for watchers, as lines that are made once for all of them.
//!
//! All watchers read one ring of the latest lines. A watcher that is too slow for the ring is told
//! how many lines were lost; the loop that writes them never waits. The last few lines are kept for
//! those who ask afterwards what has happened, as the page does when it is opened.
//!
//! Lines are numbered from 1 on since the agent started, without gaps, so who asks again names the
//! first line that it has not had, and sees by the number of the first in the answer whether it
//! has missed some, or whether the agent is another one.

use std::collections::VecDeque;
use std::sync::Arc;

use tidings_control::{Change, Notice, Reply, Watching};
use tidings_gossip::{Event, Node};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::clock::Clock;
use crate::reply::reply_line;

/// Lines kept for watchers that are behind.
pub(crate) const LINES_KEPT: usize = 1024;

/// Lines kept for those who ask for what has happened.
pub(crate) const RECENT_MOST: usize = 256;
/// Bytes of a line at most: a name has 63 bytes, of which each may be six of JSON.
pub(crate) const LINE_BYTES: usize = 512;

/// The writing end.
#[derive(Debug)]
pub(crate) struct Noticeboard {
    watchers: broadcast::Sender<Arc<str>>,
    recent: VecDeque<Arc<str>>,
    /// Lines so far.
    written: u64,
}

/// The reading end of one watcher.
#[derive(Debug)]
pub(crate) struct Notices(broadcast::Receiver<Arc<str>>);

impl Default for Noticeboard {
    fn default() -> Self {
        let watchers = broadcast::channel(LINES_KEPT).0;
        Self { watchers, recent: VecDeque::with_capacity(RECENT_MOST), written: 0 }
    }
}

impl Noticeboard {
    /// Admits one more watcher of `observer`'s events: the reply, and the lines.
    pub(crate) fn admit(&self, observer: &str) -> (String, Notices) {
        let watching = Watching { observer: observer.to_owned() };
        (reply_line(&Reply::Result(watching)), Notices(self.watchers.subscribe()))
    }

    /// Keeps an event and sends it to all watchers, if it is about another node.
    pub(crate) fn add(&mut self, event: &Event, node: &Node, now: tidings_gossip::Instant) {
        let Some((event, name)) = change(event) else { return };
        let incarnation = node.entry(name, now).map_or(0, |entry| entry.incarnation);
        let name = Some(name.to_owned());
        let notice =
            notice(Notice { event, name, incarnation: Some(incarnation), ..Notice::default() });
        let line: Arc<str> = notice.into();
        if self.recent.len() == RECENT_MOST {
            self.recent.pop_front();
        }
        self.recent.push_back(Arc::clone(&line));
        self.written += 1;
        // There may be no watcher.
        let _ = self.watchers.send(line);
    }

    /// The kept events from number `from` on, as JSON, of `observer`. A number that has not been
    /// given yet is one of an earlier agent's: all that are kept are the answer.
    pub(crate) fn recent(&self, observer: &str, from: u64) -> String {
        let oldest = self.written + 1 - self.recent.len() as u64;
        let first = if from > self.written + 1 { oldest } else { from.max(oldest) };
        let known = usize::try_from(first - oldest).expect("no more than are kept");
        let lines: Vec<&str> = self.recent.iter().skip(known).map(|line| line.trim_end()).collect();
        let observer = serde_json::to_string(observer).expect("text serialises");
        format!("{{\"observer\":{observer},\"first\":{first},\"events\":[{}]}}", lines.join(","))
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
        let (mut board, node) = (Noticeboard::default(), node());
        let (reply, mut notices) = board.admit("n1");
        assert_eq!(reply, "{\"ok\":true,\"result\":{\"observer\":\"n1\"}}\n");
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

    /// The number of the first event of an answer, and of how many nodes it tells.
    fn told(answer: &str) -> (u64, Vec<String>) {
        let answer: serde_json::Value = serde_json::from_str(answer).expect("JSON");
        let events = answer["events"].as_array().expect("a list");
        let name = |event: &serde_json::Value| event["name"].as_str().expect("text").to_owned();
        assert!(events.iter().all(|event| event["time_ms"].as_u64() > Some(1 << 40)));
        (answer["first"].as_u64().expect("a number"), events.iter().map(name).collect())
    }

    #[test]
    fn the_last_events_are_kept_for_those_who_ask_later() {
        let (mut board, node) = (Noticeboard::default(), node());
        assert_eq!(board.recent("n1", 0), r#"{"observer":"n1","first":1,"events":[]}"#);
        board.add(&Event::Joined("n2".to_owned()), &node, Instant::EPOCH);
        board.add(&Event::Left("n2".to_owned()), &node, Instant::EPOCH);
        assert_eq!(told(&board.recent("n1", 0)), (1, vec!["n2".to_owned(); 2]));
        assert_eq!(told(&board.recent("n1", 2)), (2, vec!["n2".to_owned()]));
        assert_eq!(told(&board.recent("n1", 3)), (3, vec![]));
        assert_eq!(told(&board.recent("n1", 4)).0, 1, "of an earlier agent: all");
        for number in 0..RECENT_MOST {
            board.add(&Event::Joined(format!("m{number}")), &node, Instant::EPOCH);
        }
        let (first, names) = told(&board.recent("n1", 2));
        assert_eq!((first, names.len()), (3, RECENT_MOST), "the two oldest have made room");
        assert_eq!(names[0], "m0");
    }

    #[test]
    fn a_line_is_no_longer_than_the_bound_on_memory_counts_with() {
        let (mut board, node) = (Noticeboard::default(), node());
        board.add(
            &Event::Restarted("\u{1}".repeat(63), Incarnation::new(1)),
            &node,
            Instant::EPOCH,
        );
        assert!(board.recent[0].len() <= LINE_BYTES, "{}", board.recent[0].len());
    }
}
