//! Tuples and templates, as they are written in a shell and printed.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json as value};
use tidings_tasks_core::output::SharedBlob;
use tidings_tasks_core::tuple::{Claim, Field, Past, Pattern, Stored, Tuple, Type};
use tidings_tasks_core::view::{SpaceView, TupleView};

/// A field: a number, `true` or `false`, else a text; or what its type says, as in `text:3`.
pub(super) fn field(text: &str) -> Result<Field, String> {
    if let Some((kind, rest)) = text.split_once(':') {
        if let Some(kind) = kind_of(kind) {
            return of_kind(kind, rest);
        }
    }
    if let Ok(number) = text.parse::<i64>() {
        return Ok(Field::Int(number));
    }
    if let Ok(truth) = text.parse::<bool>() {
        return Ok(Field::Bool(truth));
    }
    let digits = text.bytes().any(|byte| byte.is_ascii_digit());
    match text.parse::<f64>() {
        // Not `inf`, `nan` and the like, which are words.
        Ok(number) if digits => Ok(Field::Float(number)),
        _ => Ok(Field::Text(text.to_owned())),
    }
}

/// A pattern: `?`, `?` and a type, or a field.
pub(super) fn pattern(text: &str) -> Result<Pattern, String> {
    match text.strip_prefix('?') {
        None => field(text).map(Pattern::Is),
        Some("") => Ok(Pattern::Any),
        Some(kind) => kind_of(kind).map(Pattern::Of).ok_or_else(|| {
            format!("`{kind}` is no type: int, float, text, bytes, bool or handle; a text is text:?{kind}")
        }),
    }
}

fn kind_of(name: &str) -> Option<Type> {
    let all = [Type::Int, Type::Float, Type::Text, Type::Bytes, Type::Bool, Type::Handle];
    all.into_iter().find(|kind| kind.to_string() == name)
}

fn of_kind(kind: Type, text: &str) -> Result<Field, String> {
    let wrong = || format!("`{text}` is no {kind}");
    match kind {
        Type::Int => text.parse().map(Field::Int).map_err(|_| wrong()),
        Type::Float => text.parse().map(Field::Float).map_err(|_| wrong()),
        Type::Bool => text.parse().map(Field::Bool).map_err(|_| wrong()),
        Type::Text => Ok(Field::Text(text.to_owned())),
        Type::Bytes => bytes_of(text).map(Field::from).ok_or_else(|| {
            format!("`{text}` are no bytes: two hexadecimal digits each, as in bytes:00ff")
        }),
        Type::Handle => {
            let blob: Result<SharedBlob, _> = text.parse();
            blob.map(Field::from).map_err(|error| format!("`{text}` is {error}"))
        }
    }
}

fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let is_hexadecimal = text.len() % 2 == 0 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    is_hexadecimal.then(|| (0..text.len()).step_by(2).map(byte).collect())?
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing into a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A tuple, fields separated by tabs, each as it can be written.
pub(super) fn text(tuple: &Tuple) -> String {
    let one = |one: &Field| match one {
        Field::Int(number) => number.to_string(),
        // With a point, so that it is no integer.
        Field::Float(number) => format!("{number:?}"),
        Field::Bytes(bytes) => format!("bytes:{}", hexadecimal(bytes)),
        Field::Bool(truth) => truth.to_string(),
        Field::Handle(blob) => format!("handle:{blob}"),
        // A tab or an end of a line would look like another field or tuple.
        Field::Text(text) if text.chars().any(char::is_control) => {
            format!("text:{}", text.escape_default())
        }
        Field::Text(text) if field(text).is_ok_and(|read| read == *one) => text.clone(),
        Field::Text(text) => format!("text:{text}"),
    };
    tuple.fields().iter().map(one).collect::<Vec<_>>().join("\t")
}

/// A tuple as JSON: docs/reference/tasks.md.
pub(super) fn json(space: &str, tuple: &Tuple) -> Value {
    value!({ "space": space, "fields": fields(tuple) })
}

fn fields(tuple: &Tuple) -> Vec<Value> {
    let one = |field: &Field| {
        let held = match field {
            Field::Int(number) => value!(number),
            // What JSON has no number for is a text.
            Field::Float(number) if !number.is_finite() => value!(number.to_string()),
            Field::Float(number) => value!(number),
            Field::Text(text) => value!(text),
            Field::Bytes(bytes) => value!(hexadecimal(bytes)),
            Field::Bool(truth) => value!(truth),
            Field::Handle(blob) => value!(blob.to_string()),
        };
        value!({ "type": field.kind().to_string(), "value": held })
    };
    tuple.fields().iter().map(one).collect()
}

/// A line of a list of tuples.
pub(super) fn line(space: &str, view: &TupleView, is_json: bool) -> String {
    if is_json {
        let mut shown = json(space, &view.tuple);
        shown["number"] = value!(format!("{:016x}", view.number));
        shown["claim"] = claim(view.claim.as_ref());
        return format!("{shown}\n");
    }
    let holder = view.claim.as_ref().map(|claim| match claim.task {
        Some((task, _)) => format!("\tpulled by task {task}"),
        None => format!("\tpulled by {}", claim.holder),
    });
    format!("{}{}\n", text(&view.tuple), holder.unwrap_or_default())
}

fn claim(claim: Option<&Claim>) -> Value {
    claim.map_or(Value::Null, |claim| {
        let task = claim
            .task
            .map(|(task, attempt)| value!({ "task": task.to_string(), "attempt": attempt.0 }));
        value!({ "holder": claim.holder, "task": task })
    })
}

/// The record of a tuple.
pub(in crate::tasks) fn stored(space: &str, stored: &Stored) -> Value {
    let mut shown = json(space, &stored.tuple);
    shown["claim"] = claim(stored.claim.as_ref());
    shown
}

/// The record of the last statement of a slot.
pub(in crate::tasks) fn past(past: &Past) -> Value {
    let found: Vec<_> = past.found.iter().map(|one| fields(&one.tuple)).collect();
    value!({ "sequence": past.sequence, "found": found })
}

/// The spaces, as JSON: docs/reference/tasks.md.
#[derive(Serialize)]
pub(super) struct Listed<'s> {
    spaces: Vec<Line<'s>>,
}

#[derive(Serialize)]
struct Line<'s> {
    name: &'s str,
    tuples: u64,
    claimed: u64,
    bytes: u64,
}

impl<'s> Listed<'s> {
    pub(super) fn of(spaces: &'s [SpaceView]) -> Self {
        let line = |one: &'s SpaceView| Line {
            name: &one.name,
            tuples: one.tuples,
            claimed: one.claimed,
            bytes: one.bytes,
        };
        Self { spaces: spaces.iter().map(line).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_they_are_read() {
        let tuple = |texts: &[&str]| {
            Tuple::new(texts.iter().map(|text| field(text).unwrap()).collect::<Vec<_>>())
        };
        let hash = "0a".repeat(32);
        let handle = format!("handle:{hash}:67108864:00000000000000ff:node1");
        let written =
            [&*handle, "3", "-4", "0.5", "true", "block", "text:3", "text:bool:x", "bytes:00ff"];
        let all = tuple(&written);
        assert_eq!(all.fields()[0].kind(), Type::Handle);
        assert_eq!(all.fields()[1], Field::Int(3));
        assert_eq!(all.fields()[6], "3".into());
        assert_eq!(text(&all), written.join("\t"));
        assert_eq!(
            tuple(&["nan", "1e3", "a:b"]).fields(),
            ["nan".into(), Field::Float(1_000.0), "a:b".into()]
        );
    }

    #[test]
    fn what_is_no_field_or_pattern_is_named() {
        assert!(field("int:x").unwrap_err().contains("`x` is no int"));
        assert!(field("bytes:0").unwrap_err().contains("two hexadecimal digits"));
        assert!(pattern("?number").unwrap_err().contains("no type"));
        assert_eq!(pattern("?"), Ok(Pattern::Any));
        assert_eq!(pattern("?text"), Ok(Pattern::Of(Type::Text)));
    }
}
