//! How runs end, in a word and for people.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::run::{End, Seen, explained, last_words};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It ended with 0 and left what was wanted.
    Ok,
    /// It ended with another status.
    Failed,
    /// It took longer than it may, and was ended.
    Late,
    /// It ended with 0, but what was wanted is not there.
    Unreadable,
}

/// How a run ended: in a word, its launcher's status, and what went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// In a word.
    pub outcome: Outcome,
    /// The launcher's exit status; none if a signal ended it.
    pub exit_code: Option<i32>,
    /// What went wrong, with the last words of the program.
    pub message: Option<String>,
}

impl Ended {
    /// What was seen of a run that had so long, in its directory.
    pub fn of(seen: &Seen, limit_s: f64, directory: &Path) -> Self {
        let said = || match last_words(directory) {
            words if words.is_empty() => "it said nothing".to_owned(),
            words => format!("it said: {words}"),
        };
        match seen.end {
            End::Itself(status) => {
                let (exit_code, reason) = explained(status);
                let outcome = if reason.is_some() { Outcome::Failed } else { Outcome::Ok };
                let message = reason.map(|reason| format!("{reason}; {}", said()));
                Self { outcome, exit_code, message }
            }
            End::Late | End::Stopped => {
                let message =
                    format!("took longer than limit_s = {limit_s} and was ended; {}", said());
                Self { outcome: Outcome::Late, exit_code: None, message: Some(message) }
            }
        }
    }
}
