//! Representatives for each core: made when the core first uses the block.
//!
//! Each lies on cache lines of its own, so cores that write theirs do not wait for each other. Who
//! wants the whole reads all of them.

use core::fmt;
use std::sync::OnceLock;

use crate::seat::{self, SEATS};

/// One a core; and one more, which the threads without a seat share.
pub struct PerCore<T> {
    made: Box<[OnceLock<Box<Line<T>>>]>,
    make: fn() -> T,
}

/// On lines of its own: two, since processors fetch them in pairs.
#[repr(align(128))]
struct Line<T>(T);

/// The representative of this core.
#[derive(Debug)]
pub enum Mine<'a, T> {
    /// No other thread writes it.
    Alone(&'a T),
    /// Others may write it at the same time.
    Shared(&'a T),
}

impl<T> PerCore<T> {
    /// None is made yet.
    pub fn new(make: fn() -> T) -> Self {
        Self { made: (0..=SEATS).map(|_| OnceLock::new()).collect(), make }
    }

    /// That of this core.
    #[inline]
    pub fn mine(&self) -> Mine<'_, T> {
        match seat::own() {
            Some(seat) => Mine::Alone(self.at(seat)),
            None => Mine::Shared(self.at(SEATS)),
        }
    }

    /// Those that were made.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.made.iter().filter_map(|cell| Some(&cell.get()?.0))
    }

    #[inline]
    fn at(&self, place: usize) -> &T {
        match self.made[place].get() {
            Some(line) => &line.0,
            None => self.first_use(place),
        }
    }

    #[cold]
    fn first_use(&self, place: usize) -> &T {
        &self.made[place].get_or_init(|| Box::new(Line((self.make)()))).0
    }
}

impl<T> fmt::Debug for PerCore<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PerCore({} made)", self.all().count())
    }
}
