//! System calls that a program intercepts: by a signal to itself, or by another thread's answer.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::thread;

use crate::finding::Outcome;
use crate::system::checked;

/// Of prctl(2): calls of this thread become signals while a byte says so.
const USER_DISPATCH: libc::c_int = 59;
const DISPATCH_ON: libc::c_ulong = 1;
const ALLOW: u8 = 0;
const BLOCK: u8 = 1;

/// What the kernel looks at before each call, and how many calls became signals.
static SELECTOR: AtomicU8 = AtomicU8::new(ALLOW);
static CAUGHT: AtomicUsize = AtomicUsize::new(0);

/// What the other thread answers in place of the kernel.
const ANSWER: i64 = 4242;

/// Requests about calls that wait for an answer.
const RECEIVE: libc::c_ulong = 0xc050_2100;
const SEND: libc::c_ulong = 0xc018_2101;

/// A call of this thread arrives in its own handler of signals.
pub(crate) fn user_dispatch() -> Outcome {
    match caught_calls() {
        Ok(1) => Outcome::works("a call arrived in a handler of its own thread"),
        Ok(count) => Outcome::not(format!("{count} calls of one arrived"), "report it"),
        Err(error) => Outcome::not(
            format!("prctl(PR_SET_SYSCALL_USER_DISPATCH): {error}"),
            "run Linux 5.11 or later on x86-64; programs linked with the library do not need it",
        ),
    }
}

/// A call of one thread is answered by another.
pub(crate) fn notification() -> Outcome {
    match answered_call() {
        Ok(ANSWER) => Outcome::works("a call was answered by another thread"),
        Ok(other) => Outcome::not(format!("a call returned {other}"), "report it"),
        Err(error) => Outcome::not(
            format!("a listener of seccomp: {error}"),
            "allow the call seccomp where this runs (a container's profile); Linux 5.0 or later",
        ),
    }
}

extern "C" fn on_call(_: libc::c_int) {
    SELECTOR.store(ALLOW, Ordering::SeqCst);
    CAUGHT.fetch_add(1, Ordering::SeqCst);
}

fn caught_calls() -> io::Result<usize> {
    let handler = on_call as extern "C" fn(libc::c_int);
    // SAFETY: the handler touches two atomics and nothing else.
    let before = unsafe { libc::signal(libc::SIGSYS, handler as libc::sighandler_t) };
    if before == libc::SIG_ERR {
        return Err(io::Error::last_os_error());
    }
    let selector = SELECTOR.as_ptr();
    // SAFETY: the selector is a static, which the kernel reads for as long as the thread lives.
    let set = unsafe { libc::prctl(USER_DISPATCH, DISPATCH_ON, 0 as libc::c_ulong, 0, selector) };
    checked(i64::from(set))?;
    SELECTOR.store(BLOCK, Ordering::SeqCst);
    // SAFETY: the call takes nothing; the handler lets the next ones pass.
    unsafe { libc::syscall(libc::SYS_gettid) };
    Ok(CAUGHT.load(Ordering::SeqCst))
}

/// What `getppid` returns to a thread whose calls of it are sent to this one.
fn answered_call() -> io::Result<i64> {
    let (say, hear) = std::sync::mpsc::sync_channel(1);
    let caller = thread::spawn(move || {
        let listener = listen();
        let heard = listener.is_ok();
        say.send(listener).expect("the other thread waits for it");
        // SAFETY: the call takes nothing.
        if heard { unsafe { libc::syscall(libc::SYS_getppid) } } else { 0 }
    });
    let listener = hear.recv().map_err(io::Error::other)??;
    answer(&listener)?;
    caller.join().map_err(|_| io::Error::other("the thread that called has panicked"))
}

/// Has calls of `getppid` of this thread, and of it alone, wait for an answer.
fn listen() -> io::Result<OwnedFd> {
    let statement = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let code = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0), // the number of the call
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_getppid as u32),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_USER_NOTIF),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: code.len() as u16, filter: code.as_ptr().cast_mut() };
    let (yes, no) = (1 as libc::c_ulong, 0 as libc::c_ulong);
    // SAFETY: the call takes numbers.
    checked(i64::from(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, yes, no, no, no) }))?;
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    // SAFETY: the filter is as long as it says, and is read before the call returns.
    let fd = checked(unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            std::ptr::from_ref(&filter),
        )
    })?;
    // SAFETY: the call answers with a descriptor that nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Answers the first call that waits.
fn answer(listener: &OwnedFd) -> io::Result<()> {
    // SAFETY: both are integers and arrays of them, for which zero is a value.
    let (mut asked, mut answer): (libc::seccomp_notif, libc::seccomp_notif_resp) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    let fd = listener.as_raw_fd();
    // SAFETY: the request writes as many bytes as its number says, which is the size of this.
    checked(i64::from(unsafe { libc::ioctl(fd, RECEIVE as _, &raw mut asked) }))?;
    answer.id = asked.id;
    answer.val = ANSWER;
    // SAFETY: the same.
    checked(i64::from(unsafe { libc::ioctl(fd, SEND as _, &raw mut answer) })).map(drop)
}

const _: () = assert!(size_of::<libc::seccomp_notif>() == 80);
const _: () = assert!(size_of::<libc::seccomp_notif_resp>() == 24);
