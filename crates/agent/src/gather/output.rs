//! What a collector writes: a metric a line, as `name value`.
//!
//! Files for node_exporter's textfile collector read the same, as far as they are simple: comments
//! are passed over, a timestamp behind a number too, and a line with labels is none that a payload
//! has room for.
//!
//! Invariant: what is taken can be published, and is no more than a payload holds.

use std::collections::BTreeMap;

use tidings_gossip::config::MAX_PAYLOAD_BYTES;
use tidings_gossip::payload::{FIXED_BYTES, metric_bytes};

use crate::user_metrics;

/// The most bytes that metrics of one collector take: those of the largest payload.
const BYTES_MOST: usize = MAX_PAYLOAD_BYTES as usize - FIXED_BYTES;

/// The metrics of a text, and what is wrong with the first line that has none.
pub(super) fn metrics(text: &str) -> (BTreeMap<String, String>, Option<String>) {
    let (mut metrics, mut complaint) = (BTreeMap::new(), None);
    let mut bytes = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let read = metric(line).and_then(|(key, value)| {
            bytes += metric_bytes(key, value);
            let room = format!("the metrics take more than {BYTES_MOST} bytes");
            if bytes > BYTES_MOST { Err(room) } else { Ok((key, value)) }
        });
        match read {
            Ok((key, value)) => drop(metrics.insert(key.to_owned(), value.to_owned())),
            Err(reason) => {
                complaint.get_or_insert(format!("line {number} is left out: {reason}"));
            }
        }
    }
    (metrics, complaint)
}

/// Name and value of a line.
fn metric(line: &str) -> Result<(&str, &str), String> {
    let (key, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if key.contains('{') {
        let name = key.split('{').next().unwrap_or_default();
        let name: String = name.chars().take(32).collect();
        return Err(format!("{name} has labels, and only simple gauges are taken"));
    }
    let rest = rest.trim();
    let value = match rest.split_once(char::is_whitespace) {
        Some((number, time)) if is_number(number) && time.trim().parse::<i64>().is_ok() => number,
        _ => rest,
    };
    if value.is_empty() {
        return Err("a value is missing: write `name value`".to_owned());
    }
    user_metrics::check(key, value, 0).map_err(|refused| refused.to_string())?;
    Ok((key, value))
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        metrics(text).0.into_iter().collect()
    }

    fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
    }

    #[test]
    fn lines_and_simple_gauges_are_read() {
        let own = "licences 12\n\n  state  in repair  \nempty.queue 0\n";
        let expected = [("empty.queue", "0"), ("licences", "12"), ("state", "in repair")];
        assert_eq!(pairs(own), owned(&expected));
        let textfile = "# HELP smart_ok Whether disks are well.\n# TYPE smart_ok gauge\n\
                        smart_ok 1\nlast_backup 1.7e+09 1795225353102\n";
        assert_eq!(pairs(textfile), owned(&[("last_backup", "1.7e+09"), ("smart_ok", "1")]));
        assert_eq!(metrics(textfile).1, None);
    }

    #[test]
    fn a_line_that_cannot_be_taken_is_named_and_the_others_are() {
        for (text, why) in [
            ("disk_ok{disk=\"sda\"} 1\na 1\n", "line 1 is left out: disk_ok has labels"),
            ("a 1\nalone\n", "line 2 is left out: a value is missing"),
            ("a 1\nBig 1\n", "line 2 is left out: the key \"Big\""),
            ("a 1\nb \u{202e}x\n", "line 2 is left out: the value of b"),
        ] {
            let (read, complaint) = metrics(text);
            assert_eq!(read.into_iter().collect::<Vec<_>>(), owned(&[("a", "1")]), "{text}");
            assert!(complaint.as_ref().is_some_and(|said| said.contains(why)), "{complaint:?}");
        }
    }

    #[test]
    fn no_more_is_taken_than_a_payload_holds() {
        let many = (0..500).map(|number| format!("k{number} {number}\n"));
        let many = many.collect::<Vec<_>>().concat();
        let (read, complaint) = metrics(&many);
        let bytes: usize = read.iter().map(|(key, value)| metric_bytes(key, value)).sum();
        assert!(bytes <= BYTES_MOST && read.len() > 50, "{} of {bytes}", read.len());
        assert!(complaint.is_some_and(|said| said.contains("more than 980 bytes")));
    }
}
