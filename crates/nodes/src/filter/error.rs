//! What is wrong with a condition, and where, as a person sees it.

use std::ops::Range;

/// What is wrong with a condition, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}\n{}", underline(.text, .place))]
pub struct FilterError {
    /// The whole condition.
    pub text: String,
    /// The wrong bytes of `text`; may be empty, at the end.
    pub place: Range<usize>,
    /// What is wrong and what to write instead.
    pub message: String,
}

impl FilterError {
    pub(super) fn new(text: &str, place: Range<usize>, message: impl Into<String>) -> Self {
        Self { text: text.to_owned(), place, message: message.into() }
    }
}

/// The text with carets under the place, indented by two; a long text is cut around the place.
pub fn underline(text: &str, place: &Range<usize>) -> String {
    const BEFORE: usize = 60;
    const AFTER: usize = 30;
    let before: Vec<char> = text.get(..place.start).unwrap_or("").chars().collect();
    let fault: Vec<char> = text.get(place.clone()).unwrap_or("").chars().collect();
    let after: Vec<char> = text.get(place.end..).unwrap_or("").chars().collect();
    let visible = |c: &char| if c.is_control() { ' ' } else { *c };
    let head = &before[before.len().saturating_sub(BEFORE)..];
    let line: String = head
        .iter()
        .chain(fault.iter().take(BEFORE))
        .chain(after.iter().take(AFTER))
        .map(visible)
        .collect();
    let carets = "^".repeat(fault.len().clamp(1, BEFORE));
    format!("  {}\n  {}{carets}", line.trim_end(), " ".repeat(head.len()))
}
