//! Places in the program, and their numbers: four bytes that threads may share without any order.
//!
//! Code in Rust is told where it was called by the compiler; code in another language says the file
//! and the line. Those are kept once each, for as long as the program runs.
//!
//! Invariant: a number is given once and for ever, so that each thread may remember some.

use core::fmt;
use std::cell::Cell;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::{LazyLock, Mutex, PoisonError};

/// A place in the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Site {
    /// In code that the compiler of Rust knows.
    Rust(&'static Location<'static>),
    /// In other code.
    Foreign(&'static Foreign),
}

/// A place in code of another language.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct Foreign {
    file: String,
    line: u32,
}

/// The places in other languages that were named.
static FOREIGN: LazyLock<Mutex<HashMap<(String, u32), &'static Foreign>>> =
    LazyLock::new(Mutex::default);

impl Site {
    /// A place in code of another language. It is kept until the program ends, once for each file
    /// and line.
    pub fn foreign(file: &str, line: u32) -> Self {
        let mut known = FOREIGN.lock().unwrap_or_else(PoisonError::into_inner);
        let place = known.entry((file.to_owned(), line));
        Self::Foreign(place.or_insert_with_key(|(file, line)| {
            Box::leak(Box::new(Foreign { file: file.clone(), line: *line }))
        }))
    }

    /// The file.
    pub fn file(self) -> &'static str {
        match self {
            Self::Rust(site) => site.file(),
            Self::Foreign(site) => &site.file,
        }
    }

    /// The line, from 1.
    pub fn line(self) -> u32 {
        match self {
            Self::Rust(site) => site.line(),
            Self::Foreign(site) => site.line,
        }
    }

    fn address(self) -> usize {
        match self {
            Self::Rust(site) => core::ptr::from_ref(site).addr(),
            Self::Foreign(site) => core::ptr::from_ref(site).addr(),
        }
    }
}

impl From<&'static Location<'static>> for Site {
    fn from(site: &'static Location<'static>) -> Self {
        Self::Rust(site)
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rust(site) => site.fmt(f),
            Self::Foreign(Foreign { file, line }) => write!(f, "{file}:{line}"),
        }
    }
}

/// How many places a thread remembers. Programs fork at a few.
const REMEMBERED: usize = 64;

/// All places that have a number.
static SITES: Mutex<Vec<Site>> = Mutex::new(Vec::new());

thread_local! {
    /// Addresses of places, with their numbers.
    static KNOWN: [Cell<(usize, u32)>; REMEMBERED] =
        const { [const { Cell::new((0, 0)) }; REMEMBERED] };
}

/// The number of a place.
pub(crate) fn number(site: Site) -> u32 {
    let address = site.address();
    KNOWN.with(|known| {
        let slot = &known[address / align_of::<Location<'_>>() % REMEMBERED];
        if slot.get().0 != address {
            slot.set((address, find(site)));
        }
        slot.get().1
    })
}

#[cold]
fn find(site: Site) -> u32 {
    let mut sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    let at = sites.iter().position(|&known| known == site).unwrap_or_else(|| {
        sites.push(site);
        sites.len() - 1
    });
    u32::try_from(at).expect("a program has fewer than 2^32 places")
}

/// The place of a number that was given.
pub(crate) fn site(number: u32) -> Site {
    SITES.lock().unwrap_or_else(PoisonError::into_inner)[number as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_of_another_language_is_one_place() {
        let (one, again) = (Site::foreign("kernel.c", 7), Site::foreign("kernel.c", 7));
        assert_eq!((one, number(one), site(number(one))), (again, number(again), one));
        assert_ne!(number(one), number(Site::foreign("kernel.c", 8)));
        assert_ne!(number(one), number(Location::caller().into()));
        assert_eq!((one.to_string(), one.file(), one.line()), ("kernel.c:7".into(), "kernel.c", 7));
    }
}
