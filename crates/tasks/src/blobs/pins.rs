//! Pins: who needs which blob.
//!
//! A pin is an empty file named after its holder, so it survives the process that made it. One
//! holder pins a blob once, however often it asks. A pin whose holder is gone is for the owner of
//! the holders' names to drop; here they are names and nothing more.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::error::BlobError;
use super::folder::{Folder, make_folder, names};
use super::handle::Handle;

/// The longest name of a holder, in bytes.
const MAX_HOLDER_BYTES: usize = 128;

pub(super) fn check(holder: &str) -> Result<(), BlobError> {
    let may = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let length = (1..=MAX_HOLDER_BYTES).contains(&holder.len());
    if length && holder.bytes().all(may) && !holder.starts_with('.') {
        return Ok(());
    }
    Err(BlobError::Holder(holder.chars().take(MAX_HOLDER_BYTES).collect()))
}

/// Pins a blob that is there, durably; what is pinned already is renewed.
pub(super) fn pin(folder: &Folder, handle: &Handle, holders: &[&str]) -> Result<(), BlobError> {
    holders.iter().try_for_each(|holder| check(holder))?;
    let _shared = folder.share()?;
    if !folder.data().join(handle.hex()).exists() {
        return Err(BlobError::Missing { handle: *handle, folder: folder.root.clone() });
    }
    let pins = folder.pins().join(handle.hex());
    let make = || {
        if !pins.is_dir() {
            make_folder(&pins)?;
            folder.sync(&folder.pins())?;
        }
        for holder in holders {
            open(&pins.join(holder))?.set_modified(SystemTime::now())?;
        }
        folder.sync(&pins)
    };
    make().map_err(|error: io::Error| BlobError::file(&pins, &error))
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).open(path)
}

/// Removes a pin, if it is there.
pub(super) fn unpin(folder: &Folder, handle: &Handle, holder: &str) -> Result<(), BlobError> {
    check(holder)?;
    let _alone = folder.alone()?;
    remove(folder, &handle.hex(), holder)
}

/// With the lock held alone.
fn remove(folder: &Folder, hex: &str, holder: &str) -> Result<(), BlobError> {
    let pins = folder.pins().join(hex);
    let path = pins.join(holder);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(BlobError::file(&path, &error));
        }
        _ => {}
    }
    // As long as others pin it, it is not empty and stays.
    let _ = fs::remove_dir(&pins);
    Ok(())
}

/// Whether anybody pins it.
pub(super) fn is_pinned(folder: &Folder, hex: &str) -> bool {
    let pins = fs::read_dir(folder.pins().join(hex));
    pins.is_ok_and(|mut pins| pins.next().is_some())
}

/// The holders with a pin that was last renewed at least `grace` ago, as `age` tells.
pub(super) fn holders(
    folder: &Folder,
    grace: Duration,
    age: &dyn Fn(SystemTime) -> Duration,
) -> Result<BTreeSet<String>, BlobError> {
    let mut holders = BTreeSet::new();
    for hex in names(&folder.pins())? {
        let pins = folder.pins().join(hex);
        let old = names(&pins)?.into_iter().filter(|name| is_old(&pins.join(name), grace, age));
        holders.extend(old);
    }
    Ok(holders)
}

/// Drops the pins of some holders, but for those that were renewed meanwhile.
pub(super) fn drop_pins(
    folder: &Folder,
    of: &BTreeSet<String>,
    grace: Duration,
    age: &dyn Fn(SystemTime) -> Duration,
) -> Result<u64, BlobError> {
    let mut dropped = 0;
    for hex in names(&folder.pins())? {
        let pins = folder.pins().join(&hex);
        for holder in names(&pins)?.into_iter().filter(|name| of.contains(name)) {
            let _alone = folder.alone()?;
            if is_old(&pins.join(&holder), grace, age) {
                remove(folder, &hex, &holder)?;
                dropped += 1;
            }
        }
    }
    Ok(dropped)
}

/// Whether a file is there and was not renewed for so long.
pub(super) fn is_old(path: &Path, grace: Duration, age: &dyn Fn(SystemTime) -> Duration) -> bool {
    let modified = fs::metadata(path).and_then(|data| data.modified());
    modified.is_ok_and(|modified| age(modified) >= grace)
}
