//! Reading the last commit.

use std::sync::Arc;

use redb::{Database, ReadOnlyTable};
use tidings_tasks_core::ledger::Page;
use tidings_tasks_core::transaction::{Key, Revision};

use super::holder::Holder;
use super::tables::{METADATA, RECORDS, REVISION, RedbError, number, record};
use crate::store::{Lost, Snapshot};

/// A page ends after the value with which it has this many bytes.
const PAGE_BYTES: usize = 4 << 20;

/// The open file; it is closed, and the lock given back, when the last reader is done.
pub(super) struct Handle {
    pub(super) database: Database,
    #[expect(dead_code, reason = "it is held until the file is closed")]
    pub(super) holder: Arc<Holder>,
}

/// Whether the store can be used.
#[derive(Clone)]
pub(super) enum Access {
    Open(Arc<Handle>),
    /// There was not even the space to open it again; there may be, later.
    NoSpace(String),
    /// Not by this process any more.
    Closed(String),
}

impl Access {
    /// The last commit.
    pub(super) fn view(&self) -> Result<Result<View, RedbError>, Lost> {
        match self {
            Self::Open(handle) => Ok(View::of(&handle.database)),
            Self::NoSpace(why) | Self::Closed(why) => Err(Lost(why.clone())),
        }
    }
}

/// All values as of one revision.
pub(super) struct View {
    records: ReadOnlyTable<&'static [u8], &'static [u8]>,
    pub(super) revision: Revision,
}

impl View {
    pub(super) fn of(database: &Database) -> Result<Self, RedbError> {
        let transaction = database.begin_read()?;
        let metadata = transaction.open_table(METADATA)?;
        let revision = metadata.get(REVISION)?.and_then(|found| number(found.value()));
        let revision = Revision(revision.unwrap_or_default());
        Ok(Self { records: transaction.open_table(RECORDS)?, revision })
    }

    pub(super) fn get(&self, keys: &[Key]) -> Result<Snapshot, RedbError> {
        let mut records = Vec::with_capacity(keys.len());
        for key in keys {
            let found = self.records.get(key.as_bytes())?;
            records.push(found.and_then(|found| record(key.clone(), found.value())));
        }
        Ok(Snapshot { records, revision: self.revision })
    }

    pub(super) fn scan(
        &self,
        from: &Key,
        end: Option<&Key>,
        limit: usize,
    ) -> Result<Page, RedbError> {
        let mut page = Page { records: Vec::new(), revision: self.revision, next: None };
        let mut bytes = 0;
        for entry in self.records.range(from.as_bytes()..)? {
            let (key, value) = entry?;
            let Ok(key) = Key::new(key.value()) else { continue };
            if end.is_some_and(|end| key >= *end) {
                break;
            }
            if page.records.len() >= limit || bytes >= PAGE_BYTES {
                page.next = Some(key);
                break;
            }
            bytes += value.value().len();
            page.records.extend(record(key, value.value()));
        }
        Ok(page)
    }
}
