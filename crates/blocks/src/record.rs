//! Records: what the store has of blocks and of who takes part, and the transactions that write it.
//!
//! | key | record |
//! |---|---|
//! | `b/next` | the number of the last block |
//! | `b/n/NAME` | the id of the block of that name |
//! | `b/i/ID` | [`Made`]: what it is |
//! | `b/f/ID` | that a block has begun which begins once |
//! | `b/m/NODE` | [`Present`]: a process that would take part, for as long as its session lasts |
//! | `b/view` | [`View`]: who takes part |
//!
//! ID has 8 hexadecimal digits, NODE 16. A block is made by one commit, so two that make the same
//! one at a time get the same id. A process takes part once a view has it.

use minicbor::{Decode, Encode};
use tidings_tasks_core::transaction::{Expect, Key, Record, Session, Transaction, Write};

use crate::envelope::{Refusal, decode, encode};
use crate::id::{BlockId, MAX_BLOCKS, Node};
use crate::view::View;

/// The longest name of a block, in bytes.
pub const MAX_NAME_BYTES: usize = 255;

/// The longest name of a kind, in bytes.
pub const MAX_KIND_BYTES: usize = 64;

/// What keys of blocks begin with.
pub const PREFIX: &[u8] = b"b/";

/// What a block is.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Made {
    /// Its name.
    #[n(0)]
    pub name: String,
    /// The kind of block.
    #[n(1)]
    pub kind: String,
    /// The version of the code that has made it.
    #[n(2)]
    pub version: u32,
    /// The view in which it was made: no earlier one had a copy of anything.
    #[n(3)]
    pub since: u64,
}

/// A process that would take part.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Present {
    /// Its host, as the board names it.
    #[n(0)]
    pub host: String,
    /// Where others reach it.
    #[n(1)]
    pub address: String,
}

/// Why there is no block of a name. Nothing was written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecordError {
    /// The name is empty or too long.
    #[error("a name of a block has 1 to {MAX_NAME_BYTES} bytes, this has {0}")]
    Name(usize),
    /// All numbers are used.
    #[error("the store has {MAX_BLOCKS} blocks, which is all that it can have")]
    Full,
    /// A record is none of this version.
    #[error("{0} is no record that this version reads: use programs of one version")]
    Unreadable(Key),
    /// The block is something else.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// The number of the last block.
pub fn next() -> Key {
    key("b/next".to_owned())
}

/// The id of a name.
///
/// # Errors
/// It is no name.
pub fn named(name: &str) -> Result<Key, RecordError> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err(RecordError::Name(name.len()));
    }
    Ok(key(format!("b/n/{name}")))
}

/// What a block is.
pub fn made(id: BlockId) -> Key {
    key(format!("b/i/{:08x}", id.0))
}

/// That a block has begun which begins once.
pub fn begun(id: BlockId) -> Key {
    key(format!("b/f/{:08x}", id.0))
}

/// The transaction that says so.
pub fn begin(id: BlockId) -> Transaction {
    let mut transaction = Transaction::default();
    transaction.expect(begun(id), Expect::Absent);
    transaction.put(begun(id), encode(&id.0));
    transaction
}

/// A process that would take part.
pub fn present(node: Node) -> Key {
    key(format!("b/m/{:016x}", node.0))
}

/// Where processes that would take part begin.
pub fn all_present() -> Key {
    key("b/m/".to_owned())
}

/// Whose presence a key is.
pub fn present_of(key: &Key) -> Option<Node> {
    let digits = key.as_bytes().strip_prefix(all_present().as_bytes())?;
    u64::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok().map(Node)
}

/// Who takes part.
pub fn view() -> Key {
    key("b/view".to_owned())
}

/// What a record says.
///
/// # Errors
/// It is none of this version.
pub fn read<'b, T: Decode<'b, ()>>(record: &'b Record) -> Result<T, RecordError> {
    decode(&record.value).ok_or_else(|| RecordError::Unreadable(record.key.clone()))
}

/// What a record of blocks is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum About {
    /// A block, or their number.
    Block,
    /// A process that would take part: the record goes with its session.
    Present,
    /// Who takes part.
    View,
}

/// What a record is about; `None` if it is no record of blocks.
///
/// # Errors
/// It is none of this version.
pub fn about(record: &Record) -> Result<Option<About>, RecordError> {
    let key = &record.key;
    let begins = |prefix: &[u8]| key.as_bytes().starts_with(prefix);
    if *key == view() {
        return read::<View>(record).map(|_| Some(About::View));
    }
    if present_of(key).is_some_and(|node| *key == present(node)) {
        return read::<Present>(record).map(|_| Some(About::Present));
    }
    if begins(b"b/i/") {
        return read::<Made>(record).map(|_| Some(About::Block));
    }
    if begins(b"b/n/") || begins(b"b/f/") || *key == next() {
        return read::<u32>(record).map(|_| Some(About::Block));
    }
    Ok(None)
}

/// The transaction that makes a block, from the records of [`next`] and [`view`] as they were read,
/// and its id. The name must have none.
///
/// # Errors
/// There are too many, or it is no name.
pub fn make(
    name: &str,
    (kind, version): (&str, u32),
    last: Option<&Record>,
    now: Option<&Record>,
) -> Result<(Transaction, BlockId), RecordError> {
    let number: u32 = last.map_or(Ok(0), read)?;
    if number >= MAX_BLOCKS {
        return Err(RecordError::Full);
    }
    let since = now.map_or(Ok(View::default()), read)?.number;
    let (id, named) = (BlockId(number + 1), named(name)?);
    let mut transaction = Transaction::default();
    transaction.expect(next(), as_seen(last));
    transaction.expect(named.clone(), Expect::Absent);
    transaction.put(next(), encode(&id.0));
    transaction.put(named, encode(&id));
    let made_so = Made { name: name.to_owned(), kind: kind.to_owned(), version, since };
    transaction.put(made(id), encode(&made_so));
    Ok((transaction, id))
}

/// Whether a block is what a program takes it for.
///
/// # Errors
/// It is something else, or of another version.
pub fn check(id: BlockId, made: &Made, kind: &str, version: u32) -> Result<(), Refusal> {
    if made.kind != kind {
        let (kind, wanted) = (made.kind.clone(), kind.to_owned());
        return Err(Refusal::Other { id, kind, wanted });
    }
    if made.version != version {
        let kind = made.kind.clone();
        return Err(Refusal::Version { id, kind, made: made.version, known: version });
    }
    Ok(())
}

/// The transaction by which a process says that it would take part.
pub fn come(node: Node, present_so: &Present, session: Session) -> Transaction {
    let (key, value) = (present(node), encode(present_so).into());
    let write = Write::Put { key, value, session: Some(session) };
    Transaction { conditions: Vec::new(), writes: vec![write] }
}

/// The transaction that replaces a view as it was read by one with these nodes, and shuts out those
/// that it has no more.
///
/// # Errors
/// The record is none of this version.
pub fn change(
    seen: Option<&Record>,
    nodes: impl IntoIterator<Item = Node>,
) -> Result<(Transaction, View), RecordError> {
    let before: View = seen.map_or(Ok(View::default()), read)?;
    let after = before.followed_by(nodes);
    let mut transaction = Transaction::default();
    transaction.expect(view(), as_seen(seen));
    transaction.put(view(), encode(&after));
    for gone in before.nodes.iter().filter(|node| !after.has(**node)) {
        transaction.delete(present(*gone));
    }
    Ok((transaction, after))
}

fn as_seen(record: Option<&Record>) -> Expect {
    record.map_or(Expect::Absent, |record| Expect::At(record.revision))
}

fn key(text: String) -> Key {
    Key::new(text.into_bytes()).expect("a prefix and at most 255 bytes are short")
}

#[cfg(test)]
mod tests {
    use tidings_tasks_core::ledger::Ledger;

    use super::*;

    fn make_in(ledger: &mut Ledger, name: &str) -> Result<BlockId, RecordError> {
        let (last, now) = (ledger.get(&next()), ledger.get(&view()));
        let (transaction, id) = make(name, ("counter", 1), last.as_ref(), now.as_ref())?;
        ledger.commit(&transaction).expect("nothing is against it");
        Ok(id)
    }

    #[test]
    fn ids_are_counted_and_names_have_one() {
        let mut ledger = Ledger::default();
        assert_eq!(make_in(&mut ledger, "a"), Ok(BlockId(1)));
        let (last, name) = (ledger.get(&next()), named("a").unwrap());
        let (again, _) = make("a", ("counter", 1), last.as_ref(), None).unwrap();
        assert!(ledger.commit(&again).is_err(), "the name has an id");
        assert_eq!(make_in(&mut ledger, "b"), Ok(BlockId(2)));
        let id: BlockId = read(&ledger.get(&name).unwrap()).unwrap();
        let made_so: Made = read(&ledger.get(&made(id)).unwrap()).unwrap();
        assert_eq!((id, made_so.name.as_str()), (BlockId(1), "a"));
        for wrong in ["", &"n".repeat(MAX_NAME_BYTES + 1)] {
            assert_eq!(make_in(&mut ledger, wrong), Err(RecordError::Name(wrong.len())));
        }
    }

    #[test]
    fn a_record_says_what_it_is_about() {
        let mut ledger = Ledger::default();
        let id = make_in(&mut ledger, "a").unwrap();
        let session = ledger.open_session();
        let present_so = Present { host: "h".to_owned(), address: "a:1".to_owned() };
        ledger.commit(&come(Node(1), &present_so, session)).unwrap();
        ledger.commit(&change(None, [Node(1)]).unwrap().0).unwrap();
        let about_key = |key: Key| about(&ledger.get(&key).unwrap());
        for key in [next(), named("a").unwrap(), made(id)] {
            assert_eq!(about_key(key), Ok(Some(About::Block)));
        }
        assert_eq!(about_key(present(Node(1))), Ok(Some(About::Present)));
        assert_eq!(about_key(view()), Ok(Some(About::View)));
        let of = |text: &str| {
            let (key, value) = (key(text.to_owned()), vec![0xff].into());
            about(&Record { key, value, revision: tidings_tasks_core::transaction::Revision(1) })
        };
        assert_eq!(of("b/x"), Ok(None));
        assert_eq!(of("b/m/1"), Ok(None));
        for damaged in ["b/view", "b/next", "b/i/00000001", "b/m/0000000000000001"] {
            let why = of(damaged).unwrap_err();
            assert_eq!(why, RecordError::Unreadable(key(damaged.to_owned())));
        }
    }

    #[test]
    fn a_store_with_all_its_blocks_says_so() {
        let mut ledger = Ledger::default();
        let mut transaction = Transaction::default();
        transaction.put(next(), encode(&MAX_BLOCKS));
        ledger.commit(&transaction).unwrap();
        assert_eq!(make_in(&mut ledger, "a"), Err(RecordError::Full));
    }

    #[test]
    fn another_kind_or_version_is_refused_by_name() {
        let made_so =
            Made { name: "a".to_owned(), kind: "counter".to_owned(), version: 2, since: 0 };
        assert_eq!(check(BlockId(7), &made_so, "counter", 2), Ok(()));
        let other = check(BlockId(7), &made_so, "log", 2).unwrap_err().to_string();
        assert!(other.contains("block 7 is a `counter`, and no `log`"), "{other}");
        let version = check(BlockId(7), &made_so, "counter", 3).unwrap_err().to_string();
        assert!(version.contains("of version 2, this program has version 3"), "{version}");
    }

    #[test]
    fn of_two_that_change_a_view_one_does_and_the_lost_are_shut_out() {
        let mut ledger = Ledger::default();
        let session = ledger.open_session();
        let present_so = Present { host: "h".to_owned(), address: "a:1".to_owned() };
        for node in [1, 2] {
            ledger.commit(&come(Node(node), &present_so, session)).unwrap();
        }
        let (first, one) = change(None, [Node(2), Node(1)]).unwrap();
        let (second, _) = change(None, [Node(2)]).unwrap();
        ledger.commit(&first).unwrap();
        assert!(ledger.commit(&second).is_err());
        assert_eq!((one.number, one.nodes.len()), (1, 2));
        let (third, two) = change(ledger.get(&view()).as_ref(), [Node(2)]).unwrap();
        ledger.commit(&third).unwrap();
        assert_eq!((two.number, ledger.get(&present(Node(1)))), (2, None));
        assert_eq!(present_of(&present(Node(2))), Some(Node(2)));
    }
}
