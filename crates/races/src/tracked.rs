//! Tracked values: what tasks share, with a shadow.

use std::panic::Location;
use std::sync::{Mutex, PoisonError};

use crate::here;
use crate::shadow::{Access, Kind, Shadow};

/// A value that several tasks may use. In a checked run each use is an access to it.
///
/// A lock keeps each single use whole, so that a race is a wrong order and never a torn value: the
/// checked program is safe although it has races. The lock orders nothing as far as races go.
#[derive(Debug)]
pub struct Tracked<T>(Mutex<(T, Shadow)>);

impl<T> Tracked<T> {
    /// Of this value.
    pub const fn new(value: T) -> Self {
        Self(Mutex::new((value, Shadow::NEW)))
    }

    /// Looks at it.
    #[track_caller]
    pub fn read<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        self.access(Kind::Read, |value| look(value))
    }

    /// Changes it.
    #[track_caller]
    pub fn write<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        self.access(Kind::Write, change)
    }

    /// Changes it so that the order of several such changes does not matter: adds, or takes the
    /// larger. That it does not matter is believed.
    #[track_caller]
    pub fn update<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        self.access(Kind::Update, change)
    }

    /// A copy of it.
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Clone,
    {
        self.read(T::clone)
    }

    /// Gives it another value.
    #[track_caller]
    pub fn set(&self, value: T) {
        self.write(|old| *old = value);
    }

    /// The value, when nobody else has it.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).0
    }

    #[track_caller]
    fn access<R>(&self, kind: Kind, work: impl FnOnce(&mut T) -> R) -> R {
        let site = Location::caller().into();
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (value, shadow) = &mut *held;
        here::with(|run, step, tally| {
            if let Some(conflict) = run.access(tally, shadow, kind, Access { step, site }) {
                run.found(&conflict);
            }
        });
        work(value)
    }
}

impl<T: Default> Default for Tracked<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}
