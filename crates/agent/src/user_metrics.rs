//! What users publish on this node: a bounded table of texts, each with an expiry time.
//!
//! Invariant: the table as a whole fits in the cluster's payload. A value that would break this is
//! rejected when it is published, so that the readings always have room.

use std::collections::BTreeMap;
use std::time::Duration;

use tidings_gossip::Instant;
use tidings_gossip::payload::{
    FIXED_BYTES, MAX_KEY_BYTES, MAX_VALUE_BYTES, NodeState, PayloadError, is_hidden,
};

/// The most metrics at a time.
const MOST: usize = 64;

/// The longest lifetime of a value, in seconds: a year.
const TTL_S_MOST: u64 = 365 * 86_400;

/// The user metrics of this node.
#[derive(Debug)]
pub(crate) struct UserMetrics {
    payload_bytes: usize,
    metrics: BTreeMap<String, Metric>,
}

#[derive(Clone, Debug)]
struct Metric {
    value: String,
    ends: Instant,
}

/// Why a metric was rejected; the table is unchanged.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum Refused {
    #[error(
        "the key {0:?} must be 1 to {MAX_KEY_BYTES} characters of a-z 0-9 _ . - and begin with a \
         letter or digit"
    )]
    Key(String),
    #[error("the value of {key} has {bytes} bytes; at most {MAX_VALUE_BYTES} are allowed")]
    Long { key: String, bytes: usize },
    #[error(
        "the value of {0} contains a control character, such as a line break, or a mark that turns text around"
    )]
    Control(String),
    #[error("a lifetime of {0} s is too long; at most {TTL_S_MOST} (a year) is allowed")]
    Ttl(u64),
    #[error("this node publishes {MOST} metrics already; withdraw one with a lifetime of 0 s")]
    Full,
    #[error(
        "a payload of {0} bytes has no room for user metrics: the readings need {FIXED_BYTES}; \
         raise payload_bytes on every node"
    )]
    NoRoom(usize),
    #[error(transparent)]
    Payload(#[from] PayloadError),
}

impl UserMetrics {
    /// An empty table for payloads of that size.
    pub(crate) fn new(payload_bytes: u16) -> Self {
        Self { payload_bytes: usize::from(payload_bytes), metrics: BTreeMap::new() }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.metrics.len()
    }

    /// Makes room for payloads of that size.
    ///
    /// # Errors
    /// If what is alive at `now` does not fit; the size is then as it was.
    pub(crate) fn set_payload_bytes(&mut self, bytes: u16, now: Instant) -> Result<(), Refused> {
        self.expire(now);
        if !self.metrics.is_empty() {
            fits(&self.metrics, bytes.into())?;
        }
        self.payload_bytes = bytes.into();
        Ok(())
    }

    /// Sets each key to its value from `now` on for `ttl_s` seconds, all of them or none; 0
    /// withdraws them.
    pub(crate) fn publish<'a>(
        &mut self,
        metrics: impl IntoIterator<Item = (&'a str, &'a str)>,
        ttl_s: u64,
        now: Instant,
    ) -> Result<(), Refused> {
        self.expire(now);
        let mut table = self.metrics.clone();
        for (key, value) in metrics {
            check(key, value, ttl_s)?;
            if ttl_s == 0 {
                table.remove(key);
            } else {
                let ends = now + Duration::from_secs(ttl_s);
                table.insert(key.to_owned(), Metric { value: value.to_owned(), ends });
            }
        }
        // What is withdrawn makes room: that must work also where too much is published.
        if ttl_s > 0 {
            fits(&table, self.payload_bytes)?;
        }
        self.metrics = table;
        Ok(())
    }

    /// What is alive at `now`, as the payload carries it.
    pub(crate) fn alive(&mut self, now: Instant) -> BTreeMap<String, String> {
        self.expire(now);
        texts(&self.metrics)
    }

    /// When the next value ends, if there is one.
    pub(crate) fn next_end(&self) -> Option<Instant> {
        self.metrics.values().map(|metric| metric.ends).min()
    }

    fn expire(&mut self, now: Instant) {
        self.metrics.retain(|_, metric| metric.ends > now);
    }
}

fn texts(metrics: &BTreeMap<String, Metric>) -> BTreeMap<String, String> {
    metrics.iter().map(|(key, metric)| (key.clone(), metric.value.clone())).collect()
}

/// Whether the whole table fits, by the payload's own encoder.
fn fits(metrics: &BTreeMap<String, Metric>, payload_bytes: usize) -> Result<(), Refused> {
    if metrics.len() > MOST {
        return Err(Refused::Full);
    }
    if payload_bytes <= FIXED_BYTES {
        return Err(Refused::NoRoom(payload_bytes));
    }
    let state = NodeState { user: texts(metrics), ..NodeState::default() };
    Ok(state.encode(&mut vec![0; payload_bytes])?)
}

/// Whether a metric may have this key.
pub(crate) fn is_key(key: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    key.len() <= MAX_KEY_BYTES
        && key.bytes().next().is_some_and(fits)
        && key.bytes().all(|byte| fits(byte) || b"_.-".contains(&byte))
}

/// Whether a metric may be published for that time, as far as it alone decides.
pub(crate) fn check(key: &str, value: &str, ttl_s: u64) -> Result<(), Refused> {
    if !is_key(key) {
        return Err(Refused::Key(key.chars().take(2 * MAX_KEY_BYTES).collect()));
    }
    if value.len() > MAX_VALUE_BYTES {
        return Err(Refused::Long { key: key.to_owned(), bytes: value.len() });
    }
    if value.chars().any(is_hidden) {
        return Err(Refused::Control(key.to_owned()));
    }
    if ttl_s > TTL_S_MOST {
        return Err(Refused::Ttl(ttl_s));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Instant {
        Instant::from_micros(seconds * 1_000_000)
    }

    fn keys(metrics: &mut UserMetrics, now: Instant) -> Vec<String> {
        metrics.alive(now).into_keys().collect()
    }

    #[test]
    fn a_value_expires_at_its_time() {
        let mut metrics = UserMetrics::new(128);
        metrics.publish([("gpu", "3")], 60, at(0)).expect("fits");
        metrics.publish([("job", "a b")], 10, at(0)).expect("fits");
        assert_eq!(metrics.next_end(), Some(at(10)));
        assert_eq!(keys(&mut metrics, at(9)), ["gpu", "job"]);
        assert_eq!(keys(&mut metrics, at(10)), ["gpu"]);
        metrics.publish([("gpu", "4")], 60, at(50)).expect("fits");
        assert_eq!(metrics.alive(at(60))["gpu"], "4", "publishing again prolongs");
        assert_eq!(keys(&mut metrics, at(110)), [""; 0]);
        assert_eq!(metrics.next_end(), None);
    }

    #[test]
    fn a_lifetime_of_zero_withdraws() {
        let mut metrics = UserMetrics::new(128);
        metrics.publish([("gpu", "3")], 60, at(0)).expect("fits");
        metrics.publish([("gpu", "")], 0, at(1)).expect("withdrawing always works");
        metrics.publish([("never-there", "")], 0, at(1)).expect("even of what is not there");
        assert_eq!(metrics.len(), 0);
    }

    #[test]
    fn a_metric_that_does_not_fit_is_rejected_and_changes_nothing() {
        let mut metrics = UserMetrics::new(64);
        metrics.publish([("gpu", "3")], 60, at(0)).expect("fits");
        let refused =
            metrics.publish([("gpu", &*"x".repeat(40))], 60, at(0)).expect_err("20 bytes of room");
        assert!(matches!(refused, Refused::Payload(PayloadError::UserMetricsTooLarge { .. })));
        assert_eq!(metrics.alive(at(1))["gpu"], "3");
        let refused = UserMetrics::new(44).publish([("k", "v")], 1, at(0)).expect_err("no room");
        assert!(refused.to_string().contains("has no room for user metrics"), "{refused}");
    }

    #[test]
    fn several_are_published_at_once_or_none_is() {
        let mut metrics = UserMetrics::new(64);
        metrics.publish([("a", "1"), ("b", "2")], 60, at(0)).expect("8 of 20 bytes");
        let long = "x".repeat(10);
        let refused =
            metrics.publish([("a", "7"), ("c", &*long)], 60, at(1)).expect_err("21 bytes");
        let excess = PayloadError::UserMetricsTooLarge { excess_bytes: 1, room_bytes: 20 };
        assert_eq!(refused, Refused::Payload(excess));
        assert!(metrics.publish([("a", "7"), ("B", "1")], 60, at(1)).is_err(), "no such key");
        let alive = metrics.alive(at(2));
        assert_eq!(alive.into_iter().collect::<Vec<_>>(), [("a", "1"), ("b", "2")].map(owned));
        let halves = [("a", ""), ("c", "")];
        metrics.publish(halves, 0, at(3)).expect("withdrawing always works");
        // Alone the second does not fit: together they do, since the first becomes shorter.
        let both = [("b", ""), ("cc", &*"x".repeat(13))];
        metrics.publish(both, 60, at(4)).expect("3 + 17 bytes");
        assert_eq!(keys(&mut metrics, at(5)), ["b", "cc"]);
    }

    #[test]
    fn the_room_changes_while_all_fits() {
        let mut metrics = UserMetrics::new(64);
        let long = "x".repeat(40);
        metrics.publish([("note", &*long)], 60, at(0)).expect_err("46 of 20 bytes");
        metrics.set_payload_bytes(90, at(0)).expect("nothing is in the way");
        metrics.publish([("note", &*long)], 60, at(0)).expect("46 of 46 bytes");
        let refused = metrics.set_payload_bytes(64, at(1)).expect_err("it is longer");
        assert!(refused.to_string().contains("need 26 bytes more"), "{refused}");
        assert_eq!(keys(&mut metrics, at(2)), ["note"]);
        metrics.set_payload_bytes(44, at(60)).expect("it has ended");
    }

    fn owned((key, value): (&str, &str)) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn bad_keys_values_and_lifetimes_are_rejected() {
        let mut metrics = UserMetrics::new(1024);
        for key in ["", "Gpu", "a b", ".a", "-a", "ü", &"k".repeat(33)] {
            let refused = metrics.publish([(key, "1")], 1, at(0)).expect_err(key);
            assert!(matches!(refused, Refused::Key(_)), "{key}");
        }
        let refusals = [
            metrics.publish([("k", &*"v".repeat(256))], 1, at(0)),
            metrics.publish([("k", "a\nb")], 1, at(0)),
            metrics.publish([("k", "v")], TTL_S_MOST + 1, at(0)),
        ];
        assert!(matches!(refusals[0], Err(Refused::Long { bytes: 256, .. })));
        assert!(matches!(refusals[1], Err(Refused::Control(_))));
        assert!(matches!(refusals[2], Err(Refused::Ttl(_))));
    }

    #[test]
    fn the_table_is_bounded() {
        let mut metrics = UserMetrics::new(1024);
        for number in 0..MOST {
            metrics.publish([(&*format!("k{number}"), "v")], 60, at(0)).expect("fits");
        }
        assert_eq!(metrics.publish([("one-more", "v")], 60, at(0)), Err(Refused::Full));
        metrics.publish([("k0", "w")], 60, at(0)).expect("a known key may still change");
    }
}
