//! Code that knows nothing of this crate, with its calls dispatched: files, threads, processes and
//! signals as before. Each test has a process of its own, since one thread of one is dispatched.

#![cfg(target_arch = "x86_64")]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use tidings_fast_path::dispatch::{self, Dispatched};
use tidings_fast_path::{DispatchError, Service, Settings};

const ROLE: &str = "TIDINGS_DISPATCH_ROLE";

/// Runs a role in a fresh process.
fn role(role: &str) {
    let mut program = Command::new(std::env::current_exe().expect("this program"));
    program.args(["--exact", "a_dispatched_process", "--nocapture", "--test-threads=1"]);
    let output = program.env(ROLE, role).output().expect("it can be started");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{role}: {:?}\n{said}{error}", output.status);
}

/// A dispatched thread with its service; `None` where the kernel has no such thing, which is said.
fn dispatched() -> Option<(Dispatched, Service)> {
    let settings = Settings { core: None, spins: 100 };
    let service = Service::start_anyway(settings).expect("a thread can be started");
    let shipper = service.shipper().expect("a lane");
    match dispatch::begin(shipper) {
        Ok(dispatched) => Some((dispatched, service)),
        Err(DispatchError::Unknown) => None,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_dispatched_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let Some((dispatched, _service)) = dispatched() else {
        println!("this kernel has no syscall user dispatch");
        return;
    };
    match role.as_str() {
        "calls" => calls(),
        "files" => files(),
        "threads" => threads(),
        "processes" => processes(),
        "signals" => signals(),
        "registers" => registers(),
        "stack" => stack(),
        other => panic!("{other}: no such role"),
    }
    let before = dispatch::tally();
    drop(dispatched);
    assert_eq!(std::process::id(), rustix::process::getpid().as_raw_nonzero().get() as u32);
    // Turning it off is the last call that is seen.
    assert!(dispatch::tally().in_place <= before.in_place + 1);
    assert!(before.shipped > 0, "nothing was shipped: {before:?}");
}

fn calls() {
    let parent = std::os::unix::process::parent_id();
    for _ in 0..10_000 {
        assert_eq!(std::os::unix::process::parent_id(), parent);
    }
    assert!(dispatch::tally().shipped >= 10_000, "{:?}", dispatch::tally());
}

fn files() {
    let path = std::env::temp_dir().join(format!("tidings-dispatched-{}", std::process::id()));
    let bytes: Vec<u8> = (0..1_000_000u32).map(|at| (at % 251) as u8).collect();
    std::fs::write(&path, &bytes).expect("there is room");
    assert!(std::fs::read(&path).expect("it is there") == bytes);
    std::fs::remove_file(&path).expect("it was there");
    assert!(std::fs::metadata(&path).is_err());
}

/// A thread is not dispatched; what waits for it and what it waits for go on.
fn threads() {
    for _ in 0..20 {
        let (mut reader, mut writer) = UnixStream::pair().expect("a pair");
        let thread = std::thread::spawn(move || {
            let mut bytes = [0; 8];
            reader.read_exact(&mut bytes).map(|()| bytes)
        });
        writer.write_all(b"shipped!").expect("it is read");
        assert_eq!(thread.join().expect("no panic").expect("eight bytes"), *b"shipped!");
    }
}

fn processes() {
    let output = Command::new("/bin/sh").args(["-c", "echo from a child; exit 3"]).output();
    let output = output.expect("it can be started");
    assert_eq!(output.stdout, b"from a child\n");
    assert_eq!(output.status.code(), Some(3));
    // SAFETY: the child makes one call and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends this process.
        unsafe { libc::_exit(7) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above, and writes its status here.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(libc::WEXITSTATUS(status), 7);
}

static SEEN: AtomicU32 = AtomicU32::new(0);

extern "C" fn seen(_signal: i32) {
    // A call of the handler, with all signals blocked, as its mask says.
    SEEN.fetch_add(u32::from(std::os::unix::process::parent_id() > 0), Ordering::Relaxed);
}

/// The program's own handlers, masks and waits: a mask of all signals blocks none of ours.
fn signals() {
    // SAFETY: plain structures of the C library, filled by its functions; the handler is one.
    unsafe {
        let mut action = std::mem::zeroed::<libc::sigaction>();
        action.sa_sigaction = seen as extern "C" fn(i32) as usize;
        libc::sigfillset(&raw mut action.sa_mask);
        assert_eq!(libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()), 0);
        let (mut all, mut old) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        assert_eq!(libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut old), 0);
        assert_eq!(libc::raise(libc::SIGUSR1), 0);
        assert_eq!(SEEN.load(Ordering::Relaxed), 0, "it is blocked");
        assert!(std::os::unix::process::parent_id() > 0, "calls go on meanwhile");
        assert_eq!(
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, std::ptr::null_mut()),
            0
        );
    }
    assert_eq!(SEEN.load(Ordering::Relaxed), 1, "it comes when it is not blocked any more");
    // SAFETY: raises a signal that has a handler.
    assert_eq!(unsafe { libc::raise(libc::SIGUSR1) }, 0);
    assert_eq!(SEEN.load(Ordering::Relaxed), 2);
}

/// A call of the kernel leaves all registers but three as they were, the vectors too; after a
/// shipped one the handler puts them back by itself.
fn registers() {
    let before: [u64; 6] = [0x1111, 0x2222, 0x3333, 0x4444, 0x5555, 0x6666];
    for round in 1..1_000u64 {
        let vectors: [u64; 6] = before.map(|word| word * round);
        let (mut after, mut kept, mut parent) = ([0u64; 6], before, libc::SYS_getppid as u64);
        let [rdi, rsi, rdx, r10, r8, r9] = &mut kept;
        // SAFETY: a call that takes nothing; vectors are read from and written to three times 16
        // bytes, and all registers that change are named.
        unsafe {
            std::arch::asm!(
                "movdqu xmm0, [{from}]", "movdqu xmm7, [{from} + 16]",
                "movdqu xmm15, [{from} + 32]", "syscall", "movdqu [{to}], xmm0",
                "movdqu [{to} + 16], xmm7", "movdqu [{to} + 32], xmm15",
                from = in(reg) vectors.as_ptr(), to = in(reg) after.as_mut_ptr(),
                inout("rax") parent, inout("rdi") *rdi, inout("rsi") *rsi, inout("rdx") *rdx,
                inout("r10") *r10, inout("r8") *r8, inout("r9") *r9,
                out("rcx") _, out("r11") _, out("xmm0") _, out("xmm7") _, out("xmm15") _,
            );
        }
        assert_eq!((after, kept), (vectors, before), "round {round}");
        assert_eq!(parent, u64::from(std::os::unix::process::parent_id()));
    }
}

/// An alternate stack that each signal takes away until it returns: calls leave it there.
fn stack() {
    let mut bytes = vec![0u8; 1 << 16];
    // SAFETY: the memory is that of the stack as long as this function runs.
    unsafe {
        let mut given = std::mem::zeroed::<libc::stack_t>();
        (given.ss_sp, given.ss_size) = (bytes.as_mut_ptr().cast(), bytes.len());
        given.ss_flags = 1 << 31; // SS_AUTODISARM
        let mut old = std::mem::zeroed::<libc::stack_t>();
        assert_eq!(libc::sigaltstack(&raw const given, &raw mut old), 0);
        for _ in 0..100 {
            assert!(std::os::unix::process::parent_id() > 0);
            let mut now = std::mem::zeroed::<libc::stack_t>();
            assert_eq!(libc::sigaltstack(std::ptr::null(), &raw mut now), 0);
            assert_eq!((now.ss_sp, now.ss_size), (given.ss_sp, given.ss_size));
        }
        assert_eq!(libc::sigaltstack(&raw const old, std::ptr::null_mut()), 0);
    }
}

#[test]
fn calls_are_shipped_unknown_to_their_caller() {
    role("calls");
}

#[test]
fn files_are_as_before() {
    role("files");
}

#[test]
fn threads_are_as_before() {
    role("threads");
}

#[test]
fn processes_are_as_before() {
    role("processes");
}

#[test]
fn signals_are_as_before() {
    role("signals");
}

#[test]
fn registers_are_as_before() {
    role("registers");
}

#[test]
fn an_alternate_stack_is_as_before() {
    role("stack");
}
