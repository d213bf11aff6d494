//! Archives: all records of a store as one file, by which they move to another engine.
//!
//! | bytes | what |
//! |---|---|
//! | 16 | [`MAGIC`] |
//! | frames | a length (four bytes, big endian) and an item in CBOR: one that begins, the records in the order of their keys, one that ends |
//!
//! The last item has the number of records and the SHA-256 of their frames. An archive is read
//! twice: as a whole before anything is written, then again. Keys that go with a session are left
//! out: there is none behind an archive. Revisions are those of the new store; nothing but commits
//! under way refers to them, and there are none while a store is held by nobody else.

use std::io::{self, Read, Seek, SeekFrom, Write};

use minicbor::{Decode, Decoder, Encode};
use sha2::{Digest as _, Sha256};
use tidings_blocks::record::About;
use tidings_tasks_core::transaction::{CommitError, Expect, Key, Limits, Transaction};

use super::{Content, Pages};
use crate::store::{Lost, Store};

/// What an archive begins with.
pub const MAGIC: &[u8; 16] = b"tidings archive\n";

/// The version of the format.
const VERSION: u32 = 1;

/// The bytes of an item: those of the largest transaction of an engine, and a little.
const MAX_ITEM_BYTES: usize = (16 << 20) + 4_096;

/// A part of an archive.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
enum Item {
    /// The beginning.
    #[n(0)]
    Begin {
        /// The version of the format.
        #[n(0)]
        version: u32,
        /// The cluster whose store it was.
        #[n(1)]
        cluster: String,
    },
    /// A record.
    #[n(1)]
    Record {
        /// Its key.
        #[cbor(n(0), with = "minicbor::bytes")]
        key: Vec<u8>,
        /// Its value.
        #[cbor(n(1), with = "minicbor::bytes")]
        value: Vec<u8>,
    },
    /// The end.
    #[n(2)]
    End {
        /// How many records there are.
        #[n(0)]
        records: u64,
        /// The SHA-256 of their frames.
        #[cbor(n(1), with = "minicbor::bytes")]
        digest: Vec<u8>,
    },
}

/// Why nothing was exported or imported, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The archive cannot be read or written.
    #[error("the archive: {0}")]
    File(#[from] io::Error),
    /// It is none, or is damaged. Nothing was imported.
    #[error("this is no whole archive of a store ({0}): export it again")]
    Damaged(String),
    /// It is of another cluster. Nothing was imported.
    #[error("the archive is of cluster `{found}`, not `{wanted}`")]
    Cluster {
        /// Whose it is.
        found: String,
        /// Whose it was to be.
        wanted: String,
    },
    /// The store has records. Nothing was imported.
    #[error("the store is not empty: import into a new one")]
    NotEmpty,
    /// The store cannot be reached.
    #[error(transparent)]
    Store(#[from] Lost),
    /// The store does not take the records. Some may have been imported: remove them, or use
    /// another place.
    #[error("{0}; what was imported is incomplete: remove it before you try again")]
    Commit(#[from] CommitError),
}

/// Writes all records of a store. Returns how many.
///
/// # Errors
/// What was written is no whole archive.
pub async fn export(
    store: &dyn Store,
    cluster: &str,
    to: &mut (impl Write + Send),
) -> Result<u64, ArchiveError> {
    to.write_all(MAGIC)?;
    put(to, &Item::Begin { version: VERSION, cluster: cluster.to_owned() })?;
    let (mut records, mut digest) = (0, Sha256::new());
    let mut pages = Pages::all(store);
    while let Some(page) = pages.next().await? {
        for record in page.records {
            let content = Content::of(&record);
            if matches!(content, Ok(Content::Lives(_) | Content::Block(About::Present))) {
                continue;
            }
            let key = record.key.as_bytes().to_vec();
            digest.update(put(to, &Item::Record { key, value: record.value.into() })?);
            records += 1;
        }
    }
    put(to, &Item::End { records, digest: digest.finalize().to_vec() })?;
    to.flush()?;
    Ok(records)
}

/// Writes all records of an archive into a store that has none. Returns how many.
///
/// # Errors
/// [`ArchiveError::Store`] and [`ArchiveError::Commit`] leave the store incomplete; all others as
/// it was.
pub async fn import(
    store: &dyn Store,
    cluster: &str,
    from: &mut (impl Read + Seek + Send),
) -> Result<u64, ArchiveError> {
    verify(from, cluster)?;
    from.seek(SeekFrom::Start(0))?;
    let first = Pages::all(store).next().await?;
    if first.is_some_and(|page| !page.records.is_empty()) {
        return Err(ArchiveError::NotEmpty);
    }
    let limits = store.limits();
    let mut items = Items::begin(from, cluster)?;
    let mut transaction = Transaction::default();
    while let Some((key, value)) = items.next()? {
        let mut one = Transaction::default();
        one.expect(key.clone(), Expect::Absent);
        one.put(key, value);
        if !fits(&transaction, &one, limits) {
            store.commit(core::mem::take(&mut transaction)).await?;
        }
        transaction.conditions.append(&mut one.conditions);
        transaction.writes.append(&mut one.writes);
    }
    store.commit(transaction).await?;
    Ok(items.records)
}

/// Whether one more record goes into a transaction.
fn fits(transaction: &Transaction, one: &Transaction, limits: Limits) -> bool {
    transaction.operations() + one.operations() <= limits.operations
        && transaction.bytes() + one.bytes() <= limits.bytes
}

/// Reads an archive as a whole.
fn verify(from: &mut impl Read, cluster: &str) -> Result<(), ArchiveError> {
    let mut items = Items::begin(from, cluster)?;
    while items.next()?.is_some() {}
    Ok(())
}

/// The records of an archive, one by one; the last step shows that it is whole.
struct Items<'r, R> {
    from: &'r mut R,
    digest: Sha256,
    records: u64,
    last: Option<Key>,
}

impl<'r, R: Read> Items<'r, R> {
    fn begin(from: &'r mut R, wanted: &str) -> Result<Self, ArchiveError> {
        let mut magic = [0; MAGIC.len()];
        from.read_exact(&mut magic).map_err(cut)?;
        if magic != *MAGIC {
            return Err(ArchiveError::Damaged("it begins otherwise".to_owned()));
        }
        match get(from)?.0 {
            Item::Begin { version: VERSION, cluster } if cluster == wanted => {}
            Item::Begin { version: VERSION, cluster: found } => {
                return Err(ArchiveError::Cluster { found, wanted: wanted.to_owned() });
            }
            Item::Begin { version, .. } => {
                let what = format!("version {version} of the format, this program knows {VERSION}");
                return Err(ArchiveError::Damaged(what));
            }
            _ => return Err(ArchiveError::Damaged("it has no beginning".to_owned())),
        }
        Ok(Self { from, digest: Sha256::new(), records: 0, last: None })
    }

    fn next(&mut self) -> Result<Option<(Key, Vec<u8>)>, ArchiveError> {
        let damaged = |what: &str| Err(ArchiveError::Damaged(what.to_owned()));
        let (item, frame) = get(self.from)?;
        match item {
            Item::Record { key, value } => {
                let key =
                    Key::new(key).map_err(|error| ArchiveError::Damaged(error.to_string()))?;
                if self.last.as_ref().is_some_and(|last| *last >= key) {
                    return damaged("its keys are not in order");
                }
                self.digest.update(&frame);
                self.records += 1;
                self.last = Some(key.clone());
                Ok(Some((key, value)))
            }
            Item::End { records, digest } => {
                let own = core::mem::take(&mut self.digest).finalize();
                if records != self.records || *digest != *own {
                    return damaged("its sum is another");
                }
                match self.from.read(&mut [0])? {
                    0 => Ok(None),
                    _ => damaged("something follows its end"),
                }
            }
            Item::Begin { .. } => damaged("it begins twice"),
        }
    }
}

/// Writes an item; returns its frame without the length.
fn put(to: &mut impl Write, item: &Item) -> Result<Vec<u8>, ArchiveError> {
    let frame = tidings_tasks_core::record::encode(item);
    if frame.len() > MAX_ITEM_BYTES {
        let what = format!("a record of {} bytes", frame.len());
        return Err(io::Error::other(what).into());
    }
    to.write_all(&(frame.len() as u32).to_be_bytes())?;
    to.write_all(&frame)?;
    Ok(frame)
}

/// Reads an item, and its frame without the length.
fn get(from: &mut impl Read) -> Result<(Item, Vec<u8>), ArchiveError> {
    let mut length = [0; 4];
    from.read_exact(&mut length).map_err(cut)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > MAX_ITEM_BYTES {
        return Err(ArchiveError::Damaged(format!("an item of {length} bytes")));
    }
    // It grows as it is read: a length alone reserves nothing.
    let mut frame = Vec::new();
    from.take(length as u64).read_to_end(&mut frame)?;
    if frame.len() < length {
        return Err(cut(io::ErrorKind::UnexpectedEof.into()));
    }
    let mut decoder = Decoder::new(&frame);
    let item = decoder.decode().map_err(|error| ArchiveError::Damaged(error.to_string()))?;
    if decoder.position() < length {
        return Err(ArchiveError::Damaged("an item is longer than what it says".to_owned()));
    }
    Ok((item, frame))
}

fn cut(error: io::Error) -> ArchiveError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => ArchiveError::Damaged("it is cut off".to_owned()),
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;
    use tidings_tasks_core::id::Part;
    use tidings_tasks_core::keys;
    use tidings_tasks_core::transaction::Record;

    use super::*;
    use crate::store::memory::Memory;

    const CLUSTER: &str = "test";

    async fn filled(count: u64) -> Memory {
        let (store, mut all) = (Memory::default(), Transaction::default());
        all.put(keys::lives(Part(0)), *b"me");
        for number in 0..count {
            let key = keys::effect(&number.to_be_bytes()).unwrap();
            all.put(key, vec![number as u8; 1 + number as usize % 300]);
        }
        store.commit(all).await.unwrap();
        store
    }

    async fn records(store: &dyn Store) -> Vec<(Key, Box<[u8]>)> {
        let (mut all, mut pages) = (Vec::new(), Pages::all(store));
        while let Some(page) = pages.next().await.unwrap() {
            all.extend(page.records.into_iter().map(|Record { key, value, .. }| (key, value)));
        }
        all
    }

    async fn exported(store: &dyn Store) -> Vec<u8> {
        let mut bytes = Vec::new();
        export(store, CLUSTER, &mut bytes).await.unwrap();
        bytes
    }

    #[tokio::test]
    async fn a_store_moves_with_all_that_is_not_bound_to_a_session() {
        let (from, to) = (filled(3_000).await, Memory::default());
        let archive = exported(&from).await;
        let count = import(&to, CLUSTER, &mut Cursor::new(&archive)).await.unwrap();
        let mut wanted = records(&from).await;
        wanted.retain(|(key, _)| *key != keys::lives(Part(0)));
        assert_eq!((count, records(&to).await), (3_000, wanted));
        assert_eq!(exported(&to).await, archive);
        let again = import(&to, CLUSTER, &mut Cursor::new(&archive)).await;
        assert!(matches!(again, Err(ArchiveError::NotEmpty)));
        let other = import(&Memory::default(), "other", &mut Cursor::new(&archive)).await;
        assert!(matches!(other, Err(ArchiveError::Cluster { .. })));
    }

    #[tokio::test]
    async fn an_empty_store_is_an_archive_as_well() {
        let archive = exported(&Memory::default()).await;
        let count = import(&Memory::default(), CLUSTER, &mut Cursor::new(&archive)).await.unwrap();
        assert_eq!(count, 0);
    }

    proptest! {
        #[test]
        fn nothing_is_imported_of_what_is_damaged(
            at: prop::sample::Index,
            change in 1..=255_u8,
            cut: bool,
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let mut archive = exported(&filled(20).await).await;
                let at = at.index(archive.len());
                if cut {
                    archive.truncate(at);
                } else {
                    archive[at] = archive[at].wrapping_add(change);
                }
                let store = Memory::default();
                assert!(import(&store, CLUSTER, &mut Cursor::new(&archive)).await.is_err());
                assert_eq!(records(&store).await, []);
            });
        }
    }
}
