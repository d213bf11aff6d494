//! User metrics: keys and values behind the readings.
//!
//! One metric is `key length u8, value length u8, key, value`. Keys ascend, so that a state has one
//! encoding and a key cannot come twice.

use std::collections::BTreeMap;

use super::error::{FIXED_BYTES, MAX_KEY_BYTES, MAX_VALUE_BYTES, PayloadError};

/// Whether a user metric may be published, as far as it alone decides.
///
/// # Errors
/// Its key or its value breaks a rule.
pub fn check_metric(key: &str, value: &str) -> Result<(), PayloadError> {
    if !is_key(key.as_bytes()) {
        return Err(PayloadError::Key(key.to_owned()));
    }
    if value.len() > MAX_VALUE_BYTES {
        return Err(PayloadError::ValueTooLong { key: key.to_owned(), bytes: value.len() });
    }
    if value.contains(is_hidden) {
        return Err(PayloadError::ValueControl(key.to_owned()));
    }
    Ok(())
}

/// Whether a character is one that a terminal or a page would act on instead of showing it:
/// control characters, those that end a line or a paragraph, those that change the direction of
/// text, and invisible ones.
pub fn is_hidden(c: char) -> bool {
    let acts = matches!(c,
        '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}'
        | '\u{E0000}'..='\u{E007F}');
    c.is_control() || acts
}

/// Bytes that a user metric takes in a payload.
pub fn metric_bytes(key: &str, value: &str) -> usize {
    2 + key.len() + value.len()
}

fn is_key(key: &[u8]) -> bool {
    (1..=MAX_KEY_BYTES).contains(&key.len())
        && key.iter().all(|c| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-'))
}

/// Whether all metrics are sound and fit the room.
pub(super) fn check(user: &BTreeMap<String, String>, room: usize) -> Result<(), PayloadError> {
    user.iter().try_for_each(|(key, value)| check_metric(key, value))?;
    let needed: usize = user.iter().map(|(key, value)| metric_bytes(key, value)).sum();
    match needed.saturating_sub(room) {
        0 => Ok(()),
        excess_bytes => Err(PayloadError::UserMetricsTooLarge { excess_bytes, room_bytes: room }),
    }
}

/// Writes metrics that passed [`check`] for this room, and zeros behind them.
pub(super) fn write(user: &BTreeMap<String, String>, room: &mut [u8]) {
    let mut at = 0;
    for (key, value) in user {
        let metric = [&[key.len() as u8, value.len() as u8], key.as_bytes(), value.as_bytes()];
        for bytes in metric {
            room[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        }
    }
    room[at..].fill(0);
}

/// Reads metrics of any origin, up to a key length of 0 or the end.
pub(super) fn read(room: &[u8]) -> Result<BTreeMap<String, String>, PayloadError> {
    let mut user = BTreeMap::new();
    let mut rest = room;
    while let [key_bytes @ 1..=u8::MAX, tail @ ..] = rest {
        let at = FIXED_BYTES + room.len() - rest.len();
        let malformed = |what| PayloadError::Malformed { at, what };
        let (key, value, tail) =
            split(usize::from(*key_bytes), tail).ok_or(malformed("a user metric is cut off"))?;
        if !is_key(key) {
            return Err(malformed("a user metric's key must be 1 to 32 of a-z 0-9 _ . -"));
        }
        let key = String::from_utf8_lossy(key).into_owned();
        let value =
            core::str::from_utf8(value).ok().filter(|value| !value.contains(char::is_control));
        let value = value.ok_or(malformed("a user metric's value must be plain UTF-8 text"))?;
        if user.last_key_value().is_some_and(|(last, _)| *last >= key) {
            return Err(malformed("the keys of user metrics must ascend"));
        }
        user.insert(key, value.to_owned());
        rest = tail;
    }
    Ok(user)
}

/// Key, value and what follows them, if all their bytes are there.
fn split(key_bytes: usize, tail: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (&value_bytes, tail) = tail.split_first()?;
    let (key, tail) = tail.split_at_checked(key_bytes)?;
    let (value, tail) = tail.split_at_checked(usize::from(value_bytes))?;
    Some((key, value, tail))
}
