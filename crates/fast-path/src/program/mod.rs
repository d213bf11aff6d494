//! A program of its own file, static or dynamic, run in this process with its calls shipped.
//!
//! As NIX's manager did for programs of Linux: the file is read into this process, with the
//! interpreter that loads its libraries if it has one; it gets a stack with its arguments, and this
//! thread jumps to its entry, [dispatched](crate::dispatch). Nothing traces it, and it needs no
//! library of ours. What it can notice: `/proc/self/exe` is the program that loaded it, and heap
//! and addresses of that are in its memory.
//!
//! Source: FOX, section 2.2, "Linux system call support".

mod image;

use std::arch::asm;
use std::convert::Infallible;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::dispatch;
use crate::error::ProgramError;
use crate::service::Service;
use image::{Image, PAGE_BYTES, Segment};

/// The largest file that is loaded.
const MOST_BYTES: u64 = 1 << 30;
/// The size of its stack, as Linux has it.
const STACK_BYTES: usize = 8 << 20;
/// Of the stack, what its arguments and environment may take.
const MOST_TEXT_BYTES: usize = 2 << 20;

/// What of our own auxiliary vector is good for the program, too.
const PASSED_ON: [u64; 12] = [
    libc::AT_PAGESZ,
    libc::AT_UID,
    libc::AT_EUID,
    libc::AT_GID,
    libc::AT_EGID,
    libc::AT_HWCAP,
    libc::AT_HWCAP2,
    libc::AT_CLKTCK,
    libc::AT_SECURE,
    libc::AT_SYSINFO_EHDR,
    libc::AT_PLATFORM,
    libc::AT_MINSIGSTKSZ,
];

/// A program in memory.
struct Loaded {
    image: Image,
    /// How far it is from where its file says.
    moved: u64,
}

/// Runs a program in place of this one, on this thread; its calls are made by the service where
/// they can be. Other threads of this process go on.
///
/// # Errors
/// If it cannot be loaded; parts of it may stay in memory.
pub fn run(
    path: &Path,
    arguments: &[CString],
    environment: &[CString],
    service: Service,
) -> Result<Infallible, ProgramError> {
    let program = Loaded::of(path)?;
    let interpreter = match &program.image.interpreter {
        Some(path) => Some(Loaded::of(path)?),
        None => None,
    };
    let stack = stack(&program, interpreter.as_ref(), [arguments, environment])
        .map_err(|source| ProgramError::Memory { file: path.into(), source })?;
    let entry = interpreter.as_ref().unwrap_or(&program).entry();
    let shipper = service.shipper().map_err(|source| ProgramError::Lane { source })?;
    as_at_exec();
    let dispatched =
        dispatch::begin(shipper).map_err(|source| ProgramError::Dispatch { source })?;
    // Both last as long as the program.
    std::mem::forget((dispatched, service));
    // SAFETY: the stack is as the ABI has it at the entry of a program, and the entry is in code
    // that was loaded; nothing of this thread's own frames is used from here on.
    unsafe {
        asm!(
            "mov rsp, rax",
            "xor edx, edx",
            "xor ebp, ebp",
            "jmp rcx",
            in("rax") stack,
            in("rcx") entry,
            options(noreturn)
        )
    }
}

/// Signals as a program finds them; this one's handlers are not for another's faults.
fn as_at_exec() {
    // SAFETY: sets defaults, and that there is no alternate stack.
    unsafe {
        for signal in [libc::SIGPIPE, libc::SIGSEGV, libc::SIGBUS] {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none = std::mem::zeroed::<libc::stack_t>();
        none.ss_flags = libc::SS_DISABLE;
        libc::sigaltstack(&raw const none, std::ptr::null_mut());
    }
}

impl Loaded {
    fn of(path: &Path) -> Result<Self, ProgramError> {
        let refused = |source| ProgramError::File { file: path.into(), source };
        let file = File::open(path).map_err(refused)?;
        let mut bytes = Vec::new();
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(refused)?;
        let foreign = |what| ProgramError::Foreign { file: path.into(), what };
        if bytes.len() as u64 > MOST_BYTES {
            return Err(foreign("it is larger than a GiB"));
        }
        let image = Image::read(&bytes).map_err(foreign)?;
        let place =
            place(&image).map_err(|source| ProgramError::Memory { file: path.into(), source })?;
        let loaded = Self { moved: place.wrapping_sub(image.span().0), image };
        for segment in &loaded.image.segments {
            loaded
                .fill(segment, &bytes)
                .map_err(|source| ProgramError::Memory { file: path.into(), source })?;
        }
        Ok(loaded)
    }

    fn entry(&self) -> u64 {
        self.image.entry.wrapping_add(self.moved)
    }

    /// Copies a segment to its place, and gives its pages the rights that it asks for.
    fn fill(&self, segment: &Segment, file: &[u8]) -> io::Result<()> {
        let start = segment.address.wrapping_add(self.moved);
        let from = &file[segment.offset as usize..][..segment.file_bytes as usize];
        // SAFETY: the place was mapped for the whole span of the image, which has this segment, and
        // nothing else is there; the file's part is not longer than that in memory.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), start as *mut u8, from.len()) };
        let flag = |bit: u32, right: i32| if segment.flags & bit != 0 { right } else { 0 };
        let rights =
            flag(4, libc::PROT_READ) | flag(2, libc::PROT_WRITE) | flag(1, libc::PROT_EXEC);
        let first = start / PAGE_BYTES * PAGE_BYTES;
        let bytes = start + segment.memory_bytes - first;
        // SAFETY: pages of the image alone; nothing of this program refers to them.
        let result = unsafe { libc::mprotect(first as *mut _, bytes as usize, rights) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Maps pages for an image, where it has to be or where the kernel likes.
fn place(image: &Image) -> io::Result<u64> {
    let (first, last) = image.span();
    let bytes = (last - first) as usize;
    if image.is_movable {
        return crate::kernel::map_private(bytes, false).map(|start| start as u64);
    }
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: a mapping that replaces nothing.
    let start = unsafe { libc::mmap(first as *mut _, bytes, rights, flags, -1, 0) };
    if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(start as u64) }
}

/// A stack with arguments, environment and auxiliary vector; its pointer at the entry.
fn stack(
    program: &Loaded,
    interpreter: Option<&Loaded>,
    texts: [&[CString]; 2],
) -> io::Result<u64> {
    let length = |text: &CString| text.as_bytes_with_nul().len() + 8;
    let taken: usize = texts.iter().copied().flatten().map(length).sum();
    if taken > MOST_TEXT_BYTES {
        return Err(io::Error::from_raw_os_error(libc::E2BIG));
    }
    let bottom = crate::kernel::map_private(STACK_BYTES, false)? as u64;
    let mut top = bottom + STACK_BYTES as u64;
    let mut put = |bytes: &[u8]| {
        top -= bytes.len() as u64;
        // SAFETY: within the new mapping, of which all that is put takes less than a half.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), top as *mut u8, bytes.len()) };
        top
    };
    let random = own(libc::AT_RANDOM);
    // SAFETY: the kernel has put 16 bytes there for this program, if it has put the address.
    let random = put(&if random == 0 { [7; 16] } else { unsafe { *(random as *const [u8; 16]) } });
    let mut words = vec![texts[0].len() as u64];
    for texts in texts {
        words.extend(texts.iter().map(|text| put(text.as_bytes_with_nul())));
        words.push(0);
    }
    let name = words[1];
    let base = interpreter.map_or(0, |interpreter| interpreter.moved);
    let mut vector = vec![
        (libc::AT_PHDR, program.image.headers.wrapping_add(program.moved)),
        (libc::AT_PHENT, 56),
        (libc::AT_PHNUM, program.image.header_count),
        (libc::AT_BASE, base),
        (libc::AT_ENTRY, program.entry()),
        (libc::AT_RANDOM, random),
        (libc::AT_EXECFN, name),
    ];
    vector.extend(PASSED_ON.map(|which| (which, own(which))).into_iter().filter(|one| one.1 != 0));
    words.extend(vector.into_iter().flat_map(|(which, value)| [which, value]));
    words.extend([0, 0]);
    let start = (top - 8 * words.len() as u64) / 16 * 16;
    // SAFETY: as for `put`.
    unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), start as *mut u64, words.len()) };
    Ok(start)
}

fn own(which: u64) -> u64 {
    // SAFETY: looks a number up in what the kernel has given this program.
    unsafe { libc::getauxval(which) }
}
