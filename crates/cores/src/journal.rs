//! What has been changed, on disk: each change with the value before it, synced before it is made.
//!
//! A line a change, as JSON; the first line says whose roles they are. A last line without its end
//! is one whose change was not made. The file lies where it survives a restart of the machine; it
//! is removed when all is undone. A lock beside it keeps two processes from changing knobs at once.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::CoresError;
use crate::hierarchy::Way;
use crate::knob::Value;
use crate::set::CoreSet;

/// Where the journal lies unless something else is asked for.
pub const FOLDER: &str = "/var/lib/tidings/cores";

/// The most bytes that are read of a journal.
const BYTES_MOST: u64 = 64 << 20;

/// Whose roles they are: the first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of this form.
    pub version: u32,
    /// The machine.
    pub machine: String,
    /// The start of the machine during which they were set.
    pub boot: String,
    /// How programs are kept off application cores.
    pub way: Way,
    /// The cores that are kept for applications.
    pub application: CoreSet,
    /// All others.
    pub service: CoreSet,
}

/// A task and where it might run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// Its number.
    pub task: u32,
    /// When it began.
    pub began: u64,
    /// The cores that it could use.
    pub before: CoreSet,
    /// Those that it got; nothing where its group decides.
    pub after: Option<CoreSet>,
}

/// A change of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "change")]
pub enum Change {
    /// A knob got another value.
    Value(Value),
    /// A control group was made.
    Group {
        /// Its path.
        path: String,
        /// Its file that names its tasks.
        members: String,
    },
    /// Tasks were moved, or will be by what follows.
    Affinities {
        /// Those whose cores have to be set again.
        tasks: Vec<Remembered>,
    },
    /// All is set.
    Complete,
}

/// A journal that is being written.
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
}

/// That no other process changes knobs.
pub(crate) struct Lock(File);

impl Drop for Lock {
    /// Closing would not do: a process that another thread starts just now has the file open too.
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// The journal's file.
pub(crate) fn path(folder: &Path) -> PathBuf {
    folder.join("journal")
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> CoresError + '_ {
    |source| CoresError::Journal { path: path.to_owned(), source }
}

/// Waits for nobody: fails if another process changes knobs.
pub(crate) fn lock(folder: &Path) -> Result<Lock, CoresError> {
    let path = folder.join("lock");
    let open = || {
        fs::create_dir_all(folder)?;
        File::options().create(true).truncate(false).write(true).open(&path)
    };
    let file = open().map_err(failed(&path))?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| CoresError::Busy { path: path.clone() })?;
    Ok(Lock(file))
}

impl Journal {
    /// A new one, on disk before this returns.
    pub(crate) fn begin(folder: &Path, header: &Header) -> Result<Self, CoresError> {
        let path = path(folder);
        let make = || -> io::Result<File> {
            let file = File::options().create_new(true).append(true).open(&path)?;
            File::open(folder)?.sync_all()?;
            Ok(file)
        };
        let file = match make() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(CoresError::Applied { path });
            }
            opened => opened.map_err(failed(&path))?,
        };
        let mut journal = Self { file, path };
        journal.line(header)?;
        Ok(journal)
    }

    /// Notes a change that is about to be made, on disk before this returns.
    pub(crate) fn note(&mut self, change: &Change) -> Result<(), CoresError> {
        self.line(change)
    }

    fn line(&mut self, of: &impl Serialize) -> Result<(), CoresError> {
        let write = |file: &mut File| -> io::Result<()> {
            let mut line = serde_json::to_vec(of)?;
            line.push(b'\n');
            file.write_all(&line)?;
            file.sync_all()
        };
        write(&mut self.file).map_err(failed(&self.path))
    }
}

/// What a journal says; nothing if there is none, or if it was begun and no change was made.
///
/// # Errors
/// [`CoresError::Journal`] and [`CoresError::Damaged`].
pub fn read(folder: &Path) -> Result<Option<(Header, Vec<Change>)>, CoresError> {
    let path = path(folder);
    let mut text = String::new();
    let read = File::open(&path).and_then(|file| file.take(BYTES_MOST).read_to_string(&mut text));
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(failed(&path))?,
    };
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let mut lines = text[..whole].lines().enumerate();
    let damaged = |at: usize, why: serde_json::Error| CoresError::Damaged {
        path: path.clone(),
        line: at + 1,
        why: why.to_string(),
    };
    let Some((at, first)) = lines.next() else { return Ok(None) };
    let header: Header = serde_json::from_str(first).map_err(|why| damaged(at, why))?;
    let change = |(at, line)| serde_json::from_str(line).map_err(|why| damaged(at, why));
    Ok(Some((header, lines.map(change).collect::<Result<_, _>>()?)))
}

/// Removes a journal whose changes are undone.
pub(crate) fn end(folder: &Path) -> Result<(), CoresError> {
    let path = path(folder);
    let remove = || -> io::Result<()> {
        fs::remove_file(&path)?;
        File::open(folder)?.sync_all()
    };
    match remove() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(failed(&path)),
    }
}

/// Whether a journal is there, whatever is in it.
pub(crate) fn is_there(folder: &Path) -> bool {
    path(folder).exists()
}
