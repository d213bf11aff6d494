//! Programs: where they are, and whether something can be preloaded below them.
//!
//! What is preloaded reaches only programs that the dynamic linker loads: a statically linked one
//! would run without it, and nothing would be measured. Such a program is refused before anything
//! runs.

use std::env;
use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::ExperimentError;

/// The type of a program header that names the dynamic linker.
const PT_INTERP: u32 = 3;

/// Finds a program: by its path, from `folder` on if that is relative, else on PATH.
///
/// # Errors
/// [`ExperimentError::Program`] if it is not there.
pub fn find(program: &str, folder: &Path) -> Result<PathBuf, ExperimentError> {
    if program.contains('/') {
        let path = folder.join(program);
        return fs::canonicalize(&path).map_err(|error| {
            let path = path.display();
            ExperimentError::Program(format!(
                "{path}: {error}: build it, or name another in `command`"
            ))
        });
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|folder| folder.join(program));
    found.into_iter().find(|path| path.is_file()).ok_or_else(|| {
        let reason = "is not on PATH: install it, or name its path in `command`";
        ExperimentError::Program(format!("{program} {reason}"))
    })
}

/// Refuses a program below which nothing can be preloaded.
///
/// # Errors
/// [`ExperimentError::Program`] if it is statically linked, or no program at all.
pub fn must_be_dynamic(program: &Path) -> Result<(), ExperimentError> {
    let refused =
        |reason: &str| ExperimentError::Program(format!("{}: {reason}", program.display()));
    let mut file = fs::File::open(program).map_err(|error| refused(&error.to_string()))?;
    let mut header = [0; 64];
    let read = file.read(&mut header).map_err(|error| refused(&error.to_string()))?;
    if header[..read].starts_with(b"#!") {
        return Ok(()); // a script: what it starts is found out when it runs
    }
    match has_interpreter(&header[..read], &mut file) {
        Some(true) => Ok(()),
        Some(false) => Err(refused(
            "is statically linked (ELF without PT_INTERP): the shim is preloaded by the dynamic \
             linker and cannot hide ranks from it; link it dynamically against MPI",
        )),
        None => Err(refused("is no program for this kind of machine (ELF, 64 bits) and no script")),
    }
}

/// Whether an ELF file of 64 bits in this machine's byte order names a dynamic linker.
fn has_interpreter(header: &[u8], file: &mut fs::File) -> Option<bool> {
    let number = |bytes: &[u8], at: usize, length: usize| -> Option<u64> {
        let mut wide = [0; 8];
        wide[..length].copy_from_slice(bytes.get(at..at + length)?);
        Some(u64::from_le_bytes(wide))
    };
    if !header.starts_with(b"\x7fELF\x02\x01") || cfg!(target_endian = "big") {
        return None;
    }
    let (table, size) = (number(header, 32, 8)?, number(header, 54, 2)?);
    let count = number(header, 56, 2)?;
    if !(32..=4_096).contains(&size) {
        return None;
    }
    file.seek(SeekFrom::Start(table)).ok()?;
    let mut entries = Vec::new();
    file.take(size * count).read_to_end(&mut entries).ok()?;
    let kinds = entries.chunks_exact(size as usize).filter_map(|entry| number(entry, 0, 4));
    Some(kinds.into_iter().any(|kind| kind == u64::from(PT_INTERP)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_program_is_refused() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let refused = |name: &str, bytes: &[u8]| {
            let path = place.path().join(name);
            fs::write(&path, bytes).expect("ours");
            must_be_dynamic(&path).map_err(|error| error.to_string())
        };
        assert_eq!(refused("script", b"#!/bin/sh\n"), Ok(()));
        assert!(refused("text", b"hello").is_err());
        assert!(refused("torn", b"\x7fELF\x02\x01\x01").is_err());
        let mut bare = b"\x7fELF\x02\x01\x01".to_vec();
        bare.resize(64, 0);
        (bare[32], bare[54], bare[56]) = (64, 56, 1);
        bare.resize(120, 1); // one program header of another type
        let said = refused("static", &bare).expect_err("no interpreter");
        assert!(said.contains("PT_INTERP") && said.contains("dynamically"), "{said}");
        assert_eq!(must_be_dynamic(&find("sh", place.path()).expect("there is")).ok(), Some(()));
        assert!(find("no-such-program", place.path()).is_err());
        assert!(find("./no-such-program", place.path()).is_err());
    }
}
