//! Applications: whether a program can be measured, and where it says how long it took.
//!
//! Gossip gets below an application by LD_PRELOAD, so its program must be one that the dynamic
//! linker loads: a statically linked one would run with all ranks as its own, and the campaign
//! would measure nothing. Such a program is refused before anything runs.

use std::env;
use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::LabError;
use crate::campaign::{Reading, Take};

/// More of a file than this is not read.
const MOST_BYTES: u64 = 16 << 20;
/// The type of a program header that names the dynamic linker.
const PT_INTERP: u32 = 3;

/// Finds a program: by its path, from `folder` on if that is relative, else on PATH.
///
/// # Errors
/// [`LabError::Program`] if it is not there.
pub fn find(program: &str, folder: &Path) -> Result<PathBuf, LabError> {
    if program.contains('/') {
        let path = folder.join(program);
        return fs::canonicalize(&path).map_err(|error| {
            let path = path.display();
            LabError::Program(format!("{path}: {error}: build it, or name another in `command`"))
        });
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|folder| folder.join(program));
    found.into_iter().find(|path| path.is_file()).ok_or_else(|| {
        let reason = "is not on PATH: install it, or name its path in `command`";
        LabError::Program(format!("{program} {reason}"))
    })
}

/// Refuses a program that the shim cannot get below.
///
/// # Errors
/// [`LabError::Program`] if it is statically linked, or no program at all.
pub fn must_be_dynamic(program: &Path) -> Result<(), LabError> {
    let refused = |reason: &str| LabError::Program(format!("{}: {reason}", program.display()));
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

/// The number that a run left where `reading` says; why there is none.
///
/// # Errors
/// What is missing, for people.
pub fn read(reading: &Reading, directory: &Path, times: Option<&Value>) -> Result<f64, String> {
    let number = match reading {
        Reading::Wall => return Err("the wall time is taken by who waits".to_owned()),
        Reading::Shim => {
            times.and_then(|times| times.get("seconds")?.as_f64()).ok_or_else(|| {
                "the shim wrote no times: the program is no MPI program, or did not finalize"
                    .to_owned()
            })?
        }
        Reading::Json { file, key } => {
            let found = last_object(&contents(directory, file)?, key);
            found
                .and_then(|value| value.as_f64())
                .ok_or_else(|| format!("{file} has no JSON object with a number `{key}`"))?
        }
        Reading::Text { file, after, take } => {
            let text = contents(directory, file)?;
            let mut found = text.split(after.as_str()).skip(1).filter_map(leading_number);
            let number = match take {
                Take::Last => found.last(),
                Take::Sum => found.next().map(|first| first + found.sum::<f64>()),
            };
            number.ok_or_else(|| format!("{file} has no number after `{after}`"))?
        }
    };
    if number.is_finite() { Ok(number) } else { Err(format!("{number} is no time")) }
}

/// The numbers of an object of a run, by name; none where there is no such object.
pub fn read_object(directory: &Path, file: &str, key: &str) -> Vec<(String, f64)> {
    let object = contents(directory, file).ok().and_then(|text| last_object(&text, key));
    let members = object.as_ref().and_then(Value::as_object).into_iter().flatten();
    members.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()
}

/// One JSON object in a file of a run, if it is there.
pub(crate) fn object_in(path: &Path) -> Option<Value> {
    let text = fs::read_to_string(path).ok()?;
    serde_json::from_str(&text).ok().filter(Value::is_object)
}

fn contents(directory: &Path, file: &str) -> Result<String, String> {
    let open = fs::File::open(directory.join(file)).map_err(|error| format!("{file}: {error}"))?;
    let mut bytes = Vec::new();
    let read = open.take(MOST_BYTES).read_to_end(&mut bytes);
    read.map_err(|error| format!("{file}: {error}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What stands under a path of keys in the whole text, or in the last line that has it.
fn last_object(text: &str, path: &str) -> Option<Value> {
    let under = |text: &str| -> Option<Value> {
        let object: Value = serde_json::from_str(text).ok()?;
        path.split('.').try_fold(&object, |value, key| value.get(key)).cloned()
    };
    under(text).or_else(|| text.lines().rev().find_map(under))
}

/// The number that a text begins with, blanks and a sign of equality aside.
fn leading_number(text: &str) -> Option<f64> {
    let text = text.trim_start_matches([' ', '\t', '=', ':']);
    let end = text.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c)));
    text[..end.unwrap_or(text.len())].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_where_the_campaign_says() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let text = "noise\nLoop time of 1.25 on 4 procs\n{\"a\":{\"s\":1}}\n{\"a\":{\"s\":2.5}}\n\
                    Loop time of 1.5e-1 on 4\nkey= 7\n";
        fs::write(place.path().join("stdout"), text).expect("ours");
        let file = || "stdout".to_owned();
        let after = |after: &str, take| Reading::Text { file: file(), after: after.into(), take };
        let json = |key: &str| Reading::Json { file: file(), key: key.into() };
        let read = |reading: &Reading| read(reading, place.path(), None);
        assert_eq!(read(&after("Loop time of", Take::Last)), Ok(0.15));
        assert_eq!(read(&after("Loop time of", Take::Sum)), Ok(1.4));
        assert_eq!(read(&after("key", Take::Last)), Ok(7.0));
        assert_eq!(read(&json("a.s")), Ok(2.5));
        for missing in [after("Loop type", Take::Last), json("a.t"), json("a"), Reading::Shim] {
            assert!(read(&missing).is_err(), "{missing:?}");
        }
        assert_eq!(read_object(place.path(), "stdout", "a"), [("s".to_owned(), 2.5)]);
    }

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
