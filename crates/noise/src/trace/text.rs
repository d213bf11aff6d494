//! The files of tracefs that are texts, and what is said where one cannot be had.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// What a format or a header has at most.
const LONGEST_TEXT: usize = 64 * 1_024;

/// Why there is no tracing, in words that name the remedy.
pub type Refusal = String;

/// The text of a file of tracefs, read at once: of some, such as `events/header_page`, the kernel
/// gives a reader with a small buffer the beginning only.
pub(super) fn text_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let (mut buffer, mut bytes) = (vec![0; LONGEST_TEXT], Vec::new());
    while bytes.len() < LONGEST_TEXT {
        match file.read(&mut buffer)? {
            0 => break,
            more => bytes.extend(&buffer[..more]),
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub(super) fn said(place: &str, error: &io::Error) -> Refusal {
    format!("tracefs {place}: {error}")
}
