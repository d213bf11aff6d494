//! Which system calls another thread can make in one's place.
//!
//! Threads of a process share its memory, descriptors, folder and signal handlers, so a call that
//! is about these is the same whoever makes it. What is listed here is shipped; *all else runs in
//! place*, by the thread itself, so that a call that nobody has thought of is slow, not wrong:
//!
//! - calls about the thread: its identity, signals, registers, stack, credentials, cores, robust
//!   lists; also those that make threads and processes or end them;
//! - calls that wait: sleeps, locks, poll, fsync. In the service such a call would hold all
//!   lanes up, and could wait for what another thread can only do by the service. Reading and
//!   writing may wait too: the service does them only without waiting ([`Manner::NoWait`]), and the
//!   caller makes those that would wait in place, where it leaves its core anyway;
//! - calls of which nobody knows whether they wait, such as most of `ioctl`.
//!
//! An error that comes with a signal for the thread that made the call (EPIPE, EFBIG) makes the
//! caller repeat it in place, so that the signal is its own.

use libc::c_long;

/// How a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// The service makes it as it is.
    Shipped,
    /// The service makes it if it need not wait; else it runs in place.
    NoWait,
    /// The thread itself makes it.
    InPlace,
}

/// What may be done with calls that look at nothing but the process and its files.
const SHIPPED: &[c_long] = &[
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getpgid,
    libc::SYS_getsid,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_umask,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    libc::SYS_fchdir,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_lseek,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_pipe2,
    libc::SYS_eventfd2,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_socket,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_setsockopt,
    libc::SYS_getsockopt,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_brk,
    libc::SYS_memfd_create,
];

/// Their older forms, which newer machines do not have.
#[cfg(target_arch = "x86_64")]
const SHIPPED_BEFORE: &[c_long] = &[
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_getdents,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_chmod,
    libc::SYS_pipe,
    libc::SYS_dup2,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const SHIPPED_BEFORE: &[c_long] = &[];

/// What may wait, and need not.
const NO_WAIT: &[c_long] =
    &[libc::SYS_read, libc::SYS_write, libc::SYS_sendto, libc::SYS_recvfrom, libc::SYS_pwrite64];

/// The most of a number that has a place in the table.
const NUMBERS: usize = 512;

/// A table by number, so that a caller looks once.
static MANNERS: [Manner; NUMBERS] = {
    let mut table = [Manner::InPlace; NUMBERS];
    let (mut list, mut at) = (SHIPPED, 0);
    while at < list.len() {
        table[list[at] as usize] = Manner::Shipped;
        at += 1;
    }
    (list, at) = (SHIPPED_BEFORE, 0);
    while at < list.len() {
        table[list[at] as usize] = Manner::Shipped;
        at += 1;
    }
    (list, at) = (NO_WAIT, 0);
    while at < list.len() {
        table[list[at] as usize] = Manner::NoWait;
        at += 1;
    }
    table
};

/// How a call with this number and these arguments is made.
#[inline]
pub fn manner(number: u64, arguments: &[u64; 6]) -> Manner {
    let known = usize::try_from(number).ok().and_then(|number| MANNERS.get(number));
    let manner = known.copied().unwrap_or(Manner::InPlace);
    if number == libc::SYS_openat as u64 { opening(arguments[2]) } else { manner }
}

/// A named pipe waits at its opening for the other end; to be sure that it is none, the flags would
/// have to say so, and those that do are few.
fn opening(flags: u64) -> Manner {
    let says = |flag: i32| flags & flag as u64 != 0;
    let sure = says(libc::O_NONBLOCK | libc::O_DIRECTORY | libc::O_PATH)
        || flags & libc::O_TMPFILE as u64 == libc::O_TMPFILE as u64
        || (says(libc::O_CREAT) && says(libc::O_EXCL));
    if sure { Manner::Shipped } else { Manner::InPlace }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(number: c_long) -> Manner {
        manner(number as u64, &[0; 6])
    }

    #[test]
    fn what_is_of_a_thread_or_waits_runs_in_place() {
        for number in [
            libc::SYS_gettid,
            libc::SYS_clone,
            libc::SYS_clone3,
            libc::SYS_execve,
            libc::SYS_exit,
            libc::SYS_exit_group,
            libc::SYS_rt_sigprocmask,
            libc::SYS_rt_sigreturn,
            libc::SYS_sigaltstack,
            libc::SYS_set_robust_list,
            libc::SYS_sched_setaffinity,
            libc::SYS_sched_getaffinity,
            libc::SYS_prctl,
            libc::SYS_setuid,
            libc::SYS_unshare,
            libc::SYS_futex,
            libc::SYS_nanosleep,
            libc::SYS_ppoll,
            libc::SYS_epoll_pwait,
            libc::SYS_wait4,
            libc::SYS_fsync,
            libc::SYS_flock,
            libc::SYS_fcntl,
            libc::SYS_ioctl,
            libc::SYS_connect,
            libc::SYS_accept4,
            libc::SYS_sendmsg,
            libc::SYS_writev,
        ] {
            assert_eq!(of(number), Manner::InPlace, "{number}");
        }
        for unknown in [511, 512, u64::MAX] {
            assert_eq!(manner(unknown, &[0; 6]), Manner::InPlace);
        }
    }

    #[test]
    fn what_may_wait_is_tried_without() {
        assert_eq!(of(libc::SYS_getppid), Manner::Shipped);
        assert_eq!(of(libc::SYS_write), Manner::NoWait);
    }

    #[test]
    fn what_may_be_a_named_pipe_is_opened_in_place() {
        let opened = |flags: i32| manner(libc::SYS_openat as u64, &[0, 0, flags as u64, 0, 0, 0]);
        assert_eq!(opened(libc::O_RDONLY), Manner::InPlace);
        assert_eq!(opened(libc::O_WRONLY | libc::O_CREAT), Manner::InPlace);
        assert_eq!(opened(libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL), Manner::Shipped);
        assert_eq!(opened(libc::O_RDONLY | libc::O_NONBLOCK), Manner::Shipped);
    }
}
