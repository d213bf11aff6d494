//! What the calls of unmodified code cost: dispatched, and by a supervisor of seccomp.
//!
//! Both are measured in a process of its own: dispatch is of one thread of a process, and a filter
//! of seccomp stays until its process ends.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::thread::{CpuSet, sched_setaffinity};
use tidings_fast_path::{Service, Settings, dispatch};

use crate::clock::{Rows, SERVICE_CORE, timed};

const ROLE: &str = "TIDINGS_PATHS_CALLS";
const COUNT: &str = "TIDINGS_PATHS_COUNT";

/// Whether this process is one of those, which then says each time in nanoseconds.
pub(crate) fn is_measured_here(service_core: Option<usize>) -> bool {
    let Ok(role) = std::env::var(ROLE) else { return false };
    let count = std::env::var(COUNT).ok().and_then(|count| count.parse().ok()).unwrap_or(1);
    let times = match role.as_str() {
        "bounced" => bounced(count),
        "dispatched" => dispatched(service_core, count),
        _ => supervised(service_core, count),
    };
    match times {
        Ok(times) => times.iter().for_each(|time| println!("{time}")),
        Err(error) => eprintln!("{role}: {error}"),
    }
    true
}

/// The rows of both, in turn with the rest.
pub(crate) fn calls(core: Option<usize>, count: usize, rows: &mut Rows) {
    let roles = [
        ("bounced", "getppid, a bare signal"),
        ("dispatched", "getppid, dispatched"),
        ("supervised", "getppid, by seccomp's notification"),
    ];
    for (role, name) in roles {
        let mut program = Command::new(std::env::current_exe().expect("this program"));
        program.env(ROLE, role).env(COUNT, count.to_string()).stderr(Stdio::inherit());
        program.env(SERVICE_CORE, core.map_or_else(String::new, |core| core.to_string()));
        let output = program.output().expect("it can be started");
        let said = String::from_utf8_lossy(&output.stdout);
        let times: Vec<u64> = said.lines().filter_map(|line| line.parse().ok()).collect();
        if times.is_empty() {
            println!("{name}: not to be had here");
        } else {
            rows.add(name, &times, Some("getppid, plain"));
        }
    }
}

fn call() {
    std::hint::black_box(rustix::process::getppid());
}

/// What the kernel reads at each call: whether to send a signal for it.
static SELECTOR: AtomicU8 = AtomicU8::new(0);

/// Says what the call comes to, and lets the return from the signal pass.
extern "C" fn bounce(_signal: i32, _info: *mut libc::c_void, context: *mut libc::ucontext_t) {
    SELECTOR.store(0, Ordering::Relaxed);
    // SAFETY: the kernel gives a handler with SA_SIGINFO its context.
    unsafe { (*context).uc_mcontext.gregs[libc::REG_RAX as usize] = 1 };
}

/// The floor of dispatch: a signal for a call, and the return from it, with nothing done between.
fn bounced(count: usize) -> io::Result<Vec<u64>> {
    // SAFETY: zeros are an action without a mask; its handler is for this signal. The selector
    // lives for ever.
    let refused = unsafe {
        let mut action = std::mem::zeroed::<libc::sigaction>();
        action.sa_sigaction = bounce as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        let set = libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut());
        set != 0 || libc::prctl(59, 1, 0, 0, &raw const SELECTOR) != 0
    };
    if refused {
        return Err(io::Error::last_os_error());
    }
    Ok(timed(count, || {
        SELECTOR.store(1, Ordering::Relaxed);
        call();
    }))
}

fn dispatched(core: Option<usize>, count: usize) -> io::Result<Vec<u64>> {
    let service = Service::best(Settings { core, spins: 10_000 });
    let shipper = service.shipper().map_err(io::Error::other)?;
    let dispatched = dispatch::begin(shipper).map_err(io::Error::other)?;
    let times = timed(count, call);
    drop(dispatched);
    Ok(times)
}

/// A filter that has a supervisor answer getppid, and lets all else pass.
fn supervised(core: Option<usize>, count: usize) -> io::Result<Vec<u64>> {
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let back = libc::BPF_RET | libc::BPF_K;
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut steps = [
        step(load, 0, 0, 0), // the number of the call
        step(equal, 0, 1, libc::SYS_getppid as u32),
        step(back, 0, 0, libc::SECCOMP_RET_USER_NOTIF),
        step(back, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the filter lives until the call is done; a descriptor that it returns is ours.
    let listener = unsafe {
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 {
            return Err(io::Error::last_os_error());
        }
        let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        let mode = libc::SECCOMP_SET_MODE_FILTER;
        let opened = libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program);
        if opened < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(opened as i32)
    };
    // The supervisor is where the service is, off the caller's core. It has the filter too, and
    // does not ask for its parent.
    std::thread::spawn(move || {
        if let Some(core) = core {
            let mut own = CpuSet::new();
            own.set(core);
            let _ = sched_setaffinity(None, &own); // then they share, and the figures say so
        }
        answer(&listener);
    });
    Ok(timed(count, call))
}

/// Answers until the process ends.
fn answer(listener: &OwnedFd) {
    const RECEIVE: u64 = 0xc050_2100;
    const SEND: u64 = 0xc018_2101;
    loop {
        // SAFETY: plain structures, which the kernel fills and reads until each call is done.
        unsafe {
            let mut asked = std::mem::zeroed::<libc::seccomp_notif>();
            if libc::ioctl(listener.as_raw_fd(), RECEIVE, &raw mut asked) != 0 {
                return;
            }
            let mut said = std::mem::zeroed::<libc::seccomp_notif_resp>();
            (said.id, said.val) = (asked.id, 1);
            if libc::ioctl(listener.as_raw_fd(), SEND, &raw mut said) != 0 {
                return;
            }
        }
    }
}
