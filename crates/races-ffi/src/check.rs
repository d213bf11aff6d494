//! A program in C, checked.

use core::ffi::{c_char, c_void};
use std::ffi::CString;

use tidings_fork_join::Pool;
use tidings_races::join_at;

use crate::place::site;

/// Work in C: called with its argument, which may be at another thread.
pub type TidingsRacesWork = Option<unsafe extern "C" fn(argument: *mut c_void)>;

/// Called with a race in words, some lines without one at the end. The text is gone when it
/// returns.
pub type TidingsRacesSay = Option<unsafe extern "C" fn(argument: *mut c_void, race: *const c_char)>;

/// Work with its argument, for another thread.
#[derive(Clone, Copy)]
struct Call {
    work: TidingsRacesWork,
    argument: *mut c_void,
}

// SAFETY: who passes work to a fork or a check promises that it may run at another thread.
unsafe impl Send for Call {}

impl Call {
    fn run(self) {
        if let Some(work) = self.work {
            // SAFETY: it may be called with this argument, as who passed it promises.
            unsafe { work(self.argument) };
        }
    }
}

/// Calls both, maybe at the same time, and returns when both have. The macro `TIDINGS_JOIN` says
/// file and line. Outside of a checked run it forks on a pool with a thread for each processor.
///
/// # Safety
/// Each work may be called with its argument, by any thread; `file` is null, or ends with a zero
/// byte and stays as it is while the program runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_races_join(
    first: TidingsRacesWork,
    of_first: *mut c_void,
    second: TidingsRacesWork,
    of_second: *mut c_void,
    file: *const c_char,
    line: u32,
) {
    let one = Call { work: first, argument: of_first };
    let other = Call { work: second, argument: of_second };
    // SAFETY: as the caller promises.
    let site = unsafe { site(file, line) };
    join_at(site, move || one.run(), move || other.run());
}

/// Runs a program on so many threads, and says which races it has, in whatever order its tasks
/// might run: `say` is called with each of the first hundred. It may be null.
///
/// Returns how many places have a race; -1 if no threads could be started, and nothing ran.
///
/// # Safety
/// `program` may be called with its argument, by any thread, and `say` with its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_races_check(
    threads: u32,
    program: TidingsRacesWork,
    of_program: *mut c_void,
    say: TidingsRacesSay,
    of_say: *mut c_void,
) -> i64 {
    let threads = usize::try_from(threads.clamp(1, 1024)).unwrap_or(1);
    let Ok(pool) = Pool::new(threads) else { return -1 };
    let program = Call { work: program, argument: of_program };
    let ((), report) = tidings_races::check(&pool, move || program.run());
    for race in &report.races {
        let text = CString::new(race.to_string().replace('\0', "?")).unwrap_or_default();
        if let Some(say) = say {
            // SAFETY: it may be called with its argument, and the text ends with a zero byte.
            unsafe { say(of_say, text.as_ptr()) };
        }
    }
    i64::try_from(report.counts.races).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use core::ptr::{from_mut, null_mut};

    use super::*;
    use crate::access::tidings_races_access;

    const FILE: *const c_char = c"kernel.c".as_ptr();

    unsafe extern "C" fn change(place: *mut c_void) {
        // SAFETY: the name of the file is static.
        unsafe { tidings_races_access(2, place, 8, FILE, 7) };
    }

    unsafe extern "C" fn look(place: *mut c_void) {
        // SAFETY: as above.
        unsafe { tidings_races_access(0, place, 8, FILE, 9) };
    }

    unsafe extern "C" fn change_and_look(place: *mut c_void) {
        // SAFETY: both may be called with the place, which they do not look at.
        unsafe { tidings_races_join(Some(change), place, Some(look), place, FILE, 20) };
    }

    unsafe extern "C" fn look_twice(place: *mut c_void) {
        // SAFETY: as above.
        unsafe { tidings_races_join(Some(look), place, Some(look), place, FILE, 21) };
    }

    unsafe extern "C" fn keep(argument: *mut c_void, race: *const c_char) {
        // SAFETY: the argument is the list of `races`, and the text ends with a zero byte.
        let (kept, race) =
            unsafe { (&mut *argument.cast::<Vec<String>>(), core::ffi::CStr::from_ptr(race)) };
        kept.push(race.to_str().expect("it is UTF-8").to_owned());
    }

    /// What a program is said to have.
    fn races(program: TidingsRacesWork) -> (i64, Vec<String>) {
        let (mut place, mut kept) = (0u64, Vec::<String>::new());
        let (of_program, of_keep) = (from_mut(&mut place).cast(), from_mut(&mut kept).cast());
        // SAFETY: the program may be called with the place, and `keep` with the list.
        let found = unsafe { tidings_races_check(2, program, of_program, Some(keep), of_keep) };
        (found, kept)
    }

    #[test]
    fn a_race_is_said_with_the_lines_of_both_and_of_the_fork() {
        let (found, kept) = races(Some(change_and_look));
        assert_eq!((found, kept.len()), (1, 1));
        for part in ["below kernel.c:20", "write at kernel.c:7", "read at kernel.c:9"] {
            assert!(kept[0].contains(part), "{part}: {}", kept[0]);
        }
    }

    #[test]
    fn what_only_looks_and_what_is_null_has_no_race() {
        assert_eq!(races(Some(look_twice)), (0, vec![]));
        // SAFETY: nothing is called.
        let found = unsafe { tidings_races_check(0, None, null_mut(), None, null_mut()) };
        assert_eq!(found, 0);
        // SAFETY: nothing is looked at, and a file that is null has no name.
        unsafe { tidings_races_access(9, null_mut(), usize::MAX, core::ptr::null(), 0) };
    }
}
