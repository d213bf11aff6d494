//! Watching: what an agent notices of other nodes, reported as it happens.
//!
//! A client asks once, with [`Request::Watch`](crate::Request::Watch); the agent confirms with
//! [`Watching`] and from then on writes one [`Notice`] per line, until either side ends.
//! Nothing else can be asked on that connection. A client that reads too slowly misses notices and
//! is told how many it missed; the agent never waits for it.

use std::io::BufReader;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use serde::{Deserialize, Serialize};

use crate::{Client, ClientError, Request};

/// Confirms a `watch`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Watching {
    /// The name of the node whose agent reports.
    pub observer: String,
}

/// What has happened to a node, as the observer sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Its first entry has come.
    Joined,
    /// It does not answer this agent's probes, nor others'.
    Suspected,
    /// It was suspected and is alive.
    Cleared,
    /// It was declared dead, by this agent or another.
    Dead,
    /// It was dead or had left, and is back.
    Back,
    /// It left.
    Left,
    /// It has begun a later incarnation.
    Restarted,
    /// Nothing was heard of it for `forget_after`, and it is forgotten.
    Forgotten,
    /// Not about a node: `missed` notices were lost, because they were not read in time.
    Missed,
    /// A change that this version of the client does not know.
    #[default]
    #[serde(other)]
    Other,
}

/// One line of a watch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Notice {
    /// What has happened.
    pub event: Change,
    /// To which node; `None` with [`Change::Missed`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// In which of its incarnations; 0 where that is not known, `None` with [`Change::Missed`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<u32>,
    /// How many notices were lost; only with [`Change::Missed`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed: Option<u64>,
    /// When the observer noticed, by its wall clock, in milliseconds since 1970.
    pub time_ms: u64,
}

impl Client {
    /// Asks the agent to report what it notices of other nodes, from now on. The connection serves
    /// nothing else afterwards.
    ///
    /// # Errors
    /// See [`ClientError`]; [`ClientError::Refused`] with
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) when too many watch already.
    pub fn watch(self) -> Result<Watch, ClientError> {
        Watch::begin(self)
    }
}

/// A connection on which an agent reports what it notices.
#[derive(Debug)]
pub struct Watch {
    client: Client,
    /// The node whose agent it is.
    pub observer: String,
}

impl Watch {
    /// Begins to watch on this connection.
    fn begin(mut client: Client) -> Result<Self, ClientError> {
        let Watching { observer } = client.call(&Request::Watch)?;
        client.wait_for_ever()?;
        Ok(Self { client, observer })
    }

    /// The next notice, however long that takes.
    ///
    /// # Errors
    /// [`ClientError::Closed`] when the agent has ended, else see [`ClientError`].
    pub fn next_notice(&mut self) -> Result<Notice, ClientError> {
        self.client.read()
    }

    /// Whether more has been read from the socket than was returned: then it need not be readable.
    pub fn is_ready(&self) -> bool {
        !self.client.stream().buffer().is_empty()
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        let stream: &BufReader<UnixStream> = self.client.stream();
        stream.get_ref().as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_have_the_documented_form() {
        let dead = Notice {
            event: Change::Dead,
            name: Some("n5".to_owned()),
            incarnation: Some(3),
            missed: None,
            time_ms: 1_700_000_000_123,
        };
        let text = r#"{"event":"dead","name":"n5","incarnation":3,"time_ms":1700000000123}"#;
        assert_eq!(serde_json::to_string(&dead).expect("plain values"), text);
        assert_eq!(serde_json::from_str::<Notice>(text).expect(text), dead);
        let missed = Notice { event: Change::Missed, missed: Some(7), ..Notice::default() };
        let text = r#"{"event":"missed","missed":7,"time_ms":0}"#;
        assert_eq!(serde_json::to_string(&missed).expect("plain values"), text);
        let unknown = serde_json::from_str::<Notice>(r#"{"event":"married","name":"n1"}"#);
        assert_eq!(unknown.expect("readable").event, Change::Other);
    }
}
