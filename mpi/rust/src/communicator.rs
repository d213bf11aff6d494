//! MPI's begin and end, and its communicators, as the numbers that Fortran has: so a program that
//! uses another binding of MPI can hand its own over.

use core::ffi::c_int;
use core::marker::PhantomData;

use crate::error::Error;
use crate::sys;

/// MPI from its begin to its end, in this thread.
#[derive(Debug)]
pub struct Mpi {
    is_ours: bool,
    /// Stays in the thread that began it.
    thread: PhantomData<*const ()>,
}

impl Mpi {
    /// Begins MPI, unless the program has: then it also ends it.
    ///
    /// # Errors
    /// If MPI refuses, or was begun for a single thread only.
    ///
    /// # Panics
    /// If the library was compiled with another header than this binding.
    pub fn begin() -> Result<Self, Error> {
        assert!(sys::agree(), "mpi/rust/src/sys.rs declares what tidings_steal_mpi.h does");
        let mut is_ours = 0;
        // SAFETY: the place is this function's.
        match unsafe { sys::tidings_rust_begin(&raw mut is_ours) } {
            0 => Ok(Self { is_ours: is_ours != 0, thread: PhantomData }),
            _ => Err(Error::of_mpi("MPI_THREAD_FUNNELED is needed")),
        }
    }

    /// All ranks of the job.
    #[must_use]
    #[expect(clippy::unused_self, reason = "MPI has begun and does not end before")]
    pub fn world(&self) -> Communicator<'_> {
        // SAFETY: MPI has begun.
        Communicator::of(unsafe { sys::tidings_rust_world() })
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if self.is_ours {
            // SAFETY: MPI has begun, here, and has not ended.
            unsafe { sys::tidings_rust_end() };
        }
    }
}

/// Ranks that speak with each other, while MPI lasts. To drop it frees nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Communicator<'mpi> {
    number: c_int,
    lasts: PhantomData<(&'mpi Mpi, *const ())>,
}

impl Communicator<'_> {
    pub(crate) fn of(number: c_int) -> Self {
        Self { number, lasts: PhantomData }
    }

    /// One that another binding has, by the number that `MPI_Comm_c2f` gives.
    ///
    /// # Safety
    /// It is one of this process, and MPI does not end while it is used.
    #[must_use]
    pub unsafe fn of_fortran(number: i32) -> Self {
        Self::of(number)
    }

    /// The number that `MPI_Comm_f2c` takes.
    #[must_use]
    pub fn fortran(self) -> i32 {
        self.number
    }

    /// The number of this rank, and how many there are.
    #[must_use]
    pub fn shape(self) -> (u32, u32) {
        let (mut rank, mut ranks) = (0, 0);
        // SAFETY: the places are this function's.
        unsafe { sys::tidings_rust_shape(self.number, &raw mut rank, &raw mut ranks) };
        (rank.unsigned_abs(), ranks.unsigned_abs())
    }

    /// Adds up what all ranks have, place by place. Collective; all give as many.
    ///
    /// # Errors
    /// If MPI refuses, or there are more than it can count.
    pub fn sum(self, values: &mut [u64]) -> Result<(), Error> {
        let count = c_int::try_from(values.len()).map_err(|_| Error::of_mpi("too many values"))?;
        // SAFETY: there are so many values.
        match unsafe { sys::tidings_rust_sum(self.number, values.as_mut_ptr(), count) } {
            0 => Ok(()),
            _ => Err(Error::of_mpi("MPI_Allreduce")),
        }
    }

    /// Frees it. Collective; not for that of all ranks.
    pub fn free(self) {
        // SAFETY: who has one may free it; MPI complains of what is no communicator.
        unsafe { sys::tidings_rust_free(self.number) };
    }
}
