//! The keys of one cluster within an etcd that may serve others too.
//!
//! | key in etcd | what it holds |
//! |---|---|
//! | `PREFIX//store` | the version of the format, and whose store it is |
//! | `PREFIX//tick` | nothing: written where a commit must have a revision but writes no value |
//! | `PREFIX//k/KEY` | the store's value of KEY |
//!
//! A prefix has no empty part between its slashes. So no store can lie within another one, whatever
//! the two prefixes are.

use tidings_tasks_core::transaction::Key;

use super::proto::Range;

/// The longest prefix, in bytes: it is sent along with each key.
pub const MAX_PREFIX_BYTES: usize = 128;

/// The keys below one prefix.
#[derive(Clone, Debug)]
pub(super) struct Space {
    root: Vec<u8>,
    values: Vec<u8>,
}

impl Space {
    pub(super) fn new(prefix: &str) -> Self {
        let root = format!("{prefix}//").into_bytes();
        Self { values: [&root[..], b"k/"].concat(), root }
    }

    /// Whose store it is.
    pub(super) fn store(&self) -> Vec<u8> {
        [&self.root[..], b"store"].concat()
    }

    /// What is written only to have a revision.
    pub(super) fn tick(&self) -> Vec<u8> {
        [&self.root[..], b"tick"].concat()
    }

    /// All that belongs to the store: from here, up to and without there.
    pub(super) fn all(&self) -> (Vec<u8>, Vec<u8>) {
        (self.root.clone(), after(&self.root))
    }

    /// A key of the store.
    pub(super) fn key(&self, key: &Key) -> Vec<u8> {
        self.with(key.as_bytes())
    }

    /// The keys that begin so.
    pub(super) fn beginning(&self, prefix: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let from = self.with(prefix);
        let end = after(&from);
        (from, end)
    }

    /// The end of a range; without one, that of all keys.
    pub(super) fn end(&self, end: Option<&Key>) -> Vec<u8> {
        end.map_or_else(|| after(&self.values), |end| self.key(end))
    }

    /// The key of the store that a key in etcd is; `None` if it is another's.
    pub(super) fn own(&self, bytes: &[u8]) -> Option<Key> {
        Key::new(bytes.strip_prefix(&self.values[..])?).ok()
    }

    /// Reads the one key that is always there, without its value.
    pub(super) fn anything(&self) -> Range {
        Range { key: self.store(), keys_only: true, ..Range::default() }
    }

    fn with(&self, key: &[u8]) -> Vec<u8> {
        [&self.values[..], key].concat()
    }
}

/// The first key after all that begin so.
fn after(prefix: &[u8]) -> Vec<u8> {
    let last = prefix.iter().rposition(|&byte| byte < u8::MAX);
    let last = last.expect("it begins with a prefix, which is text");
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(bytes: &[u8]) -> Key {
        Key::new(bytes).unwrap()
    }

    #[test]
    fn a_key_of_the_store_is_found_again() {
        let space = Space::new("team/prod");
        for bytes in [&b"p0000/role"[..], b"\0", b"\xff\xff", b"/"] {
            assert_eq!(space.own(&space.key(&key(bytes))), Some(key(bytes)));
        }
        assert_eq!(space.own(&space.store()), None);
        assert_eq!(space.own(&Space::new("team").key(&key(b"a"))), None);
    }

    #[test]
    fn ranges_end_where_the_store_does() {
        let space = Space::new("a");
        let (from, end) = space.beginning(b"\xff");
        assert_eq!((&from[..], &end[..]), (&b"a//k/\xff"[..], &b"a//k0"[..]));
        assert_eq!(space.end(None), b"a//k0");
        let (root, after) = space.all();
        for own in [space.store(), space.tick(), space.key(&key(b"\xff"))] {
            assert!(root <= own && own < after);
        }
    }

    #[test]
    fn no_store_lies_within_another() {
        let (outer, inner) = (Space::new("a"), Space::new("a/k"));
        let (from, end) = outer.all();
        assert!(!(from..end).contains(&inner.store()));
    }
}
