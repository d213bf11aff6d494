//! Effects: keys of the users', written with a completion or by request, and read.
//!
//! They lie in the store beside the tasks, and nothing of them in memory. A completion writes them
//! in its own transaction, which requires the task's record as it was: a try that is no longer the
//! last one writes nothing. What is written may require more, the revision of the key, so that two
//! who read the same and write it exclude each other.

use minicbor::bytes::ByteVec;

use crate::keys;
use crate::message::{Answer, Call, Effect, MAX_EFFECTS, MAX_INLINE_BYTES, Peer, Refusal};
use crate::transaction::{Key, Record};
use crate::view::{KeyValue, MAX_LISTED, MAX_LISTED_BYTES};

use super::Coordinator;
use super::change::Change;
use super::reading::{Purpose, Read};

impl Coordinator {
    /// Keys are to be read.
    pub(super) fn read_keys(&mut self, peer: Peer, call: Call, keys: &[ByteVec]) {
        let checked = check_count(keys.len());
        let read = checked.and_then(|()| keys.iter().map(|key| key_of(key)).collect());
        match read {
            Ok(keys) => self.want(keys, Purpose::Keys(peer, call)),
            Err(reason) => self.refuse(peer, call, Refusal::Invalid(reason)),
        }
    }

    /// A page of keys is to be read.
    pub(super) fn list_keys(
        &mut self,
        (peer, call): (Peer, Call),
        prefix: &[u8],
        from: Option<&[u8]>,
        limit: u32,
    ) {
        let from = from.unwrap_or(prefix);
        let (Some(first), Some(start)) = (keys::effects(prefix), keys::effects(from)) else {
            return self.refuse(peer, call, Refusal::Invalid(too_long()));
        };
        if !from.starts_with(prefix) {
            let reason = "a page begins with a key of the list: pass what the page before has said";
            return self.refuse(peer, call, Refusal::Invalid(reason.to_owned()));
        }
        let limit = limit.clamp(1, MAX_LISTED) as usize;
        let read = Read::Scan { from: start, end: first.after_prefix(), limit };
        self.wanted.push_back((read, Purpose::Keys(peer, call)));
    }

    /// Keys were read: as many of them are told as fit into one answer, and where the rest begins.
    pub(super) fn tell_values(
        &mut self,
        (peer, call): (Peer, Call),
        mut records: Vec<Record>,
        mut next: Option<Key>,
    ) {
        records.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        let (mut values, mut bytes) = (Vec::new(), 0);
        for Record { key, value, revision } in records {
            if bytes > MAX_LISTED_BYTES {
                next = Some(key);
                break;
            }
            let Some(own) = keys::own_of(&key) else { continue };
            bytes += value.len();
            let (key, value) = (own.to_vec().into(), value.into_vec().into());
            values.push(KeyValue { key, value, revision: revision.0 });
        }
        let next = next.as_ref().and_then(keys::own_of).map(|own| own.to_vec().into());
        self.answer(peer, call, Answer::Values(values, next));
    }

    /// Keys are to be written.
    pub(super) fn write_keys(&mut self, peer: Peer, call: Call, effects: Vec<Effect>) {
        let asked = Some((peer, call));
        let mut change = Change { writer: asked, origin: asked, ..Change::default() };
        match add_effects(&mut change, effects) {
            Ok(()) => self.stage(change),
            Err(reason) => self.refuse(peer, call, Refusal::Invalid(reason)),
        }
    }
}

/// Adds writes of keys to a change.
pub(super) fn add_effects(change: &mut Change, effects: Vec<Effect>) -> Result<(), String> {
    check_count(effects.len())?;
    let mut keys: Vec<&[u8]> = effects.iter().map(|effect| &*effect.key).collect();
    keys.sort_unstable();
    if keys.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("two effects write the same key".to_owned());
    }
    for effect in effects {
        let key = key_of(&effect.key)?;
        let expected = effect.expected();
        let value = effect.value.map(Vec::from);
        if value.as_ref().is_some_and(|value| value.len() > MAX_INLINE_BYTES) {
            return Err(format!("the value of a key has at most {MAX_INLINE_BYTES} bytes"));
        }
        change.add_effect(key, value, expected);
    }
    Ok(())
}

fn check_count(keys: usize) -> Result<(), String> {
    if keys > MAX_EFFECTS {
        return Err(format!("{keys} keys at once; at most {MAX_EFFECTS} are possible"));
    }
    Ok(())
}

fn key_of(own: &[u8]) -> Result<Key, String> {
    keys::effect(own).ok_or_else(too_long)
}

fn too_long() -> String {
    format!("a key has 1 to {} bytes", keys::MAX_EFFECT_KEY_BYTES)
}
