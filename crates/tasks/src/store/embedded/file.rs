//! Opening the file: making it, checking whose it is, and ending what the last holder left.
//!
//! A store that is made lies under another name until it is whole, so that a crash while it is made
//! leaves nothing that looks like a store.
//!
//! redb commits with one sync and checksums (its one-phase commit). After a crash it reads the
//! whole file to find which pages are free: 0.5 to 0.6 s for a million tasks in 540 MB on a virtual
//! machine with two cores (`cargo bench --bench store`). `set_quick_repair` would spare that, at a
//! second sync for *every* commit; starting may take 3 s, so it is not worth that.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use redb::{Builder, Database, StorageError};
use tidings_tasks_core::transaction::Revision;

use super::disk::Disk;
use super::error::OpenError;
use super::holder::{beside, lock};
use super::tables::{REVISION, RedbError, Tables};

/// The version of the tables and of what lies in them.
pub(super) const FORMAT: u64 = 1;

const FORMAT_NAME: &str = "tidings format";
const CLUSTER: &str = "cluster";
/// How often the file was opened; the upper half of the numbers of sessions.
const GENERATION: &str = "generation";

/// Memory for pages, in bytes.
const CACHE_BYTES: usize = 64 << 20;

/// What was found in a file, and made of it.
pub(super) struct Opened {
    pub(super) database: Database,
    pub(super) disk: Disk,
    pub(super) revision: Revision,
    pub(super) generation: u64,
}

/// Opens the store of a cluster, or makes it where there is no file yet.
pub(super) fn open(path: &Path, cluster: &str) -> Result<Opened, OpenError> {
    let failed = |error: io::Error| OpenError::file(path, &error);
    let made = beside(path, "new");
    let is_new = match std::fs::metadata(path) {
        Ok(found) => found.len() == 0,
        Err(error) if error.kind() == ErrorKind::NotFound => true,
        Err(error) => return Err(failed(error)),
    };
    let mut options = OpenOptions::new();
    // Programs run what lies in it, so nobody but its owner may read or write it.
    options.read(true).write(true).create(is_new).truncate(is_new).mode(0o600);
    let file = options.open(if is_new { &made } else { path }).map_err(failed)?;
    if !lock(&file).map_err(failed)? {
        return Err(OpenError::Held { path: path.into(), pid: None });
    }
    let disk = Disk::new(file);
    let opened = database(&disk)
        .map_err(Trouble::Redb)
        .and_then(|database| prepare(&database, is_new, cluster).map(|found| (database, found)));
    let (database, (revision, generation)) =
        opened.map_err(|trouble| trouble.of(path, &disk, cluster))?;
    if is_new {
        std::fs::rename(&made, path).map_err(failed)?;
        sync_folder(path).map_err(failed)?;
    }
    Ok(Opened { database, disk, revision, generation })
}

/// redb on a file. It panics on some files that were cut off, which is an error here.
pub(super) fn database(disk: &Disk) -> Result<Database, RedbError> {
    let open = || {
        let mut builder = Builder::new();
        builder.set_cache_size(CACHE_BYTES).create_with_file_format_v3(true);
        Ok(builder.create_with_backend(disk.clone())?)
    };
    catch_unwind(AssertUnwindSafe(open)).unwrap_or_else(|_| {
        Err(StorageError::Corrupted("its length is not the one that it states".into()).into())
    })
}

/// Why a file that could be opened is not used.
enum Trouble {
    Redb(RedbError),
    NoStore,
    Format(u64),
    Cluster(String),
}

impl<E: Into<redb::Error>> From<E> for Trouble {
    fn from(error: E) -> Self {
        Self::Redb(RedbError::from(error))
    }
}

impl Trouble {
    /// In the words of who opened it.
    fn of(self, path: &Path, disk: &Disk, cluster: &str) -> OpenError {
        let path = path.to_owned();
        match self {
            Self::NoStore => OpenError::NoStore { path },
            Self::Format(found) => OpenError::Format { path, found, known: FORMAT },
            Self::Cluster(found) => OpenError::Cluster { path, found, wanted: cluster.into() },
            Self::Redb(RedbError(error)) => match *error {
                redb::Error::TableTypeMismatch { .. } => OpenError::NoStore { path },
                redb::Error::Io(error) if error.kind() == ErrorKind::InvalidData => {
                    OpenError::NoStore { path }
                }
                redb::Error::UpgradeRequired(found) => {
                    OpenError::Format { path, found: found.into(), known: FORMAT }
                }
                redb::Error::Io(error) if disk.failure().is_some() => {
                    OpenError::file(&path, &error)
                }
                error if disk.failure().is_some() => {
                    OpenError::File { path, why: error.to_string() }
                }
                error => OpenError::Damaged { path, why: error.to_string() },
            },
        }
    }
}

/// Checks whose store it is, and ends the sessions that nobody can keep any more. The last
/// revision, and how often it was opened.
fn prepare(database: &Database, is_new: bool, cluster: &str) -> Result<(Revision, u64), Trouble> {
    let transaction = database.begin_write()?;
    if !is_new && transaction.list_tables()?.count() == 0 {
        return Err(Trouble::NoStore);
    }
    let mut tables = Tables::open(&transaction)?;
    if is_new {
        tables.set_number(FORMAT_NAME, FORMAT)?;
        tables.set_text(CLUSTER, cluster)?;
    }
    let format = tables.number(FORMAT_NAME)?.ok_or(Trouble::NoStore)?;
    if format != FORMAT {
        return Err(Trouble::Format(format));
    }
    let found = tables.text(CLUSTER)?.unwrap_or_default();
    if found != cluster {
        return Err(Trouble::Cluster(found));
    }
    let mut revision = Revision(tables.number(REVISION)?.unwrap_or_default());
    let sessions = tables.sessions()?;
    if !sessions.is_empty() {
        revision.0 += 1;
    }
    for session in sessions {
        tables.end(session)?;
    }
    let generation = tables.number(GENERATION)?.unwrap_or_default() + 1;
    tables.set_number(GENERATION, generation)?;
    tables.set_number(REVISION, revision.0)?;
    drop(tables);
    transaction.commit()?;
    Ok((revision, generation))
}

/// Makes the new name of a file last.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
