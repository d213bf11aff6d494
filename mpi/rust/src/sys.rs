//! What the library in C declares, in Rust: `mpi/steal/tidings_steal_mpi.h` and `shim.c`.

use core::ffi::{c_char, c_int, c_void};

use tidings_steal_c::{TidingsStealCounters, TidingsStealTask};

/// The ranks as workers.
#[repr(C)]
pub(crate) struct Steal {
    _opaque: [u8; 0],
}

/// The task that runs.
#[repr(C)]
pub(crate) struct Tasks {
    _opaque: [u8; 0],
}

/// Why a call has failed, up to a null character.
#[repr(C)]
pub(crate) struct StealError {
    pub(crate) text: [c_char; 256],
}

/// `TidingsStealOptions`.
#[repr(C)]
pub(crate) struct StealOptions {
    pub(crate) selection: u32,
    pub(crate) half: u32,
    pub(crate) retain: bool,
    pub(crate) one_sided: bool,
    pub(crate) slot_bytes: u32,
    pub(crate) round_trip_us: u32,
    pub(crate) poll_us: u32,
    pub(crate) enter_ms: u32,
    pub(crate) unit_us: u32,
    pub(crate) seed: u64,
}

/// `TidingsStealPhase`.
#[repr(C)]
#[derive(Default)]
pub(crate) struct StealPhase {
    pub(crate) seeding: u32,
    pub(crate) seconds: f64,
    pub(crate) work_seconds: f64,
    pub(crate) waiting_seconds: f64,
    pub(crate) stealing_seconds: f64,
    pub(crate) enter_seconds: f64,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    pub(crate) deaths: u32,
    pub(crate) lost_tasks: u64,
    pub(crate) lost_finishes: u64,
    pub(crate) counters: TidingsStealCounters,
}

/// `TidingsStealBalancing`.
#[repr(C)]
#[derive(Default)]
pub(crate) struct StealBalancing {
    pub(crate) moved: u64,
    pub(crate) before: f64,
    pub(crate) after: f64,
    pub(crate) seconds: f64,
    pub(crate) bytes: u64,
}

/// `TIDINGS_STEAL_LOST`.
pub(crate) const LOST: c_int = 108;

pub(crate) type StealBody = unsafe extern "C" fn(*mut Tasks, *mut c_void);

unsafe extern "C" {
    pub(crate) fn tidings_steal_open_fortran(
        comm: c_int,
        options: *const StealOptions,
        steal: *mut *mut Steal,
        error: *mut StealError,
    ) -> c_int;
    pub(crate) fn tidings_steal_close(steal: *mut Steal);
    pub(crate) fn tidings_steal_survives(steal: *const Steal) -> bool;
    pub(crate) fn tidings_steal_living_fortran(steal: *mut Steal, living: *mut c_int) -> c_int;
    pub(crate) fn tidings_steal_function(
        steal: *mut Steal,
        body: StealBody,
        user: *mut c_void,
        function: *mut u16,
    ) -> c_int;
    pub(crate) fn tidings_steal_add(
        steal: *mut Steal,
        function: u16,
        work_ns: u64,
        state: *const c_void,
        bytes: usize,
    ) -> c_int;
    pub(crate) fn tidings_steal_phase(
        steal: *mut Steal,
        name: *const c_char,
        phase: *mut StealPhase,
        error: *mut StealError,
    ) -> c_int;
    pub(crate) fn tidings_steal_balance(
        steal: *mut Steal,
        name: *const c_char,
        balancing: *mut StealBalancing,
        error: *mut StealError,
    ) -> c_int;
    pub(crate) fn tidings_steal_state(tasks: *const Tasks, bytes: *mut usize) -> *const c_void;
    pub(crate) fn tidings_steal_predicted_ns(tasks: *const Tasks) -> u64;
    pub(crate) fn tidings_steal_step(tasks: *const Tasks) -> u32;
    pub(crate) fn tidings_steal_spawn(
        tasks: *mut Tasks,
        function: u16,
        work_ns: u64,
        state: *const c_void,
        bytes: usize,
    ) -> c_int;
    pub(crate) fn tidings_steal_child_first(
        tasks: *mut Tasks,
        child: *const TidingsStealTask,
        step: u32,
        state: *const c_void,
        bytes: usize,
    ) -> c_int;
    pub(crate) fn tidings_steal_finish_first(
        tasks: *mut Tasks,
        body: *const TidingsStealTask,
        step: u32,
        state: *const c_void,
        bytes: usize,
    ) -> c_int;
    pub(crate) fn tidings_steal_progress(tasks: *mut Tasks);
    pub(crate) fn tidings_steal_text(status: c_int) -> *const c_char;

    pub(crate) fn tidings_rust_begin(is_ours: *mut c_int) -> c_int;
    pub(crate) fn tidings_rust_end();
    pub(crate) fn tidings_rust_world() -> c_int;
    pub(crate) fn tidings_rust_shape(comm: c_int, rank: *mut c_int, ranks: *mut c_int);
    pub(crate) fn tidings_rust_sum(comm: c_int, values: *mut u64, count: c_int) -> c_int;
    pub(crate) fn tidings_rust_free(comm: c_int);
    pub(crate) fn tidings_rust_abort(code: c_int);
    fn tidings_rust_size(which: c_int) -> usize;
}

/// Whether both languages declare the same.
pub(crate) fn agree() -> bool {
    let own = [
        size_of::<StealOptions>(),
        size_of::<StealPhase>(),
        size_of::<StealError>(),
        core::mem::offset_of!(StealPhase, counters),
    ];
    // SAFETY: it answers a number for each.
    let theirs = [0, 1, 2, 3].map(|which| unsafe { tidings_rust_size(which) });
    own == theirs
}
