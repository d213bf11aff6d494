//! What collectors have said last, each with the time at which it ends.

use std::collections::BTreeMap;

use tidings_gossip::Instant;
use tidings_gossip::payload::metric_bytes;

use super::news::News;

/// The metrics of all collectors, by collector.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    sources: BTreeMap<String, Source>,
}

#[derive(Debug)]
struct Source {
    metrics: BTreeMap<String, String>,
    ends: Instant,
    /// Why it has none, or not all, as it was logged.
    complaint: Option<String>,
}

/// What changed of a collector, for the log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It goes on as before.
    Same,
    /// It fails for another reason than before.
    Fails(String),
    /// It no longer fails.
    Works,
}

/// Metrics that have no room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// Their names.
    pub(crate) keys: Vec<String>,
    /// The room that they would need.
    pub(crate) bytes: usize,
}

impl Gathered {
    /// Takes what a collector says in the place of what it said before.
    pub(crate) fn take(&mut self, news: News, now: Instant) -> Turn {
        let News { source, outcome, complaint, lasts } = news;
        let before = self.sources.remove(&source).and_then(|source| source.complaint);
        let (metrics, complaint) = match outcome {
            Ok(metrics) => (metrics, complaint),
            Err(reason) => (BTreeMap::new(), Some(reason)),
        };
        let turn = match &complaint {
            Some(reason) if before.as_ref() != Some(reason) => Turn::Fails(reason.clone()),
            None if before.is_some() => Turn::Works,
            _ => Turn::Same,
        };
        if !metrics.is_empty() || complaint.is_some() {
            self.sources.insert(source, Source { metrics, ends: now + lasts, complaint });
        }
        turn
    }

    /// Adds to `user` what is alive at `now` and fits in `room` bytes beside it.
    pub(crate) fn add_to(
        &mut self,
        user: &mut BTreeMap<String, String>,
        room: usize,
        now: Instant,
    ) -> LeftOut {
        let taken: usize = user.iter().map(|(key, value)| metric_bytes(key, value)).sum();
        let mut left = room.saturating_sub(taken);
        let mut left_out = LeftOut::default();
        for source in self.sources.values_mut() {
            if source.ends <= now {
                source.metrics.clear();
            }
            for (key, value) in &source.metrics {
                let bytes = metric_bytes(key, value);
                if user.contains_key(key) {
                    continue;
                }
                if bytes <= left {
                    left -= bytes;
                    user.insert(key.clone(), value.clone());
                } else {
                    left_out.bytes += bytes;
                    left_out.keys.push(key.clone());
                }
            }
        }
        left_out
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: i64) -> Instant {
        Instant::from_micros(seconds * 1_000_000)
    }

    fn of(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
    }

    fn says(source: &str, outcome: Result<&[(&str, &str)], &str>) -> News {
        News {
            source: source.to_owned(),
            outcome: outcome.map(of).map_err(str::to_owned),
            complaint: None,
            lasts: Duration::from_secs(10),
        }
    }

    #[test]
    fn users_come_first_and_what_has_no_room_is_named() {
        let mut gathered = Gathered::default();
        gathered.take(says("b", Ok(&[("gpu", "1"), ("temp", "70")])), at(0));
        gathered.take(says("a", Ok(&[("fs", "40"), ("job", "x")])), at(0));
        let mut user = of(&[("job", "mine")]);
        // 20 bytes: 9 of the user, 6 of fs; gpu would take 6 and temp 8.
        let left_out = gathered.add_to(&mut user, 20, at(1));
        assert_eq!(user, of(&[("fs", "40"), ("job", "mine")]));
        let expected = LeftOut { keys: vec!["gpu".to_owned(), "temp".to_owned()], bytes: 14 };
        assert_eq!(left_out, expected);
        let mut user = of(&[]);
        assert_eq!(gathered.add_to(&mut user, 26, at(1)), LeftOut::default());
        assert_eq!(user, of(&[("fs", "40"), ("gpu", "1"), ("job", "x"), ("temp", "70")]));
    }

    #[test]
    fn what_a_collector_no_longer_says_is_absent() {
        let mut gathered = Gathered::default();
        let shown = |gathered: &mut Gathered, now| {
            let mut user = of(&[]);
            gathered.add_to(&mut user, 100, now);
            user
        };
        assert_eq!(gathered.take(says("a", Ok(&[("x", "1"), ("y", "1")])), at(0)), Turn::Same);
        assert_eq!(gathered.take(says("a", Ok(&[("x", "2")])), at(5)), Turn::Same);
        assert_eq!(shown(&mut gathered, at(14)), of(&[("x", "2")]), "y was not said again");
        assert_eq!(shown(&mut gathered, at(15)), of(&[]), "nothing was said in time");
        gathered.take(says("a", Ok(&[("x", "3")])), at(20));
        let fails = Turn::Fails("exit status: 1".to_owned());
        assert_eq!(gathered.take(says("a", Err("exit status: 1")), at(21)), fails);
        assert_eq!(shown(&mut gathered, at(21)), of(&[]));
        assert_eq!(gathered.take(says("a", Err("exit status: 1")), at(22)), Turn::Same);
        assert_eq!(gathered.take(says("a", Ok(&[("x", "4")])), at(23)), Turn::Works);
        assert_eq!(gathered.take(News::gone("a".to_owned()), at(24)), Turn::Same);
        assert_eq!(shown(&mut gathered, at(24)), of(&[]));
    }
}
