//! Keys: where in the store each record is.
//!
//! | key | record |
//! |---|---|
//! | `parts` | how many parts there are, in decimal digits; 1 if it is not there |
//! | `P/role` | [`Reign`](crate::record::Reign): who coordinates the part, and since which epoch |
//! | `P/fence` | the epoch of who wrote it: a commit that was sent before that fails |
//! | `P/lives` | the coordinator's name, as long as its session with the store lasts |
//! | `P/t/ID` | [`Task`](crate::record::Task): a task that has not ended |
//! | `P/f/ID` | [`Finished`](crate::record::Finished): how a task has ended |
//! | `P/c/ID` | that the children of the task count, which `P/c/ID/NUMBER` holds |
//! | `P/c/ID/NUMBER` | [`Staged`](crate::record::Staged): some children, before they are tasks |
//! | `P/s/NAME` | [`Semaphore`](crate::semaphore::Semaphore): permits, their holders, who waits |
//! | `P/u/SPACE/NUMBER` | [`Stored`](crate::tuple::Stored): a tuple, and who has pulled it |
//! | `P/v/NAME/SLOT` | [`Past`](crate::tuple::Past): the last statement of a session's slot |
//! | `P/i/b` | the bell: it is written with each new `P/i/w/` |
//! | `P/i/e/ID` | [`Ended`](crate::record::Ended): what this part waits for in another has ended |
//! | `P/i/w/ID/PART` | that tasks of part PART wait for the task ID of this one |
//! | `b/…` | building blocks and who takes part in them (`tidings_blocks::record`) |
//! | `e/KEY` | keys of the users': written by tasks with their completion, or by request |
//!
//! P is the part, `p` and four hexadecimal digits; ID 32 hexadecimal digits. All of it is text, so
//! that the tools of an engine show it. NUMBER has 16 digits, SLOT and PART 4. A coordinator that
//! takes over reads `P/t/`, `P/c/`, `P/s/`, `P/u/`, `P/v/` and `P/i/` and has all that it needs;
//! what has ended lies elsewhere, so it costs neither time nor memory then.
//!
//! `P/i/` is the *inbox* of the part, the only keys that coordinators of other parts write: the
//! bell and `w` those whose tasks wait, `e` those whose tasks have ended.

use crate::id::{Part, TaskId};
use crate::transaction::{Key, MAX_KEY_BYTES};

/// The longest name of a queue, group, semaphore or holder, in bytes.
pub const MAX_NAME_BYTES: usize = 255;

/// What keys of the users' begin with.
const EFFECTS: &[u8] = b"e/";

/// The longest key of the users', in bytes.
pub const MAX_EFFECT_KEY_BYTES: usize = MAX_KEY_BYTES - EFFECTS.len();

/// How many parts the store has.
pub fn parts() -> Key {
    key("parts".to_owned())
}

/// Who coordinates the part.
pub fn role(part: Part) -> Key {
    key(format!("p{:04x}/role", part.0))
}

/// What a coordinator writes so that no commit can happen any more that it has sent before.
pub fn fence(part: Part) -> Key {
    key(format!("p{:04x}/fence", part.0))
}

/// The sign that who coordinates the part lives.
pub fn lives(part: Part) -> Key {
    key(format!("p{:04x}/lives", part.0))
}

/// A task that has not ended.
pub fn task(part: Part, id: TaskId) -> Key {
    of_task(part, b't', id)
}

/// Where tasks that have not ended begin.
pub fn tasks(part: Part) -> Key {
    key(format!("p{:04x}/t/", part.0))
}

/// A task that has ended.
pub fn finished(part: Part, id: TaskId) -> Key {
    of_task(part, b'f', id)
}

/// Where tasks that have ended begin.
pub fn all_finished(part: Part) -> Key {
    key(format!("p{:04x}/f/", part.0))
}

/// That the children of a task count.
pub fn children(part: Part, parent: TaskId) -> Key {
    key(format!("p{:04x}/c/{parent}", part.0))
}

/// Some children of a task, before they are tasks.
pub fn staged(part: Part, parent: TaskId, number: u16) -> Key {
    key(format!("p{:04x}/c/{parent}/{number:04x}", part.0))
}

/// Where children that are not tasks yet begin.
pub fn all_staged(part: Part) -> Key {
    key(format!("p{:04x}/c/", part.0))
}

/// Whose children a key is about; its number, if it holds some of them.
pub fn parent_of(part: Part, key: &Key) -> Option<(TaskId, Option<u16>)> {
    let rest = key.as_bytes().strip_prefix(all_staged(part).as_bytes())?;
    let rest = core::str::from_utf8(rest).ok()?;
    match rest.split_once('/') {
        None => Some((rest.parse().ok()?, None)),
        Some((parent, number)) => {
            Some((parent.parse().ok()?, Some(u16::from_str_radix(number, 16).ok()?)))
        }
    }
}

/// A semaphore. Its name has at most [`MAX_NAME_BYTES`].
pub fn semaphore(part: Part, name: &str) -> Key {
    key(format!("p{:04x}/s/{name}", part.0))
}

/// Where semaphores begin.
pub fn semaphores(part: Part) -> Key {
    key(format!("p{:04x}/s/", part.0))
}

/// A tuple. The name of its space has at most [`MAX_NAME_BYTES`].
pub fn tuple(part: Part, space: &str, number: u64) -> Key {
    key(format!("p{:04x}/u/{space}/{number:016x}", part.0))
}

/// Where tuples begin.
pub fn tuples(part: Part) -> Key {
    key(format!("p{:04x}/u/", part.0))
}

/// The space and the number of a tuple.
pub fn tuple_of(part: Part, key: &Key) -> Option<(&str, u64)> {
    let (space, number) = numbered(&tuples(part), key)?;
    (*key == tuple(part, space, number)).then_some((space, number))
}

/// The last statement of a slot of a session. Its name has at most [`MAX_NAME_BYTES`].
pub fn past(part: Part, name: &str, slot: u16) -> Key {
    key(format!("p{:04x}/v/{name}/{slot:04x}", part.0))
}

/// Where the last statements of sessions begin.
pub fn pasts(part: Part) -> Key {
    key(format!("p{:04x}/v/", part.0))
}

/// The session, and which of its slots.
pub fn past_of(part: Part, key: &Key) -> Option<(&str, u16)> {
    let (name, slot) = numbered(&pasts(part), key)?;
    let slot = u16::try_from(slot).ok()?;
    (*key == past(part, name, slot)).then_some((name, slot))
}

/// The name and the number of a key that is of those which begin so.
fn numbered<'a>(prefix: &Key, key: &'a Key) -> Option<(&'a str, u64)> {
    let rest = key.as_bytes().strip_prefix(prefix.as_bytes())?;
    let (name, number) = core::str::from_utf8(rest).ok()?.rsplit_once('/')?;
    Some((name, u64::from_str_radix(number, 16).ok()?))
}

/// What the keys of an inbox begin with.
pub fn inbox(part: Part) -> Key {
    key(format!("p{:04x}/i/", part.0))
}

/// The bell of a part. It comes first in the inbox: who reads that page by page and knows the bell
/// knows all that was written with it.
pub fn bell(part: Part) -> Key {
    key(format!("p{:04x}/i/b", part.0))
}

/// That a task of another part has ended for which this part waits.
pub fn ended_abroad(part: Part, id: TaskId) -> Key {
    key(format!("p{:04x}/i/e/{id}", part.0))
}

/// That tasks of the part `by` wait for a task of this one.
pub fn wanted(part: Part, id: TaskId, by: Part) -> Key {
    key(format!("p{:04x}/i/w/{id}/{:04x}", part.0, by.0))
}

/// What a key of an inbox is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Letter {
    /// Others have begun to wait.
    Bell,
    /// A task of another part has ended.
    Ended(TaskId),
    /// Tasks of that part wait for a task of this one.
    Wanted(TaskId, Part),
}

/// What a key is about that is of the inbox of this part.
pub fn letter_of(part: Part, key: &Key) -> Option<Letter> {
    let rest = key.as_bytes().strip_prefix(inbox(part).as_bytes())?;
    let rest = core::str::from_utf8(rest).ok()?;
    if rest == "b" {
        return Some(Letter::Bell);
    }
    match rest.split_once('/')? {
        ("e", id) => Some(Letter::Ended(id.parse().ok()?)),
        ("w", rest) => {
            let (id, by) = rest.split_once('/')?;
            let (id, by) = (id.parse().ok()?, Part(u16::from_str_radix(by, 16).ok()?));
            (*key == wanted(part, id, by)).then_some(Letter::Wanted(id, by))
        }
        _ => None,
    }
}

/// A key of the users'; `None` if their part of it is empty or longer than
/// [`MAX_EFFECT_KEY_BYTES`].
pub fn effect(own: &[u8]) -> Option<Key> {
    if own.is_empty() { None } else { effects(own) }
}

/// Where keys of the users' begin whose part of it begins so; `None` if that is longer than
/// [`MAX_EFFECT_KEY_BYTES`].
pub fn effects(prefix: &[u8]) -> Option<Key> {
    Key::new([EFFECTS, prefix].concat()).ok()
}

/// The users' part of a key; `None` if it is none of theirs.
pub fn own_of(key: &Key) -> Option<&[u8]> {
    key.as_bytes().strip_prefix(EFFECTS)
}

/// The id at the end of a key of a task.
pub fn id_of(key: &Key) -> Option<TaskId> {
    let (_, id) = core::str::from_utf8(key.as_bytes()).ok()?.rsplit_once('/')?;
    id.parse().ok()
}

/// The name at the end of a semaphore's key.
pub fn name_of(part: Part, key: &Key) -> Option<&str> {
    let name = key.as_bytes().strip_prefix(semaphores(part).as_bytes())?;
    core::str::from_utf8(name).ok()
}

/// A key of a task. Each change of a task has some, so they are written without the formatter.
fn of_task(part: Part, table: u8, id: TaskId) -> Key {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = *b"p0000/t/00000000000000000000000000000000";
    let ([high, low], id) = (part.0.to_be_bytes(), id.to_bytes());
    let mut write = |at: usize, byte: u8| {
        text[at] = DIGITS[usize::from(byte >> 4)];
        text[at + 1] = DIGITS[usize::from(byte & 15)];
    };
    write(1, high);
    write(3, low);
    for (number, byte) in id.into_iter().enumerate() {
        write(8 + 2 * number, byte);
    }
    text[6] = table;
    Key::new(text).expect("it has forty bytes")
}

/// A key of text that is not empty and bounded by what it is made of.
fn key(text: String) -> Key {
    Key::new(text.into_bytes()).expect("prefixes, ids and names of at most 255 bytes are short")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_tells_whose_it_is() {
        let id = TaskId::of("a", 1);
        assert_eq!(id_of(&task(Part(3), id)), Some(id));
        assert_eq!(id_of(&role(Part(3))), None);
        assert_eq!(name_of(Part(1), &semaphore(Part(1), "a/b")), Some("a/b"));
        let longest = "n".repeat(MAX_NAME_BYTES);
        assert_eq!(name_of(Part(1), &semaphore(Part(1), &longest)), Some(&*longest));
        assert_eq!(parent_of(Part(1), &children(Part(1), id)), Some((id, None)));
        assert_eq!(parent_of(Part(1), &staged(Part(1), id, 300)), Some((id, Some(300))));
        assert_eq!(parent_of(Part(2), &children(Part(1), id)), None);
    }

    #[test]
    fn a_key_of_an_inbox_tells_what_it_is_about() {
        let (part, id, by) = (Part(2), TaskId::of("a", 1), Part(0x1f));
        assert_eq!(letter_of(part, &bell(part)), Some(Letter::Bell));
        assert_eq!(letter_of(part, &ended_abroad(part, id)), Some(Letter::Ended(id)));
        assert_eq!(letter_of(part, &wanted(part, id, by)), Some(Letter::Wanted(id, by)));
        assert_eq!(letter_of(by, &wanted(part, id, by)), None);
        assert_eq!(letter_of(part, &key(format!("p0002/i/w/{id}/+01f"))), None);
        assert!(bell(part) < ended_abroad(part, id) && bell(part) < wanted(part, id, by));
    }

    #[test]
    fn what_has_ended_is_not_among_what_has_not() {
        let (part, id) = (Part(0), TaskId::of("a", 1));
        let end = tasks(part).after_prefix().unwrap();
        assert!(!(tasks(part)..end).contains(&finished(part, id)));
    }

    #[test]
    fn a_key_of_a_task_is_text() {
        let (part, id) = (Part(0x1fa0), TaskId::of("a", 1));
        assert_eq!(task(part, id).as_bytes(), format!("p1fa0/t/{id}").as_bytes());
        assert_eq!(finished(part, id).as_bytes(), format!("p1fa0/f/{id}").as_bytes());
    }

    #[test]
    fn a_task_writes_below_its_own_prefix_only() {
        assert_eq!(effect(b"sum/3").unwrap().as_bytes(), b"e/sum/3");
        assert_eq!(own_of(&effect(b"sum/3").unwrap()), Some(&b"sum/3"[..]));
        assert_eq!(own_of(&role(Part(3))), None);
        assert_eq!(effect(b""), None);
        assert_eq!(effect(&[b'k'; MAX_EFFECT_KEY_BYTES + 1]), None);
        assert!(effect(&[b'k'; MAX_EFFECT_KEY_BYTES]).is_some());
    }
}
