//! Where a run's numbers are read: in the files that it leaves in its directory.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

/// More of a file than this is not read.
const MOST_BYTES: u64 = 16 << 20;

/// Where a number is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The run as a whole, from the launcher's start to its end.
    Wall,
    /// A number of the last JSON object in a file of the run, `stdout` among them.
    Json {
        /// The file.
        file: String,
        /// The path of the number, keys with dots between them.
        key: String,
    },
    /// The number that follows a text.
    Text {
        /// The file.
        file: String,
        /// The text before the number.
        after: String,
        /// Which of several.
        take: Take,
    },
}

/// Which of several numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Take {
    /// The last.
    #[default]
    Last,
    /// The sum of all.
    Sum,
}

/// All JSON objects that stand on lines of their own in a file of a run.
///
/// # Errors
/// What is wrong with the file, for people.
pub fn rows(directory: &Path, file: &str) -> Result<Vec<Value>, String> {
    let text = contents(directory, file)?;
    let objects = text.lines().filter(|line| line.starts_with('{')).map(serde_json::from_str);
    objects.collect::<Result<_, _>>().map_err(|error| format!("{file}: {error}"))
}

/// The number that a run left where `reading` says; why there is none.
///
/// # Errors
/// What is missing, for people.
pub fn read(reading: &Reading, directory: &Path) -> Result<f64, String> {
    let number = match reading {
        Reading::Wall => return Err("the wall time is taken by who waits".to_owned()),
        Reading::Json { file, key } => {
            let found = last_object(&contents(directory, file)?, key);
            found
                .and_then(|value| value.as_f64())
                .ok_or_else(|| format!("{file} has no JSON object with a number `{key}`"))?
        }
        Reading::Text { file, after, take } => {
            let text = contents(directory, file)?;
            let mut found = text.split(after.as_str()).skip(1).filter_map(leading_number);
            let number = match take {
                Take::Last => found.last(),
                Take::Sum => found.next().map(|first| first + found.sum::<f64>()),
            };
            number.ok_or_else(|| format!("{file} has no number after `{after}`"))?
        }
    };
    if number.is_finite() { Ok(number) } else { Err(format!("{number} is no time")) }
}

/// The numbers of an object of a run, by name; none where there is no such object.
pub fn read_object(directory: &Path, file: &str, key: &str) -> Vec<(String, f64)> {
    let object = contents(directory, file).ok().and_then(|text| last_object(&text, key));
    let members = object.as_ref().and_then(Value::as_object).into_iter().flatten();
    members.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()
}

/// One JSON object in a file of a run, if it is there.
pub fn object_in(path: &Path) -> Option<Value> {
    let text = fs::read_to_string(path).ok()?;
    serde_json::from_str(&text).ok().filter(Value::is_object)
}

fn contents(directory: &Path, file: &str) -> Result<String, String> {
    let open = fs::File::open(directory.join(file)).map_err(|error| format!("{file}: {error}"))?;
    let mut bytes = Vec::new();
    let read = open.take(MOST_BYTES).read_to_end(&mut bytes);
    read.map_err(|error| format!("{file}: {error}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What stands under a path of keys in the whole text, or in the last line that has it.
fn last_object(text: &str, path: &str) -> Option<Value> {
    let under = |text: &str| -> Option<Value> {
        let object: Value = serde_json::from_str(text).ok()?;
        path.split('.').try_fold(&object, |value, key| value.get(key)).cloned()
    };
    under(text).or_else(|| text.lines().rev().find_map(under))
}

/// The number that a text begins with, blanks and a sign of equality aside.
fn leading_number(text: &str) -> Option<f64> {
    let text = text.trim_start_matches([' ', '\t', '=', ':']);
    let end = text.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c)));
    text[..end.unwrap_or(text.len())].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_where_the_campaign_says() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let text = "noise\nLoop time of 1.25 on 4 procs\n{\"a\":{\"s\":1}}\n{\"a\":{\"s\":2.5}}\n\
                    Loop time of 1.5e-1 on 4\nkey= 7\n";
        fs::write(place.path().join("stdout"), text).expect("ours");
        let file = || "stdout".to_owned();
        let after = |after: &str, take| Reading::Text { file: file(), after: after.into(), take };
        let json = |key: &str| Reading::Json { file: file(), key: key.into() };
        let read = |reading: &Reading| read(reading, place.path());
        assert_eq!(read(&after("Loop time of", Take::Last)), Ok(0.15));
        assert_eq!(read(&after("Loop time of", Take::Sum)), Ok(1.4));
        assert_eq!(read(&after("key", Take::Last)), Ok(7.0));
        assert_eq!(read(&json("a.s")), Ok(2.5));
        for missing in [after("Loop type", Take::Last), json("a.t"), json("a")] {
            assert!(read(&missing).is_err(), "{missing:?}");
        }
        assert_eq!(read_object(place.path(), "stdout", "a"), [("s".to_owned(), 2.5)]);
    }
}
