//! Shipped calls as a program sees them: the same results as in place, whoever makes them, and
//! nothing that waits in the service.

use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tidings_fast_path::{Call, Made, Service, Settings, Shipper};

fn both() -> [Service; 2] {
    let settings = Settings { core: None, spins: 100 };
    let thread = Service::start_anyway(settings).expect("a thread can be started");
    [thread, Service::in_place("the test asks for it")]
}

fn shipper() -> (Service, Shipper) {
    let [service, _] = both();
    let shipper = service.shipper().expect("a lane");
    (service, shipper)
}

/// A call of numbers alone.
fn call(shipper: &mut Shipper, number: libc::c_long, arguments: [u64; 6]) -> (u64, Made) {
    // SAFETY: the tests pass pointers to what they keep until the call is done.
    unsafe { shipper.call(Call { number: number as u64, arguments }) }
}

#[test]
fn a_call_is_the_same_by_the_service_and_in_place() {
    for service in both() {
        let mut shipper = service.shipper().expect("a lane");
        for _ in 0..1_000 {
            assert_eq!(shipper.parent(), std::os::unix::process::parent_id());
        }
    }
}

#[test]
fn what_is_of_a_thread_is_of_the_one_that_calls() {
    let (_service, mut shipper) = shipper();
    let own = rustix::thread::gettid().as_raw_nonzero().get() as u64;
    assert_eq!(call(&mut shipper, libc::SYS_gettid, [0; 6]), (own, Made::InPlace));
    let (_, made) = call(&mut shipper, libc::SYS_getpid, [0; 6]);
    assert_eq!(made, Made::Shipped);
}

#[test]
fn errors_come_as_the_kernel_gives_them() {
    let (_service, mut shipper) = shipper();
    let bad = u64::from(libc::EBADF.unsigned_abs()).wrapping_neg();
    let none = u64::from(u32::MAX);
    assert_eq!(call(&mut shipper, libc::SYS_close, [none, 0, 0, 0, 0, 0]), (bad, Made::Shipped));
    let unknown = u64::from(libc::ENOSYS.unsigned_abs()).wrapping_neg();
    assert_eq!(call(&mut shipper, 1 << 20, [0; 6]), (unknown, Made::InPlace));
}

/// Two threads share a service and a stream: one reads before the other has written. Were the read
/// to wait in the service, the write would wait for it for ever.
#[test]
fn a_read_that_has_to_wait_holds_nobody_up() {
    let (service, mut reading) = shipper();
    let (reader, writer) = UnixStream::pair().expect("a pair");
    let began = Arc::new(AtomicBool::new(false));
    let begins = Arc::clone(&began);
    let thread = std::thread::spawn(move || {
        let mut bytes = [0u8; 8];
        begins.store(true, Ordering::Release);
        let arguments = [reader.as_raw_fd() as u64, bytes.as_mut_ptr() as u64, 8, 0, 0, 0];
        let (count, _) = call(&mut reading, libc::SYS_read, arguments);
        (count, bytes)
    });
    while !began.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
    let mut writing = service.shipper().expect("a second lane");
    assert_eq!(writing.write(writer.as_fd(), b"shipped!").expect("there is room"), 8);
    assert_eq!(thread.join().expect("no panic"), (8, *b"shipped!"));
}

/// A write to a stream without room for all of it: as by `write`, all bytes are taken, in order.
#[test]
fn a_write_is_whole_though_the_stream_has_less_room() {
    for service in both() {
        let mut shipper = service.shipper().expect("a lane");
        let (mut reader, writer) = UnixStream::pair().expect("a pair");
        let bytes: Vec<u8> = (0..1_000_000u32).map(|at| (at % 251) as u8).collect();
        let expected = bytes.clone();
        let thread = std::thread::spawn(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).map(|_| all)
        });
        assert_eq!(shipper.write(writer.as_fd(), &bytes).expect("it is read"), bytes.len());
        drop(writer);
        assert!(thread.join().expect("no panic").expect("bytes") == expected);
    }
}

#[test]
fn a_file_is_written_and_read_by_the_service() {
    let (_service, mut shipper) = shipper();
    let mut file = rustix_file();
    assert_eq!(shipper.write(file.as_fd(), b"of the service").expect("there is room"), 14);
    file.write_all(b", and ours").expect("there is room");
    let mut bytes = [0u8; 64];
    let arguments = [file.as_raw_fd() as u64, bytes.as_mut_ptr() as u64, 64, 0, 0, 0];
    let (count, made) = call(&mut shipper, libc::SYS_pread64, arguments);
    assert_eq!((count, made), (24, Made::Shipped));
    assert_eq!(&bytes[..24], b"of the service, and ours");
}

fn rustix_file() -> std::fs::File {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    rustix::fs::memfd_create("tidings-test", flags).expect("a file in memory").into()
}

#[test]
fn calls_after_the_service_has_ended_run_in_place() {
    let (service, mut shipper) = shipper();
    drop(service);
    let (parent, made) = call(&mut shipper, libc::SYS_getppid, [0; 6]);
    assert_eq!((parent as u32, made), (std::os::unix::process::parent_id(), Made::InPlace));
}

/// A child that was forked has no service: its lane is empty, and its calls run in place.
#[test]
fn a_forked_child_calls_in_place() {
    let (_service, mut shipper) = shipper();
    assert_eq!(shipper.parent(), std::os::unix::process::parent_id());
    // SAFETY: the child makes system calls alone, and ends without running what the parent has
    // registered for its end.
    let child = unsafe { libc::fork() };
    assert_ne!(child, -1, "a process can be made");
    if child == 0 {
        let (_, made) = call(&mut shipper, libc::SYS_getppid, [0; 6]);
        // SAFETY: ends this process.
        unsafe { libc::_exit(i32::from(made != Made::InPlace)) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above, and writes its status here.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child's call was not made in place");
}
