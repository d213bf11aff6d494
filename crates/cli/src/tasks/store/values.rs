//! Values of keys: read, written and listed, also while others use the store.

use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;
use tidings_tasks_core::message::{Answer, Effect, Refusal, Request};
use tidings_tasks_core::transaction::Key;
use tidings_tasks_core::view::{KeyChange, KeyValue, MAX_LISTED};

use super::super::client::{Client, Place, with};
use super::super::failure::TasksError;
use super::super::kinds;

/// A value as it is given.
#[derive(Debug, Args)]
pub(super) struct Given {
    /// The value: a text, @FILE for the bytes of a file, @- for standard input; at most 16 KiB
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: String,
}

/// A key with its value or without one, as JSON: docs/reference/tasks.md.
#[derive(Serialize)]
struct Line {
    key: String,
    revision: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted: Option<bool>,
}

/// Prints the value of a key.
pub(super) async fn get(place: &Place, key: &Key, raw: bool, json: bool) -> Result<(), TasksError> {
    let keys = vec![key.as_bytes().to_vec().into()];
    let read = async |client: &Client| client.ask(Request::Read { keys }).await;
    let found = match with(place, "store", read).await? {
        Answer::Values(values, _) => values.into_iter().next(),
        other => return Err(TasksError::Answer(Box::new(other))),
    };
    let found = found.ok_or_else(|| TasksError::NotFound(format!("{key} has no value")))?;
    if json {
        return kinds::write_output(line(&found.into(), true)?.as_bytes());
    }
    let mut bytes: Vec<u8> = found.value.into();
    if !raw {
        bytes.push(b'\n');
    }
    kinds::write_output(&bytes)
}

/// Writes the value of a key, if it is at the revision that is expected, and prints its revision.
pub(super) async fn put(
    place: &Place,
    key: &Key,
    given: &Given,
    expect: Option<u64>,
) -> Result<(), TasksError> {
    let value = kinds::given(&given.value, "a value")?;
    let revision = write(place, key, Some(value), expect).await?;
    kinds::write_output(format!("{revision}\n").as_bytes())
}

/// Deletes a key, if it is at the revision that is expected.
pub(super) async fn remove(
    place: &Place,
    key: &Key,
    expect: Option<u64>,
) -> Result<(), TasksError> {
    write(place, key, None, expect).await.map(drop)
}

async fn write(
    place: &Place,
    key: &Key,
    value: Option<Vec<u8>>,
    expect: Option<u64>,
) -> Result<u64, TasksError> {
    let own = key.as_bytes().to_vec();
    let effect = Effect { key: own, value: value.map(Into::into), expect };
    let write = Request::Write { effects: vec![effect] };
    match with(place, "store", async |client: &Client| client.ask(write).await).await {
        Ok(Answer::Written(revision)) => Ok(revision),
        Ok(other) => Err(TasksError::Answer(Box::new(other))),
        Err(TasksError::Refused(Refusal::EffectConflict(found))) => {
            let (key, found) = (key.to_string(), found.unwrap_or_default());
            Err(TasksError::Changed { key, found, expected: expect.unwrap_or_default() })
        }
        Err(error) => Err(error),
    }
}

/// Lists keys with their values.
pub(super) async fn list(
    place: &Place,
    prefix: Option<&Key>,
    json: bool,
) -> Result<(), TasksError> {
    let list = async |client: &Client| {
        let mut pages = Pages::below(prefix);
        while let Some(page) = pages.next(client).await? {
            let lines = page.into_iter().map(|one| line(&one.into(), json));
            kinds::write_output(lines.collect::<Result<String, _>>()?.as_bytes())?;
        }
        Ok(())
    };
    with(place, "store", list).await
}

/// A list of keys with their values, page by page.
pub(super) struct Pages {
    prefix: Vec<u8>,
    from: Option<Vec<u8>>,
    is_over: bool,
}

impl Pages {
    /// The keys that begin so.
    pub(super) fn below(prefix: Option<&Key>) -> Self {
        Self { prefix: bytes(prefix), from: None, is_over: false }
    }

    /// The next page; it may be empty.
    pub(super) async fn next(
        &mut self,
        client: &Client,
    ) -> Result<Option<Vec<KeyValue>>, TasksError> {
        if self.is_over {
            return Ok(None);
        }
        let (prefix, from) = (self.prefix.clone().into(), self.from.take().map(Into::into));
        match client.ask(Request::Keys { prefix, from, limit: MAX_LISTED }).await? {
            Answer::Values(values, next) => {
                self.is_over = next.is_none();
                self.from = next.map(Into::into);
                Ok(Some(values))
            }
            other => Err(TasksError::Answer(Box::new(other))),
        }
    }
}

/// How keys begin.
pub(super) fn bytes(prefix: Option<&Key>) -> Vec<u8> {
    prefix.map_or_else(Vec::new, |prefix| prefix.as_bytes().to_vec())
}

/// A line that shows a key and its value, or that it has none any more.
pub(super) fn line(change: &KeyChange, json: bool) -> Result<String, TasksError> {
    if json {
        let line = serde_json::to_string(&Line::of(change));
        return line.map(|line| line + "\n").map_err(|error| TasksError::Output(error.into()));
    }
    let key = change.key.escape_ascii();
    Ok(match &change.value {
        None => format!("{key} is deleted\n"),
        Some(value) => format!("{key} = {}\n", shown(value)),
    })
}

/// Bytes as one line of text.
fn shown(bytes: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(bytes) else { return bytes.escape_ascii().to_string() };
    let mut shown = String::with_capacity(text.len());
    for one in text.chars() {
        if one.is_control() {
            shown.extend(one.escape_default());
        } else {
            shown.push(one);
        }
    }
    shown
}

impl Line {
    fn of(change: &KeyChange) -> Self {
        let key = change.key.escape_ascii().to_string();
        let mut line = Self {
            key,
            revision: change.revision,
            value: None,
            text: None,
            bytes: None,
            deleted: None,
        };
        match change.value.as_deref().map(|value| (std::str::from_utf8(value), value)) {
            None => line.deleted = Some(true),
            Some((Err(_), value)) => line.bytes = Some(value.escape_ascii().to_string()),
            // Newlines are between the words of JSON only: in its texts they are escaped.
            Some((Ok(text), _)) => match RawValue::from_string(text.replace(['\n', '\r'], " ")) {
                Ok(value) => line.value = Some(value),
                Err(_) => line.text = Some(text.to_owned()),
            },
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_json_or_text_or_bytes() {
        let of = |value: &[u8]| {
            let (key, value) = (b"k".to_vec().into(), Some(value.to_vec().into()));
            let change = KeyChange { key, value, revision: 3 };
            [line(&change, true).unwrap(), line(&change, false).unwrap()]
        };
        let lines = |json: &str, text: &str| {
            let object = r#"{"key":"k","revision":3,"#.to_owned() + json + "}\n";
            [object, format!("k = {text}\n")]
        };
        let large = "1180591620717411303424";
        assert_eq!(of(large.as_bytes()), lines(&format!("\"value\":{large}"), large));
        assert_eq!(of(b"[1,\n2]"), lines(r#""value":[1, 2]"#, "[1,\\n2]"));
        assert_eq!(of("gr\u{fc}n".as_bytes()), lines("\"text\":\"gr\u{fc}n\"", "gr\u{fc}n"));
        assert_eq!(of(b"\xff\x1b"), lines(r#""bytes":"\\xff\\x1b""#, r"\xff\x1b"));
        assert_eq!(of(b""), lines(r#""text":"""#, ""));
    }
}
