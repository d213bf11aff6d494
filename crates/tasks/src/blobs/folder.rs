//! The folder of blobs: what lies where, and who may change it at a time.
//!
//! | name | what it is |
//! |---|---|
//! | `format` | which version of this layout it is |
//! | `depot` | a number of its own, once it was asked for: 16 hexadecimal digits |
//! | `lock` | locked while something below is named, pinned or removed |
//! | `data/HEX` | a blob under its hash, mode 0444 |
//! | `new/NAME` | a blob that is being written, locked by its writer |
//! | `pins/HEX/HOLDER` | empty: this holder needs this blob |
//!
//! Those who add share the lock; whoever removes has it alone. So between two looks of one remover
//! nobody renews a blob or pins it. The system frees the lock of a process that dies.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::error::BlobError;

/// What the file `format` says.
const FORMAT: &str = "tidings blobs 1";

/// Where the blobs lie.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) root: PathBuf,
    /// Whether what is acknowledged survives the host.
    pub(super) is_durable: bool,
}

/// The lock, until this is dropped.
#[derive(Debug)]
pub(super) struct Locked(#[expect(dead_code, reason = "it is held, not read")] File);

impl Folder {
    /// Opens a folder, or makes it. Its parent is there.
    pub(super) fn open(root: &Path, is_durable: bool) -> Result<Self, BlobError> {
        let folder = Self { root: root.into(), is_durable };
        for path in [root.into(), folder.data(), folder.new_ones(), folder.pins()] {
            make_folder(&path).map_err(|error| BlobError::file(&path, &error))?;
        }
        folder.check_format()?;
        let parent = match root.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        folder.sync(parent).map_err(|error| BlobError::file(parent, &error))?;
        Ok(folder)
    }

    /// Makes names in a folder as durable as the files they name.
    pub(super) fn sync(&self, folder: &Path) -> io::Result<()> {
        if self.is_durable { File::open(folder)?.sync_all() } else { Ok(()) }
    }

    /// Makes a file durable.
    pub(super) fn sync_file(&self, file: &File) -> io::Result<()> {
        if self.is_durable { file.sync_all() } else { Ok(()) }
    }

    pub(super) fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    pub(super) fn new_ones(&self) -> PathBuf {
        self.root.join("new")
    }

    pub(super) fn pins(&self) -> PathBuf {
        self.root.join("pins")
    }

    /// For adding; waits for whoever removes.
    pub(super) fn share(&self) -> Result<Locked, BlobError> {
        self.lock(FlockOperation::LockShared)
    }

    /// For removing; waits for all others.
    pub(super) fn alone(&self) -> Result<Locked, BlobError> {
        self.lock(FlockOperation::LockExclusive)
    }

    fn lock(&self, how: FlockOperation) -> Result<Locked, BlobError> {
        let path = self.root.join("lock");
        let open = || {
            let mut options = OpenOptions::new();
            let file = options.write(true).create(true).truncate(false).open(&path)?;
            rustix::io::retry_on_intr(|| flock(&file, how))?;
            Ok(Locked(file))
        };
        open().map_err(|error| BlobError::file(&path, &error))
    }

    fn check_format(&self) -> Result<(), BlobError> {
        let path = self.root.join("format");
        let look = || {
            let _alone = self.alone()?;
            match fs::read(&path) {
                Ok(found) if !found.is_empty() => Ok(found),
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    Err(BlobError::file(&path, &error))
                }
                // An empty one is what a crash has left.
                _ => self.write_format(&path),
            }
        };
        let found = look()?;
        check(path, &found)
    }

    /// A folder that another process has made, as it is.
    pub(super) fn of_others(root: &Path) -> Result<Self, BlobError> {
        let folder = Self { root: root.into(), is_durable: false };
        let path = folder.root.join("format");
        let found = fs::read(&path).map_err(|error| BlobError::file(&path, &error))?;
        check(path, &found)?;
        Ok(folder)
    }

    /// The number of this folder, if it has one.
    pub(super) fn known_number(&self) -> Option<u64> {
        let found = fs::read_to_string(self.root.join("depot")).ok()?;
        u64::from_str_radix(found.trim(), 16).ok()
    }

    /// The number of this folder, drawn at random when it is first asked for. Another folder at the
    /// same place has another one.
    pub(super) fn number(&self) -> Result<u64, BlobError> {
        let path = self.root.join("depot");
        let number = || {
            let _alone = self.alone().map_err(|error| io::Error::other(error.to_string()))?;
            if let Some(number) = self.known_number() {
                return Ok(number);
            }
            let mut bytes = [0; 8];
            getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
            let number = u64::from_be_bytes(bytes);
            let mut file = File::create(&path)?;
            file.write_all(format!("{number:016x}\n").as_bytes())?;
            self.sync_file(&file)?;
            self.sync(&self.root)?;
            Ok(number)
        };
        number().map_err(|error: io::Error| BlobError::file(&path, &error))
    }

    fn write_format(&self, path: &Path) -> Result<Vec<u8>, BlobError> {
        let text = format!("{FORMAT}\n").into_bytes();
        let write = || {
            let mut file = File::create(path)?;
            file.write_all(&text)?;
            self.sync_file(&file)?;
            self.sync(&self.root)
        };
        write().map_err(|error: io::Error| BlobError::file(path, &error))?;
        Ok(text)
    }
}

/// Whether a file says that its folder is one of blobs.
fn check(path: PathBuf, found: &[u8]) -> Result<(), BlobError> {
    let found: String = String::from_utf8_lossy(found).trim().chars().take(64).collect();
    if found == FORMAT {
        return Ok(());
    }
    Err(BlobError::Format { path, found, wanted: FORMAT.into() })
}

/// Makes a folder for this user alone, if it is not there.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        other => other,
    }
}

/// The names in a folder; none where there is no folder.
pub(super) fn names(folder: &Path) -> Result<Vec<String>, BlobError> {
    let list = || {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut names = Vec::new();
        for entry in entries {
            // What is not in UTF-8 was not made here.
            names.extend(entry?.file_name().into_string());
        }
        names.sort_unstable();
        Ok(names)
    };
    list().map_err(|error: io::Error| BlobError::file(folder, &error))
}
