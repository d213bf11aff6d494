//! The envelope of every reply: `{"ok":true,"result":…}` or `{"ok":false,"error":{…}}`.
//!
//! Invariant: exactly one of `result` and `error` is there, and `ok` says which. The enum makes the
//! other combinations unwritable; the conversion below makes them unreadable.

use std::fmt;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::Shortfall;

/// A reply as sent: a result of type `T`, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Envelope<T>", bound(deserialize = "T: Deserialize<'de>"))]
pub enum Reply<T> {
    /// The request was carried out.
    Result(T),
    /// The request was refused; nothing was changed.
    Error(ErrorReport),
}

impl<T> From<Result<T, ErrorReport>> for Reply<T> {
    fn from(done: Result<T, ErrorReport>) -> Self {
        match done {
            Ok(result) => Self::Result(result),
            Err(error) => Self::Error(error),
        }
    }
}

/// Why an agent refused a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorReport {
    /// For programs.
    pub kind: ErrorKind,
    /// For people: what was wrong, where, and what to do about it.
    pub message: String,
    /// With [`ErrorKind::Unsatisfied`]: the reason in numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortfall: Option<Shortfall>,
}

/// The kind of refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The line is not a request: not JSON, an unknown `op`, a wrong field.
    BadRequest,
    /// The request line is longer than [`REQUEST_BYTES_MAX`](crate::REQUEST_BYTES_MAX).
    TooLarge,
    /// No node of that name, or no colony of that number, is known.
    NotFound,
    /// The members of another colony did not answer in time.
    Unanswered,
    /// A value that cannot be published: a bad key, or more than the payload holds.
    BadValue,
    /// Too few nodes have what was asked for.
    Unsatisfied,
    /// Only those that may open `control.sock` may ask for this.
    Forbidden,
    /// The agent serves as many connections as it may; try again.
    Busy,
    /// A kind that this version of the client does not know.
    #[serde(other)]
    Other,
}

impl ErrorReport {
    /// A report of `kind` with `message` for people.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), shortfall: None }
    }
}

impl fmt::Display for ErrorReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ErrorReport {}

impl<T> Reply<T> {
    /// The result, or the agent's refusal as an error.
    ///
    /// # Errors
    /// The [`ErrorReport`] that the agent sent instead of a result.
    pub fn into_result(self) -> Result<T, ErrorReport> {
        match self {
            Reply::Result(result) => Ok(result),
            Reply::Error(report) => Err(report),
        }
    }
}

impl<T: Serialize> Serialize for Reply<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut envelope = serializer.serialize_struct("Reply", 2)?;
        match self {
            Reply::Result(result) => {
                envelope.serialize_field("ok", &true)?;
                envelope.serialize_field("result", result)?;
            }
            Reply::Error(error) => {
                envelope.serialize_field("ok", &false)?;
                envelope.serialize_field("error", error)?;
            }
        }
        envelope.end()
    }
}

#[derive(Deserialize)]
struct Envelope<T> {
    ok: bool,
    #[serde(default = "none")]
    result: Option<T>,
    #[serde(default)]
    error: Option<ErrorReport>,
}

fn none<T>() -> Option<T> {
    None
}

impl<T> TryFrom<Envelope<T>> for Reply<T> {
    type Error = &'static str;

    fn try_from(envelope: Envelope<T>) -> Result<Self, &'static str> {
        match envelope {
            Envelope { ok: true, result: Some(result), error: None } => Ok(Reply::Result(result)),
            Envelope { ok: false, result: None, error: Some(error) } => Ok(Reply::Error(error)),
            _ => Err("a reply needs `ok` true with `result`, or `ok` false with `error`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_as_documented() {
        let result: Reply<u32> = Reply::Result(7);
        let error: Reply<u32> =
            Reply::Error(ErrorReport::new(ErrorKind::NotFound, "no node `x` is known"));
        let forms = [
            (result, r#"{"ok":true,"result":7}"#),
            (
                error,
                r#"{"ok":false,"error":{"kind":"not-found","message":"no node `x` is known"}}"#,
            ),
        ];
        for (reply, text) in forms {
            assert_eq!(serde_json::to_string(&reply).expect("serialises"), text);
            assert_eq!(serde_json::from_str::<Reply<u32>>(text).expect(text), reply);
        }
    }

    #[test]
    fn contradictory_replies_are_refused() {
        for text in [r#"{"ok":true}"#, r#"{"ok":false,"result":7}"#, r#"{"result":7}"#] {
            assert!(serde_json::from_str::<Reply<u32>>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_kind_of_a_later_version_is_still_an_error() {
        let text = r#"{"ok":false,"error":{"kind":"on-fire","message":"m"}}"#;
        let reply: Reply<u32> = serde_json::from_str(text).expect("readable");
        assert_eq!(reply, Reply::Error(ErrorReport::new(ErrorKind::Other, "m")));
    }
}
