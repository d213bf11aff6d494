//! Looking into a store that nobody else holds: what its records say, whether they fit together,
//! and all of them as one file.
//!
//! | module | what it holds |
//! |---|---|
//! | [`check`](mod@check) | the invariants of the records, and which of them are broken |
//! | [`archive`] | all records as a file, by which they move to another engine |

pub mod archive;
pub mod check;

use tidings_blocks::record::{self as blocks, About};
use tidings_tasks_core::id::{Part, TaskId};
use tidings_tasks_core::keys::{self, Letter};
use tidings_tasks_core::ledger::Page;
use tidings_tasks_core::record::{Ended, Finished, Reign, Staged, Task, decode};
use tidings_tasks_core::semaphore::Semaphore;
use tidings_tasks_core::transaction::{Key, Record};
use tidings_tasks_core::tuple::{Past, Stored};

use crate::parts;
use crate::store::{Lost, Store};

/// The records of a page.
const PAGE: usize = 1_000;

/// What a record says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Content {
    /// How many parts there are.
    Parts(u16),
    /// What other parts have written into the inbox of one.
    Letter(Part, Letter),
    /// Who coordinates a part.
    Role(Part, Reign),
    /// The fence of a part, against commits that were sent earlier.
    Fence(Part),
    /// The coordinator of a part lives: the record goes with its session.
    Lives(Part),
    /// A task that has not ended.
    Task(Part, TaskId, Box<Task>),
    /// A task that has ended.
    Finished(Part, TaskId, Box<Finished>),
    /// Children of a task that are too many for one commit, some of them.
    Staged(Part, TaskId, Staged),
    /// That the children of a task count.
    Counted(Part, TaskId),
    /// A semaphore, by its name.
    Semaphore(Part, String, Semaphore),
    /// A tuple, in which space, and who has pulled it.
    Tuple(Part, String, Stored),
    /// The last statement of a slot of a session.
    Past(Part, Past),
    /// What a task wrote under a key of its own.
    Own,
    /// A building block, or who takes part in them.
    Block(About),
}

impl Content {
    /// What a record says.
    ///
    /// # Errors
    /// Its key or value is none that this version writes: in words.
    pub fn of(record: &Record) -> Result<Self, String> {
        let key = &record.key;
        if key.as_bytes().starts_with(b"e/") {
            return Ok(Self::Own);
        }
        if let Some(about) = blocks::about(record).map_err(|error| error.to_string())? {
            return Ok(Self::Block(about));
        }
        if *key == keys::parts() {
            let parts = parts::number_in(record).ok_or("it is no number of parts")?;
            return Ok(Self::Parts(parts));
        }
        let unknown = || "its key is none that this version writes".to_owned();
        let part = part_of(key).ok_or_else(unknown)?;
        let unreadable = |error: tidings_tasks_core::record::RecordError| error.reason;
        if *key == keys::role(part) {
            return Ok(Self::Role(part, decode(record).map_err(unreadable)?));
        }
        if let Some(letter) = keys::letter_of(part, key) {
            if let Letter::Ended(_) = letter {
                decode::<Ended>(record).map_err(unreadable)?;
            }
            return Ok(Self::Letter(part, letter));
        }
        if *key == keys::lives(part) {
            return Ok(Self::Lives(part));
        }
        if *key == keys::fence(part) {
            return Ok(Self::Fence(part));
        }
        if let Some((parent, number)) = keys::parent_of(part, key) {
            return Ok(match number {
                Some(_) => Self::Staged(part, parent, decode(record).map_err(unreadable)?),
                None => Self::Counted(part, parent),
            });
        }
        if let Some(name) = keys::name_of(part, key) {
            let semaphore = decode(record).map_err(unreadable)?;
            return Ok(Self::Semaphore(part, name.to_owned(), semaphore));
        }
        if let Some((space, _)) = keys::tuple_of(part, key) {
            return Ok(Self::Tuple(part, space.to_owned(), decode(record).map_err(unreadable)?));
        }
        if keys::past_of(part, key).is_some() {
            return Ok(Self::Past(part, decode(record).map_err(unreadable)?));
        }
        let id = keys::id_of(key).ok_or_else(unknown)?;
        if *key == keys::task(part, id) {
            Ok(Self::Task(part, id, Box::new(decode(record).map_err(unreadable)?)))
        } else if *key == keys::finished(part, id) {
            Ok(Self::Finished(part, id, Box::new(decode(record).map_err(unreadable)?)))
        } else {
            Err(unknown())
        }
    }
}

/// The part at the beginning of a key.
fn part_of(key: &Key) -> Option<Part> {
    let text = std::str::from_utf8(key.as_bytes()).ok()?;
    let (part, _) = text.strip_prefix('p')?.split_once('/')?;
    let part = Part(u16::from_str_radix(part, 16).ok()?);
    key.as_bytes().starts_with(format!("p{:04x}/", part.0).as_bytes()).then_some(part)
}

/// The keys that begin with some bytes, page by page.
pub struct Pages<'s> {
    store: &'s dyn Store,
    from: Option<Key>,
    end: Option<Key>,
}

impl<'s> Pages<'s> {
    /// All keys of a store.
    pub fn all(store: &'s dyn Store) -> Self {
        Self { store, from: Key::new([0]).ok(), end: None }
    }

    /// Those that begin with `prefix`.
    pub fn below(store: &'s dyn Store, prefix: Key) -> Self {
        Self { store, end: prefix.after_prefix(), from: Some(prefix) }
    }

    /// The next page; `None` behind the last one.
    ///
    /// # Errors
    /// The store cannot be reached.
    pub async fn next(&mut self) -> Result<Option<Page>, Lost> {
        let Some(from) = self.from.take() else { return Ok(None) };
        let page = self.store.scan(&from, self.end.as_ref(), PAGE).await?;
        self.from.clone_from(&page.next);
        Ok(Some(page))
    }
}

#[cfg(test)]
mod tests {
    use tidings_tasks_core::transaction::Revision;

    use super::*;

    #[test]
    fn keys_say_what_is_in_their_records() {
        let of = |key: &[u8]| {
            let key = Key::new(key).unwrap();
            Content::of(&Record { key, value: Box::default(), revision: Revision(1) })
        };
        assert_eq!(of(b"e/sum"), Ok(Content::Own));
        assert!(of(b"b/view").unwrap_err().contains("b/view is no record"));
        assert_eq!(of(b"p0003/lives"), Ok(Content::Lives(Part(3))));
        assert_eq!(of(b"p0003/fence"), Ok(Content::Fence(Part(3))));
        let id = TaskId::of("a", 1);
        assert_eq!(of(b"p0003/i/b"), Ok(Content::Letter(Part(3), Letter::Bell)));
        let wanted = keys::wanted(Part(3), id, Part(1));
        let letter = Letter::Wanted(id, Part(1));
        assert_eq!(of(wanted.as_bytes()), Ok(Content::Letter(Part(3), letter)));
        assert!(of(b"parts").is_err() && of(b"p0003/i/x").is_err());
        let counted = keys::children(Part(3), id);
        assert_eq!(of(counted.as_bytes()), Ok(Content::Counted(Part(3), id)));
        for damaged in
            ["p0000/role", "p0000/s/a", &format!("p0000/c/{id}/0001"), "p0000/u/a/0000000000000001"]
        {
            let error = of(damaged.as_bytes()).unwrap_err();
            assert_ne!(error, "its key is none that this version writes", "{damaged}");
        }
        for foreign in
            ["x", "p3/lives", "p00000/lives", "p0000/t/12", &format!("p0000/u/{id}"), "p0000/v/a"]
        {
            let error = of(foreign.as_bytes()).unwrap_err();
            assert_eq!(error, "its key is none that this version writes", "{foreign}");
        }
    }
}
