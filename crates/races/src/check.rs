//! Checks: a program is run, and it is said which races it has.

use std::panic::Location;

use tidings_fork_join::Pool;

use crate::here::{self, Known};
use crate::report::Report;
use crate::run::Run;
use crate::tree::{Climb, FIRST_PHASE, ROOT, Step};

/// Calls `program` in a pool, and says which races it has, in whatever order its tasks might run.
///
/// # Panics
/// If `program` does.
#[track_caller]
pub fn check<R: Send>(pool: &Pool, program: impl FnOnce() -> R + Send) -> (R, Report) {
    check_by(pool, Climb::default(), program)
}

/// [`check`], with common ancestors found in this way.
///
/// # Panics
/// If `program` does.
#[track_caller]
pub fn check_by<R: Send>(
    pool: &Pool,
    climb: Climb,
    program: impl FnOnce() -> R + Send,
) -> (R, Report) {
    let known = Known::new(Run::new(climb, Location::caller().into()));
    let run = known.run();
    let result = pool.install(|| {
        let _back = here::enter(run, Step { node: ROOT, place: 0, phase: FIRST_PHASE });
        program()
    });
    (result, run.report())
}

/// Checks a program with each of several inputs, up to the first with which it has a race.
///
/// # Panics
/// If `program` does.
#[track_caller]
pub fn check_inputs<I: Sync>(
    pool: &Pool,
    inputs: impl IntoIterator<Item = I>,
    program: impl Fn(&I) + Sync,
) -> Option<(I, Report)> {
    inputs.into_iter().find_map(|input| {
        let ((), report) = check(pool, || program(&input));
        (!report.races.is_empty()).then_some((input, report))
    })
}
