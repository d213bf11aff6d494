//! What a client may ask: one JSON object per line; its field `op` says which request it is.
//!
//! Unknown fields are refused rather than ignored: a misspelt `ttl` would otherwise silently
//! publish a value for the default time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The longest request line an agent reads, in bytes, its newline included. A longer one is
/// answered with [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge) and the connection is closed.
pub const REQUEST_BYTES_MAX: usize = 64 * 1024;

/// How long a published value lasts by default, in seconds.
pub const TTL_S_DEFAULT: u64 = 3600;

/// One request.
///
/// ```
/// use tidings_control::Request;
/// let request: Request = serde_json::from_str(r#"{"op":"node","name":"n7"}"#).unwrap();
/// assert_eq!(request, Request::Node { name: "n7".to_owned() });
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// The agent's own condition and configuration; answered with [`Status`](crate::Status).
    Status,
    /// How old the agent's picture is, cheap enough to poll; answered with [`Ages`](crate::Ages).
    Ages,
    /// Everything the agent knows; answered with [`Nodes`](crate::Nodes).
    Nodes,
    /// What the agent knows of one node; answered with [`NodeReport`](crate::NodeReport), or
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound).
    Node {
        /// The node's name as the cluster knows it.
        name: String,
    },
    /// What every colony is like; answered with [`Colonies`](crate::Colonies).
    Colonies,
    /// The nodes of another colony, asked of its members now; answered with
    /// [`Nodes`](crate::Nodes), [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) or
    /// [`ErrorKind::Unanswered`](crate::ErrorKind::Unanswered).
    Visit {
        /// The colony's number.
        colony: u32,
    },
    /// Adds a metric of the user's to this node's entry; answered with
    /// [`Published`](crate::Published).
    Publish {
        /// 1 to 32 characters of `a-z 0-9 _ . -`, the first a letter or digit.
        key: String,
        /// Any text without control characters; what fits is bounded by the cluster's payload.
        value: String,
        /// Seconds until the value is withdrawn; 0 withdraws it at once;
        /// [`TTL_S_DEFAULT`] when absent.
        #[serde(default = "ttl_s_default")]
        ttl_s: u64,
    },
    /// Adds several metrics of the user's to this node's entry at once, or none of them; answered
    /// with [`PublishedAll`](crate::PublishedAll).
    PublishAll {
        /// Values by key, each as in [`Publish`](Self::Publish).
        metrics: BTreeMap<String, String>,
        /// As in [`Publish`](Self::Publish), for all of them.
        #[serde(default = "ttl_s_default")]
        ttl_s: u64,
    },
    /// Report what the agent notices of other nodes, from now on; answered with
    /// [`Watching`](crate::Watching), then with one [`Notice`](crate::Notice) per line until either
    /// side ends. Nothing else can be asked on the connection.
    Watch,
    /// Picks nodes for work; answered with [`Picked`](crate::Picked), or
    /// [`ErrorKind::Unsatisfied`](crate::ErrorKind::Unsatisfied). What was picked counts as taken
    /// until an entry comes that can show it.
    Pick(Pick),
    /// Try what lies between this node and another; answered with [`Checkup`](crate::Checkup)
    /// after some seconds.
    Check {
        /// The name of a member, or a host name or IP address, with or without a port.
        host: String,
    },
    /// Ask every member which keys it holds; answered with [`KeyReport`](crate::KeyReport) after
    /// some seconds.
    Keys,
    /// Leave the cluster cleanly and end the process; answered with [`Leaving`](crate::Leaving)
    /// before the other nodes are notified.
    Leave,
}

impl Request {
    /// Whether it changes what others see of this node, has it send what is asked for, or ends the
    /// agent: that is for operators.
    pub fn is_for_operators(&self) -> bool {
        let publishes = matches!(self, Self::Publish { .. } | Self::PublishAll { .. });
        publishes || matches!(self, Self::Check { .. } | Self::Keys | Self::Leave)
    }
}

/// What [`Request::Pick`] asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pick {
    /// How many different nodes.
    pub count: u32,
    /// Processors that each node must have free.
    #[serde(default)]
    pub cpus: f64,
    /// Bytes of memory that each node must have free.
    #[serde(default)]
    pub mem_bytes: u64,
    /// Nodes that are not to be picked.
    #[serde(default)]
    pub avoid: Vec<String>,
    /// `two-choices`, `least-loaded`, `spread` or `pack`.
    #[serde(default = "policy_default")]
    pub policy: String,
}

impl Pick {
    /// Any `count` nodes, by the default policy.
    ///
    /// ```
    /// use tidings_control::Pick;
    /// let pick = Pick { cpus: 8.0, mem_bytes: 16 << 30, ..Pick::of(4) };
    /// assert_eq!(pick.policy, "two-choices");
    /// ```
    pub fn of(count: u32) -> Self {
        Self { count, cpus: 0.0, mem_bytes: 0, avoid: Vec::new(), policy: policy_default() }
    }
}

fn policy_default() -> String {
    "two-choices".to_owned()
}

fn ttl_s_default() -> u64 {
    TTL_S_DEFAULT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_has_the_documented_form() {
        let publish = Request::Publish { key: "gpu".to_owned(), value: "3".to_owned(), ttl_s: 60 };
        let forms = [
            (Request::Status, r#"{"op":"status"}"#),
            (Request::Ages, r#"{"op":"ages"}"#),
            (Request::Nodes, r#"{"op":"nodes"}"#),
            (Request::Node { name: "n7".to_owned() }, r#"{"op":"node","name":"n7"}"#),
            (
                Request::Pick(Pick {
                    count: 2,
                    cpus: 1.5,
                    mem_bytes: 0,
                    avoid: vec!["n7".to_owned()],
                    policy: "pack".to_owned(),
                }),
                r#"{"op":"pick","count":2,"cpus":1.5,"mem_bytes":0,"avoid":["n7"],"policy":"pack"}"#,
            ),
            (Request::Colonies, r#"{"op":"colonies"}"#),
            (Request::Visit { colony: 3 }, r#"{"op":"visit","colony":3}"#),
            (publish, r#"{"op":"publish","key":"gpu","value":"3","ttl_s":60}"#),
            (
                Request::PublishAll {
                    metrics: [("gpu", "3"), ("job", "a")]
                        .map(|(key, value)| (key.to_owned(), value.to_owned()))
                        .into(),
                    ttl_s: 60,
                },
                r#"{"op":"publish-all","metrics":{"gpu":"3","job":"a"},"ttl_s":60}"#,
            ),
            (Request::Watch, r#"{"op":"watch"}"#),
            (Request::Check { host: "n7:9616".to_owned() }, r#"{"op":"check","host":"n7:9616"}"#),
            (Request::Keys, r#"{"op":"keys"}"#),
            (Request::Leave, r#"{"op":"leave"}"#),
        ];
        for (request, text) in forms {
            assert_eq!(serde_json::to_string(&request).expect("plain strings"), text);
            assert_eq!(serde_json::from_str::<Request>(text).expect(text), request);
        }
    }

    #[test]
    fn a_missing_ttl_means_the_default() {
        let request: Request =
            serde_json::from_str(r#"{"op":"publish","key":"k","value":"v"}"#).expect("valid");
        let Request::Publish { ttl_s, .. } = request else { panic!("not a publish: {request:?}") };
        assert_eq!(ttl_s, TTL_S_DEFAULT);
    }

    #[test]
    fn unknown_operations_and_fields_are_refused() {
        for text in [r#"{"op":"reboot"}"#, r#"{"op":"publish","key":"k","value":"v","ttl":3}"#] {
            assert!(serde_json::from_str::<Request>(text).is_err(), "{text}");
        }
    }
}
