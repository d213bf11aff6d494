//! What tasks have written themselves, and what runs have said of them: both must agree.
//!
//! A task writes a line into the file `ran` when it begins, and its result names its try. A try
//! that was lost may still write, since its host may only have been frozen or cut off; what counts
//! is that it is an earlier try than the one that has ended.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::place::Place;

/// A task that is short. What it reads of others, the files behind its name, are results.
pub(crate) const SHORT: &str = "\
name=\"$1\"
shift
for input; do
    grep -q '^result' \"$input\" || exit 7
done
set -- \"$name\"
echo \"$1 $TIDINGS_ATTEMPT $HOST\" >> ran
sleep 0.0$1
echo \"$1 $TIDINGS_ATTEMPT $HOST\" >> wrote
echo \"result $1 $TIDINGS_ATTEMPT\"
";

/// A task that says where it has begun, and waits until the tasks of that host are let go.
pub(crate) const GATED: &str = "\
echo \"$1 $TIDINGS_ATTEMPT $HOST\" >> ran
echo \"$HOST $1\" > began
read _ < gate.$HOST
echo \"$1 $TIDINGS_ATTEMPT $HOST\" >> wrote
echo \"result $1 $TIDINGS_ATTEMPT\"
";

/// Names of so many tasks.
pub(crate) fn names(count: usize) -> Vec<String> {
    (100..100 + count).map(|number| number.to_string()).collect()
}

/// What has ended, as runs have said, and by which try. Its result names that.
#[derive(Debug, Default)]
pub(crate) struct Account(BTreeMap<String, u64>);

impl Account {
    /// How many tasks have ended.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The try by which a task has ended.
    pub(crate) fn attempt(&self, name: &str) -> u64 {
        self.0[name]
    }

    /// Takes what a run says of a task. One that was lost three times, on two hosts, has failed,
    /// and so have those that wait for it, until the run is started again.
    pub(crate) fn take(&mut self, object: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name = object.get("name").unwrap_or(&object["arguments"][0]);
        let name = text(name);
        let causes: Vec<String> = object["failures"].as_array().map_or_else(Vec::new, |all| {
            all.iter().map(|failure| text(&failure["cause"])).collect()
        });
        let is_fault = |cause: &String| ["lost", "returned", "input"].contains(&cause.as_str());
        assert!(causes.iter().all(is_fault), "a task has failed by itself: {object}");
        if object["outcome"] == "failed" {
            let losses = causes.iter().filter(|cause| *cause == "lost").count();
            let is_behind = causes.last().is_some_and(|cause| cause == "input");
            return assert!(losses >= 3 || is_behind, "stopped after {losses} losses: {object}");
        }
        assert_eq!(object["outcome"], "done", "{object}");
        let attempt = object["attempts"].as_u64().unwrap();
        let printed = text(&object["stdout"]);
        let own = format!("result {name} {attempt}\n");
        assert!(printed.ends_with(&own), "of another try: {object}");
        if let Some(before) = self.0.insert(name, attempt) {
            assert_eq!(before, attempt, "it has ended twice: {object}");
            assert_eq!(object["done_before"], true, "{object}");
        }
    }

    /// All of these have ended, no try has begun twice, and none after the one that has ended.
    pub(crate) fn check(&self, place: &Place, names: &[String]) {
        assert!(self.0.keys().eq(names), "{self:?}");
        let mut begun = BTreeSet::new();
        for line in place.lines("ran") {
            let mut words = line.split(' ');
            let (name, attempt) = (words.next().unwrap(), words.next().unwrap());
            let attempt: u64 = attempt.parse().unwrap();
            assert!(begun.insert((name.to_owned(), attempt)), "{line}: this try has begun twice");
            assert!(attempt <= self.attempt(name), "{line}: it ran again after it had ended");
        }
        for (name, attempt) in &self.0 {
            assert!(begun.contains(&(name.clone(), *attempt)), "{name} ended without a beginning");
        }
    }
}
